/* Sending with the SM's bulk copy engine (compute capability 9.0): rows pass through shared
 * memory without a register, so that few SMs keep a link busy. Each sending warp has a ring of
 * row buffers; loads run ahead of stores, and flags follow once the stores before them are
 * known to be done. */
#pragma once
#include "comm-device.cuh"
#include "route.h"

namespace bench
{

constexpr int kRingBytes = 28672; /* two BF16 rows of 7168 values */
constexpr int kMaxStages = 4;
constexpr int kBulkSharedBytes = kSendWarps * (kRingBytes + kMaxStages * 8);
/* Stores after the end of a chunk before its flag is posted: a token's copies count as one in
 * dispatch, each row in combine. */
constexpr int kDispatchLag = 2, kCombineLag = 4;

#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900

__device__ inline unsigned int shared_address(const void *p)
{
	return (unsigned int)__cvta_generic_to_shared(p);
}

/* One warp's buffers. Rows are numbered in the order of loading, which is that of storing. */
struct Ring {
	unsigned int rows, full; /* shared addresses of the buffers and of their mbarriers */
	int row_bytes, stages;
	int loaded = 0, stored = 0;

	__device__ Ring(const ExchangeArgs &a, const Warp &w)
	{
		extern __shared__ __align__(128) char shared[];
		int warp = threadIdx.x / 32;
		rows = shared_address(shared) + warp * kRingBytes;
		full = shared_address(shared) + kSendWarps * kRingBytes + warp * kMaxStages * 8;
		row_bytes = a.row_bytes;
		stages = min(kRingBytes / row_bytes, kMaxStages);
		if (w.lane < stages)
			asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" ::"r"(
				full + w.lane * 8));
		asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
		__syncwarp();
	}
	/* Whole warp; the buffer must be free. */
	__device__ void load(const Warp &w, const char *row)
	{
		int stage = loaded++ % stages;
		if (w.lane != 0)
			return;
		asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(
				     full + stage * 8),
			     "r"(row_bytes)
			     : "memory");
		asm volatile(
			"cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes "
			"[%0], [%1], %2, [%3];" ::"r"(rows + stage * row_bytes),
			"l"(row), "r"(row_bytes), "r"(full + stage * 8)
			: "memory");
	}
	/* Waits for the next row to store; its shared address. */
	__device__ unsigned int wait()
	{
		int stage = stored % stages;
		unsigned int parity = stored / stages & 1, done = 0;
		while (!done)
			asm volatile("{ .reg .pred p;\n"
				     "mbarrier.try_wait.parity.shared::cta.b64 p, [%1], %2;\n"
				     "selp.u32 %0, 1, 0, p; }"
				     : "=r"(done)
				     : "r"(full + stage * 8), "r"(parity)
				     : "memory");
		return rows + stage * row_bytes;
	}
	/* A lane's store of the row at `from`; then commit() by the whole warp. */
	__device__ void store(unsigned int from, char *to) const
	{
		asm volatile(
			"cp.async.bulk.global.shared::cta.bulk_group [%0], [%1], %2;" ::"l"(to),
			"r"(from), "r"(row_bytes)
			: "memory");
	}
	__device__ void commit()
	{
		asm volatile("cp.async.bulk.commit_group;" ::: "memory");
		stored++;
	}
	/* All buffers stored so far may be loaded again. */
	__device__ void free() const
	{
		asm volatile("cp.async.bulk.wait_group.read 0;" ::: "memory");
		__syncwarp();
	}
};

/* Posts the flags of chunks, each when LAG more stores have been made: waiting for a chunk's
 * own to arrive takes a round trip of the link, in which others should be under way. The
 * release in post() is needed although they have arrived by then: with plain stores of the
 * flags, a few launches in a hundred failed the checksum between two H200s. */
template <int LAG> struct Flags {
	int chunks = 0, due = 0, since = 0;

	__device__ void row_done(const ExchangeArgs &a, const Warp &w)
	{
		if (!due || ++since < LAG)
			return;
		asm volatile("cp.async.bulk.wait_group %0;" ::"n"(LAG) : "memory");
		post(a, w, due);
		due = 0;
	}
	__device__ void chunk_done(const ExchangeArgs &a, const Warp &w)
	{
		chunks++;
		if (due)
			flush(a, w);
		else
			due = chunks;
		since = 0;
	}
	__device__ void flush(const ExchangeArgs &a, const Warp &w)
	{
		asm volatile("cp.async.bulk.wait_group 0;" ::: "memory");
		post(a, w, chunks);
		due = 0;
	}
};

/* Lane f stores to the f-th place of the fan-out. */
__device__ inline void dispatch_send_bulk(const ExchangeArgs &a, const Warp &w)
{
	const char *source = a.source[w.epoch & 1];
	Ring ring(a, w);
	Flags<kDispatchLag> flags;
	double sent = 0;
	int begin = w.tokens.begin, end = w.tokens.end;
	auto copy_of = [&](int t) {
		return t < end && w.lane < a.fanout
			       ? __ldg(a.send + (size_t)t * a.fanout + w.lane)
			       : kNoCopy;
	};
	for (int t = begin; t < min(begin + ring.stages, end); t++)
		ring.load(w, source + (size_t)t * a.row_bytes);
	uint32_t next = copy_of(begin);
	for (int t = begin; t < end; t++) {
		uint32_t copy = next;
		next = copy_of(t + 1);
		unsigned int row = ring.wait();
		if (copy != kNoCopy)
			ring.store(row, a.peer_staging[copy >> 24] +
						(size_t)(copy & 0xffffff) * a.row_bytes);
		ring.commit();
		flags.row_done(a, w);
		sent += (double)__popc(__ballot_sync(~0u, copy != kNoCopy)) * a.row_bytes;
		pace(a, w, sent);
		if (t + ring.stages < end) {
			ring.free();
			ring.load(w, source + (size_t)(t + ring.stages) * a.row_bytes);
		}
		if ((t + 1 - begin) % a.chunk_tokens == 0)
			flags.chunk_done(a, w);
	}
	if ((end - begin) % a.chunk_tokens)
		flags.chunks++;
	flags.flush(a, w);
}

/* The slots that a channel returns, in order: by chunk of tokens, owner, token. */
struct Segment {
	int token, token_end; /* the chunk */
	int turn;             /* owners are visited from the next rank on */
	int slot, slot_end;

	__device__ Segment(const ExchangeArgs &a, const Warp &w)
	    : token(w.tokens.begin), token_end(min(token + a.chunk_tokens, w.tokens.end)),
	      turn(0)
	{
		find(a, w);
	}
	__device__ int owner(const ExchangeArgs &a) const
	{
		return (a.rank + turn + 1) % a.ranks;
	}
	__device__ bool over(const Warp &w) const
	{
		return token >= w.tokens.end;
	}
	/* True if this was the last segment of its chunk. */
	__device__ bool advance(const ExchangeArgs &a, const Warp &w)
	{
		bool chunk_over = ++turn == a.ranks;
		if (chunk_over) {
			turn = 0;
			token = token_end;
			token_end = min(token + a.chunk_tokens, w.tokens.end);
		}
		find(a, w);
		return chunk_over;
	}

      private:
	__device__ void find(const ExchangeArgs &a, const Warp &w)
	{
		if (over(w))
			return;
		const int32_t *begin = a.recv_begin + (size_t)owner(a) * (a.tokens + 1);
		slot = __ldg(begin + token);
		slot_end = __ldg(begin + token_end);
	}
};

__device__ inline void load_next(
	const ExchangeArgs &a, const Warp &w, Ring &ring, Segment &ahead, const char *source)
{
	while (!ahead.over(w) && ahead.slot == ahead.slot_end)
		ahead.advance(a, w);
	if (!ahead.over(w))
		ring.load(w, source + (size_t)ahead.slot++ * a.row_bytes);
}

__device__ inline void combine_send_bulk(const ExchangeArgs &a, const Warp &w)
{
	const char *source = a.source[w.epoch & 1];
	Ring ring(a, w);
	Flags<kCombineLag> flags;
	Segment ahead(a, w), now(a, w);
	double sent = 0;
	for (int i = 0; i < ring.stages; i++)
		load_next(a, w, ring, ahead, source);
	while (!now.over(w)) {
		char *staging = a.peer_staging[now.owner(a)];
		int home = 0;
		for (int i = 0; now.slot + i < now.slot_end; i++) {
			if (i % 32 == 0 && now.slot + i + w.lane < now.slot_end)
				home = __ldg(a.home + now.slot + i + w.lane);
			int place = __shfl_sync(~0u, home, i % 32);
			unsigned int row = ring.wait();
			if (w.lane == 0)
				ring.store(row, staging + (size_t)place * a.row_bytes);
			ring.commit();
			sent += a.row_bytes;
			pace(a, w, sent);
			flags.row_done(a, w);
			ring.free();
			load_next(a, w, ring, ahead, source);
		}
		if (now.advance(a, w))
			flags.chunk_done(a, w);
	}
	flags.flush(a, w);
}

#else

__device__ inline void dispatch_send_bulk(const ExchangeArgs &, const Warp &)
{
}
__device__ inline void combine_send_bulk(const ExchangeArgs &, const Warp &)
{
}

#endif

} // namespace bench
