/* DeepSeek's DualPipe and DualPipeV: before an op one group of all sends of ops before it and of its
 * receives, waited for as a whole. In orders that follow the eight steps of DualPipe on every rank,
 * receives of steps 2 and 3 are posted one op early and sends of step 2 held back as DeepSeek's code
 * does; in any other order a receive is posted right before its op. */
#include "runtime/runtime.h"

/* Where the steps of DualPipe that treat messages in their own way begin on a rank: step 2 at
 * @pairs, step 3 at @splits, step 4 at @rest. */
typedef struct {
	guint32 pairs, splits, rest;
	gboolean middle; /* the first pair of step 4 is not overlapped */
} Steps;

/* One end of a message that waits for the next group. */
typedef struct {
	PipesimMessage message;
	gboolean send;
} Pending;

/* Steps 2 to 4 keep the most: two sends of the ops before, two receives, one held back. */
#define MAX_PENDING 8

typedef struct {
	PipesimLowerer *lowerer;
	const PipesimProgram *program;
	guint rank;
	Pending pending[MAX_PENDING];
	guint n_pending;
} Issuer;

/* Of a send the op that it comes from, of a receive the op that needs it; forward or backward
 * half. Nothing where that half exchanges nothing with another rank. */
static void post(Issuer *issuer, guint32 op, gboolean send, guint backward)
{
	PipesimMessage messages[2];
	const guint n = pipesim_messages(issuer->program, issuer->rank, op, send, messages);

	for (guint i = 0; i < n; i++) {
		if (messages[i].backward != backward)
			continue;
		g_assert(issuer->n_pending < MAX_PENDING);
		issuer->pending[issuer->n_pending++] = (Pending){messages[i], send};
	}
}

static void flush(Issuer *issuer)
{
	for (guint i = 0; i < issuer->n_pending; i++) {
		const Pending *pending = &issuer->pending[i];

		pipesim_lower_end(issuer->lowerer, &pending->message, pending->send, i > 0);
	}
	issuer->n_pending = 0;
}

static void run(Issuer *issuer, guint32 op)
{
	flush(issuer);
	pipesim_lower_op(issuer->lowerer, issuer->rank, op);
}

/* Of both halves. */
static void post_all(Issuer *issuer, guint32 op, gboolean send)
{
	PipesimMessage messages[2];
	const guint n = pipesim_messages(issuer->program, issuer->rank, op, send, messages);

	g_assert(issuer->n_pending + n <= MAX_PENDING);
	for (guint i = 0; i < n; i++)
		issuer->pending[issuer->n_pending++] = (Pending){messages[i], send};
}

/* What every step but 2 and 3 does. */
static void issue_plain(Issuer *issuer, guint32 op)
{
	post_all(issuer, op, FALSE);
	run(issuer, op);
	post_all(issuer, op, TRUE);
}

static gboolean is(const PipesimOp *op, PipesimKind kind, guint chunk)
{
	return op->kind == kind && op->chunk == chunk;
}

/* Whether the order of a rank begins with 2n F0, then F0 F1 pairs, n times I1 W1 F1, and a pair
 * F0 B1, overlapped or not. 0 is the chunk or direction that comes first. */
static gboolean find_steps(const PipesimProgram *program, guint rank, Steps *steps)
{
	const PipesimOp *ops = program->ops;
	const guint32 begin = program->rank_begin[rank], end = program->rank_begin[rank + 1];
	const guint own = begin < end ? ops[begin].chunk : 0;
	guint32 at = begin;

	while (at < end && is(&ops[at], PIPESIM_F, own))
		at++;
	if (at == begin || at == end || ops[at].kind != PIPESIM_F)
		return FALSE;
	guint other = ops[at].chunk;
	steps->pairs = --at;
	while (at + 1 < end && is(&ops[at], PIPESIM_F, own) &&
		is(&ops[at + 1], PIPESIM_F, other))
		at += 2;
	steps->splits = at;
	while (at + 2 < end && is(&ops[at], PIPESIM_I, other) &&
		is(&ops[at + 1], PIPESIM_W, other) && is(&ops[at + 2], PIPESIM_F, other))
		at += 3;
	steps->rest = at;
	if (at + 1 >= end || 3 * (steps->pairs - begin) != 2 * (at - steps->splits))
		return FALSE;
	steps->middle = is(&ops[at], PIPESIM_F, own) && is(&ops[at + 1], PIPESIM_B, other) &&
			steps->pairs == begin;
	return steps->middle || (is(&ops[at], PIPESIM_FB, own) && ops[at].b_chunk == other);
}

/* Steps 2 and 3 and the first pair of step 4. Returns what comes behind. */
static guint32 issue_steps(Issuer *issuer, const Steps *steps)
{
	guint32 op;

	/* Step 2: F0 F1. The receive of the next F0 goes with that of F1. What F0 gives is sent
	 * behind what F1 gives, but at the middle, whose ranks feed each other; there the last F1
	 * is held back until step 4. */
	post(issuer, steps->pairs, FALSE, FALSE);
	for (op = steps->pairs; op < steps->splits; op += 2) {
		const gboolean last = op + 2 == steps->splits;

		run(issuer, op);
		if (steps->middle)
			post(issuer, op, TRUE, FALSE);
		post(issuer, last ? steps->rest : op + 2, FALSE, FALSE);
		post(issuer, op + 1, FALSE, FALSE);
		run(issuer, op + 1);
		if (!steps->middle || !last)
			post(issuer, op + 1, TRUE, FALSE);
		if (!steps->middle)
			post(issuer, op, TRUE, FALSE);
	}
	/* Step 3: I1 W1 F1. The receive of F1 goes before W1. */
	for (op = steps->splits; op < steps->rest; op += 3) {
		post(issuer, op, FALSE, TRUE);
		run(issuer, op);
		post(issuer, op, TRUE, TRUE);
		post(issuer, op + 2, FALSE, FALSE);
		run(issuer, op + 1);
		run(issuer, op + 2);
		post(issuer, op + 2, TRUE, FALSE);
	}
	/* The first pair of step 4, whose F0 has been received in step 2. */
	if (!steps->middle) {
		post(issuer, op, FALSE, TRUE);
		run(issuer, op);
		post_all(issuer, op, TRUE);
		return op + 1;
	}
	run(issuer, op);
	post(issuer, steps->splits - 1, TRUE, FALSE);
	post(issuer, op + 1, FALSE, TRUE);
	run(issuer, op + 1);
	post(issuer, op, TRUE, FALSE);
	post(issuer, op + 1, TRUE, TRUE);
	return op + 2;
}

static gboolean has_steps(const PipesimProgram *program)
{
	Steps steps;

	return pipesim_all(rank, program->shape.ranks, find_steps(program, rank, &steps));
}

static gboolean lower(PipesimLowerer *lowerer, GError **error)
{
	const PipesimProgram *program = lowerer->program;
	const gboolean eight_steps = has_steps(program);
	Steps steps;

	if (!pipesim_lower_begin(lowerer, 0, error))
		return FALSE;
	for (guint rank = 0; rank < program->shape.ranks; rank++) {
		Issuer issuer = {.lowerer = lowerer, .program = program, .rank = rank};
		guint32 op = program->rank_begin[rank];

		if (eight_steps) {
			find_steps(program, rank, &steps);
			for (; op < steps.pairs; op++)
				issue_plain(&issuer, op);
			op = issue_steps(&issuer, &steps);
		}
		for (; op < program->rank_begin[rank + 1]; op++)
			issue_plain(&issuer, op);
		flush(&issuer);
	}
	return TRUE;
}

static PipesimBetween between(
	const PipesimProgram *program, const PipesimIssuing *issuing G_GNUC_UNUSED)
{
	return has_steps(program) ? PIPESIM_BETWEEN_MORE
				  : PIPESIM_BETWEEN_JOINED | PIPESIM_BETWEEN_WAITED;
}

const PipesimRuntime pipesim_runtime_deepseek = {
	.name = "deepseek",
	.alias = "grouped",
	.rule = "before each op a rank waits for all sends and receives that it has posted",
	.schedules = "dualpipe,dualpipev",
	.waits = TRUE,
	.waits_for_groups = TRUE,
	.lower = lower,
	.between = between,
};
