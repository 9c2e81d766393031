/* The same answer by another way: the longest path over the graph of dependencies, read from
 * the text of a schedule file alone. It shares nothing with the engine but the durations. */
#pragma once
#include "model/costs.h"

typedef struct {
	guint n_cells;
	gint64 *start, *end; /* by cell, in the order of the text */
	gint64 makespan;
	gboolean cyclic; /* then there are no times */
} Oracle;

/** oracle_new: @csv must hold a complete schedule; one line a rank. */
Oracle *oracle_new(const char *csv, const PipesimTimes *times);
void oracle_free(Oracle *oracle);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(Oracle, oracle_free)
