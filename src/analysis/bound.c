/* The lower bound without single ops: where no pair couples micro-batches, each of them takes
 * the same way through the stages, in the same times. */
#include "config.h"

#include "analysis/parts.h"

#define NOWHERE G_MAXUINT32

/* A chunk of a rank: what it runs, and when that is possible at the earliest. */
typedef struct {
	guint rank;
	guint32 next, before;  /* the places of the stages after and before it, or NOWHERE */
	gboolean whole, split; /* full backwards; backwards in two halves */
	gint64 took[PIPESIM_FB], head[PIPESIM_FB], tail[PIPESIM_FB];
} Place;

typedef struct {
	const PipesimOrder *order;
	const PipesimProgram *places; /* shape and stage_of */
	Place *place;                 /* [rank * chunks + chunk] */
	guint32 *where;               /* [copy * stages + stage]: index of place */
	gint64 p2p;
} Chains;

static void note_verb(Place *places, const PipesimOp *op)
{
	if (op->kind == PIPESIM_B)
		places[op->chunk].whole = TRUE;
	if (op->kind == PIPESIM_I)
		places[op->chunk].split = TRUE;
}

/* FALSE where micro-batches of one stage do not all go the same way. */
static gboolean note_verbs(Chains *chains)
{
	const PipesimOrder *order = chains->order;
	const guint chunks = order->shape.chunks;

	for (guint rank = 0; rank < order->shape.ranks; rank++)
		for (guint32 l = order->rank_begin[rank]; l < order->rank_begin[rank + 1]; l++)
			for (guint32 v = 0; v < order->loops[l].n; v++) {
				const PipesimOp *op = &order->verbs[order->loops[l].first + v];

				if (op->kind == PIPESIM_FB)
					return FALSE;
				note_verb(&chains->place[(gsize)rank * chunks], op);
			}
	for (gsize at = 0; at < (gsize)order->shape.ranks * chunks; at++)
		if (chains->place[at].whole && chains->place[at].split)
			return FALSE;
	return TRUE;
}

static void find_neighbours(Chains *chains, const PipesimTimes *times)
{
	const PipesimShape *shape = &chains->order->shape;
	const gsize n = (gsize)shape->copies * shape->stages;

	for (guint32 at = 0; at < shape->ranks * shape->chunks; at++) {
		const gsize copy = shape->copies > 1 ? at % shape->chunks : 0;
		Place *place = &chains->place[at];
		PipesimOp op = {.chunk = (guint8)(at % shape->chunks)};

		place->rank = at / shape->chunks;
		for (op.kind = 0; op.kind < PIPESIM_FB; op.kind++)
			place->took[op.kind] =
				pipesim_op_duration(chains->places, times, place->rank, &op);
		chains->where[copy * shape->stages + chains->places->stage_of[at]] = at;
	}
	for (gsize i = 0; i < n; i++) {
		Place *place = &chains->place[chains->where[i]];
		const gsize stage = i % shape->stages;

		place->before = stage > 0 ? chains->where[i - 1] : NOWHERE;
		place->next = stage + 1 < shape->stages ? chains->where[i + 1] : NOWHERE;
	}
}

static gint64 hop(const Chains *chains, const Place *a, const Place *b)
{
	return a->rank == b->rank ? 0 : chains->p2p;
}

static PipesimKind backward_of(const Place *place)
{
	return place->split ? PIPESIM_I : PIPESIM_B;
}

static void find_head(const Chains *chains, Place *place, gboolean forward)
{
	const PipesimKind backward = backward_of(place);

	if (forward && place->before != NOWHERE) {
		const Place *from = &chains->place[place->before];

		place->head[PIPESIM_F] = from->head[PIPESIM_F] + from->took[PIPESIM_F] +
					 hop(chains, from, place);
	}
	if (forward)
		return;
	place->head[backward] = place->head[PIPESIM_F] + place->took[PIPESIM_F];
	if (place->next != NOWHERE) {
		const Place *from = &chains->place[place->next];
		const PipesimKind kind = backward_of(from);
		const gint64 ready =
			from->head[kind] + from->took[kind] + hop(chains, from, place);

		place->head[backward] = MAX(place->head[backward], ready);
	}
	place->head[PIPESIM_W] = place->head[backward] + place->took[backward];
}

static void find_tail(const Chains *chains, Place *place, gboolean forward)
{
	const PipesimKind backward = backward_of(place);

	if (!forward) {
		place->tail[backward] = place->split ? place->took[PIPESIM_W] : 0;
		if (place->before != NOWHERE) {
			const Place *to = &chains->place[place->before];
			const PipesimKind kind = backward_of(to);
			const gint64 after =
				hop(chains, place, to) + to->took[kind] + to->tail[kind];

			place->tail[backward] = MAX(place->tail[backward], after);
		}
		return;
	}
	place->tail[PIPESIM_F] = place->took[backward] + place->tail[backward];
	if (place->next != NOWHERE) {
		const Place *to = &chains->place[place->next];
		const gint64 after =
			hop(chains, place, to) + to->took[PIPESIM_F] + to->tail[PIPESIM_F];

		place->tail[PIPESIM_F] = MAX(place->tail[PIPESIM_F], after);
	}
}

/* Forwards go from the first stage to the last, backwards come back. */
static void walk(Chains *chains)
{
	const PipesimShape *shape = &chains->order->shape;
	const gsize n = (gsize)shape->copies * shape->stages;

	for (gsize i = 0; i < n; i++)
		find_head(chains, &chains->place[chains->where[i]], TRUE);
	for (gsize i = n; i-- > 0;)
		find_head(chains, &chains->place[chains->where[i]], FALSE);
	for (gsize i = 0; i < n; i++)
		find_tail(chains, &chains->place[chains->where[i]], FALSE);
	for (gsize i = n; i-- > 0;)
		find_tail(chains, &chains->place[chains->where[i]], TRUE);
}

/* As bound() of paths.c, over the kinds of ops of a rank. */
static gint64 bound_rank(const Chains *chains, guint rank, gint64 busy)
{
	const guint chunks = chains->order->shape.chunks;
	gint64 head = G_MAXINT64, tail = G_MAXINT64, best = 0;

	for (guint chunk = 0; chunk < chunks; chunk++) {
		const Place *place = &chains->place[(gsize)rank * chunks + chunk];

		for (guint kind = 0; kind < PIPESIM_FB; kind++) {
			if (kind != PIPESIM_F && (kind == PIPESIM_B) == place->split)
				continue;
			head = MIN(head, place->head[kind]);
			tail = MIN(tail, place->tail[kind]);
			best = MAX(best,
				place->head[kind] + place->took[kind] + place->tail[kind]);
		}
	}
	return MAX(best, head + busy + tail);
}

gboolean pipesim_report_bound(const PipesimSubject *subject, PipesimReport *report)
{
	const PipesimOrder *order = subject->order;
	g_autofree Place *place = NULL;
	g_autofree guint32 *where = NULL;
	g_autoptr(PipesimProgram) places = NULL;
	Chains chains = {.order = order, .p2p = subject->times->p2p};

	/* Over a network hops differ. */
	if (order == NULL || !order->is_closed || subject->costs->network != NULL)
		return FALSE;
	chains.place = place =
		g_try_new0(Place, (gsize)order->shape.ranks * order->shape.chunks);
	chains.where = where =
		g_try_new(guint32, (gsize)order->shape.stages * order->shape.copies);
	chains.places = places = pipesim_program_new(&order->shape, 0, NULL);
	if (place == NULL || where == NULL || places == NULL || !note_verbs(&chains))
		return FALSE;
	find_neighbours(&chains, subject->times);
	walk(&chains);
	for (guint rank = 0; rank < report->ranks; rank++)
		report->path.lower_bound = MAX(report->path.lower_bound,
			bound_rank(&chains, rank, report->bubble.busy[rank]));
	report->path.has_bound = TRUE;
	return TRUE;
}
