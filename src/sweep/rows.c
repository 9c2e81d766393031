#include "config.h"

#include "base/json.h"
#include "sweep/rows.h"
#include <math.h>
#include <string.h>

static const char *axis_value(const PipesimGrid *grid, guint axis, guint64 point)
{
	return g_ptr_array_index(
		pipesim_grid_axis(grid, axis)->values, pipesim_grid_index(grid, point, axis));
}

/* CSV ------------------------------------------------------------------------------------ */

static const char columns[] = "schedule,ranks,stages,makespan_ms,bubble_max_ms,bubble_ratio,"
			      "bubble_span_max_ms,activations_peak,parameter_copies,"
			      "microbatch_ms,memory_peak_bytes,memory_fits,error\n";

/* Between "schedule" and "error". */
#define N_FIGURES 11

static void append_quoted(GString *out, const char *text)
{
	if (strpbrk(text, ",\"\r\n") == NULL) {
		g_string_append(out, text);
		return;
	}
	g_string_append_c(out, '"');
	for (; *text != '\0'; text++) {
		if (*text == '"')
			g_string_append_c(out, '"');
		g_string_append_c(out, *text);
	}
	g_string_append_c(out, '"');
}

static void append_ms(GString *out, gint64 ns)
{
	PipesimNumber number;

	g_string_append_c(out, ',');
	g_string_append(out, pipesim_print_ms(number, ns));
}

static void append_double(GString *out, double value)
{
	PipesimNumber number;

	g_string_append_c(out, ',');
	if (isfinite(value))
		g_string_append(out, pipesim_print_double(number, value));
}

/* Makespan over micro-batches, ms: what compares points of different numbers of them. */
static double microbatch_ms(const PipesimSweepResult *result)
{
	return (double)result->makespan / (1e6 * result->microbatches);
}

static void append_csv_result(const PipesimSweepResult *result, GString *out)
{
	if (!result->solved) {
		for (guint i = 0; i < N_FIGURES; i++)
			g_string_append_c(out, ',');
		g_string_append_c(out, ',');
		append_quoted(out, result->error);
		g_string_append_c(out, '\n');
		return;
	}
	g_string_append_printf(out, ",%u,%u", result->ranks, result->stages);
	append_ms(out, result->makespan);
	append_ms(out, result->max_idle);
	append_double(out, result->ratio);
	append_ms(out, result->max_span_idle);
	append_double(out, result->activations);
	g_string_append_printf(out, ",%u", result->copies);
	append_double(out, microbatch_ms(result));
	if (result->memory >= 0)
		g_string_append_printf(out, ",%" G_GINT64_FORMAT ",%s", result->memory,
			result->fits ? "true" : "false");
	else
		g_string_append(out, ",,");
	g_string_append(out, ",\n");
}

static void append_csv_key(
	const PipesimSweepTitles *titles, guint64 point, guint schedule, GString *out)
{
	for (guint axis = 0; axis < pipesim_grid_axes(titles->grid); axis++)
		g_string_append_printf(out, "%s,", axis_value(titles->grid, axis, point));
	append_quoted(out, titles->names[schedule]);
}

/* JSON lines ----------------------------------------------------------------------------- */

static void append_json_string(GString *out, const char *text)
{
	g_autoptr(GString) line = g_string_new(NULL);
	PipesimJson *json = pipesim_json_new(line);

	pipesim_json_open_line(json);
	pipesim_json_member_string(json, "s", text);
	pipesim_json_close(json);
	pipesim_json_free(json);
	/* {"s": "..."} */
	g_string_append_len(out, line->str + 6, (gssize)line->len - 8);
}

static void append_json_key(
	const PipesimSweepTitles *titles, guint64 point, guint schedule, GString *out)
{
	g_string_append_c(out, '{');
	for (guint axis = 0; axis < pipesim_grid_axes(titles->grid); axis++)
		g_string_append_printf(out, "\"%s\": %s, ",
			pipesim_grid_axis(titles->grid, axis)->name,
			axis_value(titles->grid, axis, point));
	g_string_append(out, "\"schedule\": ");
	append_json_string(out, titles->names[schedule]);
}

static void append_member(GString *out, const char *name, double value)
{
	PipesimNumber number;

	g_string_append_printf(out, ", \"%s\": %s", name, pipesim_print_double(number, value));
}

static void append_member_ms(GString *out, const char *name, gint64 ns)
{
	PipesimNumber number;

	g_string_append_printf(out, ", \"%s\": %s", name, pipesim_print_ms(number, ns));
}

static void append_json_result(const PipesimSweepResult *result, GString *out)
{
	if (!result->solved) {
		g_string_append(out, ", \"error\": ");
		append_json_string(out, result->error);
		g_string_append(out, "}\n");
		return;
	}
	g_string_append_printf(
		out, ", \"ranks\": %u, \"stages\": %u", result->ranks, result->stages);
	append_member_ms(out, "makespan_ms", result->makespan);
	append_member_ms(out, "bubble_max_ms", result->max_idle);
	append_member(out, "bubble_ratio", result->ratio);
	append_member_ms(out, "bubble_span_max_ms", result->max_span_idle);
	append_member(out, "activations_peak", result->activations);
	g_string_append_printf(out, ", \"parameter_copies\": %u", result->copies);
	append_member(out, "microbatch_ms", microbatch_ms(result));
	if (result->memory >= 0)
		g_string_append_printf(out,
			", \"memory_peak_bytes\": %" G_GINT64_FORMAT ", \"memory_fits\": %s",
			result->memory, result->fits ? "true" : "false");
	else
		g_string_append(out, ", \"memory_peak_bytes\": null, \"memory_fits\": null");
	g_string_append(out, ", \"error\": null}\n");
}

/* Lines ---------------------------------------------------------------------------------- */

void pipesim_rows_header(
	const PipesimSweepTitles *titles, PipesimRowFormat format, GString *out)
{
	if (format != PIPESIM_ROWS_CSV)
		return;
	for (guint axis = 0; axis < pipesim_grid_axes(titles->grid); axis++)
		g_string_append_printf(out, "%s,", pipesim_grid_axis(titles->grid, axis)->name);
	g_string_append(out, columns);
}

void pipesim_rows_key(const PipesimSweepTitles *titles, PipesimRowFormat format, guint64 point,
	guint schedule, GString *out)
{
	if (format == PIPESIM_ROWS_JSONL)
		append_json_key(titles, point, schedule, out);
	else
		append_csv_key(titles, point, schedule, out);
}

void pipesim_rows_append(const PipesimSweepTitles *titles, PipesimRowFormat format,
	const PipesimSweepBlock *block, GString *out)
{
	for (guint i = 0; i < block->n_points; i++)
		for (guint k = 0; k < block->width; k++) {
			const PipesimSweepResult *result =
				&block->results[(gsize)i * block->width + k];

			pipesim_rows_key(titles, format, block->first + i, k, out);
			if (format == PIPESIM_ROWS_JSONL)
				append_json_result(result, out);
			else
				append_csv_result(result, out);
		}
}
