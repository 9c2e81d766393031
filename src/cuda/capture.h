/* Times Works. Each is captured into a CUDA graph together with the events that bound it, so
 * that no launch by the host lies inside a measured interval; graphs are queued behind a gate,
 * a kernel that spins on a flag in host memory, and run once the host opens it.
 *
 * An Item is what is launched as one graph: a component, or the overlapped pair. Every rank has
 * its own graph of every item and all ranks run the same items in the same order, so that
 * exchanges meet. */
#pragma once
#include "comm.h"
#include "event.h"
#include "graph.h"
#include "nvml.h"
#include "partition.h"
#include "trace-writer.h"
#include "work.h"
#include <functional>
#include <random>
#include <string>
#include <vector>

namespace bench
{

/* See README.md. */
enum class LoadMode {
	synced,
	back_to_back,
	sustained
};
const char *load_mode_name(LoadMode mode);

/* Two events inside a graph and the row that their distance fills in. */
struct Span {
	TraceRow row; /* everything but run_id, rep, order, times, health, status, load_mode */
	Event start, end;
	std::vector<CommLaunch> launches; /* exchanges inside the interval */
};

/* Collects spans while a stream is being captured. */
class Recorder
{
      public:
	Recorder(Comm *comm, std::vector<Span> &spans) : comm(comm), spans(spans)
	{
	}
	/* Returns a number for end(); spans may overlap and nest. */
	size_t begin(const TraceRow &row, cudaStream_t stream);
	void end(size_t span, cudaStream_t stream);
	/* One Work as one span on a lane of `partition`. */
	void add(const Work &work, const TraceRow &row, const Lane &lane);

      private:
	Comm *comm;
	std::vector<Span> &spans;
};

/* Captures one rank's graph: starts from and joins back to `origin`, the stream it is given. */
using Capturer = std::function<void(int rank, Recorder &recorder)>;

/* One rank's executable graph of an item. */
struct Captured {
	Graph graph;
	std::vector<Span> spans;
};

/* Owned by the Capture that made it. The two sets are for launching a repetition while the one
 * before it still runs. */
struct Item {
	std::string name;
	bool exchanges = false;        /* contains dispatch or combine */
	std::vector<Captured> sets[2]; /* [rank] */
	double expected_ns = 0;        /* measured once, for estimates of what remains */
};

/* A row's fields that follow from a Work. */
TraceRow describe(const Work &work, const std::string &role);

/* How long a measurement is, and what its rows are called. */
struct Series {
	std::string name; /* run_id is NAME-LOADMODE */
	LoadMode mode = LoadMode::synced;
	int reps = 200, warmup = 10;
};

class Capture
{
      public:
	/* `comm` may be null (dense model). */
	Capture(const std::vector<int> &devices, Comm *comm, const Nvml &nvml, uint64_t seed);
	~Capture();
	Capture(const Capture &) = delete;
	Capture &operator=(const Capture &) = delete;

	/* Captures both sets on all ranks; origin(rank) is the stream that the graph starts
	 * from. */
	Item *add(const std::string &name, const std::function<cudaStream_t(int rank)> &origin,
		const Capturer &capturer);
	/* Forgets an item and frees its graphs. */
	void remove(Item *item);
	/* Runs every item once or twice and fills in expected_ns. */
	void estimate(const std::vector<Item *> &items);
	/* Appends a row per span, rank and repetition to rows(). False if interrupted. */
	bool measure(const std::vector<Item *> &items, const Series &series);
	/* Median duration of the first span of `item` on rank 0 over `reps`, appending rows
	 * too. */
	double median_ns(Item *item, const Series &series);

	std::vector<TraceRow> &rows()
	{
		return trace;
	}
	/* Of two events back to back in a graph: smallest nonzero difference, and median
	 * distance. */
	int64_t event_resolution_ns() const
	{
		return resolution;
	}
	int64_t event_overhead_ns() const
	{
		return overhead;
	}

	/* Called with expected nanoseconds of work just done; reports progress. */
	std::function<void(double)> progress;
	/* Set from a signal handler: measure() stops after the current repetition. */
	static volatile int interrupted;

      private:
	struct Rank;
	void open_gate();
	void close_gate();
	void flush_l2(Rank &rank);
	void launch(Item *item, int set);
	void wait_all();
	void collect(Item *item, int set, const Series &series, int rep, int order);
	void read_health();
	bool run_synced(std::vector<Item *> items, const Series &series);
	bool run_back_to_back(std::vector<Item *> items, const Series &series);
	bool run_sustained(std::vector<Item *> items, const Series &series);
	void measure_events();
	void mark_first_outliers(size_t first_row);

	std::vector<Rank> ranks;
	Comm *comm;
	const Nvml &nvml;
	std::mt19937_64 random;
	std::vector<Item *> items;
	std::vector<TraceRow> trace;
	volatile unsigned int
		*gate; /* host memory, mapped: ticket that is open, last that gave up */
	unsigned int gates = 0;
	int64_t pairs = 0;
	int64_t resolution = 0, overhead = 0;
};

} // namespace bench
