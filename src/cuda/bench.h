/* The experiment: what is measured, in which order, with which names. Each step appends rows to
 * the trace; a step that this host cannot do leaves a note and the others go on. */
#pragma once
#include "capture.h"
#include "options.h"
#include "p2p.h"
#include "peaks.h"
#include "progress.h"
#include "rig.h"
#include "series.h"
#include <memory>
#include <string>
#include <vector>

namespace bench
{

/* A lane pair on every rank. */
using Partitions = std::vector<std::unique_ptr<Partition>>;

/* A single kernel's time, which only the report shows. */
struct PartTime {
	Work work;
	double ns;       /* median */
	double alone_ns; /* the same GEMM alone; 0 = no such yardstick */
};

class Bench
{
      public:
	Bench(const Options &options, const Model &model, const std::vector<int> &devices,
		const Nvml &nvml, const std::vector<ReplayOrder> &orders);
	~Bench();
	Bench(const Bench &) = delete;
	Bench &operator=(const Bench &) = delete;

	/* All steps that the options ask for; false if interrupted. */
	bool run();

	const std::vector<TraceRow> &rows() const
	{
		return capture->rows();
	}
	const Capture &timing() const
	{
		return *capture;
	}
	/* Rank 0's components of the main series, and its single kernels. */
	const std::vector<Work> &main_works() const
	{
		return shown;
	}
	const std::vector<PartTime> &parts() const
	{
		return part_times;
	}
	const Peaks &peaks() const
	{
		return chip;
	}
	double peer_gbps() const
	{
		return link_gbps;
	} /* 0 on one GPU */
	const std::vector<std::string> &notes() const
	{
		return remarks;
	}
	/* What was used in the end: tuned chunk sizes, the split. */
	const CommSettings &settings(CommKind kind) const
	{
		return rig->how[(int)kind];
	}
	const SmSplit &split() const
	{
		return pair_split;
	}
	const std::vector<ReplayResult> &replays() const
	{
		return replayed;
	}
	const std::string &nccl_version() const
	{
		return nccl;
	}
	const char *attention_impl() const
	{
		return rig->layers[0]->attention_impl();
	}
	bool fp8() const
	{
		return rig->fp8;
	}

      private:
	struct Step;
	void make_works();
	Partitions partitions(const SmSplit &split);

	Item *component(const Partitions &on, const std::string &suffix, bool comm,
		const CommSettings *settings, const std::function<Work(int)> &work);
	std::vector<Item *> compute_items(const Partitions &on);
	std::vector<Item *> exchange_items(const Partitions &on);
	Item *pair_item(const Partitions &on, int comm_sms);
	void measure(const std::vector<Item *> &items, const Series &series);
	void drop(const std::vector<Item *> &items);

	void make_main_items(const Partitions &pair_on);
	void step_tune();
	void tune_chunk(CommKind kind, const Partitions &on);
	void step_curves();
	void step_main();
	void step_rows();
	void measure_rows(int topk);
	void step_reduced();
	void step_modes();
	void step_sweep();
	void sweep_point(int comm_sms);
	void step_sizes();
	void step_parts();
	Sampler &readings();
	void make_chips();
	void step_governor();
	void step_resident();
	void step_replay();
	void prepare_main();
	void run_step(const Step &step);
	double expected_ns(const std::string &step) const;

	Options options;
	Model model;
	std::vector<int> devices;
	const Nvml &nvml;
	int chip_sms = 0;
	std::shared_ptr<Rig> rig; /* of all GPUs; where only series run, of the first */
	Chips chips;              /* [rank]; made when the first series runs */
	std::unique_ptr<Sampler> sampler;
	const std::vector<ReplayOrder> &orders;
	std::vector<ReplayResult> replayed;
	std::string nccl;
	std::unique_ptr<P2p> p2p;
	std::unique_ptr<Capture> capture;
	std::vector<LayerWorks> works; /* [rank] */
	SmSplit pair_split;
	Partitions main_pair;
	Partitions whole; /* full chip for compute, comm_sms for communication */
	std::vector<Item *> main_items;
	std::vector<Work> shown;
	std::vector<PartTime> part_times;
	Peaks chip;
	double link_gbps = 0;
	double round_ns = 0, pair_ns = 0; /* one repetition of all items, and of the pair */
	std::vector<std::string> remarks;
	Progress progress;
};

} // namespace bench
