/* What is said of links, where a run has some. */
#pragma once
#include "base/json.h"
#include "output/output.h"

/** pipesim_links_title: appends a line on the network of @costs; nothing where it has none. */
void pipesim_links_title(const PipesimCosts *costs, guint width, GString *out);

/** pipesim_links_text: appends a row for each run of @comparison, and where there is one run
 * only a row for each of its links (of many the busiest); nothing without links. */
void pipesim_links_text(const PipesimComparison *comparison, guint width,
	const PipesimStyle *style, GString *out);

/** pipesim_links_json: the value of "links": null without. */
void pipesim_links_json(PipesimJson *json, const PipesimRun *run);
