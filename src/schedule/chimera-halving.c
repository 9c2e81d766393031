/* Chimera with backward halving: the units of forward doubling, of forwards of whole
 * micro-batches and backwards of halves. */
#include "config.h"

#include "schedule/check.h"

/* How a rank sees the two directions: in its own it has a stage of the first half of the model.
 */
typedef struct {
	guint own;
	guint ahead; /* forwards of its own direction before the other one arrives */
	guint rank;
	const PipesimShape *shape;
} Seat;

/* Where the order of halves stands: how many micro-batches of each direction had their forward,
 * and how many halves their backward. */
typedef struct {
	const Seat *seat;
	guint forward[2], backward[2];
	PipesimEmitter *out;
} Halves;

static void emit_half(Halves *halves, PipesimKind kind, guint direction, guint half)
{
	const guint per_direction = pipesim_shape_per_chunk(halves->seat->shape);

	pipesim_emit(halves->out, &(PipesimOp){
					  .microbatch = direction * per_direction + half,
					  .kind = (guint8)kind,
					  .chunk = (guint8)direction,
				  });
}

/* A forward is of a whole micro-batch: no stage begins with it before the one before has ended.
 * So every second stage runs its halves the other way round: first the half that comes last. */
static void forward_whole(Halves *halves, guint direction)
{
	const Seat *seat = halves->seat;
	const guint first = 2 * halves->forward[direction]++;
	const guint swap = pipesim_shape_stage(seat->shape, seat->rank, direction) % 2;

	emit_half(halves, PIPESIM_F, direction, first + swap);
	emit_half(halves, PIPESIM_F, direction, first + 1 - swap);
}

static void backward_half(Halves *halves, guint direction)
{
	emit_half(halves, PIPESIM_B, direction, halves->backward[direction]++);
}

static void emit_halved_unit(Halves *halves, gboolean first)
{
	const Seat *seat = halves->seat;
	const guint rest = seat->shape->ranks / 2 - seat->ahead;

	pipesim_phase(halves->out, first ? "first unit" : "next unit");
	for (guint i = 0; i < seat->ahead; i++) {
		if (!first)
			backward_half(halves, seat->own);
		forward_whole(halves, seat->own);
	}
	for (guint i = 0; i < rest; i++) {
		forward_whole(halves, 1 - seat->own);
		forward_whole(halves, seat->own);
	}
	for (guint i = 0; i < seat->ahead; i++) {
		forward_whole(halves, 1 - seat->own);
		backward_half(halves, 1 - seat->own);
	}
	for (guint i = 0; i < rest + seat->shape->ranks / 2; i++) {
		backward_half(halves, seat->own);
		backward_half(halves, 1 - seat->own);
	}
}

static void emit_halves(const PipesimShape *shape, guint rank, PipesimEmitter *out)
{
	const guint own = rank < shape->ranks / 2 ? 0 : 1;
	const Seat seat = {
		.own = own,
		.ahead = shape->ranks / 2 - pipesim_shape_stage(shape, rank, own),
		.rank = rank,
		.shape = shape,
	};
	Halves halves = {.seat = &seat, .out = out};

	pipesim_emit_rank(out, rank);
	for (guint unit = 0; unit < shape->microbatches / (2 * shape->ranks); unit++)
		emit_halved_unit(&halves, unit == 0);
	pipesim_phase(out, "cool-down");
	for (guint i = 0; i < seat.ahead; i++)
		backward_half(&halves, seat.own);
}

/* Of all ranks at once, as it names its micro-batches one by one: too many are to be refused
 * before. */
static gboolean plan(const PipesimShape *shape, const PipesimTimes *times, PipesimEmitter *out,
	GError **error)
{
	(void)times;
	if (2 * (guint64)shape->stages * shape->microbatches > PIPESIM_MAX_OPS)
		return pipesim_fail(error, PIPESIM_ERROR_LIMIT,
			"%u micro-batches over %u ranks are more ops than are kept one by one "
			"(at most %u); take fewer of either",
			pipesim_shape_whole(shape), shape->ranks, PIPESIM_MAX_OPS);
	for (guint rank = 0; rank < shape->ranks; rank++)
		emit_halves(shape, rank, out);
	return TRUE;
}

static gboolean check(const PipesimShape *shape, GError **error)
{
	return pipesim_check_even_ranks(shape, error) &&
	       pipesim_check_microbatches(
		       shape, shape->ranks, shape->ranks, "M a multiple of PP", error);
}

static const char *extension(const PipesimShape *shape)
{
	(void)shape;
	return "pipesim's reading of the paper, of which no code is public; half a backward "
	       "is taken to last half as long as a whole one";
}

/* At the times of a half. */
static gint64 bubble(const PipesimShape *shape, PipesimChunkTimes t)
{
	return (gint64)(shape->ranks / 2 - 1) * (2 * t[PIPESIM_F] + t[PIPESIM_B]);
}

static PipesimFraction activations(const PipesimShape *shape)
{
	return (PipesimFraction){shape->ranks, 1};
}

static gboolean holds_b_twice_f(const PipesimShape *shape, PipesimChunkTimes t)
{
	(void)shape;
	return t[PIPESIM_B] == 2 * t[PIPESIM_F];
}

static const PipesimCondition conditions[] = {
	{"B = 2F", holds_b_twice_f,
		"the forward of a micro-batch is meant to last as long as half of a backward"},
	{0},
};

static const char letters[] =
	"F is the forward and B the full backward (I + W) of one stage for one whole "
	"micro-batch. It follows from the order, and is no figure of the paper.";

const PipesimSchedule pipesim_schedule_chimera_halving = {
	.name = "chimera-halving",
	.summary = "Chimera with backward halving: no gaps in the middle of units at B = 2F, "
		   "no more memory",
	.constraints = "PP even, M a multiple of PP",
	.idea = "Two pipelines run in opposite directions as in Chimera, but each "
		"backward takes half of a micro-batch, so that it lasts as long as the "
		"forward of a whole one that it meets. That closes the gaps which units "
		"of plain Chimera keep in their middle at B = 2F, at the activations of "
		"plain Chimera. The price is backwards of half the size, which keep a GPU "
		"less busy: that is not simulated, the times of a half are half of those "
		"given.",
	.reference = "Li and Hoefler, Chimera, arXiv:2107.06925; no code of it is public",
	.chunks = 2,
	.parts = 2,
	.placement = PIPESIM_BIDIRECTIONAL,
	.check = check,
	.plan = plan,
	.bubble =
		{
			.text = "(PP/2-1)(F+B/2)",
			.letters = letters,
			.value = bubble,
			.conditions = conditions,
			.exact = "Exact when B = 2F.",
		},
	.activations =
		{
			.text = "PP",
			.value = activations,
			.exact = "The largest rank; the ranks range from 3PP/4+1/2 to PP.",
		},
	.extension = extension,
	.notes = "A micro-batch is two halves here, 2k and 2k + 1 of micro-batch k, each "
		 "with its F and B: these are the numbers in phases, timelines and "
		 "exported orders, which list 2M. M, and all that is counted by micro-batch, "
		 "is of whole ones. Times and activations of a half are half of "
		 "those given, and so are the bytes that it sends over links; P2P is that "
		 "of a message, whatever its size.\n\n"
		 "A forward is one op of a whole micro-batch: no rank begins with it "
		 "before the one before has ended. Both of its halves run back to back, "
		 "and every second stage runs them the other way round, so that it waits "
		 "for the last one. Rules that match messages in order (--comm single, "
		 "grouped) therefore refuse it; forward doubling hangs "
		 "there too.\n\n"
		 "Each rank holds two stages, so parameters are kept twice. The all-reduce "
		 "of gradients between the two copies of a stage is outside these formulae "
		 "and outside the simulation.",
};
