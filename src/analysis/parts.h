/* The parts of a report, one file each. Private to the room; each fills its fields of @report,
 * whose arrays it allocates. */
#pragma once
#include "analysis/report.h"

void pipesim_report_bubble(const PipesimSubject *subject, PipesimReport *report);
/* Needs the bubble. */
void pipesim_report_formulae(const PipesimSubject *subject, PipesimReport *report);
void pipesim_report_memory(const PipesimSubject *subject, PipesimReport *report);
/* The lower bound from the order alone. FALSE where pairs couple its micro-batches, or there is
 * no closed order. Needs the bubble. */
gboolean pipesim_report_bound(const PipesimSubject *subject, PipesimReport *report);
/* The same from the data dependencies of all ops: for any program. FALSE with
 * PIPESIM_ERROR_LIMIT. */
gboolean pipesim_report_search_bound(
	const PipesimSubject *subject, PipesimReport *report, GError **error);
/* What links do, where the step ran over a network. */
void pipesim_report_links(const PipesimSubject *subject, PipesimReport *report);
void pipesim_link_report_free(PipesimLinkReport *links);
/* The critical path, and the lower bound where it is not known yet. FALSE with
 * PIPESIM_ERROR_LIMIT. */
gboolean pipesim_report_paths(
	const PipesimSubject *subject, PipesimReport *report, GError **error);
