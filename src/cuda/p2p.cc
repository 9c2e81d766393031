#include "p2p.h"
#include "comm-kernels.h"
#include "cuda-check.h"
#include "event.h"
#include "median.h"

namespace bench
{

P2p::P2p(const std::vector<int> &devices, int64_t most_bytes, uint64_t seed) : devices(devices)
{
	for (int device : devices) {
		CUDA_CHECK(cudaSetDevice(device));
		send.emplace_back(most_bytes);
		receive.emplace_back(most_bytes);
		fill_random_bf16(send.back(), most_bytes / 16 * 16, seed + device, nullptr);
		CUDA_CHECK(cudaDeviceSynchronize());
	}
}

Work P2p::work(int rank, int64_t bytes, int64_t tokens) const
{
	bool loopback = devices.size() == 1;
	Work w;
	w.component = "p2p";
	w.phase = "F";
	w.impl = loopback ? "copy-engine-loopback" : "copy-engine";
	w.bound = loopback ? Bound::copy : Bound::nvlink;
	w.bytes = 2.0 * bytes;
	w.tokens = tokens;
	w.payload_bytes = bytes;
	w.wire_bytes = loopback ? 0 : bytes;
	char *to = receive[(rank + 1) % devices.size()], *from = send[rank];
	w.enqueue = [=](const Lane &lane) {
		CUDA_CHECK(cudaMemcpyAsync(to, from, bytes, cudaMemcpyDefault, lane.stream));
	};
	return w;
}

double peer_copy_gbps(int from, int to, int64_t bytes)
{
	std::vector<double> times;
	CUDA_CHECK(cudaSetDevice(to));
	Buffer<char> target(bytes);
	CUDA_CHECK(cudaSetDevice(from));
	Buffer<char> source(bytes);
	fill_random_bf16(source, bytes / 16 * 16, 1, nullptr);
	Event start, end;
	for (int i = 0; i < 9; i++) {
		start.record(nullptr);
		CUDA_CHECK(cudaMemcpyPeerAsync(target, to, source, from, bytes, nullptr));
		end.record(nullptr);
		end.synchronize();
		times.push_back((double)start.until_ns(end));
	}
	return (double)bytes / median(times);
}

} // namespace bench
