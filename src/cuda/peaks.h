/* The chip's ceilings, measured in the same run as what is held against them. */
#pragma once

namespace bench
{

struct Peaks {
	double copy_gbps =
		0; /* device-to-device copy of 2 GiB, counted read and written, 1e9 bytes/s */
	double bf16_tflops =
		0; /* cuBLASLt, 8192 x 8192 by 8192 or 16384, whichever is faster */
	double fp8_tflops =
		0; /* the same block-scaled, FP32 promotion; 0 where there is no FP8 */
};

/* Of the current device; takes about a second. */
Peaks measure_peaks();

} // namespace bench
