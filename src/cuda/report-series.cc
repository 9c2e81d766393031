#include "report-series.h"
#include "median.h"
#include <algorithm>
#include <cstdlib>
#include <map>

namespace bench
{

namespace
{

/* Of a burst: when clocks are full after a long pause, and when they have settled, before the
 * limit of the mean power of a second is felt. */
constexpr int64_t kLongPauseNs = 250000000, kFullNs = 45000000;
constexpr int64_t kSettledNs = 150000000, kSettledEndNs = 700000000;

struct Governed {
	std::vector<double> full, settled;
	double slowest = 0;
};

/* Adds a row of a history. `burst_start`, `pause`: of the burst that it belongs to; its first op
 * also pays for launch and cold caches. */
void add_governed(Governed &g, const TraceRow &row, int64_t burst_start, int64_t pause)
{
	int64_t since = row.t_start_ns - burst_start;
	if (since == 0)
		return;
	if (pause >= kLongPauseNs && since < kFullNs)
		g.full.push_back((double)row.dur_ns);
	if (since > kSettledNs && since < kSettledEndNs)
		g.settled.push_back((double)row.dur_ns);
	g.slowest = std::max(g.slowest, (double)row.dur_ns);
}

void print_governor(FILE *out, const Bench &bench)
{
	std::map<std::string, Governed> found;
	std::vector<std::string> ops;
	int64_t end = 0, burst_start = 0, pause = 0;
	const TraceRow *before = nullptr;
	for (const TraceRow &r : bench.rows()) {
		if (r.series != "governor" || r.run_id.rfind("governor-steps/", 0) != 0)
			continue;
		bool begins = !before || before->run_id != r.run_id || before->rank != r.rank;
		if (begins || r.t_start_ns > end) {
			pause = begins ? 0 : r.t_start_ns - end;
			burst_start = r.t_start_ns;
		}
		before = &r;
		end = r.t_start_ns + r.dur_ns;
		std::string op = r.component + " " + r.phase;
		if (!found.count(op))
			ops.push_back(op);
		add_governed(found[op], r, burst_start, pause);
	}
	if (ops.empty())
		return;
	fprintf(out,
		"\nAfter a long pause (first 45 ms), and when clocks have settled (150 to 700 "
		"ms)\n"
		"%-14s %9s %9s %6s %9s\n",
		"op", "full ms", "settled", "ratio", "slowest");
	for (const std::string &op : ops) {
		const Governed &g = found[op];
		double full = median(g.full), settled = median(g.settled);
		fprintf(out, "%-14s %9.3f %9.3f %6.3f %9.3f\n", op.c_str(), full * 1e-6,
			settled * 1e-6, settled > 0 ? full / settled : 0, g.slowest * 1e-6);
	}
}

/* Median time of every op beside something, against alone; all GPUs together. */
void print_resident(FILE *out, const Bench &bench)
{
	std::map<std::string, std::map<std::string, std::vector<double>>>
		found; /* op, beside */
	std::vector<std::string> ops, besides;
	auto note = [](std::vector<std::string> &list, const std::string &name) {
		if (std::find(list.begin(), list.end(), name) == list.end())
			list.push_back(name);
	};
	for (const TraceRow &r : bench.rows()) {
		if ((r.series != "resident" && r.series != "moving") || r.status != "ok")
			continue;
		bool alone =
			r.series == "resident" ? r.resident_sms == 0 : r.payload_bytes == 0;
		std::string beside =
			r.series == "moving" ? "moving" : std::to_string(r.resident_sms);
		if (r.impl == "nccl")
			beside += " nccl";
		std::string op = r.component + " " + r.phase;
		std::string base = r.impl + r.series;
		note(ops, op);
		if (!alone)
			note(besides, beside);
		found[op][alone ? "alone " + base : beside + "|" + base].push_back(
			(double)r.dur_ns);
	}
	if (ops.empty())
		return;
	std::sort(besides.begin(), besides.end(), [](const auto &a, const auto &b) {
		return std::make_pair(atoi(a.c_str()) == 0, atoi(a.c_str())) <
		       std::make_pair(atoi(b.c_str()) == 0, atoi(b.c_str()));
	});
	fprintf(out,
		"\nBeside a receive that waits on so many SMs, or a message that moves: time "
		"over that alone\n%-14s %9s",
		"op", "alone ms");
	for (const std::string &beside : besides)
		fprintf(out, " %12s", beside.c_str());
	fputc('\n', out);
	for (const std::string &op : ops) {
		bool first = true;
		for (const std::string &beside : besides) {
			for (const auto &[key, values] : found[op]) {
				size_t bar = key.find('|');
				if (key.substr(0, bar) != beside)
					continue;
				auto alone = found[op].find("alone " + key.substr(bar + 1));
				double ns =
					alone == found[op].end() ? 0 : median(alone->second);
				if (first)
					fprintf(out, "%-14s %9.3f", op.c_str(), ns * 1e-6);
				first = false;
				fprintf(out, " %12.3f", ns > 0 ? median(values) / ns : 0);
			}
		}
		fputc('\n', out);
	}
}

void print_replay(FILE *out, const ReplayResult &replay)
{
	if (replay.steps == 0)
		return;
	fprintf(out,
		"\nReplay of %s: median of %d steps %.3f ms (%.3f to %.3f), simulated %.3f ms "
		"(%+.2f %%)\n%-4s %5s %12s %12s %8s\n",
		replay.name.c_str(), replay.steps, replay.median_ns * 1e-6,
		replay.least_ns * 1e-6, replay.most_ns * 1e-6, replay.simulated_ns * 1e-6,
		100 * (replay.simulated_ns / replay.median_ns - 1), "op", "count",
		"measured ms", "simulated ms", "%");
	for (const ReplayResult::Kind &kind : replay.kinds)
		fprintf(out, "%-4s %5d %12.3f %12.3f %+8.2f\n", kind.kind.c_str(), kind.ops,
			kind.median_ns * 1e-6, kind.simulated_ns * 1e-6,
			100 * (kind.simulated_ns / kind.median_ns - 1));
}

} // namespace

void print_series(FILE *out, const Bench &bench)
{
	print_governor(out, bench);
	print_resident(out, bench);
	for (const ReplayResult &replay : bench.replays())
		print_replay(out, replay);
}

} // namespace bench
