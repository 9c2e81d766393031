#include "order/build.h"
#include "base/phases.h"

void pipesim_build(const PipesimInstance *x, guint8 *codes)
{
	const guint ways = x->shape.copies;

	for (guint rank = 0; rank < x->ranks; rank++)
		for (guint k = 0; k < x->count * ways; k++)
			for (guint i = 0; i < x->chunks * x->kinds; i++) {
				/* Chunks lie in the order of their stages; of pipelines each has one. */
				const guint n = ways > 1 ? 1 : x->chunks;
				guint chunk = ways > 1 ? k % ways : i;
				guint kind = F;

				if (i >= n * x->kinds)
					break;
				if (i >= n) {
					chunk = ways > 1 ? k % ways
							 : n - 1 - (i - n) / (x->kinds - 1);
					kind = I + (i - n) % (x->kinds - 1);
				}
				*codes = (guint8)(chunk * x->kinds + kind);
				if (kind == I &&
					pipesim_instance_is_leaner(
						x, pipesim_instance_lane(x, rank, chunk)) &&
					x->whole != NULL)
					*codes |= PIPESIM_CODE_JOINED;
				codes++;
			}
}
