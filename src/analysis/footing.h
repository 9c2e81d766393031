/* On what footing schedules are compared that cut the model into different numbers of
 * stages. */
#pragma once
#include "model/costs.h"

/* The scenario and costs of one run. */
typedef struct {
	PipesimScenario scenario;  /* at equal ranks */
	const PipesimCosts *costs; /* @own, or the caller's */
	PipesimCosts *own;
	guint factor; /* stages of a rank that count as one rank's share each; 1 = none do */
} PipesimFooting;

/** pipesim_footing_init: at equal ranks @scenario and @costs as they are. At equal stages a
 * schedule with @v stages a rank, copies aside, has PP / v ranks, whose share is v times as
 * large: a stage takes as long in every schedule, as in DeepSeek's table. FALSE with
 * PIPESIM_ERROR_CONSTRAINT, which begins with @name, where PP is no multiple of @v, or a slow
 * rank of @costs is none of the PP / v. footing->own is to be freed in any case. */
gboolean pipesim_footing_init(PipesimFooting *footing, const char *name, guint v,
	const PipesimScenario *scenario, const PipesimCosts *costs, GError **error);
