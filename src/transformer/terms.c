#include "transformer/terms-own.h"

static void init(Terms *terms, const PipesimTransformer *model, const PipesimTraining *training)
{
	const PipesimFraction routing =
		training->routing.den > 0 ? training->routing : (PipesimFraction){1, 1};

	terms->model = model;
	terms->training = training;
	terms->h = model->hidden;
	terms->q = pipesim_transformer_q(model);
	terms->kv = pipesim_transformer_kv(model);
	terms->a = model->heads;
	terms->f = model->ffn;
	terms->g = model->gated ? 2 : 1;
	terms->t = training->tp;
	terms->T = pipesim_training_tokens(training);
	terms->Tp = training->sequence_parallel ? terms->T / terms->t : terms->T;
	terms->V = pipesim_training_vocab(model, training);
	terms->E = model->experts;
	terms->k = model->per_token;
	terms->fe =
		model->expert_ffn / training->etp; /* tensor parallelism of experts cuts them */
	terms->fs = model->shared_ffn;
	terms->et = training->etp;
	terms->ep = training->ep;
	/* Each rank sends rows of its own tokens, and receives as many where routing is
	 * balanced. */
	terms->Tk = terms->T * terms->k * terms->et * routing.num / (terms->t * routing.den);
	terms->rq = model->q_rank;
	terms->rk = model->kv_rank;
	terms->dn = model->nope;
	terms->dr = model->rope;
	terms->dv = model->v_dim;
	terms->bytes = training->fp8 ? 1 : 2;
	terms->cached = training->fp8 && training->deepseek ? 1 : 2;
	terms->eager = training->eager;
	terms->compiled = training->compiled;
	terms->deepseek = training->deepseek;
}

/* Ends ----------------------------------------------------------------------------------- */

static void add_embedding(Terms *x)
{
	/* What comes in from outside is not of this model. */
	if (x->V == 0) {
		add_input(x, "input of the first layer, which its caller holds", "-2 h T'",
			AUTOGRAD, -2 * x->h * x->Tp);
		return;
	}
	add(x, PIPESIM_TERM_PARAMETERS, "embedding", "V h / t", SHAPES, x->V * x->h / x->t);
	add(x, PIPESIM_TERM_PARAMETERS, "learned positions", "positions h", SHAPES,
		x->model->positions * x->h);
	/* Its backward is a scatter of the gradients, which goes with W. */
	add(x, PIPESIM_TERM_UNTIL_WEIGHT, "token ids", "8 T", KORTHIKANTI, 8 * x->T);
	if (x->model->dropout_hidden)
		add_input(x, "dropout mask", "h T'", KORTHIKANTI, x->h * x->Tp);
}

/* Of a model without a head: what it puts out, and its difference to a target. */
static void add_outer_loss(Terms *x)
{
	add(x, PIPESIM_TERM_UNTIL_INPUT, "output", "2 h T'", EAGER, 2 * x->h * x->Tp);
	add(x, PIPESIM_TERM_UNTIL_STEP, "loss, a number in the storage of all differences",
		"2 h T'", "PyTorch, mse_loss(), which shrinks its output with resize_()",
		2 * x->h * x->Tp);
	add(x, PIPESIM_TERM_TRANSIENT, "gradient of the output, beside a layer's", "2 h T'",
		EAGER, 2 * x->h * x->Tp);
}

/* cross_entropy(logits.float()): from the forward to the backward of a micro-batch, however
 * many lie between. */
static void add_eager_loss(Terms *x)
{
	const PipesimWide logits = x->V / x->t * x->T;

	/* torchtitan lets go of them ahead of the backward, where no pipeline keeps them; compiled, it reads them again. */
	if (x->compiled || !pipesim_training_gathers_layers(x->training))
		add(x, PIPESIM_TERM_UNTIL_INPUT, "logits", "2 V T/t", EAGER, 2 * logits);
	/* Over ranks of TP the loss is not compiled as one. */
	if (x->compiled && x->t == 1) {
		add(x, PIPESIM_TERM_TRANSIENT, "gradient of the logits, its product's in FP32",
			"2 V T/t + 4 V h/t", TITAN, 2 * logits + 4 * x->V * x->h / x->t);
	} else {
		add(x, PIPESIM_TERM_UNTIL_INPUT, "log-softmax in FP32", "4 V T/t", EAGER,
			4 * logits);
		add(x, PIPESIM_TERM_TRANSIENT_FORWARD, "logits in FP32", "4 V T/t", EAGER,
			4 * logits);
		add(x, PIPESIM_TERM_TRANSIENT, "gradients of log-softmax and of logits in FP32",
			"8 V T/t", EAGER, 8 * logits);
	}
	add(x, PIPESIM_TERM_BETWEEN, "gradient of the logits, and behind the final norm",
		"2 V T/t + 2 h T'", SPLIT, 2 * logits + 2 * x->h * x->Tp);
}

/* Whether what stands for the gradient of the head, as for those of other weights that add
 * theirs where they are accumulated, stays for the run: before get_dummy_wgrad() each was new, and
 * gradients that FSDP shares are not added up in a kernel's epilogue. */
static gboolean keeps_dummies(const PipesimTraining *training)
{
	return training->megatron != PIPESIM_MEGATRON_0_13 && !training->no_dummies &&
	       training->zero < PIPESIM_ZERO_2 && !training->eager;
}

/* What is there while the head and its loss run. */
static void add_head_transients(Terms *x)
{
	static const struct {
		guint per_logit;
		const char *formula;
	} losses[] = {[PIPESIM_LOSS_MEGATRON] = {6, "6 V T/t"},
		[PIPESIM_LOSS_TE] = {2, "2 V T/t"},
		[PIPESIM_LOSS_NATIVE] = {10, "10 V T/t"},
		[PIPESIM_LOSS_FLOAT] = {10, "10 V T/t"}};
	const PipesimLoss loss = x->training->loss;
	const gboolean split = x->training->sequence_parallel;
	const gboolean kept = keeps_dummies(x->training);
	const gboolean whole = loss == PIPESIM_LOSS_MEGATRON && !x->eager &&
			       x->training->megatron == PIPESIM_MEGATRON_0_13;

	if (x->eager && loss == PIPESIM_LOSS_FLOAT)
		add_eager_loss(x);
	else
		add_forward(x, "logits and loss", losses[loss].formula, LOSSES,
			losses[loss].per_logit * (x->V / x->t) * x->T);
	/* Its gathered input and, where that stays, its dummy gradient are there the whole run:
	 * dummies. Before core 0.14 a new one came beside the FP32 softmax, which is the gradient
	 * of Megatron-Core's own loss. */
	add(x, PIPESIM_TERM_TRANSIENT, "backward of the head",
		whole   ? (kept ? "6 V T/t + 2 h T" : "6 V T/t + 2 h T + 2 V h / t")
		: kept  ? (split ? "2 V T/t + 2 h T + 2 h T'" : "2 V T/t + 2 h T")
		: split ? "2 V T/t + 2 h T + 2 h T' + 2 V h / t"
			: "2 V T/t + 2 h T + 2 V h / t",
		AUTOGRAD,
		(whole ? 6 : 2) * x->V * x->T / x->t + 2 * x->h * x->T +
			(split && !whole ? 2 * x->h * x->Tp : 0) +
			(kept ? 0 : 2 * x->V * x->h / x->t));
}

static void add_head(Terms *x)
{
	const PipesimWide flops = 2 * x->h * x->V * x->T / x->t;

	if (x->V == 0) {
		add_outer_loss(x);
		return;
	}
	add(x, PIPESIM_TERM_PARAMETERS, "head", "V h / t", SHAPES, x->V * x->h / x->t);
	add(x, PIPESIM_TERM_PARAMETERS, "final norm", x->model->layer_norm ? "2 h" : "h",
		SHAPES, (x->model->layer_norm ? 2 : 1) * x->h);
	add_input(x, "input of the final norm", "2 h T'", AUTOGRAD, 2 * x->h * x->Tp);
	add(x, PIPESIM_TERM_UNTIL_WEIGHT, "output of the final norm", "2 h T'", AUTOGRAD,
		2 * x->h * x->Tp);
	add_head_transients(x);
	compute(x, PIPESIM_WORK_HEAD, "head", "2 h V T/t", COUNTED, flops, flops, flops);
}

/* Behind its layer: two norms, their outputs side by side and the projection of these. */
static void add_mtp(Terms *x)
{
	const PipesimWide projection = 4 * x->h * x->h * x->T / x->t;

	add_weights(x, PIPESIM_TERM_PARAMETERS, "projection of both inputs", "2 h h / t",
		DEEPSEEK, 2 * x->h * x->h / x->t);
	add(x, PIPESIM_TERM_PARAMETERS, "three norms", x->model->layer_norm ? "6 h" : "3 h",
		DEEPSEEK, (x->model->layer_norm ? 6 : 3) * x->h);
	add_input(x, "inputs of both norms", "4 h T'", AUTOGRAD, 4 * x->h * x->Tp);
	add(x, PIPESIM_TERM_UNTIL_WEIGHT, "their outputs, and these side by side", "8 h T'",
		AUTOGRAD, 8 * x->h * x->Tp);
	add_input(x, "input of its final norm", "2 h T'", AUTOGRAD, 2 * x->h * x->Tp);
	add(x, PIPESIM_TERM_UNTIL_WEIGHT, "output of its final norm", "2 h T'", AUTOGRAD,
		2 * x->h * x->Tp);
	compute(x, PIPESIM_WORK_PROJECTION, "projection of both inputs", "4 h h T/t", COUNTED,
		projection, projection, projection);
}

/* The head once more, where the main one is or in a stage before it; its loss waits for the main one. */
static void add_loss(Terms *x)
{
	const PipesimWide flops = 2 * x->h * x->V * x->T / x->t;
	/* BF16 logits of Megatron-Core's own losses went with the function that made them,
	 * process_mtp_loss(), in 2026; before they stayed beside their softmax. */
	const guint per_logit = x->training->loss == PIPESIM_LOSS_TE            ? 2
				: x->training->megatron == PIPESIM_MEGATRON_NOW ? 4
										: 6;

	add_input(x, "logits that wait for the main loss",
		per_logit == 2   ? "2 V T/t"
		: per_logit == 4 ? "4 V T/t"
				 : "6 V T/t",
		LOSSES, per_logit * (x->V / x->t) * x->T);
	/* PyTorch's loss counts what it keeps as the main one does. */
	if (!x->eager)
		add_head_transients(x);
	compute(x, PIPESIM_WORK_HEAD, "head", "2 h V T/t", COUNTED, flops, flops, flops);
}

/* Parts ---------------------------------------------------------------------------------- */

static void add_part(Terms *x, PipesimPart part)
{
	const gboolean behind = part == PIPESIM_PART_MTP &&
				pipesim_transformer_is_sparse(x->model, x->model->layers);

	x->dropped = part == PIPESIM_PART_DENSE && drops(x, PIPESIM_RECOMPUTE_OPS);
	if (part == PIPESIM_PART_EMBEDDING)
		add_embedding(x);
	if (part == PIPESIM_PART_DENSE || part == PIPESIM_PART_SPARSE ||
		part == PIPESIM_PART_MTP)
		pipesim_terms_attention(x);
	if (part == PIPESIM_PART_SPARSE || behind)
		pipesim_terms_experts(x);
	else if (part == PIPESIM_PART_DENSE || part == PIPESIM_PART_MTP)
		pipesim_terms_mlp(x);
	if (part == PIPESIM_PART_DENSE)
		pipesim_terms_again(x);
	pipesim_terms_by_ops(x);
	if (part == PIPESIM_PART_MTP)
		add_mtp(x);
	if (part == PIPESIM_PART_HEAD)
		add_head(x);
	if (part == PIPESIM_PART_LOSS)
		add_loss(x);
}

GArray *pipesim_terms(
	const PipesimTransformer *model, const PipesimTraining *training, PipesimPart part)
{
	PipesimTermSum sum = {0};
	Terms terms = {.terms = g_array_new(FALSE, FALSE, sizeof(PipesimTerm)), .sum = &sum};
	PipesimTraining own = *training;

	model = pipesim_part_model(model, &own, &part);
	init(&terms, model, &own);
	add_part(&terms, part);
	return terms.terms;
}

void pipesim_terms_sum(const PipesimTransformer *model, const PipesimTraining *training,
	PipesimPart part, PipesimTermSum *sum)
{
	Terms terms = {.sum = sum};
	PipesimTraining own = *training;

	memset(sum, 0, sizeof *sum);
	model = pipesim_part_model(model, &own, &part);
	init(&terms, model, &own);
	add_part(&terms, part);
}

PipesimWide pipesim_terms_input(
	const PipesimTransformer *model, const PipesimTraining *training)
{
	Terms terms = {0};

	init(&terms, model, training);
	return 2 * terms.h * terms.Tp;
}

PipesimWide pipesim_terms_keys(const PipesimTransformer *model, const PipesimTraining *training)
{
	Terms x = {0};

	init(&x, model, training);
	return 2 * (x.rk > 0 ? x.a * (x.dn + x.dr + x.dv) : 2 * x.kv) * x.T / x.t;
}

/* Dummies -------------------------------------------------------------------------------- */

typedef struct {
	PipesimWide out, in;
} Shape;

static guint add_shape(Shape *shapes, guint n, PipesimWide out, PipesimWide in)
{
	for (guint i = 0; i < n; i++)
		if (shapes[i].out == out && shapes[i].in == in)
			return n;
	shapes[n] = (Shape){out, in};
	return n + 1;
}

/* Of layers. */
static PipesimWide layer_dummies(
	const PipesimTransformer *model, const PipesimTraining *training, guint parts)
{
	const gboolean behind = (parts & (1u << PIPESIM_PART_MTP)) != 0;
	const gboolean sparse = (parts & (1u << PIPESIM_PART_SPARSE)) != 0 ||
				(behind && pipesim_transformer_is_sparse(model, model->layers));
	const gboolean dense = (parts & (1u << PIPESIM_PART_DENSE)) != 0 ||
			       (behind && !pipesim_transformer_is_sparse(model, model->layers));
	PipesimWide total = 0;
	Shape shapes[16];
	Terms x = {0};
	guint n = 0;

	init(&x, model, training);
	if (!keeps_dummies(training) || (!sparse && !dense))
		return 0;
	if (x.rk > 0) {
		n = add_shape(shapes, n, x.a * (x.dn + x.dr) / x.t, x.rq > 0 ? x.rq : x.h);
		if (x.rq > 0)
			n = add_shape(shapes, n, x.rq, x.h);
		n = add_shape(shapes, n, x.rk + x.dr, x.h);
		n = add_shape(shapes, n, x.a * (x.dn + x.dv) / x.t, x.rk);
		n = add_shape(shapes, n, x.h, x.a * x.dv / x.t);
	} else {
		n = add_shape(shapes, n, (x.q + 2 * x.kv) / x.t, x.h);
		n = add_shape(shapes, n, x.h, x.q / x.t);
	}
	if (dense) {
		n = add_shape(shapes, n, x.g * x.f / x.t, x.h);
		n = add_shape(shapes, n, x.h, x.f / x.t);
	}
	if (sparse) {
		n = add_shape(shapes, n, x.g * x.fe, x.h);
		n = add_shape(shapes, n, x.h, x.fe);
	}
	if (sparse && x.fs > 0) {
		n = add_shape(shapes, n, x.g * x.fs / x.t, x.h);
		n = add_shape(shapes, n, x.h, x.fs / x.t);
	}
	if (behind)
		n = add_shape(shapes, n, x.h / x.t, 2 * x.h);
	for (guint i = 0; i < n; i++)
		total += 2 * shapes[i].out * shapes[i].in;
	return total;
}

PipesimWide pipesim_terms_dummies(
	const PipesimTransformer *model, const PipesimTraining *training, guint parts)
{
	PipesimWide layers = layer_dummies(model, training, parts);
	Terms x = {0};

	if ((parts & (1u << PIPESIM_PART_ENCODER)) != 0) {
		const PipesimTraining own = pipesim_training_of_encoder(training);

		layers += layer_dummies(model->encoder, &own, 1u << PIPESIM_PART_DENSE);
	}

	init(&x, model, training);
	if ((parts & (1u << PIPESIM_PART_HEAD | 1u << PIPESIM_PART_LOSS)) == 0 ||
		training->eager)
		return layers;
	return layers + (training->sequence_parallel ? 2 * x.h * x.T : 0) +
	       (keeps_dummies(training) ? 2 * x.V * x.h / x.t : 0);
}
