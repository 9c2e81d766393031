#include "config.h"

#include "base/csv.h"
#include "model/stage-times.h"
#include <string.h>

/* Sums of products of times and counts. */
__extension__ typedef __int128 Wide;

static const char *const columns[] = {"stage", "F", "I", "W", "B"};
enum {
	STAGE,
	FIRST_TIME,
	LEAST = 4, /* columns, without B */
	MOST = 5,
};

typedef struct {
	PipesimCsv *csv;
	guint n_columns; /* of the header; 0 = not read yet */
	GArray *times;   /* gint64: F, I, W, B of each line */
} File;

/* The header, or a line of it. */
static gboolean read_record(File *file, const PipesimCsvRecord *record, GError **error)
{
	const guint expected = file->times->len / PIPESIM_FB;
	const PipesimCsvCell *cells = record->cells;
	g_autoptr(GError) fault = NULL;
	gint64 time[PIPESIM_FB];
	guint64 stage;

	if (record->n_cells == 0)
		return pipesim_csv_fail(file->csv, record, NULL, error, "empty line");
	if (expected >= PIPESIM_MAX_STAGES)
		return pipesim_csv_fail(file->csv, record, NULL, error, "more than %u stages",
			PIPESIM_MAX_STAGES);
	if (file->n_columns == 0) {
		for (guint i = 0; i < record->n_cells && i < MOST; i++)
			if (strcmp(cells[i].text, columns[i]) != 0)
				return pipesim_csv_fail(file->csv, record, &cells[i], error,
					"column '%.40s' where %s is expected; the header is "
					"stage,F,I,W or stage,F,I,W,B",
					cells[i].text, columns[i]);
		if (record->n_cells < LEAST || record->n_cells > MOST)
			return pipesim_csv_fail(file->csv, record, NULL, error,
				"%u columns; the header is stage,F,I,W or stage,F,I,W,B",
				record->n_cells);
		file->n_columns = record->n_cells;
		return TRUE;
	}
	if (record->n_cells != file->n_columns)
		return pipesim_csv_fail(file->csv, record, NULL, error,
			"%u cells under %u columns", record->n_cells, file->n_columns);
	if (!pipesim_parse_count(
		    cells[STAGE].text, "stage", 0, PIPESIM_MAX_STAGES, &stage, NULL) ||
		stage != expected)
		return pipesim_csv_fail(file->csv, record, &cells[STAGE], error,
			"stage '%.40s'; stages count from 0 without a gap: here %u",
			cells[STAGE].text, expected);
	for (guint i = FIRST_TIME; i < file->n_columns; i++)
		if (!pipesim_parse_time(
			    cells[i].text, columns[i], &time[i - FIRST_TIME], &fault))
			return pipesim_csv_fail(
				file->csv, record, &cells[i], error, "%s", fault->message);
	if (file->n_columns == LEAST)
		time[PIPESIM_B] = time[PIPESIM_I] + time[PIPESIM_W];
	g_array_append_vals(file->times, time, PIPESIM_FB);
	return TRUE;
}

static gboolean read_stages(PipesimCosts *costs, PipesimCsv *csv, guint ranks, GError **error)
{
	g_autoptr(GArray) times = g_array_new(FALSE, FALSE, sizeof(gint64));
	File file = {.csv = csv, .times = times};
	const gint64 pair = costs->time[PIPESIM_FB];
	const gint64 alone = costs->time[PIPESIM_F] + costs->time[PIPESIM_B];
	gint64 time[PIPESIM_FB];
	const PipesimCsvRecord *record;
	GError *fault = NULL;

	/* The first fault ends it: after one in the header or in the numbers of stages the rest
	 * would only repeat it. */
	while ((record = pipesim_csv_next(csv, &fault)) != NULL)
		if (!read_record(&file, record, error))
			return FALSE;
	if (fault != NULL) {
		g_propagate_error(error, fault);
		return FALSE;
	}
	if (times->len == 0)
		return pipesim_fail_at(error, pipesim_csv_path(csv), 1, 1,
			"no stage; a header stage,F,I,W and a line a stage");
	/* Those of the whole model as a share of one of the ranks. */
	for (guint kind = 0; kind < PIPESIM_FB; kind++) {
		Wide total = 0;
		for (guint i = kind; i < times->len; i += PIPESIM_FB)
			total += g_array_index(times, gint64, i);
		total = (total + ranks / 2) / ranks;
		if (total > PIPESIM_MAX_TIME_NS)
			return pipesim_fail_at(error, pipesim_csv_path(csv), 1, 1,
				"%s of all stages together is longer than pipesim counts",
				columns[FIRST_TIME + kind]);
		time[kind] = (gint64)total;
	}
	memcpy(costs->time, time, sizeof time);
	costs->time[PIPESIM_FB] = time[PIPESIM_F] + time[PIPESIM_B];
	if (costs->has_pair && alone > 0)
		costs->time[PIPESIM_FB] =
			pipesim_time_scale(costs->time[PIPESIM_FB], pair, alone);
	g_free(costs->part);
	costs->n_parts = times->len / PIPESIM_FB;
	costs->part = (gint64 *)(gpointer)g_array_steal(times, NULL);
	return TRUE;
}

gboolean pipesim_costs_read_stages(
	PipesimCosts *costs, const char *path, guint ranks, GError **error)
{
	g_autoptr(PipesimCsv) csv = pipesim_csv_open(path, error);

	return csv != NULL && read_stages(costs, csv, ranks, error);
}

gboolean pipesim_costs_parse_stages(PipesimCosts *costs, const char *text, gsize length,
	const char *path, guint ranks, GError **error)
{
	g_autoptr(PipesimCsv) csv =
		pipesim_csv_new(pipesim_input_new_memory(path, text, length));

	return read_stages(costs, csv, ranks, error);
}
