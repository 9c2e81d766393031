/* Seq1F1B: 1F1B, or interleaved 1F1B, whose units are slices of a sequence. */
#include "schedule/check.h"

static void generate(const PipesimShape *shape, guint rank, PipesimEmitter *out)
{
	if (shape->chunks == 1)
		pipesim_one_f_one_b(shape, rank, out);
	else
		pipesim_interleaved_slices(shape, rank, out);
}

/* A group of PP slices passes a chunk before the next one: were it to end within a micro-batch, the
 * backward of that one's last slice could not begin. */
static gboolean check(const PipesimShape *shape, GError **error)
{
	const guint slices = pipesim_shape_slices(shape), ranks = shape->ranks;
	guint below = MIN(slices, ranks);

	if (shape->chunks == 1 || ranks % slices == 0)
		return TRUE;
	while (ranks % below != 0)
		below--;
	return pipesim_fail(error, PIPESIM_ERROR_CONSTRAINT,
		"with several chunks a rank, slices must divide PP, %u slices do not divide %u "
		"ranks; nearest: --slices %u",
		slices, ranks, below);
}

static PipesimFraction activations(const PipesimShape *shape)
{
	const guint slices = pipesim_shape_slices(shape), v = shape->chunks;
	/* Units behind the last whole group are the first one's. */
	const guint64 group = shape->ranks + shape->microbatches % shape->ranks;
	const guint64 ahead =
		v == 1 ? shape->ranks - 1 : (v - 1) * group + 2 * (shape->ranks - 1);
	const guint64 most = (guint64)shape->microbatches * v;

	return (PipesimFraction){(gint64)MIN(ahead + slices, most), (gint64)slices * v};
}

PIPESIM_CONDITION(
	holds_whole_groups, shape->chunks == 1 || shape->microbatches % shape->ranks == 0)

const PipesimSchedule pipesim_schedule_seq1f1b = {
	.name = "seq1f1b",
	.summary = "1F1B of slices of a sequence: a bubble and activations K times smaller",
	.constraints =
		"every PP and M; --slices K (4), --chunks V (1), with V > 1 K divides PP",
	.idea = "The sequence of each micro-batch is cut into K slices, and these are what "
		"ranks alternate. The forward of a slice needs those before it on its rank, "
		"whose keys and values it reads, so backwards of a micro-batch run from the "
		"last slice to the first, and a rank runs K-1 forwards further ahead. The "
		"pipeline fills and drains in slices, which divides the bubble of 1F1B by K, "
		"and the first rank holds PP+K-1 slices instead of PP micro-batches, for "
		"smaller kernels that are launched K times as often.",
	.reference = "Sun et al., Seq1F1B, arXiv:2406.03488; order as the authors' and the "
		     "zero-bubble repository's schedulers make it",
	.chunks = 1,
	.slices = 4,
	.takes = PIPESIM_TAKES_CHUNKS | PIPESIM_TAKES_SLICES | PIPESIM_TAKES_RECOMPUTE,
	.check = check,
	.generate = generate,
	.bubble.text = "(PP-1)(F+B)/(K V)",
	.bubble.letters = pipesim_letters_of_slices,
	.bubble.value = pipesim_bubble_fill_and_drain,
	.bubble.conditions = {{"M K a multiple of PP where V > 1", holds_whole_groups,
		"the first group is longer than PP slices"}},
	.bubble.exact = "Exact on every rank when all stages and slices take the same time: "
			"(PP-1)/(PP-1+M K) of the makespan at V = 1.",
	.activations.text = "min(M, (PP+K-1)/K)",
	.activations.value = activations,
	.activations.exact =
		"Exact on rank 0; rank r holds min(M, (PP-r+K-1)/K). With V > 1 it "
		"is min(M, ((V+1)PP+K-2)/(K V)).",
	.notes = "With K = 1 it is 1F1B, or interleaved 1F1B in groups of PP. The order with "
		 "several chunks is Megatron-LM's with slices for micro-batches, K-1 forwards "
		 "further ahead.\n\nTimes are those of whole micro-batches: a slice takes 1/K "
		 "of them, and holds 1/K of the activations.",
};
