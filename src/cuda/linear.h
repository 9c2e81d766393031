/* Matrices with memory behind them, and the weight of one linear layer with its three products.
 */
#pragma once
#include "buffer.h"
#include "gemm.h"
#include "matrix.h"

namespace bench
{

/* A Matrix that owns its memory, zeroed. */
class OwnedMatrix
{
      public:
	OwnedMatrix() = default;
	/* FP8 with scales (and a copy of them by rows), or BF16. */
	OwnedMatrix(int64_t rows, int cols, bool fp8, const Segments &segments,
		bool row_scale = false);
	const Matrix &view() const
	{
		return matrix;
	}

      private:
	Matrix matrix;
	Buffer<uint8_t> data;
	Buffer<float> scale, row_scale;
};

/* Memory for the transpose of an FP8 matrix; nothing is allocated in BF16, where it is not
 * used. */
class OwnedTransposed
{
      public:
	OwnedTransposed() = default;
	OwnedTransposed(int64_t rows, int cols, bool fp8)
	    : data(fp8 ? rows * cols : 0), scale(fp8 ? rows / 128 * cols : 0)
	{
	}
	Transposed view() const
	{
		return {data.get(), scale.get()};
	}

      private:
	Buffer<uint8_t> data;
	Buffer<float> scale;
};

/* Rows [begin, begin + count) of a matrix: one run of its segments. */
struct Run {
	int64_t begin, count;
};

/* y = x w^T with w [out][in], both multiples of 128. Holds w as the GEMMs want it (FP8: also
 * the transpose) and the FP32 gradient, zero at first. */
class Linear
{
      public:
	/* Normal random weights of deviation 1 / sqrt(in); rows from `used` on are zero. */
	Linear(int out, int in, int used, bool fp8, uint64_t seed);
	GemmShape forward_shape(int64_t rows) const;
	GemmShape input_grad_shape(int64_t rows) const;
	GemmShape weight_grad_shape(int64_t rows) const;
	/* y[rows of x][out]; `run` says which rows. In FP32 where a router asks for it. */
	void forward(Gemm &gemm, const GemmLane &lane, const Matrix &x, Run run,
		__nv_bfloat16 *y) const;
	void forward(
		Gemm &gemm, const GemmLane &lane, const Matrix &x, Run run, float *y) const;
	/* dx[rows][in] from dy[rows][out]. */
	void input_grad(Gemm &gemm, const GemmLane &lane, const Matrix &dy, Run run,
		__nv_bfloat16 *dx) const;
	/* grad += dy^T x; the transposes are read in FP8, the matrices in BF16. */
	void weight_grad(Gemm &gemm, const GemmLane &lane, const Matrix &x,
		const Transposed &xt, const Matrix &dy, const Transposed &dyt, Run run);
	/* The weights in BF16, before any quantisation, drawn again from the seed. */
	Buffer<__nv_bfloat16> draw() const;
	Buffer<float> &gradient()
	{
		return grad;
	}

      private:
	void forward(Gemm &gemm, const GemmLane &lane, const GemmShape &shape, const Matrix &x,
		Run run, void *y) const;
	int out, in, used;
	bool fp8;
	uint64_t seed;
	Buffer<__nv_bfloat16> plain;
	Buffer<uint8_t> weight, turned;
	Buffer<float> weight_scale, turned_scale, grad;
};

} // namespace bench
