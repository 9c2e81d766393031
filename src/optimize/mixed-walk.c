/* Ops of an order that spares activations are moved one by one, and what is spared changes. */
#include "config.h"

#include "base/parallel.h"
#include "model/random.h"
#include "optimize/mixed-own.h"
#include "optimize/state.h"
#include "order/more.h"
#include <math.h>
#include <string.h>

/* Walks side by side, all from the shortest order: from two or four different ones they come to no less. */
#define WALKS 4
/* Ops of an order that is run that take as long as a move of the search without. */
#define MOVE_OPS 10
/* Places that an op is moved by at most; half as many, or twice, make no difference above 0.1 points. */
#define MOST_SHIFT 12
/* Heat of a walk at first, and at the end, in forwards of the longest stage. */
#define HOTTEST 0.1
#define COLDEST 0.02

typedef struct {
	PipesimProgram *now, *best; /* owned */
	gint64 makespan, best_makespan;
	guint64 tries;
	PipesimSampleKey key;
	guint32 drawn;
} Walk;

typedef struct {
	Mixed *m;
	Walk *walks;
	guint64 tries; /* of each; 0: time alone counts */
	gint64 began;
} Walks;

static guint32 draw(Walk *walk, guint32 below)
{
	return pipesim_random_below(walk->key, walk->drawn++, below);
}

/* Whether @a must stay before @b on its rank, or nothing is gained by the other way round: what is of one activation,
 * and micro-batches of one kind and chunk, which come in turn. */
static gboolean stays(const Mixed *m, const PipesimOp *a, const PipesimOp *b)
{
	const guint slices = pipesim_shape_slices(&m->shape);

	if (a->kind == PIPESIM_FB || b->kind == PIPESIM_FB)
		return TRUE;
	if (a->chunk != b->chunk)
		return FALSE;
	return a->kind == b->kind ||
	       (a->microbatch == b->microbatch && !pipesim_op_is_barrier(a->kind) &&
		       !pipesim_op_is_barrier(b->kind)) ||
	       (a->microbatch / slices == b->microbatch / slices &&
		       pipesim_op_has_backward(a) && pipesim_op_has_backward(b));
}

/* The op at @at moved past some others; FALSE: it stays. */
static gboolean shift(const Mixed *m, Walk *walk, List *list, guint at)
{
	const PipesimOp op = list->ops[at];
	const gboolean later = draw(walk, 2) != 0;
	const guint most = 1 + draw(walk, 1 + draw(walk, MOST_SHIFT));
	guint to = at;

	for (; later && to + 1 < list->n && to < at + most; to++) {
		if (stays(m, &op, &list->ops[to + 1]))
			break;
		list->ops[to] = list->ops[to + 1];
	}
	for (; !later && to > 0 && to + most > at; to--) {
		if (stays(m, &list->ops[to - 1], &op))
			break;
		list->ops[to] = list->ops[to - 1];
	}
	list->ops[to] = op;
	return to != at;
}

/* One move at random, taken if the order is then no longer than @most. */
static void try_move(const Mixed *m, Walk *walk, gint64 most)
{
	const guint32 index = draw(walk, walk->now->n_ops);
	const guint rank = pipesim_program_rank(walk->now, index);
	const guint at = index - walk->now->rank_begin[rank];
	const guint again = m->spared[AGAIN], host = m->spared[HOST];
	const List old = pipesim_mixed_list(walk->now, rank);
	g_autofree PipesimOp *ops = g_new(PipesimOp, old.n + 4);
	List list = {rank, old.n, ops};
	g_autoptr(PipesimStep) step = NULL;
	PipesimProgram *next = NULL;
	gboolean moved = TRUE;

	memcpy(ops, old.ops, old.n * sizeof *ops);
	if (ops[at].kind == PIPESIM_F && ops[at].chunk < MAX(again, host) && draw(walk, 2) != 0)
		pipesim_mixed_toggle(m, walk->now, &list, at,
			ops[at].chunk < MIN(again, host) ? draw(walk, WAYS)
			: again > host                   ? AGAIN
							 : HOST);
	else
		moved = shift(m, walk, &list, at);
	if (moved && pipesim_mixed_excess(m, &list) == list.n)
		next = pipesim_mixed_with_list(m, walk->now, &list);
	if (next != NULL)
		step = pipesim_mixed_step(m, next);
	if (step == NULL || step->makespan > most) {
		pipesim_program_unref(next);
		return;
	}
	pipesim_program_unref(walk->now);
	walk->now = next;
	walk->makespan = step->makespan;
	if (walk->makespan >= walk->best_makespan)
		return;
	walk->best_makespan = walk->makespan;
	pipesim_program_unref(walk->best);
	walk->best = pipesim_program_ref(next);
}

static gboolean run_walk(
	gsize item, gpointer own G_GNUC_UNUSED, gpointer data, GError **error G_GNUC_UNUSED)
{
	const Walks *walks = data;
	const Mixed *m = walks->m;
	const PipesimSearchOf *of = m->of;
	Walk *walk = &walks->walks[item];

	for (; walk->best_makespan > m->found->bound->time; walk->tries++) {
		const double part = pipesim_effort_part(
			walk->tries, walks->tries, walks->began, of->deadline);
		double heat, luck;

		if (part >= 1 || (walks->tries == 0 && of->deadline == 0) ||
			(of->stop != NULL && g_atomic_int_get(of->stop) != 0))
			break;
		heat = (double)m->longest * HOTTEST * pow(COLDEST / HOTTEST, part);
		luck = (draw(walk, G_MAXUINT32) + 1.0) / 4294967296.0;
		try_move(m, walk, walk->makespan + (gint64)(-log(luck) * heat));
	}
	return TRUE;
}

void pipesim_mixed_walk(Mixed *m)
{
	const PipesimSearchOf *of = m->of;
	PipesimFound *found = m->found;
	Walk walk[WALKS];
	Walks walks = {.m = m, .walks = walk, .began = g_get_monotonic_time()};
	const PipesimParallel work = {
		.n_items = WALKS, .threads = of->threads, .run = run_walk, .data = &walks};
	const guint n = found->program->n_ops;

	walks.tries = (of->moves - MIN(of->moves, found->moves)) * MOVE_OPS / WALKS / n;
	for (guint i = 0; i < WALKS; i++)
		walk[i] = (Walk){.now = pipesim_program_ref(found->program),
			.best = pipesim_program_ref(found->program),
			.makespan = found->makespan,
			.best_makespan = found->makespan,
			.key = pipesim_sample_key(of->seed, i)};
	pipesim_parallel(&work, NULL);
	for (guint i = 0; i < WALKS; i++) {
		found->moves += walk[i].tries * n / MOVE_OPS;
		pipesim_mixed_offer(m, walk[i].best, NULL);
		pipesim_program_unref(walk[i].now);
	}
	found->stopped |= of->stop != NULL && g_atomic_int_get(of->stop) != 0;
}
