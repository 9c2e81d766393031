/* What a person wants to know at once: every component against the ceiling that binds it, the
 * pair against its parts, and the tuning curves. All times are medians of rank 0's rows with
 * status ok. */
#pragma once
#include "bench.h"
#include <cstdio>

namespace bench
{

void print_report(FILE *out, const Bench &bench);

} // namespace bench
