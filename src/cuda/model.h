/* The layer that is measured: its shapes, read from an ini file, and the floating-point
 * operations that follow from them. Counts are those of a matrix product, 2 m n k; causal
 * attention counts the half of the scores that it computes. */
#pragma once
#include <cstdint>
#include <string>

namespace bench
{

/* Sizes in elements. Every width that a GEMM contracts or a scale covers is a multiple of 128.
 */
struct Model {
	std::string name;
	bool mla = false; /* latent attention; else grouped-query attention */
	int hidden = 0;
	int heads = 0;
	int kv_heads = 0; /* equals heads with latent attention */
	int q_lora = 0;   /* latent attention only, as the next two */
	int kv_lora = 0;
	int qk_nope = 0;
	int qk_rope = 0; /* rotated part of a head; all of it with grouped-query attention */
	int v_head = 0;

	int experts = 0;         /* routed experts of the layer; 0 = a dense MLP */
	int experts_per_gpu = 0; /* of those, on one GPU */
	int top_k = 0;
	int groups = 0; /* groups of experts; a token takes experts of top_groups of them */
	int top_groups = 0;
	int inter = 0;        /* width of one routed expert */
	int shared_inter = 0; /* width of the shared expert, or of the dense MLP */

	bool moe() const
	{
		return experts > 0;
	}
	int qk_head() const
	{
		return qk_nope + qk_rope;
	}
	/* Rows of the first projection: both latents and the shared rotary key, or q, k and v.
	 */
	int down_width() const;
	/* The same rounded up to 128, with rows of zeros, as the GEMMs see it. */
	int down_padded() const;
};

/* `what` is the path of an ini file or a built-in name ("deepseek-v3", "llama-3-70b"); throws
 * std::runtime_error that names the line at fault. `experts_per_gpu` instead of the file's; 0 = the
 * file's. */
Model read_model(const std::string &what, int experts_per_gpu = 0);

/* Operations of all linear layers of the attention block over `tokens` tokens, one pass. */
double attention_linear_flops(const Model &model, int64_t tokens);
/* Part of them that the backward pass repeats: the projections from the latents. */
double attention_recompute_flops(const Model &model, int64_t tokens);
/* Causal attention itself, forward; the backward takes 2.5 times as many. */
double attention_core_flops(const Model &model, int64_t tokens);
/* The router, one pass. */
double router_flops(const Model &model, int64_t tokens);
/* MLP, one pass: `rows` rows through routed experts, `tokens` rows through the shared one or
 * the dense MLP. Includes the router, as the published counts do. */
double mlp_flops(const Model &model, int64_t tokens, int64_t rows);

} // namespace bench
