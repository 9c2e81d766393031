/* Files with a line for each of equal parts of a model: what they take, and what they hold. */
#include "config.h"

#include "base/csv.h"
#include "model/costs-file.h"

#include <string.h>

/* What a file of stages has a line of, for each of equal parts of the model. */
typedef struct {
	const char *columns[5]; /* behind that of the stage */
	guint least, most;      /* columns without that of the stage */
	const char *header;     /* as messages say it */
	gboolean (*parse)(const char *text, const char *what, gint64 *out, GError **error);
} StageFormat;

static const StageFormat stage_times = {
	{"F", "I", "W", "B"}, 3, 4, "stage,F,I,W or stage,F,I,W,B", pipesim_parse_time};
static const StageFormat stage_bytes = {{"until_input", "until_weight", "parameters"},
	PIPESIM_N_BYTES, PIPESIM_N_BYTES, "stage,until_input,until_weight,parameters",
	pipesim_parse_bytes};

typedef struct {
	const StageFormat *format;
	PipesimCsv *csv;
	guint n_columns; /* of the header, without the stage; 0 = not read yet */
	guint n_stages;
	GArray *values; /* gint64: format->most of each line; what has no column is 0 */
} Stages;

static gboolean read_stage_header(
	Stages *stages, const PipesimCsvRecord *record, GError **error)
{
	const StageFormat *format = stages->format;
	const PipesimCsvCell *cells = record->cells;

	for (guint i = 0; i < record->n_cells && i <= format->most; i++) {
		const char *expected = i == 0 ? "stage" : format->columns[i - 1];

		if (strcmp(cells[i].text, expected) != 0)
			return pipesim_csv_fail(stages->csv, record, &cells[i], error,
				"column '%.40s' where %s is expected; the header is %s",
				cells[i].text, expected, format->header);
	}
	if (record->n_cells <= format->least || record->n_cells > format->most + 1)
		return pipesim_csv_fail(stages->csv, record, NULL, error,
			"%u columns; the header is %s", record->n_cells, format->header);
	stages->n_columns = record->n_cells - 1;
	return TRUE;
}

/* The header, or a line of it. */
static gboolean read_stage(Stages *stages, const PipesimCsvRecord *record, GError **error)
{
	const StageFormat *format = stages->format;
	const PipesimCsvCell *cells = record->cells;
	g_autoptr(GError) fault = NULL;
	guint64 stage;

	if (record->n_cells == 0)
		return pipesim_csv_fail(stages->csv, record, NULL, error, "empty line");
	if (stages->n_columns == 0)
		return read_stage_header(stages, record, error);
	if (stages->n_stages >= PIPESIM_MAX_STAGES)
		return pipesim_csv_fail(stages->csv, record, NULL, error, "more than %u stages",
			PIPESIM_MAX_STAGES);
	if (record->n_cells != stages->n_columns + 1)
		return pipesim_csv_fail(stages->csv, record, NULL, error,
			"%u cells under %u columns", record->n_cells, stages->n_columns + 1);
	if (!pipesim_parse_count(cells[0].text, "stage", 0, PIPESIM_MAX_STAGES, &stage, NULL) ||
		stage != stages->n_stages)
		return pipesim_csv_fail(stages->csv, record, &cells[0], error,
			"stage '%.40s'; stages count from 0 without a gap: here %u",
			cells[0].text, stages->n_stages);
	for (guint i = 0; i < format->most; i++) {
		gint64 value = 0;

		if (i < stages->n_columns &&
			!format->parse(cells[i + 1].text, format->columns[i], &value, &fault))
			return pipesim_csv_fail(stages->csv, record, &cells[i + 1], error, "%s",
				fault->message);
		g_array_append_val(stages->values, value);
	}
	stages->n_stages++;
	return TRUE;
}

static gboolean read_stages(Stages *stages, GError **error)
{
	const PipesimCsvRecord *record;
	GError *fault = NULL;

	/* The first fault ends it: after one in the header or in the numbers of stages the rest
	 * would only repeat it. */
	while ((record = pipesim_csv_next(stages->csv, TRUE, &fault)) != NULL)
		if (!read_stage(stages, record, error))
			return FALSE;
	if (fault != NULL) {
		g_propagate_error(error, fault);
		return FALSE;
	}
	return stages->n_stages > 0 ||
	       pipesim_fail_at(error, pipesim_csv_path(stages->csv), 1, 1,
		       "no stage; write a header %s and one line per stage",
		       stages->format->header);
}

/* @set: what takes the values as those of equal parts of the model, for one of @ranks shares */
static gboolean read_parts(PipesimCosts *costs, const StageFormat *format, PipesimInput *taken,
	guint ranks,
	gboolean (*set)(PipesimCosts *costs, const GArray *parts, guint ranks, GError **error),
	GError **error)
{
	g_autoptr(PipesimCsv) csv = pipesim_csv_new(taken);
	g_autoptr(GArray) values = g_array_new(FALSE, FALSE, sizeof(gint64));
	Stages stages = {.format = format, .csv = csv, .values = values};
	g_autoptr(GError) fault = NULL;

	if (csv == NULL || !read_stages(&stages, error))
		return FALSE;
	for (guint i = 0; stages.n_columns < format->most && i < stages.n_stages; i++) {
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
