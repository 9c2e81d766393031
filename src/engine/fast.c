#include "engine/fast.h"
#include "engine/durations.h"

/* In timeline->end: less than any time plus any latency. */
#define NOT_RUN G_MININT64

/* What one kind of op of one chunk needs. */
typedef struct {
	const guint32 *inputs; /* by micro-batch & mask: the op that gives it */
	gint64 duration;
	guint32 mask;
} Lane;

/* Where a rank stands. */
typedef struct {
	guint32 next, begin, end;
	guint32 rank;
	gint64 time; /* when it is free */
	const Lane *lanes;
} Seat;

typedef struct {
	const PipesimProgram *program;
	const PipesimTimes *times;
	PipesimDurations durations;
	PipesimTimeline *timeline;
	Lane *lanes; /* [(rank * chunks + chunk) * LANES + kind] */
	Seat *seats; /* [rank] */
	gint64 p2p;
	guint32 nothing; /* n_ops: an op that has always run, for what waits for nothing */
	/* Durations are given by op, or so long that sums could pass PIPESIM_MAX_END: each step
	 * is looked at. */
	gboolean careful;
	gboolean overflow;
} Fast;

/* By kind; those of FB are of its forward, B's of its backward. */
#define LANES 8

/* Moves @time to when what @input gives is there; FALSE where it has not run. */
static inline gboolean wait_for(
	const gint64 *ends, const Seat *seat, gint64 p2p, guint32 input, gint64 *time)
{
	const gint64 end = ends[input];
	const gboolean own = input - seat->begin < seat->end - seat->begin;
	const gint64 ready = end + (own ? 0 : p2p);

	*time = MAX(*time, ready);
	return end != NOT_RUN;
}

/* Ranks take turns, each at places in memory of its own: hundreds in all, more than processors
 * follow by themselves. Asks for those that later visits of @seat come to from its op @i.
 * Inlined always: some compilers drop a call that seems to do nothing. */
static inline __attribute__((always_inline)) void fetch_ahead(
	const Fast *fast, const Seat *seat, guint32 i)
{
	enum {
		AHEAD = 16
	};
	const PipesimOp *op = &fast->program->ops[i];
	const Lane *lane = &seat->lanes[op->chunk * LANES + op->kind];

	__builtin_prefetch(op + AHEAD);
	__builtin_prefetch(&lane->inputs[(op->microbatch + AHEAD) & lane->mask]);
	if (op->kind == PIPESIM_FB) {
		lane = &seat->lanes[op->b_chunk * LANES + PIPESIM_B];
		__builtin_prefetch(&lane->inputs[(op->b_microbatch + AHEAD) & lane->mask]);
	}
	__builtin_prefetch(&fast->timeline->start[i + AHEAD], 1);
	__builtin_prefetch(&fast->timeline->end[i + AHEAD], 1);
}

/* Runs a rank as far as its inputs let it. Made twice: what is not @careful pays for nothing. */
static inline void run_rank_as(Fast *fast, Seat *seat, const gboolean careful)
{
	const PipesimOp *ops = fast->program->ops;
	gint64 *start = fast->timeline->start, *end = fast->timeline->end;
	const gint64 p2p = fast->p2p;
	gint64 free_at = seat->time;
	guint32 i = seat->next, input;

	for (; i < seat->end; i++) {
		const PipesimOp *op = &ops[i];
		const Lane *lane = &seat->lanes[op->chunk * LANES + op->kind];
		gint64 duration = lane->duration, time = free_at;

		input = lane->inputs[op->microbatch & lane->mask];
		if (!wait_for(end, seat, p2p, input, &time))
			break;
		if (op->kind == PIPESIM_FB) {
			lane = &seat->lanes[op->b_chunk * LANES + PIPESIM_B];
			input = lane->inputs[op->b_microbatch & lane->mask];
			if (!wait_for(end, seat, p2p, input, &time))
				break;
			duration = pipesim_durations_get(&fast->durations, seat->rank, op);
		}
		if (careful) {
			/* What is too large to be a duration ends as PIPESIM_MAX_END. */
			duration =
				pipesim_op_duration(fast->program, fast->times, seat->rank, op);
			duration = MIN(duration, PIPESIM_MAX_END);
			if (time >= PIPESIM_MAX_END || time + duration >= PIPESIM_MAX_END) {
				fast->overflow = TRUE;
				break;
			}
		}
		start[i] = time;
		free_at = time + duration;
		end[i] = free_at;
	}
	seat->time = free_at;
	seat->next = i;
	if (i < seat->end)
		fetch_ahead(fast, seat, i);
}

static void run_rank(Fast *fast, Seat *seat)
{
	if (fast->careful)
		run_rank_as(fast, seat, TRUE);
	else
		run_rank_as(fast, seat, FALSE);
}

/* All ranks in turn, from the first to the last and back: forwards go one way and backwards the
 * other, and a visit is then long and like the one before, which processors foresee. Returns how
 * many ops are left that cannot run. */
static guint32 sweep(Fast *fast)
{
	const guint ranks = fast->program->shape.ranks;
	guint32 left = fast->program->n_ops, before;
	gboolean back = FALSE;

	do {
		before = left;
		for (guint i = 0; i < ranks; i++) {
			Seat *seat = &fast->seats[back ? ranks - 1 - i : i];
			const guint32 next = seat->next;

			if (next < seat->end)
				run_rank(fast, seat);
			left -= seat->next - next;
		}
		back = !back;
	} while (left > 0 && left < before && !fast->overflow);
	return left;
}

static Lane make_lane(const Fast *fast, gsize at, guint kind)
{
	const PipesimProgram *program = fast->program;
	const gsize m = program->shape.microbatches, stage = program->stage_of[at];
	const gint64 duration =
		kind < PIPESIM_FB ? fast->durations.single[at * PIPESIM_FB + kind] : 0;

	if (stage == PIPESIM_NO_OP)
		return (Lane){&fast->nothing, 0, 0};
	if ((kind == PIPESIM_F || kind == PIPESIM_FB) && stage > 0)
		return (Lane){&program->forward[(stage - 1) * m], duration, G_MAXUINT32};
	if ((kind == PIPESIM_I || kind == PIPESIM_B) && stage + 1 < program->shape.stages)
		return (Lane){&program->backward[(stage + 1) * m], duration, G_MAXUINT32};
	return (Lane){&fast->nothing, duration, 0};
}

static gboolean allocate(Fast *fast, PipesimTimeline *timeline, GError **error)
{
	const PipesimProgram *program = fast->program;
	const gsize n = program->n_ops;
	const gsize ranks = program->shape.ranks, chunks = fast->durations.chunks;

	fast->timeline = timeline;
	timeline->n_ops = program->n_ops;
	timeline->start = g_try_new(gint64, n + 1);
	timeline->end = g_try_new(gint64, n + 1);
	if (timeline->start == NULL || timeline->end == NULL)
		return pipesim_fail(error, PIPESIM_ERROR_LIMIT,
			"%" G_GSIZE_FORMAT
			" ops do not fit in memory; take fewer ranks or micro-batches",
			n);
	for (gsize i = 0; i < n; i++)
		timeline->end[i] = NOT_RUN;
	timeline->end[fast->nothing] = -fast->p2p;
	fast->seats = g_try_new(Seat, ranks);
	fast->lanes = g_try_new0(Lane, ranks * chunks * LANES);
	if (fast->seats == NULL || fast->lanes == NULL)
		return pipesim_fail(error, PIPESIM_ERROR_LIMIT, "%u ranks do not fit in memory",
			program->shape.ranks);
	for (guint rank = 0; rank < ranks; rank++)
		fast->seats[rank] = (Seat){program->rank_begin[rank], program->rank_begin[rank],
			program->rank_begin[rank + 1], rank,
			fast->times->released != NULL ? fast->times->released[rank] : 0,
			&fast->lanes[rank * chunks * LANES]};
	for (gsize at = 0; at < ranks * chunks; at++)
		for (guint kind = 0; kind < PIPESIM_N_KINDS; kind++)
			fast->lanes[at * LANES + kind] = make_lane(fast, at, kind);
	return TRUE;
}

PipesimTimeline *pipesim_fast_run(
	const PipesimProgram *program, const PipesimTimes *times, GError **error)
{
	g_autoptr(PipesimTimeline) timeline = g_new0(PipesimTimeline, 1);
	Fast fast = {.program = program,
		.times = times,
		.p2p = times->p2p,
		.nothing = program->n_ops};
	PipesimTimes by_stage = *times;
	guint32 left = 0;

	by_stage.drawn = by_stage.each = NULL;
	gboolean ok = pipesim_durations_init(&fast.durations, program, &by_stage, error);
	fast.careful = times->drawn != NULL || times->each != NULL || times->released != NULL ||
		       !pipesim_durations_fit(&fast.durations, program->n_ops);
	ok = ok && allocate(&fast, timeline, error);
	if (ok)
		left = sweep(&fast);
	if (ok && fast.overflow)
		ok = pipesim_fail(error, PIPESIM_ERROR_LIMIT,
			"the step takes longer than 146 years; give shorter times or fewer "
			"micro-batches");
	for (guint rank = 0; ok && rank < program->shape.ranks; rank++)
		timeline->makespan = MAX(timeline->makespan, fast.seats[rank].time);
	/* The order must have a cycle: say which. */
	ok = ok && (left == 0 || pipesim_program_check_order(program, NULL, NULL, error));
	pipesim_free_all(fast.seats, fast.lanes);
	pipesim_durations_clear(&fast.durations);
	return ok ? g_steal_pointer(&timeline) : NULL;
}
