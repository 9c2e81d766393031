#include "config.h"

#include "base/phases.h"
#include "optimize/bound-flow.h"
#include "optimize/mixed.h"
#include "optimize/within.h"

/* More than any rank holds. */
#define MOST_BYTES (G_GINT64_CONSTANT(1) << 58)
/* Where time is limited, the part of it in which what is spared is weighed up. */
#define TIME_PART 6

/* Where some activations are spared --------------------------------------------------------- */

typedef struct {
	const PipesimSearchOf *of;
	const PipesimInstance *x; /* without a limit */
	gint64 least;             /* of an order without a limit, ns */
	gint64 held;              /* of a chunk by a rank at most, bytes */
	guint chunks;             /* that may be spared */
	gint64 copy;              /* of an activation, out and in, by an engine, ns; 0: R */
	gint64 again;             /* R, ns; 0: as long as F */
	gint64 until; /* g_get_monotonic_time() at which no more n is tried; 0: none */
} Spared;

/* No order that holds as much as @n activations of a chunk above the limit is shorter, ns; G_MAXINT64: none fits. */
static gint64 bound_above(const Spared *s, guint n)
{
	PipesimScenario scenario = *s->of->scenario;
	PipesimSearchOf of = *s->of;
	g_autoptr(PipesimInstance) x = NULL;
	g_autoptr(PipesimBound) bound = NULL;
	g_autoptr(GError) error = NULL;

	of.scenario = &scenario;
	if (scenario.memory_limit > 0)
		scenario.memory_limit += n * s->held;
	if (scenario.max_activations.num > 0)
		scenario.max_activations =
			(PipesimFraction){scenario.max_activations.num * s->x->chunks +
						  (gint64)n * scenario.max_activations.den,
				scenario.max_activations.den * s->x->chunks};
	x = pipesim_search_instance(&of, &error);
	if (x == NULL)
		return g_error_matches(error, PIPESIM_ERROR, PIPESIM_ERROR_CONSTRAINT)
			       ? G_MAXINT64
			       : 0;
	bound = pipesim_search_bound(&of, x, TRUE, NULL);
	return bound != NULL ? bound->time : 0;
}

/* No order of which a rank has spared @n activations or more is shorter, ns. */
static gint64 bound_many(const Spared *s, guint n)
{
	const PipesimInstance *x = s->x;
	gint64 least = G_MAXINT64;

	for (guint rank = 0; rank < x->ranks; rank++) {
		gint64 first = G_MAXINT64, last = G_MAXINT64, once = G_MAXINT64, work = 0,
		       w = 0;

		for (guint chunk = 0; chunk < x->chunks; chunk++) {
			const guint lane = pipesim_instance_lane(x, rank, chunk);
			const gint64 to = pipesim_flow_to(x, lane);
			const gint64 from = pipesim_flow_from(x, lane);

			first = MIN(first, to);
			last = MIN(last, from);
			if (chunk < s->chunks)
				once = MIN(once, s->again > 0 ? s->again : x->time[F][lane]);
			work += (x->apart[F][lane] + x->apart[I][lane]) * x->count;
			if (x->kinds > 2)
				w += x->apart[W][lane] * x->count;
		}
		if (s->copy > 0)
			work = first + n * s->copy;
		else
			work += first + n * once + MAX(last, w);
		least = MIN(least, work);
	}
	return MAX(least, s->least);
}

/* Few on each rank, or many on one. */
static gint64 bound_spared(const Spared *s)
{
	guint low = 0, high = s->chunks * s->x->count;
	gint64 best = s->least;

	while (low < high && (s->until == 0 || g_get_monotonic_time() < s->until)) {
		const guint n = low + (high - low) / 2;
		const gint64 few = bound_above(s, n), many = bound_many(s, n + 1);

		best = MAX(best, MIN(few, many));
		if (few > many)
			low = n + 1;
		else
			high = n;
	}
	return best;
}

static gint64 bound_of_spared(
	const PipesimSearchOf *of, const PipesimShape *shape, const PipesimTimes *times)
{
	PipesimScenario scenario = *of->scenario, all;
	PipesimSearchOf own = *of, unlimited = *of;
	const gint64 now = g_get_monotonic_time();
	g_autoptr(PipesimInstance) x = NULL;
	g_autoptr(PipesimBound) bound = NULL;
	Spared s = {.of = &own,
		.chunks = MAX(scenario.offload, scenario.recompute),
		.again = times->own[PIPESIM_OP_RECOMPUTE]};

	if (scenario.max_activations.num == 0 && scenario.memory_limit == 0)
		scenario.max_activations = shape->max_activations;
	all = scenario;
	if (all.memory_limit > 0)
		all.memory_limit = MOST_BYTES;
	if (all.max_activations.num > 0)
		all.max_activations = (PipesimFraction){shape->microbatches, 1};
	own.scenario = &scenario;
	unlimited.scenario = &all;
	x = pipesim_search_instance(&unlimited, NULL);
	bound = x != NULL ? pipesim_search_bound(&unlimited, x, TRUE, NULL) : NULL;
	if (bound == NULL)
		return 0;
	s.x = x;
	s.least = bound->time;
	for (guint i = 0; i < x->n_rooms; i++)
		for (guint lane = 0; lane < x->lanes && x->room[i].is_bytes; lane++) {
			const PipesimRoom *room = &x->room[i];
			const gint64 stays = room->between != NULL ? room->stays[lane] : 0;

			s.held = MAX(s.held, (room->held[lane] + stays) / room->units + 1);
		}
	if (of->deadline > 0)
		s.until = now + MAX(of->deadline - now, 0) / TIME_PART;
	if (scenario.offload > 0)
		s.copy = times->own[PIPESIM_OP_OFFLOAD_START] +
			 (times->engines == 2 ? 0 : times->own[PIPESIM_OP_RELOAD_START]);
	return bound_spared(&s);
}

/* Slices ----------------------------------------------------------------------------------- */

/* On a rank that is as fast as most. */
static gint64 slice_time(const PipesimShape *shape, const PipesimTimes *times, guint stage,
	guint unit, PipesimKind kind)
{
	const gint64 *each = times->each;

	return each != NULL
		       ? each[((gsize)stage * shape->microbatches + unit) * PIPESIM_FB + kind]
		       : times->stage[kind][stage];
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

/* Every slice for itself, as a micro-batch that is as short as the shortest of them, and of which as many are together
 * as are of one: counted are ops, whichever slices they are of, and activations. */
static gint64 bound_of_parts(
	const PipesimSearchOf *of, const PipesimShape *shape, const PipesimTimes *times)
{
	const guint slices = pipesim_shape_slices(shape), all = shape->microbatches;
	PipesimScenario scenario = *of->scenario;
	PipesimFraction most = scenario.max_activations;
	PipesimShape parts;
	PipesimInstanceOf own = {.shape = &parts, .costs = of->costs, .whole = of->whole};
	g_autoptr(PipesimTimes) least = NULL;
	g_autoptr(PipesimInstance) x = NULL;
	g_autoptr(PipesimBound) bound = NULL;
	const gint64 now = g_get_monotonic_time();
	PipesimBoundUntil until = {0};

	scenario.microbatches = all;
	scenario.slices = 0;
	if (!pipesim_shape_init(&parts, &scenario, of->chunks, of->placement, NULL))
		return 0;
	if (most.num == 0)
		most = scenario.memory_limit > 0 ? (PipesimFraction){all, slices}
						 : shape->max_activations;
	own.max_activations = (PipesimFraction){most.num * slices, most.den};
	own.times = least = pipesim_times_new(of->costs, &parts);
	for (guint stage = 0; stage < shape->stages; stage++)
		for (guint kind = 0; kind < PIPESIM_FB; kind++) {
			gint64 *own_time = &least->stage[kind][stage];

			*own_time = G_MAXINT64;
			for (guint unit = 0; unit < all; unit++)
				*own_time = MIN(
					*own_time, slice_time(shape, times, stage, unit, kind));
		}
	x = pipesim_instance_new(&own, NULL);
	if (x == NULL)
		return 0;
	x->together = slices;
	if (of->deadline > 0)
		until.deadline = now + MAX(of->deadline - now, 0) / TIME_PART;
	bound = pipesim_bound_new(x, FALSE, &until, NULL);
	return bound != NULL ? bound->time : 0;
}

gint64 pipesim_mixed_bound(
	const PipesimSearchOf *of, const PipesimShape *shape, const PipesimTimes *times)
{
	gint64 all, part;

	if (pipesim_shape_slices(shape) <= 1)
		return bound_of_spared(of, shape, times);
	all = bound_of_slices(shape, times, of->whole);
	part = bound_of_parts(of, shape, times);
	return MAX(all, part);
}
