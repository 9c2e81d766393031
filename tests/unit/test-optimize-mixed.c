/* The search with recomputation, copies to the host and slices: it fits, is never above what schedules reach, and the
 * bound is below every order there is. */
#include "grid.h"
#include "optimize/mixed.h"
#include "optimize/within.h"
#include "order/more.h"
#include "suites.h"
#include <string.h>

/* Bits of what is asked for together. */
enum {
	RECOMPUTE = 1,
	COPIES = 2,
	SLICES = 4,
	WAYS = 8
};

static const struct {
	PipesimPlacement placement;
	guint ranks, chunks, m;
} shapes[] = {
	{PIPESIM_LOOPED, 4, 1, 6},
	{PIPESIM_LOOPED, 3, 1, 9},
	{PIPESIM_V, 3, 2, 5},
	{PIPESIM_LOOPED, 2, 2, 6},
	{PIPESIM_BIDIRECTIONAL, 4, 2, 8},
};

static PipesimSearchOf make_search(
	guint shape, guint way, guint seed, PipesimScenario *scenario, PipesimCosts **costs)
{
	*costs = grid_random_costs(seed, shapes[shape].ranks, seed % 2 == 1);
	(*costs)->own[PIPESIM_OP_OFFLOAD_START] = (*costs)->own[PIPESIM_OP_RELOAD_START] =
		1000 + seed % 3 * (*costs)->time[PIPESIM_F] / 2;
	*scenario = (PipesimScenario){.ranks = shapes[shape].ranks,
		.microbatches = shapes[shape].m,
		.max_activations = {2 + seed % (2 * shapes[shape].ranks), 2}};
	scenario->recompute = way & RECOMPUTE ? 1 + seed % shapes[shape].chunks : 0;
	scenario->offload = way & COPIES ? 1 + (seed / 2) % shapes[shape].chunks : 0;
	scenario->slices = way & SLICES ? 2 + seed % 2 : 0;
	return (PipesimSearchOf){.scenario = scenario,
		.costs = *costs,
		.placement = shapes[shape].placement,
		.chunks = shapes[shape].chunks,
		.whole = seed % 4 == 3,
		.moves = 4000,
		.threads = 1,
		.seed = seed};
}

/* Most that a rank holds that runs @n ops @op, in chunks of a part, or of @tokens of each of two slices. */
static guint most_held(const PipesimOp *op, guint n, const guint *tokens)
{
	guint held = 0, most = 0;

	for (; n > 0; n--, op++) {
		const guint of = tokens != NULL ? tokens[op->microbatch % 2] : 1;

		held += of * (op->kind == PIPESIM_F ? op->b_chunk != PIPESIM_RECOMPUTED
						    : pipesim_op_rows[op->kind].takes);
		most = MAX(most, held);
		held -= of * (op->kind == PIPESIM_W || pipesim_op_rows[op->kind].frees > 0 ||
				     op->kind == PIPESIM_OP_OFFLOAD_END);
	}
	return most;
}

/* Of the two slices of a sequence of SEQUENCE, where bytes are limited. */
#define SEQUENCE 60
static guint slice_tokens[2];

static gboolean rank_fits(const PipesimScenario *scenario, const PipesimShape *shape,
	const PipesimOp *op, guint n)
{
	const PipesimFraction *limit = &scenario->max_activations;

	/* Bytes are tokens here. */
	if (limit->num == 0)
		return most_held(op, n, slice_tokens) <= scenario->memory_limit;
	return (gint64)most_held(op, n, NULL) * limit->den <=
	       limit->num * (shape->copies > 1 ? 1 : shape->chunks) *
		       pipesim_shape_slices(shape);
}

static gboolean fits(const PipesimScenario *scenario, const PipesimProgram *program)
{
	const guint32 *begin = program->rank_begin;
	gboolean all = TRUE;

	for (guint rank = 0; rank < program->shape.ranks; rank++)
		all &= rank_fits(scenario, &program->shape, &program->ops[begin[rank]],
			begin[rank + 1] - begin[rank]);
	return all;
}

/* By @schedule in @scenario, where it fits. */
static gint64 run_known(const PipesimSearchOf *of, const PipesimSchedule *schedule,
	const PipesimScenario *scenario)
{
	PipesimRun *run = pipesim_run_schedule(schedule, scenario, of->costs);
	gint64 makespan = G_MAXINT64;

	if (run->error == NULL && run->shape.chunks == of->chunks && !run->shape.exchange &&
		fits(scenario, run->step->whole)) {
		gboolean whole = TRUE;

		for (guint32 i = 0; i < run->step->whole->n_ops; i++)
			whole &= run->step->whole->ops[i].kind != PIPESIM_I;
		if (whole || !of->whole)
			makespan = run->report->makespan;
	}
	pipesim_run_free(run);
	return makespan;
}

/* By schedules that have as much of it, or less. */
static gint64 find_known(const PipesimSearchOf *of)
{
	PipesimScenario scenario = *of->scenario;
	const guint again = scenario.recompute, host = scenario.offload;
	gint64 least = G_MAXINT64;

	scenario.chunks = of->chunks;
	for (const PipesimSchedule *const *at = pipesim_schedule_list(); *at != NULL; at++) {
		if ((*at)->placement != of->placement || (*at)->barriers > 0 ||
			(host == 0 && (*at)->offloads != PIPESIM_OFFLOADS_NOTHING) ||
			(scenario.slices == 0 && (*at)->slices > 0))
			continue;
		for (guint n = 0; n <= again + host; n++) {
			scenario.recompute = n <= again ? n : 0;
			scenario.offload = n <= again ? 0 : n - again;
			least = MIN(least, run_known(of, *at, &scenario));
		}
	}
	return least;
}

START_TEST(never_above_what_is_known)
{
	const guint shape = (guint)_i % G_N_ELEMENTS(shapes),
		    way = 1 + (guint)_i / G_N_ELEMENTS(shapes);

	for (guint seed = (guint)_i % grid_every(7); seed < 8; seed += grid_every(7)) {
		PipesimScenario scenario;
		PipesimCosts *costs;
		PipesimSearchOf of = make_search(shape, way, seed, &scenario, &costs);
		g_autoptr(GError) error = NULL;
		g_autoptr(PipesimFound) found = pipesim_mixed_search(&of, &error);
		const gint64 known = find_known(&of);

		if (found == NULL) {
			ck_assert_msg(
				error->code == PIPESIM_ERROR_CONSTRAINT, "%s", error->message);
			ck_assert_int_eq(known, G_MAXINT64);
			pipesim_costs_free(costs);
			continue;
		}
		ck_assert(fits(&scenario, found->program));
		ck_assert_int_le(found->makespan, known);
		ck_assert_int_ge(found->makespan, found->bound->time);
		of.moves /= way == SLICES ? 1 : (way & RECOMPUTE) && (way & COPIES) ? 3 : 2;
		for (guint less = RECOMPUTE; less <= COPIES; less++) {
			PipesimScenario part = scenario;
			g_autoptr(PipesimFound) plain = NULL;

			if (!(way & less))
				continue;
			*(less == RECOMPUTE ? &part.recompute : &part.offload) = 0;
			of.scenario = &part;
			plain = pipesim_mixed_search(&of, NULL);
			if (plain != NULL)
				ck_assert_int_le(found->makespan, plain->makespan);
		}
		pipesim_costs_free(costs);
	}
}
END_TEST

/* Every order ------------------------------------------------------------------------------ */

#define MOST_LIST 16

typedef struct {
	guint n, joined; /* bits: the op comes right behind the one before */
	PipesimOp op[MOST_LIST];
} List;

/* All orders in which ops of each chain, of a micro-batch each, keep theirs. */
static void merge(const List *chains, guint n_chains, guint *at, List *list, GArray *lists)
{
	gboolean done = TRUE;

	for (guint i = 0; i < n_chains; i++) {
		guint n = 0;

		if (at[i] == chains[i].n)
			continue;
		done = FALSE;
		do
			list->op[list->n + n++] = chains[i].op[at[i]++];
		while (chains[i].joined >> at[i] & 1);
		list->n += n;
		merge(chains, n_chains, at, list, lists);
		list->n -= n;
		at[i] -= n;
	}
	if (done)
		g_array_append_val(lists, *list);
}

static void append(List *chain, guint kind, guint unit, gboolean joined)
{
	chain->joined |= (guint)joined << chain->n;
	chain->op[chain->n++] = (PipesimOp){.kind = (guint8)kind, .microbatch = unit};
}

/* All ops of micro-batch @b; of all slices F is recomputed where @how is 1, copied where it is 2. */
static List make_chain(const PipesimShape *shape, guint b, guint how, gboolean whole)
{
	const guint slices = pipesim_shape_slices(shape);
	List chain = {0};

	for (guint unit = b * slices; unit < (b + 1) * slices; unit++) {
		append(&chain, PIPESIM_F, unit, FALSE);
		chain.op[chain.n - 1].b_chunk = how == 1 ? PIPESIM_RECOMPUTED : 0;
		if (how < 2)
			continue;
		append(&chain, PIPESIM_OP_OFFLOAD_START, unit, TRUE);
		append(&chain, PIPESIM_OP_OFFLOAD_END, unit, FALSE);
		append(&chain, PIPESIM_OP_RELOAD_ALLOC, unit, FALSE);
		append(&chain, PIPESIM_OP_RELOAD_START, unit, TRUE);
	}
	for (guint k = slices; k-- > 0;) {
		const guint unit = b * slices + k;

		/* Of the last slice alone it may come sooner: there are orders enough. */
		if (how == 1)
			append(&chain, PIPESIM_OP_RECOMPUTE, unit, FALSE);
		append(&chain, whole ? PIPESIM_B : PIPESIM_I, unit, how == 1 && k + 1 < slices);
		if (!whole)
			append(&chain, PIPESIM_W, unit, FALSE);
	}
	for (guint i = 0; i < chain.n && shape->copies > 1; i++)
		chain.op[i].chunk = (guint8)b;
	return chain;
}

/* What fits on a rank of @shape, whichever micro-batches are recomputed or copied. */
static GArray *all_lists(
	const PipesimShape *shape, const PipesimScenario *scenario, gboolean whole)
{
	const guint slices = pipesim_shape_slices(shape), n = shape->microbatches / slices;
	GArray *lists = g_array_new(FALSE, FALSE, sizeof(List));

	for (guint set = 0; set < 9; set++) {
		const guint how[2] = {set % 3, set / 3};
		List chains[2], list = {0};
		guint at[2] = {0};

		g_assert_cmpuint(n, ==, G_N_ELEMENTS(chains));
		/* In two directions the second micro-batch is on the second chunk. */
		if ((scenario->recompute == 0 && how[0] == 1) ||
			(scenario->recompute < shape->copies && how[1] == 1) ||
			(scenario->offload == 0 && how[0] == 2) ||
			(scenario->offload < shape->copies && how[1] == 2))
			continue;
		for (guint b = 0; b < n; b++)
			chains[b] = make_chain(shape, b, how[b], whole);
		merge(chains, n, at, &list, lists);
	}
	for (guint i = lists->len; i-- > 0;) {
		const List *list = &g_array_index(lists, List, i);

		if (!rank_fits(scenario, shape, list->op, list->n))
			g_array_remove_index(lists, i);
	}
	return lists;
}

/* What ranks take with the lists @pick; G_MAXINT64: they come to a stop. */
static gint64 run_lists(const PipesimShape *shape, const PipesimTimes *times,
	const GArray *lists, const guint *pick)
{
	PipesimProgram *program = pipesim_program_new(shape, shape->ranks * MOST_LIST, NULL);
	g_autoptr(PipesimOrder) order = NULL;
	g_autoptr(PipesimStep) step = NULL;

	program->n_ops = 0;
	for (guint i = 0; i < shape->ranks; i++) {
		const List *list = &g_array_index(lists, List, pick[i]);

		program->rank_begin[i] = program->n_ops;
		memcpy(&program->ops[program->n_ops], list->op, list->n * sizeof *list->op);
		program->n_ops += list->n;
	}
	program->rank_begin[shape->ranks] = program->n_ops;
	if (pipesim_program_link(program, NULL, NULL, NULL) &&
		(!program->has_more || pipesim_program_link_more(program, NULL, NULL, NULL))) {
		order = pipesim_order_of_program(program);
		step = pipesim_step_run(&(PipesimJob){.order = order, .times = times},
			PIPESIM_WANT_FIGURES, NULL);
	}
	pipesim_program_unref(program);
	return step != NULL ? step->makespan : G_MAXINT64;
}

/* The shortest of all orders within the limit; G_MAXINT64: none fits. */
static gint64 find_best(
	const PipesimSearchOf *of, const PipesimShape *shape, const PipesimTimes *times)
{
	g_autoptr(GArray) lists = all_lists(shape, of->scenario, of->whole);
	guint pick[3] = {0}, rank = 0;
	gint64 best = G_MAXINT64;

	while (rank < shape->ranks && lists->len > 0) {
		/* Two micro-batches that go one way are alike: the first rank begins with the first. */
		if (shape->copies > 1 || g_array_index(lists, List, pick[0]).op[0].microbatch <
						 pipesim_shape_slices(shape))
			best = MIN(best, run_lists(shape, times, lists, pick));
		for (rank = 0; rank < shape->ranks && ++pick[rank] == lists->len; rank++)
			pick[rank] = 0;
	}
	return best;
}

START_TEST(no_order_is_below_the_bound)
{
	static const struct {
		guint bits;
		gboolean whole, both; /* directions */
	} ways[] = {{RECOMPUTE, TRUE, FALSE}, {RECOMPUTE, FALSE, FALSE}, {SLICES, TRUE, FALSE},
		{COPIES, TRUE, FALSE}, {RECOMPUTE | COPIES, TRUE, FALSE},
		{RECOMPUTE | SLICES, TRUE, FALSE}, {RECOMPUTE, FALSE, TRUE},
		{COPIES, TRUE, TRUE}, {RECOMPUTE | COPIES, TRUE, TRUE}, {SLICES, TRUE, TRUE},
		{0, TRUE, TRUE}};
	const guint way = (guint)_i % G_N_ELEMENTS(ways),
		    round = (guint)_i / G_N_ELEMENTS(ways);
	const PipesimPlacement placement =
		ways[way].both ? PIPESIM_BIDIRECTIONAL : PIPESIM_LOOPED;
	const guint ranks = way == 0 ? 2 + round % 2 : 2, chunks = ways[way].both ? 2 : 1,
		    slices = ways[way].bits & SLICES ? 2 : 1;
	PipesimScenario scenario = {.ranks = ranks,
		.microbatches = 2,
		.recompute = (ways[way].bits & RECOMPUTE) != 0 ? 1 + round % chunks : 0,
		.offload = (ways[way].bits & COPIES) != 0 ? 1 + round / 2 % chunks : 0,
		.slices = slices > 1 ? slices : 0,
		.max_activations = {2 + round % 3, 2}};
	PipesimCosts *costs = grid_random_costs((guint)_i, ranks, _i % 2 == 1);
	const PipesimSearchOf of = {.scenario = &scenario,
		.costs = costs,
		.placement = placement,
		.chunks = chunks,
		.whole = ways[way].whole,
		.moves = 400000 / grid_every(4),
		.threads = 1,
		.seed = 1};
	g_autoptr(PipesimFound) found = NULL;
	PipesimTimes *times;
	PipesimShape shape;
	gint64 best;

	/* By default one round of each, in which all depends on all; those with fewer orders. */
	if (round % grid_every(6) != (way + way / 4 + 3) % grid_every(6)) {
		pipesim_costs_free(costs);
		return;
	}
	/* Neither pairs nor full backwards in place of halves gain anything. */
	costs->time[PIPESIM_B] = costs->time[PIPESIM_I] + costs->time[PIPESIM_W];
	costs->time[PIPESIM_FB] = costs->time[PIPESIM_F] + costs->time[PIPESIM_B];
	costs->own[PIPESIM_OP_OFFLOAD_START] = costs->own[PIPESIM_OP_RELOAD_START] =
		1 + round * costs->time[PIPESIM_F] / 2;
	costs->own[PIPESIM_OP_RECOMPUTE] = round % 2 == 0 ? 0 : costs->time[PIPESIM_F] / 3;
	pipesim_shape_init(&shape, &scenario, chunks, placement, NULL);
	shape.sliced = slices > 1;
	shape.parts = slices > 1 ? slices : 0;
	shape.microbatches *= slices;
	times = pipesim_times_new(costs, &shape);
	best = find_best(&of, &shape, times);
	ck_assert_int_lt(best, G_MAXINT64);
	ck_assert_int_le(pipesim_mixed_bound(&of, &shape, times), best);
	found = pipesim_mixed_search(&of, NULL);
	ck_assert_ptr_nonnull(found);
	ck_assert_int_ge(found->makespan, found->bound->time);
	/* Times of stages are rounded, those of full backwards and their halves apart. The search knows orders more than
	 * these where slices are recomputed apart, or copies wait. */
	ck_assert_int_le(found->makespan, best + 4);
	if (way < 3)
		ck_assert_int_ge(found->makespan, best - 4);
	pipesim_times_free(times);
	pipesim_costs_free(costs);
}
END_TEST

/* Slices of two sequences, of which one is held or a bit more, between ranks that are far apart: by bytes too no order
 * is below the bound, and where no more than one fits the bound is above what ranks have to run and hand on. */
START_TEST(bytes_of_slices_are_bound)
{
	PipesimScenario scenario = {.ranks = 2,
		.microbatches = 2,
		.slices = 2,
		.recompute = (guint)_i % 2,
		.memory_limit = SEQUENCE + 20 * ((guint)_i / 2 % 3)};
	g_autoptr(PipesimCosts) costs =
		grid_costs(10000, 13500, 10500, 34000, 30000 * (1 + _i / 6));
	const PipesimSearchOf of = {
		.scenario = &scenario, .costs = costs, .chunks = 1, .whole = TRUE};
	g_autoptr(PipesimTimes) times = NULL;
	PipesimShape shape;
	gint64 best, bound, unbound;

	/* By default those with most orders at two of the limits. */
	if (scenario.recompute > 0 && (guint)_i / 2 % grid_every(4) != 0)
		return;
	slice_tokens[0] = _i < 6 ? 40 : 30;
	slice_tokens[1] = SEQUENCE - slice_tokens[0];
	costs->bytes_until_weight = SEQUENCE;
	costs->slicing = g_new0(PipesimSlicing, 1);
	costs->slicing->how = PIPESIM_SLICES_LIST;
	costs->slicing->n = 2;
	for (guint i = 0; i < 2; i++)
		costs->slicing->length[i] = slice_tokens[i];
	costs->slicing->tokens = SEQUENCE;
	pipesim_shape_init(&shape, &scenario, 1, PIPESIM_LOOPED, NULL);
	shape.sliced = TRUE;
	shape.parts = 2;
	shape.microbatches *= 2;
	times = pipesim_times_new(costs, &shape);
	best = find_best(&of, &shape, times);
	bound = pipesim_mixed_bound(&of, &shape, times);
	scenario.memory_limit = 0;
	unbound = pipesim_mixed_bound(&of, &shape, times);
	ck_assert_int_lt(best, G_MAXINT64);
	ck_assert_int_le(bound, best);
	ck_assert_int_ge(bound, unbound + (_i % 6 == 0));
}
END_TEST

/* Of 16 micro-batches no more than one and a half fit: 56.9 ms is what ranks have to run. */
START_TEST(slices_wait_for_memory)
{
	PipesimScenario scenario = {
		.ranks = 6, .microbatches = 16, .slices = 2, .max_activations = {3, 2}};
	g_autoptr(PipesimCosts) costs = grid_costs(10000, 13500, 10500, 34000, 0);
	const PipesimSearchOf of = {.scenario = &scenario, .costs = costs, .chunks = 1};
	g_autoptr(PipesimTimes) times = NULL;
	PipesimShape shape;

	pipesim_shape_init(&shape, &scenario, 1, PIPESIM_LOOPED, NULL);
	shape.sliced = TRUE;
	shape.parts = 2;
	shape.microbatches *= 2;
	times = pipesim_times_new(costs, &shape);
	ck_assert_int_eq(pipesim_mixed_bound(&of, &shape, times), 855250);
	/* The same in bytes. */
	costs->bytes_until_weight = 1000000;
	costs->parameter_bytes = 500000;
	scenario.max_activations = (PipesimFraction){0};
	scenario.memory_limit = 2000000;
	ck_assert_int_eq(pipesim_mixed_bound(&of, &shape, times), 855250);
}
END_TEST

Suite *optimize_mixed_suite(void)
{
	Suite *suite = suite_create("optimize-mixed");
	TCase *mixed = tcase_create("mixed");

	tcase_set_timeout(mixed, 120);
	tcase_add_loop_test(
		mixed, never_above_what_is_known, 0, (WAYS - 1) * (int)G_N_ELEMENTS(shapes));
	tcase_add_loop_test(mixed, no_order_is_below_the_bound, 0, 66);
	tcase_add_loop_test(mixed, bytes_of_slices_are_bound, 0, 12);
	tcase_add_test(mixed, slices_wait_for_memory);
	suite_add_tcase(suite, mixed);
	return suite;
}
