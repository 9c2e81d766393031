#include "config.h"

#include "model/parts.h"

__extension__ typedef __int128 Wide;

gint64 pipesim_parts_sum(
	const PipesimParts *parts, const PipesimTimes *times, guint stage, guint pieces)
{
	const guint64 *first = times->first_layer;
	const guint64 whole = first != NULL ? first[times->stages] : times->stages;
	/* In @whole-ths of a part. */
	const guint64 begin = (first != NULL ? first[stage] : stage) * parts->n;
	const guint64 end = (first != NULL ? first[stage + 1] : stage + 1) * parts->n;
	const Wide divisor = (Wide)whole * pieces;
	Wide total = 0;

	for (guint64 i = begin / whole; i * whole < end; i++) {
		const guint64 overlap = MIN(end, (i + 1) * whole) - MAX(begin, i * whole);

		total += (Wide)parts->first[i * parts->step] * overlap;
	}
	total = (total + divisor / 2) / divisor;
	return total > G_MAXINT64 ? G_MAXINT64 : (gint64)total;
}
