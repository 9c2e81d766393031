#include "report.h"
#include "report-series.h"
#include <algorithm>
#include <map>
#include <tuple>

namespace bench
{

namespace
{

/* Medians by "run_id component phase". */
class Medians
{
      public:
	explicit Medians(const std::vector<TraceRow> &rows)
	{
		for (const TraceRow &r : rows) {
			if (r.rank != 0 || !r.series.empty())
				continue;
			Group &g = groups[r.run_id + " " + r.component + " " + r.phase];
			if (g.ns.empty())
				g.row = r;
			if (r.status == "ok")
				g.ns.push_back((double)(r.move_ns >= 0 ? r.move_ns : r.dur_ns));
			g.failed += r.status == "checksum_fail";
		}
		for (auto &[key, g] : groups)
			std::sort(g.ns.begin(), g.ns.end());
	}
	struct Group {
		TraceRow row;
		std::vector<double> ns; /* sorted */
		int failed = 0;
		double ms(double quantile) const
		{
			if (ns.empty())
				return 0;
			return ns[(size_t)(quantile * (ns.size() - 1) + 0.5)] * 1e-6;
		}
	};
	const Group *find(const std::string &run, const std::string &component,
		const std::string &phase) const
	{
		auto it = groups.find(run + " " + component + " " + phase);
		return it == groups.end() || it->second.ns.empty() ? nullptr : &it->second;
	}
	double ms(const std::string &run, const std::string &component,
		const std::string &phase) const
	{
		const Group *g = find(run, component, phase);
		return g ? g->ms(0.5) : 0;
	}
	const std::map<std::string, Group> &all() const
	{
		return groups;
	}

      private:
	std::map<std::string, Group> groups;
};

/* What is achieved and what could be, in the unit of the ceiling. */
struct Rate {
	double achieved, ceiling;
	const char *unit;
};

Rate rate(const Work &w, double ms, const Bench &bench)
{
	const Peaks &p = bench.peaks();
	double s = ms * 1e-3;
	switch (w.bound) {
	case Bound::fp8_gemm:
		return {w.flops / s * 1e-12, p.fp8_tflops > 0 ? p.fp8_tflops : p.bf16_tflops,
			"TFLOP/s"};
	case Bound::bf16_gemm:
		return {w.flops / s * 1e-12, p.bf16_tflops, "TFLOP/s"};
	case Bound::nvlink:
		return {w.wire_bytes / s * 1e-9, bench.peer_gbps(), "GB/s link"};
	default:
		return {w.bytes / s * 1e-9, p.copy_gbps, "GB/s"};
	}
}

void print_ceilings(FILE *out, const Bench &bench)
{
	const Peaks &p = bench.peaks();
	fprintf(out, "Ceilings: copy %.0f GB/s (read + written), BF16 GEMM %.0f TFLOP/s",
		p.copy_gbps, p.bf16_tflops);
	if (p.fp8_tflops > 0)
		fprintf(out, ", FP8 GEMM %.0f TFLOP/s", p.fp8_tflops);
	if (bench.peer_gbps() > 0)
		fprintf(out, ", peer copy %.0f GB/s", bench.peer_gbps());
	fprintf(out, "\nEvents: %lld ns between two in a row, resolution %lld ns\n",
		(long long)bench.timing().event_overhead_ns(),
		(long long)bench.timing().event_resolution_ns());
}

void print_components(FILE *out, const Bench &bench, const Medians &medians)
{
	fprintf(out, "\n%-9s %-2s %-24s %9s %9s %9s %6s %8s %8s %9s %-9s %5s\n", "component",
		"", "implementation", "synced", "b-to-b", "sustained", "p5-95", "GFLOP", "MB",
		"rate", "", "of");
	fprintf(out, "%-9s %-2s %-24s %9s %9s %9s %6s %8s %8s %9s %-9s %5s\n", "", "", "", "ms",
		"ms", "ms", "%", "", "", "", "", "peak");
	for (const Work &w : bench.main_works()) {
		const Medians::Group *g = medians.find("main-sustained", w.component, w.phase);
		if (!g)
			g = medians.find("main-synced", w.component, w.phase);
		if (!g)
			continue;
		double ms = g->ms(0.5);
		Rate r = rate(w, ms, bench);
		fprintf(out,
			"%-9s %-2s %-24.24s %9.3f %9.3f %9.3f %6.1f %8.0f %8.0f %9.1f %-9s "
			"%4.0f%%\n",
			w.component.c_str(), w.phase.c_str(), w.impl.c_str(),
			medians.ms("main-synced", w.component, w.phase),
			medians.ms("main-back_to_back", w.component, w.phase),
			medians.ms("main-sustained", w.component, w.phase),
			100 * (g->ms(0.95) - g->ms(0.05)) / ms, w.flops * 1e-9,
			(w.bound == Bound::nvlink ? (double)w.wire_bytes : w.bytes) * 1e-6,
			r.achieved, r.unit, r.ceiling > 0 ? 100 * r.achieved / r.ceiling : 0);
	}
}

double isolated_ms(const Bench &bench, const Medians &medians, const std::string &run,
	const std::string &role)
{
	double ms = 0;
	for (const Work &w : bench.main_works())
		if (w.component != "p2p" && w.component != "chunk" &&
			(w.component == "attn" || w.component == "mlp") == (role == "compute"))
			ms += medians.ms(run, w.component, w.phase);
	return ms;
}

void print_pair(FILE *out, const Bench &bench, const Medians &medians)
{
	double compute = isolated_ms(bench, medians, "main-back_to_back", "compute");
	double comm = isolated_ms(bench, medians, "main-back_to_back", "comm");
	fprintf(out, "\nOverlapped pair: alone, compute %.3f ms and communication %.3f ms",
		compute, comm);
	double less = isolated_ms(bench, medians, "reduced-back_to_back", "compute");
	if (less > 0)
		fprintf(out, "; compute on %d SMs %.3f ms", bench.split().compute, less);
	fprintf(out, "\n%-24s %-6s %9s %9s %9s %8s %10s\n", "run", "split", "pair ms",
		"compute", "comm", "SMs seen", "pair / sum");
	for (const auto &[key, g] : medians.all()) {
		if (g.row.role != "pair" || g.ns.empty())
			continue;
		const std::string &run = g.row.run_id;
		double ms = g.ms(0.5);
		fprintf(out, "%-24s %-6s %9.3f %9.3f %9.3f %8d %10.3f\n", run.c_str(),
			g.row.sm_mode.c_str(), ms, medians.ms(run + "/compute", "chunk", "FB"),
			medians.ms(run + "/comm", "chunk", "FB"), g.row.sm_actual,
			compute + comm > 0 ? ms / (compute + comm) : 0);
	}
}

using Variants = std::vector<const Medians::Group *>;

/* Every variant of an exchange or a message, in the order of what was varied. */
Variants variants(const Medians &medians)
{
	Variants all;
	for (const auto &[key, g] : medians.all())
		if (g.row.run_id.find('/') != std::string::npos && g.row.pair_id < 0 &&
			!g.ns.empty())
			all.push_back(&g);
	auto place = [](const Medians::Group *g) {
		const TraceRow &r = g->row;
		return std::make_tuple(r.run_id.substr(0, r.run_id.find('/')), r.component,
			r.sm_req, r.chunk_tokens, r.payload_bytes, r.ld_mode);
	};
	std::sort(
		all.begin(), all.end(), [&](auto *a, auto *b) { return place(a) < place(b); });
	return all;
}

void print_curves(FILE *out, const Variants &all)
{
	if (all.empty())
		return;
	fprintf(out, "\n%-32s %-9s %5s %5s %10s %10s %7s\n", "variant", "component", "SMs",
		"chunk", "us", "GB/s", "failed");
	for (const Medians::Group *g : all)
		fprintf(out, "%-32s %-9s %5d %5d %10.1f %10.1f %7d\n", g->row.run_id.c_str(),
			g->row.component.c_str(), g->row.sm_req, g->row.chunk_tokens,
			g->ms(0.5) * 1e3, g->row.payload_bytes / g->ms(0.5) * 1e-6, g->failed);
	fprintf(out, "GB/s count the payload: all that a rank sends, to itself included\n");
}

/* How near the SM budget comes to the best of any, and that to the ceiling. */
void print_budget(FILE *out, const Bench &bench, const Variants &all)
{
	for (const Work &w : bench.main_works()) {
		const Medians::Group *best = nullptr, *budget = nullptr;
		if (w.phase != "F" || (w.component != "dispatch" && w.component != "combine"))
			continue;
		for (const Medians::Group *g : all) {
			if (g->row.component != w.component || g->row.run_id.rfind("sms-", 0))
				continue;
			if (!best || g->ms(0.5) < best->ms(0.5))
				best = g;
			if (g->row.sm_req == bench.split().comm)
				budget = g;
		}
		if (!best || !budget)
			continue;
		Rate r = rate(w, best->ms(0.5), bench);
		fprintf(out,
			"%s: %d SMs reach %.0f %% of the best rate, which %d SMs reach: "
			"%.0f %s, %.0f %% of the ceiling\n",
			w.component.c_str(), budget->row.sm_req,
			100 * best->ms(0.5) / budget->ms(0.5), best->row.sm_req, r.achieved,
			r.unit, 100 * r.achieved / r.ceiling);
	}
}

void print_parts(FILE *out, const Bench &bench)
{
	if (bench.parts().empty())
		return;
	fprintf(out, "\n%-9s %-2s %-26s %-20s %9s %9s %-9s %5s %6s\n", "component", "",
		"kernel", "implementation", "us", "rate", "", "peak", "alone");
	for (const PartTime &p : bench.parts()) {
		Rate r = rate(p.work, p.ns * 1e-6, bench);
		fprintf(out, "%-9s %-2s %-26.26s %-20.20s %9.1f %9.1f %-9s %4.0f%%",
			p.work.component.c_str(), p.work.phase.c_str(), p.work.part.c_str(),
			p.work.impl.c_str(), p.ns * 1e-3, r.achieved, r.unit,
			r.ceiling > 0 ? 100 * r.achieved / r.ceiling : 0);
		if (p.alone_ns > 0)
			fprintf(out, " %5.0f%%", 100 * p.alone_ns / p.ns);
		fputc('\n', out);
	}
	fprintf(out,
		"alone: time of the same GEMM through cuBLASLt alone, over the kernel's\n");
}

} // namespace

void print_report(FILE *out, const Bench &bench)
{
	Medians medians(bench.rows());
	if (!bench.main_works().empty()) {
		print_ceilings(out, bench);
		print_components(out, bench, medians);
	}
	print_series(out, bench);
	if (medians.find("main-back_to_back", "chunk", "FB"))
		print_pair(out, bench, medians);
	Variants all = variants(medians);
	print_curves(out, all);
	print_budget(out, bench, all);
	print_parts(out, bench);
	for (const Work &w : bench.main_works())
		for (const std::string &note : w.notes)
			fprintf(out, "note: %s %s: %s\n", w.component.c_str(), w.phase.c_str(),
				note.c_str());
	for (const std::string &note : bench.notes())
		fprintf(out, "note: %s\n", note.c_str());
}

} // namespace bench
