/* Where two orders part, and what it costs. */
#include "analysis/difference.h"
#include "grid.h"
#include "runtime/csv.h"
#include "suites.h"
#include <string.h>

static const GridCase *accepted_case(int i)
{
	int count;

	return &grid_accepted(&count)[i];
}

static int n_cases(void)
{
	int count;

	grid_accepted(&count);
	return count;
}

static PipesimRun *run_text(const char *text, const PipesimCosts *costs)
{
	g_autoptr(GError) error = NULL;
	g_autoptr(PipesimProgram) program = parse_program(text, strlen(text), "x.csv", &error);

	ck_assert_msg(program != NULL, "%s", error != NULL ? error->message : "");
	return pipesim_run_program("x.csv", program, NULL, &(PipesimScenario){0}, costs);
}

START_TEST(same_order_has_no_difference)
{
	const GridCase *point = accepted_case(_i);
	g_autoptr(PipesimCosts) costs = grid_random_costs((guint32)_i, point->ranks, TRUE);
	g_autoptr(PipesimRun) a = grid_run(point, costs), b = grid_run(point, costs);
	g_autoptr(PipesimDifference) difference = pipesim_difference_new(a, b, NULL);

	ck_assert(difference->same);
	ck_assert_int_eq(difference->change, 0);
	for (guint rank = 0; rank < difference->ranks; rank++)
		ck_assert_uint_eq(difference->rank[rank].n_same,
			a->step->program->rank_begin[rank + 1] -
				a->step->program->rank_begin[rank]);
}
END_TEST

/* Rank 0 of B runs its second forward late: by hand, 1 ms each: A 0F0 0F1 | 1F0 1B0 1F1 1B1
 * ends at 7 (F 1, B 2: 1F0 1-2, 1B0 2-4, 1F1 4-5, 1B1 5-7, 0B1 7-9); in B 0F1 runs after 0B0,
 * at 6. */
START_TEST(cost_by_hand)
{
	g_autoptr(PipesimCosts) costs = pipesim_costs_default();
	g_autoptr(PipesimRun) a = run_text("0F0,0F1,0B0,0B1\n1F0,1B0,1F1,1B1\n", costs);
	g_autoptr(PipesimRun) b = run_text("0F0,0B0,0F1,0B1\n1F0,1B0,1F1,1B1\n", costs);
	g_autoptr(PipesimDifference) difference = pipesim_difference_new(a, b, NULL);

	ck_assert(!difference->same);
	ck_assert_uint_eq(difference->first, 0);
	ck_assert_int_eq(difference->change, 3000000);
	ck_assert_uint_eq(difference->rank[0].n_same, 1);
	ck_assert_uint_eq(difference->rank[0].a.op, 1);
	ck_assert_uint_eq(difference->rank[0].b.op, 1);
	ck_assert(difference->rank[0].has_alone);
	ck_assert_int_eq(difference->rank[0].alone, 3000000);
	ck_assert(difference->rank[1].same);
	ck_assert_int_eq(difference->rank[1].idle_change, 3000000);
}
END_TEST

START_TEST(one_rank_alone_can_deadlock)
{
	g_autoptr(PipesimCosts) costs = pipesim_costs_default();
	g_autoptr(PipesimRun) a = make_run("1f1b", 2, 4, costs),
			      b = make_run("gpipe", 2, 4, costs);
	g_autoptr(PipesimDifference) difference = pipesim_difference_new(a, b, NULL);

	/* Rank 1 of GPipe wants all forwards before a backward that 1F1B's rank 0 waits for. */
	ck_assert(difference->rank[0].has_alone);
	ck_assert(!difference->rank[1].has_alone);
}
END_TEST

START_TEST(shapes_must_agree)
{
	g_autoptr(PipesimCosts) costs = pipesim_costs_default();
	g_autoptr(PipesimRun) a = make_run("1f1b", 2, 4, costs),
			      b = make_run("1f1b", 2, 5, costs);
	g_autoptr(GError) error = NULL;

	ck_assert_ptr_null(pipesim_difference_new(a, b, &error));
	ck_assert(g_error_matches(error, PIPESIM_ERROR, PIPESIM_ERROR_CONSTRAINT));
}
END_TEST

Suite *analysis_difference_suite(void)
{
	Suite *suite = suite_create("analysis-difference");
	TCase *tcase = tcase_create("orders");

	tcase_add_loop_test(tcase, same_order_has_no_difference, 0, (int)n_cases());
	tcase_add_test(tcase, cost_by_hand);
	tcase_add_test(tcase, one_rank_alone_can_deadlock);
	tcase_add_test(tcase, shapes_must_agree);
	suite_add_tcase(suite, tcase);
	return suite;
}
