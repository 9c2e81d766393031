/* A matrix as element-wise kernels write it and GEMMs read it. */
#pragma once
#include "cuda-check.h"
#include <cstdint>
#include <vector>

namespace bench
{

/* Rows in runs, one run for each expert (one run otherwise), each beginning at a multiple of
 * 128. cuBLASLt wants the scales of each product contiguous, so they are stored run by run. */
struct Segments {
	static constexpr int max = 64;
	int count = 0;
	int begin[max + 1] = {};
};

inline Segments one_segment(int64_t rows)
{
	Segments segments;
	segments.count = 1;
	segments.begin[1] = int(rows);
	return segments;
}

inline Segments make_segments(const std::vector<int64_t> &begins)
{
	if (begins.size() > Segments::max + 1)
		throw Unsupported("more than 64 experts on one GPU");
	Segments segments;
	segments.count = int(begins.size()) - 1;
	for (size_t i = 0; i < begins.size(); i++)
		segments.begin[i] = int(begins[i]);
	return segments;
}

/* Row-major [rows][cols], cols a multiple of 128. With `scale` the data is E4M3 and one scale
 * covers 128 values of a row: of a run of n rows beginning at b, value (r, c) has scale[b *
 * cols / 128 + c / 128 * n + r - b]. Without, the data is BF16. Owns nothing. */
struct Matrix {
	void *data = nullptr;
	float *scale = nullptr;
	float *row_scale =
		nullptr; /* a second copy as [rows][cols / 128], for messages; or null */
	int64_t rows = 0;
	int cols = 0;
	Segments segments;

	bool fp8() const
	{
		return scale != nullptr;
	}
	int64_t elements() const
	{
		return rows * cols;
	}
	/* Bytes of values and scales. */
	double bytes() const
	{
		return fp8() ? elements() * (1 + 4.0 / 128) : elements() * 2.0;
	}
};

/* The transpose of an FP8 Matrix, scaled along the original rows: a run of n rows beginning at
 * b is data[b * cols ...] as [cols][n], and element (r, c) has scale[r / 128 * cols + c]. */
struct Transposed {
	uint8_t *data = nullptr;
	float *scale = nullptr;
};

} // namespace bench
