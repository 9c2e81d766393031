/* How early each op can start, looking forwards, or how much must follow it, looking backwards: times are raised until
 * nothing changes. Private to the bound. */
#pragma once
#include "optimize/bound-needs.h"
#include "optimize/bound-proof.h"

/* The ops of a code of a rank, or of a kind whichever their chunks, in the order in which they run. */
typedef struct {
	const gint64 *at;
	guint n;            /* all of them */
	gint64 each;        /* what each takes, at most where that differs */
	const gint64 *sums; /* what any so many of them take at least; NULL: n times each */
	guint kind, chunk;
	gboolean adds_up; /* no ops of the rank take less together than each of them alone */
} PipesimSeries;

typedef struct {
	PipesimNeeds needs;
	gint64 *at, *any; /* by need and any_need */
	gint64 *sums;     /* [(rank * kinds + kind) * (n_any + 1) + n]: of the n shortest */
	PipesimSeries *of_codes;       /* [rank * codes + code] */
	PipesimSeries *of_any;         /* [rank * kinds + kind] */
	struct _PipesimBefore *before; /* [set * op of a code of all lanes] */
	/* [rank * kinds + kind]: ops whichever their chunks that were looked at in a sweep, and by chunk those that they
	 * were taken for. */
	guint *n_any, *next;
	guint *left; /* [codes]: of each, those that were not taken at the best time */
	guint *rest; /* [codes], at work */
	gint64 *one; /* [chunks], at work */
	guint64 looks;
	PipesimProof *proof; /* NULL: not wanted */
	const PipesimBoundUntil *until;
	gboolean late; /* it was looked at no further */
} PipesimSide;

static inline gint64 *pipesim_side_at(const PipesimSide *side, guint lane, guint kind)
{
	const PipesimInstance *x = side->needs.x;

	return &side->at[((gsize)lane * x->kinds + kind) * x->count];
}

static inline const gint64 *pipesim_side_sums(const PipesimSide *side, guint rank, guint kind)
{
	return &side->sums[((gsize)rank * side->needs.x->kinds + kind) *
			   (side->needs.n_any + 1)];
}

/* What @taken of them take at least. */
static inline gint64 pipesim_series_work(const PipesimSeries *series, guint taken)
{
	return series->sums != NULL ? series->sums[taken] : taken * series->each;
}

/* Whether nothing but heads is looked at, once. */
static inline gboolean pipesim_bound_is_rough(const PipesimBoundUntil *until)
{
	return until != NULL && until->rough;
}

/** pipesim_bound_saved: what pairs save at most of @counts ops of each kind. Where F, I and W of a pair are among them
 * it saves no less than two pairs of which F and I, and F and W are. */
gint64 pipesim_bound_saved(const PipesimInstance *instance, guint rank, const guint *counts);

/** pipesim_side_init: all times, as far as @until lets it come, none where needs.is_late; all lives in @arena. FALSE with PIPESIM_ERROR_LIMIT where
 * memory does not suffice.
 * @proof: (nullable): takes each step
 * @until: (nullable) */
gboolean pipesim_side_init(PipesimSide *side, const PipesimInstance *x, gboolean back,
	PipesimProof *proof, const PipesimBoundUntil *until, PipesimArena *arena,
	GError **error);
