/* Ops beside receives and messages of NCCL's. */
#include "comm-kernels.h"
#include "cuda-check.h"
#include "nccl.h"
#include "resident.h"
#include "waiting.h"
#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <mutex>

namespace bench
{

namespace
{

constexpr int kWatchS = 20;

/* Ends what waits for a message when nobody came to send it in time: a receive of NCCL's has no
 * time limit of its own. */
class Watchdog
{
      public:
	explicit Watchdog(Nccl &nccl) : thread([this, &nccl] { watch(nccl); })
	{
	}
	~Watchdog()
	{
		{
			std::lock_guard<std::mutex> guard(lock);
			over = true;
		}
		wake.notify_all();
		thread.join();
	}
	void alive()
	{
		beats++;
	}
	bool bitten() const
	{
		return bit;
	}

      private:
	void watch(Nccl &nccl)
	{
		std::unique_lock<std::mutex> guard(lock);
		for (unsigned seen = beats; !over; seen = beats) {
			wake.wait_for(
				guard, std::chrono::seconds(kWatchS), [this] { return over; });
			if (!over && beats == seen) {
				bit = true;
				nccl.abort();
				return;
			}
		}
	}
	std::mutex lock;
	std::condition_variable wake;
	bool over = false;
	std::atomic<bool> bit{false};
	std::atomic<unsigned> beats{0};
	std::thread thread;
};

/* What NCCL's messages of a pair of GPUs need. */
struct NcclPair {
	Nccl nccl;
	std::vector<Buffer<char>> data;
	std::vector<cudaStream_t> streams;

	NcclPair(const std::vector<int> &devices, int64_t bytes, uint64_t seed) : nccl(devices)
	{
		int low, high;
		std::vector<void *> pointers;
		for (int device : devices) {
			CUDA_CHECK(cudaSetDevice(device));
			CUDA_CHECK(cudaDeviceGetStreamPriorityRange(&low, &high));
			data.emplace_back(2 * bytes);
			fill_random_bf16(
				data.back(), (size_t)(2 * bytes) / 16 * 16, seed, nullptr);
			CUDA_CHECK(cudaDeviceSynchronize());
			streams.push_back(nullptr);
			CUDA_CHECK(cudaStreamCreateWithPriority(
				&streams.back(), cudaStreamNonBlocking, high));
			pointers.push_back(data.back());
		}
		nccl.exchange(pointers, streams, bytes);
	}
	~NcclPair()
	{
		for (cudaStream_t stream : streams)
			cudaStreamDestroy(stream);
	}
	void send(int from, int to, int64_t bytes)
	{
		nccl.send(from, to, data[from].get(), bytes, streams[from]);
	}
	void receive(int rank, int from, int64_t bytes)
	{
		nccl.receive(rank, from, data[rank].get() + bytes, bytes, streams[rank]);
	}
	void wait(int a, int b)
	{
		CUDA_CHECK(cudaStreamSynchronize(streams[a]));
		CUDA_CHECK(cudaStreamSynchronize(streams[b]));
	}
};

/* SMs that a waiting receive of NCCL's holds on `chip`. */
int nccl_sms(NcclPair &pair, Chip &chip, int peer, int64_t bytes)
{
	FreeSms free(chip.device);
	int before = free.count();
	pair.receive(chip.rank, peer, bytes);
	/* It is resident once fewer SMs are free. */
	int now = before;
	for (int64_t until = host_now_ns() + 100000000; host_now_ns() < until && now == before;)
		now = free.count();
	now = free.count();
	pair.send(peer, chip.rank, bytes);
	pair.wait(peer, chip.rank);
	return before - now;
}

void run_nccl(NcclPair &pair, Watchdog &watchdog, Chip &chip, int peer, Sampler &sampler,
	int64_t bytes, uint64_t seed, std::vector<TraceRow> &rows)
{
	int sms = nccl_sms(pair, chip, peer, bytes);
	CUDA_CHECK(cudaSetDevice(chip.device));
	Rounds rounds(chip, sampler, bytes);
	Event begin, end;
	begin.record(pair.streams[chip.rank]);
	for (int i = 0; i < 4; i++) {
		pair.receive(chip.rank, peer, bytes);
		pair.send(peer, chip.rank, bytes);
	}
	CUDA_CHECK(cudaSetDevice(chip.device));
	end.record(pair.streams[chip.rank]);
	end.synchronize();
	int count = (int)(rounds.lasts_ns() * kMovingSpare / (begin.until_ns(end) / 4.0)) + 1;
	std::vector<Beside> all;
	for (bool moving : {false, true})
		for (bool alone : {true, false}) {
			Beside beside;
			beside.moving = moving;
			beside.alone = alone;
			beside.nccl = true;
			beside.sms = alone ? 0 : sms;
			all.push_back(beside);
		}
	std::mt19937_64 random(seed);
	for (int rep = 0; rep < kResidentWarmup + kResidentReps && !Capture::interrupted;
		rep++) {
		std::shuffle(all.begin(), all.end(), random);
		for (size_t i = 0; i < all.size(); i++) {
			const Beside &beside = all[i];
			watchdog.alive();
			for (int k = 0; !beside.alone && k < (beside.moving ? count : 1); k++) {
				pair.receive(chip.rank, peer, bytes);
				if (beside.moving)
					pair.send(peer, chip.rank, bytes);
			}
			CUDA_CHECK(cudaSetDevice(chip.device));
			/* Until its kernel is there. */
			if (!beside.alone)
				host_sleep_until(host_now_ns() + 100000);
			rounds.run(beside, rep, (int)i, [&] {
				return beside.alone ||
				       cudaStreamQuery(pair.streams[chip.rank]) ==
					       cudaErrorNotReady;
			});
			if (!beside.alone && !beside.moving)
				pair.send(peer, chip.rank, bytes);
			pair.wait(peer, chip.rank);
			CUDA_CHECK(cudaSetDevice(chip.device));
			if (watchdog.bitten())
				throw CudaError("a receive of NCCL's waited in vain");
		}
	}
	rows.insert(rows.end(), rounds.rows.begin(), rounds.rows.end());
}

} // namespace

void measure_beside_nccl(const Chips &chips, Sampler &sampler, int64_t bytes, uint64_t seed,
	std::vector<TraceRow> &rows, std::string &version)
{
	std::vector<int> devices;
	for (const auto &chip : chips)
		devices.push_back(chip->device);
	NcclPair pair(devices, bytes, seed);
	Watchdog watchdog(pair.nccl);
	version = pair.nccl.version();
	try {
		for (const auto &chip : chips) {
			watchdog.alive();
			run_nccl(pair, watchdog, *chip, (int)((chip->rank + 1) % chips.size()),
				sampler, bytes, seed, rows);
		}
	} catch (...) {
		/* To free memory would wait for a receive that is still there. */
		pair.nccl.abort();
		throw;
	}
}

} // namespace bench
