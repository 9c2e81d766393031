/* What a table cannot say: why a formula differs, where a run goes beyond its authors. */
#pragma once
#include "output/output.h"

/**
 * pipesim_notes: appends one wrapped paragraph each, the names of the schedules before it. What
 * holds for several schedules is said once.
 */
void pipesim_notes(const PipesimComparison *comparison, guint width, GString *out);

/** pipesim_comm_title: appends a line that says how messages wait; nothing where they do not.
 */
void pipesim_comm_title(const PipesimComparison *comparison, guint width, GString *out);
