/* Times of the GPU and of the host. */
#pragma once
#include <cstdint>
#include <cuda_runtime.h>

namespace bench
{

/* An event of the device that is current when it is made: for timing unless `flags` say
 * otherwise. Moves, never copies. */
class Event
{
      public:
	explicit Event(unsigned flags = cudaEventDefault);
	~Event();
	Event(Event &&other) noexcept : event(other.event)
	{
		other.event = nullptr;
	}
	Event(const Event &) = delete;
	Event &operator=(const Event &) = delete;
	void record(cudaStream_t stream);
	void synchronize() const;
	/* From this one to `end`, both of one device and over. */
	int64_t until_ns(const Event &end) const;
	operator cudaEvent_t() const
	{
		return event;
	}

      private:
	cudaEvent_t event = nullptr;
};

/* Steady clock of the host, ns. */
int64_t host_now_ns();
/* Returns at that time: sleeps, and polls the last part of it. */
void host_sleep_until(int64_t ns);

} // namespace bench
