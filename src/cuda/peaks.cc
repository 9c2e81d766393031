#include "peaks.h"
#include "buffer.h"
#include "elementwise.h"
#include "event.h"
#include "linear.h"
#include "median.h"
#include <algorithm>
#include <functional>

namespace bench
{

static constexpr int64_t copy_bytes = int64_t(2) << 30;
static constexpr int gemm_rows = 8192;
static constexpr int warm_ups = 5, runs = 20;

/* Median of single runs, enqueued back to back. */
static double median_ms(cudaStream_t stream, const std::function<void()> &enqueue)
{
	std::vector<Event> events(runs + 1);
	for (int i = 0; i < warm_ups; i++)
		enqueue();
	events[0].record(stream);
	for (int i = 0; i < runs; i++) {
		enqueue();
		events[i + 1].record(stream);
	}
	events[runs].synchronize();
	std::vector<double> ns;
	for (int i = 0; i < runs; i++)
		ns.push_back((double)events[i].until_ns(events[i + 1]));
	return median(ns) * 1e-6;
}

static double measure_gemm(bool fp8, int out, int in, cudaStream_t stream)
{
	Gemm gemm;
	Buffer<uint8_t> workspace(Gemm::workspace_bytes);
	const GemmLane lane = {stream, workspace, 0};
	const Linear weight(out, in, out, fp8, 1);
	Buffer<bf16> plain(int64_t(gemm_rows) * in), y(int64_t(gemm_rows) * out);
	fill_normal(plain, plain.size(), 0, 1, 2);
	const OwnedMatrix x(gemm_rows, in, fp8, one_segment(gemm_rows));
	cast(plain, x.view(), {}, nullptr);
	CUDA_CHECK(cudaDeviceSynchronize());
	const double ms = median_ms(stream, [&] {
		weight.forward(gemm, lane, x.view(), {0, gemm_rows}, y.get());
	});
	return weight.forward_shape(gemm_rows).flops() / ms * 1e-9;
}

/* No one shape is the fastest on every chip: a cube, and one that is long where products are.
 */
static double best_gemm(bool fp8, cudaStream_t stream)
{
	return std::max(measure_gemm(fp8, gemm_rows, gemm_rows, stream),
		measure_gemm(fp8, gemm_rows, 2 * gemm_rows, stream));
}

Peaks measure_peaks()
{
	Peaks peaks;
	cudaStream_t stream;
	CUDA_CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
	{
		Buffer<uint8_t> from(copy_bytes), to(copy_bytes);
		fill_normal(reinterpret_cast<bf16 *>(from.get()), copy_bytes / 2, 0, 1, 3);
		CUDA_CHECK(cudaDeviceSynchronize());
		const double ms = median_ms(stream, [&] {
			CUDA_CHECK(cudaMemcpyAsync(
				to, from, copy_bytes, cudaMemcpyDeviceToDevice, stream));
		});
		peaks.copy_gbps = 2.0 * copy_bytes / ms * 1e-6;
	}
	peaks.bf16_tflops = best_gemm(false, stream);
	try {
		peaks.fp8_tflops = best_gemm(true, stream);
	} catch (const Unsupported &) {
		peaks.fp8_tflops = 0;
	}
	CUDA_CHECK(cudaStreamDestroy(stream));
	return peaks;
}

} // namespace bench
