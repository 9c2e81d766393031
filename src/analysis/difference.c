#include "analysis/difference.h"
#include "runtime/cell.h"

/* Trying each rank alone simulates once a rank: above this many ops in all it is left out.
 * Where messages wait an op takes several times as long. */
#define MAX_TRIED_OPS         (1u << 24)
#define MAX_TRIED_OPS_WAITING (1u << 21)

typedef struct {
	const PipesimRun *a, *b;
	PipesimDifference *difference;
} Pair;

/* What one rank of one of both issues, and how far it has been read. */
typedef struct {
	const PipesimStep *step;
	const PipesimLowering *list; /* NULL: ops alone */
	guint rank;
	guint32 op, op_end; /* of step->whole */
	guint32 action, action_end;
	guint32 split; /* pairs read that ran in halves */
} Side;

/* What is done to stages is not compared: it makes no difference to ops and messages. */
static void skip_shardings(Side *side)
{
	while (side->action < side->action_end &&
		pipesim_action_is_sharding(side->list->actions[side->action].kind))
		side->action++;
}

static Side begin(const PipesimRun *run, const PipesimLowering *list, guint rank)
{
	const PipesimProgram *whole = run->step->whole;
	Side side = {.step = run->step,
		.list = list,
		.rank = rank,
		.op = whole->rank_begin[rank],
		.op_end = whole->rank_begin[rank + 1]};

	if (list != NULL) {
		side.action = list->rank_begin[rank];
		side.action_end = list->rank_begin[rank + 1];
		skip_shardings(&side);
	}
	return side;
}

static gboolean at_end(const Side *side)
{
	return side->op == side->op_end && side->action == side->action_end;
}

static gboolean is_at_op(const Side *side)
{
	return side->list == NULL ||
	       (side->action < side->action_end &&
		       side->list->actions[side->action].kind == PIPESIM_ACTION_OP);
}

static void advance(Side *side)
{
	if (is_at_op(side)) {
		side->split += side->step->split &&
			       side->step->whole->ops[side->op].kind == PIPESIM_FB;
		side->op++;
	}
	if (side->list == NULL)
		return;
	side->action++;
	skip_shardings(side);
}

static PipesimDifferencePlace place_of(const Side *side)
{
	const PipesimStep *step = side->step;
	const guint32 begin = step->program->rank_begin[side->rank];
	const guint32 op = begin + side->op - step->whole->rank_begin[side->rank] + side->split;

	if (at_end(side))
		return (PipesimDifferencePlace){PIPESIM_NO_OP, PIPESIM_NO_OP, 0};
	if (is_at_op(side))
		return (PipesimDifferencePlace){
			side->op, PIPESIM_NO_OP, step->timeline->start[op]};
	return (PipesimDifferencePlace){
		PIPESIM_NO_OP, side->action, op > begin ? step->timeline->end[op - 1] : 0};
}

static gboolean same_op(const Side *a, const Side *b)
{
	const PipesimProgram *first = a->step->whole, *second = b->step->whole;
	const PipesimOp *op = &first->ops[a->op], *other = &second->ops[b->op];

	if (op->kind != other->kind || op->microbatch != other->microbatch ||
		pipesim_op_stage(first, a->rank, op) !=
			pipesim_op_stage(second, b->rank, other))
		return FALSE;
	return op->kind != PIPESIM_FB ||
	       (op->b_microbatch == other->b_microbatch &&
		       pipesim_op_b_stage(first, a->rank, op) ==
			       pipesim_op_b_stage(second, b->rank, other));
}

static gboolean same_message(const Side *a, const Side *b)
{
	const PipesimCell cell =
		pipesim_cell_of(a->list, a->rank, &a->list->actions[a->action]);
	const PipesimCell other =
		pipesim_cell_of(b->list, b->rank, &b->list->actions[b->action]);

	return cell.action == other.action && cell.stage == other.stage &&
	       cell.microbatch == other.microbatch && cell.joined == other.joined &&
	       cell.waited == other.waited;
}

static void compare_rank(const Pair *pair, guint rank)
{
	PipesimDifference *difference = pair->difference;
	PipesimRankDifference *out = &difference->rank[rank];
	const gboolean messages = difference->list_a != NULL && difference->list_b != NULL;
	Side a = begin(pair->a, messages ? difference->list_a : NULL, rank);
	Side b = begin(pair->b, messages ? difference->list_b : NULL, rank);

	while (!at_end(&a) && !at_end(&b) && is_at_op(&a) == is_at_op(&b) &&
		(is_at_op(&a) ? same_op(&a, &b) : same_message(&a, &b))) {
		advance(&a);
		advance(&b);
	}
	out->n_same = a.op - pair->a->step->whole->rank_begin[rank];
	out->a = place_of(&a);
	out->b = place_of(&b);
	out->same = at_end(&a) && at_end(&b);
	out->idle_change =
		pair->b->report->bubble.idle[rank] - pair->a->report->bubble.idle[rank];
	difference->same &= out->same;
}

/* A with the order of one rank taken from B. */
static PipesimProgram *splice(const Pair *pair, guint rank)
{
	const PipesimProgram *a = pair->a->step->whole, *b = pair->b->step->whole;
	g_autoptr(PipesimProgram) mixed =
		pipesim_program_new(&a->shape, (guint64)a->n_ops + b->n_ops, NULL);

	if (mixed == NULL)
		return NULL;
	memcpy(mixed->stage_of, a->stage_of,
		(gsize)a->shape.ranks * a->shape.chunks * sizeof *a->stage_of);
	for (guint i = 0; i < a->shape.ranks; i++) {
		const PipesimProgram *from = i == rank ? b : a;
		const guint32 n = from->rank_begin[i + 1] - from->rank_begin[i];

		memcpy(&mixed->ops[mixed->n_ops], &from->ops[from->rank_begin[i]],
			n * sizeof *mixed->ops);
		mixed->n_ops += n;
		mixed->rank_begin[i + 1] = mixed->n_ops;
	}
	/* Lists of messages are made for orders alone that can run. */
	return pipesim_program_link(mixed, NULL, NULL, NULL) &&
			       pipesim_program_check_order(mixed, NULL, NULL, NULL)
		       ? g_steal_pointer(&mixed)
		       : NULL;
}

/* Under the rules of A; lists of files cannot be mixed: the other ranks' ends would not
 * match. */
static void try_rank_alone(const Pair *pair, guint rank)
{
	PipesimRankDifference *out = &pair->difference->rank[rank];
	const PipesimProgram *a = pair->a->step->whole, *b = pair->b->step->whole;
	const guint chunks = a->shape.chunks;
	const gsize first = (gsize)rank * chunks;
	PipesimJob job = pair->a->step->job;
	g_autoptr(PipesimOrder) order = NULL;

	if (out->same || a->shape.stages != b->shape.stages || chunks != b->shape.chunks ||
		memcmp(&a->stage_of[first], &b->stage_of[first],
			chunks * sizeof *a->stage_of) != 0)
		return;
	g_autoptr(PipesimProgram) mixed = splice(pair, rank);
	if (mixed == NULL)
		return;
	job.order = order = pipesim_order_of_program(mixed);
	g_autoptr(PipesimStep) step = pipesim_step_run(&job, PIPESIM_WANT_FIGURES, NULL);
	if (step == NULL)
		return; /* a deadlock: the other ranks must change with it */
	out->has_alone = TRUE;
	out->alone = step->makespan - pair->a->report->makespan;
}

/* When what differs would have begun; where A is at its end, when B's begins. */
static gint64 time_of(const Pair *pair, guint rank)
{
	const PipesimRankDifference *at = &pair->difference->rank[rank];

	if (at->same)
		return G_MAXINT64;
	return at->a.op != PIPESIM_NO_OP || at->a.message != PIPESIM_NO_OP ? at->a.at
									   : at->b.at;
}

guint32 pipesim_difference_same_ops(const PipesimRun *a, const PipesimRun *b)
{
	guint32 same = 0;

	for (guint rank = 0; rank < a->shape.ranks; rank++) {
		Side of_a = begin(a, NULL, rank), of_b = begin(b, NULL, rank);

		for (; !at_end(&of_a) && !at_end(&of_b) && same_op(&of_a, &of_b); same++) {
			advance(&of_a);
			advance(&of_b);
		}
	}
	return same;
}

PipesimDifference *pipesim_difference_new(
	const PipesimRun *a, const PipesimRun *b, GError **error)
{
	const PipesimJob *job = &a->step->job;
	const gboolean waits = pipesim_runtime_waits(job->runtime);
	const guint64 most =
		waits || job->network != NULL ? MAX_TRIED_OPS_WAITING : MAX_TRIED_OPS;
	PipesimDifference *difference;
	Pair pair = {a, b, NULL};

	if (pipesim_shape_parts(&a->shape) != pipesim_shape_parts(&b->shape))
		return pipesim_fail_null(error, PIPESIM_ERROR_CONSTRAINT,
			"%s runs a micro-batch in %u part%s, %s in %u; compare orders of the "
			"same shape%s",
			a->name, pipesim_shape_parts(&a->shape),
			pipesim_shape_parts(&a->shape) == 1 ? "" : "s", b->name,
			pipesim_shape_parts(&b->shape),
			a->shape.sliced || b->shape.sliced ? "" : ", or two files of export");
	if (a->shape.ranks != b->shape.ranks || a->shape.microbatches != b->shape.microbatches)
		return pipesim_fail_null(error, PIPESIM_ERROR_CONSTRAINT,
			"%s has PP %u and M %u, %s %u and %u; compare orders of the same shape",
			a->name, a->shape.ranks, a->shape.microbatches, b->name, b->shape.ranks,
			b->shape.microbatches);
	difference = pair.difference = g_new0(PipesimDifference, 1);
	difference->ranks = a->shape.ranks;
	difference->list_a = pipesim_step_messages(a->step);
	difference->list_b = pipesim_step_messages(b->step);
	difference->same = TRUE;
	difference->change = b->report->makespan - a->report->makespan;
	difference->rank = g_new0(PipesimRankDifference, difference->ranks);
	for (guint rank = 0; rank < difference->ranks; rank++)
		compare_rank(&pair, rank);
	if ((!waits || job->messages == NULL) &&
		(guint64)a->step->whole->n_ops * difference->ranks <= most)
		for (guint rank = 0; rank < difference->ranks; rank++)
			try_rank_alone(&pair, rank);
	for (guint rank = 1; rank < difference->ranks; rank++)
		if (time_of(&pair, rank) < time_of(&pair, difference->first))
			difference->first = rank;
	return difference;
}

void pipesim_difference_free(PipesimDifference *difference)
{
	if (difference != NULL)
		pipesim_free_all(difference->rank, difference);
}
