/* What repeats of a run that is told, once it does: where all ranks stand, and all messages are, as they were some
 * supersteps ago, but for as many micro-batches more and each moment as much later, the supersteps to come are like those,
 * as far as the loops go. */
#include "engine/flow.h"
#include "order/long-loops.h"

/* Supersteps that are worth looking at. */
#define LEAST 4
/* Ops of which something would have been left out by then, if ever. */
#define MOST_TOLD (1u << 20)

typedef enum {
	TAKE,    /* what is visited becomes what the next visits are compared with */
	COMPARE, /* whether all is as it was then */
	MOVE,    /* all goes on */
} Mode;

struct _PipesimLeap {
	PipesimFlow *flow;
	PipesimLeapState state;
	PipesimLongLoops loops;
	/* By phase: micro-batches that a superstep adds to each stage; 0: not one number. */
	guint32 *of_each;
	guint64 most; /* supersteps that may be left out, as far as is known */
	Mode mode;
	GArray *then; /* gint64 */
	guint at;     /* what is visited next of that */
	/* Between what is compared, then what is left out: supersteps; ns by the rules and where messages wait for
	 * nothing. */
	gint64 supersteps, later[2];
	gboolean known[2]; /* of @later */
	guint32 phase;
	PipesimMoment *moved; /* of one stage */
	/* Of the first rank then; how often it has been looked at since, and when all is taken anew. */
	const PipesimOp *verb;
	guint32 loop, rounds, n_seen, next;
	guint32 n_limited; /* phases that have been come to */
	guint64 n_done;    /* at the limits before */
	gboolean left_out; /* something was */
};

static gint64 take(PipesimLeap *leap, gint64 value)
{
	if (leap->mode == TAKE)
		g_array_append_val(leap->then, value);
	return g_array_index(leap->then, gint64, leap->at++);
}

gboolean pipesim_leap_word(PipesimLeap *leap, gint64 value)
{
	return leap->mode == MOVE || take(leap, value) == value;
}

gboolean pipesim_leap_count(PipesimLeap *leap, guint32 *value, gint64 by)
{
	if (leap->mode != MOVE)
		return take(leap, *value) + leap->supersteps * by == *value;
	*value = (guint32)(*value + leap->supersteps * by);
	return TRUE;
}

guint32 pipesim_leap_added(const PipesimLeap *leap)
{
	return leap->of_each[leap->phase];
}

gboolean pipesim_leap_microbatch(PipesimLeap *leap, guint32 *value)
{
	return pipesim_leap_count(leap, value, pipesim_leap_added(leap));
}

gboolean pipesim_leap_message(PipesimLeap *leap, PipesimMoment **message)
{
	const PipesimFlow *flow = leap->flow;
	const gint64 at = *message - flow->moments, stride = (gint64)flow->stride;
	const gint64 then = leap->mode == MOVE ? at : take(leap, at);
	const gint64 by = leap->supersteps * pipesim_leap_added(leap);
	PipesimMoment *const goes =
		flow->moments + (then - then % stride) + ((then % stride + by) & flow->mask);
	const gboolean same = leap->mode == MOVE || goes == *message;

	*message = goes;
	return same;
}

gboolean pipesim_leap_time(PipesimLeap *leap, gint64 *time, gboolean free)
{
	gint64 later;

	if (leap->mode == MOVE) {
		*time += leap->later[free];
		return TRUE;
	}
	later = *time - take(leap, *time);
	if (!leap->known[free])
		leap->later[free] = later;
	leap->known[free] = TRUE;
	return later == leap->later[free];
}

void pipesim_leap_limit(PipesimLeap *leap, guint64 supersteps)
{
	leap->most = MIN(leap->most, supersteps);
}

guint32 pipesim_leap_ops(const PipesimLeap *leap, guint rank)
{
	const gsize i = (gsize)leap->phase * leap->flow->program->shape.ranks + rank;

	return leap->loops.steps[i] * leap->flow->loops[leap->loops.loops[i]].n;
}

static gboolean visit_moment(PipesimLeap *leap, PipesimMoment *moment)
{
	const gint64 sign = (moment->ruled > 0) - (moment->ruled < 0);
	gint64 ruled = sign * moment->ruled;

	if (!pipesim_leap_word(leap, sign) ||
		(sign != 0 && !pipesim_leap_time(leap, &ruled, FALSE)) ||
		!pipesim_leap_word(leap, moment->free > 0) ||
		(moment->free > 0 && !pipesim_leap_time(leap, &moment->free, TRUE)))
		return FALSE;
	moment->ruled = sign * ruled;
	return TRUE;
}

/* Messages that @place gets or has got, as far as anybody may still ask. */
static gboolean visit_messages(PipesimLeap *leap, const PipesimPlace *place, guint back)
{
	const PipesimPlace *giver = &leap->flow->places[place->giver[back]];
	PipesimMoment *in = (PipesimMoment *)place->in[back];
	const gint64 by = leap->supersteps * pipesim_leap_added(leap);
	const guint32 given = giver->n[back], mask = leap->flow->mask;
	const guint32 first = MIN(place->n[back], given - MIN(given, leap->state.behind));
	const guint32 last = MAX(given, place->n[back] + leap->state.ahead);

	if (last - first >= MIN(leap->flow->stride, mask) ||
		!pipesim_leap_word(leap, last - first))
		return FALSE;
	for (guint32 i = first; i <= last; i++) {
		PipesimMoment *moment = &leap->moved[i - first];

		*moment = in[i & mask];
		/* That of a micro-batch before may still stand there. */
		if (i >= given && moment->ruled >= 0)
			*moment = (PipesimMoment){0, 0};
		if (!visit_moment(leap, moment))
			return FALSE;
		if (leap->mode == MOVE)
			in[i & mask] = (PipesimMoment){0, 0};
	}
	for (guint32 i = first; i <= last && leap->mode == MOVE; i++)
		in[(i + by) & mask] = leap->moved[i - first];
	return TRUE;
}

/* @supersteps: from what is compared with, or to what is left out */
static gboolean visit(PipesimLeap *leap, Mode mode, gint64 supersteps)
{
	PipesimFlow *flow = leap->flow;
	const PipesimShape *shape = &flow->program->shape;
	const gsize n = (gsize)shape->ranks * shape->chunks;
	gboolean same = TRUE;

	leap->mode = mode;
	leap->supersteps = supersteps;
	leap->known[0] = leap->known[1] = FALSE;
	leap->at = 0;
	for (guint rank = 0; rank < shape->ranks && same; rank++) {
		PipesimFlowRank *r = &flow->ranks[rank];
		const gsize i = (gsize)leap->phase * shape->ranks + rank;

		same = leap->state.visit(leap, leap->state.data, rank) &&
		       pipesim_leap_word(leap, r->loop) &&
		       pipesim_leap_word(leap, r->verb - r->first) &&
		       pipesim_leap_count(leap, &r->rounds, -(gint64)leap->loops.steps[i]) &&
		       pipesim_leap_count(leap, &r->at, pipesim_leap_ops(leap, rank)) &&
		       (r->limit == G_MAXUINT32 || pipesim_leap_count(leap, &r->limit,
							   pipesim_leap_ops(leap, rank))) &&
		       pipesim_leap_time(leap, &r->now, FALSE) &&
		       pipesim_leap_time(leap, &r->last_end, FALSE) &&
		       pipesim_leap_time(leap, &r->free, TRUE);
	}
	for (gsize i = 0; i < 2 * n && same; i++)
		same = flow->places[i / 2].in[i % 2] == NULL ||
		       visit_messages(leap, &flow->places[i / 2], i % 2);
	for (gsize i = 0; i < 2 * n && same; i++)
		same = pipesim_leap_microbatch(leap, &flow->places[i / 2].n[i % 2]);
	return same;
}

/* Leaves out as many times what lies between as the loops go on. */
static void move(PipesimLeap *leap)
{
	PipesimFlow *flow = leap->flow;
	const guint ranks = flow->program->shape.ranks;
	gint64 times;

	for (guint rank = 0; rank < ranks; rank++)
		pipesim_leap_limit(leap, (flow->ranks[rank].rounds - 1) /
						 leap->loops.steps[leap->phase * ranks + rank]);
	times = (gint64)(leap->most / (guint64)leap->supersteps);
	/* Those that are not there at all pass, too. */
	for (guint i = 0; i < 2; i++)
		leap->later[i] *= times + (gint64)flow->cut / leap->supersteps;
	(void)visit(leap, MOVE, times * leap->supersteps);
	for (guint rank = 0; rank < ranks; rank++)
		flow->n_done += (guint64)leap->supersteps * pipesim_leap_ops(leap, rank);
	leap->left_out = TRUE;
	flow->cut = 0;
}

/* Whether all ranks are in their loops of one phase, whose micro-batches can be counted. */
static gboolean find_phase(PipesimLeap *leap)
{
	const PipesimFlow *flow = leap->flow;
	const guint ranks = flow->program->shape.ranks;

	for (leap->phase = 0; leap->phase < leap->loops.n_phases; leap->phase++) {
		const guint32 *loops = &leap->loops.loops[(gsize)leap->phase * ranks];
		guint rank = 0;

		while (rank < ranks && flow->ranks[rank].rounds > 0 &&
			flow->ranks[rank].loop == loops[rank] + 1)
			rank++;
		if (rank == ranks)
			return leap->of_each[leap->phase] > 0;
	}
	return FALSE;
}

static void look(PipesimLeap *leap)
{
	const PipesimFlowRank *r = &leap->flow->ranks[0];
	const gboolean taken = r->loop == leap->loop;

	if (r->rounds < LEAST || (taken && r->rounds >= leap->rounds))
		return;
	if (taken) {
		const guint32 by =
			leap->loops.steps[leap->phase * leap->flow->program->shape.ranks];
		const guint32 supersteps = (leap->rounds - r->rounds) / by;

		leap->most = G_MAXUINT64;
		if (r->verb == leap->verb && supersteps > 0 &&
			leap->flow->cut % supersteps == 0 && visit(leap, COMPARE, supersteps)) {
			move(leap);
			leap->rounds = 0; /* no more of this loop */
			return;
		}
		if (++leap->n_seen < leap->next)
			return;
	} else if (!find_phase(leap)) {
		return;
	}
	leap->next = taken ? 2 * leap->next : 1;
	leap->n_seen = 0;
	leap->verb = r->verb;
	leap->loop = r->loop;
	leap->rounds = r->rounds;
	g_array_set_size(leap->then, 0);
	(void)visit(leap, TAKE, 0);
}

gboolean pipesim_leap_look(PipesimLeap *leap)
{
	look(leap);
	return !leap->flow->leaps || leap->left_out || leap->flow->n_done < MOST_TOLD;
}

/* Limits ------------------------------------------------------------------------------------ */

/* All ranks may go on to their loops of the next phase; to the end behind the last one. */
static void limit_to_phase(PipesimLeap *leap)
{
	const PipesimOrder *order = leap->flow->order;
	const guint ranks = order->shape.ranks;
	const guint32 *loops = &leap->loops.loops[(gsize)leap->n_limited * ranks];

	for (guint rank = 0; rank < ranks; rank++)
		leap->flow->ranks[rank].limit =
			leap->n_limited < leap->loops.n_phases
				? (guint32)pipesim_loop_before(order, rank, loops[rank])
				: G_MAXUINT32;
	leap->n_limited++;
}

/* A superstep further; FALSE where a loop of the phase ends before. */
static gboolean limit_to_superstep(PipesimLeap *leap)
{
	const PipesimOrder *order = leap->flow->order;
	const guint ranks = order->shape.ranks;
	const gsize phase = (leap->n_limited - 1) * ranks;
	gboolean room = TRUE;

	for (guint rank = 0; rank < ranks; rank++) {
		const guint32 loop = leap->loops.loops[phase + rank];
		PipesimFlowRank *r = &leap->flow->ranks[rank];

		r->limit += leap->loops.steps[phase + rank] * order->loops[loop].n;
		room &= r->limit <= pipesim_loop_before(order, rank, loop + 1);
	}
	return room;
}

gboolean pipesim_leap_next(PipesimLeap *leap)
{
	const PipesimFlow *flow = leap != NULL ? leap->flow : NULL;
	const gboolean stuck = leap != NULL && leap->n_done == flow->n_done;

	if (leap == NULL || flow->ranks[0].limit == G_MAXUINT32)
		return FALSE;
	if (!pipesim_leap_look(leap))
		return FALSE;
	leap->n_done = flow->n_done;
	if (stuck)
		leap->n_limited = leap->loops.n_phases;
	if (stuck || !limit_to_superstep(leap))
		limit_to_phase(leap);
	return TRUE;
}

PipesimLeap *pipesim_leap_new(PipesimFlow *flow, PipesimLeapState state)
{
	PipesimLeap *leap = pipesim_arena_array(flow->arena, PipesimLeap, 1);
	gboolean any = FALSE;

	if (leap == NULL || !flow->counts || flow->slices > 1 ||
		!pipesim_long_loops_find(&leap->loops, flow->order, flow->arena) ||
		leap->loops.n_phases == 0)
		return NULL;
	leap->flow = flow;
	leap->state = state;
	leap->of_each = pipesim_arena_array(flow->arena, guint32, leap->loops.n_phases);
	leap->moved = pipesim_arena_array(flow->arena, PipesimMoment, flow->stride);
	for (guint32 phase = 0; leap->moved != NULL && phase < leap->loops.n_phases; phase++)
		any |= (leap->of_each[phase] = pipesim_long_loops_added(
				&leap->loops, flow->order, phase)) > 0;
	if (!any)
		return NULL;
	leap->then = g_array_new(FALSE, FALSE, sizeof(gint64));
	leap->n_done = G_MAXUINT64;
	if (state.limits)
		limit_to_phase(leap);
	return leap;
}

void pipesim_leap_free(PipesimLeap *leap)
{
	if (leap != NULL)
		g_array_unref(leap->then);
}
