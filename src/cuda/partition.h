/* Which SMs the compute and the communication stream may use. */
#pragma once
#include "work.h"
#include <string>

namespace bench
{

/* none: compute takes what it gets; grid: persistent kernels are told their share, others are
 * not confined; green: two green contexts, a cap that the driver enforces. */
enum class SmMode {
	none,
	grid
};

const char *sm_mode_name(SmMode mode);

struct SmSplit {
	SmMode mode = SmMode::none;
	int compute = 0; /* SMs; 0 = all */
	int comm = 20;   /* SMs = CTAs of the communication kernels; 0 = none, copy engines
			    instead */
};

/* A compute lane and a communication lane on one device; owns their streams. The
 * communication stream has the higher priority. Not copyable. */
class Partition
{
      public:
	Partition(int device, const SmSplit &split);
	~Partition();
	Partition(const Partition &) = delete;
	Partition &operator=(const Partition &) = delete;

	const SmSplit &split() const
	{
		return requested;
	}
	const Lane &compute() const
	{
		return compute_lane;
	}
	const Lane &comm() const
	{
		return comm_lane;
	}
	/* Distinct SMs that a large grid on the compute stream was seen to run on. */
	int compute_sms_seen() const
	{
		return seen;
	}

      private:
	int device;
	SmSplit requested;
	Lane compute_lane, comm_lane;
	int seen = 0;
};

/* Runs a grid that fills the chip on `stream` and counts the SMs it ran on; synchronises. */
int count_sms(cudaStream_t stream);

} // namespace bench
