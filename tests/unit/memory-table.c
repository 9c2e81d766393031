/* memory-table FOLDER: the rows of measured memory in FOLDER beside what pipesim says of them, as the table of
 * docs/memory.md. */
#include "memory-rows.h"
#include <math.h>
#include <stdio.h>

/* Absolute errors of a set of rows. */
typedef struct {
	const char *name;
	double sum, most;
	guint n;
} Mean;

static void count(Mean *mean, double error)
{
	mean->sum += fabs(error);
	mean->most = MAX(mean->most, fabs(error));
	mean->n++;
}

static void print_row(const MemoryRow *row)
{
	printf("| %s | %s | ", memory_row_text(row, "case"), memory_row_text(row, "stage"));
	if (row->peak > 0)
		printf("%.3f ", (double)row->peak / 1e9);
	if (row->outside != NULL || row->error != NULL) {
		printf("| %s | | | |\n",
			row->outside != NULL ? row->outside : row->error->message);
		return;
	}
	printf("| %.3f | %+.2f | ", (double)row->predicted / 1e9, 100 * memory_row_error(row));
	if (row->first > 0 && row->first < row->peak)
		printf("%+.2f ",
			100 * ((double)row->balanced / (double)(row->first + row->adam_share) -
				      1));
	printf(row->tenth > 0 ? "| %+.2f |\n" : "| |\n",
		100 * (double)row->tenth / (double)row->peak);
}

int main(int argc, char **argv)
{
	static const char *const names[] = {"simumax.csv", "megatron.csv", "others.csv", NULL};
	g_autoptr(GPtrArray) rows = argc == 2 ? memory_rows_read(argv[1], names) : NULL;
	Mean means[] = {{.name = "SimuMax, dense"}, {.name = "SimuMax, experts"},
		{.name = "Megatron-LM above 10 GB, experts"},
		{.name = "Megatron-LM above 10 GB, dense"}, {.name = "Megatron-LM below"},
		{.name = "mbridge"}};

	if (rows == NULL) {
		fprintf(stderr, "memory-table FOLDER: a folder with simumax.csv, megatron.csv "
				"and others.csv\n");
		return 2;
	}
	printf("| case | rank | measured, GB | counted, GB | error, %% | first step, %% | 0.1 "
	       "of routing, %% |\n"
	       "|---|---|---|---|---|---|---|\n");
	for (guint i = 0; i < rows->len; i++) {
		const MemoryRow *row = g_ptr_array_index(rows, i);
		const char *name = memory_row_text(row, "case");
		const double error = memory_row_error(row);

		print_row(row);
		if (isnan(error))
			continue;
		if (g_str_has_prefix(name, "simumax"))
			count(&means[g_strcmp0(memory_row_text(row, "experts"), "0") != 0],
				error);
		else if (g_str_has_prefix(name, "megatron"))
			count(&means[row->peak <= 10000000000   ? 4
				      : row->model->experts > 0 ? 2
								: 3],
				error);
		else if (g_str_has_prefix(name, "mbridge"))
			count(&means[5], error);
	}
	printf("\n| rows | number | mean error, %% | largest, %% |\n|---|---|---|---|\n");
	for (guint i = 0; i < G_N_ELEMENTS(means); i++)
		printf("| %s | %u | %.2f | %.2f |\n", means[i].name, means[i].n,
			100 * means[i].sum / means[i].n, 100 * means[i].most);
	return 0;
}
