#include "nvml.h"
#include <dlfcn.h>

namespace bench
{

/* The part of NVML's interface that is used here, as its manual gives it; it is stable across
 * versions, and declaring it spares the header, which not every toolkit installs. */
struct Nvml::Api {
	void *library;
	int (*init)();
	int (*shutdown)();
	const char *(*error)(int);
	int (*by_pci)(const char *, void **);
	int (*clock)(void *, int, unsigned *);
	int (*application_clock)(void *, int, unsigned *);
	int (*power)(void *, unsigned *);
	int (*power_limit)(void *, unsigned *);
	int (*temperature)(void *, int, unsigned *);
	int (*link_state)(void *, unsigned, unsigned *);
	int (*mig_mode)(void *, unsigned *, unsigned *);
	int (*ecc_mode)(void *, unsigned *, unsigned *);
	int (*driver_version)(char *, unsigned);
};

namespace
{

constexpr int kClockSm = 1, kClockMem = 2, kSensorGpu = 0;
constexpr unsigned kMostLinks = 18;

template <class F> bool find(void *library, const char *name, F &function)
{
	function = (F)dlsym(library, name);
	return function != nullptr;
}

} // namespace

Nvml::Nvml()
{
	void *library = dlopen("libnvidia-ml.so.1", RTLD_NOW);
	if (!library) {
		reason = "libnvidia-ml.so.1 cannot be loaded";
		return;
	}
	Api *a = new Api{};
	a->library = library;
	bool all = find(library, "nvmlInit_v2", a->init) &&
		   find(library, "nvmlShutdown", a->shutdown) &&
		   find(library, "nvmlErrorString", a->error) &&
		   find(library, "nvmlDeviceGetHandleByPciBusId_v2", a->by_pci) &&
		   find(library, "nvmlDeviceGetClockInfo", a->clock) &&
		   find(library, "nvmlDeviceGetApplicationsClock", a->application_clock) &&
		   find(library, "nvmlDeviceGetPowerUsage", a->power) &&
		   find(library, "nvmlDeviceGetEnforcedPowerLimit", a->power_limit) &&
		   find(library, "nvmlDeviceGetTemperature", a->temperature) &&
		   find(library, "nvmlDeviceGetNvLinkState", a->link_state) &&
		   find(library, "nvmlDeviceGetMigMode", a->mig_mode) &&
		   find(library, "nvmlDeviceGetEccMode", a->ecc_mode) &&
		   find(library, "nvmlSystemGetDriverVersion", a->driver_version);
	int status = all ? a->init() : -1;
	if (status == 0) {
		api = a;
		return;
	}
	reason = all ? a->error(status) : "libnvidia-ml.so.1 lacks a function that is needed";
	dlclose(library);
	delete a;
}

Nvml::~Nvml()
{
	if (!api)
		return;
	api->shutdown();
	dlclose(api->library);
	delete api;
}

void *Nvml::device(const std::string &pci) const
{
	void *handle = nullptr;
	if (!api || api->by_pci(pci.c_str(), &handle) != 0)
		return nullptr;
	return handle;
}

Health Nvml::read(const std::string &pci) const
{
	Health h;
	unsigned value;
	void *d = device(pci);
	if (!d)
		return h;
	if (api->clock(d, kClockSm, &value) == 0)
		h.sm_mhz = (int)value;
	if (api->clock(d, kClockMem, &value) == 0)
		h.mem_mhz = (int)value;
	if (api->power(d, &value) == 0)
		h.power_w = value / 1000.0;
	if (api->temperature(d, kSensorGpu, &value) == 0)
		h.temp_c = (int)value;
	return h;
}

double Nvml::power_limit_w(const std::string &pci) const
{
	unsigned milliwatts;
	void *d = device(pci);
	return d && api->power_limit(d, &milliwatts) == 0 ? milliwatts / 1000.0 : -1;
}

int Nvml::application_sm_mhz(const std::string &pci) const
{
	unsigned mhz;
	void *d = device(pci);
	return d && api->application_clock(d, kClockSm, &mhz) == 0 ? (int)mhz : -1;
}

int Nvml::active_nvlinks(const std::string &pci) const
{
	void *d = device(pci);
	if (!d)
		return -1;
	int active = 0;
	for (unsigned link = 0; link < kMostLinks; link++) {
		unsigned on = 0;
		active += api->link_state(d, link, &on) == 0 && on;
	}
	return active;
}

bool Nvml::mig(const std::string &pci) const
{
	unsigned now = 0, pending;
	void *d = device(pci);
	return d && api->mig_mode(d, &now, &pending) == 0 && now;
}

bool Nvml::ecc(const std::string &pci) const
{
	unsigned now = 0, pending;
	void *d = device(pci);
	return d && api->ecc_mode(d, &now, &pending) == 0 && now;
}

std::string Nvml::driver() const
{
	char version[96];
	return api && api->driver_version(version, sizeof version) == 0 ? version : "";
}

} // namespace bench
