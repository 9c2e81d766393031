#include "diagnosis/executed.h"
#include "analysis/difference.h"

static guint8 chunk_of(const PipesimProgram *program, guint rank, guint stage)
{
	const guint32 *stage_of = &program->stage_of[(gsize)rank * program->shape.chunks];
	guint8 chunk = 0;

	while (stage_of[chunk] != stage)
		chunk++;
	return chunk;
}

/* Where faults of a recorded order are. */
typedef struct {
	const PipesimRecordPipeline *pipeline;
	gint64 step;
	gboolean told; /* that it is of a record */
} Places;

static void locate(gpointer data, guint32 index, GError *error)
{
	Places *places = data;
	const PipesimRecordOp *op =
		&places->pipeline
			 ->ops[index != PIPESIM_NO_OP ? index : places->pipeline->op_begin[0]];

	if (!places->told) {
		char *message = g_strdup_printf("the order recorded in step %" G_GINT64_FORMAT
						" cannot have run: %s",
			places->step, error->message);

		g_free(error->message);
		error->message = message;
	}
	places->told = TRUE;
	pipesim_error_locate(error, op->path, op->line, 1);
}

PipesimProgram *pipesim_executed_program(
	const PipesimRecord *record, const PipesimRecordPipeline *pipeline, GError **error)
{
	const PipesimJoined *joined = &record->joined;
	const guint32 n_ops = pipeline->op_begin[joined->ranks];
	const PipesimShape shape = {
		.ranks = joined->ranks,
		.chunks = joined->chunks,
		.microbatches = joined->microbatches,
		.stages = joined->stages,
		.copies = joined->copies,
		.max_activations = {joined->ranks, 1},
		.placement = PIPESIM_FROM_FILE,
	};
	Places places = {.pipeline = pipeline,
		.step = pipesim_record_step(record, pipeline->step)->number};

	if (joined->chunks > PIPESIM_MAX_CHUNKS)
		return pipesim_fail_null(error, PIPESIM_ERROR_LIMIT,
			"%u stages on a rank; at most %u", joined->chunks, PIPESIM_MAX_CHUNKS);
	g_autoptr(PipesimProgram) program = pipesim_program_new(&shape, n_ops, error);
	if (program == NULL)
		return NULL;
	/* The stages of each rank as its chunks, in order. */
	for (guint i = 0; i < joined->ranks * joined->chunks; i++)
		program->stage_of[i] = PIPESIM_NO_OP;
	g_autofree guint *n = g_new0(guint, joined->ranks);
	pipesim_each (const PipesimStagePlace, held, joined->held)
		program->stage_of[(gsize)held->rank * joined->chunks + n[held->rank]++] =
			held->stage;
	program->n_ops = n_ops;
	memcpy(program->rank_begin, pipeline->op_begin,
		((gsize)joined->ranks + 1) * sizeof *program->rank_begin);
	pipesim_each_rank_of (i, pipeline->op_begin, rank, joined->ranks) {
		const PipesimRecordOp *op = &pipeline->ops[i];
		const gboolean pair = op->kind == PIPESIM_FB;

		program->ops[i] = (PipesimOp){.microbatch = op->microbatch,
			.b_microbatch = op->b_microbatch,
			.kind = op->kind,
			.chunk = chunk_of(program, rank, op->stage),
			.b_chunk = pair ? chunk_of(program, rank, op->b_stage) : 0};
	}
	if (!pipesim_program_link(program, locate, &places, error) ||
		!pipesim_program_check_order(program, locate, &places, error))
		return NULL;
	return g_steal_pointer(&program);
}

gboolean pipesim_executed_same(const PipesimRecord *record, const PipesimRecordPipeline *a,
	const PipesimRecordPipeline *b)
{
	if (memcmp(a->op_begin, b->op_begin,
		    (record->joined.ranks + (gsize)1) * sizeof *a->op_begin) != 0)
		return FALSE;
	for (guint32 i = 0; i < a->op_begin[record->joined.ranks]; i++) {
		const PipesimRecordOp *x = &a->ops[i], *y = &b->ops[i];

		if (x->kind != y->kind || x->stage != y->stage ||
			x->microbatch != y->microbatch || x->b_stage != y->b_stage ||
			x->b_microbatch != y->b_microbatch)
			return FALSE;
	}
	return TRUE;
}

gboolean pipesim_nearest_schedule(const PipesimRun *executed, const PipesimScenario *scenario,
	const PipesimCosts *costs, PipesimNearest *out, GError **error)
{
	const PipesimSchedule *const *all = pipesim_schedule_list();
	PipesimScenario own = *scenario;

	*out = (PipesimNearest){0};
	own.keep = PIPESIM_KEEP_OPS;
	own.runtime = NULL;
	own.samples = 0;
	for (; *all != NULL && !out->exact; all++) {
		const guint parts = MAX((*all)->parts, 1u);
		guint32 same;

		/* What was recorded are the parts. */
		if (scenario->microbatches % parts != 0 || !pipesim_schedule_is_plain(*all))
			continue;
		own.microbatches = scenario->microbatches / parts;
		PipesimRun *run = pipesim_run_schedule(*all, &own, costs);
		if (g_error_matches(run->error, PIPESIM_ERROR, PIPESIM_ERROR_LIMIT)) {
			g_propagate_error(error, g_steal_pointer(&run->error));
			pipesim_run_free(run);
			return FALSE;
		}
		if (run->error != NULL || run->shape.ranks != executed->shape.ranks ||
			run->shape.microbatches != executed->shape.microbatches ||
			(same = pipesim_difference_same_ops(executed, run)) <= out->same) {
			pipesim_run_free(run);
			continue;
		}
		pipesim_run_free(out->run);
		*out = (PipesimNearest){run, same,
			same == executed->step->whole->n_ops &&
				same == run->step->whole->n_ops};
	}
	return TRUE;
}

void pipesim_nearest_clear(PipesimNearest *nearest)
{
	pipesim_run_free(nearest->run);
	*nearest = (PipesimNearest){0};
}
