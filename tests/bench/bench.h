/* What the files of the benchmark share. One file a topic, which offers a function here;
 * bench.c runs them and prints one table. Rates are printed, never asserted. */
#pragma once
#include "analysis/run.h"

/* One run of what is measured. */
typedef void (*BenchWork)(gpointer data);

/** bench_median: median wall time of one run of @work, ns, over at least 5 and at most 101
 * runs, as many as fit in about half a second; one run before them is not counted. */
gint64 bench_median(BenchWork work, gpointer data);

/* One row. */
typedef struct {
	const char *what;
	gint64 ns;        /* median of one run */
	double n;         /* units of work of one run */
	const char *unit; /* "ops", "events", "samples" */
	double bytes;     /* memory per unit; 0 = not told */
	gint64 simple_ns; /* the simple engine for the same work in the same run; 0 = cannot */
} BenchRow;

/** bench_title: begins a table. */
void bench_title(const char *title);
void bench_row(const BenchRow *row);

/** bench_selected: whether the topics named on the command line (none = all) include @topic. */
gboolean bench_selected(const char *topic);

/* Topics, in the order of the table. */
void bench_static(void);
void bench_lanes(void);
void bench_links(void);
void bench_runtimes(void);
void bench_samples(void);
void bench_events(void);
void bench_search(void);
void bench_files(void);
void bench_plan(void);
