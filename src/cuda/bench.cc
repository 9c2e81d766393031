#include "bench.h"
#include "cuda-check.h"
#include <algorithm>

namespace bench
{

namespace
{

/* Bytes of the copies that ceilings come from. */
constexpr int64_t kPeerCopyBytes = 512ll << 20;

int multiprocessors(int device)
{
	int sms;
	CUDA_CHECK(cudaDeviceGetAttribute(&sms, cudaDevAttrMultiProcessorCount, device));
	return sms;
}

int capability(int device)
{
	int major, minor;
	CUDA_CHECK(cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, device));
	CUDA_CHECK(cudaDeviceGetAttribute(&minor, cudaDevAttrComputeCapabilityMinor, device));
	return 10 * major + minor;
}

const Work &find(const std::vector<Work> &works, const char *component, const char *phase)
{
	for (const Work &w : works)
		if (w.component == component && w.phase == phase && w.part.empty())
			return w;
	throw CudaError(std::string("the layer has no ") + component + " " + phase);
}

} // namespace

Bench::Bench(const Options &options, const Model &model, const std::vector<int> &devices,
	const Nvml &nvml)
    : options(options), model(model), devices(devices), nvml(nvml)
{
	chip_sms = multiprocessors(devices[0]);
	use_fp8 = capability(devices[0]) >= 90;
	if (!use_fp8)
		remarks.push_back("no block-scaled FP8 on this GPU: BF16 throughout");
	pair_split = options.split;
	if (pair_split.compute == 0)
		pair_split.compute = chip_sms - pair_split.comm;
	if (pair_split.compute < 1 || pair_split.compute + pair_split.comm > chip_sms)
		throw UsageError("--sm-split " + std::to_string(pair_split.compute) + "+" +
				 std::to_string(pair_split.comm) + ": this GPU has " +
				 std::to_string(chip_sms) + " SMs");
	progress.step("ceilings");
	CUDA_CHECK(cudaSetDevice(devices[0]));
	chip = measure_peaks();
	if (devices.size() > 1) {
		enable_peers(devices);
		link_gbps = peer_copy_gbps(devices[0], devices[1], kPeerCopyBytes);
	}
	progress.step("layers");
	if (model.moe()) {
		route = make_route(route_shape(model.top_k));
		comm = make_comm(route);
	}
	for (size_t r = 0; r < devices.size(); r++)
		layers.push_back(make_layer((int)r, route));
	prepare(0);
	p2p = std::make_unique<P2p>(devices, 2ll * options.tokens * model.hidden, options.seed);
	capture = std::make_unique<Capture>(devices, comm.get(), nvml, options.seed);
	capture->progress = [this](double ns) { progress.advance(ns * 1e-9); };
	for (CommSettings &s : how) {
		s.ld = options.ld;
		s.pace_gbps = options.pace_gbps;
		if (options.chunk_tokens)
			s.chunk_tokens = options.chunk_tokens;
	}
	whole = partitions({SmMode::none, 0, pair_split.comm});
	make_works();
}

/* Graphs refer to streams and buffers: they go first. */
Bench::~Bench()
{
	capture.reset();
}

RouteShape Bench::route_shape(int topk) const
{
	RouteShape shape;
	shape.ranks = (int)devices.size();
	shape.tokens = options.tokens;
	shape.experts_local = options.experts ? options.experts : model.experts_per_gpu;
	shape.topk = topk;
	shape.groups = model.groups;
	shape.fanout = model.top_groups;
	shape.seed = options.seed;
	if (shape.groups % shape.ranks || shape.fanout > kMaxFanout ||
		shape.groups < shape.fanout)
		throw UsageError("the model's " + std::to_string(shape.groups) + " groups, " +
				 std::to_string(shape.fanout) +
				 " of them per token, do not fit " +
				 std::to_string(shape.ranks) + " GPUs");
	if (shape.topk > shape.fanout * shape.experts_local)
		throw UsageError("--experts " + std::to_string(shape.experts_local) +
				 ": a token takes " + std::to_string(shape.topk) +
				 " experts out of " + std::to_string(shape.fanout) + " groups");
	return shape;
}

std::unique_ptr<Comm> Bench::make_comm(const std::vector<RankRoute> &route) const
{
	CommShape rows;
	rows.tokens = options.tokens;
	rows.fanout = model.top_groups;
	rows.experts_local = options.experts ? options.experts : model.experts_per_gpu;
	rows.hidden = model.hidden;
	rows.value_bytes = use_fp8 ? model.hidden : 2 * model.hidden;
	rows.scale_bytes = use_fp8 ? scale_bytes_of(model.hidden) : 0;
	rows.seed = options.seed;
	return std::make_unique<Comm>(devices, route, rows);
}

std::unique_ptr<Layer> Bench::make_layer(int rank, const std::vector<RankRoute> &route) const
{
	LayerOptions o;
	o.tokens = options.tokens;
	o.seed = options.seed + rank;
	o.fp8 = use_fp8;
	if (model.moe())
		o.rows_per_expert.assign(
			route[rank].expert_rows.begin(), route[rank].expert_rows.end());
	CUDA_CHECK(cudaSetDevice(devices[rank]));
	return std::make_unique<Layer>(model, o);
}

/* Algorithms are chosen by measurement, once per budget and device. */
void Bench::prepare(int sms)
{
	if (std::find(prepared.begin(), prepared.end(), sms) != prepared.end())
		return;
	prepared.push_back(sms);
	for (size_t r = 0; r < devices.size(); r++) {
		CUDA_CHECK(cudaSetDevice(devices[r]));
		layers[r]->prepare(sms);
	}
}

/* The MLP as a rank runs it: received rows go to the experts first, and back into one row per
 * received row in the end. */
Work Bench::with_permutation(const Work &mlp, const PermuteArgs &args) const
{
	Work w = mlp;
	double message = args.value_bytes + args.scale_bytes;
	w.bytes += message * (args.copies + args.rows) +
		   2.0 * args.hidden * (args.rows + args.copies);
	w.enqueue = [args, mlp](const Lane &lane) {
		launch_permute(args, lane.sms, lane.stream);
		mlp.enqueue(lane);
		launch_unpermute(args, lane.sms, lane.stream);
	};
	return w;
}

/* `sms` 0: the copy engines. Where a combine's gradient is sent it is cast first. */
Work Bench::exchange(CommKind kind, int rank, const char *component, const char *phase,
	const CommSettings &settings, int sms)
{
	if (sms == 0)
		return comm->copy_engine_work(kind, rank, component, phase);
	Work w = comm->work(kind, rank, component, phase, settings);
	if (kind == CommKind::combine || std::string(phase) != "I" || !use_fp8)
		return w;
	Work cast = layers[rank]->cast_grad(1), moved = w;
	w.bytes += cast.bytes;
	w.enqueue = [cast, moved](const Lane &lane) {
		Lane free = lane;
		free.sms = 0;
		cast.enqueue(free);
		moved.enqueue(lane);
	};
	return w;
}

LayerWorks Bench::layer_works(int rank, int comm_sms)
{
	LayerWorks w;
	std::vector<Work> forward = layers[rank]->works(0), backward = layers[rank]->works(1);
	w.attn_f = find(forward, "attn", "F");
	w.mlp_f = find(forward, "mlp", "F");
	w.attn_i = find(backward, "attn", "I");
	w.attn_w = find(backward, "attn", "W");
	w.mlp_i = find(backward, "mlp", "I");
	w.mlp_w = find(backward, "mlp", "W");
	/* What a component is made of, in all phases alike. */
	for (Work *one : {&w.attn_i, &w.attn_w})
		one->impl = w.attn_f.impl;
	if (!comm)
		return w;
	w.mlp_f = with_permutation(w.mlp_f, comm->permute_args(rank));
	w.mlp_i = with_permutation(w.mlp_i, comm->permute_args(rank));
	const CommSettings &out = how[0], &back = how[1];
	w.dispatch_f = exchange(CommKind::dispatch, rank, "dispatch", "F", out, comm_sms);
	w.combine_f = exchange(CommKind::combine, rank, "combine", "F", back, comm_sms);
	w.combine_i = exchange(CommKind::dispatch, rank, "combine", "I", out, comm_sms);
	w.dispatch_i = exchange(CommKind::combine, rank, "dispatch", "I", back, comm_sms);
	return w;
}

void Bench::make_works()
{
	works.clear();
	for (size_t r = 0; r < devices.size(); r++)
		works.push_back(layer_works((int)r, pair_split.comm));
}

Partitions Bench::partitions(const SmSplit &split)
{
	Partitions on;
	for (int device : devices)
		on.push_back(std::make_unique<Partition>(device, split));
	return on;
}

Item *Bench::component(const Partitions &on, const std::string &suffix, bool comm_lane,
	const CommSettings *settings, const std::function<Work(int)> &work)
{
	auto lane = [&](int r) { return comm_lane ? on[r]->comm() : on[r]->compute(); };
	return capture->add(
		suffix, [&](int r) { return lane(r).stream; },
		[&](int r, Recorder &recorder) {
			Work w = work(r);
			const char *role = comm_lane ? "comm" : "compute";
			TraceRow row = placed(describe(w, role), *on[r], comm_lane, settings);
			row.run_id = suffix;
			recorder.add(w, row, lane(r));
		});
}

std::vector<Item *> Bench::compute_items(const Partitions &on)
{
	std::vector<Item *> items;
	for (Work LayerWorks::*w :
		{&LayerWorks::attn_f, &LayerWorks::attn_i, &LayerWorks::attn_w,
			&LayerWorks::mlp_f, &LayerWorks::mlp_i, &LayerWorks::mlp_w})
		if (options.wants((works[0].*w).component))
			items.push_back(component(
				on, "", false, nullptr, [&](int r) { return works[r].*w; }));
	return items;
}

std::vector<Item *> Bench::exchange_items(const Partitions &on)
{
	std::vector<Item *> items;
	const std::pair<Work LayerWorks::*, CommKind> all[] = {
		{&LayerWorks::dispatch_f, CommKind::dispatch},
		{&LayerWorks::dispatch_i, CommKind::combine},
		{&LayerWorks::combine_f, CommKind::combine},
		{&LayerWorks::combine_i, CommKind::dispatch},
	};
	for (const auto &[w, kind] : all)
		if ((works[0].*w).enqueue && options.wants((works[0].*w).component))
			items.push_back(component(on, "", true, &how[(int)kind],
				[&, w = w](int r) { return works[r].*w; }));
	return items;
}

Item *Bench::pair_item(const Partitions &on, int comm_sms)
{
	std::vector<LayerWorks> pair;
	for (size_t r = 0; r < devices.size(); r++)
		pair.push_back(layer_works((int)r, comm_sms));
	return capture->add(
		"pair", [&](int r) { return on[r]->compute().stream; },
		[&](int r, Recorder &recorder) {
			capture_pair(pair[r], *on[r], how, recorder);
		});
}

void Bench::measure(const std::vector<Item *> &items, const Series &series)
{
	if (items.empty())
		return;
	progress.step(series.name + " " + load_mode_name(series.mode));
	capture->estimate(items);
	capture->measure(items, series);
}

void Bench::drop(const std::vector<Item *> &items)
{
	for (Item *item : items)
		capture->remove(item);
}

} // namespace bench
