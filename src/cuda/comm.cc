#include "comm.h"
#include "cuda-check.h"
#include "device.h"
#include <algorithm>

namespace bench
{

/* The route's tables in one GPU's memory. */
struct Comm::Tables {
	Buffer<uint32_t> send;
	Buffer<float> weight, slot_weight;
	Buffer<int32_t> recv_begin, home, row_slot, slot_row;
};

/* One rank's side of one exchange. */
struct Comm::Exchange {
	Buffer<char> source[2], staging, out;
	Buffer<unsigned long long> arrival, flags;
	Buffer<CommState> state;
	ExchangeArgs args = {};
	unsigned int expected[2] = {0, 0};
};

namespace
{

constexpr size_t kRecordsPerBlock = 4096;

template <class T> Buffer<T> uploaded(const std::vector<T> &host)
{
	Buffer<T> buffer((int64_t)host.size());
	buffer.upload(host);
	return buffer;
}

/* Rows that this rank sends to `target` in an exchange of `kind`. */
int rows_between(
	const std::vector<RankRoute> &route, int tokens, CommKind kind, int rank, int target)
{
	int receiver = kind == CommKind::dispatch ? target : rank;
	int source = kind == CommKind::dispatch ? rank : target;
	const int32_t *begin =
		route[receiver].recv_begin.data() + (size_t)source * (tokens + 1);
	return begin[tokens] - begin[0];
}

} // namespace

Comm::Comm(const std::vector<int> &devices, const std::vector<RankRoute> &route,
	const CommShape &shape)
    : devices(devices), route(route), shape(shape)
{
	for (size_t r = 0; r < devices.size(); r++) {
		CUDA_CHECK(cudaSetDevice(devices[r]));
		const RankRoute &t = route[r];
		tables.push_back(std::make_unique<Tables>(Tables{uploaded(t.send),
			uploaded(t.weight), uploaded(t.slot_weight), uploaded(t.recv_begin),
			uploaded(t.home), uploaded(t.row_slot), uploaded(t.slot_row)}));
		expert_rows.emplace_back((int64_t)t.rows * shape.value_bytes);
		expert_scales.emplace_back((int64_t)t.rows * shape.scale_bytes);
		expert_out.emplace_back((int64_t)t.rows * shape.hidden * 2);
		replies.emplace_back((int64_t)t.copies * shape.hidden * 2);
		fill_random_bf16(
			expert_out.back(), expert_out.back().bytes(), shape.seed, nullptr);
	}
	for (CommKind kind : {CommKind::dispatch, CommKind::combine}) {
		make_exchange(kind);
		connect(kind);
		find_expected(kind);
	}
}

Comm::~Comm()
{
	for (CommRecord *block : record_blocks)
		cudaFreeHost(block);
}

Comm::Exchange &Comm::at(CommKind kind, int rank) const
{
	return *exchanges[(int)kind][rank];
}

void Comm::make_exchange(CommKind kind)
{
	int64_t row = shape.row_bytes(kind), places = (int64_t)shape.tokens * shape.fanout;
	for (size_t r = 0; r < devices.size(); r++) {
		CUDA_CHECK(cudaSetDevice(devices[r]));
		auto e = std::make_unique<Exchange>();
		int64_t copies = route[r].copies;
		bool dispatch = kind == CommKind::dispatch;
		for (int parity = 0; parity < 2; parity++) {
			e->source[parity] =
				Buffer<char>((dispatch ? shape.tokens : copies) * row);
			uint64_t seed = shape.seed * 1000 + r * 10 + (int)kind * 2 + parity;
			(dispatch && shape.scale_bytes > 0 ? fill_random_fp8
							   : fill_random_bf16)(
				e->source[parity], e->source[parity].bytes(), seed, nullptr);
		}
		e->staging = Buffer<char>((dispatch ? copies : places) * row);
		e->out = Buffer<char>((dispatch ? copies : shape.tokens) * row);
		e->arrival = Buffer<unsigned long long>(kMaxRanks);
		e->flags = Buffer<unsigned long long>((int64_t)devices.size() * kMaxChannels);
		e->state = Buffer<CommState>(1);
		exchanges[(int)kind].push_back(std::move(e));
	}
}

void Comm::connect(CommKind kind)
{
	int ranks = (int)devices.size();
	for (int r = 0; r < ranks; r++) {
		Exchange &e = at(kind, r);
		const Tables &t = *tables[r];
		ExchangeArgs &a = e.args;
		a.rank = r;
		a.ranks = ranks;
		a.tokens = shape.tokens;
		a.fanout = shape.fanout;
		a.row_bytes = shape.row_bytes(kind);
		a.source[0] = e.source[0];
		a.source[1] = e.source[1];
		a.staging = e.staging;
		a.out = e.out;
		a.send = t.send;
		a.weight = t.weight;
		a.recv_begin = t.recv_begin;
		a.home = t.home;
		a.arrival = e.arrival;
		a.flags = e.flags;
		a.state = e.state;
		for (int p = 0; p < ranks; p++) {
			const Exchange &peer = at(kind, p);
			a.peer_staging[p] = peer.staging;
			a.peer_arrival[p] = peer.arrival.get() + r;
			a.peer_flags[p] = peer.flags.get() + (size_t)r * kMaxChannels;
		}
	}
}

void Comm::find_expected(CommKind kind)
{
	for (size_t r = 0; r < devices.size(); r++) {
		CUDA_CHECK(cudaSetDevice(devices[r]));
		for (int parity = 0; parity < 2; parity++) {
			Buffer<unsigned int> sums(kMaxRanks);
			(kind == CommKind::dispatch ? add_expected_dispatch
						    : add_expected_combine)(
				at(kind, r).args, parity, sums, nullptr);
			std::vector<unsigned int> host = sums.download();
			for (size_t target = 0; target < devices.size(); target++)
				at(kind, target).expected[parity] += host[target];
		}
	}
}

CommRecord *Comm::next_record()
{
	if (records_used == record_blocks.size() * kRecordsPerBlock) {
		void *block;
		size_t bytes = kRecordsPerBlock * sizeof(CommRecord);
		CUDA_CHECK(cudaHostAlloc(
			&block, bytes, cudaHostAllocPortable | cudaHostAllocMapped));
		record_blocks.push_back((CommRecord *)block);
	}
	return record_blocks.back() + records_used++ % kRecordsPerBlock;
}

Work Comm::describe(
	CommKind kind, int rank, const std::string &component, const std::string &phase) const
{
	const RankRoute &r = route[rank];
	bool dispatch = kind == CommKind::dispatch;
	double row = shape.row_bytes(kind), sent = dispatch ? r.sent : r.copies;
	double received = dispatch ? r.copies : r.sent;
	Work w;
	w.component = component;
	w.phase = phase;
	w.impl = devices.size() == 1 ? "own-loopback" : "own";
	w.bound = devices.size() == 1 ? Bound::copy : Bound::nvlink;
	w.bytes = dispatch ? row * (shape.tokens + 3 * received)
			   : row * (sent + 2 * received + shape.tokens);
	w.tokens = shape.tokens;
	w.rows = r.rows;
	w.payload_bytes = (int64_t)sent * shape.message_bytes(kind);
	int local = rows_between(route, shape.tokens, kind, rank, rank);
	w.wire_bytes = ((int64_t)sent - local) * shape.message_bytes(kind);
	return w;
}

Work Comm::work(CommKind kind, int rank, const std::string &component, const std::string &phase,
	const CommSettings &settings)
{
	Work w = describe(kind, rank, component, phase);
	int most = std::min(multiprocessors(devices[rank]), kMaxCtas);
	w.enqueue = [=](const Lane &lane) {
		ExchangeArgs args = at(kind, rank).args;
		args.chunk_tokens = settings.chunk_tokens;
		args.bytes_per_ns = settings.pace_gbps;
		args.record = next_record();
		launched.push_back({args.record, kind, rank});
		int sms = lane.sms > 0 ? std::min(lane.sms, most) : most;
		(kind == CommKind::dispatch ? launch_dispatch : launch_combine)(
			args, sms, lane.stream);
	};
	return w;
}

Work Comm::copy_engine_work(
	CommKind kind, int rank, const std::string &component, const std::string &phase)
{
	Work w = describe(kind, rank, component, phase);
	w.impl = devices.size() == 1 ? "copy-engine-loopback" : "copy-engine";
	int ranks = (int)devices.size();
	bool dispatch = kind == CommKind::dispatch;
	w.enqueue = [=](const Lane &lane) {
		size_t row = shape.row_bytes(kind);
		const Exchange &own = at(kind, rank);
		const Buffer<char> &packed = dispatch ? own.out : own.source[0];
		for (int i = 1; i <= ranks; i++) {
			int target = (rank + i) % ranks;
			const Exchange &peer = at(kind, target);
			size_t share = peer.staging.bytes() / ranks;
			size_t bytes =
				rows_between(route, shape.tokens, kind, rank, target) * row;
			bytes = std::min({bytes, share, packed.bytes()});
			CUDA_CHECK(cudaMemcpyAsync(peer.staging.get() + rank * share,
				packed.get(), bytes, cudaMemcpyDefault, lane.stream));
		}
	};
	return w;
}

PermuteArgs Comm::permute_args(int rank) const
{
	const Tables &t = *tables[rank];
	return {route[rank].copies, route[rank].rows, shape.experts_local, shape.value_bytes,
		shape.scale_bytes, shape.hidden, t.row_slot, t.slot_row, t.slot_weight,
		at(CommKind::dispatch, rank).out, expert_rows[rank], expert_scales[rank],
		expert_out[rank], replies[rank]};
}

std::vector<CommLaunch> Comm::take_launches()
{
	std::vector<CommLaunch> taken;
	taken.swap(launched);
	return taken;
}

bool Comm::correct(const CommLaunch &launch) const
{
	const CommRecord &r = *launch.record;
	return !r.timed_out && r.checksum == at(launch.kind, launch.rank).expected[r.epoch & 1];
}

std::vector<char> Comm::output(CommKind kind, int rank) const
{
	CUDA_CHECK(cudaSetDevice(devices[rank]));
	return at(kind, rank).out.download();
}

std::vector<char> Comm::source(CommKind kind, int rank, int parity) const
{
	CUDA_CHECK(cudaSetDevice(devices[rank]));
	return at(kind, rank).source[parity].download();
}

void Comm::poison_output(CommKind kind, int rank)
{
	Exchange &e = at(kind, rank);
	CUDA_CHECK(cudaSetDevice(devices[rank]));
	CUDA_CHECK(cudaMemset(e.out, 0xff, e.out.bytes()));
	CUDA_CHECK(cudaMemset(e.staging, 0xff, e.staging.bytes()));
	CUDA_CHECK(cudaDeviceSynchronize());
}

void Comm::spoil_source(CommKind kind, int rank)
{
	CUDA_CHECK(cudaSetDevice(devices[rank]));
	for (Buffer<char> &rows : at(kind, rank).source) {
		char byte;
		CUDA_CHECK(cudaMemcpy(&byte, rows.get(), 1, cudaMemcpyDeviceToHost));
		byte ^= 1;
		CUDA_CHECK(cudaMemcpy(rows.get(), &byte, 1, cudaMemcpyHostToDevice));
	}
}

void enable_peers(const std::vector<int> &devices)
{
	for (int from : devices)
		for (int to : devices) {
			int can = 0;
			if (from == to)
				continue;
			CUDA_CHECK(cudaDeviceCanAccessPeer(&can, from, to));
			if (!can)
				throw Unsupported("GPUs " + std::to_string(from) + " and " +
						  std::to_string(to) + " have no peer access");
			CUDA_CHECK(cudaSetDevice(from));
			cudaError_t status = cudaDeviceEnablePeerAccess(to, 0);
			if (status == cudaErrorPeerAccessAlreadyEnabled)
				cudaGetLastError();
			else
				CUDA_CHECK(status);
		}
}

} // namespace bench
