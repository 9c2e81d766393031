/* Causal attention of one sequence, softmax(q k^T / sqrt(qk)) v, forward and backward. */
#pragma once
#include "buffer.h"
#include "gemm.h"
#include <memory>
#include <string>

namespace bench
{

/* Heads inside a row-major matrix of tokens: element (token, head, i) is data[token * row +
 * head * head_stride + i]. */
struct HeadView {
	__nv_bfloat16 *data = nullptr;
	int64_t row = 0;
	int64_t head = 0;
};

/* q, o and their gradients have `heads` heads, k and v have `kv_heads`, which divide `heads`.
 */
struct AttentionTask {
	int64_t tokens;
	int heads, kv_heads;
	int qk, v_width; /* values of a head */
	HeadView q, k, v, o;
	HeadView dq, dk, dv, d_o;
	float *lse; /* [heads][tokens]: what forward leaves for backward */
};

/* Bound to the buffers of one task; all memory is taken on construction, execution is
 * asynchronous and capturable. */
class Attention
{
      public:
	virtual ~Attention() = default;
	virtual void forward(const GemmLane &lane) = 0;
	/* Writes dq, dk and dv from d_o and what forward left. */
	virtual void backward(const GemmLane &lane) = 0;
	virtual const char *impl() const = 0;
};

/* cuDNN's fused kernels, the backward in its non-deterministic form. Throws Unsupported where
 * cuDNN, its frontend or this GPU cannot. */
std::unique_ptr<Attention> make_cudnn_attention(const AttentionTask &task);
/* GEMMs over whole score matrices with our softmax between them: twice the operations, and the
 * scores go through memory. `gemm` must outlive it. */
std::unique_ptr<Attention> make_gemm_attention(const AttentionTask &task, Gemm &gemm);
/* `kind` is cudnn, gemm_softmax, or auto: the first that works. `why` receives the reason where
 * auto falls back. */
std::unique_ptr<Attention> make_attention(
	const std::string &kind, const AttentionTask &task, Gemm &gemm, std::string &why);

} // namespace bench
