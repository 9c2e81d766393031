/* GPUs that do not exist: the part of the CUDA runtime that the series use, in virtual time, so
 * that what they say of a GPU can be compared with what that GPU is known to do. Every op takes a
 * given time, a message too; a receive that waits slows ops by 1 % an SM, a message that moves by
 * 5 %. Built where the toolkit's headers are, and run by tests/microbench.sh:
 * microbench-fake MESSAGE_NS ORDER.csv... replays each, on as many GPUs as it has ranks and each
 * rank alone, and then runs the other series. */
#include "chip.h"
#include "comm-kernels.h"
#include "governor-plan.h"
#include "microbench-check.h"
#include "nccl.h"
#include "series.h"
#include "waiting.h"
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <map>
#include <mutex>

/* The machine ----------------------------------------------------------------------------- */

namespace
{

constexpr int64_t kNever = INT64_MAX / 4;
constexpr int kSms = 132, kNcclSms = 24;

/* Each thread has a GPU of its own, but in a pipeline; one that begins finds all GPUs idle. */
thread_local int64_t host = INT64_C(1) << 50;
thread_local int current;
int64_t message_ns;
std::map<std::string, int64_t> op_ns; /* component and phase */

struct Stream {
	int64_t end = 0; /* of what it was given */
	bool capturing = false, waits = false;
	int device = 0;
};
struct Mark {
	int64_t at = 0;
};
struct Graph {
	int64_t ns = 0; /* of copies and idle time, one after the other */
	int to = 0;     /* the GPU that the copies arrive at */
};
Graph captured;

Stream *stream(cudaStream_t s)
{
	return (Stream *)s;
}
Mark *mark(cudaEvent_t e)
{
	return (Mark *)e;
}

void give(cudaStream_t to, int64_t ns)
{
	Stream *s = stream(to);
	if (s->capturing)
		captured.ns += ns;
	else
		s->end = std::max(s->end, host) + ns;
}

struct Gpu {
	int receive_sms = 0;
	int64_t moving_until = 0;
	Stream compute;
};
Gpu gpus[8];
std::mutex lock;
std::map<const void *, int> places; /* device of each allocation */

} // namespace

extern "C" {
cudaError_t cudaSetDevice(int device)
{
	current = device;
	return cudaSuccess;
}
cudaError_t cudaGetDevice(int *device)
{
	*device = current;
	return cudaSuccess;
}
const char *cudaGetErrorString(cudaError_t)
{
	return "an error";
}
cudaError_t cudaGetLastError()
{
	return cudaSuccess;
}
cudaError_t cudaMalloc(void **pointer, size_t)
{
	std::lock_guard<std::mutex> guard(lock);
	*pointer = malloc(1);
	places[*pointer] = current;
	return cudaSuccess;
}
cudaError_t cudaFree(void *pointer)
{
	free(pointer);
	return cudaSuccess;
}
cudaError_t cudaMemset(void *, int, size_t)
{
	return cudaSuccess;
}
cudaError_t cudaDeviceSynchronize()
{
	return cudaSuccess;
}
cudaError_t cudaDeviceGetStreamPriorityRange(int *low, int *high)
{
	*low = *high = 0;
	return cudaSuccess;
}
cudaError_t cudaStreamCreateWithFlags(cudaStream_t *made, unsigned)
{
	Stream *s = new Stream;
	s->device = current;
	*made = (cudaStream_t)s;
	return cudaSuccess;
}
cudaError_t cudaStreamCreateWithPriority(cudaStream_t *made, unsigned flags, int)
{
	return cudaStreamCreateWithFlags(made, flags);
}
cudaError_t cudaStreamDestroy(cudaStream_t s)
{
	delete stream(s);
	return cudaSuccess;
}
cudaError_t cudaStreamSynchronize(cudaStream_t s)
{
	host = std::max(host, stream(s)->end);
	return stream(s)->waits ? cudaErrorUnknown : cudaSuccess; /* it would hang */
}
cudaError_t cudaStreamQuery(cudaStream_t s)
{
	return stream(s)->waits || stream(s)->end > host ? cudaErrorNotReady : cudaSuccess;
}
cudaError_t cudaStreamWaitEvent(cudaStream_t s, cudaEvent_t e, unsigned)
{
	stream(s)->end = std::max(stream(s)->end, mark(e)->at);
	return cudaSuccess;
}
cudaError_t cudaStreamBeginCapture(cudaStream_t s, cudaStreamCaptureMode)
{
	stream(s)->capturing = true;
	captured = Graph();
	return cudaSuccess;
}
cudaError_t cudaStreamEndCapture(cudaStream_t s, cudaGraph_t *graph)
{
	stream(s)->capturing = false;
	*graph = (cudaGraph_t) new Graph(captured);
	return cudaSuccess;
}
cudaError_t cudaGraphInstantiate(cudaGraphExec_t *exec, cudaGraph_t graph, unsigned long long)
{
	*exec = (cudaGraphExec_t) new Graph(*(Graph *)graph);
	return cudaSuccess;
}
cudaError_t cudaGraphDestroy(cudaGraph_t graph)
{
	delete (Graph *)graph;
	return cudaSuccess;
}
cudaError_t cudaGraphExecDestroy(cudaGraphExec_t exec)
{
	delete (Graph *)exec;
	return cudaSuccess;
}
cudaError_t cudaGraphUpload(cudaGraphExec_t, cudaStream_t)
{
	return cudaSuccess;
}
cudaError_t cudaGraphLaunch(cudaGraphExec_t exec, cudaStream_t s)
{
	give(s, ((Graph *)exec)->ns);
	gpus[((Graph *)exec)->to].moving_until = stream(s)->end;
	return cudaSuccess;
}
cudaError_t cudaEventCreateWithFlags(cudaEvent_t *made, unsigned)
{
	*made = (cudaEvent_t) new Mark;
	return cudaSuccess;
}
cudaError_t cudaEventDestroy(cudaEvent_t e)
{
	delete mark(e);
	return cudaSuccess;
}
cudaError_t cudaEventRecord(cudaEvent_t e, cudaStream_t s)
{
	mark(e)->at = std::max(host, stream(s)->end);
	return cudaSuccess;
}
cudaError_t cudaEventSynchronize(cudaEvent_t e)
{
	host = std::max(host, mark(e)->at);
	return cudaSuccess;
}
cudaError_t cudaEventElapsedTime(float *ms, cudaEvent_t from, cudaEvent_t to)
{
	*ms = (float)((double)(mark(to)->at - mark(from)->at) * 1e-6);
	return cudaSuccess;
}
cudaError_t cudaMemcpyAsync(
	void *target, const void *, size_t, cudaMemcpyKind kind, cudaStream_t s)
{
	auto place = places.find(target);
	if (place != places.end())
		captured.to = place->second;
	/* Pieces within a GPU take no time beside the idle time between them. */
	give(s, kind == cudaMemcpyDefault ? message_ns : 0);
	return cudaSuccess;
}
cudaError_t cudaMemcpyPeerAsync(void *, int to, const void *, int from, size_t, cudaStream_t s)
{
	if (to == from || stream(s)->capturing)
		return cudaErrorNotSupported;
	give(s, message_ns);
	return cudaSuccess;
}
}

namespace bench
{

/* What the series ask of other files ---------------------------------------------------------- */

volatile int Capture::interrupted = 0;

void fill_random_bf16(void *, size_t, uint64_t, cudaStream_t)
{
}

void launch_idle(uint64_t ns, cudaStream_t s)
{
	give(s, (int64_t)ns);
}

int64_t host_now_ns()
{
	return host += 1000; /* or nobody who polls comes to an end */
}

void host_sleep_until(int64_t ns)
{
	host = std::max(host, ns);
}

Partition::Partition(int device, const SmSplit &) : device(device)
{
	compute_lane.stream = (cudaStream_t)&gpus[device].compute;
}

Partition::~Partition()
{
}

Chip::Chip(int rank, std::shared_ptr<Rig>, const SmSplit &split)
    : rank(rank), device(rank), pci("gpu"), whole(rank, split)
{
}

Chip::~Chip()
{
}

const ChipOp *Chip::op(const std::string &component, const std::string &phase)
{
	for (const auto &known : ops)
		if (known->row.component == component && known->row.phase == phase)
			return known.get();
	auto found = op_ns.find(component + phase);
	if (found == op_ns.end())
		return nullptr;
	ops.push_back(std::make_unique<ChipOp>());
	ops.back()->row.component = component;
	ops.back()->row.phase = phase;
	ops.back()->row.rank = rank;
	ops.back()->expected_ns = (double)found->second;
	return ops.back().get();
}

/* The compute stream of a fake chip is its GPU's. */
void Chip::launch(const ChipOp &op)
{
	Gpu &gpu = gpus[device];
	double slower = 1 + 0.01 * gpu.receive_sms;
	if (std::max(host, gpu.compute.end) < gpu.moving_until)
		slower += 0.05;
	give(stream(), llround(op.expected_ns * slower));
}

void Chip::synchronize()
{
	cudaStreamSynchronize(stream());
}

Sampler::Sampler(const Nvml &nvml, const std::vector<std::string> &) : nvml(nvml)
{
}

Sampler::~Sampler()
{
}

void Sampler::fill(TraceRow &row, int, int64_t)
{
	row.clk_sm_mhz = 1980;
}

Nvml::Nvml()
{
}

Nvml::~Nvml()
{
}

WaitingReceive::WaitingReceive(int device, uint64_t) : device(device)
{
	cudaStreamCreateWithFlags(&receives, 0);
}

WaitingReceive::~WaitingReceive()
{
	cudaStreamDestroy(receives);
}

void WaitingReceive::post(int sms)
{
	gpus[device].receive_sms = posted = sms;
}

bool WaitingReceive::release()
{
	::stream(receives)->end = host;
	gpus[device].receive_sms = posted = 0;
	return true;
}

FreeSms::FreeSms(int device) : device(device)
{
}

FreeSms::~FreeSms()
{
}

int FreeSms::count()
{
	host += 1000;
	return kSms - gpus[device].receive_sms;
}

/* NCCL: a receive waits until its sender is there, and holds SMs meanwhile. */
struct Nccl::Api {
	cudaStream_t pending = nullptr; /* of the receive that waits */
	int device = 0;
};

Nccl::Nccl(const std::vector<int> &devices) : api(new Api), devices(devices)
{
}

Nccl::~Nccl()
{
	delete api;
}

std::string Nccl::version() const
{
	return "0.0.0";
}

void Nccl::receive(int rank, int, void *, int64_t, cudaStream_t s)
{
	current = devices[rank];
	api->pending = s;
	api->device = devices[rank];
	gpus[api->device].receive_sms = kNcclSms;
	::stream(s)->waits = true;
	::stream(s)->end = std::max(::stream(s)->end, host);
}

void Nccl::send(int rank, int, const void *, int64_t, cudaStream_t s)
{
	current = devices[rank];
	Stream *to = ::stream(api->pending);
	to->waits = false;
	to->end = std::max(to->end, host) + message_ns;
	::stream(s)->end = to->end;
	gpus[api->device].receive_sms = 0;
	gpus[api->device].moving_until = to->end;
}

void Nccl::exchange(const std::vector<void *> &, const std::vector<cudaStream_t> &, int64_t)
{
}

void Nccl::abort()
{
}

} // namespace bench

/* The tests ------------------------------------------------------------------------------- */

using namespace bench;

namespace
{

Chips make_chips(size_t count)
{
	Chips chips;
	host = 0;
	for (size_t r = 0; r < count; r++) {
		gpus[r] = Gpu();
		chips.push_back(std::make_unique<Chip>((int)r, nullptr, SmSplit()));
	}
	return chips;
}

void replay(const ReplayOrder &order, size_t gpu_count, int rank)
{
	Nvml nvml;
	Sampler sampler(nvml, {});
	Chips chips = make_chips(gpu_count);
	std::vector<TraceRow> rows;
	ReplayResult result = measure_replay(chips, sampler, order, rank, 1 << 20, rows);
	const std::string what = result.name + " on " + std::to_string(gpu_count) + " GPUs: ";
	check(result.steps == 20, what + std::to_string(result.steps) + " steps");
	check(std::fabs(result.median_ns - (double)order.step_ns) < 1000,
		what + std::to_string(result.median_ns) + " ns instead of " +
			std::to_string(order.step_ns));
	size_t in_step = gpu_count > 1 ? (size_t)order.ops() : order.ranks[rank].size();
	check(rows.size() % in_step == 0 && rows.size() >= 23 * in_step,
		what + std::to_string(rows.size()) + " rows");
	for (const TraceRow &row : rows)
		if (row.series != "replay" || row.dur_ns <= 0 || row.stage < 0 || row.step < 0)
			return check(false, what + "a row that lacks something");
}

/* Between bursts a GPU is idle as planned; ops of a burst follow each other. */
void test_governor()
{
	Nvml nvml;
	Sampler sampler(nvml, {});
	Chips chips = make_chips(2);
	std::vector<TraceRow> rows;
	std::vector<std::string> notes;
	measure_governor(chips, sampler, rows, notes);
	std::vector<double> pauses;
	int reps = 0, waits = 0;
	int64_t end = 0;
	std::string run = "";
	double busy = 0, idle = 0;
	bool ordered = true, apart = true;
	for (const TraceRow &row : rows) {
		bool begins = row.run_id + std::to_string(row.rank) != run;
		if (begins) {
			run = row.run_id + std::to_string(row.rank);
			reps = 0;
			end = row.t_start_ns;
		}
		ordered &= row.series == "governor" && row.rep == reps++;
		double pause = (double)(row.t_start_ns - end) * 1e-6;
		apart &= pause >= 0;
		if (row.run_id == "governor-steps/layer" && row.rank == 1 && pause > 1)
			pauses.push_back(std::round(pause));
		if (row.run_id == "governor-cycles/layer") {
			busy += (double)row.dur_ns;
			idle += pause * 1e6;
		}
		waits += row.component == "receive" && row.resident_sms == 16;
		end = row.t_start_ns + row.dur_ns;
	}
	check(ordered, "rows of a history count from 0");
	check(apart, "ops of a history do not overlap");
	check(pauses == std::vector<double>({10, 20, 50, 100, 300, 1000}),
		"the pauses of a second GPU");
	check(waits == 6, std::to_string(waits) + " receives that wait");
	check(busy / (busy + idle) > 0.75 && busy / (busy + idle) < 0.85,
		"duty cycles: " + std::to_string(busy / (busy + idle)));
}

void test_resident(size_t count)
{
	Nvml nvml;
	Sampler sampler(nvml, {});
	Chips chips = make_chips(count);
	std::vector<TraceRow> rows;
	std::vector<std::string> notes;
	std::string nccl;
	measure_resident(chips, sampler, 58720256, 1, rows, notes, nccl);
	std::map<std::string, int> seen;
	for (const TraceRow &row : rows) {
		double slower = row.dur_ns / (double)op_ns[row.component + row.phase];
		/* A fake NCCL's message holds no SM. */
		double expected = row.series == "moving" ? row.payload_bytes > 0 ? 1.05 : 1
							 : 1 + 0.01 * row.resident_sms;
		if (std::fabs(slower - expected) > 1e-3 || row.status == "outlier")
			return check(false, row.series + " " + row.impl + " " + row.component +
						    row.phase + ": " + std::to_string(slower) +
						    " instead of " + std::to_string(expected) +
						    ", " + row.status);
		seen[row.series + row.impl + std::to_string(row.rank)]++;
	}
	check(seen["residentown0"] > 0 && seen["movingown0"] > 0, "rows of our own receive");
	bool second = count > 1;
	check((seen["residentnccl1"] > 0) == second && (seen["movingnccl0"] > 0) == second &&
			(seen["residentown1"] > 0) == second,
		"rows of NCCL's between two GPUs");
	check((nccl == "0.0.0") == second && notes.empty() == second, "what is said of NCCL");
}

} // namespace

int main(int argc, char **argv)
{
	message_ns = atoll(argv[1]);
	for (int i = 2; i < argc; i++) {
		ReplayOrder order = read_order(argv[i]);
		order.connect();
		for (const auto &list : order.ranks)
			for (const ReplayOp &op : list)
				op_ns["layer" + op.kind] = op.dur_ns;
		replay(order, order.ranks.size(), 0);
		for (size_t rank = 0; rank < order.ranks.size(); rank++)
			replay(order, 1, (int)rank);
	}
	for (const char *component :
		{"attn", "mlp", "dispatch", "combine", "elementwise", "layer"})
		for (const char *phase : {"F", "I", "W"})
			op_ns[std::string(component) + phase] =
				1000000 + 500000 * (*phase == 'I');
	op_ns["layerFB"] = 5000000;
	test_governor();
	test_resident(1);
	test_resident(2);
	printf("%d %d\n", checks, failures);
	return failures > 0;
}
