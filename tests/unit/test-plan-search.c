#include "grid.h"
#include "layout/layouts.h"
#include "peers.h"
#include "plan/planner.h"
#include "shipped.h"
#include "suites.h"
#include <string.h>

/* Three schedules on 16 H100s in nodes of 8, of @memory GiB each, with all that is searched left open but EP. */
static PipesimWish wish_for(
	const PipesimTransformer *model, gint64 seq, gint64 batch, gint64 memory)
{
	static const PipesimSchedule *const all[] = {&pipesim_schedule_one_f_one_b,
		&pipesim_schedule_zb_h1, &pipesim_schedule_interleaved_1f1b, NULL};
	PipesimWish wish = {.model = model,
		.training = pipesim_training_on_one(seq, 1),
		.gpus = 16,
		.per_node = 8,
		.batch = batch,
		.memory = memory << 30,
		.schedules = all,
		.device = shipped_device("h100"),
		.threads = 1};

	wish.training.tp = wish.training.dp = wish.training.microbatch = 0;
	wish.training.mfu = 0.4;
	wish.training.zero = PIPESIM_ZERO_1;
	return wish;
}

/* What is left out as beaten is no better, and threads change nothing. */
START_TEST(plans_well)
{
	g_autoptr(PipesimTransformer) model = read_shipped("llama-3-8b");
	PipesimWish wish = wish_for(model, 4096, 32, 80);
	gint64 first = G_MAXINT64;

	wish.training.ep = 0;
	g_autoptr(PipesimPlanned) planned = pipesim_planner_run(&wish, NULL);
	ck_assert_uint_eq(planned->best->len, PIPESIM_BEST);
	ck_assert_uint_gt(planned->beaten, 0);
	ck_assert_uint_eq(
		planned->too_large + planned->beaten + planned->simulated, planned->candidates);
	wish.threads = 3;
	g_autoptr(PipesimPlanned) again = pipesim_planner_run(&wish, NULL);
	for (guint i = 0; i < PIPESIM_BEST; i++) {
		const PipesimCandidate *a = &g_array_index(planned->best, PipesimCandidate, i);
		const PipesimCandidate *b = &g_array_index(again->best, PipesimCandidate, i);

		ck_assert_int_eq(a->step, b->step);
		ck_assert_int_le(a->bound, a->step);
		ck_assert_int_le(a->least, a->memory);
		ck_assert_int_le(a->memory, wish.memory);
	}
	ck_assert_uint_eq(planned->simulated, again->simulated);
	/* Every TP and PP by itself prunes less. */
	for (wish.training.tp = 1; wish.training.tp <= 8; wish.training.tp *= 2)
		for (wish.ranks = 1; wish.ranks <= 16; wish.ranks *= 2) {
			g_autoptr(PipesimPlanned) part = pipesim_planner_run(&wish, NULL);

			if (part != NULL && part->best->len > 0)
				first = MIN(first,
					g_array_index(part->best, PipesimCandidate, 0).step);
		}
	ck_assert_int_eq(first, g_array_index(planned->best, PipesimCandidate, 0).step);
}
END_TEST

static int compare_steps(gconstpointer a, gconstpointer b)
{
	const PipesimCandidate *x = a, *y = b;

	return (x->step > y->step) - (x->step < y->step);
}

/* The ten shortest steps of all candidates that fit, each with the layout that is best for it where @layouts says so. */
static void find_ten(const PipesimWish *wish, gboolean layouts, gint64 ten[PIPESIM_BEST])
{
	PipesimWish every = *wish;
	g_autoptr(PipesimPlanned) all = NULL;
	g_autoptr(GArray) found = g_array_new(FALSE, FALSE, sizeof(PipesimCandidate));
	g_autoptr(GArray) rows = NULL;

	every.every = TRUE;
	every.layouts = FALSE;
	all = pipesim_planner_run(&every, NULL);
	for (guint i = 0; i < all->all->len && layouts; i++) {
		PipesimCandidate *candidate = &g_array_index(all->all, PipesimCandidate, i);
		PipesimScenario scenario = pipesim_planner_scenario(wish, candidate);
		g_autoptr(PipesimCosts) costs = pipesim_planner_costs(wish, candidate, NULL);
		g_autoptr(PipesimStages) layout = NULL;
		g_autoptr(PipesimRun) run = NULL;
		PipesimShape shape;
		double gap;

		ck_assert(pipesim_schedule_shape(candidate->schedule, &scenario, &shape, NULL));
		layout = pipesim_layouts_search(
			candidate->schedule, &scenario, &shape, costs, G_MAXINT64, &gap);
		if (layout != NULL)
			pipesim_costs_set_cutter(
				costs, pipesim_cutter_fix(
					       costs->cutter, g_steal_pointer(&layout), NULL));
		run = pipesim_run_schedule(candidate->schedule, &scenario, costs);
		candidate->step = run->report->training.step;
		candidate->fits = run->report->memory.fits;
	}
	g_array_sort(all->all, compare_steps);
	memset(ten, 0, PIPESIM_BEST * sizeof *ten);
	for (guint i = 0; i < all->all->len; i++) {
		const PipesimCandidate *one = &g_array_index(all->all, PipesimCandidate, i);

		if (!layouts && one->step > 0)
			ck_assert_int_le(one->bound, one->step);
		if (one->fits)
			g_array_append_vals(found, one, 1);
	}
	rows = pipesim_plan_group(wish, found, PIPESIM_BEST, NULL);
	for (guint i = 0; i < rows->len; i++)
		ten[i] = g_array_index(rows, PipesimCandidate, i).step;
}

/* A near miss fits at no more than what a row of its sizes takes. */
static void check_remedies(const PipesimPlanned *planned)
{
	for (guint i = 0; i < planned->misses->len; i++) {
		const PipesimCandidate *miss =
			&g_array_index(planned->misses, PipesimCandidate, i);
		const PipesimCandidate *remedy =
			&g_array_index(planned->remedies, PipesimCandidate, i);

		ck_assert(remedy->step == 0 || remedy->fits);
		for (guint k = 0; k < planned->best->len; k++) {
			PipesimCandidate row =
				g_array_index(planned->best, PipesimCandidate, k);

			row.training.microbatch = miss->training.microbatch;
			if (!pipesim_plan_same_way(&row, miss))
				continue;
			ck_assert_int_gt(remedy->step, 0);
			ck_assert_int_le(remedy->step, row.step);
		}
	}
}

/* Pruned or not, the ten best are the same: with balanced layers, and with all candidates laid out. */
START_TEST(prunes_safely)
{
	static const PipesimSchedule *const all[] = {&pipesim_schedule_one_f_one_b,
		&pipesim_schedule_zb_h1, &pipesim_schedule_interleaved_1f1b,
		&pipesim_schedule_zb_v, &pipesim_schedule_dualpipe, &pipesim_schedule_hanayo,
		&pipesim_schedule_chimera, NULL};
	static const char *const models[] = {"llama-3-8b", "deepseek-v3", "mixtral-8x7b"};
	GRand *random = g_rand_new_with_seed(3);
	guint beaten = 0, ruled_out = 0;

	for (guint round = 0; round < 40; round++) {
		const gboolean layouts = round % 4 == 3;
		g_autoptr(PipesimTransformer) model = read_shipped(models[round % 3]);
		g_autoptr(PipesimPlanned) planned = NULL;
		PipesimWish wish = {.model = model,
			.training = pipesim_training_on_one(
				1024 << g_rand_int_range(random, 0, 4), 1),
			.gpus = layouts ? 4 : 1u << g_rand_int_range(random, 2, 6),
			.memory = (gint64)g_rand_int_range(random, 30, 200) << 30,
			.schedules = all,
			/* Stages that recompute by themselves are none of all candidates. */
			.framework = layouts ? pipesim_frameworks[0] : NULL,
			.layouts = layouts};
		gint64 ten[PIPESIM_BEST];

		model->layers = layouts ? 7 : 16;
		if (model->experts > 0)
			pipesim_transformer_places(model, 1, 1);
		wish.per_node = MIN(wish.gpus, 8);
		wish.batch = (gint64)wish.gpus * (1 << g_rand_int_range(random, 0, 3));
		wish.device = shipped_device("h100");
		wish.training.tp = layouts ? 1 : 0;
		wish.training.dp = layouts ? 1 : 0;
		wish.training.ep = wish.training.microbatch = 0;
		wish.training.mfu = 0.4;
		wish.training.zero = PIPESIM_ZERO_1;
		wish.training.overlap = g_rand_boolean(random);
		wish.training.ep_overlap = round % 6 == 4;
		/* Messages that wait are simulated only where they would win if they did not. */
		if (round % 8 == 1)
			wish.runtime = round % 16 == 1 ? &pipesim_runtime_megatron
						       : &pipesim_runtime_pytorch_2_15;
		/* By default each of these once or more often, layouts of which few rule any out oftener. */
		if ((layouts ? round < 20 : round >= 7) && grid_every(2) > 1)
			continue;
		find_ten(&wish, layouts, ten);
		planned = pipesim_planner_run(&wish, NULL);
		beaten += planned->beaten;
		ruled_out += layouts ? planned->simulated - planned->laid_out : 0;
		check_remedies(planned);
		for (guint i = 0; i < planned->best->len; i++) {
			const PipesimCandidate *best =
				&g_array_index(planned->best, PipesimCandidate, i);

			/* Balanced ones are laid out afterwards, which makes them no longer. */
			if (layouts)
				ck_assert_msg(ABS((double)(best->step - ten[i])) <=
						      2e-6 * (double)ten[i],
					"%u, %u: %" G_GINT64_FORMAT
					" ns, not %" G_GINT64_FORMAT,
					round, i, best->step, ten[i]);
			/* Then two may have become one. */
			else if (i == 0)
				ck_assert_int_le(best->step, ten[i] + ten[i] / 100);
		}
		if (layouts)
			ck_assert(planned->best->len == PIPESIM_BEST ||
				  ten[planned->best->len] == 0);
	}
	ck_assert_uint_gt(beaten, 100);
	ck_assert_uint_gt(ruled_out, 10);
	g_rand_free(random);
}
END_TEST

/* What candidates share changes none of their figures, under any runtime's rules. */
START_TEST(briefs_as_runs)
{
	static const char *const runtimes[] = {
		"async", "megatron", "pytorch-2.15", "pytorch-2.11", "deepseek"};
	static const char *const models[] = {"llama-3-8b", "deepseek-v3"};
	static const guint microbatches[] = {8, 19, 40};
	const PipesimSchedule *const *all = pipesim_schedule_list();
	const gboolean eager = g_str_has_prefix(runtimes[_i], "pytorch");
	guint found = 0, gathered = 0;

	/* By default one model at one number of micro-batches, another of each runtime. */
	for (guint k = (guint)_i % grid_every(6);
		k < G_N_ELEMENTS(models) * G_N_ELEMENTS(microbatches); k += grid_every(6)) {
		g_autoptr(PipesimTransformer) model = read_shipped(models[k % 2]);
		PipesimWish wish = {.model = model,
			.training = pipesim_training_on_one(2048, 1),
			.gpus = 16,
			.per_node = 8,
			.batch = 4 * (gint64)microbatches[k / 2],
			.memory = G_GINT64_CONSTANT(80) << 30,
			.ranks = 4,
			.microbatches = microbatches[k / 2],
			.schedules = all,
			.runtime = pipesim_runtime_find(runtimes[_i], "", NULL),
			.every = TRUE};
		g_autoptr(PipesimPlanned) planned = NULL;

		wish.device = shipped_device("h100");
		wish.framework = pipesim_framework_of(wish.runtime);
		wish.training.eager = eager;
		wish.zero_given = !eager;
		wish.training.tp = 2;
		wish.training.dp = 2;
		wish.training.ep = wish.training.microbatch = 0;
		wish.training.mfu = 0.4;
		wish.training.sequence_parallel = TRUE;
		planned = pipesim_planner_run(&wish, NULL);
		ck_assert_uint_eq(planned->all->len, planned->candidates);
		for (guint i = 0; i < planned->all->len; i++) {
			const PipesimCandidate *candidate =
				&g_array_index(planned->all, PipesimCandidate, i);
			const PipesimScenario scenario =
				pipesim_planner_scenario(&wish, candidate);
			g_autoptr(PipesimCosts) costs =
				pipesim_planner_costs(&wish, candidate, NULL);
			g_autoptr(PipesimRun) run = NULL;

			/* Searches take too long; plan takes none with passes. By default some of the others. */
			if (i % grid_every(5) != 0 ||
				pipesim_schedule_goes_by_times(candidate->schedule))
				continue;
			run = pipesim_run_schedule(candidate->schedule, &scenario, costs);
			if (_i > 0 && run->error != NULL) {
				ck_assert_int_eq(candidate->step, 0);
				continue;
			}
			ck_assert_msg(run->error == NULL, "%s: %s", candidate->schedule->name,
				run->error != NULL ? run->error->message : "");
			gathered += candidate->training.zero == PIPESIM_ZERO_3;
			ck_assert_int_eq(candidate->makespan, run->report->makespan);
			ck_assert_int_eq(candidate->step, run->report->training.step);
			ck_assert_int_eq(candidate->tokens, run->report->training.tokens);
			ck_assert_int_eq(candidate->memory, run->report->memory.max);
			ck_assert_int_eq(candidate->memory,
				run->report->memory.peak[candidate->fullest]);
			ck_assert_int_eq(candidate->parameters,
				run->report->memory.parameters[candidate->fullest]);
			ck_assert_int_eq(candidate->fits, run->report->memory.fits);
			found++;
		}
	}
	ck_assert_uint_gt(found, (_i == 0 ? 500 : 100) / grid_every(18));
	ck_assert_uint_eq(gathered > 0, eager);
}
END_TEST

/* Up-projections of latent attention are computed again by themselves too, where there are any; no way comes twice. */
START_TEST(recomputes_by_module)
{
	static const PipesimSchedule *const one[] = {&pipesim_schedule_one_f_one_b, NULL};
	static const char *const models[] = {"deepseek-v3", "mixtral-8x7b"};
	g_autoptr(PipesimTransformer) model = read_shipped(models[_i]);
	PipesimWish wish = {.model = model,
		.training = pipesim_training_on_one(2048, 1),
		.gpus = 16,
		.per_node = 8,
		.batch = 16,
		.memory = G_GINT64_CONSTANT(80) << 30,
		.ranks = 4,
		.schedules = one};
	guint alone = 0, nothing = 0;

	wish.device = shipped_device("h100");
	wish.training.tp = 2;
	wish.training.dp = 2;
	wish.training.mfu = 0.4;
	wish.training.sequence_parallel = TRUE;
	g_autoptr(PipesimPlanner) planner = pipesim_planner_new(&wish, NULL);
	for (guint i = 0; i < pipesim_planner_count(planner); i++) {
		const PipesimCandidate candidate = pipesim_planner_candidate(planner, i, NULL);

		alone += candidate.training.recompute == PIPESIM_RECOMPUTE_MLA_UP;
		nothing += candidate.training.recompute == 0 && !candidate.training.full;
	}
	ck_assert_uint_eq(alone, _i == 0);
	ck_assert_uint_eq(nothing, 1);
}
END_TEST

/* A row that recomputes by stage: it runs as it says, and no rank could recompute less. */
static void check_each(const PipesimWish *wish, const PipesimCandidate *row)
{
	const PipesimScenario scenario = pipesim_planner_scenario(wish, row);
	g_auto(GStrv) numbers = g_strsplit(row->training.each, ",", -1);

	for (guint stage = 0; stage <= g_strv_length(numbers); stage++) {
		PipesimCandidate less = *row;
		g_autoptr(PipesimCosts) costs = NULL;
		g_autoptr(PipesimRun) run = NULL;
		const gboolean own = numbers[stage] == NULL;
		char *const kept = own ? NULL : numbers[stage];

		if (!own && strcmp(kept, "0") == 0)
			continue;
		if (!own) {
			g_autofree char *text = NULL;

			numbers[stage] =
				g_strdup_printf("%d", (int)g_ascii_strtoll(kept, NULL, 10) - 1);
			text = g_strjoinv(",", numbers);
			less.training.each = g_intern_string(text);
			g_free(numbers[stage]);
			numbers[stage] = kept;
		}
		costs = pipesim_planner_costs(wish, &less, NULL);
		run = pipesim_run_schedule(row->schedule, &scenario, costs);
		ck_assert_int_eq(run->report->memory.fits, own);
		if (own) {
			ck_assert_int_eq(run->report->training.step, row->step);
			ck_assert_int_eq(run->report->memory.max, row->memory);
		}
	}
}

/* Stages that recompute what each needs are never slower than all alike, and often shorter. */
START_TEST(recomputes_by_stage)
{
	static const PipesimSchedule *const all[] = {
		&pipesim_schedule_one_f_one_b, &pipesim_schedule_zb_h1, NULL};
	static const char *const models[] = {"llama-3-8b", "mixtral-8x7b"};
	guint shorter = 0, each = 0;

	for (guint memory = 24; memory <= 96; memory += 4 * grid_every(3)) {
		g_autoptr(PipesimTransformer) model = read_shipped(models[memory / 4 % 2]);
		PipesimWish wish = {.model = model,
			.training = pipesim_training_on_one(8192, 1),
			.gpus = 16,
			.per_node = 8,
			.batch = 64,
			.ranks = 4,
			.memory = (gint64)memory << 30,
			.schedules = all};
		gint64 steps[2] = {0};

		wish.device = shipped_device("h100");
		wish.training.tp = 2;
		wish.training.dp = wish.training.microbatch = 0;
		wish.training.ep = model->experts > 0 ? 0 : 1;
		wish.training.mfu = 0.4;
		wish.training.zero = PIPESIM_ZERO_1;
		for (guint alike = 0; alike < 2; alike++) {
			g_autoptr(PipesimPlanned) planned = NULL;

			/* Megatron-LM's stages all recompute as many. */
			wish.framework = alike ? pipesim_frameworks[0] : NULL;
			planned = pipesim_planner_run(&wish, NULL);
			pipesim_each (const PipesimCandidate, row, planned->best) {
				ck_assert(!alike || row->training.each == NULL);
				if (row->training.each != NULL)
					check_each(&wish, row);
				each += row->training.each != NULL;
			}
			if (planned->best->len > 0)
				steps[alike] =
					g_array_index(planned->best, PipesimCandidate, 0).step;
		}
		ck_assert(steps[1] == 0 || steps[0] > 0);
		/* Of rows within 1 % the simplest is shown. */
		ck_assert_int_le(steps[0], steps[1] + steps[1] / 100);
		shorter += (double)steps[0] < 0.98 * (double)steps[1];
	}
	ck_assert_uint_gt(each, 5);
	ck_assert_uint_gt(shorter, 2 / grid_every(3));
}
END_TEST

static gpointer plan_as_peer(gpointer data)
{
	PipesimWish wish = *(const PipesimWish *)data;

	wish.peers = peers_join();
	return pipesim_planner_run(&wish, NULL);
}

/* Processes find what one finds, with layouts and recomputation of each stage that others found. */
START_TEST(processes_share)
{
	g_autoptr(PipesimTransformer) model = read_shipped("llama-3-8b");
	PipesimWish wish = wish_for(model, 8192, 64, 40);
	g_autoptr(PipesimPlanned) alone = NULL;
	gpointer found[PEERS];
	guint each = 0, layouts = 0;

	wish.ranks = 4;
	alone = pipesim_planner_run(&wish, NULL);
	peers_run(plan_as_peer, &wish, found);
	for (guint i = 0; i < PEERS; i++) {
		g_autoptr(PipesimPlanned) planned = found[i];

		ck_assert_uint_eq(planned->simulated, alone->simulated);
		ck_assert_uint_eq(planned->best->len, alone->best->len);
		for (guint k = 0; k < alone->best->len; k++) {
			const PipesimCandidate *a =
				&g_array_index(alone->best, PipesimCandidate, k);
			const PipesimCandidate *b =
				&g_array_index(planned->best, PipesimCandidate, k);

			ck_assert_int_eq(a->step, b->step);
			ck_assert_int_eq(a->memory, b->memory);
			ck_assert_ptr_eq(a->layout, b->layout);
			ck_assert_ptr_eq(a->training.each, b->training.each);
			each += b->training.each != NULL;
			layouts += b->layout != NULL;
		}
	}
	ck_assert_uint_gt(each, 0);
	ck_assert_uint_gt(layouts, 0);
}
END_TEST

/* All layers of each stage, counted or not, are lost alike. */
START_TEST(counts_layers_of_each_stage)
{
	static const PipesimSchedule *const one[] = {&pipesim_schedule_one_f_one_b, NULL};
	g_autoptr(PipesimTransformer) model = read_shipped("llama-3-8b");
	PipesimWish wish = {.model = model,
		.training = pipesim_training_on_one(4096, 1),
		.recompute_given = TRUE,
		.gpus = 4,
		.per_node = 4,
		.batch = 16,
		.ranks = 4,
		.memory = G_GINT64_CONSTANT(200) << 30,
		.schedules = one};
	double again[2], messages[2];

	wish.device = shipped_device("h100");
	wish.training.full = TRUE;
	wish.training.mfu = 0.4;
	for (guint i = 0; i < 2; i++) {
		g_autoptr(PipesimPlanned) planned = NULL;

		wish.training.first = i == 0 ? 0 : model->layers / 4;
		planned = pipesim_planner_run(&wish, NULL);
		again[i] = g_array_index(planned->best, PipesimCandidate, 0).again;
		messages[i] = g_array_index(planned->best, PipesimCandidate, 0).messages;
	}
	ck_assert_double_gt(again[0], 0.1);
	/* Layouts may differ. */
	ck_assert_double_eq_tol(again[0], again[1], 0.01);
	ck_assert_double_eq_tol(messages[0], messages[1], 0.01);
}
END_TEST

Suite *plan_search_suite(void)
{
	Suite *suite = suite_create("plan-search");
	TCase *tests = tcase_create("search");

	tcase_add_test(tests, plans_well);
	tcase_add_test(tests, prunes_safely);
	tcase_add_loop_test(tests, briefs_as_runs, 0, 5);
	tcase_add_loop_test(tests, recomputes_by_module, 0, 2);
	tcase_add_test(tests, recomputes_by_stage);
	tcase_add_test(tests, processes_share);
	tcase_add_test(tests, counts_layers_of_each_stage);
	tcase_set_timeout(tests, 60);
	suite_add_tcase(suite, tests);
	return suite;
}
