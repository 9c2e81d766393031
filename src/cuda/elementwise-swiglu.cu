/* SwiGLU with the routing weight and the casts on either side of it in one pass: a block a row.
 */
#include "elementwise.h"
#include "vector.cuh"

namespace bench
{
namespace
{

constexpr int block = 128;

/* FP8 of sixteen values for our own kernels alone: scales by rows. */
__device__ void write_cache(const Matrix &cache, int64_t row, int col, const float value[16])
{
	uint2 raw[2];
	const float scale = quantise16(value, raw);
	store_e4m3(static_cast<uint8_t *>(cache.data) + row * cache.cols + col, raw);
	if (col % 128 == 0)
		cache.row_scale[row * (cache.cols / 128) + col / 128] = scale;
}

/* Sixteen values of the cache as they are in memory: FP8 with a scale, or BF16. */
template <bool FP8> struct Cached;

template <> struct Cached<true> {
	uint2 half[2];
	float scale;
	__device__ Cached(const Matrix &cache, int64_t row, int col)
	{
		const uint8_t *from =
			static_cast<uint8_t *>(cache.data) + row * cache.cols + col;
		half[0] = *reinterpret_cast<const uint2 *>(from);
		half[1] = *reinterpret_cast<const uint2 *>(from + half_group);
		scale = cache.row_scale[row * (cache.cols / 128) + col / 128];
	}
	__device__ void unpack(float value[16]) const
	{
		from_e4m3x4(half[0].x, value);
		from_e4m3x4(half[0].y, value + 4);
		from_e4m3x4(half[1].x, value + 8);
		from_e4m3x4(half[1].y, value + 12);
#pragma unroll
		for (int i = 0; i < 16; i++)
			value[i] *= scale;
	}
};

template <> struct Cached<false> {
	Raw16 raw;
	__device__ Cached(const Matrix &cache, int64_t row, int col)
	    : raw(load_raw16(static_cast<const bf16 *>(cache.data) + row * cache.cols + col))
	{
	}
	__device__ void unpack(float value[16]) const
	{
		unpack16(raw, value);
	}
};

/* blockIdx.x is the row: rows are many, and may exceed what y and z can count. */
template <bool FP8>
__global__ void __launch_bounds__(block) swiglu_forward_kernel(
	const bf16 *gate_up, const float *weight, Matrix act, Matrix cache)
{
	const int64_t row = blockIdx.x;
	const int inter = act.cols;
	const bf16 *gates = gate_up + row * 2 * inter;
	const float w = weight ? weight[row] : 1.0f;
	const ScaleRow scales = scales_of<FP8>(act, row);
	for (int v = threadIdx.x; v < inter / 16; v += block) {
		const int col = first_col(v);
		const Raw16 raw_gate = load_raw16(gates + col);
		const Raw16 raw_up = load_raw16(gates + inter + col);
		float gate[16], up[16];
		unpack16(raw_gate, gate);
		unpack16(raw_up, up);
		if (FP8 && cache.row_scale) {
			write_cache(cache, row, col, gate);
			write_cache(cache, row, inter + col, up);
		}
#pragma unroll
		for (int i = 0; i < 16; i++)
			up[i] *= w * gate[i] * sigmoid(gate[i]);
		write16<FP8>(act, scales, row, col, up);
	}
}

template <bool FP8>
__global__ void __launch_bounds__(block) swiglu_backward_kernel(SwigluBackward call)
{
	__shared__ float scratch[block / 32];
	const int64_t row = blockIdx.x;
	const int inter = call.act.cols;
	const float w = call.weight ? call.weight[row] : 1.0f;
	const ScaleRow grads = scales_of<FP8>(call.dgate_up, row);
	const ScaleRow acts = scales_of<FP8>(call.act, row);
	float weight_grad = 0;
	for (int v = threadIdx.x; v < inter / 16; v += block) {
		const int col = first_col(v);
		const Raw16 raw = load_raw16(call.dact + row * inter + col);
		const Cached<FP8> raw_gate(call.cache, row, col);
		const Cached<FP8> raw_up(call.cache, row, inter + col);
		float gate[16], up[16], dact[16], value[16];
		unpack16(raw, dact);
		raw_gate.unpack(gate);
		raw_up.unpack(up);
#pragma unroll
		for (int i = 0; i < 16; i++) {
			const float s = sigmoid(gate[i]);
			const float silu = gate[i] * s;
			const float slope = s + silu * (1.0f - s);
			const float product = silu * up[i], grad = w * dact[i];
			value[i] = w * product;
			weight_grad += dact[i] * product;
			gate[i] = grad * up[i] * slope;
			up[i] = grad * silu;
		}
		write16<FP8>(call.act, acts, row, col, value);
		write16<FP8>(call.dgate_up, grads, row, col, gate);
		write16<FP8>(call.dgate_up, grads, row, inter + col, up);
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
