#include "attention.h"
#include <cmath>
#include <cudnn_frontend.h>
#include <unordered_map>

namespace fe = cudnn_frontend;

namespace bench
{
namespace
{

enum Uid : int64_t {
	Q = 1,
	K,
	V,
	O,
	STATS,
	DQ,
	DK,
	DV,
	D_O
};

/* What cuDNN refuses is no error: another implementation takes over. */
void require(fe::error_t status, const char *what)
{
	if (status.is_bad())
		throw Unsupported("cuDNN " + std::to_string(cudnnGetVersion()) + ", " + what +
				  ": " + status.get_message());
}

void require(cudnnStatus_t status, const char *what)
{
	if (status != CUDNN_STATUS_SUCCESS)
		throw Unsupported(std::string(what) + ": " + cudnnGetErrorString(status));
}

class CudnnAttention : public Attention
{
      public:
	explicit CudnnAttention(const AttentionTask &given);
	~CudnnAttention() override
	{
		cudnnDestroy(handle);
	}
	void forward(const GemmLane &lane) override
	{
		execute(ahead, ahead_pointers, lane, "forward");
	}
	void backward(const GemmLane &lane) override
	{
		execute(back, back_pointers, lane, "backward");
	}
	const char *impl() const override
	{
		return "cudnn";
	}

      private:
	using Tensor = std::shared_ptr<fe::graph::Tensor_attributes>;
	using Pointers = std::unordered_map<int64_t, void *>;

	Tensor input(
		fe::graph::Graph &graph, Uid uid, const HeadView &view, int heads, int width);
	void output(const Tensor &tensor, Uid uid, const HeadView &view, int heads, int width);
	void shape_stats(const Tensor &tensor);
	void build_forward();
	void build_backward();
	void build(fe::graph::Graph &graph, const char *what);
	void choose(fe::graph::Graph &graph, Pointers &pointers);
	void execute(fe::graph::Graph &graph, Pointers &pointers, const GemmLane &lane,
		const char *what);

	AttentionTask task;
	cudnnHandle_t handle = nullptr;
	fe::graph::Graph ahead, back;
	Pointers ahead_pointers, back_pointers;
	Buffer<uint8_t> workspace;
};

CudnnAttention::CudnnAttention(const AttentionTask &given) : task(given)
{
	require(cudnnCreate(&handle), "cudnnCreate");
	try {
		build_forward();
		build_backward();
		workspace = Buffer<uint8_t>(std::max(ahead.get_autotune_workspace_size(),
			back.get_autotune_workspace_size()));
		choose(ahead, ahead_pointers);
		choose(back, back_pointers);
	} catch (...) {
		cudnnDestroy(handle);
		throw;
	}
}

CudnnAttention::Tensor CudnnAttention::input(
	fe::graph::Graph &graph, Uid uid, const HeadView &view, int heads, int width)
{
	return graph.tensor(
		fe::graph::Tensor_attributes()
			.set_uid(uid)
			.set_data_type(fe::DataType_t::BFLOAT16)
			.set_dim({1, heads, task.tokens, width})
			.set_stride({task.tokens * view.row, view.head, view.row, 1}));
}

void CudnnAttention::output(
	const Tensor &tensor, Uid uid, const HeadView &view, int heads, int width)
{
	tensor->set_output(true)
		.set_uid(uid)
		.set_data_type(fe::DataType_t::BFLOAT16)
		.set_dim({1, heads, task.tokens, width})
		.set_stride({task.tokens * view.row, view.head, view.row, 1});
}

void CudnnAttention::shape_stats(const Tensor &tensor)
{
	tensor->set_uid(STATS)
		.set_data_type(fe::DataType_t::FLOAT)
		.set_dim({1, task.heads, task.tokens, 1})
		.set_stride({task.heads * task.tokens, task.tokens, 1, 1});
}

void CudnnAttention::build(fe::graph::Graph &graph, const char *what)
{
	require(graph.validate(), what);
	require(graph.build_operation_graph(handle), what);
	require(graph.create_execution_plans({fe::HeurMode_t::A, fe::HeurMode_t::FALLBACK}),
		what);
	require(graph.check_support(), what);
	require(graph.build_plans(fe::BuildPlanPolicy_t::ALL), what);
}

/* Times every plan on the buffers as they are and keeps the fastest: the heuristic does not
 * know. */
void CudnnAttention::choose(fe::graph::Graph &graph, Pointers &pointers)
{
	require(graph.autotune(handle, pointers, workspace.get()), "autotune");
	CUDA_CHECK(cudaDeviceSynchronize());
}

static void set_types(fe::graph::Graph &graph)
{
	graph.set_io_data_type(fe::DataType_t::BFLOAT16)
		.set_intermediate_data_type(fe::DataType_t::FLOAT)
		.set_compute_data_type(fe::DataType_t::FLOAT);
}

void CudnnAttention::build_forward()
{
	set_types(ahead);
	const Tensor q = input(ahead, Q, task.q, task.heads, task.qk);
	const Tensor k = input(ahead, K, task.k, task.kv_heads, task.qk);
	const Tensor v = input(ahead, V, task.v, task.kv_heads, task.v_width);
	auto options = fe::graph::SDPA_attributes();
	options.set_name("forward")
		.set_generate_stats(true)
		.set_attn_scale(1.0f / std::sqrt(float(task.qk)))
		.set_diagonal_alignment(fe::DiagonalAlignment_t::TOP_LEFT)
		.set_diagonal_band_right_bound(0);
	auto [o, stats] = ahead.sdpa(q, k, v, options);
	output(o, O, task.o, task.heads, task.v_width);
	stats->set_output(true);
	shape_stats(stats);
	build(ahead, "attention forward");
	ahead_pointers = {{Q, task.q.data}, {K, task.k.data}, {V, task.v.data},
		{O, task.o.data}, {STATS, task.lse}};
}

void CudnnAttention::build_backward()
{
	set_types(back);
	const Tensor q = input(back, Q, task.q, task.heads, task.qk);
	const Tensor k = input(back, K, task.k, task.kv_heads, task.qk);
	const Tensor v = input(back, V, task.v, task.kv_heads, task.v_width);
	const Tensor o = input(back, O, task.o, task.heads, task.v_width);
	const Tensor d_o = input(back, D_O, task.d_o, task.heads, task.v_width);
	const Tensor stats = back.tensor(fe::graph::Tensor_attributes());
	shape_stats(stats);
	auto options = fe::graph::SDPA_backward_attributes();
	options.set_name("backward")
		.set_attn_scale(1.0f / std::sqrt(float(task.qk)))
		.set_diagonal_alignment(fe::DiagonalAlignment_t::TOP_LEFT)
		.set_diagonal_band_right_bound(0)
		.set_deterministic_algorithm(false);
	auto [dq, dk, dv] = back.sdpa_backward(q, k, v, o, d_o, stats, options);
	output(dq, DQ, task.dq, task.heads, task.qk);
	output(dk, DK, task.dk, task.kv_heads, task.qk);
	output(dv, DV, task.dv, task.kv_heads, task.v_width);
	build(back, "attention backward");
	back_pointers = {{Q, task.q.data}, {K, task.k.data}, {V, task.v.data}, {O, task.o.data},
		{D_O, task.d_o.data}, {STATS, task.lse}, {DQ, task.dq.data}, {DK, task.dk.data},
		{DV, task.dv.data}};
}

void CudnnAttention::execute(
	fe::graph::Graph &graph, Pointers &pointers, const GemmLane &lane, const char *what)
{
	const cudnnStatus_t status = cudnnSetStream(handle, lane.stream);
	if (status != CUDNN_STATUS_SUCCESS)
		call_failed(__FILE__, __LINE__, "cudnnSetStream", cudnnGetErrorString(status));
	fe::error_t result = graph.execute(handle, pointers, workspace.get());
	if (result.is_bad())
		call_failed(__FILE__, __LINE__, what, result.get_message());
}

} // namespace

std::unique_ptr<Attention> make_cudnn_attention(const AttentionTask &task)
{
	return std::make_unique<CudnnAttention>(task);
}

} // namespace bench
