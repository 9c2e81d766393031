/* The overlapped pair: a layer's forward and another layer's full backward, interleaved on a
 * compute and a communication stream in the order that DeepSeek published for DualPipe. */
#pragma once
#include "capture.h"
#include "partition.h"
#include "work.h"

namespace bench
{

/* One rank's Works. Those of a dense model's communication have no enqueue and are left out. */
struct LayerWorks {
	Work attn_f, attn_i, attn_w;
	Work mlp_f, mlp_i, mlp_w;
	Work dispatch_f, combine_f; /* forward: to the experts, and back */
	Work combine_i, dispatch_i; /* backward: combine's gradient goes to the experts first */
};

/* The fields of a row that say where it ran and, for communication, how. */
TraceRow placed(
	TraceRow row, const Partition &partition, bool comm, const CommSettings *settings);

/* Captures the pair; the graph starts on the partition's compute stream. Spans: the whole
 * (chunk FB, role pair, first), the two halves (run_id suffix /compute and /comm), and each
 * component inside the pair (suffix /inside). `settings` belong to dispatch and to combine. */
void capture_pair(const LayerWorks &works, const Partition &partition,
	const CommSettings settings[2], Recorder &recorder);

} // namespace bench
