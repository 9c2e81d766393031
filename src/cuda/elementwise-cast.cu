/* Changes of layout and scaling of FP8 matrices. */
#include "elementwise.h"
#include "vector.cuh"

namespace bench
{
namespace
{

constexpr int tile = 128;

/* Where a run of rows puts its transpose: element (row, col) at first[col * pitch + row]. */
struct TransposedRun {
	int64_t first, pitch;
};

__device__ TransposedRun find_run(const Segments &segments, int64_t row, int cols)
{
	int run = 0;
	while (run + 1 < segments.count && row >= segments.begin[run + 1])
		run++;
	const int64_t begin = segments.begin[run];
	const int64_t pitch = segments.begin[run + 1] - begin;
	return {begin * cols - begin, pitch};
}

/* The transpose works on 128 rows by 64 columns: four such blocks on an SM hide each other's
 * barriers. Threads hold 4 columns of 8 rows, a warp the whole width of two such groups of
 * rows. A block takes four such tiles side by side, the next on its way while one is worked on.
 */
constexpr int wide = 64, tiles_a_block = 4;
constexpr int transpose_threads = 256, transpose_warps = transpose_threads / 32;
constexpr int thread_rows = 8;

struct TilePlace {
	int64_t row0;
	int col0;
	int lane;  /* of 16: columns 4 lane .. */
	int group; /* of 16: rows 8 group .. */
};

/* Blocks are taken in bands of eight rows of tiles, column by column, so that blocks that run
 * together write whole kilobytes of a transposed row. */
__device__ TilePlace find_tile(const Matrix &from)
{
	const int step = wide * tiles_a_block;
	const int across = (from.cols + step - 1) / step, high = int(from.rows / tile);
	const int band = blockIdx.x / (8 * across), inside = blockIdx.x - band * 8 * across;
	const int depth = min(8, high - 8 * band);
	const int col = inside / depth;
	return {int64_t(8 * band + inside - col * depth) * tile, col * step,
		int(threadIdx.x % 16), int(threadIdx.x / 16)};
}

/* A thread's values as they are in memory, and the scales of their rows. */
struct RawTile {
	uint32_t raw[thread_rows];
	float4 scale[thread_rows / 4];
};

__device__ RawTile load_tile(const uint8_t *data, int cols, const float *scale)
{
	RawTile loaded;
#pragma unroll
	for (int i = 0; i < thread_rows; i++)
		loaded.raw[i] = *reinterpret_cast<const uint32_t *>(data + i * cols);
	loaded.scale[0] = reinterpret_cast<const float4 *>(scale)[0];
	loaded.scale[1] = reinterpret_cast<const float4 *>(scale)[1];
	return loaded;
}

__device__ void unpack_tile(const RawTile &loaded, float value[thread_rows][4])
{
#pragma unroll
	for (int i = 0; i < thread_rows; i += 4) {
		const float4 four = loaded.scale[i / 4];
		const float each[4] = {four.x, four.y, four.z, four.w};
#pragma unroll
		for (int r = 0; r < 4; r++) {
			from_e4m3x4(loaded.raw[i + r], value[i + r]);
#pragma unroll
			for (int j = 0; j < 4; j++)
				value[i + r][j] *= each[r];
		}
	}
}

/* Takes the maxima of a thread's columns; the first threads combine them, put the new scales
 * down and leave what values are multiplied by in `inverse`. */
__device__ void scale_columns(
	const float value[thread_rows][4], float (*amax)[wide], float *inverse, float *scale)
{
	float largest[4] = {smallest_amax, smallest_amax, smallest_amax, smallest_amax};
#pragma unroll
	for (int j = 0; j < 4; j++) {
#pragma unroll
		for (int i = 0; i < thread_rows; i++)
			largest[j] = fmaxf(largest[j], fabsf(value[i][j]));
		largest[j] = fmaxf(largest[j], __shfl_xor_sync(0xffffffffu, largest[j], 16));
	}
	const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
	if (lane < 16)
		reinterpret_cast<float4 *>(amax[warp])[lane] = {
			largest[0], largest[1], largest[2], largest[3]};
	__syncthreads();
	if (threadIdx.x < wide) {
		float column = amax[0][threadIdx.x];
#pragma unroll
		for (int other = 1; other < transpose_warps; other++)
			column = fmaxf(column, amax[other][threadIdx.x]);
		scale[threadIdx.x] = column * (1 / e4m3_max);
		inverse[threadIdx.x] = __fdividef(e4m3_max, column);
	}
	__syncthreads();
}

struct TurnedTile {
	uint2 units[wide][tile / 8];
};

/* Columns leave shared memory in rows of 16 bytes; units of eight rows are swizzled by the
 * column's group of four, to keep both sides free of bank conflicts. */
__device__ void put_tile(const float value[thread_rows][4], const float *inverse,
	const TilePlace &place, TurnedTile &turned)
{
	const float4 four = reinterpret_cast<const float4 *>(inverse)[place.lane];
	const float each[4] = {four.x, four.y, four.z, four.w};
#pragma unroll
	for (int j = 0; j < 4; j++) {
		float v[thread_rows];
#pragma unroll
		for (int i = 0; i < thread_rows; i++)
			v[i] = value[i][j] * each[j];
		turned.units[4 * place.lane + j][place.group ^ place.lane] = {
			to_e4m3x4(v[0], v[1], v[2], v[3]), to_e4m3x4(v[4], v[5], v[6], v[7])};
	}
}

__device__ void store_tile(const TurnedTile &turned, uint8_t *out, int64_t pitch)
{
	const int chunk = threadIdx.x % 8;
#pragma unroll
	for (int pass = 0; pass < 2; pass++) {
		const int col = threadIdx.x / 8 + pass * 32, swizzle = col / 4;
		uint4 rows =
			reinterpret_cast<const uint4 *>(turned.units[col])[chunk ^ swizzle / 2];
		if (swizzle & 1)
			rows = {rows.z, rows.w, rows.x, rows.y};
		*reinterpret_cast<uint4 *>(out + col * pitch + chunk * 16) = rows;
	}
}

__global__ void __launch_bounds__(transpose_threads, 4)
	transpose_kernel(Matrix from, Transposed to)
{
	__shared__ __align__(16) TurnedTile turned;
	__shared__ __align__(16) float amax[transpose_warps][wide];
	__shared__ __align__(16) float inverse[wide];
	const TilePlace place = find_tile(from);
	const int64_t row = place.row0 + place.group * thread_rows;
	const uint8_t *data = static_cast<const uint8_t *>(from.data) + row * from.cols +
			      place.col0 + 4 * place.lane;
	const ScaleRow scales = scale_row(from, row);
	const float *scale = scales.first + place.col0 / 128 * scales.stride;
	const TransposedRun run = find_run(from.segments, place.row0, from.cols);
	uint8_t *out = to.data + run.first + place.col0 * run.pitch + place.row0;
	float *out_scale = to.scale + place.row0 / tile * from.cols + place.col0;
	const int count = min(tiles_a_block, (from.cols - place.col0) / wide);
	RawTile next = load_tile(data, from.cols, scale);
	for (int i = 0; i < count; i++) {
		float value[thread_rows][4];
		unpack_tile(next, value);
		data += wide;
		if (i % 2)
			scale += scales.stride;
		if (i + 1 < count)
			next = load_tile(data, from.cols, scale);
		scale_columns(value, amax, inverse, out_scale + i * wide);
		put_tile(value, inverse, place, turned);
		__syncthreads();
		store_tile(turned, out, run.pitch);
		out += wide * run.pitch;
	}
}

/* [rows][groups] -> runs of [groups][rows]: 32 rows a block. */
__global__ void gather_scales_kernel(Matrix matrix)
{
	extern __shared__ float rows[];
	const int groups = matrix.cols / 128, pitch = groups | 1;
	const int64_t row0 = int64_t(blockIdx.x) * 32;
	const float *from = matrix.row_scale + row0 * groups;
	for (int i = threadIdx.x; i < 32 * groups; i += blockDim.x)
		rows[i / groups * pitch + i % groups] = from[i];
	__syncthreads();
	const ScaleRow scales = scale_row(matrix, row0);
	for (int i = threadIdx.x; i < 32 * groups; i += blockDim.x)
		scales.first[i / 32 * scales.stride + i % 32] = rows[i % 32 * pitch + i / 32];
}

struct QuantiseWeight {
	const bf16 *weight;
	int out, in;
	uint8_t *w;
	float *w_scale;
	uint8_t *transposed;
	float *transposed_scale;
};

/* Set-up only: a block a 128 x 128 tile, a thread half a row, no care for coalescing. */
__global__ void quantise_weight_kernel(QuantiseWeight call)
{
	__shared__ float amax[8];
	const int row = blockIdx.y * tile + threadIdx.x / 2;
	const int col0 = blockIdx.x * tile + threadIdx.x % 2 * 64;
	const bf16 *from = call.weight + int64_t(row) * call.in + col0;
	float largest = smallest_amax;
	for (int i = 0; i < 64; i++)
		largest = fmaxf(largest, fabsf(__bfloat162float(from[i])));
	for (int distance = 16; distance > 0; distance /= 2)
		largest = fmaxf(largest, __shfl_xor_sync(0xffffffffu, largest, distance));
	if (threadIdx.x % 32 == 0)
		amax[threadIdx.x / 32] = largest;
	__syncthreads();
	for (int warp = 0; warp < 8; warp++)
		largest = fmaxf(largest, amax[warp]);
	const float inverse = e4m3_max / largest;
	for (int i = 0; i < 64; i++) {
		const __nv_fp8_storage_t value = __nv_cvt_float_to_fp8(
			__bfloat162float(from[i]) * inverse, __NV_SATFINITE, __NV_E4M3);
		call.w[int64_t(row) * call.in + col0 + i] = value;
		call.transposed[int64_t(col0 + i) * call.out + row] = value;
	}
	if (threadIdx.x == 0) {
		const int in4 = (call.in / tile + 3) / 4 * 4,
			  out4 = (call.out / tile + 3) / 4 * 4;
		call.w_scale[blockIdx.y * in4 + blockIdx.x] = largest / e4m3_max;
		call.transposed_scale[blockIdx.x * out4 + blockIdx.y] = largest / e4m3_max;
	}
}

} // namespace

void transpose_requantise(const Matrix &from, const Transposed &to, cudaStream_t stream)
{
	if (from.rows == 0)
		return;
	const int step = wide * tiles_a_block;
	const unsigned blocks = unsigned(from.rows / tile * ((from.cols + step - 1) / step));
	transpose_kernel<<<blocks, transpose_threads, 0, stream>>>(from, to);
	LAUNCH_CHECK();
}

void gather_scales(const Matrix &matrix, cudaStream_t stream)
{
	if (matrix.rows == 0)
		return;
	const size_t bytes = 32 * (matrix.cols / 128 | 1) * sizeof(float);
	gather_scales_kernel<<<unsigned(matrix.rows / 32), 256, bytes, stream>>>(matrix);
	LAUNCH_CHECK();
}

void quantise_weight(const bf16 *weight, int out, int in, uint8_t *w, float *w_scale,
	uint8_t *transposed, float *transposed_scale, cudaStream_t stream)
{
	const QuantiseWeight call = {weight, out, in, w, w_scale, transposed, transposed_scale};
	quantise_weight_kernel<<<dim3(in / tile, out / tile), 256, 0, stream>>>(call);
	LAUNCH_CHECK();
}

} // namespace bench
