#include "analysis/best-order.h"
#include "analysis/report.h"
#include "model/split.h"
#include "order/offload.h"

__extension__ typedef __int128 Wide;

typedef struct {
	const PipesimSchedule *schedule;
	PipesimShape shape; /* with the activations that the memory limit has room for */
	const PipesimTimes *times;
	const PipesimCosts *costs;
	const PipesimRuntime *runtime;
	PipesimIssuing issuing;
	gint64 memory_limit;
	PipesimFraction most; /* activations that a rank may hold, as asked for */
	gboolean hangs;       /* some order that fits does not run by the rules of messages */
} Search;

typedef struct {
	const PipesimSchedule *schedule; /* whose order it is */
	PipesimOrder *order;             /* owned; NULL: none yet */
	gint64 makespan, memory;         /* ns; bytes of the fullest rank */
	/* What the fullest rank holds and what one activation is: in bytes where these are
	 * known, each until it is freed, else in parts of an activation. */
	gint64 held, each;
	gboolean fits;
	gboolean is_shortest; /* no order is shorter, whatever it holds */
} Candidate;

/* Bytes of @sort on @rank, of one micro-batch where they are activations. */
static gint64 bytes_of_rank(const Search *s, guint rank, PipesimBytes sort)
{
	const gint64 *bytes = s->times->bytes[sort];
	gint64 total = 0;

	for (guint chunk = 0; chunk < s->shape.chunks; chunk++)
		total = pipesim_add_capped(
			total, bytes[pipesim_shape_stage(&s->shape, rank, chunk)]);
	return total;
}

/* Takes from the activations that a rank may hold those that the memory of some rank has no
 * room for beside its parameters; one stays, so that there is an order to show. */
static void narrow(Search *s)
{
	PipesimFraction *most = &s->shape.max_activations;

	for (guint rank = 0; s->memory_limit > 0 && rank < s->shape.ranks; rank++) {
		gint64 parameters = s->costs->parameter_bytes, room, divisor;
		gint64 each = s->costs->bytes_until_input + s->costs->bytes_until_weight;

		if (s->times->bytes[PIPESIM_PARAMETERS] != NULL) {
			parameters = bytes_of_rank(s, rank, PIPESIM_PARAMETERS);
			each = pipesim_add_capped(bytes_of_rank(s, rank, PIPESIM_UNTIL_INPUT),
				bytes_of_rank(s, rank, PIPESIM_UNTIL_WEIGHT));
		}
		room = MAX(s->memory_limit - parameters, each);
		if (each == 0 || (Wide)room * most->den >= (Wide)most->num * each)
			continue;
		divisor = pipesim_gcd(room, each);
		*most = (PipesimFraction){room / divisor, each / divisor};
	}
}

/* No order is shorter than the first forwards on the way to a rank and then all ops of that
 * rank: what @step, of F, I and W, has where it is this short. Full backwards may take less
 * than their halves, and what links slow takes longer in some orders than in others. */
static gboolean is_shortest(const PipesimStep *step)
{
	const PipesimTimes *times = step->job.times;
	const PipesimShape *shape = &step->job.order->shape;
	gint64 least = 0;

	for (guint rank = 0; rank < shape->ranks; rank++) {
		for (guint chunk = 0; chunk < shape->chunks; chunk++) {
			const guint stage = pipesim_shape_stage(shape, rank, chunk);

			if (pipesim_times_on(times, rank, times->stage[PIPESIM_B][stage]) <
				pipesim_times_on(times, rank, times->stage[PIPESIM_I][stage]) +
					pipesim_times_on(
						times, rank, times->stage[PIPESIM_W][stage]))
				return FALSE;
		}
		least = MAX(least, step->first_start[rank] + step->busy[rank]);
	}
	return step->job.network == NULL && step->makespan == least;
}

/* What @candidate comes to under @runtime; FALSE where it does not run. */
static gboolean weigh(const Search *s, const PipesimRuntime *runtime, Candidate *candidate)
{
	const PipesimFraction *most = &s->most;
	const PipesimJob job = {.order = candidate->order,
		.times = s->times,
		.network = s->costs->network,
		.runtime = runtime,
		.issuing = pipesim_runtime_asked(runtime, &s->issuing)};
	g_autoptr(PipesimStep) step = pipesim_step_run(&job, PIPESIM_WANT_FIGURES, NULL);
	const PipesimSubject subject = {.step = step,
		.schedule = candidate->schedule,
		.costs = s->costs,
		.memory_limit = s->memory_limit};
	g_autoptr(PipesimReport) report = NULL;

	if (step != NULL)
		report = pipesim_report_new(&subject, NULL);
	if (report == NULL)
		return FALSE;
	candidate->makespan = pipesim_report_step(report);
	candidate->memory = report->memory.max;
	candidate->each = s->costs->bytes_until_input + s->costs->bytes_until_weight;
	candidate->held = report->memory.even;
	if (candidate->each == 0) {
		candidate->each = report->held.unit.den;
		candidate->held = report->held.max_peak * report->held.unit.num;
	}
	candidate->fits = report->memory.fits && (Wide)candidate->held * most->den <=
							 (Wide)most->num * candidate->each;
	/* Without a barrier where no rank idles at all. */
	candidate->is_shortest =
		report->period != NULL ? report->bubble.max_idle == 0 : is_shortest(step);
	return TRUE;
}

static gboolean is_better(const Candidate *a, const Candidate *b)
{
	if (b->order == NULL || a->fits != b->fits)
		return b->order == NULL || a->fits;
	return a->fits ? a->makespan < b->makespan : a->held < b->held;
}

/* Puts the order of @schedule, with room for @most activations and @by_rules, into @best where it is better. One
 * that is refused, does not fit into this machine's memory or does not run is none. */
static void try_start(Search *s, const PipesimSchedule *schedule, PipesimFraction most,
	gboolean by_rules, Candidate *best)
{
	Candidate candidate = {.schedule = schedule};
	PipesimShape shape = s->shape;

	shape.max_activations = most;
	shape.by_rules = by_rules;
	if (schedule->check != NULL && !schedule->check(&shape, NULL))
		return;
	candidate.order = pipesim_schedule_order(schedule, &shape, s->times, NULL);
	if (candidate.order == NULL)
		return;
	/* To wait for messages makes no order shorter, and takes longer to simulate. */
	gboolean wins = weigh(s, NULL, &candidate) && is_better(&candidate, best);
	if (wins && pipesim_runtime_waits(s->runtime)) {
		const gboolean fits = candidate.fits;

		wins = weigh(s, s->runtime, &candidate);
		s->hangs |= fits && !wins;
		wins = wins && is_better(&candidate, best);
	}
	if (wins) {
		pipesim_order_unref(best->order);
		*best = candidate;
	} else {
		pipesim_order_unref(candidate.order);
	}
}

/* The best candidate, which need not fit; order NULL with @error where there is none. One that
 * does not run, as it may be under a runtime's rules, is the last choice: who runs it is told
 * why. */
static Candidate find_best(Search *s, GError **error)
{
	g_autoptr(GError) fault = NULL;
	const PipesimFraction *most = &s->shape.max_activations;
	const gint64 ranks = s->shape.ranks;
	Candidate best = {.schedule = s->schedule},
		  stuck = {.schedule = s->schedule, .fits = TRUE};

	best.order = pipesim_schedule_order(s->schedule, &s->shape, s->times, &fault);
	if (best.order == NULL &&
		!g_error_matches(fault, PIPESIM_ERROR, PIPESIM_ERROR_INCOMPLETE)) {
		g_propagate_error(error, g_steal_pointer(&fault));
		return best;
	}
	if (best.order != NULL && !weigh(s, s->runtime, &best)) {
		stuck.order = g_steal_pointer(&best.order);
		s->hangs = TRUE;
	}
	if (best.order != NULL && best.fits && best.is_shortest)
		return best;
	for (const PipesimSchedule *const *start = s->schedule->starts; *start != NULL; start++)
		try_start(s, *start, *most, FALSE, &best);
	/* What is found where no limit is asked for may fit too: then it is no longer here. */
	if (most->num < ranks * most->den) {
		try_start(s, s->schedule, (PipesimFraction){ranks, 1}, FALSE, &best);
		/* Those of rules alone are regular: messages wait less for each other. */
		if (pipesim_runtime_waits(s->runtime) || s->costs->network != NULL)
			try_start(s, s->schedule, *most, TRUE, &best);
	}
	if (best.order == NULL && stuck.order != NULL)
		return stuck;
	pipesim_order_unref(stuck.order);
	if (best.order == NULL && s->hangs)
		pipesim_fail(error, PIPESIM_ERROR_DEADLOCK,
			"%s; other orders that fit do not run under these rules for messages",
			fault->message);
	else if (best.order == NULL)
		g_propagate_error(error, g_steal_pointer(&fault));
	return best;
}

/* The order of @best, or why there is none. */
static PipesimOrder *take(const Search *s, const Candidate *best, GError **error)
{
	if (best->order == NULL)
		return NULL;
	if (!best->fits) {
		pipesim_order_unref(best->order);
		return pipesim_fail_null(error, PIPESIM_ERROR_CONSTRAINT,
			"%s: no known order%s holds so few activations; %s holds the fewest; "
			"nearest: --max-activations %" G_GINT64_FORMAT,
			s->schedule->name,
			s->hangs ? " that runs under these rules for messages" : "",
			best->schedule->name, (best->held + best->each - 1) / best->each);
	}
	if (best->schedule != s->schedule) {
		g_free(best->order->note);
		best->order->note = g_strdup_printf("the order is that of %s, the shortest "
						    "found that fits what a rank may hold",
			best->schedule->name);
	}
	return best->order;
}

/* Copies of a part of what ranks hold are put into what a search finds without. */
static PipesimOrder *find_whole(const PipesimSchedule *schedule, const PipesimShape *shape,
	const PipesimTimes *times, const PipesimScenario *scenario, const PipesimCosts *costs,
	GError **error)
{
	PipesimShape whole = *shape;

	whole.offload_part.num = 0;
	g_autoptr(PipesimOrder) order =
		pipesim_best_order(schedule, &whole, times, scenario, costs, error);
	return order != NULL ? pipesim_order_offload_part(order, shape, times, error) : NULL;
}

PipesimOrder *pipesim_best_order(const PipesimSchedule *schedule, const PipesimShape *shape,
	const PipesimTimes *times, const PipesimScenario *scenario, const PipesimCosts *costs,
	GError **error)
{
	PipesimTimes sustained = *times;
	Search s = {.schedule = schedule,
		.shape = *shape,
		.times = &sustained,
		.costs = costs,
		.runtime = pipesim_runtime_resolve(scenario->runtime, schedule->runtime),
		.issuing = scenario->issuing,
		.memory_limit = scenario->memory_limit,
		.most = shape->max_activations};
	PipesimOrder *order;

	sustained.power = NULL;
	sustained.contention = NULL;
	memset(sustained.launch, 0, sizeof sustained.launch);
	if (!pipesim_schedule_is_search(schedule))
		return pipesim_schedule_order(schedule, shape, &sustained, error);
	if (shape->offload_part.num > 0)
		return find_whole(schedule, shape, times, scenario, costs, error);
	narrow(&s);
	Candidate best = find_best(&s, error);
	if (best.order == NULL || best.fits || s.memory_limit == 0)
		return take(&s, &best, error);
	/* As any other schedule that does not fit: what would run if memory sufficed. */
	Candidate leanest = best;
	s.memory_limit = 0;
	s.shape = *shape;
	best = find_best(&s, error);
	order = take(&s, &best, error);
	if (order != NULL) {
		g_free(order->note);
		order->note = g_strdup_printf("no known order fits the memory limit; the "
					      "leanest, that of %s, takes %s",
			leanest.schedule->name, pipesim_bytes(leanest.memory));
	}
	pipesim_order_unref(leanest.order);
	return order;
}

PipesimProgram *pipesim_best_program(const PipesimSchedule *schedule,
	const PipesimScenario *scenario, const PipesimCosts *costs, GError **error)
{
	PipesimProgram *program = NULL;
	PipesimShape shape;

	if (!pipesim_schedule_shape(schedule, scenario, &shape, error))
		return NULL;
	if (!pipesim_split_check(costs, &shape, error)) {
		g_prefix_error(error, "%s: ", schedule->name);
		return NULL;
	}
	g_autoptr(PipesimTimes) times = pipesim_times_new(costs, &shape);
	g_autoptr(PipesimOrder) order =
		pipesim_best_order(schedule, &shape, times, scenario, costs, error);
	if (order == NULL)
		return NULL;
	program = pipesim_order_expand(order, error);
	if (program == NULL)
		g_prefix_error(error, "%s: ", schedule->name);
	return program;
}
