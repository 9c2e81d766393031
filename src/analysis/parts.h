/* The parts of a report, one file each. Private to the room; each fills its fields of @report,
 * whose arrays it allocates. Those that can fail do so with PIPESIM_ERROR_LIMIT. */
#pragma once
#include "analysis/report.h"

/* The period of steps without a barrier, where these are asked for. */
gboolean pipesim_report_period(
	const PipesimSubject *subject, PipesimReport *report, GError **error);
/* Needs the bubble. */
void pipesim_report_formulae(const PipesimSubject *subject, PipesimReport *report);
gboolean pipesim_report_memory(
	const PipesimSubject *subject, PipesimReport *report, GError **error);
/* What is held besides activations and parameters. Needs what chunks hold: called by
 * pipesim_report_memory(). */
gboolean pipesim_report_besides(
	const PipesimSubject *subject, PipesimReport *report, GError **error);
/* The critical path, where there are ops, and the lower bound. Needs the bubble. */
gboolean pipesim_report_critical(
	const PipesimSubject *subject, PipesimReport *report, GError **error);
/* What links do, where the step ran over a network. */
gboolean pipesim_report_links(
	const PipesimSubject *subject, PipesimReport *report, GError **error);
/* What waiting for messages costs, where a runtime's rules ran and times of ops are there. */
gboolean pipesim_report_comm(
	const PipesimSubject *subject, PipesimReport *report, GError **error);
/* What power, contention and hosts cost or save, where the costs know them. */
gboolean pipesim_report_power(
	const PipesimSubject *subject, PipesimReport *report, GError **error);
/* Tokens and FLOPs per second, where a described model has times. */
void pipesim_report_training(const PipesimSubject *subject, PipesimReport *report);
