/* How the parts of a layer are put together; only the layer-*.cc files include this. */
#pragma once
#include "attention.h"
#include "elementwise.h"
#include "event.h"
#include "layer.h"
#include "linear.h"

namespace bench
{

/* One kernel, or one group of expert GEMMs, of a component. */
struct Part {
	std::string component, phase, name;
	Bound bound = Bound::copy;
	double flops = 0, bytes = 0;
	std::function<void(const Lane &)> run;
	std::vector<GemmShape> shapes; /* of a GEMM */
	std::string impl = "own";
};

/* Streams and workspaces of one set: what is enqueued on its two lanes can overlap. */
struct LaneResources {
	Buffer<uint8_t> main_workspace{int64_t(Gemm::workspace_bytes)};
	Buffer<uint8_t> side_workspace{int64_t(Gemm::workspace_bytes)};
	mutable Event fork{cudaEventDisableTiming}, join{cudaEventDisableTiming};

	GemmLane main(const Lane &lane) const
	{
		return {lane.stream, main_workspace, lane.sms};
	}
	/* Runs `count` independent products in turn on both streams, or on the only one. */
	template <class Product>
	void alternate(const Lane &lane, int count, Product product) const
	{
		const GemmLane first = main(lane);
		if (!lane.side || count < 2) {
			for (int i = 0; i < count; i++)
				product(i, first);
			return;
		}
		const GemmLane second = {lane.side, side_workspace, lane.sms};
		fork.record(lane.stream);
		CUDA_CHECK(cudaStreamWaitEvent(lane.side, fork, 0));
		for (int i = 0; i < count; i++)
			product(i, i % 2 ? second : first);
		join.record(lane.side);
		CUDA_CHECK(cudaStreamWaitEvent(lane.stream, join, 0));
	}
};

/* What both sets share. */
struct Weights {
	Weights(const Model &model, bool fp8, uint64_t seed);
	Buffer<bf16> gamma1, gamma2, q_gamma, kv_gamma;
	Buffer<float> gamma1_grad, gamma2_grad, q_gamma_grad, kv_gamma_grad;
	std::unique_ptr<Linear> down, q_up, kv_up, out; /* the middle two: latent attention */
	std::unique_ptr<Linear> router;                 /* always BF16; null in a dense model */
	Buffer<float> router_bias;
	std::vector<Linear> up, contract; /* routed experts: gate and up; down */
	std::vector<Linear> shared_up,
		shared_contract; /* one each: shared expert or dense MLP */
};

/* A half of an MLP: all routed experts of this GPU, or the shared one, or a dense MLP. */
struct MlpBranch {
	MlpBranch(std::vector<Linear> &up, std::vector<Linear> &contract,
		const std::vector<int64_t> &rows, int hidden, int inter, bool fp8, bool routed);
	const char *name; /* "experts", "shared" */
	std::vector<Linear> &up, &contract;
	std::vector<Run> runs;
	int64_t counted_rows = 0; /* without padding */
	int hidden, inter;
	bool fp8, routed;
	Matrix in, out_grad; /* of the wire; owned elsewhere */
	Buffer<bf16> gate_up, out, dact, in_grad;
	OwnedMatrix act, cache, dgate_up;
	OwnedTransposed in_t, out_grad_t, act_t, dgate_up_t;
	Buffer<float> row_weight, row_weight_grad; /* routed only */
};

inline Matrix plain_matrix(bf16 *data, int64_t rows, int cols)
{
	Matrix matrix;
	matrix.data = data;
	matrix.rows = rows;
	matrix.cols = cols;
	return matrix;
}

/* Activations and gradients of one micro-batch. */
struct Set {
	Set(const Model &model, const LayerOptions &options, Weights &weights, Gemm &gemm);
	/* Random inputs of the layer, of its backward, and of what communication would bring.
	 */
	void fill(uint64_t seed);
	void fill_rows(const Matrix &matrix, const std::vector<int64_t> &rows, uint64_t seed);

	const Model &model;
	Weights &weights;
	Gemm &gemm;
	int64_t tokens;
	bool fp8;
	std::vector<int64_t> rows_per_expert;
	LaneResources lanes;
	std::string fallback; /* why attention is not cuDNN's */

	/* forward */
	Buffer<bf16> x, combined, h, down, key_rope, q, kv, k, o, attn_out, h2, hidden_plain;
	OwnedMatrix normed, q_latent, kv_latent, o_cast, hidden;
	Buffer<float> lse, logits, route_weight;
	Buffer<int> route_index;
	Buffer<float2> rope;
	/* backward for input */
	Buffer<bf16> grad_out, hidden_grad, router_grad, dlogits, dh2, d_o, dq, dk, dv,
		dkey_rope;
	Buffer<bf16> dq_latent, dkv_latent, dnormed, grad_in;
	Buffer<float> route_weight_grad, partial;
	OwnedMatrix grad, dh2_cast, dq_cast, dkv_cast, ddown;
	OwnedTransposed normed_t, ddown_t, q_latent_t, dq_t, kv_latent_t, dkv_t, o_t, dh2_t;
	OwnedMatrix expert_in, expert_grad;
	std::unique_ptr<MlpBranch> experts, shared;
	std::unique_ptr<Attention> attention;

      private:
	void allocate_attention();
	void allocate_mlp();
	AttentionTask attention_task();
};

/* The parts of a component and phase, written down in the order in which they run. */
class PartList
{
      public:
	PartList(const char *component, const char *phase) : component(component), phase(phase)
	{
	}
	/* One product or several; FP8 or BF16 as their scales say. */
	Part &gemm(const std::string &name, std::vector<GemmShape> shapes,
		std::function<void(const Lane &)> run);
	Part &own(const std::string &name, double bytes, std::function<void(const Lane &)> run);
	std::vector<Part> parts;

      private:
	const char *component, *phase;
};

/* They refer to the set. */
std::vector<Part> attention_forward(Set &set);
std::vector<Part> attention_input_grad(Set &set);
std::vector<Part> attention_weight_grad(Set &set);
std::vector<Part> mlp_forward(Set &set);
std::vector<Part> mlp_input_grad(Set &set);
std::vector<Part> mlp_weight_grad(Set &set);
/* grad_out in FP8, or copied: the rows of combine I and the shared expert's gradient. */
Part cast_grad_part(Set &set);

struct Layer::Impl {
	Impl(const Model &model, const LayerOptions &options);
	~Impl();
	const Model model;
	const LayerOptions options;
	Gemm gemm;
	Weights weights;
	std::unique_ptr<Set> sets[2];
	cudaStream_t stream = nullptr, side = nullptr;
	/* Operands large enough for any of the yardsticks, drawn when they are first asked for.
	 */
	void make_operands(const std::vector<GemmShape> &shapes);
	Buffer<uint8_t> operand_a, operand_b;
	Buffer<float> operand_d, operand_scales;
};

} // namespace bench
