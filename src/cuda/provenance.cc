#include "provenance.h"
#include "cuda-check.h"
#include <ctime>
#include <dlfcn.h>
#include <unistd.h>

#ifndef GIT_SHA
#define GIT_SHA ""
#endif

namespace bench
{

namespace
{

std::string number(double value)
{
	char text[32];
	snprintf(text, sizeof text, "%.10g", value);
	return value < 0 ? "" : text;
}

std::string now_utc()
{
	char text[32];
	time_t now = time(nullptr);
	strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%SZ", gmtime(&now));
	return text;
}

/* Tells hosts apart without naming them (FNV-1a). */
std::string hostname_hash()
{
	char name[256] = "";
	gethostname(name, sizeof name - 1);
	uint64_t hash = 14695981039346656037ull;
	for (const char *c = name; *c; c++)
		hash = (hash ^ (unsigned char)*c) * 1099511628211ull;
	char text[24];
	snprintf(text, sizeof text, "%016llx", (unsigned long long)hash);
	return text;
}

std::string cudnn_version()
{
	auto version = (size_t(*)())dlsym(RTLD_DEFAULT, "cudnnGetVersion");
	return version ? std::to_string(version()) : "";
}

std::string uuid(const cudaDeviceProp &device)
{
	char text[40] = "GPU-";
	size_t length = 4;
	for (int i = 0; i < 16; i++)
		length += snprintf(text + length, sizeof text - length, "%02x",
			(unsigned char)device.uuid.bytes[i]);
	return text;
}

std::string peer_matrix(const std::vector<int> &devices)
{
	std::string matrix;
	for (int from : devices) {
		for (int to : devices) {
			int can = from == to;
			if (from != to)
				CUDA_CHECK(cudaDeviceCanAccessPeer(&can, from, to));
			matrix += can ? '1' : '0';
		}
		matrix += ' ';
	}
	matrix.pop_back();
	return matrix;
}

std::string environment()
{
	std::string text;
	for (const char *name : {"CUDA_VISIBLE_DEVICES", "CUDA_MODULE_LOADING",
		     "CUDA_DEVICE_MAX_CONNECTIONS", "NCCL_NVLS_ENABLE"})
		if (const char *value = getenv(name))
			text += std::string(text.empty() ? "" : " ") + name + "=" + value;
	return text;
}

void add_device(Metadata &m, int device, const Nvml &nvml)
{
	cudaDeviceProp p;
	char pci[32];
	CUDA_CHECK(cudaGetDeviceProperties(&p, device));
	CUDA_CHECK(cudaDeviceGetPCIBusId(pci, sizeof pci, device));
	m.insert(m.end(),
		{{"device_name", p.name}, {"device_uuid", uuid(p)}, {"pci", pci},
			{"sm_count", std::to_string(p.multiProcessorCount)},
			{"cc", std::to_string(p.major) + "." + std::to_string(p.minor)},
			{"mem_bytes", std::to_string(p.totalGlobalMem)},
			{"l2_bytes", std::to_string(p.l2CacheSize)}, {"driver", nvml.driver()},
			{"sm_clock_mhz_app", number(nvml.application_sm_mhz(pci))},
			{"mem_clock_mhz", number(nvml.read(pci).mem_mhz)},
			{"power_limit_w", number(nvml.power_limit_w(pci))},
			{"ecc", std::to_string(nvml.ecc(pci))},
			{"mig", std::to_string(nvml.mig(pci))},
			{"nvlink_links", number(nvml.active_nvlinks(pci))}});
}

void add_libraries(Metadata &m, const Bench &bench)
{
	int runtime, driver;
	CUDA_CHECK(cudaRuntimeGetVersion(&runtime));
	CUDA_CHECK(cudaDriverGetVersion(&driver));
	m.insert(m.end(), {{"cuda_runtime", std::to_string(runtime)},
				  {"cuda_driver_api", std::to_string(driver)},
				  {"cublaslt", std::to_string(cublasLtGetVersion())},
				  {"cudnn", cudnn_version()}, {"nccl", bench.nccl_version()},
				  {"torch", ""}});
}

void add_model(
	Metadata &m, const Bench &bench, const Options &o, const Model &model, size_t ranks)
{
	std::string text = model.name + " hidden=" + std::to_string(model.hidden) +
			   " heads=" + std::to_string(model.heads) +
			   " inter=" + std::to_string(model.inter) +
			   " shared_inter=" + std::to_string(model.shared_inter);
	m.insert(m.end(),
		{{"model", text}, {"tokens", std::to_string(o.tokens)},
			{"seq", std::to_string(o.tokens)}, {"ep", std::to_string(ranks)},
			{"experts_local", std::to_string(model.experts_per_gpu)},
			{"topk", std::to_string(model.top_k)},
			{"fanout", std::to_string(model.top_groups)}, {"layers_per_chunk", "1"},
			{"dtype_recipe", bench.fp8() ? "fp8-block-1x128-128x128" : "bf16"},
			{"attention", bench.attention_impl()}});
}

} // namespace

Metadata provenance(const Bench &bench, const Options &options, const Model &model,
	const std::vector<int> &devices, const Nvml &nvml, const std::string &command,
	bool complete)
{
	Metadata m = {{"format", "pipesim-trace"}, {"version", "1"},
		{"tool", "pipesim-microbench"}, {"tool_version", kVersion},
		{"git_sha", GIT_SHA}, {"date_utc", now_utc()}, {"command", command},
		{"complete", complete ? "1" : "0"}, {"hostname_hash", hostname_hash()}};
	add_device(m, devices[0], nvml);
	m.push_back({"gpus", std::to_string(devices.size())});
	m.push_back({"p2p_matrix", peer_matrix(devices)});
	m.push_back({"nvls", "0"});
	m.push_back({"env", environment()});
	add_libraries(m, bench);
	/* Series run with an exchange within each GPU. */
	add_model(m, bench, options, model, options.series_only() ? 1 : devices.size());
	const SmSplit &split = bench.split();
	m.insert(m.end(),
		{{"seed", std::to_string(options.seed)}, {"reps", std::to_string(options.reps)},
			{"warmup", "10"}, {"l2", "cold"}, {"gate", "spin"}, {"graph", "1"},
			{"event_resolution_ns",
				std::to_string(bench.timing().event_resolution_ns())},
			{"event_overhead_ns",
				std::to_string(bench.timing().event_overhead_ns())},
			{"sm_split", std::to_string(split.compute) + "+" +
					     std::to_string(split.comm)},
			{"sm_mode", sm_mode_name(split.mode)},
			{"peak_copy_gbps", number(bench.peaks().copy_gbps)},
			{"peak_bf16_tflops", number(bench.peaks().bf16_tflops)},
			{"peak_fp8_tflops", number(bench.peaks().fp8_tflops)},
			{"peak_peer_gbps", number(bench.peer_gbps())}, {"time_unit", "ns"}});
	for (const std::string &note : bench.notes())
		m.push_back({"note", note});
	return m;
}

} // namespace bench
