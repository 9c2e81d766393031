/* What a calibration measured, as text. */
#pragma once
#include "measure/calibrate.h"

/** pipesim_calibration_table: a line a component and phase of one layer, then the times of a
 * rank's share, all in ms, appended to @out. @full: percentiles, autocorrelation, moving and
 * waiting, interference and the line through the rows too. */
void pipesim_calibration_table(
	const PipesimCalibration *calibration, gboolean full, GString *out);
