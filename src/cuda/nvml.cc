#include "nvml.h"
#include <chrono>
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
	/* Null: an older driver. */
	int (*fields)(void *, int, void *);
	int (*samples)(void *, int, unsigned long long, int *, unsigned *, void *);
};

namespace
{

constexpr int kClockSm = 1, kClockMem = 2, kSensorGpu = 0;
constexpr unsigned kMostLinks = 18;
constexpr unsigned kPowerInstant = 186; /* milliwatts */

constexpr int kTotalPower = 0, kUnsignedInt = 1, kNotFound = 6; /* of samples: milliwatts */
constexpr unsigned kMostSamples = 512;
constexpr int64_t kOldestNs =
	10000000000; /* a stamp that is further away is of another clock */

union Value {
	double real;
	unsigned count;
	unsigned long long large;
};

/* nvmlFieldValue_t and nvmlSample_t of NVML's manual. */
struct FieldValue {
	unsigned id, scope;
	long long timestamp, latency_us;
	int type, status;
	Value value;
};

struct StampedValue {
	unsigned long long stamp_us;
	Value value;
};

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
	find(library, "nvmlDeviceGetFieldValues", a->fields);
	find(library, "nvmlDeviceGetSamples", a->samples);
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

int Nvml::sm_mhz(const std::string &pci) const
{
	unsigned mhz;
	void *d = device(pci);
	return d && api->clock(d, kClockSm, &mhz) == 0 ? (int)mhz : -1;
}

std::vector<Nvml::PowerSample> Nvml::power_since(
	const std::string &pci, uint64_t stamp_us) const
{
	std::vector<PowerSample> found;
	void *d = device(pci);
	if (!d)
		return found;
	auto now_us = (int64_t)std::chrono::duration_cast<std::chrono::microseconds>(
		std::chrono::system_clock::now().time_since_epoch())
			      .count();
	int type = 0;
	unsigned count = kMostSamples;
	std::vector<StampedValue> stamped(kMostSamples);
	int status = api->samples ? api->samples(d, kTotalPower, stamp_us, &type, &count,
					    stamped.data())
				  : -1;
	if (status == kNotFound)
		return found; /* nothing new */
	bool stamps_of_this_clock = status == 0 && type == kUnsignedInt;
	for (unsigned i = 0; stamps_of_this_clock && i < count && i < kMostSamples; i++) {
		int64_t age = (now_us - (int64_t)stamped[i].stamp_us) * 1000;
		stamps_of_this_clock = age < kOldestNs && age > -kOldestNs;
		if (stamps_of_this_clock && stamped[i].stamp_us > stamp_us)
			found.push_back(
				{stamped[i].stamp_us, age, stamped[i].value.count / 1000.0});
	}
	if (stamps_of_this_clock)
		return found;
	found.clear();
	unsigned milliwatts;
	FieldValue field = {};
	field.id = kPowerInstant;
	if (api->fields && api->fields(d, 1, &field) == 0 && field.status == 0)
		found.push_back({(uint64_t)now_us, 0, field.value.count / 1000.0});
	else if (api->power(d, &milliwatts) == 0)
		found.push_back({(uint64_t)now_us, 0, milliwatts / 1000.0});
	return found;
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
