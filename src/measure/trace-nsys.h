/* Reports of Nsight Systems as CSV: nsys stats -r nvtx_gpu_proj_trace,cuda_gpu_trace --format
 * csv. */
#pragma once
#include "measure/range-rules.h"
#include "measure/trace.h"

/** pipesim_trace_is_nsys: whether the file that begins with @head looks like one. */
gboolean pipesim_trace_is_nsys(const char *head);

/**
 * pipesim_trace_read_nsys: the tables of one file, in any order, whatever nsys prints around
 * them; the headers tell the unit. NVTX ranges projected onto the GPU become rows, by their
 * names; without such a table kernels do, by the user's rules. @rules may be NULL; @input
 * becomes the function's.
 *
 * Returns: (transfer full): a trace whose notices tell how much GPU time lies in no known
 * range, where cuda_gpu_trace is among the tables; NULL with PIPESIM_ERROR_PARSE, up to 20
 * faults, or where nothing has a meaning; or an error of pipesim_csv_next().
 */
PipesimTrace *pipesim_trace_read_nsys(
	PipesimInput *input, const PipesimRangeRules *rules, GError **error);
