/* Grouped interleaved schedules: interleaved 1F1B in groups of micro-batches, each backward split into I and
 * W directly behind it, so that a rank runs one forward a hop ahead. Groups of half of the ranks or more
 * follow each other; smaller ones, down to single micro-batches ("uniform repeating"), share a rank in turn. */
#include "schedule/check.h"

/* Half of the ranks, rounded up: as long as a group takes at least to come round to its next chunk. */
static guint half_of(const PipesimShape *shape)
{
	return (shape->ranks + 1) / 2;
}

static guint group_of(const PipesimShape *shape)
{
	return shape->group > 0 ? shape->group : shape->ranks;
}

/* Whether groups share a rank in turn, or are planned as if they did. */
static gboolean is_slotted(const PipesimShape *shape, guint group)
{
	return group == 1 || group < half_of(shape);
}

/* When the first micro-batch of a group may begin chunk @chunk, in slots as long as an F: groups of others come
 * between two chunks of one, a whole number of times, and one more where chunks would meet in a slot. */
static gint64 chunk_slot(const PipesimShape *shape, guint group, guint chunk)
{
	const guint between = (half_of(shape) + group - 1) / group;
	const guint meets = shape->chunks / (guint)pipesim_gcd(shape->chunks, between);

	return 3 * (gint64)group * ((gint64)between * chunk + chunk / meets);
}

/* The slot of the F or I of chunk @chunk, of micro-batch @index of the first group, on @rank. */
static gint64 op_slot(const PipesimShape *shape, guint group, guint rank, gboolean forward,
	guint chunk, guint index)
{
	const guint last = shape->chunks - 1;

	if (forward)
		return chunk_slot(shape, group, chunk) + 3 * (gint64)index + rank;
	/* Behind the last stage's F, two slots a hop. */
	return chunk_slot(shape, group, last) + 3 * (gint64)(shape->ranks - 1) -
	       2 * (gint64)rank + 1 + chunk_slot(shape, group, last - chunk) +
	       3 * (gint64)index;
}

/* In which slot an op is planned in groups of @group; -1: where the order alone puts it. Ranks are as much later than in op_slot() as chunks leave room
 * for, so that messages have time. */
static gint64 planned_slot(
	const PipesimShape *shape, guint group, guint rank, const PipesimOp *op)
{
	gint64 room = shape->ranks - 1;

	if (!is_slotted(shape, group))
		return -1;
	for (guint chunk = 1; chunk < shape->chunks; chunk++)
		room = MIN(room, chunk_slot(shape, group, chunk) -
					 chunk_slot(shape, group, chunk - 1) - shape->ranks);
	return op_slot(shape, group, rank, op->kind == PIPESIM_F, op->chunk,
		       op->microbatch % group) +
	       (op->kind == PIPESIM_W) + MIN(rank, room) +
	       3 * (gint64)shape->chunks * (op->microbatch - op->microbatch % group);
}

/* What runs in a place of each period, and from which period on. */
typedef struct {
	guint8 chunk;
	gboolean forward;
	guint from;
} Place;

static void emit_place(const Place *place, PipesimEmitter *out)
{
	if (place->forward) {
		pipesim_forward(out, place->chunk);
	} else {
		pipesim_backward_input(out, place->chunk);
		pipesim_weight(out);
	}
}

/* A group begins every 3 V G slots, in which a rank runs F, I, W, F, I, W ... */
static void emit_slots(const PipesimShape *shape, guint group, guint rank, PipesimEmitter *out)
{
	const gint64 n = 2 * (gint64)group * shape->chunks, length = 3 * n / 2;
	const guint groups = shape->microbatches / group;
	g_autofree Place *places = g_new(Place, (gsize)n);
	guint most = 0;

	for (gint64 i = 0; i < n; i++) {
		const gboolean forward = i % 2 == 0;
		const guint chunk = (guint)(i / 2 / group);
		const gint64 slot =
			op_slot(shape, group, rank, forward, chunk, (guint)(i / 2 % group));
		const guint from = (guint)(slot / length);

		/* On every third rank it is I, W, F. */
		places[slot % length / 3 * 2 + (forward == (rank % 3 == 2))] =
			(Place){(guint8)chunk, forward, from};
		most = MAX(most, from);
	}
	for (guint period = 0; period < groups + most; period++) {
		const gboolean whole = period >= most && period < groups;

		pipesim_phase(out, whole ? "steady" : period < most ? "warm-up" : "cool-down");
		pipesim_repeat (out, whole ? groups - most : 1)
			for (gint64 i = 0; i < n; i++)
				if (whole || (period >= places[i].from &&
						     period - places[i].from < groups))
					emit_place(&places[i], out);
		period += whole ? groups - most - 1 : 0;
	}
}

static void generate_gis(const PipesimShape *shape, guint index, PipesimEmitter *out)
{
	const guint group = group_of(shape);

	if (is_slotted(shape, group))
		emit_slots(shape, group, index, out);
	else
		pipesim_interleaved_split(shape, group, index, out);
}

static gint64 slot_gis(const PipesimShape *shape, guint rank, const PipesimOp *op)
{
	return planned_slot(shape, group_of(shape), rank, op);
}

static void generate_gis_h(const PipesimShape *shape, guint index, PipesimEmitter *out)
{
	pipesim_interleaved_split(shape, half_of(shape), index, out);
}

static gint64 slot_gis_h(const PipesimShape *shape, guint rank, const PipesimOp *op)
{
	return planned_slot(shape, half_of(shape), rank, op);
}

static void generate_po(const PipesimShape *shape, guint index, PipesimEmitter *out)
{
	emit_slots(shape, 1, index, out);
}

static gint64 slot_po(const PipesimShape *shape, guint rank, const PipesimOp *op)
{
	return planned_slot(shape, 1, rank, op);
}

static gboolean check_gis(const PipesimShape *shape, GError **error)
{
	const guint group = group_of(shape);

	if (group > shape->ranks)
		return pipesim_fail(error, PIPESIM_ERROR_CONSTRAINT,
			"groups of %u micro-batches are longer than PP; nearest: --group %u",
			group, shape->ranks);
	return pipesim_check_microbatches(shape, group, group,
		shape->group > 0 ? "M a multiple of the group" : "M a multiple of PP", error);
}

static gboolean check_gis_h(const PipesimShape *shape, GError **error)
{
	const guint group = half_of(shape);

	return pipesim_check_microbatches(
		shape, group, group, "M a multiple of half of PP, rounded up", error);
}

PIPESIM_BUBBLE(bubble_gis, (gint64)(shape->ranks - 1) * (t[PIPESIM_F] + t[PIPESIM_I]))
PIPESIM_BUBBLE(bubble_gis_h, (gint64)(shape->ranks - 1) * (t[PIPESIM_F] + t[PIPESIM_I]) +
				     (gint64)(shape->chunks - 1) * (shape->ranks / 2) *
					     (t[PIPESIM_F] + t[PIPESIM_I] - t[PIPESIM_W]))
PIPESIM_CONDITION(holds_even_ranks, shape->ranks % 2 == 0 && shape->ranks >= 4)
PIPESIM_CONDITION(holds_i_w_ge_f, t[PIPESIM_F] + t[PIPESIM_I] >= t[PIPESIM_W])

static PipesimFraction activations_gis(const PipesimShape *shape)
{
	return (PipesimFraction){(gint64)MIN((guint64)shape->ranks * shape->chunks,
					 (guint64)shape->microbatches * shape->chunks),
		shape->chunks};
}

static PipesimFraction activations_gis_h(const PipesimShape *shape)
{
	const guint64 held = (guint64)half_of(shape) * (shape->chunks - 1) + shape->ranks;

	return (PipesimFraction){
		(gint64)MIN(held, (guint64)shape->microbatches * shape->chunks), shape->chunks};
}

static const char reference_gis[] = "Wan et al., PipeOffload, arXiv:2503.01328; order as the "
				    "authors' generator makes it";
static const char reference_po[] =
	"Wan et al., PipeOffload, arXiv:2503.01328; order and copies "
	"as the authors' generator makes them";
static const char letters_gis[] =
	"F, I (dgrad) and W (wgrad) are of one chunk for one micro-batch; V chunks per rank "
	"(--chunks).";

#define GROUPED(how, more)                                                               \
	.chunks = 2, .takes = PIPESIM_TAKES_CHUNKS | (more), .generate = generate_##how, \
	.slot = slot_##how

const PipesimSchedule pipesim_schedule_gis = {
	.name = "gis",
	.summary =
		"interleaved 1F1B with a split backward and a shorter warm-up: 1F1B's memory",
	.constraints = "M a multiple of PP; --chunks V (2)",
	.idea = "Interleaved 1F1B in groups of PP whose backward is split into I, which the "
		"previous rank waits for, and W directly behind it. Because the gradient goes "
		"on after I alone, ranks need to run only one forward per hop ahead instead of "
		"two. The first rank so holds no more than in 1F1B, at a bubble of F and I.",
	GROUPED(gis, PIPESIM_TAKES_GROUP | PIPESIM_TAKES_SPARING),
	.reference = reference_gis,
	.runtime = "pytorch-2.11",
	.check = check_gis,
	.bubble.text = "(PP-1)(F+I)",
	.bubble.letters = letters_gis,
	.bubble.value = bubble_gis,
	.bubble.exact = "Exact on every rank when all stages take the same time and W <= F+I.",
	.bubble.conditions = {{"W <= F + I", holds_i_w_ge_f, pipesim_w_too_long}},
	.activations.text = "min(M, PP)",
	.activations.value = activations_gis,
	.activations.exact = "Exact on rank 0; each rank further on holds 1/V less.",
};

const PipesimSchedule pipesim_schedule_gis_h = {
	.name = "gis-h",
	.summary = "gis in groups of half of PP: fewer activations for a longer bubble",
	.constraints = "M a multiple of half of PP, rounded up; --chunks V (2)",
	.idea = "gis whose groups have half as many micro-batches as there are ranks. A rank "
		"runs fewer forwards of its first chunks ahead, which brings what it holds "
		"towards half of 1F1B's with many chunks. A group then returns for its next "
		"chunk later than the rank could run it, which lengthens the bubble.",
	GROUPED(gis_h, PIPESIM_TAKES_SPARING),
	.reference = reference_gis,
	.runtime = "pytorch-2.11",
	.check = check_gis_h,
	.bubble.text = "(PP-1)(F+I)+(V-1)(PP/2)(F+I-W)",
	.bubble.letters = letters_gis,
	.bubble.value = bubble_gis_h,
	.bubble.conditions = {{"PP even, at least 4", holds_even_ranks, NULL},
		{"F = I = W", pipesim_holds_times_equal,
			"groups of half of PP then return sooner or later than the rank has "
			"time for them"}},
	.bubble.exact = "Exact when PP is even and at least 4 and F = I = W.",
	.activations.text = "min(M, PP(V+1)/(2V))",
	.activations.value = activations_gis_h,
	.activations.exact = "Exact on rank 0 when PP is even; each rank further on holds 1/V "
			     "less.",
};

#define PO_NOTES                                                                               \
	"The order is that of gis with groups of one micro-batch (--group 1): a rank is "      \
	"planned in slots as long as an F, F, I, W, F, I, W ..., and a micro-batch begins "    \
	"every V of these threes. Copies are planned in slots too, out, in, out, in on one "   \
	"engine, those of ranks 2i and 2i+1, which share a link, half a period apart; what "   \
	"would have to come back within six copies stays. A copy takes COPY of --times, that " \
	"of a rank's whole share for one micro-batch one way, or what --offload-bandwidth "    \
	"makes of the activation bytes; --copy-engines 2 is not planned for.\n\nOrders and "   \
	"copies are those of the authors' generator, where messages count for at least a "     \
	"thousandth of F. It refuses one chunk a rank and odd PP; here the last rank has a "   \
	"link of its own."

const PipesimSchedule pipesim_schedule_po_h = {
	.name = "po-h",
	.summary = "a micro-batch at a time, half of the chunks copied to the host meanwhile",
	.constraints = "every PP and M; --chunks V (2), --offload-chunks N (V/2)",
	.idea = "Micro-batches begin at an even pace, so that each chunk of a rank has one in "
		"every period, and the activations of the first half of the chunks, which are "
		"held longest, go to the host after their forward and come back before their "
		"backward. Copies run beside computation, whose time they need: they are "
		"hidden where a copy each way takes no longer than a forward and a backward. A "
		"rank then holds about (V+2)/(8V) of what 1F1B does.",
	GROUPED(po, PIPESIM_TAKES_OFFLOAD),
	.reference = reference_po,
	.offloads = PIPESIM_OFFLOADS_HALF,
	.notes = PO_NOTES,
};

const PipesimSchedule pipesim_schedule_po_f = {
	.name = "po-f",
	.summary = "the same with all chunks copied: a few chunks a rank, however many ranks",
	.constraints = "every PP and M; --chunks V (2), --offload-chunks N (V)",
	.idea = "po-h with the activations of all chunks copied to the host. What a rank holds "
		"no longer grows with the number of ranks: a chunk that runs, and those whose "
		"copies are under way. Twice as much is copied, for which fewer models and "
		"links have the time.",
	GROUPED(po, PIPESIM_TAKES_OFFLOAD),
	.reference = reference_po,
	.offloads = PIPESIM_OFFLOADS_ALL,
	.notes = PO_NOTES,
};
