/* What the links do to a step. */
#include "config.h"

#include "analysis/losses.h"
#include "analysis/parts.h"
#include "engine/comm.h"
#include "engine/dynamic.h"

static int by_id(gconstpointer a, gconstpointer b)
{
	const PipesimLinkUse *x = a, *y = b;

	return (x->id > y->id) - (x->id < y->id);
}

/* The makespan of the same step with @flags; -1 with @error. */
static gint64 makespan_with(
	const PipesimRun *run, const PipesimLowering *lowering, guint flags, GError **error)
{
	g_autoptr(PipesimTimeline) timeline =
		lowering != NULL ? pipesim_comm_run_links(
					   lowering, run->times, run->network, flags, error)
				 : pipesim_dynamic_run(run->program, run->times, run->network,
					   flags, error);

	return timeline != NULL ? timeline->makespan : -1;
}

gboolean pipesim_run_losses(PipesimRun *run, const PipesimLowering *lowering, GError **error)
{
	const guint none = PIPESIM_NO_SLOWDOWN | PIPESIM_NO_QUEUES;
	gint64 as_fast = run->timeline->makespan, unlimited;

	if (pipesim_network_slows(run->network))
		as_fast = makespan_with(run, lowering, PIPESIM_NO_SLOWDOWN, error);
	if (as_fast < 0)
		return FALSE;
	unlimited = makespan_with(run, lowering, none, error);
	run->timeline->traffic->queueing = as_fast - unlimited;
	run->timeline->traffic->slowing = run->timeline->makespan - as_fast;
	return unlimited >= 0;
}

void pipesim_report_links(const PipesimSubject *subject, PipesimReport *report)
{
	const PipesimTraffic *traffic =
		subject->program != NULL ? subject->timeline->traffic : NULL;
	PipesimLinkReport *links;

	if (traffic == NULL)
		return;
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
	links->queueing = traffic->queueing;
	links->slowing = traffic->slowing;
}

void pipesim_link_report_free(PipesimLinkReport *links)
{
	if (links == NULL)
		return;
	g_free(links->link);
	g_free(links);
}
