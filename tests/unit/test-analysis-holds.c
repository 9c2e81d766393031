/* What the lists of runtimes make ranks hold: messages that sit there and wait, messages, gathered stages. */
#include "analysis/run.h"
#include "analysis/stays.h"
#include "grid.h"
#include "suites.h"
#include <string.h>

/* Receives and sends that wait. --- */

/* Whether one sits on @rank and waits right behind @at. */
static gboolean is_waiting(const PipesimTimeline *timeline, guint rank, gint64 at)
{
	for (guint32 i = 0; i < timeline->n_transfers; i++) {
		const PipesimTransfer *transfer = &timeline->transfers[i];

		if (at < transfer->start &&
			((transfer->to_rank == rank && transfer->received <= at) ||
				(transfer->from_rank == rank && transfer->sent <= at)))
			return TRUE;
	}
	return FALSE;
}

/* What runs on @rank right behind @at. */
static guint32 running(const PipesimStep *step, guint rank, gint64 at)
{
	for (guint32 op = step->program->rank_begin[rank];
		op < step->program->rank_begin[rank + 1]; op++)
		if (step->timeline->start[op] <= at && at < step->timeline->end[op])
			return op;
	return PIPESIM_NO_OP;
}

/* Looked at ns by ns. */
static void assert_stays(const PipesimRun *run)
{
	const PipesimStep *step = run->step;

	for (guint rank = 0; rank < step->program->shape.ranks; rank++) {
		g_autoptr(GArray) stays = pipesim_message_stays(step, rank);
		gint64 resident = 0, beside = 0;
		guint next = 0;

		for (gint64 at = 0; at < step->makespan; at++) {
			const PipesimStay *stay;

			if (!is_waiting(step->timeline, rank, at))
				continue;
			while (next < stays->len &&
				g_array_index(stays, PipesimStay, next).end <= at)
				next++;
			ck_assert_uint_lt(next, stays->len);
			stay = &g_array_index(stays, PipesimStay, next);
			ck_assert_int_le(stay->begin, at);
			ck_assert_uint_eq(stay->op, running(step, rank, at));
			resident++;
			beside += stay->op != PIPESIM_NO_OP;
		}
		ck_assert_int_eq(run->report->comm->resident[rank], resident);
		ck_assert_int_eq(run->report->comm->beside[rank], beside);
		for (guint i = 0; i < stays->len; i++) {
			const PipesimStay *stay = &g_array_index(stays, PipesimStay, i);

			resident -= stay->end - stay->begin;
		}
		ck_assert_int_eq(resident, 0);
	}
}

START_TEST(receives_stay)
{
	static const char *const names[] = {"gpipe", "1f1b", "interleaved-1f1b", "zb-v",
		"dualpipev", "hanayo", "looped-bfs"};
	const PipesimRuntime *const waiting[] = {&pipesim_runtime_pytorch_2_11,
		&pipesim_runtime_pytorch_2_15, &pipesim_runtime_single,
		&pipesim_runtime_deepseek, &pipesim_runtime_megatron};
	g_autoptr(PipesimCosts) costs = grid_costs(6, 5, 3, 13, _i % 3);
	gint64 beside = 0;

	for (guint k = 0; k < G_N_ELEMENTS(waiting); k++) {
		const PipesimScenario scenario = {.ranks = 4,
			.microbatches = 8,
			.runtime = waiting[k],
			.issuing = {.communicators = PIPESIM_COMMUNICATOR_RANK + _i % 2}};
		PipesimRun *run = pipesim_run_schedule(
			pipesim_schedule_find(names[_i % 7], NULL), &scenario, costs);

		if (run->error == NULL) {
			assert_stays(run);
			beside += run->report->comm->max_beside;
		}
		pipesim_run_free(run);
	}
	/* GPipe's ranks wait for what they receive before anything else. */
	ck_assert(strcmp(names[_i % 7], "gpipe") == 0 || beside > 0);
}
END_TEST

/* What is held besides activations and parameters. --- */

/* 1F1B of 2 ranks and 3 micro-batches, a message of 1 byte. */
static PipesimRun *run_with_bytes(const char *name, const PipesimRuntime *runtime,
	PipesimIssuing issuing, guint microbatches)
{
	const PipesimScenario scenario = {.ranks = 2,
		.microbatches = microbatches,
		.runtime = runtime,
		.issuing = issuing};
	g_autoptr(PipesimCosts) costs = grid_costs(2, 1, 2, 5, 0);
	PipesimRun *run;

	costs->bytes_until_weight = 10;
	costs->sharding.bytes = 600;
	costs->network = pipesim_network_new();
	costs->network->message_bytes = 1;
	run = pipesim_run_schedule(pipesim_schedule_find(name, NULL), &scenario, costs);
	ck_assert_ptr_null(run->error);
	return run;
}

/* Messages held while each op of @rank runs, and behind its last one: @n figures. */
static void expect_held(const char *name, const PipesimRuntime *runtime, PipesimIssuing issuing,
	guint rank, guint n, const gint64 *expected)
{
	PipesimRun *run = run_with_bytes(name, runtime, issuing, 3);
	const PipesimBesides *besides = run->report->memory.besides;

	ck_assert_ptr_nonnull(besides);
	besides += rank * (n - 1);
	for (guint k = 0; k < n - 1; k++)
		ck_assert_msg(besides[k].messages == expected[k],
			"%s, %s: rank %u, op %u: %" G_GINT64_FORMAT, name, runtime->name, rank,
			k, besides[k].messages);
	ck_assert_int_eq(besides[n - 2].behind - besides[n - 2].gathered, expected[n - 1]);
	pipesim_run_free(run);
}

/* By hand: while each op runs, F0 F1 B0 F2 B1 B2 on rank 0, F0 B0 F1 B1 F2 B2 on rank 1, and at the end of a rank's
 * last. */
START_TEST(messages_are_held)
{
	static const struct {
		const PipesimRuntime *runtime;
		gboolean keep_outputs;
		gint64 held[2][7];
	} expected[] = {
		/* 0SEND_F0 until 0B0; 0RECV_B0 stands before 0B0, 1RECV_F1 before 1B0. Waits for gradients end
		 * the list. */
		{&pipesim_runtime_pytorch_2_15, FALSE,
			{{1, 2, 3, 2, 3, 2, 1}, {0, 1, 1, 2, 2, 2, 3}}},
		/* Three buffers all the time; on rank 1 one of them is an activation. A gradient goes as it is sent. */
		{&pipesim_runtime_pytorch_2_11, FALSE,
			{{4, 5, 5, 5, 5, 4, 3}, {2, 2, 2, 2, 2, 2, 4}}},
		/* There, and in Megatron, when the next one is there. */
		{&pipesim_runtime_single, FALSE,
			{{4, 5, 5, 5, 5, 4, 3}, {2, 2, 3, 3, 3, 3, 4}}},
		/* An output is let go of with its batch. */
		{&pipesim_runtime_megatron, FALSE,
			{{1, 1, 1, 1, 1, 1, 0}, {0, 0, 1, 1, 1, 1, 1}}},
		{&pipesim_runtime_megatron, TRUE,
			{{1, 2, 3, 2, 3, 2, 0}, {0, 0, 1, 1, 1, 1, 1}}},
		{&pipesim_runtime_deepseek, FALSE,
			{{1, 1, 1, 1, 1, 1, 0}, {0, 0, 0, 0, 0, 0, 1}}},
	};

	for (guint i = 0; i < G_N_ELEMENTS(expected); i++) {
		const PipesimIssuing issuing = {.keep_outputs = expected[i].keep_outputs};

		for (guint rank = 0; rank < 2; rank++)
			expect_held("1f1b", expected[i].runtime, issuing, rank, 7,
				expected[i].held[rank]);
	}
}
END_TEST

/* The same of ZB-H1, F0 F1 I0 W0 F2 I1 W1 I2 W2 on rank 0, F0 I0 F1 I1 W0 F2 I2 W1 W2 on rank 1. */
START_TEST(messages_of_split_backwards_are_held)
{
	static const struct {
		const PipesimRuntime *runtime;
		guint max_sends;
		gint64 held[2][10];
	} expected[] = {
		/* What I0 has received, and the output that was there, stay until W0. */
		{&pipesim_runtime_pytorch_2_15, 0,
			{{1, 2, 3, 3, 3, 3, 3, 2, 2, 0}, {0, 1, 1, 1, 3, 2, 2, 3, 3, 3}}},
		/* Each send waits for the one before: 0WAIT_SEND_F0 in front of 0SEND_F1, and so on. But
		 * a gradient stays with its input until the weight gradient. */
		{&pipesim_runtime_pytorch_2_15, 1,
			{{1, 2, 2, 2, 3, 2, 2, 2, 2, 0}, {0, 1, 1, 1, 3, 1, 1, 2, 1, 1}}},
		/* A gradient stays with the buffer of its input. */
		{&pipesim_runtime_pytorch_2_11, 0,
			{{4, 5, 5, 5, 5, 5, 5, 4, 4, 3}, {2, 2, 3, 3, 5, 4, 4, 6, 6, 6}}},
	};

	for (guint i = 0; i < G_N_ELEMENTS(expected); i++) {
		const PipesimIssuing issuing = {.max_sends = expected[i].max_sends};

		for (guint rank = 0; rank < 2; rank++)
			expect_held("zb-h1", expected[i].runtime, issuing, rank, 10,
				expected[i].held[rank]);
	}
}
END_TEST

/* Of two stages of 300 bytes each: the one that runs, or both once they have been used. */
START_TEST(stages_are_gathered)
{
	for (guint active = 1; active <= 2; active++) {
		PipesimRun *run =
			run_with_bytes("interleaved-1f1b", &pipesim_runtime_pytorch_2_15,
				(PipesimIssuing){.active_stages = active}, 2);
		const PipesimMemory *memory = &run->report->memory;

		for (guint32 op = 0; op < run->step->program->n_ops; op++) {
			ck_assert_int_ge(memory->besides[op].gathered, 300);
			ck_assert_int_le(memory->besides[op].gathered, 300 * active);
		}
		ck_assert_int_eq(memory->besides[0].gathered, 300 * active);
		ck_assert_int_eq(memory->fullest[0].part[PIPESIM_HELD_GATHERED], 300 * active);
		pipesim_run_free(run);
	}
}
END_TEST

/* Where there is no list, nothing is known of messages. */
START_TEST(nothing_is_held_without_a_list)
{
	PipesimRun *run =
		run_with_bytes("1f1b", &pipesim_runtime_async, (PipesimIssuing){0}, 3);

	ck_assert_ptr_null(run->report->memory.besides);
	ck_assert_int_eq(run->report->memory.peak[0], 20);
	pipesim_run_free(run);
}
END_TEST

/* Gradients that @rank has sent and keeps until its step ends, or waits for behind its last op. */
static gint64 sent_gradients(const PipesimRun *run, guint rank)
{
	const PipesimLowering *lowering = pipesim_step_messages(run->step);
	const PipesimRuntime *runtime = lowering->runtime;
	gint64 kept = 0, late = 0;

	for (guint32 i = lowering->rank_begin[rank]; i < lowering->rank_begin[rank + 1]; i++) {
		const PipesimAction *action = &lowering->actions[i];

		if (action->kind == PIPESIM_ACTION_OP)
			late = 0;
		late += action->kind == PIPESIM_ACTION_WAIT_SEND_B;
		if (action->kind == PIPESIM_ACTION_SEND_B)
			kept += runtime == &pipesim_runtime_pytorch_2_15 ||
				(runtime->gradients == PIPESIM_SENT_BUFFER &&
					lowering->program->ops[action->op].kind == PIPESIM_I);
	}
	return runtime->gradients == PIPESIM_SENT_NEXT ? late : kept;
}

/* What the ops of @rank need of other stages, its own too. */
static gint64 count_inputs(const PipesimProgram *program, guint rank)
{
	gint64 n = 0;

	for (guint32 i = program->rank_begin[rank]; i < program->rank_begin[rank + 1]; i++) {
		guint32 inputs[2];

		n += pipesim_program_inputs(program, rank, &program->ops[i], inputs);
	}
	return n;
}

/* Whatever a list waits for in the end, nothing is left, but for buffers of all micro-batches, and gradients that are
 * waited for behind all ops, or stay with such a buffer. */
START_TEST(nothing_is_left)
{
	static const struct {
		const PipesimRuntime *runtime;
		PipesimIssuing issuing;
	} waiting[] = {{&pipesim_runtime_pytorch_2_11, {0}},
		{&pipesim_runtime_pytorch_2_15, {0}}, {&pipesim_runtime_deepseek, {0}},
		{&pipesim_runtime_single, {0}}, {&pipesim_runtime_megatron, {0}},
		{&pipesim_runtime_megatron, {.no_overlap = TRUE}},
		{&pipesim_runtime_megatron, {.overlap_flush = TRUE}},
		{&pipesim_runtime_megatron, {.keep_outputs = TRUE}}};
	static const char *const names[] = {
		"1f1b", "interleaved-1f1b", "zb-v", "dualpipev", "hanayo", "looped-bfs"};

	for (guint i = 0; i < G_N_ELEMENTS(waiting); i++) {
		const PipesimRuntime *runtime = waiting[i].runtime;
		const PipesimScenario scenario = {.ranks = 4,
			.microbatches = 8,
			.runtime = runtime,
			.issuing = waiting[i].issuing};
		g_autoptr(PipesimCosts) costs = grid_costs(2, 1, 2, 5, 0);
		PipesimRun *run;

		costs->bytes_until_weight = 1000;
		costs->network = pipesim_network_new();
		costs->network->message_bytes = 1;
		run = pipesim_run_schedule(
			pipesim_schedule_find(names[_i], NULL), &scenario, costs);
		for (guint rank = 0; run->error == NULL && rank < 4; rank++) {
			const guint32 *begin = &run->step->program->rank_begin[rank];
			const PipesimBesides *besides = run->report->memory.besides;
			const gint64 kept = runtime->keeps_buffers
						    ? count_inputs(run->step->program, rank)
						    : 0;
			const gint64 sent = sent_gradients(run, rank);

			for (guint32 op = begin[0]; op < begin[1]; op++)
				ck_assert_int_ge(besides[op].messages, 0);
			/* What is waited for behind the last op is let go of there. */
			ck_assert_int_ge(besides[begin[1] - 1].behind, kept + sent);
			ck_assert_int_le(besides[begin[1] - 1].behind, kept + sent + 1);
		}
		pipesim_run_free(run);
	}
}
END_TEST

Suite *analysis_holds_suite(void)
{
	Suite *suite = suite_create("analysis-holds");
	TCase *tcase = tcase_create("lists");

	tcase_add_loop_test(tcase, receives_stay, 0, 21);
	tcase_add_test(tcase, messages_are_held);
	tcase_add_test(tcase, messages_of_split_backwards_are_held);
	tcase_add_test(tcase, stages_are_gathered);
	tcase_add_test(tcase, nothing_is_held_without_a_list);
	tcase_add_loop_test(tcase, nothing_is_left, 0, 6);
	suite_add_tcase(suite, tcase);
	return suite;
}
