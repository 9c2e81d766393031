/* Checks of whole components: everything between the layer's input and its gradients, put
 * together as it is measured, and the reference itself against finite differences. */
#include "check-tools.h"
#include "layer-impl.h"
#include <algorithm>
#include <cmath>

namespace bench
{
namespace
{

using reference::Block;
using reference::BlockGrad;
using reference::BlockWeights;
using reference::MlpWeights;

/* Products after one another each add their rounding: looser than for one kernel. */
constexpr double composed_bf16_limit = 2e-2, composed_fp8_limit = 0.15;

Model small_model(bool moe)
{
	Model model = read_model(moe ? "deepseek-v3" : "llama-3-70b");
	model.hidden = 512;
	model.heads = 4;
	model.kv_heads = moe ? 4 : 2;
	model.shared_inter = 256;
	if (!moe)
		return model;
	model.q_lora = 512;
	model.kv_lora = 512;
	model.experts = 64;
	model.groups = 4;
	model.top_groups = 2;
	model.top_k = 4;
	model.inter = 384;
	return model;
}

LayerOptions small_options(const Model &model, bool fp8)
{
	LayerOptions options;
	options.tokens = 256;
	options.fp8 = fp8;
	if (model.moe())
		options.rows_per_expert = {100, 0, 256, 37};
	return options;
}

BlockWeights block_weights(const Model &model, const Weights &weights)
{
	BlockWeights host;
	host.gamma1 = to_double(weights.gamma1);
	host.gamma2 = to_double(weights.gamma2);
	host.down = to_double(weights.down->draw());
	host.out = to_double(weights.out->draw());
	if (model.mla) {
		host.q_gamma = to_double(weights.q_gamma);
		host.kv_gamma = to_double(weights.kv_gamma);
		host.q_up = to_double(weights.q_up->draw());
		host.kv_up = to_double(weights.kv_up->draw());
	}
	if (model.moe())
		host.router = to_double(weights.router->draw());
	return host;
}

void run(const std::vector<Part> &parts)
{
	for (const Part &part : parts)
		part.run(Lane());
	CUDA_CHECK(cudaDeviceSynchronize());
}

void clear(Buffer<float> &buffer)
{
	CUDA_CHECK(cudaMemset(buffer, 0, buffer.bytes()));
}

/* Names of the results, with which layer and path. */
struct Compare {
	Checker &checker;
	std::string prefix;
	double limit;
	void operator()(
		const std::string &name, const Values &out, const Values &expected) const
	{
		checker.compare(prefix + name, out, expected, limit);
	}
};

/* The first run chooses algorithms and leaves gradients with extra terms; the second counts. */
void check_block(const Compare &compare, Set &set)
{
	const Model &model = set.model;
	const BlockWeights weights = block_weights(model, set.weights);
	Weights &device = set.weights;
	run(attention_forward(set));
	run(attention_input_grad(set));
	run(attention_weight_grad(set));
	for (Linear *linear : {device.down.get(), device.q_up.get(), device.kv_up.get(),
		     device.out.get(), device.router.get()})
		if (linear)
			clear(linear->gradient());
	for (Buffer<float> *gamma : {&device.gamma1_grad, &device.gamma2_grad,
		     &device.q_gamma_grad, &device.kv_gamma_grad})
		clear(*gamma);
	for (Buffer<bf16> *buffer : {&set.h2, &set.d_o, &set.dq, &set.grad_in, &set.dh2})
		poison(*buffer);
	run(attention_forward(set));
	run(attention_input_grad(set));
	run(attention_weight_grad(set));

	Values h = reference::add(to_double(set.x), to_double(set.shared->out));
	if (model.moe())
		h = reference::add(h, to_double(set.combined));
	const Block pass = reference::block_forward(model, weights, h);
	compare("residual", to_double(set.h2), pass.h2);
	compare("message rows", to_double(set.hidden.view()), pass.hidden);
	BlockGrad grad = {to_double(set.grad_out), to_double(set.shared->in_grad), {}};
	if (model.moe()) {
		compare("router", to_double(set.logits), pass.logits);
		grad.hidden = reference::add(grad.hidden, to_double(set.hidden_grad));
		grad.logits = reference::route_grad(model, to_double(set.logits),
			set.route_index.download(), to_double(set.route_weight_grad));
	}
	BlockWeights expected;
	const Values grad_in = reference::block_backward(model, weights, pass, grad, expected);
	compare("gradient of the input", to_double(set.grad_in), grad_in);
	compare("gradient of qkv_down", to_double(device.down->gradient()), expected.down);
	compare("gradient of o_proj", to_double(device.out->gradient()), expected.out);
	compare("gradient of norm1", to_double(device.gamma1_grad), expected.gamma1);
	compare("gradient of norm2", to_double(device.gamma2_grad), expected.gamma2);
	if (model.mla) {
		compare("gradient of q_up", to_double(device.q_up->gradient()), expected.q_up);
		compare("gradient of kv_up", to_double(device.kv_up->gradient()),
			expected.kv_up);
		compare("gradient of q_norm", to_double(device.q_gamma_grad), expected.q_gamma);
		compare("gradient of kv_norm", to_double(device.kv_gamma_grad),
			expected.kv_gamma);
	}
	if (model.moe())
		compare("gradient of router", to_double(device.router->gradient()),
			expected.router);
}

Values rows_of(const Values &all, Run run, int cols)
{
	return Values(
		all.begin() + run.begin * cols, all.begin() + (run.begin + run.count) * cols);
}

void check_branch(const Compare &compare, MlpBranch &branch)
{
	const int hidden = branch.hidden, inter = branch.inter;
	const Values in = to_double(branch.in), d_out = to_double(branch.out_grad);
	const Values out = to_double(branch.out), in_grad = to_double(branch.in_grad);
	for (size_t i = 0; i < branch.runs.size(); i++) {
		const Run run = branch.runs[i];
		if (run.count == 0)
			continue;
		const MlpWeights weights = {
			to_double(branch.up[i].draw()), to_double(branch.contract[i].draw())};
		const Values x = rows_of(in, run, hidden);
		const Values weight = branch.routed
					      ? rows_of(to_double(branch.row_weight), run, 1)
					      : Values();
		MlpWeights grads;
		Values weight_grad;
		const Values expected = reference::mlp_backward(weights, x, weight,
			rows_of(d_out, run, hidden), hidden, inter, grads, weight_grad);
		const std::string name = std::string(branch.name) + " " + std::to_string(i);
		compare(name, rows_of(out, run, hidden),
			reference::mlp_forward(weights, x, weight, hidden, inter));
		compare(name + ", gradient of the input", rows_of(in_grad, run, hidden),
			expected);
		compare(name + ", gradient of gate_up", to_double(branch.up[i].gradient()),
			grads.up);
		compare(name + ", gradient of down", to_double(branch.contract[i].gradient()),
			grads.contract);
		if (branch.routed)
			compare(name + ", gradient of the weights",
				rows_of(to_double(branch.row_weight_grad), run, 1),
				weight_grad);
	}
}

void check_mlp(const Compare &compare, Set &set)
{
	std::vector<MlpBranch *> branches = {set.shared.get()};
	if (set.experts)
		branches.push_back(set.experts.get());
	for (int i = 0; i < 2; i++) {
		for (MlpBranch *branch : branches) {
			for (Buffer<bf16> *buffer : {&branch->out, &branch->in_grad})
				poison(*buffer);
			for (std::vector<Linear> *layers : {&branch->up, &branch->contract})
				for (Linear &linear : *layers)
					clear(linear.gradient());
		}
		cast_grad_part(set).run(Lane());
		run(mlp_forward(set));
		run(mlp_input_grad(set));
		run(mlp_weight_grad(set));
	}
	for (MlpBranch *branch : branches)
		check_branch(compare, *branch);
}

void check_set(Checker &checker, bool moe, bool fp8)
{
	const Model model = small_model(moe);
	const LayerOptions options = small_options(model, fp8);
	Gemm gemm;
	Weights weights(model, fp8, checker.next_seed());
	Set set(model, options, weights, gemm);
	set.fill(checker.next_seed());
	const Compare compare = {checker,
		std::string(moe ? "MoE layer, " : "dense layer, ") + (fp8 ? "FP8: " : "BF16: "),
		fp8 ? composed_fp8_limit : composed_bf16_limit};
	/* The MLP first: the block's backward begins with its gradient. */
	run(attention_forward(set));
	check_mlp(compare, set);
	check_block(compare, set);
}

/* Central difference of `loss` along `direction` against the gradient's share in it. */
template <class Loss>
double difference_error(
	const Loss &loss, const Values &at, const Values &direction, const Values &gradient)
{
	const double step = 1e-5;
	Values ahead = at, behind = at;
	for (size_t i = 0; i < at.size(); i++) {
		ahead[i] += step * direction[i];
		behind[i] -= step * direction[i];
	}
	const double slope = (loss(ahead) - loss(behind)) / (2 * step);
	return std::fabs(slope - reference::dot(gradient, direction)) / std::fabs(slope);
}

void check_block_differences(Checker &checker, bool moe)
{
	const Model model = small_model(moe);
	const int tokens = 24;
	const Weights device(model, false, checker.next_seed());
	BlockWeights weights = block_weights(model, device);
	const Values h = checker.draw(tokens * model.hidden).host;
	BlockGrad grad = {checker.draw(tokens * model.hidden).host,
		checker.draw(tokens * model.hidden).host,
		checker.draw(tokens * std::max(1, model.experts)).host};
	const auto loss_of = [&](const BlockWeights &with, const Values &input) {
		const Block pass = reference::block_forward(model, with, input);
		const double rest = moe ? reference::dot(pass.logits, grad.logits) : 0;
		return reference::dot(pass.h2, grad.h2) +
		       reference::dot(pass.hidden, grad.hidden) + rest;
	};
	const Block pass = reference::block_forward(model, weights, h);
	BlockWeights grads;
	const Values grad_in = reference::block_backward(model, weights, pass, grad, grads);
	const std::string name =
		std::string("finite differences, ") + (moe ? "latent" : "grouped-query") + " ";
	checker.require(name + "attention, input",
		difference_error([&](const Values &x) { return loss_of(weights, x); }, h,
			checker.draw(h.size()).host, grad_in),
		1e-5);
	std::vector<std::pair<const char *, Values BlockWeights::*>> members = {
		{"qkv_down", &BlockWeights::down},
		{"o_proj", &BlockWeights::out},
		{"norm1", &BlockWeights::gamma1},
	};
	if (moe)
		members.insert(members.end(),
			{{"q_up", &BlockWeights::q_up}, {"kv_up", &BlockWeights::kv_up}});
	for (const auto &member : members) {
		const Values &at = weights.*member.second;
		const auto loss = [&](const Values &changed) {
			BlockWeights other = weights;
			other.*member.second = changed;
			return loss_of(other, h);
		};
		checker.require(name + "attention, " + member.first,
			difference_error(
				loss, at, checker.draw(at.size()).host, grads.*member.second),
			1e-5);
	}
}

void check_mlp_differences(Checker &checker)
{
	const int rows = 20, hidden = 128, inter = 256;
	const MlpWeights weights = {checker.draw(2 * inter * hidden, 0, 0.1f).host,
		checker.draw(hidden * inter, 0, 0.1f).host};
	const Values x = checker.draw(rows * hidden).host;
	const Values weight = checker.draw(rows, 0.5f, 0.1f).host;
	const Values d_out = checker.draw(rows * hidden).host;
	MlpWeights grads;
	Values weight_grad;
	const Values grad_in = reference::mlp_backward(
		weights, x, weight, d_out, hidden, inter, grads, weight_grad);
	const auto check = [&](const char *name, const Values &at, const Values &grad,
				   auto put) {
		const auto loss = [&](const Values &changed) {
			MlpWeights other = weights;
			Values input = x, scale = weight;
			put(changed, other, input, scale);
			return reference::dot(
				reference::mlp_forward(other, input, scale, hidden, inter),
				d_out);
		};
		checker.require(std::string("finite differences, MLP, ") + name,
			difference_error(loss, at, checker.draw(at.size()).host, grad), 1e-5);
	};
	check("input", x, grad_in,
		[](const Values &v, MlpWeights &, Values &input, Values &) { input = v; });
	check("gate_up", weights.up, grads.up,
		[](const Values &v, MlpWeights &other, Values &, Values &) { other.up = v; });
	check("down", weights.contract, grads.contract,
		[](const Values &v, MlpWeights &other, Values &, Values &) {
			other.contract = v;
		});
	check("routing weights", weight, weight_grad,
		[](const Values &v, MlpWeights &, Values &, Values &scale) { scale = v; });
}

} // namespace

void check_layer(Checker &checker)
{
	check_mlp_differences(checker);
	for (const bool moe : {true, false}) {
		check_block_differences(checker, moe);
		for (const bool fp8 : {false, true}) {
			if (fp8 && !checker.has_fp8())
				checker.skip("layer, FP8", "needs compute capability 9.0");
			else
				check_set(checker, moe, fp8);
		}
	}
}

} // namespace bench
