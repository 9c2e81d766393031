/* What ranks hold, as far as the order of a program decides it: the ops at which it may be most, counted once,
 * and weighed at any number of costs. */
#pragma once
#include "analysis/report.h"

typedef struct _PipesimFootprint PipesimFootprint;

/* The fullest moment of a rank, bytes; as in PipesimMemory. */
typedef struct {
	gint64 peak, parameters, transient;
} PipesimFullest;

/** pipesim_footprint_new: of @order, a schedule's with loops, whose ops are @program. Rounds of a loop that leave what a rank holds as it was
 * are counted once. */
PipesimFootprint *pipesim_footprint_new(
	const PipesimOrder *order, const PipesimProgram *program);
/** pipesim_footprint_counts: how many micro-batches @rank keeps of each chunk when it holds most: until I, until W, and
 * from the one to the other. @counts: (out caller-allocates): [3 * chunks], the chunks of each one after the other. */
void pipesim_footprint_counts(
	const PipesimFootprint *footprint, const PipesimTimes *times, guint rank, gint *counts);

void pipesim_footprint_free(PipesimFootprint *footprint);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(PipesimFootprint, pipesim_footprint_free)

/**
 * pipesim_footprint_weigh: what pipesim_report_memory() says of each rank where no runtime's list tells of messages.
 * @times: of the shape of the order, with bytes by stage
 * @fullest: (out) (array): by rank
 *
 * Returns: FALSE where sums might not fit, or something stays until the step ends.
 */
gboolean pipesim_footprint_weigh(const PipesimFootprint *footprint, const PipesimTimes *times,
	const PipesimCosts *costs, PipesimFullest *fullest);
