#include "engine/ruled.h"
#include "order/long-loops.h"
#include "runtime/megatron.h"
#include "runtime/rounds.h"

__extension__ typedef __int128 Wide;

/* Ops below which nothing is cut. */
#define MIN_OPS 256
/* Supersteps at the end of loops that are not looked at: there ranks already differ. */
#define MARGIN 2
/* Supersteps that repeat together, and stretches compared on each side of the place of the cut. */
static const guint32 periods[] = {1, 2, 3, 4};
static const guint32 reaches[] = {2, 3, 5, 9, 17};
/* So many times as long an op of lists takes, run and compared, as one that rounds tell. */
#define BY_LISTS 8
/* Ops of the longest try: what has not come to repeat by then does not soon. */
#define MOST_TRIED (1u << 22)
/* Supersteps without which the shortest stretches are not compared. */
#define LEAST_KEPT (2 * 2 + 1 + MARGIN)
/* Supersteps in which what comes to a stop before its loops does so where all do. */
#define FEWEST 2
/* Micro-batches of which half have more ops than are told of a cycle. */
#define LEAST_TOLD 64
/* What all periods divide. */
#define COMMON 12

/* One try: the order cut short, as it ran. */
typedef struct {
	const PipesimStep *step;
	const PipesimLongLoops *loops;
	PipesimOrder order;
	guint64 cut, kept; /* supersteps */
	guint32 of_each;   /* micro-batches of one */
	PipesimLowering *lowering;
	const PipesimRuled *ruled;
	PipesimRuledFigures figures;
	guint32 *place;   /* by op: its action */
	guint32 *step_of; /* by op: of the timeline */
	/* By rank: where the first stretch begins, as an action and an op, and how much of both a
	 * stretch has. */
	guint32 *begin, *length, *begin_op, *length_op;
	guint32 reach; /* stretches */
	gint64 later;  /* each than the one before, ns */
	/* What all phases take for COMMON supersteps, ns; and after how many supersteps all repeat. */
	Wide common;
	gint64 period;
	gboolean stops; /* it comes to no end */
} Try;

/* Micro-batches of a chunk that a superstep of all phases adds; 0: chunks differ. */
static guint32 added(const PipesimOrder *order, const PipesimLongLoops *loops)
{
	const guint ranks = order->shape.ranks;
	guint32 n = 0;

	for (guint32 phase = 0; phase < loops->n_phases; phase++) {
		const PipesimLoop *loop = &order->loops[loops->loops[(gsize)phase * ranks]];

		for (guint32 v = loop->first; v < loop->first + loop->n; v++)
			if (pipesim_op_has_forward(&order->verbs[v]) &&
				order->verbs[v].chunk == 0)
				n += loops->steps[(gsize)phase * ranks];
	}
	return n;
}

/* Comparing ------------------------------------------------------------------------------ */

static gint64 start_of(const Try *try, guint32 op, gboolean second)
{
	return try->figures.start[try->step_of[op] + second];
}

static gboolean is_pair(const Try *try, guint32 op)
{
	return try->ruled->split && try->lowering->program->ops[op].kind == PIPESIM_FB;
}

/* In which stretch of @rank action @at is, from 0 on. */
static gint64 stretch_of(const Try *try, guint rank, guint32 at)
{
	const gint64 by = (gint64)at - try->begin[rank], length = try->length[rank];

	return by >= 0 ? by / length : -1 - (-1 - by) / length;
}

/* Whether what stands at @at of @rank waits for @message and what stands a stretch behind for @other in the same
 * way: each for the one as far before it, where that is near enough; or both for one so far away that another
 * behind it in its communicator was there at @begun, when @at could not begin yet. */
static gboolean waits_alike(
	const Try *try, guint rank, guint32 at, guint32 message, guint32 other, gint64 begun)
{
	const guint32 *communicator_of = try->ruled->communicator_of;
	const guint32 length = try->length[rank], most = (try->reach - 1) * length;

	if (message == PIPESIM_NO_OP || other == PIPESIM_NO_OP)
		return message == other;
	if (message + most >= at)
		return other == message + length;
	for (guint32 i = at - most; i < at; i++)
		if (pipesim_action_is_message(try->lowering->actions[i].kind) &&
			(communicator_of == NULL ||
				communicator_of[i] == communicator_of[message]))
			return try->figures.there[i] <= begun && other < i + length &&
			       (communicator_of == NULL ||
				       communicator_of[other] == communicator_of[message]);
	return FALSE;
}

/* Whether what stands a stretch behind action @at of @rank is the same, that much later. @begun: a moment before
 * @at could begin. */
static gboolean repeats(const Try *try, guint rank, guint32 at, gint64 begun)
{
	const PipesimProgram *program = try->lowering->program;
	const guint32 length = try->length[rank];
	const PipesimAction *a = &try->lowering->actions[at], *b = a + length;
	gint64 away;

	if (a->kind != b->kind || a->joined != b->joined || a->waited != b->waited)
		return FALSE;
	if (a->kind == PIPESIM_ACTION_OP) {
		const PipesimOp *x = &program->ops[a->op], *y = &program->ops[b->op];

		return x->kind == y->kind && x->chunk == y->chunk && x->b_chunk == y->b_chunk &&
		       b->op == a->op + try->length_op[rank] &&
		       waits_alike(try, rank, at, a->wait, b->wait, begun) &&
		       waits_alike(try, rank, at, a->b_wait, b->b_wait, begun) &&
		       start_of(try, b->op, FALSE) - start_of(try, a->op, FALSE) ==
			       try->later &&
		       (!is_pair(try, a->op) ||
			       start_of(try, b->op, TRUE) - start_of(try, a->op, TRUE) ==
				       try->later);
	}
	if (pipesim_action_is_wait(a->kind))
		return waits_alike(try, rank, at, a->peer, b->peer, begun);
	if (!pipesim_action_is_message(a->kind))
		return a->stage == b->stage && try->step->job.times->unshard == NULL &&
		       try->step->job.times->reduce == NULL;
	away = stretch_of(try, a->peer_rank, a->peer) - stretch_of(try, rank, at);
	return a->peer_rank == b->peer_rank && b->peer == a->peer + try->length[a->peer_rank] &&
	       ABS(away) < try->reach &&
	       try->figures.there[at + length] - try->figures.there[at] == try->later;
}

/* Whether 2 * reach + 1 stretches of @phase, of @period supersteps, are alike. */
static gboolean is_periodic(Try *try, guint32 phase, guint32 period)
{
	const PipesimOrder *order = &try->order;
	const PipesimProgram *program = try->lowering->program;
	const guint ranks = order->shape.ranks;
	const guint64 n = pipesim_long_loops_supersteps(try->loops, order, phase);
	const guint64 needed = (2 * (guint64)try->reach + 1) * period;

	if (n < needed + MARGIN)
		return FALSE;
	for (guint rank = 0; rank < ranks; rank++) {
		const gsize i = (gsize)phase * ranks + rank;
		const guint32 loop = try->loops->loops[i];
		const guint32 ops = try->loops->steps[i] * order->loops[loop].n;
		const guint32 op = program->rank_begin[rank] +
				   (guint32)(pipesim_loop_before(order, rank, loop) +
					     (n - MARGIN - needed) * ops);

		try->begin_op[rank] = op;
		try->length_op[rank] = ops * period;
		try->begin[rank] = try->place[op];
		try->length[rank] = try->place[op + ops * period] - try->place[op];
	}
	try->later = start_of(try, try->begin_op[0] + try->length_op[0], FALSE) -
		     start_of(try, try->begin_op[0], FALSE);
	for (guint rank = 0; rank < ranks; rank++) {
		gint64 begun = 0;

		for (guint32 i = 0; i < 2 * try->reach * try->length[rank]; i++) {
			const guint32 at = try->begin[rank] + i;

			if (!repeats(try, rank, at, begun))
				return FALSE;
			if (try->lowering->actions[at].kind == PIPESIM_ACTION_OP)
				begun = start_of(try, try->lowering->actions[at].op, FALSE);
		}
	}
	return TRUE;
}

/* What the stretches of @phase that were cut away add to the figures, and to the time of COMMON supersteps. FALSE
 * where it has none that repeat. */
static gboolean put_back(Try *try, guint32 phase, Wide *later)
{
	const guint ranks = try->order.shape.ranks;
	const PipesimRuledFigures *figures = &try->figures;

	for (guint i = 0; i < G_N_ELEMENTS(reaches) * G_N_ELEMENTS(periods); i++) {
		const guint32 period = periods[i % G_N_ELEMENTS(periods)];

		try->reach = reaches[i / G_N_ELEMENTS(periods)];
		if (try->cut % period != 0 || !is_periodic(try, phase, period))
			continue;
		*later += (Wide)(try->cut / period) * try->later;
		try->period = try->period / pipesim_gcd(try->period, period) * period;
		try->common += (Wide)(COMMON / period) * try->later;
		for (guint rank = 0; rank < ranks; rank++) {
			const guint32 begin = try->step_of[try->begin_op[rank]];
			const guint32 end =
				try->step_of[try->begin_op[rank] + try->length_op[rank]];
			gint64 busy = 0;

			for (guint32 op = begin; op < end; op++)
				busy += figures->took[op];
			figures->busy[rank] += busy * (gint64)(try->cut / period);
		}
		return TRUE;
	}
	return FALSE;
}

/* Stopping ------------------------------------------------------------------------------- */

/* The op of @rank before which rounds of its loop of @phase were cut away: half of those that are left. */
static guint32 find_cut(const Try *try, guint32 phase, guint rank)
{
	const PipesimOrder *order = &try->order;
	const guint32 loop = try->loops->loops[(gsize)phase * order->shape.ranks + rank];
	const guint64 ops = pipesim_loop_before(order, rank, loop) +
			    order->loops[loop].count / 2 * order->loops[loop].n;

	return try->lowering->program->rank_begin[rank] + (guint32)ops;
}

/* Whether @rank runs its loop of @phase whatever the others do: forwards of the first stage alone. */
static gboolean runs_alone(const Try *try, guint32 phase, guint rank)
{
	const PipesimProgram *program = try->lowering->program;
	const PipesimShape *shape = &program->shape;
	const PipesimLoop *loop =
		&try->order.loops[try->loops->loops[(gsize)phase * shape->ranks + rank]];
	gboolean alone = TRUE;

	for (guint32 v = loop->first; v < loop->first + loop->n; v++) {
		const PipesimOp *op = &try->order.verbs[v];

		alone = alone && op->kind == PIPESIM_F &&
			program->stage_of[(gsize)rank * shape->chunks + op->chunk] == 0;
	}
	return alone;
}

/* Whether @try stops where all micro-batches do, round the same cycle: no rank has come to what was cut away, but for what
 * runs alone; if the cycle goes on behind that, so far that not all of it is told; and what stands in a list hangs on its
 * neighbours alone. */
static gboolean stops_alike(const Try *try)
{
	const PipesimLowering *lowering = try->lowering;
	const PipesimJob *job = &try->step->job;

	if (job->runtime->between == NULL ||
		(job->runtime->between(lowering->program, &job->issuing) &
			(PIPESIM_BETWEEN_PLAIN | PIPESIM_BETWEEN_JOINED)) == 0)
		return FALSE;
	for (guint rank = 0; rank < try->order.shape.ranks; rank++) {
		const guint32 stopped = try->figures.stopped[rank];
		guint32 phase = 0;

		while (phase < try->loops->n_phases && runs_alone(try, phase, rank))
			phase++;
		if (phase < try->loops->n_phases &&
			stopped >= try->place[find_cut(try, phase, rank)])
			return FALSE;
		for (guint32 i = lowering->rank_begin[rank];
			i <= stopped && i < lowering->rank_begin[rank + 1]; i++) {
			const PipesimAction *action = &lowering->actions[i];

			if (pipesim_action_is_message(action->kind) &&
				action->peer >=
					try->place[find_cut(try, 0, action->peer_rank)] &&
				try->kept * try->of_each < LEAST_TOLD)
				return FALSE;
		}
	}
	return TRUE;
}

/* Numbers of @rank, as all micro-batches have them, of which each chunk has @more. */
static void number(const Try *try, PipesimProgram *program, guint rank, guint32 more)
{
	const PipesimOrder *order = &try->order;
	const guint32 own = pipesim_shape_per_chunk(&program->shape);
	guint32 cut[2][PIPESIM_MAX_CHUNKS] = {
		{0}}; /* before an op, by chunk: forwards, backwards */
	gboolean down = FALSE;
	guint32 phase = 0;

	for (guint32 v = 0; v < order->n_verbs; v++)
		down |= pipesim_op_has_backward(&order->verbs[v]) &&
			pipesim_op_backward_microbatch(&order->verbs[v]) == PIPESIM_LAST;
	pipesim_each_of (i, program->rank_begin, rank) {
		PipesimOp *op = &program->ops[i];
		guint32 f_cut, b_cut;

		for (; phase < try->loops->n_phases && i == find_cut(try, phase, rank);
			phase++) {
			const gsize at = (gsize)phase * program->shape.ranks + rank;
			const PipesimLoop *loop = &order->loops[try->loops->loops[at]];
			const guint32 rounds = (guint32)try->cut * try->loops->steps[at];

			for (guint32 v = loop->first; v < loop->first + loop->n; v++) {
				const PipesimOp *verb = &order->verbs[v];

				if (pipesim_op_has_forward(verb))
					cut[0][verb->chunk] += rounds;
				if (pipesim_op_has_backward(verb))
					cut[1][pipesim_op_backward_chunk(verb)] += rounds;
			}
		}
		f_cut = cut[0][op->chunk];
		b_cut = cut[1][pipesim_op_backward_chunk(op)];
		b_cut = down ? more - b_cut : b_cut;
		op->microbatch += op->microbatch / own * more +
				  (pipesim_op_has_forward(op) ? f_cut : b_cut);
		op->b_microbatch += op->b_microbatch / own * more + b_cut;
	}
}

/* The cycle in which @try stops, by the numbers that all micro-batches have: each pipeline's go on where those of the one
 * before end. @program: that of @try, of which only names are asked from now on */
static void name_cycle(const Try *try, PipesimProgram *program, GError **error)
{
	const PipesimShape *all = &try->step->job.order->shape;
	const guint32 more =
		pipesim_shape_per_chunk(all) - pipesim_shape_per_chunk(&program->shape);

	for (guint rank = 0; rank < all->ranks; rank++)
		number(try, program, rank, more);
	program->shape.microbatches = all->microbatches;
	pipesim_lowering_stops(try->lowering, try->ruled->issuing.communicators, error);
}

/* Running -------------------------------------------------------------------------------- */

/* FALSE where it is not found to be alike, with @error where all micro-batches have that.
 * @refused: (inout): why the runtime did not run the last try */
static gboolean run(Try *try, PipesimRuledFigures *out, PipesimArena *arena, GError **refused,
	GError **error)
{
	const PipesimJob *job = &try->step->job;
	const guint ranks = try->order.shape.ranks;
	g_autoptr(GError) stopped = NULL;
	g_autoptr(PipesimProgram) program = pipesim_order_expand(&try->order, NULL);
	g_autoptr(PipesimLowering) lowering =
		program != NULL ? pipesim_lower(program, job->runtime, &job->issuing, &stopped)
				: NULL;
	g_autoptr(PipesimRuled) ruled =
		lowering != NULL ? pipesim_ruled_new(lowering, &job->issuing, NULL) : NULL;
	Wide later = 0;
	gboolean done = FALSE;
	guint32 n = 0;

	/* What the runtime does not run, it does not run of more micro-batches; two tries that are refused in the same
	 * words are long enough to say where. Groups that are too small by what was cut out are those of the try alone. */
	if (g_error_matches(stopped, PIPESIM_ERROR, PIPESIM_ERROR_CONSTRAINT) &&
		(job->runtime != &pipesim_runtime_megatron ||
			!pipesim_megatron_refuses(&try->order))) {
		if (*refused != NULL && strcmp((*refused)->message, stopped->message) == 0)
			g_propagate_error(error, g_steal_pointer(&stopped));
		g_clear_error(refused);
		*refused = g_steal_pointer(&stopped);
	}
	if (ruled == NULL)
		return FALSE;
	try->lowering = lowering;
	try->ruled = ruled;
	try->place = pipesim_arena_array(arena, guint32, program->n_ops);
	try->step_of = pipesim_arena_array(arena, guint32, program->n_ops);
	try->begin = pipesim_arena_array(arena, guint32, 5 * (gsize)ranks);
	try->figures = *out;
	try->figures.start = pipesim_arena_array(arena, gint64, 2 * (gsize)program->n_ops);
	try->figures.took = pipesim_arena_array(arena, gint64, 2 * (gsize)program->n_ops);
	try->figures.there = pipesim_arena_array(arena, gint64, lowering->n_actions);
	if (try->figures.there == NULL)
		return FALSE;
	try->length = try->begin + ranks;
	try->begin_op = try->begin + 2 * (gsize)ranks;
	try->length_op = try->begin + 3 * (gsize)ranks;
	try->figures.stopped = try->begin + 4 * (gsize)ranks;
	for (guint32 op = 0; op < program->n_ops; op++) {
		try->step_of[op] = n;
		n += 1 + is_pair(try, op);
	}
	for (guint32 i = 0; i < lowering->n_actions; i++)
		if (lowering->actions[i].kind == PIPESIM_ACTION_OP)
			try->place[lowering->actions[i].op] = i;
	if (!pipesim_ruled_figures(ruled, job->times, &try->figures, &done, &stopped) ||
		!done) {
		try->stops = g_error_matches(stopped, PIPESIM_ERROR, PIPESIM_ERROR_DEADLOCK);
		if (try->stops && stops_alike(try))
			name_cycle(try, program, error);
		return FALSE;
	}
	for (guint32 phase = 0; phase < try->loops->n_phases; phase++)
		if (!put_back(try, phase, &later))
			return FALSE;
	later += try->figures.makespan;
	out->makespan = later < PIPESIM_MAX_END ? (gint64)later : PIPESIM_MAX_END;
	for (guint rank = 0; rank < ranks && later < PIPESIM_MAX_END; rank++)
		out->last_end[rank] += (gint64)(later - try->figures.makespan);
	return TRUE;
}

gboolean pipesim_ruled_leap(PipesimStep *step, gboolean *done, GError **error)
{
	const PipesimOrder *order = step->job.order;
	g_autoptr(PipesimArena) arena = pipesim_arena_new();
	PipesimRuledFigures figures = {.busy = step->busy,
		.first_start = step->first_start,
		.last_end = step->last_end};
	PipesimLongLoops loops;
	const gboolean told = pipesim_rounds_apply(step->job.runtime, &step->job.issuing);
	const guint64 worth = told && !step->job.period ? BY_LISTS : 2;
	/* Micro-batches stay whole. */
	const guint slices = pipesim_shape_slices(&order->shape);
	const guint64 common = COMMON / pipesim_gcd(COMMON, slices) * slices;
	guint64 all = G_MAXUINT64, kept, next;
	gboolean few;
	g_autoptr(GError) refused = NULL;
	GError *stopped = NULL;
	guint n_stops = 0;
	guint32 of_each;

	*done = FALSE;
	if (!order->is_closed || order->n_ops < MIN_OPS || step->job.times->each != NULL ||
		step->job.messages != NULL || step->job.times->drawn != NULL ||
		!pipesim_long_loops_find(&loops, order, arena) || loops.n_phases == 0)
		return TRUE;
	of_each = added(order, &loops);
	for (guint32 phase = 0; phase < loops.n_phases; phase++)
		all = MIN(all, pipesim_long_loops_supersteps(&loops, order, phase));
	/* Messages pile up: flow-piles.c. Fewer micro-batches might suit it. */
	if (of_each == 0 || (told && loops.n_phases > 2) ||
		(step->job.runtime == &pipesim_runtime_megatron &&
			pipesim_megatron_refuses(order)))
		return TRUE;
	next = LEAST_KEPT + 2 * order->shape.ranks / of_each;
	/* One short try before, unless it is to be told after how many micro-batches all repeats; of a loop that is
	 * short itself only whether it comes to a stop, as it may where a rank waits between two ops. */
	few = step->job.runtime->between != NULL && !pipesim_order_has_pairs(order) &&
	      worth * LEAST_KEPT >= all;
	kept = step->job.period ? next : few ? FEWEST : LEAST_KEPT;
	for (; !*done && (kept == FEWEST ? kept < all : worth * kept < all);
		next *= kept < next ? 1 : 3, kept = next) {
		g_autoptr(PipesimArena) own = pipesim_arena_new();
		Try try = {.step = step,
			.loops = &loops,
			.cut = all - kept,
			.kept = kept,
			.of_each = of_each,
			.period = 1};

		if (try.cut >= common && kept > FEWEST)
			try.cut -= try.cut % common;
		if (!pipesim_long_loops_cut(&loops, order, try.cut, of_each, &try.order, own) ||
			try.order.n_ops > MIN(step->job.most_ops, MOST_TRIED))
			break;
		*done = run(&try, &figures, own, &refused, &stopped);
		if (stopped != NULL) {
			g_propagate_error(error, stopped);
			return FALSE;
		}
		/* So will the next one, most likely: each rank may come as far as its messages go there and back. */
		n_stops += try.stops;
		if (try.stops)
			next = MAX(next,
				LEAST_KEPT + MAX(4 * order->shape.ranks, LEAST_TOLD) / of_each);
		if (n_stops > 1)
			break;
		if (!*done || try.common >= PIPESIM_MAX_END)
			continue;
		step->steady = (PipesimSteady){.found = TRUE,
			.transient = try.order.shape.microbatches,
			.period = (guint64)try.period * of_each * order->shape.copies,
			.time = (gint64)try.common / (COMMON / try.period)};
	}
	if (!*done && refused != NULL && order->n_ops > step->job.most_ops) {
		g_propagate_error(error, g_steal_pointer(&refused));
		return FALSE;
	}
	step->makespan = figures.makespan;
	return !*done || figures.makespan < PIPESIM_MAX_END ||
	       pipesim_fail(error, PIPESIM_ERROR_LIMIT,
		       "the step takes longer than 146 years; give shorter times or fewer "
		       "micro-batches");
}
