#include "analysis/steady.h"
#include "analysis/best-order.h"
#include "engine/stream.h"
#include "model/split.h"

/* Sums and products of times. */
__extension__ typedef __int128 Wide;

/* Where micro-batches are not given: most transients end within the first number of them;
 * unequal times on many ranks were seen to take tens of thousands. */
static const guint tried[] = {1u << 13, 1u << 18};

/* Of each of three steps where growth is measured: beyond what fills most pipelines. */
#define MEASURED_PER_RANK 8

/* One step and one that is longer by whole periods: what they differ by is the long run. */
typedef struct {
	const PipesimSchedule *schedule;
	PipesimScenario scenario;
	const PipesimCosts *costs;
	const PipesimRuntime *runtime; /* whose rules messages wait by */
} Question;

/* Into *@length what @step comes to: without a barrier its period. */
static gboolean find_length(const PipesimStep *step, gint64 *length, GError **error)
{
	g_autofree gint64 *between = NULL;
	PipesimPeriod period = {.time = step->makespan};

	if (step->job.times->post_validation) {
		between = pipesim_step_between(step);
		if (!pipesim_period_find(step, between, FALSE, &period, error))
			return FALSE;
	}
	*length = period.time;
	return TRUE;
}

/* *@step stays NULL where the order is written out micro-batch by micro-batch, or too much would run one by one: no
 * period is looked for. FALSE with @error. @length: (nullable): what the step comes to */
static gboolean run(const Question *question, guint microbatches, PipesimStep **step,
	gint64 *length, GError **error)
{
	const gboolean waits = pipesim_runtime_waits(question->runtime);
	PipesimScenario scenario = question->scenario;
	g_autoptr(GError) own = NULL;
	PipesimShape shape;

	scenario.microbatches = microbatches;
	if (!pipesim_schedule_shape(question->schedule, &scenario, &shape, error))
		return FALSE;
	if (!pipesim_split_check(question->costs, &shape, error)) {
		g_prefix_error(error, "%s: ", question->schedule->name);
		return FALSE;
	}
	g_autoptr(PipesimTimes) times = pipesim_times_new(question->costs, &shape);
	g_autoptr(PipesimOrder) order = pipesim_best_order(
		question->schedule, &shape, times, &scenario, question->costs, error);
	if (order == NULL)
		return FALSE;
	if (waits ? !order->is_closed : !pipesim_stream_takes(order))
		return TRUE;
	*step = pipesim_step_run(&(PipesimJob){.order = order,
					 .times = times,
					 .runtime = question->runtime,
					 .issuing = pipesim_runtime_asked(question->runtime,
						 &question->scenario.issuing),
					 .most_ops = waits ? PIPESIM_MAX_NATIVE_OPS : 0,
					 .period = TRUE},
		PIPESIM_WANT_FIGURES, &own);
	if ((*step == NULL && waits &&
		    g_error_matches(own, PIPESIM_ERROR, PIPESIM_ERROR_LIMIT)) ||
		(*step != NULL && (length == NULL || find_length(*step, length, &own))))
		return TRUE;
	g_propagate_prefixed_error(
		error, g_steal_pointer(&own), "%s: ", question->schedule->name);
	return FALSE;
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
	state->microbatches = microbatches;
	state->microbatch = reduce(state->time, (gint64)state->period);
	state->fixed = reduce(
		(Wide)state->step * (gint64)state->period - (Wide)microbatches * state->time,
		(gint64)state->period);
	state->idle = g_new(PipesimFraction, state->ranks);
	for (guint rank = 0; rank < state->ranks; rank++) {
		const gint64 busy = longer->busy[rank] - shorter->busy[rank];

		state->idle[rank] = reduce(MAX(grown - busy, 0), grown);
		idle += grown - busy;
	}
	state->ratio = reduce(idle, (Wide)grown * state->ranks);
}

/* What repeats in slices, in whole micro-batches. */
static PipesimSteady in_microbatches(const PipesimSteady *found, guint slices)
{
	const gint64 times = slices / pipesim_gcd(slices, (gint64)found->period);

	return (PipesimSteady){.found = found->found,
		.transient = (found->transient + slices - 1) / slices,
		.period = found->period * (guint64)times / slices,
		.time = found->time * times};
}

/* *@state stays NULL where nothing repeats within @m micro-batches. FALSE with @error. */
static gboolean find_state(const Question *question, guint m, gboolean *written_out,
	PipesimSteadyState **state, GError **error)
{
	g_autoptr(PipesimStep) shorter = NULL, longer = NULL;
	gint64 length = 0;
	PipesimSteady steady;

	if (!run(question, m, &shorter, &length, error) ||
		(shorter != NULL && shorter->steady.found &&
			!run(question, 2 * m, &longer, NULL, error)))
		return FALSE;
	*written_out = shorter == NULL;
	/* The step twice as long must have grown by whole periods, else nothing was proven. */
	if (longer == NULL || !shorter->steady.found || !longer->steady.found)
		return TRUE;
	steady = in_microbatches(
		&shorter->steady, pipesim_shape_slices(&shorter->job.order->shape));
	if ((Wide)(longer->makespan - shorter->makespan) * (gint64)steady.period ==
		(Wide)steady.time * m) {
		*state = g_new0(PipesimSteadyState, 1);
		(*state)->step = length;
		(*state)->proven = TRUE;
		(*state)->transient = steady.transient;
		(*state)->period = steady.period;
		(*state)->time = steady.time;
		fill(*state, shorter, longer, m);
	}
	return TRUE;
}

/* Growth of a step from @m to 2 @m and 3 @m micro-batches, by everything that a step is run
 * with. */
static PipesimSteadyState *measure(const Question *question, GError **error)
{
	const guint m =
		choose_microbatches(question, MEASURED_PER_RANK * question->scenario.ranks);
	g_autoptr(GPtrArray) runs =
		g_ptr_array_new_with_free_func((GDestroyNotify)pipesim_run_free);
	const PipesimStep *step[3];
	PipesimScenario scenario = question->scenario;

	scenario.keep = PIPESIM_KEEP_FIGURES;
	for (guint i = 0; i < G_N_ELEMENTS(step); i++) {
		scenario.microbatches = (i + 1) * m;
		PipesimRun *run =
			pipesim_run_schedule(question->schedule, &scenario, question->costs);
		g_ptr_array_add(runs, run);
		if (!pipesim_run_check(run, error))
			return NULL;
		step[i] = run->step;
	}
	const gint64 grown = step[1]->makespan - step[0]->makespan;
	const gint64 again = step[2]->makespan - step[1]->makespan;
	if (grown != again)
		return pipesim_fail_null(error, PIPESIM_ERROR_CONSTRAINT,
			"%s: no steady state: from %u to %u micro-batches the step takes %s ms "
			"longer, from there to %u %s ms; --microbatches M gives a step of M",
			question->schedule->name, m, 2 * m, pipesim_ms(grown), 3 * m,
			pipesim_ms(again));
	PipesimSteadyState *state = g_new0(PipesimSteadyState, 1);
	state->step = pipesim_report_step(((const PipesimRun *)runs->pdata[0])->report);
	state->period = m;
	state->time = grown;
	fill(state, step[0], step[1], m);
	return state;
}

static PipesimSteadyState *find(const Question *question, GError **error)
{
	const guint given = question->scenario.microbatches;
	PipesimSteadyState *state = NULL;
	/* Messages that share links are simulated one by one. */
	gboolean one_by_one = question->costs->network != NULL;
	guint m = given;

	for (gsize i = 0; i < G_N_ELEMENTS(tried) && !one_by_one; i++) {
		if (given == 0)
			m = choose_microbatches(question, tried[i]);
		else if (i > 0)
			break;
		if (!find_state(question, m, &one_by_one, &state, error))
			return NULL;
		if (state != NULL)
			return state;
	}
	if (given == 0)
		return measure(question, error);
	return pipesim_fail_null(error, PIPESIM_ERROR_CONSTRAINT,
		"%s: no steady state within %u micro-batch%s on %u rank%s; leave out "
		"--microbatches for the long run",
		question->schedule->name, given, given == 1 ? "" : "es",
		question->scenario.ranks, question->scenario.ranks == 1 ? "" : "s");
}

PipesimSteadyState *pipesim_steady_state_new(const PipesimSchedule *schedule,
	const PipesimScenario *scenario, const PipesimCosts *costs, GError **error)
{
	const Question question = {schedule, *scenario, costs,
		pipesim_runtime_resolve(scenario->runtime, schedule->runtime)};

	if (scenario->microbatches > PIPESIM_MAX_MICROBATCHES / 2)
		return pipesim_fail_null(error, PIPESIM_ERROR_CONSTRAINT,
			"%s: %u micro-batches are too many, as steady also simulates twice the "
			"number; at most %u",
			schedule->name, scenario->microbatches, PIPESIM_MAX_MICROBATCHES / 2);
	PipesimSteadyState *state = find(&question, error);
	if (state != NULL) {
		PipesimScenario simulated = *scenario;

		simulated.microbatches = (guint)state->microbatches;
		state->layers = pipesim_layers_of_schedule(schedule, &simulated, costs);
	}
	return state;
}

void pipesim_steady_state_free(PipesimSteadyState *state)
{
	if (state != NULL)
		pipesim_free_all(state->idle, state->layers, state);
}
