/* Checks of what happens around attention: latents, rotation, keys, and the gradients of them.
 */
#include "check-tools.h"
#include <algorithm>

namespace bench
{
namespace
{

/* Latent attention with odd numbers of heads and tokens. */
struct Case {
	Model model;
	int tokens;
	Buffer<float2> rope;
	Case() : model(read_model("deepseek-v3")), tokens(130)
	{
		model.heads = model.kv_heads = 6;
		model.q_lora = 1024;
		model.kv_lora = 512;
		rope = Buffer<float2>(tokens * model.qk_rope / 2);
		rope_table(rope, tokens, model.qk_rope, mla_rope_base, nullptr);
	}
};

/* Columns [begin, begin + width) of each `stride`. */
Values slice(const Values &x, int stride, int begin, int width)
{
	Values y;
	for (size_t row = 0; row < x.size(); row += stride)
		y.insert(y.end(), x.begin() + row + begin, x.begin() + row + begin + width);
	return y;
}

double limit_of(bool fp8)
{
	return fp8 ? fp8_limit : rounding_limit;
}

void check_latents(Checker &checker, const Case &given, bool fp8)
{
	const Model &model = given.model;
	const int tokens = given.tokens, padded = model.down_padded(), key = model.qk_rope;
	const int q_width = model.q_lora, kv_width = model.kv_lora;
	const std::string path = fp8 ? " FP8" : " BF16";
	const auto down = checker.draw(int64_t(tokens) * padded);
	const auto q_gamma = checker.draw(q_width, 1, 0.2f);
	const auto kv_gamma = checker.draw(kv_width, 1, 0.2f);
	const Latent latent = {
		down, q_gamma, kv_gamma, given.rope, tokens, q_width, kv_width, key, padded};
	const Segments all = one_segment(tokens);
	const OwnedMatrix q(tokens, q_width, fp8, all), kv(tokens, kv_width, fp8, all);
	Buffer<bf16> key_rope(tokens * key);
	poison_matrix(q.view());
	poison_matrix(kv.view());
	poison(key_rope);
	latent_forward(latent, q.view(), kv.view(), key_rope, nullptr);
	const Values q_in = slice(down.host, padded, 0, q_width);
	const Values kv_in = slice(down.host, padded, q_width, kv_width);
	const Values key_in = slice(down.host, padded, q_width + kv_width, key);
	checker.compare("latent norm, q" + path, to_double(q.view()),
		reference::norm(q_in, q_gamma.host), limit_of(fp8));
	checker.compare("latent norm, kv" + path, to_double(kv.view()),
		reference::norm(kv_in, kv_gamma.host), limit_of(fp8));
	checker.compare("shared key" + path, to_double(key_rope),
		reference::rope(key_in, key, key, key, key, mla_rope_base, false),
		rounding_limit);

	const auto dq = checker.draw(tokens * q_width), dkv = checker.draw(tokens * kv_width);
	const auto dkey = checker.draw(tokens * key);
	const OwnedMatrix ddown(tokens, padded, fp8, all);
	Buffer<float> partial(int64_t(latent_blocks) * (q_width + kv_width));
	Buffer<float> q_gamma_grad(q_width), kv_gamma_grad(kv_width);
	poison_matrix(ddown.view());
	poison(partial);
	const LatentBackward back = {
		dq, dkv, dkey, ddown.view(), partial, q_gamma_grad, kv_gamma_grad};
	latent_backward(latent, back, nullptr);
	Values q_expected(q_width), kv_expected(kv_width), expected;
	const Values q_grad = reference::norm_grad(q_in, q_gamma.host, dq.host, q_expected);
	const Values kv_grad =
		reference::norm_grad(kv_in, kv_gamma.host, dkv.host, kv_expected);
	for (int row = 0; row < tokens; row++) {
		const auto append = [&](const Values &from, int width) {
			expected.insert(expected.end(), from.begin() + row * width,
				from.begin() + (row + 1) * width);
		};
		append(q_grad, q_width);
		append(kv_grad, kv_width);
		append(dkey.host, key);
		expected.resize(size_t(row + 1) * padded);
	}
	checker.compare(
		"latent gradient" + path, to_double(ddown.view()), expected, limit_of(fp8));
	checker.compare(
		"latent gradient, q gamma" + path, to_double(q_gamma_grad), q_expected, 1e-5);
	checker.compare("latent gradient, kv gamma" + path, to_double(kv_gamma_grad),
		kv_expected, 1e-5);
}

void check_keys(Checker &checker, const Case &given)
{
	const Model &model = given.model;
	const int tokens = given.tokens, heads = model.heads, qk = model.qk_head();
	const int kv_head = model.qk_nope + model.v_head;
	const auto q = checker.draw(int64_t(tokens) * heads * qk);
	const auto kv = checker.draw(int64_t(tokens) * heads * kv_head);
	const auto key = checker.draw(tokens * model.qk_rope);
	Buffer<bf16> k(int64_t(tokens) * heads * qk);
	poison(k);
	rope_keys(model, q, kv, key, k, given.rope, tokens, nullptr);
	Values expected;
	for (int i = 0; i < tokens * heads; i++) {
		const auto nope = kv.host.begin() + i * kv_head;
		const auto rope = key.host.begin() + i / heads * model.qk_rope;
		expected.insert(expected.end(), nope, nope + model.qk_nope);
		expected.insert(expected.end(), rope, rope + model.qk_rope);
	}
	checker.compare("keys put together", to_double(k), expected, 0);
	checker.compare("rotated queries", to_double(q.device),
		reference::rope(q.host, heads * qk, heads * qk, qk, model.qk_rope,
			mla_rope_base, false),
		rounding_limit);
}

void check_key_grad(Checker &checker, const Case &given, bool fp8)
{
	const Model &model = given.model;
	const int tokens = given.tokens, heads = model.heads, qk = model.qk_head();
	const int kv_head = model.qk_nope + model.v_head, key = model.qk_rope;
	const std::string path = fp8 ? " FP8" : " BF16";
	const auto dk = checker.draw(int64_t(tokens) * heads * qk);
	const auto dv = checker.draw(int64_t(tokens) * heads * model.v_head);
	const OwnedMatrix dkv(tokens, heads * kv_head, fp8, one_segment(tokens));
	Buffer<bf16> dkey(tokens * key);
	poison_matrix(dkv.view());
	poison(dkey);
	key_value_grad(model, dk, dv, dkv.view(), dkey, given.rope, nullptr);
	Values expected, shared(size_t(tokens) * key);
	for (int i = 0; i < tokens * heads; i++) {
		const auto nope = dk.host.begin() + i * qk,
			   value = dv.host.begin() + i * model.v_head;
		expected.insert(expected.end(), nope, nope + model.qk_nope);
		expected.insert(expected.end(), value, value + model.v_head);
		for (int j = 0; j < key; j++)
			shared[i / heads * key + j] += nope[model.qk_nope + j];
	}
	checker.compare(
		"key-value gradient" + path, to_double(dkv.view()), expected, limit_of(fp8));
	checker.compare("shared key's gradient" + path, to_double(dkey),
		reference::rope(shared, key, key, key, key, mla_rope_base, true),
		rounding_limit);
}

void check_rope(Checker &checker, const Case &given, bool fp8)
{
	const int width = 1024, cols = 768, head = 192, rotated = given.model.qk_rope;
	const RopeColumns columns = {given.rope, head, rotated, cols};
	const auto x = checker.draw(int64_t(given.tokens) * width);
	const OwnedMatrix out(given.tokens, width, fp8, one_segment(given.tokens));
	poison_matrix(out.view());
	cast(x, out.view(), columns, nullptr);
	checker.compare(fp8 ? "rotation undone, FP8" : "rotation undone, BF16",
		to_double(out.view()),
		reference::rope(x.host, width, cols, head, rotated, mla_rope_base, true),
		limit_of(fp8));
	rope_forward(x, given.tokens, width, columns, nullptr);
	checker.compare("rotation", to_double(x.device),
		reference::rope(x.host, width, cols, head, rotated, mla_rope_base, false),
		rounding_limit);
}

} // namespace

void check_heads(Checker &checker)
{
	const Case given;
	for (const bool fp8 : {false, true}) {
		check_latents(checker, given, fp8);
		check_key_grad(checker, given, fp8);
		check_rope(checker, given, fp8);
	}
	check_keys(checker, given);
}

} // namespace bench
