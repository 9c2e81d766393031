#include "engine/step.h"
#include "engine/comm.h"
#include "engine/draw.h"
#include "engine/dynamic.h"
#include "engine/fast.h"
#include "engine/mixed.h"
#include "engine/ruled.h"
#include "engine/slowdown.h"
#include "engine/stream.h"

/* A pass over all ops, many steps at once, is faster than leaping over what repeats where there
 * are no more ops, in all and for each step: putting them in order is work that all steps
 * share. */
#define MOST_OPS      65536
#define MOST_OPS_EACH 512
/* Where there are no more micro-batches for each rank, hardly anything repeats. */
#define FEW_EACH 4

/* To write down who waits for whom takes as long as so many runs through a list one by one, 5 to 8 at PP 16 and 64, and
 * one more by what is written down up to a fourth of one. */
#define FEW_RUNS 6
/* Longer steps that each go alone, told or leaping, do so as many times before. */
#define FEW_ALONE 16

/* So many times as long as with longest paths an op takes with events. */
#define BY_EVENTS 8

/* States that are no further apart are the same: a millionth. */
#define SAME_LOAD (PIPESIM_LOAD_ONE >> 20)

/* @states: (nullable): of the chips at the begin, then at the end */
static PipesimTimeline *run_once(const PipesimStep *step, const PipesimTimes *times,
	guint flags, PipesimPowerState *states, GError **error)
{
	const PipesimNetwork *network = step->job.network;
	g_autoptr(PipesimNetwork) unshared = NULL;
	PipesimTimeline *timeline;

	if (step->whole->has_more)
		return pipesim_mixed_run(step->whole, times, error);
	if (pipesim_runtime_waits(step->job.runtime))
		return pipesim_comm_run(pipesim_step_messages(step), &step->job.issuing, times,
			network, flags, states, error);
	if (network != NULL)
		return pipesim_dynamic_run(step->whole, times, network, flags, states, error);
	if (!pipesim_times_vary(times))
		return pipesim_fast_run(step->whole, times, error);
	/* Each message takes P2P, over links that no two share. */
	unshared = pipesim_network_new();
	unshared->intra.latency = times->p2p;
	flags &= ~(guint)PIPESIM_KEEP_MOVES;
	timeline = pipesim_dynamic_run(step->whole, times, unshared, flags, states, error);
	if (timeline != NULL)
		g_clear_pointer(&timeline->traffic, pipesim_traffic_free);
	return timeline;
}

/* Where a step is to begin that takes as long as @timeline, which went from @begin to @end, to
 * begin there again after @pause: into @begin, unless it is the same. @end is lost. Returns
 * whether it is. */
static gboolean repeat(const PipesimPower *power, const PipesimTimeline *timeline, gint64 pause,
	guint ranks, PipesimPowerState *begin, PipesimPowerState *end)
{
	const gint64 took = pipesim_add_capped(timeline->makespan, pause);
	gboolean same = TRUE;

	for (guint rank = 0; rank < ranks; rank++) {
		pipesim_power_advance(power, &end[rank], pause, 0);
		end[rank] = pipesim_power_repeat(power, &begin[rank], &end[rank], took);
		for (guint i = 0; i < power->n_constants; i++)
			same &= ABS(end[rank].mean[i] - begin[rank].mean[i]) <= SAME_LOAD;
	}
	if (!same)
		memcpy(begin, end, ranks * sizeof *begin);
	return same;
}

/* The step whose chips end as they began. @begin: (nullable): where the search begins, then
 * where the step does */
static PipesimTimeline *run_steps(const PipesimStep *step, const PipesimTimes *times,
	guint flags, PipesimPowerState *begin, GError **error)
{
	const guint ranks = step->whole->shape.ranks;
	g_autofree PipesimPowerState *end = NULL;
	PipesimTimeline *timeline = NULL;

	if (begin == NULL || flags & PIPESIM_NO_POWER)
		return run_once(step, times, flags, NULL, error);
	end = g_new(PipesimPowerState, ranks);
	for (guint i = 1; i <= PIPESIM_MOST_STEPS; i++) {
		g_clear_pointer(&timeline, pipesim_timeline_free);
		memcpy(end, begin, ranks * sizeof *end);
		timeline = run_once(step, times, flags, end, error);
		if (timeline == NULL || step->job.first_step || i == PIPESIM_MOST_STEPS ||
			repeat(times->power, timeline, step->job.pause, ranks, begin, end))
			break;
	}
	return timeline;
}

PipesimTimeline *pipesim_step_again(
	const PipesimStep *step, const PipesimTimes *times, guint flags, GError **error)
{
	const guint ranks = step->whole->shape.ranks;
	g_autofree PipesimPowerState *states =
		times->power != NULL ? g_new0(PipesimPowerState, ranks) : NULL;

	return run_steps(step, times, flags, states, error);
}

/* Where not all ops compute. */
static void measure_mixed(PipesimStep *step, guint rank)
{
	const gint64 *start = step->timeline->start, *end = step->timeline->end;

	step->first_start[rank] = G_MAXINT64;
	pipesim_each_of (op, step->program->rank_begin, rank) {
		if (pipesim_op_rows[step->program->ops[op].kind].resource != PIPESIM_ON_RANK)
			continue;
		step->busy[rank] += end[op] - start[op];
		step->first_start[rank] = MIN(step->first_start[rank], start[op]);
		step->last_end[rank] = end[op];
	}
}

void pipesim_step_measure(PipesimStep *step)
{
	const guint32 *begin = step->program->rank_begin;
	const gint64 *start = step->timeline->start, *end = step->timeline->end;

	step->makespan = step->timeline->makespan;
	for (guint rank = 0; rank < step->program->shape.ranks; rank++) {
		gint64 busy = 0;

		if (begin[rank] == begin[rank + 1])
			continue;
		if (step->program->has_more) {
			measure_mixed(step, rank);
			continue;
		}
		pipesim_each_of (op, begin, rank)
			busy += end[op] - start[op];
		step->busy[rank] = busy;
		step->first_start[rank] = start[begin[rank]];
		step->last_end[rank] = end[begin[rank + 1] - 1];
	}
}

/* Whether what ops take, and messages, does not hang on when they run. */
static gboolean is_steady(const PipesimJob *job)
{
	PipesimPaceRules paces;

	return job->network == NULL &&
	       !pipesim_pace_rules_init(&paces, job->times, NULL, job->traffic);
}

/* Figures of a step under the rules of a runtime, where no times are wanted of single ops and they
 * do not matter; else not *@done. */
static gboolean run_figures(PipesimStep *step, gboolean *done, GError **error)
{
	const PipesimJob *job = &step->job;
	PipesimRuledFigures figures = {.busy = step->busy,
		.first_start = step->first_start,
		.last_end = step->last_end};
	g_autoptr(PipesimRuled) ruled = NULL;

	*done = FALSE;
	if (!is_steady(job))
		return TRUE;
	ruled = pipesim_ruled_new(pipesim_step_messages(step), &job->issuing, error);
	if (ruled == NULL || !pipesim_ruled_figures(ruled, job->times, &figures, done, error))
		return FALSE;
	step->makespan = figures.makespan;
	return TRUE;
}

static gboolean simulate(PipesimStep *step, PipesimWant want, GError **error)
{
	const PipesimJob *job = &step->job;
	const gboolean waits = pipesim_runtime_waits(job->runtime);
	const guint flags =
		job->traffic | (want == PIPESIM_WANT_MESSAGES ? PIPESIM_KEEP_MOVES : 0);
	gboolean done = FALSE;

	step->whole = pipesim_order_expand(job->order, error);
	if (step->whole == NULL)
		return FALSE;
	if ((waits || job->network != NULL || pipesim_times_vary(job->times)) &&
		!pipesim_program_check_plain(step->whole,
			waits                  ? "--runtime"
			: job->network != NULL ? "links"
					       : "power, launches and edges of costs",
			error))
		return FALSE;
	if (waits && job->messages == NULL) {
		step->derived = pipesim_lower(step->whole, job->runtime, &job->issuing, error);
		if (step->derived == NULL)
			return FALSE;
	}
	if (waits && want == PIPESIM_WANT_FIGURES && !run_figures(step, &done, error))
		return FALSE;
	if (job->times->power != NULL)
		step->states = g_new0(PipesimPowerState, step->whole->shape.ranks);
	if (!done)
		step->timeline = run_steps(step, job->times, flags, step->states, error);
	if (!done && step->timeline == NULL)
		return FALSE;
	step->program = waits && pipesim_step_messages(step)->runtime->splits_pairs
				? pipesim_program_split_pairs(step->whole, error)
				: pipesim_program_ref(step->whole);
	if (step->program == NULL)
		return FALSE;
	step->split = step->program->n_ops > step->whole->n_ops;
	if (!done)
		pipesim_step_measure(step);
	return TRUE;
}

static PipesimStep *new_step(const PipesimJob *job)
{
	const guint ranks = job->order->shape.ranks;
	PipesimStep *step = g_new0(PipesimStep, 1);

	step->job = *job;
	step->job.order = pipesim_order_ref(job->order);
	step->busy = g_new0(gint64, ranks);
	step->first_start = g_new0(gint64, ranks);
	step->last_end = g_new0(gint64, ranks);
	return step;
}

static gboolean takes_figures_alone(const PipesimJob *job)
{
	return !pipesim_runtime_waits(job->runtime) && job->network == NULL &&
	       !pipesim_times_vary(job->times) && job->times->each == NULL &&
	       pipesim_stream_takes(job->order);
}

/* The same without lists of all ops, where nothing varies with what runs. */
static gboolean tell(PipesimStep *step, gboolean *done, GError **error)
{
	const PipesimJob *job = &step->job;
	const gboolean told = job->order->n_ops <= job->most_ops;
	gboolean ok = TRUE;

	if (!job->period)
		ok = pipesim_ruled_flow(step, TRUE, TRUE, done, error);
	if (ok && !*done)
		ok = pipesim_ruled_leap(step, done, error);
	if (ok && !*done && told)
		ok = pipesim_ruled_flow(step, TRUE, FALSE, done, error);
	if (ok && !*done && told)
		ok = pipesim_ruled_flow(step, FALSE, FALSE, done, error);
	return ok;
}

PipesimStep *pipesim_step_run(const PipesimJob *job, PipesimWant want, GError **error)
{
	g_autoptr(PipesimStep) step = new_step(job);
	gboolean done = FALSE, ok = TRUE;

	if (want == PIPESIM_WANT_FIGURES && takes_figures_alone(job)) {
		done = TRUE;
		ok = pipesim_stream_run(step, error);
	} else if (want == PIPESIM_WANT_FIGURES && job->most_ops > 0 &&
		   pipesim_runtime_waits(job->runtime)) {
		const gboolean steady = is_steady(job);
		const guint64 most = job->most_ops / (steady ? 1 : BY_EVENTS);

		ok = !steady || tell(step, &done, error);
		if (done && job->runtime->splits_pairs && job->order->program == NULL &&
			pipesim_order_has_pairs(job->order)) {
			step->split = TRUE;
			step->parted = pipesim_order_split_pairs(job->order);
		}
		if (ok && !done && job->order->n_ops > most)
			ok = pipesim_fail(error, PIPESIM_ERROR_LIMIT,
				"%" G_GUINT64_FORMAT " ops are too many to run one by one (at "
				"most %" G_GUINT64_FORMAT "); use fewer ranks or micro-batches",
				job->order->n_ops, most);
	}
	if (ok && !done)
		ok = simulate(step, want, error);
	return ok ? g_steal_pointer(&step) : NULL;
}

/* Whether @n jobs differ in times alone, under rules of a runtime by which nothing hangs on when it runs. */
static gboolean take_ruled(const PipesimJob *jobs, guint n)
{
	gboolean same = pipesim_runtime_waits(jobs->runtime) && jobs->messages == NULL;

	for (guint i = 0; i < n; i++)
		same = same && is_steady(&jobs[i]) && jobs[i].runtime == jobs->runtime &&
		       memcmp(&jobs[i].issuing, &jobs->issuing, sizeof jobs->issuing) == 0;
	return same;
}

/* What @n steps by a list take, in runs one by one: PIPESIM_RULED_WORTH a pass of all lanes, and for what is left. */
static guint64 in_runs(guint64 n)
{
	return MIN(
		n, (n + PIPESIM_RULED_LANES - 1) / PIPESIM_RULED_LANES * PIPESIM_RULED_WORTH);
}

struct _PipesimShared {
	PipesimOrder *order;
	const PipesimRuntime *runtime;
	PipesimIssuing issuing;
	guint64 n_alone;                 /* steps that went before what follows was there */
	PipesimProgram *whole, *program; /* with pairs whole, and as they run; NULL: not yet */
	PipesimLowering *lowering;
	PipesimRuled *ruled;
	GMutex lock;   /* of what follows */
	guint64 n_run; /* of in_runs() */
	/* What is written down for times by which stages are not gathered, and are; NULL: not yet. */
	PipesimLanes *lanes[2];
};

/* Without lists: fill(). */
static PipesimShared *begin(const PipesimJob *job)
{
	PipesimShared *shared = g_new0(PipesimShared, 1);

	g_mutex_init(&shared->lock);
	shared->order = pipesim_order_ref(job->order);
	shared->runtime = job->runtime;
	shared->issuing = job->issuing;
	return shared;
}

/* FALSE where jobs like its are to be run one by one. */
static gboolean fill(PipesimShared *shared)
{
	shared->whole = pipesim_order_expand(shared->order, NULL);
	if (shared->whole == NULL || shared->whole->has_more)
		return FALSE;
	shared->lowering =
		pipesim_lower(shared->whole, shared->runtime, &shared->issuing, NULL);
	if (shared->lowering != NULL)
		shared->ruled = pipesim_ruled_new(shared->lowering, &shared->issuing, NULL);
	if (shared->ruled == NULL)
		return FALSE;
	shared->program = shared->ruled->split
				  ? pipesim_program_split_pairs(shared->whole, NULL)
				  : pipesim_program_ref(shared->whole);
	return shared->program != NULL;
}

PipesimShared *pipesim_shared_new(const PipesimJob *job)
{
	g_autoptr(PipesimShared) shared = NULL;

	if (!take_ruled(job, 1) || job->order->n_ops > MOST_OPS)
		return NULL;
	shared = begin(job);
	return fill(shared) ? g_steal_pointer(&shared) : NULL;
}

PIPESIM_FREES(PipesimShared, pipesim_shared_free, shared)
{
	for (guint i = 0; i < G_N_ELEMENTS(shared->lanes); i++)
		pipesim_lanes_free(shared->lanes[i]);
	g_mutex_clear(&shared->lock);
	g_clear_pointer(&shared->ruled, pipesim_ruled_free);
	g_clear_pointer(&shared->lowering, pipesim_lowering_free);
	g_clear_pointer(&shared->program, pipesim_program_unref);
	g_clear_pointer(&shared->whole, pipesim_program_unref);
	pipesim_order_unref(shared->order);
	g_free(shared);
}

static gboolean has_shards(const PipesimTimes *times)
{
	return times->unshard != NULL || times->reduce != NULL;
}

/* @steps at @times by what is written down of who waits for whom, but for the makespan, which
 * @figures have. FALSE where they are to be run another way. */
static gboolean run_recorded(PipesimShared *shared, const PipesimTimes *const *times, guint n,
	PipesimStep *const *steps, PipesimRuledFigures *figures)
{
	PipesimLanes **kept = &shared->lanes[has_shards(times[0])], *lanes = NULL;

	for (guint i = 0; i < n; i++)
		if (times[i]->each != NULL || times[i]->drawn != NULL || times[i]->has_edges ||
			times[i]->released != NULL ||
			has_shards(times[i]) != has_shards(times[0]))
			return FALSE;
	g_mutex_lock(&shared->lock);
	shared->n_run += in_runs(n);
	if (*kept == NULL && shared->n_run > FEW_RUNS)
		*kept = pipesim_ruled_record(shared->ruled, shared->program, times[0]);
	lanes = *kept;
	g_mutex_unlock(&shared->lock);
	if (lanes == NULL || !pipesim_lanes_run(lanes, steps, n))
		return FALSE;
	for (guint i = 0; i < n; i++)
		figures[i].makespan = steps[i]->makespan;
	return TRUE;
}

gboolean pipesim_shared_run(
	PipesimShared *shared, const PipesimJob *jobs, guint n, PipesimStep **steps)
{
	g_autofree PipesimRuledFigures *figures = g_new0(PipesimRuledFigures, n);
	g_autofree const PipesimTimes **times = g_new(const PipesimTimes *, n);
	gboolean ok = take_ruled(jobs, n);

	for (guint i = 0; i < n; i++) {
		steps[i] = new_step(&jobs[i]);
		times[i] = jobs[i].times;
		figures[i] = (PipesimRuledFigures){.busy = steps[i]->busy,
			.first_start = steps[i]->first_start,
			.last_end = steps[i]->last_end};
	}
	if (ok)
		ok = run_recorded(shared, times, n, steps, figures) ||
		     pipesim_ruled_lanes(shared->ruled, times, n, figures);
	for (guint i = 0; i < n && ok; i++) {
		steps[i]->makespan = figures[i].makespan;
		steps[i]->whole = pipesim_program_ref(shared->whole);
		steps[i]->program = pipesim_program_ref(shared->program);
		steps[i]->derived = pipesim_lowering_ref(shared->lowering);
		steps[i]->split = shared->program->n_ops > shared->whole->n_ops;
	}
	for (guint i = 0; i < n && !ok; i++)
		pipesim_step_free(steps[i]);
	return ok;
}

/* Whether both say the same by the same loops, where their shapes are equal. */
static gboolean same_loops(const PipesimOrder *a, const PipesimOrder *b)
{
	return a->program == NULL && b->program == NULL && a->n_verbs == b->n_verbs &&
	       a->n_loops == b->n_loops &&
	       memcmp(a->verbs, b->verbs, a->n_verbs * sizeof *a->verbs) == 0 &&
	       memcmp(a->loops, b->loops, a->n_loops * sizeof *a->loops) == 0 &&
	       memcmp(a->rank_begin, b->rank_begin,
		       (a->shape.ranks + 1) * sizeof *a->rank_begin) == 0;
}

/* Whether steps of @job may share @shared. */
static gboolean may_share(const PipesimShared *shared, const PipesimJob *job)
{
	const PipesimProgram *a = shared->whole;
	g_autoptr(PipesimProgram) b = NULL;

	/* What was said rank by rank is the caller's, and may have changed. */
	if (shared->runtime != job->runtime || job->issuing.ahead_of != NULL ||
		memcmp(&shared->issuing, &job->issuing, sizeof job->issuing) != 0 ||
		job->order->n_ops != shared->order->n_ops ||
		!pipesim_shape_equal(&job->order->shape, &shared->order->shape))
		return FALSE;
	if (same_loops(shared->order, job->order))
		return TRUE;
	b = a != NULL ? pipesim_order_expand(job->order, NULL) : NULL;
	return b != NULL && !b->has_more &&
	       memcmp(a->ops, b->ops, a->n_ops * sizeof *a->ops) == 0 &&
	       memcmp(a->rank_begin, b->rank_begin, a->shape.ranks * sizeof *a->rank_begin) ==
		       0 &&
	       memcmp(a->stage_of, b->stage_of,
		       (gsize)a->shape.ranks * a->shape.chunks * sizeof *a->stage_of) == 0;
}

gboolean pipesim_step_run_beside(
	const PipesimJob *jobs, guint n, PipesimShared **kept, PipesimStep **steps)
{
	g_autoptr(PipesimProgram) program = NULL;
	g_autoptr(PipesimLanes) lanes = NULL;
	const PipesimShape *shape = &jobs->order->shape;
	const gboolean ruled = take_ruled(jobs, n);
	const gboolean is_long = jobs->order->n_ops > MOST_OPS / 2;
	guint64 most = (guint64)n * MOST_OPS_EACH;
	gboolean ok, goes_on, alone;

	/* Where hardly anything repeats all calls go by one list, and from so many on by what it writes down; PyTorch's
	 * rounds are told as soon, but for long ones. */
	goes_on = ruled && kept != NULL && (is_long || !jobs->runtime->runs_files) &&
		  pipesim_shape_per_chunk(shape) <= FEW_EACH * (guint64)shape->ranks;
	if (goes_on)
		most = MOST_OPS;
	if (jobs->order->n_ops > MIN(MOST_OPS, most))
		return FALSE;
	if (ruled && (n > 1 || kept != NULL)) {
		PipesimShared *shared = kept != NULL ? *kept : NULL;

		if (shared == NULL || !may_share(shared, jobs)) {
			pipesim_shared_free(shared);
			shared = begin(jobs);
		}
		shared->n_alone += n;
		alone = is_long && goes_on && shared->n_alone <= FEW_ALONE;
		if (!alone && shared->program == NULL && !fill(shared))
			g_clear_pointer(&shared, pipesim_shared_free);
		ok = !alone && shared != NULL && pipesim_shared_run(shared, jobs, n, steps);
		if (kept != NULL)
			*kept = shared;
		else
			pipesim_shared_free(shared);
		return ok;
	}
	for (guint i = 0; i < n; i++)
		if (!takes_figures_alone(&jobs[i]))
			return FALSE;
	program = pipesim_order_expand(jobs->order, NULL);
	if (program == NULL)
		return FALSE;
	lanes = pipesim_lanes_new(program, NULL);
	if (lanes == NULL)
		return FALSE;
	for (guint i = 0; i < n; i++)
		steps[i] = new_step(&jobs[i]);
	ok = pipesim_lanes_run(lanes, steps, n);
	for (guint i = 0; i < n && !ok; i++)
		pipesim_step_free(steps[i]);
	return ok;
}

void pipesim_step_forget_ops(PipesimStep *step)
{
	g_clear_pointer(&step->timeline, pipesim_timeline_free);
	g_clear_pointer(&step->derived, pipesim_lowering_free);
	g_clear_pointer(&step->program, pipesim_program_unref);
	g_clear_pointer(&step->whole, pipesim_program_unref);
}

PIPESIM_FREES(PipesimStep, pipesim_step_free, step)
{
	pipesim_order_unref((PipesimOrder *)step->job.order);
	pipesim_order_unref(step->parted);
	pipesim_step_forget_ops(step);
	pipesim_free_all(step->busy, step->first_start, step->last_end, step->states, step);
}

/* Steps drawn at random, that threads take in blocks one after another. */
typedef struct {
	const PipesimStep *step;
	const PipesimDraw *draw;
	PipesimRuled *ruled; /* its list, for blocks side by side; NULL: one at a time */
	guint64 seed;
	guint n, block;
	PipesimOutcome *results;
} Work;

static gpointer new_durations(gpointer data, GError **error)
{
	const Work *work = data;
	const guint n_ops = work->draw->program->n_ops;
	gint64 *durations = g_try_new(gint64, MAX((gsize)n_ops * work->block, 1u));

	if (durations == NULL)
		pipesim_fail(error, PIPESIM_ERROR_LIMIT, "%u ops do not fit in memory", n_ops);
	return durations;
}

/* @n of them at @times side by side, into @results. FALSE where they are to be run one by one. */
static gboolean run_beside(
	const Work *work, const PipesimTimes *drawn, guint n, PipesimOutcome *results)
{
	const guint ranks = work->step->whole->shape.ranks;
	g_autofree gint64 *of_ranks = g_new(gint64, 3 * (gsize)ranks * n);
	PipesimRuledFigures figures[PIPESIM_RULED_LANES] = {{0}};
	const PipesimTimes *times[PIPESIM_RULED_LANES];

	for (guint i = 0; i < n; i++) {
		times[i] = &drawn[i];
		figures[i].busy = &of_ranks[3 * (gsize)ranks * i];
		figures[i].first_start = figures[i].busy + ranks;
		figures[i].last_end = figures[i].busy + 2 * (gsize)ranks;
	}
	if (!pipesim_ruled_lanes(work->ruled, times, n, figures))
		return FALSE;
	for (guint i = 0; i < n; i++)
		pipesim_lane_result_by(
			&results[i], figures[i].makespan, figures[i].busy, ranks);
	return TRUE;
}

static gboolean run_samples(gsize block, gpointer own, gpointer data, GError **error)
{
	const Work *work = data;
	const gsize first = block * work->block, n_ops = work->draw->program->n_ops;
	const guint n = (guint)MIN(work->n - first, work->block);
	PipesimOutcome *results = &work->results[first];
	PipesimTimes drawn[PIPESIM_RULED_LANES];

	for (guint i = 0; i < n; i++) {
		gint64 *durations = (gint64 *)own + i * n_ops;

		drawn[i] = *work->step->job.times;
		drawn[i].drawn = durations;
		pipesim_draw_durations(work->draw, work->seed, first + i, durations);
	}
	if (work->ruled != NULL && run_beside(work, drawn, n, results))
		return TRUE;
	for (guint i = 0; i < n; i++) {
		g_autofree PipesimPowerState *states = g_memdup2(
			work->step->states, work->step->whole->shape.ranks * sizeof *states);
		g_autoptr(PipesimTimeline) timeline =
			run_once(work->step, &drawn[i], 0, states, error);

		if (timeline == NULL)
			return FALSE;
		pipesim_lane_result_of(&results[i], work->draw->program, timeline);
	}
	return TRUE;
}

gboolean pipesim_step_sample(const PipesimStep *step, const PipesimJitter *jitter, guint64 seed,
	guint n, PipesimOutcome *results, GError **error)
{
	g_autoptr(PipesimDraw) draw = NULL;
	g_autoptr(PipesimRuled) ruled = NULL;
	PipesimLanes *lanes = NULL;
	Work work = {step, NULL, NULL, seed, n, 1, results};
	PipesimParallel parallel = {
		.begin = new_durations, .run = run_samples, .end = g_free, .data = &work};

	if (!pipesim_program_check_plain(step->program, "--samples and --jitter", error))
		return FALSE;
	if (pipesim_runtime_waits(step->job.runtime) && is_steady(&step->job))
		ruled = pipesim_ruled_new(
			pipesim_step_messages(step), &step->job.issuing, NULL);
	if (ruled != NULL) {
		if (in_runs(n) > FEW_RUNS)
			lanes = pipesim_ruled_record(ruled, step->program, step->job.times);
		/* All side by side, where no sum of theirs comes near the end of gint64. */
		if (lanes != NULL)
			draw = pipesim_draw_of(lanes, step->job.times, jitter, NULL);
		if (draw != NULL)
			return pipesim_draw_run(draw, seed, 0, n, 0, results, error);
		work.ruled = ruled;
		work.block = PIPESIM_RULED_LANES;
	}
	work.draw = draw = pipesim_draw_new(step->program, step->job.times, jitter, error);
	if (draw == NULL)
		return FALSE;
	/* Longest paths go side by side, anything else one a thread at a time. */
	if (!pipesim_runtime_waits(step->job.runtime) && step->job.network == NULL &&
		!pipesim_times_vary(step->job.times))
		return pipesim_draw_run(draw, seed, 0, n, 0, results, error);
	parallel.n_items = (n + work.block - 1) / work.block;
	return pipesim_parallel(&parallel, error);
}
