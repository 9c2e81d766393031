/* Bytes that memory-bound work moves through a GPU's memory: norms, residuals, activation functions, permutation of
 * experts' rows, loss, gradients that are added up. Each tensor counts once for every kernel that reads or writes
 * it, as TransformerEngine and Megatron-Core fuse them; statistics, masks and probabilities do not count. */
#include "config.h"

#include "base/phases.h"
#include "transformer/traffic.h"
#include <math.h>

/* Shares of the published bandwidth that single operations reach on B200s, as SimuMax publishes them
 * (configs/system/b200_bf16_ceperm.json): element-wise kernels, whose like reach 0.46 to 0.84 on an H200 (docs/kernels.md);
 * Megatron-Core's permutation; TransformerEngine's cross entropy, which reads each logit and writes it, both ways. */
#define ELEMENT_SHARE 0.67
#define ROWS_SHARE    0.50
#define LOSS_SHARE    0.28

typedef struct {
	const PipesimTransformer *model;
	const PipesimTraining *training;
	PipesimMoved *traffic;
	double h, t, T, Tp, V, g; /* as in terms.h */
	double q, kv;             /* widths of queries, and of keys and values */
	double gradient;          /* bytes of a gradient that is added up */
	gboolean twice;           /* what is added now is computed again in I */
} Work;

static void init(Work *x, const PipesimTransformer *model, const PipesimTraining *training)
{
	const gboolean latent = model->kv_rank > 0;

	x->model = model;
	x->training = training;
	x->h = (double)model->hidden;
	x->t = (double)training->tp;
	x->T = (double)pipesim_training_tokens(training);
	x->Tp = training->sequence_parallel ? x->T / x->t : x->T;
	x->V = (double)pipesim_training_vocab(model, training);
	x->g = model->gated ? 2 : 1;
	x->q = latent ? (double)model->heads * (double)(model->nope + model->rope)
		      : (double)pipesim_transformer_q(model);
	x->kv = latent ? (double)model->heads * (double)(model->nope + model->rope)
		       : (double)pipesim_transformer_kv(model);
	x->gradient = training->optimizer == PIPESIM_ADAM_BF16 ||
				      training->optimizer == PIPESIM_ADAM_FP16 ||
				      training->bf16_gradients
			      ? 2
			      : 4;
}

static gboolean drops(const Work *x, PipesimRecompute module)
{
	return (x->training->recompute & module) != 0;
}

static void move(Work *x, double forward, double backward)
{
	x->traffic->moved[F] += forward;
	x->traffic->moved[I] += backward + (x->twice ? forward : 0);
}

/* Work that reaches but @share of the bandwidth. */
static void move_at(Work *x, double share, double forward, double backward)
{
	move(x, forward * PIPESIM_COPY_SHARE / share, backward * PIPESIM_COPY_SHARE / share);
}

/* Gradients of @parameters are read, added to and written for each micro-batch. */
static void add_up(Work *x, double parameters)
{
	x->traffic->moved[W] += 2 * x->gradient * parameters;
}

/* A norm reads and writes its input; backward it reads that and the gradient, and writes one. */
static void add_norm(Work *x, double width)
{
	move_at(x, ELEMENT_SHARE, 4 * width, 6 * width);
}

/* An add reads two and writes one; backward the gradient of both ways is added up. */
static void add_residual(Work *x)
{
	move_at(x, ELEMENT_SHARE, 6 * x->h * x->Tp, 6 * x->h * x->Tp);
}

/* Reads what comes out of the first product and writes the input of the second; backward reads both and the
 * gradient, and writes one. */
static void add_activation(Work *x, double elements)
{
	move_at(x, ELEMENT_SHARE, 2 * (x->g + 1) * elements, 2 * (2 * x->g + 1) * elements);
}

static void add_attention(Work *x)
{
	const PipesimTransformer *model = x->model;
	const double rotated = (x->q + x->kv) * x->T / x->t;
	const double latents = (double)(model->q_rank + model->kv_rank);
	double parameters = x->h * (2 * x->q + 2 * x->kv) / x->t;

	/* A norm that is part of the linear layer behind it is not dropped. */
	x->twice = model->kv_rank > 0 && drops(x, PIPESIM_RECOMPUTE_NORM);
	add_norm(x, x->h * x->Tp);
	/* RoPE, or putting q and k together of their parts. */
	x->twice = model->kv_rank > 0 && drops(x, PIPESIM_RECOMPUTE_MLA_UP);
	move_at(x, ELEMENT_SHARE, 4 * rotated, 4 * rotated);
	x->twice = FALSE;
	add_residual(x);
	/* Backward, flash attention first reads its output and the gradient of that. */
	move_at(x, ELEMENT_SHARE, 0, 4 * x->q * x->T / x->t);
	if (model->kv_rank > 0) {
		const double heads = (double)model->heads;

		if (model->qk_norm)
			add_norm(x, latents * x->Tp);
		parameters =
			x->h * (latents + (double)model->rope) +
			heads *
				((double)model->q_rank * (double)(model->nope + model->rope) +
					(double)model->kv_rank *
						(double)(model->nope + model->v_dim) +
					x->h * (double)model->v_dim) /
				x->t;
		if (model->q_rank == 0)
			parameters += x->h * x->q / x->t;
	} else if (model->qk_norm) {
		add_norm(x, rotated);
	}
	add_up(x, parameters);
}

static void add_mlp(Work *x)
{
	const double ffn = (double)x->model->ffn;

	x->twice = drops(x, PIPESIM_RECOMPUTE_MLP);
	add_norm(x, x->h * x->Tp);
	add_activation(x, ffn * x->T / x->t);
	x->twice = FALSE;
	add_residual(x);
	add_up(x, (x->g + 1) * x->h * ffn / x->t);
}

/* Rows of a micro-batch that the experts of a rank compute. */
static double rows_of_experts(const PipesimTransformer *model, const PipesimTraining *training)
{
	const double balanced = (double)pipesim_training_tokens(training) *
				(double)model->per_token * (double)training->etp /
				(double)training->tp;

	return training->routing.den > 0 ? balanced * (double)training->routing.num /
						   (double)training->routing.den
					 : balanced;
}

/* What the products of experts compute over what they must, >= 1: each expert's rows fill whole
 * tiles. */
static double padding(const PipesimTransformer *model, const PipesimTraining *training)
{
	const double experts = (double)model->experts / (double)training->ep;
	const double rows = rows_of_experts(model, training) / MAX(experts, 1);

	return rows > 0 ? ceil(rows / PIPESIM_TILE_ROWS) * PIPESIM_TILE_ROWS / rows : 1;
}

/* Rows are copied into the order of experts, and back: on one rank once each way; over several ranks those that arrive
 * are put in the order of local experts once more. */
static void add_experts(Work *x)
{
	const PipesimTransformer *model = x->model;
	const PipesimTraining *training = x->training;
	const double fe = (double)(model->expert_ffn / training->etp);
	const double fs = (double)model->shared_ffn;
	const double rows = rows_of_experts(model, training);
	const double copies = training->ep > 1 ? 14 : 6;
	const gboolean all = drops(x, PIPESIM_RECOMPUTE_MOE);
	const double weights =
		(x->g + 1) * x->h * fe * (double)model->experts / (double)training->ep;

	x->twice = drops(x, PIPESIM_RECOMPUTE_NORM) && !all;
	add_norm(x, x->h * x->Tp);
	x->twice = all;
	move_at(x, ROWS_SHARE, copies * x->h * rows, copies * x->h * rows);
	x->twice = all || drops(x, PIPESIM_RECOMPUTE_MOE_ACT);
	add_activation(x, fe * rows);
	x->twice = all || drops(x, PIPESIM_RECOMPUTE_SHARED);
	add_activation(x, fs * x->T / x->t);
	x->twice = FALSE;
	add_residual(x);
	add_up(x, weights + (x->g + 1) * x->h * fs / x->t);
	/* Each expert's products are kernels of their own, which first wait for its weights. */
	x->traffic->loaded[F] += (training->fp8 ? 1 : 2) * weights;
	x->traffic->loaded[I] += (training->fp8 ? 1 : 2) * weights * (all ? 2 : 1);
	x->traffic->padding = padding(model, training);
}

/* Bytes for a logit, F and I: others than TransformerEngine's convert to FP32, exponentiate in place, and scale the
 * softmax. */
static void add_loss(Work *x)
{
	const double logits = x->V / x->t * x->T;

	if (x->training->loss == PIPESIM_LOSS_TE)
		move_at(x, LOSS_SHARE, 4 * logits, 4 * logits);
	else
		move(x, 14 * logits, 10 * logits);
	add_up(x, x->V * x->h / x->t);
}

void pipesim_traffic_sum(const PipesimTransformer *model, const PipesimTraining *training,
	PipesimPart part, PipesimMoved *traffic)
{
	const gboolean sparse = part == PIPESIM_PART_SPARSE ||
				(part == PIPESIM_PART_MTP &&
					pipesim_transformer_is_sparse(model, model->layers));
	Work x = {.traffic = traffic};

	*traffic = (PipesimMoved){0};
	init(&x, model, training);
	if (part == PIPESIM_PART_EMBEDDING) {
		move(&x, 4 * x.h * x.T, 0);
		/* Its gradient is a whole matrix in BF16, cleared, filled and added. */
		traffic->moved[W] += (2 + 2 + 2 * x.gradient) * x.V * x.h / x.t;
		return;
	}
	if (part != PIPESIM_PART_HEAD) {
		add_attention(&x);
		if (sparse)
			add_experts(&x);
		else
			add_mlp(&x);
	}
	if (part == PIPESIM_PART_MTP) {
		add_norm(&x, 2 * x.h * x.Tp);
		add_up(&x, 2 * x.h * x.h / x.t);
	}
	if (part == PIPESIM_PART_HEAD || part == PIPESIM_PART_MTP) {
		add_norm(&x, x.h * x.Tp);
		add_loss(&x);
	}
}
