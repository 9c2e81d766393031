/* Correctness of the compute kernels: each one against double precision on the CPU. */
#pragma once
#include <cstdint>
#include <string>
#include <vector>

namespace bench
{

struct CheckResult {
	std::string name;
	double error =
		0; /* ||out - reference|| / ||reference||; NaN where nothing was written */
	double limit = 0;
	bool ok = false;
	std::string note; /* shape, or why it was skipped (then ok, error 0) */
};

/* Runs every check of the compute half on the current device with data from `seed`. Under a
 * minute; what the device or the libraries cannot do is reported as skipped. */
std::vector<CheckResult> check_compute(uint64_t seed);

} // namespace bench
