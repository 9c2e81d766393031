/* V-Half and V-Min: building blocks that hold activations for a short time, and the orders that
 * search/slots.h makes of them. */
#include "schedule/check.h"
#include "schedule/search/sequence.h"
#include "schedule/search/slots.h"

/* The authors put the way back off by 3 slots at even PP: ops would share slots. */
void pipesim_v_half_block(guint ranks, guint rank, PipesimSlotPattern *out)
{
	const guint gap = ranks % 2 == 0 ? 3 : 0;

	*out = (PipesimSlotPattern){{2 * rank, 3 * ranks - 2 - rank,
		3 * ranks + gap + 2 * rank - 1, 6 * ranks + gap - rank - 2}};
}

/* The same by 2 slots where 3 divides PP. */
static void lay_min(guint ranks, guint rank, PipesimSlotPattern *out)
{
	const guint gap = ranks % 3 == 0 ? 2 : 0;

	*out = (PipesimSlotPattern){{rank, 2 * ranks - 1 - rank, 2 * ranks + gap + rank,
		4 * ranks + gap - 1 - rank}};
}

static gboolean plan(const PipesimShape *shape,
	void (*lay)(guint ranks, guint rank, PipesimSlotPattern *out), PipesimEmitter *out,
	GError **error)
{
	const gsize per_rank = PIPESIM_V_CODES * (gsize)shape->microbatches;
	g_autofree PipesimSlotPattern *pattern = g_new(PipesimSlotPattern, shape->ranks);
	g_autoptr(PipesimArena) arena = pipesim_arena_new();

	for (guint rank = 0; rank < shape->ranks; rank++)
		lay(shape->ranks, rank, &pattern[rank]);
	const guint8 *order =
		pipesim_slots_split(arena, pattern, shape->ranks, shape->microbatches, error);
	if (order != NULL)
		pipesim_emit_sequences(out, order, shape->ranks, per_rank, pipesim_v_verbs);
	return order != NULL;
}

PIPESIM_PLANNED(plan_half, plan(shape, pipesim_v_half_block, out, error))
PIPESIM_PLANNED(plan_min, plan(shape, lay_min, out, error))

/* The authors give the bubble's share of the makespan, @num / @den of 1F1B's (PP-1)/(M+PP-1);
 * of the work that is num (PP-1) / (den M + (den-num)(PP-1)). */
static gint64 bubble_of_share(
	const PipesimShape *shape, PipesimChunkTimes t, gint64 num, gint64 den)
{
	const gint64 hops = (gint64)shape->ranks - 1, m = shape->microbatches;
	const gint64 work = 2 * (t[PIPESIM_F] + t[PIPESIM_I] + t[PIPESIM_W]);

	return pipesim_time_scale(work, num * hops * m, den * m + (den - num) * hops);
}

PIPESIM_BUBBLE(bubble_half, bubble_of_share(shape, t, 1, 2))
PIPESIM_BUBBLE(bubble_min, bubble_of_share(shape, t, 2, 3))
PIPESIM_ACTIVATIONS(activations_half, shape->ranks, 2)
PIPESIM_ACTIVATIONS(activations_min, shape->ranks, 3)

static const char approximate[] =
	"the formula is a share of 1F1B's bubble, which the authors give as an approximation";

static const char equal_slots[] =
	"the order is built from equal slots and does not adapt to the times";
static const char ends_meet[] = "warm-up and cool-down overlap";

static const char reference[] = "Qi et al., Pipeline Parallelism with Controllable Memory, "
				"arXiv:2405.15362; the zero-bubble authors' zbv_greedy.py";

/* What both have in common. */
#define V_MEMORY(how)                                                                      \
	.constraints = "every PP and M", .reference = reference, .chunks = 2,              \
	.placement = PIPESIM_V, .takes = PIPESIM_TAKES_SPARING, .runtime = "pytorch-2.11", \
	.plan = plan_##how, .bubble.value = bubble_##how,                                  \
	.bubble.conditions = {{"F = I = W", pipesim_holds_times_equal, equal_slots},       \
		{"M >= 2 PP", pipesim_holds_m_ge_2pp, ends_meet}},                         \
	.bubble.approximate = approximate, .activations.value = activations_##how,         \
	.activations.is_approximate = TRUE

const PipesimSchedule pipesim_schedule_v_half = {
	.name = "v-half",
	.aliases = "vhalf, zb-v-half, zbvhalf, zbv-half",
	.summary = "a V that holds half of 1F1B's activations, for a longer bubble",
	.idea = "Each rank holds a stage of the way down and its mirror of the way back, so "
		"that the chunk that is held long and the one that is held briefly share a "
		"rank. A block of six ops per micro-batch says when each of them runs, and "
		"repeating it every six slots fills the time without a gap: how long the block "
		"is, and not how many ranks there are, decides how many activations are held. "
		"V-Half's block holds about half of 1F1B's and the ranks idle about half as "
		"long; the price is an order that fits only equal times.",
	V_MEMORY(half),
	.bubble.text = "M(PP-1)(F+I+W)/(2M+PP-1)",
	.bubble.letters =
		"F, I and W of a rank's whole share. The authors give the bubble as a share of "
		"the makespan, half of 1F1B's (PP-1)/(M+PP-1); this is the same in time.",
	.bubble.exact =
		"Never exact: an approximation. Counted on the orders, with F = I = W, P2P = 0 "
		"and M >= 2 PP, the bubble is (3PP-7)F/2, where PP is odd (3PP-4)F/2, F/2 at "
		"PP = 2 and 0 at PP = 1: at PP 8 and M 20 8.5 F where the formula has 8.94 F.",
	.activations.text = "PP/2",
	.activations.exact = "The leading term. Counted on the orders, the fullest rank holds "
			     "PP/2 + 1, rounded down, when M >= 2 PP, and never more.",
	.notes = "Placement: rank r holds stages r and 2PP-1-r. Block, in slots: F of the way "
		 "down at 2r, F of the way back at 3PP-2-r, I of the way back at 3PP+k+2r-1, I "
		 "of the way down at 6PP+k-r-2, k = 3 where PP is even and else 0; W in "
		 "whatever slot is free.\n\nThe order is the same whatever the times are, as "
		 "in the authors' runtime, which plans with F = I = W. Where they differ a lot "
		 "it loses more than 1F1B does: compare before you use it.",
};

const PipesimSchedule pipesim_schedule_v_min = {
	.name = "v-min",
	.aliases = "vmin, zb-v-min, zbvmin, zbv-min",
	.summary = "the shortest block of a V: a third of 1F1B's activations",
	.idea = "Every micro-batch goes through all stages and back without waiting, one slot "
		"per stage, the shortest time for which an activation can be held. Repeating "
		"this every six slots on ranks that hold a stage of the way down and its "
		"mirror of the way back takes a third of 1F1B's activations and leaves two "
		"thirds of its bubble. There is no slack in it: where F, I and W differ, or "
		"messages take time, every rank waits in every round.",
	V_MEMORY(min),
	.bubble.text = "2M(PP-1)(F+I+W)/(3M+PP-1)",
	.bubble.letters =
		"F, I and W of a rank's whole share. The authors give the bubble as a share of "
		"the makespan, two thirds of 1F1B's (PP-1)/(M+PP-1) and a term in PP that they "
		"do not spell out; this is the same in time, without that term.",
	.bubble.exact =
		"Never exact: an approximation. Counted on the orders, with F = I = W, P2P = 0 "
		"and M >= 2 PP, the bubble is (4PP-5)F/2, where 3 divides PP (4PP-7)F/2, and 0 "
		"at PP = 1: at PP 8 and M 20 13.5 F where the formula has 12.54 F.",
	.activations.text = "PP/3",
	.activations.exact = "The leading term. Counted on the orders, the fullest rank holds "
			     "(PP+1)/3, rounded down, and 1, when M >= 2 PP, and never more.",
	.notes = "Placement: rank r holds stages r and 2PP-1-r. Block, in slots: F of the way "
		 "down at r, F of the way back at 2PP-1-r, I of the way back at 2PP+k+r, I of "
		 "the way down at 4PP+k-1-r, k = 2 where 3 divides PP and else 0; W in "
		 "whatever slot is free.\n\n"
		 "At PP 8, M 20, F 1, I 1.3, W 0.8 the bubble is 30.5, more than 1F1B's 21.7.",
};
