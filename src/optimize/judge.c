#include "optimize/judge.h"

void pipesim_judge_init(
	PipesimJudge *judge, const PipesimSearchOf *of, const PipesimInstance *instance)
{
	const PipesimScenario *scenario = of->scenario;
	const PipesimRuntime *runtime =
		pipesim_runtime_resolve(scenario->runtime, PIPESIM_RUNTIME_OF_FILES);

	*judge = (PipesimJudge){.of = of,
		.instance = instance,
		.times = pipesim_times_new(of->costs, &instance->shape),
		.runtime = runtime,
		.has_last_word = pipesim_runtime_waits(runtime) || of->costs->network != NULL ||
				 of->by_quantile || of->costs->post_validation,
		.weighs = pipesim_runtime_waits(runtime) && scenario->memory_limit > 0};
}

void pipesim_judge_clear(PipesimJudge *judge)
{
	pipesim_times_free(judge->times);
}

static PipesimStep *run(const PipesimJudge *judge, const PipesimOrder *order)
{
	const PipesimSearchOf *of = judge->of;
	const PipesimJob job = {.order = order,
		.times = judge->times,
		.network = of->costs->network,
		.runtime = judge->runtime,
		/* Lists are told as they run where nothing else is asked of an order than how long it is. */
		.most_ops = judge->weighs || of->costs->post_validation ? 0 : PIPESIM_MAX_OPS,
		.issuing = pipesim_runtime_asked(judge->runtime, &of->scenario->issuing)};

	return pipesim_step_run(
		&job, of->by_quantile ? PIPESIM_WANT_MESSAGES : PIPESIM_WANT_FIGURES, NULL);
}

static gint64 draw(const PipesimJudge *judge, const PipesimStep *step, guint samples)
{
	const PipesimSearchOf *of = judge->of;
	PipesimScenario scenario = *of->scenario;
	gint64 value;

	scenario.samples = samples;
	PipesimSamples *drawn = pipesim_samples_new(step, of->costs, &scenario, NULL);
	value = drawn != NULL ? (gint64)drawn->makespan[of->quantile].value : G_MAXINT64;
	pipesim_samples_free(drawn);
	return value;
}

static gint64 find_period(const PipesimStep *step)
{
	g_autofree gint64 *between = pipesim_step_between(step);
	PipesimPeriod period;

	return pipesim_period_find(step, between, FALSE, &period, NULL) ? period.time
									: G_MAXINT64;
}

gint64 pipesim_judge_order(const PipesimJudge *judge, const PipesimOrder *order, gint64 *peak)
{
	const PipesimSearchOf *of = judge->of;
	g_autoptr(PipesimStep) step = run(judge, order);

	if (step == NULL)
		return G_MAXINT64;
	if (judge->weighs) {
		const PipesimSubject subject = {.step = step,
			.costs = of->costs,
			.memory_limit = of->scenario->memory_limit};
		g_autoptr(PipesimReport) report = pipesim_report_new(&subject, NULL);

		if (report == NULL || report->memory.peak == NULL)
			return G_MAXINT64;
		if (peak != NULL)
			memcpy(peak, report->memory.peak, sizeof *peak * report->ranks);
		if (!report->memory.fits)
			return G_MAXINT64;
	}
	if (of->costs->post_validation)
		return find_period(step);
	return of->by_quantile
		       ? draw(judge, step, MAX(of->scenario->samples, PIPESIM_JUDGE_SAMPLES))
		       : step->makespan;
}

gint64 pipesim_judge_shown(const PipesimJudge *judge, const PipesimOrder *order)
{
	g_autoptr(PipesimStep) step = run(judge, order);

	return step != NULL ? draw(judge, step, judge->of->scenario->samples) : G_MAXINT64;
}

gint64 pipesim_judge_codes(const PipesimJudge *judge, const guint8 *codes)
{
	g_autoptr(PipesimOrder) order = pipesim_instance_order(judge->instance, codes, NULL);

	return order != NULL ? pipesim_judge_order(judge, order, NULL) : G_MAXINT64;
}

gint64 pipesim_judge_besides(
	const PipesimJudge *judge, guint rank, const guint8 *codes, const gint64 *peak)
{
	const PipesimInstance *x = judge->instance;
	const PipesimRoom *room = &x->room[x->n_rooms - 1]; /* of bytes */
	gint64 held = 0, most = 0, own;
	gboolean joined = FALSE;

	for (guint i = 0; i < x->per_rank; i++) {
		const guint code = codes[i] & PIPESIM_CODE_MASK, kind = code % x->kinds;
		const guint lane = pipesim_instance_lane(x, rank, code / x->kinds);
		const guint flags = codes[i] & ~PIPESIM_CODE_MASK;
		const gboolean glued = flags != 0 || (joined && kind == PIPESIM_CODE_W);
		gint64 now = held;

		joined = (flags & PIPESIM_CODE_JOINED) != 0;
		held += pipesim_room_change(room, lane, kind, glued);
		now = kind == PIPESIM_CODE_F ? held : now;
		now += pipesim_room_passing(room, lane, kind, glued);
		most = MAX(most, MAX(now, held));
	}
	own = judge->of->scenario->memory_limit - room->limit[rank] / room->units;
	return MAX(peak[rank] - own - most / room->units, 0);
}
