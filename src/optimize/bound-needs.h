/* What must have run before an op can start, on its own rank: how many of each code. Private to
 * the bound. */
#pragma once
#include "optimize/bound.h"

/* One direction of time. Looking backwards an op's count is from the last one, what comes "before" it is
 * what follows it, and a rank begins to hold a micro-batch with its weight gradient. */
typedef struct {
	const PipesimInstance *x;
	gboolean back;
	guint codes;    /* of a rank */
	guint n_any;    /* ops of a kind on a rank */
	guint32 *order; /* lane * kinds + kind, of all: each after what it needs of its count */
	/* [(lane * kinds + kind) * count + k]: counts by code of the rank. */
	guint32 *need;
	/* [(rank * kinds + kind) * n_any + m]: counts by kind, whichever the chunks. NULL where ranks
	 * have one chunk. */
	guint32 *any_need;
	/* [(lane * kinds + kind) * count + k]: counts by kind of those by code, with what these need in turn. NULL
	 * where ranks have one chunk. */
	guint32 *sum_need;
	gboolean is_late;
} PipesimNeeds;

/** pipesim_needs_init: FALSE with PIPESIM_ERROR_LIMIT where memory does not suffice; all lives in
 * @arena.
 * @until: (nullable): needs->is_late is set where that is over first: nothing is then known */
gboolean pipesim_needs_init(PipesimNeeds *needs, const PipesimInstance *instance, gboolean back,
	const PipesimBoundUntil *until, PipesimArena *arena, GError **error);

/** pipesim_needs_of, pipesim_needs_any: the counts of one op; that of the same code or kind behind it needs no less. */
static inline const guint32 *pipesim_needs_of(
	const PipesimNeeds *needs, guint lane, guint kind, guint k)
{
	const PipesimInstance *x = needs->x;

	return &needs->need[(((gsize)lane * x->kinds + kind) * x->count + k) * needs->codes];
}

static inline const guint32 *pipesim_needs_any(
	const PipesimNeeds *needs, guint rank, guint kind, guint m)
{
	const PipesimInstance *x = needs->x;

	return &needs->any_need[(((gsize)rank * x->kinds + kind) * needs->n_any + m) *
				x->kinds];
}

/** pipesim_needs_sum: those of pipesim_needs_of(), whichever the chunks. */
static inline const guint32 *pipesim_needs_sum(
	const PipesimNeeds *needs, guint lane, guint kind, guint k)
{
	const PipesimInstance *x = needs->x;

	return &needs->sum_need[(((gsize)lane * x->kinds + kind) * x->count + k) * x->kinds];
}

/** pipesim_needs_message: what an op waits for besides what runs on its rank before it, of the
 * same count: its lane, kind, and the time of the message. FALSE where there is none. */
gboolean pipesim_needs_message(const PipesimNeeds *needs, guint lane, guint kind,
	guint *from_lane, guint *from_kind, gint64 *hop);
