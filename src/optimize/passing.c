#include "config.h"

#include "base/phases.h"
#include "optimize/passing.h"

typedef struct {
	const PipesimInstance *x;
	guint flight;
	guint32 *before;                 /* [rank * count + k]: forwards before backward k */
	gint64 *end[2];                  /* [rank * count + k]: of forwards and backwards, ns */
	guint *done[PIPESIM_CODE_KINDS]; /* [rank] */
	gint64 *free_at;                 /* [rank] */
	guint8 *codes;
} Passer;

static void put(Passer *p, guint rank, guint kind, gint64 ready)
{
	const PipesimInstance *x = p->x;
	const guint k = p->done[kind][rank]++;
	guint place = 0;

	for (guint i = 0; i < x->kinds; i++)
		place += p->done[i][rank];
	p->codes[(gsize)rank * x->per_rank + place - 1] = (guint8)kind;
	p->free_at[rank] = MAX(p->free_at[rank], ready) + x->time[kind][rank];
	if (kind != W)
		p->end[kind][rank * x->count + k] = p->free_at[rank];
}

/* Weight gradients before an op that is ready at @ready. */
static void put_weights(Passer *p, guint rank, guint kind, gint64 ready)
{
	const PipesimInstance *x = p->x;

	while (x->kinds > 2 && p->done[W][rank] < p->done[I][rank] &&
		(p->free_at[rank] + x->time[W][rank] <= ready ||
			(kind == F && p->done[F][rank] >= p->done[W][rank] + p->flight)))
		put(p, rank, W, 0);
}

/* The next op of @rank, forward or backward. FALSE where it has to wait for another rank, or there is none. */
static gboolean put_next(Passer *p, guint rank)
{
	const PipesimInstance *x = p->x;
	const guint count = x->count, k = p->done[I][rank];
	guint kind = I;
	guint32 input;
	gint64 ready = 0, hop;

	if (k == count)
		return FALSE;
	if (p->done[F][rank] < p->before[rank * count + k])
		kind = F;
	input = pipesim_instance_input(x, rank * x->kinds + kind, &hop);
	if (input != PIPESIM_NO_LANE) {
		const guint from = input / x->kinds, from_kind = input % x->kinds;

		if (p->done[from_kind][from] <= p->done[kind][rank])
			return FALSE;
		ready = p->end[from_kind][from * count + p->done[kind][rank]] + hop;
	}
	put_weights(p, rank, kind, ready);
	put(p, rank, kind, ready);
	return TRUE;
}

gboolean pipesim_pass(const PipesimInstance *x, const PipesimBound *bound, guint8 *codes)
{
	const gsize n = (gsize)x->ranks * x->count;
	Passer p = {.x = x, .flight = bound->flight, .codes = codes};
	g_autoptr(PipesimArena) arena = pipesim_arena_new();
	gboolean more;

	p.before = pipesim_arena_array(arena, guint32, n);
	p.free_at = pipesim_arena_array(arena, gint64, x->ranks);
	for (guint kind = F; kind <= I; kind++)
		p.end[kind] = pipesim_arena_array(arena, gint64, n);
	for (guint kind = F; kind <= W; kind++)
		p.done[kind] = pipesim_arena_array(arena, guint, x->ranks);
	if (bound->first == NULL || !pipesim_arena_check(arena, NULL, "ops"))
		return FALSE;
	/* What the bound lets backwards and forwards do apart from each other may not be an order: a backward is
	 * behind all that the one before it is behind. */
	for (guint r = 0; r < x->ranks; r++)
		for (guint k = 0; k < x->count; k++) {
			guint32 *before = &p.before[r * x->count + k];

			*before = k > 0 ? MAX(before[-1], k + 1) : 1;
			for (guint d = 1; d < MIN(p.flight, x->count - k); d++)
				if (bound->first[k * p.flight + d] > r)
					*before = MAX(*before, k + d + 1);
		}
	do {
		more = FALSE;
		for (guint rank = 0; rank < x->ranks; rank++)
			while (put_next(&p, rank))
				more = TRUE;
	} while (more);
	for (guint rank = 0; rank < x->ranks; rank++) {
		if (p.done[I][rank] < x->count)
			return FALSE;
		put_weights(&p, rank, W, G_MAXINT64);
	}
	return TRUE;
}
