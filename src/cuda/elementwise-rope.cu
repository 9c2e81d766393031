/* Rotary embedding, and what latent attention does to heads around the attention itself. */
#include "elementwise.h"
#include "vector.cuh"

namespace bench
{
namespace
{

constexpr int block = 256;
constexpr int heads_at_once = 4;

__global__ void rope_table_kernel(float2 *table, int64_t tokens, int width, double base)
{
	const int64_t i = int64_t(blockIdx.x) * blockDim.x + threadIdx.x;
	const int half = width / 2;
	if (i >= tokens * half)
		return;
	const double angle = (i / half) * pow(base, -2.0 * (i % half) / width);
	table[i] = {float(cos(angle)), float(sin(angle))};
}

struct RopeKeys {
	bf16 *q;
	const bf16 *kv, *key_rope;
	bf16 *k;
	const float2 *rope;
	int64_t tokens;
	int heads, nope, rotated, v_head;
};

/* A warp takes four heads of a token: its lanes run over their vectors, first the rotated ones
 * of q, then those of k. */
__global__ void rope_keys_kernel(RopeKeys call)
{
	const int64_t warp = (int64_t(blockIdx.x) * block + threadIdx.x) / 32;
	const int lane = threadIdx.x % 32;
	const int groups = (call.heads + heads_at_once - 1) / heads_at_once;
	const int64_t token = warp / groups;
	if (token >= call.tokens)
		return;
	const int first = int(warp % groups) * heads_at_once;
	const int head_width = call.nope + call.rotated;
	const int q_vectors = call.rotated / 8, vectors = q_vectors + head_width / 8;
	const float2 *angles = call.rope + token * (call.rotated / 2);
	for (int v = lane; v < vectors; v += 32) {
		const bool query = v < q_vectors;
		const int col = query ? call.nope + 8 * v : 8 * (v - q_vectors);
#pragma unroll
		for (int i = 0; i < heads_at_once; i++) {
			const int64_t head = token * call.heads + first + i;
			if (first + i >= call.heads)
				break;
			bf16 *to = (query ? call.q : call.k) + head * head_width + col;
			if (query) {
				float value[8];
				load8(to, value);
				rotate8(value, angles + (col - call.nope) / 2, false);
				store8(to, value);
			} else {
				const bf16 *from =
					col < call.nope
						? call.kv + head * (call.nope + call.v_head) +
							  col
						: call.key_rope + token * call.rotated + col -
							  call.nope;
				*reinterpret_cast<uint4 *>(to) = load_raw(from);
			}
		}
	}
}

struct KeyValueGrad {
	const bf16 *dk, *dv;
	Matrix dkv;
	bf16 *dkey_rope;
	const float2 *rope;
	int heads, nope, rotated, v_head;
};

/* A block a token. Lanes run over the vectors of dkv; the shared key's share is summed by all
 * warps and then over them. */
template <bool FP8> __global__ void key_value_grad_kernel(KeyValueGrad call)
{
	__shared__ float parts[block / 32][256];
	const int64_t token = blockIdx.x;
	const ScaleRow scales = scales_of<FP8>(call.dkv, token);
	const int kv_width = call.nope + call.v_head, k_width = call.nope + call.rotated;
#pragma unroll 4
	for (int col = 8 * threadIdx.x; col < call.dkv.cols; col += 8 * block) {
		const int64_t head = token * call.heads + col / kv_width;
		const int at = col % kv_width;
		float value[8];
		load8(at < call.nope ? call.dk + head * k_width + at
				     : call.dv + head * call.v_head + at - call.nope,
			value);
		write8<FP8>(call.dkv, scales, token, col, value);
	}
	const int vectors = call.rotated / 8;
	const int slots = block / vectors;
	float sum[8] = {};
	const int col = 8 * (threadIdx.x % vectors);
#pragma unroll 4
	for (int head = threadIdx.x / vectors; head < call.heads; head += slots)
		add8(call.dk + (token * call.heads + head) * k_width + call.nope + col, sum);
	float *flat = &parts[0][0];
	for (int i = 0; i < 8; i++)
		flat[(threadIdx.x / vectors) * call.rotated + col + i] = sum[i];
	__syncthreads();
	if (threadIdx.x >= vectors)
		return;
	for (int slot = 1; slot < slots; slot++)
		for (int i = 0; i < 8; i++)
			sum[i] += flat[slot * call.rotated + col + i];
	rotate8(sum, call.rope + (token * call.rotated + col) / 2, true);
	store8(call.dkey_rope + token * call.rotated + col, sum);
}

__device__ bool find_angles(
	const RopeColumns &rope, int64_t row, int col, const float2 *&angles)
{
	if (!rope.table || col >= rope.cols)
		return false;
	const int at = col % rope.head - (rope.head - rope.width);
	if (at < 0)
		return false;
	angles = rope.table + (row * rope.width + at) / 2;
	return true;
}

/* Heads are whole, so a thread's eight columns are rotated together or not at all. */
__global__ void rope_forward_kernel(bf16 *x, int64_t rows, int row_width, RopeColumns rope)
{
	const int vectors = rope.cols / 8;
	const int64_t step = int64_t(gridDim.x) * block;
	for (int64_t i = int64_t(blockIdx.x) * block + threadIdx.x; i < rows * vectors;
		i += step) {
		const int64_t row = i / vectors;
		const int col = 8 * int(i % vectors);
		const float2 *angles;
		if (!find_angles(rope, row, col, angles))
			continue;
		float value[8];
		load8(x + row * row_width + col, value);
		rotate8(value, angles, false);
		store8(x + row * row_width + col, value);
	}
}

/* blockIdx.x is the row: rows are many, and no thread divides a 64-bit index. */
template <bool FP8> __global__ void cast_kernel(const bf16 *x, Matrix out, RopeColumns rope)
{
	const int64_t row = blockIdx.x;
	const ScaleRow scales = scales_of<FP8>(out, row);
	const int first = 8 * (blockIdx.y * 4 * block + threadIdx.x);
	uint4 raw[4];
#pragma unroll
	for (int i = 0; i < 4; i++) {
		const int col = first + i * 8 * block;
		if (col < out.cols)
			raw[i] = load_raw(x + row * out.cols + col);
	}
#pragma unroll
	for (int i = 0; i < 4; i++) {
		const int col = first + i * 8 * block;
		if (col >= out.cols)
			break;
		float value[8];
		unpack8(raw[i], value);
		const float2 *angles;
		if (find_angles(rope, row, col, angles))
			rotate8(value, angles, true);
		write8<FP8>(out, scales, row, col, value);
	}
}

} // namespace

void rope_table(float2 *table, int64_t tokens, int width, double base, cudaStream_t stream)
{
	const int64_t count = tokens * width / 2;
	rope_table_kernel<<<unsigned((count + block - 1) / block), block, 0, stream>>>(
		table, tokens, width, base);
	LAUNCH_CHECK();
}

void rope_keys(const Model &model, bf16 *q, const bf16 *kv, const bf16 *key_rope, bf16 *k,
	const float2 *rope, int64_t tokens, cudaStream_t stream)
{
	const RopeKeys call = {q, kv, key_rope, k, rope, tokens, model.heads, model.qk_nope,
		model.qk_rope, model.v_head};
	const int64_t warps = tokens * ((model.heads + heads_at_once - 1) / heads_at_once);
	const unsigned blocks = unsigned((warps * 32 + block - 1) / block);
	rope_keys_kernel<<<blocks, block, 0, stream>>>(call);
	LAUNCH_CHECK();
}

void key_value_grad(const Model &model, const bf16 *dk, const bf16 *dv, const Matrix &dkv,
	bf16 *dkey_rope, const float2 *rope, cudaStream_t stream)
{
	const KeyValueGrad call = {dk, dv, dkv, dkey_rope, rope, model.heads, model.qk_nope,
		model.qk_rope, model.v_head};
	const auto kernel =
		dkv.fp8() ? key_value_grad_kernel<true> : key_value_grad_kernel<false>;
	kernel<<<unsigned(dkv.rows), block, 0, stream>>>(call);
	LAUNCH_CHECK();
}

void rope_forward(
	bf16 *x, int64_t rows, int row_width, const RopeColumns &rope, cudaStream_t stream)
{
	const int64_t threads = rows * rope.cols / 8;
	const unsigned blocks = unsigned((threads + block - 1) / block);
	rope_forward_kernel<<<blocks, block, 0, stream>>>(x, rows, row_width, rope);
	LAUNCH_CHECK();
}

void cast(const bf16 *x, const Matrix &out, const RopeColumns &rope, cudaStream_t stream)
{
	if (out.rows == 0)
		return;
	const dim3 grid(unsigned(out.rows), unsigned(out.cols + 32 * block - 1) / (32 * block));
	const auto kernel = out.fp8() ? cast_kernel<true> : cast_kernel<false>;
	kernel<<<grid, block, 0, stream>>>(x, out, rope);
	LAUNCH_CHECK();
}

} // namespace bench
