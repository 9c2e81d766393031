/* What several formats show of a run, made in one place so that they agree. */
#pragma once
#include "output/output.h"

/** pipesim_figure_activations: @chunks in whole-stage units of @report. */
double pipesim_figure_activations(const PipesimReport *report, guint chunks);
/** pipesim_figure_fraction: num / den. */
double pipesim_figure_fraction(PipesimFraction value);
/** pipesim_figure_extension: how @run goes beyond what its authors describe; NULL where it does
 * not. Belongs to the schedule. */
const char *pipesim_figure_extension(const PipesimRun *run);
/** pipesim_figure_search: what a search says of the order of @run that it found; NULL where
 * none did. Belongs to the run. */
const char *pipesim_figure_search(const PipesimRun *run);
/** pipesim_figure_fixed: appends @value with @decimals, whatever the locale. */
void pipesim_figure_fixed(GString *out, double value, guint decimals);
/** pipesim_figure_short: appends @value with at most @decimals and without zeros at the end. */
void pipesim_figure_short(GString *out, double value, guint decimals);
