/* pipesim-microbench: captures the kernels of one layer into a trace. */
#include "bench.h"
#include "check-comm.h"
#include "check-compute.h"
#include "check-waiting.h"
#include "cuda-check.h"
#include "device.h"
#include "provenance.h"
#include "replay-order.h"
#include "report.h"
#include "trace-writer.h"
#include <csignal>
#include <cstdio>
#include <cstdlib>

using namespace bench;

namespace
{

enum Exit {
	kDone = 0,
	kFailed = 1,
	kUsage = 2,
	kBadModel = 3,
	kNoGpu = 4,
	kCannotWrite = 5,
	kInterrupted = 130
};

void on_interrupt(int)
{
	/* The third one ends it at once; a terminal and a shell may send two of a kind. */
	static volatile sig_atomic_t count = 0;
	Capture::interrupted = 1;
	count = count + 1;
	if (count == 2)
		signal(SIGINT, SIG_DFL);
}

/* Before the first CUDA call. Eager loading: a module loaded behind a closed gate would wait
 * for it. NVLink multicast is not for a benchmark to turn on: it can upset other users of the
 * host. */
void set_environment()
{
	setenv("CUDA_MODULE_LOADING", "EAGER", 1);
	setenv("CUDA_DEVICE_MAX_CONNECTIONS", "32", 0);
	setenv("NCCL_NVLS_ENABLE", "0", 1);
	setenv("TORCH_SYMM_MEM_DISABLE_MULTICAST", "1", 1);
	setenv("NVSHMEM_DISABLE_NVLS", "1", 1);
}

std::vector<int> choose_devices(const Options &options)
{
	int count = 0, wanted = options.gpus;
	cudaError_t status = cudaGetDeviceCount(&count);
	if (status != cudaSuccess || count == 0)
		throw Unsupported(std::string("no usable GPU: ") + cudaGetErrorString(status));
	if (wanted > count)
		throw UsageError("--gpus " + std::to_string(wanted) + ": this host has " +
				 std::to_string(count));
	if (wanted == 0)
		for (wanted = 1; 2 * wanted <= count && wanted < kMaxRanks;)
			wanted *= 2;
	std::vector<int> devices;
	for (int device = 0; device < wanted; device++) {
		if (capability(device) < 80)
			throw Unsupported("GPU " + std::to_string(device) +
					  " is older than compute capability 8.0");
		devices.push_back(device);
	}
	return devices;
}

int print_checks(const std::vector<CheckResult> &results)
{
	int failed = 0;
	for (const CheckResult &r : results) {
		printf("%-4s %-36s %9.2e <= %8.1e  %s\n", r.ok ? "ok" : "FAIL", r.name.c_str(),
			r.error, r.limit, r.note.c_str());
		failed += !r.ok;
	}
	printf("%zu checks, %d failed\n", results.size(), failed);
	return failed;
}

int run_checks(const Options &options, const std::vector<int> &devices)
{
	if (devices.size() > 1)
		enable_peers(devices);
	std::vector<CheckResult> results;
	if (options.wants("resident"))
		results = check_waiting(devices, options.seed);
	if (options.only.empty()) {
		for (CheckResult &r : check_comm(devices, options.seed))
			results.push_back(std::move(r));
		CUDA_CHECK(cudaSetDevice(devices[0]));
		for (CheckResult &r : check_compute(options.seed))
			results.push_back(std::move(r));
	}
	return print_checks(results) ? kFailed : kDone;
}

/* Without the folders of files, which mean nothing elsewhere. */
std::string command_line(int argc, char **argv)
{
	std::string line = "pipesim-microbench";
	for (int i = 1; i < argc; i++) {
		std::string word = argv[i];
		line += " " + word.substr(word.rfind('/') + 1);
	}
	return line;
}

void save(const Bench &bench, const Options &options, const Metadata &metadata)
{
	if (options.output.empty())
		return;
	write_trace(options.output, metadata, bench.rows());
	if (options.output != "-")
		write_provenance(provenance_path(options.output), metadata);
}

int complain(const std::exception &e, int status)
{
	fprintf(stderr, "pipesim-microbench: %s\n", e.what());
	return status;
}

/* What is not for as many GPUs. */
void demand_order_fits(const Options &options, ReplayOrder &order, size_t gpus)
{
	const std::string &path = order.path;
	size_t ranks = order.ranks.size();
	if (gpus > 1 && gpus != ranks)
		throw UsageError("--replay " + path + ": " + std::to_string(ranks) +
				 " ranks, but " + std::to_string(gpus) +
				 " GPUs; --gpus 1 runs one of them, --replay-rank says which");
	if (gpus > 1) {
		order.connect();
		return;
	}
	if ((size_t)options.replay_rank >= ranks || order.ranks[options.replay_rank].empty())
		throw UsageError("--replay-rank " + std::to_string(options.replay_rank) + ": " +
				 path + " has no op of that rank");
}

/* What has been captured is written even if something failed or the user has had enough. */
int capture(const Options &options, const Model &model, const std::vector<int> &devices,
	const std::vector<ReplayOrder> &orders, const std::string &command)
{
	Nvml nvml;
	if (!nvml.missing().empty())
		fprintf(stderr, "pipesim-microbench: no clocks and power: %s\n",
			nvml.missing().c_str());
	Bench bench(options, model, devices, nvml, orders);
	int status = kDone;
	try {
		if (!bench.run())
			status = kInterrupted;
	} catch (const Unsupported &) {
		throw; /* steps note theirs: this is about the main series, before it began */
	} catch (const std::exception &e) {
		status = complain(e, kFailed);
	}
	Metadata metadata =
		provenance(bench, options, model, devices, nvml, command, status == kDone);
	save(bench, options, metadata);
	print_report(options.output == "-" ? stderr : stdout, bench);
	return status;
}

int run(int argc, char **argv)
{
	Options options = parse_options(argc, argv);
	if (options.action == Action::help) {
		fputs(usage(), stdout);
		return kDone;
	}
	if (options.action == Action::version) {
		printf("pipesim-microbench %s\n", kVersion);
		return kDone;
	}
	if (options.action == Action::capture && options.output.empty() && !options.parts &&
		options.replay.empty())
		throw UsageError(
			"name a trace with -o FILE.csv, or ask for --report or --check");
	Model model;
	try {
		model = read_model(options.model, options.experts);
	} catch (const std::exception &e) {
		return complain(e, kBadModel);
	}
	if (options.experts > model.experts)
		throw UsageError("--experts " + std::to_string(options.experts) + ": " +
				 model.name + " has " + std::to_string(model.experts) +
				 " experts");
	if (options.action == Action::capture && !options.output.empty())
		demand_writable(options.output);
	std::vector<ReplayOrder> orders;
	try {
		for (const std::string &path : options.replay)
			orders.push_back(read_order(path));
	} catch (const OrderError &e) {
		fprintf(stderr, "%s\n", e.what());
		return kBadModel;
	} catch (const std::exception &e) {
		return complain(e, kBadModel);
	}
	std::vector<int> devices = choose_devices(options);
	try {
		for (ReplayOrder &order : orders)
			demand_order_fits(options, order, devices.size());
	} catch (const OrderError &e) {
		fprintf(stderr, "%s\n", e.what());
		return kBadModel;
	}
	signal(SIGINT, on_interrupt);
	if (options.action == Action::check)
		return run_checks(options, devices);
	return capture(options, model, devices, orders, command_line(argc, argv));
}

} // namespace

int main(int argc, char **argv)
{
	set_environment();
	try {
		return run(argc, argv);
	} catch (const UsageError &e) {
		return complain(e, kUsage);
	} catch (const Unsupported &e) {
		return complain(e, kNoGpu);
	} catch (const CudaError &e) {
		return complain(e, kFailed);
	} catch (const std::exception &e) {
		return complain(e, kCannotWrite);
	}
}
