#include "buffer.h"
#include "cuda-check.h"
#include "device.h"
#include "partition.h"
#include "ptx.h"

namespace bench
{

namespace
{

constexpr unsigned long long kProbeNs = 50000;

/* Full-size CTAs that stay long enough for the whole grid's first wave to be resident. */
__global__ void __launch_bounds__(1024) probe_kernel(unsigned int *bits)
{
	if (threadIdx.x == 0)
		atomicOr(bits + sm_id() / 32, 1u << (sm_id() % 32));
	unsigned long long begin = now_ns();
	while (now_ns() - begin < kProbeNs)
		__nanosleep(1000);
}

cudaStream_t make_stream(int priority)
{
	cudaStream_t stream;
	CUDA_CHECK(cudaStreamCreateWithPriority(&stream, cudaStreamNonBlocking, priority));
	return stream;
}

} // namespace

const char *sm_mode_name(SmMode mode)
{
	return mode == SmMode::none ? "none" : "grid";
}

int count_sms(cudaStream_t stream)
{
	int device;
	CUDA_CHECK(cudaGetDevice(&device));
	Buffer<unsigned int> bits(64);
	CUDA_CHECK(cudaDeviceSynchronize());
	probe_kernel<<<4 * multiprocessors(device), 1024, 0, stream>>>(bits);
	LAUNCH_CHECK();
	int count = 0;
	for (unsigned int word : bits.download())
		count += __builtin_popcount(word);
	return count;
}

Partition::Partition(int device, const SmSplit &split) : device(device), requested(split)
{
	int low, high;
	CUDA_CHECK(cudaSetDevice(device));
	CUDA_CHECK(cudaDeviceGetStreamPriorityRange(&low, &high));
	compute_lane.stream = make_stream(low);
	compute_lane.side = make_stream(low);
	comm_lane.stream = make_stream(high);
	compute_lane.sms = split.mode == SmMode::none ? 0 : split.compute;
	comm_lane.sms = split.comm;
	seen = count_sms(compute_lane.stream);
}

Partition::~Partition()
{
	cudaSetDevice(device);
	for (cudaStream_t stream : {compute_lane.stream, compute_lane.side, comm_lane.stream})
		if (stream)
			cudaStreamDestroy(stream);
}

} // namespace bench
