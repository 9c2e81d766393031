/* Interleaved 1F1B and interleaved zero-bubble: V chunks a rank, looped, micro-batches in
 * groups. A rank runs the forwards of a group chunk by chunk, those of the next group after it,
 * and the backwards in the same way from the last chunk to the first. */
#include "schedule/check.h"

#define FEW 4

/* One group of @first, where that is not 0, then whole groups, then one of @rest. */
typedef struct {
	guint chunks;
	guint first, group, rest;            /* micro-batches */
	guint64 first_ops, whole_ops, n_ops; /* forwards of a rank: in the first, in the first
						and whole ones, in all */
	guint most_ahead; /* forwards that a rank may be ahead of the last one */
} Groups;

/* PyTorch's: as many groups as there are PP in M. */
static guint asked_group(const PipesimShape *shape)
{
	const guint m = shape->microbatches;

	return shape->group > 0 ? MIN(shape->group, m) : m / MAX(1u, m / shape->ranks);
}

/* A last group shorter than PP would block: the first one takes its micro-batches too. */
static Groups groups_of(const PipesimShape *shape)
{
	const guint m = shape->microbatches;
	const guint group = asked_group(shape);
	const guint left = m % group;
	const guint first = left > 0 && left < shape->ranks ? group + left : 0;
	const guint rest = first > 0 ? 0 : left;

	return (Groups){
		.chunks = shape->chunks,
		.first = first,
		.group = group,
		.rest = rest,
		.first_ops = (guint64)first * shape->chunks,
		.whole_ops = (guint64)(m - rest) * shape->chunks,
		.n_ops = (guint64)m * shape->chunks,
		/* A rank that waits for a forward to come round has as many backwards to run
		 * meanwhile as it is ahead: two groups in a row must cover that. */
		.most_ahead = first == m || group == m ? G_MAXUINT : 2 * group - 1,
	};
}

/* What a rank does around its @i-th backward, from 0. */
typedef struct {
	const Groups *groups;
	guint64 warmup; /* forwards before it */
	guint64 delay;  /* backwards until the first W */
	gboolean split; /* I and W in place of B */
	gboolean pairs; /* F and the B behind it are one op */
	PipesimEmitter *out;
} Rank;

static guint chunk_at(const Groups *groups, guint64 k)
{
	if (k < groups->first_ops)
		return (guint)(k / groups->first);
	if (k < groups->whole_ops)
		return (guint)((k - groups->first_ops) / groups->group % groups->chunks);
	return (guint)((k - groups->whole_ops) / groups->rest);
}

/* Ops from the @k-th on whose chunk is the same. */
static guint run_at(const Groups *groups, guint64 k)
{
	if (k < groups->first_ops)
		return groups->first - (guint)(k % groups->first);
	if (k < groups->whole_ops)
		return groups->group - (guint)((k - groups->first_ops) % groups->group);
	return groups->rest - (guint)((k - groups->whole_ops) % groups->rest);
}

static void emit_one(const Rank *rank, guint64 i)
{
	const Groups *groups = rank->groups;
	const guint back = groups->chunks - 1 - chunk_at(groups, i);

	if (rank->pairs && rank->warmup + i < groups->n_ops) {
		pipesim_overlap(rank->out, chunk_at(groups, rank->warmup + i), back);
		return;
	}
	if (rank->warmup + i < groups->n_ops)
		pipesim_forward(rank->out, chunk_at(groups, rank->warmup + i));
	if (!rank->split) {
		pipesim_backward(rank->out, back);
		return;
	}
	pipesim_backward_input(rank->out, back);
	if (i >= rank->delay)
		pipesim_weight(rank->out);
}

/* From the @i-th backward to the @end-th, in runs that are all alike. */
static void emit_runs(const Rank *rank, guint64 i, guint64 end)
{
	const Groups *groups = rank->groups;
	guint64 n;

	for (; i < end; i += n) {
		n = MIN(run_at(groups, i), end - i);
		if (rank->warmup + i < groups->n_ops)
			n = MIN(n, run_at(groups, rank->warmup + i));
		if (rank->split && i < rank->delay)
			n = MIN(n, rank->delay - i);
		pipesim_repeat (rank->out, (guint)n)
			emit_one(rank, i);
	}
}

/* Whole groups follow each other as one loop, by which engines leap over them, unless they are
 * so few that it is shorter to write each out in runs of one chunk. */
static void emit(const Rank *rank)
{
	const Groups *groups = rank->groups;
	const guint64 period = (guint64)groups->group * groups->chunks;
	const guint64 end = groups->n_ops - rank->warmup;
	const guint64 whole =
		groups->whole_ops > rank->warmup ? groups->whole_ops - rank->warmup : 0;
	const guint64 begin = MIN(MAX(rank->delay, groups->first_ops), end);
	const guint64 periods = whole > begin ? (whole - begin) / period : 0;
	guint64 i = begin;
	guint n;

	pipesim_phase(rank->out, "warm-up");
	for (guint64 k = 0; k < rank->warmup; k += n) {
		n = (guint)MIN((guint64)run_at(groups, k), rank->warmup - k);
		pipesim_repeat (rank->out, n)
			pipesim_forward(rank->out, chunk_at(groups, k));
	}
	pipesim_phase(rank->out, "steady");
	emit_runs(rank, 0, begin);
	if (periods > FEW) {
		pipesim_repeat (rank->out, (guint)periods)
			for (guint64 k = 0; k < period; k++)
				emit_one(rank, i + k);
		i += periods * period;
	}
	emit_runs(rank, i, end);
	pipesim_phase(rank->out, "cool-down");
	emit_runs(rank, end, groups->n_ops);
}

/* @ahead: forwards that a rank runs ahead of the last one without pairs */
static guint64 warmup_of(const Groups *groups, guint ahead)
{
	const guint64 warmup =
		(guint64)(groups->chunks - 1) * MAX(groups->first, groups->group);

	return MIN(warmup + MIN(ahead, groups->most_ahead), groups->n_ops);
}

/* One forward more makes the F and B of a pair independent of each other. */
static guint ahead_of(const PipesimShape *shape, guint index)
{
	return 2 * (shape->ranks - 1 - index) + (shape->pairs ? 1 : 0);
}

/* Megatron's rules for pairs. */
static gboolean check(const PipesimShape *shape, GError **error)
{
	const guint m = shape->microbatches, ranks = shape->ranks;
	const guint group = asked_group(shape);
	guint nearest = ranks;

	if (!shape->pairs || ranks == 1)
		return TRUE;
	if (shape->chunks == 1)
		return pipesim_fail(error, PIPESIM_ERROR_CONSTRAINT,
			"--overlap-fb needs several stages per rank, as in Megatron; nearest: "
			"--chunks 2");
	if (group >= ranks && (m % group == 0 || m % group >= ranks))
		return TRUE;
	if (m < ranks)
		return pipesim_fail(error, PIPESIM_ERROR_CONSTRAINT,
			"--overlap-fb needs groups of PP micro-batches or more, but there are "
			"%u on %u ranks; nearest: %u micro-batches",
			m, ranks, ranks);
	while (m % nearest != 0 && m % nearest < ranks)
		nearest++;
	return pipesim_fail(error, PIPESIM_ERROR_CONSTRAINT,
		"--overlap-fb needs groups of PP micro-batches or more, the last one too, but "
		"%u come in groups of %u; nearest: --group %u",
		m, group, nearest);
}

void pipesim_interleaved_slices(const PipesimShape *shape, guint index, PipesimEmitter *out)
{
	PipesimShape cut = *shape;

	cut.group = shape->ranks;
	const Groups groups = groups_of(&cut);
	const Rank rank = {
		.groups = &groups,
		.warmup = MIN((guint64)(shape->chunks - 1) * MAX(groups.first, groups.group) +
				      2 * (shape->ranks - 1 - index) +
				      pipesim_shape_slices(shape) - 1,
			groups.n_ops),
		.out = out,
	};

	emit(&rank);
}

/* In groups of @group, @ahead forwards ahead of the last rank; the rest as @how says. */
static void interleave(const PipesimShape *shape, guint group, guint ahead, Rank how)
{
	PipesimShape grouped = *shape;

	grouped.group = group;
	const Groups groups = groups_of(&grouped);
	how.groups = &groups;
	how.warmup = warmup_of(&groups, ahead);
	emit(&how);
}

void pipesim_interleaved_split(
	const PipesimShape *shape, guint group, guint index, PipesimEmitter *out)
{
	interleave(shape, group, shape->ranks - 1 - index, (Rank){.split = TRUE, .out = out});
}

static void generate(const PipesimShape *shape, guint index, PipesimEmitter *out)
{
	interleave(shape, shape->group, ahead_of(shape, index),
		(Rank){.pairs = shape->pairs, .out = out});
}

static void generate_zb(const PipesimShape *shape, guint index, PipesimEmitter *out)
{
	const guint delay = (guint)MIN(index, (guint64)shape->microbatches * shape->chunks);

	interleave(shape, shape->group, shape->ranks - 1 - index,
		(Rank){.delay = delay, .split = TRUE, .out = out});
	pipesim_repeat (out, delay)
		pipesim_weight(out);
}

PIPESIM_CONDITION(groups_fit, shape->group <= shape->microbatches)
PIPESIM_CONDITION(
	groups_fill_pp, groups_of(shape).group >= MIN(shape->microbatches, shape->ranks))
PIPESIM_CONDITION(groups_part, groups_of(shape).first == 0)

static const char long_group[] =
	"the group is longer than the step: pipesim's extension uses M instead";
static const char blocking_group[] =
	"a group is shorter than PP, which the authors' order does not support: in pipesim's "
	"extension ranks run less far ahead, so that none blocks";
static const char rest[] = "M is not a multiple of the group: in pipesim's extension the first "
			   "group takes the remainder";

static PipesimFraction activations_of(const PipesimShape *shape, guint64 n)
{
	return (PipesimFraction){(gint64)MIN(n, groups_of(shape).n_ops), shape->chunks};
}

static PipesimFraction activations(const PipesimShape *shape)
{
	const Groups groups = groups_of(shape);

	return activations_of(shape, warmup_of(&groups, ahead_of(shape, 0)) + 1);
}

static PipesimFraction activations_zb(const PipesimShape *shape)
{
	const Groups groups = groups_of(shape);

	return activations_of(shape, warmup_of(&groups, 0) + shape->ranks);
}

PIPESIM_CONDITION(holds_long_groups, asked_group(shape) >= shape->ranks)

PIPESIM_CONDITION(holds_no_pairs, !shape->pairs)

static const char short_group[] =
	"the rank then runs out of work before a micro-batch returns for its next chunk";

const PipesimSchedule pipesim_schedule_interleaved_1f1b = {
	.name = "interleaved-1f1b",
	.aliases = "ScheduleInterleaved1F1B, interleaved1f1b, interleaved, vpp, "
		   "virtual-pipeline, megatron-interleaved",
	.summary = "1F1B over several smaller chunks per rank, which divides the bubble by "
		   "their number",
	.constraints = "every PP and M; --chunks V (2), --group G (PyTorch's)",
	.idea = "A rank holds V chunks, every PP-th stage of the model, and a micro-batch "
		"passes it V times: in groups, each of which finishes one chunk before it "
		"starts the next. The pipeline fills and drains in steps of 1/V of a rank's "
		"share, which divides the bubble of 1F1B by V. It costs V times the messages "
		"and more activations, because a rank runs (V-1) groups of forwards ahead.",
	.reference = "Narayanan et al., Megatron-LM, arXiv:2104.04473; order as Megatron-LM "
		     "and PyTorch's ScheduleInterleaved1F1B run it",
	.chunks = 2,
	.takes = PIPESIM_TAKES_CHUNKS | PIPESIM_TAKES_GROUP | PIPESIM_TAKES_PAIRS |
		 PIPESIM_TAKES_SPARING,
	.runtime = "pytorch-2.11",
	.check = check,
	.whole = TRUE,
	.generate = generate,
	.bubble.text = "(PP-1)(F+B)/V",
	.bubble.letters = "F is the forward and B the full backward (I + W) of a rank's whole "
			  "share for one micro-batch; V chunks per rank (--chunks), so that a "
			  "chunk takes F/V and B/V.",
	.bubble.value = pipesim_bubble_fill_and_drain,
	.bubble.conditions = {{"groups of at least PP micro-batches", holds_long_groups,
				      short_group},
		{"F and B one after the other", holds_no_pairs,
			"with --overlap-fb a rank runs one forward more ahead, and F and B as "
			"one op"}},
	.bubble.exact = "Exact on every rank when groups have at least PP micro-batches.",
	.activations.text = "min(M, ((V-1)G+2PP-1)/V)",
	.activations.value = activations,
	.activations.exact =
		"Exact on rank 0, which runs furthest ahead; G is the largest group. Each rank "
		"further on holds 2/V fewer, the last one ((V-1)G+1)/V.",
	.extensions = {{groups_fit, long_group}, {groups_fill_pp, blocking_group},
		{groups_part, rest}},
	.notes = "Groups. Megatron-LM defaults to G = PP and refuses a last group shorter than "
		 "PP; PyTorch splits M into max(1, M/PP) groups (rounded down) of equal size "
		 "and refuses an M that they do not divide. The default here is PyTorch's; "
		 "--group with the number of ranks is Megatron's. At 8/20 PyTorch's is 10, "
		 "which holds 12.5 activations at V = 2; the often quoted PP(1+(PP-1)/(PP V)), "
		 "there 11.5, is for G = PP. A larger group does not shorten the bubble and "
		 "holds more activations.\n\nPairs (--overlap-fb). Megatron-LM's "
		 "--overlap-moe-expert-parallel-comm runs one forward more before the first "
		 "backward, so that the F and B of a steady step do not need each other, and "
		 "runs both as one op, in which the all-to-all messages of the one are hidden "
		 "behind the computation of the other: FB is what that takes. A rank holds one "
		 "chunk more.\n\nWhere the last group would be shorter than PP, the first one "
		 "takes its micro-batches, which keeps the bubble as in the formula.",
};

const PipesimSchedule pipesim_schedule_interleaved_zb = {
	.name = "interleaved-zb",
	.aliases = "ScheduleInterleavedZeroBubble, InterleavedZeroBubble",
	.summary = "interleaved 1F1B with the weight gradients deferred into the bubble",
	.constraints = "every PP and M; --chunks V (2), --group G (PyTorch's)",
	.idea = "Interleaved 1F1B with each backward split into I (dgrad), which the previous "
		"rank waits for, and W (wgrad), which no rank waits for. Rank r stays r weight "
		"gradients behind and runs them where it would idle at the end, so that about "
		"two thirds of the bubble disappear where F = I = W. Ranks run one forward per "
		"hop ahead instead of two, which compensates for the activations held until "
		"wgrad.",
	.reference = "Qi et al., Zero Bubble Pipeline Parallelism, arXiv:2401.10241; order as "
		     "PyTorch's ScheduleInterleavedZeroBubble runs it",
	.chunks = 2,
	.takes = PIPESIM_TAKES_CHUNKS | PIPESIM_TAKES_GROUP | PIPESIM_TAKES_RECOMPUTE,
	.runtime = "pytorch-2.11",
	.generate = generate_zb,
	.bubble.text = "(PP-1)(F+B-2W)/V",
	.bubble.letters = "F, W and B (the full backward, I + W) are of a rank's whole share "
			  "for one micro-batch; V chunks per rank (--chunks).",
	.bubble.value = pipesim_bubble_weights_moved,
	.bubble.conditions = {{"groups of at least PP micro-batches", holds_long_groups,
				      short_group},
		{"W <= F", pipesim_holds_w_le_f, pipesim_w_too_long},
		{"W <= I", pipesim_holds_w_le_i, pipesim_w_too_long},
		{"B = I + W", pipesim_holds_b_is_i_plus_w,
			"the schedule runs I and W, but the formula counts B"}},
	.bubble.exact = "Exact when W <= F, W <= I and groups have at least PP micro-batches.",
	.activations.text = "min(M, ((V-1)G+PP)/V)",
	.activations.value = activations_zb,
	.activations.exact = "Exact on the fullest rank when activations are held until their "
			     "weight gradient, on every rank when groups have at least PP/2 "
			     "micro-batches; G is the largest group.",
	.extensions = {{groups_fit, long_group}, {groups_fill_pp, blocking_group},
		{groups_part, rest}},
	.notes = "With one chunk (--chunks 1) the bubble is that of ZB-H1. Groups are those of "
		 "interleaved-1f1b. The grid that PyTorch prints of this schedule leaves out "
		 "the dependencies of backwards, its runtime does not.",
};
