/* Matrix products through cuBLASLt. Shapes are column-major, as the library sees them:
 * D[m][n] = alpha op(A)[m][k] op(B)[k][n] (+ D). A row-major matrix is its own transpose. */
#pragma once
#include "cuda-check.h"
#include <cstdint>
#include <map>

namespace bench
{

/* How FP8 operands are scaled. */
enum class Scale {
	none,   /* BF16 */
	vec128, /* one FP32 for 128 values along k; [k/128][rows of the operand], rows
		   contiguous */
	blk128, /* one FP32 for 128 x 128; [rows/128][k/128 rounded up to 4], k contiguous */
	tensor, /* one FP32 for the matrix, accumulated without promotion */
};

struct GemmShape {
	int64_t m = 0, n = 0, k = 0;
	bool transpose_a = false, transpose_b = false;
	int64_t lda = 0, ldb = 0, ldd = 0;
	int64_t batch = 1;
	int64_t stride_a = 0, stride_b = 0,
		stride_d = 0; /* elements between members of the batch */
	Scale scale_a = Scale::none, scale_b = Scale::none;
	bool float_out = false;  /* D in FP32 instead of BF16 */
	bool accumulate = false; /* adds to D */

	double flops() const
	{
		return 2.0 * m * n * k * batch;
	}
	/* Bytes of operands and result, each once. */
	double bytes() const;
	bool operator<(const GemmShape &other) const;
};

/* y[rows][out] = x[rows][in] w[out][in]^T; FP8: w by blocks, x by vectors. */
GemmShape forward_shape(bool fp8, int64_t rows, int64_t out, int64_t in);
/* dx[rows][in] = dy[rows][out] w; FP8 reads a transposed copy w[in][out], as the tensor cores
 * take FP8 contiguous along k only. */
GemmShape input_grad_shape(bool fp8, int64_t rows, int64_t out, int64_t in);
/* dw[out][in] += dy[rows][out]^T x[rows][in] in FP32; FP8 reads both transposed ([width][rows])
 * and scaled along rows. */
GemmShape weight_grad_shape(bool fp8, int64_t rows, int64_t out, int64_t in);

struct GemmCall {
	const void *a = nullptr;
	const void *b = nullptr;
	const float *scale_a = nullptr; /* null with Scale::none */
	const float *scale_b = nullptr;
	void *d = nullptr;
	float alpha = 1.0f;
};

/* Where a product runs: GEMMs that can overlap need workspaces of their own. */
struct GemmLane {
	cudaStream_t stream = nullptr;
	void *workspace = nullptr; /* Gemm::workspace_bytes */
	int sms = 0;               /* 0 = all */
};

/* Chosen algorithms of one device. The first run() of a shape at an SM budget measures what the
 * heuristic proposes, on the operands given, and keeps the fastest: it synchronises and leaves
 * D of an accumulating product with extra terms. Later runs only enqueue. */
class Gemm
{
      public:
	static constexpr size_t workspace_bytes = size_t(64) << 20;

	Gemm();
	~Gemm();
	Gemm(const Gemm &) = delete;
	Gemm &operator=(const Gemm &) = delete;

	/* Throws Unsupported where the library has no algorithm, CudaError when a shape that
	 * was never run is enqueued under capture. */
	void run(const GemmLane &lane, const GemmShape &shape, const GemmCall &call);

      private:
	struct Plan;
	struct Key {
		GemmShape shape;
		int sms;
		bool operator<(const Key &other) const;
	};
	Plan make_plan(const GemmLane &lane, const GemmShape &shape, const GemmCall &call);
	void choose(
		Plan &plan, const GemmLane &lane, const GemmShape &shape, const GemmCall &call);
	cublasStatus_t enqueue(const Plan &plan, const GemmLane &lane, const GemmShape &shape,
		const GemmCall &call);

	cublasLtHandle_t handle = nullptr;
	std::map<Key, Plan> plans;
};

} // namespace bench
