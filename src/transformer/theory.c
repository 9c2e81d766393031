/* Megatron-LM, megatron/training/theoretical_memory_usage.py: bytes per parameter, and Table 2
 * of Korthikanti et al. (arXiv 2205.05198) for activations. */
#include "transformer/theory.h"

static double attention(const PipesimTransformer *model)
{
	const double h = (double)model->hidden, a = (double)model->heads;
	const double n = model->layer_norm ? 2 : 1;
	const double rq = (double)model->q_rank, rk = (double)model->kv_rank;
	const double qk = a * (double)(model->nope + model->rope);

	if (rk == 0)
		return 2 * h *
		       (double)(pipesim_transformer_q(model) + pipesim_transformer_kv(model));
	double q = rq > 0 ? rq * (h + qk + n) : h * qk;
	return q + rk * (h + a * (double)(model->nope + model->v_dim) + n) +
	       h * (double)model->rope + a * (double)model->v_dim * h;
}

/* Parameters of one layer that tensor parallelism cuts; routed experts apart. */
static double layer(const PipesimTransformer *model, gboolean sparse)
{
	const double h = (double)model->hidden, gates = model->gated ? 1.5 : 1;
	const double width = (double)(sparse ? model->shared_ffn : model->ffn);

	return 2 * h * width * gates + attention(model);
}

/* And those that every rank has: norms and router. */
static double copied(const PipesimTransformer *model, gboolean sparse)
{
	const double h = (double)model->hidden;
	const double router = (h + (model->ffn_bias ? 1 : 0)) * (double)model->experts;
	const double gate = model->shared_gate && model->shared_ffn > 0 ? h : 0;

	return (model->layer_norm ? 4 : 2) * h + (sparse ? router + gate : 0);
}

static double experts(const PipesimTransformer *model)
{
	return 2 * (double)model->hidden * (model->gated ? 1.5 : 1) *
	       (double)model->expert_ffn * (double)model->experts;
}

static void count_parameters(const PipesimTransformer *model, const PipesimTraining *training,
	guint ranks, PipesimTheory *theory)
{
	const double h = (double)model->hidden, t = (double)training->tp;
	const double embedding = h * (double)pipesim_training_vocab(model, training);
	const gboolean behind = pipesim_transformer_is_sparse(model, model->layers);
	const double final_norm = (model->layer_norm ? 2 : 1) * h;
	const gboolean shared = training->zero != PIPESIM_ZERO_0;
	const double ep = (double)training->ep;
	const double sparse =
		pipesim_sum(i, model->layers, pipesim_transformer_is_sparse(model, i));
	double dense, block, mtp, copies, mtp_copies, dense_rank, expert_rank;

	dense = (double)model->layers - sparse;
	block = layer(model, FALSE) * dense + (sparse > 0 ? layer(model, TRUE) * sparse : 0);
	copies = copied(model, FALSE) * dense + copied(model, TRUE) * sparse + final_norm;
	mtp = (double)model->mtp * layer(model, behind);
	mtp_copies = (double)model->mtp * copied(model, behind);
	dense_rank = (block / ranks + mtp + embedding) / t + copies / ranks + mtp_copies;
	if (!model->tied && ranks == 1)
		dense_rank += embedding / t;
	expert_rank = experts(model) / (ep * (double)training->etp) *
		      (sparse / ranks + (behind ? (double)model->mtp : 0));
	theory->total_parameters =
		block + copies + mtp + mtp_copies + embedding * (model->tied ? 1 : 2) +
		experts(model) * (sparse + (behind ? (double)model->mtp : 0));
	theory->parameters = dense_rank + expert_rank;
	theory->weights =
		dense_rank * (shared ? 6 + 12.0 / (double)training->dp : 18) +
		expert_rank *
			(shared ? 6 + 12.0 / (double)pipesim_training_expert_dp(training) : 18);
}

static void count_activations(const PipesimTransformer *model, const PipesimTraining *training,
	guint ranks, guint chunks, guint microbatches, PipesimTheory *theory)
{
	const double h = (double)model->hidden, p = ranks, t = (double)training->tp;
	const double tokens = (double)(training->seq * training->microbatch);
	const double f = (double)(model->ffn > 0 ? model->ffn : model->expert_ffn);
	const double one = tokens * h * (18 + 4 * f / h);
	const double whole = tokens * h * (10 + 24 / t); /* without sequence parallelism */
	const double ends = (8 * tokens + tokens * h) * p;
	const double vocab = (double)pipesim_training_vocab(model, training);
	double flying = 1, all, apart;

	theory->in_flight = MIN(microbatches, ranks);
	if (chunks > 1) {
		flying = 1 + (p - 1) / (p * chunks);
		theory->in_flight = (guint)ceil(flying * p);
	} else if (ranks > 1) {
		flying = MIN(1, microbatches / p);
	}
	all = (one * (double)model->layers + ends) * flying;
	apart = (whole * (double)model->layers + ends) * flying;
	if (ranks == 1) {
		all += 4 * tokens * (h + vocab);
		apart += 2 * tokens * (h + vocab / t);
	}
	theory->layer_activations = one / t;
	theory->activations = all / t;
	theory->whole_activations = apart * 1.05;
}

PipesimTheory pipesim_theory(const PipesimTransformer *model, const PipesimTraining *training,
	guint ranks, guint chunks, guint microbatches)
{
	PipesimTheory theory = {0};

	count_parameters(model, training, ranks, &theory);
	count_activations(model, training, ranks, chunks, microbatches, &theory);
	return theory;
}
