#include "base/csv.h"

#include <csv.h>

struct _PipesimCsv {
	PipesimInput *input;
	struct csv_parser parser;
	gboolean failed; /* reading failed: nothing follows */
	guint line;
	PipesimCsvRecord record;
	PipesimCsvCell *cells;
	gsize n_cells, room;
	/* Texts of the cells, each with a NUL behind it. While libcsv splits a line their @text
	 * is an offset, for it grows. */
	GString *arena;
	const char *begin; /* the line being parsed, for add_cell */
	gsize cell_begin, position;
};

static void init_parser(PipesimCsv *csv)
{
	if (csv_init(&csv->parser, CSV_STRICT | CSV_STRICT_FINI | CSV_APPEND_NULL) != 0)
		g_error("libcsv refuses its own options");
}

PipesimCsv *pipesim_csv_new(PipesimInput *input)
{
	if (input == NULL)
		return NULL;
	PipesimCsv *csv = g_new0(PipesimCsv, 1);
	csv->input = input;
	init_parser(csv);
	csv->arena = g_string_new(NULL);
	return csv;
}

PIPESIM_FREES(PipesimCsv, pipesim_csv_free, csv)
{
	pipesim_input_free(csv->input);
	csv_free(&csv->parser);
	g_free(csv->cells);
	g_string_free(csv->arena, TRUE);
	g_free(csv);
}

const char *pipesim_csv_path(const PipesimCsv *csv)
{
	return pipesim_input_name(csv->input);
}

static PipesimCsvCell *next_cell(PipesimCsv *csv)
{
	if (csv->n_cells == csv->room) {
		csv->room = MAX(2 * csv->room, 64);
		csv->cells = g_renew(PipesimCsvCell, csv->cells, csv->room);
	}
	return &csv->cells[csv->n_cells++];
}

/* libcsv tells neither where a cell stood nor whether it was quoted: both are found again here.
 */
static void add_cell(void *text, size_t length, void *data)
{
	PipesimCsv *csv = data;
	gsize begin = csv->cell_begin;

	while (begin < csv->position && (csv->begin[begin] == ' ' || csv->begin[begin] == '\t'))
		begin++;
	const gboolean quoted = begin < csv->position && csv->begin[begin] == '"';
	*next_cell(csv) = (PipesimCsvCell){
		.text = GSIZE_TO_POINTER(csv->arena->len),
		.length = length,
		.column = (guint)begin + (quoted ? 2 : 1),
		.quoted = quoted,
	};
	g_string_append_len(csv->arena, text, (gssize)length);
	g_string_append_c(csv->arena, '\0');
	csv->cell_begin = csv->position + 1;
}

static gboolean fail_line(PipesimCsv *csv, gsize offset, const char *why, GError **error)
{
	return pipesim_fail_at(
		error, pipesim_csv_path(csv), csv->line, (guint)offset + 1, "%s", why);
}

static gboolean is_ascii(const char *text, gsize length)
{
	const guint64 high_bits = G_GUINT64_CONSTANT(0x8080808080808080);
	guint64 seen = 0, eight;

	for (; length >= sizeof eight; length -= sizeof eight, text += sizeof eight) {
		memcpy(&eight, text, sizeof eight);
		seen |= eight;
	}
	for (; length > 0; length--)
		seen |= (guint8)*text++;
	return (seen & high_bits) == 0;
}

/* What no cell may hold; libcsv would take a lone CR for the end of a row. */
static gboolean check_bytes(PipesimCsv *csv, const char *line, gsize length, GError **error)
{
	const char *bad;

	if ((bad = memchr(line, '\0', length)) != NULL)
		return fail_line(
			csv, (gsize)(bad - line), "a NUL byte; the file must be text", error);
	if ((bad = memchr(line, '\r', length)) != NULL)
		return fail_line(csv, (gsize)(bad - line),
			"a carriage return inside a line; lines must end with LF or CRLF",
			error);
	if (!is_ascii(line, length) && !g_utf8_validate(line, (gssize)length, &bad))
		return fail_line(csv, (gsize)(bad - line),
			"bytes that are not UTF-8; save the file as UTF-8", error);
	return TRUE;
}

static gboolean is_blank(char c)
{
	return c == ' ' || c == '\t';
}

/* Adds what stands from @begin to @end of @text as a cell, and ends it with a NUL. */
static void add_plain_cell(PipesimCsv *csv, char *text, gsize begin, gsize end)
{
	while (begin < end && is_blank(text[begin]))
		begin++;
	while (begin < end && is_blank(text[end - 1]))
		end--;
	text[end] = '\0';
	*next_cell(csv) = (PipesimCsvCell){
		.text = text + begin,
		.length = end - begin,
		.column = (guint)begin + 1,
	};
}

/* The bytes of @eight that are commas, as their highest bits. */
static guint64 find_commas(guint64 eight)
{
	const guint64 ones = G_GUINT64_CONSTANT(0x0101010101010101), low_bits = 0x7f * ones;
	const guint64 other = eight ^ ones * ',';

	return ~(((other & low_bits) + low_bits) | other | low_bits);
}

/* A line without quotes, as nearly all are, is split without libcsv: eight bytes at a time, for
 * cells are short. */
static void split_plain_line(PipesimCsv *csv, gsize length)
{
	char *text = csv->arena->str;
	gsize begin = 0;
	guint64 eight;

	/* Behind the line stands one comma more, which ends its last cell. */
	text[length] = ',';
	for (gsize at = 0; at <= length; at += sizeof eight) {
		memcpy(&eight, text + at, sizeof eight);
		eight = find_commas(GUINT64_FROM_LE(eight));
		for (; eight != 0; eight &= eight - 1) {
			const gsize comma = at + (gsize)__builtin_ctzll(eight) / 8;

			add_plain_cell(csv, text, begin, comma);
			begin = comma + 1;
		}
	}
}

/* Up to each comma, then the comma alone, so that add_cell knows where a cell ended. */
static gboolean split_quoted_line(
	PipesimCsv *csv, const char *line, gsize length, GError **error)
{
	const char *comma = NULL;
	gsize fed = 0, want = 0; /* in one go */

	g_string_truncate(csv->arena, 0);
	csv->begin = line;
	csv->position = csv->cell_begin = 0;
	do {
		const char *at = line + csv->position;

		comma = memchr(at, ',', length - csv->position);
		want = comma != NULL ? (gsize)(comma - at) : length - csv->position;
		fed = want > 0 ? csv_parse(&csv->parser, at, want, add_cell, NULL, csv) : 0;
		csv->position += fed;
		if (fed == want && comma != NULL) {
			want = 1;
			fed = csv_parse(&csv->parser, comma, 1, add_cell, NULL, csv);
			csv->position += fed;
		}
	} while (fed == want && comma != NULL);
	if (fed != want)
		return fail_line(csv, csv->position,
			"a quote inside a cell; quote the whole cell and double the quotes in "
			"it",
			error);
	if (csv_fini(&csv->parser, add_cell, NULL, csv) != 0)
		return fail_line(csv, csv->cell_begin,
			"the quote of this cell is not closed on its line", error);
	g_string_set_size(csv->arena, csv->arena->len + PIPESIM_CSV_PADDING);
	for (gsize i = 0; i < csv->n_cells; i++)
		csv->cells[i].text = csv->arena->str + GPOINTER_TO_SIZE(csv->cells[i].text);
	return TRUE;
}

/* The next physical line, without its end; *whole is its length with it. FALSE at the end too.
 */
static gboolean find_line(
	PipesimCsv *csv, const char **line, gsize *length, gsize *whole, GError **error)
{
	gsize searched = 0, have;
	const char *newline = NULL;

	do {
		if (!pipesim_input_peek(csv->input, searched + 1, line, &have, error)) {
			csv->failed = TRUE;
			return FALSE;
		}
		if (have > searched)
			newline = memchr(*line + searched, '\n', have - searched);
		if (newline == NULL && have <= searched)
			break;
		searched = have;
	} while (newline == NULL);
	csv->record.ended = newline != NULL;
	*length = newline != NULL ? (gsize)(newline - *line) : have;
	*whole = *length + (newline != NULL);
	if (*length > 0 && (*line)[*length - 1] == '\r')
		(*length)--;
	return *whole > 0;
}

const PipesimCsvRecord *pipesim_csv_next(PipesimCsv *csv, gboolean split, GError **error)
{
	const char *line;
	gsize length, whole;

	if (csv->failed || !find_line(csv, &line, &length, &whole, error))
		return NULL;
	if (csv->line == 0 && length >= 3 && memcmp(line, "\xef\xbb\xbf", 3) == 0) {
		line += 3;
		length -= 3;
	}
	csv->line++;
	csv->n_cells = 0;
	csv->record.plain = NULL;
	gboolean good = check_bytes(csv, line, length, error);
	if (good && memchr(line, '"', length) != NULL) {
		good = split_quoted_line(csv, line, length, error);
	} else if (good) {
		g_string_set_size(csv->arena, length + PIPESIM_CSV_PADDING);
		memcpy(csv->arena->str, line, length);
		memset(csv->arena->str + length, 0, PIPESIM_CSV_PADDING);
		if (!split)
			csv->record.plain = csv->arena->str;
		else if (length > 0)
			split_plain_line(csv, length);
	}
	pipesim_input_consume(csv->input, whole);
	if (!good) {
		/* csv_fini() leaves an open quote open, so the parser starts anew. */
		csv_free(&csv->parser);
		init_parser(csv);
		return NULL;
	}
	csv->record.line = csv->line;
	csv->record.length = length;
	csv->record.n_cells = (guint)csv->n_cells;
	csv->record.cells = csv->cells;
	return &csv->record;
}
