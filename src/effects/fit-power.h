/* How the time of an op depends on what its chip did before: the governor that keeps a chip at its power limit. */
#pragma once
#include "effects/history.h"

/* Why a series gives no figures. */
typedef enum {
	PIPESIM_POWER_FITTED,
	PIPESIM_POWER_ABSENT,      /* no such series */
	PIPESIM_POWER_FEW_OPS,     /* too few to fit anything to */
	PIPESIM_POWER_NO_PAUSES,   /* the chip never had nothing to do */
	PIPESIM_POWER_NO_WORK,     /* never long enough at work to be sustained */
	PIPESIM_POWER_INDEPENDENT, /* ops take as long whatever was before: k = 0 */
} PipesimPowerVerdict;

/* One component and phase, over all ranks and stages. */
typedef struct {
	const char *component;
	guint8 phase;
	gint64 sustained;     /* that it takes at u = 1, ns; mean over its sorts */
	gint64 full_speed;    /* time at full clock against sustained, ppm; at most a million */
	gint64 load;          /* that it draws against the mix, ppm */
	gint64 before, after; /* root mean square off its mean, and off the fit; ppm */
	gint64 reversed; /* that it takes longer rested than loaded, ppm; 0 = it does not */
	gint64 bent;     /* most that a third of the range of u is off the line, ppm */
	guint n;         /* ops */
} PipesimPowerPart;

/* ppm = millionths. Of a verdict other than PIPESIM_POWER_FITTED and _INDEPENDENT only counts are valid. */
typedef struct {
	PipesimPowerVerdict verdict;
	gint64 time_constant; /* ns: the running load of a rank is an exponential mean of what it drew */
	gint64 threshold;    /* ppm */
	gint64 waiting_load; /* ppm; PIPESIM_UNKNOWN: the series has no waiting receive */
	gint64 explained;    /* of the variance of durations, ppm */
	gint64 held_out; /* the same of bursts that the fit did not see, ppm; may be below 0 */
	gint64 before,
		after; /* root mean square off the means of sorts, and off the fit; ppm */
	gint64 rested_clock,
		loaded_clock; /* MHz, medians; PIPESIM_UNKNOWN: not in the series */
	gint64 loaded_power;  /* mW, median */
	/* Outliers are left out: single ops, and stretches in which a chip ran far slower than the
	 * form says, as chips do for a fifth of a second when they drew too much. */
	guint ops, first_ops, outliers, slow_outliers, runs, bursts, ranks;
	GArray *parts;         /* of PipesimPowerPart, in order of first appearance */
	GStringChunk *strings; /* theirs */
} PipesimPowerFit;

/** pipesim_power_fit: to @histories, by least squares over all ops: of each sort a + b u, where
 * u = clamp((x - threshold) / (1 - threshold), 0, 1), x the running load in the middle of the
 * op. The line begins at the mean of the ops that had rested most, which ran at full clock,
 * and, where sustained times are means, ends at the one that rows of no series tell of the same
 * op: both were seen, and no form moves them. Time constant and threshold are searched on a
 * grid, then refined on a lattice; loads by kind are other than 1 only where bursts that the
 * fit did not see are told better by them (each half of the bursts in turn; Thue-Morse
 * sequence). Loads are such that they average to 1 over the time of a micro-batch.
 * Tuned on the steps of docs/accuracy.md, mean and largest error of H200s and of an H100: 0.74
 * %, 1.5 % and 1.03 %, 2.4 %. With a second, slower mean 0.72 %, 1.5 % and 2.21 %, 6.4 %;
 * without loads by kind 0.69 %, 1.7 % and 1.99 %, 4.9 %; without ends that were seen 0.81 %,
 * 2.4 % and 0.69 %, 1.4 %; with slow outliers 0.75 %, 1.5 % and 1.32 %, 3.8 %.
 * @means: sustained times are means, as those of costs
 * @whole: component whose phases are a micro-batch, as "layer"; NULL: all of them are
 * Returns: (transfer full): for pipesim_power_fit_free(). */
PipesimPowerFit *pipesim_power_fit(
	const PipesimHistories *histories, gboolean means, const char *whole);
PIPESIM_FREED(PipesimPowerFit, pipesim_power_fit_free)

/** pipesim_power_find: of @component and @phase, with ops that were fitted; NULL where there is none. */
const PipesimPowerPart *pipesim_power_find(
	const PipesimPowerFit *fit, const char *component, guint phase);
