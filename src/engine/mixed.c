#include "engine/mixed.h"

#define NOT_YET G_MININT64

/* Of the kinds beyond PipesimKind. */
#define MORE (PIPESIM_N_OPS - PIPESIM_N_KINDS)

/* Where a rank stands. */
typedef struct {
	guint32 next;
	gint64 free; /* when it is */
	gint64 ready; /* when it were, but for the waits for copies that are not told as exposed yet */
	gint64 copies[2]; /* and its engines of copies, out and in */
} Seat;

/* A collective. */
typedef struct {
	guint posted; /* ranks that have come to it */
	gint64 last;  /* when the last of these did */
	gint64 end;   /* NOT_YET until all have */
} Meeting;

typedef struct {
	const PipesimProgram *program;
	const PipesimTimes *times;
	PipesimTimeline *timeline;
	Seat *seats;
	Meeting *meetings; /* [more * m1 + micro-batch] */
	guint32 *at;       /* [(more * places + stage or rank) * m1 + micro-batch]: the op */
	guint *lists;      /* [more]: ranks with any of the kind */
	gsize m1, places;  /* micro-batches and numbers beyond; stages or ranks */
	gboolean two_barriers;
} Mixed;

static guint place_of(const Mixed *x, guint rank, const PipesimOp *op)
{
	return pipesim_op_rows[op->kind].of_rank ? rank
						 : pipesim_op_stage(x->program, rank, op);
}

static guint32 *slot(const Mixed *x, guint kind, guint place, guint32 microbatch)
{
	const gsize more = kind - PIPESIM_N_KINDS;

	return &x->at[(more * x->places + place) * x->m1 + microbatch];
}

static Meeting *meeting(const Mixed *x, guint kind, guint32 microbatch)
{
	return &x->meetings[(kind - PIPESIM_N_KINDS) * x->m1 + microbatch];
}

/* What an op waits for; @ok is FALSE once some of it has not come. */
typedef struct {
	const Mixed *x;
	guint rank;
	gint64 time, copies; /* ns: what else comes last, and copies and the rank behind them */
	gboolean ok;
} Wait;

static void wait_until(Wait *wait, gint64 end, gint64 hop)
{
	wait->ok &= end != NOT_YET;
	if (end != NOT_YET)
		wait->time = MAX(wait->time, end + hop);
}

static void wait_op(Wait *wait, guint32 op)
{
	const PipesimProgram *program = wait->x->program;
	const gboolean own = op >= program->rank_begin[wait->rank] &&
			     op < program->rank_begin[wait->rank + 1];

	wait_until(wait, wait->x->timeline->end[op], own ? 0 : wait->x->times->p2p);
}

/* For a collective that the rank has begun: its list says so. */
static void wait_meeting(Wait *wait, guint kind, guint32 microbatch)
{
	if (microbatch < wait->x->m1 &&
		*slot(wait->x, kind, wait->rank, microbatch) < wait->x->seats[wait->rank].next)
		wait_until(wait, meeting(wait->x, kind, microbatch)->end, 0);
}

/* For an op of the own stage or rank, where there is one. */
static void wait_more(Wait *wait, guint kind, guint place, guint32 microbatch)
{
	const guint32 op = *slot(wait->x, kind, place, microbatch);

	if (op != PIPESIM_NO_OP)
		wait_until(wait, wait->x->timeline->end[op], 0);
}

/* For a copy that its rank has begun, where there is one. */
static void wait_copy(Wait *wait, guint kind, guint stage, guint32 microbatch)
{
	const gint64 others = wait->time;

	wait->time = wait->copies;
	wait_more(wait, kind, stage, microbatch);
	wait->copies = wait->time;
	wait->time = others;
}

static void wait_backward(Wait *wait, const PipesimOp *op)
{
	const Mixed *x = wait->x;
	const guint stage = op->kind == PIPESIM_FB
				    ? pipesim_op_b_stage(x->program, wait->rank, op)
				    : pipesim_op_stage(x->program, wait->rank, op);
	const guint32 b = pipesim_op_backward_microbatch(op);

	wait_copy(wait, PIPESIM_OP_RELOAD_START, stage, b);
	wait_copy(wait, PIPESIM_OP_RELOAD, stage, b);
	if (stage + 1 < x->program->shape.stages)
		return;
	if (x->lists[PIPESIM_OP_REDUCE_T - PIPESIM_N_KINDS] > 0)
		wait_meeting(wait, PIPESIM_OP_REDUCE_T, b);
	else
		wait_meeting(wait, PIPESIM_OP_REDUCE_S, b + (x->two_barriers ? 1 : 0));
}

/* Ops beyond PipesimKind. */
static void wait_pass(Wait *wait, const PipesimOp *op)
{
	const PipesimOpRow *row = &pipesim_op_rows[op->kind];

	if (row->copy != 0)
		wait_copy(wait, row->copy, place_of(wait->x, wait->rank, op), op->microbatch);
	for (guint i = 0; i < G_N_ELEMENTS(row->awaits) && row->awaits[i].kind != 0; i++)
		wait_meeting(wait, row->awaits[i].kind, op->microbatch + row->awaits[i].behind);
}

/* When @op could begin, and when without copies; FALSE where something it waits for has not run. */
static gboolean find_start(
	const Mixed *x, guint rank, const PipesimOp *op, gint64 *time, gint64 *without)
{
	Wait wait = {x, rank, x->seats[rank].ready, x->seats[rank].free, TRUE};
	guint32 inputs[2];
	const guint n = op->kind < PIPESIM_N_KINDS
				? pipesim_program_inputs(x->program, rank, op, inputs)
				: 0;

	for (guint i = 0; i < n; i++)
		wait_op(&wait, inputs[i]);
	/* Nobody has asked for passes that take no time. */
	if (op->kind >= PIPESIM_N_KINDS &&
		(pipesim_op_rows[op->kind].time == NULL || x->times->own[op->kind] > 0))
		wait_pass(&wait, op);
	else if (pipesim_op_has_backward(op))
		wait_backward(&wait, op);
	if (pipesim_op_has_forward(op) && pipesim_op_stage(x->program, rank, op) == 0)
		wait_meeting(&wait, PIPESIM_OP_ALLREDUCE_E, op->microbatch);
	*time = MAX(wait.time, wait.copies);
	*without = wait.time;
	return wait.ok;
}

static gint64 duration_of(const Mixed *x, guint rank, const PipesimOp *op)
{
	const PipesimTimes *times = x->times;
	const guint stage = pipesim_op_stage(x->program, rank, op);
	PipesimOp forward = *op;

	/* Numbered beyond what even collectives have: there is nothing to run. */
	if (op->microbatch > x->program->shape.microbatches)
		return 0;
	if (op->kind < PIPESIM_N_KINDS)
		return pipesim_op_duration(x->program, times, rank, op);
	forward.kind = PIPESIM_F;
	if (op->kind == PIPESIM_OP_RECOMPUTE)
		return pipesim_times_on(times, rank,
			pipesim_times_again(times, op->kind, stage,
				times->each != NULL
					? pipesim_op_each(x->program, times, rank, &forward)
					: times->stage[PIPESIM_F][stage]));
	return pipesim_op_rows[op->kind].resource == PIPESIM_ON_RANK
		       ? pipesim_times_on(times, rank, times->own[op->kind])
		       : times->own[op->kind];
}

/* A copy begins once its engine is free; it may not come back before it is there. */
static gint64 copy(Mixed *x, guint rank, const PipesimOp *op, gint64 time)
{
	const gboolean in = pipesim_op_rows[op->kind].resource == PIPESIM_ON_COPY_IN;
	gint64 *engine = &x->seats[rank].copies[in && x->times->engines == 2];
	const guint32 out =
		in ? *slot(x, PIPESIM_OP_OFFLOAD_START, place_of(x, rank, op), op->microbatch)
		   : PIPESIM_NO_OP;

	if (out != PIPESIM_NO_OP)
		time = MAX(time, x->timeline->end[out]);
	return *engine = MAX(*engine, time) + duration_of(x, rank, op);
}

/* The copy that a later OFFLOAD of what @op leaves waits for begins now. */
static void send_out(Mixed *x, guint rank, const PipesimOp *op, gint64 time)
{
	const guint32 out = *slot(x, PIPESIM_OP_OFFLOAD, place_of(x, rank, op), op->microbatch);

	if (out == PIPESIM_NO_OP)
		return;
	x->timeline->end[out] = copy(x, rank, &x->program->ops[out], time);
	x->timeline->start[out] =
		x->timeline->end[out] - duration_of(x, rank, &x->program->ops[out]);
}

static void post(Mixed *x, const PipesimOp *op, gint64 time)
{
	Meeting *at = meeting(x, op->kind, op->microbatch);

	at->last = MAX(at->last, time);
	if (++at->posted == x->lists[op->kind - PIPESIM_N_KINDS])
		at->end = at->last + x->times->own[op->kind];
}

/* As far as it comes. Whether it ran anything. */
static gboolean run_rank(Mixed *x, guint rank)
{
	const PipesimProgram *program = x->program;
	Seat *seat = &x->seats[rank];
	const guint32 first = seat->next;
	gint64 start, without;

	for (; seat->next < program->rank_begin[rank + 1]; seat->next++) {
		const guint32 i = seat->next;
		const PipesimOp *op = &program->ops[i];
		const PipesimOpRow *row = &pipesim_op_rows[op->kind];

		if (!find_start(x, rank, op, &start, &without))
			break;
		/* Of a part of chunks ends of copies are noticed, not waited for, but where they
		 * delay what comes next. */
		if (row->resource == PIPESIM_ON_RANK || program->shape.offload_part.num == 0) {
			x->timeline->exposed[rank] += start - without;
			seat->ready = start;
		}
		if (row->copy == op->kind && row->copy != 0) {
			seat->free = start;
			continue;
		}
		x->timeline->start[i] = x->timeline->end[i] = start;
		switch (row->resource) {
		case PIPESIM_ON_RANK:
			seat->free = seat->ready = x->timeline->end[i] =
				pipesim_add_capped(start, duration_of(x, rank, op));
			x->timeline->makespan = MAX(x->timeline->makespan, seat->free);
			if (op->kind == PIPESIM_F)
				send_out(x, rank, op, seat->free);
			break;
		case PIPESIM_ON_COPY_OUT:
		case PIPESIM_ON_COPY_IN:
			x->timeline->end[i] = copy(x, rank, op, start);
			break;
		case PIPESIM_ON_COLLECTIVE:
			post(x, op, start);
			break;
		case PIPESIM_ON_NOTHING:
			seat->free = start;
			break;
		}
	}
	return seat->next > first;
}

/* Where ops beyond PipesimKind stand, and how many ranks take part in what. */
static void find_ops(Mixed *x)
{
	const PipesimProgram *program = x->program;

	for (guint rank = 0; rank < program->shape.ranks; rank++) {
		guint32 seen = 0;

		pipesim_each_of (i, program->rank_begin, rank) {
			const PipesimOp *op = &program->ops[i];

			if (op->kind < PIPESIM_N_KINDS)
				continue;
			seen |= 1u << (op->kind - PIPESIM_N_KINDS);
			*slot(x, op->kind, place_of(x, rank, op), op->microbatch) = i;
		}
		for (guint more = 0; more < MORE; more++)
			x->lists[more] += (seen >> more) & 1;
		x->seats[rank].next = program->rank_begin[rank];
	}
	x->two_barriers = pipesim_mixed_barriers(program) == 2;
}

/* Of collectives, which were still open when their ranks came to them. */
static void end_meetings(const Mixed *x)
{
	for (guint32 i = 0; i < x->program->n_ops; i++) {
		const PipesimOp *op = &x->program->ops[i];

		if (pipesim_op_rows[op->kind].resource == PIPESIM_ON_COLLECTIVE)
			x->timeline->end[i] = meeting(x, op->kind, op->microbatch)->end;
	}
}

static gboolean fail_stuck(const Mixed *x, GError **error)
{
	const guint32 *begin = x->program->rank_begin;
	g_autoptr(GString) text = g_string_new(NULL);
	guint rank = 0;

	while (x->seats[rank].next == begin[rank + 1])
		rank++;
	pipesim_op_print(x->program, rank, &x->program->ops[x->seats[rank].next], text);
	return pipesim_fail(error, PIPESIM_ERROR_DEADLOCK,
		"deadlock: %s on rank %u waits for what comes behind it, or never", text->str,
		rank);
}

/* Whether all ops one after the other, each behind a message, end before PIPESIM_MAX_END. */
static gboolean is_short(const Mixed *x)
{
	const PipesimProgram *program = x->program;
	gint64 end = 0;

	pipesim_each_rank_of (i, program->rank_begin, rank, program->shape.ranks)
		if (__builtin_add_overflow(end, x->times->p2p, &end) ||
			__builtin_add_overflow(
				end, duration_of(x, rank, &program->ops[i]), &end) ||
			end >= PIPESIM_MAX_END)
			return FALSE;
	return TRUE;
}

PipesimTimeline *pipesim_mixed_run(
	const PipesimProgram *program, const PipesimTimes *times, GError **error)
{
	const PipesimShape *shape = &program->shape;
	const gsize m1 = (gsize)shape->microbatches + PIPESIM_MICROBATCHES_MORE,
		    places = MAX(shape->stages, shape->ranks);
	g_autoptr(PipesimArena) arena = pipesim_arena_new();
	g_autoptr(PipesimTimeline) timeline = g_new0(PipesimTimeline, 1);
	Mixed x = {.program = program,
		.times = times,
		.timeline = timeline,
		.m1 = m1,
		.places = places};
	gboolean ran = TRUE, whole = TRUE;

	x.seats = pipesim_arena_array(arena, Seat, shape->ranks);
	x.meetings = pipesim_arena_array(arena, Meeting, MORE * m1);
	x.at = pipesim_arena_array(arena, guint32, MORE * m1 * places);
	x.lists = pipesim_arena_array(arena, guint, MORE);
	timeline->n_ops = program->n_ops;
	timeline->exposed = g_new0(gint64, shape->ranks);
	timeline->start = g_try_new(gint64, MAX(program->n_ops, 1u));
	timeline->end = g_try_new(gint64, MAX(program->n_ops, 1u));
	if (!pipesim_arena_check(arena, error, "%u ops", program->n_ops))
		return NULL;
	if (timeline->start == NULL || timeline->end == NULL)
		return pipesim_fail_null(error, PIPESIM_ERROR_LIMIT,
			"%u ops do not fit in memory", program->n_ops);
	if (!is_short(&x))
		return pipesim_fail_null(error, PIPESIM_ERROR_LIMIT,
			"the step takes longer than 146 years; give shorter times or fewer "
			"micro-batches");
	memset(x.at, 0xff, MORE * m1 * places * sizeof *x.at);
	for (guint32 i = 0; i < program->n_ops; i++)
		timeline->end[i] = NOT_YET;
	for (gsize i = 0; i < MORE * m1; i++)
		x.meetings[i].end = NOT_YET;
	find_ops(&x);
	while (ran) {
		ran = FALSE;
		for (guint rank = 0; rank < shape->ranks; rank++)
			ran |= run_rank(&x, rank);
	}
	for (guint rank = 0; rank < shape->ranks; rank++)
		whole &= x.seats[rank].next == program->rank_begin[rank + 1];
	if (!whole) {
		fail_stuck(&x, error);
		return NULL;
	}
	end_meetings(&x);
	return g_steal_pointer(&timeline);
}

guint pipesim_mixed_barriers(const PipesimProgram *program)
{
	guint barriers = 0;

	for (guint32 i = 0; program->has_more && i < program->rank_begin[1]; i++)
		if (program->ops[i].kind == PIPESIM_OP_REDUCE_T ||
			(program->ops[i].kind == PIPESIM_OP_REDUCE_S &&
				program->ops[i].microbatch == program->shape.microbatches))
			return 2;
		else if (program->ops[i].kind == PIPESIM_OP_REDUCE_S)
			barriers = 1;
	return barriers;
}
