#include "engine/dynamic.h"
#include "grid.h"
#include "link-oracle.h"
#include "reference-engine.h"
#include "suites.h"

/* Every third case of the grid: all of it takes seconds. */
#define STRIDE 3

static const GridCase *accepted_case(int i)
{
	int count;

	return &grid_accepted(&count)[i * STRIDE];
}

static PipesimTimeline *run_links(
	const PipesimProgram *program, const PipesimTimes *times, const PipesimNetwork *network)
{
	g_autoptr(GError) error = NULL;
	PipesimTimeline *timeline =
		pipesim_dynamic_run(program, times, network, PIPESIM_KEEP_MOVES, NULL, &error);

	ck_assert_msg(timeline != NULL, "%s", error != NULL ? error->message : "no error");
	return timeline;
}

/* A message of one byte holds a link of this bandwidth for @ns. */
static gint64 bandwidth_of(gint64 ns)
{
	return 1000000000 / ns;
}

static void choose_speed(GRand *random, PipesimLinkSpeed *speed)
{
	speed->latency = g_rand_int_range(random, 0, 6);
	speed->bandwidth = g_rand_int_range(random, 0, 6);
	if (speed->bandwidth > 0)
		speed->bandwidth = bandwidth_of(speed->bandwidth);
	speed->half = g_rand_boolean(random);
}

static PipesimNetwork *random_network(GRand *random, guint ranks)
{
	static const PipesimFraction factors[] = {{1, 1}, {27, 25}, {2, 1}, {4, 3}};
	PipesimNetwork *network = pipesim_network_new();

	network->message_bytes = 1;
	network->ranks_per_node = (guint)g_rand_int_range(random, 0, (gint32)ranks + 1);
	choose_speed(random, &network->intra);
	choose_speed(random, &network->inter);
	network->share = (PipesimLinkShare)g_rand_int_range(random, 0, 3);
	network->nics = (guint)g_rand_int_range(random, 0, 4);
	if (network->nics > 0 && network->ranks_per_node > 0 && g_rand_boolean(random)) {
		network->nic_of = g_new(guint, network->ranks_per_node);
		for (guint i = 0; i < network->ranks_per_node; i++)
			network->nic_of[i] =
				(guint)g_rand_int_range(random, 0, (gint32)network->nics);
	}
	if (g_rand_boolean(random))
		for (guint kind = 0; kind < PIPESIM_N_KINDS; kind++)
			network->slowdown[kind] = factors[g_rand_int_range(random, 0, 4)];
	return network;
}

static void assert_same(const PipesimProgram *program, const PipesimTimeline *timeline,
	const LinkOracle *oracle)
{
	guint64 messages = 0;

	ck_assert_int_eq(timeline->makespan, oracle->makespan);
	for (guint32 op = 0; op < program->n_ops; op++) {
		const guint rank = pipesim_program_rank(program, op);
		guint32 inputs[2];
		const guint n =
			pipesim_program_inputs(program, rank, &program->ops[op], inputs);

		ck_assert_int_eq(timeline->start[op], oracle->start[op]);
		ck_assert_int_eq(timeline->end[op], oracle->end[op]);
		for (guint i = 0; i < n; i++) {
			const OracleMessage *m = link_oracle_find(oracle, inputs, i, op);

			ck_assert_int_eq(timeline->moving[i][op], m != NULL ? m->start : -1);
			messages += m != NULL;
		}
	}
	ck_assert_uint_eq(timeline->traffic->messages, messages);
	ck_assert_uint_eq(timeline->events, messages + program->n_ops);
}

START_TEST(equals_the_words)
{
	const GridCase *point = accepted_case(_i);
	g_autoptr(PipesimProgram) program = NULL;

	if (point->ranks > 8 || point->microbatches > 12)
		return;
	program = grid_program(point);
	for (guint32 seed = 0; seed < 5; seed++) {
		GRand *random = g_rand_new_with_seed((guint32)_i * 8 + seed);
		g_autoptr(PipesimNetwork) network = random_network(random, point->ranks);
		g_autoptr(PipesimCosts) costs = grid_costs(g_rand_int_range(random, 0, 12),
			g_rand_int_range(random, 0, 12), g_rand_int_range(random, 0, 9),
			g_rand_int_range(random, 0, 16), 0);
		g_autoptr(PipesimTimes) times = pipesim_times_new(costs, &program->shape);
		g_autoptr(PipesimTimeline) timeline = run_links(program, times, network);
		g_autoptr(LinkOracle) oracle = link_oracle_new(program, times, network);

		assert_same(program, timeline, oracle);
		g_rand_free(random);
	}
}
END_TEST

/* Where nothing waits. ---------------------------------------------------------------- */

static void assert_static(const PipesimProgram *program, const PipesimTimes *times,
	const PipesimTimeline *timeline)
{
	g_autoptr(PipesimTimeline) plain = reference_run(program, times, NULL);

	ck_assert_int_eq(timeline->makespan, plain->makespan);
	ck_assert_mem_eq(timeline->start, plain->start, program->n_ops * sizeof(gint64));
	ck_assert_mem_eq(timeline->end, plain->end, program->n_ops * sizeof(gint64));
	ck_assert_uint_eq(timeline->events, plain->events);
}

START_TEST(equals_p2p_without_limit)
{
	const GridCase *point = accepted_case(_i);
	g_autoptr(PipesimProgram) program = grid_program(point);

	for (guint32 seed = 0; seed < 3; seed++) {
		g_autoptr(PipesimCosts) costs =
			grid_random_costs((guint32)_i * 16 + seed, point->ranks, seed == 1);
		g_autoptr(PipesimTimes) times = pipesim_times_new(costs, &program->shape);
		g_autoptr(PipesimNetwork) network = pipesim_network_new();
		g_autoptr(PipesimTimeline) timeline = NULL;

		network->message_bytes = 32 << 20;
		network->intra.latency = times->p2p;
		network->intra.half = seed == 2;
		timeline = run_links(program, times, network);
		assert_static(program, times, timeline);
		ck_assert_int_eq(timeline->traffic->longest, 0);
	}
}
END_TEST

static gboolean has_pairs(const PipesimProgram *program)
{
	for (guint32 i = 0; i < program->n_ops; i++)
		if (program->ops[i].kind == PIPESIM_FB)
			return TRUE;
	return FALSE;
}

/* A rank that sends one message an op, none of them longer than an op, keeps none waiting. */
START_TEST(equals_p2p_on_links_of_its_own)
{
	const GridCase *point = accepted_case(_i);
	g_autoptr(PipesimProgram) program = grid_program(point);
	g_autoptr(PipesimCosts) costs = grid_costs(4000, 5200, 3200, 11600, 3050);
	g_autoptr(PipesimTimes) times = pipesim_times_new(costs, &program->shape);
	g_autoptr(PipesimNetwork) network = pipesim_network_new();
	g_autoptr(PipesimTimeline) timeline = NULL;
	gint64 hold = MIN(times->chunk[PIPESIM_F], times->chunk[PIPESIM_I]);

	hold = MIN(hold, times->chunk[PIPESIM_B]);
	network->message_bytes = hold;
	network->intra.bandwidth = 1000000000;
	network->intra.latency = times->p2p - hold;
	timeline = run_links(program, times, network);
	if (!has_pairs(program))
		ck_assert_int_eq(timeline->traffic->longest, 0);
	if (timeline->traffic->longest == 0)
		assert_static(program, times, timeline);
}
END_TEST

/* Where something waits. --------------------------------------------------------------- */

static gboolean goes_over(const PipesimRoute *route, PipesimLinkId link)
{
	return route->link[0] == link || (route->n_links > 1 && route->link[1] == link);
}

static int by_value(const void *a, const void *b)
{
	const gint64 x = *(const gint64 *)a, y = *(const gint64 *)b;

	return (x > y) - (x < y);
}

/* When each message over @link began to move. */
static GArray *moves_over(const PipesimProgram *program, const PipesimTimeline *timeline,
	const PipesimNetwork *network, PipesimLinkId link, gint64 *holds)
{
	GArray *moves = g_array_new(FALSE, FALSE, sizeof(gint64));

	*holds = 0;
	for (guint32 op = 0; op < program->n_ops; op++) {
		const guint rank = pipesim_program_rank(program, op);
		guint32 inputs[2];
		const guint n =
			pipesim_program_inputs(program, rank, &program->ops[op], inputs);

		for (guint i = 0; i < n; i++) {
			const guint from = pipesim_program_rank(program, inputs[i]);
			PipesimRoute route;

			if (from == rank)
				continue;
			route = pipesim_network_route(network, from, rank);
			if (!goes_over(&route, link))
				continue;
			ck_assert_int_ge(timeline->moving[i][op], timeline->end[inputs[i]]);
			g_array_append_val(moves, timeline->moving[i][op]);
			*holds += route.hold;
		}
	}
	qsort(moves->data, moves->len, sizeof(gint64), by_value);
	return moves;
}

/* A link never has two messages at once, so it moves no more bytes than it can. */
START_TEST(a_link_holds_one_message)
{
	const GridCase *point = accepted_case(_i);
	g_autoptr(PipesimProgram) program = grid_program(point);
	GRand *random = g_rand_new_with_seed((guint32)_i);
	g_autoptr(PipesimNetwork) network = random_network(random, point->ranks);
	g_autoptr(PipesimCosts) costs = grid_costs(40, 52, 32, 116, 0);
	g_autoptr(PipesimTimes) times = pipesim_times_new(costs, &program->shape);
	g_autoptr(PipesimTimeline) timeline = NULL;

	g_rand_free(random);
	/* one hold everywhere, longer than many ops */
	network->message_bytes = 30;
	network->intra.bandwidth = network->inter.bandwidth = 1000000000;
	timeline = run_links(program, times, network);
	for (guint i = 0; i < timeline->traffic->links->len; i++) {
		const PipesimLinkUse *link =
			&g_array_index(timeline->traffic->links, PipesimLinkUse, i);
		gint64 holds;
		g_autoptr(GArray) moves =
			moves_over(program, timeline, network, link->id, &holds);

		ck_assert_uint_eq(moves->len, link->messages);
		ck_assert_int_eq(holds, link->busy);
		ck_assert_int_le(link->busy, timeline->makespan);
		for (guint k = 1; k < moves->len; k++)
			ck_assert_int_ge(g_array_index(moves, gint64, k),
				g_array_index(moves, gint64, k - 1) + 30);
	}
}
END_TEST

/* One rank feeds each link, in the order of its ops: every time is a maximum of sums of times,
 * so none falls when a message gets longer. Over shared links that need not be so. */
START_TEST(longer_messages_never_shorten)
{
	const GridCase *point = accepted_case(_i);
	g_autoptr(PipesimProgram) program = grid_program(point);
	g_autoptr(PipesimCosts) costs = grid_random_costs((guint32)_i, point->ranks, TRUE);
	g_autoptr(PipesimTimes) times = pipesim_times_new(costs, &program->shape);
	gint64 before = 0;

	for (gint64 hold = 0; hold <= 4000000; hold += 500000) {
		g_autoptr(PipesimNetwork) network = pipesim_network_new();
		g_autoptr(PipesimTimeline) timeline = NULL;

		network->message_bytes = hold;
		network->intra.bandwidth = 1000000000;
		timeline = run_links(program, times, network);
		ck_assert_int_ge(timeline->makespan, before);
		before = timeline->makespan;
	}
}
END_TEST

START_TEST(losses_add_up)
{
	const GridCase *point = accepted_case(_i);
	g_autoptr(PipesimCosts) costs = grid_random_costs((guint32)_i, point->ranks, FALSE);
	GRand *random = g_rand_new_with_seed((guint32)_i);
	g_autoptr(PipesimRun) run = NULL, unlimited = NULL;

	costs->network = random_network(random, point->ranks);
	g_rand_free(random);
	costs->network->message_bytes = 400000;
	costs->network->intra.bandwidth = costs->network->inter.bandwidth = 1000000000;
	run = grid_run(point, costs);
	ck_assert_int_ge(run->report->links->queueing, 0);
	ck_assert_int_le(run->report->path.lower_bound, run->report->makespan);
	ck_assert_uint_eq(
		run->report->path.ops[run->report->path.n_ops - 1] < run->step->program->n_ops,
		TRUE);
	/* the same hops, but nothing to wait for */
	costs->network->intra.bandwidth = costs->network->inter.bandwidth = 0;
	/* As messages of parts are rounded. */
	const guint parts = pipesim_shape_parts(&run->shape);

	costs->network->intra.latency += (400000 + parts - 1) / parts;
	costs->network->inter.latency += (400000 + parts - 1) / parts;
	for (guint kind = 0; kind < PIPESIM_N_KINDS; kind++)
		costs->network->slowdown[kind] = (PipesimFraction){1, 1};
	/* A search would find another order. */
	unlimited = pipesim_run_program(
		"the same", run->step->program, NULL, &(PipesimScenario){0}, costs);
	ck_assert_int_eq(run->report->links->queueing + run->report->links->slowing,
		run->report->makespan - unlimited->report->makespan);
	ck_assert_int_eq(unlimited->report->links->queueing, 0);
	ck_assert_int_eq(unlimited->report->links->slowing, 0);
}
END_TEST

/* By hand. ------------------------------------------------------------------------------ */

static PipesimRun *by_hand(const char *name, guint microbatches, gint64 hold, gint64 latency,
	void (*change)(PipesimNetwork *network))
{
	g_autoptr(PipesimCosts) costs = grid_costs(10, 10, 10, -1, 0);

	costs->network = pipesim_network_new();
	costs->network->message_bytes = hold;
	costs->network->intra = (PipesimLinkSpeed){latency, 1000000000, FALSE};
	if (change != NULL)
		change(costs->network);
	return named_run(name, 2, microbatches, costs);
}

START_TEST(one_message_each_way)
{
	g_autoptr(PipesimRun) run = by_hand("1f1b", 1, 4, 3, NULL);

	/* F 0 to 10, 4 on the link, 3 of latency, F 17 to 27, B to 47, 54 to 74 */
	ck_assert_int_eq(run->report->makespan, 74);
	ck_assert_int_eq(run->report->links->waited, 0);
}
END_TEST

START_TEST(second_message_waits)
{
	g_autoptr(PipesimRun) run = by_hand("gpipe", 2, 15, 3, NULL);

	/* the second activation is ready at 20, moves at 25, is there at 43: F to 53, B to 73
	 * and 93, gradients there at 91 and 111 */
	ck_assert_int_eq(run->report->makespan, 131);
	ck_assert_int_eq(run->report->links->waited, 5);
	ck_assert_int_eq(run->report->links->longest, 5);
	ck_assert_int_eq(run->report->links->queueing, 5);
	ck_assert_uint_eq(run->report->links->n, 2);
	ck_assert_int_eq(run->report->links->link[0].busy, 30);
	ck_assert_int_eq(run->report->links->link[1].waited, 0);
}
END_TEST

static void share_half_duplex(PipesimNetwork *network)
{
	network->ranks_per_node = 1;
	network->nics = 1;
	network->inter = network->intra;
	network->inter.half = TRUE;
}

START_TEST(both_directions_share_a_nic)
{
	g_autoptr(PipesimRun) run = by_hand("1f1b", 2, 40, 0, share_half_duplex);
	g_autoptr(GString) name = g_string_new(NULL);

	/* activations move 10 to 50 and 50 to 90; the gradient that is ready at 80 moves 90 to
	 * 130, the last one, ready at 120, 130 to 170, and its B ends at 190 */
	ck_assert_int_eq(run->report->makespan, 190);
	ck_assert_int_eq(run->report->links->waited, 30 + 10 + 10);
	ck_assert_int_eq(run->report->links->longest, 30);
	ck_assert_uint_eq(run->report->links->n, 2);
	ck_assert_int_eq(run->report->links->link[1].busy, 160);
	pipesim_link_print(run->report->links->link[1].id, name);
	ck_assert_str_eq(name->str, "node 1 NIC 0");
}
END_TEST

static void slow_by_half(PipesimNetwork *network)
{
	for (guint kind = 0; kind < PIPESIM_N_KINDS; kind++)
		network->slowdown[kind] = (PipesimFraction){2, 1};
}

START_TEST(messages_slow_ops)
{
	g_autoptr(PipesimRun) run = by_hand("gpipe", 2, 15, 0, slow_by_half);

	/* rank 0: the second F has done 7.5 of 10 when the message is gone at 25: it ends in
	 * the middle of 27, at 28 */
	ck_assert_int_eq(run->step->timeline->end[1], 28);
	/* rank 1: the first F runs from 25, beside a message from 28 to 43 */
	ck_assert_int_eq(run->step->timeline->end[4], 42);
	ck_assert_int_eq(run->report->makespan, 136);
	ck_assert_int_eq(run->report->links->slowing, 136 - 125);
}
END_TEST

START_TEST(time_overflows_clearly)
{
	g_autoptr(PipesimCosts) costs = grid_costs(10, 10, 10, -1, 0);
	g_autoptr(PipesimRun) run = NULL;

	costs->network = pipesim_network_new();
	costs->network->message_bytes = PIPESIM_MAX_TIME_NS;
	costs->network->intra.bandwidth = 1000000000;
	run = make_run("gpipe", 2, 64, costs);
	ck_assert(g_error_matches(run->error, PIPESIM_ERROR, PIPESIM_ERROR_LIMIT));
}
END_TEST

Suite *engine_links_suite(void)
{
	Suite *suite = suite_create("engine-links");
	TCase *grid = tcase_create("grid"), *hand = tcase_create("hand");
	int count;

	grid_accepted(&count);
	tcase_add_loop_test(grid, equals_the_words, 0, count / STRIDE);
	tcase_add_loop_test(grid, equals_p2p_without_limit, 0, count / STRIDE);
	tcase_add_loop_test(grid, equals_p2p_on_links_of_its_own, 0, count / STRIDE);
	tcase_add_loop_test(grid, a_link_holds_one_message, 0, count / STRIDE);
	tcase_add_loop_test(grid, longer_messages_never_shorten, 0, count / STRIDE);
	tcase_add_loop_test(grid, losses_add_up, 0, count / STRIDE);
	tcase_add_test(hand, one_message_each_way);
	tcase_add_test(hand, second_message_waits);
	tcase_add_test(hand, both_directions_share_a_nic);
	tcase_add_test(hand, messages_slow_ops);
	tcase_add_test(hand, time_overflows_clearly);
	suite_add_tcase(suite, grid);
	suite_add_tcase(suite, hand);
	return suite;
}
