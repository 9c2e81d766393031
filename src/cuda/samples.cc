#include "samples.h"
#include <algorithm>

namespace bench
{

double value_at(const std::vector<Sample> &samples, int64_t t_ns, int64_t most_ns)
{
	auto after = std::lower_bound(samples.begin(), samples.end(), t_ns,
		[](const Sample &s, int64_t t) { return s.t_ns < t; });
	bool has_after = after != samples.end() && after->t_ns - t_ns <= most_ns;
	bool has_before = after != samples.begin() && t_ns - (after - 1)->t_ns <= most_ns;
	if (!has_after && !has_before)
		return -1;
	const Sample &first = has_before ? *(after - 1) : *after;
	const Sample &last = has_after ? *after : first;
	double share = 0;
	if (last.t_ns > first.t_ns)
		share = (double)(t_ns - first.t_ns) / (double)(last.t_ns - first.t_ns);
	return first.value + (last.value - first.value) * share;
}

} // namespace bench
