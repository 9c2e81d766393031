#include "device.h"
#include "layer-impl.h"
#include <algorithm>

namespace bench
{

Part &PartList::gemm(const std::string &name, std::vector<GemmShape> shapes,
	std::function<void(const Lane &)> run)
{
	Part part;
	part.component = component;
	part.phase = phase;
	part.name = name;
	const bool plain = shapes.empty() || shapes[0].scale_a == Scale::none;
	part.bound = plain ? Bound::bf16_gemm : Bound::fp8_gemm;
	part.impl = plain ? "cublaslt-bf16" : "cublaslt-fp8-block";
	for (const GemmShape &shape : shapes) {
		part.flops += shape.flops();
		part.bytes += shape.bytes();
	}
	part.shapes = std::move(shapes);
	part.run = std::move(run);
	parts.push_back(std::move(part));
	return parts.back();
}

Part &PartList::own(
	const std::string &name, double bytes, std::function<void(const Lane &)> run)
{
	Part part;
	part.component = component;
	part.phase = phase;
	part.name = name;
	part.bytes = bytes;
	part.run = std::move(run);
	parts.push_back(std::move(part));
	return parts.back();
}

/* Everything of a set in an order that feeds each part what it reads. */
static std::vector<std::vector<Part>> all_components(Set &set)
{
	std::vector<std::vector<Part>> all = {attention_forward(set), mlp_forward(set)};
	if (set.model.moe())
		all.push_back({cast_grad_part(set)});
	all.push_back(mlp_input_grad(set));
	all.push_back(attention_input_grad(set));
	all.push_back(attention_weight_grad(set));
	all.push_back(mlp_weight_grad(set));
	return all;
}

/* What a device cannot do is said before gigabytes are allocated on it. */
static void check_options(const Model &model, const LayerOptions &options)
{
	int device;
	CUDA_CHECK(cudaGetDevice(&device));
	const int chip = capability(device);
	if (options.fp8 && !has_block_fp8(chip))
		throw Unsupported("compute capability " + std::to_string(chip / 10) + "." +
				  std::to_string(chip % 10) +
				  ": block-scaled FP8 needs 9.0; BF16 works");
	if (options.tokens < 128 || options.tokens % 128 != 0)
		throw Unsupported(std::to_string(options.tokens) +
				  " tokens: the micro-batch must be a multiple of 128");
	if (int(options.rows_per_expert.size()) != model.experts_per_gpu)
		throw Unsupported("rows for " + std::to_string(options.rows_per_expert.size()) +
				  " experts given, the model has " +
				  std::to_string(model.experts_per_gpu));
	for (const int64_t rows : options.rows_per_expert)
		if (rows < 0)
			throw Unsupported("an expert with a negative number of rows");
}

Layer::Impl::Impl(const Model &with_model, const LayerOptions &with_options)
    : model(with_model), options(with_options),
      weights(with_model, with_options.fp8, with_options.seed * 1000)
{
	CUDA_CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
	CUDA_CHECK(cudaStreamCreateWithFlags(&side, cudaStreamNonBlocking));
	for (int i = 0; i < 2; i++) {
		sets[i] = std::make_unique<Set>(model, options, weights, gemm);
		sets[i]->fill(options.seed * 1000 + 500 + 100 * i);
	}
}

Layer::Impl::~Impl()
{
	cudaDeviceSynchronize();
	cudaStreamDestroy(side);
	cudaStreamDestroy(stream);
}

Layer::Layer(const Model &model, const LayerOptions &options)
{
	check_options(model, options);
	impl = std::make_unique<Impl>(model, options);
	prepare(0);
}

Layer::~Layer() = default;

void Layer::prepare(int sms)
{
	const Lane lane = {impl->stream, impl->side, sms};
	for (const auto &set : impl->sets)
		for (const std::vector<Part> &component : all_components(*set))
			for (const Part &part : component)
				part.run(lane);
	CUDA_CHECK(cudaDeviceSynchronize());
}

/* Bytes of a cast matrix are random as FP8 and, taken in pairs, as BF16. */
static void draw_operand(Buffer<uint8_t> &operand, int64_t bytes, bool fp8)
{
	const int64_t rows = bytes / 128;
	operand = Buffer<uint8_t>(rows * 128);
	Buffer<bf16> plain(rows * 128);
	fill_normal(plain, plain.size(), 0, 1, 2);
	if (fp8) {
		const OwnedMatrix scales(rows, 128, true, one_segment(rows));
		Matrix matrix = scales.view();
		matrix.data = operand;
		cast(plain, matrix, {}, nullptr);
	} else {
		CUDA_CHECK(
			cudaMemcpy(operand, plain, operand.bytes(), cudaMemcpyDeviceToDevice));
	}
	CUDA_CHECK(cudaDeviceSynchronize());
}

void Layer::Impl::make_operands(const std::vector<GemmShape> &shapes)
{
	int64_t a = 0, b = 0, d = 0;
	for (const GemmShape &shape : shapes) {
		const int64_t size = shape.scale_a == Scale::none ? 2 : 1;
		a = std::max(a, shape.m * shape.k * size);
		b = std::max(b, shape.n * shape.k * size);
		d = std::max(d, shape.m * shape.n);
	}
	if (operand_d.size() >= d)
		return;
	draw_operand(operand_a, a, options.fp8);
	draw_operand(operand_b, b, options.fp8);
	operand_d = Buffer<float>(d);
	operand_scales = Buffer<float>(std::max(a, b) / 128 + 4096);
	fill_normal(operand_scales, operand_scales.size(), 0.01f, 0.001f, 1);
	CUDA_CHECK(cudaDeviceSynchronize());
}

static Work describe(const Part &part, const Set &set)
{
	Work work;
	work.component = part.component;
	work.phase = part.phase;
	work.part = part.name;
	work.impl = part.impl;
	work.bound = part.bound;
	work.flops = part.flops;
	work.bytes = part.bytes;
	work.tokens = set.tokens;
	work.rows = set.experts && part.component == "mlp" ? set.experts->counted_rows : 0;
	work.enqueue = part.run;
	return work;
}

/* Operations of a whole component as the published tables count them: no recompute, and the
 * router, which runs in the attention block, with the MLP. */
static double component_flops(const Set &set, const Work &work)
{
	if (work.component == "mlp")
		return mlp_flops(set.model, set.tokens, work.rows);
	const double core = attention_core_flops(set.model, set.tokens);
	const double backward = work.phase == "I" ? 2.5 : 0;
	return attention_linear_flops(set.model, set.tokens) +
	       core * (work.phase == "F" ? 1 : backward);
}

static Work whole(const std::vector<Part> &parts, const Set &set)
{
	Work work = describe(parts.front(), set);
	work.part.clear();
	work.bound = set.fp8 ? Bound::fp8_gemm : Bound::bf16_gemm;
	work.impl = set.fp8 ? "cublaslt-fp8-block" : "cublaslt-bf16";
	work.flops = component_flops(set, work);
	work.bytes = 0;
	for (const Part &part : parts)
		work.bytes += part.bytes;
	if (work.component == "attn" && work.phase != "W") {
		work.impl += std::string("+") + set.attention->impl();
		if (!set.fallback.empty())
			work.notes.push_back("attention is composed of GEMMs: " + set.fallback);
		if (work.phase == "I" && set.model.mla)
			work.notes.push_back(
				"recomputes norms and projections from the latents; "
				"those operations are not counted");
	}
	work.enqueue = [parts](const Lane &lane) {
		for (const Part &part : parts)
			part.run(lane);
	};
	return work;
}

std::vector<Work> Layer::works(int index)
{
	Set &set = *impl->sets[index];
	std::vector<Work> works;
	for (const auto &component :
		{attention_forward(set), attention_input_grad(set), attention_weight_grad(set),
			mlp_forward(set), mlp_input_grad(set), mlp_weight_grad(set)})
		works.push_back(whole(component, set));
	return works;
}

std::vector<Work> Layer::parts(int index)
{
	Set &set = *impl->sets[index];
	std::vector<Work> works;
	for (const std::vector<Part> &component : all_components(set))
		for (const Part &part : component)
			works.push_back(describe(part, set));
	return works;
}

Work Layer::cast_grad(int index)
{
	Set &set = *impl->sets[index];
	return describe(cast_grad_part(set), set);
}

std::vector<Work> Layer::gemm_yardsticks()
{
	Set &set = *impl->sets[0];
	std::vector<Work> works;
	std::vector<GemmShape> all;
	for (const std::vector<Part> &component : all_components(set))
		for (const Part &part : component) {
			if (part.shapes.empty())
				continue;
			Work work = describe(part, set);
			work.enqueue = [this, shapes = part.shapes](const Lane &lane) {
				const GemmLane main = impl->sets[0]->lanes.main(lane);
				for (const GemmShape &shape : shapes) {
					GemmCall call;
					call.a = impl->operand_a;
					call.b = impl->operand_b;
					call.d = impl->operand_d;
					call.scale_a = call.scale_b = impl->operand_scales;
					impl->gemm.run(main, shape, call);
				}
			};
			works.push_back(work);
			all.insert(all.end(), part.shapes.begin(), part.shapes.end());
		}
	impl->make_operands(all);
	return works;
}

const char *Layer::attention_impl() const
{
	return impl->sets[0]->attention->impl();
}

} // namespace bench
