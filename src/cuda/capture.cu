#include "buffer.h"
#include "capture.h"
#include "cuda-check.h"
#include "median.h"
#include "ptx.h"
#include <algorithm>
#include <cmath>
#include <map>
#include <tuple>

namespace bench
{

namespace
{

constexpr unsigned long long kGateTimeoutNs = 5000000000ull;
constexpr double kSettleNs = 1.5e9; /* of continuous load before sustained rows count */
constexpr int kEventPairs = 1000;
/* A first repetition this many (scaled) median deviations above the median is an outlier. */
constexpr double kOutlier = 6;

__global__ void gate_kernel(volatile unsigned int *gate, unsigned int ticket)
{
	unsigned long long begin = now_ns();
	while (gate[0] < ticket && now_ns() - begin < kGateTimeoutNs)
		__nanosleep(100);
	if (gate[0] < ticket)
		gate[1] = ticket;
}

/* Makes it the current one, of which what is created next will be. */
int use(int device)
{
	CUDA_CHECK(cudaSetDevice(device));
	return device;
}

} // namespace

volatile int Capture::interrupted = 0;

/* What a device needs beside the graphs. */
struct Capture::Rank {
	explicit Rank(int device) : device(use(device))
	{
	}
	int device;
	std::string pci;
	cudaStream_t stream;
	Event gate_open;
	Event set_done[2];
	Buffer<char> flush; /* twice the L2 */
	Health health;
};

const char *load_mode_name(LoadMode mode)
{
	return mode == LoadMode::synced         ? "synced"
	       : mode == LoadMode::back_to_back ? "back_to_back"
						: "sustained";
}

TraceRow describe(const Work &work, const std::string &role)
{
	TraceRow row;
	row.component = work.component;
	row.phase = work.phase;
	row.role = role;
	row.impl = work.impl;
	row.stream = role;
	row.tokens = work.tokens;
	if (work.rows > 0)
		row.rows = work.rows;
	if (work.payload_bytes > 0) {
		row.payload_bytes = work.payload_bytes;
		row.wire_bytes = work.wire_bytes;
	}
	row.flops = work.flops;
	return row;
}

size_t Recorder::begin(const TraceRow &row, cudaStream_t stream)
{
	Span span;
	span.row = row;
	CUDA_CHECK(cudaEventRecordWithFlags(span.start, stream, cudaEventRecordExternal));
	spans.push_back(std::move(span));
	return spans.size() - 1;
}

void Recorder::end(size_t span, cudaStream_t stream)
{
	CUDA_CHECK(cudaEventRecordWithFlags(spans[span].end, stream, cudaEventRecordExternal));
}

void Recorder::add(const Work &work, const TraceRow &row, const Lane &lane)
{
	size_t span = begin(row, lane.stream);
	work.enqueue(lane);
	end(span, lane.stream);
	if (comm)
		spans[span].launches = comm->take_launches();
}

Capture::Capture(const std::vector<int> &devices, Comm *comm, const Nvml &nvml, uint64_t seed)
    : comm(comm), nvml(nvml), random(seed)
{
	void *flag;
	CUDA_CHECK(cudaHostAlloc(
		&flag, 2 * sizeof(unsigned int), cudaHostAllocPortable | cudaHostAllocMapped));
	gate = (volatile unsigned int *)flag;
	gate[0] = gate[1] = 0;
	for (int device : devices) {
		Rank r(device);
		char pci[32];
		int l2;
		CUDA_CHECK(cudaDeviceGetPCIBusId(pci, sizeof pci, device));
		CUDA_CHECK(cudaDeviceGetAttribute(&l2, cudaDevAttrL2CacheSize, device));
		r.pci = pci;
		CUDA_CHECK(cudaStreamCreateWithFlags(&r.stream, cudaStreamNonBlocking));
		r.flush = Buffer<char>(2 * (int64_t)l2);
		ranks.push_back(std::move(r));
	}
	measure_events();
}

Capture::~Capture()
{
	while (!items.empty())
		remove(items.back());
	for (Rank &r : ranks) {
		cudaSetDevice(r.device);
		cudaStreamDestroy(r.stream);
	}
	cudaFreeHost((void *)gate);
}

Item *Capture::add(const std::string &name, const std::function<cudaStream_t(int rank)> &origin,
	const Capturer &capturer)
{
	items.push_back(new Item);
	Item *item = items.back();
	item->name = name;
	for (auto &set : item->sets)
		for (size_t r = 0; r < ranks.size(); r++) {
			Captured c;
			CUDA_CHECK(cudaSetDevice(ranks[r].device));
			Recorder recorder(comm, c.spans);
			c.graph = Graph(origin((int)r), [&] { capturer((int)r, recorder); });
			c.graph.upload(ranks[r].stream);
			for (const Span &span : c.spans)
				item->exchanges |= !span.launches.empty();
			set.push_back(std::move(c));
		}
	wait_all();
	return item;
}

void Capture::remove(Item *item)
{
	items.erase(std::find(items.begin(), items.end(), item));
	delete item;
}

void Capture::close_gate()
{
	gates++;
	for (Rank &r : ranks) {
		CUDA_CHECK(cudaSetDevice(r.device));
		gate_kernel<<<1, 1, 0, r.stream>>>(gate, gates);
		LAUNCH_CHECK();
		r.gate_open.record(r.stream);
	}
}

void Capture::open_gate()
{
	gate[0] = gates;
}

void Capture::flush_l2(Rank &rank)
{
	CUDA_CHECK(cudaSetDevice(rank.device));
	CUDA_CHECK(cudaMemsetAsync(rank.flush, (int)gates, rank.flush.bytes(), rank.stream));
}

void Capture::launch(Item *item, int set)
{
	for (size_t r = 0; r < ranks.size(); r++) {
		CUDA_CHECK(cudaSetDevice(ranks[r].device));
		item->sets[set][r].graph.launch(ranks[r].stream);
	}
}

void Capture::wait_all()
{
	for (Rank &r : ranks) {
		CUDA_CHECK(cudaSetDevice(r.device));
		CUDA_CHECK(cudaStreamSynchronize(r.stream));
	}
}

void Capture::read_health()
{
	for (Rank &r : ranks)
		r.health = nvml.read(r.pci);
}

void Capture::collect(Item *item, int set, const Series &series, int rep, int order)
{
	for (size_t r = 0; r < ranks.size(); r++) {
		for (const Span &span : item->sets[set][r].spans) {
			TraceRow row = span.row;
			row.run_id =
				series.name + "-" + load_mode_name(series.mode) + row.run_id;
			row.load_mode = load_mode_name(series.mode);
			row.rep = rep;
			row.order = order;
			row.rank = (int)r;
			row.device = ranks[r].device;
			row.pair_id = row.pair_id >= 0 ? pairs : -1;
			row.t_start_ns = ranks[r].gate_open.until_ns(span.start);
			row.dur_ns = span.start.until_ns(span.end);
			row.status = rep < series.warmup ? "warmup" : "ok";
			if (gate[1] == gates)
				row.status = "outlier"; /* began before all was queued */
			int64_t wait = 0;
			for (const CommLaunch &l : span.launches) {
				wait += (int64_t)l.record->wait_ns;
				row.sm_actual = (int)l.record->sms;
				if (!comm->correct(l))
					row.status = "checksum_fail";
			}
			if (!span.launches.empty()) {
				row.wait_ns = std::min(wait, row.dur_ns);
				row.move_ns = row.dur_ns - row.wait_ns;
			}
			row.clk_sm_mhz = ranks[r].health.sm_mhz;
			row.power_w = ranks[r].health.power_w;
			row.temp_c = ranks[r].health.temp_c;
			trace.push_back(row);
		}
	}
	pairs++;
	if (progress)
		progress(item->expected_ns);
}

bool Capture::run_synced(std::vector<Item *> list, const Series &series)
{
	for (int rep = 0; rep < series.warmup + series.reps && !interrupted; rep++) {
		std::shuffle(list.begin(), list.end(), random);
		for (size_t i = 0; i < list.size(); i++) {
			for (Rank &r : ranks)
				flush_l2(r);
			close_gate();
			launch(list[i], 0);
			open_gate();
			if (i == 0)
				read_health();
			wait_all();
			collect(list[i], 0, series, rep, (int)i);
		}
	}
	return !interrupted;
}

bool Capture::run_back_to_back(std::vector<Item *> list, const Series &series)
{
	for (int rep = 0; rep < series.warmup + series.reps && !interrupted; rep++) {
		std::shuffle(list.begin(), list.end(), random);
		close_gate();
		for (Item *item : list)
			launch(item, 0);
		open_gate();
		read_health();
		wait_all();
		for (size_t i = 0; i < list.size(); i++)
			collect(list[i], 0, series, rep, (int)i);
	}
	return !interrupted;
}

/* A repetition is collected while the next one, of the other set, runs. */
bool Capture::run_sustained(std::vector<Item *> list, const Series &given)
{
	Series series = given;
	double total = 0;
	for (Item *item : list)
		total += std::max(item->expected_ns, 1000.0);
	series.warmup = std::max(series.warmup, (int)(kSettleNs / total) + 1);
	int reps = series.warmup + series.reps;
	std::vector<Item *> order[2];
	close_gate();
	for (int rep = 0; rep <= reps; rep++) {
		int set = rep & 1;
		bool last = rep == reps || interrupted;
		if (!last) {
			std::shuffle(list.begin(), list.end(), random);
			order[set] = list;
			for (Item *item : list)
				launch(item, set);
			for (Rank &r : ranks) {
				CUDA_CHECK(cudaSetDevice(r.device));
				r.set_done[set].record(r.stream);
			}
		}
		open_gate();
		read_health();
		if (rep > 0) {
			for (Rank &r : ranks)
				r.set_done[!set].synchronize();
			for (size_t i = 0; i < order[!set].size(); i++)
				collect(order[!set][i], !set, series, rep - 1, (int)i);
		}
		if (last)
			break;
	}
	wait_all();
	return !interrupted;
}

bool Capture::measure(const std::vector<Item *> &list, const Series &series)
{
	size_t first_row = trace.size();
	bool whole = series.mode == LoadMode::synced         ? run_synced(list, series)
		     : series.mode == LoadMode::back_to_back ? run_back_to_back(list, series)
							     : run_sustained(list, series);
	mark_first_outliers(first_row);
	return whole;
}

/* The first counted repetition after a pause or a change of load may still warm something up.
 */
void Capture::mark_first_outliers(size_t first_row)
{
	std::map<std::tuple<std::string, std::string, std::string, int>, std::vector<size_t>>
		groups;
	for (size_t i = first_row; i < trace.size(); i++)
		if (trace[i].status == "ok")
			groups[{trace[i].run_id, trace[i].component, trace[i].phase,
				       trace[i].rank}]
				.push_back(i);
	for (const auto &[key, index] : groups) {
		std::vector<double> durations, deviations;
		for (size_t i : index)
			durations.push_back((double)(trace[i].move_ns >= 0 ? trace[i].move_ns
									   : trace[i].dur_ns));
		double middle = median(durations);
		for (double d : durations)
			deviations.push_back(std::fabs(d - middle));
		double limit = middle + kOutlier * 1.4826 * median(deviations);
		if (index.size() >= 10 && durations[0] > limit)
			trace[index[0]].status = "outlier";
	}
}

void Capture::estimate(const std::vector<Item *> &list)
{
	for (Item *item : list) {
		for (int i = 0; i < 2; i++) {
			close_gate();
			launch(item, 0);
			open_gate();
			wait_all();
		}
		const Span &span = item->sets[0][0].spans[0];
		item->expected_ns = (double)span.start.until_ns(span.end);
	}
}

double Capture::median_ns(Item *item, const Series &series)
{
	size_t first_row = trace.size();
	measure({item}, series);
	std::vector<double> durations;
	for (size_t i = first_row; i < trace.size(); i++)
		if (trace[i].status == "ok" && trace[i].rank == 0)
			durations.push_back((double)(trace[i].move_ns >= 0 ? trace[i].move_ns
									   : trace[i].dur_ns));
	return median(durations);
}

void Capture::measure_events()
{
	Rank &r = ranks[0];
	CUDA_CHECK(cudaSetDevice(r.device));
	std::vector<Span> spans;
	const Graph graph(r.stream, [&] {
		Recorder recorder(nullptr, spans);
		for (int i = 0; i < kEventPairs; i++)
			recorder.end(recorder.begin(TraceRow(), r.stream), r.stream);
	});
	graph.launch(r.stream);
	CUDA_CHECK(cudaStreamSynchronize(r.stream));
	std::vector<double> distances;
	for (const Span &span : spans)
		distances.push_back((double)span.start.until_ns(span.end));
	overhead = (int64_t)median(distances);
	std::sort(distances.begin(), distances.end());
	for (size_t i = 1; i < distances.size(); i++) {
		int64_t step = (int64_t)(distances[i] - distances[i - 1]);
		if (step > 0 && (resolution == 0 || step < resolution))
			resolution = step;
	}
}

} // namespace bench
