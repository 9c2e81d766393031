/* How far a search has come in what it may take. */
#pragma once
#include <glib.h>

/** pipesim_effort_part: of @most looks @done, and of the time from @began to @deadline
 * (g_get_monotonic_time()): the part that is over of whichever is further. 0 as @most or @deadline: that does not count. */
static inline double pipesim_effort_part(
	guint64 done, guint64 most, gint64 began, gint64 deadline)
{
	double part = most > 0 ? (double)done / (double)most : 0;

	if (deadline > 0) {
		const double took = (double)(g_get_monotonic_time() - began);

		part = MAX(part, took / (double)MAX(deadline - began, 1));
	}
	return part;
}
