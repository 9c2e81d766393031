/* What a search for an order with one stage a rank goes by: the time that each op takes and what a rank may hold. */
#pragma once
#include "model/costs.h"

/* Index of an op's time; as PipesimKind, without those that no search uses. */
typedef enum {
	PIPESIM_PROBLEM_F,
	PIPESIM_PROBLEM_I,
	PIPESIM_PROBLEM_W,
	PIPESIM_PROBLEM_KINDS,
} PipesimProblemKind;

typedef struct {
	guint ranks, microbatches;
	gint64 *time; /* [rank * PIPESIM_PROBLEM_KINDS + kind], ns */
	gint64 p2p;   /* ns */
	/* What a forward takes of a rank's memory, how much of it the backward for
	 * input gives back (the weight gradient gives back the rest), and the most that a rank
	 * may hold; held <= limit. Where costs tell bytes, an activation is divided as these
	 * are, else it is held whole until its weight gradient. */
	gint64 held, freed, limit;
	gboolean
		by_span; /* steps follow each other without a barrier: the span is to be short, not the makespan */
} PipesimProblem;

/** pipesim_problem_init: fills @problem, whose times live in @arena.
 * @shape: its max_activations hold one activation at least
 * Returns: FALSE with PIPESIM_ERROR_LIMIT where there are too many ops or times too long to
 * add up. */
gboolean pipesim_problem_init(PipesimProblem *problem, PipesimArena *arena,
	const PipesimShape *shape, const PipesimTimes *times, GError **error);

/** pipesim_problem_in_flight: most micro-batches that a rank can hold, rounded up to
 * a power of two: what lies between two ranks at a time fits into so many slots. */
guint pipesim_problem_in_flight(const PipesimProblem *problem);

/* Tighter and tighter limits; begins as {0}. */
typedef struct {
	guint n;        /* so far */
	guint64 effort; /* that all but the first may cost, in ops */
} PipesimRungs;

/** pipesim_problem_tighten: makes @problem's limit the next one to search with: the largest
 * rung within it, then the one below. More room is not always used well, so a search also tries
 * less, by rungs that are the same whatever the limit: what it finds is then no worse with more
 * memory. Rungs are halves of an activation up to 128, whole ones up to 256, and from there as
 * fine as a number of 8 bits; all but the first, from 16 ranks on, PP / 32 to PP / 16
 * activations apart. With them PP, and the larger of PP and M, above which nothing is held.
 * @placed: ops of all attempts so far
 * Returns: FALSE where there is none that has room for a forward, or the effort is over. */
gboolean pipesim_problem_tighten(PipesimProblem *problem, PipesimRungs *rungs, guint64 placed);
