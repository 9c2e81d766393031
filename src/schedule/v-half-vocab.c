/* V-Half with the output layer and the embedding cut over all ranks: V-Half's block with the time of their
 * barriers in its middle, and passes put among its ops by when these begin. */
#include "schedule/check.h"
#include "schedule/search/sequence.h"
#include "schedule/search/slots.h"

/* Behind the broadcast of a micro-batch, and behind the last one, in slots: the authors' plan. */
#define UNTIL_PASSES (PIPESIM_SLOT_TIME + 1)
#define UNTIL_LAST   (4 * PIPESIM_SLOT_TIME)

/* What ranks do beside their ops is the same for all. */
typedef struct {
	PipesimEmitter *out;
	guint32 m, ahead; /* micro-batches embedded before there is an output */
	guint barriers;
	gint64 *outputs; /* [m + 1]: when that of a micro-batch is there */
} Layer;

static void put(const Layer *x, guint kind, guint32 microbatch)
{
	if (microbatch < x->m)
		pipesim_emit(
			x->out, &(PipesimOp){.microbatch = microbatch, .kind = (guint8)kind});
}

/* Its output is there. Numbers below 0 are beyond M. */
static void put_broadcasts(const Layer *x, guint32 b)
{
	if (b < x->m)
		put(x, PIPESIM_OP_BCAST_E, b - x->ahead - 2);
	put(x, PIPESIM_OP_BCAST_T, b - 1);
	put(x, PIPESIM_OP_BCAST_H, b);
}

static void put_passes(const Layer *x, guint32 b)
{
	put(x, PIPESIM_OP_EMBED, b + x->ahead);
	put(x, PIPESIM_OP_OUTPUT_WEIGHT, b - 1);
	put(x, PIPESIM_OP_OUTPUT, b);
	if (b < x->m)
		put(x, PIPESIM_OP_EMBED_WEIGHT, b - x->ahead - 2);
	put(x, PIPESIM_OP_REDUCE_S, b);
	put(x, PIPESIM_OP_ALLREDUCE_E, b + x->ahead);
	if (x->barriers == 2)
		put(x, PIPESIM_OP_REDUCE_T, b - 1);
}

/* What was not begun before the last output. */
static void put_rest(const Layer *x, gboolean begun)
{
	const guint32 first = x->m > x->ahead + 2 ? x->m - x->ahead - 2 : 0;

	for (guint32 b = first; b < x->m; b++) {
		if (b > first || !begun)
			put(x, PIPESIM_OP_BCAST_E, b);
		put(x, PIPESIM_OP_EMBED_WEIGHT, b);
	}
}

static void emit_rank(const Layer *x, guint rank, const guint8 *codes, const gint64 *starts)
{
	const guint32 n = PIPESIM_V_CODES * x->m;
	guint32 count[PIPESIM_V_CODES] = {0};
	guint32 passed = 0; /* broadcasts and passes, two a micro-batch */
	gboolean begun = FALSE;

	pipesim_emit_rank(x->out, rank);
	for (guint32 b = 0; b < x->ahead; b++) {
		put(x, PIPESIM_OP_EMBED, b);
		put(x, PIPESIM_OP_ALLREDUCE_E, b);
	}
	for (guint32 i = 0; i <= n; i++) {
		const gint64 start = i < n ? starts[i] : G_MAXINT64;

		for (; passed / 2 <= x->m; passed++) {
			const guint32 b = passed / 2;

			if (x->outputs[b] + (passed % 2 == 0 ? 0 : UNTIL_PASSES) > start)
				break;
			if (passed % 2 == 0)
				put_broadcasts(x, b);
			else
				put_passes(x, b);
		}
		/* The gradient of the first one is there as the last W of rank 0 begins. */
		if (i == n - 1 && rank == 0 && x->m <= x->ahead + 2) {
			begun = TRUE;
			put(x, PIPESIM_OP_BCAST_E, 0);
		}
		if (i < n)
			pipesim_emit(x->out,
				&(PipesimOp){.microbatch = count[codes[i]]++,
					.kind = (guint8)pipesim_v_verbs[codes[i]].kind,
					.chunk = (guint8)pipesim_v_verbs[codes[i]].chunk});
	}
	put_rest(x, begun);
}

static gboolean plan(
	const PipesimShape *shape, guint barriers, PipesimEmitter *out, GError **error)
{
	const gsize each = PIPESIM_V_CODES * (gsize)shape->microbatches;
	g_autofree PipesimSlotPattern *pattern = g_new(PipesimSlotPattern, shape->ranks);
	g_autoptr(PipesimArena) arena = pipesim_arena_new();
	Layer x = {out, shape->microbatches, shape->ranks / 2 + 1, barriers, NULL};
	gint64 *starts;
	guint32 n = 0;

	for (guint rank = 0; rank < shape->ranks; rank++) {
		pipesim_v_half_block(shape->ranks, rank, &pattern[rank]);
		pattern[rank].first[PIPESIM_V_I1] += barriers * PIPESIM_SLOT_PERIOD;
		pattern[rank].first[PIPESIM_V_I0] += barriers * PIPESIM_SLOT_PERIOD;
	}
	const guint8 *codes = pipesim_slots_laid(
		arena, pattern, shape->ranks, shape->microbatches, &starts, error);
	if (codes == NULL)
		return FALSE;
	/* The last stage is the second chunk of rank 0. */
	x.outputs = pipesim_arena_array(arena, gint64, (gsize)x.m + 1);
	if (!pipesim_arena_check(arena, error, "%u micro-batches", x.m))
		return FALSE;
	for (gsize i = 0; i < each; i++)
		if (codes[i] == PIPESIM_V_F1)
			x.outputs[n++] = starts[i] + PIPESIM_SLOT_TIME;
	x.outputs[n] = x.outputs[n - 1] + UNTIL_LAST;
	for (guint rank = 0; rank < shape->ranks; rank++)
		emit_rank(&x, rank, codes + rank * each, starts + rank * each);
	return TRUE;
}

PIPESIM_PLANNED(plan_1, plan(shape, 2, out, error))
PIPESIM_PLANNED(plan_2, plan(shape, 1, out, error))
PIPESIM_ACTIVATIONS(activations_1, shape->ranks + 4, 2)
PIPESIM_ACTIVATIONS(activations_2, shape->ranks + 2, 2)

static const char reference[] =
	"Yeung et al., Balancing Pipeline Parallelism with Vocabulary Parallelism, "
	"arXiv:2411.05288; orders as the authors' v-half-vocab branch makes them";

#define NOTES                                                                                  \
	"Passes are those of vocab-1 (pipesim explain vocab-1), but that what T needs has a "  \
	"broadcast of its own (BCAST_T). The last stage is on rank 0, which also embeds.\n\n"  \
	"The order is planned with ops of equal length, and the same whatever the times are. " \
	"With an odd number of ranks the authors' plan begins some forwards before their "     \
	"embedding is summed, and so do we."

/* What both have in common, with @n barriers a micro-batch. */
#define VOCAB(n, how, counted)                                                      \
	.constraints = "every PP and M", .reference = reference, .chunks = 2,       \
	.placement = PIPESIM_V, .barriers = (n), .plan = plan_##how,                \
	.activations.text = "PP/2+" #n, .activations.value = activations_##how,     \
	.activations.is_approximate = TRUE,                                         \
	.activations.exact = "The leading term. Counted on the orders, every rank " \
			     "holds PP/2 + " counted " than in V-Half.",            \
	.notes = NOTES

const PipesimSchedule pipesim_schedule_v_half_vocab_1 = {
	.name = "v-half-vocab-1",
	.summary = "V-Half with the vocabulary cut over all ranks, two barriers a micro-batch",
	.idea = "V-Half, whose ranks hold half of 1F1B's activations, with the passes of the "
		"output layer and the embedding on all ranks. Between the forward of the last "
		"stage and its backward lies the time in which two barriers are met, two "
		"periods of the block. A rank holds two micro-batches more for that, all ranks "
		"alike.",
	VOCAB(2, 1, "3, rounded down, when M >= 2 PP: two more"),
};

const PipesimSchedule pipesim_schedule_v_half_vocab_2 = {
	.name = "v-half-vocab-2",
	.summary = "V-Half with the vocabulary cut over all ranks, one barrier a micro-batch",
	.idea = "v-half-vocab-1 with the gradient for the last stage computed in S. One "
		"barrier a micro-batch is left, and its time is one period of the block. A "
		"rank holds one micro-batch more than in V-Half.",
	VOCAB(1, 2, "2, rounded down, when M >= 2 PP: one more"),
};
