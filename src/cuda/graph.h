/* What a stream was given, to be launched as one. */
#pragma once
#include <cuda_runtime.h>
#include <functional>
#include <utility>

namespace bench
{

/* An executable CUDA graph. Moves, never copies. */
class Graph
{
      public:
	Graph() = default;
	/* Captures what `enqueue` gives to `stream`, and to others that wait for it and that it
	 * waits for in the end. */
	Graph(cudaStream_t stream, const std::function<void()> &enqueue);
	~Graph();
	Graph(Graph &&other) noexcept
	{
		std::swap(exec, other.exec);
	}
	Graph &operator=(Graph &&other) noexcept
	{
		std::swap(exec, other.exec);
		return *this;
	}
	/* To the device's memory before the first launch. */
	void upload(cudaStream_t stream) const;
	void launch(cudaStream_t stream) const;

      private:
	cudaGraphExec_t exec = nullptr;
};

} // namespace bench
