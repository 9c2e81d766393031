#include "grid.h"
#include "oracle.h"
#include "runtime/csv.h"
#include "suites.h"

static const GridCase *accepted_case(int i)
{
	int count;

	return &grid_accepted(&count)[i];
}

/* The cells of @csv with slices numbered through, as the oracle reads them: 0F3.1 of two slices is 0F7. */
static void number_slices(GString *csv, guint slices)
{
	g_autofree char *text = g_strdup(csv->str);

	g_string_truncate(csv, 0);
	for (char *at = text; *at != '\0';) {
		char *end = at;
		const guint64 number =
			g_ascii_isdigit(*at) ? g_ascii_strtoull(at, &end, 10) : 0;

		if (end == at)
			g_string_append_c(csv, *at++);
		else if (*end != '.')
			g_string_append_len(csv, at, end - at);
		else
			g_string_append_printf(csv, "%" G_GUINT64_FORMAT,
				number * slices + g_ascii_strtoull(end + 1, &end, 10));
		at = MAX(at, end);
	}
}

static void assert_longest_path(const PipesimProgram *program, const PipesimCosts *costs)
{
	g_autoptr(GString) csv = g_string_new(NULL);
	g_autoptr(PipesimTimes) times = pipesim_times_new(costs, &program->shape);
	g_autoptr(PipesimTimeline) timeline = grid_timeline(program, costs);
	g_autoptr(Oracle) oracle = NULL;

	pipesim_schedule_write_csv(program, csv);
	if (program->shape.sliced)
		number_slices(csv, program->shape.parts);
	oracle = oracle_new(csv->str, times);
	ck_assert(!oracle->cyclic);
	ck_assert_uint_eq(oracle->n_cells, timeline->n_ops);
	for (guint i = 0; i < timeline->n_ops; i++) {
		ck_assert_int_eq(timeline->start[i], oracle->start[i]);
		ck_assert_int_eq(timeline->end[i], oracle->end[i]);
	}
	ck_assert_int_eq(timeline->makespan, oracle->makespan);
}

START_TEST(equals_longest_path)
{
	const GridCase *point = accepted_case(_i);
	g_autoptr(PipesimProgram) program = grid_program(point);

	for (guint32 seed = 0; seed < 6; seed++) {
		g_autoptr(PipesimCosts) costs =
			grid_random_costs((guint32)_i * 16 + seed, point->ranks, seed % 2 == 1);

		assert_longest_path(program, costs);
	}
}
END_TEST

START_TEST(doubling_costs_doubles_times)
{
	const GridCase *point = accepted_case(_i);
	g_autoptr(PipesimProgram) program = grid_program(point);
	g_autoptr(PipesimCosts) once = grid_costs(12000, 15600, 9600, 34800, 444);
	g_autoptr(PipesimCosts) twice = grid_costs(24000, 31200, 19200, 69600, 888);
	g_autoptr(PipesimTimeline) first = grid_timeline(program, once);
	g_autoptr(PipesimTimeline) second = grid_timeline(program, twice);

	/* What is rounded is not doubled. */
	if (12 % (pipesim_shape_parts(&program->shape) * program->shape.chunks) > 0 &&
		program->shape.sliced)
		return;
	for (guint i = 0; i < program->n_ops; i++) {
		ck_assert_int_eq(second->start[i], 2 * first->start[i]);
		ck_assert_int_eq(second->end[i], 2 * first->end[i]);
	}
}
END_TEST

START_TEST(latency_never_shortens)
{
	const GridCase *point = accepted_case(_i);
	g_autoptr(PipesimProgram) program = grid_program(point);
	gint64 before = 0;

	for (gint64 p2p = 0; p2p <= 8000; p2p += 500) {
		g_autoptr(PipesimCosts) costs = grid_costs(4000, 5200, 3200, 11600, p2p);
		g_autoptr(PipesimTimeline) timeline = grid_timeline(program, costs);

		ck_assert_int_ge(timeline->makespan, before);
		before = timeline->makespan;
	}
}
END_TEST

START_TEST(one_at_a_time_and_at_once)
{
	const GridCase *point = accepted_case(_i);
	g_autoptr(PipesimProgram) program = grid_program(point);
	g_autoptr(PipesimCosts) costs = grid_random_costs((guint32)_i, point->ranks, FALSE);
	g_autoptr(PipesimTimeline) timeline = grid_timeline(program, costs);
	gint64 first = G_MAXINT64, last = 0;

	for (guint rank = 0; rank < point->ranks; rank++) {
		gint64 free_at = 0;

		for (guint i = program->rank_begin[rank]; i < program->rank_begin[rank + 1];
			i++) {
			ck_assert_int_ge(timeline->start[i], free_at);
			free_at = timeline->end[i];
			first = MIN(first, timeline->start[i]);
			last = MAX(last, free_at);
		}
	}
	ck_assert_int_eq(first, 0);
	ck_assert_int_eq(last, timeline->makespan);
}
END_TEST

START_TEST(latency_only_between_ranks)
{
	g_autoptr(PipesimCosts) costs = grid_costs(1000, 1000, 1000, 3000, 100000);
	g_autoptr(PipesimRun) alone = named_run("dualpipev", 1, 2, costs);
	g_autoptr(PipesimRun) pair = named_run("1f1b", 2, 1, costs);

	/* one rank holds both chunks: its V turn costs nothing */
	ck_assert_int_eq(pipesim_run_makespan(alone), 6000);
	ck_assert_int_eq(pipesim_run_makespan(pair), 2 * 3000 + 2 * 100000);
}
END_TEST

START_TEST(zero_costs)
{
	const GridCase *point = accepted_case(_i);
	g_autoptr(PipesimCosts) costs = grid_costs(0, 0, 0, 0, 0);
	g_autoptr(PipesimRun) run = grid_run(point, costs);

	ck_assert_int_eq(pipesim_run_makespan(run), 0);
	for (guint rank = 0; rank < point->ranks; rank++)
		ck_assert_int_eq(pipesim_run_bubble(run, rank), 0);
}
END_TEST

START_TEST(time_overflows_clearly)
{
	g_autoptr(PipesimCosts) costs =
		grid_costs(PIPESIM_MAX_TIME_NS / 4, PIPESIM_MAX_TIME_NS / 4, 0, -1, 0);
	g_autoptr(PipesimRun) run = make_run("gpipe", 4, 64, costs);

	ck_assert(g_error_matches(run->error, PIPESIM_ERROR, PIPESIM_ERROR_LIMIT));
}
END_TEST

START_TEST(runs_are_repeatable)
{
	const GridCase *point = accepted_case(_i);
	g_autoptr(PipesimProgram) program = grid_program(point);
	g_autoptr(PipesimCosts) costs = grid_costs(1000, 1000, 1000, 3000, 0);
	g_autoptr(PipesimTimeline) first = grid_timeline(program, costs);
	g_autoptr(PipesimTimeline) second = grid_timeline(program, costs);

	ck_assert_mem_eq(first->start, second->start, program->n_ops * sizeof(gint64));
	ck_assert_uint_eq(first->events, second->events);
	ck_assert_uint_ge(first->events, program->n_ops);
}
END_TEST

Suite *engine_paths_suite(void)
{
	Suite *suite = suite_create("engine-paths");
	TCase *grid = tcase_create("grid");
	TCase *edge = tcase_create("edge");
	int count;

	grid_accepted(&count);
	tcase_add_loop_test(grid, equals_longest_path, 0, count);
	tcase_add_loop_test(grid, doubling_costs_doubles_times, 0, count);
	tcase_add_loop_test(grid, latency_never_shortens, 0, count);
	tcase_add_loop_test(grid, one_at_a_time_and_at_once, 0, count);
	tcase_add_loop_test(grid, zero_costs, 0, count);
	tcase_add_loop_test(grid, runs_are_repeatable, 0, count);
	tcase_add_test(edge, latency_only_between_ranks);
	tcase_add_test(edge, time_overflows_clearly);
	suite_add_tcase(suite, grid);
	suite_add_tcase(suite, edge);
	return suite;
}
