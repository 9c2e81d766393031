/* The trace: metadata and one row per repetition, as CSV, with a provenance file beside it. */
#pragma once
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace bench
{

/* One row; -1 in a number that has no meaning there leaves the field empty. */
struct TraceRow {
	std::string run_id; /* what was measured together: NAME-LOADMODE, see README */
	int rep = 0;        /* counts from 0, warm-ups first */
	int order = 0;      /* position in the interleaved sequence of this repetition */
	int rank = 0, device = 0;
	std::string component, phase;
	int64_t pair_id = -1; /* joins the rows of one execution of an overlapped pair */
	std::string role;     /* compute | comm | pair */
	std::string impl;
	std::string stream; /* compute | comm | both */
	int sm_req = -1, sm_actual = -1;
	std::string sm_mode; /* none | grid | green */
	std::string ld_mode;
	int chunk_tokens = -1;
	double pace_gbps = -1;
	int64_t tokens = -1, rows = -1, payload_bytes = -1, wire_bytes = -1;
	double flops = -1;
	int64_t t_start_ns = -1, dur_ns = -1, move_ns = -1, wait_ns = -1;
	int clk_sm_mhz = -1;
	double power_w = -1;
	int temp_c = -1;
	std::string status = "ok"; /* ok | warmup | outlier | checksum_fail */
	std::string load_mode;     /* synced | back_to_back | sustained */
	/* Empty, or what a row shows beside its own time: governor | resident | moving |
	 * replay; docs/formats.md says what each holds. */
	std::string series;
	int resident_sms = -1; /* SMs of a receive that waits meanwhile; 0 = none */
	int step = -1, stage = -1, microbatch = -1; /* of an op of a replayed step */
};

using Metadata = std::vector<std::pair<std::string, std::string>>;

/* Throws what write_trace would, before minutes are spent on what it could not keep. */
void demand_writable(const std::string &path);
/* Writes to a temporary file that is then renamed; throws std::runtime_error with the system's
 * reason. "-" is standard output. */
void write_trace(
	const std::string &path, const Metadata &metadata, const std::vector<TraceRow> &rows);
/* The provenance as an ini file with a section [capture] for the metadata, and what the columns
 * and load modes mean. */
void write_provenance(const std::string &path, const Metadata &metadata);
/* NAME.csv -> NAME.ini. */
std::string provenance_path(const std::string &trace_path);

} // namespace bench
