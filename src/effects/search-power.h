/* The search for the form of a governor: private to fit-power.c. */
#pragma once
#include "effects/fit-power.h"

/* What is searched, in steps of a lattice: time constants in 1 ms * 1.02^i, the rest in 1/200. */
#define PIPESIM_FORM_LEVELS 200
typedef struct {
	gint tau, threshold;
} PipesimPowerForm;

/* Ends of the line of a sort that were seen, against its median; 0 = what fits best. */
typedef struct {
	double full; /* at full clock: what ops took of a chip that had rested most of all */
	double sustained; /* at u = 1 */
} PipesimPowerEnds;

/* Halves of the bursts, each of which is told by what was fitted to the other. */
#define PIPESIM_FOLDS 2

/* Over measured points d at u. */
typedef struct {
	double n, u, uu, d, du, dd;
} PipesimSums;

typedef struct {
	const PipesimHistories *histories;
	const PipesimHistoryOp *ops;
	guint n_ops, n_sorts, n_classes;
	guint32 *
		class_of; /* [sort], and behind them waiting, which, where it occurs, is the last class */
	gboolean has_waits;
	double *load;   /* [class] */
	guint8 *fold;   /* [op] */
	guint32 *index; /* of ops that are fitted, n_index */
	guint n_index;
	double *weight;  /* [sort]: its time against the mean, so that time counts */
	gboolean *split; /* [sort]: it has bursts enough in either half to tell the other by */
	PipesimPowerEnds *ends; /* [sort] */
	/* What the last form made of it: */
	double *x; /* [op]: running load in its middle */
	gint tau;  /* that it is of; -1 = of other loads */
	PipesimSums *
		sums; /* [sort * PIPESIM_FOLDS + fold] of durations against their median, over u */
} PipesimPowerSearch;

/** pipesim_power_search: the form that leaves least of @search, beginning with its loads. @loads: those of its classes are
 * found too. @unseen: what is left of either half by such a form that was fitted to the other. */
PipesimPowerForm pipesim_power_search(
	PipesimPowerSearch *search, gboolean loads, double *unseen);

/** pipesim_power_apply: x and sums of @search for @form with the loads as they are. */
void pipesim_power_apply(PipesimPowerSearch *search, const PipesimPowerForm *form);

/** pipesim_power_line: d = a + b u of @sort, whose points are @sums: through those ends that are
 * known; @negative: b may be below 0. */
void pipesim_power_line(const PipesimPowerSearch *search, guint sort, const PipesimSums *sums,
	gboolean negative, double *a, double *b);

/** pipesim_sums_left: squares that a + b u leaves of the points. */
double pipesim_sums_left(const PipesimSums *sums, double a, double b);
/** pipesim_sums_spread: squares that their mean leaves. */
double pipesim_sums_spread(const PipesimSums *sums);
/** pipesim_sums_both: of the points of @sums[0] and @sums[1]. */
PipesimSums pipesim_sums_both(const PipesimSums *sums);

/** pipesim_power_score: what is left of the sums, each sort by its time: @seen of each half by itself and, last, of
 * all; @unseen of a half by lines through the other one, of sorts that are split. */
void pipesim_power_score(const PipesimPowerSearch *search, double seen[PIPESIM_FOLDS + 1],
	double unseen[PIPESIM_FOLDS]);

/** pipesim_power_throttle: u of op @i at the running load of @search. @threshold: of a form */
double pipesim_power_throttle(const PipesimPowerSearch *search, guint i, gint threshold);

/** pipesim_power_constant: ns of a step of the lattice of time constants. */
double pipesim_power_constant(gint step);
