#include "linear.h"
#include "elementwise.h"
#include <cmath>

namespace bench
{

OwnedMatrix::OwnedMatrix(
	int64_t rows, int cols, bool fp8, const Segments &segments, bool with_row_scale)
    : data(rows * cols * (fp8 ? 1 : 2)), scale(fp8 ? rows * cols / 128 : 0),
      row_scale(fp8 && with_row_scale ? rows * cols / 128 : 0)
{
	matrix.data = data.get();
	matrix.scale = scale.get();
	matrix.row_scale = row_scale.get();
	matrix.rows = rows;
	matrix.cols = cols;
	matrix.segments = segments;
}

/* Scales of blocks of 128 x 128: inner blocks padded to a multiple of four. */
static int64_t block_scales(int outer, int inner)
{
	return int64_t(outer / 128) * ((inner / 128 + 3) / 4 * 4);
}

Linear::Linear(int out_width, int in_width, int used_rows, bool with_fp8, uint64_t with_seed)
    : out(out_width), in(in_width), used(used_rows), fp8(with_fp8), seed(with_seed),
      grad(int64_t(out_width) * in_width)
{
	Buffer<__nv_bfloat16> drawn = draw();
	if (!fp8) {
		plain = std::move(drawn);
		return;
	}
	weight = Buffer<uint8_t>(int64_t(out) * in);
	turned = Buffer<uint8_t>(int64_t(out) * in);
	weight_scale = Buffer<float>(block_scales(out, in));
	turned_scale = Buffer<float>(block_scales(in, out));
	quantise_weight(drawn, out, in, weight, weight_scale, turned, turned_scale, nullptr);
	CUDA_CHECK(cudaDeviceSynchronize());
}

Buffer<__nv_bfloat16> Linear::draw() const
{
	Buffer<__nv_bfloat16> drawn(int64_t(out) * in);
	fill_normal(drawn, int64_t(used) * in, 0, 1 / std::sqrt(float(in)), seed);
	return drawn;
}

GemmShape Linear::forward_shape(int64_t rows) const
{
	return bench::forward_shape(fp8, rows, out, in);
}

GemmShape Linear::input_grad_shape(int64_t rows) const
{
	return bench::input_grad_shape(fp8, rows, out, in);
}

GemmShape Linear::weight_grad_shape(int64_t rows) const
{
	return bench::weight_grad_shape(fp8, rows, out, in);
}

static const void *at(const Matrix &x, Run run)
{
	return static_cast<const char *>(x.data) + run.begin * x.cols * (x.fp8() ? 1 : 2);
}

static const float *scale_at(const Matrix &x, Run run)
{
	return x.fp8() ? x.scale + run.begin * (x.cols / 128) : nullptr;
}

void Linear::forward(Gemm &gemm, const GemmLane &lane, const GemmShape &shape, const Matrix &x,
	Run run, void *y) const
{
	GemmCall call;
	call.a = fp8 ? static_cast<const void *>(weight) : plain;
	call.scale_a = weight_scale;
	call.b = at(x, run);
	call.scale_b = scale_at(x, run);
	call.d = y;
	gemm.run(lane, shape, call);
}

void Linear::forward(
	Gemm &gemm, const GemmLane &lane, const Matrix &x, Run run, __nv_bfloat16 *y) const
{
	forward(gemm, lane, forward_shape(run.count), x, run, y + run.begin * out);
}

void Linear::forward(Gemm &gemm, const GemmLane &lane, const Matrix &x, Run run, float *y) const
{
	GemmShape shape = forward_shape(run.count);
	shape.float_out = true;
	forward(gemm, lane, shape, x, run, y + run.begin * out);
}

void Linear::input_grad(
	Gemm &gemm, const GemmLane &lane, const Matrix &dy, Run run, __nv_bfloat16 *dx) const
{
	GemmCall call;
	call.a = fp8 ? static_cast<const void *>(turned) : plain;
	call.scale_a = turned_scale;
	call.b = at(dy, run);
	call.scale_b = scale_at(dy, run);
	call.d = dx + run.begin * in;
	gemm.run(lane, input_grad_shape(run.count), call);
}

void Linear::weight_grad(Gemm &gemm, const GemmLane &lane, const Matrix &x,
	const Transposed &xt, const Matrix &dy, const Transposed &dyt, Run run)
{
	GemmCall call;
	call.d = grad;
	if (fp8) {
		call.a = xt.data + run.begin * in;
		call.scale_a = xt.scale + run.begin / 128 * in;
		call.b = dyt.data + run.begin * out;
		call.scale_b = dyt.scale + run.begin / 128 * out;
	} else {
		call.a = at(x, run);
		call.b = at(dy, run);
	}
	gemm.run(lane, weight_grad_shape(run.count), call);
}

} // namespace bench
