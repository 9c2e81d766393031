/* The series that say how an op's time depends on what else its GPU does and has done: see
 * docs/formats.md for their rows. Each appends to `rows`; GPUs run at the same time, a thread
 * each. All of them end early once Capture::interrupted is set. */
#pragma once
#include "chip.h"
#include "replay-order.h"
#include "sampler.h"
#include <functional>

namespace bench
{

using Chips = std::vector<std::unique_ptr<Chip>>;

/* Runs one function a GPU, each on a thread of its own; throws what the first of them threw. */
void on_each(const Chips &chips, const std::function<void(Chip &)> &run);

/* Ops after pauses, in duty cycles and without a pause. */
void measure_governor(const Chips &chips, Sampler &sampler, std::vector<TraceRow> &rows,
	std::vector<std::string> &notes);

/* Every component beside a receive that waits, and beside a message of `bytes` that moves.
 * Between two GPUs through NCCL too, where it is found; else a note says so;
 * `nccl` becomes its version. */
void measure_resident(const Chips &chips, Sampler &sampler, int64_t bytes, uint64_t seed,
	std::vector<TraceRow> &rows, std::vector<std::string> &notes, std::string &nccl);

/* What a replay found. */
struct ReplayResult {
	std::string name;
	int steps = 0; /* that count */
	double simulated_ns = 0, median_ns = 0, least_ns = 0, most_ns = 0;
	struct Kind {
		std::string kind; /* F, I, W, B, FB */
		int ops = 0;      /* of a step */
		double simulated_ns = 0, median_ns = 0;
	};
	std::vector<Kind> kinds;
};

/* The step of `order`: on one GPU rank `rank` alone, idle where it is, on as many GPUs as it has
 * ranks all of them, with messages of `bytes` between them; again and again. */
ReplayResult measure_replay(const Chips &chips, Sampler &sampler, const ReplayOrder &order,
	int rank, int64_t bytes, std::vector<TraceRow> &rows);

} // namespace bench
