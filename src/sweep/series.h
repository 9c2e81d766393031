/* How each schedule is drawn in pictures of sweeps: alike in all of them, families alike. */
#pragma once
#include "base/base.h"

typedef struct {
	const char *name;   /* of the schedule */
	const char *colour; /* "#RRGGBB": of its family */
	guint dash, point;  /* gnuplot's dashtype and pointtype */
} PipesimSeries;

/** pipesim_series: the style of schedule @name; "interleaved-1f1b:3" is as interleaved-1f1b.
 * @index: place among those drawn; what tells files apart, which have no style of their own, and
 *   variants of a schedule */
PipesimSeries pipesim_series(const char *const *names, guint index);

/** pipesim_series_akin: whether two schedules are of one family. */
gboolean pipesim_series_akin(const char *const *names, guint a, guint b);

/** pipesim_series_tint: the colour of an area, light enough for black letters, other than that of
 * the others of the family; "#RRGGBB" in @out, which it returns. */
const char *pipesim_series_tint(const PipesimSeries *series, char out[8]);
