#include "base/phases.h"
#include "optimize/bound-flow.h"
#include "optimize/mixed.h"
#include "optimize/within.h"

/* More than any rank holds. */
#define MOST_BYTES (G_GINT64_CONSTANT(1) << 58)
/* Where time is limited, the part of it in which what is spared is weighed up. */
#define TIME_PART 6

/* Slices, whatever is held ------------------------------------------------------------------ */

/* On a rank that is as fast as most. */
static gint64 slice_time(const PipesimShape *shape, const PipesimTimes *times, guint stage,
	guint unit, PipesimKind kind)
{
	const gint64 *each = times->each;

	return each != NULL
		       ? each[((gsize)stage * shape->microbatches + unit) * PIPESIM_FB + kind]
		       : times->stage[kind][stage];
}

/* The shortest of a stage. */
static gint64 least_time(
	const PipesimShape *shape, const PipesimTimes *times, guint stage, PipesimKind kind)
{
	gint64 least = G_MAXINT64;

	for (guint unit = 0; unit < shape->microbatches; unit++)
		least = MIN(least, slice_time(shape, times, stage, unit, kind));
	return least;
}

static gint64 time_of(const PipesimShape *shape, const PipesimTimes *times, guint rank,
	guint stage, guint unit, PipesimKind kind)
{
	return pipesim_times_on(times, rank, slice_time(shape, times, stage, unit, kind));
}

/* Of a stage, ns: what is the least of the first slices of micro-batches, forwards and backwards for input, and
 * what all slices take: up to the last backward for input, and with weight gradients. */
typedef struct {
	guint rank;
	gint64 f, i, until_input, all;
} Stage;

static gint64 bound_of_slices(
	const PipesimShape *shape, const PipesimTimes *times, gboolean whole)
{
	const guint slices = pipesim_shape_slices(shape), chunks = shape->chunks;
	g_autofree Stage *stages = g_new0(Stage, shape->stages);
	gint64 best = 0;

	for (guint lane = 0; lane < shape->stages; lane++) {
		const guint rank = lane / chunks;
		const guint stage = pipesim_shape_stage(shape, rank, lane % chunks);
		Stage *own = &stages[stage];

		*own = (Stage){rank, G_MAXINT64, G_MAXINT64, 0, 0};
		for (guint unit = 0; unit < shape->microbatches; unit++) {
			const gint64 f = time_of(shape, times, rank, stage, unit, PIPESIM_F);
			const gint64 b = time_of(shape, times, rank, stage, unit, PIPESIM_B);
			gint64 i = time_of(shape, times, rank, stage, unit, PIPESIM_I);
			gint64 both = i + time_of(shape, times, rank, stage, unit, PIPESIM_W);

			i = whole ? b : MIN(i, b);
			both = whole ? b : MIN(both, b);
			own->until_input += f + i;
			own->all += f + both;
			own->f = unit % slices == 0 ? MIN(own->f, f) : own->f;
			own->i = unit % slices == 0 ? MIN(own->i, i) : own->i;
		}
	}
	for (guint rank = 0; rank < shape->ranks; rank++) {
		gint64 first = G_MAXINT64, last = G_MAXINT64, until_input = 0, all = 0;
		gint64 to = 0, from = 0; /* a stage, from the first one, and back */

		for (guint stage = 0; stage < shape->stages; stage++) {
			const Stage *own = &stages[stage];
			const gint64 hop =
				stage > 0 && own->rank != own[-1].rank ? times->p2p : 0;

			to += hop;
			from += hop;
			if (own->rank == rank) {
				first = MIN(first, to);
				last = MIN(last, from);
				until_input += own->until_input;
				all += own->all;
			}
			to += own->f;
			from += own->i;
		}
		best = MAX(best, first + MAX(until_input + last, all));
	}
	return best;
}

/* Little is held, or much is spared --------------------------------------------------------- */

/* Slices count as micro-batches that are as short as the shortest of them, of which as many are together as are of one:
 * whichever they are of. */
typedef struct {
	const PipesimSearchOf *of;
	const PipesimShape *shape;
	const PipesimTimes *times;
	PipesimShape parts;       /* of the same without slices */
	PipesimTimes *shortest;   /* of that, owned */
	const PipesimInstance *x; /* without a limit */
	gint64 least;             /* of an order without a limit, ns */
	gint64 held;              /* of a chunk by a rank at most, bytes */
	gint64 copy;              /* of an activation, out and in, by an engine, ns */
	gint64 until; /* g_get_monotonic_time() at which no more n is tried; 0: none */
} Spared;

/* The limit of bytes with as much as @n activations of a chunk above it; 0: there is none. */
static gint64 bytes_above(const Spared *s, guint n)
{
	const gint64 limit = s->of->scenario->memory_limit;

	return limit == 0 ? 0 : n == G_MAXUINT ? MOST_BYTES : limit + n * s->held;
}

/* What may hold as much as @n activations of a chunk above the limit; G_MAXUINT: any number. */
static PipesimInstance *instance_above(const Spared *s, guint n, GError **error)
{
	const gint64 slices = pipesim_shape_slices(s->shape);
	/* Of an activation, as limits count it. */
	const gint64 chunks = s->shape->copies > 1 ? 1 : s->shape->chunks;
	PipesimScenario scenario = *s->of->scenario;
	PipesimSearchOf of = *s->of;
	PipesimFraction most = scenario.max_activations;
	PipesimInstanceOf parts = {
		.shape = &s->parts, .times = s->shortest, .costs = of.costs, .whole = of.whole};
	PipesimInstance *x;

	if (most.num == 0 && scenario.memory_limit == 0)
		most = s->shape->max_activations;
	if (n == G_MAXUINT || (most.num == 0 && slices > 1))
		most = (PipesimFraction){
			most.num > 0 || slices > 1 ? s->shape->microbatches : 0, 1};
	else if (most.num > 0)
		most = (PipesimFraction){
			most.num * chunks * slices + n * most.den, most.den * chunks};
	if (slices > 1) {
		parts.max_activations = most;
		parts.memory_limit = bytes_above(s, n);
		x = pipesim_instance_new(&parts, error);
		if (x != NULL)
			x->together = (guint)slices;
		return x;
	}
	scenario.max_activations = most;
	scenario.memory_limit = bytes_above(s, n);
	of.scenario = &scenario;
	return pipesim_search_instance(&of, error);
}

/* No order that holds as much as @n activations of a chunk above the limit is shorter, ns; G_MAXINT64: none fits. */
static gint64 bound_above(const Spared *s, guint n)
{
	const gboolean rough = s->of->scenario->recompute + s->of->scenario->offload > 0;
	g_autoptr(GError) error = NULL;
	g_autoptr(PipesimInstance) x = instance_above(s, n, &error);

	if (x == NULL)
		return rough && g_error_matches(error, PIPESIM_ERROR, PIPESIM_ERROR_CONSTRAINT)
			       ? G_MAXINT64
			       : 0;
	g_autoptr(PipesimBound) bound = pipesim_search_bound(s->of, x, rough, NULL);
	return bound != NULL ? bound->time : 0;
}

/* No order of which @rank has spared @n activations or more is shorter, ns. */
static gint64 bound_many_on(const Spared *s, guint rank, guint n)
{
	const PipesimInstance *x = s->x;
	const PipesimScenario *scenario = s->of->scenario;
	const guint copied = MIN(n, scenario->offload * x->count);
	gint64 first = G_MAXINT64, last = G_MAXINT64, once = G_MAXINT64;
	gint64 work = 0, w = 0, least = G_MAXINT64;

	for (guint chunk = 0; chunk < x->chunks; chunk++) {
		const guint lane = pipesim_instance_lane(x, rank, chunk);
		const guint stage = pipesim_shape_stage(s->shape, rank, chunk);

		first = MIN(first, pipesim_flow_to(x, lane));
		last = MIN(last, pipesim_flow_from(x, lane));
		if (chunk < scenario->recompute)
			once = MIN(once, pipesim_times_on(s->times, rank,
						 pipesim_times_again(s->times,
							 PIPESIM_OP_RECOMPUTE, stage,
							 least_time(s->shape, s->times, stage,
								 PIPESIM_F))));
		work += (x->apart[F][lane] + x->apart[I][lane]) * x->count;
		if (x->kinds > 2)
			w += x->apart[W][lane] * x->count;
	}
	/* As many are computed once more as are not copied, or more. */
	for (guint i = n - copied; i <= MIN(n, scenario->recompute * x->count); i++)
		least = MIN(least, MAX(first + work + (i > 0 ? i * once : 0) + MAX(last, w),
					   first + (n - i) * s->copy));
	return least;
}

/* Few on each rank, or many on one. */
static gint64 bound_spared(const Spared *s)
{
	const PipesimScenario *scenario = s->of->scenario;
	guint low = 0, high = MAX(scenario->offload, scenario->recompute) * s->x->count;
	gint64 best = s->least;

	while (low < high && (s->until == 0 || g_get_monotonic_time() < s->until)) {
		const guint n = low + (high - low) / 2;
		const gint64 few = bound_above(s, n);
		gint64 many = G_MAXINT64;

		for (guint rank = 0; rank < s->x->ranks; rank++)
			many = MIN(many, bound_many_on(s, rank, n + 1));
		best = MAX(best, MIN(few, MAX(many, s->least)));
		if (few > many)
			low = n + 1;
		else
			high = n;
	}
	return best;
}

/* Where stages are alike: the first of each rank, or the one of each copy, has its parameters. The report rounds what slices hold, each or all. */
static void fill_even_bytes(Spared *s, gint64 tokens, gint64 all)
{
	const PipesimCosts *costs = s->of->costs;
	const PipesimShape *shape = s->shape;
	const gint64 even[] = {costs->bytes_until_input, costs->bytes_until_weight};
	gint64 **own = s->shortest->bytes;

	own[PIPESIM_PARAMETERS] = g_new0(gint64, shape->stages);
	for (guint rank = 0; rank < shape->ranks; rank++)
		own[PIPESIM_PARAMETERS][pipesim_shape_stage(shape, rank, 0)] =
			costs->parameter_bytes;
	for (guint sort = 0; sort < G_N_ELEMENTS(even); sort++) {
		const gint64 least = pipesim_time_scale(
			even[sort], tokens, all * (shape->stages / shape->ranks));

		own[sort] = g_new(gint64, shape->stages);
		for (guint stage = 0; stage < shape->stages; stage++)
			own[sort][stage] = MAX(least - 1, 0);
	}
}

/* What the shortest slice holds. */
static void shorten_bytes(Spared *s)
{
	const guint slices = pipesim_shape_slices(s->shape);
	const gint64 *tokens = s->times->tokens;
	gint64 least = G_MAXINT64, all = 0;

	for (guint i = 0; i < slices; i++) {
		const gint64 own = tokens != NULL ? tokens[i] : 1;

		least = MIN(least, own);
		all += own;
	}
	if (s->times->bytes[PIPESIM_PARAMETERS] == NULL) {
		fill_even_bytes(s, least, all);
		return;
	}
	for (guint sort = 0; sort < PIPESIM_N_STAGE_BYTES; sort++) {
		const gint64 *of = s->times->bytes[sort];
		gint64 *own = s->shortest->bytes[sort];

		for (guint stage = 0; own != NULL && stage < s->shape->stages; stage++)
			own[stage] = sort == PIPESIM_PARAMETERS ? of[stage]
								: pipesim_time_scale(of[stage],
									  least * slices, all);
	}
}

/* The same times, but each op as short as the shortest of its stage and kind. */
static gboolean make_parts(Spared *s)
{
	PipesimScenario scenario = *s->of->scenario;

	scenario.microbatches = s->shape->microbatches;
	scenario.slices = 0;
	if (!pipesim_shape_init(&s->parts, &scenario, s->of->chunks, s->of->placement, NULL))
		return FALSE;
	s->shortest = pipesim_times_new(s->of->costs, &s->parts);
	for (guint stage = 0; stage < s->shape->stages; stage++)
		for (guint kind = 0; kind < PIPESIM_FB; kind++)
			s->shortest->stage[kind][stage] =
				least_time(s->shape, s->times, stage, kind);
	shorten_bytes(s);
	return TRUE;
}

/* Where something may be spared. */
static gint64 bound_of_spared(Spared *s)
{
	g_autoptr(PipesimInstance) x = instance_above(s, G_MAXUINT, NULL);
	g_autoptr(PipesimBound) bound =
		x != NULL ? pipesim_search_bound(s->of, x, TRUE, NULL) : NULL;

	if (bound == NULL)
		return 0;
	s->x = x;
	s->least = bound->time;
	for (guint i = 0; i < x->n_rooms; i++)
		for (guint lane = 0; lane < x->lanes && x->room[i].is_bytes; lane++) {
			const PipesimRoom *room = &x->room[i];
			const gint64 stays = room->between != NULL ? room->stays[lane] : 0;

			s->held = MAX(s->held, (room->held[lane] + stays) / room->units + 1);
		}
	s->copy = pipesim_own_copy(s->times->own) * (s->times->engines == 2 ? 1 : 2);
	return bound_spared(s);
}

gint64 pipesim_mixed_bound(
	const PipesimSearchOf *of, const PipesimShape *shape, const PipesimTimes *times)
{
	const gint64 now = g_get_monotonic_time();
	Spared s = {.of = of, .shape = shape, .times = times};
	gint64 all = 0, least = 0;

	if (of->deadline > 0)
		s.until = now + MAX(of->deadline - now, 0) / TIME_PART;
	if (pipesim_shape_slices(shape) > 1) {
		if (shape->copies == 1)
			all = bound_of_slices(shape, times, of->whole);
		if (!make_parts(&s))
			return all;
	}
	least = of->scenario->recompute + of->scenario->offload > 0 ? bound_of_spared(&s)
								    : bound_above(&s, 0);
	pipesim_times_free(s.shortest);
	return MAX(all, least);
}
