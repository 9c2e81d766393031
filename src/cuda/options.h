/* The command line. */
#pragma once
#include "comm-kernels.h"
#include "partition.h"
#include <cstdint>
#include <set>
#include <stdexcept>
#include <string>
#include <vector>

namespace bench
{

enum class Action {
	capture,
	check,
	help,
	version
};

struct Options {
	Action action = Action::capture;
	bool all = false;                        /* every step, not only the main series */
	bool parts = false;                      /* report single kernels too */
	bool governor = false, resident = false; /* these series ... */
	std::vector<std::string> replay;         /* ... and these orders; - = standard input */
	int replay_rank = 0;                     /* on one GPU: which rank of it */
	std::string output;                      /* trace; empty = none, only the report */
	std::string model = "deepseek-v3";
	int tokens = 4096;
	int experts = 0; /* per GPU; 0 = the model's */
	int reps = 200;
	int gpus = 0;                          /* 0 = as many as there are, of 1, 2, 4, 8 */
	SmSplit split = {SmMode::grid, 0, 20}; /* compute 0 = the rest */
	int chunk_tokens = 0;                  /* 0 = tuned by measurement */
	double pace_gbps = 0;
	uint64_t seed = 1;
	std::set<std::string> only; /* components of the main series, and steps; empty = all */
	std::vector<int> sweep = {0, 8, 16, 20, 24, 32, 48};
	bool sweep_asked = false;

	/* Series alone were asked for: no main series, nothing that belongs to it. */
	bool series_only() const
	{
		return (governor || resident || !replay.empty()) && !all && !parts &&
		       !sweep_asked && only.empty();
	}
	bool wants(const std::string &name) const
	{
		return only.empty() || only.count(name);
	}
};

/* An impossible command line: what() says which value, which rule, and what to do. */
struct UsageError : std::runtime_error {
	using std::runtime_error::runtime_error;
};

Options parse_options(int argc, char **argv);
/* The text of --help. */
const char *usage();

} // namespace bench
