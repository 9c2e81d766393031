/* ZB-V by hand: the order for F = I = W that the zero-bubble authors drew and PyTorch runs. */
#include "schedule/check.h"
#include "schedule/search/sequence.h"

/* The order is made for at least 2 PP - 1 micro-batches; of those that do not exist nothing is
 * run. */
typedef struct {
	guint microbatches;
	guint count[PIPESIM_N_KINDS][2]; /* by kind and chunk: how many ran */
	PipesimEmitter *out;
} Rank;

static guint left(const Rank *rank, const PipesimVerb *verb)
{
	return rank->microbatches - rank->count[verb->kind][verb->chunk];
}

/* @n times @verbs, each of a different kind or chunk; those whose micro-batches are used up are
 * left out. */
static void emit_rounds(Rank *rank, guint n, const PipesimVerb *verbs, guint n_verbs)
{
	while (n > 0) {
		guint rounds = n;

		/* As long as none runs out, all rounds are alike. */
		for (guint i = 0; i < n_verbs; i++)
			if (left(rank, &verbs[i]) > 0)
				rounds = MIN(rounds, left(rank, &verbs[i]));
		pipesim_repeat (rank->out, rounds)
			for (guint i = 0; i < n_verbs; i++) {
				if (left(rank, &verbs[i]) == 0)
					continue;
				rank->count[verbs[i].kind][verbs[i].chunk] += rounds;
				pipesim_emit_verb(rank->out, &verbs[i]);
			}
		n -= rounds;
	}
}

#define ROUNDS(rank, n, ...)                                        \
	do {                                                        \
		const PipesimVerb verbs_[] = {__VA_ARGS__};         \
		emit_rounds(rank, n, verbs_, G_N_ELEMENTS(verbs_)); \
	} while (0)

static const PipesimVerb f0 = {PIPESIM_F, 0}, f1 = {PIPESIM_F, 1}, i0 = {PIPESIM_I, 0},
			 i1 = {PIPESIM_I, 1}, w0 = {PIPESIM_W, 0}, w1 = {PIPESIM_W, 1};

static void generate(const PipesimShape *shape, guint index, PipesimEmitter *out)
{
	const guint ranks = shape->ranks;
	const guint to_turn = ranks - index; /* ranks from here to the turn of the V */
	const guint n = MAX(shape->microbatches, 2 * ranks - 1);
	Rank rank = {.microbatches = shape->microbatches, .out = out};

	pipesim_phase(out, "1: F0");
	ROUNDS(&rank, 2 * to_turn - 1, f0);
	pipesim_phase(out, "2: F1 F0");
	ROUNDS(&rank, index, f1, f0);
	pipesim_phase(out, "3: F1 I1 W1");
	ROUNDS(&rank, to_turn, f1, i1, w1);
	pipesim_phase(out, "4: F0 I0 W0 F1 I1 W1");
	ROUNDS(&rank, n - ranks - to_turn + 1, f0, i0, w0, f1, i1, w1);
	ROUNDS(&rank, to_turn - 1, i0, w0, f1, i1, w1);
	pipesim_phase(out, "5: I0 I1");
	ROUNDS(&rank, index, i0, i1);
	pipesim_phase(out, "6: I0 W0");
	ROUNDS(&rank, to_turn, i0, w0);
	pipesim_phase(out, "7: W1, W0");
	ROUNDS(&rank, index, w1);
	ROUNDS(&rank, index, w0);
}

const PipesimSchedule pipesim_schedule_zb_v = {
	.name = "zb-v",
	.aliases = "ScheduleZBVZeroBubble, ZBVZeroBubble, zbv",
	.summary =
		"a V of two chunks per rank with split backwards: no span bubble at F = I = W",
	.constraints = "every PP and M",
	.idea = "Each rank holds a chunk of the way down and the mirrored chunk of the way "
		"back, so that the first rank also runs the last stage and the loss. Backwards "
		"are split, and W fills what would be gaps, so that at F = I = W every rank "
		"works without a pause from its first op to its last. The chunks even out "
		"along the V: each rank holds the PP activations that 1F1B holds on its first.",
	.reference = "Qi et al., Zero Bubble Pipeline Parallelism, arXiv:2401.10241; the "
		     "hand-made order as PyTorch's ScheduleZBVZeroBubble runs it",
	.chunks = 2,
	.placement = PIPESIM_V,
	.takes = PIPESIM_TAKES_SPARING,
	.runtime = "pytorch-2.11",
	.generate = generate,
	.bubble.text = "0",
	.bubble.letters = "By span: last end minus first start minus busy time of a rank. By "
			  "makespan a rank idles for (PP-1)F/2, F of a rank's whole share: the "
			  "first forward has PP-1 hops of half a share to go.",
	.bubble.value = pipesim_bubble_none,
	.bubble.is_span = TRUE,
	.bubble.conditions = {{"F = I = W", pipesim_holds_times_equal,
				      "the order is made for ops of equal length and does not "
				      "adapt to the times"},
		{"M >= 2PP-1", pipesim_holds_m_fills_zb,
			"there are too few micro-batches to fill the gaps"}},
	.bubble.exact = "Exact when F = I = W and M >= 2PP-1. Otherwise the order, which is "
			"fixed, leaves gaps.",
	.activations.text = "min(M, PP)",
	.activations.value = pipesim_activations_pp,
	.activations.exact =
		"2 PP chunks of half a rank's share, on every rank when M >= 2PP-1.",
	.notes = "With fewer than 2PP-1 micro-batches the order is that of 2PP-1 without the "
		 "missing ones, as in PyTorch.",
};
