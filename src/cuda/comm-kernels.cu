#include "comm-bulk.cuh"
#include "comm-device.cuh"
#include "comm-receive.cuh"
#include "cuda-check.h"
#include "device.h"
#include "route.h"

namespace bench
{

namespace
{

/* 16-byte pieces of a row that a lane holds at once; 15 x 32 lanes cover an FP8 row of 7392
 * bytes. */
constexpr int kUnroll = 15;
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
		pace(a, w, sent);
		if ((t + 1 - w.tokens.begin) % a.chunk_tokens == 0 || t + 1 == w.tokens.end)
			post(a, w, ++chunks);
	}
}

template <bool BULK>
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
		checksum = dispatch_receive(a, w);
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
				pace(a, w, sent);
			}
		}
		post(a, w, chunks);
	}
}

template <bool BULK>
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
		checksum = combine_receive(a, w);
	leave(a, w, checksum);
}

using Kernel = void (*)(const ExchangeArgs);

/* The copy engine of the SM where the kernel has code for it and two rows fit its buffers. */
bool use_bulk(Kernel bulk, const ExchangeArgs &args)
{
	cudaFuncAttributes code;
	CUDA_CHECK(cudaFuncGetAttributes(&code, (const void *)bulk));
	return has_bulk_code(code.ptxVersion, code.binaryVersion) &&
	       2 * args.row_bytes <= kRingBytes;
}

void launch(Kernel bulk, Kernel plain, const ExchangeArgs &args, int sms, cudaStream_t stream)
{
	if (use_bulk(bulk, args)) {
		CUDA_CHECK(cudaFuncSetAttribute((const void *)bulk,
			cudaFuncAttributeMaxDynamicSharedMemorySize, kBulkSharedBytes));
		bulk<<<sms, kCommThreads, kBulkSharedBytes, stream>>>(args);
	} else {
		plain<<<sms, kCommThreads, 0, stream>>>(args);
	}
	LAUNCH_CHECK();
}

} // namespace

void launch_dispatch(const ExchangeArgs &args, int sms, cudaStream_t stream)
{
	launch(dispatch_kernel<true>, dispatch_kernel<false>, args, sms, stream);
}

void launch_combine(const ExchangeArgs &args, int sms, cudaStream_t stream)
{
	launch(combine_kernel<true>, combine_kernel<false>, args, sms, stream);
}

} // namespace bench
