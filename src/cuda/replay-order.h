/* The order of a step, as `pipesim --format ops` writes it: which rank runs which op when. Host
 * only. */
#pragma once
#include <cstdint>
#include <stdexcept>
#include <string>
#include <vector>

namespace bench
{

struct ReplayOp {
	int rank = 0, stage = 0, microbatch = 0;
	std::string kind;                    /* F, I, W, B, FB */
	int b_stage = -1, b_microbatch = -1; /* of an FB: of its backward */
	int64_t start_ns = 0, dur_ns = 0;
	int line = 0, op_column = 0; /* where it stands in the file */
	/* Ops whose messages or results it needs, by rank and position there. */
	struct Place {
		int rank = 0, at = 0;
		bool gradient = false; /* what it needs of that op; else an activation */
	};
	std::vector<Place> needs;
};

/* What is wrong with a file: what() has a line PATH:LINE:COLUMN: for each fault. */
struct OrderError : std::runtime_error {
	using std::runtime_error::runtime_error;
};

struct ReplayOrder {
	std::string path, schedule;
	int stages = 0;
	int64_t step_ns = 0; /* from the first start to the last end of all ranks */
	int64_t first_ns = 0;
	std::vector<std::vector<ReplayOp>> ranks; /* in the order in which they run */

	int ops() const;
	/* Idle time of a rank before each of its ops, and after the last until the step ends. */
	std::vector<int64_t> idle_ns(int rank) const;
	/* Fills in `needs`; throws OrderError where an op is missing that another needs, or
	 * ends after that begins. */
	void connect();
};

/* `path` - is standard input. Throws OrderError, or std::runtime_error where it cannot be read. */
ReplayOrder read_order(const std::string &path);

} // namespace bench
