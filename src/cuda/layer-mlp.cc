/* The MLP: routed experts of this GPU and the shared one, or a dense MLP. */
#include "layer-impl.h"

namespace bench
{
namespace
{

/* The products of one branch through one of its two layers, run by run. */
std::vector<GemmShape> shapes_of(const MlpBranch &branch, const std::vector<Linear> &layers,
	GemmShape (Linear::*shape)(int64_t) const)
{
	std::vector<GemmShape> shapes;
	for (size_t i = 0; i < branch.runs.size(); i++)
		if (branch.runs[i].count > 0)
			shapes.push_back((layers[i].*shape)(branch.runs[i].count));
	return shapes;
}

/* Padding is multiplied, but not counted. */
void count_rows(Part &part, const MlpBranch &branch)
{
	const Run &last = branch.runs.back();
	const int64_t allocated = last.begin + last.count;
	if (allocated > 0)
		part.flops *= double(branch.counted_rows) / allocated;
}

void forward_gemms(PartList &list, Set &set, const std::string &name, MlpBranch &branch,
	std::vector<Linear> &layers, const Matrix &x, bf16 *y)
{
	Part &part = list.gemm(name, shapes_of(branch, layers, &Linear::forward_shape),
		[&set, &branch, &layers, x, y](const Lane &lane) {
			for (size_t i = 0; i < layers.size(); i++)
				if (branch.runs[i].count > 0)
					layers[i].forward(set.gemm, set.lanes.main(lane), x,
						branch.runs[i], y);
		});
	count_rows(part, branch);
}

void input_gemms(PartList &list, Set &set, const std::string &name, MlpBranch &branch,
	std::vector<Linear> &layers, const Matrix &dy, bf16 *dx)
{
	Part &part = list.gemm(name, shapes_of(branch, layers, &Linear::input_grad_shape),
		[&set, &branch, &layers, dy, dx](const Lane &lane) {
			for (size_t i = 0; i < layers.size(); i++)
				if (branch.runs[i].count > 0)
					layers[i].input_grad(set.gemm, set.lanes.main(lane), dy,
						branch.runs[i], dx);
		});
	count_rows(part, branch);
}

/* What swiglu_backward reads again: the FP8 copy, or the projections themselves. */
Matrix swiglu_cache(const MlpBranch &branch)
{
	return branch.fp8
		       ? branch.cache.view()
		       : plain_matrix(branch.gate_up, branch.act.view().rows, 2 * branch.inter);
}

void gather_part(PartList &list, const std::string &name, const Matrix &matrix)
{
	list.own(name, 8.0 * matrix.elements() / 128,
		[matrix](const Lane &lane) { gather_scales(matrix, lane.stream); });
}

void forward_parts(PartList &list, Set &set, MlpBranch &branch)
{
	const std::string suffix = std::string("_") + branch.name;
	if (branch.routed && branch.fp8)
		gather_part(list, "scales" + suffix, branch.in);
	forward_gemms(
		list, set, "gate_up" + suffix, branch, branch.up, branch.in, branch.gate_up);
	const double cache_bytes = branch.fp8 ? branch.cache.view().bytes() : 0;
	list.own("swiglu" + suffix,
		2.0 * branch.gate_up.size() + cache_bytes + branch.act.view().bytes(),
		[&branch](const Lane &lane) {
			swiglu_forward(branch.gate_up, branch.row_weight, branch.act.view(),
				branch.cache.view(), lane.stream);
		});
	forward_gemms(list, set, "down" + suffix, branch, branch.contract, branch.act.view(),
		branch.out);
}

void input_grad_parts(PartList &list, Set &set, MlpBranch &branch)
{
	const std::string suffix = std::string("_") + branch.name;
	if (branch.routed && branch.fp8)
		gather_part(list, "scales_grad" + suffix, branch.out_grad);
	input_gemms(list, set, "down_grad" + suffix, branch, branch.contract, branch.out_grad,
		branch.dact);
	list.own("swiglu_grad" + suffix,
		2.0 * branch.dact.size() + swiglu_cache(branch).bytes() +
			branch.dgate_up.view().bytes() + branch.act.view().bytes(),
		[&branch](const Lane &lane) {
			SwigluBackward call = {};
			call.dact = branch.dact;
			call.cache = swiglu_cache(branch);
			call.weight = branch.row_weight;
			call.dgate_up = branch.dgate_up.view();
			call.act = branch.act.view();
			call.weight_grad = branch.row_weight_grad;
			swiglu_backward(call, lane.stream);
		});
	input_gemms(list, set, "gate_up_grad" + suffix, branch, branch.up,
		branch.dgate_up.view(), branch.in_grad);
}

void transpose_part(PartList &list, MlpBranch &branch)
{
	const std::pair<Matrix, Transposed> all[] = {
		{branch.in, branch.in_t.view()},
		{branch.dgate_up.view(), branch.dgate_up_t.view()},
		{branch.act.view(), branch.act_t.view()},
		{branch.out_grad, branch.out_grad_t.view()},
	};
	double bytes = 0;
	for (const auto &pair : all)
		bytes += 2 * pair.first.bytes();
	list.own(std::string("transposes_") + branch.name, bytes,
		[pairs = std::vector<std::pair<Matrix, Transposed>>(
			 std::begin(all), std::end(all))](const Lane &lane) {
			for (const auto &pair : pairs)
				transpose_requantise(pair.first, pair.second, lane.stream);
		});
}

/* Both layers of every expert are independent products, run pairwise on two streams. */
void weight_grad_parts(PartList &list, Set &set, MlpBranch &branch)
{
	if (branch.fp8)
		transpose_part(list, branch);
	std::vector<GemmShape> shapes =
		shapes_of(branch, branch.up, &Linear::weight_grad_shape);
	for (const GemmShape &shape :
		shapes_of(branch, branch.contract, &Linear::weight_grad_shape))
		shapes.push_back(shape);
	Part &part = list.gemm(std::string("weights_") + branch.name, shapes,
		[&set, &branch](const Lane &lane) {
			const int count = int(branch.runs.size());
			set.lanes.alternate(lane, 2 * count, [&](int i, const GemmLane &on) {
				const Run run = branch.runs[i / 2];
				if (run.count == 0)
					return;
				if (i % 2)
					branch.contract[i / 2].weight_grad(set.gemm, on,
						branch.act.view(), branch.act_t.view(),
						branch.out_grad, branch.out_grad_t.view(), run);
				else
					branch.up[i / 2].weight_grad(set.gemm, on, branch.in,
						branch.in_t.view(), branch.dgate_up.view(),
						branch.dgate_up_t.view(), run);
			});
		});
	count_rows(part, branch);
}

/* Shared after routed, in every phase. */
template <class Parts> void each_branch(Set &set, Parts parts)
{
	if (set.experts)
		parts(*set.experts);
	parts(*set.shared);
}

} // namespace

Part cast_grad_part(Set &set)
{
	PartList list(set.model.moe() ? "combine" : "mlp", "I");
	const Matrix to = set.grad.view();
	list.own("cast_grad", 2.0 * to.elements() + to.bytes(), [&set](const Lane &lane) {
		cast(set.grad_out, set.grad.view(), {}, lane.stream);
	});
	return list.parts.front();
}

std::vector<Part> mlp_forward(Set &set)
{
	PartList list("mlp", "F");
	each_branch(set, [&](MlpBranch &branch) { forward_parts(list, set, branch); });
	return list.parts;
}

std::vector<Part> mlp_input_grad(Set &set)
{
	PartList list("mlp", "I");
	if (!set.model.moe())
		list.parts.push_back(cast_grad_part(set));
	each_branch(set, [&](MlpBranch &branch) { input_grad_parts(list, set, branch); });
	return list.parts;
}

std::vector<Part> mlp_weight_grad(Set &set)
{
	PartList list("mlp", "W");
	each_branch(set, [&](MlpBranch &branch) { weight_grad_parts(list, set, branch); });
	return list.parts;
}

} // namespace bench
