/* RMSNorm forward and backward: a block a row, the row in registers, one pass over memory. */
#include "elementwise.h"
#include "vector.cuh"
#include <cuda_pipeline.h>

namespace bench
{
namespace
{

constexpr int max_threads = 512;
constexpr int max_warps = max_threads / 32;

/* Sixteen values a thread. */
int norm_threads(int cols)
{
	if (cols % 128 != 0 || cols > 16 * max_threads)
		throw Unsupported("a normalised width of " + std::to_string(cols));
	return (cols / 16 + 31) / 32 * 32;
}

/* INPUTS of a, b and c are given. With 48 registers three rows of 7168 fit on an SM. */
template <bool FP8, int INPUTS>
__global__ void __maxnreg__(48) norm_forward_kernel(NormForward call)
{
	__shared__ float scratch[max_warps];
	const int64_t row = blockIdx.x;
	const int cols = call.y.cols, col = first_col<far_half>(threadIdx.x);
	const int64_t at = row * cols + col;
	const bool inside = col < cols;
	float x[16] = {};
	Raw16 gamma = {};
	if (inside) {
		Raw16 b, c;
		const Raw16 a = load_raw16<far_half>(call.a + at);
		if constexpr (INPUTS > 1)
			b = load_raw16<far_half>(call.b + at);
		if constexpr (INPUTS > 2)
			c = load_raw16<far_half>(call.c + at);
		gamma = load_raw16<far_half>(call.gamma + col);
		unpack16(a, x);
		if constexpr (INPUTS > 1)
			add16(b, x);
		if constexpr (INPUTS > 2)
			add16(c, x);
		if (call.sum)
			store16<far_half>(call.sum + at, x);
	}
	float squares = 0;
#pragma unroll
	for (int i = 0; i < 16; i++)
		squares += x[i] * x[i];
	const float total = warps_sum(squares, scratch, 0, blockDim.x / 32);
	if (!inside)
		return;
	const float inverse = rsqrtf(total / cols + norm_epsilon);
	float y[16];
	unpack16(gamma, y);
#pragma unroll
	for (int i = 0; i < 16; i++)
		y[i] *= x[i] * inverse;
	write16<FP8, far_half>(call.y, scales_of<FP8>(call.y, row), row, col, y);
	if (call.copy)
		store16<far_half>(call.copy + at, y);
}

template <bool FP8> static auto forward_kernel(const NormForward &call)
{
	return call.c   ? norm_forward_kernel<FP8, 3>
	       : call.b ? norm_forward_kernel<FP8, 2>
			: norm_forward_kernel<FP8, 1>;
}

/* Inputs of the backward, in the order in which they lie in a stage. */
enum Stream {
	X,
	RESIDUAL,
	DY,
	STREAMS = DY + 3
};

/* Rows on their way to shared memory. A thread copies what it will read itself, so that it
 * waits for its own copies and for nobody else. */
struct Stage {
	uint4 *mine; /* of this thread: one every blockDim.x, two a stream */

	__device__ uint4 *slot(int stream, int half) const
	{
		return mine + (2 * stream + half) * blockDim.x;
	}
	__device__ void copy(int stream, const bf16 *from) const
	{
		if (!from)
			return;
		__pipeline_memcpy_async(slot(stream, 0), from, 16);
		__pipeline_memcpy_async(slot(stream, 1), from + far_half, 16);
	}
	__device__ Raw16 read(int stream) const
	{
		return {{*slot(stream, 0), *slot(stream, 1)}};
	}
};

/* Sends a row on its way; beyond the last one there is nothing to send, but it counts. */
__device__ void send_row(const NormBackward &call, int64_t row, int col, const Stage &stage)
{
	if (row < call.rows && col < call.cols) {
		const int64_t at = row * call.cols + col;
		stage.copy(X, call.x + at);
		stage.copy(RESIDUAL, call.residual ? call.residual + at : nullptr);
		for (int i = 0; i < 3; i++)
			stage.copy(DY + i, call.dy[i] ? call.dy[i] + at : nullptr);
	}
	__pipeline_commit();
}

template <bool FP8>
__device__ void norm_backward_row(const NormBackward &call, const Stage &stage,
	const Raw16 &raw_gamma, int64_t row, float2 *scratch, float gamma_grad[16])
{
	const int col = first_col<far_half>(threadIdx.x);
	const bool inside = col < call.cols;
	float x[16] = {}, dy[16] = {}, gamma[16];
	unpack16(raw_gamma, gamma);
	if (inside) {
		unpack16(stage.read(X), x);
		unpack16(stage.read(DY), dy);
		for (int i = 1; i < 3; i++)
			if (call.dy[i])
				add16(stage.read(DY + i), dy);
	}
	float2 sums = {};
#pragma unroll
	for (int i = 0; i < 16; i++) {
		sums.x += x[i] * x[i];
		sums.y += x[i] * dy[i] * gamma[i];
	}
	sums = warps_sum(sums, scratch, 0, blockDim.x / 32);
	if (!inside)
		return;
	const float inverse = rsqrtf(sums.x / call.cols + norm_epsilon);
	const float mean = sums.y * inverse / call.cols;
	float dx[16] = {};
	if (call.residual)
		unpack16(stage.read(RESIDUAL), dx);
#pragma unroll
	for (int i = 0; i < 16; i++) {
		const float normal = x[i] * inverse;
		gamma_grad[i] += dy[i] * normal;
		dx[i] += inverse * (dy[i] * gamma[i] - normal * mean);
	}
	store16<far_half>(call.dx + row * call.cols + col, dx);
	if constexpr (FP8)
		write16<true, far_half>(call.copy, scale_row(call.copy, row), row, col, dx);
}

/* STAGES - 1 rows are on their way while one is worked on: a block an SM then fills the memory.
 */
template <bool FP8, int STAGES>
__global__ void __launch_bounds__(max_threads) norm_backward_kernel(NormBackward call)
{
	/* Rows alternate between two, so that one barrier a row is enough. */
	__shared__ float2 scratch[2][max_warps];
	extern __shared__ uint4 staged[];
	const int col = first_col<far_half>(threadIdx.x);
	const auto stage = [&](int i) {
		return Stage{staged + i % STAGES * 2 * STREAMS * blockDim.x + threadIdx.x};
	};
	float gamma_grad[16] = {};
	const Raw16 gamma = col < call.cols ? load_raw16<far_half>(call.gamma + col) : Raw16();
	for (int i = 0; i < STAGES - 1; i++)
		send_row(call, blockIdx.x + i * int64_t(gridDim.x), col, stage(i));
	int turn = 0;
	for (int64_t row = blockIdx.x; row < call.rows; row += gridDim.x, turn++) {
		send_row(call, row + (STAGES - 1) * int64_t(gridDim.x), col,
			stage(turn + STAGES - 1));
		__pipeline_wait_prior(STAGES - 1);
		norm_backward_row<FP8>(
			call, stage(turn), gamma, row, scratch[turn % 2], gamma_grad);
	}
	if (col >= call.cols)
		return;
	float *to = call.partial + int64_t(blockIdx.x) * call.cols + col;
#pragma unroll
	for (int i = 0; i < 16; i++)
		to[i + i / 8 * (far_half - 8)] = gamma_grad[i];
}

/* One block for 32 columns, a warp for every 32nd row. */
__global__ void sum_partials_kernel(const float *partial, int rows, int cols, float *out)
{
	__shared__ float slices[32][32];
	const int lane = threadIdx.x % 32, slice = threadIdx.x / 32;
	const int col = blockIdx.x * 32 + lane;
	float sum = 0;
#pragma unroll 8
	for (int row = slice; row < rows; row += 32)
		sum += partial[int64_t(row) * cols + col];
	slices[slice][lane] = sum;
	__syncthreads();
	if (slice == 0) {
		for (int other = 1; other < 32; other++)
			sum += slices[other][lane];
		out[col] += sum;
	}
}

} // namespace

void norm_forward(const NormForward &call, cudaStream_t stream)
{
	const auto kernel =
		call.y.fp8() ? forward_kernel<true>(call) : forward_kernel<false>(call);
	kernel<<<unsigned(call.y.rows), norm_threads(call.y.cols), 0, stream>>>(call);
	LAUNCH_CHECK();
}

void sum_partials(const float *partial, int rows, int cols, float *out, cudaStream_t stream)
{
	sum_partials_kernel<<<cols / 32, 1024, 0, stream>>>(partial, rows, cols, out);
	LAUNCH_CHECK();
}

/* More shared memory than 48 KB has to be asked for. */
template <bool FP8, int STAGES>
static void launch_backward(const NormBackward &call, int threads, cudaStream_t stream)
{
	const auto kernel = norm_backward_kernel<FP8, STAGES>;
	const int bytes = STAGES * 2 * STREAMS * threads * int(sizeof(uint4));
	CUDA_CHECK(cudaFuncSetAttribute(
		kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes));
	kernel<<<norm_blocks, threads, bytes, stream>>>(call);
	LAUNCH_CHECK();
}

void norm_backward(const NormBackward &call, cudaStream_t stream)
{
	const int threads = norm_threads(call.cols);
	int device, limit;
	CUDA_CHECK(cudaGetDevice(&device));
	CUDA_CHECK(cudaDeviceGetAttribute(
		&limit, cudaDevAttrMaxSharedMemoryPerBlockOptin, device));
	const bool three = 3 * 2 * STREAMS * threads * int(sizeof(uint4)) + 1024 <= limit;
	if (call.copy.fp8())
		three ? launch_backward<true, 3>(call, threads, stream)
		      : launch_backward<true, 2>(call, threads, stream);
	else
		three ? launch_backward<false, 3>(call, threads, stream)
		      : launch_backward<false, 2>(call, threads, stream);
	sum_partials(call.partial, norm_blocks, call.cols, call.gamma_grad, stream);
}

} // namespace bench
