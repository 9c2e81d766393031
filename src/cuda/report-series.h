/* What the series say, in short: times at full clock against sustained ones, ops beside receives
 * and messages, steps against the simulated ones. */
#pragma once
#include "bench.h"
#include <cstdio>

namespace bench
{

void print_series(FILE *out, const Bench &bench);

} // namespace bench
