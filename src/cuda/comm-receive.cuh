/* Receiving: a warp waits for its channel's flags, reads the staging buffer while the piece
 * before is being written, and adds up the checksum. */
#pragma once
#include "checksum.cuh"
#include "comm-device.cuh"
#include "route.h"
#include <cuda_bf16.h>

namespace bench
{

/* 16-byte pieces in each of the two sets of registers that a lane fills and empties in turn. */
constexpr int kCopyPieces = 7;

/* What has come: lane r watches rank r, and looks again only when more is needed than it has
 * seen.
 */
struct Inbox {
	int ready = 0; /* chunks from rank `lane` */

	/* By one lane. */
	__device__ void look(const ExchangeArgs &a, const Warp &w, int chunks)
	{
		if (ready >= chunks)
			return;
		const unsigned long long *flag =
			a.flags + (size_t)w.lane * kMaxChannels + w.channel;
		wait_for(a, flag, progress(w.epoch, chunks));
		ready = max(chunks, (int)(load_acquire(flag) - progress(w.epoch, 0)));
	}
	__device__ void await(const ExchangeArgs &a, const Warp &w, int source, int chunks)
	{
		if (w.lane == source)
			look(a, w, chunks);
		__syncwarp();
	}
	__device__ void await_all(const ExchangeArgs &a, const Warp &w, int chunks)
	{
		if (w.lane < a.ranks)
			look(a, w, chunks);
		__syncwarp();
	}
};

/* Rows [begin, end) of the staging buffer to the same rows of the output. */
__device__ inline unsigned int receive_rows(
	const ExchangeArgs &a, const Warp &w, int begin, int end)
{
	int pieces = a.row_bytes / 16, count = (end - begin) * pieces;
	unsigned int first = (unsigned)begin * pieces, sum = 0;
	const int4 *from = (const int4 *)a.staging + first;
	int4 *to = (int4 *)a.out + first;
	auto load = [&](int4 *v, int base) {
#pragma unroll
		for (int u = 0; u < kCopyPieces; u++)
			if (base + u * 32 < count)
				v[u] = load_relaxed(from + base + u * 32);
	};
	auto keep = [&](const int4 *v, int base) {
#pragma unroll
		for (int u = 0; u < kCopyPieces; u++)
			if (base + u * 32 < count) {
				sum += piece_sum(v[u], first + base + u * 32);
				store_streaming(to + base + u * 32, v[u]);
			}
	};
	constexpr int step = kCopyPieces * 32;
	int4 even[kCopyPieces], odd[kCopyPieces];
	load(even, w.lane);
	for (int base = w.lane; base < count; base += 2 * step) {
		load(odd, base + step);
		keep(even, base);
		load(even, base + 2 * step);
		keep(odd, base + step);
	}
	return sum;
}

/* Lane r knows where rank r's rows of the current chunk begin and end; where the next chunk's
 * end is fetched ahead. */
__device__ inline unsigned int dispatch_receive(const ExchangeArgs &a, const Warp &w)
{
	Inbox inbox;
	unsigned int checksum = 0;
	int chunks = 0, last = w.tokens.end;
	auto slot_of = [&](int token) {
		const int32_t *begin = a.recv_begin + (size_t)w.lane * (a.tokens + 1);
		return w.lane < a.ranks ? __ldg(begin + min(token, last)) : 0;
	};
	int begin = slot_of(w.tokens.begin), end = slot_of(w.tokens.begin + a.chunk_tokens);
	for (int t = w.tokens.begin; t < last; t += a.chunk_tokens) {
		int next = slot_of(t + 2 * a.chunk_tokens);
		chunks++;
		for (int i = 0; i < a.ranks; i++) {
			int source = (a.rank + i) % a.ranks;
			inbox.await(a, w, source, chunks);
			checksum += receive_rows(a, w, __shfl_sync(~0u, begin, source),
				__shfl_sync(~0u, end, source));
		}
		begin = end;
		end = next;
	}
	return checksum;
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

/* Sums a token's rows, of which there are at most ROWS, PIECES of each at once. Lane f holds
 * the weight of row f, and `there` has a bit for each row that exists: others are not read. */
template <int ROWS, int PIECES>
__device__ inline unsigned int sum_token(
	const ExchangeArgs &a, const Warp &w, int token, unsigned int there, float weight)
{
	int pieces = a.row_bytes / 16;
	unsigned int first = (unsigned)token * a.fanout * pieces, checksum = 0;
	const int4 *from = (const int4 *)a.staging + first;
	int4 *to = (int4 *)a.out + (size_t)token * pieces;
	auto load = [&](int4(*v)[PIECES], int base) {
#pragma unroll
		for (int r = 0; r < ROWS; r++)
#pragma unroll
			for (int u = 0; u < PIECES; u++)
				v[r][u] = (there >> r & 1) && base + u * 32 < pieces
						  ? load_relaxed(
							    from + r * pieces + base + u * 32)
						  : int4{0, 0, 0, 0};
	};
	auto add = [&](const int4(*v)[PIECES], int base) {
		float sum[PIECES][8] = {};
#pragma unroll
		for (int r = 0; r < ROWS; r++) {
			float factor = __shfl_sync(~0u, weight, r);
#pragma unroll
			for (int u = 0; u < PIECES; u++) {
				checksum +=
					piece_sum(v[r][u], first + r * pieces + base + u * 32);
				add_weighted(sum[u], v[r][u], factor);
			}
		}
#pragma unroll
		for (int u = 0; u < PIECES; u++)
			if (base + u * 32 < pieces)
				store_streaming(to + base + u * 32, to_bf16(sum[u]));
	};
	constexpr int step = PIECES * 32;
	int4 even[ROWS][PIECES], odd[ROWS][PIECES];
	load(even, w.lane);
	/* The whole warp stays in the loop for the shuffles; pieces beyond the row are left
	 * out. */
	for (int base = 0; base < pieces; base += 2 * step) {
		load(odd, base + w.lane + step);
		add(even, base + w.lane);
		load(even, base + w.lane + 2 * step);
		add(odd, base + w.lane + step);
	}
	return checksum;
}

__device__ inline unsigned int combine_receive(const ExchangeArgs &a, const Warp &w)
{
	Inbox inbox;
	unsigned int checksum = 0;
	auto weight_of = [&](int token) {
		bool there = token < w.tokens.end && w.lane < a.fanout &&
			     __ldg(a.send + (size_t)token * a.fanout + w.lane) != kNoCopy;
		return there ? __ldg(a.weight + (size_t)token * a.fanout + w.lane) : 0;
	};
	float weight = weight_of(w.tokens.begin);
	for (int t = w.tokens.begin; t < w.tokens.end; t++) {
		float next = weight_of(t + 1);
		inbox.await_all(a, w, (t - w.tokens.begin) / a.chunk_tokens + 1);
		unsigned int there = __ballot_sync(~0u, weight > 0);
		if (a.fanout <= 4)
			checksum += sum_token<4, 2>(a, w, t, there, weight);
		else
			checksum += sum_token<kMaxFanout, 1>(a, w, t, there, weight);
		weight = next;
	}
	return checksum;
}

} // namespace bench
