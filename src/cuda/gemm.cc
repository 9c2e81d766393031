#include "gemm.h"
#include "event.h"
#include <tuple>
#include <vector>

namespace bench
{

/* The heuristic's first proposal is often not the fastest; the best is nearly always among
 * these. */
static constexpr int proposals = 16;
static constexpr int tuning_runs = 3;
/* Below this a product is launch-bound and not worth measuring. */
static constexpr double tuning_flops = 2e9;

struct Gemm::Plan {
	cublasLtMatmulDesc_t operation = nullptr;
	cublasLtMatrixLayout_t a = nullptr, b = nullptr, d = nullptr;
	cublasLtMatmulAlgo_t algorithm = {};
	double ms = 0;
};

static auto tie(const GemmShape &s)
{
	return std::tie(s.m, s.n, s.k, s.transpose_a, s.transpose_b, s.lda, s.ldb, s.ldd,
		s.batch, s.stride_a, s.stride_b, s.stride_d, s.scale_a, s.scale_b, s.float_out,
		s.accumulate);
}

bool GemmShape::operator<(const GemmShape &other) const
{
	return tie(*this) < tie(other);
}

bool Gemm::Key::operator<(const Key &other) const
{
	return std::tie(sms, shape) < std::tie(other.sms, other.shape);
}

double GemmShape::bytes() const
{
	const double in = scale_a == Scale::none ? 2 : 1;
	const double out = (float_out ? 4 : 2) * (accumulate ? 2 : 1);
	return batch * (in * (double(m) * k + double(k) * n) + out * m * n);
}

GemmShape forward_shape(bool fp8, int64_t rows, int64_t out, int64_t in)
{
	GemmShape shape;
	shape.m = out;
	shape.n = rows;
	shape.k = in;
	shape.transpose_a = true;
	shape.lda = in;
	shape.ldb = in;
	shape.ldd = out;
	if (fp8) {
		shape.scale_a = Scale::blk128;
		shape.scale_b = Scale::vec128;
	}
	return shape;
}

GemmShape input_grad_shape(bool fp8, int64_t rows, int64_t out, int64_t in)
{
	GemmShape shape = forward_shape(fp8, rows, in, out);
	if (!fp8) {
		shape.transpose_a = false;
		shape.lda = in;
	}
	return shape;
}

GemmShape weight_grad_shape(bool fp8, int64_t rows, int64_t out, int64_t in)
{
	GemmShape shape;
	shape.m = in;
	shape.n = out;
	shape.k = rows;
	shape.ldd = in;
	shape.float_out = true;
	shape.accumulate = true;
	shape.transpose_a = fp8;
	shape.transpose_b = !fp8;
	shape.lda = fp8 ? rows : in;
	shape.ldb = fp8 ? rows : out;
	if (fp8)
		shape.scale_a = shape.scale_b = Scale::vec128;
	return shape;
}

Gemm::Gemm()
{
	CUBLAS_CHECK(cublasLtCreate(&handle));
}

Gemm::~Gemm()
{
	for (auto &entry : plans) {
		cublasLtMatmulDescDestroy(entry.second.operation);
		cublasLtMatrixLayoutDestroy(entry.second.a);
		cublasLtMatrixLayoutDestroy(entry.second.b);
		cublasLtMatrixLayoutDestroy(entry.second.d);
	}
	cublasLtDestroy(handle);
}

template <class T>
static void set(cublasLtMatmulDesc_t operation, cublasLtMatmulDescAttributes_t name, T value)
{
	CUBLAS_CHECK(cublasLtMatmulDescSetAttribute(operation, name, &value, sizeof value));
}

static cublasLtMatrixLayout_t make_layout(cudaDataType_t type, int64_t rows, int64_t cols,
	int64_t ld, int64_t batch, int64_t stride)
{
	cublasLtMatrixLayout_t layout;
	CUBLAS_CHECK(cublasLtMatrixLayoutCreate(&layout, type, rows, cols, ld));
	if (batch > 1) {
		const int32_t count = int32_t(batch);
		CUBLAS_CHECK(cublasLtMatrixLayoutSetAttribute(
			layout, CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT, &count, sizeof count));
		CUBLAS_CHECK(cublasLtMatrixLayoutSetAttribute(layout,
			CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET, &stride, sizeof stride));
	}
	return layout;
}

static cublasLtMatmulMatrixScale_t library_scale(Scale scale)
{
	switch (scale) {
	case Scale::vec128:
		return CUBLASLT_MATMUL_MATRIX_SCALE_VEC128_32F;
	case Scale::blk128:
		return CUBLASLT_MATMUL_MATRIX_SCALE_BLK128x128_32F;
	default:
		return CUBLASLT_MATMUL_MATRIX_SCALE_SCALAR_32F;
	}
}

static cublasLtMatmulDesc_t make_operation(const GemmShape &shape, int sms)
{
	cublasLtMatmulDesc_t operation;
	CUBLAS_CHECK(cublasLtMatmulDescCreate(&operation, CUBLAS_COMPUTE_32F, CUDA_R_32F));
	const cublasOperation_t n = CUBLAS_OP_N, t = CUBLAS_OP_T;
	set(operation, CUBLASLT_MATMUL_DESC_TRANSA, shape.transpose_a ? t : n);
	set(operation, CUBLASLT_MATMUL_DESC_TRANSB, shape.transpose_b ? t : n);
	set(operation, CUBLASLT_MATMUL_DESC_SM_COUNT_TARGET, int32_t(sms));
	if (shape.scale_a != Scale::none) {
		set(operation, CUBLASLT_MATMUL_DESC_A_SCALE_MODE, library_scale(shape.scale_a));
		set(operation, CUBLASLT_MATMUL_DESC_B_SCALE_MODE, library_scale(shape.scale_b));
		const int8_t fast = shape.scale_a == Scale::tensor;
		set(operation, CUBLASLT_MATMUL_DESC_FAST_ACCUM, fast);
	}
	return operation;
}

cublasStatus_t Gemm::enqueue(
	const Plan &plan, const GemmLane &lane, const GemmShape &shape, const GemmCall &call)
{
	if (shape.scale_a != Scale::none) {
		set(plan.operation, CUBLASLT_MATMUL_DESC_A_SCALE_POINTER, call.scale_a);
		set(plan.operation, CUBLASLT_MATMUL_DESC_B_SCALE_POINTER, call.scale_b);
	}
	const float beta = shape.accumulate ? 1.0f : 0.0f;
	return cublasLtMatmul(handle, plan.operation, &call.alpha, call.a, plan.a, call.b,
		plan.b, &beta, call.d, plan.d, call.d, plan.d, &plan.algorithm, lane.workspace,
		workspace_bytes, lane.stream);
}

void Gemm::choose(
	Plan &plan, const GemmLane &lane, const GemmShape &shape, const GemmCall &call)
{
	if (shape.scale_a != Scale::none) {
		set(plan.operation, CUBLASLT_MATMUL_DESC_A_SCALE_POINTER, call.scale_a);
		set(plan.operation, CUBLASLT_MATMUL_DESC_B_SCALE_POINTER, call.scale_b);
	}
	cublasLtMatmulPreference_t preference;
	CUBLAS_CHECK(cublasLtMatmulPreferenceCreate(&preference));
	const size_t limit = workspace_bytes;
	CUBLAS_CHECK(cublasLtMatmulPreferenceSetAttribute(
		preference, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, &limit, sizeof limit));
	cublasLtMatmulHeuristicResult_t results[proposals];
	int found = 0;
	const cublasStatus_t status = cublasLtMatmulAlgoGetHeuristic(handle, plan.operation,
		plan.a, plan.b, plan.d, plan.d, preference, proposals, results, &found);
	cublasLtMatmulPreferenceDestroy(preference);
	if (status != CUBLAS_STATUS_SUCCESS || found == 0)
		throw Unsupported("cuBLASLt " + std::to_string(cublasLtGetVersion()) +
				  " has no algorithm for m=" + std::to_string(shape.m) + " n=" +
				  std::to_string(shape.n) + " k=" + std::to_string(shape.k) +
				  (shape.scale_a == Scale::none ? " BF16" : " FP8") + ": " +
				  cublasLtGetStatusString(status));
	plan.algorithm = results[0].algo;
	if (shape.flops() < tuning_flops)
		return;

	Event start, stop;
	int64_t best = INT64_MAX;
	for (int i = 0; i < found; i++) {
		Plan trial = plan;
		trial.algorithm = results[i].algo;
		if (enqueue(trial, lane, shape, call) != CUBLAS_STATUS_SUCCESS)
			continue;
		start.record(lane.stream);
		for (int run = 0; run < tuning_runs; run++)
			CUBLAS_CHECK(enqueue(trial, lane, shape, call));
		stop.record(lane.stream);
		stop.synchronize();
		if (start.until_ns(stop) < best) {
			best = start.until_ns(stop);
			plan.algorithm = results[i].algo;
		}
	}
}

Gemm::Plan Gemm::make_plan(const GemmLane &lane, const GemmShape &shape, const GemmCall &call)
{
	cudaStreamCaptureStatus capture;
	CUDA_CHECK(cudaStreamIsCapturing(lane.stream, &capture));
	if (capture != cudaStreamCaptureStatusNone)
		throw CudaError(
			"GEMM m=" + std::to_string(shape.m) + " n=" + std::to_string(shape.n) +
			" k=" + std::to_string(shape.k) + " for " + std::to_string(lane.sms) +
			" SMs was not prepared before the capture");
	Plan plan;
	const cudaDataType_t in = shape.scale_a == Scale::none ? CUDA_R_16BF : CUDA_R_8F_E4M3;
	const cudaDataType_t out = shape.float_out ? CUDA_R_32F : CUDA_R_16BF;
	const int64_t a_rows = shape.transpose_a ? shape.k : shape.m;
	const int64_t b_rows = shape.transpose_b ? shape.n : shape.k;
	plan.operation = make_operation(shape, lane.sms);
	plan.a = make_layout(
		in, a_rows, shape.m + shape.k - a_rows, shape.lda, shape.batch, shape.stride_a);
	plan.b = make_layout(
		in, b_rows, shape.n + shape.k - b_rows, shape.ldb, shape.batch, shape.stride_b);
	plan.d = make_layout(out, shape.m, shape.n, shape.ldd, shape.batch, shape.stride_d);
	choose(plan, lane, shape, call);
	return plan;
}

void Gemm::run(const GemmLane &lane, const GemmShape &shape, const GemmCall &call)
{
	const Key key = {shape, lane.sms};
	auto found = plans.find(key);
	if (found == plans.end())
		found = plans.emplace(key, make_plan(lane, shape, call)).first;
	CUBLAS_CHECK(enqueue(found->second, lane, shape, call));
}

} // namespace bench
