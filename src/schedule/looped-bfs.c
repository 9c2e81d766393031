#include "schedule/check.h"

static void generate(const PipesimShape *shape, guint rank G_GNUC_UNUSED, PipesimEmitter *out)
{
	pipesim_phase(out, "forwards");
	for (guint chunk = 0; chunk < shape->chunks; chunk++)
		pipesim_repeat (out, shape->microbatches)
			pipesim_forward(out, chunk);
	pipesim_phase(out, "backwards");
	for (guint chunk = shape->chunks; chunk-- > 0;)
		pipesim_repeat (out, shape->microbatches)
			pipesim_backward_last(out, chunk);
}

PIPESIM_CONDITION(holds_m_ge_pp, shape->chunks == 1 || shape->microbatches >= shape->ranks)

const PipesimSchedule pipesim_schedule_looped_bfs = {
	.name = "looped-bfs",
	.aliases = "ScheduleLoopedBFS, LoopedBFS, bfs, breadth-first",
	.summary = "GPipe over several smaller chunks per rank, one chunk after the other",
	.constraints = "every PP and M; --chunks V (2)",
	.idea = "All micro-batches go through the first chunk of a rank, then all through its "
		"second, and the backwards come in the opposite order. The bubble is that of "
		"interleaved 1F1B, and sharded data parallelism gathers the parameters of each "
		"chunk and reduces its gradients only once per pass. Every rank holds the "
		"activations of all M micro-batches, as in GPipe.",
	.reference = "Lamy-Poirier, Breadth-First Pipeline Parallelism, arXiv:2211.05953; "
		     "order as PyTorch's ScheduleLoopedBFS runs it",
	.chunks = 2,
	.takes = PIPESIM_TAKES_CHUNKS | PIPESIM_TAKES_RECOMPUTE,
	.runtime = "pytorch-2.11",
	.whole = TRUE,
	.generate = generate,
	.bubble.text = "(PP-1)(F+B)/V",
	.bubble.letters = "F is the forward and B the full backward (I + W) of a rank's whole "
			  "share for one micro-batch; V chunks per rank (--chunks).",
	.bubble.value = pipesim_bubble_fill_and_drain,
	.bubble.conditions = {{"M >= PP", holds_m_ge_pp,
		"the rank then runs out of work before a micro-batch returns for its next "
		"chunk"}},
	.bubble.exact = "Exact on every rank when M >= PP.",
	.activations.text = "M",
	.activations.value = pipesim_activations_m,
	.activations.exact = "Exact on every rank: nothing is freed before the last forward.",
	.notes = "PyTorch runs the backwards of a chunk from the last micro-batch to the "
		 "first; so does pipesim.",
};
