#include "event.h"
#include "cuda-check.h"
#include <cmath>

namespace bench
{

Event::Event(unsigned flags)
{
	CUDA_CHECK(cudaEventCreateWithFlags(&event, flags));
}

Event::~Event()
{
	if (event)
		cudaEventDestroy(event);
}

void Event::record(cudaStream_t stream)
{
	CUDA_CHECK(cudaEventRecord(event, stream));
}

void Event::synchronize() const
{
	CUDA_CHECK(cudaEventSynchronize(event));
}

int64_t Event::until_ns(const Event &end) const
{
	float ms;
	CUDA_CHECK(cudaEventElapsedTime(&ms, event, end.event));
	return llround((double)ms * 1e6);
}

} // namespace bench
