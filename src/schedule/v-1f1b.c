/* 1F1B-V: a repeating pattern of F and B in the slots of a V, which is then pulled together
 * without holding more activations. */
#include "schedule/check.h"
#include "schedule/search/sequence.h"
#include "schedule/search/slots.h"

static const PipesimVerb verbs[] = {
	[PIPESIM_V_F0] = {PIPESIM_F, 0},
	[PIPESIM_V_F1] = {PIPESIM_F, 1},
	[PIPESIM_V_I1] = {PIPESIM_B, 1},
	[PIPESIM_V_I0] = {PIPESIM_B, 0},
};

#define OPS_PER_MICROBATCH G_N_ELEMENTS(verbs)

static void emit_ops(PipesimEmitter *out, const guint8 *ops, guint n)
{
	for (guint i = 0; i < n; i++)
		pipesim_emit_verb(out, &verbs[ops[i]]);
}

static gboolean plan(const PipesimShape *shape, const PipesimTimes *times G_GNUC_UNUSED,
	PipesimEmitter *out, GError **error)
{
	const guint ranks = shape->ranks;
	/* From so many micro-batches on, each further one adds the same four ops at the same
	 * place. */
	const guint fewer = MIN(shape->microbatches, 3 * ranks + 3);
	const guint more = shape->microbatches - fewer;
	const guint n = OPS_PER_MICROBATCH * fewer;
	g_autofree PipesimSlotPattern *pattern = g_new(PipesimSlotPattern, ranks);
	g_autoptr(PipesimArena) arena = pipesim_arena_new();
	guint now = 2 * ranks + 1 + (ranks % 3 == 0 ? 3 : 0);
	guint in_period = (3 - (ranks + 2) % 3) % 3;

	/* The slots of micro-batch 0, by the authors' rule: one forward a slot to the turn and
	 * back, then backwards of two slots each, three of which fill a period. A period is
	 * left free before, into which the beginning can be pulled. */
	for (guint i = 0; i < 2 * ranks; i++) {
		guint32 *first = pattern[i < ranks ? i : 2 * ranks - 1 - i].first;

		first[i < ranks ? PIPESIM_V_F0 : PIPESIM_V_F1] = PIPESIM_SLOT_PERIOD + i + 1;
		first[i < ranks ? PIPESIM_V_I1 : PIPESIM_V_I0] = PIPESIM_SLOT_PERIOD + now;
		now += 2;
		if (++in_period == 3) {
			in_period = 0;
			now += 3;
		}
	}
	const guint8 *order = pipesim_slots_whole(arena, pattern, ranks, fewer, error);
	const guint8 *longer = order != NULL && more > 0 ? pipesim_slots_whole(arena, pattern,
								   ranks, fewer + 1, error)
							 : order;
	if (longer == NULL)
		return FALSE;
	for (guint rank = 0; rank < ranks; rank++) {
		const guint8 *ops = order + (gsize)rank * n;
		const guint8 *with = longer + (gsize)rank * (n + OPS_PER_MICROBATCH);
		guint same = 0;

		while (more > 0 && same < n && ops[same] == with[same])
			same++;
		pipesim_emit_rank(out, rank);
		emit_ops(out, ops, same);
		pipesim_repeat (out, more)
			emit_ops(out, &with[same], OPS_PER_MICROBATCH);
		emit_ops(out, &ops[same], n - same);
	}
	return TRUE;
}

PIPESIM_ACTIVATIONS(activations, 2 * (gint64)shape->ranks / 3 + 1, 1)

#define MAX_RANKS 256

static gboolean check(const PipesimShape *shape, GError **error)
{
	return shape->ranks <= MAX_RANKS ||
	       pipesim_fail(error, PIPESIM_ERROR_CONSTRAINT,
		       "its pattern supports fewer than %u ranks; nearest: %u", shape->ranks,
		       MAX_RANKS);
}

const PipesimSchedule pipesim_schedule_v_one_f_one_b = {
	.name = "1f1b-v",
	.aliases = "1f1bv, v-1f1b",
	.summary = "a V of two chunks per rank with full backwards: two thirds of 1F1B's "
		   "activations",
	.constraints = "PP <= 256, every M",
	.idea = "Each rank holds a chunk of the way down and the mirrored chunk of the way "
		"back, and repeats a fixed pattern of two forwards and two full backwards. The "
		"V balances the activations, so that every rank holds about two thirds of what "
		"1F1B holds on its first. Backwards are not split, so that no weight gradient "
		"is deferred and a bubble somewhat below 1F1B's remains.",
	.reference = "Qi et al., Pipeline Parallelism with Controllable Memory, "
		     "arXiv:2405.15362; order as the authors' zero-bubble repository makes it",
	.chunks = 2,
	.placement = PIPESIM_V,
	.takes = PIPESIM_TAKES_RECOMPUTE,
	.runtime = "pytorch-2.11",
	.check = check,
	.whole = TRUE,
	.plan = plan,
	.activations.text = "2PP/3 + 1, rounded down",
	.activations.value = activations,
	.activations.exact = "Exact on the fullest rank when M >= 2 PP, never more; counted on "
			     "the orders. The authors give the leading term, 2PP/3.",
	.notes = "The order does not depend on the times. It is laid out in slots, one for F "
		 "and two for B: the pattern of a micro-batch repeats every six slots, and the "
		 "start is compressed as far as the activations of the pattern allow. The "
		 "authors publish no formula for this bubble.",
};
