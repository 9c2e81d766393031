/* What the parts of a model hold and compute, against papers, captures and Megatron-LM's own formula. */
#include "shipped.h"
#include "suites.h"
#include "transformer/cutter.h"
#include "transformer/reserve.h"
#include "transformer/theory.h"
#include <string.h>

static PipesimTraining plain(gint64 tokens)
{
	return pipesim_training_on_one(tokens, 1);
}

/* Activations of one layer. */
static gint64 layer_bytes(
	const PipesimTransformer *model, const PipesimTraining *training, PipesimPart part)
{
	PipesimTermSum sum;

	pipesim_terms_sum(model, training, part, &sum);
	return (gint64)(sum.of[PIPESIM_TERM_UNTIL_INPUT] + sum.of[PIPESIM_TERM_UNTIL_WEIGHT]);
}

static gint64 part_sum(const PipesimTransformer *model, const PipesimTraining *training,
	PipesimPart part, PipesimTermSort sort)
{
	PipesimTermSum sum;

	pipesim_terms_sum(model, training, part, &sum);
	return (gint64)sum.of[sort];
}

/* Korthikanti et al., arXiv 2205.05198, table 2, on GPT-3 175B: what the paper leaves out, statistics of norms
 * and log-sum-exp, is 4 a + 16 bytes a token. */
START_TEST(counts_as_korthikanti)
{
	g_autoptr(PipesimTransformer) gpt = read_shipped("gpt-3-175b");
	PipesimTraining training = plain(2048);
	gint64 rest = 2048 * (16 + 4 * 96);

	training.unfused = TRUE;
	ck_assert_int_eq(layer_bytes(gpt, &training, PIPESIM_PART_DENSE) - rest, 2868903936);
	training.tp = 8;
	rest = 2048 * (16 + 4 * 96 / 8);
	ck_assert_int_eq(layer_bytes(gpt, &training, PIPESIM_PART_DENSE) - rest, 578813952);
	training.sequence_parallel = TRUE;
	rest /= 1;
	rest = 2048 / 8 * 16 + 2048 * 4 * 96 / 8;
	ck_assert_int_eq(layer_bytes(gpt, &training, PIPESIM_PART_DENSE) - rest, 358612992);
	training.recompute = PIPESIM_RECOMPUTE_CORE;
	ck_assert_int_eq(layer_bytes(gpt, &training, PIPESIM_PART_DENSE) - rest, 106954752);
}
END_TEST

/* megatron/core/models/common/embeddings/rope_utils.py: q and k are each multiplied by a table of s x d cosines and one of sines
 * in BF16, made anew, that autograd keeps: 8 s d bytes, whatever the micro-batch; where up-projections are computed again they
 * are made again. YaRN's factor does so unasked, PyTorch's own modules share one table. */
START_TEST(keeps_angles)
{
	g_autoptr(PipesimTransformer) heads = read_shipped("mixtral-8x7b");
	g_autoptr(PipesimTransformer) latent = read_shipped("deepseek-v3");
	PipesimTraining training = plain(4096);
	gint64 fused;

	training.microbatch = 2;
	fused = layer_bytes(heads, &training, PIPESIM_PART_SPARSE);
	heads->yarn = TRUE;
	ck_assert_int_eq(
		layer_bytes(heads, &training, PIPESIM_PART_SPARSE) - fused, 8 * 4096 * 128);
	heads->yarn = FALSE;
	training.tp = 2;
	training.cp = 4;
	fused = layer_bytes(heads, &training, PIPESIM_PART_SPARSE);
	training.unfused_rope = TRUE;
	ck_assert_int_eq(
		layer_bytes(heads, &training, PIPESIM_PART_SPARSE) - fused, 8 * 1024 * 128);
	training = plain(4096);
	fused = layer_bytes(latent, &training, PIPESIM_PART_SPARSE);
	training.unfused_rope = TRUE;
	ck_assert_int_eq(
		layer_bytes(latent, &training, PIPESIM_PART_SPARSE) - fused, 8 * 4096 * 64);
	training.recompute = PIPESIM_RECOMPUTE_MLA_UP;
	fused = layer_bytes(latent, &training, PIPESIM_PART_SPARSE);
	training.unfused_rope = FALSE;
	ck_assert_int_eq(layer_bytes(latent, &training, PIPESIM_PART_SPARSE), fused);
	training = plain(4096);
	training.eager = TRUE;
	fused = layer_bytes(heads, &training, PIPESIM_PART_SPARSE);
	training.unfused_rope = TRUE;
	ck_assert_int_eq(layer_bytes(heads, &training, PIPESIM_PART_SPARSE), fused);
}
END_TEST

/* What pith-train measured outside of PyTorch on 32 H100s, PP 4 and EP 8 in nodes of eight; more ranks, groups and bytes
 * never need less. */
START_TEST(reserves)
{
	PipesimTraining training = plain(4096);
	PipesimReserve reserve, least, most;
	gint64 before;

	reserve = pipesim_reserve(&training, 1, 8, 0, PIPESIM_RESERVE_USUAL);
	ck_assert_int_eq(reserve.communicators + reserve.connections + reserve.allocator, 0);
	training.dp = training.ep = 8;
	ck_assert_uint_eq(pipesim_reserve_communicators(&training, 4), 4);
	reserve = pipesim_reserve(&training, 4, 8, 0, PIPESIM_RESERVE_USUAL);
	ck_assert_double_eq_tol((double)pipesim_reserve_sum(&reserve) / (1 << 30), 5.84, 0.02);
	/* Behind its node an all-to-all needs no more. */
	training.dp = training.ep = 64;
	before = pipesim_reserve(&training, 4, 8, 0, PIPESIM_RESERVE_USUAL).connections;
	ck_assert_int_eq(before, reserve.connections);
	for (guint i = 0; i < 6; i++) {
		const gint64 peak = (gint64)60000000000;

		training = plain(4096);
		*(gint64 *[]){&training.dp, &training.tp, &training.cp, &training.ep}[i % 4] =
			8;
		training.dp = MAX(training.dp, training.ep);
		least = pipesim_reserve(&training, 4, 8, peak, PIPESIM_RESERVE_LEAST);
		reserve = pipesim_reserve(&training, 4, 8, peak, PIPESIM_RESERVE_USUAL);
		most = pipesim_reserve(&training, 4, 8, peak, PIPESIM_RESERVE_MOST);
		before = pipesim_reserve_sum(&least);
		ck_assert_int_gt(before, peak / 50);
		ck_assert_int_gt(pipesim_reserve_sum(&reserve), before);
		ck_assert_int_gt(pipesim_reserve_sum(&most), pipesim_reserve_sum(&reserve));
		ck_assert_int_lt(pipesim_reserve_sum(&most), peak / 4);
	}
}
END_TEST

/* arXiv 2412.19437, sections 3.2.3 and 3.3.3: of a layer with experts wait the residual twice, statistics and router, both latents
 * ahead of their norms, attention's output in 12 bits, rows of experts and the inputs of both SwiGLU in FP8. */
START_TEST(keeps_as_deepseek)
{
	g_autoptr(PipesimTransformer) model = read_shipped("deepseek-v3");
	const gint64 T = 4096, Tk = 8 * T;
	PipesimTraining training = plain(T);
	PipesimCut cut = {.first = 59, .layers = 2, .head = TRUE, .mtp = 1, .losses = 1};
	PipesimStage stage, other;

	training.fp8 = training.deepseek = TRUE;
	ck_assert_int_eq(layer_bytes(model, &training, PIPESIM_PART_SPARSE),
		T * (4 * 7168 + 8 + 9 * 256 + 2 * (1536 + 512) + 4 * 128 + 3 * 128 * 128 / 2 +
			    2 * 2048) +
			Tk * (7168 + 2 * 2048 + 4));
	/* In BF16 the same tensors have their two bytes. */
	training.fp8 = FALSE;
	ck_assert_int_eq(layer_bytes(model, &training, PIPESIM_PART_SPARSE),
		T * (4 * 7168 + 8 + 9 * 256 + 2 * (1536 + 512) + 4 * 128 + 2 * 128 * 128 +
			    4 * 2048) +
			Tk * (2 * 7168 + 4 * 2048 + 4));
	/* Tokens are looked up in the embedding of the first stage, on the same rank. */
	ck_assert(pipesim_stage_sum(model, &training, &cut, &stage, NULL));
	training.deepseek = FALSE;
	ck_assert(pipesim_stage_sum(model, &training, &cut, &other, NULL));
	ck_assert_int_eq(other.elements - stage.elements, 7168 * 129280);
}
END_TEST

/* By version of Megatron-Core: what stays of the head, beside its backward's own, and logits that wait. */
START_TEST(keeps_the_head)
{
	const guint head = 1u << PIPESIM_PART_HEAD, loss = PIPESIM_PART_LOSS;
	g_autoptr(PipesimTransformer) model = read_shipped("deepseek-v3");
	const gint64 gathered = 2 * 7168 * 4096, dummy = 2 * 64640 * 7168;
	const gint64 logits = 64640 * 4096;
	PipesimTraining training = plain(4096);
	gint64 transient, waiting;

	training.tp = 2;
	ck_assert_int_eq(pipesim_stage_fixed(model, &training, head), dummy);
	training.sequence_parallel = TRUE;
	ck_assert_int_eq(pipesim_stage_fixed(model, &training, head), dummy + gathered);
	training.loss = PIPESIM_LOSS_TE;
	transient = part_sum(model, &training, PIPESIM_PART_HEAD, PIPESIM_TERM_TRANSIENT);
	ck_assert_int_eq(transient, 2 * logits + gathered + gathered / 2);
	training.loss = PIPESIM_LOSS_MEGATRON;
	waiting = part_sum(model, &training, loss, PIPESIM_TERM_UNTIL_INPUT);
	training.megatron = PIPESIM_MEGATRON_0_15;
	ck_assert_int_eq(part_sum(model, &training, loss, PIPESIM_TERM_UNTIL_INPUT),
		waiting + 2 * logits);
	ck_assert_int_eq(pipesim_stage_fixed(model, &training, head), dummy + gathered);
	training.megatron = PIPESIM_MEGATRON_0_13;
	training.loss = PIPESIM_LOSS_TE;
	ck_assert_int_eq(pipesim_stage_fixed(model, &training, head), gathered);
	ck_assert_int_eq(part_sum(model, &training, PIPESIM_PART_HEAD, PIPESIM_TERM_TRANSIENT),
		transient + dummy);
	training.megatron = PIPESIM_MEGATRON_NOW;
	training.no_dummies = TRUE;
	ck_assert_int_eq(pipesim_stage_fixed(model, &training, head), gathered);
}
END_TEST

static PipesimTransformer *parse(const char *text)
{
	PipesimTransformer *model =
		pipesim_transformer_parse(text, strlen(text), "text.ini", NULL);

	ck_assert_ptr_nonnull(model);
	return model;
}

/* A layer of an encoder is one of a model of its own that reads its images, but for attention without a mask, which
 * computes the whole square; all of them are in the model's parts. */
START_TEST(encodes_as_a_model_of_its_own)
{
	g_autoptr(PipesimTransformer) model =
		parse("[pipesim-model]\nversion=1\nlayers=4\nhidden=1024\nffn=4096\nheads="
		      "8\nvocab=32000\n"
		      "[encoder]\nlayers=6\nhidden=512\nffn=2048\nheads=8\npatches=256\n");
	g_autoptr(PipesimTransformer) own = parse(
		"[pipesim-model]\nversion=1\nlayers=6\nhidden=512\nffn=2048\nheads=8\nvocab=0\n"
		"activation=gelu\nnorm=layernorm\nqkv_bias=yes\noutput_bias=yes\nffn_bias="
		"yes\n");
	PipesimTraining training = plain(4096), images = plain(256);
	const PipesimCut encoders = {.encoders = 6}, layers = {.layers = 6, .follows = TRUE};
	PipesimStage a, b;

	ck_assert_int_eq(pipesim_part_count(model, PIPESIM_PART_ENCODER), 0);
	model->encoder_stages = 1;
	ck_assert_int_eq(pipesim_part_count(model, PIPESIM_PART_ENCODER), 6);
	training.images = 3;
	training.patches = 256;
	training.cp = 2;
	images.microbatch = 3;
	images.cp = 1;
	ck_assert(pipesim_stage_sum(model, &training, &encoders, &a, NULL));
	training.cp = 1;
	ck_assert(pipesim_stage_sum(model, &training, &encoders, &a, NULL));
	ck_assert(pipesim_stage_sum(own, &images, &layers, &b, NULL));
	ck_assert_int_eq(a.elements, b.elements);
	ck_assert_int_eq(a.until_input, b.until_input);
	ck_assert_int_eq(a.until_weight, b.until_weight);
	for (guint phase = 0; phase < 3; phase++) {
		ck_assert_double_eq(
			a.flops[PIPESIM_WORK_MLP][phase], b.flops[PIPESIM_WORK_MLP][phase]);
		ck_assert_double_eq(a.flops[PIPESIM_WORK_CORE][phase],
			2 * b.flops[PIPESIM_WORK_CORE][phase]);
	}
	training.full = TRUE;
	images.full = TRUE;
	ck_assert(pipesim_stage_sum(model, &training, &encoders, &a, NULL));
	ck_assert(pipesim_stage_sum(own, &images, &layers, &b, NULL));
	ck_assert_int_eq(a.until_input, b.until_input);
	ck_assert_int_eq(a.transient, b.transient);
}
END_TEST

/* One layer and the embedding: weights of linear layers in FP8 too, as they are and transposed; norms and the embedding
 * stay. Of parameters in FP8 the second copy alone, which ranks do not share. */
START_TEST(copies_weights_to_fp8)
{
	const gint64 linear = 4096 * 4096 * 2 + 4096 * 1024 * 2 + 3 * 4096 * 14336;
	const gint64 rest = 128256 * 4096 + 2 * 4096;
	const PipesimCut cut = {.layers = 1, .embedding = TRUE};
	g_autoptr(PipesimTransformer) model = read_shipped("llama-3-8b");
	PipesimTraining training = plain(4096);
	PipesimStage stage;

	training.dp = 4;
	training.fp8 = TRUE;
	ck_assert(pipesim_stage_sum(model, &training, &cut, &stage, NULL));
	ck_assert_int_eq(stage.parameters, 2 * (linear + rest) + 2 * linear);
	ck_assert_int_eq(stage.gathered, 2 * (linear + rest));
	training.fp8_parameters = TRUE;
	ck_assert(pipesim_stage_sum(model, &training, &cut, &stage, NULL));
	ck_assert_int_eq(stage.parameters, 2 * rest + linear + linear);
	ck_assert_int_eq(stage.gathered, 2 * rest + linear);
	training.zero = PIPESIM_ZERO_3;
	ck_assert(pipesim_stage_sum(model, &training, &cut, &stage, NULL));
	ck_assert_int_eq(stage.parameters, (2 * rest + linear) / 4 + linear);
	/* FSDP2 that reduces in BF16, as it gathers, and in FP32. */
	training = plain(4096);
	training.zero = PIPESIM_ZERO_FSDP;
	ck_assert(pipesim_stage_sum(model, &training, &cut, &stage, NULL));
	ck_assert_int_eq(stage.gradients, 2 * (linear + rest));
	training.zero = PIPESIM_ZERO_FSDP_FP32;
	ck_assert(pipesim_stage_sum(model, &training, &cut, &stage, NULL));
	ck_assert_int_eq(stage.gradients, 4 * (linear + rest));
}
END_TEST

/* Of a stage that was captured (traces/accuracy-h200x2/even-4096-4.csv.gz): after F but for the seeds of dropout, what I
 * adds, what W and B need. */
START_TEST(counts_pytorch)
{
	PipesimTransformer model = {.name = (char *)"even-4096",
		.layers = 4,
		.hidden = 4096,
		.ffn = 16384,
		.heads = 32,
		.kv_heads = 32,
		.head_dim = 128};
	PipesimTraining training = plain(4096);
	PipesimTermSum sum;

	training.eager = TRUE;
	pipesim_terms_sum(&model, &training, PIPESIM_PART_DENSE, &sum);
	ck_assert_int_eq((gint64)sum.of[PIPESIM_TERM_UNTIL_INPUT], 0);
	ck_assert_int_eq((gint64)sum.of[PIPESIM_TERM_UNTIL_WEIGHT], 537428992 - 1024);
	ck_assert_int_eq((gint64)sum.of[PIPESIM_TERM_BETWEEN], 906527744 - 537428992);
	ck_assert_int_eq((gint64)sum.of[PIPESIM_TERM_TRANSIENT], 268435456);
	ck_assert_int_eq((gint64)sum.of[PIPESIM_TERM_TRANSIENT_WEIGHT], 167763968 + 2 * 4096);
	training.full = TRUE;
	training.microbatch = 2;
	training.seq = 2048;
	pipesim_terms_sum(&model, &training, PIPESIM_PART_DENSE, &sum);
	/* Two layers under checkpoint() leave half of six computations of the first. */
	ck_assert_int_eq((gint64)sum.again_most / 1000000, 2385);
	ck_assert_int_eq(
		(gint64)(sum.again_most + sum.again_left) / 10000000, 3630182400 / 10000000);
}
END_TEST

/* checkpoint() under a split backward: all but the last product of the layer, for I and for each of six weights; the
 * first stage has no I. */
START_TEST(recomputes_for_each_weight)
{
	const PipesimTransformer model = {.name = (char *)"gelu",
		.layers = 2,
		.hidden = 1024,
		.ffn = 4096,
		.heads = 8,
		.kv_heads = 8,
		.head_dim = 128};
	const PipesimCut first = {.layers = 1, .embedding = TRUE},
			 next = {.first = 1, .layers = 1};
	const gint64 linear = 24 * 1024 * 1024, core = 2 * 1024 * 512; /* FLOPs a token */
	const gint64 once = 512 * (linear - 2 * 1024 * 4096 + core);
	PipesimTraining training = plain(512);
	PipesimPartTimes times[PIPESIM_N_PARTS];
	PipesimStage stage;
	PipesimRates rates = {0};

	for (guint work = 0; work < PIPESIM_N_WORK; work++)
		for (guint phase = 0; phase < 3; phase++)
			rates.rate[work][phase] = 1e9;
	training.eager = training.full = TRUE;
	for (PipesimPart part = 0; part < PIPESIM_N_PARTS; part++)
		pipesim_part_times(&model, &training, &rates, part, &times[part]);
	ck_assert(pipesim_stage_sum(&model, &training, &next, &stage, NULL));
	ck_assert_int_eq(
		pipesim_stage_time(&stage, times, 1), 512 * (linear + core * 5 / 2) + once);
	ck_assert_int_eq(
		pipesim_stage_split(&stage, times, 1), pipesim_stage_time(&stage, times, 1));
	ck_assert_int_eq(pipesim_stage_time(&stage, times, 2), 512 * linear);
	ck_assert_int_eq(pipesim_stage_split(&stage, times, 2), 512 * linear + 6 * once);
	ck_assert(pipesim_stage_sum(&model, &training, &first, &stage, NULL));
	ck_assert_int_eq(pipesim_stage_split(&stage, times, 1), 0);
	ck_assert_int_eq(pipesim_stage_split(&stage, times, 2),
		512 * (2 * linear + core * 5 / 2) + once);
	/* Megatron-LM computes a layer once more, whole. */
	training.eager = FALSE;
	for (PipesimPart part = 0; part < PIPESIM_N_PARTS; part++)
		pipesim_part_times(&model, &training, &rates, part, &times[part]);
	ck_assert(pipesim_stage_sum(&model, &training, &next, &stage, NULL));
	ck_assert_int_eq(
		pipesim_stage_split(&stage, times, 1), 512 * (2 * linear + core * 7 / 2));
	ck_assert_int_eq(pipesim_stage_split(&stage, times, 2), 512 * linear);
}
END_TEST

/* What Megatron prints. */
START_TEST(prints_as_megatron)
{
	PipesimTraining training = plain(2048);
	g_autoptr(PipesimTransformer) gpt = read_shipped("gpt-3-175b");
	PipesimTheory theory;

	gpt->vocab = 51200;
	training.tp = 8;
	theory = pipesim_theory(gpt, &training, 8, 3, 64);
	ck_assert_double_eq_tol(theory.weights / 1048576, 48016.18, 0.005);
	ck_assert_double_eq_tol(theory.parameters / 1e9, 2.7971, 0.00005);
	ck_assert_double_eq_tol(theory.activations / 1048576, 12679.02, 0.005);
	ck_assert_uint_eq(theory.in_flight, 11);

	/* MT-NLG 530B. */
	gpt->layers = 105;
	gpt->hidden = 20480;
	gpt->ffn = 81920;
	gpt->heads = gpt->kv_heads = 128;
	gpt->head_dim = 160;
	theory = pipesim_theory(gpt, &training, 35, 3, 280);
	ck_assert_double_eq_tol(theory.weights / 1048576, 34654.24, 0.005);
	ck_assert_double_eq_tol(theory.activations / 1048576, 23861.76, 0.005);
	ck_assert_uint_eq(theory.in_flight, 47);

	g_autoptr(PipesimTransformer) llama = read_shipped("llama-3-405b");

	training = plain(8192);
	training.tp = training.dp = 8;
	training.zero = PIPESIM_ZERO_1;
	theory = pipesim_theory(llama, &training, 16, 0, 64);
	ck_assert_double_eq_tol(theory.weights / 1048576, 24324.35, 0.005);
	ck_assert_double_eq_tol(theory.parameters / 1e9, 3.4008, 0.00005);
	ck_assert_double_eq_tol(theory.activations / 1048576, 62752.12, 0.005);

	g_autoptr(PipesimTransformer) deepseek = read_shipped("deepseek-v3");

	training = plain(4096);
	training.ep = 64;
	training.dp = 128;
	training.zero = PIPESIM_ZERO_1;
	theory = pipesim_theory(deepseek, &training, 16, 0, 64);
	ck_assert_double_eq_tol(theory.total_parameters / 1e9, 682.53, 0.005);
	ck_assert_double_eq_tol(theory.parameters / 1e9, 2.9284, 0.00005);
	ck_assert_double_eq_tol(theory.weights / 1048576, 21607.63, 0.005);
	ck_assert_double_eq_tol(theory.activations / 1048576, 48760.50, 0.005);
	ck_assert_double_eq_tol(theory.layer_activations / 1048576, 792.0, 0.05);
	ck_assert_double_eq_tol(theory.whole_activations / 1048576, 61446.525, 0.005);

	/* Experts are cut by their own tensor parallelism, not by that of the rest. */
	g_autoptr(PipesimTransformer) mixtral = read_shipped("mixtral-8x7b");

	training = plain(4096);
	training.tp = 2;
	training.ep = 4;
	training.dp = 8;
	training.zero = PIPESIM_ZERO_1;
	theory = pipesim_theory(mixtral, &training, 4, 0, 64);
	ck_assert_double_eq_tol(theory.parameters, 3052209152.0, 0.5);
	ck_assert_double_eq_tol(theory.weights, 27119427072.0, 0.5);
	training.etp = 2;
	theory = pipesim_theory(mixtral, &training, 4, 0, 64);
	ck_assert_double_eq_tol(theory.parameters, 1642923008.0, 0.5);
	ck_assert_double_eq_tol(theory.whole_activations, 12472320000.0, 0.5);
}
END_TEST

Suite *transformer_terms_suite(void)
{
	Suite *suite = suite_create("transformer-terms");
	TCase *tests = tcase_create("terms");

	tcase_add_test(tests, counts_as_korthikanti);
	tcase_add_test(tests, reserves);
	tcase_add_test(tests, keeps_as_deepseek);
	tcase_add_test(tests, keeps_the_head);
	tcase_add_test(tests, copies_weights_to_fp8);
	tcase_add_test(tests, encodes_as_a_model_of_its_own);
	tcase_add_test(tests, keeps_angles);
	tcase_add_test(tests, counts_pytorch);
	tcase_add_test(tests, recomputes_for_each_weight);
	tcase_add_test(tests, prints_as_megatron);
	suite_add_tcase(suite, tests);
	return suite;
}
