/* Between the projections of latent attention: both latents of a token in one block, the
 * query's in its first warps, the key-value's in the next, rotary key and padding in the last.
 */
#include "elementwise.h"
#include "vector.cuh"

namespace bench
{

void sum_partials(const float *partial, int rows, int cols, float *out, cudaStream_t stream);

namespace
{

constexpr int max_warps = 16;

int latent_threads(const Latent &call)
{
	const int threads = (call.padded / 16 + 31) / 32 * 32;
	if (call.q_lora % 512 != 0 || call.kv_lora % 512 != 0 || threads > 32 * max_warps)
		throw Unsupported("latents of " + std::to_string(call.q_lora) + " and " +
				  std::to_string(call.kv_lora) + " values");
	return threads;
}

/* The sixteen columns of one thread, and the warps that share its latent. */
struct Place {
	int col;         /* in the row of `down` */
	int begin;       /* first column of the latent it belongs to */
	int width;       /* of that latent; 0 = rotary key or padding */
	int first, last; /* warps */
};

__device__ Place find_place(const Latent &call)
{
	const int q_warps = call.q_lora / 512, warps = q_warps + call.kv_lora / 512;
	const int col = first_col<far_half>(threadIdx.x);
	if (col < call.q_lora)
		return {col, 0, call.q_lora, 0, q_warps};
	if (col < call.q_lora + call.kv_lora)
		return {col, call.q_lora, call.kv_lora, q_warps, warps};
	return {col, call.q_lora + call.kv_lora, 0, 0, 0};
}

/* The rotary key is narrower than a thread's sixteen columns are apart: half by half. */
__device__ void load_key(const bf16 *from, int col, int width, float value[16])
{
#pragma unroll
	for (int half = 0; half < 2; half++)
		if (col + half * far_half < width)
			load8(from + col + half * far_half, value + 8 * half);
}

__device__ void rotate_key(
	const Latent &call, int64_t row, int col, float value[16], bf16 *key_rope)
{
#pragma unroll
	for (int half = 0; half < 2; half++) {
		const int at = col + half * far_half;
		if (at >= call.qk_rope)
			break;
		rotate8(value + 8 * half, call.rope + (row * call.qk_rope + at) / 2, false);
		store8(key_rope + row * call.qk_rope + at, value + 8 * half);
	}
}

template <bool FP8>
__global__ void latent_forward_kernel(Latent call, Matrix q, Matrix kv, bf16 *key_rope)
{
	__shared__ float scratch[max_warps];
	const int64_t row = blockIdx.x;
	const Place place = find_place(call);
	const int col = place.col - place.begin;
	const bool query = place.begin == 0;
	float x[16] = {}, gamma[16] = {};
	if (place.col < call.padded)
		unpack16(load_raw16<far_half>(call.down + row * call.padded + place.col), x);
	if (place.width > 0)
		unpack16(load_raw16<far_half>((query ? call.q_gamma : call.kv_gamma) + col),
			gamma);
	float squares = 0;
#pragma unroll
	for (int i = 0; i < 16; i++)
		squares += x[i] * x[i];
	const float total = warps_sum(squares, scratch, place.first, place.last);
	if (place.width == 0) {
		rotate_key(call, row, col, x, key_rope);
		return;
	}
	const float inverse = rsqrtf(total / place.width + norm_epsilon);
#pragma unroll
	for (int i = 0; i < 16; i++)
		x[i] *= inverse * gamma[i];
	const Matrix &out = query ? q : kv;
	write16<FP8, far_half>(out, scales_of<FP8>(out, row), row, col, x);
}

template <bool FP8>
__device__ void latent_backward_row(const Latent &call, const LatentBackward &back,
	const Place &place, int64_t row, float2 *scratch, float gamma_grad[16])
{
	const int col = place.col - place.begin;
	float x[16] = {}, dy[16] = {}, gamma[16] = {};
	if (place.width > 0) {
		const bool query = place.begin == 0;
		unpack16(load_raw16<far_half>(call.down + row * call.padded + place.col), x);
		unpack16(load_raw16<far_half>(
				 (query ? back.dq : back.dkv) + row * place.width + col),
			dy);
		unpack16(load_raw16<far_half>((query ? call.q_gamma : call.kv_gamma) + col),
			gamma);
	} else {
		load_key(back.dkey_rope + row * call.qk_rope, col, call.qk_rope, dy);
	}
	float2 sums = {};
#pragma unroll
	for (int i = 0; i < 16; i++) {
		sums.x += x[i] * x[i];
		sums.y += x[i] * dy[i] * gamma[i];
	}
	sums = warps_sum(sums, scratch, place.first, place.last);
	if (place.width > 0) {
		const float inverse = rsqrtf(sums.x / place.width + norm_epsilon);
		const float mean = sums.y * inverse / place.width;
#pragma unroll
		for (int i = 0; i < 16; i++) {
			const float normal = x[i] * inverse;
			gamma_grad[i] += dy[i] * normal;
			dy[i] = inverse * (dy[i] * gamma[i] - normal * mean);
		}
	}
	if (place.col < call.padded)
		write16<FP8, far_half>(
			back.ddown, scales_of<FP8>(back.ddown, row), row, place.col, dy);
}

template <bool FP8> __global__ void latent_backward_kernel(Latent call, LatentBackward back)
{
	__shared__ float2 scratch[2][max_warps];
	const Place place = find_place(call);
	float gamma_grad[16] = {};
	int turn = 0;
	for (int64_t row = blockIdx.x; row < call.tokens; row += gridDim.x, turn ^= 1)
		latent_backward_row<FP8>(call, back, place, row, scratch[turn], gamma_grad);
	if (place.width == 0)
		return;
	float *to = back.partial + int64_t(latent_blocks) * place.begin +
		    int64_t(blockIdx.x) * place.width + place.col - place.begin;
#pragma unroll
	for (int i = 0; i < 16; i++)
		to[i + i / 8 * (far_half - 8)] = gamma_grad[i];
}

} // namespace

void latent_forward(const Latent &call, const Matrix &q, const Matrix &kv, bf16 *key_rope,
	cudaStream_t stream)
{
	const auto kernel =
		q.fp8() ? latent_forward_kernel<true> : latent_forward_kernel<false>;
	kernel<<<unsigned(call.tokens), latent_threads(call), 0, stream>>>(
		call, q, kv, key_rope);
	LAUNCH_CHECK();
}

void latent_backward(const Latent &call, const LatentBackward &back, cudaStream_t stream)
{
	const auto kernel =
		back.ddown.fp8() ? latent_backward_kernel<true> : latent_backward_kernel<false>;
	kernel<<<latent_blocks, latent_threads(call), 0, stream>>>(call, back);
	LAUNCH_CHECK();
	sum_partials(back.partial, latent_blocks, call.q_lora, back.q_gamma_grad, stream);
	sum_partials(back.partial + int64_t(latent_blocks) * call.q_lora, latent_blocks,
		call.kv_lora, back.kv_gamma_grad, stream);
}

} // namespace bench
