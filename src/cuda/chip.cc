#include "chip.h"
#include "cuda-check.h"

namespace bench
{

namespace
{

constexpr int kEstimates = 4; /* launches that an op's expected time is taken from */

std::string pci_of(int device)
{
	char pci[32];
	CUDA_CHECK(cudaDeviceGetPCIBusId(pci, sizeof pci, device));
	return pci;
}

/* The ops of a chunk, as a rank runs them one after the other. */
struct Part {
	const char *phase, *component;
	Work LayerWorks::*work;
};

const Part kParts[] = {
	{"F", "attn", &LayerWorks::attn_f},
	{"F", "dispatch", &LayerWorks::dispatch_f},
	{"F", "mlp", &LayerWorks::mlp_f},
	{"F", "combine", &LayerWorks::combine_f},
	{"I", "combine", &LayerWorks::combine_i},
	{"I", "mlp", &LayerWorks::mlp_i},
	{"I", "dispatch", &LayerWorks::dispatch_i},
	{"I", "attn", &LayerWorks::attn_i},
	{"W", "mlp", &LayerWorks::mlp_w},
	{"W", "attn", &LayerWorks::attn_w},
};

} // namespace

Chip::Chip(int rank, std::shared_ptr<Rig> with, const SmSplit &pair_split)
    : rank(rank), device(with->devices[0]), pci(pci_of(device)), rig(with),
      whole(device, {SmMode::none, 0, pair_split.comm}), split(pair_split),
      works(with->layer_works(0, pair_split.comm))
{
}

Chip::~Chip()
{
	cudaSetDevice(device);
	cudaDeviceSynchronize();
}

/* What the op consists of; empty where the model has no such. */
std::vector<Work> Chip::chain(const std::string &component, const std::string &phase)
{
	std::vector<Work> list;
	if (component == "elementwise") {
		Work work = rig->elementwise(0, phase.c_str());
		if (work.enqueue)
			list.push_back(work);
		return list;
	}
	for (const Part &part : kParts) {
		bool mine = phase == part.phase || (phase == "B" && *part.phase != 'F');
		if (mine && (component == "layer" || component == part.component) &&
			(works.*part.work).enqueue)
			list.push_back(works.*part.work);
	}
	return list;
}

/* Components of the exchange take the SMs of the communication, as in a step. */
void Chip::enqueue(const Work &work)
{
	Lane lane = whole.compute();
	if (work.component == "dispatch" || work.component == "combine")
		lane.sms = split.comm;
	work.enqueue(lane);
}

const ChipOp *Chip::op(const std::string &component, const std::string &phase)
{
	for (const auto &known : ops)
		if (known->row.component == component && known->row.phase == phase)
			return known.get();
	std::vector<Work> list;
	bool pairs = phase == "FB";
	CUDA_CHECK(cudaSetDevice(device));
	if (!pairs && (list = chain(component, phase)).empty())
		return nullptr;
	if (pairs && !pair) {
		if (split.mode != SmMode::none)
			rig->prepare(split.compute);
		pair = std::make_unique<Partition>(device, split);
	}
	cudaStream_t on = pairs ? pair->compute().stream : stream();
	auto made = std::make_unique<ChipOp>();
	if (pairs) {
		made->row.role = "pair";
		made->row.stream = "both";
		made->row = placed(made->row, *pair, false, nullptr);
	} else {
		made->row = placed(describe(list.front(), "compute"), whole, false, nullptr);
		made->row.flops = 0;
		for (const Work &work : list)
			made->row.flops += work.flops;
		made->row.payload_bytes = made->row.wire_bytes = -1;
	}
	made->row.component = component;
	made->row.phase = phase;
	made->row.tokens = works.attn_f.tokens;
	made->row.rank = rank;
	made->row.device = device;
	made->graph = Graph(on, [&] {
		if (pairs) {
			spans.emplace_back();
			Recorder recorder(rig->comm.get(), spans.back());
			capture_pair(works, *pair, rig->how, recorder);
		}
		for (const Work &work : list)
			enqueue(work);
	});
	made->graph.upload(stream());
	if (rig->comm)
		rig->comm->take_launches();
	Event begin, end;
	launch(*made);
	begin.record(stream());
	for (int i = 0; i < kEstimates; i++)
		launch(*made);
	end.record(stream());
	synchronize();
	made->expected_ns = (double)begin.until_ns(end) / kEstimates;
	ops.push_back(std::move(made));
	return ops.back().get();
}

void Chip::launch(const ChipOp &op)
{
	op.graph.launch(stream());
}

void Chip::synchronize()
{
	CUDA_CHECK(cudaSetDevice(device));
	CUDA_CHECK(cudaStreamSynchronize(stream()));
}

} // namespace bench
