#include "replay-order.h"
#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <map>
#include <tuple>

namespace bench
{

namespace
{

constexpr size_t kMostFaults = 20;
constexpr int64_t kMostNs = 1000000000000; /* a step of more than a quarter of an hour */
constexpr int kMostCount = 1 << 20;

enum Column {
	kSchedule,
	kStep,
	kRank,
	kStage,
	kOp,
	kMicrobatch,
	kStart,
	kDuration,
	kBStage,
	kBMicrobatch,
	kColumns
};

const char *const kNames[kColumns] = {"schedule", "step", "rank", "stage", "op", "microbatch",
	"start_ns", "dur_ns", "b_stage", "b_microbatch"};

struct Cell {
	std::string text;
	int column = 0; /* of its first character, from 1 */
};

/* Collects faults until there are too many. */
class Faults
{
      public:
	explicit Faults(const std::string &path) : path(path == "-" ? "standard input" : path)
	{
	}
	void add(int line, int column, const std::string &what)
	{
		if (++count <= kMostFaults)
			text += (text.empty() ? "" : "\n") + path + ":" + std::to_string(line) +
				":" + std::to_string(column) + ": " + what;
	}
	void raise() const
	{
		if (count > kMostFaults)
			throw OrderError(text + "\n" + path + ": " +
					 std::to_string(count - kMostFaults) + " more faults");
		if (count > 0)
			throw OrderError(text);
	}
	bool any() const
	{
		return count > 0;
	}

      private:
	std::string path, text;
	size_t count = 0;
};

/* Cells of a line; quotes as CSV has them, within one line. */
std::vector<Cell> cells_of(const std::string &line)
{
	std::vector<Cell> cells(1);
	cells[0].column = 1;
	bool quoted = false;
	for (size_t i = 0; i < line.size(); i++) {
		char c = line[i];
		if (c == '"' && quoted && i + 1 < line.size() && line[i + 1] == '"')
			cells.back().text += line[++i];
		else if (c == '"')
			quoted = !quoted;
		else if (c == ',' && !quoted) {
			cells.emplace_back();
			cells.back().column = (int)i + 2;
		} else
			cells.back().text += c;
	}
	return cells;
}

class Reader
{
      public:
	explicit Reader(const std::string &path) : faults(path)
	{
		order.path = path;
	}
	ReplayOrder read(FILE *file);

      private:
	void take(const std::string &line);
	void read_header(const std::vector<Cell> &cells);
	void read_op(const std::vector<Cell> &cells);
	int64_t number(const std::vector<Cell> &cells, Column column, int64_t most);
	void finish();
	bool check_sequence(const std::vector<ReplayOp> &ops);

	Faults faults;
	ReplayOrder order;
	int line = 0, at[kColumns];
	bool has_header = false, has_step = false;
	int64_t step = 0;
	size_t width = 0;
};

void Reader::read_header(const std::vector<Cell> &cells)
{
	has_header = true;
	width = cells.size();
	std::fill(at, at + kColumns, -1);
	for (size_t i = 0; i < cells.size(); i++)
		for (int k = 0; k < kColumns; k++)
			if (cells[i].text == kNames[k]) {
				if (at[k] >= 0)
					faults.add(line, cells[i].column,
						std::string("column '") + kNames[k] +
							"' appears twice; remove one");
				at[k] = (int)i;
			}
	for (Column k : {kStage, kOp, kMicrobatch, kStart, kDuration})
		if (at[k] < 0)
			faults.add(line, 1,
				std::string("column '") + kNames[k] +
					"' is missing; pipesim --format ops writes it");
	faults.raise();
}

int64_t Reader::number(const std::vector<Cell> &cells, Column column, int64_t most)
{
	const Cell &cell = cells[at[column]];
	errno = 0;
	char *end;
	long long value = strtoll(cell.text.c_str(), &end, 10);
	if (cell.text.empty() ||
		cell.text.find_first_not_of("0123456789") != std::string::npos || errno ||
		value > most) {
		faults.add(line, cell.column,
			std::string(kNames[column]) + " '" + cell.text +
				"' is not a whole number up to " + std::to_string(most));
		return 0;
	}
	return value;
}

void Reader::read_op(const std::vector<Cell> &cells)
{
	if (cells.size() != width) {
		faults.add(line, 1,
			std::to_string(cells.size()) + " cells, but the header has " +
				std::to_string(width));
		return;
	}
	ReplayOp op;
	op.line = line;
	op.op_column = cells[at[kOp]].column;
	op.kind = cells[at[kOp]].text;
	op.stage = (int)number(cells, kStage, kMostCount);
	op.rank = at[kRank] >= 0 ? (int)number(cells, kRank, 4096) : op.stage;
	op.microbatch = (int)number(cells, kMicrobatch, kMostCount);
	op.start_ns = number(cells, kStart, kMostNs);
	op.dur_ns = number(cells, kDuration, kMostNs);
	bool known = op.kind == "FB";
	for (const char *kind : {"F", "I", "W", "B"})
		known |= op.kind == kind;
	if (!known)
		faults.add(line, op.op_column,
			"op '" + op.kind +
				"' is not one of F, I, W, B, FB; leave out what is no op");
	if (op.kind == "FB") {
		if (at[kBStage] < 0 || at[kBMicrobatch] < 0) {
			faults.add(line, op.op_column,
				"an FB needs the columns b_stage and b_microbatch");
			return;
		}
		op.b_stage = (int)number(cells, kBStage, kMostCount);
		op.b_microbatch = (int)number(cells, kBMicrobatch, kMostCount);
	}
	if (at[kStep] >= 0) {
		int64_t now = number(cells, kStep, kMostNs);
		if (has_step && now != step)
			faults.add(line, cells[at[kStep]].column,
				"step " + std::to_string(now) + " after step " +
					std::to_string(step) + "; give one step");
		step = now;
		has_step = true;
	}
	if (at[kSchedule] >= 0) {
		const Cell &cell = cells[at[kSchedule]];
		if (!order.ranks.empty() && cell.text != order.schedule)
			faults.add(line, cell.column,
				"schedule '" + cell.text + "' after '" + order.schedule +
					"'; give one schedule");
		order.schedule = cell.text;
	}
	order.stages = std::max({order.stages, op.stage + 1, op.b_stage + 1});
	if ((int)order.ranks.size() <= op.rank)
		order.ranks.resize(op.rank + 1);
	order.ranks[op.rank].push_back(op);
}

void Reader::take(const std::string &text)
{
	line++;
	std::string plain = text;
	if (line == 1 && plain.compare(0, 3, "\xef\xbb\xbf") == 0)
		plain.erase(0, 3);
	if (!plain.empty() && plain.back() == '\r')
		plain.pop_back();
	if (plain.empty() || plain[0] == '#')
		return;
	std::vector<Cell> cells = cells_of(plain);
	if (!has_header)
		read_header(cells);
	else
		read_op(cells);
}

/* Ops of a rank follow one another. */
bool Reader::check_sequence(const std::vector<ReplayOp> &ops)
{
	bool good = true;
	for (size_t i = 1; i < ops.size(); i++)
		if (ops[i].start_ns < ops[i - 1].start_ns + ops[i - 1].dur_ns) {
			faults.add(ops[i].line, ops[i].op_column,
				"starts at " + std::to_string(ops[i].start_ns) +
					" ns, before the op of line " +
					std::to_string(ops[i - 1].line) +
					" of this rank ends at " +
					std::to_string(
						ops[i - 1].start_ns + ops[i - 1].dur_ns));
			good = false;
		}
	return good;
}

void Reader::finish()
{
	if (!has_header)
		faults.add(std::max(line, 1), 1,
			"no header; what pipesim --format ops writes is expected");
	else if (order.ranks.empty() && !faults.any())
		faults.add(line, 1, "no op");
	faults.raise();
	int64_t first = kMostNs, last = 0;
	for (std::vector<ReplayOp> &ops : order.ranks) {
		std::stable_sort(
			ops.begin(), ops.end(), [](const ReplayOp &a, const ReplayOp &b) {
				return a.start_ns < b.start_ns;
			});
		check_sequence(ops);
		for (const ReplayOp &op : ops) {
			first = std::min(first, op.start_ns);
			last = std::max(last, op.start_ns + op.dur_ns);
		}
	}
	faults.raise();
	order.first_ns = first;
	order.step_ns = last - first;
}

ReplayOrder Reader::read(FILE *file)
{
	std::string text;
	for (int c; (c = getc(file)) != EOF;)
		if (c == '\n') {
			take(text);
			text.clear();
		} else
			text += (char)c;
	if (!text.empty())
		take(text);
	finish();
	return order;
}

/* Which half of the step an op is, or both halves of an FB. */
using Key = std::tuple<char, int, int>; /* F, I or W; stage; micro-batch */

} // namespace

int ReplayOrder::ops() const
{
	size_t count = 0;
	for (const std::vector<ReplayOp> &list : ranks)
		count += list.size();
	return (int)count;
}

std::vector<int64_t> ReplayOrder::idle_ns(int rank) const
{
	std::vector<int64_t> idle;
	int64_t end = first_ns;
	for (const ReplayOp &op : ranks[rank]) {
		idle.push_back(op.start_ns - end);
		end = op.start_ns + op.dur_ns;
	}
	idle.push_back(first_ns + step_ns - end);
	return idle;
}

void ReplayOrder::connect()
{
	Faults faults(path);
	std::map<Key, ReplayOp::Place> made;
	for (size_t r = 0; r < ranks.size(); r++)
		for (size_t i = 0; i < ranks[r].size(); i++) {
			const ReplayOp &op = ranks[r][i];
			const ReplayOp::Place here = {(int)r, (int)i, false};
			auto add = [&](char kind, int stage, int microbatch) {
				if (!made.insert({{kind, stage, microbatch}, here}).second)
					faults.add(op.line, op.op_column,
						std::string("a second ") + kind + " of stage " +
							std::to_string(stage) +
							", micro-batch " +
							std::to_string(microbatch));
			};
			bool pair = op.kind == "FB";
			if (pair || op.kind == "F")
				add('F', op.stage, op.microbatch);
			if (pair || op.kind == "B" || op.kind == "I")
				add('I', pair ? op.b_stage : op.stage,
					pair ? op.b_microbatch : op.microbatch);
			if (pair || op.kind == "B" || op.kind == "W")
				add('W', pair ? op.b_stage : op.stage,
					pair ? op.b_microbatch : op.microbatch);
		}
	auto need = [&](ReplayOp &op, char kind, int stage, int microbatch) {
		auto found = made.find({kind, stage, microbatch});
		std::string what = std::string(1, kind) + " of stage " + std::to_string(stage) +
				   ", micro-batch " + std::to_string(microbatch);
		if (found == made.end()) {
			faults.add(
				op.line, op.op_column, "needs " + what + ", which is missing");
			return;
		}
		const ReplayOp &other = ranks[found->second.rank][found->second.at];
		if (other.start_ns + other.dur_ns > op.start_ns)
			faults.add(op.line, op.op_column,
				"starts before the op that it needs ends: " + what + ", line " +
					std::to_string(other.line));
		op.needs.push_back({found->second.rank, found->second.at, kind == 'I'});
	};
	for (std::vector<ReplayOp> &list : ranks)
		for (ReplayOp &op : list) {
			bool pair = op.kind == "FB";
			int stage = pair ? op.b_stage : op.stage;
			int microbatch = pair ? op.b_microbatch : op.microbatch;
			op.needs.clear();
			if ((pair || op.kind == "F") && op.stage > 0)
				need(op, 'F', op.stage - 1, op.microbatch);
			if (op.kind == "W")
				need(op, 'I', stage, microbatch);
			if (op.kind != "F" && op.kind != "W") {
				need(op, 'F', stage, microbatch);
				if (stage + 1 < stages)
					need(op, 'I', stage + 1, microbatch);
			}
		}
	faults.raise();
}

ReplayOrder read_order(const std::string &path)
{
	FILE *file = path == "-" ? stdin : fopen(path.c_str(), "r");
	if (!file)
		throw std::runtime_error(path + ": " + strerror(errno));
	ReplayOrder order;
	try {
		order = Reader(path).read(file);
	} catch (...) {
		if (file != stdin)
			fclose(file);
		throw;
	}
	bool bad = ferror(file) != 0;
	if (file != stdin)
		fclose(file);
	if (bad)
		throw std::runtime_error(path + ": " + strerror(errno));
	return order;
}

} // namespace bench
