/* What a device can do, and what the code that was compiled for it. Host only: tests ask the rules
 * of devices that are not there. */
#pragma once
#include <algorithm>

namespace bench
{

/* Of a device: its number of SMs; 10 * major + minor of its compute capability. */
int multiprocessors(int device);
int capability(int device);

/* Products of FP8 with scales of 1x128 and 128x128 blocks: cuBLASLt has them on Hopper alone.
 * Devices before it have no FP8, later ones scale in blocks of 32 (MXFP8). Elsewhere the layer
 * runs in BF16. */
constexpr bool has_block_fp8(int capability)
{
	return capability / 10 == 9;
}

/* Whether a sender of bulk copies has any code in it. The device does not tell: one that runs PTX
 * of compute_80 has the instructions, but a kernel compiled for 8.0 is empty. The versions are
 * the kernel's (cudaFuncAttributes): what it was written for, and what it was compiled for. */
constexpr bool has_bulk_code(int ptx_version, int binary_version)
{
	return std::min(ptx_version, binary_version) >= 90;
}

} // namespace bench
