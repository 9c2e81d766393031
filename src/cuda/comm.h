/* Dispatch and combine between the GPUs of one process, as Works that a capture can time, with
 * a checksum of every launch. On one GPU rows go to a second buffer of the same GPU
 * (own-loopback).
 *
 * The exchange keeps random rows of its own rather than the layer's: a layer fed with its own
 * output thousands of times would overflow, and rows that alternate between two sets make stale
 * data visible. */
#pragma once
#include "buffer.h"
#include "comm-kernels.h"
#include "permute.h"
#include "route.h"
#include "work.h"
#include <array>
#include <memory>
#include <string>
#include <vector>

namespace bench
{

enum class CommKind {
	dispatch,
	combine
};

struct CommShape {
	int tokens = 0, fanout = 0, experts_local = 0;
	int hidden = 0;      /* BF16 values of a combine row */
	int value_bytes = 0; /* dispatch row: values ... */
	int scale_bytes = 0; /* ... then scales; 0 with BF16 rows */
	uint64_t seed = 1;
	int row_bytes(CommKind kind) const
	{
		return kind == CommKind::dispatch ? value_bytes + scale_bytes : 2 * hidden;
	}
	/* Of those, what the row has to say. */
	int message_bytes(CommKind kind) const
	{
		bool scaled = kind == CommKind::dispatch && scale_bytes > 0;
		return scaled ? value_bytes + hidden / 128 * 4 : row_bytes(kind);
	}
};

/* Bytes of a row's scales in a message: one float per 128 values, in whole lines of 128 bytes.
 * The next row then begins with a line: between two H200s that is worth
 * 5 % of the rate. */
constexpr int scale_bytes_of(int hidden)
{
	return (hidden / 128 * 4 + 127) / 128 * 128;
}

struct CommSettings {
	int chunk_tokens = 8;
	double pace_gbps = 0; /* 0 = as fast as it goes */
};

/* A launch that has been enqueued or captured; its record is refilled whenever it runs. */
struct CommLaunch {
	const CommRecord *record;
	CommKind kind;
	int rank;
};

/* Owns all buffers on all devices. Every launch of an exchange must be enqueued on all ranks,
 * in the same order, before any rank is waited for. Not copyable; one host thread. */
class Comm
{
      public:
	/* devices[r] is rank r; peer access must be on between all of them. */
	Comm(const std::vector<int> &devices, const std::vector<RankRoute> &route,
		const CommShape &shape);
	~Comm();
	Comm(const Comm &) = delete;
	Comm &operator=(const Comm &) = delete;

	/* The exchange of `kind` as component and phase; Lane::sms is the number of CTAs. */
	Work work(CommKind kind, int rank, const std::string &component,
		const std::string &phase, const CommSettings &settings);
	/* The same bytes by the copy engines, as contiguous messages: nothing permuted or
	 * summed, and no SM taken. */
	Work copy_engine_work(CommKind kind, int rank, const std::string &component,
		const std::string &phase);
	/* Received rows to expert rows, and expert rows to replies, for the MLP. */
	PermuteArgs permute_args(int rank) const;

	/* Launches enqueued since the last call, in order. */
	std::vector<CommLaunch> take_launches();
	/* The latest run of the launch got every row, and the right ones. Valid once it is
	 * over. */
	bool correct(const CommLaunch &launch) const;

	/* For checks: an output, and the rows it was made from, as bytes; they synchronise. */
	std::vector<char> output(CommKind kind, int rank) const;
	std::vector<char> source(CommKind kind, int rank, int parity) const;
	void poison_output(CommKind kind, int rank);
	/* Changes one byte of both source buffers, which the checksum must then notice. */
	void spoil_source(CommKind kind, int rank);

      private:
	struct Tables;
	struct Exchange;
	void make_exchange(CommKind kind);
	void connect(CommKind kind);
	void find_expected(CommKind kind);
	Exchange &at(CommKind kind, int rank) const;
	CommRecord *next_record();
	Work describe(CommKind kind, int rank, const std::string &component,
		const std::string &phase) const;

	std::vector<int> devices;
	std::vector<RankRoute> route;
	CommShape shape;
	std::vector<std::unique_ptr<Tables>> tables;
	std::array<std::vector<std::unique_ptr<Exchange>>, 2> exchanges;
	std::vector<Buffer<char>> expert_rows, expert_scales, expert_out, replies;
	std::vector<CommRecord *> record_blocks;
	size_t records_used = 0;
	std::vector<CommLaunch> launched;
};

/* Turns peer access on between all pairs; throws Unsupported where a pair has none. */
void enable_peers(const std::vector<int> &devices);

} // namespace bench
