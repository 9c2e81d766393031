/* Chimera: pipelines in opposite directions over the same ranks, and its two ways to close the
 * gaps at B = 2F: forward doubling, of two micro-batches, and backward halving. */
#include "schedule/check.h"
#include "schedule/search/sequence.h"

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

/* One basic unit with @n micro-batches a pipeline, PP / N in a full one. It begins with
 * forwards and ends with backwards of the rank's own pipeline, @ahead of each: the backwards
 * that the unit before has left over (@pending) go between the forwards. Returns how many it
 * leaves over itself. */
static guint emit_unit(const Seat *seat, guint n, guint pending, PipesimEmitter *out)
{
	const PipesimShape *shape = seat->shape;
	const guint end = 2 * shape->ranks + 2 * n - 3;
	const guint ahead = MIN(seat->ahead, n);
	g_autofree PipesimStepVerb *steps =
		g_new(PipesimStepVerb, 2 * (gsize)shape->chunks * n);
	guint filled = 0;

	for (guint chunk = 0; chunk < shape->chunks; chunk++) {
		const guint stage = pipesim_shape_stage(shape, seat->rank, chunk);

		/* Forwards enter one a step until they meet those of another pipeline, then one
		 * every second. The backwards are the forwards seen from the end. No two of a
		 * rank fall together. */
		for (guint i = 0; i < n; i++) {
			const gboolean met = stage >= seat->block || i >= seat->block - stage;
			const guint at = stage + (met ? 2 * i : i);

			steps[filled++] = (PipesimStepVerb){at, {PIPESIM_F, chunk}};
			steps[filled++] = (PipesimStepVerb){end - at, {PIPESIM_B, chunk}};
		}
	}
	pipesim_sort_steps(steps, filled);
	pipesim_phase(out, pending > 0 ? "next unit" : "first unit");
	for (guint i = 0; i < MAX(ahead, pending); i++) {
		if (i < pending)
			pipesim_backward(out, seat->own);
		if (i < ahead)
			pipesim_forward(out, seat->own);
	}
	for (guint i = ahead; i < filled - ahead; i++)
		pipesim_emit_verb(out, &steps[i].verb);
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

/* Units of doubling and of halving, in which a forward takes two steps: of two micro-batches
 * whose backwards take two each, or of two halves whose backwards take one each. The emitter
 * numbers micro-batches, halves are counted here. */
typedef struct {
	const Seat *seat;
	PipesimEmitter *out;
	gboolean halves;
	guint forward[2], backward[2]; /* by direction: halves that had theirs */
	/* Of whole ones: forwards and backwards, by direction, that are still to come. */
	guint left[2][2];
} LongForwards;

static void emit_half(LongForwards *unit, PipesimKind kind, guint direction, guint half)
{
	const guint per_direction = pipesim_shape_per_chunk(unit->seat->shape);

	pipesim_emit(unit->out, &(PipesimOp){
					.microbatch = direction * per_direction + half,
					.kind = (guint8)kind,
					.chunk = (guint8)direction,
				});
}

static void emit_whole(LongForwards *unit, gboolean backward, guint direction)
{
	if (unit->left[backward][direction] == 0)
		return;
	unit->left[backward][direction]--;
	if (backward)
		pipesim_backward(unit->out, direction);
	else
		pipesim_forward(unit->out, direction);
}

/* The forward of two halves is that of a whole micro-batch: no stage begins with it before the
 * one before has ended. So every second stage runs its halves the other way round: first the
 * half that comes last. */
static void forward_two(LongForwards *unit, guint direction)
{
	const Seat *seat = unit->seat;
	const guint swap = pipesim_shape_stage(seat->shape, seat->rank, direction) % 2;

	if (unit->halves) {
		emit_half(unit, PIPESIM_F, direction, unit->forward[direction] + swap);
		emit_half(unit, PIPESIM_F, direction, unit->forward[direction] + 1 - swap);
		unit->forward[direction] += 2;
	} else {
		emit_whole(unit, FALSE, direction);
		emit_whole(unit, FALSE, direction);
	}
}

static void backward_one(LongForwards *unit, guint direction)
{
	if (unit->halves)
		emit_half(unit, PIPESIM_B, direction, unit->backward[direction]++);
	else
		emit_whole(unit, TRUE, direction);
}

static void emit_long_unit(LongForwards *unit, gboolean first)
{
	const Seat *seat = unit->seat;
	const guint rest = seat->block - seat->ahead;

	pipesim_phase(unit->out, first ? "first unit" : "next unit");
	for (guint i = 0; i < seat->ahead; i++) {
		if (!first)
			backward_one(unit, seat->own);
		forward_two(unit, seat->own);
	}
	for (guint i = 0; i < rest; i++) {
		forward_two(unit, seat->other);
		forward_two(unit, seat->own);
	}
	for (guint i = 0; i < seat->ahead; i++) {
		forward_two(unit, seat->other);
		backward_one(unit, seat->other);
	}
	for (guint i = 0; i < rest + seat->block; i++) {
		backward_one(unit, seat->own);
		backward_one(unit, seat->other);
	}
}

/* Full units, and one of the rest without those micro-batches that there are not. */
static void generate_doubling(const PipesimShape *shape, guint rank, PipesimEmitter *out)
{
	const Seat seat = seat_of(shape, rank);
	const guint units = shape->microbatches / (2 * shape->ranks);
	const guint rest = shape->microbatches % (2 * shape->ranks) / 2;
	LongForwards unit = {.seat = &seat, .out = out};

	memset(unit.left, 0xff, sizeof unit.left);
	if (units > 0)
		emit_long_unit(&unit, TRUE);
	if (units > 1)
		pipesim_repeat (out, units - 1)
			emit_long_unit(&unit, FALSE);
	for (guint direction = 0; direction < 2; direction++)
		unit.left[FALSE][direction] = unit.left[TRUE][direction] = rest;
	if (units > 0)
		unit.left[TRUE][seat.own] += seat.ahead;
	if (rest > 0)
		emit_long_unit(&unit, units == 0);
	pipesim_phase(out, "cool-down");
	for (guint i = 0; i < seat.ahead; i++)
		backward_one(&unit, seat.own);
}

/* Of all ranks at once, as it names its micro-batches one by one: too many are to be refused
 * before. */
static gboolean plan_halving(const PipesimShape *shape, const PipesimTimes *times G_GNUC_UNUSED,
	PipesimEmitter *out, GError **error)
{
	if (2 * (guint64)shape->stages * shape->microbatches > PIPESIM_MAX_OPS)
		return pipesim_fail(error, PIPESIM_ERROR_LIMIT,
			"%u micro-batches over %u ranks have more ops than can be stored (at "
			"most %u); use fewer of either",
			pipesim_shape_whole(shape), shape->ranks, PIPESIM_MAX_OPS);
	for (guint rank = 0; rank < shape->ranks; rank++) {
		const Seat seat = seat_of(shape, rank);
		LongForwards unit = {.seat = &seat, .out = out, .halves = TRUE};

		pipesim_emit_rank(out, rank);
		for (guint i = 0; i < shape->microbatches / (2 * shape->ranks); i++)
			emit_long_unit(&unit, i == 0);
		pipesim_phase(out, "cool-down");
		for (guint i = 0; i < seat.ahead; i++)
			backward_one(&unit, seat.own);
	}
	return TRUE;
}

static gboolean check(const PipesimShape *shape, GError **error)
{
	const guint n = shape->chunks, below = shape->ranks / n * n;

	if (n == 2)
		return pipesim_check_halves(shape, error);
	if (n == 1)
		return pipesim_fail(error, PIPESIM_ERROR_CONSTRAINT,
			"1 pipeline cannot run in both directions; nearest: 2");
	if (n % 2 == 1)
		return pipesim_fail(error, PIPESIM_ERROR_CONSTRAINT,
			"%u pipelines cannot be divided between both directions; nearest: %u "
			"or %u",
			n, n - 1, n + 1);
	if (below == 0)
		return pipesim_fail(error, PIPESIM_ERROR_CONSTRAINT,
			"%u ranks cannot be divided among %u pipelines; nearest: %u",
			shape->ranks, n, n);
	if (below < shape->ranks)
		return pipesim_fail(error, PIPESIM_ERROR_CONSTRAINT,
			"%u ranks cannot be divided among %u pipelines; nearest: %u or %u",
			shape->ranks, n, below, below + n);
	return pipesim_check_microbatches(shape, n, n, "M a multiple of the pipelines", error);
}

static gboolean check_halving(const PipesimShape *shape, GError **error)
{
	return pipesim_check_even_ranks(shape, error) &&
	       pipesim_check_microbatches(
		       shape, shape->ranks, shape->ranks, "M a multiple of PP", error);
}

PIPESIM_BUBBLE(
	bubble, (gint64)(shape->ranks / shape->chunks - 1) * (t[PIPESIM_F] + t[PIPESIM_B]))
PIPESIM_ACTIVATIONS(activations_doubling, 2 * (gint64)shape->ranks, 1)

/* At the times of a half. */
PIPESIM_BUBBLE(
	bubble_halving, (gint64)(shape->ranks / 2 - 1) * (2 * t[PIPESIM_F] + t[PIPESIM_B]))
PIPESIM_ACTIVATIONS(activations_halving, shape->ranks, 1)
PIPESIM_CONDITION(holds_full_doubled_units, shape->microbatches % (2 * shape->ranks) == 0)

static const char letters[] =
	"F is the forward and B the full backward (I + W) of one stage for one micro-batch. "
	"The paper gives it as a rate, (PP-2)/(2M+PP-2) at F = B.";

static const char notes[] = "Each rank holds two stages, so there are two copies of the "
			    "parameters. The all-reduce of gradients between the two copies of "
			    "a stage is outside these formulae and outside the simulation.";

const PipesimSchedule pipesim_schedule_chimera = {
	.name = "chimera",
	.aliases = "chimera-direct",
	.summary = "two pipelines in opposite directions, units joined by direct concatenation",
	.constraints = "PP and M even; with --pipelines N (2) multiples of N",
	.idea = "Two pipelines run through the same ranks in opposite directions, each with "
		"half of the micro-batches, so that each fills the gaps of the other. Units of "
		"PP micro-batches follow each other directly, and what remains idle is about "
		"half of 1F1B's bubble where F = B. Every rank holds a stage of both "
		"directions, so there are two copies of the parameters.",
	.reference = "Li and Hoefler, Chimera, arXiv:2107.06925; order as the authors' and "
		     "pipe-fisher's training loops run it",
	.chunks = 2,
	.placement = PIPESIM_BIDIRECTIONAL,
	.takes = PIPESIM_TAKES_PIPELINES | PIPESIM_TAKES_RECOMPUTE,
	.check = check,
	.whole = TRUE,
	.generate = generate,
	.bubble.text = "(PP/N-1)(F+B)",
	.bubble.letters =
		"F is the forward and B the full backward (I + W) of one stage for one "
		"micro-batch; N pipelines, both directions together (--pipelines; 2). The "
		"paper gives it as a rate at F = B, with two pipelines (PP-2)/(2M+PP-2).",
	.bubble.value = bubble,
	.bubble.conditions =
		{{"F = B", pipesim_holds_f_is_b,
			 "where a forward of one direction meets a backward of another length, "
			 "each unit keeps a gap in its middle; with two pipelines, B = 2F and "
			 "M a multiple of PP the idle time is (PP-2)(M/PP+1)F"},
			{"M a multiple of PP", pipesim_holds_m_parts_by_pp,
				"the last unit is not full"}},
	.bubble.exact = "Exact when F = B and M is a multiple of PP. With two pipelines and B "
			"= 2F the gaps in the middle of the units stay and the idle time is "
			"(PP-2)(M/PP+1)F; forward doubling removes them.",
	.activations.text = "min(M, PP)",
	.activations.value = pipesim_activations_pp,
	.activations.exact = "The largest rank; with N pipelines and full units the ranks "
			     "range from PP-PP/N+1 to PP.",
	.extensions = {{pipesim_holds_m_parts_by_pp,
		"M is not a multiple of PP: the last, shorter unit is pipesim's extension, not "
		"the authors'"}},
	.notes = "With N pipelines (--pipelines, even, a divisor of PP) each pair starts "
		 "PP/(N/2) ranks further on, each pipeline has M/N of the micro-batches, and "
		 "each rank holds N stages, so parameters are kept N times: more pipelines "
		 "shorten the bubble and cost memory. The all-reduce of gradients between the "
		 "copies of a stage is outside these formulae and outside the simulation.\n\n"
		 "The order of a unit follows from steps: where F and B take one step each, "
		 "micro-batch k of a pipeline reaches stage s at step s + 2k, or s + k as long "
		 "as no other pipeline blocks it; the backwards mirror this from the end.",
};

const PipesimSchedule pipesim_schedule_chimera_doubling = {
	.name = "chimera-doubling",
	.summary = "Chimera with forward doubling: units of 2 PP, no gaps in their middle at B "
		   "= 2F",
	.constraints = "PP even, M even",
	.idea = "Two pipelines run in opposite directions as in Chimera, but each forward slot "
		"takes two micro-batches, so that it lasts as long as the full backward that "
		"it meets. That closes the gaps which units of plain Chimera keep in their "
		"middle at B = 2F. In return it holds about twice the activations of plain "
		"Chimera, besides the second copy of the parameters.",
	.reference = "Li and Hoefler, Chimera, arXiv:2107.06925; order as the authors' "
		     "forward-doubling training loop runs it",
	.chunks = 2,
	.placement = PIPESIM_BIDIRECTIONAL,
	.takes = PIPESIM_TAKES_RECOMPUTE,
	.check = pipesim_check_halves,
	.extensions = {{holds_full_doubled_units,
		"M is not a multiple of 2 PP: the last unit runs without the missing "
		"micro-batches, which is pipesim's extension"}},
	.whole = TRUE,
	.generate = generate_doubling,
	.bubble.text = "(PP/2-1)(F+B)",
	.bubble.letters = letters,
	.bubble.value = bubble,
	.bubble.conditions =
		{{"B = 2F", pipesim_holds_b_is_2f,
			 "the schedule assumes that two forwards last as long as one backward"},
			{"M a multiple of 2 PP", holds_full_doubled_units,
				"the last unit is not full"}},
	.bubble.exact = "Exact when B = 2F.",
	.activations.text = "2PP",
	.activations.value = activations_doubling,
	.activations.exact = "The largest rank, with M a multiple of 2PP; the ranks range from "
			     "3PP/2+1 to 2PP.",
	.notes = notes,
};

const PipesimSchedule pipesim_schedule_chimera_halving = {
	.name = "chimera-halving",
	.summary = "Chimera with backward halving: no gaps in the middle of units at B = 2F, "
		   "no more memory",
	.constraints = "PP even, M a multiple of PP",
	.idea = "Two pipelines run in opposite directions as in Chimera, but each backward "
		"takes half of a micro-batch, so that it lasts as long as the forward of a "
		"whole one that it meets. That closes the gaps which units of plain Chimera "
		"keep in their middle at B = 2F, at the activations of plain Chimera. "
		"Backwards of half the size use a GPU less efficiently; this is not simulated: "
		"half a backward takes half the time.",
	.reference = "Li and Hoefler, Chimera, arXiv:2107.06925; no code of it is public",
	.chunks = 2,
	.parts = 2,
	.placement = PIPESIM_BIDIRECTIONAL,
	.check = check_halving,
	.plan = plan_halving,
	.bubble.text = "(PP/2-1)(F+B/2)",
	.bubble.letters =
		"F is the forward and B the full backward (I + W) of one stage for one whole "
		"micro-batch. It is derived from the order and not given in the paper.",
	.bubble.value = bubble_halving,
	.bubble.conditions = {{"B = 2F", pipesim_holds_b_is_2f,
		"the schedule assumes that a forward lasts as long as half a backward"}},
	.bubble.exact = "Exact when B = 2F.",
	.activations.text = "PP",
	.activations.value = activations_halving,
	.activations.exact = "The largest rank; the ranks range from 3PP/4+1/2 to PP.",
	.extensions = {{NULL, "pipesim's reading of the paper, as no code is public; half a "
			      "backward is assumed to take half the time"}},
	.notes = "A micro-batch is two halves here, 2k and 2k + 1 of micro-batch k, each with "
		 "its F and B: these are the numbers in phases, timelines and exported orders, "
		 "which list 2M. M, and all that is counted by micro-batch, is of whole ones. "
		 "Times and activations of a half are half of those given, and so are the "
		 "bytes that it sends over links; P2P is that of a message, whatever its "
		 "size.\n\nA forward is one op of a whole micro-batch: no rank starts it "
		 "before the previous one has finished. Both of its halves run back to back, "
		 "and every second stage runs them the other way round, so that it waits for "
		 "the last one. Rules that match messages in order (--runtime single, "
		 "deepseek) therefore refuse it; forward doubling hangs there too.\n\nEach "
		 "rank holds two stages, so there are two copies of the parameters. The "
		 "all-reduce of gradients between the two copies of a stage is outside these "
		 "formulae and outside the simulation.",
};
