/* A step of a schedule, run as its ranks run it. */
#include "comm-kernels.h"
#include "cuda-check.h"
#include "median.h"
#include "series.h"
#include "waiting.h"
#include <algorithm>
#include <map>

namespace bench
{

namespace
{

constexpr int kSteps = 20;              /* that count */
constexpr int kWarmSteps = 3;           /* at least, and ... */
constexpr int64_t kWarmNs = 1000000000; /* ... so long, that clocks have settled */
constexpr size_t kAhead = 2;            /* steps that are queued while one runs */

/* A message: from an op to one of another rank. */
struct Message {
	ReplayOp::Place from, to;
	bool gradient;
};

/* A GPU of the replay, and what it runs. */
struct Seat {
	Chip *chip;
	const std::vector<ReplayOp> *ops;
	std::vector<int64_t> idle; /* to be waited for; empty: messages make it */
	std::vector<const ChipOp *> launches;
	Buffer<char> outgoing, incoming;
	/* Of activations and of gradients: the two do not wait for each other. */
	cudaStream_t copies[2] = {nullptr, nullptr};

	Seat() = default;
	Seat(const Seat &) = delete;
	Seat &operator=(const Seat &) = delete;
	~Seat()
	{
		for (cudaStream_t stream : copies)
			if (stream)
				cudaStreamDestroy(stream);
	}
};

/* Events of one seat in one step. */
struct Marks {
	Event begin, ended;
	std::vector<Event> starts, ends; /* [op] */
};

class Replay
{
      public:
	Replay(const Chips &chips, const ReplayOrder &order, int rank, int64_t bytes);
	ReplayResult run(Sampler &sampler, std::vector<TraceRow> &rows);

      private:
	struct Step {
		std::vector<Marks> marks;   /* [seat] */
		std::vector<Event> arrived; /* [message] */
	};
	void begin_step();
	void run_op(Step &step, int seat, int at);
	void enqueue_step();
	void collect(Sampler &sampler, std::vector<TraceRow> &rows, size_t warm);
	ReplayResult result(size_t warm) const;
	/* Schedule and ranks; of one rank alone, which. */
	std::string name() const
	{
		std::string text = order.schedule.empty() ? "order" : order.schedule;
		text += "-pp" + std::to_string(order.ranks.size());
		if (seats.size() < order.ranks.size())
			text += "-rank" + std::to_string(seats[0]->ops->front().rank);
		return text;
	}
	int64_t step_ns(size_t step) const
	{
		return steps[step].marks[0].begin.until_ns(steps[step + 1].marks[0].begin);
	}

	const ReplayOrder &order;
	int64_t bytes;
	std::vector<std::unique_ptr<Seat>> seats;
	std::vector<Message> messages;
	std::vector<std::vector<std::vector<int>>> in, out; /* [seat][op]: messages */
	std::vector<ReplayOp::Place> sequence;              /* all ops by their start */
	std::vector<Step> steps; /* one more than ran: its begin ends the last */
	int64_t origin_ns = 0;
};

Replay::Replay(const Chips &chips, const ReplayOrder &order, int rank, int64_t bytes)
    : order(order), bytes(bytes)
{
	bool pipeline = chips.size() > 1;
	for (size_t s = 0; s < chips.size(); s++) {
		seats.push_back(std::make_unique<Seat>());
		Seat &seat = *seats.back();
		seat.chip = chips[s].get();
		seat.ops = &order.ranks[pipeline ? s : (size_t)rank];
		CUDA_CHECK(cudaSetDevice(seat.chip->device));
		for (const ReplayOp &op : *seat.ops)
			seat.launches.push_back(seat.chip->op("layer", op.kind));
		if (pipeline) {
			seat.outgoing = Buffer<char>(bytes);
			seat.incoming = Buffer<char>(bytes);
			fill_random_bf16(
				seat.outgoing, (size_t)bytes / 16 * 16, s + 1, nullptr);
			CUDA_CHECK(cudaDeviceSynchronize());
			for (cudaStream_t &stream : seat.copies)
				CUDA_CHECK(cudaStreamCreateWithFlags(
					&stream, cudaStreamNonBlocking));
		} else {
			seat.idle = order.idle_ns(rank);
		}
		in.emplace_back(seat.ops->size());
		out.emplace_back(seat.ops->size());
		for (size_t i = 0; i < seat.ops->size(); i++)
			sequence.push_back({(int)s, (int)i, false});
	}
	auto op_at = [&](const ReplayOp::Place &p) -> const ReplayOp & {
		return (*seats[p.rank]->ops)[p.at];
	};
	std::stable_sort(sequence.begin(), sequence.end(),
		[&](const ReplayOp::Place &a, const ReplayOp::Place &b) {
			const ReplayOp &x = op_at(a), &y = op_at(b);
			return std::make_pair(x.start_ns, x.dur_ns) <
			       std::make_pair(y.start_ns, y.dur_ns);
		});
	for (const ReplayOp::Place &to : sequence)
		for (const ReplayOp::Place &from : op_at(to).needs)
			if (pipeline && from.rank != to.rank) {
				out[from.rank][from.at].push_back((int)messages.size());
				in[to.rank][to.at].push_back((int)messages.size());
				messages.push_back({from, to, from.gradient});
			}
}

/* No rank begins before all have ended the step before. */
void Replay::begin_step()
{
	Step step;
	for (auto &place : seats) {
		Seat &seat = *place;
		CUDA_CHECK(cudaSetDevice(seat.chip->device));
		step.marks.emplace_back();
		Marks &marks = step.marks.back();
		marks.starts.resize(seat.ops->size());
		marks.ends.resize(seat.ops->size());
		if (!steps.empty())
			for (const Marks &other : steps.back().marks)
				CUDA_CHECK(cudaStreamWaitEvent(
					seat.chip->stream(), other.ended, 0));
		marks.begin.record(seat.chip->stream());
	}
	for (const Message &message : messages) {
		CUDA_CHECK(cudaSetDevice(seats[message.from.rank]->chip->device));
		step.arrived.emplace_back();
	}
	steps.push_back(std::move(step));
}

void Replay::run_op(Step &step, int s, int i)
{
	Seat &seat = *seats[s];
	Marks &marks = step.marks[s];
	cudaStream_t stream = seat.chip->stream();
	CUDA_CHECK(cudaSetDevice(seat.chip->device));
	if (!seat.idle.empty() && seat.idle[i] > 0)
		launch_idle((uint64_t)seat.idle[i], stream);
	for (int m : in[s][i])
		CUDA_CHECK(cudaStreamWaitEvent(stream, step.arrived[m], 0));
	marks.starts[i].record(stream);
	seat.chip->launch(*seat.launches[i]);
	marks.ends[i].record(stream);
	for (int m : out[s][i]) {
		Seat &other = *seats[messages[m].to.rank];
		cudaStream_t copies = seat.copies[messages[m].gradient];
		CUDA_CHECK(cudaStreamWaitEvent(copies, marks.ends[i], 0));
		CUDA_CHECK(cudaMemcpyPeerAsync(other.incoming, other.chip->device,
			seat.outgoing, seat.chip->device, (size_t)bytes, copies));
		step.arrived[m].record(copies);
	}
}

void Replay::enqueue_step()
{
	Step &step = steps.back();
	for (const ReplayOp::Place &place : sequence)
		run_op(step, place.rank, place.at);
	for (size_t s = 0; s < seats.size(); s++) {
		Seat &seat = *seats[s];
		CUDA_CHECK(cudaSetDevice(seat.chip->device));
		if (!seat.idle.empty() && seat.idle.back() > 0)
			launch_idle((uint64_t)seat.idle.back(), seat.chip->stream());
		step.marks[s].ended.record(seat.chip->stream());
	}
}

void Replay::collect(Sampler &sampler, std::vector<TraceRow> &rows, size_t warm)
{
	std::map<std::pair<int, std::string>, int> reps;
	for (size_t k = 0; k + 1 < steps.size(); k++)
		for (size_t s = 0; s < seats.size(); s++)
			for (size_t i = 0; i < seats[s]->ops->size(); i++) {
				const ReplayOp &op = (*seats[s]->ops)[i];
				const Marks &marks = steps[k].marks[s];
				TraceRow row = seats[s]->launches[i]->row;
				row.series = "replay";
				row.run_id = "replay/" + name();
				row.component = "chunk";
				row.rep = reps[{op.rank, op.kind}]++;
				row.order = (int)i;
				row.rank = op.rank;
				row.step = (int)k;
				row.stage = op.stage;
				row.microbatch = op.microbatch;
				row.t_start_ns =
					steps[0].marks[s].begin.until_ns(marks.starts[i]);
				row.dur_ns = marks.starts[i].until_ns(marks.ends[i]);
				sampler.fill(row, seats[s]->chip->rank,
					origin_ns + row.t_start_ns + row.dur_ns / 2);
				row.status = k < warm ? "warmup" : "ok";
				rows.push_back(row);
			}
}

ReplayResult Replay::result(size_t warm) const
{
	ReplayResult result;
	result.name = name();
	std::vector<double> all;
	for (size_t k = warm; k + 1 < steps.size(); k++)
		all.push_back((double)step_ns(k));
	if (all.empty())
		return result;
	result.steps = (int)all.size();
	result.simulated_ns = (double)order.step_ns;
	result.median_ns = median(all);
	result.least_ns = *std::min_element(all.begin(), all.end());
	result.most_ns = *std::max_element(all.begin(), all.end());
	for (const char *kind : {"F", "I", "W", "B", "FB"}) {
		std::vector<double> simulated, measured;
		for (size_t s = 0; s < seats.size(); s++)
			for (size_t i = 0; i < seats[s]->ops->size(); i++) {
				const ReplayOp &op = (*seats[s]->ops)[i];
				if (op.kind != kind)
					continue;
				simulated.push_back((double)op.dur_ns);
				for (size_t k = warm; k + 1 < steps.size(); k++) {
					const Marks &marks = steps[k].marks[s];
					measured.push_back((double)marks.starts[i].until_ns(
						marks.ends[i]));
				}
			}
		if (!simulated.empty())
			result.kinds.push_back({kind, (int)simulated.size(), median(simulated),
				median(measured)});
	}
	return result;
}

ReplayResult Replay::run(Sampler &sampler, std::vector<TraceRow> &rows)
{
	for (auto &seat : seats)
		seat->chip->synchronize();
	begin_step();
	for (auto &seat : seats)
		seat->chip->synchronize();
	origin_ns = host_now_ns();
	size_t warm = 0;
	bool is_warm = false;
	while (!Capture::interrupted) {
		size_t running = steps.size() - 1; /* this step's number */
		if (!is_warm && running >= kWarmSteps && host_now_ns() - origin_ns > kWarmNs) {
			is_warm = true;
			warm = running + kAhead; /* what is queued counts as warming */
		}
		if (is_warm && running >= warm + kSteps)
			break;
		enqueue_step();
		begin_step();
		if (running >= kAhead)
			for (const Marks &marks : steps[running - kAhead].marks)
				marks.ended.synchronize();
	}
	for (auto &seat : seats)
		seat->chip->synchronize();
	if (!is_warm)
		warm = steps.size();
	collect(sampler, rows, warm);
	return result(warm);
}

} // namespace

ReplayResult measure_replay(const Chips &chips, Sampler &sampler, const ReplayOrder &order,
	int rank, int64_t bytes, std::vector<TraceRow> &rows)
{
	return Replay(chips, order, rank, bytes).run(sampler, rows);
}

} // namespace bench
