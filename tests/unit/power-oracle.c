#include "power-oracle.h"
#include <math.h>

#define NEVER G_MAXINT64

__extension__ typedef __int128 Exact;

/* One action: when it was issued or began, and when it was done. */
typedef struct {
	gint64 issued, start, end;
} Act;

typedef struct {
	guint32 at;      /* the first stop that is not done */
	gboolean second; /* of a split pair the half that is next or runs */
	gboolean runs;
	PipesimKind kind; /* of the op that runs */
	Exact left;
	double *mean;
	GArray *starts, *ends; /* of gint64 */
	gint64 passes; /* when it goes on behind a group that is done; NEVER: there is none */
	/* Its host: the action that it is at, of a split pair the half, what it still has to do for the last
	 * launch, and how many it has begun and finished. */
	guint32 host_at;
	gboolean host_second;
	gint64 host_left;
	guint begun, finished;
} Rank;

typedef struct {
	const PipesimLowering *lowering;
	const PipesimTimes *times;
	gboolean pairs;
	gint64 host_time;
	Act *acts;
	Rank *ranks;
	PowerOracle *oracle;
	gint64 now;
} World;

static const PipesimAction *action(const World *world, guint32 at)
{
	return &world->lowering->actions[at];
}

static gboolean is_message(const World *world, guint32 at)
{
	return pipesim_action_is_message(action(world, at)->kind);
}

static gboolean is_done(const World *world, guint32 at)
{
	return world->acts[at].end <= world->now;
}

/* The group that @at, a message, belongs to: from @begin to before the one that is returned. */
static guint32 find_group(const World *world, guint rank, guint32 at, guint32 *begin)
{
	const guint32 *ranks = world->lowering->rank_begin;
	guint32 end = at + 1;

	while (action(world, at)->joined && at > ranks[rank])
		at--;
	while (end < ranks[rank + 1] && is_message(world, end) && action(world, end)->joined)
		end++;
	*begin = at;
	return end;
}

/* Whether both messages of @rank stand in one queue. */
static gboolean share(const World *world, guint32 a, guint32 b)
{
	return !world->pairs || action(world, a)->peer_rank == action(world, b)->peer_rank;
}

/* Whether all that was issued together with @message, which has been issued, is done. */
static gboolean group_done(const World *world, guint rank, guint32 message)
{
	guint32 begin;
	const guint32 end = find_group(world, rank, message, &begin);

	for (guint32 i = begin; i < end; i++)
		if (share(world, i, message) && !is_done(world, i))
			return FALSE;
	return TRUE;
}

static gboolean is_stop(const World *world, guint rank, guint32 at)
{
	const PipesimAction *a = action(world, at);
	guint32 begin;

	if (is_message(world, at))
		return a->waited && find_group(world, rank, at, &begin) == at + 1;
	return a->kind == PIPESIM_ACTION_OP || pipesim_action_is_wait(a->kind);
}

static gboolean may_issue(const World *world, guint rank, guint32 at)
{
	guint32 begin;

	find_group(world, rank, at, &begin);
	if (begin > world->ranks[rank].at)
		return FALSE;
	for (guint32 i = world->lowering->rank_begin[rank]; i < begin; i++)
		if (is_message(world, i) && share(world, i, at) && !is_done(world, i))
			return FALSE;
	return TRUE;
}

/* Async: a message moves when the op that it comes from is done, and nobody posts a receive. */
static void move_freely(World *world, guint32 send)
{
	Act *ends[] = {&world->acts[send], &world->acts[action(world, send)->peer]};

	for (guint i = 0; i < 2; i++) {
		ends[i]->issued = ends[i]->start = world->now;
		ends[i]->end = world->now + world->times->p2p;
	}
}

static gboolean issue(World *world, guint rank)
{
	const guint32 *begin = world->lowering->rank_begin;
	gboolean any = FALSE;

	for (guint32 i = begin[rank]; i < begin[rank + 1]; i++) {
		Act *act = &world->acts[i], *peer;

		if (!is_message(world, i) || act->issued != NEVER)
			continue;
		if (!world->lowering->runtime->waits) {
			if (pipesim_action_is_send(action(world, i)->kind) &&
				i < world->ranks[rank].at) {
				move_freely(world, i);
				any = TRUE;
			}
			continue;
		}
		if (!may_issue(world, rank, i))
			continue;
		any = TRUE;
		act->issued = world->now;
		peer = &world->acts[action(world, i)->peer];
		if (peer->issued == NEVER)
			continue;
		act->start = peer->start = world->now;
		act->end = peer->end = world->now + world->times->p2p;
	}
	return any;
}

static gboolean needs_met(const World *world, guint rank, guint32 message)
{
	return message == PIPESIM_NO_OP ||
	       (is_done(world, message) &&
		       (!world->lowering->runtime->waits || group_done(world, rank, message)));
}

static gboolean splits(const World *world, const PipesimOp *op)
{
	return world->lowering->runtime->splits_pairs && op->kind == PIPESIM_FB;
}

static gint64 sustained(const World *world, guint rank, const PipesimOp *op, PipesimKind *kind)
{
	PipesimOp half = *op;

	if (splits(world, op)) {
		half.kind = world->ranks[rank].second ? PIPESIM_B : PIPESIM_F;
		half.chunk = world->ranks[rank].second ? op->b_chunk : op->chunk;
		half.microbatch = world->ranks[rank].second ? op->b_microbatch : op->microbatch;
	}
	*kind = (PipesimKind)half.kind;
	return pipesim_op_duration(world->lowering->program, world->times, rank, &half);
}

/* Ops here are too short for more than one piece. */
static gint64 at_power(const World *world, guint rank, PipesimKind kind, gint64 duration)
{
	const PipesimPower *power = world->times->power;
	double x = 0, threshold, full, u;

	if (power == NULL)
		return duration;
	g_assert_cmpint(duration, <=, PIPESIM_POWER_PIECE_NS);
	for (guint i = 0; i < power->n_constants; i++) {
		const double load = (double)power->load[kind] / 1e6;
		const double left =
			exp(-(double)(duration / 2) / (double)power->time_constant[i]);

		x += (double)power->weight[i] / 1e6 *
		     (load + (world->ranks[rank].mean[i] - load) * left);
	}
	threshold = (double)power->threshold / 1e6;
	full = (double)power->full_speed[kind] / 1e6;
	u = CLAMP((x - threshold) / (1 - threshold), 0, 1);
	return (gint64)floor((double)duration * (full + (1 - full) * u) + 0.5 + 1e-9);
}

/* How many times as long an op of @kind takes beside a message that moves, beside a receive that waits, ppm. */
static gint64 beside(const World *world, PipesimKind kind, gboolean moving)
{
	const PipesimContention *contention = world->times->contention;

	if (contention == NULL)
		return PIPESIM_PPM;
	return moving ? contention->moving[kind] : contention->slowdown[kind];
}

static gboolean start(World *world, guint rank)
{
	Rank *here = &world->ranks[rank];
	const PipesimAction *a;
	const PipesimOp *op;
	gint64 duration;

	if (here->runs || here->at == world->lowering->rank_begin[rank + 1])
		return FALSE;
	a = action(world, here->at);
	if (a->kind != PIPESIM_ACTION_OP)
		return FALSE;
	op = &world->lowering->program->ops[a->op];
	if (here->begun <= here->ends->len)
		return FALSE;
	if ((!here->second && !needs_met(world, rank, a->wait)) ||
		((here->second || !splits(world, op)) && !needs_met(world, rank, a->b_wait)))
		return FALSE;
	duration = sustained(world, rank, op, &here->kind);
	here->left = at_power(world, rank, here->kind, duration);
	here->left *= (Exact)beside(world, here->kind, TRUE) * beside(world, here->kind, FALSE);
	here->runs = TRUE;
	g_array_append_val(here->starts, world->now);
	return TRUE;
}

/* What ends by now. */
static gboolean end(World *world, guint rank)
{
	Rank *here = &world->ranks[rank];
	const PipesimOp *op;

	if (!here->runs || here->left > 0 || here->finished <= here->ends->len)
		return FALSE;
	op = &world->lowering->program->ops[action(world, here->at)->op];
	here->runs = FALSE;
	g_array_append_val(here->ends, world->now);
	here->second = !here->second && splits(world, op);
	if (!here->second)
		world->acts[here->at++].end = world->now;
	return TRUE;
}

/* The host of @rank launches one op after the other, and stands before a group that it waits for until the
 * rank is behind it. */
static gboolean launch(World *world, guint rank)
{
	Rank *here = &world->ranks[rank];
	const PipesimAction *a;
	PipesimOp op;

	if (here->host_left > 0)
		return FALSE;
	if (here->finished < here->begun) {
		here->finished++;
		return TRUE;
	}
	if (here->host_at == world->lowering->rank_begin[rank + 1])
		return FALSE;
	a = action(world, here->host_at);
	if (a->kind != PIPESIM_ACTION_OP) {
		if (world->host_time >= 0 && is_message(world, here->host_at) &&
			is_stop(world, rank, here->host_at) && here->at <= here->host_at)
			return FALSE;
		here->host_at++;
		return TRUE;
	}
	op = world->lowering->program->ops[a->op];
	here->host_second = splits(world, &op) && !here->host_second;
	if (splits(world, &op)) {
		op.kind = here->host_second ? PIPESIM_F : PIPESIM_B;
		op.chunk = here->host_second ? op.chunk : op.b_chunk;
	}
	here->host_left = pipesim_op_launch(world->lowering->program, world->times, rank, &op);
	here->begun++;
	if (!here->host_second)
		here->host_at++;
	return TRUE;
}

/* Stops that take no time, and what is none. */
static gboolean pass(World *world, guint rank)
{
	Rank *here = &world->ranks[rank];
	const PipesimAction *a;

	if (here->at == world->lowering->rank_begin[rank + 1])
		return FALSE;
	a = action(world, here->at);
	if (a->kind == PIPESIM_ACTION_OP)
		return FALSE;
	if (is_stop(world, rank, here->at) && world->lowering->runtime->waits) {
		const guint32 message = is_message(world, here->at) ? here->at : a->peer;

		if (is_message(world, here->at)) {
			guint32 begin;
			const guint32 behind = find_group(world, rank, message, &begin);

			for (guint32 i = begin; i < behind; i++)
				if (!is_done(world, i))
					return FALSE;
			if (world->host_time >= 0 && here->passes == NEVER)
				here->passes = world->now + world->host_time;
			if (world->host_time >= 0 && here->passes > world->now)
				return FALSE;
			here->passes = NEVER;
		} else if (!is_done(world, message) || !group_done(world, rank, message)) {
			return FALSE;
		}
	}
	here->at++;
	return TRUE;
}

/* Whether a message of @rank is under way, or else one of its receives and sends waits for the other end. */
static gboolean has(const World *world, guint rank, gboolean moving)
{
	const guint32 *begin = world->lowering->rank_begin;

	for (guint32 i = begin[rank]; i < begin[rank + 1]; i++) {
		const Act *act = &world->acts[i];

		if (!is_message(world, i) || act->issued > world->now)
			continue;
		if (moving ? act->start <= world->now && world->now < act->end
			   : act->start > world->now)
			return TRUE;
	}
	return FALSE;
}

/* Whether a receive of @rank waits. */
static gboolean receives(const World *world, guint rank)
{
	const guint32 *begin = world->lowering->rank_begin;

	for (guint32 i = begin[rank]; i < begin[rank + 1]; i++) {
		const Act *act = &world->acts[i];

		if (is_message(world, i) && act->issued <= world->now &&
			act->start > world->now &&
			!pipesim_action_is_send(action(world, i)->kind))
			return TRUE;
	}
	return FALSE;
}

/* One nanosecond of @rank. */
static void tick(World *world, guint rank)
{
	const PipesimPower *power = world->times->power;
	Rank *here = &world->ranks[rank];
	const gboolean waits = has(world, rank, FALSE), moves = has(world, rank, TRUE);
	double load = 0;

	const gboolean works = here->runs && here->left > 0;

	here->host_left -= here->host_left > 0;
	world->oracle->beside += works && receives(world, rank);
	if (works) {
		const gint64 m = beside(world, here->kind, TRUE);
		const gint64 w = beside(world, here->kind, FALSE);

		/* Alone m * w, of which the larger of both leaves its part. */
		here->left -= moves && waits ? (Exact)PIPESIM_PPM * MIN(m, w)
			      : moves        ? (Exact)PIPESIM_PPM * w
			      : waits        ? (Exact)PIPESIM_PPM * m
					     : (Exact)m * w;
	}
	if (power == NULL)
		return;
	if (works)
		load = (double)power->load[here->kind] / 1e6 *
		       (waits ? (double)power->beside_load / 1e6 : 1);
	else if (waits)
		load = (double)power->waiting_load / 1e6;
	for (guint i = 0; i < power->n_constants; i++)
		here->mean[i] = load + (here->mean[i] - load) *
					       exp(-1 / (double)power->time_constant[i]);
}

/* Until nothing more happens at this moment. */
static void settle(World *world)
{
	const guint ranks = world->lowering->program->shape.ranks;
	gboolean any = TRUE;

	while (any) {
		any = FALSE;
		for (guint rank = 0; rank < ranks; rank++) {
			any |= launch(world, rank);
			any |= end(world, rank);
			any |= issue(world, rank);
			any |= pass(world, rank);
			any |= start(world, rank);
		}
	}
}

/* Whether an op or a message has ended by now that had not a nanosecond ago; in *@none: whether none is under
 * way at all. */
static gboolean anything_ended(const World *world, gboolean *none)
{
	const PipesimLowering *lowering = world->lowering;
	gboolean ended = FALSE;

	*none = TRUE;
	for (guint rank = 0; rank < lowering->program->shape.ranks; rank++) {
		const Rank *here = &world->ranks[rank];

		*none &= !here->runs && here->begun == here->finished && here->passes == NEVER;
		ended |= here->runs && here->left <= 0;
		ended |= here->host_left == 0 && here->begun > here->finished;
		ended |= here->passes == world->now;
	}
	for (guint32 i = 0; i < lowering->n_actions; i++) {
		const Act *act = &world->acts[i];

		if (act->start == NEVER || !is_message(world, i))
			continue;
		*none &= act->end < world->now;
		ended |= act->end == world->now;
	}
	return ended;
}

static gboolean is_over(const World *world)
{
	const PipesimLowering *lowering = world->lowering;

	for (guint rank = 0; rank < lowering->program->shape.ranks; rank++)
		for (guint32 at = world->ranks[rank].at; at < lowering->rank_begin[rank + 1];
			at++)
			if (action(world, at)->kind == PIPESIM_ACTION_OP)
				return FALSE;
	return TRUE;
}

static void collect(World *world)
{
	const guint ranks = world->lowering->program->shape.ranks;
	PowerOracle *oracle = world->oracle;
	GArray *starts = g_array_new(FALSE, FALSE, sizeof(gint64));
	GArray *ends = g_array_new(FALSE, FALSE, sizeof(gint64));

	for (guint rank = 0; rank < ranks; rank++) {
		Rank *here = &world->ranks[rank];

		g_array_append_vals(starts, here->starts->data, here->starts->len);
		g_array_append_vals(ends, here->ends->data, here->ends->len);
		g_array_unref(here->starts);
		g_array_unref(here->ends);
	}
	oracle->n_ops = ends->len;
	oracle->start = (gint64 *)(gpointer)g_array_free(starts, FALSE);
	oracle->end = (gint64 *)(gpointer)g_array_free(ends, FALSE);
}

PowerOracle *power_oracle_new(const PipesimLowering *lowering, const PipesimTimes *times,
	gboolean pairs, gint64 host_time, double (*mean)[PIPESIM_POWER_CONSTANTS])
{
	const guint ranks = lowering->program->shape.ranks;
	g_autofree Act *acts = g_new(Act, lowering->n_actions + 1);
	g_autofree Rank *each = g_new0(Rank, ranks);
	World world = {.lowering = lowering,
		.times = times,
		.pairs = pairs,
		.host_time = host_time,
		.acts = acts,
		.ranks = each,
		.oracle = g_new0(PowerOracle, 1)};
	gboolean none = FALSE;

	for (guint32 i = 0; i < lowering->n_actions; i++)
		acts[i] = (Act){NEVER, NEVER, NEVER};
	for (guint rank = 0; rank < ranks; rank++)
		each[rank] = (Rank){.at = lowering->rank_begin[rank],
			.mean = mean[rank],
			.passes = NEVER,
			.host_at = lowering->rank_begin[rank],
			.starts = g_array_new(FALSE, FALSE, sizeof(gint64)),
			.ends = g_array_new(FALSE, FALSE, sizeof(gint64))};
	settle(&world);
	while (!none && !is_over(&world)) {
		for (guint rank = 0; rank < ranks; rank++)
			tick(&world, rank);
		world.now++;
		if (anything_ended(&world, &none))
			settle(&world);
	}
	world.oracle->makespan = world.now;
	world.oracle->stuck = !is_over(&world);
	collect(&world);
	return world.oracle;
}

void power_oracle_free(PowerOracle *oracle)
{
	g_free(oracle->start);
	g_free(oracle->end);
	g_free(oracle);
}
