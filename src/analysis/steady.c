#include "config.h"

#include "analysis/plan.h"
#include "analysis/steady.h"
#include "engine/stream.h"

/* Sums and products of times. */
__extension__ typedef __int128 Wide;

/* Where micro-batches are not given: most transients end within the first number of them;
 * unequal times on many ranks were seen to take tens of thousands. */
static const guint tried[] = {1u << 13, 1u << 18};

/* One step and one that is longer by whole periods: what they differ by is the long run. */
typedef struct {
	const PipesimSchedule *schedule;
	PipesimScenario scenario;
	const PipesimCosts *costs;
} Question;

static PipesimStep *run(const Question *question, guint microbatches, GError **error)
{
	PipesimScenario scenario = question->scenario;
	g_autoptr(PipesimTimes) times = NULL;
	g_autoptr(PipesimOrder) order = NULL;
	PipesimStep *step;
	PipesimShape shape;

	scenario.microbatches = microbatches;
	scenario.runtime = NULL;
	if (!pipesim_schedule_shape(question->schedule, &scenario, &shape, error))
		return NULL;
	times = pipesim_times_new(question->costs, &shape);
	order = pipesim_plan_order(
		question->schedule, &shape, times, &scenario, question->costs, error);
	if (order == NULL)
		return NULL;
	if (!pipesim_stream_takes(order)) {
		pipesim_fail(error, PIPESIM_ERROR_CONSTRAINT,
			"%s: its order is written out micro-batch by micro-batch, and no "
			"period is looked for; --microbatches M gives a step of M",
			question->schedule->name);
		return NULL;
	}
	step = pipesim_step_run(
		&(PipesimJob){.order = order, .times = times}, PIPESIM_WANT_FIGURES, error);
	if (step == NULL)
		g_prefix_error(error, "%s: ", question->schedule->name);
	return step;
}

/* A multiple of everything that rules divide micro-batches by. */
static guint choose_microbatches(const Question *question, guint least)
{
	const PipesimScenario *scenario = &question->scenario;
	const guint64 chunks = MAX(scenario->chunks, MAX(scenario->pipelines, 1u));
	const guint64 unit = 2 * (guint64)scenario->ranks * chunks * MAX(scenario->group, 1u);

	return (guint)MIN((least / unit + 2) * unit, PIPESIM_MAX_MICROBATCHES / 2);
}

/* Exact where lowest terms fit in 64 bits; 0 of nothing is 0. @den >= 0 */
static PipesimFraction reduce(Wide num, Wide den)
{
	const Wide most = G_MAXINT64;
	Wide common = den, rest = num < 0 ? -num : num;

	if (den == 0)
		return (PipesimFraction){0, 1};
	while (rest != 0) {
		const Wide next = common % rest;

		common = rest;
		rest = next;
	}
	num /= common;
	den /= common;
	for (; den > most || num > most || num < -most; den /= 2)
		num /= 2;
	return (PipesimFraction){(gint64)num, (gint64)den};
}

static void fill(PipesimSteadyState *state, const PipesimStep *shorter,
	const PipesimStep *longer, guint microbatches)
{
	const gint64 grown = longer->makespan - shorter->makespan;
	Wide idle = 0;

	state->ranks = shorter->job.order->shape.ranks;
	state->transient = shorter->steady.transient;
	state->period = shorter->steady.period;
	state->time = shorter->steady.time;
	state->microbatches = microbatches;
	state->microbatch = reduce(state->time, (gint64)state->period);
	state->fixed = reduce((Wide)shorter->makespan * (gint64)state->period -
				      (Wide)microbatches * state->time,
		(gint64)state->period);
	state->idle = g_new(PipesimFraction, state->ranks);
	for (guint rank = 0; rank < state->ranks; rank++) {
		const gint64 busy = longer->busy[rank] - shorter->busy[rank];

		state->idle[rank] = reduce(MAX(grown - busy, 0), grown);
		idle += grown - busy;
	}
	state->ratio = reduce(idle, (Wide)grown * state->ranks);
}

/* *@state stays NULL where nothing repeats within @m micro-batches. FALSE with @error. */
static gboolean find_state(
	const Question *question, guint m, PipesimSteadyState **state, GError **error)
{
	g_autoptr(PipesimStep) shorter = run(question, m, error);
	g_autoptr(PipesimStep) longer = NULL;

	if (shorter == NULL)
		return FALSE;
	longer = run(question, 2 * m, error);
	if (longer == NULL)
		return FALSE;
	/* The step twice as long must have grown by whole periods, else nothing was proven. */
	if (shorter->steady.found && longer->steady.found &&
		(Wide)(longer->makespan - shorter->makespan) * (gint64)shorter->steady.period ==
			(Wide)shorter->steady.time * m) {
		*state = g_new0(PipesimSteadyState, 1);
		fill(*state, shorter, longer, m);
	}
	return TRUE;
}

PipesimSteadyState *pipesim_steady_state_new(const PipesimSchedule *schedule,
	const PipesimScenario *scenario, const PipesimCosts *costs, GError **error)
{
	const Question question = {schedule, *scenario, costs};
	PipesimSteadyState *state = NULL;
	guint m = scenario->microbatches;

	if (m > PIPESIM_MAX_MICROBATCHES / 2) {
		pipesim_fail(error, PIPESIM_ERROR_CONSTRAINT,
			"%s: %u micro-batches cannot be doubled, which shows the slope; at "
			"most %u",
			schedule->name, m, PIPESIM_MAX_MICROBATCHES / 2);
		return NULL;
	}
	for (gsize i = 0; i < G_N_ELEMENTS(tried) && state == NULL; i++) {
		if (scenario->microbatches == 0)
			m = choose_microbatches(&question, tried[i]);
		else if (i > 0)
			break;
		if (!find_state(&question, m, &state, error))
			return NULL;
	}
	if (state == NULL)
		pipesim_fail(error, PIPESIM_ERROR_CONSTRAINT,
			"%s: no steady phase within %u micro-batches over %u ranks: it runs "
			"all of them through one chunk after the other, or fills the pipeline "
			"for longer%s",
			schedule->name, m, scenario->ranks,
			scenario->microbatches == 0 ? "; --microbatches M gives a step of M"
						    : "");
	return state;
}

void pipesim_steady_state_free(PipesimSteadyState *state)
{
	if (state == NULL)
		return;
	g_free(state->idle);
	g_free(state);
}
