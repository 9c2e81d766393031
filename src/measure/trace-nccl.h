/* Tables of nccl-tests: what a message between neighbours takes. */
#pragma once
#include "measure/trace.h"

/** pipesim_trace_is_nccl: whether the file that begins with @head looks like one. */
gboolean pipesim_trace_is_nccl(const char *head);

/**
 * pipesim_trace_read_nccl: what sendrecv_perf prints: a row "p2p F" (impl nccl) for each size,
 * of its out-of-place time, a mean. Sizes with wrong values become failed checksums. @input
 * becomes the function's.
 *
 * Returns: (transfer full): NULL with PIPESIM_ERROR_PARSE: another collective, whose time is
 * not that of a message; a line of the table that is none; no line at all; or an error of
 *   pipesim_csv_next().
 */
PipesimTrace *pipesim_trace_read_nccl(PipesimInput *input, GError **error);
