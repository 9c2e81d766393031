#include "effects/effects.h"
#include "memory-rows.h"
#include "schedule/schedule.h"
#include "shipped.h"
#include "suites.h"
#include "transformer/theory.h"
#include <math.h>
#include <string.h>

static PipesimTraining plain(gint64 tokens)
{
	return (PipesimTraining){.seq = tokens,
		.microbatch = 1,
		.tp = 1,
		.cp = 1,
		.ep = 1,
		.etp = 1,
		.dp = 1,
		.vocab_multiple = 1};
}

/* Activations of one layer. */
static gint64 layer_bytes(
	const PipesimTransformer *model, const PipesimTraining *training, PipesimPart part)
{
	PipesimTermSum sum;

	pipesim_terms_sum(model, training, part, &sum);
	return (gint64)(sum.of[PIPESIM_TERM_UNTIL_INPUT] + sum.of[PIPESIM_TERM_UNTIL_WEIGHT]);
}

/* Numbers that authors publish, or that were counted by hand. */
START_TEST(counts_parameters)
{
	static const struct {
		const char *name;
		gint64 parameters;
	} models[] = {{"llama-3-8b", G_GINT64_CONSTANT(8030261248)},
		{"llama-3-405b", G_GINT64_CONSTANT(405853388800)},
		{"mixtral-8x7b", G_GINT64_CONSTANT(46702792704)},
		{"deepseek-v3", G_GINT64_CONSTANT(671026419200)}};

	for (guint i = 0; i < G_N_ELEMENTS(models); i++) {
		g_autoptr(PipesimTransformer) model = read_shipped(models[i].name);

		ck_assert_int_eq(
			pipesim_transformer_parameters(model, FALSE), models[i].parameters);
	}
	g_autoptr(PipesimTransformer) llama = read_shipped("llama-3-70b");
	g_autoptr(PipesimTransformer) gpt = read_shipped("gpt-3-175b");

	ck_assert_int_eq(pipesim_transformer_parameters(llama, FALSE) / 1000000, 70553);
	ck_assert_int_eq(pipesim_transformer_parameters(gpt, FALSE) / 1000000000, 174);
}
END_TEST

START_TEST(counts_activations)
{
	static const struct {
		const char *name;
		PipesimPart part;
		gint64 bytes;
	} layers[] = {{"llama-3-8b", PIPESIM_PART_DENSE, 570982400},
		{"llama-3-405b", PIPESIM_PART_DENSE, 2132836352},
		{"deepseek-v3", PIPESIM_PART_DENSE, 1394638848},
		{"deepseek-v3", PIPESIM_PART_SPARSE, 1873969152},
		{"mixtral-8x7b", PIPESIM_PART_SPARSE, 990740480}};
	PipesimTraining training = plain(4096);

	for (guint i = 0; i < G_N_ELEMENTS(layers); i++) {
		g_autoptr(PipesimTransformer) model = read_shipped(layers[i].name);

		ck_assert_int_eq(
			layer_bytes(model, &training, layers[i].part), layers[i].bytes);
	}
	g_autoptr(PipesimTransformer) llama = read_shipped("llama-3-405b");

	training.tp = 8;
	training.sequence_parallel = TRUE;
	ck_assert_int_eq(layer_bytes(llama, &training, PIPESIM_PART_DENSE), 266604544);
}
END_TEST

static double model_flops(const char *name, gint64 seq)
{
	g_autoptr(PipesimTransformer) model = read_shipped(name);
	g_autoptr(PipesimStages) stages = pipesim_stages_even(model, 1, NULL);
	const PipesimTraining training = plain(seq);
	PipesimStage stage;

	ck_assert(pipesim_stage_sum(model, &training, &stages->cut[0], &stage, NULL));
	return stage.model_flops / (double)seq;
}

/* NVIDIA's published TFLOP/s over tokens/s. */
START_TEST(counts_flops)
{
	ck_assert_double_eq_tol(model_flops("deepseek-v3", 4096), 260.64e9, 0.01e9);
	ck_assert_double_eq_tol(model_flops("llama-3-405b", 8192), 2523.96e9, 0.01e9);
}
END_TEST

/* Small facts of measured rows, which docs/memory.md lists with their sources. */
START_TEST(meets_measured_peaks)
{
	static const char *const names[] = {"simumax.csv", "megatron.csv", "others.csv", NULL};
	const char *shared = g_getenv("PIPESIM_SHARED");
	g_autofree char *folder =
		g_build_filename(shared != NULL ? shared : "../shared", "memory", NULL);
	g_autoptr(GPtrArray) rows = memory_rows_read(folder, names);
	double sum = 0;
	guint large = 0;

	if (rows == NULL) {
		g_print("SKIP: no measured rows of memory in %s\n", folder);
		return;
	}
	for (guint i = 0; i < rows->len; i++) {
		const MemoryRow *row = g_ptr_array_index(rows, i);
		const char *name = memory_row_text(row, "case");
		const double error = fabs(memory_row_error(row));

		if (row->outside != NULL || g_str_has_prefix(name, "pith-train"))
			continue;
		ck_assert_msg(row->error == NULL, "%s: %s", name,
			row->error != NULL ? row->error->message : "");
		if (g_str_has_prefix(name, "simumax"))
			ck_assert_msg(error <= (row->model->experts > 0 ? 0.003 : 0.001),
				"%s: %.4f", name, error);
		if (g_str_has_prefix(name, "megatron") && row->peak > 10000000000) {
			ck_assert_msg(error <= 0.045, "%s: %.4f", name, error);
			sum += error;
			large++;
		}
	}
	ck_assert_uint_gt(large, 0);
	/* With balanced rows; two runs of the same arguments differ by 4.2 %. */
	ck_assert_double_le(sum / large, 0.028);
}
END_TEST

static void refuse(const char *text, const char *message)
{
	GError *error = NULL;

	ck_assert_ptr_null(pipesim_transformer_parse(text, strlen(text), "x", &error));
	ck_assert_msg(strstr(error->message, message) != NULL, "%s", error->message);
	g_error_free(error);
}

START_TEST(refuses_descriptions)
{
	refuse("{\"model_type\": \"mamba\", \"hidden_size\": 8}",
		"x:1:16: model_type: 'mamba' is none of llama");
	refuse("{\"model_type\": \"mamba\", \"hidden_size\": 8}", "it lacks num_hidden_layers");
	refuse("{\"model_type\": \"llama\",\n \"num_hidden_layers\": 1e30}",
		"x:2:23: num_hidden_layers: '1e30' is not a whole number");
	refuse("{\"model_type\": \"llama\", \"hidden_size\": \"8\"}",
		"x:1:40: hidden_size: a whole number is expected here");
	refuse("{\"model_type\": \"llama\", \"num_hidden_layers\": 4}",
		"hidden_size is missing; a llama model needs it");
	refuse("{\"model_type\": \"llama\"", "the file ends inside the object");
	refuse("{\"model_type\": \"llama\", \"a\": 1, \"a\": 2}", "a key is given twice");
	refuse("[pipesim-model]\nversion = 1\nlayers = 0\n",
		"x:3:10: layers: '0' is out of range");
	refuse("[pipesim-model]\nversion = 1\nlayer = 4\n",
		"x:3:1: [pipesim-model] has no key 'layer'");
	refuse("[pipesim-model]\nversion = 1\nlayers = 4\nhidden = 8\nheads = 3\nvocab = "
	       "10\nffn = 8\n",
		"x:5:9: heads does not divide hidden");
	refuse("layers = 4\n", "comes before [pipesim-model]");
}
END_TEST

/* Verdicts of the class of Megatron-LM's pull requests 5318 and 5329; of one stage with several L each loss is there. */
START_TEST(reads_next_layouts)
{
	static const struct {
		const char *text, *printed;
		gint64 mtp, losses; /* of the last stage, but the main one */
	} valid[] = {{"E|(t|)*10m|m|LL", "E|(t|)*10m|m|L", 2, 2},
		{"E|(t|)*10m|m|m|LL|LL", "E|(t|)*10m|m|m|LL|LL", 3, 1},
		{"E|(t|)*10mm|L|L|L", "E|(t|)*10mm|L|L|L", 2, 0},
		{"E|(t|)*9tmL|L", "E|(t|)*9tmL|L", 1, 0}};
	static const struct {
		const char *text, *message;
	} invalid[] = {{"E|(t|)*10m|m|L|L", "2 losses (L) in 2 stages, but m has 3"},
		{"E|(t|)*10m|m|L|t", "nothing comes after L"},
		{"E|(t|)*10m|m|L|", "the last letter is L"},
		{"E|(t|)*10m|mm|L", "3 layers for multi-token prediction"}};
	PipesimTransformer model = {.name = (char *)"m", .layers = 10};

	for (guint i = 0; i < G_N_ELEMENTS(valid); i++) {
		g_autoptr(GString) printed = g_string_new(NULL);
		g_autoptr(PipesimStages) stages = NULL;
		gint64 losses = 0;

		model.mtp = valid[i].mtp;
		stages = pipesim_stages_parse(&model, TRUE, valid[i].text, "x", NULL);
		ck_assert_ptr_nonnull(stages);
		pipesim_stages_print(stages, printed);
		ck_assert_str_eq(printed->str, valid[i].printed);
		for (guint k = 0; k < stages->stages; k++)
			losses += stages->cut[k].losses;
		ck_assert_int_eq(losses, valid[i].mtp);
		ck_assert_int_eq(stages->cut[stages->stages - 1].losses, valid[i].losses);
	}
	model.mtp = 2;
	for (guint i = 0; i < G_N_ELEMENTS(invalid); i++) {
		g_autoptr(GError) error = NULL;

		ck_assert_ptr_null(
			pipesim_stages_parse(&model, TRUE, invalid[i].text, "x", &error));
		ck_assert_msg(strstr(error->message, invalid[i].message) != NULL, "%s",
			error->message);
	}
}
END_TEST

START_TEST(reads_layouts)
{
	/* Verdicts of Megatron's own class. */
	static const struct {
		const char *text;
		gint64 layers, mtp;
		const char *printed;
	} valid[] = {{"Et|t|t|tL", 4, 0, "Et|(t|)*2tL"},
		{"Et*3|(tt|)*29,m|L", 61, 1, "Et*3|(tt|)*29m|L"},
		{"Et*3|(tt|)*29m|L", 61, 1, "Et*3|(tt|)*29m|L"},
		{"Et|(tt|)*30mL", 61, 1, "Et|(tt|)*30mL"},
		{"Et*4|(t*4|)*14tmL", 61, 1, "Et*4|(t*4|)*14tmL"},
		{"E|t*4|t*4|L", 8, 0, "E|(t*4|)*2L"}, {"Et,(t|)*3,tL", 5, 0, "Ett|(t|)*2tL"},
		{"Et*2|(tt|)*5t|tmL", 14, 1, "Ett|(tt|)*5t|tmL"},
		{"(Et)*1|t*2|t*0|tL", 4, 0, "Et|tt||tL"}, {"Ett|t*2|m|L", 4, 1, "Ett|tt|m|L"}};
	static const struct {
		const char *text;
		gint64 layers, mtp;
		const char *message;
	} invalid[] = {{"Et|t|t|t", 4, 0, "x:1:9: the last letter is L"},
		{"tE|t|t|tL", 4, 0, "x:1:1: the first letter is E"},
		{"Et|t|t|tLL", 4, 0, "x:1:10: a second L"},
		{"Et*3|t*3L", 7, 0, "x:1:10: 6 layers (t), but m has 7"},
		{"Et|t|t|tL ", 4, 0, "x:1:10: E (embedding)"},
		{"et|t|t|tL", 4, 0, "x:1:1: E (embedding)"},
		{"Et|((t|)*2t|)*2L", 4, 0, "x:1:5: groups cannot be nested"},
		{"Et|t*2*2|tL", 6, 0, "x:1:7: a repetition is of one letter"},
		{"Et|tm|t|tL", 4, 1, "x:1:7: no layer comes after m"},
		{"Et|t|tm|mL", 3, 2, "x:1:9: all m stand in one stage"},
		{"Et|t|t|tmL", 4, 0, "1 layers for multi-token prediction (m), but m has 0"},
		{"|Et|t|tL", 3, 0, "x:1:1: the first letter is E"},
		{"Et|t|t|tL|", 4, 0, "x:1:10: nothing comes after L"},
		{"Et*99999999999999999999L", 4, 0, "more than 1048576 letters"},
		{"E(t", 4, 0, "x:1:2: this group is not closed"},
		{"", 4, 0, "the last letter is L"}};
	PipesimTransformer model = {.name = (char *)"m"};

	for (guint i = 0; i < G_N_ELEMENTS(valid); i++) {
		GError *error = NULL;
		g_autoptr(GString) printed = g_string_new(NULL);
		g_autoptr(PipesimStages) stages = NULL;

		model.layers = valid[i].layers;
		model.mtp = valid[i].mtp;
		stages = pipesim_stages_parse(&model, FALSE, valid[i].text, "x", &error);
		ck_assert_msg(stages != NULL, "%s: %s", valid[i].text,
			error != NULL ? error->message : "");
		pipesim_stages_print(stages, printed);
		ck_assert_str_eq(printed->str, valid[i].printed);
	}
	for (guint i = 0; i < G_N_ELEMENTS(invalid); i++) {
		GError *error = NULL;

		model.layers = invalid[i].layers;
		model.mtp = invalid[i].mtp;
		ck_assert_ptr_null(
			pipesim_stages_parse(&model, FALSE, invalid[i].text, "x", &error));
		ck_assert_msg(strstr(error->message, invalid[i].message) != NULL, "%s: %s",
			invalid[i].text, error->message);
		g_error_free(error);
	}
}
END_TEST

/* torchtitan's own rule, of which its documents and code give these. */
START_TEST(spreads_layers)
{
	static const struct {
		gint64 layers;
		guint stages;
		const char *printed;
	} even[] = {{32, 4, "Et*8|(t*8|)*2t*8L"}, {126, 8, "Et*15|(t*16|)*6t*15L"},
		{61, 16, "Et*3|(t*4|)*14ttL"}, {4, 6, "E|(t|)*4L"}};
	PipesimTransformer model = {.name = (char *)"m"};

	for (guint i = 0; i < G_N_ELEMENTS(even); i++) {
		g_autoptr(GString) printed = g_string_new(NULL);
		g_autoptr(PipesimStages) stages = NULL;

		model.layers = even[i].layers;
		stages = pipesim_stages_even(&model, even[i].stages, NULL);
		pipesim_stages_print(stages, printed);
		ck_assert_str_eq(printed->str, even[i].printed);
	}
	model.layers = 4;
	ck_assert_ptr_null(pipesim_stages_even(&model, 7, NULL));
}
END_TEST

/* The longest stage of @model cut at @ends. */
static double longest(
	const PipesimTransformer *model, const double *parts, const PipesimStages *stages)
{
	double most = 0;

	for (guint i = 0; i < stages->stages; i++) {
		const PipesimCut *cut = &stages->cut[i];
		double sum = (cut->embedding ? parts[PIPESIM_PART_EMBEDDING] : 0) +
			     (cut->head ? parts[PIPESIM_PART_HEAD] : 0) +
			     (double)cut->mtp * parts[PIPESIM_PART_MTP];

		for (gint64 layer = cut->first; layer < cut->first + cut->layers; layer++)
			sum += parts[pipesim_transformer_is_sparse(model, layer)
					     ? PIPESIM_PART_SPARSE
					     : PIPESIM_PART_DENSE];
		most = MAX(most, sum);
	}
	return most;
}

/* The best of all cuts of items from @begin on into @stages. */
static double try_all(const double *item, guint begin, guint n, guint stages)
{
	double sum = 0, best = (double)INFINITY;

	for (guint end = begin + 1; end + stages - 1 <= n; end++) {
		sum += item[end - 1];
		if (stages > 1)
			best = MIN(best, MAX(sum, try_all(item, end, n, stages - 1)));
		else if (end == n)
			best = sum;
	}
	return best;
}

START_TEST(balances_stages)
{
	static const double weights[][PIPESIM_N_PARTS] = {
		{0, 1, 3, 2, 0.5}, {0.1, 1, 1, 0, 2}, {2, 0.3, 0.7, 1, 4}, {0, 1, 1, 1, 0}};

	for (guint w = 0; w < G_N_ELEMENTS(weights); w++)
		for (guint layers = 2; layers <= 9; layers++)
			for (guint stages = 1; stages <= 4; stages++) {
				PipesimTransformer model = {
					.name = (char *)"m", .layers = layers, .mtp = w % 2};
				const guint n = layers + 2 + w % 2;
				const double *parts = weights[w];
				g_autoptr(PipesimStages) cut = NULL;
				double item[12];

				pipesim_transformer_places(&model, 2, 1);
				for (guint i = 0; i < n; i++)
					item[i] = i == 0 ? parts[PIPESIM_PART_EMBEDDING]
						  : i <= layers
							  ? parts[i <= 2 ? PIPESIM_PART_DENSE
									 : PIPESIM_PART_SPARSE]
						  : i + 1 < n ? parts[PIPESIM_PART_MTP]
							      : parts[PIPESIM_PART_HEAD];
				cut = pipesim_stages_balance(
					&model, FALSE, parts, stages, NULL);
				ck_assert_double_eq_tol(longest(&model, parts, cut),
					try_all(item, 0, n, stages), 1e-9);
				g_free(model.sparse);
			}
}
END_TEST

/* Whatever the number of layers, and the way of cutting that it takes, no stage is longer than the shortest longest that
 * there is: layers that are alike and ends that weigh nothing give ceil(n / stages). */
START_TEST(balances_any_number_of_layers)
{
	static const double parts[PIPESIM_N_PARTS] = {
		[PIPESIM_PART_DENSE] = 1, [PIPESIM_PART_SPARSE] = 1};
	static const guint layers[] = {5, 64, 1000, 4093, 4094, 4095, 4096, 4097, 5001};

	for (guint i = 0; i < G_N_ELEMENTS(layers); i++)
		for (guint stages = 1; stages <= 5; stages++) {
			const PipesimTransformer model = {
				.name = (char *)"m", .layers = layers[i]};
			g_autoptr(PipesimStages) cut =
				pipesim_stages_balance(&model, FALSE, parts, stages, NULL);
			gint64 all = 0, most = 0;

			ck_assert_ptr_nonnull(cut);
			for (guint stage = 0; stage < stages; stage++) {
				all += cut->cut[stage].layers;
				most = MAX(most, cut->cut[stage].layers);
			}
			ck_assert_int_eq(all, layers[i]);
			ck_assert_int_eq(most, (layers[i] + stages - 1) / stages);
		}
}
END_TEST

/* A chunk may end behind multi-token prediction in the last chunk of a rank alone, whichever rank that is. */
START_TEST(predicts_on_the_last_chunk)
{
	for (guint ranks = 1; ranks <= 4; ranks++)
		for (guint chunks = 1; chunks <= 3; chunks++)
			for (guint at = 0; at < ranks * chunks; at++) {
				const guint stages = ranks * chunks;
				PipesimCut cut[12] = {{0}};
				const PipesimStages layout = {.stages = stages, .cut = cut};

				ck_assert(pipesim_stages_check(&layout, ranks, NULL));
				cut[at].mtp = 1;
				ck_assert(pipesim_stages_check(&layout, ranks, NULL) ==
					  (at >= stages - ranks));
			}
}
END_TEST

START_TEST(reads_modules)
{
	static const char text[] = "[[\"tok_embeddings\", \"layers.0\"], [\"layers.1\"], [], "
				   "[\"layers.2\", \"norm\", \"lm_head\"]]";
	static const struct {
		const char *text, *message;
	} wrong[] = {{"[[\"layers.0\"]]", "x:1:14: tok_embeddings is missing"},
		{"[[\"tok_embeddings\", \"layers.1\"]]",
			"x:1:21: layers.1 where layers.0 is expected"},
		{"[[\"tok_embeddings\", \"layers.0\", \"layers.1\", \"layers.2\", \"norm\"]]",
			"lm_head is missing"},
		{"[[\"tok_embeddings\", \"output\"]]", "0 layers, but m has 3"},
		{"[[\"tok_embeddings\", \"rope\"]]", "'rope' is none of"},
		{"[[\"tok_embeddings\", \"layers.0\", \"layers.1\", \"layers.2\", "
		 "\"lm_head\"]] [[]]",
			"x:1:69: not JSON: the document is over before"},
		{"[1]", "a list of lists is expected here"},
		{"{}", "a list of lists is expected here"}};
	PipesimTransformer model = {.name = (char *)"m", .layers = 3};
	g_autoptr(GString) printed = g_string_new(NULL);
	g_autoptr(GString) string = g_string_new(NULL);
	g_autoptr(PipesimStages) stages = pipesim_stages_read_modules(
		&model, pipesim_input_new_memory("x", text, sizeof text - 1), NULL);

	ck_assert(stages != NULL);
	pipesim_stages_print(stages, string);
	ck_assert_str_eq(string->str, "Et|t||tL");
	pipesim_stages_print_modules(stages, printed);
	ck_assert_str_eq(printed->str, text);
	for (guint i = 0; i < G_N_ELEMENTS(wrong); i++) {
		GError *error = NULL;

		ck_assert_ptr_null(pipesim_stages_read_modules(&model,
			pipesim_input_new_memory("x", wrong[i].text, strlen(wrong[i].text)),
			&error));
		ck_assert_msg(strstr(error->message, wrong[i].message) != NULL, "%s: %s",
			wrong[i].text, error->message);
		g_error_free(error);
	}
}
END_TEST

/* What ends a step: Llama 3 8B's layer on four ranks, Adam in FP32 over gradients in FP32. */
START_TEST(times_updates)
{
	const PipesimTraining alone = plain(4096);
	g_autoptr(PipesimTransformer) model = read_shipped("llama-3-8b");
	const PipesimCut layer = {.layers = 1};
	PipesimRates rates = {.memory = 1e12};
	const PipesimPartTimes none[PIPESIM_N_PARTS] = {0};
	PipesimTraining training = alone;
	PipesimStage stage;

	ck_assert(pipesim_stage_sum(model, &training, &layer, &stage, NULL));
	/* Set to 0 and looked at 8; norm 4, clipped 8, Adam 28, written 6. */
	ck_assert_double_eq_tol(stage.updated, 54.0 * (double)stage.elements, 1);
	training.dp = 4;
	training.zero = PIPESIM_ZERO_1;
	ck_assert(pipesim_stage_sum(model, &training, &layer, &stage, NULL));
	/* Divided by the ranks 8; each updates a fourth. */
	ck_assert_double_eq_tol(stage.updated, (16 + 46.0 / 4) * (double)stage.elements, 1);
	ck_assert_int_eq(pipesim_stage_tail(&stage, &training, &rates, none),
		(gint64)rint(stage.updated / 1e3));
	training = alone;
	training.eager = TRUE;
	training.optimizer = PIPESIM_SGD;
	ck_assert(pipesim_stage_sum(model, &training, &layer, &stage, NULL));
	ck_assert_double_eq_tol(stage.updated, 6.0 * (double)stage.elements, 1);
}
END_TEST

START_TEST(scales_captures)
{
	const char *top = g_getenv("TOP_SRCDIR");
	g_autofree char *path =
		g_build_filename(top != NULL ? top : ".", "traces/h200.csv.gz", NULL);
	const char *const paths[] = {path, NULL};
	const PipesimCalibrateOptions options = {.layers = 1};
	g_autoptr(PipesimCalibration) calibration =
		pipesim_costs_from_traces(paths, &options, NULL);
	g_autofree char *layer =
		g_build_filename(top != NULL ? top : ".", "tests/input/latent-layer.ini", NULL);
	g_autoptr(PipesimTransformer) model = pipesim_transformer_read(layer, NULL);
	const PipesimTraining training = plain(4096);
	const PipesimCut one = {.layers = 1};
	PipesimPartTimes times[PIPESIM_N_PARTS];
	const gint64 *time;
	PipesimRates rates;
	PipesimStage stage;

	ck_assert(calibration != NULL && model != NULL);
	time = calibration->costs->time;
	ck_assert(pipesim_capture_rates(calibration->costs, &rates, NULL));
	ck_assert(pipesim_stage_sum(model, &training, &one, &stage, NULL));
	for (PipesimPart part = 0; part < PIPESIM_N_PARTS; part++)
		pipesim_part_times(model, &training, &rates, part, &times[part]);
	/* The router, which was not measured, is on top: 0.1 %. */
	ck_assert_double_eq_tol(
		(double)pipesim_stage_time(&stage, times, 0) / (double)time[PIPESIM_F], 1,
		0.001);
	ck_assert_double_eq_tol(
		(double)pipesim_stage_time(&stage, times, 1) / (double)time[PIPESIM_I], 1,
		0.001);
	ck_assert_double_eq_tol(
		(double)pipesim_stage_time(&stage, times, 2) / (double)time[PIPESIM_W], 1,
		0.001);
}
END_TEST

Suite *transformer_costs_suite(void)
{
	Suite *suite = suite_create("transformer-costs");
	TCase *tests = tcase_create("transformer");

	tcase_add_test(tests, counts_parameters);
	tcase_add_test(tests, counts_activations);
	tcase_add_test(tests, counts_flops);
	tcase_add_test(tests, meets_measured_peaks);
	tcase_add_test(tests, refuses_descriptions);
	tcase_add_test(tests, reads_layouts);
	tcase_add_test(tests, reads_next_layouts);
	tcase_add_test(tests, spreads_layers);
	tcase_add_test(tests, balances_stages);
	tcase_add_test(tests, balances_any_number_of_layers);
	tcase_add_test(tests, predicts_on_the_last_chunk);
	tcase_add_test(tests, reads_modules);
	tcase_add_test(tests, times_updates);
	tcase_add_test(tests, scales_captures);
	suite_add_tcase(suite, tests);
	return suite;
}
