#include "output/svg.h"

#define POINT  "([-\\d.]+),([-\\d.]+)"
#define COLOUR "'([^']*)'"
/* A path that draws nothing; a wrapper of nothing; a box, whose opposite corners count, with its border or the
 * border alone; a word, perhaps turned; the same alone in a wrapper. */
#define MOVES   "\\s*<path stroke='[^']*'  d='(?:M[-\\d.,]+ )+ '/>"
#define WRAPPER "<g fill=\"none\"[^>]*>"
#define EMPTY   WRAPPER "\\s*</g>\n"
#define BORDER                                    \
	"\\s*<path stroke=" COLOUR "  d='M" POINT \
	" L\\g{-2},([-\\d.]+) L([-\\d.]+),\\g{-2} L\\g{-1},\\g{-3} L\\g{-4},\\g{-3} Z  '/>"
#define BOX                                                                                   \
	"<g fill=\"none\"[^>]*stroke-width=\"([\\d.]+)\"[^>]*>\\s*<g "                        \
	"stroke='none'[^>]*>\\s*<polygon fill = " COLOUR " points = '[^']*'/>\\s*</g>" BORDER \
	"</g>\n"
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

static gboolean write_nothing(const GMatchInfo *match G_GNUC_UNUSED, GString *out G_GNUC_UNUSED,
	gpointer data G_GNUC_UNUSED)
{
	return FALSE;
}

/* Three parts, each behind a mark: what neighbours share, what each adds, and the end. A border begins at
 * group @first. */
static void append_border(GString *out, const GMatchInfo *match, int first)
{
	const double left = number(match, first + 1), top = number(match, first + 2),
		     bottom = number(match, first + 3), right = number(match, first + 4);
	g_autofree char *stroke = g_match_info_fetch(match, first);

	g_string_append_printf(out, " stroke='%s' d='", stroke);
	append_number(out, "\1M", left);
	append_number(out, " ", top);
	append_number(out, "v", bottom - top);
	append_number(out, "h", right - left);
	append_number(out, "v", top - bottom);
	g_string_append(out, "z\1'/>\n");
}

static gboolean write_box(const GMatchInfo *match, GString *out, gpointer data G_GNUC_UNUSED)
{
	g_autofree char *width = g_match_info_fetch(match, 1),
			*fill = g_match_info_fetch(match, 2);

	g_string_append_printf(out, "\1<path fill='%s' stroke-width='%s'", fill, width);
	append_border(out, match, 3);
	return FALSE;
}

static gboolean write_border(const GMatchInfo *match, GString *out, gpointer data G_GNUC_UNUSED)
{
	g_string_append(out, "\1<path");
	append_border(out, match, 1);
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
	} kinds[] = {{MOVES, write_nothing}, {EMPTY, write_nothing}, {BOX, write_box},
		{BORDER, write_border}, {WRAPPER WORD "</g>\n", write_word},
		{WORD, write_word}};
	char *text = g_strndup(svg, length);

	for (guint i = 0; i < G_N_ELEMENTS(kinds); i++) {
		g_autoptr(GRegex) kind =
			g_regex_new(kinds[i].pattern, G_REGEX_OPTIMIZE, 0, NULL);
		g_autofree char *before = text;

		text = g_regex_replace_eval(kind, before, -1, 0, 0, kinds[i].write, NULL, NULL);
	}
	return join(join(text, "\1"), "\2");
}
