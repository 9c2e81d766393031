/* Chimera: pipelines in opposite directions over the same ranks. */
#include "config.h"

#include "schedule/check.h"
#include <stdlib.h>

/* How a rank sees the pipelines. Of N of them each rank has one stage of the first PP / N, one
 * of the next, and so on; "own" is the pipeline whose stage is of the first. */
typedef struct {
	guint own, other; /* pipelines; other where there are two */
	guint block;      /* PP / N: micro-batches of a pipeline in one unit */
	guint ahead;      /* forwards of its own pipeline before another one arrives */
	guint rank;
	const PipesimShape *shape;
} Seat;

static Seat seat_of(const PipesimShape *shape, guint rank)
{
	const guint block = shape->ranks / shape->chunks;
	guint own = 0;

	while (pipesim_shape_stage(shape, rank, own) >= block)
		own++;
	return (Seat){
		.own = own,
		.other = 1 - MIN(own, 1),
		.block = block,
		.ahead = block - pipesim_shape_stage(shape, rank, own),
		.rank = rank,
		.shape = shape,
	};
}

/* An op of a unit, and at which step it runs where forward and backward take one each. */
typedef struct {
	guint at;
	guint chunk;
	gboolean backward;
} Step;

static gint compare_steps(gconstpointer a, gconstpointer b)
{
	const Step *x = a, *y = b;

	return (x->at > y->at) - (x->at < y->at);
}

/* Forwards enter one a step until they meet those of another pipeline, then one every second.
 */
static guint forward_at(const Seat *seat, guint stage, guint microbatch)
{
	if (stage < seat->block && microbatch < seat->block - stage)
		return stage + microbatch;
	return stage + 2 * microbatch;
}

/* A unit of @n micro-batches a pipeline. The backwards are its forwards seen from the end. No
 * two of a rank fall together. */
static Step *unit_steps(const Seat *seat, guint n)
{
	const PipesimShape *shape = seat->shape;
	const guint end = 2 * shape->ranks + 2 * n - 3;
	Step *steps = g_new(Step, 2 * (gsize)shape->chunks * n);
	guint filled = 0;

	for (guint chunk = 0; chunk < shape->chunks; chunk++) {
		const guint stage = pipesim_shape_stage(shape, seat->rank, chunk);

		for (guint i = 0; i < n; i++) {
			const guint at = forward_at(seat, stage, i);

			steps[filled++] = (Step){at, chunk, FALSE};
			steps[filled++] = (Step){end - at, chunk, TRUE};
		}
	}
	qsort(steps, filled, sizeof *steps, compare_steps);
	return steps;
}

/* One basic unit with @n micro-batches a pipeline, PP / N in a full one. It begins with
 * forwards and ends with backwards of the rank's own pipeline, @ahead of each: the backwards
 * that the unit before has left over (@pending) go between the forwards. Returns how many it
 * leaves over itself.
 */
static guint emit_unit(const Seat *seat, guint n, guint pending, PipesimEmitter *out)
{
	const guint ahead = MIN(seat->ahead, n);
	g_autofree Step *steps = unit_steps(seat, n);

	pipesim_phase(out, pending > 0 ? "next unit" : "first unit");
	for (guint i = 0; i < MAX(ahead, pending); i++) {
		if (i < pending)
			pipesim_backward(out, seat->own);
		if (i < ahead)
			pipesim_forward(out, seat->own);
	}
	for (guint i = ahead; i < 2 * seat->shape->chunks * n - ahead; i++)
		if (steps[i].backward)
			pipesim_backward(out, steps[i].chunk);
		else
			pipesim_forward(out, steps[i].chunk);
	return ahead;
}

static void emit_pending(const Seat *seat, guint pending, PipesimEmitter *out)
{
	pipesim_phase(out, "cool-down");
	for (guint i = 0; i < pending; i++)
		pipesim_backward(out, seat->own);
}

static void generate(const PipesimShape *shape, guint rank, PipesimEmitter *out)
{
	const Seat seat = seat_of(shape, rank);
	const guint units = shape->microbatches / shape->ranks;
	const guint remainder = shape->microbatches % shape->ranks;
	guint pending = 0;

	if (units > 0) {
		pending = emit_unit(&seat, seat.block, 0, out);
		/* Every further one leaves over what it found. */
		pipesim_repeat (out, units - 1)
			emit_unit(&seat, seat.block, pending, out);
	}
	if (remainder > 0)
		pending = emit_unit(&seat, remainder / shape->chunks, pending, out);
	emit_pending(&seat, pending, out);
}

static void forward_twice(PipesimEmitter *out, guint direction)
{
	pipesim_forward(out, direction);
	pipesim_forward(out, direction);
}

static void emit_doubled_unit(const Seat *seat, gboolean first, PipesimEmitter *out)
{
	const guint rest = seat->block - seat->ahead;

	pipesim_phase(out, first ? "first unit" : "next unit");
	for (guint i = 0; i < seat->ahead; i++) {
		if (!first)
			pipesim_backward(out, seat->own);
		forward_twice(out, seat->own);
	}
	for (guint i = 0; i < rest; i++) {
		forward_twice(out, seat->other);
		forward_twice(out, seat->own);
	}
	for (guint i = 0; i < seat->ahead; i++) {
		forward_twice(out, seat->other);
		pipesim_backward(out, seat->other);
	}
	for (guint i = 0; i < rest + seat->block; i++) {
		pipesim_backward(out, seat->own);
		pipesim_backward(out, seat->other);
	}
}

static void generate_doubling(const PipesimShape *shape, guint rank, PipesimEmitter *out)
{
	const Seat seat = seat_of(shape, rank);

	emit_doubled_unit(&seat, TRUE, out);
	pipesim_repeat (out, shape->microbatches / (2 * shape->ranks) - 1)
		emit_doubled_unit(&seat, FALSE, out);
	emit_pending(&seat, seat.ahead, out);
}

static gboolean check(const PipesimShape *shape, GError **error)
{
	const guint n = shape->chunks;

	if (n == 2)
		return pipesim_check_even_ranks(shape, error) &&
		       pipesim_check_microbatches(
			       shape, 2, 2, "M even (half goes in each direction)", error);
	if (n == 1)
		return pipesim_fail(error, PIPESIM_ERROR_CONSTRAINT,
			"1 pipeline cannot run in each direction; nearest: 2");
	if (n % 2 == 1)
		return pipesim_fail(error, PIPESIM_ERROR_CONSTRAINT,
			"%u pipelines do not pair up from both ends; nearest: %u or %u", n,
			n - 1, n + 1);
	return pipesim_check_ranks_part(shape, n, error) &&
	       pipesim_check_microbatches(shape, n, n, "M a multiple of the pipelines", error);
}

static gboolean check_doubling(const PipesimShape *shape, GError **error)
{
	return pipesim_check_even_ranks(shape, error) &&
	       pipesim_check_microbatches(
		       shape, 2, 2, "M even (half goes in each direction)", error);
}

/* Whole units. */
static guint padded_doubling(const PipesimShape *shape)
{
	const guint unit = 2 * shape->ranks;

	return (shape->microbatches + unit - 1) / unit * unit;
}

static const char *extension_doubling(const PipesimShape *shape)
{
	if (shape->microbatches % (2 * shape->ranks) == 0)
		return NULL;
	return "M is no multiple of 2 PP: the last unit runs without the micro-batches that do "
	       "not "
	       "exist, which is pipesim's extension";
}

static gboolean holds_full_doubled_units(const PipesimShape *shape, PipesimChunkTimes t)
{
	(void)t;
	return shape->microbatches % (2 * shape->ranks) == 0;
}

static const char *extension(const PipesimShape *shape)
{
	if (shape->microbatches % shape->ranks == 0)
		return NULL;
	return "M is no multiple of PP: the last, shorter unit is pipesim's extension, not the "
	       "authors'";
}

static gint64 bubble(const PipesimShape *shape, PipesimChunkTimes t)
{
	return (gint64)(shape->ranks / shape->chunks - 1) * (t[PIPESIM_F] + t[PIPESIM_B]);
}

static PipesimFraction activations(const PipesimShape *shape)
{
	return (PipesimFraction){MIN(shape->ranks, shape->microbatches), 1};
}

static PipesimFraction activations_doubling(const PipesimShape *shape)
{
	return (PipesimFraction){2 * (gint64)shape->ranks, 1};
}

static gboolean holds_f_eq_b(const PipesimShape *shape, PipesimChunkTimes t)
{
	(void)shape;
	return t[PIPESIM_F] == t[PIPESIM_B];
}

static gboolean holds_b_twice_f(const PipesimShape *shape, PipesimChunkTimes t)
{
	(void)shape;
	return t[PIPESIM_B] == 2 * t[PIPESIM_F];
}

static gboolean holds_full_units(const PipesimShape *shape, PipesimChunkTimes t)
{
	(void)t;
	return shape->microbatches % shape->ranks == 0;
}

static const PipesimCondition conditions[] = {
	{"F = B", holds_f_eq_b,
		"where a forward of one direction meets a longer or shorter backward of the "
		"other, each unit keeps a gap in its middle; with two pipelines, B = 2F and M "
		"a multiple of PP the idle time is (PP-2)(M/PP+1)F"},
	{"M a multiple of PP", holds_full_units, "the last unit is not full"},
	{0},
};

static const PipesimCondition conditions_doubling[] = {
	{"B = 2F", holds_b_twice_f,
		"two forwards of a unit are meant to last as long as one backward"},
	{"M a multiple of 2 PP", holds_full_doubled_units, "the last unit is not full"},
	{0},
};

static const char letters_n[] =
	"F is the forward and B the full backward (I + W) of one stage for one micro-batch; N "
	"pipelines, both directions together (--pipelines; 2). The paper gives it as a rate at "
	"F = B, with two pipelines (PP-2)/(2M+PP-2).";

static const char letters[] =
	"F is the forward and B the full backward (I + W) of one stage for one micro-batch. "
	"The paper gives it as a rate, (PP-2)/(2M+PP-2) at F = B.";

static const char notes[] = "Each rank holds two stages, so parameters are kept twice. The "
			    "all-reduce of gradients between the two copies of a stage is "
			    "outside these formulae and outside the simulation.";

static const char *const aliases[] = {"chimera-direct", NULL};

const PipesimSchedule pipesim_schedule_chimera = {
	.name = "chimera",
	.aliases = aliases,
	.summary = "two pipelines in opposite directions, units joined by direct concatenation",
	.constraints = "PP and M even; with --pipelines N (2) multiples of N",
	.idea = "Two pipelines run through the same ranks in opposite directions, each with "
		"half of the micro-batches, so that one fills the gaps of the other. Units of "
		"PP micro-batches follow each other directly, and what remains idle is about "
		"half of 1F1B's bubble where F = B. Every rank holds a stage of both "
		"directions, so parameters are kept twice.",
	.reference = "Li and Hoefler, Chimera, arXiv:2107.06925; order as the authors' and "
		     "pipe-fisher's training loops run it",
	.chunks = 2,
	.placement = PIPESIM_BIDIRECTIONAL,
	.takes = PIPESIM_TAKES_PIPELINES,
	.check = check,
	.generate = generate,
	.bubble =
		{
			.text = "(PP/N-1)(F+B)",
			.letters = letters_n,
			.value = bubble,
			.conditions = conditions,
			.exact = "Exact when F = B and M is a multiple of PP. With two "
				 "pipelines and B = 2F the gaps in the middle of the units "
				 "stay and the idle time is (PP-2)(M/PP+1)F; forward doubling "
				 "removes them.",
		},
	.activations =
		{
			.text = "min(M, PP)",
			.value = activations,
			.exact = "The largest rank; with N pipelines and full units the ranks "
				 "range from PP-PP/N+1 to PP.",
		},
	.extension = extension,
	.notes = "With N pipelines (--pipelines, even, a divisor of PP) each pair starts "
		 "PP/(N/2) ranks further on, each pipeline has M/N of the micro-batches, and "
		 "each rank holds N stages, so parameters are kept N times: more pipelines "
		 "shorten the bubble and cost memory. The all-reduce of gradients between the "
		 "copies of a stage is outside these formulae and outside the simulation.\n\n"
		 "The order of a unit follows from steps: where F and B take one step each, "
		 "micro-batch k of a pipeline reaches stage s at step s + 2k, or s + k where "
		 "no other pipeline has come in its way yet, and the backwards are the same "
		 "seen from the end.",
};

const PipesimSchedule pipesim_schedule_chimera_doubling = {
	.name = "chimera-doubling",
	.summary = "Chimera with forward doubling: units of 2 PP, no gaps in their middle at B "
		   "= 2F",
	.constraints = "PP even, M even",
	.idea = "Two pipelines run in opposite directions as in Chimera, but each forward slot "
		"takes two micro-batches, so that it lasts as long as the full backward that "
		"it meets. That closes the gaps which units of plain Chimera keep in their "
		"middle at B = 2F. The price is about twice the activations of plain Chimera, "
		"beside its second copy of the parameters.",
	.reference = "Li and Hoefler, Chimera, arXiv:2107.06925; order as the authors' "
		     "forward-doubling training loop runs it",
	.chunks = 2,
	.placement = PIPESIM_BIDIRECTIONAL,
	.check = check_doubling,
	.padded = padded_doubling,
	.extension = extension_doubling,
	.generate = generate_doubling,
	.bubble =
		{
			.text = "(PP/2-1)(F+B)",
			.letters = letters,
			.value = bubble,
			.conditions = conditions_doubling,
			.exact = "Exact when B = 2F.",
		},
	.activations =
		{
			.text = "2PP",
			.value = activations_doubling,
			.exact = "The largest rank, with M a multiple of 2PP; the ranks range "
				 "from "
				 "3PP/2+1 to 2PP.",
		},
	.notes = notes,
};
