#include "check-waiting.h"
#include "chip.h"
#include "comm-kernels.h"
#include "device.h"
#include "nccl.h"
#include "waiting.h"
#include <cmath>

namespace bench
{

namespace
{

constexpr uint64_t kLongNs = 2000000000, kShortNs = 5000000;
constexpr uint64_t kIdleNs[] = {20000, 1000000, 30000000};
constexpr double kLaunchNs = 20000; /* that an idle kernel may take beyond its time */
constexpr int64_t kMessageBytes = 4 << 20;

class Checks
{
      public:
	void add(const std::string &name, double error, double limit, const std::string &note)
	{
		results.push_back({name, error, limit, error <= limit, note});
	}
	std::vector<CheckResult> results;
};

void check_receive(Checks &checks, int device)
{
	std::string note = "GPU " + std::to_string(device);
	WaitingReceive receive(device, kLongNs);
	FreeSms free(device);
	int all = free.count();
	checks.add("SMs free of an idle GPU", std::abs(all - multiprocessors(device)), 0, note);
	for (int sms : {1, 4, 16, 32}) {
		receive.post(sms);
		int left = free.count();
		bool kept = receive.release();
		checks.add("receive holds its SMs", std::abs(all - left - sms), 0,
			note + ", " + std::to_string(sms) + " SMs");
		checks.add("receive is let go", kept ? 0 : 1, 0, note);
		checks.add("SMs free afterwards", std::abs(free.count() - all), 0, note);
	}
	WaitingReceive impatient(device, kShortNs);
	impatient.post(2);
	host_sleep_until(host_now_ns() + 10 * (int64_t)kShortNs);
	checks.add("receive gives up", impatient.release() ? 1 : 0, 0, note);
}

void check_idle(Checks &checks, int device)
{
	cudaStream_t stream;
	CUDA_CHECK(cudaSetDevice(device));
	CUDA_CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
	launch_idle(1000, stream);
	for (uint64_t ns : kIdleNs) {
		Event begin, end;
		begin.record(stream);
		launch_idle(ns, stream);
		end.record(stream);
		end.synchronize();
		double beyond = (double)begin.until_ns(end) - (double)ns;
		checks.add("idle time, ns beyond", beyond < 0 ? 1e9 : beyond, kLaunchNs,
			std::to_string(ns) + " ns");
	}
	CUDA_CHECK(cudaStreamDestroy(stream));
}

void check_nccl(Checks &checks, const std::vector<int> &devices, uint64_t seed)
{
	Nccl nccl(devices);
	std::vector<Buffer<char>> data;
	std::vector<void *> pointers;
	std::vector<cudaStream_t> streams;
	for (size_t r = 0; r < devices.size(); r++) {
		CUDA_CHECK(cudaSetDevice(devices[r]));
		data.emplace_back(2 * kMessageBytes);
		fill_random_bf16(data[r], kMessageBytes, seed + r, nullptr);
		CUDA_CHECK(cudaDeviceSynchronize());
		pointers.push_back(data[r]);
		streams.push_back(nullptr);
		CUDA_CHECK(cudaStreamCreateWithFlags(&streams[r], cudaStreamNonBlocking));
	}
	nccl.exchange(pointers, streams, kMessageBytes);
	for (size_t r = 0; r < devices.size(); r++) {
		std::vector<char> got = data[r].download();
		std::vector<char> sent = data[(r + 1) % devices.size()].download();
		double wrong = 0;
		for (int64_t i = 0; i < kMessageBytes; i++)
			wrong += got[kMessageBytes + i] != sent[i];
		/* With more than two, the last of several messages is there. */
		if (devices.size() == 2)
			checks.add("NCCL message, bytes wrong", wrong, 0, nccl.version());
		CUDA_CHECK(cudaStreamDestroy(streams[r]));
	}
}

} // namespace

std::vector<CheckResult> check_waiting(const std::vector<int> &devices, uint64_t seed)
{
	Checks checks;
	for (int device : devices) {
		check_receive(checks, device);
		check_idle(checks, device);
	}
	if (devices.size() < 2)
		return checks.results;
	try {
		check_nccl(checks, devices, seed);
	} catch (const Unsupported &e) {
		checks.add("NCCL message", 0, 0, std::string("skipped: ") + e.what());
	}
	return checks.results;
}

} // namespace bench
