/* Orders that recorded steps ran: recognised, whatever the schedule, with what is added to them; and the rules that they ran by. */
#include "diagnose-case.h"
#include "diagnosis/executed.h"
#include "diagnosis/spread.h"
#include "diagnosis/told.h"
#include "grid.h"
#include "suites.h"
#include "trace-text.h"

#include <string.h>

static const struct {
	guint ranks, microbatches;
} shapes[] = {{2, 8}, {4, 8}, {4, 16}, {8, 16}, {8, 24}};

/* Whether @schedule has this shape. */
static gboolean fits(const PipesimSchedule *schedule, guint ranks, guint microbatches)
{
	const PipesimScenario scenario = {.ranks = ranks, .microbatches = microbatches};
	PipesimShape shape;

	/* Rows of ops name no slices. */
	return pipesim_schedule_is_plain(schedule) &&
	       pipesim_schedule_shape(schedule, &scenario, &shape, NULL);
}

/* What is added to @made shows as @cause, -1: nothing is, all of it, and nothing else but what the schedule has anyway.
 * @clean: the step without; returns this one. */
static gint64 check_order(
	const Made *made, const PipesimSchedule *schedule, gint cause, gint64 clean)
{
	g_auto(Case) one = {0};

	make_case(&one, made);
	ck_assert_msg(one.found->nearest.exact, "%s, PP %u, M %u", made->schedule, made->ranks,
		made->microbatches);
	/* What searches its order may find that of another schedule. */
	if (schedule->plan == NULL)
		ck_assert_str_eq(one.found->nearest.run->name, made->schedule);
	ck_assert_int_eq(
		one.found->record->joined.copies, one.found->nearest.run->shape.copies);
	for (gint kind = PIPESIM_CAUSE_IMBALANCE; kind < PIPESIM_N_CAUSES; kind++)
		ck_assert_int_eq(
			cause_of(&one, kind), kind == cause ? one.found->measured - clean : 0);
	if (cause >= 0) {
		ck_assert_int_eq(one.found->cause[cause].rank,
			pipesim_program_rank(one.found->program, made->op));
		ck_assert_uint_eq(one.found->loss[0].op, made->op);
		ck_assert_int_eq(one.found->loss[0].cause, cause);
		ck_assert_int_gt(one.found->measured - clean, 20 * MS);
	}
	return one.found->measured;
}

START_TEST(executed_orders_are_recognised)
{
	const PipesimSchedule *schedule = pipesim_schedule_list()[_i];
	guint seen = 0;

	for (guint i = 0; i < G_N_ELEMENTS(shapes); i++) {
		Made made = plain;
		gint64 clean;

		if (!fits(schedule, shapes[i].ranks, shapes[i].microbatches))
			continue;
		seen++;
		/* By default each schedule at some of the shapes. */
		if (i % grid_every(3) != (guint)_i % grid_every(3) && i > 0)
			continue;
		made.schedule = schedule->name;
		made.ranks = shapes[i].ranks;
		made.microbatches = shapes[i].microbatches;
		made.messages = TRUE;
		clean = check_order(&made, schedule, -1, 0);
		/* Longer than any op can wait for. */
		made.op = 2 * made.microbatches;
		made.late_host = 100 * MS;
		check_order(&made, schedule, PIPESIM_CAUSE_HOST, clean);
		made.late_message = made.late_host;
		made.late_host = 0;
		check_order(&made, schedule, PIPESIM_CAUSE_MESSAGES, clean);
		made.longer = made.late_message;
		made.late_message = 0;
		check_order(&made, schedule, PIPESIM_CAUSE_OPS, clean);
	}
	ck_assert(seen > 1 || !pipesim_schedule_is_plain(schedule));
}
END_TEST

/* Files of one rank each, without a column for replicas, but for rank @missing. */
static guint split_by_rank(const char *text, guint missing, PipesimTrace *traces[4])
{
	g_auto(GStrv) lines = g_strsplit(text, "\n", -1);
	guint n = 0;

	for (guint rank = 0; rank < 4; rank++) {
		g_autoptr(GString) one = g_string_new("");

		for (guint i = 0; lines[i] != NULL && lines[i][0] != '\0'; i++) {
			g_auto(GStrv) cells = g_strsplit(lines[i], ",", 3);

			if (i == 0 || cells[2][0] == (char)('0' + rank))
				g_string_append_printf(one, "%s,%s\n", cells[0], cells[2]);
		}
		if (rank != missing)
			traces[n++] = trace_of(one->str);
	}
	return n;
}

/* Both ranks of a stage run other micro-batches of it: they are no replicas. */
START_TEST(copies_of_stages_are_told_from_replicas)
{
	static const char *const names[] = {"chimera", "dualpipe"};

	for (guint missing = 3; missing <= 4; missing++) {
		g_auto(Case) one = {0};
		g_autoptr(GError) error = NULL;
		PipesimTrace *traces[4];
		Made made = plain;
		g_autofree char *text = NULL;
		guint n;

		made.schedule = names[_i];
		text = make_text(&made);
		n = split_by_rank(text, missing, traces);
		if (missing == 4) {
			ck_assert(diagnose(&one, traces, n, NULL));
			check_sums(one.found);
			ck_assert_str_eq(one.found->nearest.run->name, names[_i]);
			ck_assert_uint_eq(one.record->n_replicas, 1);
			ck_assert(one.found->tells_ranks);
		} else {
			ck_assert(!diagnose(&one, traces, n, &error));
			ck_assert_msg(strstr(error->message,
					      "the trace of rank 3 is missing") != NULL,
				"%s", error->message);
		}
		for (guint i = 0; i < n; i++)
			pipesim_trace_free(traces[i]);
	}
}
END_TEST

/* The rules that a step ran by are found where the file does not tell them. */
START_TEST(rules_are_found)
{
	static const PipesimRuntime *const ran[] = {
		&pipesim_runtime_megatron, &pipesim_runtime_pytorch_2_11};
	g_auto(Case) one = {.runtime = &pipesim_native_runtime};
	Made made = plain;

	made.schedule = "interleaved-1f1b";
	made.microbatches = 16;
	made.runtime = ran[_i];
	make_case(&one, &made);
	ck_assert_ptr_eq(one.found->rules, ran[_i]);
	ck_assert_int_eq(one.found->rules_from, PIPESIM_RULES_FOUND);
	ck_assert_int_eq(one.found->simulated, one.found->measured);
	/* Where messages take no time Megatron's make nothing wait. */
	ck_assert_str_eq(one.found->confidence, _i == 0 ? "medium" : "high");
	/* The other's would be far off. */
	pipesim_each (const PipesimTried, tried, one.found->tried)
		if (tried->runtime == ran[!_i])
			ck_assert_double_gt(tried->error, 0.1);
}
END_TEST

/* Step 0 of four is longer, as a host is late in it. */
START_TEST(the_longest_step_is_told)
{
	g_auto(Case) one = {0};
	PipesimPatient patient = {0};
	Made made = plain;

	made.steps = 4;
	made.op = 15;
	made.late_host = 30 * MS;
	made.messages = TRUE;
	g_autofree char *text = make_text(&made);
	one.trace = trace_of(text);
	ck_assert(diagnose(&one, &one.trace, 1, NULL));
	patient.record = one.record;
	patient.costs = one.calibration->costs;
	ck_assert(pipesim_spread_steps(&patient, one.found, NULL));
	ck_assert_ptr_nonnull(one.found->spread);
	ck_assert_int_eq(one.found->measured, 11 * 26 * MS);
	ck_assert_uint_eq(one.found->spread->worst, 0);
	ck_assert_int_eq(one.found->spread->most, (11 * 26 + 30) * MS);
	ck_assert_int_eq(one.found->spread->percentile[0], 11 * 26 * MS);
	ck_assert_int_eq(one.found->spread->drift, -30 * MS);
	ck_assert(one.found->spread->told);
	for (guint kind = 0; kind < PIPESIM_N_CAUSES; kind++)
		ck_assert_int_eq(one.found->spread->more[kind],
			kind == PIPESIM_CAUSE_HOST ? 30 * MS : 0);
	ck_assert_int_eq(one.found->spread->rank[PIPESIM_CAUSE_HOST], 0);
}
END_TEST

/* The last of four steps ran in another order: with micro-batches in another, and with backwards in halves. */
static const char *const another[] = {"gpipe", "zb-h1"};

START_TEST(steps_in_another_order_are_not_simulated)
{
	g_auto(Case) one = {0};
	Made made = plain;
	const char *last;

	made.steps = 4;
	g_autofree char *text = make_text(&made);
	made.schedule = another[_i];
	g_autofree char *other = make_text(&made);
	*(strstr(text, "\n3,") + 1) = '\0';
	last = strstr(other, "\n3,") + 1;
	g_autofree char *both = g_strconcat(text, last, NULL);
	one.trace = trace_of(both);
	ck_assert(diagnose(&one, &one.trace, 1, NULL));
	check_sums(one.found);
	ck_assert_str_eq(one.found->nearest.run->name, "1f1b");
	ck_assert_uint_eq(one.found->other_order, 1);
	for (guint step = 0; step < 4; step++)
		ck_assert_int_eq(one.found->step_simulated[step], step < 3 ? 11 * 26 * MS : -1);
	ck_assert_double_eq(pipesim_told_mean_error(one.found, TRUE), 0);
	ck_assert_double_eq(pipesim_told_median_error(one.found), 0);
}
END_TEST

/* An order that does not run by the rules asked for did not run by them. */
START_TEST(rules_that_stop_the_order_are_not_its_own)
{
	g_auto(Case) one = {
		.runtime = _i == 0 ? &pipesim_runtime_single : &pipesim_runtime_deepseek};
	Made made = plain;

	made.schedule = "interleaved-1f1b";
	make_case(&one, &made);
	ck_assert_int_eq(one.found->rules_from, PIPESIM_RULES_ASKED);
	ck_assert_ptr_eq(one.found->rules, &pipesim_runtime_async);
	ck_assert_int_eq(one.found->simulated, one.found->measured);
}
END_TEST

/* Ranks that wait by the rules of their runtime for the one that is held up. */
static const struct {
	const char *schedule;
	const PipesimRuntime *runtime;
	Made made;
} ruled[] = {
	{"gpipe", &pipesim_runtime_single, {.slow = 3, .percent = 50, .replicas = 2}},
	{"gpipe", &pipesim_runtime_pytorch_2_15, {.longer = 30 * MS, .op = 16 + 4}},
	{"zb-h2", &pipesim_runtime_pytorch_2_11, {.longer = 30 * MS, .op = 24 * 2 + 12}},
	{"zb-h1", &pipesim_runtime_single, {.slow = 1, .percent = 30, .replicas = 2}},
	{"interleaved-1f1b", &pipesim_runtime_pytorch_2_15,
		{.slow = 2, .percent = 50, .replicas = 2}},
	{"interleaved-1f1b", &pipesim_runtime_megatron, {.longer = 30 * MS, .op = 32 + 20}},
};

START_TEST(waits_of_the_runtime_go_with_their_cause)
{
	g_auto(Case) one = {.runtime = ruled[_i].runtime},
		     clean = {.runtime = ruled[_i].runtime};
	Made made = ruled[_i].made, none = plain;
	const gboolean slow = made.percent > 0;

	none.schedule = made.schedule = ruled[_i].schedule;
	none.runtime = made.runtime = ruled[_i].runtime;
	made.ranks = plain.ranks;
	made.microbatches = plain.microbatches;
	made.replicas = MAX(made.replicas, 1u);
	made.steps = 1;
	made.long_stage = -1;
	made.slow = slow ? made.slow : -1;
	made.op = slow ? PIPESIM_NO_OP : made.op;
	make_case(&clean, &none);
	make_case(&one, &made);
	ck_assert_int_gt(one.found->measured, clean.found->measured * 103 / 100);
	ck_assert_int_le(
		ABS(one.found->cause[slow ? PIPESIM_CAUSE_SLOW_RANK : PIPESIM_CAUSE_OPS]
				.without -
			clean.found->measured),
		clean.found->measured / 100);
	if (!slow)
		ck_assert_int_le(ABS(one.found->loss[0].step - one.found->measured +
					 clean.found->measured),
			clean.found->measured / 100);
}
END_TEST

/* Two ranks that run what @ops says, the first of them @first. */
static gboolean is_same(const PipesimRecordOp *ops, guint32 first, guint32 n)
{
	PipesimRecord record = {.joined = {.ranks = 2}};
	PipesimRecordOp own[] = {{.kind = PIPESIM_F}, {.kind = PIPESIM_FB, .b_stage = 1},
		{.kind = PIPESIM_F, .stage = 1, .microbatch = 1},
		{.kind = PIPESIM_B, .stage = 1}};
	guint32 begin[] = {0, 2, 3}, other[] = {0, first, n};
	PipesimRecordOp others[G_N_ELEMENTS(own)];
	const PipesimRecordPipeline a = {.ops = own, .op_begin = begin},
				    b = {.ops = others, .op_begin = other};

	memcpy(others, ops != NULL ? ops : own, sizeof others);
	ck_assert_int_eq(
		pipesim_executed_same(&record, &a, &b), pipesim_executed_same(&record, &b, &a));
	return pipesim_executed_same(&record, &a, &b);
}

/* By each thing that an op has, by where a rank ends and by how many there are. */
START_TEST(orders_differ_by_any_op)
{
	const PipesimRecordOp own[] = {{.kind = PIPESIM_F}, {.kind = PIPESIM_FB, .b_stage = 1},
		{.kind = PIPESIM_F, .stage = 1, .microbatch = 1},
		{.kind = PIPESIM_B, .stage = 1}};

	ck_assert(is_same(NULL, 2, 3));
	ck_assert(!is_same(NULL, 1, 3));
	ck_assert(!is_same(NULL, 2, 2));
	ck_assert(!is_same(NULL, 2, 4));
	for (guint at = 0; at < 3; at++)
		for (guint field = 0; field < 5; field++) {
			PipesimRecordOp ops[G_N_ELEMENTS(own)];
			guint32 *const of[] = {&ops[at].stage, &ops[at].microbatch,
				&ops[at].b_stage, &ops[at].b_microbatch};

			memcpy(ops, own, sizeof ops);
			ops[at].start = 1;
			ck_assert(is_same(ops, 2, 3));
			if (field < G_N_ELEMENTS(of))
				++*of[field];
			else
				ops[at].kind = PIPESIM_W;
			ck_assert(!is_same(ops, 2, 3));
		}
}
END_TEST

Suite *diagnosis_executed_suite(void)
{
	Suite *suite = suite_create("diagnosis-executed");
	TCase *all = tcase_create("all");
	gint n_schedules = 0;

	while (pipesim_schedule_list()[n_schedules] != NULL)
		n_schedules++;
	tcase_add_test(all, orders_differ_by_any_op);
	tcase_add_loop_test(all, rules_are_found, 0, 2);
	tcase_add_loop_test(all, rules_that_stop_the_order_are_not_its_own, 0, 2);
	tcase_add_test(all, the_longest_step_is_told);
	tcase_add_loop_test(
		all, steps_in_another_order_are_not_simulated, 0, G_N_ELEMENTS(another));
	tcase_add_loop_test(all, executed_orders_are_recognised, 0, n_schedules);
	tcase_add_loop_test(all, copies_of_stages_are_told_from_replicas, 0, 2);
	tcase_add_loop_test(
		all, waits_of_the_runtime_go_with_their_cause, 0, G_N_ELEMENTS(ruled));
	suite_add_tcase(suite, all);
	return suite;
}
