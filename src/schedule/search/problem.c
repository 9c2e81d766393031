#include "schedule/search/problem.h"
#include "order/program.h"

/* One activation in units of memory, at most: bytes are scaled to it, so that sums
 * over any shape fit. */
#define MOST_UNITS (1u << 20)
/* What tighter limits may cost: so many ops, or so many times what the first one cost. */
#define RUNGS_EFFORT 6000000
#define RUNGS_RATIO  2
/* Ends of ops stay below. */
#define MOST_TIME (G_GINT64_CONSTANT(1) << 61)

static void divide_memory(PipesimProblem *problem, const PipesimTimes *times)
{
	const guint64 input = (guint64)times->bytes_until_input;
	const guint64 all = input + (guint64)times->bytes_until_weight;
	const guint64 divisor =
		(guint64)pipesim_gcd(times->bytes_until_input, times->bytes_until_weight);

	problem->held = 1;
	problem->freed = 0;
	if (all == 0)
		return;
	if (all / divisor <= MOST_UNITS) {
		problem->held = (gint64)(all / divisor);
		problem->freed = (gint64)(input / divisor);
		return;
	}
	/* Rounded down: rather too much is held than too little. */
	problem->held = MOST_UNITS;
	problem->freed = (gint64)((__extension__(unsigned __int128) input) * MOST_UNITS / all);
}

/* TRUE where the times of all ops one after the other, messages between them, can be added. */
static gboolean fill_times(
	PipesimProblem *problem, const PipesimShape *shape, const PipesimTimes *times)
{
	static const PipesimKind kinds[] = {PIPESIM_F, PIPESIM_I, PIPESIM_W};
	__extension__ __int128 total = 0;
	gint64 *time = problem->time;

	for (guint rank = 0; rank < shape->ranks; rank++)
		for (guint kind = 0; kind < PIPESIM_PROBLEM_KINDS; kind++) {
			const guint stage = pipesim_shape_stage(shape, rank, 0);

			*time = pipesim_times_on(times, rank, times->stage[kinds[kind]][stage]);
			total += *time++;
			total += times->p2p;
		}
	return total * shape->microbatches < MOST_TIME;
}

gboolean pipesim_problem_init(PipesimProblem *problem, PipesimArena *arena,
	const PipesimShape *shape, const PipesimTimes *times, GError **error)
{
	const guint64 ops =
		PIPESIM_PROBLEM_KINDS * (guint64)shape->stages * shape->microbatches;
	const PipesimFraction *most = &shape->max_activations;

	*problem = (PipesimProblem){
		.ranks = shape->ranks,
		.microbatches = shape->microbatches,
		.p2p = times->p2p,
		.by_span = times->post_validation,
	};
	if (shape->microbatches > PIPESIM_MAX_OPS || ops > PIPESIM_MAX_OPS)
		return pipesim_fail(error, PIPESIM_ERROR_LIMIT,
			"%u micro-batches through %u stages are more than the %u ops that a "
			"search takes; take fewer of either",
			shape->microbatches, shape->stages, PIPESIM_MAX_OPS);
	divide_memory(problem, times);
	__extension__ __int128 limit = problem->held;
	limit = limit * most->num / most->den;
	problem->limit = (gint64)MIN(limit, MOST_TIME);
	problem->time =
		pipesim_arena_array(arena, gint64, (gsize)PIPESIM_PROBLEM_KINDS * shape->ranks);
	if (!pipesim_arena_check(arena, error, "the times of %u stages", shape->stages))
		return FALSE;
	return fill_times(problem, shape, times) ||
	       pipesim_fail(error, PIPESIM_ERROR_LIMIT,
		       "%u micro-batches of these times are longer than the 73 years that a "
		       "search adds up to; take shorter times or fewer micro-batches",
		       shape->microbatches);
}

guint pipesim_problem_in_flight(const PipesimProblem *problem)
{
	const gint64 most = MIN(problem->limit / problem->held + 1, problem->microbatches);
	guint slots = 1;

	while (slots < most)
		slots *= 2;
	return slots;
}

/* The largest rung within @limit, at least @step halves of an activation apart. */
static gint64 find_rung(const PipesimProblem *problem, gint64 limit, gint64 step)
{
	__extension__ typedef __int128 Wide;
	const gint64 whole = problem->held;
	const gint64 usual = whole * problem->ranks;
	const gint64 most = MAX(whole * problem->microbatches, usual);

	if (limit >= most)
		return most;
	/* The most that, rounded down to units of memory, are within the limit. */
	gint64 halves = (gint64)((2 * (Wide)limit + 1) / whole);
	while (halves / step > G_MAXUINT8)
		step *= 2;
	gint64 rung = (gint64)((Wide)(halves - halves % step) * whole / 2);
	return usual <= limit ? MAX(rung, usual) : rung;
}

gboolean pipesim_problem_tighten(PipesimProblem *problem, PipesimRungs *rungs, guint64 placed)
{
	gint64 step = 1;

	if (rungs->n == 1)
		rungs->effort = MAX(RUNGS_EFFORT, RUNGS_RATIO * placed);
	if (rungs->n > 0 && placed > rungs->effort)
		return FALSE;
	/* Where ranks are many, activations matter less one by one, and to search takes longer. */
	while (rungs->n > 0 && 2 * step <= problem->ranks / 8)
		step *= 2;
	problem->limit = find_rung(problem, problem->limit - (rungs->n > 0 ? 1 : 0), step);
	rungs->n++;
	return problem->limit >= problem->held;
}
