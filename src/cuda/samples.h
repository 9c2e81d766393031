/* What was read over time, and what it was between two readings. Host only. */
#pragma once
#include <cstdint>
#include <vector>

namespace bench
{

/* An SM clock or a power at a time of the host. */
struct Sample {
	int64_t t_ns = 0;
	double value = 0;
};

/* Between two samples in a row, which are in order of time, in proportion; before the first and
 * after the last the nearest. -1 = not known: more than `most_ns` away from a sample. */
double value_at(const std::vector<Sample> &samples, int64_t t_ns, int64_t most_ns);

} // namespace bench
