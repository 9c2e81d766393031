/* DualPipe and DualPipeV: the eight steps of DeepSeek's code. DualPipeV is the same with the
 * second direction folded back onto the same ranks. */
#include "schedule/check.h"

/* Of rank @from_end from its end, of @depth from there to the middle, or the turn of the V.
 * @own: the direction, or chunk, that enters nearer to this rank; @m: micro-batches of each. */
static void emit(guint from_end, guint depth, guint own, guint m, PipesimEmitter *out)
{
	const guint other = 1 - own, outer = from_end + 1;
	const guint inner = depth - 1 - from_end; /* ranks from this one to the middle */
	const gboolean middle = inner == 0;

	pipesim_phase(out, "1: F0");
	pipesim_repeat (out, 2 * inner)
		pipesim_forward(out, own);
	pipesim_phase(out, "2: F0 F1");
	pipesim_repeat (out, outer) {
		pipesim_forward(out, own);
		pipesim_forward(out, other);
	}
	pipesim_phase(out, "3: I1 W1 F1");
	pipesim_repeat (out, inner) {
		pipesim_backward_input(out, other);
		pipesim_weight(out);
		pipesim_forward(out, other);
	}
	pipesim_phase(out, "4: F0&B1 F1&B0");
	if (middle) {
		/* At the middle the two halves of the first pair depend on each other. */
		pipesim_forward(out, own);
		pipesim_backward(out, other);
		pipesim_overlap(out, other, own);
	}
	pipesim_repeat (out, m - 2 * depth + outer - (middle ? 1 : 0)) {
		pipesim_overlap(out, own, other);
		pipesim_overlap(out, other, own);
	}
	pipesim_phase(out, "5: B1 F1&B0");
	pipesim_repeat (out, inner) {
		pipesim_backward(out, other);
		pipesim_overlap(out, other, own);
	}
	/* The second half leaves the weights for later; odd ranks begin that one op earlier. */
	pipesim_phase(out, "6: B1 B0");
	pipesim_repeat (out, outer / 2) {
		pipesim_backward(out, other);
		pipesim_backward(out, own);
	}
	if (from_end % 2 == 1)
		pipesim_backward_input(out, other);
	else
		pipesim_backward(out, other);
	pipesim_backward_input(out, own);
	pipesim_repeat (out, outer - outer / 2 - 1) {
		pipesim_backward_input(out, other);
		pipesim_backward_input(out, own);
	}
	pipesim_phase(out, "7: W I0");
	pipesim_repeat (out, inner) {
		pipesim_weight(out);
		pipesim_backward_input(out, own);
	}
	pipesim_phase(out, "8: W");
	pipesim_repeat (out, outer)
		pipesim_weight(out);
}

static void generate(const PipesimShape *shape, guint rank, PipesimEmitter *out)
{
	const guint depth = shape->ranks / 2, m = shape->microbatches / 2;
	const gboolean down = rank < depth;

	emit(down ? rank : shape->ranks - 1 - rank, depth, down ? 0 : 1, m, out);
}

static void generate_v(const PipesimShape *shape, guint rank, PipesimEmitter *out)
{
	emit(rank, shape->ranks, 0, shape->microbatches, out);
}

/* What the eight steps are made for. */
static guint padded(const PipesimShape *shape)
{
	return MAX(shape->microbatches, 2 * shape->ranks);
}

PIPESIM_BUBBLE(bubble,
	(gint64)(shape->ranks / 2 - 1) * (t[PIPESIM_FB] + t[PIPESIM_B] - 3 * t[PIPESIM_W]))
PIPESIM_BUBBLE(bubble_v,
	(gint64)(shape->ranks - 1) * (t[PIPESIM_FB] + t[PIPESIM_B] - 3 * t[PIPESIM_W]))
PIPESIM_ACTIVATIONS(activations, (gint64)shape->ranks + 1, 1)
PIPESIM_ACTIVATIONS(activations_v, 2 * (gint64)shape->ranks + 1, 2)

static const char beyond[] = "M < 2 PP, which the authors refuse: pipesim's extension is the "
			     "order of 2 PP micro-batches without the missing ones";

static const char pair_shorter[] =
	"the formula assumes that a pair lasts at least as long as its backward alone";
static const char pair_longer[] = "the outer ranks, which run fewer pairs, then idle longest; "
				  "the formula is for the inner ones";
static const char w_longer[] =
	"W no longer fits in the slot of a forward, which adds idle time";

static const char uneven[] =
	"F&B < F+B and ranks run different numbers of pairs, so their bubbles differ; the "
	"formula gives the largest, on the inner ranks";

static const char letters[] =
	"F&B is one overlapped pair: the forward of one micro-batch and the full backward of "
	"another. B is the full backward, I + W. Each of one chunk for one micro-batch.";

/* What both have in common, @hops in words. */
#define DUALPIPE(hops)                                                               \
	.chunks = 2, .runtime = "deepseek", .padded = padded,                        \
	.extensions = {{pipesim_holds_m_ge_2pp, beyond}},                            \
	.bubble.text = "(" hops ")(F&B+B-3W)", .bubble.letters = letters,            \
	.bubble.uneven = uneven,                                                     \
	.bubble.conditions = {                                                       \
		{"M >= 2 PP", pipesim_holds_m_ge_2pp, "the pipeline is never full"}, \
		{"F = I", pipesim_holds_i_le_f,                                      \
			"I > F reduces the idle time by min((" hops ")(I-F), F)"},   \
		{"F = I", pipesim_holds_f_le_i, "F > I adds idle time"},             \
		{"W <= F", pipesim_holds_w_le_f, w_longer},                          \
		{"F&B >= B", pipesim_holds_pair_ge_b, pair_shorter},                 \
		{"F&B <= F+B", pipesim_holds_pair_le_f_plus_b, pair_longer},         \
		{"B = I + W", pipesim_holds_b_is_i_plus_w,                           \
			"the schedule mixes B with I and W"}}

const PipesimSchedule pipesim_schedule_dualpipe = {
	.name = "dualpipe",
	.summary = "micro-batches enter from both ends, forwards overlap with backwards",
	.constraints = "PP even, M even",
	.idea = "Micro-batches enter the pipeline from both ends, and in the steady phase each "
		"rank runs the forward of one direction overlapped with the backward of the "
		"other. The communication of each half is hidden behind the computation of the "
		"other, which pays off where an overlapped pair takes less time than its "
		"parts. Weight gradients are deferred at the start and the end as in ZB-H1; "
		"every rank holds two stages, hence two copies of the parameters, and PP+1 "
		"activations.",
	.reference = "DeepSeek-V3 technical report, arXiv:2412.19437; order as "
		     "github.com/deepseek-ai/DualPipe runs it",
	.placement = PIPESIM_BIDIRECTIONAL,
	.check = pipesim_check_halves,
	.generate = generate,
	.bubble.value = bubble,
	DUALPIPE("PP/2-1"),
	.bubble.exact = "Exact when M >= 2 PP, F = I, W <= F and B <= F&B <= F+B. With F&B = "
			"F+B every rank idles just that long. With F&B < F+B the ranks run "
			"different numbers of pairs, so their bubbles differ, and the formula "
			"gives the largest: that of the four ranks around the middle.",
	.activations.text = "PP+1",
	.activations.value = activations,
	.activations.exact = "Exact on every rank when M >= 2 PP, whether activations are "
			     "freed at I or at W; with fewer micro-batches ranks hold less.",
	.notes = "Where the formula comes from. Look at a middle rank, PP/2-1 hops from its "
		 "end, and count what it waits for, hop by hop. Before its first op: one F per "
		 "hop, until the first forward has come in from the end. When the forwards run "
		 "out: the outer ranks still run pairs where the middle ranks run backwards "
		 "alone, so each hop costs F&B - B. After its last op: the last backward for "
		 "input still travels outwards, one I per hop, while every rank further out "
		 "has one W fewer left to do: I - W. Together F + (F&B - B) + (I - W) per hop, "
		 "which with F = I and B = I + W is F&B + B - 3W; times PP/2-1 hops it is the "
		 "formula. It also shows where it stops being exact: the first term is F, not "
		 "I, and the last needs W <= I.\n\nMemory. There are two copies of the "
		 "parameters (2x), because each rank holds a stage of either direction; "
		 "activations are PP+1. A widely read article gives the activations as \"2 x "
		 "PP + 1\": it merges two columns of DeepSeek's table. The +1 is the "
		 "overlapped pair, which holds the micro-batch that it starts and the one that "
		 "it ends at the same time.",
};

const PipesimSchedule pipesim_schedule_dualpipev = {
	.name = "dualpipev",
	.aliases = "ScheduleDualPipeV",
	.summary = "DualPipe folded into a V: two chunks per rank, one copy of the parameters",
	.constraints = "every PP and M",
	.idea = "DualPipe cut in half: the model is folded into a V, so that rank r holds "
		"stages r and 2 PP - 1 - r and both of its ends meet on rank 0. Forwards on "
		"the way down are overlapped with backwards on the way up, as in DualPipe, "
		"with one copy of the parameters. The ranks are half as many as those of the "
		"DualPipe of equal stages, and the bubble is counted in chunks of half a "
		"rank's work.",
	.reference = "Sea AI Lab's cut-in-half of DualPipe; order as "
		     "github.com/deepseek-ai/DualPipe runs it",
	.placement = PIPESIM_V,
	.generate = generate_v,
	.bubble.value = bubble_v,
	DUALPIPE("PP-1"),
	.bubble.exact =
		"Exact when M >= 2 PP, F = I, W <= F and B <= F&B <= F+B, in times of one "
		"chunk: half of a rank's share. DeepSeek's table gives (PP/2-1) because it "
		"compares at equal numbers of stages, and so puts DualPipeV on PP/2 ranks.",
	.activations.text = "PP+1/2",
	.activations.value = activations_v,
	.activations.exact = "2PP+1 chunks of half a rank's share, exact on every rank when M "
			     ">= 2 PP; with fewer micro-batches ranks hold less. DeepSeek's "
			     "PP+1 is the same at equal numbers of stages.",
	.notes = "There is one copy of the parameters: a rank holds two different stages of "
		 "half the size. The 2x in DeepSeek's table is relative to a plain pipeline on "
		 "twice as many ranks.",
};
