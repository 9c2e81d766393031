/* Ops of an order that spares activations are moved one by one, and what is spared changes. */
#include "optimize/mixed-own.h"
#include "optimize/state.h"
#include "order/more.h"

/* Walks side by side, all from the shortest order: from two or four different ones they come to no less. */
#define WALKS 4
/* Ops of an order that is run that take as long as a move of the search without. */
#define MOVE_OPS 10
/* Quarters of the effort that other searches, which search within several limits, take at most. */
#define MOST_BEFORE 3
/* Places that an op is moved by at most; half as many, or twice, make no difference above 0.1 points. */
#define MOST_SHIFT 12
/* Heat of a walk at first, and at the end, in the mean ops of the longest stage. */
#define HOTTEST 0.1
#define COLDEST 0.02
/* At first in small orders, where hot walks come to what needs several moves at once. */
static const double hottest[WALKS] = {0.1, 0.1, 0.5, 2};
#define MOST_SMALL 100 /* ops */
/* One in so many: changes of a rank that move all of an activation, and that are followed by one more; moves that do so on
 * all ranks. */
#define GATHERS   4
#define MORE      4
#define EXCHANGES 8
#define RARE      8 /* so much less in other orders than small ones */

typedef struct {
	PipesimProgram *now, *best; /* owned */
	gint64 makespan, best_makespan;
	guint64 tries;
	guint rare; /* of moves of several ops */
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

/* Whether both are of one activation, or of slices of one. */
static gboolean is_beside(const Mixed *m, const PipesimOp *a, const PipesimOp *b)
{
	const guint slices = pipesim_shape_slices(&m->shape);

	return a->chunk == b->chunk && a->microbatch / slices == b->microbatch / slices;
}

/* All ops of the activation of @of behind @at come before it; FALSE: they cannot, or there are none. */
static gboolean gather(const Mixed *m, List *list, guint at, const PipesimOp *of)
{
	guint to = at;

	for (guint i = at; i < list->n; i++) {
		const PipesimOp op = list->ops[i];

		if (!is_beside(m, &op, of))
			continue;
		for (guint k = to; k < i; k++)
			if (stays(m, &list->ops[k], &op))
				return FALSE;
		memmove(&list->ops[to + 1], &list->ops[to], (i - to) * sizeof op);
		list->ops[to++] = op;
	}
	return to > at;
}

/* One change of @list at random; FALSE: it stays as it was, or is of no use. */
static gboolean change(const Mixed *m, Walk *walk, List *list)
{
	const guint again = m->spared[AGAIN], host = m->spared[HOST];
	const guint at = draw(walk, list->n);
	const PipesimOp op = list->ops[at];

	if (op.kind == PIPESIM_F && op.chunk < MAX(again, host) && draw(walk, 2) != 0) {
		pipesim_mixed_toggle(m, walk->now, list, at,
			op.chunk < MIN(again, host) ? draw(walk, WAYS)
			: again > host              ? AGAIN
						    : HOST);
		return TRUE;
	}
	if (draw(walk, GATHERS * walk->rare) != 0)
		return shift(m, walk, list, at);
	guint behind = at + 1 + draw(walk, MOST_SHIFT);
	return behind < list->n && gather(m, list, at, &list->ops[behind]);
}

/* @program, which it frees, with @list, a copy of one of its lists, made to fit; NULL: it cannot be. */
static PipesimProgram *with_fitting(
	const Mixed *m, Walk *walk, PipesimProgram *program, List *list)
{
	const First first = {.weights = draw(walk, 2) != 0, .way = draw(walk, WAYS)};
	PipesimProgram *next = pipesim_mixed_relieve(m, program, list, first)
				       ? pipesim_mixed_with_list(m, program, list)
				       : NULL;

	pipesim_program_unref(program);
	return next;
}

/* On all ranks the activation of @sooner comes before that of @later; NULL: it cannot. */
static PipesimProgram *exchange(
	const Mixed *m, Walk *walk, const PipesimOp *later, const PipesimOp *sooner)
{
	PipesimProgram *next = pipesim_program_ref(walk->now);

	for (guint rank = 0; rank < m->shape.ranks && next != NULL; rank++) {
		const List old = pipesim_mixed_list(next, rank);
		List list = pipesim_mixed_copy(&old);
		guint at = 0;

		while (at < list.n && !is_beside(m, &list.ops[at], later))
			at++;
		if (at < list.n && gather(m, &list, at, sooner))
			next = with_fitting(m, walk, next, &list);
		g_free(list.ops);
	}
	return next;
}

/* An order near that of @walk, which fits; NULL: none came of it. */
static PipesimProgram *draw_next(const Mixed *m, Walk *walk)
{
	const guint32 index = draw(walk, walk->now->n_ops);
	const guint rank = pipesim_program_rank(walk->now, index);
	const List old = pipesim_mixed_list(walk->now, rank);
	PipesimProgram *next = NULL;
	gboolean moved = FALSE;

	if (draw(walk, EXCHANGES * walk->rare) == 0) {
		const PipesimOp *later = &walk->now->ops[index];
		const guint32 behind = index + 1 + draw(walk, MOST_SHIFT);

		return behind < walk->now->rank_begin[rank + 1] &&
				       !is_beside(m, later, &walk->now->ops[behind])
			       ? exchange(m, walk, later, &walk->now->ops[behind])
			       : NULL;
	}
	List list = pipesim_mixed_copy(&old);
	do
		moved |= change(m, walk, &list);
	while (draw(walk, MORE * walk->rare) == 0);
	if (moved)
		next = with_fitting(m, walk, pipesim_program_ref(walk->now), &list);
	g_free(list.ops);
	return next;
}

/* Whether @program is shorter than the best of @walk, or as short and spares less. */
static gboolean is_better(const PipesimProgram *program, gint64 makespan, const Walk *walk)
{
	return makespan < walk->best_makespan ||
	       (makespan == walk->best_makespan && program->n_ops < walk->best->n_ops);
}

/* One move at random, taken if the order is then no longer than @most. */
static void try_move(const Mixed *m, Walk *walk, gint64 most)
{
	PipesimProgram *next = draw_next(m, walk);
	g_autoptr(PipesimStep) step = next != NULL ? pipesim_mixed_step(m, next) : NULL;

	if (step == NULL || step->makespan > most) {
		pipesim_program_unref(next);
		return;
	}
	pipesim_program_unref(walk->now);
	walk->now = next;
	walk->makespan = step->makespan;
	if (!is_better(walk->now, walk->makespan, walk))
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
	const double hot = walk->rare > 1 ? HOTTEST : hottest[item];

	for (; walk->best_makespan > m->found->bound->time; walk->tries++) {
		const double part = pipesim_effort_part(
			walk->tries, walks->tries, walks->began, of->deadline);

		if (part >= 1 || (walks->tries == 0 && of->deadline == 0) ||
			(of->stop != NULL && g_atomic_int_get(of->stop) != 0))
			break;
		double heat = (double)m->longest * hot * pow(COLDEST / hot, part);
		double luck = (draw(walk, G_MAXUINT32) + 1.0) / 4294967296.0;
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
	guint best = 0;

	walks.tries = (of->moves - MIN(found->moves, of->moves / 4 * MOST_BEFORE)) * MOVE_OPS /
		      WALKS / n;
	for (guint i = 0; i < WALKS; i++)
		walk[i] = (Walk){.now = pipesim_program_ref(found->program),
			.best = pipesim_program_ref(found->program),
			.makespan = found->makespan,
			.rare = n > MOST_SMALL ? RARE : 1,
			.best_makespan = found->makespan,
			.key = pipesim_sample_key(of->seed, i)};
	pipesim_parallel(&work, NULL);
	for (guint i = 0; i < WALKS; i++) {
		found->moves += walk[i].tries * n / MOVE_OPS;
		if (is_better(walk[i].best, walk[i].best_makespan, &walk[best]))
			best = i;
	}
	pipesim_mixed_offer(m, pipesim_program_ref(walk[best].best), NULL);
	for (guint i = 0; i < WALKS; i++) {
		pipesim_program_unref(walk[i].best);
		pipesim_program_unref(walk[i].now);
	}
	found->stopped |= of->stop != NULL && g_atomic_int_get(of->stop) != 0;
}
