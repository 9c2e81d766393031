/* Vocabulary parallelism: the output layer and the embedding cut over all ranks, and their passes put among
 * those of 1F1B and of V-Half. */
#include "schedule/check.h"

/* Of a micro-batch on a rank: ops, passes and collectives. */
#define MOST_EACH 12

/* How a rank takes part in steady rounds. Behind the last rank's, backwards of the ranks above end earlier in
 * a round, by @early; where S between B and F would make the one below wait, it runs behind F. */
typedef struct {
	gboolean s_before_f;
	gint64 early;
	guint n_ahead; /* passes S before its first backward, beyond those that all ranks have */
} Seat;

typedef struct {
	PipesimEmitter *out;
	const Seat *seat;
	gint64 f, b;       /* ns */
	guint first_ahead; /* of rank 0 */
	guint rank, last;
	guint32 m;
	guint barriers_more; /* 1: gradients for the last stage come out of T and a second barrier */
	guint32 s, forward, embed, embed_weight; /* next of each */
	gboolean reduces, sums,
		gets_gradient; /* collectives to begin, and a pass that follows one */
} Walk;

static void put(const Walk *x, guint kind, guint32 microbatch)
{
	pipesim_emit(x->out, &(PipesimOp){.microbatch = microbatch, .kind = (guint8)kind});
}

static void put_forward(Walk *x)
{
	if (x->forward < x->m)
		put(x, PIPESIM_F, x->forward++);
}

/* Before there are backwards the authors' code embeds ahead without looking whether there are so many
 * micro-batches. */
static void put_embedding(Walk *x)
{
	put(x, PIPESIM_OP_EMBED, x->embed);
	put(x, PIPESIM_OP_ALLREDUCE_E, x->embed++);
}

/* The loss of a micro-batch, which the next broadcast takes along. */
static void put_loss(const Walk *x, guint32 microbatch)
{
	if (microbatch >= x->m)
		return;
	put(x, PIPESIM_OP_LOSS, microbatch);
	put(x, PIPESIM_OP_LOSS_BACKWARD, microbatch);
	if (microbatch + 1 < x->m + x->barriers_more)
		put(x, PIPESIM_OP_BCAST_H, microbatch + 1);
}

static void begin_collectives(Walk *x)
{
	x->gets_gradient = x->s >= x->first_ahead + 2 + x->barriers_more;
	if (x->gets_gradient)
		put(x, PIPESIM_OP_BCAST_E, x->embed_weight);
	if (x->rank != x->last && x->s < x->m + x->barriers_more)
		put(x, PIPESIM_OP_BCAST_H, x->s);
}

static void put_passes(Walk *x, gboolean embeds)
{
	if (x->s < x->m + x->barriers_more) {
		if (x->s > 0)
			put(x, PIPESIM_OP_OUTPUT_WEIGHT, x->s - 1);
		if (x->s < x->m)
			put(x, PIPESIM_OP_OUTPUT, x->s);
		x->sums =
			embeds && x->s >= x->first_ahead + x->barriers_more && x->embed < x->m;
		if (x->sums)
			put(x, PIPESIM_OP_EMBED, x->embed);
		x->reduces = TRUE;
		x->s++;
	}
	if (x->gets_gradient)
		put(x, PIPESIM_OP_EMBED_WEIGHT, x->embed_weight++);
	x->gets_gradient = FALSE;
}

static void end_collectives(Walk *x)
{
	if (x->sums)
		put(x, PIPESIM_OP_ALLREDUCE_E, x->embed++);
	if (x->reduces)
		put(x, PIPESIM_OP_REDUCE_S, x->s - 1);
	x->sums = x->reduces = FALSE;
}

static void put_output(Walk *x, gboolean embeds)
{
	put_passes(x, embeds);
	end_collectives(x);
}

static void fill(Walk *x)
{
	const guint32 first = MIN(x->last + 1, x->m), own = MIN(x->last + 1 - x->rank, x->m);

	pipesim_phase(x->out, "warm-up");
	for (guint32 i = own; i <= first; i++)
		put_embedding(x);
	for (guint32 i = 0; i < own; i++) {
		put_embedding(x);
		put_forward(x);
	}
	put(x, PIPESIM_OP_BCAST_H, 0);
	put_output(x, FALSE);
	if (x->barriers_more)
		put_embedding(x);
	put_forward(x);
	if (x->barriers_more) {
		if (x->rank == x->last)
			put_loss(x, 0);
		else
			put(x, PIPESIM_OP_BCAST_H, 1);
		put_output(x, FALSE);
		put_forward(x);
	}
	for (guint i = 0; i < x->seat->n_ahead && x->s < x->m + x->barriers_more; i++) {
		put(x, PIPESIM_OP_BCAST_H, x->s);
		put_output(x, TRUE);
	}
}

static void put_round(Walk *x, guint32 microbatch)
{
	const Seat *seat = x->seat;
	const gboolean steady = x->forward < x->m;
	const gboolean begins_first = seat->s_before_f || seat->early + x->f < x->b;

	pipesim_phase(x->out, steady ? "steady" : "cool-down");
	if (begins_first)
		begin_collectives(x);
	if (x->rank == x->last)
		put_loss(x, microbatch + x->barriers_more);
	put(x, PIPESIM_B, microbatch);
	if (seat->s_before_f)
		put_passes(x, steady);
	if (seat->s_before_f && seat->early <= x->f)
		end_collectives(x);
	if (!begins_first)
		begin_collectives(x);
	put_forward(x);
	if (!seat->s_before_f)
		put_passes(x, steady);
	end_collectives(x);
}

/* Where S of a rank fits without a wait, from the last rank upwards. */
static Seat *find_seats(guint ranks, gint64 f, gint64 b)
{
	Seat *seats = g_new0(Seat, ranks);

	seats[ranks - 1].s_before_f = TRUE;
	for (guint rank = ranks - 1; rank-- > 0;) {
		const Seat *below = &seats[rank + 1];
		Seat *seat = &seats[rank];

		*seat = (Seat){TRUE, below->early, below->n_ahead + 1};
		if (!below->s_before_f) {
			seat->early -= b - f;
			seat->n_ahead--;
		} else if (below->early + f <= b) {
			seat->early += f;
		} else {
			seat->s_before_f = FALSE;
		}
	}
	return seats;
}

static gboolean lay(const PipesimShape *shape, const PipesimTimes *times, guint barriers_more,
	PipesimEmitter *out, GError **error)
{
	const gint64 f = times->stage[PIPESIM_F][0], b = MAX(times->stage[PIPESIM_B][0], f);

	if ((guint64)shape->ranks * shape->microbatches > PIPESIM_MAX_OPS / MOST_EACH)
		return pipesim_fail(error, PIPESIM_ERROR_LIMIT,
			"passes of %u micro-batches over %u ranks do not fit in memory; take "
			"fewer of either",
			shape->microbatches, shape->ranks);
	g_autofree Seat *seats = find_seats(shape->ranks, f, b);
	for (guint rank = 0; rank < shape->ranks; rank++) {
		Walk x = {
			.out = out,
			.seat = &seats[rank],
			.f = f,
			.b = b,
			.first_ahead = seats[0].n_ahead,
			.rank = rank,
			.last = shape->ranks - 1,
			.m = shape->microbatches,
			.barriers_more = barriers_more,
		};

		pipesim_emit_rank(out, rank);
		fill(&x);
		for (guint32 i = 0; i < x.m; i++)
			put_round(&x, i);
		for (; x.embed_weight < x.m; x.embed_weight++) {
			put(&x, PIPESIM_OP_BCAST_E, x.embed_weight);
			put(&x, PIPESIM_OP_EMBED_WEIGHT, x.embed_weight);
		}
		if (!barriers_more) {
			put(&x, PIPESIM_OP_BCAST_H, x.m);
			put(&x, PIPESIM_OP_OUTPUT_WEIGHT, x.m - 1);
		}
	}
	return TRUE;
}

PIPESIM_PLANNED(plan_1, lay(shape, times, 1, out, error))
PIPESIM_PLANNED(plan_2, lay(shape, times, 0, out, error))
PIPESIM_ACTIVATIONS(activations_1, MIN(shape->ranks + 2, shape->microbatches), 1)
PIPESIM_ACTIVATIONS(activations_2, MIN(shape->ranks + 1, shape->microbatches), 1)
PIPESIM_CONDITION(holds_m_fills, shape->microbatches + 1 >= shape->ranks)
PIPESIM_CONDITION(holds_f_le_b, t[PIPESIM_F] <= t[PIPESIM_B])

static const char longer_forwards[] =
	"the order is laid out for backwards that take no less than forwards";

static const char few[] = "forwards of the last ranks wait for passes of the others";

static const char exact[] = "Exact on every rank when all stages take the same time and, of "
			    "passes and collectives, S and T alone take any.";

static const char letters[] =
	"F is the forward and B the full backward (I + W) of one stage for one micro-batch; "
	"passes over the vocabulary are work, and not in it.";

static const char reference[] =
	"Yeung et al., Balancing Pipeline Parallelism with Vocabulary Parallelism, "
	"arXiv:2411.05288; orders as the authors' code runs them";

#define NOTES                                                                                \
	"Passes: S computes the logits of a rank's part of the vocabulary and T its weight " \
	"gradient; EF and EB are those of the embedding, LOSS and LOSSB what the last rank " \
	"makes of all parts. Between them are a broadcast of the last stage's output "       \
	"(BCAST_H), the barrier that sums over parts (REDUCE_S), and the two of the "        \
	"embedding (ALLREDUCE_E, BCAST_E), which run beside the ops of a rank. --times S=, " \
	"T=, EF=, EB=, LOSS=, LOSSB= and the names of the collectives give what they take; " \
	"what is not given takes no time.\n\n"                                               \
	"Whether a rank runs S before or behind its forward hangs on F and B alone, those "  \
	"of stage 0, B at least F. With fewer micro-batches than a step has room for, the "  \
	"authors' code embeds one or two that do not exist, and so do we."

/* What both have in common, with @n barriers a micro-batch. */
#define VOCAB(n, how, more)                                                              \
	.constraints = "every PP and M", .reference = reference, .barriers = (n),        \
	.plan = plan_##how, .bubble.text = "(PP-1)(F+B)", .bubble.letters = letters,     \
	.bubble.value = pipesim_bubble_fill_and_drain,                                   \
	.bubble.conditions = {{"F <= B", holds_f_le_b, longer_forwards},                 \
		{"M >= PP - 1", holds_m_fills, few}},                                    \
	.bubble.exact = exact, .activations.text = "min(M, PP+" more ")",                \
	.activations.value = activations_##how, .activations.exact = "Exact on rank 0.", \
	.notes = NOTES

const PipesimSchedule pipesim_schedule_vocab_1 = {
	.name = "vocab-1",
	.summary = "1F1B with the vocabulary cut over all ranks, two barriers a micro-batch",
	.idea = "The output layer and the embedding, which make the last and the first rank "
		"slow and full in other schedules, are cut into as many parts of the "
		"vocabulary as there are ranks, and each rank runs the passes of its part "
		"between its forwards and backwards. The softmax needs sums over all parts "
		"and the last stage's gradient another sum: two barriers, and while they are "
		"met ranks run two forwards more. That costs activations of two micro-batches "
		"a rank; the bubble stays that of 1F1B.",
	VOCAB(2, 1, "2"),
};

const PipesimSchedule pipesim_schedule_vocab_2 = {
	.name = "vocab-2",
	.summary = "1F1B with the vocabulary cut over all ranks, one barrier a micro-batch",
	.idea = "vocab-1 with the gradient for the last stage computed in S, from the sums of "
		"a rank's own part, and put right once the sums of all are known: one barrier "
		"a micro-batch serves both. S has more to compute for that. Ranks run one "
		"forward more than in 1F1B, not two.",
	VOCAB(1, 2, "1"),
};
