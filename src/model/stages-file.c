/* Files with a line for each of equal parts of a model: what they take, and what they hold;
 * and with one for each part and micro-batch, or each micro-batch. */
#include "model/costs-file.h"

__extension__ typedef __int128 Wide;

/* What readers of such files share: the first member of what one keeps while it reads. */
typedef struct _Lines Lines;
struct _Lines {
	PipesimCsv *csv;
	guint n_columns; /* of the header; 0 = not read yet */
	gboolean (*header)(Lines *lines, const PipesimCsvRecord *record, GError **error);
	gboolean (*line)(Lines *lines, const PipesimCsvRecord *record, GError **error);
};

/* Whether the header has the @least first of @columns, or more of all @most. @header: as
 * messages say it */
static gboolean check_header(const Lines *lines, const PipesimCsvRecord *record,
	const char *const *columns, guint least, guint most, const char *header, GError **error)
{
	for (guint i = 0; i < MIN(record->n_cells, most); i++)
		if (strcmp(record->cells[i].text, columns[i]) != 0)
			return pipesim_csv_fail(lines->csv, record, &record->cells[i], error,
				"column '%.40s' where %s is expected; the header is %s",
				record->cells[i].text, columns[i], header);
	return (record->n_cells >= least && record->n_cells <= most) ||
	       pipesim_csv_fail(lines->csv, record, NULL, error, "%u columns; the header is %s",
		       record->n_cells, header);
}

/* The first fault ends it: after one in the header or in the numbers of stages the rest
 * would only repeat it. */
static gboolean read_lines(Lines *lines, GError **error)
{
	const PipesimCsvRecord *record;
	GError *fault = NULL;

	while ((record = pipesim_csv_next(lines->csv, TRUE, &fault)) != NULL) {
		if (record->n_cells == 0)
			return pipesim_csv_fail(lines->csv, record, NULL, error, "empty line");
		if (lines->n_columns > 0 && record->n_cells != lines->n_columns)
			return pipesim_csv_fail(lines->csv, record, NULL, error,
				"%u cells under %u columns", record->n_cells, lines->n_columns);
		if (!(lines->n_columns == 0 ? lines->header : lines->line)(
			    lines, record, error))
			return FALSE;
		if (lines->n_columns == 0)
			lines->n_columns = record->n_cells;
	}
	if (fault != NULL)
		g_propagate_error(error, fault);
	return fault == NULL;
}

/* Of parts ------------------------------------------------------------------------------- */

typedef struct {
	const char *columns[5];
	guint least, most;  /* columns */
	const char *header; /* as messages say it */
	gboolean (*parse)(const char *text, const char *what, gint64 *out, GError **error);
} StageFormat;

static const StageFormat stage_times = {{"stage", "F", "I", "W", "B"}, 4, 5,
	"stage,F,I,W or stage,F,I,W,B", pipesim_parse_time};
static const StageFormat stage_bytes = {{"stage", "until_input", "until_weight", "parameters"},
	4, 4, "stage,until_input,until_weight,parameters", pipesim_parse_bytes};

typedef struct {
	Lines lines;
	const StageFormat *format;
	guint n_stages;
	GArray *values; /* gint64: of each line all but the stage; what has no column is 0 */
} Stages;

static gboolean read_stage_header(Lines *lines, const PipesimCsvRecord *record, GError **error)
{
	const StageFormat *format = ((Stages *)lines)->format;

	return check_header(lines, record, format->columns, format->least, format->most,
		format->header, error);
}

static gboolean read_stage(Lines *lines, const PipesimCsvRecord *record, GError **error)
{
	Stages *stages = (Stages *)lines;
	const StageFormat *format = stages->format;
	const PipesimCsvCell *cells = record->cells;
	g_autoptr(GError) fault = NULL;
	guint64 stage;

	if (stages->n_stages >= PIPESIM_MAX_STAGES)
		return pipesim_csv_fail(lines->csv, record, NULL, error, "more than %u stages",
			PIPESIM_MAX_STAGES);
	if (!pipesim_parse_count(cells[0].text, "stage", 0, PIPESIM_MAX_STAGES, &stage, NULL) ||
		stage != stages->n_stages)
		return pipesim_csv_fail(lines->csv, record, &cells[0], error,
			"stage '%.40s'; stages count from 0 without a gap: here %u",
			cells[0].text, stages->n_stages);
	for (guint i = 1; i < format->most; i++) {
		gint64 value = 0;

		if (i < lines->n_columns &&
			!format->parse(cells[i].text, format->columns[i], &value, &fault))
			return pipesim_csv_fail(
				lines->csv, record, &cells[i], error, "%s", fault->message);
		g_array_append_val(stages->values, value);
	}
	stages->n_stages++;
	return TRUE;
}

/* @set: what takes the values as those of equal parts of the model, for one of @ranks shares */
static gboolean read_parts(PipesimCosts *costs, const StageFormat *format, PipesimInput *taken,
	guint ranks,
	gboolean (*set)(PipesimCosts *costs, const GArray *parts, guint ranks, GError **error),
	GError **error)
{
	g_autoptr(PipesimCsv) csv = pipesim_csv_new(taken);
	g_autoptr(GArray) values = g_array_new(FALSE, FALSE, sizeof(gint64));
	Stages stages = {{csv, 0, read_stage_header, read_stage}, format, 0, values};
	g_autoptr(GError) fault = NULL;

	if (csv == NULL || !read_lines(&stages.lines, error))
		return FALSE;
	if (stages.n_stages == 0)
		return pipesim_fail_at(error, pipesim_csv_path(csv), 1, 1,
			"no stage; write a header %s and one line per stage", format->header);
	for (guint i = 0; stages.lines.n_columns < format->most && i < stages.n_stages; i++) {
		gint64 *time = &g_array_index(values, gint64, (gsize)i * PIPESIM_FB);

		time[PIPESIM_B] = time[PIPESIM_I] + time[PIPESIM_W];
	}
	return set(costs, values, ranks, &fault) ||
	       pipesim_fail_at(error, pipesim_csv_path(csv), 1, 1, "%s", fault->message);
}

gboolean pipesim_costs_read_stages(
	PipesimCosts *costs, PipesimInput *taken, guint ranks, GError **error)
{
	return read_parts(costs, &stage_times, taken, ranks, pipesim_costs_set_parts, error);
}

gboolean pipesim_costs_read_stage_bytes(
	PipesimCosts *costs, PipesimInput *taken, guint ranks, GError **error)
{
	return read_parts(
		costs, &stage_bytes, taken, ranks, pipesim_costs_set_part_bytes, error);
}

/* Of micro-batches ------------------------------------------------------------------------ */

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
	Lines of;
	gboolean lengths, bare; /* bare: of micro-batches one after the other */
	GArray *lines;          /* of Line */
	guint parts, microbatches;
} Reader;

static gboolean read_line(Lines *of, const PipesimCsvRecord *record, GError **error);

static gboolean read_header(Lines *of, const PipesimCsvRecord *record, GError **error)
{
	const PipesimCsvCell *cells = record->cells;
	Reader *reader = (Reader *)of;

	reader->lengths = record->n_cells == 2 && strcmp(cells[0].text, "microbatch") == 0 &&
			  strcmp(cells[1].text, "length") == 0;
	if (record->n_cells == 1) {
		PipesimFraction first;

		/* Without a header the first line is a length itself. */
		reader->lengths = reader->bare = of->n_columns = 1;
		return strcmp(cells[0].text, "length") == 0 ||
		       (pipesim_parse_fraction(cells[0].text, "length", &first, NULL)
				       ? read_line(of, record, error)
				       : pipesim_csv_fail(of->csv, record, &cells[0], error,
						 "'%.40s' is no length, nor the header length",
						 cells[0].text));
	}
	return reader->lengths ||
	       check_header(of, record, columns, MOST_COLUMNS - 1, MOST_COLUMNS,
		       "stage,microbatch,F,I,W, with ,B behind it, or microbatch,length",
		       error);
}

/* Whether no line is given twice. @line_of: (out) (optional) (array): by part and micro-batch
 * the line that gives it, 0 = none; for g_free(). */
static gboolean find_twice(const Reader *reader, guint **line_of, GError **error)
{
	const guint64 all = (guint64)reader->parts * reader->microbatches;

	/* A number far too high is told as what is missing before it, not as lack of memory. */
	if (all > PIPESIM_MAX_OP_TIMES)
		return pipesim_fail_at(error, pipesim_csv_path(reader->of.csv), 1, 1,
			"%u stages of %u micro-batches; %" G_GUINT64_FORMAT
			" times of both together are the most",
			reader->parts, reader->microbatches, PIPESIM_MAX_OP_TIMES);
	g_autofree guint *lines = g_try_new0(guint, all);
	if (lines == NULL)
		return pipesim_fail(error, PIPESIM_ERROR_LIMIT,
			"times of %" G_GUINT64_FORMAT " ops do not fit in memory", all);
	for (guint i = 0; i < reader->lines->len; i++) {
		const Line *line = &g_array_index(reader->lines, Line, i);
		guint *first =
			&lines[(gsize)line->part * reader->microbatches + line->microbatch];

		if (*first != 0)
			return pipesim_fail_at(error, pipesim_csv_path(reader->of.csv),
				line->line, 1,
				"micro-batch %u was already given in line %u; give it once",
				line->microbatch, *first);
		*first = line->line;
	}
	if (line_of != NULL)
		*line_of = g_steal_pointer(&lines);
	return TRUE;
}

static gboolean read_line(Lines *of, const PipesimCsvRecord *record, GError **error)
{
	Reader *reader = (Reader *)of;
	const guint n = reader->lines->len + 1;
	Line line = {.line = record->line, .microbatch = reader->bare ? n - 1 : 0};

	if (n > PIPESIM_MAX_OP_TIMES)
		return pipesim_csv_fail(of->csv, record, NULL, error,
			"more than %" G_GUINT64_FORMAT " lines", PIPESIM_MAX_OP_TIMES);
	for (guint i = 0; i < of->n_columns; i++) {
		const guint column = reader->bare      ? FIRST_TIME
				     : reader->lengths ? MICROBATCH + i
						       : i;
		const PipesimCsvCell *cell = &record->cells[i];
		g_autoptr(GError) fault = NULL;
		guint64 count = 0;

		if (column == STAGE || column == MICROBATCH) {
			pipesim_parse_count(cell->text, columns[column], 0,
				(column == STAGE ? PIPESIM_MAX_STAGES
						 : PIPESIM_MAX_MICROBATCHES) -
					1,
				&count, &fault);
			*(column == STAGE ? &line.part : &line.microbatch) = (guint)count;
		} else if (!reader->lengths) {
			pipesim_parse_time(cell->text, columns[column],
				&line.time[column - FIRST_TIME], &fault);
		} else if (!pipesim_parse_fraction(cell->text, "length", &line.length, NULL) ||
			   line.length.num == 0) {
			return pipesim_csv_fail(of->csv, record, cell, error,
				"length '%.40s' must be a number above 0", cell->text);
		}
		if (fault != NULL)
			return pipesim_csv_fail(
				of->csv, record, cell, error, "%s", fault->message);
	}
	if (of->n_columns < MOST_COLUMNS)
		line.time[PIPESIM_B] = line.time[PIPESIM_I] + line.time[PIPESIM_W];
	g_array_append_val(reader->lines, line);
	reader->parts = MAX(reader->parts, line.part + 1);
	reader->microbatches = MAX(reader->microbatches, line.microbatch + 1);
	/* A file that repeats itself, small when packed, is refused before it fills the
	 * memory: by the time that it has twice the lines of what it may have. */
	return n < 1u << 16 || (n & (n - 1)) != 0 || find_twice(reader, NULL, error);
}

/* Each line to its place. */
static gboolean place_lines(const Reader *reader, PipesimOpTimes *times, GError **error)
{
	const gsize all = (gsize)reader->parts * reader->microbatches;
	const char *path = pipesim_csv_path(reader->of.csv);
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
	for (gsize at = 0; at < all; at++) {
		const guint microbatch = (guint)(at % reader->microbatches);

		if (line_of[at] == 0 && reader->lengths)
			return pipesim_fail_at(error, path, 1, 1,
				"no length of micro-batch %u of %u; write a line for each from "
				"0 on",
				microbatch, reader->microbatches);
		if (line_of[at] == 0)
			return pipesim_fail_at(error, path, 1, 1,
				"no times of micro-batch %u in stage %u; write a line for each "
				"of %u micro-batches in each of %u stages, from 0 on",
				microbatch, (guint)(at / reader->microbatches),
				reader->microbatches, reader->parts);
	}
	return TRUE;
}

gboolean pipesim_op_times_read(
	PipesimCosts *costs, PipesimInput *taken, guint ranks, GError **error)
{
	g_autoptr(PipesimCsv) csv = pipesim_csv_new(taken);
	g_autoptr(GArray) lines = g_array_new(FALSE, FALSE, sizeof(Line));
	g_autoptr(GArray) averages = g_array_new(FALSE, FALSE, sizeof(gint64));
	g_autoptr(PipesimOpTimes) times = g_new0(PipesimOpTimes, 1);
	Reader reader = {.of = {csv, 0, read_header, read_line}, .lines = lines};
	g_autoptr(GError) fault = NULL;

	times->references = 1;
	if (csv == NULL || !read_lines(&reader.of, error))
		return FALSE;
	if (lines->len == 0)
		return pipesim_fail_at(error, pipesim_csv_path(csv), 1, 1,
			"no times; write a header stage,microbatch,F,I,W and a line for each "
			"stage and micro-batch");
	if (!place_lines(&reader, times, error))
		return FALSE;
	/* Averages over micro-batches, for stages of @costs. */
	for (guint part = 0; part < times->parts; part++)
		for (guint kind = 0; kind < PIPESIM_FB; kind++) {
			const guint n = times->microbatches;
			Wide total = n / 2;
			for (guint i = 0; i < n; i++)
				total += times->time[((gsize)part * n + i) * PIPESIM_FB + kind];
			const gint64 average = (gint64)(total / n);
			g_array_append_val(averages, average);
		}
	if (times->parts > 0 && !pipesim_costs_set_parts(costs, averages, ranks, &fault))
		return pipesim_fail_at(
			error, pipesim_csv_path(csv), 1, 1, "%s", fault->message);
	pipesim_op_times_unref(costs->op_times);
	costs->op_times = g_steal_pointer(&times);
	return TRUE;
}
