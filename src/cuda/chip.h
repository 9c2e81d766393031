/* One GPU whose whole chunk and single components can be launched at any time, each as one
 * graph: what the series of governor, residence and replay run. Its exchange stays within the
 * GPU, so that GPUs need not run the same ops at the same time. */
#pragma once
#include "event.h"
#include "partition.h"
#include "rig.h"
#include "trace-writer.h"
#include <memory>
#include <string>
#include <vector>

namespace bench
{

/* An op, captured. */
struct ChipOp {
	TraceRow row; /* component, phase, impl and where it runs */
	Graph graph;
	double expected_ns = 0; /* once measured */
};

class Chip
{
      public:
	/* `rig` is of this device alone. */
	Chip(int rank, std::shared_ptr<Rig> rig, const SmSplit &pair_split);
	~Chip();
	Chip(const Chip &) = delete;
	Chip &operator=(const Chip &) = delete;

	/* `component` layer (F, I, W, B, FB), attn, mlp, dispatch, combine, elementwise (F, I,
	 * W as far as it has them); captured at the first call, then the same. Null: the model
	 * has no such. */
	const ChipOp *op(const std::string &component, const std::string &phase);
	/* All phases of a component that there are, in the order F, I, W. */
	std::vector<const ChipOp *> phases(const std::string &component)
	{
		std::vector<const ChipOp *> all;
		for (const char *phase : {"F", "I", "W"})
			if (const ChipOp *one = op(component, phase))
				all.push_back(one);
		return all;
	}
	void launch(const ChipOp &op);
	void synchronize();

	const int rank, device;
	const std::string pci;
	cudaStream_t stream() const
	{
		return whole.compute().stream;
	}
	bool moe() const
	{
		return (bool)works.dispatch_f.enqueue;
	}

      private:
	std::vector<Work> chain(const std::string &component, const std::string &phase);
	void enqueue(const Work &work);
	std::shared_ptr<Rig> rig;
	Partition whole; /* full chip for compute */
	SmSplit split;
	std::unique_ptr<Partition> pair; /* made when an FB is asked for */
	LayerWorks works;
	std::vector<std::unique_ptr<ChipOp>> ops;
	std::vector<std::vector<Span>> spans; /* of the pairs' events */
};

} // namespace bench
