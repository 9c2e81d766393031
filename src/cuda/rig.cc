#include "rig.h"
#include "cuda-check.h"
#include "device.h"
#include <algorithm>

namespace bench
{

namespace
{

const Work &find(const std::vector<Work> &works, const char *component, const char *phase)
{
	for (const Work &w : works)
		if (w.component == component && w.phase == phase && w.part.empty())
			return w;
	throw CudaError(std::string("the layer has no ") + component + " " + phase);
}

} // namespace

Rig::Rig(const Options &options, const Model &model, const std::vector<int> &devices)
    : devices(devices), fp8(has_block_fp8(capability(devices[0]))), options(options),
      model(model)
{
	if (model.moe()) {
		route = make_route(route_shape(model.top_k));
		comm = make_comm(route);
	}
	for (size_t r = 0; r < devices.size(); r++)
		layers.push_back(make_layer((int)r, route));
	prepare(0);
	for (CommSettings &s : how) {
		s.pace_gbps = options.pace_gbps;
		if (options.chunk_tokens)
			s.chunk_tokens = options.chunk_tokens;
	}
	/* What tuning finds within one GPU; a capture of everything tunes again. */
	if (devices.size() == 1 && !options.chunk_tokens) {
		how[(int)CommKind::dispatch].chunk_tokens = 4;
		how[(int)CommKind::combine].chunk_tokens = 1;
	}
}

RouteShape Rig::route_shape(int topk) const
{
	RouteShape shape;
	shape.ranks = (int)devices.size();
	shape.tokens = options.tokens;
	shape.experts_local = model.experts_per_gpu;
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
		throw UsageError(std::to_string(shape.experts_local) +
				 " experts per GPU: a token takes " +
				 std::to_string(shape.topk) + " experts out of " +
				 std::to_string(shape.fanout) + " groups");
	return shape;
}

std::unique_ptr<Comm> Rig::make_comm(const std::vector<RankRoute> &route) const
{
	CommShape rows;
	rows.tokens = options.tokens;
	rows.fanout = model.top_groups;
	rows.experts_local = model.experts_per_gpu;
	rows.hidden = model.hidden;
	rows.value_bytes = fp8 ? model.hidden : 2 * model.hidden;
	rows.scale_bytes = fp8 ? scale_bytes_of(model.hidden) : 0;
	rows.seed = options.seed;
	return std::make_unique<Comm>(devices, route, rows);
}

std::unique_ptr<Layer> Rig::make_layer(int rank, const std::vector<RankRoute> &route) const
{
	LayerOptions o;
	o.tokens = options.tokens;
	o.seed = options.seed + rank;
	o.fp8 = fp8;
	if (model.moe())
		o.rows_per_expert.assign(
			route[rank].expert_rows.begin(), route[rank].expert_rows.end());
	CUDA_CHECK(cudaSetDevice(devices[rank]));
	return std::make_unique<Layer>(model, o);
}

void Rig::prepare(int sms)
{
	if (std::find(prepared.begin(), prepared.end(), sms) != prepared.end())
		return;
	prepared.push_back(sms);
	for (size_t r = 0; r < devices.size(); r++) {
		CUDA_CHECK(cudaSetDevice(devices[r]));
		layers[r]->prepare(sms);
	}
}

Work Rig::with_permutation(const Work &mlp, const PermuteArgs &args) const
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
Work Rig::exchange(CommKind kind, int rank, const char *component, const char *phase,
	const CommSettings &settings, int sms)
{
	if (sms == 0)
		return comm->copy_engine_work(kind, rank, component, phase);
	Work w = comm->work(kind, rank, component, phase, settings);
	if (kind == CommKind::combine || std::string(phase) != "I" || !fp8)
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

LayerWorks Rig::layer_works(int rank, int comm_sms)
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

/* The kernels of a phase that no tensor core works for, one after the other. */
Work Rig::elementwise(int rank, const char *phase)
{
	std::vector<Work> parts;
	Work all;
	for (Work &w : layers[rank]->parts(std::string(phase) == "F" ? 0 : 1))
		if (w.phase == phase && w.bound == Bound::copy)
			parts.push_back(w);
	if (parts.empty())
		return all;
	all.component = "elementwise";
	all.phase = phase;
	all.impl = "own";
	all.tokens = options.tokens;
	for (const Work &w : parts)
		all.bytes += w.bytes;
	all.enqueue = [parts](const Lane &lane) {
		for (const Work &w : parts)
			w.enqueue(lane);
	};
	return all;
}

} // namespace bench
