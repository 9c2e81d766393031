/* memory-table FOLDER: the rows of measured memory in FOLDER beside what pipesim says of them, and beside what it would say
 * of each family had the others alone been known, as the tables of docs/memory.md. */
#include "memory-rows.h"
#include <math.h>
#include <stdio.h>

/* Absolute errors of a set of rows. */
typedef struct {
	double sum, most;
	guint n;
} Mean;

static void count(Mean *mean, double error)
{
	mean->sum += fabs(error);
	mean->most = MAX(mean->most, fabs(error));
	mean->n++;
}

/* What was chosen by rows rather than read from code. */
typedef struct {
	double rest;    /* bytes, as MemoryRow has it */
	gboolean ahead; /* unfused permutation keeps rows ahead of their probabilities */
	gboolean head;  /* the head of core 0.13 is another */
} Choice;

enum {
	DENSE,
	SPARSE,
	LARGE_SPARSE,
	LARGE_DENSE,
	SMALL,
	MBRIDGE,
	N_KINDS,
	OTHER = N_KINDS
};

static const char *const kinds[N_KINDS] = {"SimuMax, dense", "SimuMax, experts",
	"Megatron-LM above 10 GB, experts", "Megatron-LM above 10 GB, dense",
	"Megatron-LM below", "mbridge"};

static guint kind_of(const MemoryRow *row)
{
	const char *name = memory_row_text(row, "case");

	if (g_str_has_prefix(name, "simumax"))
		return g_strcmp0(memory_row_text(row, "experts"), "0") != 0 ? SPARSE : DENSE;
	if (g_str_has_prefix(name, "mbridge"))
		return MBRIDGE;
	if (!g_str_has_prefix(name, "megatron"))
		return OTHER;
	return row->peak <= 10000000000  ? SMALL
	       : row->model->experts > 0 ? LARGE_SPARSE
					 : LARGE_DENSE;
}

static gboolean is_of(const MemoryRow *row, const char *family)
{
	return g_strcmp0(memory_row_text(row, "family"), family) == 0;
}

/* Of @row as @choice has it. */
static double error_as(const MemoryRow *row, const Choice *choice)
{
	PipesimTraining training = row->training;

	training.unfused_permutation = training.unfused_permutation && choice->ahead;
	if (!choice->head && training.megatron == PIPESIM_MEGATRON_0_13)
		training.megatron = PIPESIM_MEGATRON_0_15;
	return ((double)memory_row_count(row, &training) +
		       (row->rest > 0 ? choice->rest - (double)row->rest : 0)) /
		       (double)row->peak -
	       1;
}

/* Whether rows without @family that differ by it are closer with what @with has than without; where there are none, not. */
static gboolean tells(
	const GPtrArray *rows, const char *family, const Choice *with, const Choice *without)
{
	double more = 0;

	for (guint i = 0; i < rows->len; i++) {
		const MemoryRow *row = g_ptr_array_index(rows, i);

		if (!isnan(memory_row_error(row)) && !is_of(row, family))
			more += fabs(error_as(row, without)) - fabs(error_as(row, with));
	}
	return more > 0;
}

/* By the rows of all other families. */
static Choice choose(const GPtrArray *rows, const char *family)
{
	Choice choice = {.ahead = TRUE, .head = TRUE}, other;
	guint n = 0;

	for (guint i = 0; i < rows->len; i++) {
		const MemoryRow *row = g_ptr_array_index(rows, i);

		if (isnan(memory_row_error(row)) || is_of(row, family) || row->left == 0 ||
			kind_of(row) != SMALL || row->model->experts > 0)
			continue;
		choice.rest += (double)(row->left - row->held + row->rest);
		n++;
	}
	choice.rest /= n;
	other = choice;
	other.ahead = FALSE;
	choice.ahead = tells(rows, family, &choice, &other);
	other = choice;
	other.head = FALSE;
	choice.head = tells(rows, family, &choice, &other);
	return choice;
}

static void print_means(const Mean *means, const Mean *without)
{
	printf("\n| rows | number | mean error, %% | largest, %% | without its family, %% | "
	       "largest, %% |\n|---|---|---|---|---|---|\n");
	for (guint i = 0; i < N_KINDS; i++)
		printf("| %s | %u | %.2f | %.2f | %.2f | %.2f |\n", kinds[i], means[i].n,
			100 * means[i].sum / means[i].n, 100 * means[i].most,
			100 * without[i].sum / means[i].n, 100 * without[i].most);
}

/* Each family, as the others alone would have it told. */
static void print_families(const GPtrArray *rows)
{
	g_autoptr(GHashTable) seen = g_hash_table_new(g_str_hash, g_str_equal);
	Mean means[N_KINDS] = {{0}}, without[N_KINDS] = {{0}};

	printf("\n| family | rows | error, %% | without it, %% | rest, MB "
	       "|\n|---|---|---|---|---|\n");
	for (guint i = 0; i < rows->len; i++) {
		const MemoryRow *first = g_ptr_array_index(rows, i);
		const char *family = memory_row_text(first, "family");
		g_autoptr(GString) own = g_string_new(NULL), others = g_string_new(NULL);
		Choice choice;
		guint n = 0;

		if (isnan(memory_row_error(first)) || kind_of(first) == OTHER ||
			!g_hash_table_add(seen, (gpointer)family))
			continue;
		choice = choose(rows, family);
		for (guint k = i; k < rows->len; k++) {
			const MemoryRow *row = g_ptr_array_index(rows, k);
			double error;

			if (!is_of(row, family) || isnan(memory_row_error(row)))
				continue;
			error = error_as(row, &choice);
			count(&means[kind_of(row)], memory_row_error(row));
			count(&without[kind_of(row)], error);
			g_string_append_printf(own, " %+.2f", 100 * memory_row_error(row));
			g_string_append_printf(others, " %+.2f", 100 * error);
			n++;
		}
		printf("| %s | %u |%s |%s | ", family, n, own->str, others->str);
		printf(first->rest > 0 ? "%.1f |\n" : "|\n", choice.rest / 1e6);
	}
	print_means(means, without);
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

	if (rows == NULL) {
		fprintf(stderr, "memory-table FOLDER: a folder with simumax.csv, megatron.csv "
				"and others.csv\n");
		return 2;
	}
	printf("| case | rank | measured, GB | counted, GB | error, %% | first step, %% | 0.1 "
	       "of routing, %% |\n"
	       "|---|---|---|---|---|---|---|\n");
	for (guint i = 0; i < rows->len; i++)
		print_row(g_ptr_array_index(rows, i));
	print_families(rows);
	return 0;
}
