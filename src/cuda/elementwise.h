/* The kernels between the GEMMs. All are asynchronous on `stream`; BF16 in device memory, FP32
 * inside; pointers are 16-byte aligned and may be null only where said. A result written as
 * Matrix is FP8 or BF16 as the matrix says. Widths are multiples of 128. */
#pragma once
#include "matrix.h"
#include "model.h"
#include <cuda_bf16.h>

namespace bench
{

using bf16 = __nv_bfloat16;

/* Gradients of a normalisation's weight are first summed by this many blocks apiece: one for
 * each SM of an H200 where a row fills an SM, four where it is short. */
constexpr int norm_blocks = 132;
constexpr int latent_blocks = 4 * norm_blocks;

/* y = gamma x / sqrt(mean(x^2) + 1e-6) by rows, x = a + b + c. */
struct NormForward {
	const bf16 *a;
	const bf16 *b = nullptr; /* may be null, and c with it */
	const bf16 *c = nullptr; /* may be null */
	const bf16 *gamma;
	bf16 *sum = nullptr; /* x, where more than `a` went into it; may be null */
	Matrix y;
	bf16 *copy = nullptr; /* y in BF16 as well; may be null */
};
void norm_forward(const NormForward &call, cudaStream_t stream);

/* dx = residual + d norm(x) with dy = dy[0] + dy[1] + dy[2]; gamma_grad += its gradient. */
struct NormBackward {
	const bf16 *x;
	const bf16 *gamma;
	const bf16 *dy[3] = {};         /* all but the first may be null */
	const bf16 *residual = nullptr; /* may be null */
	bf16 *dx;
	Matrix copy;       /* dx in FP8 as well, where it has a scale */
	float *partial;    /* [norm_blocks][cols] */
	float *gamma_grad; /* [cols] */
	int64_t rows;
	int cols;
};
void norm_backward(const NormBackward &call, cudaStream_t stream);

/* Bases of the rotary angles as the two model families publish them. */
constexpr double mla_rope_base = 10000, gqa_rope_base = 500000;
/* (cos, sin) of token t and pair i of a rotated width: table[t * width / 2 + i]. */
void rope_table(float2 *table, int64_t tokens, int width, double base, cudaStream_t stream);

/* Latent attention between its projections. `down` is [tokens][padded]: the query latent, the
 * key-value latent, the rotary key, zeros. */
struct Latent {
	const bf16 *down;
	const bf16 *q_gamma, *kv_gamma;
	const float2 *rope;
	int64_t tokens;
	int q_lora, kv_lora, qk_rope, padded; /* latents are multiples of 512 */
};
/* Normalises both latents and rotates the shared key: key_rope[tokens][qk_rope]. */
void latent_forward(const Latent &call, const Matrix &q, const Matrix &kv, bf16 *key_rope,
	cudaStream_t stream);
/* Gradient of `down` from that of the normalised latents and of the key before its rotation. */
struct LatentBackward {
	const bf16 *dq, *dkv, *dkey_rope;
	Matrix ddown;
	float *partial;                      /* [latent_blocks][q_lora + kv_lora] */
	float *q_gamma_grad, *kv_gamma_grad; /* added to */
};
void latent_backward(const Latent &call, const LatentBackward &back, cudaStream_t stream);

/* Rotates the last qk_rope of each head of q[tokens][heads][qk_nope + qk_rope] in place and
 * builds k of the same shape from kv[tokens][heads][qk_nope + v_head] and the shared key. */
void rope_keys(const Model &model, bf16 *q, const bf16 *kv, const bf16 *key_rope, bf16 *k,
	const float2 *rope, int64_t tokens, cudaStream_t stream);
/* Gradient of kv from those of k and v, and of the shared key before its rotation, summed over
 * heads. */
void key_value_grad(const Model &model, const bf16 *dk, const bf16 *dv, const Matrix &dkv,
	bf16 *dkey_rope, const float2 *rope, cudaStream_t stream);

/* Which columns of a row are rotated: of each `head` columns below `cols` the last `width`. */
struct RopeColumns {
	const float2 *table = nullptr;
	int head = 0;
	int width = 0;
	int cols = 0;
};
/* Rotates x[rows][width of a row] in place. */
void rope_forward(
	bf16 *x, int64_t rows, int row_width, const RopeColumns &rope, cudaStream_t stream);
/* out = x, with the rotation undone where `rope` has a table; out may be x itself in BF16. */
void cast(const bf16 *x, const Matrix &out, const RopeColumns &rope, cudaStream_t stream);

/* act = weight[row] silu(gate) up of gate_up [rows][2 inter], gate first. `cache` keeps gate_up
 * in FP8 with row_scale alone, for the backward; without its row_scale nothing is kept. */
void swiglu_forward(const bf16 *gate_up, const float *weight, const Matrix &act,
	const Matrix &cache, cudaStream_t stream);
/* Gradient of gate_up from that of act, from the cache (FP8, or gate_up itself in BF16); act is
 * computed again for the weight gradient, weight_grad[row] where weight is given. */
struct SwigluBackward {
	const bf16 *dact;
	Matrix cache;
	const float *weight; /* may be null: all one */
	Matrix dgate_up;
	Matrix act;
	float *weight_grad;
};
void swiglu_backward(const SwigluBackward &call, cudaStream_t stream);

/* FP8 [rows][cols] scaled along columns -> its transpose scaled along rows. */
void transpose_requantise(const Matrix &from, const Transposed &to, cudaStream_t stream);
/* Scales of a received matrix: row_scale -> scale. */
void gather_scales(const Matrix &matrix, cudaStream_t stream);
/* w[out][in] -> E4M3 under one scale for 128 x 128, and its transpose. Both scale arrays have
 * [width / 128 of the outer][width / 128 of the inner, rounded up to 4]. */
void quantise_weight(const bf16 *weight, int out, int in, uint8_t *w, float *w_scale,
	uint8_t *transposed, float *transposed_scale, cudaStream_t stream);

/* Sigmoid scores of logits[tokens][experts]; the best top_groups groups by the sum of their two
 * best biased scores; the best top_k experts of those; their unbiased scores scaled to a sum of
 * router_scale. Experts: a multiple of 32, at most 512; groups divide 32. */
constexpr float router_scale = 2.5f;
void route(const Model &model, const float *logits, const float *bias, int64_t tokens,
	int *index, float *weight, cudaStream_t stream);
/* dlogits[tokens][experts] from the gradient of the chosen weights. */
void route_backward(const Model &model, const float *logits, const int *index,
	const float *weight_grad, int64_t tokens, bf16 *dlogits, cudaStream_t stream);

} // namespace bench
