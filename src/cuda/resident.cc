/* Ops beside a receive that waits, and beside a message that moves, interleaved with the same
 * ops alone. */
#include "resident.h"
#include "comm-kernels.h"
#include "cuda-check.h"
#include "waiting.h"
#include <algorithm>

namespace bench
{

namespace
{

constexpr int kResidentSms[] = {0, 1, 2, 4, 8, 16, 32};
/* On one GPU there is no link: a copy at the rate of one, 370e9 bytes a second, in pieces. */
constexpr double kLinkBytesPerNs = 370;
constexpr int64_t kPieceBytes = 8 << 20;
constexpr int kMessagesPerGraph = 4;

/* The ops of a round, one after the other. */
std::vector<const ChipOp *> round_of(Chip &chip)
{
	std::vector<const ChipOp *> ops;
	for (const char *component :
		{"attn", "mlp", "dispatch", "combine", "elementwise", "layer"})
		for (const ChipOp *op : chip.phases(component))
			ops.push_back(op);
	ops.push_back(chip.op("layer", "FB"));
	return ops;
}

} // namespace

Rounds::Rounds(Chip &chip, Sampler &sampler, int64_t bytes)
    : chip(chip), sampler(sampler), bytes(bytes), ops(round_of(chip))
{
	chip.synchronize();
	events.resize(ops.size() + 1);
	origin.record(chip.stream());
	origin.synchronize();
	origin_ns = host_now_ns();
}

double Rounds::lasts_ns() const
{
	double total = 0;
	for (const ChipOp *op : ops)
		total += op->expected_ns;
	return total;
}

void Rounds::run(const Beside &beside, int rep, int order, const std::function<bool()> &over)
{
	events[0].record(chip.stream());
	for (size_t i = 0; i < ops.size(); i++) {
		chip.launch(*ops[i]);
		events[i + 1].record(chip.stream());
	}
	events.back().synchronize();
	bool whole = over();
	for (size_t i = 0; i < ops.size(); i++) {
		TraceRow row = ops[i]->row;
		row.series = beside.moving ? "moving" : "resident";
		row.run_id = row.series + (beside.nccl ? "-nccl" : "-own");
		row.impl = beside.nccl ? "nccl" : "own";
		row.rep = rep;
		row.order = order;
		row.resident_sms = beside.sms;
		if (beside.moving)
			row.payload_bytes = beside.alone ? 0 : bytes;
		row.t_start_ns = origin.until_ns(events[i]);
		row.dur_ns = events[i].until_ns(events[i + 1]);
		sampler.fill(row, chip.rank, origin_ns + row.t_start_ns + row.dur_ns / 2);
		row.status = rep < kResidentWarmup ? "warmup" : whole ? "ok" : "outlier";
		rows.push_back(row);
	}
}

namespace
{

/* Copies that keep a message moving: from the GPU before, or on one GPU within it at the rate
 * of a link. */
class Messages
{
      public:
	Messages(const std::vector<int> &devices, int rank, int64_t bytes, uint64_t seed)
	    : from_device(devices[(rank + devices.size() - 1) % devices.size()]),
	      to_device(devices[rank]), bytes(bytes)
	{
		CUDA_CHECK(cudaSetDevice(from_device));
		source = Buffer<char>(bytes);
		fill_random_bf16(source, (size_t)bytes / 16 * 16, seed + rank, nullptr);
		CUDA_CHECK(cudaDeviceSynchronize());
		CUDA_CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
		CUDA_CHECK(cudaSetDevice(to_device));
		target = Buffer<char>(bytes);
		CUDA_CHECK(cudaSetDevice(from_device));
		/* A stream takes some 1000 launches before it makes the host wait: several
		 * messages are one. */
		some = Graph(stream, [&] {
			for (int i = 0; i < kMessagesPerGraph; i++)
				one();
		});
		Event begin, end;
		some.launch(stream);
		begin.record(stream);
		some.launch(stream);
		end.record(stream);
		end.synchronize();
		some_ns = (double)begin.until_ns(end);
		CUDA_CHECK(cudaSetDevice(to_device));
	}
	~Messages()
	{
		cudaSetDevice(from_device);
		cudaStreamSynchronize(stream);
		cudaStreamDestroy(stream);
	}
	/* As many messages in a row as take `ns`. */
	void start(double ns)
	{
		int count = (int)(ns / some_ns) + 1;
		CUDA_CHECK(cudaSetDevice(from_device));
		for (int i = 0; i < count; i++)
			some.launch(stream);
		CUDA_CHECK(cudaSetDevice(to_device));
	}
	bool still_moves() const
	{
		return cudaStreamQuery(stream) == cudaErrorNotReady;
	}
	void wait()
	{
		CUDA_CHECK(cudaStreamSynchronize(stream));
	}

      private:
	void one()
	{
		/* cudaMemcpyPeerAsync() cannot be captured; addresses say which GPUs these are. */
		if (from_device != to_device) {
			CUDA_CHECK(cudaMemcpyAsync(
				target.get(), source.get(), bytes, cudaMemcpyDefault, stream));
			return;
		}
		for (int64_t at = 0; at < bytes; at += kPieceBytes) {
			int64_t piece = std::min(kPieceBytes, bytes - at);
			CUDA_CHECK(cudaMemcpyAsync(target.get() + at, source.get() + at, piece,
				cudaMemcpyDeviceToDevice, stream));
			launch_idle((uint64_t)((double)piece / kLinkBytesPerNs), stream);
		}
	}
	int from_device, to_device;
	int64_t bytes;
	Buffer<char> source, target;
	cudaStream_t stream = nullptr;
	Graph some;
	double some_ns = 0;
};

/* Beside our own receive and our own messages: every rank by itself. */
std::vector<TraceRow> run_own(
	Chip &chip, Sampler &sampler, Messages &messages, int64_t bytes, uint64_t seed)
{
	Rounds rounds(chip, sampler, bytes);
	WaitingReceive receive(chip.device, kReceiveTimeoutNs);
	std::vector<Beside> all;
	for (int sms : kResidentSms) {
		Beside beside;
		beside.sms = sms;
		beside.alone = sms == 0;
		all.push_back(beside);
	}
	for (bool alone : {true, false}) {
		Beside beside;
		beside.moving = true;
		beside.alone = alone;
		all.push_back(beside);
	}
	std::mt19937_64 random(seed + chip.rank);
	for (int rep = 0; rep < kResidentWarmup + kResidentReps && !Capture::interrupted;
		rep++) {
		std::shuffle(all.begin(), all.end(), random);
		for (size_t i = 0; i < all.size(); i++) {
			const Beside &beside = all[i];
			bool moves = beside.moving && !beside.alone;
			if (moves)
				messages.start(rounds.lasts_ns() * kMovingSpare);
			receive.post(beside.sms);
			bool kept = true;
			rounds.run(beside, rep, (int)i, [&] {
				bool still = !moves || messages.still_moves();
				kept = receive.release();
				return still && kept;
			});
			if (moves)
				messages.wait();
		}
	}
	return rounds.rows;
}

} // namespace

void measure_resident(const Chips &chips, Sampler &sampler, int64_t bytes, uint64_t seed,
	std::vector<TraceRow> &rows, std::vector<std::string> &notes, std::string &nccl)
{
	std::vector<int> devices;
	std::vector<std::unique_ptr<Messages>> messages;
	std::vector<std::vector<TraceRow>> found(chips.size());
	for (const auto &chip : chips) {
		CUDA_CHECK(cudaSetDevice(chip->device));
		round_of(*chip);
		devices.push_back(chip->device);
	}
	for (const auto &chip : chips)
		messages.push_back(
			std::make_unique<Messages>(devices, chip->rank, bytes, seed));
	on_each(chips, [&](Chip &chip) {
		found[chip.rank] = run_own(chip, sampler, *messages[chip.rank], bytes, seed);
	});
	for (const std::vector<TraceRow> &mine : found)
		rows.insert(rows.end(), mine.begin(), mine.end());
	if (chips.size() == 1) {
		notes.push_back(
			"resident: one GPU: a message is a copy within it, in pieces, at "
			"370e9 bytes a second; none through NCCL");
		return;
	}
	try {
		measure_beside_nccl(chips, sampler, bytes, seed, rows, nccl);
	} catch (const Unsupported &e) {
		notes.push_back(std::string("resident: not beside NCCL: ") + e.what());
	}
}

} // namespace bench
