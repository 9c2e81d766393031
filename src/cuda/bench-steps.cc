/* The steps of the experiment, in the order in which they run. */
#include "bench.h"
#include "cuda-check.h"
#include "governor-plan.h"
#include <algorithm>
#include <cstdio>

namespace bench
{

namespace
{

constexpr int kWarmup = 10;
constexpr int kCurveReps = 50, kPartReps = 20;
constexpr int kChunks[] = {1, 2, 4, 8, 16, 32};
constexpr int kCurveSms[] = {4, 8, 12, 16, 20, 24, 32, 48, 64, 96};

const LoadMode kLoadModes[] = {LoadMode::synced, LoadMode::back_to_back, LoadMode::sustained};

const char *exchange_name(CommKind kind)
{
	return kind == CommKind::dispatch ? "dispatch" : "combine";
}

} // namespace

struct Bench::Step {
	const char *name;
	void (Bench::*run)();
	bool wanted;
	bool whole = false; /* it reports no progress of its own */
};

/* The chunk size that is fastest with the SM budget of the pair; the curve stays in the trace.
 */
void Bench::tune_chunk(CommKind kind, const Partitions &on)
{
	double best = 0;
	for (int chunk : kChunks) {
		CommSettings s = rig->how[(int)kind];
		s.chunk_tokens = chunk;
		Item *item =
			component(on, "/chunk" + std::to_string(chunk), true, &s, [&](int r) {
				return rig->comm->work(kind, r, exchange_name(kind), "F", s);
			});
		double ns = capture->median_ns(
			item, {"tune", LoadMode::back_to_back, kCurveReps, kWarmup});
		capture->remove(item);
		if (ns > 0 && (best == 0 || ns < best)) {
			best = ns;
			rig->how[(int)kind].chunk_tokens = chunk;
		}
	}
}

void Bench::step_tune()
{
	if (!rig->comm || options.chunk_tokens)
		return;
	tune_chunk(CommKind::dispatch, whole);
	tune_chunk(CommKind::combine, whole);
	make_works();
}

/* Rate by SM count. */
void Bench::step_curves()
{
	if (!rig->comm)
		return;
	for (CommKind kind : {CommKind::dispatch, CommKind::combine}) {
		const CommSettings &best = rig->how[(int)kind];
		std::vector<int> counts(std::begin(kCurveSms), std::end(kCurveSms));
		counts.push_back(chip_sms);
		for (int sms : counts) {
			if (sms > chip_sms)
				continue;
			Partitions on = partitions({SmMode::none, 0, sms});
			Item *item = component(
				on, "/sm" + std::to_string(sms), true, &best, [&](int r) {
					return rig->comm->work(
						kind, r, exchange_name(kind), "F", best);
				});
			measure({item}, {"sms", LoadMode::back_to_back, kCurveReps, kWarmup});
			capture->remove(item);
		}
	}
}

void Bench::step_main()
{
	for (LoadMode mode : kLoadModes)
		if (!Capture::interrupted)
			measure(main_items, {"main", mode, options.reps, kWarmup});
}

/* The MLP with the rows that `topk` experts per token make. */
void Bench::measure_rows(int topk)
{
	std::vector<RankRoute> other_route = make_route(rig->route_shape(topk));
	std::unique_ptr<Comm> other = rig->make_comm(other_route);
	std::vector<std::unique_ptr<Layer>> other_layers;
	std::vector<std::vector<Work>> mlp;
	for (size_t r = 0; r < devices.size(); r++) {
		other_layers.push_back(rig->make_layer((int)r, other_route));
		other_layers[r]->prepare(0);
		std::vector<Work> all;
		for (int set : {0, 1})
			for (const Work &w : other_layers[r]->works(set))
				if (w.component == "mlp" && (w.phase == "F") == (set == 0))
					all.push_back(
						w.phase == "W"
							? w
							: rig->with_permutation(w,
								  other->permute_args((int)r)));
		mlp.push_back(all);
	}
	std::vector<Item *> items;
	for (size_t i = 0; i < mlp[0].size(); i++)
		items.push_back(
			component(whole, "", false, nullptr, [&](int r) { return mlp[r][i]; }));
	measure(items, {"rows" + std::to_string(other_route[0].rows), LoadMode::sustained,
			       options.reps / 2, kWarmup});
	drop(items);
}

/* More and fewer rows than usual, as a router's imbalance makes them. With few experts there is
 * no room for one more per token: then without it. */
void Bench::step_rows()
{
	if (!rig->comm)
		return;
	for (int topk : {model.top_k - 1, model.top_k + 1}) {
		if (Capture::interrupted)
			return;
		try {
			measure_rows(topk);
		} catch (const UsageError &e) {
			remarks.push_back(std::string("rows: ") + e.what());
		}
	}
}

/* Compute alone with the SMs that the pair leaves it. */
void Bench::step_reduced()
{
	SmSplit split = pair_split;
	if (split.mode == SmMode::none)
		split.mode = SmMode::grid;
	rig->prepare(split.compute);
	Partitions on = partitions(split);
	std::vector<Item *> items = compute_items(on);
	measure(items, {"reduced", LoadMode::back_to_back, options.reps / 2, kWarmup});
	drop(items);
}

/* The pair under each way of sharing SMs. */
void Bench::step_modes()
{
	for (SmMode mode : {SmMode::none, SmMode::grid}) {
		SmSplit split = pair_split;
		split.mode = mode;
		if (mode != SmMode::none)
			rig->prepare(split.compute);
		Partitions on = partitions(split);
		Item *item = pair_item(on, split.comm);
		measure({item}, {std::string("pair-") + sm_mode_name(mode),
					LoadMode::back_to_back, options.reps / 2, kWarmup});
		capture->remove(item);
	}
}

void Bench::sweep_point(int comm_sms)
{
	SmSplit split = {pair_split.mode == SmMode::none ? SmMode::grid : pair_split.mode,
		chip_sms - comm_sms, comm_sms};
	if (comm_sms == 0)
		split.mode = SmMode::none;
	rig->prepare(split.mode == SmMode::none ? 0 : split.compute);
	Partitions on = partitions(split);
	std::vector<LayerWorks> kept;
	kept.swap(works);
	for (size_t r = 0; r < devices.size(); r++)
		works.push_back(rig->layer_works((int)r, comm_sms));
	std::vector<Item *> items = compute_items(on);
	for (Item *item : exchange_items(on))
		items.push_back(item);
	items.push_back(pair_item(on, comm_sms));
	measure(items, {"sweep" + std::to_string(comm_sms), LoadMode::back_to_back,
			       options.reps / 2, kWarmup});
	drop(items);
	works.swap(kept);
}

void Bench::step_sweep()
{
	for (int comm_sms : options.sweep) {
		if (Capture::interrupted)
			return;
		if (comm_sms >= chip_sms)
			remarks.push_back("sweep: this GPU has no " + std::to_string(comm_sms) +
					  " SMs to spare");
		else
			sweep_point(comm_sms);
	}
}

void Bench::step_sizes()
{
	std::vector<Item *> items;
	int64_t most = 2ll * options.tokens * model.hidden;
	for (int64_t bytes = 1024; bytes < most; bytes *= 4)
		items.push_back(component(whole, "/" + std::to_string(bytes), true, nullptr,
			[&](int r) { return p2p->work(r, bytes, options.tokens); }));
	measure(items, {"p2p", LoadMode::back_to_back, kCurveReps, kWarmup});
	drop(items);
}

/* Rank 0 alone; these rows would only repeat components, so that they do not enter the trace.
 */
void Bench::step_parts()
{
	CUDA_CHECK(cudaSetDevice(devices[0]));
	std::vector<Work> forward = rig->layers[0]->parts(0), all;
	for (Work &w : forward)
		if (w.phase == "F")
			all.push_back(w);
	for (Work &w : rig->layers[0]->parts(1))
		if (w.phase != "F")
			all.push_back(w);
	std::vector<Work> alone = rig->layers[0]->gemm_yardsticks();
	Capture single({devices[0]}, nullptr, nvml, options.seed);
	auto time = [&](const Work &w) {
		Item *item = single.add(
			w.part, [&](int) { return whole[0]->compute().stream; },
			[&](int, Recorder &recorder) {
				recorder.add(w, describe(w, "compute"), whole[0]->compute());
			});
		double ns = single.median_ns(
			item, {"parts", LoadMode::back_to_back, kPartReps, kWarmup});
		single.remove(item);
		return ns;
	};
	for (const Work &w : all) {
		if (Capture::interrupted)
			return;
		double alone_ns = 0;
		for (const Work &y : alone)
			if (y.part == w.part && y.component == w.component &&
				y.phase == w.phase)
				alone_ns = time(y);
		part_times.push_back({w, time(w), alone_ns});
	}
}

double Bench::expected_ns(const std::string &step) const
{
	int side = options.reps / 2 + kWarmup;
	if (step == "main")
		return 3.0 * (options.reps + kWarmup) * round_ns + 2e9;
	if (step == "reduced")
		return side * (round_ns - pair_ns);
	if (step == "rows")
		return 2.0 * side * 0.4 * (round_ns - pair_ns) + 3e9;
	if (step == "modes")
		return 2.0 * side * pair_ns;
	if (step == "sweep")
		return (double)options.sweep.size() * side * round_ns;
	if (step == "governor")
		return planned_ms(plan_governor(model.moe())) * 1e6;
	if (step == "resident")
		return devices.size() > 1 ? 3e10 : 1.5e10;
	if (step == "replay") {
		double total = 0;
		for (const ReplayOrder &order : orders)
			total += 25.0 * (double)order.step_ns + 1.5e9;
		return total;
	}
	return 2e9;
}

void Bench::run_step(const Step &step)
{
	try {
		progress.step(step.name);
		(this->*step.run)();
		if (step.whole)
			progress.advance(expected_ns(step.name) * 1e-9);
	} catch (const Unsupported &e) {
		remarks.push_back(std::string(step.name) + ": " + e.what());
	}
}

/* The main series' items, and how long a repetition of them takes. */
void Bench::make_main_items(const Partitions &pair_on)
{
	int64_t message = 2ll * options.tokens * model.hidden;
	main_items = compute_items(whole);
	for (Item *item : exchange_items(whole))
		main_items.push_back(item);
	if (options.wants("chunk"))
		main_items.push_back(pair_item(pair_on, pair_split.comm));
	if (options.wants("p2p"))
		main_items.push_back(component(whole, "", true, nullptr,
			[&](int r) { return p2p->work(r, message, options.tokens); }));
	capture->estimate(main_items);
	for (Item *item : main_items) {
		round_ns += item->expected_ns;
		if (item->name == "pair")
			pair_ns = item->expected_ns;
	}
	const LayerWorks &w = works[0];
	for (const Work *one : {&w.attn_f, &w.attn_i, &w.attn_w, &w.dispatch_f, &w.dispatch_i,
		     &w.mlp_f, &w.mlp_i, &w.mlp_w, &w.combine_f, &w.combine_i})
		if (one->enqueue)
			shown.push_back(*one);
	shown.push_back(p2p->work(0, message, options.tokens));
}

Sampler &Bench::readings()
{
	if (!sampler) {
		std::vector<std::string> pci;
		for (const auto &chip : chips)
			pci.push_back(chip->pci);
		sampler = std::make_unique<Sampler>(nvml, pci);
	}
	return *sampler;
}

/* A layer and an exchange of its own for each GPU; on one GPU the main series' own. */
void Bench::make_chips()
{
	for (size_t r = chips.size(); r < devices.size(); r++) {
		std::shared_ptr<Rig> own = rig;
		CUDA_CHECK(cudaSetDevice(devices[r]));
		if (rig->devices != std::vector<int>{devices[r]})
			own = std::make_shared<Rig>(
				options, model, std::vector<int>{devices[r]});
		chips.push_back(std::make_unique<Chip>((int)r, own, pair_split));
	}
}

void Bench::step_governor()
{
	make_chips();
	measure_governor(chips, readings(), capture->rows(), remarks);
}

void Bench::step_resident()
{
	make_chips();
	measure_resident(chips, readings(), 2ll * options.tokens * model.hidden, options.seed,
		capture->rows(), remarks, nccl);
}

void Bench::step_replay()
{
	make_chips();
	for (const ReplayOrder &order : orders)
		if (!Capture::interrupted)
			replayed.push_back(
				measure_replay(chips, readings(), order, options.replay_rank,
					2ll * options.tokens * model.hidden, capture->rows()));
}

void Bench::prepare_main()
{
	run_step({"tune", &Bench::step_tune, true});
	if (pair_split.mode != SmMode::none)
		rig->prepare(pair_split.compute);
	main_pair = partitions(pair_split);
	make_main_items(main_pair);
}

bool Bench::run()
{
	bool main = !options.series_only();
	auto all = [&](const char *name) { return options.all && options.wants(name); };
	std::vector<Step> steps = {
		{"main", &Bench::step_main, main},
		{"curves", &Bench::step_curves, all("curves")},
		{"rows", &Bench::step_rows, all("rows")},
		{"reduced", &Bench::step_reduced, all("reduced")},
		{"modes", &Bench::step_modes, all("modes")},
		{"sweep", &Bench::step_sweep, options.sweep_asked || all("sweep")},
		{"sizes", &Bench::step_sizes, all("sizes")},
		{"parts", &Bench::step_parts, options.parts || all("parts")},
		{"governor", &Bench::step_governor, options.governor || all("governor"), true},
		{"replay", &Bench::step_replay, !options.replay.empty(), true},
		{"resident", &Bench::step_resident, options.resident || all("resident"), true},
	};
	if (main)
		prepare_main();
	double total = 0;
	for (const Step &step : steps)
		if (step.wanted)
			total += expected_ns(step.name);
	progress.plan(total * 1e-9);
	for (const Step &step : steps)
		if (step.wanted && !Capture::interrupted)
			run_step(step);
	drop(main_items);
	progress.finish();
	return !Capture::interrupted;
}

} // namespace bench
