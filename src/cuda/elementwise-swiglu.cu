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
	store_e4m3<near_half>(static_cast<uint8_t *>(cache.data) + row * cache.cols + col, raw);
	if (col % 128 == 0)
		cache.row_scale[row * (cache.cols / 128) + col / 128] = scale;
}

/* Sixteen values of the cache as they are in memory: FP8 with a scale, or BF16. */
template <bool FP8> struct Cached;

template <> struct Cached<true> {
	uint4 raw;
	float scale; /* left to the caller by unpack() */
	__device__ Cached(const Matrix &cache, int64_t row, int col)
	    : raw(*reinterpret_cast<const uint4 *>(
		      static_cast<uint8_t *>(cache.data) + row * cache.cols + col)),
	      scale(cache.row_scale[row * (cache.cols / 128) + col / 128])
	{
	}
	__device__ void unpack(float value[16]) const
	{
		from_e4m3x4(raw.x, value);
		from_e4m3x4(raw.y, value + 4);
		from_e4m3x4(raw.z, value + 8);
		from_e4m3x4(raw.w, value + 12);
	}
};

template <> struct Cached<false> {
	Raw16 raw;
	static constexpr float scale = 1.0f;
	__device__ Cached(const Matrix &cache, int64_t row, int col)
	    : raw(load_raw16<near_half>(
		      static_cast<const bf16 *>(cache.data) + row * cache.cols + col))
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
		const int col = first_col<near_half>(v);
		const Raw16 raw_gate = load_raw16<near_half>(gates + col);
		const Raw16 raw_up = load_raw16<near_half>(gates + inter + col);
		float gate[16], up[16];
		unpack16(raw_gate, gate);
		unpack16(raw_up, up);
		if (FP8 && cache.row_scale) {
			write_cache(cache, row, col, gate);
			write_cache(cache, row, inter + col, up);
		}
#pragma unroll
		for (int i = 0; i < 16; i++)
			up[i] *= gate[i] * sigmoid(gate[i]);
		write16<FP8, near_half>(act, scales, row, col, up, w);
	}
}

template <bool FP8>
__global__ void __launch_bounds__(block, 6) swiglu_backward_kernel(SwigluBackward call)
{
	__shared__ float scratch[block / 32];
	const int64_t row = blockIdx.x;
	const int inter = call.act.cols;
	const float w = call.weight ? call.weight[row] : 1.0f;
	const ScaleRow grads = scales_of<FP8>(call.dgate_up, row);
	const ScaleRow acts = scales_of<FP8>(call.act, row);
	float weight_grad = 0;
	for (int v = threadIdx.x; v < inter / 16; v += block) {
		const int col = first_col<near_half>(v);
		const Raw16 raw = load_raw16<near_half>(call.dact + row * inter + col);
		const Cached<FP8> raw_gate(call.cache, row, col);
		const Cached<FP8> raw_up(call.cache, row, inter + col);
		float gate[16], up[16], dact[16], value[16];
		unpack16(raw, dact);
		raw_gate.unpack(gate);
		raw_up.unpack(up);
		/* What is the same for the whole group goes into the scales of the results. */
		const float factor = w * raw_up.scale;
		float products = 0;
#pragma unroll
		for (int i = 0; i < 16; i++) {
			const float g = gate[i] * raw_gate.scale;
			const float s = sigmoid(g);
			const float silu = g * s;
			const float slope = s + silu * (1.0f - s);
			value[i] = silu * up[i];
			products += dact[i] * value[i];
			gate[i] = dact[i] * up[i] * slope;
			up[i] = dact[i] * silu;
		}
		weight_grad += products * raw_up.scale;
		write16<FP8, near_half>(call.act, acts, row, col, value, factor);
		write16<FP8, near_half>(call.dgate_up, grads, row, col, gate, factor);
		write16<FP8, near_half>(call.dgate_up, grads, row, inter + col, up, w);
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
