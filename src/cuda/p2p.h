/* The pipeline message: a micro-batch's activations from one GPU to the next by copy engine, as
 * the ring in which every rank sends at once. On one GPU the message goes to a second buffer
 * there. */
#pragma once
#include "buffer.h"
#include "work.h"
#include <vector>

namespace bench
{

/* Owns a send and a receive buffer of `most_bytes` on every device. */
class P2p
{
      public:
	P2p(const std::vector<int> &devices, int64_t most_bytes, uint64_t seed);
	/* Component p2p, phase F: `bytes` (at most most_bytes) from rank to the next one. */
	Work work(int rank, int64_t bytes, int64_t tokens) const;

      private:
	std::vector<int> devices;
	std::vector<Buffer<char>> send, receive;
};

/* Bytes per second, in units of 1e9, of a cudaMemcpyPeer of `bytes` from the first device to
 * the second: the ceiling of what crosses a link in one direction. Median of a few. */
double peer_copy_gbps(int from, int to, int64_t bytes);

} // namespace bench
