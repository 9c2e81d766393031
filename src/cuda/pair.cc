#include "pair.h"
#include "cuda-check.h"
#include "event.h"

namespace bench
{

namespace
{

/* Makes `later` wait for what `earlier` has been given so far. */
void order(cudaStream_t earlier, cudaStream_t later)
{
	Event event(cudaEventDisableTiming);
	event.record(earlier);
	CUDA_CHECK(cudaStreamWaitEvent(later, event, 0));
}

/* The two streams and what has been put on them. */
struct Streams {
	const Partition &partition;
	const CommSettings *settings;
	Recorder &recorder;

	cudaStream_t compute_stream() const
	{
		return partition.compute().stream;
	}
	cudaStream_t comm_stream() const
	{
		return partition.comm().stream;
	}

	void compute(const Work &work)
	{
		add(work, false, nullptr);
	}
	void comm(const Work &work, CommKind kind)
	{
		if (work.enqueue)
			add(work, true, &settings[(int)kind]);
	}
	/* The next compute needs the communication enqueued so far, and the other way round. */
	void compute_after_comm()
	{
		order(comm_stream(), compute_stream());
	}
	void comm_after_compute()
	{
		order(compute_stream(), comm_stream());
	}

      private:
	void add(const Work &work, bool comm, const CommSettings *how)
	{
		TraceRow row =
			placed(describe(work, comm ? "comm" : "compute"), partition, comm, how);
		row.run_id = "/inside";
		row.pair_id = 0;
		recorder.add(work, row, comm ? partition.comm() : partition.compute());
	}
};

TraceRow half(const LayerWorks &works, const Partition &partition, bool comm)
{
	TraceRow row = placed(TraceRow(), partition, comm, nullptr);
	row.component = "chunk";
	row.phase = "FB";
	row.pair_id = 0;
	row.role = row.stream = comm ? "comm" : "compute";
	row.run_id = "/" + row.role;
	row.impl = comm ? works.dispatch_f.impl : works.attn_f.impl + "+" + works.mlp_f.impl;
	row.tokens = works.attn_f.tokens;
	row.rows = works.mlp_f.rows;
	return row;
}

TraceRow whole(const LayerWorks &works, const Partition &partition)
{
	TraceRow row = half(works, partition, false);
	row.run_id.clear();
	row.role = "pair";
	row.stream = "both";
	row.impl += "+" + works.dispatch_f.impl;
	row.flops = 0;
	for (const Work *w : {&works.attn_f, &works.attn_i, &works.attn_w, &works.mlp_f,
		     &works.mlp_i, &works.mlp_w})
		row.flops += w->flops;
	row.payload_bytes = row.wire_bytes = 0;
	for (const Work *w :
		{&works.dispatch_f, &works.dispatch_i, &works.combine_f, &works.combine_i}) {
		row.payload_bytes += w->payload_bytes;
		row.wire_bytes += w->wire_bytes;
	}
	return row;
}

/* Host order and edges of the published trace. Streams are FIFO, so that an edge also holds for
 * everything behind it. */
void interleave(const LayerWorks &w, Streams &s)
{
	s.comm(w.combine_i, CommKind::dispatch);
	s.compute(w.attn_f);
	s.compute_after_comm();
	s.comm_after_compute();
	s.compute(w.mlp_i);
	s.comm(w.dispatch_f, CommKind::dispatch);
	Event dispatched(cudaEventDisableTiming);
	dispatched.record(s.comm_stream());
	s.comm_after_compute();
	s.comm(w.dispatch_i, CommKind::combine);
	s.compute(w.mlp_w);
	CUDA_CHECK(cudaStreamWaitEvent(s.compute_stream(), dispatched, 0));
	s.compute(w.mlp_f);
	Event expert_done(cudaEventDisableTiming);
	expert_done.record(s.compute_stream());
	s.compute_after_comm();
	s.compute(w.attn_i);
	s.compute(w.attn_w);
	CUDA_CHECK(cudaStreamWaitEvent(s.comm_stream(), expert_done, 0));
	s.comm(w.combine_f, CommKind::combine);
}

} // namespace

TraceRow placed(
	TraceRow row, const Partition &partition, bool comm, const CommSettings *settings)
{
	const SmSplit &split = partition.split();
	int everything = 0;
	if (split.mode == SmMode::none || split.compute == 0)
		everything = partition.compute_sms_seen();
	row.sm_mode = sm_mode_name(split.mode);
	row.sm_req = comm ? split.comm : everything ? everything : split.compute;
	row.sm_actual = comm ? split.comm : partition.compute_sms_seen();
	if (settings) {
		row.ld_mode = "relaxed";
		row.chunk_tokens = settings->chunk_tokens;
		row.pace_gbps = settings->pace_gbps;
	}
	return row;
}

void capture_pair(const LayerWorks &works, const Partition &partition,
	const CommSettings settings[2], Recorder &recorder)
{
	Streams s{partition, settings, recorder};
	bool overlaps = (bool)works.dispatch_f.enqueue;
	size_t all = recorder.begin(whole(works, partition), s.compute_stream());
	s.comm_after_compute();
	size_t compute = recorder.begin(half(works, partition, false), s.compute_stream());
	size_t comm = 0;
	if (overlaps)
		comm = recorder.begin(half(works, partition, true), s.comm_stream());
	interleave(works, s);
	recorder.end(compute, s.compute_stream());
	if (overlaps)
		recorder.end(comm, s.comm_stream());
	s.compute_after_comm();
	recorder.end(all, s.compute_stream());
}

} // namespace bench
