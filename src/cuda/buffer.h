/* Device memory with an owner, and what is put into it before a measurement. */
#pragma once
#include "cuda-check.h"
#include <cstddef>
#include <cstdint>
#include <cuda_bf16.h>
#include <utility>
#include <vector>

namespace bench
{

/* `count` elements on the device that was current on construction, zeroed. Moves, never copies.
 */
template <class T> class Buffer
{
      public:
	Buffer() = default;
	explicit Buffer(int64_t count) : elements(count)
	{
		if (count > 0) {
			CUDA_CHECK(cudaMalloc(&pointer, bytes()));
			CUDA_CHECK(cudaMemset(pointer, 0, bytes()));
		}
	}
	~Buffer()
	{
		cudaFree(pointer);
	}
	Buffer(Buffer &&other) noexcept
	{
		swap(other);
	}
	Buffer &operator=(Buffer &&other) noexcept
	{
		swap(other);
		return *this;
	}
	T *get() const
	{
		return pointer;
	}
	operator T *() const
	{
		return pointer;
	}
	int64_t size() const
	{
		return elements;
	}
	size_t bytes() const
	{
		return size_t(elements) * sizeof(T);
	}
	/* A copy on the host; waits for all work of the device. */
	std::vector<T> download() const
	{
		std::vector<T> host(elements);
		CUDA_CHECK(cudaDeviceSynchronize());
		CUDA_CHECK(cudaMemcpy(host.data(), pointer, bytes(), cudaMemcpyDeviceToHost));
		return host;
	}
	void upload(const std::vector<T> &host)
	{
		CUDA_CHECK(cudaMemcpy(pointer, host.data(), bytes(), cudaMemcpyHostToDevice));
	}

      private:
	void swap(Buffer &other)
	{
		std::swap(pointer, other.pointer);
		std::swap(elements, other.elements);
	}
	T *pointer = nullptr;
	int64_t elements = 0;
};

/* Normal random numbers; the same seed gives the same numbers on every device. Random, because
 * a chip multiplies zeros faster than data. */
void fill_normal(__nv_bfloat16 *out, int64_t count, float mean, float sigma, uint64_t seed);
void fill_normal(float *out, int64_t count, float mean, float sigma, uint64_t seed);
/* All bits set: NaN as BF16, FP32 and E4M3, so that an element nobody writes cannot pass. */
void poison(void *out, size_t bytes);

} // namespace bench
