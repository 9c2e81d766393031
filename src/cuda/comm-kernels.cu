#include "checksum.cuh"
#include "comm-bulk.cuh"
#include "comm-device.cuh"
#include "cuda-check.h"
#include "route.h"
#include <cuda_bf16.h>

namespace bench
{

namespace
{

/* 16-byte pieces of a row that a lane holds at once; 15 x 32 lanes cover an FP8 row of 7392
 * bytes. */
constexpr int kUnroll = 15;
/* Pieces of each of a token's rows that a lane sums at once, and rows that it has in flight. */
constexpr int kSumUnroll = 4;
constexpr int kSumRows = 4;

/* One row from this GPU's memory to up to kMaxFanout places. */
__device__ inline void send_row(
	const ExchangeArgs &a, const Warp &w, const char *row, int4 *const *to, int copies)
{
	int pieces = a.row_bytes / 16;
	const int4 *from = (const int4 *)row;
	for (int base = w.lane; base < pieces; base += kUnroll * 32) {
		int4 v[kUnroll];
#pragma unroll
		for (int u = 0; u < kUnroll; u++)
			if (base + u * 32 < pieces)
				v[u] = load_constant(from + base + u * 32);
		for (int c = 0; c < copies; c++) {
			int4 *target = to[c] + base;
#pragma unroll
			for (int u = 0; u < kUnroll; u++)
				if (base + u * 32 < pieces)
					store_streaming(target + u * 32, v[u]);
		}
	}
}

__device__ inline unsigned int sum_words(int4 v)
{
	return (unsigned)v.x + (unsigned)v.y + (unsigned)v.z + (unsigned)v.w;
}

template <LdMode LD>
__device__ inline unsigned int receive_row(
	const ExchangeArgs &a, const Warp &w, const char *row, char *target)
{
	int pieces = a.row_bytes / 16;
	const int4 *from = (const int4 *)row;
	int4 *to = (int4 *)target;
	unsigned int sum = 0;
	for (int base = w.lane; base < pieces; base += kUnroll * 32) {
		int4 v[kUnroll];
#pragma unroll
		for (int u = 0; u < kUnroll; u++)
			if (base + u * 32 < pieces)
				v[u] = load_received<LD>(from + base + u * 32);
#pragma unroll
		for (int u = 0; u < kUnroll; u++)
			if (base + u * 32 < pieces) {
				sum += sum_words(v[u]);
				store_streaming(to + base + u * 32, v[u]);
			}
	}
	return sum;
}

__device__ inline void dispatch_send(const ExchangeArgs &a, const Warp &w)
{
	const char *source = a.source[w.epoch & 1];
	double sent = 0;
	int chunks = 0;
	for (int t = w.tokens.begin; t < w.tokens.end; t++) {
		int4 *to[kMaxFanout];
		int copies = 0;
		for (int f = 0; f < a.fanout; f++) {
			uint32_t copy = __ldg(a.send + (size_t)t * a.fanout + f);
			if (copy == kNoCopy)
				continue;
			to[copies++] = (int4 *)(a.peer_staging[copy >> 24] +
						(size_t)(copy & 0xffffff) * a.row_bytes);
		}
		send_row(a, w, source + (size_t)t * a.row_bytes, to, copies);
		sent += (double)copies * a.row_bytes;
		if ((t + 1 - w.tokens.begin) % a.chunk_tokens == 0 || t + 1 == w.tokens.end) {
			pace(a, w, sent);
			post(a, w, ++chunks);
		}
	}
}

template <LdMode LD>
__device__ inline unsigned int dispatch_receive(const ExchangeArgs &a, const Warp &w)
{
	unsigned int checksum = 0;
	int chunks = 0;
	for (int t = w.tokens.begin; t < w.tokens.end; t += a.chunk_tokens) {
		int t_end = min(t + a.chunk_tokens, w.tokens.end);
		chunks++;
		for (int i = 0; i < a.ranks; i++) {
			int source = (a.rank + i) % a.ranks;
			const int32_t *begin = a.recv_begin + (size_t)source * (a.tokens + 1);
			await(a, w, source, chunks);
			for (int slot = begin[t]; slot < begin[t_end]; slot++)
				checksum += place_weight(slot) *
					    receive_row<LD>(a, w,
						    a.staging + (size_t)slot * a.row_bytes,
						    a.out + (size_t)slot * a.row_bytes);
		}
	}
	return checksum;
}

template <LdMode LD, bool BULK>
__global__ void __launch_bounds__(kCommThreads, 1)
	dispatch_kernel(const __grid_constant__ ExchangeArgs a)
{
	Warp w = enter(a);
	unsigned int checksum = 0;
	if (w.sends && BULK)
		dispatch_send_bulk(a, w);
	else if (w.sends)
		dispatch_send(a, w);
	else
		checksum = dispatch_receive<LD>(a, w);
	leave(a, w, checksum);
}

__device__ inline void combine_send(const ExchangeArgs &a, const Warp &w)
{
	const char *source = a.source[w.epoch & 1];
	double sent = 0;
	int chunks = 0;
	for (int t = w.tokens.begin; t < w.tokens.end; t += a.chunk_tokens) {
		int t_end = min(t + a.chunk_tokens, w.tokens.end);
		chunks++;
		for (int i = 0; i < a.ranks; i++) {
			int owner = (a.rank + i + 1) % a.ranks;
			const int32_t *begin = a.recv_begin + (size_t)owner * (a.tokens + 1);
			for (int slot = begin[t]; slot < begin[t_end]; slot++) {
				int4 *to = (int4 *)(a.peer_staging[owner] +
						    (size_t)a.home[slot] * a.row_bytes);
				send_row(a, w, source + (size_t)slot * a.row_bytes, &to, 1);
				sent += a.row_bytes;
			}
		}
		pace(a, w, sent);
		post(a, w, chunks);
	}
}

__device__ inline void add_weighted(float *sum, int4 v, float weight)
{
	const __nv_bfloat162 *pair = (const __nv_bfloat162 *)&v;
#pragma unroll
	for (int i = 0; i < 4; i++) {
		float2 f = __bfloat1622float2(pair[i]);
		sum[2 * i] += weight * f.x;
		sum[2 * i + 1] += weight * f.y;
	}
}

__device__ inline int4 to_bf16(const float *sum)
{
	int4 v;
	__nv_bfloat162 *pair = (__nv_bfloat162 *)&v;
#pragma unroll
	for (int i = 0; i < 4; i++)
		pair[i] = __floats2bfloat162_rn(sum[2 * i], sum[2 * i + 1]);
	return v;
}

/* Sums a token's rows; absent copies weigh nothing and are not read. */
template <LdMode LD>
__device__ inline unsigned int sum_token(const ExchangeArgs &a, const Warp &w, int token)
{
	int pieces = a.row_bytes / 16;
	size_t first = (size_t)token * a.fanout;
	unsigned int checksum = 0;
	for (int base = w.lane; base < pieces; base += kSumUnroll * 32) {
		float sum[kSumUnroll][8] = {};
		for (int f0 = 0; f0 < a.fanout; f0 += kSumRows) {
			int4 v[kSumRows][kSumUnroll];
#pragma unroll
			for (int r = 0; r < kSumRows; r++) {
				bool there = f0 + r < a.fanout &&
					     __ldg(a.send + first + f0 + r) != kNoCopy;
				const int4 *row =
					(const int4 *)(a.staging +
						       (first + f0 + r) * a.row_bytes);
#pragma unroll
				for (int u = 0; u < kSumUnroll; u++)
					v[r][u] =
						there && base + u * 32 < pieces
							? load_received<LD>(row + base + u * 32)
							: int4{0, 0, 0, 0};
			}
#pragma unroll
			for (int r = 0; r < kSumRows; r++) {
				float weight = f0 + r < a.fanout
						       ? __ldg(a.weight + first + f0 + r)
						       : 0;
				unsigned int words = 0;
#pragma unroll
				for (int u = 0; u < kSumUnroll; u++) {
					words += sum_words(v[r][u]);
					add_weighted(sum[u], v[r][u], weight);
				}
				checksum += place_weight((int)first + f0 + r) * words;
			}
		}
		int4 *out = (int4 *)(a.out + (size_t)token * a.row_bytes) + base;
#pragma unroll
		for (int u = 0; u < kSumUnroll; u++)
			if (base + u * 32 < pieces)
				store_streaming(out + u * 32, to_bf16(sum[u]));
	}
	return checksum;
}

template <LdMode LD>
__device__ inline unsigned int combine_receive(const ExchangeArgs &a, const Warp &w)
{
	unsigned int checksum = 0;
	int chunks = 0;
	for (int t = w.tokens.begin; t < w.tokens.end; t += a.chunk_tokens) {
		int t_end = min(t + a.chunk_tokens, w.tokens.end);
		chunks++;
		for (int source = 0; source < a.ranks; source++)
			await(a, w, source, chunks);
		for (int token = t; token < t_end; token++)
			checksum += sum_token<LD>(a, w, token);
	}
	return checksum;
}

template <LdMode LD, bool BULK>
__global__ void __launch_bounds__(kCommThreads, 1)
	combine_kernel(const __grid_constant__ ExchangeArgs a)
{
	Warp w = enter(a);
	unsigned int checksum = 0;
	if (w.sends && BULK)
		combine_send_bulk(a, w);
	else if (w.sends)
		combine_send(a, w);
	else
		checksum = combine_receive<LD>(a, w);
	leave(a, w, checksum);
}

/* The copy engine of the SM where there is one and two rows fit its buffers. */
bool use_bulk(const ExchangeArgs &args)
{
	int device, major;
	CUDA_CHECK(cudaGetDevice(&device));
	CUDA_CHECK(cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, device));
	return major >= 9 && 2 * args.row_bytes <= kRingBytes;
}

using Kernel = void (*)(const ExchangeArgs);

void launch(Kernel bulk, Kernel plain, const ExchangeArgs &args, int sms, cudaStream_t stream)
{
	if (use_bulk(args)) {
		CUDA_CHECK(cudaFuncSetAttribute((const void *)bulk,
			cudaFuncAttributeMaxDynamicSharedMemorySize, kBulkSharedBytes));
		bulk<<<sms, kCommThreads, kBulkSharedBytes, stream>>>(args);
	} else {
		plain<<<sms, kCommThreads, 0, stream>>>(args);
	}
	LAUNCH_CHECK();
}

} // namespace

void launch_dispatch(const ExchangeArgs &args, LdMode ld, int sms, cudaStream_t stream)
{
	if (ld == LdMode::nc256)
		launch(dispatch_kernel<LdMode::nc256, true>,
			dispatch_kernel<LdMode::nc256, false>, args, sms, stream);
	else if (ld == LdMode::volatile_)
		launch(dispatch_kernel<LdMode::volatile_, true>,
			dispatch_kernel<LdMode::volatile_, false>, args, sms, stream);
	else
		launch(dispatch_kernel<LdMode::relaxed, true>,
			dispatch_kernel<LdMode::relaxed, false>, args, sms, stream);
}

void launch_combine(const ExchangeArgs &args, LdMode ld, int sms, cudaStream_t stream)
{
	if (ld == LdMode::nc256)
		launch(combine_kernel<LdMode::nc256, true>,
			combine_kernel<LdMode::nc256, false>, args, sms, stream);
	else if (ld == LdMode::volatile_)
		launch(combine_kernel<LdMode::volatile_, true>,
			combine_kernel<LdMode::volatile_, false>, args, sms, stream);
	else
		launch(combine_kernel<LdMode::relaxed, true>,
			combine_kernel<LdMode::relaxed, false>, args, sms, stream);
}

} // namespace bench
