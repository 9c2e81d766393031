/* Weights, activations and lanes of a layer: what is allocated, and what is in it at first. */
#include "layer-impl.h"
#include <algorithm>
#include <numeric>

namespace bench
{

static Buffer<bf16> draw_gamma(int count, uint64_t seed)
{
	Buffer<bf16> gamma(count);
	fill_normal(gamma, count, 1, 0.1f, seed);
	return gamma;
}

static std::unique_ptr<Linear> make_linear(int out, int in, int used, bool fp8, uint64_t seed)
{
	return std::make_unique<Linear>(out, in, used, fp8, seed);
}

Weights::Weights(const Model &model, bool fp8, uint64_t seed)
    : gamma1(draw_gamma(model.hidden, seed + 1)), gamma2(draw_gamma(model.hidden, seed + 2)),
      q_gamma(draw_gamma(model.q_lora, seed + 3)),
      kv_gamma(draw_gamma(model.kv_lora, seed + 4)), gamma1_grad(model.hidden),
      gamma2_grad(model.hidden), q_gamma_grad(model.q_lora), kv_gamma_grad(model.kv_lora)
{
	const int heads = model.heads;
	down = make_linear(
		model.down_padded(), model.hidden, model.down_width(), fp8, seed + 5);
	if (model.mla) {
		const int q = heads * model.qk_head(),
			  kv = heads * (model.qk_nope + model.v_head);
		q_up = make_linear(q, model.q_lora, q, fp8, seed + 6);
		kv_up = make_linear(kv, model.kv_lora, kv, fp8, seed + 7);
	}
	out = make_linear(model.hidden, heads * model.v_head, model.hidden, fp8, seed + 8);
	shared_up.emplace_back(
		2 * model.shared_inter, model.hidden, 2 * model.shared_inter, fp8, seed + 9);
	shared_contract.emplace_back(
		model.hidden, model.shared_inter, model.hidden, fp8, seed + 10);
	if (!model.moe())
		return;
	router = make_linear(model.experts, model.hidden, model.experts, false, seed + 11);
	router_bias = Buffer<float>(model.experts);
	fill_normal(router_bias, model.experts, 0, 0.01f, seed + 12);
	for (int i = 0; i < model.experts_per_gpu; i++) {
		up.emplace_back(
			2 * model.inter, model.hidden, 2 * model.inter, fp8, seed + 13 + 2 * i);
		contract.emplace_back(
			model.hidden, model.inter, model.hidden, fp8, seed + 14 + 2 * i);
	}
}

/* Begins of the runs: each expert's rows rounded up to 128. */
static std::vector<int64_t> run_begins(const std::vector<int64_t> &rows)
{
	std::vector<int64_t> begins = {0};
	for (const int64_t count : rows)
		begins.push_back(begins.back() + (count + 127) / 128 * 128);
	return begins;
}

MlpBranch::MlpBranch(std::vector<Linear> &up_weights, std::vector<Linear> &contract_weights,
	const std::vector<int64_t> &rows, int with_hidden, int with_inter, bool with_fp8,
	bool is_routed)
    : name(is_routed ? "experts" : "shared"), up(up_weights), contract(contract_weights),
      hidden(with_hidden), inter(with_inter), fp8(with_fp8), routed(is_routed)
{
	const std::vector<int64_t> begins = run_begins(rows);
	const Segments segments = make_segments(begins);
	const int64_t all = begins.back();
	for (size_t i = 0; i < rows.size(); i++)
		runs.push_back({begins[i], begins[i + 1] - begins[i]});
	counted_rows = std::accumulate(rows.begin(), rows.end(), int64_t(0));
	gate_up = Buffer<bf16>(all * 2 * inter);
	out = Buffer<bf16>(all * hidden);
	dact = Buffer<bf16>(all * inter);
	in_grad = Buffer<bf16>(all * hidden);
	act = OwnedMatrix(all, inter, fp8, segments);
	if (fp8)
		cache = OwnedMatrix(all, 2 * inter, true, segments, true);
	dgate_up = OwnedMatrix(all, 2 * inter, fp8, segments);
	in_t = OwnedTransposed(all, hidden, fp8);
	out_grad_t = OwnedTransposed(all, hidden, fp8);
	act_t = OwnedTransposed(all, inter, fp8);
	dgate_up_t = OwnedTransposed(all, 2 * inter, fp8);
	if (routed) {
		row_weight = Buffer<float>(all);
		row_weight_grad = Buffer<float>(all);
	}
}

Set::Set(const Model &with_model, const LayerOptions &options, Weights &with_weights,
	Gemm &with_gemm)
    : model(with_model), weights(with_weights), gemm(with_gemm), tokens(options.tokens),
      fp8(options.fp8), rows_per_expert(options.rows_per_expert)
{
	allocate_attention();
	allocate_mlp();
	attention = make_attention(options.attention, attention_task(), gemm, fallback);
	rope_table(rope, tokens, model.qk_rope, model.mla ? mla_rope_base : gqa_rope_base,
		nullptr);
}

void Set::allocate_attention()
{
	const Segments all = one_segment(tokens);
	const int hidden_width = model.hidden, padded = model.down_padded();
	const int q_width = model.heads * model.qk_head(), o_width = model.heads * model.v_head;
	for (Buffer<bf16> *buffer :
		{&x, &h, &attn_out, &h2, &grad_out, &dh2, &dnormed, &grad_in})
		*buffer = Buffer<bf16>(tokens * hidden_width);
	down = Buffer<bf16>(tokens * padded);
	o = Buffer<bf16>(tokens * o_width);
	d_o = Buffer<bf16>(tokens * o_width);
	lse = Buffer<float>(tokens * model.heads);
	rope = Buffer<float2>(tokens * model.qk_rope / 2);
	partial = Buffer<float>(std::max(int64_t(norm_blocks) * hidden_width,
		int64_t(latent_blocks) * (model.q_lora + model.kv_lora)));
	normed = OwnedMatrix(tokens, hidden_width, fp8, all);
	o_cast = OwnedMatrix(tokens, fp8 ? o_width : 0, fp8, all);
	dh2_cast = OwnedMatrix(tokens, fp8 ? hidden_width : 0, fp8, all);
	ddown = OwnedMatrix(tokens, padded, fp8, all);
	normed_t = OwnedTransposed(tokens, hidden_width, fp8);
	ddown_t = OwnedTransposed(tokens, padded, fp8);
	o_t = OwnedTransposed(tokens, o_width, fp8);
	dh2_t = OwnedTransposed(tokens, hidden_width, fp8);
	if (!model.mla) {
		dq = Buffer<bf16>(tokens * padded);
		return;
	}
	const int kv_width = model.heads * (model.qk_nope + model.v_head);
	key_rope = Buffer<bf16>(tokens * model.qk_rope);
	dkey_rope = Buffer<bf16>(tokens * model.qk_rope);
	for (Buffer<bf16> *buffer : {&q, &k, &dq, &dk})
		*buffer = Buffer<bf16>(tokens * q_width);
	kv = Buffer<bf16>(tokens * kv_width);
	dv = Buffer<bf16>(tokens * o_width);
	dq_latent = Buffer<bf16>(tokens * model.q_lora);
	dkv_latent = Buffer<bf16>(tokens * model.kv_lora);
	q_latent = OwnedMatrix(tokens, model.q_lora, fp8, all);
	kv_latent = OwnedMatrix(tokens, model.kv_lora, fp8, all);
	dq_cast = OwnedMatrix(tokens, q_width, fp8, all);
	dkv_cast = OwnedMatrix(tokens, kv_width, fp8, all);
	q_latent_t = OwnedTransposed(tokens, model.q_lora, fp8);
	kv_latent_t = OwnedTransposed(tokens, model.kv_lora, fp8);
	dq_t = OwnedTransposed(tokens, q_width, fp8);
	dkv_t = OwnedTransposed(tokens, kv_width, fp8);
}

void Set::allocate_mlp()
{
	const Segments all = one_segment(tokens);
	hidden = OwnedMatrix(tokens, model.hidden, fp8, all, model.moe());
	grad = OwnedMatrix(tokens, model.hidden, fp8, all, model.moe());
	shared = std::make_unique<MlpBranch>(weights.shared_up, weights.shared_contract,
		std::vector<int64_t>{tokens}, model.hidden, model.shared_inter, fp8, false);
	shared->in = hidden.view();
	shared->out_grad = grad.view();
	if (!model.moe())
		return;
	combined = Buffer<bf16>(tokens * model.hidden);
	hidden_plain = Buffer<bf16>(fp8 ? tokens * model.hidden : 0);
	logits = Buffer<float>(tokens * model.experts);
	route_index = Buffer<int>(tokens * model.top_k);
	route_weight = Buffer<float>(tokens * model.top_k);
	route_weight_grad = Buffer<float>(tokens * model.top_k);
	dlogits = Buffer<bf16>(tokens * model.experts);
	router_grad = Buffer<bf16>(tokens * model.hidden);
	hidden_grad = Buffer<bf16>(tokens * model.hidden);
	experts = std::make_unique<MlpBranch>(weights.up, weights.contract, rows_per_expert,
		model.hidden, model.inter, fp8, true);
	const Segments segments = make_segments(run_begins(rows_per_expert));
	const int64_t rows = segments.begin[segments.count];
	expert_in = OwnedMatrix(rows, model.hidden, fp8, segments, true);
	expert_grad = OwnedMatrix(rows, model.hidden, fp8, segments, true);
	experts->in = expert_in.view();
	experts->out_grad = expert_grad.view();
}

AttentionTask Set::attention_task()
{
	AttentionTask task = {};
	task.tokens = tokens;
	task.heads = model.heads;
	task.kv_heads = model.kv_heads;
	task.qk = model.qk_head();
	task.v_width = model.v_head;
	task.lse = lse;
	const int64_t o_row = model.heads * model.v_head;
	task.o = {o, o_row, model.v_head};
	task.d_o = {d_o, o_row, model.v_head};
	if (model.mla) {
		const int64_t qk = model.qk_head(), kv_head = model.qk_nope + model.v_head;
		task.q = {q, model.heads * qk, qk};
		task.k = {k, model.heads * qk, qk};
		task.v = {kv + model.qk_nope, model.heads * kv_head, kv_head};
		task.dq = {dq, model.heads * qk, qk};
		task.dk = {dk, model.heads * qk, qk};
		task.dv = {dv, o_row, model.v_head};
		return task;
	}
	const int64_t row = model.down_padded(), head = model.qk_rope;
	const int64_t key = model.heads * head, value = key + model.kv_heads * head;
	task.q = {down, row, head};
	task.k = {down + key, row, head};
	task.v = {down + value, row, head};
	task.dq = {dq, row, head};
	task.dk = {dq + key, row, head};
	task.dv = {dq + value, row, head};
	return task;
}

/* Received rows: random, cast as the sender would, padding zero. */
void Set::fill_rows(const Matrix &matrix, const std::vector<int64_t> &rows, uint64_t seed)
{
	Buffer<bf16> plain(matrix.elements());
	fill_normal(plain, matrix.elements(), 0, 1, seed);
	for (size_t i = 0; i < rows.size(); i++) {
		const int64_t end = matrix.segments.begin[i] + rows[i];
		const int64_t padding = matrix.segments.begin[i + 1] - end;
		CUDA_CHECK(cudaMemset(
			plain + end * matrix.cols, 0, padding * matrix.cols * sizeof(bf16)));
	}
	cast(plain, matrix, {}, nullptr);
	CUDA_CHECK(cudaDeviceSynchronize());
}

void Set::fill(uint64_t seed)
{
	fill_normal(x, x.size(), 0, 1, seed);
	fill_normal(grad_out, grad_out.size(), 0, 1, seed + 1);
	if (model.moe()) {
		fill_normal(combined, combined.size(), 0, 0.3f, seed + 2);
		fill_normal(hidden_grad, hidden_grad.size(), 0, 0.3f, seed + 3);
		fill_normal(route_weight_grad, route_weight_grad.size(), 0, 1, seed + 4);
		fill_normal(
			experts->row_weight, experts->row_weight.size(), 0.3f, 0.05f, seed + 5);
		fill_rows(expert_in.view(), rows_per_expert, seed + 6);
		fill_rows(expert_grad.view(), rows_per_expert, seed + 7);
	}
	CUDA_CHECK(cudaDeviceSynchronize());
}

} // namespace bench
