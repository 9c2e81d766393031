/* Between the communication kernels and the experts: copies become expert rows and back. These
 * run on the compute stream with the MLP, so that communication needs few SMs; they count as
 * MLP time. */
#pragma once
#include <cstdint>
#include <cuda_runtime.h>

namespace bench
{

struct PermuteArgs {
	int copies, rows, experts; /* received rows, expert rows, local experts */
	int value_bytes;           /* of a message row: the values, a multiple of 16 */
	int scale_bytes;           /* of a message row: scales after the values; may be 0 */
	int hidden;                /* BF16 values of an expert's output row, a multiple of 8 */
	const int32_t *row_slot;   /* the tables of route.h, in this GPU's memory */
	const int32_t *slot_row;
	const float *slot_weight;
	const char *received;   /* [copies] message rows */
	char *expert_values;    /* [rows][value_bytes] */
	char *expert_scales;    /* [rows][scale_bytes] */
	const char *expert_out; /* [rows][hidden] BF16 */
	char *replies;          /* [copies][hidden] BF16 */
};

/* Copies every received row to each expert that wants it. `sms` 0 = the whole chip. */
void launch_permute(const PermuteArgs &args, int sms, cudaStream_t stream);
/* Sums the weighted outputs of a copy's experts into one row. */
void launch_unpermute(const PermuteArgs &args, int sms, cudaStream_t stream);

} // namespace bench
