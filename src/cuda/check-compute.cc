#include "check-compute.h"
#include "check-tools.h"
#include "device.h"
#include <cmath>
#include <cuda_fp8.h>

namespace bench
{

uint64_t Checker::next_seed()
{
	return seed = seed * 6364136223846793005u + 1442695040888963407u;
}

Checker::Input Checker::draw(int64_t count, float mean, float sigma)
{
	Input input;
	input.device = Buffer<bf16>(count);
	fill_normal(input.device, count, mean, sigma, next_seed());
	input.host = to_double(input.device);
	return input;
}

Checker::Operand Checker::draw_matrix(
	int64_t rows, int cols, bool fp8, const Segments &segments)
{
	Operand operand;
	operand.source = draw(rows * cols);
	operand.matrix = OwnedMatrix(rows, cols, fp8, segments, true);
	cast(operand.source, operand.matrix.view(), {}, nullptr);
	operand.held = to_double(operand.matrix.view());
	return operand;
}

void Checker::require(
	const std::string &name, double error, double limit, const std::string &note)
{
	CheckResult result;
	result.name = name;
	result.error = error;
	result.limit = limit;
	result.ok = error <= limit;
	result.note = note;
	results.push_back(result);
}

void Checker::compare(const std::string &name, const Values &out, const Values &expected,
	double limit, const std::string &note)
{
	double difference = 0, norm = 0;
	if (out.size() != expected.size())
		difference = NAN;
	for (size_t i = 0; i < std::min(out.size(), expected.size()); i++) {
		difference += (out[i] - expected[i]) * (out[i] - expected[i]);
		norm += expected[i] * expected[i];
	}
	require(name, std::sqrt(difference / norm), limit, note);
}

void Checker::skip(const std::string &name, const std::string &why)
{
	require(name, 0, 0, "skipped: " + why);
}

bool Checker::has_fp8() const
{
	int device;
	CUDA_CHECK(cudaGetDevice(&device));
	return has_block_fp8(capability(device));
}

Values to_double(const Buffer<bf16> &buffer)
{
	const std::vector<bf16> host = buffer.download();
	Values values(host.size());
	for (size_t i = 0; i < host.size(); i++)
		values[i] = __bfloat162float(host[i]);
	return values;
}

Values to_double(const Buffer<float> &buffer)
{
	const std::vector<float> host = buffer.download();
	return Values(host.begin(), host.end());
}

template <class T> static std::vector<T> download(const void *from, int64_t count)
{
	std::vector<T> host(count);
	CUDA_CHECK(cudaDeviceSynchronize());
	CUDA_CHECK(cudaMemcpy(host.data(), from, count * sizeof(T), cudaMemcpyDeviceToHost));
	return host;
}

double from_e4m3(uint8_t bits)
{
	__nv_fp8_e4m3 value;
	value.__x = bits;
	return float(value);
}

Values to_double(const Matrix &matrix)
{
	Values values(matrix.elements());
	if (!matrix.fp8()) {
		const auto host = download<bf16>(matrix.data, matrix.elements());
		for (size_t i = 0; i < host.size(); i++)
			values[i] = __bfloat162float(host[i]);
		return values;
	}
	const auto data = download<uint8_t>(matrix.data, matrix.elements());
	const auto scale = download<float>(matrix.scale, matrix.elements() / 128);
	const int64_t groups = matrix.cols / 128;
	for (int run = 0; run < matrix.segments.count; run++) {
		const int64_t begin = matrix.segments.begin[run];
		const int64_t rows = matrix.segments.begin[run + 1] - begin;
		for (int64_t row = 0; row < rows; row++)
			for (int64_t col = 0; col < matrix.cols; col++) {
				const int64_t at = (begin + row) * matrix.cols + col;
				values[at] = from_e4m3(data[at]) *
					     scale[begin * groups + col / 128 * rows + row];
			}
	}
	return values;
}

Values to_double(const Transposed &transposed, const Matrix &upright)
{
	Values values(upright.elements());
	const int64_t cols = upright.cols;
	const auto data = download<uint8_t>(transposed.data, upright.elements());
	const auto scale = download<float>(transposed.scale, upright.elements() / 128);
	for (int run = 0; run < upright.segments.count; run++) {
		const int64_t begin = upright.segments.begin[run];
		const int64_t rows = upright.segments.begin[run + 1] - begin;
		for (int64_t row = 0; row < rows; row++)
			for (int64_t col = 0; col < cols; col++)
				values[(begin + row) * cols + col] =
					from_e4m3(data[begin * cols + col * rows + row]) *
					scale[(begin + row) / 128 * cols + col];
	}
	return values;
}

Buffer<float> upload_float(const Values &values)
{
	Buffer<float> buffer(int64_t(values.size()));
	buffer.upload(std::vector<float>(values.begin(), values.end()));
	return buffer;
}

void poison_matrix(const Matrix &matrix)
{
	poison(matrix.data, matrix.elements() * (matrix.fp8() ? 1 : 2));
	for (float *scale : {matrix.scale, matrix.row_scale})
		if (scale)
			poison(scale, matrix.elements() / 128 * sizeof(float));
}

/* A check that throws is a failed check, and the others still run. */
static void guarded(Checker &checker, const char *name, void (*check)(Checker &))
{
	try {
		check(checker);
	} catch (const Unsupported &reason) {
		checker.skip(name, reason.what());
	} catch (const CudaError &error) {
		checker.require(name, NAN, 0, error.what());
	}
}

std::vector<CheckResult> check_compute(uint64_t seed)
{
	Checker checker(seed);
	guarded(checker, "element-wise", check_elementwise);
	guarded(checker, "heads", check_heads);
	guarded(checker, "GEMM", check_gemm);
	guarded(checker, "attention", check_attention);
	guarded(checker, "layer", check_layer);
	return checker.results;
}

} // namespace bench
