/* Chimera: two pipelines in opposite directions over the same ranks. */
#include "config.h"

#include "schedule/check.h"

/* How a rank sees the two pipelines: "own" is the direction that enters at its end. */
typedef struct {
	guint own, other; /* directions */
	guint half;       /* PP / 2 */
	guint ahead;      /* forwards of its own direction before the other one arrives */
} Seat;

static Seat seat_of(const PipesimShape *shape, guint rank)
{
	const guint half = shape->ranks / 2;
	const gboolean down = rank < half;

	return (Seat){
		.own = down ? 0 : 1,
		.other = down ? 1 : 0,
		.half = half,
		.ahead = down ? half - rank : rank - half + 1,
	};
}

/* One basic unit with @per_direction micro-batches each way, PP / 2 in a full one. The
 * backwards that the unit before has left over (@pending) go between its first forwards.
 * Returns how many it leaves over itself. */
static guint emit_unit(
	const Seat *seat, guint per_direction, guint pending, PipesimEmitter *out)
{
	const guint ahead = MIN(seat->ahead, per_direction);
	const guint rest = per_direction - ahead;

	pipesim_phase(out, pending > 0 ? "next unit" : "first unit");
	for (guint i = 0; i < MAX(ahead, pending); i++) {
		if (i < pending)
			pipesim_backward(out, seat->own);
		if (i < ahead)
			pipesim_forward(out, seat->own);
	}
	for (guint i = 0; i < rest; i++) {
		pipesim_forward(out, seat->other);
		pipesim_forward(out, seat->own);
	}
	for (guint i = 0; i < ahead; i++) {
		pipesim_forward(out, seat->other);
		pipesim_backward(out, seat->other);
	}
	for (guint i = 0; i < rest; i++) {
		pipesim_backward(out, seat->own);
		pipesim_backward(out, seat->other);
	}
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
		pending = emit_unit(&seat, seat.half, 0, out);
		/* Every further one leaves over what it found. */
		pipesim_repeat (out, units - 1)
			emit_unit(&seat, seat.half, pending, out);
	}
	if (remainder > 0)
		pending = emit_unit(&seat, remainder / 2, pending, out);
	emit_pending(&seat, pending, out);
}

static void forward_twice(PipesimEmitter *out, guint direction)
{
	pipesim_forward(out, direction);
	pipesim_forward(out, direction);
}

static void emit_doubled_unit(const Seat *seat, gboolean first, PipesimEmitter *out)
{
	const guint rest = seat->half - seat->ahead;

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
	for (guint i = 0; i < rest + seat->half; i++) {
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
	return pipesim_check_even_ranks(shape, error) &&
	       pipesim_check_microbatches(
		       shape, 2, 2, "M even (half goes in each direction)", error);
}

static gboolean check_doubling(const PipesimShape *shape, GError **error)
{
	return pipesim_check_even_ranks(shape, error) &&
	       pipesim_check_microbatches(shape, 2 * shape->ranks, 2 * shape->ranks,
		       "M a multiple of 2 PP", error);
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
	return (gint64)(shape->ranks / 2 - 1) * (t[PIPESIM_F] + t[PIPESIM_B]);
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
		"other, each unit keeps a gap in its middle; with B = 2F and M a multiple of "
		"PP the idle time is (PP-2)(M/PP+1)F"},
	{"M a multiple of PP", holds_full_units, "the last unit is not full"},
	{0},
};

static const PipesimCondition conditions_doubling[] = {
	{"B = 2F", holds_b_twice_f,
		"two forwards of a unit are meant to last as long as one backward"},
	{0},
};

static const char letters[] =
	"F is the forward and B the full backward (I + W) of one stage for one micro-batch. "
	"The paper gives it as a rate, (PP-2)/(2M+PP-2) at F = B.";

static const char notes[] =
	"Each rank holds two stages, so parameters are kept twice. The all-reduce of "
	"gradients between the two copies of a stage is outside these formulae and outside "
	"the simulation.";

static const char *const aliases[] = {"chimera-direct", NULL};

const PipesimSchedule pipesim_schedule_chimera = {
	.name = "chimera",
	.aliases = aliases,
	.summary = "two pipelines in opposite directions, units joined by direct concatenation",
	.constraints = "PP even, M even",
	.idea = "Two pipelines run through the same ranks in opposite directions, each with "
		"half of the micro-batches, so that one fills the gaps of the other. Units of "
		"PP micro-batches follow each other directly, and what remains idle is about "
		"half of 1F1B's bubble where F = B. Every rank holds a stage of both "
		"directions, so parameters are kept twice.",
	.reference = "Li and Hoefler, Chimera, arXiv:2107.06925; order as the authors' and "
		     "pipe-fisher's training loops run it",
	.chunks = 2,
	.placement = PIPESIM_BIDIRECTIONAL,
	.check = check,
	.generate = generate,
	.bubble =
		{
			.text = "(PP/2-1)(F+B)",
			.letters = letters,
			.value = bubble,
			.conditions = conditions,
			.exact = "Exact when F = B and M is a multiple of PP. With B = 2F the "
				 "gaps in the middle of the units stay and the idle time is "
				 "(PP-2)(M/PP+1)F; forward doubling removes them.",
		},
	.activations =
		{
			.text = "min(M, PP)",
			.value = activations,
			.exact = "The largest rank; the ranks range from PP/2+1 at the ends to "
				 "PP in the middle.",
		},
	.extension = extension,
	.notes = notes,
};

const PipesimSchedule pipesim_schedule_chimera_doubling = {
	.name = "chimera-doubling",
	.summary = "Chimera with forward doubling: units of 2 PP, no gaps in their middle at B "
		   "= 2F",
	.constraints = "PP even, M a multiple of 2 PP",
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
			.exact = "The largest rank; the ranks range from 3PP/2+1 to 2PP.",
		},
	.notes = notes,
};
