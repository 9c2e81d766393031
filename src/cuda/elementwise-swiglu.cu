/* SwiGLU with the routing weight and the casts on either side of it in one pass. */
#include "elementwise.h"
#include "vector.cuh"

namespace bench
{
namespace
{

constexpr int block = 256;

/* FP8 of eight values for our own kernels alone: scales by rows. */
__device__ void write_cache(const Matrix &cache, int64_t row, int col, const float value[8])
{
	uint2 raw;
	const float scale = quantise8(value, raw);
	uint8_t *data = static_cast<uint8_t *>(cache.data);
	*reinterpret_cast<uint2 *>(data + row * cache.cols + col) = raw;
	if (col % 128 == 0)
		cache.row_scale[row * (cache.cols / 128) + col / 128] = scale;
}

template <bool FP8>
__device__ void read_cache(const Matrix &cache, int64_t row, int col, float value[8])
{
	const int64_t at = row * cache.cols + col;
	if constexpr (FP8) {
		const uint2 raw = *reinterpret_cast<const uint2 *>(
			static_cast<uint8_t *>(cache.data) + at);
		const float scale = cache.row_scale[row * (cache.cols / 128) + col / 128];
		from_e4m3x4(raw.x, value);
		from_e4m3x4(raw.y, value + 4);
		for (int i = 0; i < 8; i++)
			value[i] *= scale;
	} else {
		load8(static_cast<const bf16 *>(cache.data) + at, value);
	}
}

__device__ float sigmoid(float x)
{
	return 1.0f / (1.0f + __expf(-x));
}

/* blockIdx.x is the row: rows are many, and may exceed what y and z can count. */
template <bool FP8>
__global__ void swiglu_forward_kernel(
	const bf16 *gate_up, const float *weight, Matrix act, Matrix cache)
{
	const int64_t row = blockIdx.x;
	const int inter = act.cols;
	const bf16 *gates = gate_up + row * 2 * inter;
	const float w = weight ? weight[row] : 1.0f;
	const ScaleRow scales = scales_of<FP8>(act, row);
#pragma unroll 2
	for (int col = 8 * threadIdx.x; col < inter; col += 8 * block) {
		float gate[8], up[8], value[8];
		load8(gates + col, gate);
		load8(gates + inter + col, up);
		if (FP8 && cache.row_scale) {
			write_cache(cache, row, col, gate);
			write_cache(cache, row, inter + col, up);
		}
#pragma unroll
		for (int i = 0; i < 8; i++)
			value[i] = w * gate[i] * sigmoid(gate[i]) * up[i];
		write8<FP8>(act, scales, row, col, value);
	}
}

template <bool FP8> __global__ void swiglu_backward_kernel(SwigluBackward call)
{
	__shared__ float scratch[block / 32];
	const int64_t row = blockIdx.x;
	const int inter = call.act.cols;
	const float w = call.weight ? call.weight[row] : 1.0f;
	const ScaleRow grads = scales_of<FP8>(call.dgate_up, row);
	const ScaleRow acts = scales_of<FP8>(call.act, row);
	float weight_grad = 0;
#pragma unroll 2
	for (int col = 8 * threadIdx.x; col < inter; col += 8 * block) {
		float gate[8], up[8], dact[8], value[8];
		load8(call.dact + row * inter + col, dact);
		read_cache<FP8>(call.cache, row, col, gate);
		read_cache<FP8>(call.cache, row, inter + col, up);
#pragma unroll
		for (int i = 0; i < 8; i++) {
			const float s = sigmoid(gate[i]);
			const float silu = gate[i] * s;
			const float slope = s * (1.0f + gate[i] * (1.0f - s));
			value[i] = w * silu * up[i];
			weight_grad += dact[i] * silu * up[i];
			gate[i] = w * dact[i] * up[i] * slope;
			up[i] = w * dact[i] * silu;
		}
		write8<FP8>(call.act, acts, row, col, value);
		write8<FP8>(call.dgate_up, grads, row, col, gate);
		write8<FP8>(call.dgate_up, grads, row, inter + col, up);
	}
	if (!call.weight)
		return;
	const float total = warps_sum(weight_grad, scratch, 0, block / 32);
	if (threadIdx.x == 0)
		call.weight_grad[row] = total;
}

} // namespace

void swiglu_forward(const bf16 *gate_up, const float *weight, const Matrix &act,
	const Matrix &cache, cudaStream_t stream)
{
	if (act.rows == 0)
		return;
	const auto kernel =
		act.fp8() ? swiglu_forward_kernel<true> : swiglu_forward_kernel<false>;
	kernel<<<unsigned(act.rows), block, 0, stream>>>(gate_up, weight, act, cache);
	LAUNCH_CHECK();
}

void swiglu_backward(const SwigluBackward &call, cudaStream_t stream)
{
	if (call.act.rows == 0)
		return;
	const auto kernel =
		call.act.fp8() ? swiglu_backward_kernel<true> : swiglu_backward_kernel<false>;
	kernel<<<unsigned(call.act.rows), block, 0, stream>>>(call);
	LAUNCH_CHECK();
}

} // namespace bench
