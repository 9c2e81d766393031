#include "config.h"

#include "base/csv.h"
#include "model/op-times.h"

#include <string.h>

__extension__ typedef __int128 Wide;

/* What a column is of. */
enum {
	STAGE,
	MICROBATCH,
	FIRST_TIME, /* F, I, W and B */
	MOST_COLUMNS = FIRST_TIME + PIPESIM_FB
};

static const char *const columns[MOST_COLUMNS] = {"stage", "microbatch", "F", "I", "W", "B"};

/* A line: either times or a length counts. */
typedef struct {
	guint part, microbatch, line;
	gint64 time[PIPESIM_FB];
	PipesimFraction length;
} Line;

typedef struct {
	PipesimCsv *csv;
	guint n_columns; /* of the header; 0 = not read yet */
	gboolean lengths;
	GArray *lines; /* of Line */
	guint parts, microbatches;
} Reader;

static gboolean read_header(Reader *reader, const PipesimCsvRecord *record, GError **error)
{
	static const char header[] =
		"the header is stage,microbatch,F,I,W, with ,B behind it, or microbatch,length";
	const PipesimCsvCell *cells = record->cells;

	reader->lengths = record->n_cells == 2 && strcmp(cells[0].text, "microbatch") == 0 &&
			  strcmp(cells[1].text, "length") == 0;
	reader->n_columns = record->n_cells;
	if (reader->lengths)
		return TRUE;
	for (guint i = 0; i < MIN(record->n_cells, MOST_COLUMNS); i++)
		if (strcmp(cells[i].text, columns[i]) != 0)
			return pipesim_csv_fail(reader->csv, record, &cells[i], error,
				"column '%.40s' where %s is expected; %s", cells[i].text,
				columns[i], header);
	return (record->n_cells >= MOST_COLUMNS - 1 && record->n_cells <= MOST_COLUMNS) ||
	       pipesim_csv_fail(reader->csv, record, NULL, error, "%u columns; %s",
		       record->n_cells, header);
}

static gboolean read_index(Reader *reader, const PipesimCsvRecord *record, guint column,
	const char *what, guint most, guint *out, GError **error)
{
	g_autoptr(GError) fault = NULL;
	guint64 value;

	if (!pipesim_parse_count(record->cells[column].text, what, 0, most - 1, &value, &fault))
		return pipesim_csv_fail(reader->csv, record, &record->cells[column], error,
			"%s", fault->message);
	*out = (guint)value;
	return TRUE;
}

static gboolean read_amount(Reader *reader, const PipesimCsvRecord *record, guint column,
	Line *line, GError **error)
{
	const char *text = record->cells[column].text;
	g_autoptr(GError) fault = NULL;

	if (reader->lengths) {
		if (pipesim_parse_fraction(text, "length", &line->length, &fault) &&
			line->length.num > 0)
			return TRUE;
		return pipesim_csv_fail(reader->csv, record, &record->cells[column], error,
			"length '%.40s' must be a number above 0", text);
	}
	return pipesim_parse_time(
		       text, columns[column], &line->time[column - FIRST_TIME], &fault) ||
	       pipesim_csv_fail(reader->csv, record, &record->cells[column], error, "%s",
		       fault->message);
}

/* Whether no line is given twice. @line_of: (out) (optional) (array): by part and micro-batch
 * the line that gives it, 0 = none; for g_free(). */
static gboolean find_twice(const Reader *reader, guint **line_of, GError **error)
{
	const guint64 all = (guint64)reader->parts * reader->microbatches;
	g_autofree guint *lines = NULL;

	/* A number far too high is told as what is missing before it, not as lack of memory. */
	if (all > PIPESIM_MAX_OP_TIMES)
		return pipesim_fail_at(error, pipesim_csv_path(reader->csv), 1, 1,
			"%u stages of %u micro-batches; %" G_GUINT64_FORMAT
			" times of both together are the most",
			reader->parts, reader->microbatches, PIPESIM_MAX_OP_TIMES);
	lines = g_try_new0(guint, all);
	if (lines == NULL)
		return pipesim_fail(error, PIPESIM_ERROR_LIMIT,
			"times of %" G_GUINT64_FORMAT " ops do not fit in memory", all);
	for (guint i = 0; i < reader->lines->len; i++) {
		const Line *line = &g_array_index(reader->lines, Line, i);
		guint *first =
			&lines[(gsize)line->part * reader->microbatches + line->microbatch];

		if (*first != 0)
			return pipesim_fail_at(error, pipesim_csv_path(reader->csv), line->line,
				1, "micro-batch %u was already given in line %u; give it once",
				line->microbatch, *first);
		*first = line->line;
	}
	if (line_of != NULL)
		*line_of = g_steal_pointer(&lines);
	return TRUE;
}

/* A file that repeats itself, small when packed, is refused before it fills the memory: by the
 * time that it has twice the lines of what it may have. */
static gboolean is_checked_at(guint n_lines)
{
	return n_lines >= 1u << 16 && (n_lines & (n_lines - 1)) == 0;
}

static gboolean read_line(Reader *reader, const PipesimCsvRecord *record, GError **error)
{
	const guint at = reader->lengths ? 0 : MICROBATCH;
	Line line = {.line = record->line};

	if (record->n_cells == 0)
		return pipesim_csv_fail(reader->csv, record, NULL, error, "empty line");
	if (reader->n_columns == 0)
		return read_header(reader, record, error);
	if (record->n_cells != reader->n_columns)
		return pipesim_csv_fail(reader->csv, record, NULL, error,
			"%u cells under %u columns", record->n_cells, reader->n_columns);
	if (reader->lines->len >= PIPESIM_MAX_OP_TIMES)
		return pipesim_csv_fail(reader->csv, record, NULL, error,
			"more than %" G_GUINT64_FORMAT " lines", PIPESIM_MAX_OP_TIMES);
	if (at > 0 && !read_index(reader, record, STAGE, "stage", PIPESIM_MAX_STAGES,
			      &line.part, error))
		return FALSE;
	if (!read_index(reader, record, at, "microbatch", PIPESIM_MAX_MICROBATCHES,
		    &line.microbatch, error))
		return FALSE;
	for (guint i = at + 1; i < reader->n_columns; i++)
		if (!read_amount(reader, record, i, &line, error))
			return FALSE;
	if (reader->n_columns < MOST_COLUMNS)
		line.time[PIPESIM_B] = line.time[PIPESIM_I] + line.time[PIPESIM_W];
	g_array_append_val(reader->lines, line);
	reader->parts = MAX(reader->parts, line.part + 1);
	reader->microbatches = MAX(reader->microbatches, line.microbatch + 1);
	return !is_checked_at(reader->lines->len) || find_twice(reader, NULL, error);
}

static gboolean fail_missing(const Reader *reader, gsize at, GError **error)
{
	const guint part = (guint)(at / reader->microbatches);
	const guint microbatch = (guint)(at % reader->microbatches);
	const char *path = pipesim_csv_path(reader->csv);

	if (reader->lengths)
		return pipesim_fail_at(error, path, 1, 1,
			"no length of micro-batch %u of %u; write a line for each from 0 on",
			microbatch, reader->microbatches);
	return pipesim_fail_at(error, path, 1, 1,
		"no times of micro-batch %u in stage %u; write a line for each of %u "
		"micro-batches in each of %u stages, from 0 on",
		microbatch, part, reader->microbatches, reader->parts);
}

/* Each line to its place. */
static gboolean place_lines(const Reader *reader, PipesimOpTimes *times, GError **error)
{
	const gsize all = (gsize)reader->parts * reader->microbatches;
	g_autofree guint *line_of = NULL;

	if (!find_twice(reader, &line_of, error))
		return FALSE;
	times->microbatches = reader->microbatches;
	times->parts = reader->lengths ? 0 : reader->parts;
	if (reader->lengths)
		times->length = g_try_new0(PipesimFraction, all);
	else
		times->time = g_try_new0(gint64, all * PIPESIM_FB);
	if (times->length == NULL && times->time == NULL)
		return pipesim_fail(error, PIPESIM_ERROR_LIMIT,
			"times of %" G_GSIZE_FORMAT " ops do not fit in memory", all);
	for (guint i = 0; i < reader->lines->len; i++) {
		const Line *line = &g_array_index(reader->lines, Line, i);
		const gsize at = (gsize)line->part * reader->microbatches + line->microbatch;

		if (reader->lengths)
			times->length[at] = line->length;
		else
			memcpy(&times->time[at * PIPESIM_FB], line->time, sizeof line->time);
	}
	for (gsize at = 0; at < all; at++)
		if (line_of[at] == 0)
			return fail_missing(reader, at, error);
	return TRUE;
}

/* Averages over micro-batches, for stages of @costs. */
static gboolean set_averages(
	PipesimCosts *costs, const PipesimOpTimes *times, guint ranks, GError **error)
{
	g_autoptr(GArray) parts = g_array_new(FALSE, FALSE, sizeof(gint64));
	const guint n = times->microbatches;

	for (guint part = 0; part < times->parts; part++)
		for (guint kind = 0; kind < PIPESIM_FB; kind++) {
			Wide total = 0;
			gint64 average;

			for (guint i = 0; i < n; i++)
				total += times->time[((gsize)part * n + i) * PIPESIM_FB + kind];
			average = (gint64)((total + n / 2) / n);
			g_array_append_val(parts, average);
		}
	return times->parts == 0 || pipesim_costs_set_parts(costs, parts, ranks, error);
}

gboolean pipesim_op_times_read(
	PipesimCosts *costs, PipesimInput *taken, guint ranks, GError **error)
{
	g_autoptr(PipesimCsv) csv = pipesim_csv_new(taken);
	g_autoptr(GArray) lines = g_array_new(FALSE, FALSE, sizeof(Line));
	g_autoptr(PipesimOpTimes) times = g_new0(PipesimOpTimes, 1);
	Reader reader = {.csv = csv, .lines = lines};
	const PipesimCsvRecord *record;
	g_autoptr(GError) fault = NULL;
	GError *broken = NULL;

	times->references = 1;
	if (csv == NULL)
		return FALSE;
	while ((record = pipesim_csv_next(csv, TRUE, &broken)) != NULL)
		if (!read_line(&reader, record, error))
			return FALSE;
	if (broken != NULL) {
		g_propagate_error(error, broken);
		return FALSE;
	}
	if (lines->len == 0)
		return pipesim_fail_at(error, pipesim_csv_path(csv), 1, 1,
			"no times; write a header stage,microbatch,F,I,W and a line for each "
			"stage and micro-batch");
	if (!place_lines(&reader, times, error))
		return FALSE;
	if (!set_averages(costs, times, ranks, &fault))
		return pipesim_fail_at(
			error, pipesim_csv_path(csv), 1, 1, "%s", fault->message);
	pipesim_op_times_unref(costs->op_times);
	costs->op_times = g_steal_pointer(&times);
	return TRUE;
}
