/* A sweep as a table for people. */
#include "config.h"

#include "output/figures.h"
#include "output/table.h"
#include "sweep/rows.h"

#define WIDTH 120

enum {
	BEST,
	MAKESPAN,
	IDLE,
	RATIO,
	HELD,
	MEMORY,
	NEXT,
	BEHIND,
	N_FIGURES
};

static const PipesimColumn figures[N_FIGURES] = {
	[BEST] = {NULL, "best", TRUE},
	[MAKESPAN] = {"makespan", "ms", FALSE},
	[IDLE] = {"bubble", "max ms", FALSE},
	[RATIO] = {"bubble", "%", FALSE},
	[HELD] = {"peak", "activations", FALSE},
	[MEMORY] = {"peak", "memory", FALSE},
	[NEXT] = {"next", "schedule", TRUE},
	[BEHIND] = {"next", "by %", FALSE},
};

/* Work done a second and rank: larger is better; -1 where there is nothing to compare. */
static double rate(const PipesimSweepResult *result)
{
	if (!result->solved || !result->fits)
		return -1;
	return result->microbatches / ((double)MAX(result->makespan, 1) * result->ranks);
}

/* The best of a point but for @without; the first of equals; -1 where none is. */
static int best_of(const PipesimSweepResult *results, guint width, int without)
{
	int best = -1;

	for (guint i = 0; i < width; i++)
		if ((int)i != without && rate(&results[i]) >= 0 &&
			(best < 0 || rate(&results[i]) > rate(&results[best])))
			best = (int)i;
	return best;
}

static char *print_ms(gint64 ns)
{
	PipesimNumber number;

	return g_strdup(pipesim_print_ms_fixed(number, ns, 3));
}

static char *print_figure(double value, guint decimals)
{
	GString *text = g_string_new(NULL);

	pipesim_figure_fixed(text, value, decimals);
	return g_string_free(text, FALSE);
}

static void fill_best(const PipesimSweepResult *best, const char *name, char **cells)
{
	PipesimNumber bytes;

	cells[BEST] = g_strdup(name);
	cells[MAKESPAN] = print_ms(best->makespan);
	cells[IDLE] = print_ms(best->max_idle);
	cells[RATIO] = print_figure(100 * best->ratio, 1);
	cells[HELD] = print_figure(best->activations, 2);
	if (best->memory >= 0)
		cells[MEMORY] = g_strdup(pipesim_print_bytes(bytes, best->memory));
}

static void add_point(const PipesimSweepTitles *titles, PipesimTable *table, guint64 point,
	const PipesimSweepResult *results, guint width)
{
	const guint axes = pipesim_grid_axes(titles->grid);
	g_autofree char **cells = g_new0(char *, axes + N_FIGURES);
	const int best = best_of(results, width, -1);
	const int next = best_of(results, width, best);

	for (guint axis = 0; axis < axes; axis++)
		cells[axis] = g_strdup(
			g_ptr_array_index(pipesim_grid_axis(titles->grid, axis)->values,
				pipesim_grid_index(titles->grid, point, axis)));
	if (best < 0)
		cells[axes + BEST] = g_strdup("none runs or fits");
	else
		fill_best(&results[best], titles->names[best], &cells[axes]);
	if (best >= 0 && next >= 0) {
		cells[axes + NEXT] = g_strdup(titles->names[next]);
		cells[axes + BEHIND] = print_figure(
			100 * (rate(&results[best]) / rate(&results[next]) - 1), 1);
	}
	pipesim_table_add(table, PIPESIM_ROW_PLAIN, cells);
}

void pipesim_rows_table(const PipesimSweepTitles *titles, const GPtrArray *blocks,
	const PipesimStyle *style, GString *out)
{
	const guint axes = pipesim_grid_axes(titles->grid);
	g_autofree PipesimColumn *columns = g_new(PipesimColumn, axes + N_FIGURES);
	g_autoptr(PipesimTable) table = NULL;

	for (guint axis = 0; axis < axes; axis++)
		columns[axis] = (PipesimColumn){
			NULL, pipesim_grid_axis(titles->grid, axis)->name, FALSE};
	for (guint i = 0; i < N_FIGURES; i++)
		columns[axes + i] = figures[i];
	table = pipesim_table_new(columns, axes + N_FIGURES);
	for (guint i = 0; i < blocks->len; i++) {
		const PipesimSweepBlock *block = g_ptr_array_index(blocks, i);

		for (guint k = 0; k < block->n_points; k++)
			add_point(titles, table, block->first + k,
				&block->results[(gsize)k * block->width], block->width);
	}
	pipesim_table_print(table, WIDTH, style, out);
}
