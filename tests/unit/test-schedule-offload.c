/* Orders with copies to the host and back, and with recomputation, of every schedule that takes them. */
#include "grid.h"
#include "runtime/csv.h"
#include "shipped.h"
#include "suites.h"
#include "transformer/cutter.h"
#include <stdio.h>
#include <string.h>

static const guint shapes[][2] = {{1, 1}, {1, 4}, {2, 2}, {2, 4}, {2, 9}, {3, 3}, {3, 6},
	{4, 4}, {4, 8}, {5, 13}, {6, 12}, {7, 14}, {8, 8}, {8, 24}, {16, 32}};

/* Of a copy, ms; messages take 0.1. */
static const double copies[] = {0.001, 0.2, 1, 4, 30};

/* Reading checks that what goes to the host comes back in time; without what is added it is @plain. */
static void assert_complete(
	const PipesimProgram *program, const PipesimProgram *plain, const char *what)
{
	g_autoptr(GString) csv = g_string_new(NULL);
	g_autoptr(GString) again = g_string_new(NULL);
	g_autoptr(GError) error = NULL;
	g_autoptr(PipesimProgram) read = NULL;
	guint32 at = 0;

	pipesim_schedule_write_csv(program, csv);
	read = parse_program(csv->str, csv->len, "x", &error);
	ck_assert_msg(read != NULL, "%s: %s", what, error != NULL ? error->message : "");
	pipesim_schedule_write_csv(read, again);
	ck_assert_msg(strcmp(csv->str, again->str) == 0, "%s", what);
	for (guint32 i = 0; i < program->n_ops; i++) {
		const PipesimOp *op = &program->ops[i];

		if (op->kind >= PIPESIM_N_KINDS)
			continue;
		ck_assert_uint_eq(op->kind, plain->ops[at].kind);
		ck_assert_uint_eq(op->chunk, plain->ops[at].chunk);
		ck_assert_uint_eq(op->microbatch, plain->ops[at++].microbatch);
	}
	ck_assert_uint_eq(at, plain->n_ops);
}

/* @run beside @plain: later by what is not hidden, and with no more activations. */
static void assert_sparing(const PipesimRun *run, const PipesimRun *plain, const char *what)
{
	gboolean exposed = FALSE;

	assert_complete(run->step->whole, plain->step->whole, what);
	for (guint rank = 0; rank < run->shape.ranks; rank++) {
		exposed |= run->report->exposed != NULL && run->report->exposed[rank] > 0;
		ck_assert_msg(run->report->held.peak[rank] <=
				      plain->report->held.peak[rank] + (run->shape.offload > 0),
			"%s", what);
	}
	ck_assert_msg(run->report->makespan >= plain->report->makespan, "%s", what);
	ck_assert_msg(exposed || run->shape.recompute > 0 ||
			      run->report->makespan == plain->report->makespan,
		"%s", what);
}

/* Of @schedule in @scenario with its offload or recompute: FALSE where there is no time for so many copies, and that
 * says for how many there is. */
static void check(
	const PipesimSchedule *schedule, PipesimScenario scenario, double copy, guint engines)
{
	g_autofree char *what =
		g_strdup_printf("%s at %u/%u, %u and %u of %u, copies of %g ms on %u",
			schedule->name, scenario.ranks, scenario.microbatches, scenario.offload,
			scenario.recompute, scenario.chunks, copy, engines);
	g_autoptr(PipesimCosts) costs = grid_costs(3000000, 4000000, 2000000, 9000000, 100000);
	g_autoptr(PipesimRun) run = NULL;
	g_autoptr(PipesimRun) plain = NULL;
	PipesimScenario without = scenario;

	without.offload = without.recompute = 0;
	plain = pipesim_run_schedule(schedule, &without, costs);
	if (plain->error != NULL)
		return;
	costs->own[PIPESIM_OP_OFFLOAD_START] = costs->own[PIPESIM_OP_RELOAD_START] =
		(gint64)(copy * 1e6);
	costs->copy_engines = engines;
	run = pipesim_run_schedule(schedule, &scenario, costs);
	if (run->error == NULL) {
		assert_sparing(run, plain, what);
		return;
	}
	ck_assert_msg(schedule->slot != NULL, "%s: %s", what, run->error->message);
	if (strstr(run->error->message, "copies must be faster") != NULL)
		return;
	ck_assert_msg(sscanf(strstr(run->error->message, "nearest: --offload-chunks"),
			      "nearest: --offload-chunks %u", &without.offload) == 1,
		"%s: %s", what, run->error->message);
	g_clear_pointer(&run, pipesim_run_free);
	run = pipesim_run_schedule(schedule, &without, costs);
	ck_assert_msg(run->error == NULL, "%s: %u", what, without.offload);
}

START_TEST(orders_run_with_less)
{
	const guint every = shapes[_i][0] * shapes[_i][1] > 20 ? grid_every(5) : 1;

	for (const PipesimSchedule *const *s = pipesim_schedule_list(); *s != NULL; s++)
		for (guint v = 1; v <= 3; v += every > 1 ? 2 : 1) {
			PipesimScenario scenario = {.ranks = shapes[_i][0],
				.microbatches = shapes[_i][1],
				.chunks = v,
				.keep = PIPESIM_KEEP_OPS};
			const guint most = pipesim_schedule_stages_per_rank(*s, &scenario);

			for (scenario.offload = 1; scenario.offload <= most; scenario.offload++)
				for (guint k = scenario.offload % every;
					k < G_N_ELEMENTS(copies) &&
					((*s)->takes & PIPESIM_TAKES_OFFLOAD);
					k += every) {
					scenario.recompute = 0;
					check(*s, scenario, copies[k], 1 + k % 2);
					/* Of chunks behind them. */
					scenario.recompute = 1 + k % 2;
					if (((*s)->takes & PIPESIM_TAKES_RECOMPUTE) &&
						scenario.recompute <= most - scenario.offload)
						check(*s, scenario, copies[k], 1 + k % 2);
				}
			scenario.offload = 0;
			for (scenario.recompute = 1; scenario.recompute <= most;
				scenario.recompute++)
				if ((*s)->takes & PIPESIM_TAKES_RECOMPUTE)
					check(*s, scenario, 0, 1);
		}
}
END_TEST

/* By hand: interleaved 1F1B on two ranks of two chunks, with F of 1 ms, runs 0F0 0F1 2F0 2F1 0F2 2B0 0F3 2B1 2F2 0B0 2F3
 * 0B1 .. on rank 0. It holds five chunks at 0F2. With those of stage 0 on the host once the next op has run it holds
 * 2F0, 2F1 and 0F2 there; with these recomputed instead 2F2, 2F3 and 0R1 before 0B1. With the copies, and R of stage 2,
 * it holds no more than 0F3 and 2R1. Four R of 1 ms are on each rank. */
START_TEST(copies_and_recomputes)
{
	static const struct {
		guint offload, recompute, peak;
		gint64 makespan;
	} rows[] = {{0, 0, 5, 27}, {1, 0, 3, 27}, {0, 1, 3, 31}, {1, 1, 2, 31}};
	const PipesimSchedule *schedule = pipesim_schedule_find("interleaved-1f1b", NULL);
	g_autoptr(PipesimCosts) costs = grid_costs(2000000, 2000000, 2000000, -1, 0);

	costs->own[PIPESIM_OP_OFFLOAD_START] = costs->own[PIPESIM_OP_RELOAD_START] = 200000;
	for (guint i = 0; i < G_N_ELEMENTS(rows); i++) {
		const PipesimScenario scenario = {.ranks = 2,
			.microbatches = 4,
			.chunks = 2,
			.offload = rows[i].offload,
			.recompute = rows[i].recompute,
			.keep = PIPESIM_KEEP_OPS};
		g_autoptr(PipesimRun) run = pipesim_run_schedule(schedule, &scenario, costs);

		ck_assert_ptr_null(run->error);
		ck_assert_uint_eq(run->report->held.peak[0], rows[i].peak);
		ck_assert_int_eq(run->report->makespan, rows[i].makespan * 1000000);
	}
}
END_TEST

/* What changes of what a rank holds, in pieces of a chunk; what is freed at a moment goes first. */
typedef struct {
	gint64 time;
	gint pieces;
} Change;

static int compare_changes(gconstpointer a, gconstpointer b)
{
	const Change *x = a, *y = b;

	return x->time != y->time ? (x->time > y->time) - (x->time < y->time)
				  : x->pieces - y->pieces;
}

/* Most pieces that @rank holds by the times of @run: a copy out frees its part as it ends. */
static gint held_by_times(const PipesimRun *run, guint rank, gint pieces, gint part)
{
	const PipesimProgram *program = run->step->whole;
	const PipesimTimeline *timeline = run->step->timeline;
	g_autoptr(GArray) changes = g_array_new(FALSE, FALSE, sizeof(Change));
	gint held = 0, most = 0;

	for (guint32 i = program->rank_begin[rank]; i < program->rank_begin[rank + 1]; i++) {
		const guint kind = program->ops[i].kind;
		const Change begins = {timeline->start[i],
				     kind == PIPESIM_OP_RELOAD_ALLOC           ? part
				     : kind == PIPESIM_F || kind == PIPESIM_FB ? pieces
									       : 0},
			     ends = {timeline->end[i], kind == PIPESIM_OP_OFFLOAD_START ? -part
						       : kind == PIPESIM_W ||
								       kind == PIPESIM_B ||
								       kind == PIPESIM_FB
							       ? -pieces
							       : 0};

		g_array_append_val(changes, begins);
		g_array_append_val(changes, ends);
	}
	g_array_sort(changes, compare_changes);
	for (guint i = 0; i < changes->len; i++) {
		held += g_array_index(changes, Change, i).pieces;
		most = MAX(most, held);
	}
	return most;
}

/* How a part of all chunks is copied. */
static const struct {
	PipesimFraction part;
	guint inflight, engines;
	double copy; /* ms, of a whole share */
} parts[] = {{{1, 2}, 0, 0, 0.4}, {{1, 1}, 0, 1, 3}, {{1, 4}, 1, 2, 5}, {{3, 4}, 2, 1, 1},
	{{1, 1}, 1, 0, 40}};

START_TEST(parts_are_freed_as_copies_end)
{
	for (const PipesimSchedule *const *s = pipesim_schedule_list(); *s != NULL; s++) {
		const gboolean passes = (*s)->barriers > 0;
		const guint every = shapes[_i][0] * shapes[_i][1] > 20 ? grid_every(5) : 1;
		PipesimScenario scenario = {.ranks = shapes[_i][0],
			.microbatches = shapes[_i][1],
			.keep = PIPESIM_KEEP_OPS};
		g_autoptr(PipesimCosts) costs =
			grid_costs(3000000, 4000000, 2000000, 9000000, 100000);
		g_autoptr(PipesimRun) plain = pipesim_run_schedule(*s, &scenario, costs);

		for (guint k = (guint)(s - pipesim_schedule_list()) % every;
			k < G_N_ELEMENTS(parts) && plain->error == NULL; k += every) {
			g_autofree char *what = g_strdup_printf("%s at %u/%u, %u", (*s)->name,
				scenario.ranks, scenario.microbatches, k);
			g_autoptr(PipesimRun) run = NULL;
			const gint pieces = (gint)parts[k].part.den;

			scenario.offload_part = parts[k].part;
			scenario.offload_inflight = parts[k].inflight;
			costs->own[PIPESIM_OP_OFFLOAD_START] =
				costs->own[PIPESIM_OP_RELOAD_START] =
					(gint64)(parts[k].copy * 1e6);
			costs->copy_engines = parts[k].engines;
			run = pipesim_run_schedule(*s, &scenario, costs);
			ck_assert_msg(passes == (run->error != NULL), "%s", what);
			if (passes)
				continue;
			assert_complete(run->step->whole, plain->step->whole, what);
			ck_assert_msg(
				run->report->makespan >= plain->report->makespan, "%s", what);
			for (guint rank = 0; rank < scenario.ranks; rank++)
				ck_assert_msg(held_by_times(run, rank, pieces,
						      (gint)parts[k].part.num) ==
						      (gint)run->report->held.peak[rank],
					"%s, rank %u", what, rank);
		}
		scenario.offload_part.num = 0;
	}
}
END_TEST

/* 1F1B on 2 ranks, F 1, B 2: F0 stays, as its backward is the first; half of F1 goes out from 2 on, when the rank
 * comes to B0: there is room for it to come back, which it does once it is out. */
START_TEST(part_of_two_microbatches)
{
	const PipesimScenario scenario = {.ranks = 2,
		.microbatches = 2,
		.offload_part = {1, 2},
		.keep = PIPESIM_KEEP_OPS};
	g_autoptr(PipesimCosts) costs = pipesim_costs_default();
	g_autoptr(PipesimRun) run = NULL;

	/* Half of 4 ms: out until 4, back from then until 6, as B0 ends. */
	ck_assert(pipesim_costs_parse_times(costs, "F=1,B=2,COPY=4", "x", 0, NULL));
	run = pipesim_run_schedule(pipesim_schedule_find("1f1b", NULL), &scenario, costs);
	ck_assert_int_eq(run->report->makespan, 9000000);
	ck_assert_int_eq(run->report->max_exposed, 0);
	ck_assert_uint_eq(run->report->held.peak[0], 5);
	ck_assert_uint_eq(run->report->held.host[0], 1);
	ck_assert_uint_eq(run->report->held.host[1], 0);
	g_clear_pointer(&run, pipesim_run_free);
	/* Half of 8 ms: out until 6, back until 10: B1 waits for that from 7 on. */
	ck_assert(pipesim_costs_parse_times(costs, "F=1,B=2,COPY=8", "x", 0, NULL));
	run = pipesim_run_schedule(pipesim_schedule_find("1f1b", NULL), &scenario, costs);
	ck_assert_int_eq(run->report->makespan, 12000000);
	ck_assert_int_eq(run->report->max_exposed, 3000000);
}
END_TEST

/* A described model, of 4 ranks or one, with what its backwards compute again as ops of their own. */
static PipesimRun *run_model(guint ranks, gboolean as_ops)
{
	const PipesimScenario scenario = {.ranks = ranks,
		.microbatches = 8,
		.recompute_ops = as_ops,
		.keep = PIPESIM_KEEP_OPS};
	g_autoptr(PipesimTransformer) model = read_shipped("llama-3-8b");
	PipesimTraining training = pipesim_training_on_one(2048, 1);
	g_autoptr(PipesimCosts) costs = pipesim_costs_default();
	PipesimRates rates;

	training.full = TRUE;
	training.again_as_ops = as_ops;
	rates = pipesim_device_rates(shipped_device("h100"), &training);
	ck_assert(pipesim_cutter_take(
		pipesim_cutter_new(pipesim_transformer_copy(model), &training, NULL, &rates),
		ranks, costs, NULL));
	return pipesim_run_schedule(pipesim_schedule_find("1f1b", NULL), &scenario, costs);
}

/* The same work; F leaves the same, R brings the rest, and may run before the gradient is there. */
START_TEST(models_compute_again_by_ops)
{
	for (guint ranks = 1; ranks <= 4; ranks += 3) {
		g_autoptr(PipesimRun) within = run_model(ranks, FALSE);
		g_autoptr(PipesimRun) ops = run_model(ranks, TRUE);
		const PipesimTimes *a = within->times, *b = ops->times;

		ck_assert(within->error == NULL && ops->error == NULL);
		ck_assert(within->times->again == NULL);
		for (guint stage = 0; stage < ranks; stage++) {
			ck_assert_int_eq(b->again[stage] + b->stage[PIPESIM_B][stage],
				a->stage[PIPESIM_B][stage]);
			for (PipesimBytes sort = 0; sort <= PIPESIM_UNTIL_WEIGHT; sort++) {
				ck_assert_int_eq(b->bytes[PIPESIM_KEPT_INPUT + sort][stage],
					a->bytes[sort][stage]);
				ck_assert_int_ge(b->bytes[sort][stage], a->bytes[sort][stage]);
			}
			ck_assert_int_eq(ops->report->bubble.busy[stage],
				within->report->bubble.busy[stage]);
			ck_assert_int_gt(ops->report->memory.peak[stage],
				within->report->memory.peak[stage]);
		}
		ck_assert_int_eq(ops->report->makespan<within->report->makespan, ranks> 1);
		/* Of one op at a time all is there: what 4 forwards leave, and one R. */
		ck_assert_int_eq(ops->report->memory.fullest[0].part[PIPESIM_HELD_UNTIL_INPUT],
			(ranks - 1) * b->bytes[PIPESIM_KEPT_INPUT][0] +
				b->bytes[PIPESIM_UNTIL_INPUT][0]);
	}
}
END_TEST

Suite *schedule_offload_suite(void)
{
	Suite *suite = suite_create("schedule-offload");
	TCase *tcase = tcase_create("shapes");

	tcase_set_timeout(tcase, 120);
	tcase_add_loop_test(tcase, orders_run_with_less, 0, G_N_ELEMENTS(shapes));
	tcase_add_loop_test(tcase, parts_are_freed_as_copies_end, 0, G_N_ELEMENTS(shapes));
	tcase_add_test(tcase, copies_and_recomputes);
	tcase_add_test(tcase, part_of_two_microbatches);
	tcase_add_test(tcase, models_compute_again_by_ops);
	suite_add_tcase(suite, tcase);
	return suite;
}
