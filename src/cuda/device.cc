#include "device.h"
#include "cuda-check.h"

namespace bench
{

namespace
{

int attribute(cudaDeviceAttr which, int device)
{
	int value;
	CUDA_CHECK(cudaDeviceGetAttribute(&value, which, device));
	return value;
}

} // namespace

int multiprocessors(int device)
{
	return attribute(cudaDevAttrMultiProcessorCount, device);
}

int capability(int device)
{
	return 10 * attribute(cudaDevAttrComputeCapabilityMajor, device) +
	       attribute(cudaDevAttrComputeCapabilityMinor, device);
}

} // namespace bench
