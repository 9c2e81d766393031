/* How a row counts in the checksum of an exchange. */
#pragma once

namespace bench
{

/* Place in the weighted sum of words that is a checksum: a row in the wrong place shows. */
__device__ inline unsigned int place_weight(int row)
{
	return 2u * (unsigned)row + 1u;
}

} // namespace bench
