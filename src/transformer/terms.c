#include "config.h"

#include "transformer/terms.h"
#include <string.h>

/* Where formulae come from. */
#define KORTHIKANTI "Korthikanti et al., arXiv 2205.05198"
#define AUTOGRAD    "tensors that Megatron-Core's and TransformerEngine's backward reads"
#define ENGINE      "TransformerEngine, get_dummy_wgrad()"
#define SHAPES      "shapes of the weights"
#define DEEPSEEK    "DeepSeek-V3, arXiv 2412.19437"
#define LOSSES      "Megatron-Core, tensor_parallel/cross_entropy.py"
#define GRADIENTS   "derived: a split backward keeps the gradients of linear outputs"
#define COUNTED     "two FLOPs per parameter and token"
#define EAGER       "PyTorch, what autograd saves of its own modules"
#define SPLIT       "PyTorch, distributed/pipelining/_backward.py"
#define PITH        "pith-train, tools/memory_estimator/activation_profile.py"
#define FLASH \
	"FlashAttention: five products in the backward for two forward, half of the square"
#define FLASH_BOTH \
	"FlashAttention: five products in the backward for two forward, without a mask"

/* What formulae are written in. */
typedef struct {
	const PipesimTransformer *model;
	const PipesimTraining *training;
	GArray *terms; /* NULL: only sums are wanted */
	PipesimTermSum *sum;
	PipesimWide h, q, kv, a, f, g, t, T, Tp, V;
	PipesimWide E, k, fe, fs, et, ep, Tk;
	PipesimWide rq, rk, dn, dr, dv;
	guint bytes;  /* of an element that waits as the input of a linear layer */
	guint cached; /* and as that of an activation function */
	gboolean eager;
	gboolean deepseek;
} Terms;

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
	terms->deepseek = training->deepseek;
}

static void add(Terms *terms, PipesimTermSort sort, const char *what, const char *formula,
	const char *source, PipesimWide amount)
{
	static const guint most[] = {1, 0, 2};
	const gboolean transient =
		sort >= PIPESIM_TERM_TRANSIENT && sort <= PIPESIM_TERM_TRANSIENT_WEIGHT;
	PipesimWide *sum = &terms->sum->of[sort];
	const PipesimTerm term = {.what = what,
		.formula = formula,
		.source = source,
		.sort = sort,
		.amount = amount};

	if (amount == 0)
		return;
	if (transient && amount > *sum)
		terms->sum->most[most[sort - PIPESIM_TERM_TRANSIENT]] = what;
	/* Of transient tensors only those of one moment are there together. */
	*sum = transient ? MAX(*sum, amount) : *sum + amount;
	if (terms->terms != NULL)
		g_array_append_val(terms->terms, term);
}

/* Weights of linear layers, which FP8 turns into one byte each. */
static void add_weights(Terms *terms, PipesimTermSort sort, const char *what,
	const char *formula, const char *source, PipesimWide amount)
{
	add(terms, sort, what, formula, source, amount);
	terms->sum->linear[sort == PIPESIM_TERM_EXPERTS] += amount;
}

/* Transient in the forward already. */
static void add_forward(Terms *terms, const char *what, const char *formula, const char *source,
	PipesimWide amount)
{
	add(terms, PIPESIM_TERM_TRANSIENT, what, formula, source, amount);
	if (terms->sum->most[1] == what)
		terms->sum->most[0] = what;
}

/* What a layer's backward for input needs. PyTorch frees none of it until W: both halves of a
 * split backward walk the same graph. */
static void add_input(Terms *terms, const char *what, const char *formula, const char *source,
	PipesimWide amount)
{
	add(terms, terms->eager ? PIPESIM_TERM_UNTIL_WEIGHT : PIPESIM_TERM_UNTIL_INPUT, what,
		formula, source, amount);
}

/* FLOPs of one product over all tokens of the rank: F, and I and W where they take as many. */
static void compute(Terms *terms, PipesimWork work, const char *what, const char *formula,
	const char *source, PipesimWide f, PipesimWide i, PipesimWide w)
{
	const PipesimWide amounts[] = {f, i, w};

	for (guint phase = 0; phase < G_N_ELEMENTS(amounts); phase++) {
		const PipesimTerm term = {.what = what,
			.formula = formula,
			.source = source,
			.sort = PIPESIM_TERM_F + phase,
			.work = work,
			.amount = amounts[phase]};

		terms->sum->of[term.sort] += term.amount;
		terms->sum->flops[work][phase] += term.amount;
		if (terms->terms != NULL && phase == 0 && term.amount > 0)
			g_array_append_val(terms->terms, term);
	}
}

static void again(Terms *terms, PipesimWork work, const char *what, PipesimWide amount)
{
	add(terms, PIPESIM_TERM_AGAIN, what, "F of it once more",
		"Megatron-Core, --recompute-modules", amount);
	terms->sum->flops[work][1] += amount;
	terms->sum->again[work] += amount;
}

static gboolean drops(const Terms *terms, PipesimRecompute module)
{
	return pipesim_training_drops(terms->training, module);
}

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

/* What both sorts of attention have: norm 1, the core, its output. */
static void add_attention(Terms *x)
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
	if ((!latent && !x->deepseek) || !drops(x, PIPESIM_RECOMPUTE_NORM))
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
static void add_again(Terms *x)
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

/* MLP ------------------------------------------------------------------------------------ */

static void add_mlp(Terms *x)
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
		if (!x->deepseek)
			add(x, PIPESIM_TERM_UNTIL_WEIGHT, "output of norm 2", "2 h T'",
				KORTHIKANTI, x->bytes * x->h * x->Tp);
		add_input(x, "input of the activation", "2 g f T/t", KORTHIKANTI,
			x->cached * x->g * x->f * x->T / x->t);
		if (!x->deepseek)
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
	if (x->eager && x->g == 2)
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
		if (!drops(x, PIPESIM_RECOMPUTE_MOE_ACT))
			add(x, PIPESIM_TERM_UNTIL_WEIGHT, "output of the experts' activation",
				"2 fe Tk", AUTOGRAD, x->bytes * x->fe * x->Tk);
		add_input(x, "probabilities of the rows", "4 Tk", AUTOGRAD, 4 * x->Tk);
		if (x->eager && x->g == 2)
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
		if (!x->deepseek)
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

static void add_experts(Terms *x)
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

	add(x, PIPESIM_TERM_UNTIL_INPUT, "logits", "2 V T/t", EAGER, 2 * logits);
	add(x, PIPESIM_TERM_UNTIL_INPUT, "log-softmax in FP32", "4 V T/t", EAGER, 4 * logits);
	add(x, PIPESIM_TERM_TRANSIENT_FORWARD, "logits in FP32", "4 V T/t", EAGER, 4 * logits);
	add(x, PIPESIM_TERM_TRANSIENT, "gradients of log-softmax and of logits in FP32",
		"8 V T/t", EAGER, 8 * logits);
	add(x, PIPESIM_TERM_BETWEEN, "gradient of the logits, and behind the final norm",
		"2 V T/t + 2 h T'", SPLIT, 2 * logits + 2 * x->h * x->Tp);
}

/* Whether what stands for the gradient of the head, as for those of other weights that add
 * theirs where they are accumulated, stays for the run. */
static gboolean keeps_head(const PipesimTraining *training)
{
	return training->megatron != PIPESIM_MEGATRON_0_13 && !training->no_dummies &&
	       !training->eager;
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
	const gboolean kept = keeps_head(x->training);
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

	if (part == PIPESIM_PART_EMBEDDING)
		add_embedding(x);
	if (part == PIPESIM_PART_DENSE || part == PIPESIM_PART_SPARSE ||
		part == PIPESIM_PART_MTP)
		add_attention(x);
	if (part == PIPESIM_PART_SPARSE || behind)
		add_experts(x);
	else if (part == PIPESIM_PART_DENSE || part == PIPESIM_PART_MTP)
		add_mlp(x);
	if (part == PIPESIM_PART_DENSE)
		add_again(x);
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
	/* Before get_dummy_wgrad() each was new, and gone behind its backward. */
	if (training->no_dummies || training->megatron == PIPESIM_MEGATRON_0_13 ||
		(!sparse && !dense))
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
	       (keeps_head(training) ? 2 * x.V * x.h / x.t : 0);
}
