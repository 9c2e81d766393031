/* PyTorch profiler files as traces. */
#pragma once
#include "measure/attribute.h"

/**
 * pipesim_trace_read_profile: a Chrome trace as PyTorch's profiler writes it, an object with
 * traceEvents or a bare array, read as a stream; one that ends in the middle is read so far.
 *
 * Each range with a meaning (pipesim_range_recognise()) becomes a row: from its first activity
 * to its last, busy = the union over streams. Communication is told apart into kernels that
 * move data and those that wait for peers ("notify" in their name). Where forward and backward
 * of components overlap in time, the file shows an overlapped pair: its rows are of one pair,
 * and a row "chunk FB" spans it. @rules may be NULL; @input becomes the function's.
 *
 * Returns: (transfer full): a trace whose notices tell how much GPU time lies in no known
 * range; NULL with PIPESIM_ERROR_PARSE where nothing has a meaning, or an error of
 * pipesim_profile_read().
 */
PipesimTrace *pipesim_trace_read_profile(
	PipesimInput *input, const PipesimRangeRules *rules, GError **error);

/* For readers of other profilers: */

/** pipesim_trace_add_spans: the ranges of @attribution, made of @profile, as rows of @trace,
 * with notices as above. Returns FALSE with PIPESIM_ERROR_PARSE where nothing has a meaning. */
gboolean pipesim_trace_add_spans(PipesimTrace *trace, const PipesimProfile *profile,
	const PipesimAttribution *attribution, GError **error);

/** pipesim_trace_note_coverage: the notices alone: how much GPU time is in ranges with a
 * meaning, and how much of that is no cost. */
void pipesim_trace_note_coverage(PipesimTrace *trace, const PipesimProfile *profile,
	const PipesimAttribution *attribution);
