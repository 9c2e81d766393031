#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "output/svg.h"

#define POINT  "([-\\d.]+),([-\\d.]+)"
#define COLOUR "'([^']*)'"
/* A wrapper of nothing; a box with its border, whose opposite corners count; a word, perhaps turned. */
#define EMPTY "<g fill=\"none\"[^>]*>\\s*</g>\n"
#define BOX                                                                  \
	"<g fill=\"none\"[^>]*stroke-width=\"([\\d.]+)\"[^>]*>\\s*<g "       \
	"stroke='none'[^>]*>\\s*<polygon fill = " COLOUR                     \
	" points = '[^']*'/>\\s*</g>\\s*<path stroke=" COLOUR "  d='M" POINT \
	" L\\4,([-\\d.]+) L([-\\d.]+),\\6 L\\7,\\5 L\\4,\\5 Z  '/></g>\n"
#define WORD                                                          \
	"\\s*<g transform=\"translate\\(" POINT                       \
	"\\)( rotate\\(-90\\))?\" stroke=\"none\" fill=\"([^\"]*)\" " \
	"font-family=\"Arial\"([^>]*)>\\s*<text>([^<]*)</text>\\s*</g>\n"

/* A number with one decimal at most. */
static void append_number(GString *out, const char *before, double value)
{
	char text[G_ASCII_DTOSTR_BUF_SIZE];

	g_ascii_formatd(text, sizeof text, "%.1f", value);
	if (g_str_has_suffix(text, ".0"))
		text[strlen(text) - 2] = '\0';
	g_string_append_printf(out, "%s%s", before, text);
}

static double number(const GMatchInfo *match, int group)
{
	g_autofree char *text = g_match_info_fetch(match, group);

	return g_ascii_strtod(text, NULL);
}

/* Three parts, each behind a mark: what neighbours share, what each adds, and the end. */
static gboolean write_box(const GMatchInfo *match, GString *out, gpointer data G_GNUC_UNUSED)
{
	g_autofree char *width = g_match_info_fetch(match, 1),
			*fill = g_match_info_fetch(match, 2),
			*stroke = g_match_info_fetch(match, 3);
	const double left = number(match, 4), top = number(match, 5);

	g_string_append_printf(out, "\1<path fill='%s' stroke='%s' stroke-width='%s' d='", fill,
		stroke, width);
	append_number(out, "\1M", left);
	append_number(out, " ", top);
	append_number(out, "v", number(match, 6) - top);
	append_number(out, "h", number(match, 7) - left);
	append_number(out, "v", top - number(match, 6));
	g_string_append(out, "z\1'/>\n");
	return FALSE;
}

/* Words of a group are turned together: what was down is then to the left. Those of a lane share their height. */
static gboolean write_word(const GMatchInfo *match, GString *out, gpointer data G_GNUC_UNUSED)
{
	g_autofree char *turn = g_match_info_fetch(match, 3),
			*fill = g_match_info_fetch(match, 4),
			*font = g_match_info_fetch(match, 5),
			*text = g_match_info_fetch(match, 6);
	const gboolean turned = *turn != '\0';

	g_string_append_printf(out,
		"\1<g fill='%s' stroke='none' font-family='Arial'%s%s>\1\2<g "
		"transform='translate(",
		fill, font, turned ? " transform='rotate(-90)'" : "");
	append_number(out, turned ? "" : "0 ", turned ? -number(match, 2) : number(match, 2));
	append_number(out, turned ? " 0)'>\2<text y='" : ")'>\2<text x='", number(match, 1));
	g_string_append_printf(out, "'>%s</text>\2</g>\1</g>\n", text);
	return FALSE;
}

/* Leaves out the end of one and the beginning of the next, of those behind each other that begin alike. */
static char *join(char *text, const char *mark)
{
	static const char *const ends[] = {"'/>\n", "</g>\n", "</g>", NULL};
	g_auto(GStrv) parts = g_strsplit(text, mark, -1);
	GString *out = g_string_new(parts[0]);
	gboolean open = FALSE;

	g_free(text);
	for (guint i = 1; parts[i] != NULL; i += 3) {
		g_string_append(out, open ? "" : parts[i]);
		g_string_append(out, parts[i + 1]);
		open = parts[i + 3] != NULL && strcmp(parts[i], parts[i + 3]) == 0 &&
		       g_strv_contains(ends, parts[i + 2]);
		g_string_append(out, open ? "" : parts[i + 2]);
	}
	return g_string_free(out, FALSE);
}

char *pipesim_svg_compact(const char *svg, gsize length)
{
	static const struct {
		const char *pattern;
		GRegexEvalCallback write;
	} kinds[] = {{BOX, write_box}, {WORD, write_word}};
	g_autoptr(GRegex) empty = g_regex_new(EMPTY, G_REGEX_OPTIMIZE, 0, NULL);
	char *text = g_regex_replace_literal(empty, svg, (gssize)length, 0, "", 0, NULL);

	for (guint i = 0; i < G_N_ELEMENTS(kinds); i++) {
		g_autoptr(GRegex) kind =
			g_regex_new(kinds[i].pattern, G_REGEX_OPTIMIZE, 0, NULL);
		g_autofree char *before = text;

		text = g_regex_replace_eval(kind, before, -1, 0, 0, kinds[i].write, NULL, NULL);
	}
	return join(join(text, "\1"), "\2");
}
