#include "buffer.h"

namespace bench
{
namespace
{

/* splitmix64: a counter in, 64 well-mixed bits out. */
__device__ uint64_t mix(uint64_t x)
{
	x += 0x9e3779b97f4a7c15ull;
	x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ull;
	x = (x ^ (x >> 27)) * 0x94d049bb133111ebull;
	return x ^ (x >> 31);
}

__device__ float to(float x, float *)
{
	return x;
}

__device__ __nv_bfloat16 to(float x, __nv_bfloat16 *)
{
	return __float2bfloat16(x);
}

template <class T>
__global__ void normal_kernel(T *out, int64_t count, float mean, float sigma, uint64_t seed)
{
	const int64_t step = int64_t(gridDim.x) * blockDim.x;
	for (int64_t i = int64_t(blockIdx.x) * blockDim.x + threadIdx.x; i < count; i += step) {
		const uint64_t bits = mix(mix(seed) + i);
		/* Both in (0, 1]: the logarithm of zero is kept out. */
		const float u = (float(bits >> 40) + 1.0f) * 0x1p-24f;
		const float v = float(bits & 0xffffff) * 0x1p-24f;
		const float x = sqrtf(-2.0f * logf(u)) * cospif(2.0f * v);
		out[i] = to(mean + sigma * x, out);
	}
}

template <class T>
void launch_normal(T *out, int64_t count, float mean, float sigma, uint64_t seed)
{
	if (count == 0)
		return;
	normal_kernel<<<1024, 256>>>(out, count, mean, sigma, seed);
	LAUNCH_CHECK();
}

} // namespace

void fill_normal(__nv_bfloat16 *out, int64_t count, float mean, float sigma, uint64_t seed)
{
	launch_normal(out, count, mean, sigma, seed);
}

void fill_normal(float *out, int64_t count, float mean, float sigma, uint64_t seed)
{
	launch_normal(out, count, mean, sigma, seed);
}

void poison(void *out, size_t bytes)
{
	CUDA_CHECK(cudaMemset(out, 0xff, bytes));
}

} // namespace bench
