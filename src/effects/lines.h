/* Lines d = a + b u through measured points, from sums over them. */
#pragma once
#include <glib.h>

typedef struct {
	double n, u, uu, d, du, dd;
} PipesimSums;

/** pipesim_sums_line: by least squares; @negative: b may be below 0. b is 0 where all u are alike, a 1 where
 * there is no point. */
void pipesim_sums_line(const PipesimSums *sums, gboolean negative, double *a, double *b);

/** pipesim_sums_from: the same, of lines that begin at @d; where b is 0, a is the mean. */
void pipesim_sums_from(
	const PipesimSums *sums, double d, gboolean negative, double *a, double *b);

/** pipesim_sums_left: squares that a + b u leaves of the points. */
double pipesim_sums_left(const PipesimSums *sums, double a, double b);

/** pipesim_sums_spread: squares that their mean leaves. */
double pipesim_sums_spread(const PipesimSums *sums);

/** pipesim_sums_both: of the points of @sums[0] and @sums[1]. */
PipesimSums pipesim_sums_both(const PipesimSums *sums);
