#include "buffer.h"
#include "cuda-check.h"
#include "device.h"
#include "partition.h"
#include "ptx.h"
#include <cuda.h>

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

/* The driver's functions are looked up at run time: an older driver lacks green contexts, and
 * then only this mode is missing. */
template <class F> F driver_function(const char *name)
{
	void *function = nullptr;
	cudaDriverEntryPointQueryResult result;
	cudaError_t status = cudaGetDriverEntryPointByVersion(
		name, &function, 12050, cudaEnableDefault, &result);
	if (status != cudaSuccess || !function) {
		cudaGetLastError();
		throw Unsupported(std::string("this driver has no ") + name);
	}
	return (F)function;
}

#define DRIVER(name) driver_function<decltype(&::name)>(#name)

CUgreenCtx make_context(CUdevResource &resource, CUdevice device)
{
	CUdevResourceDesc description;
	CUgreenCtx context;
	CU_CHECK(DRIVER(cuDevResourceGenerateDesc)(&description, &resource, 1));
	CU_CHECK(DRIVER(cuGreenCtxCreate)(
		&context, description, device, CU_GREEN_CTX_DEFAULT_STREAM));
	return context;
}

cudaStream_t make_stream(CUgreenCtx context, int priority)
{
	cudaStream_t stream;
	if (context)
		CU_CHECK(DRIVER(cuGreenCtxStreamCreate)(
			(CUstream *)&stream, context, CU_STREAM_NON_BLOCKING, priority));
	else
		CUDA_CHECK(
			cudaStreamCreateWithPriority(&stream, cudaStreamNonBlocking, priority));
	return stream;
}

} // namespace

const char *sm_mode_name(SmMode mode)
{
	return mode == SmMode::none ? "none" : mode == SmMode::grid ? "grid" : "green";
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
	CUDA_CHECK(cudaSetDevice(device));
	if (split.mode == SmMode::green)
		make_green(device);
	make_streams();
	compute_lane.sms = split.mode == SmMode::none ? 0 : split.compute;
	comm_lane.sms = split.comm;
	seen = count_sms(compute_lane.stream);
}

/* The communication part is split off first, exactly as large as asked for; compute gets the
 * rest. */
void Partition::make_green(int device)
{
	CUdevResource all, comm, rest;
	unsigned int groups = 1;
	if (requested.comm <= 0)
		throw Unsupported("a green context needs communication SMs");
	CU_CHECK(DRIVER(cuDeviceGetDevResource)(device, &all, CU_DEV_RESOURCE_TYPE_SM));
	CUresult status = DRIVER(cuDevSmResourceSplitByCount)(&comm, &groups, &all, &rest,
		CU_DEV_SM_RESOURCE_SPLIT_IGNORE_SM_COSCHEDULING, requested.comm);
	if (status != CUDA_SUCCESS || groups != 1)
		throw Unsupported(
			"no green context of " + std::to_string(requested.comm) + " SMs");
	green[0] = make_context(rest, device);
	green[1] = make_context(comm, device);
}

void Partition::make_streams()
{
	int low, high;
	CUDA_CHECK(cudaDeviceGetStreamPriorityRange(&low, &high));
	compute_lane.stream = make_stream(green[0], low);
	compute_lane.side = make_stream(green[0], low);
	comm_lane.stream = make_stream(green[1], high);
}

Partition::~Partition()
{
	cudaSetDevice(device);
	for (cudaStream_t stream : {compute_lane.stream, compute_lane.side, comm_lane.stream})
		if (stream)
			cudaStreamDestroy(stream);
	for (CUgreenCtx context : green)
		if (context)
			DRIVER(cuGreenCtxDestroy)(context);
}

} // namespace bench
