#include "event.h"
#include <chrono>
#include <thread>

namespace bench
{

namespace
{

constexpr int64_t kPolledNs = 200000;

} // namespace

int64_t host_now_ns()
{
	return std::chrono::duration_cast<std::chrono::nanoseconds>(
		std::chrono::steady_clock::now().time_since_epoch())
		.count();
}

void host_sleep_until(int64_t ns)
{
	int64_t left = ns - host_now_ns();
	if (left > kPolledNs)
		std::this_thread::sleep_for(std::chrono::nanoseconds(left - kPolledNs));
	while (host_now_ns() < ns)
		;
}

} // namespace bench
