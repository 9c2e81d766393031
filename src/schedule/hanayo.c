/* Hanayo: stages in waves over the ranks. No order of the authors' was at hand: this is the
 * wave of their paper, step by step where forward and backward take one step each. */
#include "schedule/check.h"
#include "schedule/search/sequence.h"

/* Chunks of a rank come in pairs, down and back up. In units of PP micro-batches, one enters
 * every second step; then forwards on the way down and on the way up, and the backwards behind
 * them, meet a rank at steps of different parity, or of different waves. The next unit enters
 * two steps a stage later, just when the last backwards of this one leave every second step
 * free. */
typedef struct {
	const PipesimShape *shape;
	guint rank;
	PipesimEmitter *out;
	PipesimStepVerb *steps; /* room for those of two units */
} Rank;

static guint64 unit_length(const PipesimShape *shape)
{
	return 2 * (guint64)shape->stages;
}

/* Those steps of a unit of @n micro-batches that are at @from or later and before the end of
 * the unit that began at @from; counted from there. */
static guint add_steps(const Rank *rank, guint n, guint64 from, guint filled)
{
	const PipesimShape *shape = rank->shape;

	for (guint chunk = 0; chunk < shape->chunks; chunk++) {
		const guint64 stage = pipesim_shape_stage(shape, rank->rank, chunk);

		for (guint i = 0; i < n; i++) {
			const guint64 forward = stage + 2 * (guint64)i;
			const guint64 backward =
				unit_length(shape) - 1 - stage + 2 * (guint64)i;

			if (forward >= from && forward - from < unit_length(shape))
				rank->steps[filled++] =
					(PipesimStepVerb){forward - from, {PIPESIM_F, chunk}};
			if (backward >= from && backward - from < unit_length(shape))
				rank->steps[filled++] =
					(PipesimStepVerb){backward - from, {PIPESIM_B, chunk}};
		}
	}
	return filled;
}

/* From where a unit of @n enters to where the next one would, with what is left of a full unit
 * before it, or of none (@before 0). */
static void emit_unit(const Rank *rank, guint n, guint before)
{
	guint filled = add_steps(rank, n, 0, 0);

	filled = add_steps(rank, before, unit_length(rank->shape), filled);
	pipesim_sort_steps(rank->steps, filled);
	for (guint i = 0; i < filled; i++)
		pipesim_emit_verb(rank->out, &rank->steps[i].verb);
}

static void generate(const PipesimShape *shape, guint index, PipesimEmitter *out)
{
	const guint full = shape->ranks;
	const guint units = shape->microbatches / full, rest = shape->microbatches % full;
	const guint first = units > 0 ? full : rest;
	g_autofree PipesimStepVerb *steps =
		g_new(PipesimStepVerb, 4 * (gsize)shape->chunks * first);
	const Rank rank = {shape, index, out, steps};

	pipesim_phase(out, "first unit");
	emit_unit(&rank, first, 0);
	pipesim_phase(out, "next unit");
	if (units > 1)
		pipesim_repeat (out, units - 1)
			emit_unit(&rank, full, full);
	if (units > 0 && rest > 0)
		emit_unit(&rank, rest, full);
	pipesim_phase(out, "cool-down");
	emit_unit(&rank, 0, rest > 0 ? rest : full);
}

static gboolean check(const PipesimShape *shape, GError **error)
{
	if (shape->chunks % 2 == 0)
		return TRUE;
	if (shape->chunks == 1)
		return pipesim_fail(error, PIPESIM_ERROR_CONSTRAINT,
			"1 chunk per rank is not a wave, which goes down and back up; nearest: "
			"2");
	return pipesim_fail(error, PIPESIM_ERROR_CONSTRAINT,
		"%u chunks per rank are not whole waves, which go down and back up; nearest: "
		"%u or %u",
		shape->chunks, shape->chunks - 1, shape->chunks + 1);
}

const PipesimSchedule pipesim_schedule_hanayo = {
	.name = "hanayo",
	.aliases = "wave",
	.summary = "stages in waves, down the ranks and back up, one copy of the parameters",
	.constraints = "every PP and M; --chunks V (2) even: V/2 waves",
	.idea = "The stages go down the ranks and back up in waves, two chunks per rank and "
		"wave, so that one micro-batch crosses a rank in both directions as Chimera's "
		"two pipelines do, but with one copy of the parameters. Micro-batches enter "
		"every second step, and forwards and backwards, going down and up, fill the "
		"steps that the others leave free. W waves divide the bubble by W and send W "
		"times as many messages.",
	.reference = "Liu et al., Hanayo, arXiv:2308.15762; the order is pipesim's reading of "
		     "the paper, not compared with the authors' code",
	.chunks = 2,
	.placement = PIPESIM_WAVE,
	.takes = PIPESIM_TAKES_CHUNKS | PIPESIM_TAKES_RECOMPUTE,
	.check = check,
	.whole = TRUE,
	.generate = generate,
	.bubble.text = "(PP-1)(F+B)/V",
	.bubble.letters =
		"F is the forward and B the full backward (I + W) of a rank's whole share for "
		"one micro-batch; V chunks per rank, two per wave (--chunks). The formula "
		"follows from the order here; it is not quoted from the authors.",
	.bubble.value = pipesim_bubble_fill_and_drain,
	.bubble.conditions = {{"F = B", pipesim_holds_f_is_b,
				      "a gap remains where a forward of a unit meets a "
				      "backward of another length"},
		{"M a multiple of PP", pipesim_holds_m_parts_by_pp,
			"the last unit is not full"}},
	.bubble.exact = "Exact when F = B and M is a multiple of PP. With B = 2F each unit of "
			"PP micro-batches keeps a gap, as in Chimera.",
	.activations.text = "min(M, PP)",
	.activations.value = pipesim_activations_pp,
	.activations.exact = "The last rank; with M >= PP rank r holds (PP-1-r)/V fewer. It "
			     "follows from the order here as well.",
	.extensions = {{pipesim_holds_m_parts_by_pp,
		"M is not a multiple of PP: the last unit is not full, which is pipesim's "
		"extension"}},
	.notes = "With two chunks the stages lie as in the other V schedules; further waves "
		 "continue from rank 0. The order of a unit of PP micro-batches follows from "
		 "steps: forward of micro-batch k at stage s at step s + 2k, backward at step "
		 "2S - 1 - s + 2k of S stages; units follow each other every 2S steps, which "
		 "leaves no rank idle between them where F = B.",
};
