#include "schedule/check.h"

static void generate(const PipesimShape *shape, guint rank G_GNUC_UNUSED, PipesimEmitter *out)
{
	pipesim_phase(out, "forwards");
	pipesim_repeat (out, shape->microbatches)
		pipesim_forward(out, 0);
	pipesim_phase(out, "backwards");
	pipesim_repeat (out, shape->microbatches)
		pipesim_backward(out, 0);
}

const PipesimSchedule pipesim_schedule_gpipe = {
	.name = "gpipe",
	.aliases = "ScheduleGPipe",
	.summary = "all forwards, then all backwards",
	.constraints = "every PP and M",
	.idea = "A step's batch is cut into micro-batches, so that the ranks work on several "
		"of them at once. Every rank runs all its forwards and then all its backwards: "
		"the pipeline fills and drains once per step, and each rank idles for PP-1 "
		"micro-batches, however many there are. Before its first backward a rank holds "
		"the activations of all M micro-batches, which later schedules reduce.",
	.reference = "Huang et al., GPipe, arXiv:1811.06965; order as PyTorch's ScheduleGPipe "
		     "runs it",
	.runtime = "single",
	.takes = PIPESIM_TAKES_SLICES | PIPESIM_TAKES_SPARING,
	.whole = TRUE,
	.generate = generate,
	.bubble.text = "(PP-1)(F+B)",
	.bubble.letters = "F is the forward and B the full backward (I + W) of one stage for "
			  "one micro-batch.",
	.bubble.value = pipesim_bubble_fill_and_drain,
	.bubble.exact = "Exact on every rank when all stages take the same time: the first "
			"micro-batch needs PP-1 forwards to reach the last rank, and the last "
			"backward needs PP-1 backwards to come back.",
	.activations.text = "M",
	.activations.value = pipesim_activations_m,
	.activations.exact = "Exact on every rank: nothing is freed before the last forward.",
	.notes = "1F1B has the same bubble and only saves memory. PyTorch asks for M >= PP; "
		 "the order itself needs no such rule, so pipesim takes any M.",
};
