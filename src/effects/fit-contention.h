/* What a receive that waits, and a message that moves, cost the ops beside them. */
#pragma once
#include "measure/trace.h"

/* One component and phase beside one thing, over all ranks and stages. */
typedef struct {
	const char *component;
	guint8 phase;
	gboolean moving;  /* beside a message; else beside a receive that waits */
	const char *impl; /* whose receive or message; "" = not told */
	gint64 sms;       /* that it holds; PIPESIM_UNKNOWN = not told */
	gint64 bytes;     /* of the message; PIPESIM_UNKNOWN of a receive */
	gint64 alone;     /* median of the op alone, ns; mean over ranks and stages */
	gint64 ratio;     /* beside it against alone, ppm */
	guint n;          /* repetitions beside it */
} PipesimContentionPart;

typedef struct {
	GArray *parts; /* of PipesimContentionPart, in order of first appearance */
	guint lonely;  /* rows beside something that was never measured alone */
	/* Which receive and which message count: NCCL's where it was measured, else what holds most SMs; of messages
	 * the size nearest to the one asked for. NULL: none. */
	const char *impl[2]; /* [moving] */
	gint64 sms[2], bytes;
	GStringChunk *strings; /* theirs */
} PipesimContentionFit;

/** pipesim_contention_fit: from the rows of series resident and moving of @traces that are of
 * status ok: the ratio of the median beside something to the median alone, on each rank and of
 * each stage by itself. Alone of a stage's op beside a receive is its sustained time, of rows
 * without a series, where there are such: costs carry that.
 * @bytes: of a pipeline message; PIPESIM_UNKNOWN = the largest
 * @sms: the receive counts that is nearest to so many; 0 = as above
 * Returns: (transfer full): for pipesim_contention_fit_free(). */
PipesimContentionFit *pipesim_contention_fit(
	PipesimTrace *const *traces, guint n, gint64 bytes, gint64 sms);
PIPESIM_FREED(PipesimContentionFit, pipesim_contention_fit_free)

/** pipesim_contention_find: of @component and @phase beside the receive, or the message, that counts; NULL where it
 * was not measured. */
const PipesimContentionPart *pipesim_contention_find(
	const PipesimContentionFit *fit, const char *component, guint phase, gboolean moving);
