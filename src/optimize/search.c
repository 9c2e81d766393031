#include "model/split.h"
#include "optimize/state.h"
#include "optimize/stretch.h"
#include "optimize/within.h"

/* Walks at a time: long ones find more than many. For so many moves there is one, from LEAST_WALKS to
 * MOST_WALKS, whatever the number of threads; where time alone counts one a thread. Of long orders one, as it
 * takes about 200 bytes an op, with what puts it together anew. */
#define MOVES_A_WALK 2000000
#define LEAST_WALKS  2
#define MOST_WALKS   16
#define QUEUE_WALKS  2
#define LONG_BUILD   (1u << 15)
/* The part of the time that the bound may take. */
#define BOUND_PART 3
/* The part of the effort that a short order takes of which a long one is made. */
#define SHORT_PART       3
#define QUEUE_SHORT_PART 12

gint64 pipesim_search_start_value(const PipesimSearchOf *of, const PipesimRun *start)
{
	return of->by_quantile ? (gint64)start->samples->makespan[of->quantile].value
			       : pipesim_report_step(start->report);
}

/* Where it begins ------------------------------------------------------------------------ */

/* Keeps what the shortest order that fits holds besides what codes tell, or the first where none fits.
 * @any: it is the same order whatever the limit */
static void note_memory(
	PipesimSearchState *s, const guint8 *codes, gint64 makespan, gboolean any)
{
	gint64 fullest = 0;

	for (guint rank = 0; rank < s->shape.ranks; rank++)
		fullest = MAX(fullest, s->peak[rank]);
	if (fullest > 0 && any)
		s->leanest = MIN(s->leanest, fullest);
	if (fullest > 0 && (makespan < s->besides_of || !s->has_besides)) {
		s->has_besides = TRUE;
		s->besides_of = makespan;
		for (guint rank = 0; rank < s->shape.ranks; rank++)
			s->besides[rank] = pipesim_judge_besides(&s->judge, rank,
				codes + (gsize)rank * s->tight.per_rank, s->peak);
	}
	memset(s->peak, 0, sizeof *s->peak * s->shape.ranks);
}

/* @codes, which fit, to begin from; becomes the search's, or is freed where it does not run. @any: as above */
static void add_codes(PipesimSearchState *s, guint8 *codes, gboolean any)
{
	PipesimWalk *walk = &s->walks[0];
	guint at = 0;

	pipesim_instance_tidy(s->found->instance, codes);
	if (!pipesim_walk_begin(walk, codes)) {
		g_free(codes);
		return;
	}
	while (at < s->spans->len && g_array_index(s->spans, gint64, at) <= walk->makespan)
		at++;
	g_array_insert_val(s->spans, at, walk->makespan);
	g_ptr_array_insert(s->codes, (int)at, codes);
	if (s->judged) {
		g_autoptr(PipesimOrder) order = pipesim_instance_order(&s->tight, codes, NULL);
		gint64 makespan;

		if (order == NULL)
			return;
		makespan = pipesim_judge_order(&s->judge, order, s->peak);
		note_memory(s, codes, makespan, any);
		pipesim_search_offer(s, order, makespan, NULL);
		if (makespan < s->judged_makespan) {
			s->judged_makespan = makespan;
			memcpy(s->judged_best, codes, s->n);
		}
	} else {
		pipesim_search_offer_codes(s, codes, walk->makespan);
	}
}

/* Begins from @codes too where @made says that they are there and they fit; else frees them. */
static void add_if_fits(PipesimSearchState *s, guint8 *codes, gboolean made, gboolean any)
{
	if (made && pipesim_search_fits(s, codes))
		add_codes(s, codes, any);
	else
		g_free(codes);
}

/* Leaves room for that, unless there is then none for any order. */
static void tighten(PipesimSearchState *s)
{
	PipesimRoom *room = &s->tight.room[s->tight.n_rooms - 1];
	g_autofree guint8 *codes = g_new(guint8, s->n);

	if (!s->judge.weighs)
		return;
	for (guint rank = 0; rank < s->shape.ranks; rank++)
		room->limit[rank] -= s->besides[rank] * room->units;
	pipesim_build(&s->tight, codes);
	if (pipesim_search_fits(s, codes)) {
		for (guint i = s->codes->len; i-- > 0 && s->codes->len > 1;)
			if (!pipesim_search_fits(s, s->codes->pdata[i])) {
				g_ptr_array_remove_index(s->codes, i);
				g_array_remove_index(s->spans, i);
			}
		return;
	}
	for (guint rank = 0; rank < s->shape.ranks; rank++)
		room->limit[rank] += s->besides[rank] * room->units;
}

/* Whether what is known must do: of long orders each that is looked at takes its time. */
static gboolean is_hurried(const PipesimSearchState *s)
{
	return s->found->program != NULL && s->n > PIPESIM_SEARCH_LONG &&
	       pipesim_search_is_late(s);
}

gboolean pipesim_search_has_shape(const PipesimShape *shape, const PipesimProgram *program)
{
	if (program->shape.ranks != shape->ranks || program->shape.chunks != shape->chunks ||
		program->shape.microbatches != shape->microbatches ||
		program->shape.stages != shape->stages ||
		pipesim_shape_slices(&program->shape) != pipesim_shape_slices(shape))
		return FALSE;
	return pipesim_all(i, shape->ranks * shape->chunks,
		program->stage_of[i] ==
			pipesim_shape_stage(shape, i / shape->chunks, i % shape->chunks));
}

static gboolean add_program(
	PipesimSearchState *s, const PipesimProgram *program, const char *from, gboolean any)
{
	g_autoptr(PipesimOrder) order = NULL;
	guint8 *codes;
	gint64 makespan;

	if (!pipesim_search_has_shape(&s->shape, program))
		return FALSE;
	codes = g_new(guint8, s->n);
	if (!pipesim_instance_codes(s->found->instance, program, codes) ||
		!pipesim_search_fits(s, codes)) {
		g_free(codes);
		return FALSE;
	}
	order = pipesim_order_of_program(program);
	makespan = pipesim_judge_order(&s->judge, order, s->peak);
	note_memory(s, codes, makespan, any);
	pipesim_search_offer(s, order, makespan, from);
	if (is_hurried(s))
		g_free(codes);
	else
		add_codes(s, codes, any);
	return makespan < G_MAXINT64;
}

static gint compare_runs(gconstpointer a, gconstpointer b, gpointer data)
{
	const PipesimRun *x = *(PipesimRun *const *)a, *y = *(PipesimRun *const *)b;
	const gint64 of_x = pipesim_search_start_value(data, x);
	const gint64 of_y = pipesim_search_start_value(data, y);

	return (of_x > of_y) - (of_x < of_y);
}

void pipesim_search_sort(const PipesimSearchOf *of, GPtrArray *starts)
{
	g_ptr_array_sort_with_data(starts, compare_runs, (gpointer)of);
}

PipesimScenario pipesim_search_known(const PipesimSearchOf *of)
{
	PipesimScenario scenario = *of->scenario;

	scenario.chunks = scenario.pipelines = of->chunks;
	if (scenario.max_activations.num == 0 && scenario.memory_limit > 0)
		scenario.max_activations =
			(PipesimFraction){MAX(scenario.microbatches, scenario.ranks), 1};
	return scenario;
}

/* Every schedule of the placement, as it is and as codes. */
static void add_schedules(PipesimSearchState *s)
{
	PipesimScenario scenario = pipesim_search_known(s->of);

	if (!s->of->by_quantile)
		scenario.samples = 0;
	scenario.critical = FALSE;
	scenario.keep = PIPESIM_KEEP_OPS;
	for (const PipesimSchedule *const *at = pipesim_schedule_list(); *at != NULL; at++) {
		PipesimRun *run;

		if ((*at)->placement != s->of->placement || (*at)->parts > 1 ||
			!pipesim_schedule_is_plain(*at) || is_hurried(s) ||
			((*at)->plan != NULL && s->n > PIPESIM_SEARCH_LONG &&
				pipesim_search_is_late(s)))
			continue;
		run = pipesim_run_schedule(*at, &scenario, s->of->costs);
		if (run->error == NULL && run->shape.chunks == s->shape.chunks &&
			add_program(s, run->step->whole, pipesim_schedule_name(*at),
				(*at)->plan == NULL)) {
			pipesim_step_forget_ops(run->step);
			g_ptr_array_add(s->found->starts, run);
		} else {
			pipesim_run_free(run);
		}
	}
	pipesim_search_sort(s->of, s->found->starts);
}

/* Whether there is nothing to look for any more, or no time. */
static gboolean is_enough(PipesimSearchState *s)
{
	return pipesim_search_is_proven(s) || pipesim_search_is_late(s) ||
	       pipesim_search_is_stopped(s);
}

/* The last resort, where nothing is proven already. */
static void add_build(PipesimSearchState *s)
{
	guint8 *codes;

	if (is_hurried(s) || pipesim_search_is_proven(s) ||
		(s->n > LONG_BUILD && s->codes->len > 0))
		return;
	/* Where nothing else is known the shorter one, and the leaner one where that may not fit. */
	if (s->codes->len == 0) {
		codes = g_new(guint8, s->n);
		pipesim_build_justified(&s->tight, codes);
		add_if_fits(s, codes, TRUE, FALSE);
		if (s->codes->len > 0 && !s->judge.weighs)
			return;
	}
	codes = g_new(guint8, s->n);
	pipesim_build(&s->tight, codes);
	add_if_fits(s, codes, TRUE, TRUE);
}

/* In two directions, where ranks differ: the shortest that is known with its directions, and its ranks, changed. */
static void add_mirrored(PipesimSearchState *s)
{
	const PipesimInstance *x = &s->tight;
	const guint mask = pipesim_instance_code_mask(x), codes = x->chunks * x->kinds;
	const guint8 *from = s->codes->len > 0 ? s->codes->pdata[0] : NULL;
	gboolean differ = FALSE;
	guint8 *mirrored;

	if (x->shape.copies == 1 || from == NULL)
		return;
	for (guint lane = 0; lane < x->lanes; lane++) {
		const guint other = x->lanes - 1 - lane;

		if (pipesim_shape_stage(&x->shape, lane / x->chunks, lane % x->chunks) !=
			pipesim_shape_stage(&x->shape, other / x->chunks, other % x->chunks))
			return;
		for (guint kind = 0; kind < x->kinds; kind++)
			differ |= x->time[kind][lane] != x->time[kind][other];
	}
	if (!differ)
		return;
	mirrored = g_new(guint8, s->n);
	for (gsize i = 0; i < s->n; i++) {
		const gsize rank = x->ranks - 1 - i / x->per_rank;
		const guint8 code = from[rank * x->per_rank + i % x->per_rank];
		const guint kind = (code & mask) % x->kinds;

		mirrored[i] = (guint8)((code & ~mask) |
				       (codes - x->kinds - ((code & mask) - kind) + kind));
	}
	add_if_fits(s, mirrored, TRUE, FALSE);
}

/* As many overlapped pairs as memory has room for, where that is shorter than all that is known. */
static void add_paired(PipesimSearchState *s)
{
	PipesimWalk *walk = &s->walks[0];
	guint8 *codes;

	if (is_hurried(s) || pipesim_search_is_proven(s))
		return;
	codes = pipesim_search_paired(&s->tight);
	if (codes == NULL || !pipesim_search_fits(s, codes) ||
		!pipesim_walk_begin(walk, codes) ||
		(s->spans->len > 0 && walk->makespan >= g_array_index(s->spans, gint64, 0))) {
		g_free(codes);
		return;
	}
	add_codes(s, codes, FALSE);
	s->paired = codes;
}

/* Long from short ------------------------------------------------------------------------ */

static gint64 judge_stretch(const guint8 *codes, gpointer data)
{
	PipesimSearchState *s = data;

	if (pipesim_search_is_late(s))
		return -1;
	if (!pipesim_search_fits(s, codes) || !pipesim_walk_begin(&s->walks[0], codes))
		return G_MAXINT64;
	return s->walks[0].makespan;
}

/* While the short one is searched the long one stands as it does. */
static gboolean tell_short(const PipesimSearchNews *news, gpointer data)
{
	const PipesimSearchState *s = data;
	const PipesimSearchNews own = {s->found->makespan, s->found->bound->time, news->moves};

	return s->of->tell == NULL || s->of->tell(&own, s->of->data);
}

/* Searches the order of fewer micro-batches first, with a part of the effort: of enough to fill the pipeline twice, and
 * what is missing can be divided in many ways. */
static void add_short(PipesimSearchState *s)
{
	const guint m = s->shape.microbatches, step = PIPESIM_STRETCH_PARTS * s->shape.copies;
	const guint least = 2 * s->shape.ranks * s->shape.copies;
	PipesimScenario scenario = *s->of->scenario;
	PipesimSearchOf of = *s->of;
	const gint64 now = g_get_monotonic_time();
	/* Where messages go by queues orders grow by these: what is short without is where a few begin. */
	const guint part = s->queue_walks != NULL ? QUEUE_SHORT_PART : SHORT_PART;
	g_autoptr(PipesimFound) found = NULL;
	g_autoptr(PipesimArena) arena = pipesim_arena_new();
	g_autofree guint8 *codes = NULL, *stretched = NULL;
	PipesimWalk walk;

	if (m <= least + step || is_enough(s))
		return;
	scenario.microbatches = m - (m - least) / step * step;
	scenario.runtime = NULL;
	of.by_quantile = FALSE;
	for (guint rank = 0; s->judge.weighs && rank < s->shape.ranks; rank++) {
		const guint last = s->tight.n_rooms - 1;
		const gint64 taken = (s->found->instance->room[last].limit[rank] -
					     s->tight.room[last].limit[rank]) /
				     s->tight.room[last].units;

		scenario.memory_limit =
			MIN(scenario.memory_limit, s->of->scenario->memory_limit - taken);
	}
	of.scenario = &scenario;
	of.programs = NULL;
	of.explain = FALSE;
	of.tell = tell_short;
	of.data = s;
	of.moves /= part;
	if (of.deadline > 0)
		of.deadline = now + (of.deadline - now) / part;
	found = pipesim_search_within(&of, NULL, NULL);
	if (found == NULL)
		return;
	codes = g_new(guint8, (gsize)found->instance->ranks * found->instance->per_rank);
	stretched = g_new(guint8, s->n);
	pipesim_walk_init(&walk, found->instance, 0, 0, arena);
	if (pipesim_arena_check(arena, NULL, "ops") &&
		pipesim_instance_codes(found->instance, found->program, codes) &&
		pipesim_walk_begin(&walk, codes) &&
		pipesim_stretch_best(&walk, s->found->instance, PIPESIM_STRETCH_UNIT,
			judge_stretch, s, stretched) < G_MAXINT64)
		add_codes(s, g_steal_pointer(&stretched), FALSE);
	s->found->moves = s->moves_before += found->moves;
}

/* Search --------------------------------------------------------------------------------- */

/* Walks that know of queues. */
static void reserve_queues(PipesimSearchState *s)
{
	const PipesimSearchOf *of = s->of;
	const PipesimIssuing issuing =
		pipesim_runtime_asked(s->judge.runtime, &of->scenario->issuing);

	if (of->by_quantile || (of->moves == 0 && of->deadline == 0) ||
		!pipesim_queue_takes(&s->tight, s->judge.runtime, &issuing))
		return;
	s->n_queue_walks = MIN(s->n_walks, QUEUE_WALKS);
	s->queue_walks = pipesim_arena_array(s->arena, PipesimQueueWalk, s->n_queue_walks);
	for (guint i = 0; s->queue_walks != NULL && i < s->n_queue_walks; i++)
		pipesim_queue_walk_init(&s->queue_walks[i], &s->tight, s->judge.runtime,
			of->seed, MOST_WALKS + i, s->arena);
}

static gboolean reserve(PipesimSearchState *s, GError **error)
{
	const PipesimInstance *x = s->found->instance;
	const PipesimSearchOf *of = s->of;
	const guint threads = of->threads > 0 ? of->threads : g_get_num_processors();
	const guint64 walks = of->moves > 0 ? of->moves / MOVES_A_WALK : threads;
	double took = 0;

	s->n = (gsize)x->ranks * x->per_rank;
	s->n_walks =
		s->n > PIPESIM_SEARCH_LONG ? 1 : (guint)CLAMP(walks, LEAST_WALKS, MOST_WALKS);
	s->arena = pipesim_arena_new();
	s->walks = pipesim_arena_array(s->arena, PipesimWalk, s->n_walks);
	s->best = pipesim_arena_array(s->arena, guint8, s->n);
	s->judged_best = pipesim_arena_array(s->arena, guint8, s->n);
	s->judged_spans = pipesim_arena_array(s->arena, gint64, s->n_walks);
	s->besides = pipesim_arena_array(s->arena, gint64, x->ranks);
	s->peak = pipesim_arena_array(s->arena, gint64, x->ranks);
	s->tight = *x;
	for (guint i = 0; i < x->n_rooms; i++)
		s->tight.room[i].limit = pipesim_arena_array(s->arena, gint64, x->ranks);
	s->known = pipesim_arena_array(s->arena, gint64, s->n_walks);
	s->judged_codes = pipesim_arena_array(s->arena, guint8 *, s->n_walks);
	if (!pipesim_arena_check(s->arena, error, "the orders that a search tries"))
		return FALSE;
	for (guint i = 0; i < x->n_rooms; i++)
		memcpy(s->tight.room[i].limit, x->room[i].limit,
			sizeof *x->room[i].limit * x->ranks);
	for (guint i = 0; i < s->n_walks; i++) {
		pipesim_walk_init(&s->walks[i], &s->tight, of->seed, i, s->arena);
		s->judged_codes[i] = pipesim_arena_array(s->arena, guint8, s->n);
	}
	pipesim_search_init_justifiers(s);
	reserve_queues(s);
	if (!pipesim_arena_check(s->arena, error, "%" G_GSIZE_FORMAT " ops", s->n))
		return FALSE;
	for (gsize i = 0; i < s->n; i++)
		took += (double)s->walks[0].took[i];
	s->op = took / (double)s->n;
	s->codes = g_ptr_array_new_with_free_func(g_free);
	s->spans = g_array_new(FALSE, FALSE, sizeof(gint64));
	return TRUE;
}

static gboolean search(PipesimSearchState *s, GError **error)
{
	const PipesimSearchOf *of = s->of;
	PipesimFound *found = s->found;
	guint8 *codes;

	if (!reserve(s, error))
		return FALSE;
	s->best_makespan = s->judged_makespan = found->makespan = G_MAXINT64;
	s->leanest = s->besides_of = s->value = G_MAXINT64;
	found->left_out = g_array_new(FALSE, FALSE, sizeof(guint));
	found->starts = g_ptr_array_new_with_free_func((GDestroyNotify)pipesim_run_free);
	add_schedules(s);
	for (guint i = 0; of->programs != NULL && i < of->programs->len; i++)
		if (!add_program(s, of->programs->pdata[i], NULL, TRUE))
			g_array_append_val(found->left_out, i);
	s->knows = TRUE;
	s->known_best = found->makespan;
	tighten(s);
	add_build(s);
	add_mirrored(s);
	add_paired(s);
	if (of->moves > 0 || of->deadline > 0) {
		/* The shortest unit, repeated. */
		codes = is_enough(s) ? NULL : pipesim_search_units(s);
		add_if_fits(s, codes, codes != NULL, FALSE);
		add_short(s);
	}
	if (found->program == NULL && s->leanest < G_MAXINT64)
		return pipesim_fail(error, PIPESIM_ERROR_CONSTRAINT,
			"no known order holds so little with its messages under these rules; "
			"nearest: --memory-limit %s",
			pipesim_least_bytes(s->leanest));
	if (found->program == NULL)
		return pipesim_fail(error, PIPESIM_ERROR_DEADLOCK,
			"no known order runs under these rules for messages; try --runtime "
			"async");
	if (is_hurried(s) || pipesim_search_is_proven(s)) {
		pipesim_search_is_stopped(s);
		return TRUE;
	}
	s->best_makespan = g_array_index(s->spans, gint64, 0);
	memcpy(s->best, s->codes->pdata[0], s->n);
	if (of->moves > 0 || of->deadline > 0)
		pipesim_search_run_rounds(s);
	if (s->queue_walks != NULL && !found->stopped)
		pipesim_search_run_queues(s);
	return TRUE;
}

/* Without a barrier what is to be short is how long a rank takes from its start, which is that of the first forwards on
 * the way to it: walks have that as an order whose ranks end by so much later. */
static PipesimInstance *count_spans(PipesimInstance *x, gboolean post_validation)
{
	gint64 latest = 0;

	if (x == NULL || !post_validation)
		return x;
	x->behind = pipesim_arena_array(x->arena, gint64, x->ranks);
	if (!pipesim_arena_check(x->arena, NULL, "ranks")) {
		x->behind = NULL;
		return x;
	}
	for (guint rank = 0; rank < x->ranks; rank++) {
		x->behind[rank] = G_MAXINT64;
		for (guint chunk = 0; chunk < x->chunks; chunk++) {
			gint64 start = 0;

			for (guint32 lane = pipesim_instance_lane(x, rank, chunk);
				x->before[lane] != PIPESIM_NO_LANE; lane = x->before[lane])
				start +=
					x->hop[lane] + x->time[PIPESIM_CODE_F][x->before[lane]];
			x->behind[rank] = MIN(x->behind[rank], start);
		}
		latest = MAX(latest, x->behind[rank]);
	}
	for (guint rank = 0; rank < x->ranks; rank++)
		x->behind[rank] = latest - x->behind[rank];
	return x;
}

PipesimInstance *pipesim_search_instance(const PipesimSearchOf *of, GError **error)
{
	const PipesimRuntime *runtime =
		pipesim_runtime_resolve(of->scenario->runtime, PIPESIM_RUNTIME_OF_FILES);
	PipesimShape shape;
	PipesimInstanceOf instance = {.shape = &shape,
		.costs = of->costs,
		.whole = of->whole,
		.pairs = !runtime->splits_pairs,
		.max_activations = of->scenario->max_activations,
		.memory_limit = of->scenario->memory_limit};
	g_autoptr(PipesimTimes) times = NULL;
	PipesimInstance *x;

	const guint64 parts = of->placement == PIPESIM_BIDIRECTIONAL ? 1 : of->chunks;
	const guint64 ops = (guint64)of->scenario->ranks * of->scenario->microbatches * parts *
			    PIPESIM_CODE_KINDS;
	const guint64 most = PIPESIM_SEARCH_BYTES /
			     (PIPESIM_SEARCH_OP + PIPESIM_SEARCH_OP_PART * of->chunks);

	if (ops > most)
		return pipesim_fail_null(error, PIPESIM_ERROR_LIMIT,
			"%" G_GUINT64_FORMAT " ops are more than the %" G_GUINT64_FORMAT
			" that a search takes, in %u GiB; take fewer ranks or micro-batches",
			ops, most, (guint)(PIPESIM_SEARCH_BYTES >> 30));
	if (!pipesim_shape_init(&shape, of->scenario, of->chunks, of->placement, error) ||
		!pipesim_split_check(of->costs, &shape, error))
		return NULL;
	if (instance.max_activations.num == 0 && instance.memory_limit == 0)
		instance.max_activations = shape.max_activations;
	instance.times = times = pipesim_times_new(of->costs, &shape);
	x = pipesim_instance_new(&instance, error);
	if (x != NULL) {
		const PipesimScenario *asked = of->scenario;
		const PipesimIssuing issuing = pipesim_runtime_asked(runtime, &asked->issuing);

		x->queued = runtime->runs_files &&
			    issuing.communicators == PIPESIM_COMMUNICATOR_RANK;
		/* Forwards that run once more would stand between others. */
		x->in_rounds = pipesim_queue_takes(x, runtime, &issuing) &&
			       asked->recompute == 0 && asked->offload == 0;
	}
	return count_spans(x, of->costs->post_validation);
}

static gboolean go_on(gpointer data)
{
	const PipesimSearchOf *of = data;

	return of->tell == NULL || of->tell(&(PipesimSearchNews){0}, of->data);
}

static PipesimBound *bound_period(const PipesimSearchOf *of, const PipesimInstance *x)
{
	g_autoptr(PipesimTimes) times = pipesim_times_new(of->costs, &x->shape);
	const PipesimOrder order = {.shape = x->shape};
	const PipesimStep step = {.job = {.order = &order, .times = times}};
	g_autofree gint64 *between = pipesim_step_between(&step);
	PipesimBound bound = {0};

	bound.time = pipesim_bound_period(x, between);
	return pipesim_bound_bare(&bound);
}

/* Where the runtime runs no other order, whatever the limits. */
static void raise_to_only(
	const PipesimSearchOf *of, const PipesimInstance *x, PipesimBound *bound)
{
	const PipesimSchedule *only =
		pipesim_runtime_resolve(of->scenario->runtime, PIPESIM_RUNTIME_OF_FILES)->only;
	PipesimSearchOf own = *of;
	PipesimBoundStep step = {.rule = PIPESIM_BY_ONLY};
	g_autoptr(PipesimOrder) order = NULL;
	PipesimJudge judge;

	if (only == NULL || x->chunks > 1 || x->ranks == 1)
		return;
	own.by_quantile = FALSE;
	pipesim_judge_init(&judge, &own, x);
	judge.weighs = FALSE;
	if (judge.times->each == NULL)
		order = pipesim_schedule_order(only, &x->shape, judge.times, NULL);
	if (order != NULL) {
		const gint64 makespan = pipesim_judge_order(&judge, order, NULL);

		if (makespan < G_MAXINT64 && makespan > bound->time) {
			bound->time = step.time = makespan;
			g_array_set_size(bound->steps, 0);
			g_array_set_size(bound->ops, 0);
			if (of->explain)
				g_array_append_val(bound->steps, step);
		}
	}
	pipesim_judge_clear(&judge);
}

PipesimBound *pipesim_search_bound(
	const PipesimSearchOf *of, const PipesimInstance *x, gboolean rough, GError **error)
{
	const gint64 now = g_get_monotonic_time();
	PipesimBoundUntil until = {.rough = rough, .go_on = go_on, .data = (gpointer)of};
	PipesimBound *bound;

	if (of->costs->post_validation)
		return bound_period(of, x);
	if (of->deadline > 0)
		until.deadline = now + MAX(of->deadline - now, 0) / BOUND_PART;
	bound = pipesim_bound_new(x, of->explain, &until, error);
	if (bound != NULL)
		raise_to_only(of, x, bound);
	return bound;
}

PipesimFound *pipesim_search_within(
	const PipesimSearchOf *of, PipesimBound *bound, GError **error)
{
	g_autoptr(PipesimFound) found = g_new0(PipesimFound, 1);
	PipesimSearchState s = {.of = of, .found = found};
	gboolean ok;

	found->bound = bound;
	found->instance = pipesim_search_instance(of, error);
	if (found->instance == NULL)
		return NULL;
	s.shape = found->instance->shape;
	pipesim_judge_init(&s.judge, of, found->instance);
	s.judged = s.judge.has_last_word;
	if (bound == NULL)
		found->bound = pipesim_search_bound(of, found->instance, FALSE, error);
	ok = found->bound != NULL;
	if (ok && of->by_quantile && of->scenario->jitter.den == 0) {
		/* There must be something to draw samples from. */
		g_autofree PipesimJitter *jitter =
			pipesim_jitter_measured(of->costs, &s.shape, error);

		ok = jitter != NULL;
	}
	ok = ok && search(&s, error);
	g_clear_pointer(&s.codes, g_ptr_array_unref);
	g_clear_pointer(&s.spans, g_array_unref);
	pipesim_arena_free(s.arena);
	pipesim_judge_clear(&s.judge);
	return ok ? g_steal_pointer(&found) : NULL;
}

PIPESIM_FREES(PipesimFound, pipesim_found_free, found)
{
	pipesim_instance_free(found->instance);
	pipesim_bound_free(found->bound);
	if (found->starts != NULL)
		g_ptr_array_unref(found->starts);
	if (found->left_out != NULL)
		g_array_unref(found->left_out);
	pipesim_program_unref(found->program);
	g_free(found->from);
	g_free(found->limit);
	g_free(found);
}

double pipesim_found_gap(const PipesimFound *found, gint64 makespan)
{
	const gint64 above = makespan - found->bound->time;

	return above <= 0 ? 0 : (double)above / (double)MAX(found->bound->time, 1);
}
