/* Which named range each GPU activity of a profile belongs to. */
#pragma once
#include "measure/profile.h"
#include "measure/range-rules.h"

#define PIPESIM_NO_RANGE G_MAXUINT32

/* A range with a known meaning. */
typedef struct {
	PipesimRange range;
	PipesimRangeMeaning meaning;
} PipesimMarkedRange;

typedef struct {
	GArray *ranges; /* of PipesimMarkedRange, by start */
	guint32 *owner; /* by activity: index into ranges, or PIPESIM_NO_RANGE */
	guint n;        /* activities */
} PipesimAttribution;

/**
 * pipesim_attribute: an activity belongs to the innermost known range that was open, on
 * whichever thread of the host, when it was launched (backward launches come from autograd's
 * thread while the range is open on the main one). Where no activity of the file can be placed
 * so, the ranges on the GPU's own streams decide; what is left goes by the user's rules for
 * kernels, neighbours of one stream with the same meaning forming one range. @rules may be
 * NULL.
 *
 * Returns: (transfer full): for pipesim_attribution_free(); texts are @trace's.
 */
PipesimAttribution *pipesim_attribute(
	const PipesimProfile *profile, const PipesimRangeRules *rules, PipesimTrace *trace);
void pipesim_attribution_free(PipesimAttribution *attribution);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(PipesimAttribution, pipesim_attribution_free)
