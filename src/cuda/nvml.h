/* Clocks, power and temperature through NVML, which is loaded at run time: without it the
 * readings are absent and everything else works. Nothing is ever set. */
#pragma once
#include <cstdint>
#include <string>
#include <vector>

namespace bench
{

/* -1 = not known. */
struct Health {
	int sm_mhz = -1;
	int mem_mhz = -1;
	double power_w = -1;
	int temp_c = -1;
};

class Nvml
{
      public:
	Nvml(); /* missing() says why there are no readings, if there are none */
	~Nvml();
	Nvml(const Nvml &) = delete;
	Nvml &operator=(const Nvml &) = delete;

	const std::string &missing() const
	{
		return reason;
	}
	/* `pci` as cudaDeviceGetPCIBusId gives it. */
	Health read(const std::string &pci) const;
	int sm_mhz(const std::string &pci) const; /* -1 = not known */
	/* A power of the last seconds, and how long ago it was. */
	struct PowerSample {
		uint64_t stamp_us; /* NVML's own */
		int64_t age_ns;
		double watts;
	};
	/* Those newer than a stamp, oldest first: every 20 ms on an H200. read() has a mean of the
	 * last second on newer chips. Where NVML keeps none, the power of this moment. */
	std::vector<PowerSample> power_since(const std::string &pci, uint64_t stamp_us) const;
	double power_limit_w(const std::string &pci) const;
	int application_sm_mhz(const std::string &pci) const;
	int active_nvlinks(const std::string &pci) const; /* -1 = not known */
	bool mig(const std::string &pci) const;
	bool ecc(const std::string &pci) const;
	std::string driver() const;

      private:
	struct Api;
	void *device(const std::string &pci) const;
	Api *api = nullptr;
	std::string reason;
};

} // namespace bench
