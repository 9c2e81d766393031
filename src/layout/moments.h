/* What ranks hold, as far as their ops or a runtime's list of them decide that: the moments at which it may be most, counted
 * once, and weighed at any number of costs. */
#pragma once
#include "analysis/report.h"

typedef struct _PipesimMoments PipesimMoments;

/* The fullest moment of a rank, bytes; as in PipesimMemory. */
typedef struct {
	gint64 peak, parameters, transient;
} PipesimFullest;

/** pipesim_moments_new: of @step, which has ops and a list. (transfer full): NULL where counts do not tell: buffers that take
 * in activations, more chunks than there are digits, or no memory. */
PipesimMoments *pipesim_moments_new(const PipesimStep *step, const PipesimCosts *costs);

/** pipesim_moments_of: of @program, where no list tells of messages. (transfer full): NULL where that has too many
 * micro-batches. */
PipesimMoments *pipesim_moments_of(const PipesimProgram *program);
void pipesim_moments_free(PipesimMoments *moments);

/** pipesim_moments_weigh: into @fullest, by rank, what pipesim_report_memory() says of a step of the same list at @times. FALSE
 * where @moments do not tell. */
gboolean pipesim_moments_weigh(const PipesimMoments *moments, const PipesimTimes *times,
	const PipesimCosts *costs, PipesimFullest *fullest);

/** pipesim_moments_counts: how many micro-batches @rank keeps of each chunk at its fullest moment, of those of a program: until
 * I, until W, from the one to the other. @counts: (out caller-allocates): [3 * chunks]. */
void pipesim_moments_counts(
	const PipesimMoments *moments, const PipesimTimes *times, guint rank, gint *counts);
