#include "config.h"

#include "analysis/family.h"
#include "analysis/footprint.h"
#include "analysis/parts.h"
#include "analysis/plan.h"
#include "engine/lanes.h"
#include "model/split.h"
#include <math.h>

/* Ops of an order that is run op by op: what repeats in a longer one is leapt over instead. */
#define MOST_OPS 65536

struct _PipesimFamily {
	const PipesimSchedule *schedule;
	PipesimScenario scenario;
	guint expected;
	GMutex lock; /* of what follows, until it is made */
	gboolean is_made;
	/* All NULL where candidates are run one by one. */
	PipesimOrder *order;
	PipesimProgram *program;
	PipesimLanes *lanes;
	PipesimFootprint *footprint;
};

PipesimFamily *pipesim_family_new(
	const PipesimSchedule *schedule, const PipesimScenario *scenario, guint expected)
{
	PipesimFamily *family = g_new0(PipesimFamily, 1);

	family->schedule = schedule;
	family->scenario = *scenario;
	family->expected = expected;
	g_mutex_init(&family->lock);
	return family;
}

void pipesim_family_forget(PipesimFamily *family)
{
	g_clear_pointer(&family->footprint, pipesim_footprint_free);
	g_clear_pointer(&family->lanes, pipesim_lanes_free);
	g_clear_pointer(&family->program, pipesim_program_unref);
	g_clear_pointer(&family->order, pipesim_order_unref);
	family->is_made = FALSE;
}

void pipesim_family_free(PipesimFamily *family)
{
	if (family == NULL)
		return;
	pipesim_family_forget(family);
	g_mutex_clear(&family->lock);
	g_free(family);
}

guint64 pipesim_family_ops(const PipesimFamily *family)
{
	return family->program != NULL ? family->program->n_ops : 0;
}

/* Whether a longest path over one order tells all that is asked. */
static gboolean can_share(const PipesimFamily *family)
{
	const PipesimScenario *scenario = &family->scenario;

	return family->expected > 1 && !pipesim_schedule_is_search(family->schedule) &&
	       !pipesim_runtime_waits(
		       pipesim_runtime_resolve(scenario->runtime, family->schedule->runtime)) &&
	       scenario->samples == 0 && scenario->compare_at == PIPESIM_AT_RANKS;
}

static void make(PipesimFamily *family, const PipesimShape *shape, const PipesimTimes *times,
	const PipesimCosts *costs)
{
	family->is_made = TRUE;
	if (!can_share(family))
		return;
	family->order = pipesim_plan_order(
		family->schedule, shape, times, &family->scenario, costs, NULL);
	if (family->order == NULL || family->order->program != NULL ||
		family->order->n_ops > MOST_OPS)
		return;
	family->program = pipesim_order_expand(family->order, NULL);
	if (family->program == NULL)
		return;
	family->lanes = pipesim_lanes_new(family->program, NULL);
	if (family->lanes != NULL)
		family->footprint = pipesim_footprint_new(family->order, family->program);
}

/* Whether nothing of @costs hangs on when an op runs. */
static gboolean is_plain(const PipesimCosts *costs)
{
	return costs->network == NULL && costs->power == NULL && costs->residence == NULL &&
	       costs->launch == NULL && costs->op_times == NULL && costs->cutter != NULL;
}

/* One by one --------------------------------------------------------------------------- */

static void take_run(const PipesimRun *run, PipesimBrief *brief)
{
	const PipesimReport *report = run->report;
	guint fullest = 0;

	if (run->error != NULL)
		return;
	brief->makespan = report->makespan;
	brief->step = report->training.step;
	brief->tokens = report->training.tokens;
	brief->mfu = report->training.mfu;
	brief->bubble =
		(double)report->bubble.ratio.num / (double)MAX(report->bubble.ratio.den, 1);
	brief->fits = report->memory.fits;
	if (report->memory.peak == NULL)
		return;
	for (guint rank = 1; rank < report->ranks; rank++)
		if (report->memory.peak[rank] > report->memory.peak[fullest])
			fullest = rank;
	brief->fullest = fullest;
	brief->memory = report->memory.max;
	brief->parameters = report->memory.parameters[fullest];
	brief->transient = report->memory.transient[fullest];
}

static void run_each(const PipesimFamily *family, const PipesimCosts *const *costs, guint n,
	PipesimBrief *briefs)
{
	g_autofree PipesimPoint *points = g_new(PipesimPoint, n);
	g_autofree PipesimRun **runs = g_new(PipesimRun *, n);

	for (guint i = 0; i < n; i++)
		points[i] = (PipesimPoint){&family->scenario, costs[i]};
	pipesim_run_points(family->schedule, points, n, runs);
	for (guint i = 0; i < n; i++) {
		take_run(runs[i], &briefs[i]);
		pipesim_run_free(runs[i]);
	}
}

/* Side by side ------------------------------------------------------------------------- */

static void take_step(const PipesimFamily *family, const PipesimStep *step,
	const PipesimCosts *costs, const PipesimFullest *ranks, PipesimBrief *brief)
{
	const PipesimSubject subject = {
		.step = step, .schedule = family->schedule, .costs = costs};
	PipesimReport report = {
		.ranks = family->program->shape.ranks, .makespan = step->makespan};
	const gint64 limit = family->scenario.memory_limit;
	double idle = 0;
	guint fullest = 0;

	pipesim_report_training(&subject, &report);
	for (guint rank = 0; rank < report.ranks; rank++) {
		idle += (double)(step->makespan - step->busy[rank]);
		if (ranks[rank].peak > ranks[fullest].peak)
			fullest = rank;
	}
	*brief = (PipesimBrief){.makespan = step->makespan,
		.step = report.training.step,
		.tokens = report.training.tokens,
		.mfu = report.training.mfu,
		.bubble = idle / ((double)MAX(step->makespan, 1) * report.ranks),
		.fullest = fullest,
		.memory = ranks[fullest].peak,
		.parameters = ranks[fullest].parameters,
		.transient = ranks[fullest].transient,
		.fits = limit == 0 || ranks[fullest].peak <= limit};
}

/* FALSE where they are to be run one by one. */
static gboolean run_lanes(const PipesimFamily *family, const PipesimCosts *const *costs,
	guint n, PipesimBrief *briefs)
{
	const guint ranks = family->program->shape.ranks;
	g_autofree PipesimStep *room = g_new0(PipesimStep, n);
	g_autofree PipesimStep **steps = g_new(PipesimStep *, n);
	g_autofree gint64 *figures = g_new0(gint64, (gsize)n * 3 * ranks);
	g_autofree PipesimFullest *fullest = g_new(PipesimFullest, ranks);
	gboolean ok;

	for (guint i = 0; i < n; i++) {
		gint64 *own = &figures[(gsize)i * 3 * ranks];

		room[i] = (PipesimStep){
			.job = {.order = family->order,
				.times = pipesim_times_new(costs[i], &family->program->shape)},
			.busy = own,
			.first_start = own + ranks,
			.last_end = own + 2 * ranks};
		steps[i] = &room[i];
	}
	ok = pipesim_lanes_run(family->lanes, steps, n);
	for (guint i = 0; i < n; i++) {
		ok = ok && pipesim_footprint_weigh(
				   family->footprint, room[i].job.times, costs[i], fullest);
		if (ok)
			take_step(family, &room[i], costs[i], fullest, &briefs[i]);
		pipesim_times_free((PipesimTimes *)room[i].job.times);
	}
	return ok;
}

void pipesim_family_run(
	PipesimFamily *family, const PipesimCosts *const *costs, guint n, PipesimBrief *briefs)
{
	gboolean plain = TRUE;
	PipesimShape shape;

	for (guint i = 0; i < n; i++) {
		briefs[i] = (PipesimBrief){.mfu = (double)NAN};
		plain &= is_plain(costs[i]);
	}
	if (!pipesim_schedule_shape(family->schedule, &family->scenario, &shape, NULL))
		return;
	for (guint i = 0; i < n; i++)
		plain = plain && pipesim_split_check(costs[i], &shape, NULL);
	g_mutex_lock(&family->lock);
	if (!family->is_made && plain) {
		g_autoptr(PipesimTimes) times = pipesim_times_new(costs[0], &shape);

		make(family, &shape, times, costs[0]);
	}
	g_mutex_unlock(&family->lock);
	if (!plain || family->footprint == NULL || !run_lanes(family, costs, n, briefs))
		run_each(family, costs, n, briefs);
}
