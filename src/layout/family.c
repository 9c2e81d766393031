#include "layout/family.h"
#include "analysis/best-order.h"
#include "analysis/parts.h"
#include "engine/lanes.h"
#include "layout/moments.h"
#include "model/split.h"

/* Families ------------------------------------------------------------------------------- */

/* Ops of an order that is run op by op: what repeats in a longer one is leapt over instead. */
#define MOST_OPS 65536

/* Patterns of stages that hold nothing between I and W, of a family. */
#define PATTERNS 4

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
	/* Or under a runtime's rules, besides the order. */
	PipesimShared *shared;
	PipesimMoments *moments[PATTERNS]; /* the first are there; without a runtime one is */
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
	for (guint i = 0; i < PATTERNS; i++)
		g_clear_pointer(&family->moments[i], pipesim_moments_free);
	g_clear_pointer(&family->shared, pipesim_shared_free);
	g_clear_pointer(&family->lanes, pipesim_lanes_free);
	g_clear_pointer(&family->program, pipesim_program_unref);
	g_clear_pointer(&family->order, pipesim_order_unref);
	family->is_made = FALSE;
}

PIPESIM_FREES(PipesimFamily, pipesim_family_free, family)
{
	pipesim_family_forget(family);
	g_mutex_clear(&family->lock);
	g_free(family);
}

guint64 pipesim_family_ops(const PipesimFamily *family)
{
	return family->program != NULL || family->shared != NULL ? family->order->n_ops : 0;
}

/* Whether all run side by side with messages that wait for nothing. */
static gboolean is_free(const PipesimFamily *family)
{
	return family->program != NULL && family->moments[0] != NULL;
}

static const PipesimRuntime *runtime_of(const PipesimFamily *family)
{
	return pipesim_runtime_resolve(family->scenario.runtime, family->schedule->runtime);
}

static PipesimJob job_of(const PipesimFamily *family, const PipesimTimes *times)
{
	const PipesimRuntime *runtime = runtime_of(family);

	return (PipesimJob){.order = family->order,
		.times = times,
		.runtime = runtime,
		.issuing = pipesim_runtime_asked(runtime, &family->scenario.issuing)};
}

/* What candidates share, where a longest path over one order tells all that is asked. */
static void make(PipesimFamily *family, const PipesimShape *shape, const PipesimTimes *times,
	const PipesimCosts *costs)
{
	const PipesimScenario *scenario = &family->scenario;

	family->is_made = TRUE;
	/* Lanes have the times of stages, not of slices that differ. */
	if (family->expected < 2 || times->each != NULL ||
		pipesim_schedule_goes_by_times(family->schedule) || scenario->samples > 0 ||
		scenario->compare_at != PIPESIM_AT_RANKS)
		return;
	family->order =
		pipesim_best_order(family->schedule, shape, times, scenario, costs, NULL);
	if (family->order == NULL || family->order->program != NULL ||
		family->order->n_ops > MOST_OPS)
		return;
	if (pipesim_runtime_waits(runtime_of(family))) {
		const PipesimJob job = job_of(family, times);

		family->shared = pipesim_shared_new(&job);
		return;
	}
	family->program = pipesim_order_expand(family->order, NULL);
	if (family->program == NULL)
		return;
	family->lanes = pipesim_lanes_new(family->program, NULL);
	if (family->lanes != NULL)
		family->moments[0] = pipesim_moments_of(family->program);
}

/* Whether nothing of @costs hangs on when an op runs. */
static gboolean is_plain(const PipesimCosts *costs)
{
	return costs->network == NULL && costs->power == NULL && costs->contention == NULL &&
	       costs->launch == NULL && costs->op_times == NULL && costs->cutter != NULL &&
	       !costs->post_validation;
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
	if (report->period != NULL) {
		brief->makespan =
			MAX(report->period->found.time - report->period->optimizer, 1);
		brief->bubble *= (double)report->period->found.time / (double)brief->makespan;
	}
	brief->fits = report->memory.fits;
	if (report->memory.peak == NULL)
		return;
	for (guint rank = 1; rank < report->ranks; rank++)
		if (report->memory.peak[rank] > report->memory.peak[fullest])
			fullest = rank;
	brief->fullest = fullest;
	brief->memory = report->memory.max;
	brief->parameters = report->memory.parameters[fullest];
	brief->transient = report->memory.fullest[fullest].part[PIPESIM_HELD_TRANSIENT];
}

/* Side by side ------------------------------------------------------------------------- */

static void take_step(const PipesimFamily *family, const PipesimStep *step,
	const PipesimCosts *costs, const PipesimFullest *ranks, PipesimBrief *brief)
{
	const PipesimSubject subject = {
		.step = step, .schedule = family->schedule, .costs = costs};
	PipesimReport report = {
		.ranks = family->order->shape.ranks, .makespan = step->makespan};
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
	gboolean ok = pipesim_lanes_run(family->lanes, steps, n);
	for (guint i = 0; i < n; i++) {
		ok = ok && pipesim_moments_weigh(
				   family->moments[0], room[i].job.times, costs[i], fullest);
		if (ok)
			take_step(family, &room[i], costs[i], fullest, &briefs[i]);
		pipesim_times_free((PipesimTimes *)room[i].job.times);
	}
	return ok;
}

/* What ranks hold in @step, by the moments of its list. */
static gboolean weigh_step(PipesimFamily *family, const PipesimStep *step,
	const PipesimCosts *costs, PipesimFullest *fullest)
{
	const PipesimMoments *moments;

	for (guint i = 0; i < PATTERNS; i++) {
		g_mutex_lock(&family->lock);
		if (family->moments[i] == NULL)
			family->moments[i] = pipesim_moments_new(step, costs);
		moments = family->moments[i];
		g_mutex_unlock(&family->lock);
		if (moments == NULL)
			return FALSE;
		if (pipesim_moments_weigh(moments, step->job.times, costs, fullest))
			return TRUE;
	}
	return FALSE;
}

/* The same under a runtime's rules. */
static gboolean run_shared(
	PipesimFamily *family, const PipesimCosts *const *costs, guint n, PipesimBrief *briefs)
{
	g_autofree PipesimJob *jobs = g_new(PipesimJob, n);
	g_autofree PipesimStep **steps = g_new(PipesimStep *, n);
	g_autofree PipesimFullest *fullest = g_new(PipesimFullest, family->order->shape.ranks);
	gboolean ran, ok;

	for (guint i = 0; i < n; i++)
		jobs[i] = job_of(family, pipesim_times_new(costs[i], &family->order->shape));
	ran = ok = pipesim_shared_run(family->shared, jobs, n, steps);
	for (guint i = 0; i < n; i++) {
		ok = ok && weigh_step(family, steps[i], costs[i], fullest);
		if (ok)
			take_step(family, steps[i], costs[i], fullest, &briefs[i]);
		if (ran)
			pipesim_step_free(steps[i]);
		pipesim_times_free((PipesimTimes *)jobs[i].times);
	}
	return ok;
}

static void make_once(
	PipesimFamily *family, const PipesimShape *shape, const PipesimCosts *costs)
{
	g_mutex_lock(&family->lock);
	if (!family->is_made) {
		g_autoptr(PipesimTimes) times = pipesim_times_new(costs, shape);

		make(family, shape, times, costs);
	}
	g_mutex_unlock(&family->lock);
}

void pipesim_family_run(
	PipesimFamily *family, const PipesimCosts *const *costs, guint n, PipesimBrief *briefs)
{
	g_autofree PipesimRun **runs = NULL;
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
	if (plain)
		make_once(family, &shape, costs[0]);
	if ((plain && is_free(family) && run_lanes(family, costs, n, briefs)) ||
		(plain && family->shared != NULL && run_shared(family, costs, n, briefs)))
		return;
	g_autofree PipesimPoint *points = g_new(PipesimPoint, n);
	runs = g_new(PipesimRun *, n);
	for (guint i = 0; i < n; i++)
		points[i] = (PipesimPoint){.scenario = &family->scenario, .costs = costs[i]};
	pipesim_run_points(family->schedule, points, n, runs);
	for (guint i = 0; i < n; i++) {
		take_run(runs[i], &briefs[i]);
		pipesim_run_free(runs[i]);
	}
}

/* The longest path ------------------------------------------------------------------------- */

typedef struct {
	const PipesimProgram *program;
	const PipesimTimes *times;
	gint64 *end;
	guint32 *from; /* which op it waited for last, or PIPESIM_NO_OP */
} Walk;

/* When op @index of @rank ends, and what it waited for. */
static void run_op(Walk *walk, guint rank, guint32 index)
{
	const PipesimProgram *program = walk->program;
	const PipesimOp *op = &program->ops[index];
	gint64 start = 0;
	guint32 inputs[2];
	const guint n = pipesim_program_inputs(program, rank, op, inputs);

	walk->from[index] = PIPESIM_NO_OP;
	if (index > program->rank_begin[rank]) {
		start = walk->end[index - 1];
		walk->from[index] = index - 1;
	}
	for (guint i = 0; i < n; i++) {
		const guint other = pipesim_program_rank_near(program, inputs[i], rank);
		const gint64 there =
			walk->end[inputs[i]] + (other != rank ? walk->times->p2p : 0);

		if (there > start) {
			start = there;
			walk->from[index] = inputs[i];
		}
	}
	walk->end[index] = start + pipesim_op_duration(program, walk->times, rank, op);
}

/* Counts what is on the path that ends with @rank; returns what that takes without messages, ns. */
static gint64 count_path(const Walk *walk, PipesimFamilyPath *path)
{
	static const PipesimKind kinds[] = {PIPESIM_F, PIPESIM_I, PIPESIM_W};
	const PipesimProgram *program = walk->program;
	guint32 index = program->rank_begin[path->rank + 1] - 1;
	guint rank = path->rank;
	gint64 all = 0;

	memset(path->count, 0, (gsize)program->shape.stages * 3 * sizeof *path->count);
	path->fixed = 0;
	path->pairs = FALSE;
	while (index != PIPESIM_NO_OP) {
		const PipesimOp *op = &program->ops[index];
		const guint32 from = walk->from[index];
		guint *own = &path->count[(gsize)pipesim_op_stage(program, rank, op) * 3];
		guint *back =
			op->kind == PIPESIM_FB
				? &path->count[(gsize)pipesim_op_b_stage(program, rank, op) * 3]
				: own;

		path->pairs |= op->kind == PIPESIM_FB;
		own[0] += pipesim_op_has_forward(op);
		back[1] += pipesim_op_has_backward(op);
		back[2] += op->kind == PIPESIM_W || op->kind == PIPESIM_B ||
			   op->kind == PIPESIM_FB;
		if (from != PIPESIM_NO_OP) {
			const guint other = pipesim_program_rank_near(program, from, rank);

			path->fixed += other != rank ? walk->times->p2p : 0;
			rank = other;
		}
		index = from;
	}
	for (guint i = 0; i < program->shape.stages * 3; i++)
		all += path->count[i] * walk->times->stage[kinds[i % 3]][i / 3];
	return all;
}

gboolean pipesim_family_path(
	PipesimFamily *family, const PipesimCosts *costs, PipesimFamilyPath *path)
{
	const PipesimProgram *program = family->program;
	gint64 ops;

	if (!is_free(family) || !is_plain(costs))
		return FALSE;
	g_autoptr(PipesimTimes) times = pipesim_times_new(costs, &program->shape);
	g_autofree gint64 *end = g_new(gint64, program->n_ops);
	g_autofree guint32 *from = g_new(guint32, program->n_ops);
	Walk walk = (Walk){program, times, end, from};
	for (guint i = 0; i < family->lanes->n_ops; i++)
		run_op(&walk, family->lanes->ops[i].rank, family->lanes->order[i]);
	/* The rank that is done last. */
	path->rank = 0;
	path->step = 0;
	for (guint rank = 0; rank < program->shape.ranks; rank++) {
		const guint chunks = program->shape.chunks;
		gint64 done = end[program->rank_begin[rank + 1] - 1];

		for (guint chunk = 0; chunk < chunks; chunk++)
			done += times->tail[program->stage_of[rank * chunks + chunk]];
		if (done > path->step) {
			path->step = done;
			path->rank = rank;
		}
	}
	ops = count_path(&walk, path);
	/* A pair that takes another time than its halves, or ranks that are slower, are no such sum. */
	return ops + path->fixed == end[program->rank_begin[path->rank + 1] - 1];
}

gboolean pipesim_family_held(
	PipesimFamily *family, const PipesimCosts *costs, guint rank, gint *counts)
{
	if (!is_free(family) || !is_plain(costs))
		return FALSE;
	g_autoptr(PipesimTimes) times = pipesim_times_new(costs, &family->program->shape);
	pipesim_moments_counts(family->moments[0], times, rank, counts);
	return TRUE;
}

gboolean pipesim_family_peaks(PipesimFamily *family, const PipesimCosts *costs, gint64 *peaks)
{
	PipesimShape shape;

	if (!is_plain(costs) ||
		!pipesim_schedule_shape(family->schedule, &family->scenario, &shape, NULL))
		return FALSE;
	make_once(family, &shape, costs);
	if (!is_free(family))
		return FALSE;
	g_autoptr(PipesimTimes) times = pipesim_times_new(costs, &shape);
	g_autofree PipesimFullest *fullest = g_new(PipesimFullest, shape.ranks);
	if (!pipesim_moments_weigh(family->moments[0], times, costs, fullest))
		return FALSE;
	for (guint rank = 0; rank < shape.ranks; rank++)
		peaks[rank] = fullest[rank].peak;
	return TRUE;
}
