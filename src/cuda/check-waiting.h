/* That receives take the SMs they are said to take, end when they are let go, and give up where
 * nobody does; that idle time lasts as long as it should; that NCCL's messages arrive. */
#pragma once
#include "check-compute.h"

namespace bench
{

std::vector<CheckResult> check_waiting(const std::vector<int> &devices, uint64_t seed);

} // namespace bench
