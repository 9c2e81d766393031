#include "graph.h"
#include "cuda-check.h"

namespace bench
{

Graph::Graph(cudaStream_t stream, const std::function<void()> &enqueue)
{
	cudaGraph_t graph;
	CUDA_CHECK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeRelaxed));
	enqueue();
	CUDA_CHECK(cudaStreamEndCapture(stream, &graph));
	CUDA_CHECK(cudaGraphInstantiate(&exec, graph, 0));
	CUDA_CHECK(cudaGraphDestroy(graph));
}

Graph::~Graph()
{
	if (exec)
		cudaGraphExecDestroy(exec);
}

void Graph::upload(cudaStream_t stream) const
{
	CUDA_CHECK(cudaGraphUpload(exec, stream));
}

void Graph::launch(cudaStream_t stream) const
{
	CUDA_CHECK(cudaGraphLaunch(exec, stream));
}

} // namespace bench
