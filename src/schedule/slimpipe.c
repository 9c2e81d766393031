/* SlimPipe: many slices of a sequence, so that a rank holds little more than one micro-batch. */
#include "schedule/check.h"

static guint64 units_of(const PipesimShape *shape)
{
	return (guint64)shape->chunks * pipesim_shape_slices(shape);
}

/* The chunk of the @i-th of @units forwards of each micro-batch. Backwards go the same way back. */
static guint chunk_at(const PipesimShape *shape, guint group, guint64 i)
{
	return (guint)(i % units_of(shape) % ((guint64)group * shape->chunks) / group);
}

static guint chunk_back(const PipesimShape *shape, guint group, guint64 i)
{
	return chunk_at(shape, group, units_of(shape) - 1 - i % units_of(shape));
}

/* Of @rank before its first backward. */
static guint64 warmup_of(const PipesimShape *shape, guint rank)
{
	return units_of(shape) + 2 * (guint64)(shape->ranks - 1 - rank) - 1;
}

static void generate(const PipesimShape *shape, guint rank, PipesimEmitter *out)
{
	const guint group = pipesim_shape_slice_group(shape);
	const guint64 all = (guint64)shape->microbatches * shape->chunks;
	/* Chunks come round with each micro-batch; one chunk, with each slice. */
	const guint64 period = shape->chunks == 1 ? 1 : units_of(shape);
	const guint64 warmup = warmup_of(shape, rank), steady = all - warmup;
	guint64 i = steady / period * period;

	pipesim_phase(out, "warm-up");
	for (guint64 k = 0; k < warmup; k += group)
		pipesim_repeat (out, (guint)MIN(group, warmup - k))
			pipesim_forward(out, chunk_at(shape, group, k));
	pipesim_phase(out, "steady");
	pipesim_repeat (out, (guint)(steady / period))
		for (guint64 k = 0; k < period; k++) {
			pipesim_forward(out, chunk_at(shape, group, warmup + k));
			pipesim_backward(out, chunk_back(shape, group, k));
		}
	for (; i < steady; i++) {
		pipesim_forward(out, chunk_at(shape, group, warmup + i));
		pipesim_backward(out, chunk_back(shape, group, i));
	}
	pipesim_phase(out, "cool-down");
	for (; i < all; i++)
		pipesim_backward(out, chunk_back(shape, group, i));
}

static gboolean check(const PipesimShape *shape, GError **error)
{
	const guint slices = pipesim_shape_slices(shape), ranks = shape->ranks;
	const guint64 units = units_of(shape), ahead = 2 * (guint64)(ranks - 1);
	const guint least = 1 + (guint)((ahead + units - 1) / units);

	if (slices < ranks)
		return pipesim_fail(error, PIPESIM_ERROR_CONSTRAINT,
			"a sequence needs as many slices as there are ranks, %u slices on %u "
			"ranks; nearest: --slices %u",
			slices, ranks, ranks);
	return shape->microbatches >= least ||
	       pipesim_fail(error, PIPESIM_ERROR_CONSTRAINT,
		       "(M-1) K V must be at least 2(PP-1), the warm-up of the first rank; %u "
		       "micro-batch%s on %u ranks; nearest: %u",
		       shape->microbatches, shape->microbatches == 1 ? "" : "es", ranks, least);
}

PIPESIM_ACTIVATIONS(activations, (gint64)warmup_of(shape, 0) + 1, (gint64)units_of(shape))

const PipesimSchedule pipesim_schedule_slimpipe = {
	.name = "slimpipe",
	.summary = "slices of a sequence in step on all ranks: about one micro-batch per rank",
	.constraints = "K >= PP, (M-1) K V >= 2(PP-1); --slices K (PP), --chunks V (1)",
	.idea = "A sequence is cut into PP slices or more, and a rank forwards one whole "
		"micro-batch and two slices for each rank behind it before it alternates "
		"forwards and backwards. What it holds falls towards one micro-batch of its "
		"own stages as slices get more, and the bubble is that of slices. All ranks "
		"work on neighbouring slices at each moment, so that they can share the "
		"attention of later, longer ones; many slices mean small kernels.",
	.reference = "Li et al., SlimPipe, arXiv:2504.14519; order by its rules",
	.chunks = 1,
	.slices = PIPESIM_SLICES_PP,
	.takes = PIPESIM_TAKES_CHUNKS | PIPESIM_TAKES_SLICES | PIPESIM_TAKES_EXCHANGE |
		 PIPESIM_TAKES_RECOMPUTE,
	.check = check,
	.generate = generate,
	.bubble.text = "(PP-1)(F+B)/(K V)",
	.bubble.letters = pipesim_letters_of_slices,
	.bubble.value = pipesim_bubble_fill_and_drain,
	.bubble.exact = "Exact on every rank when all stages and slices take the same time.",
	.activations.text = "1+2(PP-1)/(K V)",
	.activations.value = activations,
	.activations.exact = "Exact on rank 0; rank r holds 1+2(PP-1-r)/(K V).",
	.notes = "Slices pass a chunk in groups, of the smallest divisor of K that is at least "
		 "PP, and backwards of a micro-batch run exactly in the reverse of its "
		 "forwards.\n\nSlices of equal length differ in time where attention counts "
		 "(--slice-cost). --context-exchange evens that out: at each step at which all "
		 "ranks work, their slices sorted by prefix, the shortest and the longest, the "
		 "second shortest and the second longest and so on share their attention "
		 "equally. Messages of the exchange take time where --model says how large "
		 "they are; nothing waits for the partner otherwise.",
};
