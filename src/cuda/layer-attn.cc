/* The attention block: from the layer's input to the message rows, and back. */
#include "layer-impl.h"

namespace bench
{
namespace
{

/* Bytes of a [tokens][width] matrix in BF16. */
double plain_bytes(const Set &set, double width)
{
	return 2.0 * set.tokens * width;
}

/* The matrix that the output projection reads. */
Matrix attention_output(const Set &set)
{
	return set.fp8 ? set.o_cast.view()
		       : plain_matrix(set.o, set.tokens, set.model.heads * set.model.v_head);
}

/* Gradient of the output projection's result, as its products read it. */
Matrix projected_grad(const Set &set)
{
	return set.fp8 ? set.dh2_cast.view()
		       : plain_matrix(set.dh2, set.tokens, set.model.hidden);
}

/* The router's input: message rows before their cast. */
Matrix router_input(const Set &set)
{
	return set.fp8 ? plain_matrix(set.hidden_plain, set.tokens, set.model.hidden)
		       : set.hidden.view();
}

Matrix router_grad_in(const Set &set)
{
	return plain_matrix(set.dlogits, set.tokens, set.model.experts);
}

Run all_tokens(const Set &set)
{
	return {0, set.tokens};
}

RopeColumns query_rope(const Set &set)
{
	const Model &model = set.model;
	if (model.mla)
		return {set.rope, model.qk_head(), model.qk_rope,
			model.heads * model.qk_head()};
	return {set.rope, model.qk_rope, model.qk_rope,
		(model.heads + model.kv_heads) * model.qk_rope};
}

Latent latent(const Set &set)
{
	const Model &model = set.model;
	return {set.down, set.weights.q_gamma, set.weights.kv_gamma, set.rope, set.tokens,
		model.q_lora, model.kv_lora, model.qk_rope, model.down_padded()};
}

void forward_gemm(PartList &list, Set &set, const std::string &name, Linear &linear,
	const Matrix &x, bf16 *y)
{
	list.gemm(name, {linear.forward_shape(set.tokens)},
		[&set, &linear, x, y](const Lane &lane) {
			linear.forward(set.gemm, set.lanes.main(lane), x, all_tokens(set), y);
		});
}

void input_gemm(PartList &list, Set &set, const std::string &name, Linear &linear,
	const Matrix &dy, bf16 *dx)
{
	list.gemm(name, {linear.input_grad_shape(set.tokens)},
		[&set, &linear, dy, dx](const Lane &lane) {
			linear.input_grad(
				set.gemm, set.lanes.main(lane), dy, all_tokens(set), dx);
		});
}

void weight_gemm(PartList &list, Set &set, const std::string &name, Linear &linear,
	const Matrix &x, const Transposed &xt, const Matrix &dy, const Transposed &dyt)
{
	list.gemm(name, {linear.weight_grad_shape(set.tokens)},
		[&set, &linear, x, xt, dy, dyt](const Lane &lane) {
			linear.weight_grad(set.gemm, set.lanes.main(lane), x, xt, dy, dyt,
				all_tokens(set));
		});
}

/* From the normalised latents to q, k and v: what the backward repeats, with its own names. */
void latent_parts(PartList &list, Set &set, const std::string &prefix)
{
	const Model &model = set.model;
	const double key_bytes = plain_bytes(set, model.qk_rope);
	const double head_bytes = plain_bytes(set, model.heads);
	list.own(prefix + "latent_norm",
		plain_bytes(set, model.down_width()) + set.q_latent.view().bytes() +
			set.kv_latent.view().bytes() + key_bytes,
		[&set](const Lane &lane) {
			latent_forward(latent(set), set.q_latent.view(), set.kv_latent.view(),
				set.key_rope, lane.stream);
		});
	forward_gemm(list, set, prefix + "q_up", *set.weights.q_up, set.q_latent.view(), set.q);
	forward_gemm(
		list, set, prefix + "kv_up", *set.weights.kv_up, set.kv_latent.view(), set.kv);
	list.own(prefix + "rope_keys",
		head_bytes * (2 * model.qk_rope + model.qk_nope + model.qk_head()) + key_bytes,
		[&set](const Lane &lane) {
			rope_keys(set.model, set.q, set.kv, set.key_rope, set.k, set.rope,
				set.tokens, lane.stream);
		});
}

void core_part(PartList &list, Set &set, bool backward)
{
	const Model &model = set.model;
	const double q = plain_bytes(set, model.heads * model.qk_head());
	const double o = plain_bytes(set, model.heads * model.v_head);
	const double kv = plain_bytes(set, model.kv_heads * (model.qk_head() + model.v_head));
	Part &part = list.own(backward ? "attention_grad" : "attention",
		backward ? 2 * (q + o + kv) : q + o + kv, [&set, backward](const Lane &lane) {
			const GemmLane main = set.lanes.main(lane);
			if (backward)
				set.attention->backward(main);
			else
				set.attention->forward(main);
		});
	part.bound = Bound::bf16_gemm;
	part.impl = set.attention->impl();
	part.flops = attention_core_flops(model, set.tokens) * (backward ? 2.5 : 1);
}

/* Products of the padded first projection count what they must, not the zeros. */
void trim_down(PartList &list, const Set &set)
{
	list.parts.back().flops *= double(set.model.down_width()) / set.model.down_padded();
}

void norm1_part(PartList &list, Set &set)
{
	const bool moe = set.model.moe();
	list.own("norm1",
		plain_bytes(set, set.model.hidden) * (moe ? 4 : 3) + set.normed.view().bytes(),
		[&set](const Lane &lane) {
			NormForward call = {};
			call.a = set.x;
			call.b = set.shared->out;
			call.c = set.combined;
			call.gamma = set.weights.gamma1;
			call.sum = set.h;
			call.y = set.normed.view();
			norm_forward(call, lane.stream);
		});
}

void norm2_part(PartList &list, Set &set)
{
	const int copies = set.hidden_plain.size() > 0;
	list.own("norm2",
		plain_bytes(set, set.model.hidden) * (3 + copies) + set.hidden.view().bytes(),
		[&set](const Lane &lane) {
			NormForward call = {};
			call.a = set.h;
			call.b = set.attn_out;
			call.gamma = set.weights.gamma2;
			call.sum = set.h2;
			call.y = set.hidden.view();
			call.copy = set.hidden_plain;
			norm_forward(call, lane.stream);
		});
}

void router_parts(PartList &list, Set &set)
{
	const Model &model = set.model;
	GemmShape shape = set.weights.router->forward_shape(set.tokens);
	shape.float_out = true;
	list.gemm("router", {shape}, [&set](const Lane &lane) {
		set.weights.router->forward(set.gemm, set.lanes.main(lane), router_input(set),
			all_tokens(set), set.logits.get());
	});
	list.own("top_k", 4.0 * set.tokens * (model.experts + 2 * model.top_k),
		[&set](const Lane &lane) {
			route(set.model, set.logits, set.weights.router_bias, set.tokens,
				set.route_index, set.route_weight, lane.stream);
		});
}

void norm2_grad_part(PartList &list, Set &set)
{
	const bool moe = set.model.moe();
	const double cast_bytes = set.fp8 ? set.dh2_cast.view().bytes() : 0;
	list.own("norm2_grad", plain_bytes(set, set.model.hidden) * (moe ? 6 : 4) + cast_bytes,
		[&set](const Lane &lane) {
			NormBackward call = {};
			call.x = set.h2;
			call.gamma = set.weights.gamma2;
			call.dy[0] = set.shared->in_grad;
			call.dy[1] = set.hidden_grad;
			call.dy[2] = set.router_grad;
			call.residual = set.grad_out;
			call.dx = set.dh2;
			call.copy = set.dh2_cast.view();
			call.partial = set.partial;
			call.gamma_grad = set.weights.gamma2_grad;
			call.rows = set.tokens;
			call.cols = set.model.hidden;
			norm_backward(call, lane.stream);
		});
}

void norm1_grad_part(PartList &list, Set &set)
{
	list.own(
		"norm1_grad", plain_bytes(set, set.model.hidden) * 4, [&set](const Lane &lane) {
			NormBackward call = {};
			call.x = set.h;
			call.gamma = set.weights.gamma1;
			call.dy[0] = set.dnormed;
			call.residual = set.dh2;
			call.dx = set.grad_in;
			call.partial = set.partial;
			call.gamma_grad = set.weights.gamma1_grad;
			call.rows = set.tokens;
			call.cols = set.model.hidden;
			norm_backward(call, lane.stream);
		});
}

void recompute_parts(PartList &list, Set &set)
{
	list.own("recompute_norm1",
		plain_bytes(set, set.model.hidden) + set.normed.view().bytes(),
		[&set](const Lane &lane) {
			NormForward call = {};
			call.a = set.h;
			call.gamma = set.weights.gamma1;
			call.y = set.normed.view();
			norm_forward(call, lane.stream);
		});
	if (set.model.mla)
		latent_parts(list, set, "recompute_");
}

void cast_part(PartList &list, const std::string &name, const bf16 *from, const Matrix &to,
	const RopeColumns &rope)
{
	list.own(name, 2.0 * to.elements() + to.bytes(),
		[from, to, rope](const Lane &lane) { cast(from, to, rope, lane.stream); });
}

/* Gradients of q, k and v back to that of the first projection's result. */
void latent_grad_parts(PartList &list, Set &set)
{
	const Model &model = set.model;
	if (!model.mla) {
		cast_part(list, "cast_dqkv", set.dq, set.ddown.view(), query_rope(set));
		return;
	}
	cast_part(list, "cast_dq", set.dq, set.dq_cast.view(), query_rope(set));
	list.own("key_value_grad",
		plain_bytes(set, model.heads * (model.qk_head() + model.v_head)) +
			plain_bytes(set, model.qk_rope) + set.dkv_cast.view().bytes(),
		[&set](const Lane &lane) {
			key_value_grad(set.model, set.dk, set.dv, set.dkv_cast.view(),
				set.dkey_rope, set.rope, lane.stream);
		});
	input_gemm(
		list, set, "q_up_grad", *set.weights.q_up, set.dq_cast.view(), set.dq_latent);
	input_gemm(list, set, "kv_up_grad", *set.weights.kv_up, set.dkv_cast.view(),
		set.dkv_latent);
	list.own("latent_grad",
		plain_bytes(set, 2 * model.down_width()) + set.ddown.view().bytes(),
		[&set](const Lane &lane) {
			const LatentBackward back = {set.dq_latent, set.dkv_latent,
				set.dkey_rope, set.ddown.view(), set.partial,
				set.weights.q_gamma_grad, set.weights.kv_gamma_grad};
			latent_backward(latent(set), back, lane.stream);
		});
}

void transpose_part(PartList &list, Set &set)
{
	std::vector<std::pair<Matrix, Transposed>> all = {
		{set.normed.view(), set.normed_t.view()},
		{set.ddown.view(), set.ddown_t.view()},
		{set.o_cast.view(), set.o_t.view()},
		{set.dh2_cast.view(), set.dh2_t.view()},
	};
	if (set.model.mla) {
		all.push_back({set.q_latent.view(), set.q_latent_t.view()});
		all.push_back({set.dq_cast.view(), set.dq_t.view()});
		all.push_back({set.kv_latent.view(), set.kv_latent_t.view()});
		all.push_back({set.dkv_cast.view(), set.dkv_t.view()});
	}
	double bytes = 0;
	for (const auto &pair : all)
		bytes += 2 * pair.first.bytes();
	list.own("transposes", bytes, [all](const Lane &lane) {
		for (const auto &pair : all)
			transpose_requantise(pair.first, pair.second, lane.stream);
	});
}

} // namespace

std::vector<Part> attention_forward(Set &set)
{
	PartList list("attn", "F");
	const Model &model = set.model;
	norm1_part(list, set);
	forward_gemm(list, set, "qkv_down", *set.weights.down, set.normed.view(), set.down);
	trim_down(list, set);
	if (model.mla)
		latent_parts(list, set, "");
	else
		list.own("rope",
			plain_bytes(set, 2.0 * (model.heads + model.kv_heads) * model.qk_rope),
			[&set](const Lane &lane) {
				rope_forward(set.down, set.tokens, set.model.down_padded(),
					query_rope(set), lane.stream);
			});
	core_part(list, set, false);
	if (set.fp8)
		cast_part(list, "cast_o", set.o, set.o_cast.view(), {});
	forward_gemm(
		list, set, "o_proj", *set.weights.out, attention_output(set), set.attn_out);
	norm2_part(list, set);
	if (model.moe())
		router_parts(list, set);
	return list.parts;
}

std::vector<Part> attention_input_grad(Set &set)
{
	PartList list("attn", "I");
	const Model &model = set.model;
	if (model.moe()) {
		list.own("top_k_grad", set.tokens * (2.0 * model.experts + 12.0 * model.top_k),
			[&set](const Lane &lane) {
				route_backward(set.model, set.logits, set.route_index,
					set.route_weight_grad, set.tokens, set.dlogits,
					lane.stream);
			});
		input_gemm(list, set, "router_grad", *set.weights.router, router_grad_in(set),
			set.router_grad);
	}
	norm2_grad_part(list, set);
	input_gemm(list, set, "o_proj_grad", *set.weights.out, projected_grad(set), set.d_o);
	recompute_parts(list, set);
	core_part(list, set, true);
	latent_grad_parts(list, set);
	input_gemm(
		list, set, "qkv_down_grad", *set.weights.down, set.ddown.view(), set.dnormed);
	trim_down(list, set);
	norm1_grad_part(list, set);
	if (set.fp8)
		transpose_part(list, set);
	return list.parts;
}

std::vector<Part> attention_weight_grad(Set &set)
{
	PartList list("attn", "W");
	weight_gemm(list, set, "qkv_down_weight", *set.weights.down, set.normed.view(),
		set.normed_t.view(), set.ddown.view(), set.ddown_t.view());
	trim_down(list, set);
	if (set.model.mla) {
		weight_gemm(list, set, "q_up_weight", *set.weights.q_up, set.q_latent.view(),
			set.q_latent_t.view(), set.dq_cast.view(), set.dq_t.view());
		weight_gemm(list, set, "kv_up_weight", *set.weights.kv_up, set.kv_latent.view(),
			set.kv_latent_t.view(), set.dkv_cast.view(), set.dkv_t.view());
	}
	weight_gemm(list, set, "o_proj_weight", *set.weights.out, attention_output(set),
		set.o_t.view(), projected_grad(set), set.dh2_t.view());
	if (set.model.moe())
		weight_gemm(list, set, "router_weight", *set.weights.router, router_input(set),
			{}, router_grad_in(set), {});
	return list.parts;
}

} // namespace bench
