#pragma once
#include <algorithm>
#include <vector>

namespace bench
{

/* The upper of two in the middle; 0 of none. */
inline double median(std::vector<double> values)
{
	if (values.empty())
		return 0;
	std::nth_element(values.begin(), values.begin() + values.size() / 2, values.end());
	return values[values.size() / 2];
}

} // namespace bench
