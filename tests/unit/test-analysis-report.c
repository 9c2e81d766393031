#include "grid.h"
#include "suites.h"
#include <math.h>

static const GridCase *accepted_case(int i)
{
	int count;

	return &grid_accepted(&count)[i];
}

/* Recounted from the timeline
 * ------------------------------------------------------------------ */

START_TEST(bubbles_add_up)
{
	const GridCase *point = accepted_case(_i);
	g_autoptr(PipesimCosts) costs = grid_random_costs((guint32)_i, point->ranks, _i % 2);
	g_autoptr(PipesimRun) run = grid_run(point, costs);
	const PipesimReport *report = run->report;
	const PipesimTimeline *timeline = run->step->timeline;
	gint64 max_idle = 0, max_span = 0;

	for (guint rank = 0; rank < point->ranks; rank++) {
		const guint begin = run->step->program->rank_begin[rank];
		const guint end = run->step->program->rank_begin[rank + 1];
		gint64 busy = 0, span;

		for (guint i = begin; i < end; i++)
			busy += timeline->end[i] - timeline->start[i];
		span = timeline->end[end - 1] - timeline->start[begin] - busy;
		ck_assert_int_eq(report->bubble.busy[rank], busy);
		ck_assert_int_eq(report->bubble.idle[rank], timeline->makespan - busy);
		ck_assert_int_eq(report->bubble.span_idle[rank], span);
		ck_assert_int_eq(pipesim_run_bubble(run, rank), report->bubble.idle[rank]);
		max_idle = MAX(max_idle, report->bubble.idle[rank]);
		max_span = MAX(max_span, span);
	}
	ck_assert_int_eq(report->bubble.max_idle, max_idle);
	ck_assert_int_eq(report->bubble.max_span_idle, max_span);
	ck_assert_int_le(report->bubble.max_span_idle, report->bubble.max_idle);
}
END_TEST

START_TEST(ratio_is_idle_over_all)
{
	const GridCase *point = accepted_case(_i);
	g_autoptr(PipesimCosts) costs = grid_random_costs((guint32)_i, point->ranks, FALSE);
	g_autoptr(PipesimRun) run = grid_run(point, costs);
	__int128 idle = 0;

	for (guint rank = 0; rank < point->ranks; rank++)
		idle += run->report->bubble.idle[rank];
	ck_assert(
		idle * run->report->bubble.ratio.den ==
		(__int128)run->report->bubble.ratio.num * run->report->makespan * point->ranks);
}
END_TEST

/* What one rank holds, op after op; a pair holds both of its micro-batches. */
typedef struct {
	gint64 count, peak;
} Held;

static void hold(Held *held, const PipesimOp *op, gboolean until_input)
{
	const gboolean frees = op->kind == PIPESIM_B || op->kind == PIPESIM_FB ||
			       op->kind == (until_input ? PIPESIM_I : PIPESIM_W);

	held->count += op->kind == PIPESIM_F || op->kind == PIPESIM_FB;
	held->peak = MAX(held->peak, held->count);
	held->count -= frees;
}

START_TEST(peaks_recounted)
{
	const GridCase *point = accepted_case(_i);
	g_autoptr(PipesimCosts) costs = grid_random_costs((guint32)_i, point->ranks, FALSE);
	g_autoptr(PipesimRun) run = grid_run(point, costs);
	const PipesimProgram *program = run->step->program;

	for (guint rank = 0; rank < point->ranks; rank++) {
		Held to_weight = {0}, to_input = {0};

		for (guint i = program->rank_begin[rank]; i < program->rank_begin[rank + 1];
			i++) {
			hold(&to_weight, &program->ops[i], FALSE);
			hold(&to_input, &program->ops[i], TRUE);
			if (run->report->held.peak_op[rank] == i)
				ck_assert_int_eq(to_weight.peak, run->report->held.peak[rank]);
		}
		ck_assert_int_eq(to_weight.count, 0);
		ck_assert_int_eq(run->report->held.peak[rank], to_weight.peak);
		ck_assert_int_eq(run->report->held.peak_until_input[rank], to_input.peak);
		ck_assert_double_eq_tol(pipesim_run_peak_activations(run, rank),
			(double)to_weight.peak * (double)run->report->held.unit.num /
				(double)run->report->held.unit.den,
			1e-12);
	}
}
END_TEST

/* Bytes ---------------------------------------------------------------------------------------
 */

static gint64 bytes_at_peak(const PipesimRun *run, guint rank, gint64 input, gint64 weight)
{
	const PipesimProgram *program = run->step->program;
	gint64 inputs = 0, weights = 0, peak = 0;

	for (guint i = program->rank_begin[rank]; i < program->rank_begin[rank + 1]; i++) {
		const PipesimKind kind = program->ops[i].kind;
		const gboolean both = kind == PIPESIM_B || kind == PIPESIM_FB;

		if (kind == PIPESIM_F || kind == PIPESIM_FB) {
			inputs++;
			weights++;
		}
		peak = MAX(peak, inputs * input + weights * weight);
		inputs -= both || kind == PIPESIM_I;
		weights -= both || kind == PIPESIM_W;
	}
	return peak;
}

START_TEST(bytes_recounted)
{
	const GridCase *point = accepted_case(_i);
	g_autoptr(PipesimCosts) costs = pipesim_costs_default();
	g_autoptr(PipesimRun) run = NULL;
	guint copies, parts;

	costs->bytes_until_input = 12000; /* parts into 2, 3 and 4 chunks */
	costs->bytes_until_weight = 60000;
	costs->parameter_bytes = 70000;
	run = grid_run(point, costs);
	copies = run->shape.copies;
	parts = run->shape.stages / run->shape.ranks * pipesim_shape_parts(&run->shape);
	if (12000 % parts > 0)
		return;
	ck_assert_ptr_nonnull(run->report->memory.peak);
	ck_assert_int_eq(run->report->memory.max_parameters, 70000 * copies);
	for (guint rank = 0; rank < point->ranks; rank++) {
		const gint64 want = bytes_at_peak(run, rank, 12000 / parts, 60000 / parts);

		ck_assert_int_eq(run->report->memory.peak[rank], want + 70000 * copies);
		ck_assert_int_eq(
			run->report->memory.fullest[rank].part[PIPESIM_HELD_UNTIL_INPUT] +
				run->report->memory.fullest[rank]
					.part[PIPESIM_HELD_UNTIL_WEIGHT],
			want);
	}
	ck_assert(run->report->memory.fits);
}
END_TEST

/* Sizes of @stage that no other has. */
static gint64 size_of(PipesimBytes sort, guint stage)
{
	static const gint64 unit[PIPESIM_N_BYTES] = {120000, 84000, 1000};

	return unit[sort] * (1 + (stage * 7 + (guint)sort * 3) % 11);
}

/* Bytes that @rank holds most of at once, op by op. */
static gint64 stage_bytes_at_peak(const PipesimRun *run, guint rank)
{
	const PipesimProgram *program = run->step->program;
	const gint64 parts = pipesim_shape_parts(&run->shape);
	gint64 held = 0, peak = 0;

	for (guint i = program->rank_begin[rank]; i < program->rank_begin[rank + 1]; i++) {
		const PipesimOp *op = &program->ops[i];
		const guint stage = pipesim_op_stage(program, rank, op);
		const guint freed =
			op->kind == PIPESIM_FB ? pipesim_op_b_stage(program, rank, op) : stage;

		if (pipesim_op_has_forward(op))
			held += (size_of(PIPESIM_UNTIL_INPUT, stage) +
					size_of(PIPESIM_UNTIL_WEIGHT, stage)) /
				parts;
		peak = MAX(peak, held);
		if (pipesim_op_has_backward(op))
			held -= size_of(PIPESIM_UNTIL_INPUT, freed) / parts;
		if (op->kind != PIPESIM_F && op->kind != PIPESIM_I)
			held -= size_of(PIPESIM_UNTIL_WEIGHT, freed) / parts;
	}
	ck_assert_int_eq(held, 0);
	return peak;
}

static gint64 parameters_of(const PipesimShape *shape, guint rank)
{
	gint64 parameters = 0;

	for (guint chunk = 0; chunk < shape->chunks; chunk++)
		parameters +=
			size_of(PIPESIM_PARAMETERS, pipesim_shape_stage(shape, rank, chunk));
	return parameters;
}

/* Without single ops, so that loops are leapt over, and with them. */
START_TEST(bytes_of_stages_recounted)
{
	const GridCase *point = accepted_case(_i);
	PipesimScenario scenario = grid_scenario(point);
	g_autoptr(PipesimCosts) costs = pipesim_costs_default();
	g_autoptr(PipesimRun) plain = grid_run(point, costs);
	g_autoptr(PipesimRun) run = NULL, streamed = NULL;
	g_autoptr(GArray) parts = g_array_new(FALSE, FALSE, sizeof(gint64));

	for (guint stage = 0; stage < plain->shape.stages; stage++)
		for (int sort = 0; sort < PIPESIM_N_BYTES; sort++) {
			const gint64 size = size_of((PipesimBytes)sort, stage);

			g_array_append_val(parts, size);
		}
	if (12000 % pipesim_shape_parts(&plain->shape) > 0)
		return;
	ck_assert(pipesim_costs_set_part_bytes(costs, parts, point->ranks, NULL));
	run = grid_run(point, costs);
	scenario.keep = PIPESIM_KEEP_NOTHING;
	streamed = pipesim_run_schedule(point->schedule, &scenario, costs);
	for (guint rank = 0; rank < point->ranks; rank++) {
		const gint64 parameters = parameters_of(&run->shape, rank);

		ck_assert_int_eq(run->report->memory.parameters[rank], parameters);
		ck_assert_int_eq(run->report->memory.peak[rank],
			stage_bytes_at_peak(run, rank) + parameters);
		ck_assert_int_eq(
			run->report->memory.peak[rank], streamed->report->memory.peak[rank]);
	}
}
END_TEST

START_TEST(limit_is_inclusive)
{
	g_autoptr(PipesimCosts) costs = pipesim_costs_default();
	const PipesimSchedule *schedule = pipesim_schedule_find("1f1b", NULL);
	PipesimScenario scenario = {.ranks = 4, .microbatches = 8};
	g_autoptr(PipesimRun) free_run = NULL, exact = NULL, tight = NULL;

	costs->bytes_until_weight = 1000;
	free_run = pipesim_run_schedule(schedule, &scenario, costs);
	ck_assert_int_eq(free_run->report->memory.max, 4000);
	scenario.memory_limit = 4000;
	exact = pipesim_run_schedule(schedule, &scenario, costs);
	scenario.memory_limit = 3999;
	tight = pipesim_run_schedule(schedule, &scenario, costs);
	ck_assert(exact->report->memory.fits);
	ck_assert(!tight->report->memory.fits);
}
END_TEST

/* Paths and bounds
 * ----------------------------------------------------------------------------- */

static gboolean waits_for(const PipesimProgram *program, guint32 op, guint32 input)
{
	guint32 inputs[2];
	const guint n = pipesim_program_inputs(
		program, pipesim_program_rank(program, op), &program->ops[op], inputs);

	for (guint i = 0; i < n; i++)
		if (inputs[i] == input)
			return TRUE;
	return FALSE;
}

START_TEST(critical_path_has_no_slack)
{
	const GridCase *point = accepted_case(_i);
	g_autoptr(PipesimCosts) costs = grid_random_costs((guint32)_i, point->ranks, _i % 2);
	g_autoptr(PipesimRun) run = grid_run(point, costs);
	const PipesimReport *report = run->report;
	const PipesimTimeline *timeline = run->step->timeline;

	ck_assert_uint_gt(report->path.n_ops, 0);
	ck_assert_int_eq(timeline->start[report->path.ops[0]], 0);
	for (guint k = 1; k < report->path.n_ops; k++) {
		const guint32 from = report->path.ops[k - 1], to = report->path.ops[k];
		const gboolean same = pipesim_program_rank(run->step->program, from) ==
				      pipesim_program_rank(run->step->program, to);
		const gint64 gap = timeline->start[to] - timeline->end[from];

		ck_assert(same || waits_for(run->step->program, to, from));
		ck_assert_int_eq(gap, same ? 0 : run->times->p2p);
	}
	ck_assert_int_eq(
		timeline->end[report->path.ops[report->path.n_ops - 1]], report->makespan);
}
END_TEST

/* Every op starts when what let it start has ended, a hop later where that is on another rank; by no
 * other cause could it have been earlier, as it is an input or comes before it. */
START_TEST(causes_end_at_starts)
{
	const GridCase *point = accepted_case(_i);
	g_autoptr(PipesimCosts) costs =
		grid_random_costs((guint32)_i, point->ranks, _i % 3 == 0);
	g_autoptr(PipesimRun) run = grid_run(point, costs);
	const PipesimProgram *program = run->step->program;
	const PipesimTimeline *timeline = run->step->timeline;

	for (guint rank = 0; rank < run->shape.ranks; rank++)
		for (guint32 op = program->rank_begin[rank]; op < program->rank_begin[rank + 1];
			op++) {
			const guint64 cause = pipesim_report_cause(run->step, rank, op);
			guint from;

			if (cause == PIPESIM_NO_CAUSE) {
				ck_assert_int_eq(timeline->start[op], 0);
				continue;
			}
			ck_assert_uint_lt(cause, program->n_ops);
			from = pipesim_program_rank(program, (guint32)cause);
			ck_assert_int_eq(
				timeline->end[cause] + (from == rank ? 0 : run->times->p2p),
				timeline->start[op]);
		}
}
END_TEST

START_TEST(lower_bound_holds)
{
	const GridCase *point = accepted_case(_i);

	for (guint32 seed = 0; seed < 8; seed++) {
		g_autoptr(PipesimCosts) costs =
			grid_random_costs((guint32)_i * 8 + seed, point->ranks, seed % 2 == 1);
		g_autoptr(PipesimRun) run = grid_run(point, costs);

		ck_assert_int_le(run->report->path.lower_bound, run->report->makespan);
		for (guint rank = 0; rank < point->ranks; rank++)
			ck_assert_int_le(
				run->report->bubble.busy[rank], run->report->path.lower_bound);
	}
}
END_TEST

/* Formulae
 * ------------------------------------------------------------------------------------- */

static gboolean conditions_hold(const PipesimRun *run)
{
	const PipesimCondition *condition = run->schedule->bubble.conditions;

	if (run->schedule->bubble.approximate != NULL)
		return FALSE;
	for (; condition->rule != NULL; condition++)
		if (!condition->holds(&run->shape, run->times->chunk))
			return FALSE;
	return TRUE;
}

static const gint64 timings[][4] = {{1000, 1000, 1000, 3000}, {1000, 1000, 1000, 2400},
	{1000, 1300, 800, 3100}, {1000, 1300, 800, 2500}, {1000, 2000, 0, 3000},
	{2000, 2000, 500, 4500}, {2000, 1000, 1000, 4000}, {1000, 1000, 1500, 3500},
	{1000, 800, 1300, 3100}, {1500, 1000, 1000, 3500}, {1000, 1000, 500, 1500},
	{1000, 1700, 1000, 3700}, {1000, 3000, 1000, 5000}, {1000, 1000, 1000, 1900}};

static void assert_formula(const PipesimRun *run, const char *times)
{
	const PipesimReport *report = run->report;
	const gint64 bubble = run->schedule->bubble.is_span ? report->bubble.max_span_idle
							    : report->bubble.max_idle;

	if (conditions_hold(run))
		ck_assert_msg(bubble == report->published.bubble,
			"%s %u/%u %s: idle %d, span %d, formula %d", run->name,
			run->shape.ranks, run->shape.microbatches, times,
			(int)report->bubble.max_idle, (int)report->bubble.max_span_idle,
			(int)report->published.bubble);
	ck_assert_int_eq(report->published.difference,
		report->bubble.max_idle - report->published.bubble);
	if (report->published.difference != 0)
		ck_assert_uint_gt(report->published.reasons->len, 0);
	else if (run->schedule->bubble.uneven == NULL)
		ck_assert_uint_eq(report->published.reasons->len, 0);
	for (guint i = 0; i < report->published.reasons->len; i++)
		ck_assert_msg(strstr(report->published.reasons->pdata[i],
				      "no stated condition") == NULL ||
				      run->shape.microbatches < 2 * run->shape.ranks,
			"%s %u/%u %s: %s", run->name, run->shape.ranks, run->shape.microbatches,
			times, (char *)report->published.reasons->pdata[i]);
}

/* Where a schedule says that its formula is exact, it is; elsewhere there is a reason. */
START_TEST(formula_keeps_its_word)
{
	const GridCase *point = accepted_case(_i);

	for (guint t = 0; t < G_N_ELEMENTS(timings); t++) {
		const gint64 *time = timings[t];
		g_autoptr(PipesimCosts) costs =
			grid_costs(time[0], time[1], time[2], time[3], 0);
		g_autofree char *times = g_strdup_printf("F=%d I=%d W=%d FB=%d", (int)time[0],
			(int)time[1], (int)time[2], (int)time[3]);
		g_autoptr(PipesimRun) run = grid_run(point, costs);

		if (run->report->published.has_bubble)
			assert_formula(run, times);
	}
}
END_TEST

/* Of which its author says that every rank holds the same. */
static gboolean fills_every_rank(const GridCase *point)
{
	const char *name = point->schedule->name;

	if (strcmp(name, "interleaved-zb") == 0)
		return point->microbatches >= point->ranks &&
		       (point->group == 0 || 2 * point->group >= point->ranks);
	return g_str_has_prefix(name, "dualpipe") && point->microbatches >= 2 * point->ranks;
}

/* Published peaks are what the fullest rank holds, once there are micro-batches enough to fill
 * the pipeline; never more. */
START_TEST(activations_keep_their_word)
{
	const GridCase *point = accepted_case(_i);

	for (guint t = 0; t < G_N_ELEMENTS(timings); t++) {
		const gint64 *time = timings[t];
		g_autoptr(PipesimCosts) costs =
			grid_costs(time[0], time[1], time[2], time[3], 0);
		g_autoptr(PipesimRun) run = grid_run(point, costs);
		const PipesimReport *report = run->report;
		const PipesimFraction published = report->published.activations;
		const gint64 held =
			(gint64)report->held.max_peak * report->held.unit.num * published.den;
		const gint64 most = published.num * report->held.unit.den;

		/* Of other groups than the schedule's own none is published. */
		ck_assert(report->published.has_activations || point->schedule->slot != NULL);
		if (!report->published.has_activations ||
			point->schedule->activations.is_approximate)
			continue;
		ck_assert_int_le(held, most);
		for (guint rank = 0; fills_every_rank(point) && rank < report->ranks; rank++)
			ck_assert_int_eq(report->held.peak[rank], report->held.max_peak);
		if (point->microbatches >= 2 * point->ranks &&
			!point->schedule->activations.is_most)
			ck_assert_int_eq(held, most);
	}
}
END_TEST

/* Comparisons
 * ----------------------------------------------------------------------------------- */

START_TEST(throughput_against_1f1b)
{
	g_autoptr(PipesimCosts) costs = pipesim_costs_default();
	const PipesimScenario scenario = {.ranks = 8, .microbatches = 20};
	g_autoptr(PipesimComparison) comparison = pipesim_comparison_new(&scenario, costs);

	ck_assert_int_eq(pipesim_comparison_choose(comparison, FALSE), -1);
	g_ptr_array_add(comparison->runs, named_run("zb-h1", 8, 20, costs));
	g_ptr_array_add(comparison->runs, named_run("dualpipe", 8, 20, costs));
	g_ptr_array_add(comparison->runs, named_run("gpipe", 8, 20, costs));
	pipesim_comparison_finish(comparison);
	ck_assert_int_eq(comparison->baseline, 81000000);
	ck_assert_int_eq(pipesim_comparison_choose(comparison, FALSE), 1);
	ck_assert_double_eq_tol(
		pipesim_throughput(comparison, comparison->runs->pdata[1]), 81.0 / 66, 1e-12);
	ck_assert_double_eq_tol(
		pipesim_throughput(comparison, comparison->runs->pdata[2]), 1, 1e-12);
}
END_TEST

/* Schedules as asked for, which two of them tie in; dualpipe is refused. */
static const struct {
	PipesimSort sort;
	gint64 bytes; /* of activations; 0: memory is counted in them */
	const char *wanted;
} sorted[] = {
	{PIPESIM_UNSORTED, 0, "gpipe zb-h1 dualpipe v-half 1f1b "},
	{PIPESIM_BY_MAKESPAN, 0, "v-half zb-h1 gpipe 1f1b dualpipe "},
	{PIPESIM_BY_MEMORY, 0, "v-half zb-h1 1f1b gpipe dualpipe "},
	{PIPESIM_BY_MEMORY, 1000, "v-half zb-h1 1f1b gpipe dualpipe "},
	{PIPESIM_BY_NAME, 0, "1f1b dualpipe gpipe v-half zb-h1 "},
};

START_TEST(schedules_are_sorted)
{
	static const char *const names[] = {"gpipe", "zb-h1", "dualpipe", "v-half", "1f1b"};
	g_autoptr(PipesimCosts) costs = pipesim_costs_default();
	const PipesimScenario scenario = {
		.ranks = 4, .microbatches = 9, .sort = sorted[_i].sort};
	g_autoptr(PipesimComparison) comparison = pipesim_comparison_new(&scenario, costs);
	g_autoptr(GString) order = g_string_new(NULL);

	costs->bytes_until_weight = sorted[_i].bytes;
	for (guint i = 0; i < G_N_ELEMENTS(names); i++)
		g_ptr_array_add(comparison->runs,
			pipesim_run_schedule(
				pipesim_schedule_find(names[i], NULL), &scenario, costs));
	pipesim_comparison_finish(comparison);
	pipesim_each_in (const PipesimRun, run, comparison->runs)
		g_string_append_printf(order, "%s ", run->name);
	ck_assert_str_eq(order->str, sorted[_i].wanted);
}
END_TEST

/* Whole layers are placed so that none of the schedules below is faster with the same stages in the
 * opposite order. */
START_TEST(longer_stages_come_first)
{
	static const char *const names[] = {
		"1f1b", "zb-h1", "zb-h2", "gpipe", "interleaved-1f1b"};
	static const guint layers[] = {10, 12, 14, 44};

	for (guint k = 0; k < G_N_ELEMENTS(layers) * G_N_ELEMENTS(names); k++) {
		const guint n = layers[k / G_N_ELEMENTS(names)];
		const char *name = names[k % G_N_ELEMENTS(names)];
		g_autoptr(PipesimCosts) whole = grid_costs(n * 30, n * 30, n * 30, -1, 0);
		g_autoptr(PipesimCosts) opposite = pipesim_costs_copy(whole);
		g_autoptr(GArray) parts = g_array_new(FALSE, FALSE, sizeof(gint64));
		g_autoptr(PipesimRun) run = NULL, reversed = NULL;
		const guint64 *first;

		whole->whole_layers = TRUE;
		whole->model_layers = 2 * n;
		run = make_run(name, 8, 32, whole);
		ck_assert_ptr_null(run->error);
		first = run->times->first_layer;
		if (first == NULL)
			continue;
		for (guint stage = run->shape.stages; stage-- > 0;)
			for (guint kind = 0; kind < PIPESIM_FB; kind++) {
				const gint64 layer = (kind == PIPESIM_B ? 2 : 1) * 8 * 15;
				const gint64 ns =
					(gint64)(first[stage + 1] - first[stage]) * layer;

				g_array_append_val(parts, ns);
			}
		ck_assert(pipesim_costs_set_parts(opposite, parts, 8, NULL));
		reversed = make_run(name, 8, 32, opposite);
		ck_assert_msg(run->report->makespan <= reversed->report->makespan,
			"%s, %u layers: %ld, reversed %ld", name, 2 * n,
			(long)run->report->makespan, (long)reversed->report->makespan);
	}
}
END_TEST

Suite *analysis_report_suite(void)
{
	Suite *suite = suite_create("analysis-report");
	TCase *grid = tcase_create("grid");
	TCase *edge = tcase_create("edge");
	int count;

	grid_accepted(&count);
	tcase_add_loop_test(grid, bubbles_add_up, 0, count);
	tcase_add_loop_test(grid, ratio_is_idle_over_all, 0, count);
	tcase_add_loop_test(grid, peaks_recounted, 0, count);
	tcase_add_loop_test(grid, bytes_recounted, 0, count);
	tcase_add_loop_test(grid, bytes_of_stages_recounted, 0, count);
	tcase_add_loop_test(grid, critical_path_has_no_slack, 0, count);
	tcase_add_loop_test(grid, causes_end_at_starts, 0, count);
	tcase_add_loop_test(grid, lower_bound_holds, 0, count);
	tcase_add_loop_test(grid, formula_keeps_its_word, 0, count);
	tcase_add_loop_test(grid, activations_keep_their_word, 0, count);
	tcase_add_test(edge, longer_stages_come_first);
	tcase_add_test(edge, limit_is_inclusive);
	tcase_add_test(edge, throughput_against_1f1b);
	tcase_add_loop_test(edge, schedules_are_sorted, 0, G_N_ELEMENTS(sorted));
	suite_add_tcase(suite, grid);
	suite_add_tcase(suite, edge);
	return suite;
}
