#include "config.h"

#include "analysis/steady.h"
#include "base/json.h"
#include "cli/choice.h"
#include "cli/options.h"
#include "output/figures.h"
#include "output/table.h"
#include <string.h>

#define WIDTH 100

enum {
	NAME,
	TRANSIENT,
	PERIOD,
	MICROBATCH,
	EXACT,
	IDLE,
	WORST,
	FIXED,
	N_COLUMNS
};

static const PipesimColumn columns[N_COLUMNS] = {
	[NAME] = {NULL, "schedule", TRUE},
	[TRANSIENT] = {"micro-batches", "transient", FALSE},
	[PERIOD] = {"micro-batches", "period", FALSE},
	[MICROBATCH] = {"a micro-batch", "ms", FALSE},
	[EXACT] = {"a micro-batch", "exactly, ns", FALSE},
	[IDLE] = {"bubble in the long run, %", "all", FALSE},
	[WORST] = {"bubble in the long run, %", "most", FALSE},
	[FIXED] = {"fill and", "drain, ms", FALSE},
};

typedef struct {
	PipesimShapeOptions shape;
	PipesimCostOptions costs;
	char *format, *output;
} Options;

/* One schedule: its state, or why it has none. */
typedef struct {
	const char *name;
	PipesimSteadyState *state;
	GError *error;
} Row;

static void free_row(gpointer data)
{
	Row *row = data;

	pipesim_steady_state_free(row->state);
	g_clear_error(&row->error);
	g_free(row);
}

static void clear_options(Options *options)
{
	pipesim_shape_options_clear(&options->shape);
	pipesim_cost_options_clear(&options->costs);
	g_free(options->format);
	g_free(options->output);
}
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(Options, clear_options)

static double worst_idle(const PipesimSteadyState *state)
{
	double worst = 0;

	for (guint rank = 0; rank < state->ranks; rank++)
		worst = MAX(worst, pipesim_figure_fraction(state->idle[rank]));
	return worst;
}

/* Text ----------------------------------------------------------------------------------- */

static char *print_fixed(double value, guint decimals)
{
	GString *text = g_string_new(NULL);

	pipesim_figure_fixed(text, value, decimals);
	return g_string_free(text, FALSE);
}

static char *print_exact(PipesimFraction value)
{
	if (value.den == 1)
		return g_strdup_printf("%" G_GINT64_FORMAT, value.num);
	return g_strdup_printf("%" G_GINT64_FORMAT "/%" G_GINT64_FORMAT, value.num, value.den);
}

static void add_row(PipesimTable *table, const Row *row)
{
	const PipesimSteadyState *state = row->state;
	char *cells[N_COLUMNS] = {[NAME] = g_strdup(row->name)};
	g_autofree char *prefix = g_strconcat(row->name, ": ", NULL);

	if (state == NULL) {
		const char *message = row->error->message;

		g_free(cells[NAME]);
		pipesim_table_add_text(table, PIPESIM_ROW_FAINT, row->name,
			g_str_has_prefix(message, prefix) ? message + strlen(prefix) : message);
		return;
	}
	cells[TRANSIENT] = g_strdup_printf("%" G_GUINT64_FORMAT, state->transient);
	cells[PERIOD] = g_strdup_printf("%" G_GUINT64_FORMAT, state->period);
	cells[MICROBATCH] = print_fixed(pipesim_figure_fraction(state->microbatch) / 1e6, 6);
	cells[EXACT] = print_exact(state->microbatch);
	cells[IDLE] = print_fixed(100 * pipesim_figure_fraction(state->ratio), 2);
	cells[WORST] = print_fixed(100 * worst_idle(state), 2);
	cells[FIXED] = print_fixed(state->fixed / 1e6, 3);
	pipesim_table_add(table, PIPESIM_ROW_PLAIN, cells);
}

static void write_text(
	const GPtrArray *rows, guint ranks, const PipesimStyle *style, GString *out)
{
	g_autoptr(PipesimTable) table = pipesim_table_new(columns, N_COLUMNS);

	g_string_append_printf(out, "PP %u, steps without end\n\n", ranks);
	for (guint i = 0; i < rows->len; i++)
		add_row(table, g_ptr_array_index(rows, i));
	pipesim_table_print(table, WIDTH, style, out);
	g_string_append(out,
		"\ntransient    micro-batches before everything repeats, at most\n"
		"period       micro-batches after which it does\n"
		"exactly      time of a period over its micro-batches\n"
		"bubble       of all ranks' time, and of the rank that idles most\n"
		"fill, drain  what a step takes beside its micro-batches\n");
}

/* JSON ----------------------------------------------------------------------------------- */

static void key_double(PipesimJson *json, const char *key, double value)
{
	pipesim_json_key(json, key);
	pipesim_json_double(json, value);
}

static void write_state(PipesimJson *json, const PipesimSteadyState *state)
{
	pipesim_json_member_int(json, "transient", (gint64)state->transient);
	pipesim_json_member_int(json, "period", (gint64)state->period);
	pipesim_json_key(json, "period_ms");
	pipesim_json_ms(json, state->time);
	key_double(json, "microbatch_ms", pipesim_figure_fraction(state->microbatch) / 1e6);
	key_double(json, "bubble_ratio", pipesim_figure_fraction(state->ratio));
	pipesim_json_key(json, "bubble_ratio_per_rank");
	pipesim_json_open_array(json);
	for (guint rank = 0; rank < state->ranks; rank++)
		pipesim_json_double(json, pipesim_figure_fraction(state->idle[rank]));
	pipesim_json_close(json);
	key_double(json, "fill_and_drain_ms", state->fixed / 1e6);
	pipesim_json_member_int(json, "microbatches", (gint64)state->microbatches);
}

static void write_json(const GPtrArray *rows, guint ranks, GString *out)
{
	g_autoptr(PipesimJson) json = pipesim_json_new(out);

	pipesim_json_open_object(json);
	pipesim_json_member_int(json, "pp", ranks);
	pipesim_json_key(json, "schedules");
	pipesim_json_open_array(json);
	for (guint i = 0; i < rows->len; i++) {
		const Row *row = g_ptr_array_index(rows, i);

		pipesim_json_open_object(json);
		pipesim_json_member_string(json, "name", row->name);
		if (row->state != NULL)
			write_state(json, row->state);
		else
			pipesim_json_member_string(json, "error", row->error->message);
		pipesim_json_close(json);
	}
	pipesim_json_close(json);
	pipesim_json_close(json);
}

/* Command -------------------------------------------------------------------------------- */

static GOptionContext *make_context(Options *options)
{
	const GOptionEntry entries[] = {
		{"format", 'f', 0, G_OPTION_ARG_STRING, &options->format,
			"text (default) or json", "FORMAT"},
		{"output", 'o', 0, G_OPTION_ARG_FILENAME, &options->output,
			"write to FILE instead of standard output", "FILE"},
		{0},
	};
	GOptionContext *context = g_option_context_new(
		"SCHEDULE... - what a micro-batch takes in the long run, exactly");

	g_option_context_set_summary(context, "Names of built-in schedules, or all. With "
					      "unchanging times the steady phase of "
					      "a schedule\nrepeats to the nanosecond: its "
					      "period over its micro-batches is what "
					      "each further one costs.");
	g_option_context_set_description(context,
		"Exit status: 0 done, 2 usage, or no schedule has a steady phase, 3 bad input "
		"file.\n");
	pipesim_shape_entries(context, &options->shape);
	pipesim_costs_entries(context, &options->costs);
	g_option_context_add_main_entries(context, entries, NULL);
	return context;
}

static GPtrArray *solve(
	const GPtrArray *choices, const PipesimScenario *scenario, const PipesimCosts *costs)
{
	GPtrArray *rows = g_ptr_array_new_with_free_func(free_row);

	for (guint i = 0; i < choices->len; i++) {
		const PipesimChoice *choice = g_ptr_array_index(choices, i);
		Row *row = g_new0(Row, 1);

		row->name = pipesim_schedule_name(choice->schedule);
		row->state = pipesim_steady_state_new(
			choice->schedule, scenario, costs, &row->error);
		g_ptr_array_add(rows, row);
	}
	return rows;
}

static gboolean any_state(const GPtrArray *rows, GError **error)
{
	g_autoptr(PipesimFaults) faults = pipesim_faults_new();

	for (guint i = 0; i < rows->len; i++) {
		const Row *row = g_ptr_array_index(rows, i);

		if (row->state != NULL)
			return TRUE;
		pipesim_faults_take(faults, g_error_copy(row->error));
	}
	return pipesim_faults_done(faults, error);
}

static PipesimExit steady(const Options *options, const GPtrArray *choices, GError **error)
{
	PipesimScenario scenario = options->shape.scenario;
	PipesimStyle style = pipesim_terminal_style();
	g_autoptr(GString) out = g_string_new(NULL);
	g_autoptr(GPtrArray) rows = NULL;
	g_autoptr(PipesimCosts) costs = pipesim_cost_options_read(
		&options->costs, scenario.ranks, &scenario.memory_limit, error);

	if (costs == NULL)
		return PIPESIM_EXIT_USAGE;
	rows = solve(choices, &scenario, costs);
	if (!any_state(rows, error))
		return PIPESIM_EXIT_USAGE;
	style.colour &= options->output == NULL;
	if (g_strcmp0(options->format, "json") == 0)
		write_json(rows, scenario.ranks, out);
	else
		write_text(rows, scenario.ranks, &style, out);
	return pipesim_print(options->output, out, error) ? PIPESIM_EXIT_DONE
							  : PIPESIM_EXIT_WRITE;
}

static gboolean read_names(int argc, char **argv, GPtrArray *choices, GError **error)
{
	if (argc < 2)
		return pipesim_fail(error, PIPESIM_ERROR_USAGE,
			"steady takes names of schedules, or all; see pipesim list");
	for (int i = 1; i < argc; i++)
		if (!pipesim_choices_add_list(choices, argv[i], error))
			return FALSE;
	for (guint i = 0; i < choices->len; i++) {
		const PipesimChoice *choice = g_ptr_array_index(choices, i);

		if (choice->schedule == NULL)
			return pipesim_fail(error, PIPESIM_ERROR_USAGE,
				"%s: a file has as many micro-batches as it has: no steady "
				"phase "
				"without end",
				choice->path);
	}
	return TRUE;
}

static gboolean check(const Options *options, GError **error)
{
	if (options->shape.scenario.ranks == 0)
		return pipesim_fail(
			error, PIPESIM_ERROR_USAGE, "--pp is missing; for example --pp 8");
	if (options->costs.network.topology != NULL ||
		options->costs.network.message_bytes != NULL)
		return pipesim_fail(error, PIPESIM_ERROR_USAGE,
			"steady counts P2P alone, not links on which messages wait; give "
			"--times "
			"P2P=...");
	if (options->format == NULL || strcmp(options->format, "text") == 0 ||
		strcmp(options->format, "json") == 0)
		return TRUE;
	return pipesim_fail(error, PIPESIM_ERROR_USAGE, "unknown format '%s'; text or json",
		options->format);
}

static PipesimExit run(int argc, char **argv, GError **error)
{
	g_auto(Options) options = {0};
	g_autoptr(GPtrArray) choices = pipesim_choices_new();

	if (!pipesim_options_parse(make_context(&options), &argc, &argv, error) ||
		!pipesim_shape_options_read(&options.shape, error) ||
		!read_names(argc, argv, choices, error) || !check(&options, error) ||
		!pipesim_choices_heed(choices, &options.shape.scenario, error))
		return PIPESIM_EXIT_USAGE;
	return steady(&options, choices, error);
}

const PipesimCommand pipesim_command_steady = {
	.name = "steady",
	.summary = "what a micro-batch takes in the long run, exactly",
	.run = run,
};
