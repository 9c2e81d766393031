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
	const int threads = (call.padded / 8 + 31) / 32 * 32;
	if (call.q_lora % 256 != 0 || call.kv_lora % 256 != 0 || threads > 32 * max_warps)
		throw Unsupported("latents of " + std::to_string(call.q_lora) + " and " +
				  std::to_string(call.kv_lora) + " values");
	return threads;
}

/* The eight columns of one thread, and the warps that share its latent. */
struct Place {
	int col;         /* in the row of `down` */
	int begin;       /* first column of the latent it belongs to */
	int width;       /* of that latent; 0 = rotary key or padding */
	int first, last; /* warps */
};

__device__ Place find_place(const Latent &call)
{
	const int q_warps = call.q_lora / 256, warps = q_warps + call.kv_lora / 256;
	const int col = threadIdx.x * 8;
	if (col < call.q_lora)
		return {col, 0, call.q_lora, 0, q_warps};
	if (col < call.q_lora + call.kv_lora)
		return {col, call.q_lora, call.kv_lora, q_warps, warps};
	return {col, call.q_lora + call.kv_lora, 0, 0, 0};
}

template <bool FP8>
__global__ void latent_forward_kernel(Latent call, Matrix q, Matrix kv, bf16 *key_rope)
{
	__shared__ float scratch[max_warps];
	const int64_t row = blockIdx.x;
	const Place place = find_place(call);
	float x[8] = {};
	if (place.col < call.padded)
		load8(call.down + row * call.padded + place.col, x);
	float squares = 0;
#pragma unroll
	for (int i = 0; i < 8; i++)
		squares += x[i] * x[i];
	const float total = warps_sum(squares, scratch, place.first, place.last);
	const int col = place.col - place.begin;
	if (place.width == 0) {
		if (col < call.qk_rope) {
			rotate8(x, call.rope + (row * call.qk_rope + col) / 2, false);
			store8(key_rope + row * call.qk_rope + col, x);
		}
		return;
	}
	const bool query = place.begin == 0;
	const float inverse = rsqrtf(total / place.width + norm_epsilon);
	float gamma[8];
	load8((query ? call.q_gamma : call.kv_gamma) + col, gamma);
#pragma unroll
	for (int i = 0; i < 8; i++)
		x[i] *= inverse * gamma[i];
	const Matrix &out = query ? q : kv;
	write8<FP8>(out, scales_of<FP8>(out, row), row, col, x);
}

template <bool FP8>
__device__ void latent_backward_row(const Latent &call, const LatentBackward &back,
	const Place &place, int64_t row, float *scratch, float gamma_grad[8])
{
	const int col = place.col - place.begin;
	float x[8] = {}, dy[8] = {}, gamma[8] = {};
	if (place.width > 0) {
		const bool query = place.begin == 0;
		load8(call.down + row * call.padded + place.col, x);
		load8((query ? back.dq : back.dkv) + row * place.width + col, dy);
		load8((query ? call.q_gamma : call.kv_gamma) + col, gamma);
	} else if (col < call.qk_rope) {
		load8(back.dkey_rope + row * call.qk_rope + col, dy);
	}
	float squares = 0, product = 0;
#pragma unroll
	for (int i = 0; i < 8; i++) {
		squares += x[i] * x[i];
		product += x[i] * dy[i] * gamma[i];
	}
	const float total = warps_sum(squares, scratch, place.first, place.last);
	const float dot = warps_sum(product, scratch + max_warps, place.first, place.last);
	if (place.width > 0) {
		const float inverse = rsqrtf(total / place.width + norm_epsilon);
		const float mean = dot * inverse / place.width;
#pragma unroll
		for (int i = 0; i < 8; i++) {
			const float normal = x[i] * inverse;
			gamma_grad[i] += dy[i] * normal;
			dy[i] = inverse * (dy[i] * gamma[i] - normal * mean);
		}
	}
	if (place.col < call.padded)
		write8<FP8>(back.ddown, scales_of<FP8>(back.ddown, row), row, place.col, dy);
	__syncthreads(); /* the next row writes the scratch again */
}

template <bool FP8> __global__ void latent_backward_kernel(Latent call, LatentBackward back)
{
	__shared__ float scratch[2 * max_warps];
	const Place place = find_place(call);
	float gamma_grad[8] = {};
	for (int64_t row = blockIdx.x; row < call.tokens; row += gridDim.x)
		latent_backward_row<FP8>(call, back, place, row, scratch, gamma_grad);
	if (place.width == 0)
		return;
	float *to = back.partial + int64_t(norm_blocks) * place.begin +
		    int64_t(blockIdx.x) * place.width + place.col - place.begin;
#pragma unroll
	for (int i = 0; i < 8; i++)
		to[i] = gamma_grad[i];
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
	kernel<<<norm_blocks, latent_threads(call), 0, stream>>>(call, back);
	LAUNCH_CHECK();
	sum_partials(back.partial, norm_blocks, call.q_lora, back.q_gamma_grad, stream);
	sum_partials(back.partial + int64_t(norm_blocks) * call.q_lora, norm_blocks,
		call.kv_lora, back.kv_gamma_grad, stream);
}

} // namespace bench
