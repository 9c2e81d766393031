/* How data count in the checksum of an exchange: the words of each 16-byte piece of the staging
 * buffer, times an odd number that its place there gives. A row in the wrong place shows. */
#pragma once

namespace bench
{

__device__ inline unsigned int piece_sum(int4 v, unsigned int place)
{
	unsigned int words = (unsigned)v.x + (unsigned)v.y + (unsigned)v.z + (unsigned)v.w;
	return words * (2 * place + 1);
}

} // namespace bench
