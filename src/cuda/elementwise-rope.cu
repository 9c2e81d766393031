/* Rotary embedding, and what latent attention does to heads around the attention itself. */
#include "elementwise.h"
#include "vector.cuh"
#include <algorithm>

namespace bench
{
namespace
{

constexpr int block = 256;
constexpr int heads_at_once = 4;
/* Groups of sixteen values that a thread has in flight. */
constexpr int batch = 4;
constexpr int cast_batch = 2;

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

/* A warp takes four heads of a token: its lanes run over their vectors of eight, first the
 * rotated ones of q, then those of k. All loads are issued before the first of them is waited
 * for. */
__global__ void __launch_bounds__(block) rope_keys_kernel(RopeKeys call)
{
	const int64_t warp = (int64_t(blockIdx.x) * block + threadIdx.x) / 32;
	const int groups = (call.heads + heads_at_once - 1) / heads_at_once;
	const int64_t token = warp / groups;
	if (token >= call.tokens)
		return;
	const int first = int(warp - token * groups) * heads_at_once;
	const int count = min(heads_at_once, call.heads - first);
	const int width = call.nope + call.rotated, kv_width = call.nope + call.v_head;
	const int q_vectors = call.rotated / 8, vectors = q_vectors + width / 8;
	const int64_t head = token * call.heads + first;
	for (int v = threadIdx.x % 32; v < vectors; v += 32) {
		const bool query = v < q_vectors;
		const int col = query ? call.nope + 8 * v : 8 * (v - q_vectors);
		const bool shared = !query && col >= call.nope;
		bf16 *to = (query ? call.q : call.k) + head * width + col;
		const bf16 *from =
			query    ? to
			: shared ? call.key_rope + token * call.rotated + col - call.nope
				 : call.kv + head * kv_width + col;
		const int step = query ? width : shared ? 0 : kv_width;
		uint4 raw[heads_at_once];
#pragma unroll
		for (int i = 0; i < heads_at_once; i++)
			if (i < count)
				raw[i] = load_raw(from + i * step);
		if (query) {
			const float2 *angles =
				call.rope + (token * call.rotated + col - call.nope) / 2;
#pragma unroll
			for (int i = 0; i < heads_at_once; i++) {
				float value[8];
				unpack8(raw[i], value);
				rotate8(value, angles, false);
				raw[i] = pack8(value);
			}
		}
#pragma unroll
		for (int i = 0; i < heads_at_once; i++)
			if (i < count)
				*reinterpret_cast<uint4 *>(to + i * width) = raw[i];
	}
}

struct KeyValueGrad {
	const bf16 *dk, *dv;
	Matrix dkv;
	bf16 *dkey_rope;
	const float2 *rope;
	int heads, nope, rotated, v_head;
	Divisor kv_width;
};

/* A block a token. Threads run over dkv, four groups of 128 in flight; the shared key's share
 * is summed by threads that each take some heads, and then over those threads. */
template <bool FP8>
__global__ void __launch_bounds__(block) key_value_grad_kernel(KeyValueGrad call)
{
	__shared__ float parts[block * 8];
	const int64_t token = blockIdx.x;
	const ScaleRow scales = scales_of<FP8>(call.dkv, token);
	const int k_width = call.nope + call.rotated;
	for (int v0 = threadIdx.x; v0 < call.dkv.cols / 16; v0 += batch * block) {
		Raw16 raw[batch];
#pragma unroll
		for (int i = 0; i < batch; i++) {
			const int col = first_col<far_half>(v0 + i * block);
			if (col >= call.dkv.cols)
				break;
			const int in_token = call.kv_width.quotient(col);
			const int64_t head = token * call.heads + in_token;
			const int at = col - in_token * call.kv_width.divisor;
			raw[i] = load_raw16<far_half>(
				at < call.nope ? call.dk + head * k_width + at
					       : call.dv + head * call.v_head + at - call.nope);
		}
#pragma unroll
		for (int i = 0; i < batch; i++) {
			const int col = first_col<far_half>(v0 + i * block);
			if (col >= call.dkv.cols)
				break;
			float value[16];
			unpack16(raw[i], value);
			write16<FP8, far_half>(call.dkv, scales, token, col, value);
		}
	}
	const int vectors = call.rotated / 8, slots = block / vectors;
	const int slot = threadIdx.x / vectors, col = 8 * (threadIdx.x % vectors);
	const bf16 *from = call.dk + token * call.heads * k_width + call.nope + col;
	float sum[8] = {};
#pragma unroll 4
	for (int head = slot; head < call.heads; head += slots) {
		float more[8];
		load8(from + int64_t(head) * k_width, more);
		for (int i = 0; i < 8; i++)
			sum[i] += more[i];
	}
	for (int i = 0; i < 8; i++)
		parts[slot * call.rotated + col + i] = sum[i];
	__syncthreads();
	if (threadIdx.x >= vectors)
		return;
	for (int other = 1; other < slots; other++)
		for (int i = 0; i < 8; i++)
			sum[i] += parts[other * call.rotated + col + i];
	rotate8(sum, call.rope + (token * call.rotated + col) / 2, true);
	store8(call.dkey_rope + token * call.rotated + col, sum);
}

/* The angles of eight columns, where they are rotated; `head` is that of the columns. */
__device__ bool find_angles(const RopeColumns &rope, const Divisor &head, int64_t row, int col,
	const float2 *&angles)
{
	if (!rope.table || col >= rope.cols)
		return false;
	const int at = col - head.quotient(col) * rope.head - (rope.head - rope.width);
	if (at < 0)
		return false;
	angles = rope.table + uint32_t(row * rope.width + at) / 2;
	return true;
}

/* Heads are whole, so a thread's eight columns are rotated together or not at all. */
__global__ void rope_forward_kernel(
	bf16 *x, int64_t rows, int row_width, RopeColumns rope, Divisor head)
{
	const int vectors = rope.cols / 8;
	const int64_t step = int64_t(gridDim.x) * block;
	for (int64_t i = int64_t(blockIdx.x) * block + threadIdx.x; i < rows * vectors;
		i += step) {
		const int64_t row = i / vectors;
		const int col = 8 * int(i % vectors);
		const float2 *angles;
		if (!find_angles(rope, head, row, col, angles))
			continue;
		float value[8];
		load8(x + row * row_width + col, value);
		rotate8(value, angles, false);
		store8(x + row * row_width + col, value);
	}
}

/* blockIdx.x is the row: rows are many, and no thread divides a 64-bit index. */
template <bool FP8>
__global__ void __launch_bounds__(block)
	cast_kernel(const bf16 *x, Matrix out, RopeColumns rope, Divisor head)
{
	const int64_t row = blockIdx.x;
	const ScaleRow scales = scales_of<FP8>(out, row);
	const int v0 = blockIdx.y * cast_batch * block + threadIdx.x;
	Raw16 raw[cast_batch];
#pragma unroll
	for (int i = 0; i < cast_batch; i++) {
		const int col = first_col<far_half>(v0 + i * block);
		if (col < out.cols)
			raw[i] = load_raw16<far_half>(x + row * out.cols + col);
	}
#pragma unroll
	for (int i = 0; i < cast_batch; i++) {
		const int col = first_col<far_half>(v0 + i * block);
		if (col >= out.cols)
			break;
		float value[16];
		unpack16(raw[i], value);
#pragma unroll
		for (int half = 0; half < 2; half++) {
			const float2 *angles;
			if (find_angles(rope, head, row, col + half * far_half, angles))
				rotate8(value + 8 * half, angles, true);
		}
		write16<FP8, far_half>(out, scales, row, col, value);
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
		model.qk_rope, model.v_head, Divisor(model.qk_nope + model.v_head)};
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
	rope_forward_kernel<<<blocks, block, 0, stream>>>(
		x, rows, row_width, rope, Divisor(rope.head));
	LAUNCH_CHECK();
}

void cast(const bf16 *x, const Matrix &out, const RopeColumns &rope, cudaStream_t stream)
{
	if (out.rows == 0)
		return;
	const int values = 16 * cast_batch * block; /* of a block */
	const dim3 grid(unsigned(out.rows), unsigned((out.cols + values - 1) / values));
	const auto kernel = out.fp8() ? cast_kernel<true> : cast_kernel<false>;
	kernel<<<grid, block, 0, stream>>>(x, out, rope, Divisor(std::max(rope.head, 1)));
	LAUNCH_CHECK();
}

} // namespace bench
