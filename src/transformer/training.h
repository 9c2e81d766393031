/* How a model is trained, as far as bytes and FLOPs depend on it, and the rules that sizes must
 * keep. */
#pragma once
#include "transformer/transformer.h"

#define PIPESIM_MAX_SEQ        (G_GINT64_CONSTANT(1) << 30)
#define PIPESIM_MAX_SEQUENCES  (G_GINT64_CONSTANT(1) << 16) /* of a micro-batch */
#define PIPESIM_MAX_PARALLEL   (G_GINT64_CONSTANT(1) << 20)
#define PIPESIM_NODE_GPUS      8   /* where no device says it */
#define PIPESIM_VOCAB_MULTIPLE 128 /* Megatron's --make-vocab-size-divisible-by */

/* Parts of a layer that are computed again in the backward instead of kept, as Megatron names
 * them. */
typedef enum {
	PIPESIM_RECOMPUTE_CORE = 1 << 0, /* core_attn: scores of unfused attention */
	PIPESIM_RECOMPUTE_MLP = 1 << 1,
	PIPESIM_RECOMPUTE_MOE = 1 << 2,
	PIPESIM_RECOMPUTE_MOE_ACT = 1 << 3,
	PIPESIM_RECOMPUTE_SHARED = 1 << 4, /* shared_experts */
	PIPESIM_RECOMPUTE_NORM = 1 << 5,   /* layernorm */
	PIPESIM_RECOMPUTE_MLA_UP = 1 << 6, /* mla_up_proj */
	/* selective-op, torchtitan's: all but attention, what is scattered over TP, and every second product: of q, k, v, the
	 * output, both halves of a gated MLP and its second matrix the first, third ... are saved (SelectiveAC, before that
	 * _save_list and _custom_policy, of 2024-12 to 2026). */
	PIPESIM_RECOMPUTE_OPS = 1 << 7,
	/* What DeepSeek-V3's layers always do. */
	PIPESIM_RECOMPUTE_DEEPSEEK =
		PIPESIM_RECOMPUTE_MOE_ACT | PIPESIM_RECOMPUTE_NORM | PIPESIM_RECOMPUTE_MLA_UP,
} PipesimRecompute;

typedef enum {
	PIPESIM_ADAM,      /* FP32 gradients, main parameters and two moments */
	PIPESIM_ADAM_BF16, /* gradients and moments in BF16, as DeepSeek-V3 */
	PIPESIM_ADAM_FP16, /* FP16 gradients, FP32 copies of them */
	PIPESIM_ADAM_FP32, /* everything in FP32 */
	PIPESIM_SGD,       /* parameters and gradients in BF16, no states */
} PipesimOptimizer;

/* What of parameters, gradients and optimizer states data-parallel ranks share. */
typedef enum {
	PIPESIM_ZERO_0,
	PIPESIM_ZERO_1, /* optimizer states: Megatron's distributed optimizer */
	PIPESIM_ZERO_2, /* and gradients */
	PIPESIM_ZERO_3, /* and parameters */
	/* FSDP2 whose parameters stay gathered within a step. */
	PIPESIM_ZERO_FSDP,
	PIPESIM_ZERO_FSDP_FP32, /* and reduces in FP32: gradients add up in that */
} PipesimZero;

typedef enum {
	PIPESIM_LOSS_MEGATRON, /* its own: BF16 logits and an FP32 softmax */
	PIPESIM_LOSS_TE,       /* TransformerEngine's, in place */
	PIPESIM_LOSS_NATIVE,   /* fused by the compiler */
	PIPESIM_LOSS_FLOAT,    /* PyTorch: cross_entropy(logits.float()) */
} PipesimLoss;

/* What linear layers compute in; FP8 and FP4 differ by how operands are scaled. */
typedef enum {
	PIPESIM_BF16,
	PIPESIM_FP16,
	PIPESIM_FP8,    /* as the device usually runs */
	PIPESIM_FP8_CS, /* current scaling */
	PIPESIM_FP8_DS, /* delayed scaling */
	PIPESIM_FP8_MX,
	PIPESIM_FP8_BLOCK,
	PIPESIM_FP8_TENSORWISE, /* PyTorch's torchao */
	PIPESIM_FP8_ROWWISE,
	PIPESIM_NVFP4,
} PipesimPrecision;

/* Who brings rows to experts. */
typedef enum {
	PIPESIM_DISPATCHER_AUTO, /* as pipesim_training_dispatcher() says */
	PIPESIM_ALL_TO_ALL,      /* every row on its own */
	PIPESIM_DEEPEP,   /* a token once to a node, once to a rank there; FP8 beyond a node */
	PIPESIM_HYBRIDEP, /* the same in BF16 */
} PipesimDispatcher;

/* What CUDA graphs hold, so that the host launches it at once. */
typedef enum {
	PIPESIM_GRAPHS_AUTO, /* as pipesim_training_set_graphs() says */
	PIPESIM_GRAPHS_NONE,
	PIPESIM_GRAPHS_ROUTER, /* the router, and shared experts */
	PIPESIM_GRAPHS_LAYERS, /* all but what depends on the number of an expert's rows */
	PIPESIM_GRAPHS_STEP,   /* everything */
} PipesimGraphs;

/* Versions of Megatron-Core that keep different tensors of the head. */
typedef enum {
	PIPESIM_MEGATRON_NOW,
	/* 0.14 and 0.15: BF16 logits of multi-token prediction stay beside their softmax. */
	PIPESIM_MEGATRON_0_15,
	/* And before: the dummy gradient of the head goes with its backward. */
	PIPESIM_MEGATRON_0_13,
} PipesimMegatron;

/* Plain values: copied by assignment. */
typedef struct {
	gint64 seq, microbatch; /* tokens of a sequence; sequences of a micro-batch */
	gint64 tp, cp, ep, etp, dp;
	gboolean sequence_parallel;
	gboolean cp_all_to_all; /* context parallelism keeps a second attention output */
	guint recompute;        /* PipesimRecompute */
	gboolean full;          /* whole layers are computed again: */
	gint64 every;           /* one input of so many layers is kept; 0 = 1 */
	gint64 first;           /* or only the first so many layers of a stage; 0 = all */
	/* These by stage, "4,3,2,1", for ever, and first is the most; "": layouts say it; NULL: all alike. */
	const char *each;
	gboolean again_as_ops; /* by ops of their own, not by backwards */
	PipesimOptimizer optimizer;
	PipesimZero zero;
	PipesimPrecision precision;
	gboolean fp8;            /* linear layers keep their inputs in FP8 */
	gboolean fp8_parameters; /* gathered in FP8 */
	gboolean unfused;        /* attention that keeps its scores */
	gboolean flash2; /* FlashAttention-2, as torchtitan asks PyTorch for on Hopper */
	/* PyTorch's own modules under its autograd: none is fused with another, gradients come
	 * into being with the first backward, and a split backward keeps its graph until W. */
	gboolean eager;
	/* Of these torchtitan's: experts in one grouped product, FP32 parameters that FSDP gathers in BF16 layer by
	 * layer, gradients that are clipped; and compiled, which fuses what stands between products and keeps what
	 * these and attention need alone. */
	gboolean titan, compiled;
	/* DeepSeek-V3's own (arXiv 2412.19437): norms, up-projections of latent attention and
	 * outputs of SwiGLU are computed again, what waits for a backward waits in FP8 or 12
	 * bits, and multi-token prediction looks tokens up in the embedding of its rank. */
	gboolean deepseek;
	gboolean unfused_permutation;
	gboolean unfused_rope; /* q and k are rotated op by op, whatever the model is */
	PipesimLoss loss;
	gboolean no_dummies; /* without gradient-accumulation fusion */
	PipesimMegatron megatron;
	/* Layouts of Megatron-LM's next version: multi-token prediction, and the losses, on several stages. */
	gboolean next;
	PipesimFraction routing;  /* rows of the fullest rank over the mean; den 0 = 1 */
	gint64 workspace;         /* bytes that libraries take inside the allocator */
	gint64 grouped_workspace; /* and where experts are grouped */
	/* Of times: share of a GPU's peak that products reach, 0 = the GPU's own; bytes per
	 * second between data-parallel ranks, 0 = they take no time; whether that is beside the
	 * last backward. */
	double mfu;
	/* What kernels, and messages within ops, take over what is described, as measured steps say; 0 = 1. */
	double pace[2];
	gint64 reduce;
	gboolean overlap;
	/* Collectives of tensor parallelism beside products; rows of experts beside the other op
	 * of a pair; launches are recorded, and which. */
	gboolean tp_overlap, ep_overlap, graph;
	gboolean
		vocab_parallel; /* output layer and embedding over all ranks, where orders have passes */
	PipesimGraphs graphs;
	gboolean guessed; /* nobody said what graphs hold */
	gboolean untried; /* no published step of the device is known, nor was it measured */
	PipesimDispatcher dispatcher;
	gint64 node;           /* GPUs that links join */
	gint64 node_bandwidth; /* bytes per second of a GPU to other nodes; 0 = the device's */
	gint64 vocab_multiple; /* of TP, that the vocabulary is padded to; 1 = as it is */
	/* Images in a sequence, 0 = 1, and patches of one as the encoder sees them. */
	gint64 images, patches;
	gboolean
		whole_encoder; /* where layers are balanced the first stage has all of the encoder's */
} PipesimTraining;

/** pipesim_training_of_encoder: that of the encoder of a model: each image is a sequence, and every
 * context-parallel rank encodes all of them. */
static inline PipesimTraining pipesim_training_of_encoder(const PipesimTraining *training)
{
	PipesimTraining own = *training;

	own.seq = training->patches;
	own.microbatch = training->microbatch * MAX(training->images, 1);
	own.cp = own.ep = own.etp = 1;
	return own;
}

/** pipesim_training_on_one: of @microbatch sequences of @seq tokens on one rank, which shares
 * nothing. */
static inline PipesimTraining pipesim_training_on_one(gint64 seq, gint64 microbatch)
{
	return (PipesimTraining){.seq = seq,
		.microbatch = microbatch,
		.tp = 1,
		.cp = 1,
		.ep = 1,
		.etp = 1,
		.dp = 1,
		.node = PIPESIM_NODE_GPUS,
		.vocab_multiple = 1};
}

/** pipesim_training_loops_experts: whether experts run one after the other. */
static inline gboolean pipesim_training_loops_experts(const PipesimTraining *training)
{
	return training->eager && !training->titan;
}

/** pipesim_training_gathers_layers: whether FSDP gathers and reduces layer by layer, for each micro-batch. */
static inline gboolean pipesim_training_gathers_layers(const PipesimTraining *training)
{
	return training->titan && training->zero == PIPESIM_ZERO_3;
}

/** pipesim_training_drops: whether what @module keeps is computed again instead. */
static inline gboolean pipesim_training_drops(
	const PipesimTraining *training, PipesimRecompute module)
{
	const guint own = training->deepseek ? PIPESIM_RECOMPUTE_DEEPSEEK : 0;

	return ((training->recompute | own) & module) != 0;
}

/** pipesim_training_tokens: T: of a micro-batch on a rank. */
static inline gint64 pipesim_training_tokens(const PipesimTraining *training)
{
	return training->seq * training->microbatch / training->cp;
}

/** pipesim_training_expert_dp: ranks that share the routed experts of one rank. */
static inline gint64 pipesim_training_expert_dp(const PipesimTraining *training)
{
	return MAX(
		training->tp * training->cp * training->dp / (training->ep * training->etp), 1);
}

/** pipesim_training_dispatcher: where none is given: NCCL's all-to-all within a node of 8, HybridEP in a larger domain or where
 * graphs hold the whole step, which is all that runs so, and DeepEP beyond. */
static inline PipesimDispatcher pipesim_training_dispatcher(const PipesimTraining *training)
{
	if (training->dispatcher != PIPESIM_DISPATCHER_AUTO)
		return training->dispatcher;
	if (training->graphs >= PIPESIM_GRAPHS_ROUTER)
		return PIPESIM_HYBRIDEP;
	return training->ep * training->etp > training->node ? PIPESIM_DEEPEP
							     : PIPESIM_ALL_TO_ALL;
}

/** pipesim_training_gradient: bytes of a gradient that is added up over micro-batches. */
guint pipesim_training_gradient(const PipesimTraining *training);

/** pipesim_training_set_graphs: what graphs hold where that is not given. Shapes of dropless experts follow the rows that come,
 * so graphs of layers leave them out; those of NVIDIA's recipes in MXFP8 and NVFP4 hold the whole step, and overlap the
 * experts' rows: with both asked for, or in domains of more than a node where nothing is. */
void pipesim_training_set_graphs(PipesimTraining *training, gboolean experts);

/** pipesim_training_vocab: padded to a multiple of vocab_multiple times TP, as Megatron
 * does. */
gint64 pipesim_training_vocab(const PipesimTransformer *model, const PipesimTraining *training);

/** pipesim_training_check: whether @model can be cut so. FALSE with PIPESIM_ERROR_CONSTRAINT,
 * naming the size, the rule and the nearest that works. */
gboolean pipesim_training_check(
	const PipesimTransformer *model, const PipesimTraining *training, GError **error);

/** pipesim_recompute_each: the @n numbers of training->each; n 0 where there are none. For g_free(). */
gint64 *pipesim_recompute_each(const PipesimTraining *training, guint *n);

/** pipesim_training_parse_recompute: "none", "selective", "full", "every=4", "first=2" (full
 * recompute of the first layers of a stage), "first=4,3,2,1" (by stage), or modules of Megatron joined by plus signs:
 * "mlp+layernorm". FALSE with PIPESIM_ERROR_USAGE. */
gboolean pipesim_training_parse_recompute(
	PipesimTraining *training, const char *text, const char *what, GError **error);
