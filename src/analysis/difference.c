#include "config.h"

#include "analysis/difference.h"
#include <string.h>

/* Trying each rank alone simulates once a rank: above this many ops in all it is left out. */
#define MAX_TRIED_OPS (1u << 24)

typedef struct {
	const PipesimRun *a, *b;
	PipesimDifference *difference;
} Pair;

static gboolean same_op(const Pair *pair, guint rank, const PipesimOp *a, const PipesimOp *b)
{
	const PipesimProgram *first = pair->a->step->program, *second = pair->b->step->program;

	if (a->kind != b->kind || a->microbatch != b->microbatch ||
		pipesim_op_stage(first, rank, a) != pipesim_op_stage(second, rank, b))
		return FALSE;
	return a->kind != PIPESIM_FB || (a->b_microbatch == b->b_microbatch &&
						pipesim_op_b_stage(first, rank, a) ==
							pipesim_op_b_stage(second, rank, b));
}

static void compare_rank(const Pair *pair, guint rank)
{
	PipesimRankDifference *out = &pair->difference->rank[rank];
	const PipesimProgram *a = pair->a->step->program, *b = pair->b->step->program;
	guint32 i = a->rank_begin[rank], k = b->rank_begin[rank];

	while (i < a->rank_begin[rank + 1] && k < b->rank_begin[rank + 1] &&
		same_op(pair, rank, &a->ops[i], &b->ops[k])) {
		i++;
		k++;
	}
	out->n_same = i - a->rank_begin[rank];
	out->a = i < a->rank_begin[rank + 1] ? i : PIPESIM_NO_OP;
	out->b = k < b->rank_begin[rank + 1] ? k : PIPESIM_NO_OP;
	out->same = out->a == PIPESIM_NO_OP && out->b == PIPESIM_NO_OP;
	out->idle_change =
		pair->b->report->bubble.idle[rank] - pair->a->report->bubble.idle[rank];
	pair->difference->same &= out->same;
}

/* A with the order of one rank taken from B. */
static PipesimProgram *splice(const Pair *pair, guint rank)
{
	const PipesimProgram *a = pair->a->step->program, *b = pair->b->step->program;
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
	return pipesim_program_link(mixed, NULL, NULL, NULL) ? g_steal_pointer(&mixed) : NULL;
}

static void try_rank_alone(const Pair *pair, guint rank)
{
	PipesimRankDifference *out = &pair->difference->rank[rank];
	const PipesimProgram *a = pair->a->step->program, *b = pair->b->step->program;
	const guint chunks = a->shape.chunks;
	const gsize first = (gsize)rank * chunks;
	g_autoptr(PipesimProgram) mixed = NULL;
	g_autoptr(PipesimOrder) order = NULL;
	g_autoptr(PipesimStep) step = NULL;

	if (out->same || a->shape.stages != b->shape.stages || chunks != b->shape.chunks ||
		memcmp(&a->stage_of[first], &b->stage_of[first],
			chunks * sizeof *a->stage_of) != 0)
		return;
	mixed = splice(pair, rank);
	if (mixed == NULL)
		return;
	order = pipesim_order_of_program(mixed);
	step = pipesim_step_run(&(PipesimJob){.order = order, .times = pair->a->times},
		PIPESIM_WANT_FIGURES, NULL);
	if (step == NULL)
		return; /* a deadlock: the other ranks must change with it */
	out->has_alone = TRUE;
	out->alone = step->makespan - pair->a->report->makespan;
}

/* When the op that differs would have begun; where A is at its end, when B's begins. */
static gint64 time_of(const Pair *pair, guint rank)
{
	const PipesimRankDifference *at = &pair->difference->rank[rank];

	if (at->same)
		return G_MAXINT64;
	return at->a != PIPESIM_NO_OP ? pair->a->step->timeline->start[at->a]
				      : pair->b->step->timeline->start[at->b];
}

static void find_first(const Pair *pair)
{
	PipesimDifference *difference = pair->difference;

	for (guint rank = 1; rank < difference->ranks; rank++)
		if (time_of(pair, rank) < time_of(pair, difference->first))
			difference->first = rank;
}

PipesimDifference *pipesim_difference_new(
	const PipesimRun *a, const PipesimRun *b, GError **error)
{
	PipesimDifference *difference;
	Pair pair = {a, b, NULL};

	if (pipesim_shape_parts(&a->shape) != pipesim_shape_parts(&b->shape)) {
		pipesim_fail(error, PIPESIM_ERROR_CONSTRAINT,
			"%s runs a micro-batch in %u part%s, %s in %u; compare orders of one "
			"shape",
			a->name, pipesim_shape_parts(&a->shape),
			pipesim_shape_parts(&a->shape) == 1 ? "" : "s", b->name,
			pipesim_shape_parts(&b->shape));
		return NULL;
	}
	if (a->shape.ranks != b->shape.ranks ||
		a->shape.microbatches != b->shape.microbatches) {
		pipesim_fail(error, PIPESIM_ERROR_CONSTRAINT,
			"%s has %u ranks and %u micro-batches, %s %u and %u; compare orders of "
			"one shape",
			a->name, a->shape.ranks, a->shape.microbatches, b->name, b->shape.ranks,
			b->shape.microbatches);
		return NULL;
	}
	difference = pair.difference = g_new0(PipesimDifference, 1);
	difference->ranks = a->shape.ranks;
	difference->same = TRUE;
	difference->change = b->report->makespan - a->report->makespan;
	difference->rank = g_new0(PipesimRankDifference, difference->ranks);
	for (guint rank = 0; rank < difference->ranks; rank++)
		compare_rank(&pair, rank);
	if ((guint64)a->step->program->n_ops * difference->ranks <= MAX_TRIED_OPS)
		for (guint rank = 0; rank < difference->ranks; rank++)
			try_rank_alone(&pair, rank);
	find_first(&pair);
	return difference;
}

void pipesim_difference_free(PipesimDifference *difference)
{
	if (difference == NULL)
		return;
	g_free(difference->rank);
	g_free(difference);
}
