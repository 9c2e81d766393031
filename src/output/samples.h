/* What steps drawn at random came to, in every format. Each function appends nothing where the
 * comparison has no samples. */
#pragma once
#include "base/json.h"
#include "output/output.h"

/** pipesim_samples_text: a table of its own, its notes, and an empty line. */
void pipesim_samples_text(
	const PipesimComparison *comparison, const PipesimStyle *style, GString *out);

/** pipesim_samples_json, pipesim_samples_json_run: the key "samples" of the whole, and of a run
 * that has a result. */
void pipesim_samples_json(const PipesimComparison *comparison, PipesimJson *json);
void pipesim_samples_json_run(
	const PipesimComparison *comparison, const PipesimRun *run, PipesimJson *json);

/** pipesim_samples_csv_titles, pipesim_samples_csv_run: ",title" and ",value" of each column;
 * empty values for a run without a result. */
void pipesim_samples_csv_titles(const PipesimComparison *comparison, GString *out);
void pipesim_samples_csv_run(
	const PipesimComparison *comparison, const PipesimRun *run, GString *out);
