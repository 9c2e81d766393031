/* What the spans of a profile show together. */
#pragma once
#include "base/number.h"
#include "measure/range-rules.h"
#include "measure/trace.h"

/** pipesim_trace_span_init: a row of @meaning, without times. */
void pipesim_trace_span_init(PipesimTraceRow *row, const PipesimRangeMeaning *meaning);

/**
 * pipesim_trace_finish_spans: completes the rows of @trace, all of them spans of one profile.
 * @starts: ns, by row; PIPESIM_NEVER: the span launched nothing
 *
 * Rows whose name had no number are numbered. Where forward and backward of components overlap
 * in time, the file shows an overlapped pair: its rows become parts of one, a row "chunk FB"
 * spans it, and layers_per_chunk is how often its components occur.
 */
void pipesim_trace_finish_spans(PipesimTrace *trace, const gint64 *starts);
