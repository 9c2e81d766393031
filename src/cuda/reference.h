/* The layer again in double precision on the CPU, written for plainness: what the kernels are
 * held against. Matrices are row-major vectors. The gradients here are themselves held against
 * finite differences of the forward functions. */
#pragma once
#include "model.h"
#include <vector>

namespace bench
{
namespace reference
{

using Values = std::vector<double>;

/* y[rows][out] = x[rows][in] w[out][in]^T, and its two gradients. */
Values linear(const Values &x, const Values &w, int out, int in);
Values linear_input_grad(const Values &dy, const Values &w, int out, int in);
Values linear_weight_grad(const Values &dy, const Values &x, int out, int in);

Values add(const Values &a, const Values &b);
double dot(const Values &a, const Values &b);

Values norm(const Values &x, const Values &gamma);
/* Adds to gamma_grad. */
Values norm_grad(const Values &x, const Values &gamma, const Values &dy, Values &gamma_grad);

/* Rotates the last `width` of every `head` columns below `cols` of each row, by the row's
 * number. */
Values rope(const Values &x, int row_width, int cols, int head, int width, double base,
	bool inverse);

/* q[tokens][heads][qk], k and v with kv_heads; o[tokens][heads][v]. */
struct AttentionSize {
	int tokens, heads, kv_heads, qk, v;
};
Values attention(const AttentionSize &size, const Values &q, const Values &k, const Values &v);
struct AttentionGrad {
	Values q, k, v;
};
AttentionGrad attention_grad(const AttentionSize &size, const Values &q, const Values &k,
	const Values &v, const Values &d_o);

/* gate_up[rows][2 inter], weight[rows] (empty: one). */
Values swiglu(const Values &gate_up, const Values &weight, int inter);
Values swiglu_grad(const Values &gate_up, const Values &weight, const Values &dact, int inter,
	Values &weight_grad);

/* The chosen experts of each token and their weights; the gradient of the logits. */
std::vector<int> route(const Model &model, const Values &logits, const Values &bias);
Values route_weight(const Model &model, const Values &logits, const std::vector<int> &index);
Values route_grad(const Model &model, const Values &logits, const std::vector<int> &index,
	const Values &weight_grad);

/* Everything of an attention block that can be learned, or its gradient. */
struct BlockWeights {
	Values gamma1, gamma2, q_gamma, kv_gamma, down, q_up, kv_up, out, router;
};
/* What a forward pass through it leaves; the last three are its results. */
struct Block {
	Values h, normed, down, q_latent, kv_latent, q, k, v, o;
	Values h2, hidden, logits;
};
Block block_forward(const Model &model, const BlockWeights &weights, const Values &h);
/* Gradients of the results, the router's through its logits. */
struct BlockGrad {
	Values h2, hidden, logits;
};
/* Gradient of h; adds to `grads`. */
Values block_backward(const Model &model, const BlockWeights &weights, const Block &pass,
	const BlockGrad &grad, BlockWeights &grads);

/* out = (weight silu(gate) up) contract^T with gate, up = x up^T. */
struct MlpWeights {
	Values up, contract;
};
Values mlp_forward(const MlpWeights &weights, const Values &x, const Values &weight, int hidden,
	int inter);
/* Gradient of x; sets the others. */
Values mlp_backward(const MlpWeights &weights, const Values &x, const Values &weight,
	const Values &d_out, int hidden, int inter, MlpWeights &grads, Values &weight_grad);

} // namespace reference
} // namespace bench
