/* The few PTX instructions that C++ has no words for. */
#pragma once
#include <cuda_runtime.h>

namespace bench
{

__device__ inline unsigned long long now_ns()
{
	unsigned long long t;
	asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(t));
	return t;
}

__device__ inline unsigned int sm_id()
{
	unsigned int id;
	asm volatile("mov.u32 %0, %%smid;" : "=r"(id));
	return id;
}

__device__ inline unsigned long long load_acquire(const unsigned long long *p)
{
	unsigned long long v;
	asm volatile("ld.acquire.sys.global.u64 %0, [%1];" : "=l"(v) : "l"(p) : "memory");
	return v;
}

__device__ inline void store_release(unsigned long long *p, unsigned long long v)
{
	asm volatile("st.release.sys.global.u64 [%0], %1;" ::"l"(p), "l"(v) : "memory");
}

/* Rows that nobody writes while the kernel runs. */
__device__ inline int4 load_constant(const int4 *p)
{
	int4 v;
	asm volatile("ld.global.nc.L1::no_allocate.v4.s32 {%0,%1,%2,%3}, [%4];"
		     : "=r"(v.x), "=r"(v.y), "=r"(v.z), "=r"(v.w)
		     : "l"(p));
	return v;
}

/* Rows that a peer has just written. The read-only path (ld.global.nc) is a little faster and
 * undefined for such data. */
__device__ inline int4 load_relaxed(const int4 *p)
{
	int4 v;
	asm volatile("ld.relaxed.sys.global.L1::no_allocate.v4.s32 {%0,%1,%2,%3}, [%4];"
		     : "=r"(v.x), "=r"(v.y), "=r"(v.z), "=r"(v.w)
		     : "l"(p)
		     : "memory");
	return v;
}

__device__ inline void store_streaming(int4 *p, int4 v)
{
	asm volatile("st.global.L1::no_allocate.v4.s32 [%0], {%1,%2,%3,%4};" ::"l"(p), "r"(v.x),
		     "r"(v.y), "r"(v.z), "r"(v.w)
		     : "memory");
}

} // namespace bench
