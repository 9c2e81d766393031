/* Correctness of the communication kernels against the CPU. */
#pragma once
#include "check-compute.h"

namespace bench
{

/* Dispatch, combine, permutation and back on small and odd shapes, with every kind of load,
 * among `devices`; outputs poisoned first, data from `seed`. Some seconds. */
std::vector<CheckResult> check_comm(const std::vector<int> &devices, uint64_t seed);

} // namespace bench
