/* What dispatch and combine have in common on the GPU: roles, the barrier among ranks, flags,
 * the record. */
#pragma once
#include "comm-kernels.h"
#include "ptx.h"

namespace bench
{

/* The part of a rank's tokens that a channel owns. */
struct Range {
	int begin, end;
};

struct Warp {
	int lane;
	int channel;
	bool sends;
	Range tokens;
	unsigned long long epoch;
	unsigned long long start; /* globaltimer after the barrier */
};

/* One channel's progress in one epoch, as a number that only grows. */
__device__ inline unsigned long long progress(unsigned long long epoch, int chunks)
{
	return epoch << 20 | (unsigned long long)chunks;
}

__device__ inline void wait_for(
	const ExchangeArgs &a, const unsigned long long *flag, unsigned long long value)
{
	if (load_acquire(flag) >= value)
		return;
	unsigned long long begin = now_ns();
	while (load_acquire(flag) < value) {
		if (now_ns() - begin > kSpinTimeoutNs)
			atomicExch(&a.state->timed_out, 1u);
		if (*(volatile unsigned int *)&a.state->timed_out)
			return;
	}
}

/* Barrier among the ranks, then every warp's role. */
__device__ inline Warp enter(const ExchangeArgs &a)
{
	Warp w;
	w.epoch = *(volatile unsigned long long *)&a.state->epoch;
	if (threadIdx.x == 0) {
		atomicMax(&a.state->start_inverted, ~now_ns());
		atomicOr(&a.state->sm_bits[sm_id() / 32 % 8], 1u << (sm_id() % 32));
	}
	if (blockIdx.x == 0 && threadIdx.x < a.ranks)
		store_release(a.peer_arrival[threadIdx.x], w.epoch + 1);
	if (threadIdx.x < a.ranks)
		wait_for(a, a.arrival + threadIdx.x, w.epoch + 1);
	__syncthreads();
	w.start = now_ns();
	if (threadIdx.x == 0)
		atomicMax(&a.state->ready_inverted, ~w.start);
	int warp = threadIdx.x / 32, channels = gridDim.x * kSendWarps;
	w.lane = threadIdx.x % 32;
	w.sends = warp < kSendWarps;
	w.channel = blockIdx.x * kSendWarps + warp % kSendWarps;
	w.tokens.begin = (int)((long long)a.tokens * w.channel / channels);
	w.tokens.end = (int)((long long)a.tokens * (w.channel + 1) / channels);
	return w;
}

__device__ inline void publish(const ExchangeArgs &a)
{
	CommState *s = a.state;
	unsigned long long start = ~s->start_inverted, ready = ~s->ready_inverted;
	unsigned int sms = 0;
	for (int i = 0; i < 8; i++) {
		sms += __popc(s->sm_bits[i]);
		s->sm_bits[i] = 0;
	}
	volatile CommRecord *r = a.record;
	r->wait_ns = ready > start ? ready - start : 0;
	r->checksum = s->checksum;
	r->sms = sms;
	r->timed_out = s->timed_out;
	r->epoch = s->epoch;
	s->start_inverted = s->ready_inverted = 0;
	s->checksum = s->timed_out = s->ctas_done = 0;
	s->epoch++;
}

__device__ inline void leave(const ExchangeArgs &a, const Warp &w, unsigned int checksum)
{
	for (int d = 16; d > 0; d /= 2)
		checksum += __shfl_xor_sync(~0u, checksum, d);
	if (w.lane == 0 && !w.sends)
		atomicAdd(&a.state->checksum, checksum);
	__syncthreads();
	if (threadIdx.x != 0)
		return;
	__threadfence();
	if (atomicAdd(&a.state->ctas_done, 1u) + 1 < gridDim.x)
		return;
	__threadfence();
	publish(a);
}

/* Tells every rank that this channel's rows of `chunks` chunks are there. The release is
 * cumulative: it covers what the warp's other lanes wrote before the __syncwarp. */
__device__ inline void post(const ExchangeArgs &a, const Warp &w, int chunks)
{
	__syncwarp();
	if (w.lane < a.ranks) {
		store_release(a.peer_flags[w.lane] + w.channel, progress(w.epoch, chunks));
	}
}

/* Holds a sending warp back until `sent` bytes are due at its share of the rate limit. */
__device__ inline void pace(const ExchangeArgs &a, const Warp &w, double sent)
{
	if (a.bytes_per_ns <= 0)
		return;
	double share = a.bytes_per_ns / (gridDim.x * kSendWarps);
	unsigned long long due = w.start + (unsigned long long)(sent / share);
	while (now_ns() < due)
		__nanosleep(200);
}

} // namespace bench
