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

/* Tiles are taken in bands of eight rows of tiles, column by column, so that blocks that run
 * together write whole kilobytes of a transposed row. */
__device__ int2 find_tile(const Matrix &from)
{
	const int wide = from.cols / tile, high = int(from.rows / tile);
	const int band = blockIdx.x / (8 * wide), inside = blockIdx.x - band * 8 * wide;
	const int depth = min(8, high - 8 * band);
	return {inside / depth, 8 * band + inside % depth};
}

/* A block takes 128 x 128. A thread holds 4 columns of 16 rows, so that the column maxima need
 * one exchange between the eight warps and the transposed tile leaves shared memory in 16-byte
 * rows. Chunks are swizzled by column group to keep both sides free of bank conflicts. */
__global__ void __launch_bounds__(256, 3) transpose_kernel(Matrix from, Transposed to)
{
	__shared__ __align__(16) uint8_t turned[tile * tile];
	__shared__ float amax[8][tile];
	__shared__ __align__(16) float row_scale[8][16]; /* of the rows of each warp */
	const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
	const int2 place = find_tile(from);
	const int64_t row0 = int64_t(place.y) * tile;
	const int col0 = place.x * tile;
	const ScaleRow scales = scale_row(from, row0);
	if (lane < 16)
		row_scale[warp][lane] =
			e4m3_unit * scales.first[place.x * scales.stride + warp * 16 + lane];
	const uint8_t *data = static_cast<const uint8_t *>(from.data) +
			      (row0 + warp * 16) * from.cols + col0 + 4 * lane;
	uint32_t raw[16];
#pragma unroll
	for (int i = 0; i < 16; i++)
		raw[i] = *reinterpret_cast<const uint32_t *>(data + int64_t(i) * from.cols);
	__syncwarp();
	float largest[4] = {smallest_amax, smallest_amax, smallest_amax, smallest_amax};
#pragma unroll
	for (int i = 0; i < 16; i++) {
		float value[4];
		from_e4m3x4(raw[i], value);
#pragma unroll
		for (int j = 0; j < 4; j++)
			largest[j] = fmaxf(largest[j], fabsf(value[j] * row_scale[warp][i]));
	}
	*reinterpret_cast<float4 *>(&amax[warp][4 * lane]) = {
		largest[0], largest[1], largest[2], largest[3]};
	__syncthreads();
	for (int other = 0; other < 8; other++)
		for (int j = 0; j < 4; j++)
			largest[j] = fmaxf(largest[j], amax[other][4 * lane + j]);
	float inverse[4];
	for (int j = 0; j < 4; j++)
		inverse[j] = __fdividef(e4m3_max, largest[j]);
	uint32_t out[4][4];
#pragma unroll
	for (int i = 0; i < 4; i++) {
		float value[4][4];
#pragma unroll
		for (int r = 0; r < 4; r++)
			from_e4m3x4(raw[4 * i + r], value[r]);
#pragma unroll
		for (int j = 0; j < 4; j++) {
			const float *s = row_scale[warp] + 4 * i;
			out[j][i] = to_e4m3x4(value[0][j] * s[0] * inverse[j],
				value[1][j] * s[1] * inverse[j],
				value[2][j] * s[2] * inverse[j],
				value[3][j] * s[3] * inverse[j]);
		}
	}
	uint4 *chunks = reinterpret_cast<uint4 *>(turned);
#pragma unroll
	for (int j = 0; j < 4; j++)
		chunks[(4 * lane + j) * 8 + (warp ^ (lane & 7))] = {
			out[j][0], out[j][1], out[j][2], out[j][3]};
	if (warp == 0)
		*reinterpret_cast<float4 *>(to.scale + int64_t(place.y) * from.cols + col0 +
					    4 * lane) = {largest[0] / e4m3_max,
			largest[1] / e4m3_max, largest[2] / e4m3_max, largest[3] / e4m3_max};
	__syncthreads();
	const TransposedRun run = find_run(from.segments, row0, from.cols);
	const int chunk = threadIdx.x % 8;
	for (int col = threadIdx.x / 8; col < tile; col += 32)
		*reinterpret_cast<uint4 *>(
			to.data + run.first + (col0 + col) * run.pitch + row0 + chunk * 16) =
			chunks[col * 8 + (chunk ^ (col / 4 & 7))];
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
	const unsigned tiles = unsigned(from.elements() / (tile * tile));
	transpose_kernel<<<tiles, 256, 0, stream>>>(from, to);
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
