#include "config.h"

#include <math.h>
#include <string.h>

#include "output/figures.h"
#include "output/samples.h"

static const char header[] =
	"schedule,pp,microbatches,stages,makespan_ms,bubble_max_ms,bubble_ratio,"
	"bubble_span_max_ms,bubble_formula_ms,bubble_difference_ms,activations_peak,"
	"activations_formula,parameter_copies,throughput_vs_1f1b,memory_peak_bytes,"
	"memory_fits,best,error";

/* Where messages wait for each other. */
static const char comm_header[] =
	",comm,comm_rules_ms,comm_moves_ms,comm_waiting_max_ms,comm_messages";

/* Fields of that of a schedule whose messages do not. */
#define FIELDS_OF_COMM 5

/* Fields between "schedule" and "error" of a schedule that refused. */
#define FIELDS_OF_RESULT 16

static void append_text(GString *out, const char *text)
{
	gboolean quote = strpbrk(text, ",\"\r\n") != NULL;

	if (!quote) {
		g_string_append(out, text);
		return;
	}
	g_string_append_c(out, '"');
	for (const char *p = text; *p != '\0'; p++) {
		if (*p == '"')
			g_string_append_c(out, '"');
		g_string_append_c(out, *p);
	}
	g_string_append_c(out, '"');
}

static void add_int(GString *out, gint64 value)
{
	g_string_append_printf(out, ",%" G_GINT64_FORMAT, value);
}

static void add_ms(GString *out, gint64 ns)
{
	PipesimNumber number;

	g_string_append_c(out, ',');
	g_string_append(out, pipesim_print_ms(number, ns));
}

/* Empty where there is no number. */
static void add_double(GString *out, double value)
{
	PipesimNumber number;

	g_string_append_c(out, ',');
	if (isfinite(value))
		g_string_append(out, pipesim_print_double(number, value));
}

static void add_bool(GString *out, gboolean value)
{
	g_string_append(out, value ? ",true" : ",false");
}

static void add_formula(GString *out, const PipesimReport *report)
{
	if (!report->published.has_bubble) {
		g_string_append(out, ",,");
		return;
	}
	add_ms(out, report->published.bubble);
	add_ms(out, report->published.difference);
}

static void add_memory(GString *out, const PipesimReport *report)
{
	if (report->memory.peak == NULL) {
		g_string_append(out, ",,");
		return;
	}
	add_int(out, report->memory.max);
	add_bool(out, report->memory.fits);
}

static void add_result(
	GString *out, const PipesimComparison *comparison, const PipesimRun *run, gboolean best)
{
	const PipesimReport *report = run->report;

	add_int(out, run->shape.ranks);
	add_int(out, pipesim_shape_whole(&run->shape));
	add_int(out, run->shape.stages);
	add_ms(out, report->makespan);
	add_ms(out, report->bubble.max_idle);
	add_double(out, pipesim_figure_fraction(report->bubble.ratio));
	add_ms(out, report->bubble.max_span_idle);
	add_formula(out, report);
	add_double(out, pipesim_figure_activations(report, report->held.max_peak));
	add_double(out, report->published.has_activations
				? pipesim_figure_fraction(report->published.activations)
				: (double)NAN);
	add_int(out, run->shape.copies);
	add_double(out, pipesim_throughput(comparison, run));
	add_memory(out, report);
	add_bool(out, best);
}

static void add_comm(GString *out, const PipesimRun *run)
{
	const PipesimCommReport *comm = run->error == NULL ? run->report->comm : NULL;

	if (comm == NULL) {
		for (guint field = 0; field < FIELDS_OF_COMM; field++)
			g_string_append_c(out, ',');
		return;
	}
	g_string_append_c(out, ',');
	g_string_append(out, pipesim_comm_name(comm->comm));
	add_ms(out, comm->rules);
	add_ms(out, comm->moves);
	add_ms(out, comm->max_waiting);
	add_int(out, comm->n_messages);
}

static void write_csv(const PipesimComparison *comparison,
	const PipesimStyle *style G_GNUC_UNUSED, GString *out)
{
	int best = pipesim_comparison_best(comparison);
	const gboolean comm = comparison->scenario.comm != PIPESIM_COMM_ASYNC;

	g_string_append(out, header);
	g_string_append(out, comm ? comm_header : "");
	pipesim_samples_csv_titles(comparison, out);
	g_string_append_c(out, '\n');
	for (guint i = 0; i < comparison->runs->len; i++) {
		const PipesimRun *run = g_ptr_array_index(comparison->runs, i);

		append_text(out, run->name);
		if (run->error != NULL) {
			for (guint field = 0; field < FIELDS_OF_RESULT; field++)
				g_string_append_c(out, ',');
			g_string_append_c(out, ',');
			append_text(out, run->error->message);
		} else {
			add_result(out, comparison, run, (int)i == best);
			g_string_append_c(out, ',');
		}
		if (comm)
			add_comm(out, run);
		pipesim_samples_csv_run(comparison, run, out);
		g_string_append_c(out, '\n');
	}
}

const PipesimOutput pipesim_output_csv = {
	.name = "csv",
	.extensions = "csv",
	.summary = "one line a schedule, for spreadsheets",
	.keep = PIPESIM_KEEP_NOTHING,
	.write = write_csv,
};
