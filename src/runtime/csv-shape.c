/* How many stages and micro-batches a schedule file means. */
#include "config.h"

#include "runtime/csv-parts.h"

/* Distinct values of one field, which says how many there should be, and the largest. */
typedef struct {
	GHashTable *seen;
	guint max;
} Values;

static void see(Values *values, guint32 value)
{
	g_hash_table_add(values->seen, GUINT_TO_POINTER(value));
	values->max = MAX(values->max, value);
}

/* Whether the numbers are 1, 2, 3 ... without a 0. */
static gboolean count_from_one(const Values *values)
{
	return !g_hash_table_contains(values->seen, GUINT_TO_POINTER(0)) &&
	       g_hash_table_size(values->seen) == values->max;
}

/* How many stages a file of @ranks lines means: as many as it numbers without a gap, else the
 * nearest multiple of the ranks, so that one wrong number is told as such. */
static guint expected_stages(const Values *stages, guint ranks)
{
	const guint distinct = g_hash_table_size(stages->seen);
	const guint whole = distinct / ranks, rest = distinct % ranks;

	if (stages->max + 1 == distinct)
		return distinct;
	if (2 * rest > ranks || (2 * rest == ranks && stages->max < (whole + 1) * ranks))
		return (whole + 1) * ranks;
	return MAX(whole, 1u) * ranks;
}

static void check_range(
	PipesimCsvSchedule *file, const PipesimCell *op, guint stages, guint microbatches)
{
	const gboolean pair = op->kind == PIPESIM_FB;
	const guint stage = pair ? MAX(op->stage, op->b_stage) : op->stage;
	const guint microbatch = pair ? MAX(op->microbatch, op->b_microbatch) : op->microbatch;
	g_autoptr(GString) text = NULL;

	if (stage < stages && microbatch < microbatches)
		return;
	text = g_string_new(NULL);
	pipesim_cell_print(op, text);
	if (stage >= stages)
		pipesim_csv_fault(file, op, PIPESIM_ERROR_PARSE,
			"stage %u in '%s', but %u ranks have stages 0 to %u", stage, text->str,
			pipesim_csv_ranks(file), stages - 1);
	else
		pipesim_csv_fault(file, op, PIPESIM_ERROR_PARSE,
			"micro-batch %u in '%s', but the file has %u micro-batches, 0 to %u",
			microbatch, text->str, microbatches, microbatches - 1);
}

/* Numbers that count from 1 are told once, not at every op that they make wrong. */
static gboolean check_base(
	PipesimCsvSchedule *file, const Values *stages, const Values *microbatches)
{
	const gboolean one_stage =
		count_from_one(stages) && stages->max % pipesim_csv_ranks(file) == 0;
	const gboolean one_microbatch = count_from_one(microbatches);

	if (one_stage)
		pipesim_csv_fault(file, pipesim_csv_op(file, 0), PIPESIM_ERROR_PARSE,
			"stages count from 1 in this file, 1 to %u; they count from 0: take 1 "
			"from each",
			stages->max);
	if (one_microbatch)
		pipesim_csv_fault(file, pipesim_csv_op(file, 0), PIPESIM_ERROR_PARSE,
			"micro-batches count from 1 in this file, 1 to %u; they count from 0: "
			"take 1 from each",
			microbatches->max);
	return !one_stage && !one_microbatch;
}

static void fill_shape(PipesimCsvSchedule *file, PipesimShape *shape)
{
	Values stages = {g_hash_table_new(NULL, NULL), 0};
	Values microbatches = {g_hash_table_new(NULL, NULL), 0};
	const guint ranks = pipesim_csv_ranks(file);

	for (guint i = 0; i < file->ops->len; i++) {
		const PipesimCell *op = pipesim_csv_op(file, i);

		see(&stages, op->stage);
		see(&microbatches, op->microbatch);
		if (op->kind == PIPESIM_FB) {
			see(&stages, op->b_stage);
			see(&microbatches, op->b_microbatch);
		}
	}
	*shape = (PipesimShape){
		.ranks = ranks,
		.chunks = 1,
		.microbatches = g_hash_table_size(microbatches.seen),
		.stages = expected_stages(&stages, ranks),
		.copies = 1,
		.max_activations = {ranks, 1},
		.placement = PIPESIM_FROM_FILE,
	};
	if (check_base(file, &stages, &microbatches))
		for (guint i = 0; i < file->ops->len; i++)
			check_range(file, pipesim_csv_op(file, i), shape->stages,
				shape->microbatches);
	g_hash_table_unref(stages.seen);
	g_hash_table_unref(microbatches.seen);
}

gboolean pipesim_csv_shape(PipesimCsvSchedule *file, PipesimShape *shape, GError **error)
{
	fill_shape(file, shape);
	if (!pipesim_faults_done(file->faults, error))
		return FALSE;
	if ((guint64)shape->stages * shape->microbatches > PIPESIM_MAX_OPS)
		return pipesim_fail_at(error, pipesim_csv_path(file->csv), 1, 1,
			"%u stages of %u micro-batches are too many", shape->stages,
			shape->microbatches);
	return TRUE;
}
