/* The compute half of one layer: attention block and MLP, forward, backward for input and
 * backward for weights, ready to be captured. Communication works on the buffers it exposes. */
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

/* Device buffers at the border between compute and communication, all row-major, T tokens, R
 * rows, H = hidden. The layer owns them; they live as long as it does. A message row is
 * `row_bytes` bytes of values: H bytes of E4M3 plus one float per 128 values in the scale
 * buffer of the same name ([row][H/128]), or 2 H bytes of BF16 and scale pointers that are
 * null.
 *
 * Rows of expert e begin at row_begin[e], a multiple of 128; rows between its count and the
 * next begin are padding, zero from the start, which communication must leave alone. */
struct Wire {
	/* [T] dispatch F reads; attn F writes */
	void *hidden;
	float *hidden_scale;
	/* [R] dispatch F writes; mlp F and W read */
	void *expert_in;
	float *expert_in_scale;
	/* [R][H] combine F reads; mlp F writes */
	__nv_bfloat16 *expert_out;
	/* [T][H] combine F writes the sum of a token's rows; attn F reads */
	__nv_bfloat16 *combined;
	/* [T][H] gradient of the layer's output; Layer::cast_grad reads */
	__nv_bfloat16 *grad_out;
	/* [T] combine I reads; Layer::cast_grad writes */
	void *grad;
	float *grad_scale;
	/* [R] combine I writes; mlp I and W read */
	void *expert_grad;
	float *expert_grad_scale;
	/* [R][H] dispatch I reads; mlp I writes */
	__nv_bfloat16 *expert_grad_in;
	/* [T][H] dispatch I writes the sums; attn I reads */
	__nv_bfloat16 *hidden_grad;
	int64_t row_bytes;
	int scales_per_row; /* H / 128, or 0 */
	std::vector<int64_t>
		row_begin; /* experts_per_gpu + 1 entries; the last is rows allocated */
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
	Wire wire(int set);
	const char *attention_impl() const; /* cudnn | gemm_softmax */

      private:
	struct Impl;
	std::unique_ptr<Impl> impl;
};

} // namespace bench
