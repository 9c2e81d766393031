/* Checks of the microbenchmark's tests without a GPU: each counts, and says what is wrong. */
#pragma once
#include <cstdio>
#include <string>

namespace
{

int checks, failures;

void check(bool good, const std::string &what)
{
	checks++;
	failures += !good;
	if (!good)
		printf("FAIL: %s\n", what.c_str());
}

} // namespace
