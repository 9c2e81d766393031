#include "output/screen.h"
#include "output/figures.h"

#define MOST_NOTES    5
#define INDENT        2
#define MOST_DECIMALS 6

GPtrArray *pipesim_lines_new(const char *first, ...)
{
	GPtrArray *lines = g_ptr_array_new_with_free_func(g_free);
	va_list arguments;

	va_start(arguments, first);
	for (const char *line = first; line != NULL; line = va_arg(arguments, const char *))
		g_ptr_array_add(lines, g_strdup(line));
	va_end(arguments);
	return lines;
}

PipesimScreen *pipesim_screen_new(void)
{
	PipesimScreen *screen = g_new0(PipesimScreen, 1);

	screen->asked = g_string_new(NULL);
	screen->verdict = pipesim_lines_new(NULL, NULL);
	screen->below = pipesim_lines_new(NULL, NULL);
	screen->failed = pipesim_lines_new(NULL, NULL);
	screen->notes = pipesim_lines_new(NULL, NULL);
	screen->more = pipesim_lines_new(NULL, NULL);
	return screen;
}

PIPESIM_FREES(PipesimScreen, pipesim_screen_free, screen)
{
	g_string_free(screen->asked, TRUE);
	g_ptr_array_unref(screen->verdict);
	g_ptr_array_unref(screen->below);
	g_ptr_array_unref(screen->failed);
	g_ptr_array_unref(screen->notes);
	g_ptr_array_unref(screen->more);
	pipesim_table_free(screen->table);
	if (screen->appendix != NULL)
		g_string_free(screen->appendix, TRUE);
	g_free(screen);
}

void pipesim_lines_add(GPtrArray *lines, const GPtrArray *more)
{
	for (guint i = 0; more != NULL && i < more->len; i++)
		g_ptr_array_add(lines, g_strdup(more->pdata[i]));
}

/* Few digits -------------------------------------------------------------------------------- */

/* Of a number without others beside it. */
static guint decimals_of(double value)
{
	const int digits = value != 0 ? (int)floor(log10(fabs(value))) + 1 : 1;

	return (guint)CLAMP(4 - digits, 0, MOST_DECIMALS);
}

guint pipesim_screen_decimals(const double *values, guint n)
{
	double most = 0;
	guint most_decimals, decimals = 0;

	for (guint i = 0; i < n; i++)
		if (isfinite(values[i]))
			most = MAX(most, fabs(values[i]));
	most_decimals = decimals_of(most);
	for (guint i = 0; i < n; i++)
		while (isfinite(values[i]) && decimals < most_decimals) {
			const double scaled = values[i] * pow(10, decimals);

			if (fabs(scaled - round(scaled)) < 1e-6 * MAX(fabs(scaled), 1))
				break;
			decimals++;
		}
	return decimals;
}

const char *pipesim_screen_number(PipesimNumber out, double value)
{
	return pipesim_figure_short(out, value, decimals_of(value));
}

const char *pipesim_screen_time(PipesimNumber out, gint64 ns)
{
	const gboolean seconds = ns >= PIPESIM_IN_SECONDS;

	pipesim_screen_number(out, (double)ns / (seconds ? 1e9 : 1e6));
	g_strlcat(out, seconds ? " s" : " ms", PIPESIM_NUMBER_LENGTH);
	return out;
}

const char *pipesim_screen_bytes(PipesimNumber out, gint64 bytes)
{
	pipesim_screen_number(out, (double)bytes / PIPESIM_GIB);
	g_strlcat(out, " GiB", PIPESIM_NUMBER_LENGTH);
	return out;
}

/* Printing ---------------------------------------------------------------------------------- */

static guint count_lines(const GString *text)
{
	guint n = 0;

	for (const char *p = text->str; (p = strchr(p, '\n')) != NULL; p++)
		n++;
	return n;
}

static void append_lines(GString *out, const GPtrArray *lines, guint indent, guint width)
{
	pipesim_each_in (const char, line, lines) {
		g_string_append_printf(out, "%*s", (int)indent, "");
		pipesim_wrap(out, line, indent, indent, width);
	}
}

static gboolean is_detail(const char *note)
{
	return g_str_has_prefix(note, "left out of ");
}

/* "Xy and z." of "xy and z"; a name stays as it is. */
static char *make_sentence(const char *words)
{
	const gsize letters = strspn(words, "abcdefghijklmnopqrstuvwxyz");
	char *sentence = g_strconcat(words, g_str_has_suffix(words, ".") ? "" : ".", NULL);

	if (words[letters] == ' ')
		*sentence = g_ascii_toupper(*sentence);
	return sentence;
}

/* As many as fit; returns how many do not. */
static guint append_notes(GString *out, const GPtrArray *notes, gboolean full, guint width)
{
	guint lines = 0, shown = 0, left = 0;

	pipesim_each_in (const char, words, notes) {
		g_autofree char *sentence = make_sentence(words);
		g_autoptr(GString) note = g_string_new("  ");

		if (is_detail(words) && !full)
			continue;
		pipesim_wrap(note, sentence, 2 * INDENT, INDENT, width);
		lines += count_lines(note);
		left += shown > 0 && lines > MOST_NOTES && !full;
		if (left > 0)
			continue;
		g_string_append(out, shown++ == 0 ? "\n" : "");
		g_string_append(out, note->str);
	}
	return left;
}

static void append_more(
	GString *out, const PipesimScreen *screen, const PipesimStyle *style, guint left)
{
	const char *between = style->unicode ? " \302\267 " : " | ";

	g_string_append(out, "More: --full");
	guint width = (guint)strlen("More: --full");
	if (left > 0) {
		g_autofree char *words =
			g_strdup_printf(" (%u more note%s)", left, left == 1 ? "" : "s");

		g_string_append(out, words);
		width += (guint)strlen(words);
	}
	pipesim_each_in (const char, item, screen->more) {
		if (width + 3 + strlen(item) > PIPESIM_SCREEN_WIDTH)
			continue;
		width += 3 + (guint)strlen(item);
		g_string_append_printf(out, "%s%s", between, item);
	}
	g_string_append_c(out, '\n');
}

/* What a page shows of @screen. */
static void append_answer(const PipesimScreen *screen, GString *out)
{
	g_autoptr(PipesimJson) json = pipesim_json_new(out);
	g_autoptr(GPtrArray) notes = g_ptr_array_new_with_free_func(g_free);

	pipesim_each_in (const char, note, screen->notes)
		if (!is_detail(note))
			g_ptr_array_add(notes, make_sentence(note));
	pipesim_json_open_object(json, NULL);
	PIPESIM_MEMBER(json, "asked", TEXT, screen->asked->str);
	PIPESIM_MEMBER(json, "verdict", TEXTS, screen->verdict);
	pipesim_table_json(screen->table, "table", json);
	PIPESIM_MEMBER(json, "below", TEXTS, screen->below);
	PIPESIM_MEMBER(json, "failed", TEXTS, screen->failed);
	PIPESIM_MEMBER(json, "notes", TEXTS, notes);
	pipesim_json_close(json);
	g_strchomp(out->str);
	g_string_set_size(out, strlen(out->str));
}

void pipesim_screen_print(const PipesimScreen *screen, const PipesimStyle *style, GString *out)
{
	const guint width = style->full ? TABLE_WIDTH : PIPESIM_SCREEN_WIDTH;
	g_autoptr(GString) head = g_string_new(NULL), tail = g_string_new(NULL);
	guint left, lines, rows = 0;

	if (style->answer != NULL)
		append_answer(screen, style->answer);
	pipesim_wrap(head, screen->asked->str, INDENT, 0, width);
	if (screen->verdict->len > 0)
		g_string_append_c(head, '\n');
	append_lines(head, screen->verdict, 0, width);
	append_lines(tail, screen->below, INDENT, width);
	if (screen->failed->len > 0) {
		pipesim_table_look(style, PIPESIM_ROW_FAILED, tail);
		append_lines(tail, screen->failed, INDENT, width);
		pipesim_table_look(style, PIPESIM_ROW_PLAIN, tail);
	}
	left = append_notes(tail, screen->notes, style->full, width);
	if (screen->appendix != NULL && screen->appendix->len > 0)
		g_string_append_printf(tail, "%s%s", *screen->appendix->str == '\n' ? "" : "\n",
			screen->appendix->str);
	if (!style->full) {
		g_string_append_c(tail, '\n');
		append_more(tail, screen, style, left);
	}
	/* An empty line, titles with their rule, and how many rows are left out. */
	lines = count_lines(head) + count_lines(tail) + 5;
	g_string_append(out, head->str);
	if (screen->table != NULL) {
		rows = MAX(PIPESIM_SCREEN_LINES, lines + 4) - lines;
		rows = screen->whole || style->full ? G_MAXUINT : rows;
		if (pipesim_table_has_groups(screen->table)) /* else their line is empty */
			g_string_append_c(out, '\n');
		rows = pipesim_table_print(screen->table, width, rows, style, out);
		if (rows > 0)
			g_string_append_printf(
				out, "  and %u more row%s\n", rows, rows == 1 ? "" : "s");
	}
	g_string_append(out, tail->str);
}
