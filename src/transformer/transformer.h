/* What a transformer is: sizes as its authors publish them, whatever it is trained on. Read
 * from Hugging Face's config.json (by model_type) or from an INI file of our own;
 * docs/formats.md has the keys of both. */
#pragma once
#include "base/base.h"

/* Sums over a model: below 2^62 where a result is kept. */
__extension__ typedef __int128 PipesimWide;

/* The largest sizes that are taken: their products with those of training.h stay within
 * PipesimWide. */
#define PIPESIM_MAX_LAYERS  65536
#define PIPESIM_MAX_WIDTH   (G_GINT64_CONSTANT(1) << 24) /* hidden, ffn, heads, a head, experts */
#define PIPESIM_MAX_VOCAB   (G_GINT64_CONSTANT(1) << 31)
#define PIPESIM_MAX_EXPERTS (G_GINT64_CONSTANT(1) << 20)

/* Sizes are elements; what a model does not have is 0. */
typedef struct _PipesimTransformer PipesimTransformer;
struct _PipesimTransformer {
	char *name; /* "llama-3-70b", or the path of its file; owned */
	gint64 layers, hidden, vocab;
	gint64 heads, kv_heads, head_dim; /* attention; of latent attention heads alone */
	/* Multi-head latent attention (DeepSeek), where kv_rank > 0: q_rank 0 = q is projected
	 * at once; sizes of a head without RoPE, with it, and of v. */
	gint64 q_rank, kv_rank, nope, rope, v_dim;
	gboolean qk_norm; /* norms on q and k, or on both latents */
	gint64 ffn;       /* of a dense layer */
	gboolean gated;   /* SwiGLU: three matrices, else two */
	/* Experts: 0 = none. */
	gint64 experts, per_token, expert_ffn, shared_ffn;
	gboolean router_bias;    /* a value per expert beside the router */
	gboolean shared_gate;    /* a gate of one column for the shared experts */
	guint8 *sparse;          /* by layer: whether it has experts; NULL = none does; owned */
	gint64 node_limit;       /* nodes that a token's experts are on at most; 0 = any */
	gint64 window, windowed; /* tokens that a layer's attention sees at most, and in how
				  * many layers; 0 = all in all */
	gint64 mtp;              /* layers for multi-token prediction */
	gboolean layer_norm;     /* LayerNorm: with a bias; else RMSNorm */
	gboolean qkv_bias, output_bias, ffn_bias;
	gboolean tied;    /* embedding and head are one matrix */
	gint64 positions; /* learned, on the first stage; 0 = rotary */
	gboolean yarn;    /* rotated q and k are scaled, as YaRN's attention factor has it */
	/* In training; their masks are kept. */
	gboolean dropout_hidden, dropout_attention;
	gboolean both_ways; /* attention sees what comes after a token too: an encoder's */
	gint64 patches;     /* of an image, of an encoder; 0 = not known */
	/* Of images, ahead of the decoder that the rest describes: its layers, without what makes patches of images
	 * and tokens of patches. NULL: none; owned. */
	PipesimTransformer *encoder;
	guint encoder_stages; /* the first ones of a pipeline, which hold its layers; 0 = none do */
};

/* Most bytes of a description. */
#define PIPESIM_MAX_DESCRIPTION (1u << 20)

/** pipesim_transformer_read: the description in @path, "-" for standard input: JSON where it
 * begins with a brace, else INI.
 * Returns: (transfer full): for pipesim_transformer_free(); NULL with PIPESIM_ERROR_PARSE
 *   ("path:line:column: key: ..."), PIPESIM_ERROR_LIMIT or what opening the file gives. */
PipesimTransformer *pipesim_transformer_read(const char *path, GError **error);

/** pipesim_transformer_parse: the same of @length bytes at @text, which messages call @path. */
PipesimTransformer *pipesim_transformer_parse(
	const char *text, gsize length, const char *path, GError **error);

/** pipesim_transformer_read_config, pipesim_transformer_read_ini: of one format. */
PipesimTransformer *pipesim_transformer_read_config(
	const char *text, gsize length, const char *path, GError **error);
PipesimTransformer *pipesim_transformer_read_ini(PipesimIni *taken, GError **error);

PipesimTransformer *pipesim_transformer_copy(const PipesimTransformer *model);
PIPESIM_FREED(PipesimTransformer, pipesim_transformer_free)

/** pipesim_transformer_print: appends all sizes by the keys of an INI file, and which layers
 * have experts: the same text of equal models. */
void pipesim_transformer_print(const PipesimTransformer *model, GString *out);

/** pipesim_transformer_is_sparse: whether layer @layer has experts. Layers for multi-token
 * prediction, behind the others, are as the last. */
static inline gboolean pipesim_transformer_is_sparse(
	const PipesimTransformer *model, gint64 layer)
{
	return model->sparse != NULL && model->sparse[MIN(layer, model->layers - 1)];
}

/** pipesim_transformer_encodes: whether its encoder is in a pipeline. */
static inline gboolean pipesim_transformer_encodes(const PipesimTransformer *model)
{
	return model->encoder != NULL && model->encoder_stages > 0;
}

/** pipesim_transformer_seen: tokens of @seq that attention's FLOPs count in the mean of all
 * layers: a window of w of them sees as many as w (2 s - w) / s of causal attention, and without a
 * mask twice as many are seen. */
static inline double pipesim_transformer_seen(const PipesimTransformer *model, gint64 seq)
{
	const double s = (double)seq, w = (double)model->window;
	const double share = (double)model->windowed / (double)model->layers;

	if (model->both_ways)
		return 2 * (w > 0 ? (1 - share) * s + share * MIN(w, s) : s);
	return w > 0 && w < s ? s * (1 - share) + share * w * (2 * s - w) / s : s;
}

/** pipesim_transformer_places: fills sparse: layers from @first on, every @every-th. */
void pipesim_transformer_places(PipesimTransformer *model, gint64 first, gint64 every);

/** pipesim_transformer_parameters: of the whole model, without MTP layers; @active: only those
 * that a token goes through. */
gint64 pipesim_transformer_parameters(const PipesimTransformer *model, gboolean active);

/** pipesim_transformer_q, pipesim_transformer_kv: width of all query, or key and value,
 * heads. */
static inline gint64 pipesim_transformer_q(const PipesimTransformer *model)
{
	return model->heads * model->head_dim;
}
static inline gint64 pipesim_transformer_kv(const PipesimTransformer *model)
{
	return model->kv_heads * model->head_dim;
}
