#include "engine/ruled-kernel.h"
#include "runtime/rules.h"

void pipesim_ruled_look_up(const PipesimRuledTimes *times, const PipesimRuled *ruled,
	guint rank, guint32 index, PipesimKind half, guint32 step, gint64 *took, gint64 *last)
{
	const PipesimProgram *program = ruled->lowering->program;
	const PipesimOp *op = &program->ops[index];
	const PipesimOp forward = {
		.kind = PIPESIM_F, .chunk = op->chunk, .microbatch = op->microbatch};
	const PipesimOp backward = {
		.kind = PIPESIM_B, .chunk = op->b_chunk, .microbatch = op->b_microbatch};

	if (half != PIPESIM_FB)
		op = half == PIPESIM_F ? &forward : &backward;
	gint64 alone = times->times->drawn != NULL
			       ? times->times->drawn[step]
			       : pipesim_op_duration(program, times->times, rank, op);
	*took = pipesim_edges_add(&times->edges, rank, index, half, alone);
	if (ruled->delay_wgrad > 0 && op->kind == PIPESIM_FB) {
		const guint stage = pipesim_op_b_stage(program, rank, op);
		const gint64 part =
			MIN(ruled->delay_wgrad, times->times->stage[PIPESIM_W][stage]);

		*took -= MIN(part, *took);
		*last = MIN(part, alone);
	}
}

static inline void time_one(const PipesimRuledTimes *times, const PipesimRuled *ruled,
	guint rank, guint32 index, PipesimKind half, guint32 step, gint64 *took, gint64 *last)
{
	const PipesimOp *op = &ruled->lowering->program->ops[index];
	const PipesimDurations *durations = &times->durations;
	const gsize at = (gsize)rank * durations->chunks;

	if (G_UNLIKELY(times->one_by_one))
		pipesim_ruled_look_up(times, ruled, rank, index, half, step, took, last);
	else if (op->kind != PIPESIM_FB || half == PIPESIM_FB)
		*took = pipesim_durations_get(durations, rank, op);
	else
		*took = durations->single[(at + (half == PIPESIM_F ? op->chunk : op->b_chunk)) *
						  PIPESIM_FB +
					  half];
}

/* Figures alone -------------------------------------------------------------------------- */

#define MAKE(name) name##_plain
#define TARGET
#define Times       PipesimRuledTimes
#define time_op     time_one
#define SET(at, to) (*(at) = *(to))
#define START(at)   (*(at) = 0)
#define RELEASE(k, rank, seat)                   \
	if ((k)->times->times->released != NULL) \
	(seat)->time = (seat)->issued = (k)->times->times->released[rank]
#define TAKE(at, to)   (*(at) = MAX(*(at), *(to)))
#define PASS(at, span) (*(at) += *(span))
#define ADD            PASS
#define Time           gint64
#include "engine/ruled-kernel.inc"

/* Around it ------------------------------------------------------------------------------ */

PipesimRuled *pipesim_ruled_new(
	const PipesimLowering *lowering, const PipesimIssuing *issuing, GError **error)
{
	g_autoptr(PipesimRuled) ruled = g_new0(PipesimRuled, 1);

	ruled->lowering = lowering;
	ruled->issuing = *issuing;
	ruled->split = lowering->runtime->splits_pairs;
	ruled->host_waits = (lowering->runtime->takes & PIPESIM_ASK_HOST_TIME) != 0 &&
			    !issuing->no_host_sync && issuing->host_time > 0;
	/* What runs pairs in halves has no last part of one. */
	ruled->delay_wgrad = ruled->split ? 0 : issuing->delay_wgrad;
	ruled->arena = pipesim_arena_new();
	ruled->n_communicators = pipesim_rules_number(lowering, issuing->communicators,
		ruled->arena, &ruled->communicator_begin, &ruled->communicator_of);
	return pipesim_arena_check(
		       ruled->arena, error, "%u ops, sends and receives", lowering->n_actions)
		       ? g_steal_pointer(&ruled)
		       : NULL;
}

PIPESIM_FREES(PipesimRuled, pipesim_ruled_free, ruled)
{
	pipesim_arena_free(ruled->arena);
	g_free(ruled);
}

/* The longest of what is done to stages. */
static gint64 longest_shard(const PipesimTimes *times, guint stages)
{
	const gint64 *const of[] = {times->unshard, times->reduce};
	gint64 longest = 0;

	for (guint i = 0; i < G_N_ELEMENTS(of); i++)
		for (guint stage = 0; of[i] != NULL && stage < stages; stage++)
			longest = MAX(longest, of[i][stage]);
	return longest;
}

gboolean pipesim_ruled_fits(const PipesimRuled *ruled, const PipesimRuledTimes *times)
{
	const PipesimProgram *program = ruled->lowering->program;
	__extension__ typedef __int128 Wide;
	Wide most = (Wide)program->n_ops * times->durations.longest;
	guint32 step = 0;

	for (guint rank = 0; times->one_by_one && rank < program->shape.ranks; rank++)
		pipesim_each_of (op, program->rank_begin, rank) {
			const gboolean split =
				ruled->split && program->ops[op].kind == PIPESIM_FB;
			gint64 took = 0, last = 0;

			pipesim_ruled_look_up(times, ruled, rank, op,
				split ? PIPESIM_F : PIPESIM_FB, step++, &took, &last);
			most += (Wide)took + last;
			if (split)
				pipesim_ruled_look_up(times, ruled, rank, op, PIPESIM_B, step++,
					&took, &last);
			most += split ? took : 0;
		}
	most += (Wide)ruled->lowering->n_actions *
		((Wide)times->p2p + times->host +
			longest_shard(times->times, program->shape.stages));
	return most < PIPESIM_MAX_END;
}

static gboolean fail_memory(const PipesimRuled *ruled, GError **error)
{
	return pipesim_fail(error, PIPESIM_ERROR_LIMIT,
		"%u ops and their messages do not fit in memory; take fewer ranks or "
		"micro-batches",
		ruled->lowering->program->n_ops);
}

gboolean pipesim_ruled_begin(PipesimRuledRun *run, const PipesimRuled *ruled,
	const PipesimTimes *times, PipesimTimeline *timeline, GError **error)
{
	const PipesimProgram *program = ruled->lowering->program;

	*run = (PipesimRuledRun){.arena = pipesim_arena_new(), .timeline = timeline};
	run->times = (PipesimRuledTimes){.times = times,
		.p2p = times->p2p,
		.host = ruled->issuing.host_time,
		.shard = {times->unshard, times->reduce},
		.one_by_one = times->drawn != NULL || times->each != NULL || times->has_edges ||
			      ruled->delay_wgrad > 0};
	pipesim_edges_init(&run->times.edges, program, times, run->arena);
	return (run->times.one_by_one ||
		       pipesim_durations_init(&run->times.durations, program, times, error)) &&
	       (((timeline == NULL || pipesim_shards_begin(&run->shards, ruled->lowering, times,
					      timeline, run->arena)) &&
			pipesim_arena_check(run->arena, NULL, "-")) ||
		       fail_memory(ruled, error));
}

void pipesim_ruled_end(PipesimRuledRun *run)
{
	pipesim_durations_clear(&run->times.durations);
	pipesim_arena_free(run->arena);
}

guint32 pipesim_ruled_steps(const PipesimRuled *ruled)
{
	const PipesimProgram *program = ruled->lowering->program;
	guint32 n = program->n_ops;

	for (guint32 op = 0; ruled->split && op < program->n_ops; op++)
		n += program->ops[op].kind == PIPESIM_FB;
	return n;
}

gboolean pipesim_ruled_figures(const PipesimRuled *ruled, const PipesimTimes *times,
	PipesimRuledFigures *figures, gboolean *done, GError **error)
{
	const gsize bytes = ruled->lowering->program->shape.ranks * sizeof(gint64);
	g_autoptr(PipesimTimeline) timeline = g_new0(PipesimTimeline, 1);
	PipesimRuledRun run;
	gboolean ok = pipesim_ruled_begin(&run, ruled, times, timeline, error);
	Kernel_plain k = {.ruled = ruled,
		.times = &run.times,
		.shards = &run.shards,
		.when = figures->there,
		.start = figures->start,
		.took = figures->took};

	*done = ok && pipesim_ruled_fits(ruled, &run.times);
	if (*done) {
		ok = run_plain(&k, run.arena) || fail_memory(ruled, error);
		for (guint rank = 0; ok && figures->stopped != NULL && rank < k.ranks; rank++)
			figures->stopped[rank] = k.seats[rank].at;
		ok = ok && (k.n_done == pipesim_ruled_steps(ruled) ||
				   pipesim_lowering_stops(ruled->lowering,
					   ruled->issuing.communicators, error));
	}
	if (*done && ok) {
		figures->makespan = k.makespan;
		memcpy(figures->busy, k.busy, bytes);
		memcpy(figures->first_start, k.first, bytes);
		memcpy(figures->last_end, k.end, bytes);
	}
	pipesim_ruled_end(&run);
	return ok;
}
