/* Eight values a thread: 16 bytes of BF16, 8 bytes of E4M3, a scale group of 128 in 16 lanes.
 */
#pragma once
#include "matrix.h"
#include <cuda_bf16.h>
#include <cuda_fp8.h>

namespace bench
{

constexpr float e4m3_max = 448.0f;
/* Keeps the reciprocal of a scale finite where a whole group is zero. */
constexpr float smallest_amax = 1e-30f;
constexpr float norm_epsilon = 1e-6f;

__device__ inline void unpack8(const uint4 &raw, float value[8])
{
	const __nv_bfloat162 *pair = reinterpret_cast<const __nv_bfloat162 *>(&raw);
#pragma unroll
	for (int i = 0; i < 4; i++) {
		const float2 both = __bfloat1622float2(pair[i]);
		value[2 * i] = both.x;
		value[2 * i + 1] = both.y;
	}
}

__device__ inline uint4 load_raw(const __nv_bfloat16 *from)
{
	return *reinterpret_cast<const uint4 *>(from);
}

__device__ inline void load8(const __nv_bfloat16 *from, float value[8])
{
	unpack8(load_raw(from), value);
}

__device__ inline uint4 pack8(const float value[8])
{
	uint4 raw;
	__nv_bfloat162 *pair = reinterpret_cast<__nv_bfloat162 *>(&raw);
#pragma unroll
	for (int i = 0; i < 4; i++)
		pair[i] = __floats2bfloat162_rn(value[2 * i], value[2 * i + 1]);
	return raw;
}

__device__ inline void store8(__nv_bfloat16 *to, const float value[8])
{
	*reinterpret_cast<uint4 *>(to) = pack8(value);
}

__device__ inline void add8(const __nv_bfloat16 *from, float value[8])
{
	float more[8];
	load8(from, more);
#pragma unroll
	for (int i = 0; i < 8; i++)
		value[i] += more[i];
}

__device__ inline uint32_t to_e4m3x4(float a, float b, float c, float d)
{
	const uint32_t low = __nv_cvt_float2_to_fp8x2({a, b}, __NV_SATFINITE, __NV_E4M3);
	const uint32_t high = __nv_cvt_float2_to_fp8x2({c, d}, __NV_SATFINITE, __NV_E4M3);
	return low | high << 16;
}

__device__ inline void from_e4m3x4(uint32_t raw, float value[4])
{
#pragma unroll
	for (int i = 0; i < 2; i++) {
		const __half2_raw half = __nv_cvt_fp8x2_to_halfraw2(
			__nv_fp8x2_storage_t(raw >> (16 * i)), __NV_E4M3);
		const float2 both = __half22float2(__half2(half));
		value[2 * i] = both.x;
		value[2 * i + 1] = both.y;
	}
}

/* Largest of the 16 lanes that hold one scale group; all 16 must call. */
__device__ inline float group_max(float value)
{
	const unsigned mask = 0xffffu << (threadIdx.x & 16);
#pragma unroll
	for (int distance = 8; distance > 0; distance /= 2)
		value = fmaxf(value, __shfl_xor_sync(mask, value, distance));
	return value;
}

/* E4M3 of the eight values under the scale of their group, which is returned. */
__device__ inline float quantise8(const float value[8], uint2 &raw)
{
	float amax = smallest_amax;
#pragma unroll
	for (int i = 0; i < 8; i++)
		amax = fmaxf(amax, fabsf(value[i]));
	amax = group_max(amax);
	const float inverse = e4m3_max / amax;
	raw.x = to_e4m3x4(
		value[0] * inverse, value[1] * inverse, value[2] * inverse, value[3] * inverse);
	raw.y = to_e4m3x4(
		value[4] * inverse, value[5] * inverse, value[6] * inverse, value[7] * inverse);
	return amax * (1.0f / e4m3_max);
}

/* Where the scales of one row are: of columns 128 i at first[i * stride]. */
struct ScaleRow {
	float *first;
	int64_t stride;
};

__device__ inline ScaleRow scale_row(const Matrix &matrix, int64_t row)
{
	const Segments &segments = matrix.segments;
	int run = 0;
	while (run + 1 < segments.count && row >= segments.begin[run + 1])
		run++;
	const int64_t begin = segments.begin[run];
	return {matrix.scale + begin * (matrix.cols / 128) + row - begin,
		segments.begin[run + 1] - begin};
}

/* Eight values at (row, col) of a matrix; the 16 lanes of a group write together. `scales` is
 * that of the row. */
template <bool FP8>
__device__ inline void write8(const Matrix &matrix, const ScaleRow &scales, int64_t row,
	int col, const float value[8])
{
	const int64_t at = row * matrix.cols + col;
	if constexpr (FP8) {
		uint2 raw;
		const float scale = quantise8(value, raw);
		*reinterpret_cast<uint2 *>(static_cast<uint8_t *>(matrix.data) + at) = raw;
		if (col % 128 == 0) {
			scales.first[col / 128 * scales.stride] = scale;
			if (matrix.row_scale)
				matrix.row_scale[row * (matrix.cols / 128) + col / 128] = scale;
		}
	} else {
		store8(static_cast<__nv_bfloat16 *>(matrix.data) + at, value);
	}
}

template <bool FP8> __device__ inline ScaleRow scales_of(const Matrix &matrix, int64_t row)
{
	if constexpr (FP8)
		return scale_row(matrix, row);
	return {nullptr, 0};
}

__device__ inline float warp_sum(float value)
{
#pragma unroll
	for (int distance = 16; distance > 0; distance /= 2)
		value += __shfl_xor_sync(0xffffffffu, value, distance);
	return value;
}

/* Sum over warps first .. last - 1 of the block; every thread of the block calls, with a
 * scratch of one float a warp that no other reduction of the same step uses. */
__device__ inline float warps_sum(float value, float *scratch, int first, int last)
{
	value = warp_sum(value);
	if (threadIdx.x % 32 == 0)
		scratch[threadIdx.x / 32] = value;
	__syncthreads();
	float sum = 0;
	for (int warp = first; warp < last; warp++)
		sum += scratch[warp];
	return sum;
}

/* Rotation of the interleaved pairs in eight values: pairs are (cos, sin) of the angles. With
 * `inverse` by the negative angles, which is the gradient. */
__device__ inline void rotate8(float value[8], const float2 *pairs, bool inverse)
{
#pragma unroll
	for (int i = 0; i < 4; i++) {
		const float c = pairs[i].x;
		const float s = inverse ? -pairs[i].y : pairs[i].y;
		const float x = value[2 * i], y = value[2 * i + 1];
		value[2 * i] = x * c - y * s;
		value[2 * i + 1] = x * s + y * c;
	}
}

} // namespace bench
