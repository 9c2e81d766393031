/* Steps without a barrier: the period is what many of them, one after the other, come to. */
#include "analysis/run.h"
#include "engine/fast.h"
#include "model/random.h"
#include "optimize/search.h"
#include "suites.h"

#define STEPS 40

static const char *const names[] = {"gpipe", "1f1b", "interleaved-1f1b", "zb-h1", "zb-h2",
	"zb-v", "v-half", "dualpipe", "chimera", "zb-auto"};

static PipesimCosts *draw_costs(guint32 seed)
{
	const PipesimSampleKey key = pipesim_sample_key(7, seed);
	gint64 time[4];
	PipesimCosts *costs;

	for (guint i = 0; i < G_N_ELEMENTS(time); i++)
		time[i] = 1 + pipesim_random_below(key, i, 90) * 1000;
	costs = pipesim_costs_new(
		time[0], time[1], time[2], -1, seed % 2 == 0 ? 0 : time[3] / 4, NULL);
	costs->post_validation = costs->has_optimizer = TRUE;
	costs->optimizer = pipesim_random_below(key, 5, 50) * 1000;
	return costs;
}

/* Ops one after the other as data allow, in whatever order: steps are run on from @free_at. */
static void run_on(
	const PipesimProgram *program, const PipesimTimes *times, gint64 *free_at, gint64 *end)
{
	g_autofree guint32 *next = g_new(guint32, program->shape.ranks);
	guint32 left = program->n_ops;

	for (guint r = 0; r < program->shape.ranks; r++)
		next[r] = program->rank_begin[r];
	for (guint32 i = 0; i < program->n_ops; i++)
		end[i] = -1;
	while (left > 0)
		for (guint r = 0; r < program->shape.ranks; r++)
			for (; next[r] < program->rank_begin[r + 1]; next[r]++, left--) {
				const PipesimOp *op = &program->ops[next[r]];
				guint32 inputs[2];
				const guint n = pipesim_program_inputs(program, r, op, inputs);
				gint64 start = free_at[r];
				gboolean ready = TRUE;

				for (guint i = 0; i < n; i++) {
					const gboolean own =
						pipesim_program_rank(program, inputs[i]) == r;

					ready &= end[inputs[i]] >= 0;
					start = MAX(
						start, end[inputs[i]] + (own ? 0 : times->p2p));
				}
				if (!ready)
					break;
				free_at[r] = end[next[r]] =
					start + pipesim_op_duration(program, times, r, op);
			}
}

/* As far as @cycles steps, a multiple of all that the ranks can make, and STEPS until they come to it. */
static void check_many(const char *name, const PipesimScenario *scenario,
	const PipesimCosts *costs, guint cycles)
{
	PipesimRun *run =
		pipesim_run_schedule(pipesim_schedule_find(name, NULL), scenario, costs);
	gint64 free_at[8] = {0}, before = 0;

	ck_assert(run->error == NULL);
	const PipesimProgram *program = run->step->whole;
	g_autofree gint64 *end = g_new(gint64, program->n_ops);

	for (guint k = 1; k <= STEPS + cycles; k++) {
		run_on(program, run->times, free_at, end);
		for (guint r = 0; r < scenario->ranks; r++) {
			/* The check goes from rank to rank, then each runs its optimizer. */
			if (r > 0)
				free_at[r] = MAX(free_at[r],
					free_at[r - 1] - costs->optimizer + costs->p2p);
			free_at[r] += costs->optimizer;
		}
		if (k == STEPS)
			before = free_at[0];
	}
	const PipesimFraction exact = run->report->period->found.exact;

	ck_assert_msg((free_at[0] - before) * exact.den == cycles * exact.num,
		"%s: %ld over %u steps, period %ld/%ld", name, (long)(free_at[0] - before),
		cycles, (long)exact.num, (long)exact.den);
	ck_assert_int_ge(run->report->bubble.max_idle, 0);
	pipesim_run_free(run);
}

START_TEST(equals_many_steps)
{
	for (guint32 seed = 0; seed < 8; seed++) {
		const PipesimScenario scenario = {
			.ranks = seed % 4 < 2 ? 4 : 2, .microbatches = 8};
		g_autoptr(PipesimCosts) costs = draw_costs(seed);

		check_many(names[_i], &scenario, costs, 12);
	}
}
END_TEST

/* Where rank after rank holds the next step up, first ones do not come as all others do. */
static const struct {
	gint64 forward, backward, optimizer;
	const char *scale;
} uneven[] = {
	{8000, 5500, 57000, "1=2,2=0.5,7=3"},
	{12000, 17000, 53000, "3=2,5=3,0=0.3,1=3,6=0.5,4=0.3,2=0.5,7=2"},
	{14000, 12000, 37000, "2=0.3,3=0.3,0=0.5,5=0.5"},
};

START_TEST(equals_many_steps_of_uneven_stages)
{
	const PipesimScenario scenario = {.ranks = 8, .microbatches = 16};
	g_autoptr(PipesimCosts) costs = pipesim_costs_new(
		uneven[_i].forward, uneven[_i].backward, uneven[_i].backward, -1, 0, NULL);

	ck_assert(pipesim_costs_parse_scale(costs, uneven[_i].scale, "--stage-scale", 8, NULL));
	costs->post_validation = costs->has_optimizer = TRUE;
	costs->optimizer = uneven[_i].optimizer;
	check_many("dualpipe", &scenario, costs, 840);
}
END_TEST

START_TEST(zb_v_has_no_bubble)
{
	static const guint shapes[][2] = {{2, 4}, {4, 8}, {8, 20}, {16, 40}};

	for (guint i = 0; i < G_N_ELEMENTS(shapes); i++) {
		const PipesimScenario scenario = {
			.ranks = shapes[i][0], .microbatches = shapes[i][1]};
		g_autoptr(PipesimCosts) costs = pipesim_costs_default();
		PipesimRun *run;

		costs->post_validation = TRUE;
		run = pipesim_run_schedule(
			pipesim_schedule_find("zb-v", NULL), &scenario, costs);
		ck_assert_int_eq(run->report->bubble.max_idle, 0);
		ck_assert_int_eq(
			run->report->period->found.time, 3000000 * (gint64)shapes[i][1]);
		pipesim_run_free(run);
	}
}
END_TEST

/* No order that a search or a schedule has is below the bound, and the search is no worse than what it begins from. */
START_TEST(no_order_is_below_the_bound)
{
	static const PipesimPlacement placements[] = {PIPESIM_LOOPED, PIPESIM_V};

	for (guint32 seed = 0; seed < 24; seed++) {
		const PipesimScenario scenario = {.ranks = 2 + seed % 3,
			.microbatches = 4 + seed % 5,
			.max_activations = {2 + seed % 7, 1}};
		g_autoptr(PipesimCosts) costs = draw_costs(seed);
		const PipesimSearchOf of = {.scenario = &scenario,
			.costs = costs,
			.placement = placements[seed % 2],
			.chunks = 1 + seed % 2,
			.threads = 1,
			.moves = 2000};
		g_autoptr(PipesimFound) found = pipesim_search(&of, NULL);

		if (found == NULL)
			continue;
		ck_assert_int_ge(found->makespan, found->bound->time);
		for (guint i = 0; i < found->starts->len; i++) {
			const gint64 start =
				pipesim_search_start_value(&of, found->starts->pdata[i]);

			ck_assert_int_ge(start, found->makespan);
		}
	}
}
END_TEST

Suite *engine_period_suite(void)
{
	Suite *suite = suite_create("engine-period");
	TCase *tc = tcase_create("period");

	tcase_add_loop_test(tc, equals_many_steps, 0, G_N_ELEMENTS(names));
	tcase_add_loop_test(tc, equals_many_steps_of_uneven_stages, 0, G_N_ELEMENTS(uneven));
	tcase_add_test(tc, zb_v_has_no_bubble);
	tcase_add_test(tc, no_order_is_below_the_bound);
	suite_add_tcase(suite, tc);
	return suite;
}
