/* The compute half of one layer: attention block and MLP, forward, backward for input and
 * backward for weights, ready to be captured. */
#pragma once
#include "model.h"
#include "work.h"
#include <cuda_bf16.h>
#include <memory>

namespace bench
{

struct LayerOptions {
	int64_t tokens = 4096; /* of the micro-batch; a multiple of 128 */
	/* Rows that each expert of this GPU receives; empty for a dense model. */
	std::vector<int64_t> rows_per_expert;
	uint64_t seed = 1;
	bool fp8 = true;                /* block-scaled FP8; needs compute capability 9.0 */
	std::string attention = "auto"; /* auto | cudnn | gemm_softmax */
};

/* Owns weights, gradients and two sets of activations on the device that was current when it
 * was made: set 0 for the chunk that runs forward, set 1 for the chunk that runs backward, so
 * that the two can overlap. Both are filled by a forward and a backward pass on construction.
 * Routing weights travel inside the layer (they are 0.05 % of the message). Not copyable; one
 * host thread at a time. */
class Layer
{
      public:
	/* Throws Unsupported where the device cannot do what `options` ask for. */
	Layer(const Model &model, const LayerOptions &options);
	~Layer();
	Layer(const Layer &) = delete;
	Layer &operator=(const Layer &) = delete;

	/* Whole components on set 0 or 1: attn F, I, W and mlp F, I, W. They refer to the
	 * layer, which must outlive them, and enqueue on a lane whose `sms` prepare() has seen.
	 */
	std::vector<Work> works(int set);
	/* The kernels inside them, in order; a group of expert GEMMs counts as one. */
	std::vector<Work> parts(int set);
	/* The same GEMM shapes (part names too), each through cuBLASLt alone on operands of its
	 * own. */
	std::vector<Work> gemm_yardsticks();
	/* Chooses GEMM algorithms for an SM budget (0 = all) by measurement; takes a second or
	 * two and synchronises. Before the first enqueue with that budget, outside any capture.
	 */
	void prepare(int sms);
	/* The cast of grad_out to message rows, with which combine I begins. Dense: not needed.
	 */
	Work cast_grad(int set);
	const char *attention_impl() const; /* cudnn | gemm_softmax */

      private:
	struct Impl;
	std::unique_ptr<Impl> impl;
};

} // namespace bench
