/* ZB-H1 and ZB-H2: the hand-made schedules of the zero-bubble paper. They differ in one number,
 * how far a rank runs ahead. */
#include "schedule/check.h"

/* @depth is 1 for H1 and 2 for H2: forwards in the warm-up and W deferred, per rank of
 * distance. */
static void emit(const PipesimShape *shape, guint rank, guint depth, PipesimEmitter *out)
{
	const guint m = shape->microbatches;
	/* All slices of a micro-batch come before its first backward. */
	const guint warmup =
		MIN(depth * (shape->ranks - 1 - rank) + pipesim_shape_slices(shape) - 1, m);
	const guint delay = MIN(depth * rank, m);
	const guint both = m - warmup; /* backwards with a forward before them */

	pipesim_phase(out, "warm-up");
	pipesim_repeat (out, warmup)
		pipesim_forward(out, 0);
	pipesim_phase(out, "steady");
	pipesim_repeat (out, MIN(both, delay)) {
		pipesim_forward(out, 0);
		pipesim_backward_input(out, 0);
	}
	pipesim_repeat (out, both - MIN(both, delay)) {
		pipesim_forward(out, 0);
		pipesim_backward_input(out, 0);
		pipesim_weight(out);
	}
	pipesim_phase(out, "cool-down");
	pipesim_repeat (out, delay - MIN(both, delay))
		pipesim_backward_input(out, 0);
	pipesim_repeat (out, m - MAX(both, delay)) {
		pipesim_backward_input(out, 0);
		pipesim_weight(out);
	}
	pipesim_repeat (out, delay)
		pipesim_weight(out);
}

static void generate_h1(const PipesimShape *shape, guint rank, PipesimEmitter *out)
{
	emit(shape, rank, 1, out);
}

static void generate_h2(const PipesimShape *shape, guint rank, PipesimEmitter *out)
{
	emit(shape, rank, 2, out);
}

PIPESIM_BUBBLE(bubble_h2,
	(gint64)(shape->ranks - 1) * (t[PIPESIM_F] + t[PIPESIM_I] - 2 * t[PIPESIM_W]))
PIPESIM_ACTIVATIONS(activations_h2, MIN(2 * (gint64)shape->ranks - 1, shape->microbatches), 1)

static const char beyond[] = "M < 2 PP, which the authors do not support: in pipesim's "
			     "extension each phase ends when the micro-batches run out";

static const char too_few[] = "there are too few micro-batches to fill the gaps";

const PipesimSchedule pipesim_schedule_zb_h1 = {
	.name = "zb-h1",
	.aliases = "zb1p, zbh1",
	.summary = "1F1B with the weight gradients deferred into the bubble, at 1F1B's memory",
	.constraints = "every PP and M",
	.idea = "The backward is split into I (backward for input, dgrad), which the previous "
		"rank waits for, and W (backward for weights, wgrad), which no rank waits for. "
		"Each rank runs I at once and defers W to where 1F1B would idle, so that about "
		"two thirds of the bubble disappear where F = I = W. Rank r defers r of its W, "
		"which brings every rank to the PP activations that 1F1B holds on its first.",
	.reference = "Qi et al., Zero Bubble Pipeline Parallelism, arXiv:2401.10241; the "
		     "authors' hand schedule with warm-up factor 1",
	.runtime = "pytorch-2.11",
	.takes = PIPESIM_TAKES_SLICES | PIPESIM_TAKES_SPARING,
	.generate = generate_h1,
	.bubble.text = "(PP-1)(F+B-2W)",
	.bubble.letters = "B is the full backward, I + W, as in DualPipe's table. The "
			  "zero-bubble paper writes B for the backward for input alone, and so "
			  "(PP-1)(F+B-W): the same number, not a misprint in either.",
	.bubble.value = pipesim_bubble_weights_moved,
	.bubble.conditions = {{"M >= PP", pipesim_holds_m_ge_pp, too_few},
		{"W <= F", pipesim_holds_w_le_f, pipesim_w_too_long},
		{"W <= I", pipesim_holds_w_le_i, pipesim_w_too_long},
		{"B = I + W", pipesim_holds_b_is_i_plus_w,
			"the schedule runs I and W, but the formula counts B"}},
	.bubble.exact = "Exact, by makespan and by span, when W <= F, W <= I and M >= PP.",
	.extensions = {{pipesim_holds_m_ge_2pp, beyond}},
	.activations.text = "min(M, PP)",
	.activations.value = pipesim_activations_pp,
	.activations.exact = "Exact on every rank when activations are held until their weight "
			     "gradient; freed at the backward for input, rank r holds PP - r.",
};

const PipesimSchedule pipesim_schedule_zb_h2 = {
	.name = "zb-h2",
	.aliases = "zbh2",
	.summary = "1F1B with twice the warm-up: no gaps in the steady state, for twice the "
		   "activations",
	.constraints = "every PP and M",
	.idea = "ZB-H1 with twice the warm-up: the ranks run so many forwards ahead that no "
		"gap is left once backwards begin. The idle time at the start of a rank is "
		"matched by work that it still has at the end, so ranks may begin the next "
		"step early and the bubble by span is 0 where F = I = W. It costs twice the "
		"activations, 2 PP - 1, and a barrier between steps brings (PP-1)F of idle "
		"time back.",
	.reference = "Qi et al., Zero Bubble Pipeline Parallelism, arXiv:2401.10241; the "
		     "authors' hand schedule with warm-up factor 2",
	.takes = PIPESIM_TAKES_RECOMPUTE,
	.runtime = "pytorch-2.11",
	.generate = generate_h2,
	.bubble.text = "(PP-1)(F+I-2W)",
	.bubble.letters = "I is the backward for input, which the zero-bubble paper calls B.",
	.bubble.value = bubble_h2,
	.bubble.is_span = TRUE,
	.bubble.conditions = {{"M >= 2PP-1", pipesim_holds_m_fills_zb, too_few},
		{"W <= F", pipesim_holds_w_le_f, pipesim_w_too_long},
		{"W <= I", pipesim_holds_w_le_i, pipesim_w_too_long}},
	.bubble.exact = "A span bubble: last end minus first start minus busy time of a rank, "
			"which is what counts when ranks begin the next step without waiting "
			"for each other. By makespan no order of this shape is below (PP-1)F, "
			"so a step that ends with a barrier sees that.",
	.extensions = {{pipesim_holds_m_ge_2pp, beyond}},
	.activations.text = "min(M, 2PP-1)",
	.activations.value = activations_h2,
	.activations.exact = "The largest rank, held until the weight gradient.",
};
