/* What formulae of terms are written in: sources, symbols and how a term is added. For terms.c and terms-layer.c. */
#pragma once
#include "transformer/terms.h"

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
#define TITAN       "torchtitan, SelectiveAC of distributed/activation_checkpoint.py"
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
	gboolean compiled;
	gboolean deepseek;
	/* What waits for the backward is not kept but computed again, as by_ops() says: what comes here is summed alone. */
	gboolean dropped;
	PipesimWide redone;
} Terms;

static inline void add(Terms *terms, PipesimTermSort sort, const char *what,
	const char *formula, const char *source, PipesimWide amount)
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

	if (terms->dropped &&
		(sort == PIPESIM_TERM_UNTIL_INPUT || sort == PIPESIM_TERM_UNTIL_WEIGHT)) {
		terms->redone += amount;
		return;
	}
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
static inline void add_weights(Terms *terms, PipesimTermSort sort, const char *what,
	const char *formula, const char *source, PipesimWide amount)
{
	add(terms, sort, what, formula, source, amount);
	terms->sum->linear[sort == PIPESIM_TERM_EXPERTS] += amount;
}

/* Transient in the forward already. */
static inline void add_forward(Terms *terms, const char *what, const char *formula,
	const char *source, PipesimWide amount)
{
	add(terms, PIPESIM_TERM_TRANSIENT, what, formula, source, amount);
	if (terms->sum->most[1] == what)
		terms->sum->most[0] = what;
}

/* What a layer's backward for input needs. PyTorch frees none of it until W: both halves of a
 * split backward walk the same graph. */
static inline void add_input(Terms *terms, const char *what, const char *formula,
	const char *source, PipesimWide amount)
{
	add(terms, terms->eager ? PIPESIM_TERM_UNTIL_WEIGHT : PIPESIM_TERM_UNTIL_INPUT, what,
		formula, source, amount);
}

/* FLOPs of one product over all tokens of the rank: F, and I and W where they take as many. */
static inline void compute(Terms *terms, PipesimWork work, const char *what,
	const char *formula, const char *source, PipesimWide f, PipesimWide i, PipesimWide w)
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

static inline void again(Terms *terms, PipesimWork work, const char *what, PipesimWide amount)
{
	add(terms, PIPESIM_TERM_AGAIN, what, "F of it once more",
		(terms->training->recompute & PIPESIM_RECOMPUTE_OPS) != 0
			? TITAN
			: "Megatron-Core, --recompute-modules",
		amount);
	terms->sum->flops[work][1] += amount;
	terms->sum->again[work] += amount;
}

static inline gboolean drops(const Terms *terms, PipesimRecompute module)
{
	return pipesim_training_drops(terms->training, module);
}

/* Of a layer, in terms-layer.c: attention with both norms, MLP or experts, what a layer computed again by PyTorch
 * leaves, and what one of torchtitan keeps that is computed again by ops. */
void pipesim_terms_attention(Terms *x);
void pipesim_terms_mlp(Terms *x);
void pipesim_terms_experts(Terms *x);
void pipesim_terms_again(Terms *x);
void pipesim_terms_by_ops(Terms *x);
