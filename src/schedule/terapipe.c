/* TeraPipe: GPipe of slices of sequences. */
#include "schedule/check.h"

static void generate(const PipesimShape *shape, guint rank G_GNUC_UNUSED, PipesimEmitter *out)
{
	pipesim_phase(out, "forwards");
	pipesim_repeat (out, shape->microbatches)
		pipesim_forward(out, 0);
	pipesim_phase(out, "backwards");
	pipesim_repeat (out, shape->microbatches)
		pipesim_backward_last(out, 0);
}

const PipesimSchedule pipesim_schedule_terapipe = {
	.name = "terapipe",
	.summary = "all forwards of slices of sequences, then all backwards in reverse",
	.constraints = "every PP and M; --slices K (4)",
	.idea = "Sequences are cut into slices, which follow each other through the pipeline "
		"at once: a slice needs only those before it, and backwards run in exactly the "
		"reverse of the forwards. The pipeline fills and drains in slices, so that the "
		"bubble is that of GPipe divided by K, and even a single sequence keeps all "
		"ranks at work. A rank holds the activations of the whole batch, as in GPipe.",
	.reference =
		"Li et al., TeraPipe, arXiv:2102.07988; order as the authors' code runs it",
	.slices = 4,
	.takes = PIPESIM_TAKES_SLICES | PIPESIM_TAKES_RECOMPUTE,
	.generate = generate,
	.bubble.text = "(PP-1)(F+B)/K",
	.bubble.letters = "F is the forward and B the full backward (I + W) of one stage for "
			  "one micro-batch; K slices (--slices).",
	.bubble.value = pipesim_bubble_fill_and_drain,
	.bubble.exact = "Exact on every rank when all stages and slices take the same time.",
	.activations.text = "M",
	.activations.value = pipesim_activations_m,
	.activations.exact = "Exact on every rank: nothing is freed before the last forward.",
	.notes = "The authors choose the lengths of slices by dynamic programming, so that the "
		 "sum of their times and PP-1 times the longest is least: --slice-lengths plan "
		 "with --slice-cost. Also --slice-lengths work, or lengths of one's own.",
};
