#include "reference-engine.h"
#include "event-heap.h"

typedef struct {
	const PipesimProgram *program;
	const PipesimTimes *times;
	PipesimTimeline *timeline;
	guint8 *waiting; /* inputs that have not arrived, by op */
	guint32 *next;   /* by rank: its next op, or the one it is running */
	guint8 *busy;    /* by rank */
	EventHeap events;
	guint n_done;
	gint64 now;
	gboolean overflow, no_memory;
} Engine;

/* What orders events after time: rank, then op index; an arrival comes before the completion of
 * the op it allows to run in no time. */
static guint64 key_of(guint32 rank, guint32 op, gboolean completion)
{
	return (guint64)rank << 33 | (guint64)op << 1 | (guint)completion;
}

static void push(Engine *engine, gint64 time, guint32 rank, guint32 op, gboolean completion)
{
	if (time >= PIPESIM_MAX_END)
		engine->overflow = TRUE;
	else if (!event_heap_push(&engine->events, time, key_of(rank, op, completion)))
		engine->no_memory = TRUE;
}

/* Starts the next op of @rank if the rank is free and everything the op needs is there. */
static void try_start(Engine *engine, guint32 rank)
{
	const PipesimProgram *program = engine->program;
	const guint32 op = engine->next[rank];
	gint64 end;

	if (engine->busy[rank] || op == program->rank_begin[rank + 1] ||
		engine->waiting[op] > 0)
		return;
	end = pipesim_op_duration(program, engine->times, rank, &program->ops[op]);
	end = engine->now + MIN(end, PIPESIM_MAX_END);
	engine->timeline->start[op] = engine->now;
	engine->timeline->end[op] = end;
	engine->busy[rank] = TRUE;
	push(engine, end, rank, op, TRUE);
}

static void complete(Engine *engine, guint32 rank, guint32 op)
{
	const PipesimProgram *program = engine->program;
	guint32 outputs[2];
	guint n;

	engine->n_done++;
	engine->next[rank]++;
	engine->busy[rank] = FALSE;
	n = pipesim_program_outputs(program, rank, &program->ops[op], outputs);
	for (guint i = 0; i < n; i++) {
		const guint32 to = outputs[i];
		const guint to_rank = pipesim_program_rank(program, to);

		if (to_rank == rank)
			engine->waiting[to]--;
		else
			push(engine, engine->now + engine->times->p2p, to_rank, to, FALSE);
	}
	try_start(engine, rank);
}

static void arrive(Engine *engine, guint32 rank, guint32 op)
{
	engine->waiting[op]--;
	if (op == engine->next[rank])
		try_start(engine, rank);
}

static void run_events(Engine *engine)
{
	for (guint32 rank = 0; rank < engine->program->shape.ranks; rank++)
		try_start(engine, rank);
	while (engine->events.n > 0 && !engine->overflow && !engine->no_memory) {
		const HeapEvent event = event_heap_pop(&engine->events);
		const guint32 rank = (guint32)(event.key >> 33);
		const guint32 op = (guint32)(event.key >> 1);

		engine->now = event.time;
		engine->timeline->events++;
		if (event.key & 1)
			complete(engine, rank, op);
		else
			arrive(engine, rank, op);
	}
	engine->timeline->makespan = engine->now;
}

static void count_inputs(Engine *engine, guint rank)
{
	const PipesimProgram *program = engine->program;
	guint32 inputs[2];

	engine->next[rank] = program->rank_begin[rank];
	for (guint32 i = program->rank_begin[rank]; i < program->rank_begin[rank + 1]; i++)
		engine->waiting[i] =
			(guint8)pipesim_program_inputs(program, rank, &program->ops[i], inputs);
}

static gboolean allocate(Engine *engine, GError **error)
{
	const PipesimProgram *program = engine->program;
	const gsize n = MAX(program->n_ops, 1u);

	engine->timeline->n_ops = program->n_ops;
	engine->timeline->start = g_try_new(gint64, n);
	engine->timeline->end = g_try_new(gint64, n);
	engine->waiting = g_try_new(guint8, n);
	engine->next = g_try_new(guint32, program->shape.ranks);
	engine->busy = g_try_new0(guint8, program->shape.ranks);
	if (engine->timeline->start == NULL || engine->timeline->end == NULL ||
		engine->waiting == NULL || engine->next == NULL || engine->busy == NULL ||
		!event_heap_init(&engine->events, 2 * (gsize)program->shape.ranks + 16))
		return pipesim_fail(error, PIPESIM_ERROR_LIMIT,
			"%u ops do not fit in memory; take fewer ranks or micro-batches",
			program->n_ops);
	for (guint rank = 0; rank < program->shape.ranks; rank++)
		count_inputs(engine, rank);
	return TRUE;
}

static gboolean finish(const Engine *engine, GError **error)
{
	if (engine->overflow)
		return pipesim_fail(error, PIPESIM_ERROR_LIMIT,
			"the step takes longer than 146 years; give shorter times or fewer "
			"micro-batches");
	if (engine->no_memory)
		return pipesim_fail(error, PIPESIM_ERROR_LIMIT,
			"%" G_GSIZE_FORMAT " events do not fit in memory", engine->events.n);
	if (engine->n_done == engine->program->n_ops)
		return TRUE;
	/* The order must have a cycle: say which. */
	return pipesim_program_check_order(engine->program, NULL, NULL, error);
}

PipesimTimeline *reference_run(
	const PipesimProgram *program, const PipesimTimes *times, GError **error)
{
	g_autoptr(PipesimTimeline) timeline = g_new0(PipesimTimeline, 1);
	Engine engine = {.program = program, .times = times, .timeline = timeline};
	gboolean ok = allocate(&engine, error);

	if (ok) {
		run_events(&engine);
		ok = finish(&engine, error);
	}
	g_free(engine.waiting);
	g_free(engine.next);
	g_free(engine.busy);
	event_heap_clear(&engine.events);
	return ok ? g_steal_pointer(&timeline) : NULL;
}
