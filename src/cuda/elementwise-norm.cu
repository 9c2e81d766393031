/* RMSNorm forward and backward: a block a row, the row in registers, one pass over memory. */
#include "elementwise.h"
#include "vector.cuh"

namespace bench
{
namespace
{

/* Vectors of eight a thread: 224 threads for a width of 7168. */
constexpr int vectors = 4;
constexpr int max_threads = 512;

int norm_threads(int cols)
{
	const int threads = (cols / 8 + vectors - 1) / vectors;
	if (cols % 128 != 0 || threads > max_threads)
		throw Unsupported("a normalised width of " + std::to_string(cols));
	return (threads + 31) / 32 * 32;
}

template <bool FP8>
__global__ void __launch_bounds__(max_threads) norm_forward_kernel(NormForward call)
{
	__shared__ float scratch[max_threads / 32];
	const int64_t row = blockIdx.x;
	const int cols = call.y.cols;
	const int64_t base = row * cols;
	float x[vectors][8];
	float squares = 0;
#pragma unroll
	for (int v = 0; v < vectors; v++) {
		const int col = 8 * (v * blockDim.x + threadIdx.x);
		if (col >= cols)
			continue;
		load8(call.a + base + col, x[v]);
		if (call.b)
			add8(call.b + base + col, x[v]);
		if (call.c)
			add8(call.c + base + col, x[v]);
		if (call.sum)
			store8(call.sum + base + col, x[v]);
#pragma unroll
		for (int i = 0; i < 8; i++)
			squares += x[v][i] * x[v][i];
	}
	const float total = warps_sum(squares, scratch, 0, blockDim.x / 32);
	const float inverse = rsqrtf(total / cols + norm_epsilon);
	const ScaleRow scales = scales_of<FP8>(call.y, row);
#pragma unroll
	for (int v = 0; v < vectors; v++) {
		const int col = 8 * (v * blockDim.x + threadIdx.x);
		if (col >= cols)
			continue;
		float gamma[8];
		load8(call.gamma + col, gamma);
#pragma unroll
		for (int i = 0; i < 8; i++)
			gamma[i] *= x[v][i] * inverse;
		write8<FP8>(call.y, scales, row, col, gamma);
		if (call.copy)
			store8(call.copy + base + col, gamma);
	}
}

template <bool FP8>
__device__ void norm_backward_row(
	const NormBackward &call, int64_t row, float *scratch, float gamma_grad[vectors][8])
{
	const int64_t base = row * call.cols;
	uint4 x[vectors];
	float dy[vectors][8];
	float squares = 0, product = 0;
#pragma unroll
	for (int v = 0; v < vectors; v++) {
		const int col = 8 * (v * blockDim.x + threadIdx.x);
		if (col >= call.cols)
			continue;
		x[v] = load_raw(call.x + base + col);
		load8(call.dy[0] + base + col, dy[v]);
		if (call.dy[1])
			add8(call.dy[1] + base + col, dy[v]);
		if (call.dy[2])
			add8(call.dy[2] + base + col, dy[v]);
		float gamma[8], value[8];
		load8(call.gamma + col, gamma);
		unpack8(x[v], value);
#pragma unroll
		for (int i = 0; i < 8; i++) {
			squares += value[i] * value[i];
			product += value[i] * dy[v][i] * gamma[i];
		}
	}
	const int warps = blockDim.x / 32;
	const float inverse =
		rsqrtf(warps_sum(squares, scratch, 0, warps) / call.cols + norm_epsilon);
	const float mean = warps_sum(product, scratch + warps, 0, warps) * inverse / call.cols;
	const ScaleRow scales = scales_of<FP8>(call.copy, row);
#pragma unroll
	for (int v = 0; v < vectors; v++) {
		const int col = 8 * (v * blockDim.x + threadIdx.x);
		if (col >= call.cols)
			continue;
		float gamma[8], value[8], dx[8] = {};
		load8(call.gamma + col, gamma);
		unpack8(x[v], value);
		if (call.residual)
			load8(call.residual + base + col, dx);
#pragma unroll
		for (int i = 0; i < 8; i++) {
			const float normal = value[i] * inverse;
			gamma_grad[v][i] += dy[v][i] * normal;
			dx[i] += inverse * (dy[v][i] * gamma[i] - normal * mean);
		}
		store8(call.dx + base + col, dx);
		if constexpr (FP8)
			write8<true>(call.copy, scales, row, col, dx);
	}
	__syncthreads(); /* the next row writes the scratch again */
}

template <bool FP8>
__global__ void __launch_bounds__(max_threads) norm_backward_kernel(NormBackward call)
{
	__shared__ float scratch[2 * max_threads / 32];
	float gamma_grad[vectors][8] = {};
	for (int64_t row = blockIdx.x; row < call.rows; row += gridDim.x)
		norm_backward_row<FP8>(call, row, scratch, gamma_grad);
#pragma unroll
	for (int v = 0; v < vectors; v++) {
		const int col = 8 * (v * blockDim.x + threadIdx.x);
		if (col >= call.cols)
			continue;
		float4 *to = reinterpret_cast<float4 *>(
			call.partial + int64_t(blockIdx.x) * call.cols + col);
		to[0] = {
			gamma_grad[v][0], gamma_grad[v][1], gamma_grad[v][2], gamma_grad[v][3]};
		to[1] = {
			gamma_grad[v][4], gamma_grad[v][5], gamma_grad[v][6], gamma_grad[v][7]};
	}
}

/* One block for 32 columns, eight slices of the rows. */
__global__ void sum_partials_kernel(const float *partial, int rows, int cols, float *out)
{
	__shared__ float slices[8][32];
	const int lane = threadIdx.x % 32, slice = threadIdx.x / 32;
	const int col = blockIdx.x * 32 + lane;
	float sum = 0;
#pragma unroll 8
	for (int row = slice; row < rows; row += 8)
		sum += partial[int64_t(row) * cols + col];
	slices[slice][lane] = sum;
	__syncthreads();
	if (slice == 0) {
		for (int other = 1; other < 8; other++)
			sum += slices[other][lane];
		out[col] += sum;
	}
}

} // namespace

void norm_forward(const NormForward &call, cudaStream_t stream)
{
	const auto kernel =
		call.y.fp8() ? norm_forward_kernel<true> : norm_forward_kernel<false>;
	kernel<<<unsigned(call.y.rows), norm_threads(call.y.cols), 0, stream>>>(call);
	LAUNCH_CHECK();
}

void sum_partials(const float *partial, int rows, int cols, float *out, cudaStream_t stream)
{
	sum_partials_kernel<<<cols / 32, 256, 0, stream>>>(partial, rows, cols, out);
	LAUNCH_CHECK();
}

void norm_backward(const NormBackward &call, cudaStream_t stream)
{
	const auto kernel =
		call.copy.fp8() ? norm_backward_kernel<true> : norm_backward_kernel<false>;
	kernel<<<norm_blocks, norm_threads(call.cols), 0, stream>>>(call);
	LAUNCH_CHECK();
	sum_partials(call.partial, norm_blocks, call.cols, call.gamma_grad, stream);
}

} // namespace bench
