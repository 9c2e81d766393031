/* The driver: `bench [--cpu] [TOPIC...]`. --cpu counts the time of the processor, not of the
 * clock on the wall: what a quiet machine would take, for rows of one thread, on one that
 * others use. */
#include "bench.h"
#include "base/large.h"
#include <stdio.h>
#include <string.h>
#include <time.h>

#define MIN_RUNS 5
#define MAX_RUNS 101
#define BUDGET   G_GINT64_CONSTANT(500000000) /* ns */

static char **topics;
static clockid_t clock_id = CLOCK_MONOTONIC;

static gint64 now(void)
{
	struct timespec time;

	clock_gettime(clock_id, &time);
	return time.tv_sec * G_GINT64_CONSTANT(1000000000) + time.tv_nsec;
}

static int by_time(const void *a, const void *b)
{
	const gint64 x = *(const gint64 *)a, y = *(const gint64 *)b;

	return (x > y) - (x < y);
}

gint64 bench_median(BenchWork work, gpointer data)
{
	gint64 took[MAX_RUNS], total = 0;
	guint n = 0;

	work(data);
	while (n < MIN_RUNS || (n < MAX_RUNS && total < BUDGET)) {
		const gint64 begin = now();

		work(data);
		took[n] = MAX(now() - begin, 1);
		total += took[n++];
	}
	qsort(took, n, sizeof took[0], by_time);
	return took[n / 2];
}

void bench_title(const char *title)
{
	printf("\n%s\n  %-34s %12s %12s %9s %12s %8s\n", title, "", "time", "M units/s",
		"B/unit", "simple", "ratio");
}

static void print_time(char *out, gsize size, gint64 ns)
{
	if (ns < 10000)
		g_snprintf(out, size, "%.2f us", (double)ns / 1e3);
	else
		g_snprintf(out, size, "%.3f ms", (double)ns / 1e6);
}

void bench_row(const BenchRow *row)
{
	char time[32], simple[32] = "-", bytes[32] = "-", ratio[32] = "-";
	const double rate = row->n / (double)row->ns * 1e3; /* millions a second */

	print_time(time, sizeof time, row->ns);
	if (row->bytes > 0)
		g_snprintf(bytes, sizeof bytes, "%.1f", row->bytes);
	if (row->simple_ns > 0) {
		print_time(simple, sizeof simple, row->simple_ns);
		g_snprintf(
			ratio, sizeof ratio, "%.1f", (double)row->simple_ns / (double)row->ns);
	}
	printf("  %-34s %12s %12.*f %9s %12s %8s  %s\n", row->what, time, rate < 1 ? 4 : 1,
		rate, bytes, simple, ratio, row->unit);
	fflush(stdout);
}

gboolean bench_selected(const char *topic)
{
	return topics[0] == NULL || g_strv_contains((const char *const *)topics, topic);
}

int main(int argc G_GNUC_UNUSED, char **argv)
{
	pipesim_keep_memory(); /* as the program does */
	topics = argv + 1;
	if (topics[0] != NULL && strcmp(topics[0], "--cpu") == 0) {
		clock_id = CLOCK_PROCESS_CPUTIME_ID;
		topics++;
	}
	if (bench_selected("static"))
		bench_static();
	if (bench_selected("lanes"))
		bench_lanes();
	if (bench_selected("links"))
		bench_links();
	if (bench_selected("runtimes"))
		bench_runtimes();
	if (bench_selected("samples"))
		bench_samples();
	if (bench_selected("events"))
		bench_events();
	if (bench_selected("search"))
		bench_search();
	if (bench_selected("files"))
		bench_files();
	if (bench_selected("plan"))
		bench_plan();
	return 0;
}
