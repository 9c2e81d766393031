#include "engine/comm.h"
#include "engine/dynamic.h"
#include "grid.h"
#include "suites.h"

/* Every fifth case of the grid: all of it takes seconds. */
#define STRIDE 5

static const PipesimIssuing in_one_queue = {.communicators = PIPESIM_COMMUNICATOR_RANK};

static const GridCase *accepted_case(int i)
{
	int count;

	return &grid_accepted(&count)[i * STRIDE];
}

static void assert_same(const PipesimTimeline *a, const PipesimTimeline *b)
{
	ck_assert_uint_eq(a->n_ops, b->n_ops);
	ck_assert_int_eq(a->makespan, b->makespan);
	ck_assert_mem_eq(a->start, b->start, a->n_ops * sizeof(gint64));
	ck_assert_mem_eq(a->end, b->end, a->n_ops * sizeof(gint64));
}

static const PipesimRuntime *const waiting[] = {
	&pipesim_runtime_pytorch_2_11, &pipesim_runtime_single, &pipesim_runtime_deepseek};

/* Half duplex NICs that several ranks share, messages longer than some ops. */
static PipesimNetwork *busy_network(guint ranks)
{
	PipesimNetwork *network = pipesim_network_new();

	network->message_bytes = 3000;
	network->ranks_per_node = MAX(ranks / 2, 1);
	network->share = PIPESIM_LINK_RANK;
	network->nics = 1;
	network->intra = (PipesimLinkSpeed){700, 3000000000, FALSE};
	network->inter = (PipesimLinkSpeed){1900, 1000000000, TRUE};
	for (guint kind = 0; kind < PIPESIM_N_KINDS; kind++)
		network->slowdown[kind] = (PipesimFraction){27, 25};
	return network;
}

/* Links that keep nothing waiting give what P2P gives, under the rules of any runtime. */
START_TEST(unlimited_links_equal_p2p)
{
	const GridCase *point = accepted_case(_i);
	g_autoptr(PipesimProgram) program = grid_program(point);
	g_autoptr(PipesimCosts) costs = grid_costs(4000, 5200, 3200, 11600, 700);
	g_autoptr(PipesimTimes) times = pipesim_times_new(costs, &program->shape);
	g_autoptr(PipesimNetwork) network = pipesim_network_new();

	network->intra.latency = times->p2p;
	for (guint i = 0; i < G_N_ELEMENTS(waiting); i++) {
		g_autoptr(PipesimLowering) lowering =
			pipesim_lower(program, waiting[i], NULL, NULL);
		g_autoptr(PipesimTimeline) plain =
			pipesim_comm_run(lowering, &in_one_queue, times, NULL, 0, NULL, NULL);
		g_autoptr(PipesimTimeline) linked = pipesim_comm_run(
			lowering, &in_one_queue, times, network, 0, NULL, NULL);

		ck_assert((plain == NULL) == (linked == NULL));
		if (plain != NULL)
			assert_same(plain, linked);
	}
}
END_TEST

/* Messages wait for links on top of each other: nothing is there before its hop, links never
 * have two, and without their queues the step is no longer. */
START_TEST(queues_lengthen_every_mode)
{
	const GridCase *point = accepted_case(_i);
	g_autoptr(PipesimProgram) program = grid_program(point);
	g_autoptr(PipesimCosts) costs = grid_costs(4000, 5200, 3200, 11600, 0);
	g_autoptr(PipesimTimes) times = pipesim_times_new(costs, &program->shape);
	g_autoptr(PipesimNetwork) network = busy_network(point->ranks);

	for (guint i = 0; i < G_N_ELEMENTS(waiting); i++) {
		g_autoptr(PipesimLowering) lowering =
			pipesim_lower(program, waiting[i], NULL, NULL);
		g_autoptr(PipesimTimeline) queued = pipesim_comm_run(lowering, &in_one_queue,
			times, network, PIPESIM_NO_SLOWDOWN, NULL, NULL);
		g_autoptr(PipesimTimeline) open = pipesim_comm_run(lowering, &in_one_queue,
			times, network, PIPESIM_NO_SLOWDOWN | PIPESIM_NO_QUEUES, NULL, NULL);

		if (queued == NULL)
			continue;
		ck_assert_int_ge(queued->makespan, open->makespan);
		for (guint k = 0; k < queued->n_transfers; k++) {
			const PipesimTransfer *transfer = &queued->transfers[k];

			ck_assert_int_ge(
				transfer->start, MAX(transfer->sent, transfer->received));
			ck_assert_int_eq(transfer->end - transfer->start,
				pipesim_network_hop(
					network, transfer->from_rank, transfer->to_rank));
		}
		for (guint k = 0; k < queued->traffic->links->len; k++)
			ck_assert_int_le(
				g_array_index(queued->traffic->links, PipesimLinkUse, k).busy,
				queued->makespan);
	}
}
END_TEST

/* An op that a message slows under --runtime pytorch-2.11, by hand. */
START_TEST(queue_slows_ops)
{
	g_autoptr(PipesimCosts) costs = grid_costs(10, 10, 10, -1, 0);
	const PipesimScenario scenario = {
		.ranks = 2, .microbatches = 2, .runtime = &pipesim_runtime_pytorch_2_11};
	g_autoptr(PipesimRun) run = NULL;

	costs->network = pipesim_network_new();
	costs->network->message_bytes = 15;
	costs->network->intra.bandwidth = 1000000000;
	costs->network->slowdown[PIPESIM_F] = (PipesimFraction){2, 1};
	run = pipesim_run_schedule(pipesim_schedule_find("gpipe", NULL), &scenario, costs);
	ck_assert(run->error == NULL);
	/* the second F has done 7.5 of 10 when the message of the first is gone at 25 */
	ck_assert_int_eq(run->step->timeline->end[1], 28);
	ck_assert_int_ge(run->report->links->queueing, 0);
}
END_TEST

/* Where nothing else takes their links, stages take as long over these as at their bandwidth. */
START_TEST(shards_alone_equal_times)
{
	const GridCase *point = accepted_case(_i);
	g_autoptr(PipesimProgram) program = grid_program(point);
	g_autoptr(PipesimCosts) costs = grid_costs(4000, 5200, 3200, 11600, 0);
	g_autoptr(PipesimNetwork) network = busy_network(point->ranks);
	g_autoptr(PipesimLowering) lowering =
		pipesim_lower(program, &pipesim_runtime_pytorch_2_11, NULL, NULL);
	g_autoptr(PipesimTimes) timed = NULL, linked = NULL;
	g_autoptr(PipesimTimeline) by_time = NULL, by_link = NULL;

	/* Messages leave the node, stages do not. */
	network->ranks_per_node = 1;
	costs->sharding.bytes = 10007;
	costs->sharding.bandwidth = network->intra.bandwidth;
	network->intra.latency = 0;
	timed = pipesim_times_new(costs, &program->shape);
	by_time = pipesim_comm_run(
		lowering, &in_one_queue, timed, network, PIPESIM_NO_SLOWDOWN, NULL, NULL);
	network->shards = PIPESIM_SHARDS_INTRA;
	costs->sharding.bandwidth = 0;
	costs->network = pipesim_network_copy(network);
	linked = pipesim_times_new(costs, &program->shape);
	by_link = pipesim_comm_run(
		lowering, &in_one_queue, linked, network, PIPESIM_NO_SLOWDOWN, NULL, NULL);
	ck_assert((by_time == NULL) == (by_link == NULL));
	if (by_time != NULL)
		assert_same(by_time, by_link);
}
END_TEST

/* Over the same NICs each waits for the other; all that is moved holds its links once. */
START_TEST(shards_share_links)
{
	const GridCase *point = accepted_case(_i);
	g_autoptr(PipesimProgram) program = grid_program(point);
	g_autoptr(PipesimCosts) costs = grid_costs(4000, 5200, 3200, 11600, 0);
	g_autoptr(PipesimNetwork) network = busy_network(point->ranks);
	g_autoptr(PipesimLowering) lowering =
		pipesim_lower(program, &pipesim_runtime_pytorch_2_11, NULL, NULL);
	g_autoptr(PipesimTimes) times = NULL;
	g_autoptr(PipesimTimeline) timeline = NULL;
	gint64 held = 0;

	network->ranks_per_node = 1;
	network->shards = PIPESIM_SHARDS_INTER;
	network->units = 1 + (guint)_i % 3;
	costs->sharding.bytes = 20000;
	costs->network = pipesim_network_copy(network);
	times = pipesim_times_new(costs, &program->shape);
	timeline = pipesim_comm_run(
		lowering, &in_one_queue, times, network, PIPESIM_NO_SLOWDOWN, NULL, NULL);
	if (timeline == NULL)
		return;
	ck_assert_uint_gt(timeline->n_shards, 0);
	for (guint32 i = 0; i < timeline->n_shards; i++) {
		const PipesimShard *shard = &timeline->shards[i];
		const gint64 bytes = times->moved[shard->reduces][shard->stage];

		ck_assert_int_ge(shard->start, shard->issued);
		ck_assert_int_ge(
			shard->end - shard->start, pipesim_network_shard_time(network, bytes));
		/* Half duplex: one link. */
		held += pipesim_network_shard_time(network, bytes) -
			network->units * network->inter.latency;
	}
	for (guint32 i = 0; i < timeline->n_transfers; i++)
		held += 2 * (pipesim_network_hop(network, timeline->transfers[i].from_rank,
				     timeline->transfers[i].to_rank) -
				    network->inter.latency);
	for (guint k = 0; k < timeline->traffic->links->len; k++)
		held -= g_array_index(timeline->traffic->links, PipesimLinkUse, k).busy;
	ck_assert_int_eq(held, 0);
}
END_TEST

/* 1F1B of 2 ranks and one micro-batch, a byte a ns, by hand. Both stages are there at 40, 0F0 ends at 50 and its
 * message is there at 65, so that 1F0 ends at 75 and 1B0 at 95. Then its gradient leaves over the NIC, until 110, and the
 * reduction after it, in two parts until 130 and 150; that of rank 0 from 130, where 0B0 ends, to 170. */
START_TEST(reduction_waits_for_gradient)
{
	g_autoptr(PipesimCosts) costs = grid_costs(10, 10, 10, -1, 0);
	const PipesimScenario scenario = {
		.ranks = 2, .microbatches = 1, .runtime = &pipesim_runtime_pytorch_2_15};
	g_autoptr(PipesimRun) run = NULL;
	const PipesimTimeline *timeline;
	const gint64 expected[4][3] = {{0, 0, 40}, {130, 130, 170}, {0, 0, 40}, {95, 110, 150}};

	costs->sharding.bytes = 40;
	costs->network = pipesim_network_new();
	costs->network->message_bytes = 15;
	costs->network->ranks_per_node = 1;
	costs->network->nics = 1;
	costs->network->inter.bandwidth = 1000000000;
	costs->network->shards = PIPESIM_SHARDS_INTER;
	costs->network->units = 2;
	run = pipesim_run_schedule(pipesim_schedule_find("1f1b", NULL), &scenario, costs);
	ck_assert(run->error == NULL);
	timeline = run->step->timeline;
	ck_assert_uint_eq(timeline->n_shards, 4);
	for (guint i = 0; i < 4; i++) {
		ck_assert_int_eq(timeline->shards[i].issued, expected[i][0]);
		ck_assert_int_eq(timeline->shards[i].start, expected[i][1]);
		ck_assert_int_eq(timeline->shards[i].end, expected[i][2]);
	}
	ck_assert_int_eq(timeline->makespan, 170);
	ck_assert_int_eq(run->report->comm->sharding, 170 - 90);
}
END_TEST

Suite *engine_comm_links_suite(void)
{
	Suite *suite = suite_create("engine-comm-links");
	TCase *grid = tcase_create("grid"), *hand = tcase_create("hand");
	int count;

	grid_accepted(&count);
	tcase_add_loop_test(grid, unlimited_links_equal_p2p, 0, count / STRIDE);
	tcase_add_loop_test(grid, queues_lengthen_every_mode, 0, count / STRIDE);
	tcase_add_loop_test(grid, shards_alone_equal_times, 0, count / STRIDE);
	tcase_add_loop_test(grid, shards_share_links, 0, count / STRIDE);
	tcase_add_test(hand, queue_slows_ops);
	tcase_add_test(hand, reduction_waits_for_gradient);
	suite_add_tcase(suite, grid);
	suite_add_tcase(suite, hand);
	return suite;
}
