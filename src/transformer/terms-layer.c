#include "transformer/terms-own.h"

/* Attention ------------------------------------------------------------------------------ */

static PipesimWide attention_weights(const Terms *x)
{
	return x->h * (x->q + 2 * x->kv) + x->q * x->h;
}

/* Rotated op by op, q and k each keep the table of cosines and that of sines that they were multiplied by. */
static void add_angles(Terms *x, PipesimWide width, const char *formula)
{
	if (!x->eager && x->model->positions == 0 &&
		(x->training->unfused_rope || x->model->yarn))
		add_input(x, "cosines and sines of RoPE", formula, AUTOGRAD,
			8 * width * x->T / x->training->microbatch);
}

static void add_heads_attention(Terms *x)
{
	const PipesimTransformer *model = x->model;
	const PipesimWide each = 2 * attention_weights(x) * x->T / x->t;

	add_weights(x, PIPESIM_TERM_PARAMETERS, "q, k, v and output projections",
		"(h (q + 2 kv) + q h) / t", SHAPES, attention_weights(x) / x->t);
	if (model->qkv_bias)
		add(x, PIPESIM_TERM_PARAMETERS, "bias of q, k and v", "(q + 2 kv) / t", SHAPES,
			(x->q + 2 * x->kv) / x->t);
	if (model->qk_norm)
		add(x, PIPESIM_TERM_PARAMETERS, "norms of q and k", "2 head_dim", SHAPES,
			2 * model->head_dim);
	add_input(x, "q, k and v after RoPE", "2 (q + 2 kv) T/t", AUTOGRAD,
		2 * (x->q + 2 * x->kv) * x->T / x->t);
	add_angles(x, model->head_dim, "8 head_dim s/cp");
	if (model->qk_norm)
		add_input(x, "q and k ahead of their norms", "2 (q + kv) T/t",
			"derived: inputs of the norms", 2 * (x->q + x->kv) * x->T / x->t);
	add(x, PIPESIM_TERM_BETWEEN, "gradient of q, k and v", "2 (q + 2 kv) T/t", GRADIENTS,
		2 * (x->q + 2 * x->kv) * x->T / x->t);
	compute(x, PIPESIM_WORK_PROJECTION, "projections of attention",
		"2 (h (q + 2 kv) + q h) T/t", COUNTED, each, each, each);
}

/* Elements that are cut over TP, and those that each of its ranks has. */
static PipesimWide latent_up(const Terms *x)
{
	return x->rq * x->a * (x->dn + x->dr) + x->rk * x->a * (x->dn + x->dv);
}

static void add_latent_attention(Terms *x)
{
	const PipesimWide qk = x->a * (x->dn + x->dr), v = x->a * x->dv;
	const PipesimWide direct = x->rq == 0 ? x->h * qk : 0;
	const PipesimWide down = x->h * x->rq + x->h * (x->rk + x->dr);
	const PipesimWide cut = latent_up(x) + direct + v * x->h;
	const PipesimWide each = 2 * cut * x->T / x->t + 2 * down * x->Tp;
	const gboolean norms = x->model->qk_norm;

	add_weights(x, PIPESIM_TERM_PARAMETERS, "up projections and output",
		"(rq a (dn + dr) + rk a (dn + dv) + a dv h) / t", SHAPES, cut / x->t);
	add_weights(x, PIPESIM_TERM_PARAMETERS, "down projections, on every TP rank",
		"h rq + h (rk + dr)", "Megatron-Core", down);
	if (norms)
		add(x, PIPESIM_TERM_PARAMETERS, "norms of the latents", "rq + rk", SHAPES,
			x->rq + x->rk);
	if (norms)
		add_input(x, "latents ahead of their norms", "2 (rq + rk) T'", AUTOGRAD,
			2 * (x->rq + x->rk) * x->Tp);
	if (!x->deepseek || !norms)
		add(x, PIPESIM_TERM_UNTIL_WEIGHT, "latents", "2 (rq + rk) T'", AUTOGRAD,
			x->bytes * (x->rq + x->rk) * x->Tp);
	if (!drops(x, PIPESIM_RECOMPUTE_MLA_UP)) {
		add_input(x, "q, k and v", "2 a (2 (dn + dr) + dv) T/t", AUTOGRAD,
			2 * (2 * qk + v) * x->T / x->t);
		add_angles(x, x->dr, "8 dr s/cp");
	} else {
		again(x, PIPESIM_WORK_PROJECTION, "up projections",
			2 * latent_up(x) * x->T / x->t);
	}
	add(x, PIPESIM_TERM_BETWEEN, "gradients of latents, q, k and v",
		"2 a (2 dn + dr + dv) T/t + 2 (rq + rk + dr) T'", GRADIENTS,
		2 * (qk + x->a * (x->dn + x->dv)) * x->T / x->t +
			2 * (x->rq + x->rk + x->dr) * x->Tp);
	compute(x, PIPESIM_WORK_PROJECTION, "projections of attention",
		"2 (up + output) T/t + 2 down T'", COUNTED, each, each, each);
}

/* Compiled, what stands between products is computed again from what these keep; not what ranks of TP have sent. */
static gboolean recomputes_norms(const Terms *x)
{
	return x->compiled && x->training->tp == 1;
}

/* What both sorts of attention have: norm 1, the core, its output. */
void pipesim_terms_attention(Terms *x)
{
	const PipesimTransformer *model = x->model;
	const PipesimTraining *training = x->training;
	const gboolean latent = x->rk > 0;
	const PipesimWide out = latent ? x->a * x->dv : x->q;
	const PipesimWide core = latent ? x->a * (x->dn + x->dr + x->dv) : 2 * x->q;
	const PipesimWide flops = core * x->T *
				  (PipesimWide)pipesim_transformer_seen(model, training->seq) /
				  x->t;
	/* Scores of every head of the rank, against the whole sequence. */
	const PipesimWide scores = x->T * training->seq * x->a / x->t;
	const gboolean kept = training->unfused && !drops(x, PIPESIM_RECOMPUTE_CORE);

	add(x, PIPESIM_TERM_PARAMETERS, "two norms", model->layer_norm ? "4 h" : "2 h", SHAPES,
		(model->layer_norm ? 4 : 2) * x->h);
	add_input(x, "input of norm 1: the residual", "2 h T'", KORTHIKANTI, 2 * x->h * x->Tp);
	/* A norm that is part of the linear layer behind it is not dropped. */
	if (((!latent && !x->deepseek) || !drops(x, PIPESIM_RECOMPUTE_NORM)) &&
		!recomputes_norms(x))
		add(x, PIPESIM_TERM_UNTIL_WEIGHT, "output of norm 1", "2 h T'", KORTHIKANTI,
			x->bytes * x->h * x->Tp);
	add_input(x, "statistics of both norms", model->layer_norm ? "16 T'" : "8 T'", AUTOGRAD,
		(model->layer_norm ? 16 : 8) * x->Tp);
	if (latent)
		add_latent_attention(x);
	else
		add_heads_attention(x);
	if (model->output_bias)
		add(x, PIPESIM_TERM_PARAMETERS, "bias of the output projection", "h", SHAPES,
			x->h);
	/* E5M6, for attention's backward and the projection's weight gradient both. */
	if (x->cached == 1)
		add(x, PIPESIM_TERM_UNTIL_WEIGHT, "attention output in 12 bits",
			latent ? "3/2 a dv T/t" : "3/2 q T/t", DEEPSEEK,
			3 * out * x->T / (2 * x->t));
	else
		add(x, PIPESIM_TERM_UNTIL_WEIGHT, "attention output",
			latent ? "2 a dv T/t" : "2 q T/t", KORTHIKANTI, 2 * out * x->T / x->t);
	if (training->cp > 1 && training->cp_all_to_all) {
		add_input(x, "attention output before the all-to-all", "2 q T/t", AUTOGRAD,
			2 * out * x->T / x->t);
	}
	if (training->fp8 && x->cached > 1)
		add(x, PIPESIM_TERM_UNTIL_WEIGHT, "attention output in FP8", "q T/t", AUTOGRAD,
			out * x->T / x->t);
	add(x, PIPESIM_TERM_BETWEEN, "gradient of the projected output", "2 h T'", GRADIENTS,
		2 * x->h * x->Tp);
	add_input(x, "log-sum-exp", "4 a T/t", AUTOGRAD, 4 * x->a * x->T / x->t);
	if (x->eager) {
		add(x, PIPESIM_TERM_TRANSIENT_FORWARD, "summand of the residual", "2 h T'",
			EAGER, 2 * x->h * x->Tp);
		add(x, PIPESIM_TERM_BETWEEN, "gradients behind both norms", "4 h T'", SPLIT,
			4 * x->h * x->Tp);
		add(x, PIPESIM_TERM_TRANSIENT_WEIGHT, "weight gradient of q, k and v",
			"2 h (q + 2 kv) / t + 4 h T'", SPLIT,
			2 * x->h * (latent ? x->rq : x->q + 2 * x->kv) / x->t +
				4 * x->h * x->Tp);
	}
	if (kept)
		add_input(x, "scores of unfused attention",
			model->dropout_attention ? "5 s T a/t" : "2 s T a/t", KORTHIKANTI,
			(model->dropout_attention ? 5 : 2) * scores);
	if (training->unfused)
		add(x, PIPESIM_TERM_TRANSIENT, "gradients of scores", "4 s T a/t",
			"derived: of the softmax and its input", 4 * scores);
	if (training->unfused && !kept)
		again(x, PIPESIM_WORK_CORE, "attention core", flops);
	if (model->dropout_hidden)
		add_input(x, "dropout masks of both residual adds", "2 h T'", KORTHIKANTI,
			2 * x->h * x->Tp);
	compute(x, PIPESIM_WORK_CORE, "attention core",
		latent             ? "a (dn + dr + dv) s T/t"
		: model->both_ways ? "4 q s T/t"
				   : "2 q s T/t",
		model->both_ways ? FLASH_BOTH : FLASH, flops,
		training->unfused ? 2 * flops : 5 * flops / 2, 0);
}

/* Every weight gradient of a split backward is a walk of its own, for which checkpoint()
 * computes the layer again: what an earlier one made stays until its own tensor is used up.
 * Ahead of the last, of the MLP's second matrix, those of both norms, of q, k and v and of the
 * residual are; gradients of outputs but its own are gone. */
void pipesim_terms_again(Terms *x)
{
	const PipesimWide walks = 5 + x->g, act = 2 * x->f * x->T / x->t;
	const PipesimWide saved = x->sum->of[PIPESIM_TERM_UNTIL_INPUT] +
				  x->sum->of[PIPESIM_TERM_UNTIL_WEIGHT] - 2 * x->h * x->Tp;
	const PipesimWide left = walks * (saved - 6 * x->h * x->Tp - act);

	if (!x->eager || !x->training->full)
		return;
	/* checkpoint() stops early: the product of the MLP's second matrix saves its operands
	 * before it runs. */
	x->sum->walks = (guint)walks;
	x->sum->spared = 2 * x->h * x->f * x->T / x->t;
	x->sum->again_sums = 4 * x->h * x->f / x->t;
	x->sum->again_left = left - x->sum->of[PIPESIM_TERM_BETWEEN];
	x->sum->again_most = left + walks * act - x->sum->of[PIPESIM_TERM_BETWEEN] +
			     4 * x->h * x->Tp + x->sum->again_sums;
}

/* PIPESIM_RECOMPUTE_OPS: kept are outputs of attention, of odd products, q, v, the MLP's first and, where it is gated, its
 * second matrix, and what is scattered over TP. In a backward all else of one layer is there again beside what comes and
 * goes. */
void pipesim_terms_by_ops(Terms *x)
{
	const gboolean gated = x->g == 2, split = x->training->sequence_parallel;
	const PipesimWide input = 2 * x->h * x->Tp, first = 2 * x->f * x->T / x->t;
	const PipesimWide out = 2 * x->q * x->T / x->t, sums = 4 * x->a * x->T / x->t;
	const PipesimTermSort sort = PIPESIM_TERM_UNTIL_WEIGHT;
	/* These are the tensors that the layer computed again keeps itself. */
	const PipesimWide same = input + 2 * x->kv * x->T / x->t + out + sums + first;
	const PipesimTerm more = {.what = "all else that is computed again, beside these",
		.formula = "what a layer keeps without, less what is kept",
		.source = TITAN,
		.sort = PIPESIM_TERM_TRANSIENT,
		.amount = x->redone - same};

	if (!x->dropped)
		return;
	x->dropped = FALSE;
	add(x, sort, "input of the layer", "2 h T'", TITAN, input);
	add(x, sort, "q and v", "2 (q + kv) T/t", TITAN, 2 * (x->q + x->kv) * x->T / x->t);
	add(x, sort, "attention output", "2 q T/t", TITAN, out);
	add(x, sort, "log-sum-exp", "4 a T/t", TITAN, sums);
	add(x, sort, "first output of the MLP", "2 f T/t", TITAN, first);
	if (gated)
		add(x, sort, "output of the MLP's second matrix", "2 h T", TITAN,
			2 * x->h * x->T);
	if (split)
		add(x, sort, "both outputs scattered over TP", "4 h T'", TITAN, 2 * input);
	x->sum->of[PIPESIM_TERM_TRANSIENT] += more.amount;
	if (x->terms != NULL)
		g_array_append_val(x->terms, more);
	again(x, PIPESIM_WORK_PROJECTION, "k and output projection",
		2 * (x->h * x->kv + x->q * x->h) * x->T / x->t);
	if (gated)
		again(x, PIPESIM_WORK_MLP, "second half of the MLP", x->h * first);
}

/* MLP ------------------------------------------------------------------------------------ */

void pipesim_terms_mlp(Terms *x)
{
	const PipesimWide weights = (x->g + 1) * x->h * x->f / x->t;
	const gboolean dropped = drops(x, PIPESIM_RECOMPUTE_MLP);

	add_weights(x, PIPESIM_TERM_PARAMETERS, "MLP", "(g + 1) h f / t", SHAPES, weights);
	if (x->model->ffn_bias)
		add(x, PIPESIM_TERM_PARAMETERS, "bias of the MLP", "g f / t + h", SHAPES,
			x->g * x->f / x->t + x->h);
	add_input(x, "input of norm 2", "2 h T'", KORTHIKANTI, 2 * x->h * x->Tp);
	if (dropped) {
		again(x, PIPESIM_WORK_MLP, "MLP", 2 * weights * x->T);
	} else {
		if (!x->deepseek && !recomputes_norms(x))
			add(x, PIPESIM_TERM_UNTIL_WEIGHT, "output of norm 2", "2 h T'",
				KORTHIKANTI, x->bytes * x->h * x->Tp);
		add_input(x, "input of the activation", "2 g f T/t", KORTHIKANTI,
			x->cached * x->g * x->f * x->T / x->t);
		if (!x->deepseek && !x->compiled)
			add(x, PIPESIM_TERM_UNTIL_WEIGHT, "output of the activation", "2 f T/t",
				KORTHIKANTI, x->bytes * x->f * x->T / x->t);
	}
	add(x, PIPESIM_TERM_BETWEEN, "gradients of both outputs of the MLP",
		"2 g f T/t + 2 h T'", GRADIENTS,
		2 * x->g * x->f * x->T / x->t + 2 * x->h * x->Tp);
	/* What was dropped is there again from the recomputation to the weight gradient. */
	if (dropped)
		add(x, PIPESIM_TERM_BETWEEN, "recomputed inputs of the MLP", "2 h T' + 2 f T/t",
			GRADIENTS, x->bytes * x->h * x->Tp + x->bytes * x->f * x->T / x->t);
	if (x->eager && x->g == 2 && !x->compiled)
		add_input(x, "output of SiLU", "2 f T/t", EAGER, 2 * x->f * x->T / x->t);
	if (x->eager) {
		add(x, PIPESIM_TERM_TRANSIENT, "both gradients of the MLP's second matrix",
			"2 f T/t + 2 h f / t", EAGER,
			2 * x->f * x->T / x->t + 2 * x->h * x->f / x->t);
		add(x, PIPESIM_TERM_TRANSIENT_WEIGHT, "weight gradient of the MLP", "2 h f / t",
			SPLIT, 2 * x->h * x->f / x->t);
	}
	add(x, PIPESIM_TERM_TRANSIENT, "backward of the activation",
		dropped ? "4 h T' + 2 (2 g + 1) f T/t" : "2 h T' + 2 g f T/t", AUTOGRAD,
		2 * x->h * x->Tp + 2 * x->g * x->f * x->T / x->t +
			(dropped ? 2 * x->h * x->Tp + 2 * (x->g + 1) * x->f * x->T / x->t : 0));
	compute(x, PIPESIM_WORK_MLP, "MLP", "2 (g + 1) h f T/t", COUNTED, 2 * weights * x->T,
		2 * weights * x->T, 2 * weights * x->T);
}

/* Experts -------------------------------------------------------------------------------- */

static void add_expert_parameters(Terms *x)
{
	const PipesimWide routed = (x->g + 1) * x->h * x->fe * x->E / x->ep;

	add_weights(x, PIPESIM_TERM_EXPERTS, "routed experts", "(g + 1) h fe E / ep", SHAPES,
		routed);
	if (x->model->ffn_bias)
		add(x, PIPESIM_TERM_EXPERTS, "bias of routed experts", "(g fe + h) E / ep",
			SHAPES, (x->g * x->fe + x->h) * x->E / x->ep);
	add(x, PIPESIM_TERM_PARAMETERS, "router", "h E", SHAPES, x->h * x->E);
	if (x->model->router_bias)
		add(x, PIPESIM_TERM_PARAMETERS, "bias of the router", "E", DEEPSEEK, x->E);
	add_weights(x, PIPESIM_TERM_PARAMETERS, "shared experts", "(g + 1) h fs / t", SHAPES,
		(x->g + 1) * x->h * x->fs / x->t);
	if (x->model->shared_gate)
		add(x, PIPESIM_TERM_PARAMETERS, "gate of the shared experts", "h", SHAPES,
			x->h);
}

static void add_expert_rows(Terms *x)
{
	const gboolean all = drops(x, PIPESIM_RECOMPUTE_MOE);

	if (!all) {
		add_input(x, "router", "9 E T'", AUTOGRAD, 9 * x->E * x->Tp);
		add(x, PIPESIM_TERM_UNTIL_WEIGHT, "dispatched rows: input of the experts",
			"2 h Tk", AUTOGRAD, x->bytes * x->h * x->Tk);
		add_input(x, "input of the experts' activation", "2 g fe Tk", AUTOGRAD,
			x->cached * x->g * x->fe * x->Tk);
		if (!drops(x, PIPESIM_RECOMPUTE_MOE_ACT) && !x->compiled)
			add(x, PIPESIM_TERM_UNTIL_WEIGHT, "output of the experts' activation",
				"2 fe Tk", AUTOGRAD, x->bytes * x->fe * x->Tk);
		add_input(x, "probabilities of the rows", "4 Tk", AUTOGRAD, 4 * x->Tk);
		if (x->eager && x->g == 2 && !x->compiled)
			add_input(x, "output of the experts' SiLU", "2 fe Tk", PITH,
				2 * x->fe * x->Tk);
		if (x->eager)
			add_input(x, "rows that came back, and indices of rows",
				"2 h Tk + 24 Tk", PITH, 2 * x->h * x->Tk + 24 * x->Tk);
		if (x->training->unfused_permutation)
			add_input(x, "rows ahead of their probabilities", "2 h k T/t",
				"Megatron-Core, unpermute() without fusion",
				2 * x->h * x->k * x->T / x->t);
	}
	add(x, PIPESIM_TERM_BETWEEN, "gradients of both outputs of the experts",
		"2 g fe Tk + 2 h Tk", GRADIENTS, 2 * x->g * x->fe * x->Tk + 2 * x->h * x->Tk);
	if (all)
		add(x, PIPESIM_TERM_BETWEEN, "recomputed inputs of the experts",
			"2 h Tk + 2 fe Tk", GRADIENTS,
			x->bytes * x->h * x->Tk + x->bytes * x->fe * x->Tk);
	/* Frames of moe_layer.py hold the first two while the others come to be, and the outputs
	 * of shared experts and of the layer beside all four. DeepSeek's are sent and received
	 * in FP8. */
	add_forward(x, "rows permuted, received, computed, back in order",
		x->cached == 1 ? "6 h Tk + 4 h T'"
		: x->fs > 0    ? "8 h Tk + 4 h T'"
			       : "8 h Tk + 2 h T'",
		x->cached == 1 ? DEEPSEEK
			       : "Megatron-Core, moe_layer.py and token_dispatcher.py",
		(x->cached == 1 ? 6 : 8) * x->h * x->Tk + (x->fs > 0 ? 4 : 2) * x->h * x->Tp);
}

static void add_shared_experts(Terms *x)
{
	const PipesimWide rows = x->fs * x->T / x->t;
	const PipesimWide flops = 2 * (x->g + 1) * x->h * rows;
	const gboolean dropped = drops(x, PIPESIM_RECOMPUTE_SHARED);

	if (x->fs == 0)
		return;
	if (!dropped && !drops(x, PIPESIM_RECOMPUTE_MOE)) {
		add_input(x, "input of the shared experts' activation", "2 g fs T/t", AUTOGRAD,
			x->cached * x->g * rows);
		if (!x->deepseek && !x->compiled)
			add(x, PIPESIM_TERM_UNTIL_WEIGHT,
				"output of the shared experts' activation", "2 fs T/t",
				AUTOGRAD, x->bytes * rows);
	}
	add(x, PIPESIM_TERM_BETWEEN, "gradient ahead of the shared experts' activation",
		"2 g fs T/t", GRADIENTS, 2 * x->g * rows);
	if (dropped && !drops(x, PIPESIM_RECOMPUTE_MOE))
		again(x, PIPESIM_WORK_MLP, "shared experts", flops);
	compute(x, PIPESIM_WORK_MLP, "shared experts", "2 (g + 1) h fs T/t", COUNTED, flops,
		flops, flops);
}

void pipesim_terms_experts(Terms *x)
{
	const PipesimWide flops = 2 * (x->g + 1) * x->h * x->fe * x->Tk;
	const PipesimWide router = 2 * x->h * x->E * x->Tp;

	add_expert_parameters(x);
	add_input(x, "input of norm 2", "2 h T'", KORTHIKANTI, 2 * x->h * x->Tp);
	if (!drops(x, PIPESIM_RECOMPUTE_NORM) || drops(x, PIPESIM_RECOMPUTE_MOE))
		add(x, PIPESIM_TERM_UNTIL_WEIGHT, "output of norm 2", "2 h T'", KORTHIKANTI,
			2 * x->h * x->Tp);
	add_expert_rows(x);
	add_shared_experts(x);
	if (drops(x, PIPESIM_RECOMPUTE_MOE)) {
		again(x, PIPESIM_WORK_EXPERT, "routed experts", flops);
		again(x, PIPESIM_WORK_MLP, "router and shared experts",
			router + 2 * (x->g + 1) * x->h * x->fs * x->T / x->t);
	}
	compute(x, PIPESIM_WORK_EXPERT, "routed experts", "2 (g + 1) h fe Tk", COUNTED, flops,
		flops, flops);
	compute(x, PIPESIM_WORK_MLP, "router", "2 h E T'", COUNTED, router, router, router);
}
