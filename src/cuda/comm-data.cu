/* The rows that exchanges move, and the checksums that they must arrive with. */
#include "checksum.cuh"
#include "comm-kernels.h"
#include "cuda-check.h"
#include "route.h"
#include <cuda_bf16.h>

namespace bench
{

namespace
{

__device__ inline unsigned int mix(uint64_t x)
{
	x = (x ^ (x >> 33)) * 0xff51afd7ed558ccdull;
	x = (x ^ (x >> 33)) * 0xc4ceb9fe1a85ec53ull;
	return (unsigned int)(x ^ (x >> 33));
}

/* Clearing the lowest exponent bit of every byte leaves no E4M3 NaN (0x7f, 0xff). */
__global__ void fill_fp8_kernel(unsigned int *data, size_t words, uint64_t seed)
{
	size_t stride = (size_t)gridDim.x * blockDim.x;
	for (size_t i = blockIdx.x * (size_t)blockDim.x + threadIdx.x; i < words; i += stride)
		data[i] = mix(seed + i) & 0xf7f7f7f7u;
}

__global__ void fill_bf16_kernel(__nv_bfloat162 *data, size_t words, uint64_t seed)
{
	size_t stride = (size_t)gridDim.x * blockDim.x;
	for (size_t i = blockIdx.x * (size_t)blockDim.x + threadIdx.x; i < words; i += stride) {
		unsigned int bits = mix(seed + i);
		data[i] = __floats2bfloat162_rn((float)(bits & 0xffff) / 32768.0f - 1.0f,
			(float)(bits >> 16) / 32768.0f - 1.0f);
	}
}

/* One CTA a row: this thread's part of its checksum in row `slot` of the staging buffer. */
__device__ inline unsigned int row_sum(const char *row, int row_bytes, unsigned int slot)
{
	unsigned int sum = 0, pieces = row_bytes / 16;
	for (unsigned int i = threadIdx.x; i < pieces; i += blockDim.x)
		sum += piece_sum(((const int4 *)row)[i], slot * pieces + i);
	return sum;
}

__global__ void expected_dispatch_kernel(
	const __grid_constant__ ExchangeArgs a, int parity, unsigned int *expected)
{
	const char *row = a.source[parity] + (size_t)blockIdx.x * a.row_bytes;
	for (int f = 0; f < a.fanout; f++) {
		uint32_t copy = a.send[(size_t)blockIdx.x * a.fanout + f];
		if (copy != kNoCopy)
			atomicAdd(expected + (copy >> 24),
				row_sum(row, a.row_bytes, copy & 0xffffff));
	}
}

__global__ void expected_combine_kernel(
	const __grid_constant__ ExchangeArgs a, int parity, unsigned int *expected)
{
	int owner = blockIdx.y, token = blockIdx.x;
	const int32_t *begin = a.recv_begin + (size_t)owner * (a.tokens + 1);
	for (int slot = begin[token]; slot < begin[token + 1]; slot++)
		atomicAdd(
			expected + owner, row_sum(a.source[parity] + (size_t)slot * a.row_bytes,
						  a.row_bytes, a.home[slot]));
}

} // namespace

void fill_random_fp8(void *data, size_t bytes, uint64_t seed, cudaStream_t stream)
{
	fill_fp8_kernel<<<1024, 256, 0, stream>>>((unsigned int *)data, bytes / 4, seed << 32);
	LAUNCH_CHECK();
}

void fill_random_bf16(void *data, size_t bytes, uint64_t seed, cudaStream_t stream)
{
	fill_bf16_kernel<<<1024, 256, 0, stream>>>(
		(__nv_bfloat162 *)data, bytes / 4, seed << 32);
	LAUNCH_CHECK();
}

void add_expected_dispatch(
	const ExchangeArgs &args, int parity, unsigned int *expected, cudaStream_t stream)
{
	expected_dispatch_kernel<<<args.tokens, 128, 0, stream>>>(args, parity, expected);
	LAUNCH_CHECK();
}

void add_expected_combine(
	const ExchangeArgs &args, int parity, unsigned int *expected, cudaStream_t stream)
{
	dim3 grid(args.tokens, args.ranks);
	expected_combine_kernel<<<grid, 128, 0, stream>>>(args, parity, expected);
	LAUNCH_CHECK();
}

} // namespace bench
