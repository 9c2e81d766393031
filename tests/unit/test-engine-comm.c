/* Runtimes that wait for each other's messages: by hand, against an independent solution, and
 * what must hold between the ways of communicating. */
#include "analysis/run.h"
#include "comm-oracle.h"
#include "engine/comm.h"
#include "grid.h"
#include "order/cycle.h"
#include "reference-engine.h"
#include "runtime/csv.h"
#include "suites.h"
#include <string.h>

static const PipesimIssuing in_one_queue = {.communicators = PIPESIM_COMMUNICATOR_RANK};

static const PipesimRuntime *const runtimes[] = {&pipesim_runtime_async,
	&pipesim_runtime_pytorch_2_11, &pipesim_runtime_pytorch_2_15, &pipesim_runtime_single,
	&pipesim_runtime_deepseek};

static const GridCase *accepted_case(int i)
{
	int count;

	return &grid_accepted(&count)[i];
}

/* NULL where @program deadlocks by its @lowering. */
static PipesimTimeline *run(const PipesimProgram *program, const PipesimLowering *lowering,
	const PipesimTimes *times)
{
	g_autoptr(GError) error = NULL, deadlock = NULL;
	PipesimTimeline *timeline;

	if (!lowering->runtime->waits)
		return reference_run(program, times, NULL);
	timeline = pipesim_comm_run(lowering, &in_one_queue, times, NULL, 0, NULL, &error);
	if (timeline != NULL)
		return timeline;
	ck_assert(g_error_matches(error, PIPESIM_ERROR, PIPESIM_ERROR_DEADLOCK));
	ck_assert(!pipesim_lowering_check(
		lowering, PIPESIM_COMMUNICATOR_RANK, NULL, NULL, &deadlock));
	ck_assert_str_eq(error->message, deadlock->message);
	return NULL;
}

static PipesimTimeline *run_under(
	const PipesimProgram *program, const PipesimRuntime *runtime, const PipesimTimes *times)
{
	g_autoptr(PipesimLowering) lowering = pipesim_lower(program, runtime, NULL, NULL);

	ck_assert_ptr_nonnull(lowering);
	return run(program, lowering, times);
}

/* By hand: 1F1B of 2 ranks and 3 micro-batches, F = 2, B = 3, P2P = 1. --- */

static void assert_starts(const PipesimRuntime *runtime, const gint64 starts[12])
{
	static const char csv[] = "0F0,0F1,0B0,0F2,0B1,0B2\n1F0,1B0,1F1,1B1,1F2,1B2\n";
	g_autoptr(PipesimProgram) program = parse_program(csv, strlen(csv), "test.csv", NULL);
	g_autoptr(PipesimCosts) costs = grid_costs(2, 1, 2, 5, 1);
	g_autoptr(PipesimTimes) times = pipesim_times_new(costs, &program->shape);
	g_autoptr(PipesimTimeline) timeline = run_under(program, runtime, times);

	ck_assert_ptr_nonnull(timeline);
	for (int i = 0; i < 12; i++)
		ck_assert_int_eq(timeline->start[i], starts[i]);
	ck_assert_int_eq(timeline->makespan, 24);
}

START_TEST(async_by_hand)
{
	assert_starts(
		&pipesim_runtime_async, (gint64[]){0, 2, 9, 12, 14, 21, 3, 5, 8, 10, 15, 17});
}
END_TEST

/* 1SEND_B1 comes after 1RECV_F2, whose sender is at it from 14 on: the message is done at 15,
 * then 1B1's gradient, ready at 13, moves until 16. */
START_TEST(queue_by_hand)
{
	assert_starts(&pipesim_runtime_pytorch_2_11,
		(gint64[]){0, 2, 9, 12, 16, 21, 3, 5, 8, 10, 15, 17});
}
END_TEST

/* 1RECV_F1 is issued with 1SEND_B0 at 8, so that 1F1 starts at 9 although 0F1 was done at 4. */
START_TEST(single_by_hand)
{
	assert_starts(
		&pipesim_runtime_single, (gint64[]){0, 2, 9, 12, 15, 21, 3, 5, 9, 11, 15, 17});
}
END_TEST

/* As single; and 0F1 waits until 0F0 has been sent. */
START_TEST(grouped_by_hand)
{
	assert_starts(&pipesim_runtime_deepseek,
		(gint64[]){0, 3, 9, 12, 15, 21, 3, 5, 9, 11, 15, 17});
}
END_TEST

/* Makespans of PyTorch 2.15's lists, F = I = W = 10, B = 20, a pair 30 for each op of a stage, message 0
 * or 1; worked out by another replay of the same rules, PyTorch 2.15.0. By communicators: none (async),
 * edge, pair, rank. */
static const struct {
	const char *schedule;
	guint ranks, microbatches;
	gint64 still[4], moved[4];
} makespans[] = {
	{"interleaved-1f1b", 4, 8, {570, 570, 570, 700}, {584, 584, 584, 737}},
	{"interleaved-1f1b", 8, 16, {1170, 1170, 1170, 1740}, {1200, 1200, 1200, 1850}},
	{"looped-bfs", 4, 8, {570, 570, 570, 770}, {576, 606, 606, 854}},
	{"looped-bfs", 8, 16, {1170, 1170, 1170, 2190}, {1184, 1246, 1246, 2424}},
	{"interleaved-zb", 4, 8, {510, 510, 510, 590}, {526, 530, 530, 622}},
	{"interleaved-zb", 8, 16, {1030, 1030, 1030, 1510}, {1066, 1074, 1074, 1610}},
	{"zb-v", 4, 8, {510, 510, 510, 550}, {523, 523, 523, 568}},
	{"zb-v", 8, 16, {1030, 1030, 1030, 1150}, {1063, 1063, 1063, 1199}},
	{"dualpipev", 4, 8, {540, 540, 540, 690}, {556, 557, 561, 731}},
	{"dualpipev", 8, 16, {1100, 1100, 1100, 1490}, {1144, 1145, 1153, 1591}},
	{"v-half", 4, 8, {530, 530, 530, 540}, {552, 557, 561, 574}},
	{"v-min", 8, 16, {1230, 1230, 1230, 1280}, {1336, 1341, 1366, 1422}},
	{"hanayo", 4, 8, {660, 660, 660, 660}, {686, 687, 688, 688}},
	{"1f1b", 4, 8, {330, 330, 330, 330}, {346, 347, 348, 348}},
	{"zb-h2", 8, 16, {550, 550, 550, 550}, {557, 557, 557, 569}},
};

static gint64 makespan_of(guint row, gint64 p2p, const PipesimIssuing *issuing)
{
	const PipesimSchedule *schedule = pipesim_schedule_find(makespans[row].schedule, NULL);
	g_autoptr(PipesimProgram) program =
		make_program(schedule, makespans[row].ranks, makespans[row].microbatches, NULL);
	const gint64 each = 10 * program->shape.stages / makespans[row].ranks;
	g_autoptr(PipesimCosts) costs = grid_costs(each, each, each, 3 * each, p2p);
	g_autoptr(PipesimTimes) times = pipesim_times_new(costs, &program->shape);
	g_autoptr(PipesimLowering) lowering =
		pipesim_lower(program, &pipesim_runtime_pytorch_2_15, issuing, NULL);
	g_autoptr(PipesimTimeline) timeline = NULL;

	if (issuing == NULL)
		timeline = reference_run(program, times, NULL);
	else
		timeline = pipesim_comm_run(lowering, issuing, times, NULL, 0, NULL, NULL);
	ck_assert_ptr_nonnull(timeline);
	return timeline->makespan;
}

START_TEST(communicators_of_pytorch_2_15)
{
	for (guint way = 0; way < 4; way++) {
		const PipesimIssuing issuing = {
			.communicators = PIPESIM_COMMUNICATOR_EDGE + 1 - way};
		const PipesimIssuing *asked = way > 0 ? &issuing : NULL;

		ck_assert_int_eq(makespan_of(_i, 0, asked), makespans[_i].still[way]);
		ck_assert_int_eq(makespan_of(_i, 1, asked), makespans[_i].moved[way]);
	}
}
END_TEST

/* With one send that is not waited for, of all only DualPipeV's takes longer. */
START_TEST(one_send_of_pytorch_2_15)
{
	static const gint64 expected[] = {732, 563, 560};

	for (guint communicators = PIPESIM_COMMUNICATOR_RANK;
		communicators <= PIPESIM_COMMUNICATOR_EDGE; communicators++) {
		const PipesimIssuing issuing = {.communicators = communicators, .max_sends = 1};
		const gboolean moves = strcmp(makespans[_i].schedule, "dualpipev") == 0;

		if (!moves)
			ck_assert_int_eq(makespan_of(_i, 1, &issuing),
				makespans[_i].moved[4 - communicators]);
		else if (makespans[_i].ranks == 4)
			ck_assert_int_eq(
				makespan_of(_i, 1, &issuing), expected[communicators - 1]);
	}
}
END_TEST

/* The other solution. --- */

static void assert_equals_oracle(const PipesimProgram *program, const PipesimLowering *lowering,
	const PipesimTimes *times)
{
	const PipesimRuntime *runtime = lowering->runtime;
	g_autoptr(GString) text = g_string_new(NULL);
	g_autoptr(PipesimTimeline) timeline = run(program, lowering, times);
	g_autoptr(CommOracle) oracle = NULL;

	pipesim_lowering_print(lowering, text);
	oracle = comm_oracle_new(text->str, runtime, times);
	/* A cycle of messages alone that take no time has a solution of inequalities. */
	if (times->p2p > 0)
		ck_assert_int_eq(oracle->stuck, timeline == NULL);
	if (timeline == NULL)
		return;
	ck_assert_uint_eq(oracle->n_ops, timeline->n_ops);
	for (guint i = 0; i < timeline->n_ops; i++) {
		ck_assert_int_eq(timeline->start[i], oracle->start[i]);
		ck_assert_int_eq(timeline->end[i], oracle->end[i]);
	}
	ck_assert_int_eq(timeline->makespan, oracle->makespan);
	ck_assert_uint_eq(timeline->n_shards, oracle->n_shards);
}

/* How FSDP treats the stages, and what that takes. */
static void assert_sharding(
	const PipesimProgram *program, const PipesimRuntime *runtime, guint32 seed)
{
	const PipesimIssuing issuing = {.communicators = PIPESIM_COMMUNICATOR_RANK,
		.active_stages = 1 + seed % 3,
		.ahead = seed % 2 == 0 ? PIPESIM_AHEAD_FULL : PIPESIM_AHEAD_AUTO,
		.defer_reduce_wait = seed % 5 < 2};
	g_autoptr(PipesimCosts) costs =
		grid_random_costs(seed, program->shape.ranks, seed % 2 == 1);
	g_autoptr(PipesimLowering) lowering = NULL;
	g_autoptr(PipesimTimes) times = NULL;

	if (!(runtime->takes & PIPESIM_ASK_SHARDING))
		return;
	costs->sharding.unshard = seed % 7 == 0 ? 0 : 1 + seed * 7919 % 3000000;
	costs->sharding.reduce = 1 + seed * 104729 % 5000000;
	times = pipesim_times_new(costs, &program->shape);
	lowering = pipesim_lower(
		program, runtime, runtime->takes & PIPESIM_ASK_AHEAD ? &issuing : NULL, NULL);
	/* A pair needs both of its stages. */
	if (lowering != NULL)
		assert_equals_oracle(program, lowering, times);
}

void assert_comm_oracle(
	const PipesimProgram *program, const PipesimRuntime *runtime, guint32 seed)
{
	g_autoptr(PipesimLowering) lowering = pipesim_lower(program, runtime, NULL, NULL);
	g_autoptr(PipesimCosts) costs =
		grid_random_costs(seed, program->shape.ranks, seed % 2 == 1);
	g_autoptr(PipesimTimes) times = pipesim_times_new(costs, &program->shape);

	ck_assert_ptr_nonnull(lowering);
	assert_equals_oracle(program, lowering, times);
	assert_sharding(program, runtime, seed);
}

START_TEST(equals_oracle)
{
	const GridCase *point = accepted_case(_i);
	g_autoptr(PipesimProgram) program = NULL;

	if (point->ranks * point->microbatches > 32)
		return;
	program = grid_program(point);
	/* The oracle reads names without slices. */
	if (program->shape.sliced)
		return;
	for (guint i = 0; i < G_N_ELEMENTS(runtimes); i++)
		assert_comm_oracle(program, runtimes[i], (guint32)_i * 5 + i);
}
END_TEST

/* What PyTorch issues runs, whatever shares a queue: rounds tell it in such an order. */
START_TEST(rounds_run)
{
	static const PipesimRuntime *const of[] = {
		&pipesim_runtime_pytorch_2_11, &pipesim_runtime_pytorch_2_15};
	g_autoptr(PipesimProgram) program = grid_program(accepted_case(_i));
	PipesimProven proven = PIPESIM_PROVEN_NONE;

	for (guint i = 0; i < G_N_ELEMENTS(of) && !program->has_more; i++) {
		g_autoptr(PipesimLowering) lowering = pipesim_lower(program, of[i], NULL, NULL);

		for (guint communicators = PIPESIM_COMMUNICATOR_RANK;
			communicators <= PIPESIM_COMMUNICATOR_EDGE; communicators++) {
			const PipesimIssuing issuing = {.communicators = communicators};

			ck_assert(pipesim_lowering_check(
				lowering, communicators, NULL, NULL, NULL));
			ck_assert(pipesim_runtime_runs(
				program, of[i], &issuing, &proven, NULL, NULL, NULL));
		}
	}
}
END_TEST

/* Whether @program runs is the same with its lists written and without. */
static void assert_fate(const PipesimProgram *program)
{
	const PipesimRuntime *const *all = pipesim_runtime_list();
	PipesimProven shared = PIPESIM_PROVEN_NONE;

	for (guint i = 0; all[i] != NULL; i++) {
		g_autoptr(PipesimLowering) lowering =
			all[i]->waits ? pipesim_lower(program, all[i], NULL, NULL) : NULL;

		for (guint communicators = PIPESIM_COMMUNICATOR_RANK;
			lowering != NULL && communicators <= PIPESIM_COMMUNICATOR_EDGE;
			communicators++) {
			const PipesimIssuing issuing = {.communicators = communicators};

			const gboolean runs = pipesim_lowering_check(
				lowering, communicators, NULL, NULL, NULL);
			PipesimProven own = PIPESIM_PROVEN_NONE;

			ck_assert_int_eq(runs, pipesim_runtime_runs(program, all[i], &issuing,
						       &own, NULL, NULL, NULL));
			ck_assert_int_eq(runs, pipesim_runtime_runs(program, all[i], &issuing,
						       &shared, NULL, NULL, NULL));
		}
	}
}

/* Orders of the grid, and with neighbours exchanged, of which some hang. */
START_TEST(fates_agree)
{
	const GridCase *point = accepted_case(_i);
	g_autoptr(GRand) random = g_rand_new_with_seed((guint32)_i);
	g_autoptr(PipesimProgram) program = NULL;

	if (point->ranks * point->microbatches > 128)
		return;
	program = grid_program(point);
	if (program->has_more)
		return;
	assert_fate(program);
	for (guint i = 0; i < 8; i++) {
		const guint32 at = (guint32)g_rand_int_range(random, 0, (gint32)program->n_ops);
		const guint rank = pipesim_program_rank(program, at);
		PipesimProgram *changed = pipesim_program_copy(program);

		if (at + 1 < program->rank_begin[rank + 1] &&
			pipesim_program_exchange(changed, rank, at) &&
			pipesim_program_runs(changed)) {
			pipesim_program_unref(program);
			program = pipesim_program_ref(changed);
			assert_fate(program);
		}
		pipesim_program_unref(changed);
	}
}
END_TEST

/* What always holds. --- */

/* A pair in two halves is what queue and single run: against that nothing is shorter than
 * async. */
START_TEST(waiting_never_shortens)
{
	const GridCase *point = accepted_case(_i);
	g_autoptr(PipesimProgram) program = grid_program(point);
	g_autoptr(PipesimProgram) split = pipesim_program_split_pairs(program, NULL);
	g_autoptr(PipesimCosts) costs = grid_random_costs((guint32)_i, point->ranks, FALSE);
	g_autoptr(PipesimTimes) times = pipesim_times_new(costs, &program->shape);
	g_autoptr(PipesimTimeline) whole = run_under(program, &pipesim_runtime_async, times);
	g_autoptr(PipesimTimeline) halves = run_under(split, &pipesim_runtime_async, times);
	guint earlier = 0;

	for (guint i = 1; i < G_N_ELEMENTS(runtimes); i++) {
		g_autoptr(PipesimTimeline) timeline = run_under(program, runtimes[i], times);
		const PipesimTimeline *async = runtimes[i]->splits_pairs ? halves : whole;

		if (timeline == NULL)
			continue;
		ck_assert_uint_eq(timeline->n_ops, async->n_ops);
		for (guint op = 0; op < timeline->n_ops; op++)
			earlier += timeline->start[op] < async->start[op];
	}
	ck_assert_uint_eq(earlier, 0);
}
END_TEST

START_TEST(latency_never_shortens)
{
	const GridCase *point = accepted_case(_i);
	g_autoptr(PipesimProgram) program = NULL;

	if (point->ranks * point->microbatches > 200)
		return;
	program = grid_program(point);

	for (guint i = 0; i < G_N_ELEMENTS(runtimes); i++) {
		gint64 before = 0;

		for (gint64 p2p = 0; p2p <= 6000; p2p += 1500) {
			g_autoptr(PipesimCosts) costs =
				grid_costs(4000, 5200, 3200, 11600, p2p);
			g_autoptr(PipesimTimes) times =
				pipesim_times_new(costs, &program->shape);
			g_autoptr(PipesimTimeline) timeline =
				run_under(program, runtimes[i], times);

			if (timeline == NULL)
				break;
			ck_assert_int_ge(timeline->makespan, before);
			before = timeline->makespan;
		}
	}
}
END_TEST

/* Runtimes match the messages of two ranks by their order, not by name. */
static guint crossing_messages(const PipesimLowering *lowering)
{
	const guint ranks = lowering->program->shape.ranks;
	guint crossing = 0;

	for (guint rank = 0; rank < ranks; rank++) {
		g_autofree guint32 *behind = g_new0(guint32, ranks);

		for (guint32 i = lowering->rank_begin[rank]; i < lowering->rank_begin[rank + 1];
			i++) {
			const PipesimAction *action = &lowering->actions[i];

			if (action->kind != PIPESIM_ACTION_RECV_F &&
				action->kind != PIPESIM_ACTION_RECV_B)
				continue;
			crossing += action->peer < behind[action->peer_rank];
			behind[action->peer_rank] = action->peer;
		}
	}
	return crossing;
}

/* A runtime must not hang on the schedules that it was written for. */
/* What a table says that runtimes add is what a run by their rules takes. */
START_TEST(comparison_runs_native)
{
	g_autoptr(PipesimCosts) costs = grid_costs(2, 1, 2, 5, 1);
	const PipesimScenario plain = {.ranks = 4, .microbatches = 12};
	PipesimScenario native = plain;
	g_autoptr(PipesimComparison) comparison = pipesim_comparison_new(&plain, costs);
	guint slower = 0;

	native.runtime = &pipesim_native_runtime;
	for (guint i = 0; pipesim_schedule_list()[i] != NULL; i++)
		g_ptr_array_add(comparison->runs,
			pipesim_run_schedule(pipesim_schedule_list()[i], &plain, costs));
	pipesim_comparison_run_native(comparison);
	for (guint i = 0; i < comparison->runs->len; i++) {
		const PipesimRun *run = g_ptr_array_index(comparison->runs, i);
		PipesimRun *ruled = pipesim_run_schedule(run->schedule, &native, costs);

		/* A search may find another order where the rules are known. */
		if (run->error == NULL && run->schedule->plan == NULL)
			ck_assert_int_eq(run->native,
				ruled->runtime->waits ? ruled->report->makespan : 0);
		ck_assert(!run->native_left_out);
		slower += run->error == NULL && run->native > run->report->makespan;
		pipesim_run_free(ruled);
	}
	ck_assert_uint_gt(slower, 3);
}
END_TEST

START_TEST(native_runs)
{
	const GridCase *point = accepted_case(_i);
	g_autoptr(PipesimProgram) program = grid_program(point);
	g_autoptr(PipesimLowering) queue =
		pipesim_lower(program, &pipesim_runtime_pytorch_2_11, NULL, NULL);
	g_autoptr(PipesimLowering) native = pipesim_lower(program,
		pipesim_runtime_resolve(&pipesim_native_runtime, point->schedule->runtime),
		NULL, NULL);

	ck_assert(pipesim_lowering_check(queue, PIPESIM_COMMUNICATOR_RANK, NULL, NULL, NULL));
	ck_assert_uint_eq(crossing_messages(queue), 0);
	if (grid_is_extended(point, &program->shape))
		return;
	ck_assert(pipesim_lowering_check(native, PIPESIM_COMMUNICATOR_RANK, NULL, NULL, NULL));
	ck_assert_uint_eq(crossing_messages(native), 0);
}
END_TEST

/* A check a message would take longer than the run: what is wrong is counted. */
static guint wrong_transfers(const PipesimTimeline *timeline, gint64 p2p)
{
	guint wrong = 0;

	for (guint32 i = 0; i < timeline->n_transfers; i++) {
		const PipesimTransfer *transfer = &timeline->transfers[i];
		const gint64 start = MAX(transfer->sent, transfer->received);

		wrong += transfer->sent < timeline->end[transfer->from] ||
			 transfer->start != start || transfer->end != start + p2p ||
			 transfer->end > timeline->start[transfer->to];
	}
	return wrong;
}

static gint64 end_of_cause(const PipesimTimeline *timeline, guint64 cause)
{
	if (cause == PIPESIM_NO_CAUSE)
		return 0;
	return cause & PIPESIM_BY_TRANSFER ? timeline->transfers[(guint32)cause].end
					   : timeline->end[cause];
}

static guint wrong_lanes(const PipesimTimeline *timeline, guint ranks)
{
	guint wrong = 0;

	for (guint rank = 0; rank < ranks; rank++) {
		for (guint32 i = timeline->send_begin[rank]; i < timeline->send_begin[rank + 1];
			i++)
			wrong += timeline->transfers[i].from_rank != rank;
		for (guint32 i = timeline->receive_begin[rank];
			i < timeline->receive_begin[rank + 1]; i++)
			wrong += timeline->transfers[timeline->arrivals[i]].to_rank != rank;
	}
	wrong += timeline->send_begin[ranks] != timeline->n_transfers;
	wrong += timeline->receive_begin[ranks] != timeline->n_transfers;
	return wrong;
}

static guint wrong_causes(const PipesimTimeline *timeline)
{
	guint wrong = 0;

	for (guint op = 0; op < timeline->n_ops; op++)
		wrong += timeline->start[op] != end_of_cause(timeline, timeline->cause[op]);
	for (guint32 i = 0; i < timeline->n_transfers; i++)
		wrong += timeline->transfers[i].start !=
			 end_of_cause(timeline, timeline->transfers[i].cause);
	return wrong;
}

START_TEST(transfers_and_causes)
{
	const GridCase *point = accepted_case(_i);
	g_autoptr(PipesimProgram) program = grid_program(point);
	g_autoptr(PipesimCosts) costs = grid_random_costs((guint32)_i, point->ranks, TRUE);
	g_autoptr(PipesimTimes) times = pipesim_times_new(costs, &program->shape);

	for (guint i = 1; i < G_N_ELEMENTS(runtimes); i++) {
		g_autoptr(PipesimTimeline) timeline = run_under(program, runtimes[i], times);

		if (timeline == NULL)
			continue;
		ck_assert_uint_eq(wrong_transfers(timeline, times->p2p), 0);
		ck_assert_uint_eq(wrong_lanes(timeline, point->ranks), 0);
		ck_assert_uint_eq(wrong_causes(timeline), 0);
	}
}
END_TEST

/* DeepSeek's groups cost nothing but the moves themselves. */
START_TEST(groups_are_free_without_latency)
{
	static const guint shapes[][2] = {
		{2, 4}, {2, 10}, {4, 8}, {4, 14}, {6, 14}, {8, 16}, {8, 20}, {8, 40}, {16, 64}};
	static const char *const names[] = {"dualpipe", "dualpipev"};

	for (guint i = 0; i < G_N_ELEMENTS(shapes); i++) {
		const GridCase point = {pipesim_schedule_find(names[_i % 2], NULL),
			shapes[i][0], shapes[i][1], 0, 0, 0, FALSE, 0};
		g_autoptr(PipesimProgram) program = grid_program(&point);
		g_autoptr(PipesimCosts) costs =
			grid_costs(1000, 1000, 1000, _i < 2 ? 3000 : 2400, 0);
		g_autoptr(PipesimTimes) times = pipesim_times_new(costs, &program->shape);
		g_autoptr(PipesimTimeline) plain = grid_timeline(program, costs);
		g_autoptr(PipesimTimeline) timeline =
			run_under(program, &pipesim_runtime_deepseek, times);

		ck_assert_int_eq(timeline->makespan, plain->makespan);
	}
}
END_TEST

/* The report. --- */

/* The run of queue_by_hand. Rank 0 stands still from 4 to 9, the last ns for the hop of a
 * gradient computed at 8; from 14 to 16, although 1B1 was done at 13 and a hop takes 1; from 19
 * to 21, the last ns for the hop. Rank 1 from 0 to 3 and from 13 to 15, the last ns of each for
 * a hop. At P2P = 0 the step takes 20. */
START_TEST(report_by_hand)
{
	static const char csv[] = "0F0,0F1,0B0,0F2,0B1,0B2\n1F0,1B0,1F1,1B1,1F2,1B2\n";
	const PipesimScenario scenario = {.runtime = &pipesim_native_runtime};
	g_autoptr(PipesimCosts) costs = grid_costs(2, 1, 2, 5, 1);
	g_autoptr(PipesimProgram) program = parse_program(csv, strlen(csv), "test.csv", NULL);
	g_autoptr(PipesimRun) run =
		pipesim_run_program("test.csv", program, NULL, &scenario, costs);
	const PipesimCommReport *comm;

	ck_assert_ptr_null(run->error);
	comm = run->report->comm;
	ck_assert_ptr_eq(comm->runtime, &pipesim_runtime_pytorch_2_11);
	ck_assert_int_eq(comm->rules, 0);
	ck_assert_int_eq(comm->moves, 4);
	ck_assert_int_eq(comm->waiting[0], 2);
	ck_assert_int_eq(comm->moving[0], 2);
	ck_assert_int_eq(comm->waiting[1], 0);
	ck_assert_int_eq(comm->moving[1], 2);
	ck_assert_int_eq(comm->max_waiting, 2);
	ck_assert_uint_eq(comm->n_messages, 6);
}
END_TEST

/* DualPipeV in a queue: its pairs are run in halves, and waits do not count what they would
 * have saved. */
START_TEST(report_of_split_pairs)
{
	const PipesimSchedule *schedule = pipesim_schedule_find("dualpipev", NULL);
	const PipesimScenario scenario = {
		.ranks = 4, .microbatches = 8, .runtime = &pipesim_runtime_pytorch_2_11};
	gint64 makespan = 0;

	for (gint64 fb = 400; fb <= 600; fb += 100) {
		g_autoptr(PipesimCosts) costs = grid_costs(200, 200, 200, fb, 10);
		g_autoptr(PipesimRun) run = pipesim_run_schedule(schedule, &scenario, costs);

		ck_assert_ptr_null(run->error);
		ck_assert(pipesim_run_split(run));
		ck_assert_uint_eq(run->step->timeline->n_ops, run->step->program->n_ops);
		ck_assert(makespan == 0 || makespan == run->report->makespan);
		makespan = run->report->makespan;
		ck_assert_int_gt(run->report->comm->rules, 0);
		ck_assert_int_gt(run->report->comm->moves, 0);
	}
}
END_TEST

static void assert_report(const PipesimRun *run)
{
	const PipesimReport *report = run->report;
	const PipesimTimeline *timeline = run->step->timeline;

	ck_assert_int_ge(report->comm->rules, 0);
	ck_assert_int_ge(report->comm->moves, 0);
	ck_assert_int_le(report->path.lower_bound, report->makespan);
	for (guint rank = 0; rank < report->ranks; rank++) {
		ck_assert_int_ge(report->comm->waiting[rank], 0);
		ck_assert_int_ge(report->comm->moving[rank], 0);
		ck_assert_int_le(report->comm->waiting[rank] + report->comm->moving[rank],
			report->bubble.idle[rank]);
	}
	ck_assert_uint_gt(report->path.n_ops, 0);
	ck_assert_int_eq(
		timeline->end[report->path.ops[report->path.n_ops - 1]], report->makespan);
	for (guint i = 1; i < report->path.n_ops; i++)
		ck_assert_int_le(timeline->end[report->path.ops[i - 1]],
			timeline->start[report->path.ops[i]]);
}

START_TEST(reports_add_up)
{
	const GridCase *point = accepted_case(_i);
	g_autoptr(PipesimCosts) costs = grid_random_costs((guint32)_i, point->ranks, TRUE);
	PipesimScenario scenario = grid_scenario(point);

	scenario.critical = TRUE;
	if (point->ranks * point->microbatches > 60)
		return;
	for (guint i = 1; i <= G_N_ELEMENTS(runtimes); i++) {
		g_autoptr(PipesimRun) run = NULL;

		scenario.runtime =
			i < G_N_ELEMENTS(runtimes) ? runtimes[i] : &pipesim_native_runtime;
		run = pipesim_run_schedule(point->schedule, &scenario, costs);

		if (run->error != NULL)
			ck_assert(g_error_matches(
				run->error, PIPESIM_ERROR, PIPESIM_ERROR_DEADLOCK));
		else if (run->runtime->waits)
			assert_report(run);
		ck_assert(scenario.runtime != &pipesim_native_runtime || run->error == NULL ||
			  grid_is_extended(point, &run->shape));
	}
}
END_TEST

Suite *engine_comm_suite(void)
{
	Suite *suite = suite_create("engine-comm");
	TCase *tcase = tcase_create("by hand"), *grid = tcase_create("grid");
	int count;

	grid_accepted(&count);
	tcase_add_test(tcase, async_by_hand);
	tcase_add_test(tcase, queue_by_hand);
	tcase_add_test(tcase, single_by_hand);
	tcase_add_loop_test(
		tcase, communicators_of_pytorch_2_15, 0, (int)G_N_ELEMENTS(makespans));
	tcase_add_loop_test(tcase, one_send_of_pytorch_2_15, 0, (int)G_N_ELEMENTS(makespans));
	tcase_add_test(tcase, grouped_by_hand);
	tcase_add_loop_test(tcase, groups_are_free_without_latency, 0, 4);
	tcase_add_test(tcase, report_by_hand);
	tcase_add_test(tcase, report_of_split_pairs);
	suite_add_tcase(suite, tcase);
	tcase_set_timeout(grid, 60);
	tcase_add_loop_test(grid, equals_oracle, 0, count);
	tcase_add_loop_test(grid, rounds_run, 0, count);
	tcase_add_loop_test(grid, fates_agree, 0, count);
	tcase_add_loop_test(grid, waiting_never_shortens, 0, count);
	tcase_add_loop_test(grid, latency_never_shortens, 0, count);
	tcase_add_loop_test(grid, native_runs, 0, count);
	tcase_add_test(grid, comparison_runs_native);
	tcase_add_loop_test(grid, transfers_and_causes, 0, count);
	tcase_add_loop_test(grid, reports_add_up, 0, count);
	suite_add_tcase(suite, grid);
	return suite;
}
