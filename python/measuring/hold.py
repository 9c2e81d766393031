"""Kernels that keep a chip from its work, for torch.cuda._compile_kernel(): until a flag is set, or for so many microseconds."""

HOLD = """
extern "C" __global__ void hold_until(volatile int *flag)
{
	if (threadIdx.x == 0)
		while (*flag == 0)
			__nanosleep(1000);
	__syncthreads();
}

extern "C" __global__ void hold_for(int us)
{
	long long begin, now;
	asm volatile("mov.u64 %0, %globaltimer;" : "=l"(begin));
	do {
		asm volatile("mov.u64 %0, %globaltimer;" : "=l"(now));
	} while (now - begin < us * 1000LL);
}
"""
