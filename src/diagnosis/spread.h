/* What varies from step to step of a record. */
#pragma once
#include "diagnosis/diagnosis.h"

/* Fewer steps tell nothing of it. */
#define PIPESIM_SPREAD_STEPS  3
#define PIPESIM_N_PERCENTILES 3
static const guint pipesim_percentiles[PIPESIM_N_PERCENTILES] = {50, 90, 99};

/* Times in ns. */
struct _PipesimStepSpread {
	gint64 least, most;
	gint64 percentile
		[PIPESIM_N_PERCENTILES]; /* that so many per cent of the steps do not pass */
	gint64 drift;  /* the median of the last third of the steps against that of the first */
	guint worst;   /* index of the longest step, the first of equals */
	gboolean told; /* why, as follows */
	/* What it lost more than the step of the diagnosis, by cause: together what it took longer; and whom each
	 * comes from most there, -1: none. */
	gint64 more[PIPESIM_N_CAUSES];
	gint rank[PIPESIM_N_CAUSES];
};

/** pipesim_spread_steps: fills that of @diagnosis, which is of @patient, where there are PIPESIM_SPREAD_STEPS. FALSE with
 * PIPESIM_ERROR_LIMIT. */
gboolean pipesim_spread_steps(
	const PipesimPatient *patient, PipesimDiagnosis *diagnosis, GError **error);
