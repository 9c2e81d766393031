#include "sampler.h"
#include "event.h"
#include <cmath>

namespace bench
{

namespace
{

constexpr int64_t kEveryNs = 5000000;
constexpr int kPowerEvery = 10;       /* NVML keeps the power of the last seconds */
constexpr int64_t kMostNs = 50000000; /* a reading says nothing of what is further away */

} // namespace

Sampler::Sampler(const Nvml &nvml, const std::vector<std::string> &pci)
    : nvml(nvml), gpus(pci.size())
{
	for (size_t r = 0; r < pci.size(); r++)
		gpus[r].pci = pci[r];
	if (nvml.missing().empty())
		thread = std::thread([this] { loop(); });
}

Sampler::~Sampler()
{
	stop = true;
	if (thread.joinable())
		thread.join();
}

void Sampler::read_power(Gpu &gpu)
{
	std::vector<Nvml::PowerSample> found = nvml.power_since(gpu.pci, gpu.seen_us);
	int64_t now = host_now_ns();
	for (const Nvml::PowerSample &one : found) {
		int64_t t_ns = now - one.age_ns;
		gpu.seen_us = one.stamp_us;
		if (gpu.powers.empty() || gpu.powers.back().t_ns < t_ns)
			gpu.powers.push_back({t_ns, one.watts});
	}
}

void Sampler::loop()
{
	int64_t next = host_now_ns();
	for (int i = 0; !stop; i++, next += kEveryNs) {
		for (Gpu &gpu : gpus) {
			int64_t before = host_now_ns();
			int mhz = nvml.sm_mhz(gpu.pci);
			int64_t middle = (before + host_now_ns()) / 2;
			std::lock_guard<std::mutex> guard(lock);
			if (mhz >= 0)
				gpu.clocks.push_back({middle, (double)mhz});
			if (i % kPowerEvery == 0)
				read_power(gpu);
		}
		int64_t left = next + kEveryNs - host_now_ns();
		if (left > 0)
			std::this_thread::sleep_for(std::chrono::nanoseconds(left));
		else
			next -= left; /* a reading took longer than that */
	}
}

void Sampler::fill(TraceRow &row, int rank, int64_t t_ns)
{
	std::lock_guard<std::mutex> guard(lock);
	row.clk_sm_mhz = (int)std::lround(value_at(gpus[rank].clocks, t_ns, kMostNs));
	row.power_w = value_at(gpus[rank].powers, t_ns, kMostNs);
}

} // namespace bench
