#include "config.h"

#include "effects/lines.h"

void pipesim_sums_line(const PipesimSums *sums, gboolean negative, double *a, double *b)
{
	const double spread = sums->n * sums->uu - sums->u * sums->u;

	*b = spread > 1e-9 * sums->n * sums->n
		     ? (sums->n * sums->du - sums->u * sums->d) / spread
		     : 0;
	if (*b < 0 && !negative)
		*b = 0;
	*a = sums->n > 0 ? (sums->d - *b * sums->u) / sums->n : 1;
}

void pipesim_sums_from(
	const PipesimSums *sums, double d, gboolean negative, double *a, double *b)
{
	*b = sums->uu > 1e-9 * sums->n ? (sums->du - d * sums->u) / sums->uu : 0;
	if (*b < 0 && !negative)
		*b = 0;
	*a = *b == 0 && sums->n > 0 ? sums->d / sums->n : d;
}

double pipesim_sums_left(const PipesimSums *sums, double a, double b)
{
	const double squares = sums->dd - 2 * a * sums->d - 2 * b * sums->du +
			       2 * a * b * sums->u + a * a * sums->n + b * b * sums->uu;

	return MAX(squares, 0);
}

double pipesim_sums_spread(const PipesimSums *sums)
{
	return sums->n > 0 ? pipesim_sums_left(sums, sums->d / sums->n, 0) : 0;
}

PipesimSums pipesim_sums_both(const PipesimSums *s)
{
	return (PipesimSums){s[0].n + s[1].n, s[0].u + s[1].u, s[0].uu + s[1].uu,
		s[0].d + s[1].d, s[0].du + s[1].du, s[0].dd + s[1].dd};
}
