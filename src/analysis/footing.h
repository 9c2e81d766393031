/* On what footing schedules are compared that cut the model into different numbers of stages.
 */
#pragma once
#include "analysis/report.h"

/* The scenario and costs of one run. */
typedef struct {
	PipesimScenario scenario;
	const PipesimCosts *costs; /* @own, or the caller's */
	PipesimCosts *own;
	guint factor; /* stages of a rank that count as one rank's share each; 1 = none do */
} PipesimFooting;

/**
 * pipesim_footing_init: at equal ranks the scenario and costs as they are. At equal stages a
 * schedule with v stages a rank has PP / v ranks, whose share is v times as large: a stage
 * takes as long in every schedule, as in DeepSeek's table.
 * @name: of the schedule, for messages
 * @v: its stages a rank; copies of a stage do not count
 *
 * Returns: FALSE with PIPESIM_ERROR_CONSTRAINT where PP is no multiple of @v, or a slow
 * rank of @costs is none of the PP / v. Ends with pipesim_footing_clear() in any case.
 */
gboolean pipesim_footing_init(PipesimFooting *footing, const char *name, guint v,
	const PipesimScenario *scenario, const PipesimCosts *costs, GError **error);
void pipesim_footing_clear(PipesimFooting *footing);

/** pipesim_footing_parts: where a micro-batch runs in @parts and there are links, makes
 * messages of so many times fewer bytes, and P2P that of the slowest hop. */
void pipesim_footing_parts(PipesimFooting *footing, guint parts);

/** pipesim_footing_units: puts activations of @report into stages of the comparison. */
void pipesim_footing_units(const PipesimFooting *footing, PipesimReport *report);
