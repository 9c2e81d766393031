/* What runs when parts of a model are computed, and what it takes on a device. */
#include "base/phases.h"
#include "shipped.h"
#include "suites.h"
#include <math.h>
#include <string.h>

static PipesimTraining training_of(guint which)
{
	PipesimTraining training = pipesim_training_on_one(4096, 1);

	training.vocab_multiple = PIPESIM_VOCAB_MULTIPLE;
	if (which == 1)
		training.tp = 4;
	if (which == 2)
		training.tp = training.dp = training.ep = 8;
	if (which == 3) {
		training.cp = 2;
		training.microbatch = 4;
		training.ep = training.dp = 4;
	}
	training.sequence_parallel = training.tp > 1;
	return training;
}

/* Sums over the kernels of a part. */
static double sum_of(const GArray *kernels, PipesimKernelKind kind, guint phase, gboolean bytes)
{
	double sum = 0;

	for (guint i = 0; i < kernels->len; i++) {
		const PipesimKernel *kernel = &g_array_index(kernels, PipesimKernel, i);

		if (kernel->kind == kind && kernel->phase == phase)
			sum += bytes ? kernel->bytes : kernel->flops;
	}
	return sum;
}

/* Products and attention have the FLOPs that the terms count. */
START_TEST(computes_what_terms_count)
{
	static const char *const names[] = {
		"llama-3-8b", "deepseek-v3", "mixtral-8x7b", "gpt-3-175b"};
	g_autoptr(PipesimTransformer) model = read_shipped(names[_i / 4]);
	const PipesimTraining training = training_of((guint)_i % 4);
	const PipesimRates rates = pipesim_device_rates(shipped_device("b200"), &training);

	for (PipesimPart part = 0; part < PIPESIM_N_PARTS; part++) {
		g_autoptr(GArray) kernels = pipesim_kernels(model, &training, part);
		PipesimTermSum sum;

		if (model->experts == 0 && training.ep > 1)
			return;
		pipesim_terms_sum(model, &training, part, &sum);
		/* And nothing takes what is no number. */
		for (guint i = 0; i < kernels->len; i++)
			ck_assert_double_ge(pipesim_kernel_seconds(&rates, &training,
						    &g_array_index(kernels, PipesimKernel, i)),
				0);
		for (guint phase = F; phase <= W; phase++)
			ck_assert_double_eq_tol(
				sum_of(kernels, PIPESIM_KERNEL_PRODUCT, phase, FALSE) +
					sum_of(kernels, PIPESIM_KERNEL_ATTENTION, phase, FALSE),
				(double)sum.of[PIPESIM_TERM_F + phase],
				1e-9 * (double)sum.of[PIPESIM_TERM_F + phase] + 1);
	}
}
END_TEST

/* Counted by hand: of a layer of Llama 3 8B norms and residuals 20 hT, RoPE 4 (q + kv) T, SwiGLU
 * 6 fT; backward 24 hT, the same, 4 qT for the attention and 10 fT; FP32 gradients are read and
 * written. */
START_TEST(moves_bytes)
{
	PipesimTraining training = training_of(0);
	g_autoptr(PipesimTransformer) model = read_shipped("llama-3-8b");
	const gint64 T = 4096, h = 4096, q = 4096, kv = 1024, f = 14336;
	const double weights = (double)(h * (2 * q + 2 * kv) + 3 * h * f);
	const double forward = (double)(20 * h * T + 4 * (q + kv) * T + 6 * f * T);
	g_autoptr(GArray) plain = pipesim_kernels(model, &training, PIPESIM_PART_DENSE);

	ck_assert_double_eq(sum_of(plain, PIPESIM_KERNEL_MOVE, F, TRUE), forward);
	ck_assert_double_eq(sum_of(plain, PIPESIM_KERNEL_MOVE, I, TRUE),
		(double)(24 * h * T + 4 * (q + kv) * T + 4 * q * T + 10 * f * T));
	ck_assert_double_eq(sum_of(plain, PIPESIM_KERNEL_MOVE, W, TRUE), 8 * weights);
	/* Rotations that are scaled take ten kernels each way instead of one. */
	model->yarn = TRUE;
	g_autoptr(GArray) scaled = pipesim_kernels(model, &training, PIPESIM_PART_DENSE);
	ck_assert_double_eq(sum_of(scaled, PIPESIM_KERNEL_MOVE, F, TRUE) - forward,
		(double)(16 * (q + kv) * T));
	model->yarn = FALSE;
	/* FP8 converts the inputs of four layers, and backward their outputs. */
	training.fp8 = TRUE;
	training.precision = PIPESIM_FP8_DS;
	g_autoptr(GArray) narrow = pipesim_kernels(model, &training, PIPESIM_PART_DENSE);
	ck_assert_double_eq(sum_of(narrow, PIPESIM_KERNEL_MOVE, F, TRUE) - forward,
		(double)(4 * (2 * h + q + f) * T));
}
END_TEST

/* torchtitan's experts are one product, whatever they are, and compiled layers move and keep no more than plain ones. */
START_TEST(torchtitan_groups_and_fuses)
{
	g_autoptr(PipesimTransformer) model = read_shipped("mixtral-8x7b");
	PipesimTraining training = pipesim_training_on_one(4096, 1);
	gint64 moved[3], kept[3], products[3] = {0};

	training.eager = TRUE;
	for (guint how = 0; how < 3; how++) { /* PyTorch's, torchtitan's, these compiled */
		PipesimTermSum sum;

		training.titan = how > 0;
		training.compiled = how > 1;
		g_autoptr(GArray) kernels =
			pipesim_kernels(model, &training, PIPESIM_PART_SPARSE);
		pipesim_terms_sum(model, &training, PIPESIM_PART_SPARSE, &sum);
		kept[how] = (gint64)sum.of[PIPESIM_TERM_UNTIL_WEIGHT];
		moved[how] = 0;
		for (guint i = 0; i < kernels->len; i++) {
			const PipesimKernel *kernel = &g_array_index(kernels, PipesimKernel, i);

			if (kernel->kind == PIPESIM_KERNEL_MOVE &&
				strcmp(kernel->what, "rows in order") != 0)
				moved[how] += (gint64)kernel->bytes;
			if (strcmp(kernel->what, "experts, second") == 0)
				products[how] = kernel->launches;
		}
	}
	ck_assert_int_eq(products[0], model->experts);
	ck_assert_int_eq(products[1], 1);
	ck_assert_int_eq(moved[0], moved[1]);
	ck_assert_int_lt(moved[2], moved[1]);
	ck_assert_int_eq(kept[0], kept[1]);
	/* Outputs of the norm ahead of attention, of SiLU and of the product with it. */
	ck_assert_int_eq(kept[1] - kept[2],
		4096 * (2 * model->hidden + 4 * model->expert_ffn * model->per_token));
}
END_TEST

/* What torchtitan's kernels beside products, attention and messages took more with context parallelism than without on H200s
 * (docs/accuracy.md, traces/context-h200x4): four layers, forward, once more and backward, ms. */
START_TEST(merges_blocks_of_context)
{
	static const double measured[] = {0, 40.4, 82.7};
	const gint64 cp = (gint64[]){1, 2, 4}[_i];
	g_autoptr(PipesimTransformer) model = read_shipped("llama-3-8b");
	PipesimTraining training = pipesim_training_on_one(32768 * cp, 1);
	const PipesimRates rates = pipesim_device_rates(shipped_device("h200"), &training);
	g_autoptr(GArray) kernels = NULL;
	double took = 0;

	training.cp = cp;
	training.eager = TRUE;
	kernels = pipesim_kernels(model, &training, PIPESIM_PART_DENSE);
	for (guint i = 0; i < kernels->len; i++) {
		const PipesimKernel *kernel = &g_array_index(kernels, PipesimKernel, i);

		if (strcmp(kernel->what, "merges of blocks") == 0)
			took += 4e3 * (kernel->phase == F ? 2 : 1) *
				pipesim_kernel_seconds(&rates, &training, kernel);
	}
	ck_assert_double_le(fabs(took - measured[_i]), 0.1 * measured[_i]);
}
END_TEST

/* Backwards do again what a module of --recompute says, and nothing beside it: bytes through
 * memory, rows to experts and back. */
START_TEST(does_again_by_module)
{
	const double T = 4096, rows = 8 * T, ffn = 2048, h = 7168, router = 24 * 256 * T;
	const double experts = 6 * ffn * rows, shared = 6 * ffn * T;
	const struct {
		guint modules;
		double bytes, sent;
	} cases[] = {
		{0, 0, 0},
		{PIPESIM_RECOMPUTE_MOE_ACT, experts, 0},
		{PIPESIM_RECOMPUTE_SHARED, shared, 0},
		{PIPESIM_RECOMPUTE_MOE_ACT | PIPESIM_RECOMPUTE_SHARED, experts + shared, 0},
		{PIPESIM_RECOMPUTE_MOE, experts + shared + 12.5 * h * rows + router,
			4 * h * rows * 7 / 8},
	};
	g_autoptr(PipesimTransformer) model = read_shipped("deepseek-v3");
	PipesimTraining training = training_of(0);

	training.ep = training.dp = 8;
	for (guint i = 0; i < G_N_ELEMENTS(cases); i++) {
		double bytes = 0, sent = 0;

		training.recompute = cases[i].modules;
		g_autoptr(GArray) kernels =
			pipesim_kernels(model, &training, PIPESIM_PART_SPARSE);
		for (guint k = 0; k < kernels->len; k++) {
			const PipesimKernel *kernel = &g_array_index(kernels, PipesimKernel, k);

			if (kernel->again && kernel->kind == PIPESIM_KERNEL_MOVE)
				bytes += kernel->bytes;
			if (kernel->again && kernel->kind == PIPESIM_KERNEL_ROWS)
				sent += kernel->bytes;
		}
		ck_assert_double_eq(bytes, cases[i].bytes);
		ck_assert_double_eq(sent, cases[i].sent);
	}
}
END_TEST

/* torchtitan's policy by hand, of Llama 3 8B: seven products, of which the second, fourth and sixth (k, output, the other half
 * of the MLP) run again with all that moves bytes but the last residual, and the gathers of TP; attention does not. The terms
 * say as much of FLOPs, and what is kept by layer. */
START_TEST(does_every_second_product_again)
{
	const double T = 4096, h = 4096, q = 4096, kv = 1024, f = 14336, tp = _i == 0 ? 1 : 4;
	const double flops = 2 * (h * kv + q * h + h * f) * T / tp;
	const double kept = 2 * h * T / tp + 2 * (2 * q + kv + f) * T / tp + 4 * 32 * T / tp +
			    2 * h * T + (tp > 1 ? 4 * h * T / tp : 0);
	g_autoptr(PipesimTransformer) model = read_shipped("llama-3-8b");
	PipesimTraining training = training_of((guint)_i);
	double products = 0, gathers = 0, moved = 0;
	PipesimTermSum sum;

	training.eager = TRUE;
	training.recompute = PIPESIM_RECOMPUTE_OPS;
	g_autoptr(GArray) kernels = pipesim_kernels(model, &training, PIPESIM_PART_DENSE);
	for (guint k = 0; k < kernels->len; k++) {
		const PipesimKernel *kernel = &g_array_index(kernels, PipesimKernel, k);

		if (!kernel->again)
			continue;
		ck_assert_int_ne(kernel->kind, PIPESIM_KERNEL_ATTENTION);
		products += kernel->kind == PIPESIM_KERNEL_PRODUCT ? kernel->flops : 0;
		gathers += kernel->kind == PIPESIM_KERNEL_TENSOR ? kernel->bytes : 0;
		moved += kernel->kind == PIPESIM_KERNEL_MOVE ? kernel->bytes : 0;
	}
	ck_assert_double_eq(products, flops);
	ck_assert_double_eq(gathers, 4 * h * T * (tp - 1) / tp);
	/* Two norms, one residual, rotations of q and k, SiLU and the product with it. */
	ck_assert_double_eq(
		moved, (8 + 6) * h * T / tp + 20 * (q + kv) * T / tp + 10 * f * T / tp);
	pipesim_terms_sum(model, &training, PIPESIM_PART_DENSE, &sum);
	ck_assert_double_eq((double)sum.of[PIPESIM_TERM_AGAIN], flops);
	ck_assert_double_eq((double)sum.of[PIPESIM_TERM_UNTIL_WEIGHT], kept);
	ck_assert_int_eq((gint64)sum.of[PIPESIM_TERM_UNTIL_INPUT], 0);
	training.recompute = 0;
	pipesim_terms_sum(model, &training, PIPESIM_PART_DENSE, &sum);
	ck_assert_double_gt((double)sum.of[PIPESIM_TERM_UNTIL_WEIGHT], 1.5 * kept);
}
END_TEST

/* FlashAttention-2 on an H100 as traces/described-h100-c has it: causal, heads of 128, GQA. */
START_TEST(runs_flash_attention_2)
{
	static const struct {
		double seq, groups, rate[2]; /* TFLOP/s */
	} measured[] = {{1024, 512, {247.2, 165.0}}, {4096, 64, {300.2, 245.5}},
		{4096, 16, {221.4, 209.5}}, {16384, 64, {341.8, 315.5}},
		{16384, 16, {332.0, 310.5}}};
	const double within[] = {0.08, 0.15};
	PipesimTraining training = training_of(0);
	PipesimKernel kernel = {
		.kind = PIPESIM_KERNEL_ATTENTION, .phase = (guint)_i, .k = 128, .flops = 1e15};
	const PipesimRates rates = pipesim_device_rates(shipped_device("h100"), &training);

	training.eager = training.flash2 = TRUE;
	for (guint i = 0; i < G_N_ELEMENTS(measured); i++) {
		training.seq = (gint64)measured[i].seq;
		kernel.groups = measured[i].groups;
		ck_assert_double_eq_tol(
			1000 / pipesim_kernel_seconds(&rates, &training, &kernel),
			measured[i].rate[_i], within[_i] * measured[i].rate[_i]);
	}
}
END_TEST

/* Layers that are computed again take their F once more, to the rounding. */
START_TEST(takes_forwards_again)
{
	PipesimDevice *device = shipped_device("b200");
	const PipesimCut cut = {.first = 10, .layers = 2};
	g_autoptr(PipesimTransformer) model =
		read_shipped(_i % 2 == 0 ? "llama-3-70b" : "deepseek-v3");
	PipesimTraining training = training_of((guint)_i / 2);

	/* Or hosts that launch too late would hide some. */
	training.graphs = PIPESIM_GRAPHS_STEP;
	const PipesimRates rates = pipesim_device_rates(device, &training);
	PipesimPartTimes times[PIPESIM_N_PARTS];
	PipesimStage once, twice;

	if (model->experts == 0 && training.ep > 1)
		return;
	for (PipesimPart part = 0; part < PIPESIM_N_PARTS; part++)
		pipesim_part_times(model, &training, &rates, part, &times[part]);
	ck_assert(pipesim_stage_sum(model, &training, &cut, &once, NULL));
	training.full = TRUE;
	ck_assert(pipesim_stage_sum(model, &training, &cut, &twice, NULL));
	ck_assert_int_le(
		ABS(pipesim_stage_time(&twice, times, I) - pipesim_stage_time(&once, times, I) -
			pipesim_stage_time(&once, times, F)),
		1);
	ck_assert_double_eq_tol(pipesim_stage_messages(&twice, times, I),
		pipesim_stage_messages(&once, times, I) +
			pipesim_stage_messages(&once, times, F),
		1e-12);
}
END_TEST

/* Seconds of a layer, F, I and W, or of its all-to-alls alone. */
static double seconds(const PipesimTransformer *model, const PipesimTraining *training,
	PipesimDevice *device, gboolean messages)
{
	const PipesimRates rates = pipesim_device_rates(device, training);
	const PipesimPart part = model->experts > 0 ? PIPESIM_PART_SPARSE : PIPESIM_PART_DENSE;
	PipesimPartTimes times;
	double sum = 0;

	pipesim_part_times(model, training, &rates, part, &times);
	for (guint phase = F; phase <= W; phase++)
		sum += messages ? times.messages[phase]
				: MAX(times.busy[phase], times.launched[phase]);
	return sum;
}

START_TEST(takes_less_where_it_should)
{
	static const char *const devices[] = {"h100", "b200", "gb200", "a100", "mi300x"};
	PipesimDevice *device = shipped_device(devices[_i]);
	g_autoptr(PipesimTransformer) dense = read_shipped("llama-3-70b");
	g_autoptr(PipesimTransformer) sparse = read_shipped("deepseek-v3");
	PipesimTraining training = training_of(0), other;

	training.tp = 8;
	training.sequence_parallel = TRUE;
	training.node = device->node;
	other = training;
	/* Collectives beside products. */
	other.tp_overlap = TRUE;
	ck_assert_double_lt(seconds(dense, &other, device, TRUE),
		0.7 * seconds(dense, &training, device, TRUE));
	/* Launches that are recorded; a small micro-batch is bound by them. */
	other = training;
	other.seq = 128;
	const double bound = seconds(dense, &other, device, FALSE);
	other.graphs = PIPESIM_GRAPHS_STEP;
	ck_assert_double_lt(seconds(dense, &other, device, FALSE), 0.6 * bound);
	/* Rows of experts: over two nodes by a token, not by a row; by a faster network. */
	training = training_of(0);
	training.node = device->node;
	training.ep = training.dp = 2 * device->node;
	training.dispatcher = PIPESIM_ALL_TO_ALL;
	if (sparse->experts % training.ep != 0)
		return;
	const double rows = seconds(sparse, &training, device, TRUE);
	other = training;
	other.dispatcher = PIPESIM_DEEPEP;
	ck_assert_double_lt(seconds(sparse, &other, device, TRUE), 0.7 * rows);
	other = training;
	other.node_bandwidth = (gint64)(2 * device->network);
	ck_assert_double_lt(seconds(sparse, &other, device, TRUE), 0.7 * rows);
}
END_TEST

/* Each collective of tensor parallelism names the product that it may go beside: the one that it feeds, or is fed by. */
START_TEST(collectives_name_their_products)
{
	g_autoptr(PipesimTransformer) model = read_shipped("llama-3-8b");
	PipesimTraining training = training_of(0);

	training.tp = 4;
	training.sequence_parallel = TRUE;
	const double h = (double)model->hidden, t = 4;
	const double wide[] = {
		(double)(pipesim_transformer_q(model) + 2 * pipesim_transformer_kv(model)) / t,
		2 * (double)model->ffn / t};
	const double narrow[] = {
		(double)pipesim_transformer_q(model) / t, (double)model->ffn / t};
	g_autoptr(GArray) kernels = pipesim_kernels(model, &training, PIPESIM_PART_DENSE);
	guint n = 0;

	for (guint k = 0; k < kernels->len; k++) {
		const PipesimKernel *kernel = &g_array_index(kernels, PipesimKernel, k);
		const guint block = n / 4, at = n % 4;

		if (kernel->kind != PIPESIM_KERNEL_TENSOR)
			continue;
		ck_assert_uint_lt(block, 2);
		ck_assert_uint_eq(kernel->phase, at / 2);
		ck_assert_double_eq(kernel->n, at % 2 == 0 ? wide[block] : h);
		ck_assert_double_eq(kernel->k, at % 2 == 0 ? h : narrow[block]);
		n++;
	}
	ck_assert_uint_eq(n, 8);
}
END_TEST

/* Graphs of the router, of layers, and of the step launch more and more; shapes of experts follow the rows that come, so only
 * the last leaves nothing to the host. Where nothing is said they are as in NVIDIA's recipes. */
START_TEST(graphs_launch_what_they_hold)
{
	static const struct {
		const char *device;
		PipesimPrecision precision;
		gboolean graph, overlap, experts;
		PipesimGraphs graphs;
	} cases[] = {{"h100", PIPESIM_BF16, FALSE, FALSE, TRUE, PIPESIM_GRAPHS_NONE},
		{"h100", PIPESIM_BF16, TRUE, TRUE, TRUE, PIPESIM_GRAPHS_LAYERS},
		{"h100", PIPESIM_BF16, TRUE, FALSE, FALSE, PIPESIM_GRAPHS_STEP},
		{"b300", PIPESIM_FP8_MX, FALSE, FALSE, TRUE, PIPESIM_GRAPHS_NONE},
		{"b300", PIPESIM_FP8_MX, TRUE, FALSE, TRUE, PIPESIM_GRAPHS_LAYERS},
		{"b300", PIPESIM_FP8_MX, TRUE, TRUE, TRUE, PIPESIM_GRAPHS_STEP},
		{"gb300", PIPESIM_FP8_MX, FALSE, FALSE, TRUE, PIPESIM_GRAPHS_STEP},
		{"gb300", PIPESIM_FP8_MX, FALSE, FALSE, FALSE, PIPESIM_GRAPHS_NONE},
		{"gb300", PIPESIM_BF16, FALSE, FALSE, TRUE, PIPESIM_GRAPHS_NONE}};
	g_autoptr(PipesimTransformer) model = read_shipped("deepseek-v3");
	PipesimTraining training = training_of(0);
	guint before = G_MAXUINT;

	for (guint graphs = PIPESIM_GRAPHS_NONE; graphs <= PIPESIM_GRAPHS_STEP; graphs++) {
		guint launches = 0, waits = 0;

		training.graphs = graphs;
		g_autoptr(GArray) kernels =
			pipesim_kernels(model, &training, PIPESIM_PART_SPARSE);
		for (guint k = 0; k < kernels->len; k++) {
			const PipesimKernel *kernel = &g_array_index(kernels, PipesimKernel, k);

			launches += kernel->launches;
			waits += kernel->kind == PIPESIM_KERNEL_WAIT;
		}
		ck_assert_uint_lt(launches, before);
		ck_assert_uint_eq(waits, graphs != PIPESIM_GRAPHS_STEP);
		before = launches;
	}
	ck_assert_uint_eq(before, 0);
	for (guint i = 0; i < G_N_ELEMENTS(cases); i++) {
		training = training_of(0);
		training.node = shipped_device(cases[i].device)->node;
		training.precision = cases[i].precision;
		training.graph = cases[i].graph;
		training.ep_overlap = cases[i].overlap;
		pipesim_training_set_graphs(&training, cases[i].experts);
		ck_assert_uint_eq(training.graphs, cases[i].graphs);
		/* Given, they stay. */
		training.graphs = PIPESIM_GRAPHS_NONE;
		pipesim_training_set_graphs(&training, cases[i].experts);
		ck_assert_uint_eq(training.graphs, PIPESIM_GRAPHS_NONE);
	}
}
END_TEST

/* Who brings rows where nobody says: Megatron-LM's own within a node, one that knows nodes beyond, and with graphs HybridEP. A
 * token goes once to a rank, whichever of its experts it has; in FP8 by DeepEP alone, and beyond a node. */
START_TEST(dispatches_as_recipes_do)
{
	g_autoptr(PipesimTransformer) model = read_shipped("deepseek-v3");
	PipesimDevice *device = shipped_device("h100");
	PipesimTraining training = training_of(0), other;

	training.node = device->node;
	training.ep = training.dp = 8;
	ck_assert_uint_eq(pipesim_training_dispatcher(&training), PIPESIM_ALL_TO_ALL);
	other = training;
	other.graphs = PIPESIM_GRAPHS_LAYERS;
	ck_assert_uint_eq(pipesim_training_dispatcher(&other), PIPESIM_HYBRIDEP);
	other = training;
	other.dispatcher = PIPESIM_HYBRIDEP;
	/* Of eight rows 5.25 ranks of eight get one at least. */
	ck_assert_double_lt(seconds(model, &other, device, TRUE),
		0.7 * seconds(model, &training, device, TRUE));
	other = training;
	other.fp8 = TRUE;
	other.precision = PIPESIM_FP8_DS;
	ck_assert_double_eq(
		seconds(model, &other, device, TRUE), seconds(model, &training, device, TRUE));
	other.ep = other.dp = training.ep = training.dp = 16;
	ck_assert_uint_eq(pipesim_training_dispatcher(&training), PIPESIM_DEEPEP);
	ck_assert_double_lt(seconds(model, &other, device, TRUE),
		0.9 * seconds(model, &training, device, TRUE));
	other.dispatcher = training.dispatcher = PIPESIM_HYBRIDEP;
	ck_assert_double_eq(
		seconds(model, &other, device, TRUE), seconds(model, &training, device, TRUE));
}
END_TEST

/* 28 bytes an element of the rows forward and 40 backward, by kernels for each of 2 experts and two for all; none of the
 * host's where a graph holds them, and nothing at all in the kernels of MXFP8 that such a step has, but for experts of a width
 * that these have no tiles for. */
START_TEST(adds_biases_of_experts)
{
	g_autoptr(PipesimTransformer) model = read_shipped("mixtral-8x7b");
	PipesimTraining training = training_of(3);
	const PipesimGraphs graphs[] = {PIPESIM_GRAPHS_NONE, PIPESIM_GRAPHS_STEP};
	const double rows = (double)pipesim_training_tokens(&training) * 2 * 4096;

	for (guint i = 0; i < 8; i++) {
		g_autoptr(GArray) kernels = NULL;
		double bytes[2] = {0};
		guint plain = 0;

		model->ffn_bias = i < 4 || i > 5;
		model->expert_ffn = i > 5 ? 14400 : 14336;
		training.graphs = graphs[i % 2];
		training.precision = i / 2 % 2 == 1 ? PIPESIM_FP8_MX : PIPESIM_BF16;
		training.fp8 = i / 2 % 2 == 1;
		kernels = pipesim_kernels(model, &training, PIPESIM_PART_SPARSE);
		for (guint k = 0; k < kernels->len; k++) {
			const PipesimKernel *one = &g_array_index(kernels, PipesimKernel, k);

			if (strcmp(one->what, "bias of experts") == 0)
				bytes[one->phase] += one->bytes;
			plain += one->plain;
		}
		ck_assert_double_eq(bytes[F], i < 3 || i > 5 ? 28 * rows : 0);
		ck_assert_double_eq(bytes[I], i < 3 || i > 5 ? 40 * rows : 0);
		ck_assert_uint_eq(plain, i == 0 || i == 2 || i == 6 ? 6 + 14 : 0);
	}
}
END_TEST

/* On nodes of 8 with TP 2 and EP 8 four ranks of a node share gradients of dense layers, each with a NIC, and one those of an
 * expert; in one node both go over links. */
START_TEST(reduces_experts_apart)
{
	PipesimDevice *device = shipped_device("h100");
	PipesimTraining training = training_of(0);

	training.tp = 2;
	training.ep = 8;
	training.dp = 16;
	for (guint routed = 0; routed < 2; routed++)
		ck_assert_double_eq(pipesim_device_reduce(device, &training, routed != 0),
			(routed ? 1 : 4) * device->far * device->network);
	training.ep = training.dp = 4;
	for (guint routed = 0; routed < 2; routed++)
		ck_assert_double_eq(pipesim_device_reduce(device, &training, routed != 0),
			device->link * device->ring);
}
END_TEST

/* What parts add to a stage at least is never more than the stage takes, whether its GPUs or its
 * hosts bind it, or one in some parts and the other in others. */
START_TEST(adds_up_to_no_more_than_stages)
{
	static const gint64 seqs[] = {128, 512, 1024, 2048, 4096, 8192};
	g_autoptr(PipesimTransformer) model = read_shipped("llama-3-8b");
	PipesimTraining training = training_of(0);
	const PipesimCut whole = {.layers = model->layers, .embedding = TRUE, .head = TRUE};
	PipesimPartTimes times[PIPESIM_N_PARTS];
	PipesimCutter *cutter;
	PipesimStage stage;

	training.seq = seqs[_i];
	const PipesimRates rates = pipesim_device_rates(shipped_device("b200"), &training);
	cutter = pipesim_cutter_new(pipesim_transformer_copy(model), &training, NULL, &rates);
	for (PipesimPart part = 0; part < PIPESIM_N_PARTS; part++)
		pipesim_part_times(model, &training, &rates, part, &times[part]);
	ck_assert(pipesim_stage_sum(model, &training, &whole, &stage, NULL));
	for (guint phase = F; phase <= W; phase++) {
		gint64 sum = 0;

		for (PipesimPart part = 0; part < PIPESIM_N_PARTS; part++) {
			gint64 ns[4];

			pipesim_cutter_part_times(cutter, part, ns);
			sum += pipesim_part_count(model, part) * ns[phase];
		}
		ck_assert_int_le(sum, pipesim_stage_time(&stage, times, phase) + 64);
		ck_assert_int_ge(sum, pipesim_stage_time(&stage, times, phase) - 64);
	}
	cutter->free(cutter);
}
END_TEST

/* devices/h100.ini with the first @from replaced by @to. (transfer full): NULL with @error. */
static PipesimDevice *read_changed(const char *from, const char *to, GError **error)
{
	const char *top = g_getenv("TOP_SRCDIR");
	g_autofree char *path =
		g_build_filename(top != NULL ? top : ".", "devices/h100.ini", NULL);
	g_autofree char *text = NULL, *changed = NULL;
	g_auto(GStrv) halves = NULL;

	ck_assert(g_file_get_contents(path, &text, NULL, NULL));
	halves = g_strsplit(text, from, 2);
	ck_assert_ptr_nonnull(halves[1]);
	changed = g_strconcat(halves[0], to, halves[1], NULL);
	return pipesim_device_parse(
		pipesim_ini_parse(changed, strlen(changed), "x", error), "x", error);
}

/* PyTorch's own modules: hosts launch forwards and backwards at a speed each, backwards as forwards where one is told. */
START_TEST(launches_either_way)
{
	static const char *const hosts[] = {
		"kernel = 8us", "kernel = 8us\n[measured]\nkernel_backward = 16us\n[host]"};
	g_autoptr(PipesimTransformer) model = read_shipped("llama-3-8b");
	PipesimTraining training = training_of(0);
	PipesimPartTimes times[2];

	training.eager = TRUE;
	for (guint i = 0; i < 2; i++) {
		g_autoptr(PipesimDevice) device = read_changed(hosts[0], hosts[i], NULL);
		const PipesimRates rates = pipesim_device_rates(device, &training);

		pipesim_part_times(model, &training, &rates, PIPESIM_PART_DENSE, &times[i]);
	}
	ck_assert_double_gt(times[0].launched[0], 0);
	for (guint phase = 0; phase < 3; phase++)
		ck_assert_double_eq_tol((phase == 0 ? 1 : 2) * times[0].launched[phase],
			times[1].launched[phase], 1e-12);
}
END_TEST

/* A layer of experts that runs beside another is four operations of the host more, each way, unless a graph holds the step; in
 * DeepSeek's own modules it is not Megatron-Core's. */
START_TEST(launches_nodes_of_pairs)
{
	PipesimDevice *device = shipped_device("h100");
	g_autoptr(PipesimTransformer) model = read_shipped("mixtral-8x7b");
	PipesimTraining training = training_of(0);
	const PipesimRates rates = pipesim_device_rates(device, &training);

	training.ep = 8;
	for (guint i = 0; i < 3; i++) {
		const double more = i == 0 ? 4 * device->launch : 0;
		PipesimPartTimes times[2];

		training.graphs = i == 1 ? PIPESIM_GRAPHS_STEP : PIPESIM_GRAPHS_NONE;
		training.deepseek = i == 2;
		for (guint overlap = 0; overlap < 2; overlap++) {
			training.ep_overlap = overlap != 0;
			pipesim_part_times(
				model, &training, &rates, PIPESIM_PART_SPARSE, &times[overlap]);
		}
		ck_assert_double_eq_tol(
			times[1].launched[I] - times[0].launched[I], more, 1e-12);
		ck_assert_double_eq_tol(times[1].launched[F] + times[1].ahead -
						times[0].launched[F] - times[0].ahead,
			more, 1e-12);
	}
}
END_TEST

/* A product that fills the chip takes what large ones reach; one that fills it by half, twice
 * that; none takes less for more rows; a measured one takes what was measured. */
START_TEST(fills_the_chip)
{
	g_autoptr(PipesimDevice) measured =
		read_changed("[host]", "[measured]\nbf16 512 1024 4096 = 0.3\n[host]", NULL);
	PipesimDevice *device = shipped_device("h100");
	const double large =
		pipesim_device_product(device, PIPESIM_TYPE_BF16, 0.7, 65536, 65536, 65536, 1);
	double before = 0;

	ck_assert_double_eq_tol(large, 0.7, 0.01);
	ck_assert_double_eq_tol(
		pipesim_device_product(device, PIPESIM_TYPE_BF16, 0.7, 67 * 128, 256, 65536, 1),
		large / 2, 0.01);
	for (double m = 64; m < 20000; m += 64) {
		const double took = m / pipesim_device_product(device, PIPESIM_TYPE_BF16, 0.7,
						m, 8192, 8192, 1);

		ck_assert_double_ge(took, before * 0.999);
		before = took;
	}
	ck_assert_double_eq_tol(
		pipesim_device_product(measured, PIPESIM_TYPE_BF16, 0, 512, 1024, 4096, 1), 0.3,
		1e-6);
}
END_TEST

/* Faults of a device's file: where, what, and what to do. */
START_TEST(refuses_devices)
{
	static const struct {
		const char *from, *to, *message;
	} faults[] = {{"bf16 = 989.4", "bf16 = 0", "bf16: '0'; TFLOP/s, above 0"},
		{"bf16 = 989.4", "", "[pipesim-device] has no bf16; add it"},
		{"elements = ", "element = ", "[reach] has no key 'element'"},
		{"copies = 0.89", "copies = 1.1", "a share of what the maker says"},
		{"products_fp8 = ", "# ", "no products_fp8, but there is a peak of fp8"},
		{"[host]", "[hosts]", "no such group as [hosts]"},
		{"gap = 2us", "gap = 2us\ngap = 3us", "'gap' is given twice"},
		{"[host]", "[measured]\nbf16 1 2 = 0.3\n[host]", "M, N, K of a product"},
		{"[host]", "[measured]\nbf16 1 2 0 = 0.3\n[host]", "K: '0'"},
		{"threshold_ppm = 785496", "threshold_ppm = 1000000", "threshold_ppm"},
		{"waiting_load_ppm = ", "# ", "[power] has no waiting_load_ppm; add it"},
		{"time_constant_ns = 38660000", "time_constant_ns = 1;2", "one whole number"},
		{"load_ppm = 949284;", "load_ppm = ", "five whole numbers, of F;I;W;B;FB"},
		{"[power]", "[measured]\nload_ppm = 1\n[power]", "M, N, K of a product"},
		{"version = 1", "version = 2", "version"}};

	for (guint i = 0; i < G_N_ELEMENTS(faults); i++) {
		GError *error = NULL;

		ck_assert_ptr_null(read_changed(faults[i].from, faults[i].to, &error));
		ck_assert_msg(g_error_matches(error, PIPESIM_ERROR, PIPESIM_ERROR_PARSE) &&
				      strstr(error->message, faults[i].message) != NULL,
			"%s: %s", faults[i].to, error->message);
		g_error_free(error);
	}
}
END_TEST

Suite *transformer_kernels_suite(void)
{
	Suite *suite = suite_create("transformer-kernels");
	TCase *tests = tcase_create("kernels");

	tcase_add_loop_test(tests, computes_what_terms_count, 0, 16);
	tcase_add_test(tests, moves_bytes);
	tcase_add_test(tests, torchtitan_groups_and_fuses);
	tcase_add_loop_test(tests, merges_blocks_of_context, 0, 3);
	tcase_add_test(tests, does_again_by_module);
	tcase_add_loop_test(tests, does_every_second_product_again, 0, 2);
	tcase_add_loop_test(tests, runs_flash_attention_2, 0, 2);
	tcase_add_loop_test(tests, takes_forwards_again, 0, 8);
	tcase_add_loop_test(tests, takes_less_where_it_should, 0, 5);
	tcase_add_test(tests, collectives_name_their_products);
	tcase_add_test(tests, graphs_launch_what_they_hold);
	tcase_add_test(tests, dispatches_as_recipes_do);
	tcase_add_test(tests, adds_biases_of_experts);
	tcase_add_test(tests, reduces_experts_apart);
	tcase_add_loop_test(tests, adds_up_to_no_more_than_stages, 0, 6);
	tcase_add_test(tests, launches_either_way);
	tcase_add_test(tests, launches_nodes_of_pairs);
	tcase_add_test(tests, fills_the_chip);
	tcase_add_test(tests, refuses_devices);
	suite_add_tcase(suite, tests);
	return suite;
}
