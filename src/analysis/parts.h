/* The parts of a report, one file each. Private to the room; each fills its fields of @report,
 * whose arrays it allocates. */
#pragma once
#include "analysis/report.h"

/* What every part reads. */
typedef struct {
	const PipesimProgram *program;
	const PipesimTimeline *timeline;
	const PipesimSchedule *schedule; /* NULL for a schedule file */
	const PipesimCosts *costs;
	const PipesimTimes *times;
	gint64 memory_limit; /* bytes; 0 = none */
} PipesimSubject;

void pipesim_report_bubble(const PipesimSubject *subject, PipesimReport *report);
/* Needs the bubble. */
void pipesim_report_formulae(const PipesimSubject *subject, PipesimReport *report);
void pipesim_report_memory(const PipesimSubject *subject, PipesimReport *report);
/* The critical path and the lower bound. FALSE with PIPESIM_ERROR_LIMIT. */
gboolean pipesim_report_paths(
	const PipesimSubject *subject, PipesimReport *report, GError **error);
