#include "bench.h"
#include "cuda-check.h"
#include "device.h"
#include <algorithm>

namespace bench
{

namespace
{

/* Bytes of the copies that ceilings come from. */
constexpr int64_t kPeerCopyBytes = 512ll << 20;

} // namespace

Bench::Bench(const Options &options, const Model &model, const std::vector<int> &devices,
	const Nvml &nvml, const std::vector<ReplayOrder> &orders)
    : options(options), model(model), devices(devices), nvml(nvml), orders(orders)
{
	chip_sms = multiprocessors(devices[0]);
	if (!has_block_fp8(capability(devices[0])))
		remarks.push_back("no block-scaled FP8 on this GPU: BF16 throughout");
	pair_split = options.split;
	if (pair_split.compute == 0)
		pair_split.compute = chip_sms - pair_split.comm;
	if (pair_split.compute < 1 || pair_split.compute + pair_split.comm > chip_sms)
		throw UsageError("--sm-split " + std::to_string(pair_split.compute) + "+" +
				 std::to_string(pair_split.comm) + ": this GPU has " +
				 std::to_string(chip_sms) + " SMs");
	if (devices.size() > 1)
		enable_peers(devices);
	if (options.series_only()) {
		progress.step("layers");
		rig = std::make_shared<Rig>(options, model, std::vector<int>{devices[0]});
		capture =
			std::make_unique<Capture>(devices, rig->comm.get(), nvml, options.seed);
		return;
	}
	progress.step("ceilings");
	CUDA_CHECK(cudaSetDevice(devices[0]));
	chip = measure_peaks();
	if (devices.size() > 1)
		link_gbps = peer_copy_gbps(devices[0], devices[1], kPeerCopyBytes);
	progress.step("layers");
	rig = std::make_shared<Rig>(options, model, devices);
	p2p = std::make_unique<P2p>(devices, 2ll * options.tokens * model.hidden, options.seed);
	capture = std::make_unique<Capture>(devices, rig->comm.get(), nvml, options.seed);
	capture->progress = [this](double ns) { progress.advance(ns * 1e-9); };
	whole = partitions({SmMode::none, 0, pair_split.comm});
	make_works();
}

/* Graphs refer to streams and buffers: they go first. */
Bench::~Bench()
{
	capture.reset();
	chips.clear();
}

void Bench::make_works()
{
	works.clear();
	for (size_t r = 0; r < devices.size(); r++)
		works.push_back(rig->layer_works((int)r, pair_split.comm));
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
			items.push_back(component(on, "", true, &rig->how[(int)kind],
				[&, w = w](int r) { return works[r].*w; }));
	return items;
}

Item *Bench::pair_item(const Partitions &on, int comm_sms)
{
	std::vector<LayerWorks> pair;
	for (size_t r = 0; r < devices.size(); r++)
		pair.push_back(rig->layer_works((int)r, comm_sms));
	return capture->add(
		"pair", [&](int r) { return on[r]->compute().stream; },
		[&](int r, Recorder &recorder) {
			capture_pair(pair[r], *on[r], rig->how, recorder);
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
