/* The router and the two halves of a layer, put together from the functions of reference.cc. */
#include "elementwise.h"
#include "reference.h"
#include <algorithm>
#include <cmath>
#include <numeric>

namespace bench
{
namespace reference
{

static double sigmoid(double x)
{
	return 1 / (1 + std::exp(-x));
}

/* Indices of the `count` largest values, ties to the lower index, largest first. */
static std::vector<int> largest(const Values &values, int count)
{
	std::vector<int> order(values.size());
	std::iota(order.begin(), order.end(), 0);
	std::stable_sort(order.begin(), order.end(),
		[&](int a, int b) { return values[a] > values[b]; });
	order.resize(count);
	return order;
}

std::vector<int> route(const Model &model, const Values &logits, const Values &bias)
{
	const int experts = model.experts, in_group = experts / model.groups;
	std::vector<int> index;
	for (size_t row = 0; row < logits.size(); row += experts) {
		Values biased(experts), scores(model.groups);
		for (int i = 0; i < experts; i++)
			biased[i] = sigmoid(logits[row + i]) + bias[i];
		for (int group = 0; group < model.groups; group++) {
			Values members(biased.begin() + group * in_group,
				biased.begin() + (group + 1) * in_group);
			for (const int best : largest(members, std::min(2, in_group)))
				scores[group] += members[best];
		}
		Values open(experts, -1e30);
		for (const int group : largest(scores, model.top_groups))
			std::copy_n(biased.begin() + group * in_group, in_group,
				open.begin() + group * in_group);
		for (const int best : largest(open, model.top_k))
			index.push_back(best);
	}
	return index;
}

Values route_weight(const Model &model, const Values &logits, const std::vector<int> &index)
{
	Values weight(index.size());
	for (size_t i = 0; i < index.size(); i += model.top_k) {
		const double *row = &logits[i / model.top_k * model.experts];
		double sum = 0;
		for (int j = 0; j < model.top_k; j++)
			sum += weight[i + j] = sigmoid(row[index[i + j]]);
		for (int j = 0; j < model.top_k; j++)
			weight[i + j] *= router_scale / sum;
	}
	return weight;
}

Values route_grad(const Model &model, const Values &logits, const std::vector<int> &index,
	const Values &weight_grad)
{
	Values grad(logits.size());
	for (size_t i = 0; i < index.size(); i += model.top_k) {
		const size_t row = i / model.top_k * model.experts;
		double sum = 0, product = 0;
		for (int j = 0; j < model.top_k; j++) {
			const double score = sigmoid(logits[row + index[i + j]]);
			sum += score;
			product += score * weight_grad[i + j];
		}
		for (int j = 0; j < model.top_k; j++) {
			const double score = sigmoid(logits[row + index[i + j]]);
			grad[row + index[i + j]] = router_scale *
						   (weight_grad[i + j] - product / sum) / sum *
						   score * (1 - score);
		}
	}
	return grad;
}

/* Columns [begin, begin + width) of each group of `stride` columns. */
static Values columns(const Values &x, int stride, int begin, int width)
{
	Values y;
	for (size_t row = 0; row < x.size(); row += stride)
		y.insert(y.end(), x.begin() + row + begin, x.begin() + row + begin + width);
	return y;
}

static void put_columns(Values &x, const Values &y, int stride, int begin, int width)
{
	for (size_t row = 0; row < y.size() / width; row++)
		std::copy_n(y.begin() + row * width, width, x.begin() + row * stride + begin);
}

static AttentionSize size_of(const Model &model, const Values &h)
{
	return {int(h.size() / model.hidden), model.heads, model.kv_heads, model.qk_head(),
		model.v_head};
}

/* q, k and v of latent attention from the first projection. */
static void expand_latents(const Model &model, const BlockWeights &weights, Block &pass)
{
	const int width = model.down_padded(), heads = model.heads, qk = model.qk_head();
	const int kv_head = model.qk_nope + model.v_head;
	pass.q_latent = norm(columns(pass.down, width, 0, model.q_lora), weights.q_gamma);
	pass.kv_latent =
		norm(columns(pass.down, width, model.q_lora, model.kv_lora), weights.kv_gamma);
	const Values key =
		rope(columns(pass.down, width, model.q_lora + model.kv_lora, model.qk_rope),
			model.qk_rope, model.qk_rope, model.qk_rope, model.qk_rope,
			mla_rope_base, false);
	pass.q = rope(linear(pass.q_latent, weights.q_up, heads * qk, model.q_lora), heads * qk,
		heads * qk, qk, model.qk_rope, mla_rope_base, false);
	const Values kv = linear(pass.kv_latent, weights.kv_up, heads * kv_head, model.kv_lora);
	pass.v = columns(kv, kv_head, model.qk_nope, model.v_head);
	pass.k.assign(pass.q.size(), 0);
	put_columns(pass.k, columns(kv, kv_head, 0, model.qk_nope), qk, 0, model.qk_nope);
	for (size_t i = 0; i < pass.k.size() / qk; i++)
		std::copy_n(key.begin() + i / heads * model.qk_rope, model.qk_rope,
			pass.k.begin() + i * qk + model.qk_nope);
}

/* q, k and v of grouped-query attention are the first projection itself. */
static void split_heads(const Model &model, Block &pass)
{
	const int width = model.down_padded(), head = model.qk_rope;
	const int q = model.heads * head, k = model.kv_heads * head;
	const Values turned = rope(pass.down, width, q + k, head, head, gqa_rope_base, false);
	pass.q = columns(turned, width, 0, q);
	pass.k = columns(turned, width, q, k);
	pass.v = columns(turned, width, q + k, k);
}

Block block_forward(const Model &model, const BlockWeights &weights, const Values &h)
{
	Block pass;
	pass.h = h;
	pass.normed = norm(h, weights.gamma1);
	pass.down = linear(pass.normed, weights.down, model.down_padded(), model.hidden);
	if (model.mla)
		expand_latents(model, weights, pass);
	else
		split_heads(model, pass);
	pass.o = attention(size_of(model, h), pass.q, pass.k, pass.v);
	pass.h2 = add(h, linear(pass.o, weights.out, model.hidden, model.heads * model.v_head));
	pass.hidden = norm(pass.h2, weights.gamma2);
	if (model.moe())
		pass.logits = linear(pass.hidden, weights.router, model.experts, model.hidden);
	return pass;
}

static Values latents_backward(const Model &model, const BlockWeights &weights,
	const Block &pass, const AttentionGrad &grad, BlockWeights &grads)
{
	const int width = model.down_padded(), heads = model.heads, qk = model.qk_head();
	const int kv_head = model.qk_nope + model.v_head,
		  tokens = int(pass.q.size()) / heads / qk;
	const Values dq =
		rope(grad.q, heads * qk, heads * qk, qk, model.qk_rope, mla_rope_base, true);
	Values dkv(size_t(tokens) * heads * kv_head), dkey(size_t(tokens) * model.qk_rope);
	put_columns(dkv, columns(grad.k, qk, 0, model.qk_nope), kv_head, 0, model.qk_nope);
	put_columns(dkv, grad.v, kv_head, model.qk_nope, model.v_head);
	for (size_t i = 0; i < grad.k.size() / qk; i++)
		for (int j = 0; j < model.qk_rope; j++)
			dkey[i / heads * model.qk_rope + j] +=
				grad.k[i * qk + model.qk_nope + j];
	dkey = rope(dkey, model.qk_rope, model.qk_rope, model.qk_rope, model.qk_rope,
		mla_rope_base, true);
	grads.q_up = linear_weight_grad(dq, pass.q_latent, heads * qk, model.q_lora);
	grads.kv_up = linear_weight_grad(dkv, pass.kv_latent, heads * kv_head, model.kv_lora);
	const Values q = columns(pass.down, width, 0, model.q_lora);
	const Values kv = columns(pass.down, width, model.q_lora, model.kv_lora);
	Values ddown(pass.down.size());
	put_columns(ddown,
		norm_grad(q, weights.q_gamma,
			linear_input_grad(dq, weights.q_up, heads * qk, model.q_lora),
			grads.q_gamma),
		width, 0, model.q_lora);
	put_columns(ddown,
		norm_grad(kv, weights.kv_gamma,
			linear_input_grad(dkv, weights.kv_up, heads * kv_head, model.kv_lora),
			grads.kv_gamma),
		width, model.q_lora, model.kv_lora);
	put_columns(ddown, dkey, width, model.q_lora + model.kv_lora, model.qk_rope);
	return ddown;
}

static Values heads_backward(const Model &model, const Block &pass, const AttentionGrad &grad)
{
	const int width = model.down_padded(), head = model.qk_rope;
	const int q = model.heads * head, k = model.kv_heads * head;
	Values ddown(pass.down.size());
	put_columns(ddown, grad.q, width, 0, q);
	put_columns(ddown, grad.k, width, q, k);
	put_columns(ddown, grad.v, width, q + k, k);
	return rope(ddown, width, q + k, head, head, gqa_rope_base, true);
}

Values block_backward(const Model &model, const BlockWeights &weights, const Block &pass,
	const BlockGrad &grad, BlockWeights &grads)
{
	const int hidden = model.hidden, o_width = model.heads * model.v_head;
	for (auto member : {&BlockWeights::gamma1, &BlockWeights::gamma2,
		     &BlockWeights::q_gamma, &BlockWeights::kv_gamma})
		(grads.*member).assign((weights.*member).size(), 0);
	Values dhidden = grad.hidden;
	if (model.moe()) {
		dhidden = add(dhidden,
			linear_input_grad(grad.logits, weights.router, model.experts, hidden));
		grads.router =
			linear_weight_grad(grad.logits, pass.hidden, model.experts, hidden);
	}
	const Values dh2 =
		add(grad.h2, norm_grad(pass.h2, weights.gamma2, dhidden, grads.gamma2));
	grads.out = linear_weight_grad(dh2, pass.o, hidden, o_width);
	const Values d_o = linear_input_grad(dh2, weights.out, hidden, o_width);
	const AttentionGrad inner =
		attention_grad(size_of(model, pass.h), pass.q, pass.k, pass.v, d_o);
	const Values ddown = model.mla ? latents_backward(model, weights, pass, inner, grads)
				       : heads_backward(model, pass, inner);
	grads.down = linear_weight_grad(ddown, pass.normed, model.down_padded(), hidden);
	const Values dnormed =
		linear_input_grad(ddown, weights.down, model.down_padded(), hidden);
	return add(dh2, norm_grad(pass.h, weights.gamma1, dnormed, grads.gamma1));
}

Values mlp_forward(
	const MlpWeights &weights, const Values &x, const Values &weight, int hidden, int inter)
{
	const Values gate_up = linear(x, weights.up, 2 * inter, hidden);
	return linear(swiglu(gate_up, weight, inter), weights.contract, hidden, inter);
}

Values mlp_backward(const MlpWeights &weights, const Values &x, const Values &weight,
	const Values &d_out, int hidden, int inter, MlpWeights &grads, Values &weight_grad)
{
	const Values gate_up = linear(x, weights.up, 2 * inter, hidden);
	const Values act = swiglu(gate_up, weight, inter);
	const Values dact = linear_input_grad(d_out, weights.contract, hidden, inter);
	const Values dgate_up = swiglu_grad(gate_up, weight, dact, inter, weight_grad);
	grads.contract = linear_weight_grad(d_out, act, hidden, inter);
	grads.up = linear_weight_grad(dgate_up, x, 2 * inter, hidden);
	return linear_input_grad(dgate_up, weights.up, 2 * inter, hidden);
}

} // namespace reference
} // namespace bench
