#include "engine/lanes-kernel.h"
#if defined(__x86_64__)
#include <immintrin.h>
#endif

#define STAY_MASK  ((1u << PIPESIM_STAY_BITS) - 1)
#define PLACE_BITS 12
#define PLACE_MASK ((1u << PLACE_BITS) - 1)
#define PLACE_HALF (1u << (PLACE_BITS - 1))
#define SPEED_HALF (1u << (PIPESIM_SPEED_BITS - 1))
#define PART_SHIFT (PIPESIM_STAY_BITS + PLACE_BITS)
/* Which half of a long holds the run with the even number. */
#define FIRST (G_BYTE_ORDER == G_LITTLE_ENDIAN ? 0 : 1)

#define MAKE(name) name##_baseline
#define TARGET
#define BYTES 16
#include "engine/lanes-kernel.inc"
static const PipesimLaneKernels baseline = {"baseline", given_baseline, drawn_baseline};

#if defined(__x86_64__)
#undef MAKE
#undef TARGET
#undef BYTES
#define MAKE(name) name##_avx2
#define TARGET     __attribute__((target("avx2")))
#define BYTES      32
#include "engine/lanes-kernel.inc"
static const PipesimLaneKernels avx2 = {"avx2", given_avx2, drawn_avx2};

#undef MAKE
#undef TARGET
#undef BYTES
#define MAKE(name) name##_avx512
#define TARGET     __attribute__((target("avx512f")))
#define BYTES      64
#include "engine/lanes-kernel.inc"
static const PipesimLaneKernels avx512 = {"avx512", given_avx512, drawn_avx512};
#endif

const PipesimLaneKernels *const *pipesim_lane_kernels_list(void)
{
	static const PipesimLaneKernels *list[4];
	static gsize once;

	if (g_once_init_enter(&once)) {
		guint n = 0;

#if defined(__x86_64__)
		if (__builtin_cpu_supports("avx512f"))
			list[n++] = &avx512;
		if (__builtin_cpu_supports("avx2"))
			list[n++] = &avx2;
#endif
		list[n] = &baseline;
		g_once_init_leave(&once, 1);
	}
	return list;
}
