/* What the microbenchmark measures: a Work is one component of a layer in one phase, ready to
 * be enqueued on streams and captured into a graph. Those who build kernels make Works; those
 * who capture time them; neither knows the other. */
#pragma once
#include <cstdint>
#include <cuda_runtime.h>
#include <functional>
#include <string>
#include <vector>

namespace bench
{

/* Where a Work is enqueued. All its launches go to `stream`, or to `side` between a fork from
 * and a join back to `stream` made with events, so that a capture of `stream` sees everything.
 */
struct Lane {
	cudaStream_t stream = nullptr;
	cudaStream_t side =
		nullptr; /* second compute stream (paired weight gradients); may be null */
	int sms = 0;     /* SMs that persistent kernels should take; 0 = all of them */
};

/* Which measured ceiling a Work is held against. */
enum class Bound {
	fp8_gemm,
	bf16_gemm,
	copy,
	nvlink
};

struct Work {
	std::string component; /* attn | dispatch | mlp | combine | p2p */
	std::string phase;     /* F | I (backward for input) | W (backward for weights) */
	std::string part; /* empty = the whole component; else one kernel of it, such as q_up */
	std::string
		impl; /* what does the work: cublaslt-fp8-block, cudnn, gemm_softmax, own ... */
	Bound bound = Bound::copy;
	double flops = 0;   /* floating-point operations of one execution */
	double bytes = 0;   /* bytes of device memory it must move, read plus written */
	int64_t tokens = 0; /* tokens of the micro-batch */
	int64_t rows = 0;   /* rows of the experts on this GPU; 0 where it has no meaning */
	int64_t payload_bytes = 0; /* communication: bytes of the message itself */
	int64_t wire_bytes = 0;    /* communication: bytes that cross a link */
	std::function<void(const Lane &)>
		enqueue; /* asynchronous and capturable; never allocates */
	std::vector<std::string>
		notes; /* printed once in the report: fallbacks taken, limits met */
};

} // namespace bench
