/* What steps drawn at random came to, in every format. Each function appends nothing where the
 * comparison has no samples. */
#pragma once
#include "output/table.h"

/** pipesim_samples_title: "200 samples, seed 1: op times are ...". */
void pipesim_samples_title(const PipesimComparison *comparison, GString *out);

/** pipesim_samples_table: percentiles of @runs of @comparison; without @full only those that decide. */
PipesimTable *pipesim_samples_table(
	const PipesimComparison *comparison, const GPtrArray *runs, gboolean full);

/** pipesim_samples_text: a table of its own, its notes, and an empty line. */
void pipesim_samples_text(
	const PipesimComparison *comparison, const PipesimStyle *style, GString *out);

/** pipesim_samples_members, pipesim_samples_members_run: "samples" of the whole, and of a run
 * that has a result. NULL where @json asks for names alone. */
void pipesim_samples_members(PipesimJson *json, const PipesimScenario *scenario);
void pipesim_samples_members_run(
	PipesimJson *json, const PipesimComparison *comparison, const PipesimRun *run);

/** pipesim_samples_columns: of a CSV; empty for a @run without a result. */
void pipesim_samples_columns(
	PipesimJson *csv, const PipesimComparison *comparison, const PipesimRun *run);
