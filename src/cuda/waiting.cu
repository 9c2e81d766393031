#include "cuda-check.h"
#include "device.h"
#include "ptx.h"
#include "waiting.h"
#include <chrono>
#include <thread>

namespace bench
{

namespace
{

constexpr int kReceiveThreads = 640; /* as many as NCCL's */
constexpr unsigned long long kProbeNs = 20000;
constexpr unsigned int kNapNs = 2000;
constexpr int kMostSms = 1024;
enum : unsigned int {
	kAbsent,
	kBegun,
	kGaveUp
};

__global__ void __launch_bounds__(kReceiveThreads, 1)
	receive_kernel(const unsigned long long *flag, unsigned long long ticket,
		volatile unsigned int *state, unsigned long long timeout_ns)
{
	if (threadIdx.x == 0) {
		state[blockIdx.x] = kBegun;
		unsigned long long begin = now_ns();
		while (load_acquire(flag) < ticket)
			if (now_ns() - begin > timeout_ns) {
				state[blockIdx.x] = kGaveUp;
				break;
			}
	}
	__syncthreads();
}

/* One that fits no SM where another CTA holds shared memory. */
__global__ void free_kernel(volatile unsigned int *seen)
{
	seen[sm_id() % kMostSms] = 1;
	unsigned long long begin = now_ns();
	while (now_ns() - begin < kProbeNs)
		__nanosleep(1000);
}

__global__ void idle_kernel(unsigned long long ns)
{
	unsigned long long begin = now_ns(), spent;
	while ((spent = now_ns() - begin) < ns)
		__nanosleep(ns - spent > 2 * kNapNs ? kNapNs : 100);
}

int most_shared_bytes(int device)
{
	int bytes;
	CUDA_CHECK(cudaDeviceGetAttribute(
		&bytes, cudaDevAttrMaxSharedMemoryPerBlockOptin, device));
	return bytes;
}

} // namespace

WaitingReceive::WaitingReceive(int device, uint64_t timeout_ns)
    : device(device), timeout_ns(timeout_ns)
{
	int low, high;
	void *host;
	CUDA_CHECK(cudaSetDevice(device));
	shared_bytes = most_shared_bytes(device);
	CUDA_CHECK(cudaFuncSetAttribute((const void *)receive_kernel,
		cudaFuncAttributeMaxDynamicSharedMemorySize, shared_bytes));
	CUDA_CHECK(cudaDeviceGetStreamPriorityRange(&low, &high));
	CUDA_CHECK(cudaStreamCreateWithPriority(&receives, cudaStreamNonBlocking, high));
	CUDA_CHECK(cudaStreamCreateWithPriority(&releases, cudaStreamNonBlocking, high));
	flag = Buffer<unsigned long long>(1);
	CUDA_CHECK(cudaHostAlloc(&host, 8 + kMostSms * sizeof(unsigned int),
		cudaHostAllocPortable | cudaHostAllocMapped));
	ticket_source = (unsigned long long *)host;
	state = (volatile unsigned int *)(ticket_source + 1);
}

WaitingReceive::~WaitingReceive()
{
	cudaSetDevice(device);
	if (posted) {
		*ticket_source = tickets;
		cudaMemcpyAsync(flag, ticket_source, sizeof *ticket_source,
			cudaMemcpyHostToDevice, releases);
		cudaStreamSynchronize(receives);
	}
	cudaStreamDestroy(receives);
	cudaStreamDestroy(releases);
	cudaFreeHost(ticket_source);
}

void WaitingReceive::post(int sms)
{
	posted = sms;
	if (sms == 0)
		return;
	for (int i = 0; i < sms; i++)
		state[i] = kAbsent;
	tickets++;
	receive_kernel<<<sms, kReceiveThreads, shared_bytes, receives>>>(
		flag, tickets, state, timeout_ns);
	LAUNCH_CHECK();
	auto begin = std::chrono::steady_clock::now();
	for (int begun = 0; begun < sms; begun += state[begun] != kAbsent)
		if (std::chrono::steady_clock::now() - begin > std::chrono::seconds(1))
			throw CudaError("a receive of " + std::to_string(sms) +
					" SMs: not as many were free within a second");
}

bool WaitingReceive::release()
{
	if (posted == 0)
		return true;
	int sms = posted;
	posted = 0;
	*ticket_source = tickets;
	CUDA_CHECK(cudaMemcpyAsync(
		flag, ticket_source, sizeof *ticket_source, cudaMemcpyHostToDevice, releases));
	CUDA_CHECK(cudaStreamSynchronize(releases));
	CUDA_CHECK(cudaStreamSynchronize(receives));
	bool kept = true;
	for (int i = 0; i < sms; i++)
		kept &= state[i] != kGaveUp;
	return kept;
}

FreeSms::FreeSms(int device) : device(device)
{
	void *host;
	CUDA_CHECK(cudaSetDevice(device));
	shared_bytes = most_shared_bytes(device);
	sms = multiprocessors(device);
	CUDA_CHECK(cudaFuncSetAttribute((const void *)free_kernel,
		cudaFuncAttributeMaxDynamicSharedMemorySize, shared_bytes));
	CUDA_CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
	CUDA_CHECK(cudaHostAlloc(&host, kMostSms * sizeof(unsigned int),
		cudaHostAllocPortable | cudaHostAllocMapped));
	seen = (volatile unsigned int *)host;
}

FreeSms::~FreeSms()
{
	cudaSetDevice(device);
	cudaStreamDestroy(stream);
	cudaFreeHost((void *)seen);
}

int FreeSms::count()
{
	int count = 0;
	CUDA_CHECK(cudaSetDevice(device));
	for (int i = 0; i < kMostSms; i++)
		seen[i] = 0;
	free_kernel<<<4 * sms, 1, shared_bytes, stream>>>(seen);
	LAUNCH_CHECK();
	CUDA_CHECK(cudaStreamSynchronize(stream));
	for (int i = 0; i < kMostSms; i++)
		count += seen[i] != 0;
	return count;
}

void launch_idle(uint64_t ns, cudaStream_t stream)
{
	idle_kernel<<<1, 1, 0, stream>>>(ns);
	LAUNCH_CHECK();
}

} // namespace bench
