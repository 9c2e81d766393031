/* Everything that is needed to know where a trace comes from. */
#pragma once
#include "bench.h"
#include "trace-writer.h"

namespace bench
{

constexpr char kVersion[] = "0.1.0";

/* `command` is the command line; `complete` is false for a capture that was cut short. */
Metadata provenance(const Bench &bench, const Options &options, const Model &model,
	const std::vector<int> &devices, const Nvml &nvml, const std::string &command,
	bool complete);

} // namespace bench
