/* NCCL, loaded at run time: one communicator of the GPUs of this process, and messages between
 * two of them. */
#pragma once
#include <cstdint>
#include <cuda_runtime.h>
#include <string>
#include <vector>

namespace bench
{

class Nccl
{
      public:
	/* Throws Unsupported where the library cannot be loaded, lacks a function, or makes no
	 * communicator; what() says why. Takes seconds. */
	explicit Nccl(const std::vector<int> &devices);
	~Nccl();
	Nccl(const Nccl &) = delete;
	Nccl &operator=(const Nccl &) = delete;

	std::string version() const;
	/* Asynchronous. The first message between two ranks connects them, for which both ends
	 * must be given at once: exchange(). */
	void send(int rank, int to, const void *data, int64_t bytes, cudaStream_t stream);
	void receive(int rank, int from, void *data, int64_t bytes, cudaStream_t stream);
	void exchange(const std::vector<void *> &data, const std::vector<cudaStream_t> &streams,
		int64_t bytes);
	/* Ends every kernel that still waits; nothing else may follow. */
	void abort();

      private:
	struct Api;
	void check(int status, const char *call) const;
	Api *api = nullptr;
	std::vector<int> devices;
	std::vector<void *> comms;
	bool aborted = false;
};

} // namespace bench
