#include "check-comm.h"
#include "comm.h"
#include "cuda-check.h"
#include <cmath>
#include <cstring>

namespace bench
{

namespace
{

struct Case {
	int tokens, experts_local, hidden;
	bool fp8;
	int chunk_tokens, sms;
};

const Case kCases[] = {
	{37, 4, 512, true, 1, 1},
	{256, 4, 1536, true, 8, 5},
	{193, 2, 1024, false, 3, 20},
	{1, 4, 512, true, 16, 2},
	{640, 8, 7168, true, 4, 12},
};

/* A router that keeps `fanout` groups of 8, with the model's 8 experts per token. */
RouteShape route_shape(const Case &c, int ranks, uint64_t seed)
{
	RouteShape s;
	s.ranks = ranks;
	s.tokens = c.tokens;
	s.experts_local = c.experts_local;
	s.seed = seed;
	return s;
}

CommShape comm_shape(const Case &c, uint64_t seed)
{
	CommShape s;
	s.tokens = c.tokens;
	s.fanout = RouteShape().fanout;
	s.experts_local = c.experts_local;
	s.hidden = c.hidden;
	s.value_bytes = c.fp8 ? c.hidden : 2 * c.hidden;
	s.scale_bytes = c.fp8 ? scale_bytes_of(c.hidden) : 0;
	s.seed = seed;
	return s;
}

double from_bf16(const char *bytes)
{
	uint16_t half;
	memcpy(&half, bytes, 2);
	uint32_t word = (uint32_t)half << 16;
	float value;
	memcpy(&value, &word, 4);
	return value;
}

/* ||out - reference|| / ||reference||, sums kept apart so that rows can be added one by one. */
struct Distance {
	double difference = 0, reference = 0;
	void add(double out, double expected)
	{
		difference += (out - expected) * (out - expected);
		reference += expected * expected;
	}
	double value() const
	{
		return std::sqrt(difference / reference);
	}
};

/* One case's objects, and the comparison of what they did with what the tables say. */
class Run
{
      public:
	Run(const std::vector<int> &devices, const Case &c, uint64_t seed)
	    : devices(devices), c(c), shape(comm_shape(c, seed)),
	      route(make_route(route_shape(c, (int)devices.size(), seed))),
	      comm(devices, route, shape)
	{
	}
	/* Launches an exchange on every rank and waits; true if all checksums hold. */
	bool exchange(CommKind kind)
	{
		CommSettings settings{c.chunk_tokens, 0};
		comm.take_launches();
		for (size_t r = 0; r < devices.size(); r++) {
			comm.poison_output(kind, (int)r);
		}
		for (size_t r = 0; r < devices.size(); r++) {
			CUDA_CHECK(cudaSetDevice(devices[r]));
			Lane lane;
			lane.sms = c.sms;
			comm.work(kind, (int)r, "check", "F", settings).enqueue(lane);
		}
		return wait();
	}
	bool wait()
	{
		bool right = true;
		for (int device : devices) {
			CUDA_CHECK(cudaSetDevice(device));
			CUDA_CHECK(cudaDeviceSynchronize());
		}
		for (const CommLaunch &l : comm.take_launches()) {
			right &= comm.correct(l);
			parity = (int)(l.record->epoch & 1);
		}
		return right;
	}
	double dispatch_bytes_wrong() const;
	double combine_error() const;
	double permute_bytes_wrong();
	double unpermute_error();
	bool spoiled_is_noticed()
	{
		comm.spoil_source(CommKind::dispatch, 0);
		exchange(CommKind::dispatch);
		return !exchange(CommKind::dispatch);
	}

      private:
	std::vector<int> devices;
	Case c;
	CommShape shape;
	std::vector<RankRoute> route;
	Comm comm;
	int parity = 0;
};

double Run::dispatch_bytes_wrong() const
{
	double wrong = 0;
	size_t row = shape.row_bytes(CommKind::dispatch);
	std::vector<std::vector<char>> out;
	for (size_t r = 0; r < devices.size(); r++)
		out.push_back(comm.output(CommKind::dispatch, (int)r));
	for (size_t r = 0; r < devices.size(); r++) {
		std::vector<char> source = comm.source(CommKind::dispatch, (int)r, parity);
		for (size_t i = 0; i < route[r].send.size(); i++) {
			uint32_t copy = route[r].send[i];
			if (copy == kNoCopy)
				continue;
			const char *got = out[copy >> 24].data() + (copy & 0xffffff) * row;
			wrong += memcmp(got, source.data() + i / shape.fanout * row, row) != 0;
		}
	}
	return wrong;
}

double Run::combine_error() const
{
	Distance distance;
	size_t row = shape.row_bytes(CommKind::combine);
	std::vector<std::vector<char>> source;
	for (size_t r = 0; r < devices.size(); r++)
		source.push_back(comm.source(CommKind::combine, (int)r, parity));
	for (size_t r = 0; r < devices.size(); r++) {
		std::vector<char> out = comm.output(CommKind::combine, (int)r);
		for (int t = 0; t < shape.tokens; t++)
			for (int h = 0; h < shape.hidden; h++) {
				double sum = 0;
				for (int f = 0; f < shape.fanout; f++) {
					size_t place = (size_t)t * shape.fanout + f;
					uint32_t copy = route[r].send[place];
					if (copy != kNoCopy)
						sum += route[r].weight[place] *
						       from_bf16(source[copy >> 24].data() +
								 (copy & 0xffffff) * row +
								 2 * h);
				}
				distance.add(from_bf16(out.data() + t * row + 2 * h), sum);
			}
	}
	return distance.value();
}

template <class T> std::vector<T> fetch(const char *device, size_t bytes)
{
	std::vector<T> host(bytes / sizeof(T));
	CUDA_CHECK(cudaMemcpy(host.data(), device, bytes, cudaMemcpyDeviceToHost));
	return host;
}

double Run::permute_bytes_wrong()
{
	double wrong = 0;
	PermuteArgs a = comm.permute_args(0);
	size_t row = a.value_bytes + a.scale_bytes;
	CUDA_CHECK(cudaSetDevice(devices[0]));
	CUDA_CHECK(cudaMemset(a.expert_values, 0xff, (size_t)a.rows * a.value_bytes));
	launch_permute(a, c.sms, nullptr);
	std::vector<char> got = fetch<char>(a.expert_values, (size_t)a.rows * a.value_bytes);
	std::vector<char> scales = fetch<char>(a.expert_scales, (size_t)a.rows * a.scale_bytes);
	std::vector<char> in = fetch<char>(a.received, (size_t)a.copies * row);
	for (int r = 0; r < a.rows; r++) {
		const char *from = in.data() + route[0].row_slot[r] * row;
		wrong += memcmp(got.data() + (size_t)r * a.value_bytes, from, a.value_bytes) !=
			 0;
		wrong += a.scale_bytes > 0 && memcmp(scales.data() + (size_t)r * a.scale_bytes,
						      from + a.value_bytes, a.scale_bytes) != 0;
	}
	return wrong;
}

double Run::unpermute_error()
{
	Distance distance;
	PermuteArgs a = comm.permute_args(0);
	size_t row = 2 * (size_t)a.hidden;
	CUDA_CHECK(cudaSetDevice(devices[0]));
	CUDA_CHECK(cudaMemset(a.replies, 0xff, a.copies * row));
	launch_unpermute(a, 0, nullptr);
	std::vector<char> got = fetch<char>(a.replies, a.copies * row);
	std::vector<char> in = fetch<char>(a.expert_out, a.rows * row);
	for (int slot = 0; slot < a.copies; slot++)
		for (int h = 0; h < a.hidden; h++) {
			double sum = 0;
			for (int e = 0; e < a.experts; e++) {
				size_t i = (size_t)slot * a.experts + e;
				int32_t from = route[0].slot_row[i];
				if (from >= 0)
					sum += route[0].slot_weight[i] *
					       from_bf16(in.data() + from * row + 2 * h);
			}
			distance.add(from_bf16(got.data() + slot * row + 2 * h), sum);
		}
	return distance.value();
}

void check_case(std::vector<CheckResult> &results, const std::vector<int> &devices,
	const Case &c, uint64_t seed)
{
	std::string note = std::to_string(devices.size()) + " GPUs, " +
			   std::to_string(c.tokens) + " tokens x " + std::to_string(c.hidden) +
			   (c.fp8 ? " FP8, " : " BF16, ") + std::to_string(c.experts_local) +
			   " experts, " + std::to_string(c.sms) + " SMs, chunks of " +
			   std::to_string(c.chunk_tokens);
	auto add = [&](const char *name, double error, double limit) {
		results.push_back({name, error, limit, error <= limit, note});
	};
	/* BF16 rounds to half a unit in 2^-8. */
	constexpr double rounding = 1.0 / 256;
	Run run(devices, c, seed);
	for (int repeat = 0; repeat < 2; repeat++) {
		add("dispatch checksum", run.exchange(CommKind::dispatch) ? 0 : 1, 0);
		add("dispatch rows", run.dispatch_bytes_wrong(), 0);
		add("combine checksum", run.exchange(CommKind::combine) ? 0 : 1, 0);
		add("combine sums", run.combine_error(), rounding);
	}
	add("permute rows", run.permute_bytes_wrong(), 0);
	add("unpermute sums", run.unpermute_error(), rounding);
	add("wrong data noticed", run.spoiled_is_noticed() ? 0 : 1, 0);
}

} // namespace

std::vector<CheckResult> check_comm(const std::vector<int> &devices, uint64_t seed)
{
	std::vector<CheckResult> results;
	for (const Case &c : kCases)
		check_case(results, devices, c, ++seed);
	return results;
}

} // namespace bench
