/* A queue of one event a rank; messages are placed on their links when they are ready. */
#include "engine/dynamic.h"
#include "base/tournament.h"
#include "engine/durations.h"
#include "engine/edges.h"
#include "engine/slowdown.h"

#define SAME_RANK G_MAXUINT32
#define OF_INPUT  (1u << 31)

/* Where a result goes. */
typedef struct {
	guint32 op;  /* that needs it, or PIPESIM_NO_OP */
	guint32 way; /* SAME_RANK, or the way there; with OF_INPUT it is its second input */
} Output;

/* An op until it has run. What is looked at together stands together. */
typedef struct {
	gint64 ready; /* when its inputs are there, as far as it is known */
	gint64 duration;
	Output output;
	guint32 waiting; /* inputs that are not known yet */
	guint32 unused;
} Work;
G_STATIC_ASSERT(sizeof(Work) == 32);

/* Between the ranks' works: where every rank has the same number of ops, a power of two, all of
 * them would otherwise want the same lines of the cache. */
#define GAP 6

typedef struct {
	const PipesimProgram *program;
	const PipesimTimes *times;
	PipesimTimeline *timeline;
	PipesimTraffic *traffic;
	PipesimTournament queue;
	Work *work;     /* by op + GAP * rank */
	Output *second; /* by op; NULL where no op has two */
	guint32 *next;  /* by rank: its next op, or the one it is running */
	PipesimPaceRules paces;
	PipesimPace *pace; /* by rank; NULL where every op takes its time */
	PipesimEdges edges;
	gint64 now;
	gboolean overflow, no_memory;
} Engine;

static inline Work *work_of(const Engine *engine, guint32 rank, guint32 op)
{
	return &engine->work[(gsize)op + (gsize)GAP * rank];
}

/* Running ------------------------------------------------------------------------------- */

static void start_op(Engine *engine, guint32 rank, guint32 op)
{
	PipesimTimeline *timeline = engine->timeline;
	const Work *work = work_of(engine, rank, op);
	const gint64 duration = work->duration;
	gint64 start = MAX(engine->now, work->ready), end;

	/* Of as many streams as there are ranks the processor does not guess what comes. */
	__builtin_prefetch(work + 4, 1);
	__builtin_prefetch(&timeline->start[op] + 8, 1);
	__builtin_prefetch(&timeline->end[op] + 8, 1);

	if (engine->paces.launches)
		start = MAX(start, engine->pace[rank].host);
	end = start + duration;
	if (G_UNLIKELY(start >= PIPESIM_MAX_END || end >= PIPESIM_MAX_END)) {
		engine->overflow = TRUE;
		return;
	}
	if (engine->pace != NULL)
		end = pipesim_pace_start(&engine->pace[rank], &engine->paces, start, duration,
			engine->paces.launches
				? pipesim_op_launch(engine->program, engine->times, rank,
					  &engine->program->ops[op])
				: 0,
			pipesim_pace_kind(engine->times,
				pipesim_op_stage(
					engine->program, rank, &engine->program->ops[op]),
				(PipesimKind)engine->program->ops[op].kind));
	timeline->start[op] = start;
	timeline->end[op] = end;
	pipesim_tournament_set(&engine->queue, rank, end);
}

/* Returns when the message is there. */
static gint64 send(Engine *engine, guint32 rank, const Output *output, guint32 to_rank)
{
	const guint32 index = output->way & ~OF_INPUT;
	const PipesimPath *way = pipesim_traffic_get(engine->traffic, index);
	const gint64 start = pipesim_traffic_send(engine->traffic, index, engine->now);
	const gint64 there = start + way->hold + way->latency;

	if (engine->timeline->moving[0] != NULL)
		engine->timeline->moving[output->way / OF_INPUT][output->op] = start;
	if (engine->paces.moves_slow &&
		!(pipesim_pace_add(&engine->pace[rank], start, there) &&
			pipesim_pace_add(&engine->pace[to_rank], start, there)))
		engine->no_memory = TRUE;
	return there;
}

/* The rank of @op, whose next op it may be. */
static guint32 rank_of(const Engine *engine, guint32 rank, const Output *output)
{
	return output->way == SAME_RANK
		       ? rank
		       : pipesim_traffic_get(engine->traffic, output->way & ~OF_INPUT)->to;
}

static inline void deliver(Engine *engine, guint32 rank, const Output *output)
{
	const guint32 to_rank = rank_of(engine, rank, output);
	Work *work = work_of(engine, to_rank, output->op);
	gint64 there = engine->now;

	if (output->way != SAME_RANK)
		there = send(engine, rank, output, to_rank);
	work->ready = MAX(work->ready, there);
	if (--work->waiting == 0 && engine->next[to_rank] == output->op)
		start_op(engine, to_rank, output->op);
}

static gboolean can_start(const Engine *engine, guint32 rank, guint32 op)
{
	return op < engine->program->rank_begin[rank + 1] &&
	       work_of(engine, rank, op)->waiting == 0;
}

static inline void complete(Engine *engine, guint32 rank)
{
	const guint32 op = engine->next[rank];
	const Output *output = &work_of(engine, rank, op)->output;

	if (output->op != PIPESIM_NO_OP)
		deliver(engine, rank, output);
	if (engine->second != NULL && engine->second[op].op != PIPESIM_NO_OP)
		deliver(engine, rank, &engine->second[op]);
	engine->timeline->events++;
	engine->next[rank] = op + 1;
	/* Also the rank's place in the queue, which start_op() then takes again. */
	if (can_start(engine, rank, op + 1))
		start_op(engine, rank, op + 1);
	else
		pipesim_tournament_set(&engine->queue, rank, PIPESIM_NEVER);
}

static void run_events(Engine *engine)
{
	const PipesimProgram *program = engine->program;
	PipesimMatch first;

	for (guint32 rank = 0; rank < program->shape.ranks; rank++)
		if (can_start(engine, rank, engine->next[rank]))
			start_op(engine, rank, engine->next[rank]);
	for (;;) {
		first = pipesim_tournament_first(&engine->queue);
		if (first.time == PIPESIM_NEVER || engine->overflow || engine->no_memory)
			return;
		engine->now = first.time;
		if (engine->pace != NULL) {
			const gint64 end = pipesim_pace_reach(
				&engine->pace[first.rank], &engine->paces, first.time);

			engine->timeline->end[engine->next[first.rank]] = end;
			if (end > first.time) {
				engine->overflow |= end >= PIPESIM_MAX_END;
				pipesim_tournament_set(&engine->queue, first.rank, end);
				continue;
			}
			pipesim_pace_end(&engine->pace[first.rank], &engine->paces, first.time);
		}
		complete(engine, first.rank);
	}
}

/* Before -------------------------------------------------------------------------------- */

static guint32 find_way(const Engine *engine, guint rank, guint32 op)
{
	const guint to = pipesim_program_rank_near(engine->program, op, rank);

	return to == rank ? SAME_RANK : pipesim_traffic_way(engine->traffic, rank, to);
}

static void load_op(
	Engine *engine, const PipesimDurations *durations, guint rank, guint32 index)
{
	const PipesimProgram *program = engine->program;
	const PipesimOp *op = &program->ops[index];
	const gsize m = program->shape.microbatches, all = program->shape.stages * m;
	Output output[2] = {{PIPESIM_NO_OP, 0}, {PIPESIM_NO_OP, 0}};
	gint64 duration;
	guint n = 0, waiting = 0;
	gsize slot;

	if (pipesim_op_has_forward(op)) {
		slot = pipesim_op_forward_slot(program, rank, op);
		waiting += slot >= m;
		if (slot + m < all) {
			const guint32 to = program->forward[slot + m];

			output[n++] = (Output){to, find_way(engine, rank, to)};
		}
	}
	if (pipesim_op_has_backward(op)) {
		slot = pipesim_op_backward_slot(program, rank, op);
		waiting += slot + m < all;
		if (slot >= m) {
			const guint32 to = program->backward[slot - m];
			Output *out = &output[n++];

			*out = (Output){to, find_way(engine, rank, to)};
			/* A gradient is the second input of a pair that takes an activation
			 * too. */
			if (program->ops[to].kind == PIPESIM_FB && out->way != SAME_RANK &&
				pipesim_op_stage(program, rank_of(engine, rank, out),
					&program->ops[to]) > 0)
				out->way |= OF_INPUT;
		}
	}
	duration = durations->single != NULL
			   ? pipesim_durations_get(durations, rank, op)
			   : pipesim_op_duration(program, engine->times, rank, op);
	duration = pipesim_edges_add(&engine->edges, rank, index, PIPESIM_FB, duration);
	*work_of(engine, rank, index) =
		(Work){.duration = duration, .output = output[0], .waiting = waiting};
	if (engine->second != NULL)
		engine->second[index] = output[1];
}

static gboolean load(Engine *engine)
{
	const PipesimProgram *program = engine->program;
	PipesimDurations durations = {.single = NULL};
	const gboolean ok = engine->times->drawn != NULL || engine->times->each != NULL ||
			    pipesim_durations_init(&durations, program, engine->times, NULL);

	for (guint rank = 0; ok && rank < program->shape.ranks; rank++) {
		engine->next[rank] = program->rank_begin[rank];
		pipesim_each_of (i, program->rank_begin, rank)
			load_op(engine, &durations, rank, i);
	}
	pipesim_durations_clear(&durations);
	return ok;
}

/* -1 everywhere: no message yet. */
static gint64 *new_moves(gsize n)
{
	gint64 *moves = g_try_new(gint64, n);

	if (moves != NULL)
		memset(moves, 0xff, n * sizeof *moves);
	return moves;
}

static gboolean allocate(
	Engine *engine, const PipesimTimes *times, guint flags, const PipesimPowerState *states)
{
	const PipesimProgram *program = engine->program;
	PipesimTimeline *timeline = engine->timeline;
	const gsize n = MAX(program->n_ops, 1u), ranks = program->shape.ranks;
	const gboolean keep_moves = flags & PIPESIM_KEEP_MOVES;
	const gboolean varies =
		pipesim_pace_rules_init(&engine->paces, times, engine->traffic->network, flags);
	const gboolean pairs = pipesim_program_has_pairs(program);

	timeline->n_ops = program->n_ops;
	timeline->start = pipesim_try_large(n, sizeof(gint64));
	timeline->end = pipesim_try_large(n, sizeof(gint64));
	engine->work = pipesim_try_large(n + GAP * ranks, sizeof(Work));
	engine->second = pairs ? g_try_new(Output, n) : NULL;
	engine->next = g_try_new(guint32, ranks);
	engine->pace =
		varies ? pipesim_pace_new(program->shape.ranks, &engine->paces, states) : NULL;
	timeline->moving[0] = keep_moves ? new_moves(n) : NULL;
	timeline->moving[1] = keep_moves && pairs ? new_moves(n) : NULL;
	return pipesim_tournament_init(&engine->queue, program->shape.ranks) &&
	       timeline->start != NULL && timeline->end != NULL && engine->work != NULL &&
	       (engine->second != NULL || !pairs) && engine->next != NULL &&
	       (engine->pace != NULL || !varies) &&
	       (timeline->moving[0] != NULL || !keep_moves) &&
	       (timeline->moving[1] != NULL || !keep_moves || !pairs);
}

/* After --------------------------------------------------------------------------------- */

PipesimTimeline *pipesim_dynamic_run(const PipesimProgram *program, const PipesimTimes *times,
	const PipesimNetwork *network, guint flags, PipesimPowerState *states, GError **error)
{
	g_autoptr(PipesimTimeline) timeline = g_new0(PipesimTimeline, 1);
	g_autoptr(PipesimArena) arena = pipesim_arena_new();
	Engine engine = {.program = program, .timeline = timeline, .times = times};
	gboolean ok;

	timeline->traffic = engine.traffic = pipesim_traffic_new(network, flags);
	pipesim_edges_init(&engine.edges, program, times, arena);
	engine.no_memory = !pipesim_arena_check(arena, NULL, "-") ||
			   !allocate(&engine, times, flags, states) || !load(&engine);
	if (!engine.no_memory)
		run_events(&engine);
	if ((flags & PIPESIM_KEEP_MOVES) && !engine.no_memory && !engine.overflow &&
		timeline->events == program->n_ops)
		engine.no_memory = !pipesim_timeline_add_transfers(timeline, program, network);
	timeline->makespan = engine.now;
	if (engine.no_memory)
		ok = pipesim_fail(error, PIPESIM_ERROR_LIMIT,
			"%u ops and their messages do not fit in memory; take fewer ranks or "
			"micro-batches",
			program->n_ops);
	else if (engine.overflow)
		ok = pipesim_fail(error, PIPESIM_ERROR_LIMIT,
			"the step takes longer than 146 years; give shorter times, smaller "
			"messages or fewer micro-batches");
	else /* the order may have a cycle: says which */
		ok = timeline->events == program->n_ops ||
		     pipesim_program_check_order(program, NULL, NULL, error);
	/* What left the queue is half of what happened. */
	timeline->events += engine.traffic->messages;
	pipesim_pace_free(engine.pace, &engine.paces, program->shape.ranks, engine.now, states);
	pipesim_tournament_clear(&engine.queue);
	pipesim_free_all(engine.work, engine.second, engine.next);
	return ok ? g_steal_pointer(&timeline) : NULL;
}
