/* Times of single micro-batches: all engines take them, wherever they come from. */
#include "engine/comm.h"
#include "engine/dynamic.h"
#include "engine/fast.h"
#include "grid.h"
#include "model/costs-file.h"
#include "model/random.h"
#include "reference-engine.h"
#include "suites.h"
#include <string.h>

static gboolean read_times(PipesimCosts *costs, const char *text, guint ranks, GError **error)
{
	return pipesim_op_times_read(
		costs, pipesim_input_new_memory("times.csv", text, strlen(text)), ranks, error);
}

/* Times of @parts equal parts of the model, with lines from the last to the first. */
static char *make_text(guint parts, guint microbatches, guint seed)
{
	const PipesimSampleKey key = pipesim_sample_key(seed, 0);
	GString *text = g_string_new("stage,microbatch,F,I,W\n");

	for (guint i = parts * microbatches; i-- > 0;) {
		g_string_append_printf(text, "%u,%u", i / microbatches, i % microbatches);
		for (guint kind = 0; kind < 3; kind++)
			g_string_append_printf(text, ",%uns",
				100 + pipesim_random(key, (i * 3 + kind) * PIPESIM_PLACE_STEP) %
						900);
		g_string_append_c(text, '\n');
	}
	return g_string_free(text, FALSE);
}

static void assert_same(
	const PipesimTimeline *a, const PipesimTimeline *b, const char *what, const char *name)
{
	ck_assert_ptr_nonnull(a);
	ck_assert_ptr_nonnull(b);
	for (guint32 op = 0; op < a->n_ops; op++)
		ck_assert_msg(a->start[op] == b->start[op] && a->end[op] == b->end[op],
			"%s: %s: op %u", name, what, op);
}

START_TEST(engines_agree)
{
	const PipesimSchedule *schedule = pipesim_schedule_list()[_i];
	const GridCase point = {.schedule = schedule, .ranks = 4, .microbatches = 8};
	g_autoptr(PipesimCosts) costs = grid_costs(1000, 1000, 1000, 2700, 70);
	g_autofree char *text = make_text(8, 8, (guint)_i);
	g_autoptr(PipesimProgram) program = grid_program(&point);
	g_autoptr(PipesimNetwork) network = pipesim_network_new();
	g_autoptr(PipesimTimes) times = NULL;
	g_autoptr(PipesimTimeline) plain = NULL, fast = NULL, linked = NULL;

	costs->has_pair = TRUE;
	ck_assert(read_times(costs, text, 4, NULL));
	if (schedule->barriers > 0 ||
		!pipesim_op_times_fit(costs->op_times, &program->shape, NULL))
		return; /* in parts */
	times = pipesim_times_new(costs, &program->shape);
	network->intra.latency = network->inter.latency = 70;
	network->message_bytes = 1;
	plain = reference_run(program, times, NULL);
	fast = pipesim_fast_run(program, times, NULL);
	linked = pipesim_dynamic_run(program, times, network, 0, NULL, NULL);
	assert_same(plain, fast, "any program", schedule->name);
	assert_same(plain, linked, "links", schedule->name);
}
END_TEST

/* Under a runtime that splits pairs too. */
START_TEST(runtimes_take_them)
{
	static const char *const names[] = {"1f1b", "zb-v", "dualpipev", "interleaved-1f1b"};
	static const PipesimRuntime *const runtimes[] = {
		&pipesim_runtime_pytorch_2_11, &pipesim_runtime_single};
	const GridCase point = {.schedule = pipesim_schedule_find(names[_i], NULL),
		.ranks = 4,
		.microbatches = 8};
	g_autoptr(PipesimCosts) costs = grid_costs(1000, 1000, 1000, 3000, 70);
	g_autofree char *text = make_text(4, 8, 7);
	g_autoptr(PipesimProgram) program = grid_program(&point);
	g_autoptr(PipesimTimes) times = NULL;

	ck_assert(read_times(costs, text, 4, NULL));
	times = pipesim_times_new(costs, &program->shape);
	for (guint i = 0; i < G_N_ELEMENTS(runtimes); i++) {
		g_autoptr(PipesimLowering) lowering =
			pipesim_lower(program, runtimes[i], NULL, NULL);
		g_autoptr(PipesimProgram) ran = NULL;
		g_autoptr(PipesimTimeline) timeline = NULL;

		if (lowering == NULL)
			continue;
		timeline = pipesim_comm_run(
			lowering, &(PipesimIssuing){0}, times, NULL, 0, NULL, NULL);
		if (timeline == NULL)
			continue; /* one queue for a schedule that deadlocks on it */
		ran = runtimes[i]->splits_pairs ? pipesim_program_split_pairs(program, NULL)
						: pipesim_program_ref(program);
		ck_assert_uint_eq(ran->n_ops, timeline->n_ops);
		for (guint rank = 0; rank < 4; rank++)
			for (guint32 op = ran->rank_begin[rank]; op < ran->rank_begin[rank + 1];
				op++)
				ck_assert_int_eq(timeline->end[op] - timeline->start[op],
					pipesim_op_duration(ran, times, rank, &ran->ops[op]));
	}
}
END_TEST

/* By hand: the second micro-batch takes twice as long. 1F1B on two ranks: rank 1 runs F0 from 1 to 2,
 * B0 to 4, F1 to 6 and B1 to 10; then rank 0 B1 to 14 ms. */
START_TEST(longer_sequence_by_hand)
{
	/* A text broken in two looks like a lost comma to compilers. */
	/* clang-format off */
	static const char *const texts[] = {
		"stage,microbatch,F,I,W\n0,0,1,1,1\n0,1,2,2,2\n1,0,1,1,1\n1,1,2,2,2\n",
		"stage,microbatch,F,I,W,B\n1,1,2,2,2,4\n1,0,1,1,1,2\n0,0,1,1,1,2\n0,1,2,2,2,4\n",
		/* The average takes 1.5 ms. */
		"microbatch,length\n0,2048\n1,4096\n", "microbatch,length\n1,1\n0,0.5\n"};
	/* clang-format on */
	g_autoptr(PipesimCosts) costs = grid_costs(1500000, 1500000, 1500000, 4500000, 0);
	g_autoptr(PipesimRun) run = NULL;

	ck_assert(read_times(costs, texts[_i], 2, NULL));
	run = named_run("1f1b", 2, 2, costs);
	ck_assert_int_eq(run->report->makespan, 14000000);
	ck_assert_int_eq(run->step->busy[0], 9000000);
}
END_TEST

/* The same for all is nothing new, wherever it comes from. */
START_TEST(equal_lengths_change_nothing)
{
	const PipesimSchedule *schedule = pipesim_schedule_list()[_i];
	const GridCase point = {.schedule = schedule, .ranks = 4, .microbatches = 8};
	g_autoptr(PipesimCosts) costs = grid_costs(1000, 1200, 800, 2700, 30);
	g_autoptr(GString) text = g_string_new("microbatch,length\n");
	g_autoptr(PipesimRun) plain = grid_run(&point, costs);
	g_autoptr(PipesimRun) run = NULL;

	for (guint i = 0; i < 8; i++)
		g_string_append_printf(text, "%u,3\n", i);
	ck_assert(read_times(costs, text->str, 4, NULL));
	if (!pipesim_op_times_fit(costs->op_times, &plain->shape, NULL))
		return;
	run = grid_run(&point, costs);
	ck_assert_int_eq(run->report->makespan, plain->report->makespan);
}
END_TEST

static const struct {
	const char *text, *fault;
} bad[] = {
	{"", "times.csv:1:1: no times"},
	{"stage,F,I,W\n0,1,1,1\n", "times.csv:1:7: column 'F' where microbatch is expected"},
	{"stage,microbatch,F\n", "times.csv:1:1: 3 columns"},
	{"microbatch,length\n0,0\n", "times.csv:2:3: length '0' must be a number above 0"},
	{"microbatch,length\n0,1\n2,1\n", "times.csv:1:1: no length of micro-batch 1 of 3"},
	{"microbatch,length\n0,1\n0,1\n",
		"times.csv:3:1: micro-batch 0 was already given in line 2"},
	{"stage,microbatch,F,I,W\n1,0,1,1,1\n", "no times of micro-batch 0 in stage 0"},
	{"stage,microbatch,F,I,W\n0,x,1,1,1\n", "times.csv:2:3: microbatch"},
	{"stage,microbatch,F,I,W\n0,0,1,1\n", "times.csv:2:1: 4 cells under 5 columns"},
	{"stage,microbatch,F,I,W\n0,0,1,-1,1\n", "times.csv:2:7: "},
	{"stage,microbatch,F,I,W\n9999999,999999999,1,1,1\n", "are the most"},
	{"microbatch,length\n0,1\n\n", "times.csv:3:1: empty line"},
};

START_TEST(faults_have_places)
{
	g_autoptr(PipesimCosts) costs = pipesim_costs_default();
	g_autoptr(GError) error = NULL;

	ck_assert(!read_times(costs, bad[_i].text, 2, &error));
	ck_assert_msg(strstr(error->message, bad[_i].fault) != NULL, "%s", error->message);
	ck_assert_ptr_null(costs->op_times);
	ck_assert(costs->unit);
}
END_TEST

/* A file that repeats itself is refused long before its end, which is damaged. */
START_TEST(repeated_lines_are_refused_early)
{
	static const char *const heads[] = {
		"microbatch,length\n0,1\n", "stage,microbatch,F,I,W\n0,0,1,1,1\n9,9,1,1,1\n"};
	static const char *const lines[] = {"0,1\n", "0,1,1,1,1\n"};
	g_autoptr(PipesimCosts) costs = pipesim_costs_default();
	g_autoptr(GString) text = g_string_new(heads[_i]);
	g_autoptr(GError) error = NULL;

	for (guint i = 0; i < 1u << 17; i++)
		g_string_append(text, lines[_i]);
	g_string_append(text, "damaged\n");
	ck_assert(!read_times(costs, text->str, 2, &error));
	ck_assert_msg(strstr(error->message, "was already given in line") != NULL, "%s",
		error->message);
}
END_TEST

Suite *engine_op_times_suite(void)
{
	Suite *suite = suite_create("engine-op-times");
	TCase *tc = tcase_create("op-times");
	int n = 0;

	while (pipesim_schedule_list()[n] != NULL)
		n++;
	tcase_add_loop_test(tc, engines_agree, 0, n);
	tcase_add_loop_test(tc, equal_lengths_change_nothing, 0, n);
	tcase_add_loop_test(tc, runtimes_take_them, 0, 4);
	tcase_add_loop_test(tc, longer_sequence_by_hand, 0, 4);
	tcase_add_loop_test(tc, repeated_lines_are_refused_early, 0, 2);
	tcase_add_loop_test(tc, faults_have_places, 0, G_N_ELEMENTS(bad));
	suite_add_tcase(suite, tc);
	return suite;
}
