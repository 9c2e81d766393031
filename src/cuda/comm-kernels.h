/* The kernels that move tokens between GPUs: dispatch (every token to the GPUs of its experts)
 * and combine (the experts' rows back to the token, weighted and summed).
 *
 * Both push. A CTA has kSendWarps sending and as many receiving warps; sending warp w of CTA c
 * is channel c * kSendWarps + w, and owns an equal part of every rank's tokens. It writes rows
 * straight into the receiver's staging buffer (peer memory), and after each chunk of tokens
 * releases a flag there. The receiving warp of the same channel waits for that flag, reads its
 * own staging buffer, adds up a checksum of what it saw, and writes the result. One CTA takes one SM, so the grid is the SM budget.
 *
 * Every launch begins with a barrier among the ranks: the time until the last peer has arrived
 * is waiting, everything after it is moving. The barrier also makes one staging buffer enough.
 * A spin that outlasts kSpinTimeoutNs gives up and marks the record, so that a lost peer cannot
 * hang a GPU. */
#pragma once
#include <cstddef>
#include <cstdint>
#include <cuda_runtime.h>

namespace bench
{

constexpr int kMaxRanks = 8;
constexpr int kMaxFanout = 8;
constexpr int kSendWarps = 8;
constexpr int kCommThreads = 2 * kSendWarps * 32;
constexpr int kMaxCtas = 256;
constexpr int kMaxChannels = kMaxCtas * kSendWarps;
constexpr unsigned long long kSpinTimeoutNs = 4000000000ull;

/* What one launch reports, in host memory that the GPU writes. */
struct CommRecord {
	unsigned long long epoch;   /* counts launches of this exchange, from 0 */
	unsigned long long wait_ns; /* first CTA's start until the last peer had arrived */
	unsigned int checksum;
	unsigned int sms;       /* distinct SMs that the CTAs ran on */
	unsigned int timed_out; /* nonzero: a spin gave up, the data are incomplete */
};

/* Shared by the CTAs of a launch, in device memory; zero before the first launch. The last CTA
 * to leave publishes the record, clears everything but the epoch, and advances that. */
struct CommState {
	unsigned long long epoch;
	unsigned long long start_inverted; /* ~start, so that atomicMax finds the earliest */
	unsigned long long ready_inverted;
	unsigned int checksum;
	unsigned int timed_out;
	unsigned int ctas_done;
	unsigned int sm_bits[8];
};

struct ExchangeArgs {
	int rank, ranks, tokens, fanout;
	int chunk_tokens;    /* tokens between two flags, at least 1 */
	int row_bytes;       /* a multiple of 16 */
	double bytes_per_ns; /* rate limit of this GPU's sends; 0 = none */
	const char
		*source[2]; /* rows to send, alternating by epoch: stale rows are other rows */
	char *staging;      /* where peers write: dispatch [copies], combine [tokens][fanout] */
	char *out;          /* dispatch [copies], combine [tokens] */
	const uint32_t *send; /* the tables of route.h, in this GPU's memory */
	const float *weight;
	const int32_t *recv_begin;
	const int32_t *home;
	unsigned long long *arrival; /* [ranks], written by peers */
	unsigned long long *flags;   /* [ranks][kMaxChannels], written by peers */
	char *peer_staging[kMaxRanks];
	unsigned long long *peer_arrival[kMaxRanks]; /* this rank's entry on each peer */
	unsigned long long *peer_flags[kMaxRanks];   /* this rank's kMaxChannels on each peer */
	CommState *state;
	CommRecord *record;
};

/* Asynchronous, capturable. `sms` CTAs, at most kMaxCtas and at most the GPU's SM count. */
void launch_dispatch(const ExchangeArgs &args, int sms, cudaStream_t stream);
void launch_combine(const ExchangeArgs &args, int sms, cudaStream_t stream);

/* Random rows: bytes that are no FP8 NaN, or BF16 values in [-1, 1). `bytes` a multiple of 16.
 */
void fill_random_fp8(void *data, size_t bytes, uint64_t seed, cudaStream_t stream);
void fill_random_bf16(void *data, size_t bytes, uint64_t seed, cudaStream_t stream);

/* What receivers must find, worked out from the senders' side with plain loads: adds to
 * expected[target] (this GPU's memory, kMaxRanks entries) this rank's part of every target's
 * checksum for source buffer `parity`. */
void add_expected_dispatch(
	const ExchangeArgs &args, int parity, unsigned int *expected, cudaStream_t stream);
void add_expected_combine(
	const ExchangeArgs &args, int parity, unsigned int *expected, cudaStream_t stream);

} // namespace bench
