/* What the links do to a step. */
#include "analysis/parts.h"

PIPESIM_COMPARE(by_id, PipesimLinkUse, pipesim_by(id))

/* The makespan of the same step with @flags; -1 with @error. */
static gint64 makespan_with(const PipesimStep *step, guint flags, GError **error)
{
	g_autoptr(PipesimTimeline) timeline =
		pipesim_step_again(step, step->job.times, flags, error);

	return timeline != NULL ? timeline->makespan : -1;
}

gboolean pipesim_report_links(
	const PipesimSubject *subject, PipesimReport *report, GError **error)
{
	const PipesimStep *step = subject->step;
	const PipesimTraffic *traffic = step->timeline != NULL ? step->timeline->traffic : NULL;
	gint64 as_fast = step->makespan, unlimited;
	PipesimLinkReport *links;

	if (traffic == NULL)
		return TRUE;
	links = report->links = g_new0(PipesimLinkReport, 1);
	links->n = traffic->links->len;
	links->link = g_memdup2(traffic->links->data, links->n * sizeof *links->link);
	if (links->n > 0)
		qsort(links->link, links->n, sizeof *links->link, by_id);
	links->messages = traffic->messages;
	links->waited = traffic->waited;
	links->longest = traffic->longest;
	for (guint i = 1; i < links->n; i++)
		if (links->link[i].busy > links->link[links->busiest].busy)
			links->busiest = i;
	if (pipesim_network_slows(step->job.network))
		as_fast = makespan_with(step, PIPESIM_NO_SLOWDOWN, error);
	if (as_fast < 0)
		return FALSE;
	unlimited = makespan_with(step, PIPESIM_NO_SLOWDOWN | PIPESIM_NO_QUEUES, error);
	links->queueing = as_fast - unlimited;
	links->slowing = step->makespan - as_fast;
	return unlimited >= 0;
}
