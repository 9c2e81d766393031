#include "trace-writer.h"
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <stdexcept>
#include <sys/stat.h>

namespace bench
{

namespace
{

const char kColumns[] =
	"run_id,rep,order,rank,device,chunk,layer,component,phase,pair_id,role,impl,stream,sm_"
	"req,"
	"sm_actual,sm_mode,ld_mode,chunk_tokens,pace_gbps,tokens,rows,payload_bytes,wire_bytes,"
	"flops,"
	"t_start_ns,dur_ns,move_ns,wait_ns,clk_sm_mhz,power_w,temp_c,status,load_mode,"
	"series,resident_sms,step,stage,microbatch";

const char kMeanings[] =
	"\n[load_modes]\n"
	"synced=the device is idle before each repetition and its L2 is overwritten\n"
	"back_to_back=all components in random order behind one gate, then a pause\n"
	"sustained=back to back without any pause, after the clocks have settled\n"
	"\n[series]\n"
	"governor=ops in the order of their start: after pauses, in duty cycles, without "
	"pause\n"
	"resident=an op beside a receive that waits on resident_sms SMs; 0: alone\n"
	"moving=an op beside a message of payload_bytes that moves; 0: alone\n"
	"replay=ops of a step in the order of a rank, step after step\n"
	"\n[units]\n"
	"times=ns, from events inside a CUDA graph\n"
	"t_start_ns=since the gate opened; of a series since the begin of its run_id on a "
	"rank\n"
	"clk_sm_mhz, power_w=of a series: interpolated between readings; NVML has a new "
	"clock about every 100 ms, a new power every 20 ms\n"
	"move_ns=time of a communication kernel after the last peer had arrived\n"
	"wait_ns=time of a communication kernel before that\n"
	"flops=floating-point operations of one repetition\n"
	"payload_bytes=bytes that one rank sends, to itself included\n"
	"wire_bytes=the part of them that crosses a link\n";

/* A file that appears under its name only when it is whole. */
class Output
{
      public:
	explicit Output(const std::string &path) : path(path), temporary(path + ".part")
	{
		file = path == "-" ? stdout : fopen(temporary.c_str(), "w");
		if (!file)
			fail();
	}
	~Output()
	{
		if (file && file != stdout) {
			fclose(file);
			remove(temporary.c_str());
		}
	}
	FILE *get() const
	{
		return file;
	}
	void commit()
	{
		bool bad = ferror(file) || fflush(file);
		if (file == stdout) {
			if (bad)
				fail();
			return;
		}
		bad |= fclose(file) != 0;
		file = nullptr;
		if (bad || rename(temporary.c_str(), path.c_str()))
			fail();
	}

      private:
	[[noreturn]] void fail()
	{
		throw std::runtime_error(path + ": " + strerror(errno));
	}
	std::string path, temporary;
	FILE *file;
};

std::string quoted(const std::string &field)
{
	if (field.find_first_of(",\"\r\n") == std::string::npos)
		return field;
	std::string out = "\"";
	for (char c : field)
		out += c == '"' ? std::string("\"\"") : std::string(1, c);
	return out + "\"";
}

void put(FILE *f, const std::string &field)
{
	fprintf(f, ",%s", quoted(field).c_str());
}

void put(FILE *f, int64_t value)
{
	if (value < 0)
		fputc(',', f);
	else
		fprintf(f, ",%lld", (long long)value);
}

void put_real(FILE *f, double value, const char *format)
{
	fputc(',', f);
	if (value >= 0)
		fprintf(f, format, value);
}

void write_row(FILE *f, const TraceRow &r)
{
	fprintf(f, "%s,%d,%d,%d,%d,0,0", quoted(r.run_id).c_str(), r.rep, r.order, r.rank,
		r.device);
	put(f, r.component);
	put(f, r.phase);
	put(f, r.pair_id);
	put(f, r.role);
	put(f, r.impl);
	put(f, r.stream);
	put(f, (int64_t)r.sm_req);
	put(f, (int64_t)r.sm_actual);
	put(f, r.sm_mode);
	put(f, r.ld_mode);
	put(f, (int64_t)r.chunk_tokens);
	put_real(f, r.pace_gbps, "%g");
	for (int64_t v : {r.tokens, r.rows, r.payload_bytes, r.wire_bytes})
		put(f, v);
	put_real(f, r.flops, "%.0f");
	for (int64_t v : {r.t_start_ns, r.dur_ns, r.move_ns, r.wait_ns})
		put(f, v);
	put(f, (int64_t)r.clk_sm_mhz);
	put_real(f, r.power_w, "%.1f");
	put(f, (int64_t)r.temp_c);
	put(f, r.status);
	put(f, r.load_mode);
	put(f, r.series);
	for (int v : {r.resident_sms, r.step, r.stage, r.microbatch})
		put(f, (int64_t)v);
	fputc('\n', f);
}

} // namespace

void demand_writable(const std::string &path)
{
	struct stat status;

	if (path == "-")
		return;
	if (stat(path.c_str(), &status) == 0 && S_ISDIR(status.st_mode))
		throw std::runtime_error(path + ": " + strerror(EISDIR));
	Output made(path); /* and removed again */
}

void write_trace(
	const std::string &path, const Metadata &metadata, const std::vector<TraceRow> &rows)
{
	Output out(path);
	for (const auto &[key, value] : metadata)
		fprintf(out.get(), "#%s,%s\n", key.c_str(), quoted(value).c_str());
	fprintf(out.get(), "%s\n", kColumns);
	for (const TraceRow &row : rows)
		write_row(out.get(), row);
	out.commit();
}

void write_provenance(const std::string &path, const Metadata &metadata)
{
	Output out(path);
	fputs("[capture]\n", out.get());
	for (const auto &[key, value] : metadata)
		fprintf(out.get(), "%s=%s\n", key.c_str(), value.c_str());
	fputs(kMeanings, out.get());
	out.commit();
}

std::string provenance_path(const std::string &trace_path)
{
	const std::string suffix = ".csv";
	if (trace_path.size() > suffix.size() &&
		!trace_path.compare(trace_path.size() - suffix.size(), suffix.size(), suffix))
		return trace_path.substr(0, trace_path.size() - suffix.size()) + ".ini";
	return trace_path + ".ini";
}

} // namespace bench
