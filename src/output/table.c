#include "output/table.h"

#define GUTTER 2

typedef struct {
	PipesimRowLook look;
	char **cells; /* as many as columns; of a row of text only the first */
	char *text;   /* NULL for a row of cells */
} Row;

struct _PipesimTable {
	PipesimColumn *columns;
	guint n_columns;
	guint *widths; /* 0: no cell, not shown */
	GArray *rows;  /* of Row */
	char **titles; /* of pipesim_table_of(); NULL: the caller's */
};

PipesimTable *pipesim_table_new(const PipesimColumn *columns, guint n_columns)
{
	PipesimTable *table = g_new0(PipesimTable, 1);

	table->columns = g_memdup2(columns, n_columns * sizeof *columns);
	table->n_columns = n_columns;
	table->widths = g_new0(guint, n_columns);
	table->rows = g_array_new(FALSE, FALSE, sizeof(Row));
	return table;
}

PipesimTable *pipesim_table_of(const char *titles)
{
	char **words = g_strsplit(titles, "|", -1);
	g_autofree PipesimColumn *columns = g_new(PipesimColumn, g_strv_length(words));

	for (guint c = 0; words[c] != NULL; c++) {
		const gboolean left = g_str_has_suffix(words[c], "<");
		char *colon = strchr(words[c], ':');

		if (left)
			words[c][strlen(words[c]) - 1] = '\0';
		if (colon != NULL)
			*colon++ = '\0';
		columns[c] = (PipesimColumn){
			colon != NULL ? words[c] : NULL, colon ?: words[c], left};
	}
	PipesimTable *table = pipesim_table_new(columns, g_strv_length(words));
	table->titles = words;
	return table;
}

PIPESIM_FREES(PipesimTable, pipesim_table_free, table)
{
	g_strfreev(table->titles);
	pipesim_each (const Row, row, table->rows) {
		for (guint c = 0; c < table->n_columns; c++)
			g_free(row->cells[c]);
		pipesim_free_all(row->cells, row->text);
	}
	g_array_unref(table->rows);
	pipesim_free_all(table->columns, table->widths, table);
}

/* Columns of @text on a terminal. */
static guint width_of(const char *text)
{
	guint width = 0;

	for (const char *p = text; *p != '\0'; p++)
		width += ((guchar)*p & 0xc0) != 0x80;
	return width;
}

/* What @row holds becomes the table's. */
static void add_row(PipesimTable *table, const Row row)
{
	for (guint i = 0; i < table->n_columns; i++)
		if (row.cells[i] != NULL) {
			const guint title = width_of(table->columns[i].title);
			const guint cell = width_of(row.cells[i]);

			table->widths[i] = MAX(table->widths[i], MAX(title, cell));
		}
	g_array_append_val(table->rows, row);
}

void pipesim_table_add(PipesimTable *table, PipesimRowLook look, char **cells)
{
	add_row(table, (Row){look, g_memdup2(cells, table->n_columns * sizeof(*cells)), NULL});
}

void pipesim_table_row(PipesimTable *table, PipesimRowLook look, const char *format, ...)
{
	va_list words;

	va_start(words, format);
	g_autofree char *text = g_strdup_vprintf(format, words);
	va_end(words);
	char **cells = g_strsplit(text, "\t", (int)table->n_columns);
	for (guint i = 0; i < table->n_columns; i++) {
		g_assert(cells[i] != NULL);
		if (*cells[i] == '\0')
			g_clear_pointer(&cells[i], g_free);
	}
	add_row(table, (Row){look, cells, NULL});
}

void pipesim_table_add_text(
	PipesimTable *table, PipesimRowLook look, const char *first, const char *text)
{
	const Row row = {look, g_new0(char *, table->n_columns), g_strdup(text)};

	row.cells[0] = g_strdup(first);
	add_row(table, row);
}

static void pad(GString *out, guint n)
{
	g_string_append_printf(out, "%*s", (int)n, "");
}

/* Without the blanks that a right-aligned last column does not need either. */
static void end_line(GString *out, gsize begin)
{
	while (out->len > begin && out->str[out->len - 1] == ' ')
		g_string_truncate(out, out->len - 1);
}

static void append_aligned(GString *out, const char *text, guint width, gboolean left)
{
	const guint blanks = width - MIN(width, width_of(text));

	pad(out, left ? 0 : blanks);
	g_string_append(out, text);
	pad(out, left ? blanks : 0);
}

/* First column after @from that does not stand under the same group. */
static guint group_end(const PipesimTable *table, guint from)
{
	const char *group = table->columns[from].group;
	guint to = from + 1;

	while (group != NULL && to < table->n_columns && table->columns[to].group != NULL &&
		strcmp(group, table->columns[to].group) == 0)
		to++;
	return to;
}

static guint group_width(const PipesimTable *table, guint from, guint to)
{
	guint width = 0;

	for (guint i = from; i < to; i++)
		if (table->widths[i] > 0)
			width += table->widths[i] + (width > 0 ? GUTTER : 0);
	return width;
}

guint pipesim_table_width(const PipesimTable *table)
{
	/* A group whose title is wider than its columns gives its last one the rest. */
	for (guint from = 0, to; from < table->n_columns; from = to) {
		guint width, last, title;

		to = group_end(table, from);
		width = group_width(table, from, to);
		if (width == 0 || table->columns[from].group == NULL)
			continue;
		title = width_of(table->columns[from].group);
		for (last = to - 1; table->widths[last] == 0; last--)
			;
		table->widths[last] += title - MIN(title, width);
	}
	return group_width(table, 0, table->n_columns);
}

static void print_cells(const PipesimTable *table, char *const *cells, GString *out)
{
	gsize begin = out->len;

	for (guint i = 0; i < table->n_columns; i++) {
		const char *text = cells != NULL ? cells[i] : table->columns[i].title;

		if (table->widths[i] == 0)
			continue;
		pad(out, out->len > begin ? GUTTER : 0);
		append_aligned(out, text != NULL ? text : "", table->widths[i],
			table->columns[i].left);
	}
	end_line(out, begin);
}

static void wrap(GString *out, const char *text, guint indent, guint column, guint width)
{
	g_auto(GStrv) words = g_strsplit_set(text, " \n", -1);
	gboolean first = TRUE;

	for (char **word = words; *word != NULL; word++) {
		const guint length = width_of(*word);

		if (length == 0)
			continue;
		if (!first && column + 1 + length > width) {
			g_string_append_c(out, '\n');
			pad(out, indent);
			column = indent;
			first = TRUE;
		}
		g_string_append(out, first ? "" : " ");
		g_string_append(out, *word);
		column += length + !first;
		first = FALSE;
	}
}

void pipesim_wrap(GString *out, const char *text, guint indent, guint column, guint width)
{
	wrap(out, text, indent, column, width);
	g_string_append_c(out, '\n');
}

void pipesim_wrap_all(GString *out, const GPtrArray *lines, guint width)
{
	for (guint i = 0; lines != NULL && i < lines->len; i++)
		pipesim_wrap(out, lines->pdata[i], 2, 0, width);
}

gboolean pipesim_table_has_groups(const PipesimTable *table)
{
	return pipesim_any(
		i, table->n_columns, table->columns[i].group != NULL && table->widths[i] > 0);
}

/* Terminal attributes. */
static const char *const looks[] = {
	[PIPESIM_ROW_PLAIN] = "0",
	[PIPESIM_ROW_BEST] = "1",
	[PIPESIM_ROW_FAINT] = "2",
	[PIPESIM_ROW_FAILED] = "31",
};

static void set_look(const PipesimStyle *style, const char *attributes, GString *out)
{
	if (style->colour)
		g_string_append_printf(out, "\033[%sm", attributes);
}

void pipesim_table_look(const PipesimStyle *style, PipesimRowLook look, GString *out)
{
	set_look(style, looks[look], out);
}

guint pipesim_table_print(const PipesimTable *table, guint width, guint most,
	const PipesimStyle *style, GString *out)
{
	guint rule = pipesim_table_width(table);

	set_look(style, "1", out);
	gsize begin = out->len;
	for (guint from = 0, to; from < table->n_columns; from = to) {
		const char *group = table->columns[from].group;

		to = group_end(table, from);
		guint span = group_width(table, from, to);
		if (span == 0)
			continue;
		guint title = group != NULL ? width_of(group) : 0;
		pad(out, out->len > begin ? GUTTER : 0);
		pad(out, to - from > 1 ? (span - title) / 2 : span - title);
		g_string_append(out, group != NULL ? group : "");
		pad(out, to - from > 1 ? span - title - (span - title) / 2 : 0);
	}
	end_line(out, begin);
	g_string_append_c(out, '\n');
	print_cells(table, NULL, out);
	set_look(style, "0", out);
	g_string_append_c(out, '\n');
	for (; rule > 0; rule--)
		g_string_append(out, style->unicode ? "\342\224\200" : "-");
	g_string_append_c(out, '\n');
	for (guint i = 0; i < MIN(most, table->rows->len); i++) {
		const Row *row = &g_array_index(table->rows, Row, i);
		const guint indent = table->widths[0] + GUTTER;

		if (row->look != PIPESIM_ROW_PLAIN)
			set_look(style, looks[row->look], out);
		if (row->text == NULL) {
			print_cells(table, row->cells, out);
		} else {
			append_aligned(out, row->cells[0], indent, TRUE);
			wrap(out, row->text, indent, indent, width);
		}
		if (row->look != PIPESIM_ROW_PLAIN)
			set_look(style, "0", out);
		g_string_append_c(out, '\n');
	}
	return table->rows->len - MIN(most, table->rows->len);
}

void pipesim_table_json(const PipesimTable *table, const char *key, PipesimJson *json)
{
	static const char *const names[] = {[PIPESIM_ROW_BEST] = "best",
		[PIPESIM_ROW_FAINT] = "faint",
		[PIPESIM_ROW_FAILED] = "failed"};

	if (table == NULL) {
		PIPESIM_MEMBER(json, key, TEXT, NULL);
		return;
	}
	pipesim_json_open_object(json, key);
	pipesim_json_open_array(json, "columns");
	for (guint c = 0; c < table->n_columns; c++) {
		if (table->widths[c] == 0)
			continue;
		pipesim_json_open_line(json, NULL);
		PIPESIM_MEMBER(json, "group", TEXT, table->columns[c].group);
		PIPESIM_MEMBER(json, "title", TEXT, table->columns[c].title);
		PIPESIM_MEMBER(json, "left", YES_OR_NO, table->columns[c].left);
		pipesim_json_close(json);
	}
	pipesim_json_close(json);
	pipesim_json_open_array(json, "rows");
	pipesim_each (const Row, row, table->rows) {
		pipesim_json_open_line(json, NULL);
		PIPESIM_MEMBER(json, "look", TEXT, names[row->look]);
		pipesim_json_open_array(json, "cells");
		for (guint c = 0; c < table->n_columns; c++) {
			const char *text =
				c == 1 && row->text != NULL ? row->text : row->cells[c];
			g_autofree char *plain =
				text != NULL ? g_strstrip(g_strdup(text)) : NULL;

			if (table->widths[c] > 0)
				PIPESIM_MEMBER(json, NULL, TEXT, plain);
		}
		pipesim_json_close(json);
		pipesim_json_close(json);
	}
	pipesim_json_close(json);
	pipesim_json_close(json);
}
