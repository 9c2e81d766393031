#include "cuda-check.h"
#include "device.h"
#include "permute.h"
#include "ptx.h"
#include <cuda_bf16.h>

namespace bench
{

namespace
{

constexpr int kThreads = 256;
constexpr int kWarps = kThreads / 32;
/* CTAs per SM: enough loads in flight to reach copy bandwidth. */
constexpr int kCtasPerSm = 6;

__device__ inline void copy_pieces(const char *from, char *to, int bytes, int lane)
{
	constexpr int unroll = 7;
	int pieces = bytes / 16;
	for (int base = lane; base < pieces; base += unroll * 32) {
		int4 v[unroll];
#pragma unroll
		for (int u = 0; u < unroll; u++)
			if (base + u * 32 < pieces)
				v[u] = load_constant((const int4 *)from + base + u * 32);
#pragma unroll
		for (int u = 0; u < unroll; u++)
			if (base + u * 32 < pieces)
				store_streaming((int4 *)to + base + u * 32, v[u]);
	}
}

__global__ void __launch_bounds__(kThreads)
	permute_kernel(const __grid_constant__ PermuteArgs a)
{
	int lane = threadIdx.x % 32, warps = gridDim.x * kWarps;
	size_t row_bytes = (size_t)a.value_bytes + a.scale_bytes;
	for (int row = blockIdx.x * kWarps + threadIdx.x / 32; row < a.rows; row += warps) {
		const char *from = a.received + a.row_slot[row] * row_bytes;
		copy_pieces(from, a.expert_values + (size_t)row * a.value_bytes, a.value_bytes,
			lane);
		copy_pieces(from + a.value_bytes, a.expert_scales + (size_t)row * a.scale_bytes,
			a.scale_bytes, lane);
	}
}

__device__ inline void sum_rows(const PermuteArgs &a, int slot, int piece, float *sum)
{
	const int32_t *rows = a.slot_row + (size_t)slot * a.experts;
	const float *weights = a.slot_weight + (size_t)slot * a.experts;
	for (int e = 0; e < a.experts && rows[e] >= 0; e++) {
		int4 v = load_constant(
			(const int4 *)(a.expert_out + (size_t)rows[e] * a.hidden * 2) + piece);
		const __nv_bfloat162 *pair = (const __nv_bfloat162 *)&v;
#pragma unroll
		for (int i = 0; i < 4; i++) {
			float2 f = __bfloat1622float2(pair[i]);
			sum[2 * i] += weights[e] * f.x;
			sum[2 * i + 1] += weights[e] * f.y;
		}
	}
}

__global__ void __launch_bounds__(kThreads)
	unpermute_kernel(const __grid_constant__ PermuteArgs a)
{
	int pieces = a.hidden / 8;
	for (int slot = blockIdx.x; slot < a.copies; slot += gridDim.x) {
		for (int piece = threadIdx.x; piece < pieces; piece += kThreads) {
			float sum[8] = {};
			sum_rows(a, slot, piece, sum);
			int4 v;
			__nv_bfloat162 *pair = (__nv_bfloat162 *)&v;
#pragma unroll
			for (int i = 0; i < 4; i++)
				pair[i] = __floats2bfloat162_rn(sum[2 * i], sum[2 * i + 1]);
			store_streaming(
				(int4 *)(a.replies + (size_t)slot * a.hidden * 2) + piece, v);
		}
	}
}

int grid_size(int sms)
{
	int device;
	CUDA_CHECK(cudaGetDevice(&device));
	return (sms > 0 ? sms : multiprocessors(device)) * kCtasPerSm;
}

} // namespace

void launch_permute(const PermuteArgs &args, int sms, cudaStream_t stream)
{
	permute_kernel<<<grid_size(sms), kThreads, 0, stream>>>(args);
	LAUNCH_CHECK();
}

void launch_unpermute(const PermuteArgs &args, int sms, cudaStream_t stream)
{
	unpermute_kernel<<<grid_size(sms), kThreads, 0, stream>>>(args);
	LAUNCH_CHECK();
}

} // namespace bench
