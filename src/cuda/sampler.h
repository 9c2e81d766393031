/* A thread that reads clocks and power of some GPUs every few milliseconds. NVML has a new clock
 * about every 100 ms and a new power every 20 ms, whatever one asks. */
#pragma once
#include "nvml.h"
#include "samples.h"
#include "trace-writer.h"
#include <atomic>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

namespace bench
{

class Sampler
{
      public:
	/* `pci[rank]`; reads until it is destroyed. Without NVML there are no readings. */
	Sampler(const Nvml &nvml, const std::vector<std::string> &pci);
	~Sampler();
	Sampler(const Sampler &) = delete;
	Sampler &operator=(const Sampler &) = delete;
	/* Fills in clock and power of rank `rank` at `t_ns` of host_now_ns(). */
	void fill(TraceRow &row, int rank, int64_t t_ns);

      private:
	struct Gpu {
		std::string pci;
		std::vector<Sample> clocks, powers;
		uint64_t seen_us = 0;
	};
	void loop();
	void read_power(Gpu &gpu);
	const Nvml &nvml;
	std::vector<Gpu> gpus;
	std::mutex lock;
	std::atomic<bool> stop{false};
	std::thread thread;
};

} // namespace bench
