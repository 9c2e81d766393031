/* Sixteen values a thread, in two halves of eight; eight neighbouring lanes share a scale group
 * of 128, whose maximum so takes three exchanges. The halves are HALF columns apart: 64, so
 * that every access of a warp is contiguous, or 8, so that FP8 leaves in 16 bytes a lane, which
 * pays where it is most of what is moved. */
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

constexpr int far_half = 64, near_half = 8;

/* First column of the v-th thread along a row. */
template <int HALF> __device__ inline int first_col(int v)
{
	return HALF == near_half ? 16 * v : v / 8 * 128 + v % 8 * 8;
}

/* Both halves, not yet unpacked: loads are issued before anything waits for one. */
struct Raw16 {
	uint4 half[2];
};

template <int HALF> __device__ inline Raw16 load_raw16(const __nv_bfloat16 *from)
{
	return {{load_raw(from), load_raw(from + HALF)}};
}

__device__ inline void unpack16(const Raw16 &raw, float value[16])
{
	unpack8(raw.half[0], value);
	unpack8(raw.half[1], value + 8);
}

__device__ inline void add16(const Raw16 &raw, float value[16])
{
	float more[16];
	unpack16(raw, more);
#pragma unroll
	for (int i = 0; i < 16; i++)
		value[i] += more[i];
}

template <int HALF> __device__ inline void store16(__nv_bfloat16 *to, const float value[16])
{
	store8(to, value);
	store8(to + HALF, value + 8);
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

/* Largest of the eight lanes that hold one scale group; all eight must call. */
__device__ inline float group_max(float value)
{
	const unsigned mask = 0xffu << (threadIdx.x & 24);
#pragma unroll
	for (int distance = 4; distance > 0; distance /= 2)
		value = fmaxf(value, __shfl_xor_sync(mask, value, distance));
	return value;
}

/* E4M3 of sixteen values under the scale of their group, which is returned. */
__device__ inline float quantise16(const float value[16], uint2 raw[2])
{
	float amax = smallest_amax;
#pragma unroll
	for (int i = 0; i < 16; i++)
		amax = fmaxf(amax, fabsf(value[i]));
	amax = group_max(amax);
	const float inverse = __fdividef(e4m3_max, amax);
#pragma unroll
	for (int half = 0; half < 2; half++) {
		const float *v = value + 8 * half;
		raw[half].x = to_e4m3x4(
			v[0] * inverse, v[1] * inverse, v[2] * inverse, v[3] * inverse);
		raw[half].y = to_e4m3x4(
			v[4] * inverse, v[5] * inverse, v[6] * inverse, v[7] * inverse);
	}
	return amax * (1.0f / e4m3_max);
}

template <int HALF> __device__ inline void store_e4m3(uint8_t *to, const uint2 raw[2])
{
	if constexpr (HALF == near_half) {
		*reinterpret_cast<uint4 *>(to) = {raw[0].x, raw[0].y, raw[1].x, raw[1].y};
	} else {
		*reinterpret_cast<uint2 *>(to) = raw[0];
		*reinterpret_cast<uint2 *>(to + HALF) = raw[1];
	}
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

/* Sixteen values, times a factor that is the same for the group, at (row, col) of a matrix; the
 * lanes of a group write together. `scales` is that of the row. */
template <bool FP8, int HALF>
__device__ inline void write16(const Matrix &matrix, const ScaleRow &scales, int64_t row,
	int col, const float value[16], float factor = 1.0f)
{
	const int64_t at = row * matrix.cols + col;
	if constexpr (FP8) {
		uint2 raw[2];
		const float scale = quantise16(value, raw) * factor;
		store_e4m3<HALF>(static_cast<uint8_t *>(matrix.data) + at, raw);
		if (col % 128 == 0) {
			scales.first[col / 128 * scales.stride] = scale;
			if (matrix.row_scale)
				matrix.row_scale[row * (matrix.cols / 128) + col / 128] = scale;
		}
	} else {
		float scaled[16];
#pragma unroll
		for (int i = 0; i < 16; i++)
			scaled[i] = value[i] * factor;
		store16<HALF>(static_cast<__nv_bfloat16 *>(matrix.data) + at, scaled);
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

/* Sum over warps first .. last - 1 of the block, at most 32; every thread of the block calls,
 * with a scratch of one value a warp that no neighbouring reduction uses. */
__device__ inline float warps_sum(float value, float *scratch, int first, int last)
{
	value = warp_sum(value);
	const int lane = threadIdx.x % 32;
	if (lane == 0)
		scratch[threadIdx.x / 32] = value;
	__syncthreads();
	return warp_sum(lane < last - first ? scratch[first + lane] : 0);
}

/* The same of two values with one barrier. */
__device__ inline float2 warps_sum(float2 value, float2 *scratch, int first, int last)
{
	value = {warp_sum(value.x), warp_sum(value.y)};
	const int lane = threadIdx.x % 32;
	if (lane == 0)
		scratch[threadIdx.x / 32] = value;
	__syncthreads();
	value = lane < last - first ? scratch[first + lane] : float2();
	return {warp_sum(value.x), warp_sum(value.y)};
}

/* n / divisor for 0 <= n < 65536: a division by a number that is not known when compiling takes
 * some twenty instructions. */
struct Divisor {
	int divisor = 1;
	uint32_t inverse = 0;
	Divisor() = default;
	explicit Divisor(int value)
	    : divisor(value), inverse(uint32_t(((uint64_t(1) << 32) + value - 1) / value))
	{
	}
	__device__ int quotient(int n) const
	{
		return divisor == 1 ? n : int(__umulhi(uint32_t(n), inverse));
	}
};

__device__ inline float sigmoid(float x)
{
	/* The instruction itself: a division by it would multiply by one as well. */
	float inverse;
	asm("rcp.approx.ftz.f32 %0, %1;" : "=f"(inverse) : "f"(1.0f + __expf(-x)));
	return inverse;
}

/* Rotation of the interleaved pairs in eight values: pairs are (cos, sin) of the angles. With
 * `inverse` by the negative angles, which is the gradient. */
__device__ inline void rotate8(float value[8], const float2 *pairs, bool inverse)
{
#pragma unroll
	for (int i = 0; i < 2; i++) {
		const float4 two = reinterpret_cast<const float4 *>(pairs)[i];
		const float c[2] = {two.x, two.z};
		const float s[2] = {inverse ? -two.y : two.y, inverse ? -two.w : two.w};
#pragma unroll
		for (int j = 0; j < 2; j++) {
			float *pair = value + 4 * i + 2 * j;
			const float x = pair[0], y = pair[1];
			pair[0] = x * c[j] - y * s[j];
			pair[1] = x * s[j] + y * c[j];
		}
	}
}

} // namespace bench
