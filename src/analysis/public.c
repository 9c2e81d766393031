/* What callers of the library are offered: one step, and one order at many costs. */
#include "analysis/best-order.h"
#include "analysis/run.h"
#include "engine/lanes.h"
#include "runtime/csv.h"

static gboolean check_size(guint ranks, guint microbatches, GError **error)
{
	if (ranks >= 1 && ranks <= PIPESIM_MAX_RANKS && microbatches >= 1 &&
		microbatches <= PIPESIM_MAX_MICROBATCHES)
		return TRUE;
	return pipesim_fail(error, PIPESIM_ERROR_CONSTRAINT,
		"%u ranks and %u micro-batches; from 1 to %u and to %u are possible", ranks,
		microbatches, PIPESIM_MAX_RANKS, PIPESIM_MAX_MICROBATCHES);
}

PipesimRun *pipesim_simulate(const PipesimSchedule *schedule, guint ranks, guint microbatches,
	const PipesimCosts *costs, GError **error)
{
	const PipesimScenario scenario = {
		.ranks = ranks, .microbatches = microbatches, .keep = PIPESIM_KEEP_NOTHING};

	g_return_val_if_fail(schedule != NULL && costs != NULL, NULL);
	if (!check_size(ranks, microbatches, error))
		return NULL;
	g_autoptr(PipesimRun) run = pipesim_run_schedule(schedule, &scenario, costs);
	return pipesim_run_check(run, error) ? g_steal_pointer(&run) : NULL;
}

gint64 pipesim_run_makespan(const PipesimRun *run)
{
	return run->report->makespan;
}

gint64 pipesim_run_bubble(const PipesimRun *run, guint rank)
{
	g_return_val_if_fail(rank < run->report->ranks, -1);
	return run->report->bubble.idle[rank];
}

double pipesim_run_peak_activations(const PipesimRun *run, guint rank)
{
	const PipesimReport *report = run->report;

	g_return_val_if_fail(rank < report->ranks, -1);
	return (double)report->held.peak[rank] * (double)report->held.unit.num /
	       (double)report->held.unit.den;
}

gint64 pipesim_run_peak_bytes(const PipesimRun *run, guint rank)
{
	g_return_val_if_fail(rank < run->report->ranks, -1);
	return run->report->memory.peak != NULL ? run->report->memory.peak[rank] : -1;
}

gboolean pipesim_run_fits(const PipesimRun *run)
{
	return run->report->memory.fits;
}

gint64 pipesim_run_waiting(const PipesimRun *run, guint rank)
{
	g_return_val_if_fail(rank < run->report->ranks, -1);
	return run->report->comm != NULL && run->report->comm->waiting != NULL
		       ? run->report->comm->waiting[rank]
		       : 0;
}

guint pipesim_run_ranks(const PipesimRun *run)
{
	return run->shape.ranks;
}

guint pipesim_run_stages(const PipesimRun *run)
{
	return run->shape.stages;
}

guint pipesim_run_microbatches(const PipesimRun *run)
{
	return run->shape.microbatches / pipesim_shape_slices(&run->shape);
}

const char *pipesim_run_runtime(const PipesimRun *run)
{
	return run->runtime->name;
}

const char *pipesim_kind_name(guint kind)
{
	return kind < PIPESIM_N_OPS ? pipesim_op_rows[kind].word : NULL;
}

guint pipesim_run_n_ops(const PipesimRun *run, guint rank)
{
	const PipesimProgram *program = run->step->program;

	g_return_val_if_fail(rank < run->report->ranks, 0);
	return program != NULL ? program->rank_begin[rank + 1] - program->rank_begin[rank] : 0;
}

void pipesim_run_op(const PipesimRun *run, guint rank, guint index, PipesimRunOp *op)
{
	const PipesimProgram *program = run->step->program;
	const guint slices = pipesim_shape_slices(&run->shape);

	g_return_if_fail(index < pipesim_run_n_ops(run, rank));
	guint32 at = program->rank_begin[rank] + index;
	const PipesimOp *ran = &program->ops[at];
	*op = (PipesimRunOp){.kind = ran->kind,
		.stage = pipesim_op_rows[ran->kind].of_rank
				 ? rank
				 : pipesim_op_stage(program, rank, ran),
		.microbatch = ran->microbatch / slices,
		.slice = ran->microbatch % slices,
		.start = run->step->timeline->start[at],
		.end = run->step->timeline->end[at]};
	if (ran->kind == PIPESIM_FB) {
		op->b_stage = pipesim_op_b_stage(program, rank, ran);
		op->b_microbatch = ran->b_microbatch;
	}
}

void pipesim_run_ops(const PipesimRun *run, guint rank, PipesimRunOp *ops)
{
	const guint n = pipesim_run_n_ops(run, rank);

	for (guint i = 0; i < n; i++)
		pipesim_run_op(run, rank, i, &ops[i]);
}

guint pipesim_run_n_messages(const PipesimRun *run)
{
	return run->step->timeline != NULL ? run->step->timeline->n_transfers : 0;
}

void pipesim_run_message(const PipesimRun *run, guint index, PipesimRunMessage *message)
{
	g_return_if_fail(index < pipesim_run_n_messages(run));
	const guint32 *begin = run->step->program->rank_begin;
	const PipesimTransfer *moved = &run->step->timeline->transfers[index];
	*message = (PipesimRunMessage){.from_rank = moved->from_rank,
		.from_op = moved->from - begin[moved->from_rank],
		.to_rank = moved->to_rank,
		.to_op = moved->to - begin[moved->to_rank],
		.backward = moved->backward != 0,
		.sent = moved->sent,
		.received = moved->received,
		.start = moved->start,
		.end = moved->end};
}

char *pipesim_run_order(const PipesimRun *run)
{
	if (run->step->whole == NULL)
		return NULL;
	GString *order = g_string_new(NULL);
	pipesim_schedule_write_csv(run->step->whole, order);
	return g_string_free(order, FALSE);
}

struct _PipesimWhatif {
	PipesimProgram *program;
	PipesimLanes *lanes;
};

PipesimWhatif *pipesim_whatif_new(const PipesimSchedule *schedule, guint ranks,
	guint microbatches, const PipesimCosts *costs, GError **error)
{
	const PipesimScenario scenario = {.ranks = ranks, .microbatches = microbatches};
	g_autoptr(PipesimWhatif) whatif = g_new0(PipesimWhatif, 1);

	g_return_val_if_fail(schedule != NULL && costs != NULL, NULL);
	if (!check_size(ranks, microbatches, error))
		return NULL;
	whatif->program = pipesim_best_program(schedule, &scenario, costs, error);
	if (whatif->program != NULL)
		whatif->lanes = pipesim_lanes_new(whatif->program, error);
	return whatif->lanes != NULL ? g_steal_pointer(&whatif) : NULL;
}

gboolean pipesim_whatif_run(const PipesimWhatif *whatif, const PipesimCosts *const *costs,
	gsize n, guint threads, PipesimOutcome *outcomes, GError **error)
{
	g_return_val_if_fail(whatif != NULL && (n == 0 || costs != NULL), FALSE);
	return pipesim_lanes_evaluate(whatif->lanes, costs, n, threads, outcomes, error);
}

PIPESIM_FREES(PipesimWhatif, pipesim_whatif_free, whatif)
{
	pipesim_program_unref(whatif->program);
	pipesim_lanes_free(whatif->lanes);
	g_free(whatif);
}
