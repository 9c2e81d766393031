#include "schedule/check.h"

void pipesim_one_f_one_b(const PipesimShape *shape, guint rank, PipesimEmitter *out)
{
	/* All slices of a micro-batch come before its first backward. */
	const guint warmup = MIN(
		shape->microbatches, shape->ranks - 1 - rank + pipesim_shape_slices(shape) - 1);

	pipesim_phase(out, "warm-up");
	pipesim_repeat (out, warmup)
		pipesim_forward(out, 0);
	pipesim_phase(out, "steady");
	pipesim_repeat (out, shape->microbatches - warmup) {
		pipesim_forward(out, 0);
		pipesim_backward(out, 0);
	}
	pipesim_phase(out, "cool-down");
	pipesim_repeat (out, warmup)
		pipesim_backward(out, 0);
}

const PipesimSchedule pipesim_schedule_one_f_one_b = {
	.name = "1f1b",
	.aliases = "Schedule1F1B, pipedream-flush",
	.summary = "alternating forwards and backwards after a warm-up",
	.constraints = "every PP and M",
	.idea = "After a short warm-up every rank alternates one forward and one backward, so "
		"that one micro-batch is freed before the next one starts. The bubble stays "
		"that of GPipe, since filling and draining take as long as before. A rank "
		"holds at most as many micro-batches as there are ranks from it to the last: "
		"PP at most, instead of M.",
	.reference = "Narayanan et al., PipeDream-Flush, arXiv:2006.09503; order as PyTorch's "
		     "Schedule1F1B runs it",
	.runtime = "single",
	.takes = PIPESIM_TAKES_SLICES | PIPESIM_TAKES_SPARING,
	.whole = TRUE,
	.generate = pipesim_one_f_one_b,
	.bubble.text = "(PP-1)(F+B)",
	.bubble.letters = "F is the forward and B the full backward (I + W) of one stage for "
			  "one micro-batch.",
	.bubble.value = pipesim_bubble_fill_and_drain,
	.bubble.exact = "Exact on every rank when all stages take the same time.",
	.activations.text = "min(M, PP)",
	.activations.value = pipesim_activations_pp,
	.activations.exact =
		"Exact on rank 0; rank r holds min(M, PP - r), so the last holds 1.",
	.notes = "PyTorch asks for M >= PP and Megatron-LM shortens the warm-up to min(M, "
		 "PP-1-r); pipesim does the latter. PyTorch 2.8's visualiser prints "
		 "micro-batches 1 to M on the last rank instead of 0 to M-1; the order here is "
		 "the one its runtime executes.",
};
