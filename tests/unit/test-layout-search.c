#include "grid.h"
#include "layout/choose.h"
#include "layout/family.h"
#include "layout/layout-counts.h"
#include "layout/layout-cuts.h"
#include "layout/layouts.h"
#include "shipped.h"
#include "suites.h"
#include "transformer/cutter.h"
#include <string.h>

/* What cuts @model on an H100 for runs at @costs that look for its layout on @ranks. */
static PipesimCutter *search_on(const PipesimTransformer *model,
	const PipesimTraining *training, guint ranks, PipesimCosts *costs)
{
	const PipesimRates rates = pipesim_device_rates(shipped_device("h100"), training);
	PipesimCutter *cutter =
		pipesim_cutter_new(pipesim_transformer_copy(model), training, NULL, &rates);

	pipesim_cutter_set_search(cutter);
	ck_assert(pipesim_cutter_take(cutter, ranks, costs, NULL));
	return cutter;
}

/* The best of all layouts, tried one by one. */
static gint64 try_layouts(const PipesimSchedule *schedule, const PipesimScenario *scenario,
	const PipesimCosts *costs, guint *ends, guint stage, guint stages)
{
	const PipesimTransformer *model = pipesim_cutter_model(costs->cutter);
	const guint apart = pipesim_cutter_apart(costs->cutter);
	const guint n = pipesim_stages_items(model, apart),
		    begin = stage > 0 ? ends[stage - 1] : 0;
	gint64 best = G_MAXINT64;

	for (guint end = begin + 1; end <= n - (stages - 1 - stage); end++) {
		g_autoptr(PipesimCosts) own = NULL;
		g_autoptr(PipesimRun) run = NULL;

		ends[stage] = end;
		if (stage + 1 < stages) {
			best = MIN(best, try_layouts(schedule, scenario, costs, ends, stage + 1,
						 stages));
			continue;
		}
		if (end < n)
			continue;
		own = pipesim_costs_copy(costs);
		pipesim_costs_set_cutter(own,
			pipesim_cutter_fix(costs->cutter,
				pipesim_stages_of_items(model, apart, ends, stages), NULL));
		run = pipesim_run_schedule(schedule, scenario, own);
		if (run->error == NULL && run->report->memory.fits)
			best = MIN(best, run->report->training.step);
	}
	return best;
}

/* An automatic layout has the shortest step of all that fit, and says so. */
START_TEST(finds_layouts)
{
	static const char *const names[] = {"gpipe", "1f1b", "zb-h1", "zb-v", "v-half",
		"dualpipe", "dualpipev", "interleaved-1f1b", "interleaved-zb"};
	static const char *const runtimes[] = {"async", "pytorch-2.15"};
	g_autoptr(PipesimTransformer) model = read_shipped("deepseek-v3");
	guint bound = 0;

	model->layers = 7;
	pipesim_transformer_places(model, 2, 1);
	for (guint k = 0; k < 4 * G_N_ELEMENTS(names); k++) {
		const PipesimSchedule *schedule =
			pipesim_schedule_find(names[k % G_N_ELEMENTS(names)], NULL);
		const guint round = k / G_N_ELEMENTS(names);
		PipesimScenario scenario = {.ranks = 2,
			.microbatches = 4 + 2 * (round % 2),
			.keep = PIPESIM_KEEP_NOTHING,
			.runtime = pipesim_runtime_find(runtimes[round / 2], "-", NULL),
			.seed = 1};
		PipesimTraining training = pipesim_training_on_one(1024, 1);
		g_autoptr(PipesimCosts) costs = pipesim_costs_default();
		guint ends[8];

		training.mfu = 0.4;
		search_on(model, &training, 2, costs);
		/* Without a limit, and where the layout that was found is too large. */
		for (guint i = 0; i < 2; i++) {
			g_autoptr(PipesimRun) run = NULL;
			gint64 best;

			pipesim_layout_run_points(
				schedule, &(PipesimPoint){&scenario, costs, NULL}, 1, &run);

			ck_assert_msg(run->error == NULL, "%s", run->error->message);
			best = try_layouts(
				schedule, &scenario, costs, ends, 0, run->shape.stages);
			ck_assert_ptr_nonnull(strstr(run->layers, "no other beats"));
			if (best == G_MAXINT64)
				break;
			ck_assert_msg(run->report->training.step == best,
				"%s: %" G_GINT64_FORMAT " ns, best %" G_GINT64_FORMAT,
				schedule->name, run->report->training.step, best);
			ck_assert(run->report->memory.fits);
			bound += i;
			scenario.memory_limit = run->report->memory.max - 1;
		}
	}
	ck_assert_uint_gt(bound, 10);
}
END_TEST

/* Megatron-LM's next layouts: of all cuts between layers of multi-token prediction and between losses too, and with a heavy head
 * a shorter step than that of one stage with all of them. */
START_TEST(splits_the_head)
{
	const PipesimSchedule *schedule =
		pipesim_schedule_find(_i == 0 ? "1f1b" : "zb-h1", NULL);
	const PipesimScenario scenario = {
		.ranks = 4, .microbatches = 8, .keep = PIPESIM_KEEP_NOTHING, .seed = 1};
	g_autoptr(PipesimTransformer) model = read_shipped("llama-3-8b");
	gint64 steps[2];

	model->layers = 4;
	model->mtp = 1;
	for (guint next = 0; next < 2; next++) {
		PipesimTraining training = pipesim_training_on_one(1024, 1);
		g_autoptr(PipesimCosts) costs = pipesim_costs_default();
		const PipesimPoint point = {&scenario, costs, NULL};
		g_autoptr(PipesimRun) run = NULL;
		PipesimCutter *cutter;
		guint ends[4];

		training.next = next;
		cutter = search_on(model, &training, 4, costs);
		ck_assert_int_eq(pipesim_cutter_apart(cutter), next);
		pipesim_layout_run_points(schedule, &point, 1, &run);
		ck_assert(run->error == NULL);
		steps[next] = run->report->training.step;
		ck_assert_int_eq(
			steps[next], try_layouts(schedule, &scenario, costs, ends, 0, 4));
	}
	ck_assert_int_lt(steps[1], steps[0]);
}
END_TEST

/* An encoder's layers are cut as the decoder's are, or all stand in the first stage, where a step is no shorter. */
START_TEST(cuts_encoders)
{
	static const char *const names[] = {"1f1b", "zb-v"};
	const PipesimSchedule *schedule = pipesim_schedule_find(names[_i], NULL);
	g_autoptr(PipesimTransformer) model = read_shipped("qwen2.5-vl-7b");
	const guint stages = _i == 0 ? 3 : 4;
	gint64 steps[2];

	model->layers = 5;
	model->encoder->layers = 4;
	model->encoder->windowed = 2;
	model->encoder_stages = 1;
	for (guint whole = 0; whole < 2; whole++) {
		PipesimScenario scenario = {.ranks = _i == 0 ? 3 : 2,
			.microbatches = 6,
			.keep = PIPESIM_KEEP_NOTHING,
			.seed = 1};
		PipesimTraining training = pipesim_training_on_one(1024, 1);
		g_autoptr(PipesimCosts) costs = pipesim_costs_default();
		PipesimCutter *cutter;
		guint ends[4];

		training.images = 16;
		training.patches = 1024;
		training.whole_encoder = whole;
		cutter = search_on(model, &training, scenario.ranks, costs);
		ck_assert_int_eq(pipesim_cutter_apart(cutter) != 0, !whole);
		/* Without a limit, and where the layout that was found is too large. */
		for (guint i = 0; i < 2; i++) {
			const PipesimPoint point = {&scenario, costs, NULL};
			g_autoptr(PipesimRun) run = NULL;
			gint64 best = try_layouts(schedule, &scenario, costs, ends, 0, stages);

			pipesim_layout_run_points(schedule, &point, 1, &run);
			ck_assert(run->error == NULL);
			ck_assert(best < G_MAXINT64 || !run->report->memory.fits);
			if (best < G_MAXINT64)
				ck_assert_int_eq(run->report->training.step, best);
			steps[whole] = i == 0 ? best : steps[whole];
			scenario.memory_limit = run->report->memory.max - 1;
		}
	}
	ck_assert_int_lt(steps[0], steps[1]);
}
END_TEST

static PipesimRun *run_balanced(const PipesimTransformer *model, gboolean search,
	const PipesimSchedule *schedule, const PipesimScenario *scenario)
{
	const PipesimTraining training = pipesim_training_on_one(1024, 1);
	const PipesimRates rates = pipesim_device_rates(shipped_device("h100"), &training);
	g_autoptr(PipesimCosts) costs = pipesim_costs_default();
	PipesimCutter *cutter =
		pipesim_cutter_new(pipesim_transformer_copy(model), &training, NULL, &rates);
	PipesimRun *run;

	if (search)
		pipesim_cutter_set_search(cutter);
	else
		pipesim_cutter_set_auto(cutter);
	ck_assert(pipesim_cutter_take(cutter, scenario->ranks, costs, NULL));
	pipesim_layout_run_points(schedule, &(PipesimPoint){scenario, costs, NULL}, 1, &run);
	return run;
}

/* A run with an automatic layout ends as with balanced layers: with a step that is no longer, or with the same refusal.
 * Four micro-batches over three ranks fit few schedules. */
START_TEST(ends_as_balanced)
{
	static const guint shapes[][2] = {{1, 1}, {2, 2}, {2, 5}, {3, 4}, {4, 8}};
	const PipesimRuntime *const *runtimes = pipesim_runtime_list();
	g_autoptr(PipesimTransformer) model = read_shipped("llama-3-8b");
	const guint every = grid_every(4);
	guint shorter = 0, deadlocks = 0, refused = 0;

	model->layers = 8;
	for (guint turn = 0; *runtimes != NULL; runtimes++, turn++)
		for (guint k = turn % every; k < 3 * G_N_ELEMENTS(shapes); k += every) {
			const PipesimScenario scenario = {.ranks = shapes[k / 3][0],
				.microbatches = shapes[k / 3][1],
				.runtime = *runtimes,
				.issuing.defer_recv = k % 3 == 1,
				.compare_at = k % 3 == 2 ? PIPESIM_AT_STAGES : PIPESIM_AT_RANKS,
				.keep = PIPESIM_KEEP_NOTHING,
				.seed = 1};
			const PipesimSchedule *const *schedules = pipesim_schedule_list();

			for (; *schedules != NULL; schedules++) {
				g_autoptr(PipesimRun) laid_out =
					run_balanced(model, TRUE, *schedules, &scenario);
				g_autoptr(PipesimRun) balanced =
					run_balanced(model, FALSE, *schedules, &scenario);

				if (balanced->error != NULL) {
					ck_assert_str_eq(laid_out->error->message,
						balanced->error->message);
					deadlocks +=
						balanced->error->code == PIPESIM_ERROR_DEADLOCK;
					refused++;
					continue;
				}
				ck_assert_msg(laid_out->error == NULL, "%s: %s",
					(*runtimes)->name, laid_out->error->message);
				ck_assert_int_le(laid_out->report->training.step,
					balanced->report->training.step);
				shorter += laid_out->report->training.step <
					   balanced->report->training.step;
			}
		}
	ck_assert_uint_gt(deadlocks, 20);
	ck_assert_uint_gt(refused, deadlocks + 20);
	ck_assert_uint_gt(shorter, 20);
}
END_TEST

/* The shortest step of all layouts, ns, 16 at a time. */
static gint64 try_all(PipesimFamily *family, const PipesimCosts *costs, guint stages)
{
	const PipesimTransformer *model = pipesim_cutter_model(costs->cutter);
	const guint n = pipesim_stages_items(model, FALSE);
	PipesimCosts *waiting[PIPESIM_TOGETHER];
	PipesimBrief briefs[PIPESIM_TOGETHER];
	gint64 best = G_MAXINT64;
	guint n_waiting = 0, ends[32];
	gboolean more = TRUE;

	for (guint stage = 0; stage < stages; stage++)
		ends[stage] = stage + 1 < stages ? stage + 1 : n;
	while (more) {
		guint stage = stages - 1;

		waiting[n_waiting] = pipesim_costs_copy(costs);
		pipesim_costs_set_cutter(waiting[n_waiting++],
			pipesim_cutter_fix(costs->cutter,
				pipesim_stages_of_items(model, FALSE, ends, stages), NULL));
		/* The next in the order of words. */
		while (stage > 0 && ends[stage - 1] + 1 == n - (stages - 1 - stage))
			stage--;
		more = stage > 0;
		if (more) {
			ends[stage - 1]++;
			for (guint i = stage; i + 1 < stages; i++)
				ends[i] = ends[i - 1] + 1;
		}
		if (n_waiting < PIPESIM_TOGETHER && more)
			continue;
		pipesim_family_run(
			family, (const PipesimCosts *const *)waiting, n_waiting, briefs);
		for (guint i = 0; i < n_waiting; i++) {
			if (briefs[i].step > 0)
				best = MIN(best, briefs[i].step);
			pipesim_costs_free(waiting[i]);
		}
		n_waiting = 0;
	}
	return best;
}

/* Where they are too many to try, no layout is shorter than the proof says. */
START_TEST(proves_layouts)
{
	static const char *const names[] = {
		"1f1b", "zb-h1", "dualpipe", "zb-v", "interleaved-1f1b", "gpipe", "v-half"};
	guint proven = 0, bounded = 0;

	for (guint k = 0; k < 2 * G_N_ELEMENTS(names); k++) {
		const PipesimSchedule *schedule =
			pipesim_schedule_find(names[k % G_N_ELEMENTS(names)], NULL);
		g_autoptr(PipesimTransformer) model =
			read_shipped(k < G_N_ELEMENTS(names) ? "llama-3-8b" : "deepseek-v3");
		PipesimScenario scenario = {.microbatches = 12, .seed = 1};
		PipesimTraining training = pipesim_training_on_one(1024, 1);
		g_autoptr(PipesimCosts) costs = pipesim_costs_default();
		g_autoptr(PipesimFamily) family = NULL;
		g_autoptr(PipesimStages) found = NULL;
		PipesimRates rates;
		PipesimShape shape;
		PipesimBrief brief;
		double gap = 1;
		gint64 best;

		scenario.ranks = k % G_N_ELEMENTS(names) < 3 ? 6 : 3;
		model->layers = 17 - (k >= G_N_ELEMENTS(names));
		if (model->sparse != NULL)
			pipesim_transformer_places(model, 3, 1);
		training.mfu = 0.4;
		rates = pipesim_device_rates(shipped_device("h100"), &training);
		ck_assert(pipesim_schedule_shape(schedule, &scenario, &shape, NULL));
		PipesimCutter *cutter = pipesim_cutter_new(
			pipesim_transformer_copy(model), &training, NULL, &rates);
		pipesim_cutter_set_auto(cutter);
		ck_assert(pipesim_cutter_take(cutter, scenario.ranks, costs, NULL));
		costs->p2p = 100000;
		found = pipesim_layouts_search(
			schedule, &scenario, &shape, costs, G_MAXINT64, &gap);
		ck_assert_ptr_nonnull(found);
		family = pipesim_family_new(schedule, &scenario, 1000);
		best = try_all(family, costs, shape.stages);
		pipesim_costs_set_cutter(costs,
			pipesim_cutter_fix(costs->cutter, g_steal_pointer(&found), NULL));
		pipesim_family_run(family, (const PipesimCosts *const *)&costs, 1, &brief);
		ck_assert_msg((double)best >= (double)brief.step * (1 - gap - 1e-6),
			"%s: %" G_GINT64_FORMAT " ns, found %" G_GINT64_FORMAT ", gap %g",
			schedule->name, best, brief.step, gap);
		ck_assert(gap >= 0 && gap <= 1);
		proven += gap == 0;
		bounded += gap > 0 && gap < 0.1;
	}
	ck_assert_uint_gt(proven, 6);
	ck_assert_uint_ge(proven + bounded, 2 * G_N_ELEMENTS(names) - 1);
}
END_TEST

/* A bound is below what it bounds, and nothing below the limit is left out. */
START_TEST(cuts_layouts)
{
	GRand *random = g_rand_new_with_seed(7);

	for (guint round = 0; round < 200; round++) {
		const guint stages = 1 + (guint)g_rand_int_range(random, 0, 4);
		const guint items = stages + (guint)g_rand_int_range(random, 0, 6);
		g_autoptr(PipesimLayoutCuts) cuts = pipesim_layout_cuts_new(stages, items);
		double cost[4 * 10], least = G_MAXDOUBLE, bound, limit;
		guint ends[4], trial[4], left = 0, below = 0;
		gboolean some;

		for (guint i = 0; i < 6; i++) {
			for (guint k = 0; k < stages * items; k++)
				cost[k] = g_rand_double_range(random, 0, 10);
			pipesim_layout_cuts_add(cuts, g_rand_double_range(random, 0, 5), cost);
		}
		bound = pipesim_layout_cuts_bound(cuts, 40, trial);
		limit = bound * g_rand_double_range(random, 0.9, 1.5);
		some = pipesim_layout_cuts_narrow(cuts, limit);
		for (guint word = 0; word < 1u << (items - 1); word++) {
			double worth;
			guint stage = 0, is_left = 1;

			for (guint i = 0; i + 1 < items && stage < 4; i++)
				if (word >> i & 1)
					ends[stage++] = i + 1;
			if (stage + 1 != stages)
				continue;
			ends[stage] = items;
			worth = pipesim_layout_cuts_value(cuts, ends);
			for (stage = 0; stage < stages; stage++) {
				const guint begin = stage > 0 ? ends[stage - 1] : 0;
				guint first, last;

				pipesim_layout_cuts_ends(cuts, stage, begin, &first, &last);
				is_left &= ends[stage] >= first && ends[stage] <= last;
			}
			ck_assert(worth >= limit || (is_left && some));
			least = MIN(least, worth);
			left += is_left;
			below += worth < limit;
		}
		ck_assert_double_le(bound, least * (1 + 1e-12));
		ck_assert_uint_ge(left, below);
	}
	g_rand_free(random);
}
END_TEST

/* By how many items groups of stages hold: what is below the limit, and within caps, is never left out. */
START_TEST(counts_layouts)
{
	enum {
		CUTS = 5,
		MOST_STAGES = 5,
		MOST_ITEMS = 11
	};
	GRand *random = g_rand_new_with_seed(11);
	guint closed = 0, narrowed = 0;

	for (guint round = 0; round < 300; round++) {
		const guint stages = 2 + (guint)g_rand_int_range(random, 0, MOST_STAGES - 1);
		const guint items = stages + (guint)g_rand_int_range(random, 0, 6);
		const guint groups = 1 + (guint)g_rand_int_range(random, 0, (gint)stages);
		double cost[CUTS][MOST_STAGES * MOST_ITEMS], fixed[CUTS], least = G_MAXDOUBLE;
		guint8 like[MOST_ITEMS];
		guint group[MOST_STAGES], ends[MOST_STAGES], within = 0;
		double number = 0, limit, bound, cap;
		gboolean leaves;

		for (guint i = 0; i < items; i++)
			like[i] = i > 0 && i + 1 < items && g_rand_int_range(random, 0, 5) > 0;
		for (guint stage = 0; stage < stages; stage++)
			group[stage] = stage < groups ? stage
						      : (guint)g_rand_int_range(
								random, 0, (gint)groups);
		g_autoptr(PipesimLayoutCounts) counts =
			pipesim_layout_counts_new(stages, items, like, group, groups);
		for (guint i = 0; i < CUTS; i++) {
			fixed[i] = g_rand_double_range(random, 0, 5);
			for (guint stage = 0; stage < stages; stage++) {
				const double of_like = g_rand_double_range(random, 0, 10);

				for (guint k = 0; k < items; k++)
					cost[i][stage * items + k] =
						like[k] ? of_like
							: g_rand_double_range(random, 0, 10);
			}
		}
		cap = round % 2 > 0 ? g_rand_double_range(random, 30, 60) : G_MAXDOUBLE;
		for (guint i = 0; i + 1 < CUTS; i++)
			pipesim_layout_counts_add(counts, (double)INFINITY, fixed[i], cost[i]);
		pipesim_layout_counts_add(counts, cap, fixed[CUTS - 1], cost[CUTS - 1]);
		limit = g_rand_double_range(random, 30, 80);
		bound = pipesim_layout_counts_bound(counts, 0, limit);
		leaves = pipesim_layout_counts_leaves(counts, limit);
		for (guint word = 0; word < 1u << (items - 1); word++) {
			double most = 0, held = fixed[CUTS - 1];
			gboolean fits = TRUE;
			guint stage = 0;

			for (guint i = 0; i + 1 < items && stage < stages; i++)
				if (word >> i & 1)
					ends[stage++] = i + 1;
			if (stage + 1 != stages)
				continue;
			ends[stage] = items;
			for (guint i = 0; i < CUTS; i++) {
				double sum = fixed[i];

				for (guint k = 0, at = 0; k < items; k++) {
					at += k == ends[at];
					sum += cost[i][at * items + k];
				}
				if (i + 1 < CUTS)
					most = MAX(most, sum);
				else
					held = sum;
			}
			if (held >= cap)
				continue;
			least = MIN(least, most);
			if (most >= limit)
				continue;
			within++;
			for (stage = 0; stage < stages && leaves; stage++)
				fits &= ends[stage] - (stage > 0 ? ends[stage - 1] : 0) <=
					pipesim_layout_counts_most(counts, stage);
			ck_assert(leaves && fits);
		}
		ck_assert_double_le(bound, least);
		number = leaves ? pipesim_layout_counts_number(counts) : 0;
		ck_assert(number > 0 || within == 0);
		closed += !leaves;
		narrowed += leaves && within > 0;
	}
	ck_assert_uint_gt(closed, 20);
	ck_assert_uint_gt(narrowed, 20);
	g_rand_free(random);
}
END_TEST

/* However messages wait, no step is shorter than where they do not, but for pairs that run in halves. */
START_TEST(waits_for_no_less)
{
	static const char *const names[] = {"gpipe", "1f1b", "interleaved-1f1b", "zb-h1",
		"interleaved-zb", "zb-v", "v-half", "v-min", "1f1b-v", "looped-bfs"};
	static const char *const runtimes[] = {
		"megatron", "pytorch-2.11", "pytorch-2.15", "deepseek", "single"};
	g_autoptr(PipesimTransformer) model = read_shipped("llama-3-8b");
	GRand *random = g_rand_new_with_seed(5);
	guint n = 0, longer = 0;

	model->layers = 21;
	for (guint k = 0; k < G_N_ELEMENTS(names) * G_N_ELEMENTS(runtimes); k++) {
		const PipesimSchedule *schedule =
			pipesim_schedule_find(names[k % G_N_ELEMENTS(names)], NULL);
		PipesimScenario scenario = {.ranks = 4, .microbatches = 8, .seed = 1};
		PipesimTraining training = pipesim_training_on_one(1024, 1);
		PipesimRates rates = pipesim_device_rates(shipped_device("h100"), &training);
		g_autoptr(PipesimFamily) free_one = pipesim_family_new(schedule, &scenario, 8);
		g_autoptr(PipesimFamily) waiting = NULL;
		PipesimShape shape;

		scenario.runtime =
			pipesim_runtime_find(runtimes[k / G_N_ELEMENTS(names)], "-", NULL);
		ck_assert(pipesim_schedule_shape(schedule, &scenario, &shape, NULL));
		waiting = pipesim_family_new(schedule, &scenario, 8);
		for (guint round = 0; round < 4; round++) {
			g_autoptr(PipesimCosts) costs = pipesim_costs_default();
			const PipesimCosts *one = costs;
			PipesimStages *layout;
			PipesimBrief fast, slow;
			guint ends[16];

			for (guint stage = 0; stage < shape.stages; stage++)
				ends[stage] = stage + 1;
			for (guint extra = 23 - shape.stages; extra > 0; extra--)
				for (guint stage = (guint)g_rand_int_range(
					     random, 0, (gint)shape.stages);
					stage < shape.stages; stage++)
					ends[stage]++;
			layout = pipesim_stages_of_items(model, FALSE, ends, shape.stages);
			ck_assert(pipesim_cutter_take(
				pipesim_cutter_new(pipesim_transformer_copy(model), &training,
					layout, &rates),
				4, costs, NULL));
			costs->p2p = (gint64)g_rand_int_range(random, 0, 3000000);
			costs->sharding.unshard = round % 2 * 300000;
			costs->sharding.reduce = round % 2 * 500000;
			pipesim_family_run(free_one, &one, 1, &fast);
			pipesim_family_run(waiting, &one, 1, &slow);
			if (fast.makespan == 0 || slow.makespan == 0)
				continue;
			ck_assert_msg(fast.step <= slow.step,
				"%s, %s: %" G_GINT64_FORMAT " ns, but %" G_GINT64_FORMAT
				" where nothing waits",
				schedule->name, scenario.runtime->name, slow.step, fast.step);
			n++;
			longer += fast.step < slow.step;
		}
	}
	ck_assert_uint_gt(n, 100);
	ck_assert_uint_gt(longer, 50);
	g_rand_free(random);
}
END_TEST

Suite *layout_search_suite(void)
{
	Suite *suite = suite_create("layout-search");
	TCase *tests = tcase_create("search");

	tcase_add_test(tests, finds_layouts);
	tcase_add_loop_test(tests, cuts_encoders, 0, 2);
	tcase_add_loop_test(tests, splits_the_head, 0, 2);
	tcase_add_test(tests, ends_as_balanced);
	tcase_add_test(tests, proves_layouts);
	tcase_add_test(tests, cuts_layouts);
	tcase_add_test(tests, counts_layouts);
	tcase_add_test(tests, waits_for_no_less);
	tcase_set_timeout(tests, 60);
	suite_add_tcase(suite, tests);
	return suite;
}
