#include "config.h"

#include "cli/choice.h"
#include "cli/options.h"
#include "cli/sample-options.h"
#include <string.h>

typedef struct {
	PipesimShapeOptions shape;
	PipesimCostOptions costs;
	PipesimSampleOptions samples;
	char *schedules, *format, *output, *timeline, *chrome_trace;
} Options;

static void clear_options(Options *options)
{
	pipesim_shape_options_clear(&options->shape);
	pipesim_cost_options_clear(&options->costs);
	pipesim_sample_options_clear(&options->samples);
	g_free(options->schedules);
	g_free(options->format);
	g_free(options->output);
	g_free(options->timeline);
	g_free(options->chrome_trace);
}
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(Options, clear_options)

static void summarize(GOptionContext *context)
{
	static const PipesimCommand *const commands[] = {
#define COMMAND(id) &pipesim_command_##id,
#include "cli/list.h"
#undef COMMAND
	};
	g_autoptr(GString) text = g_string_new(
		"Simulates pipeline-parallel training schedules over PP ranks and prints their "
		"makespan,\nbubble and activation memory beside the published formulae.\n\n"
		"Commands:\n");

	for (gsize i = 0; i < G_N_ELEMENTS(commands); i++)
		g_string_append_printf(
			text, "  %-9s  %s\n", commands[i]->name, commands[i]->summary);
	g_string_append(text, "'pipesim COMMAND --help' shows the options of a command.");
	g_option_context_set_summary(context, text->str);
}

static GOptionContext *make_context(Options *options)
{
	const GOptionEntry entries[] = {
		{"schedule", 's', 0, G_OPTION_ARG_STRING, &options->schedules,
			"schedules, or files of op orders (default: all)", "NAME|FILE.csv,..."},
		{"format", 'f', 0, G_OPTION_ARG_STRING, &options->format,
			"text, json or csv (default: as -o's extension, else text)", "FORMAT"},
		{"output", 'o', 0, G_OPTION_ARG_FILENAME, &options->output,
			"write the result to FILE, not to standard output", "FILE"},
		{"comm", 0, 0, G_OPTION_ARG_STRING, &options->shape.comm,
			"how messages wait: async, queue, single, grouped, native", "MODE"},
		{"compare-at", 0, 0, G_OPTION_ARG_STRING, &options->shape.compare_at,
			"what is alike for all: ranks (default) or stages", "WHAT"},
		{"timeline", 't', 0, G_OPTION_ARG_FILENAME, &options->timeline,
			"draw timelines: .svg, .png, .pdf (gnuplot), .txt, - (text)", "FILE"},
		{"chrome-trace", 0, 0, G_OPTION_ARG_FILENAME, &options->chrome_trace,
			"write timelines for Perfetto or chrome://tracing", "FILE.json"},
		{0},
	};
	GOptionContext *context = g_option_context_new("- compare pipeline schedules");

	summarize(context);
	g_option_context_set_description(context,
		"Examples:\n  pipesim --pp 8 --microbatches 20\n  pipesim --pp 8 "
		"--microbatches 20 --times F=1,I=1,W=1,FB=2.4 --timeline dualpipe.svg \\\n     "
		"     "
		"--schedule dualpipe\n\n"
		"Exit status: 0 done, 1 no schedule fits the memory limit, 2 usage, 3 bad "
		"input file,\n"
		"4 gnuplot missing or failed, 5 cannot write.\n");
	pipesim_shape_entries(context, &options->shape);
	g_option_context_add_main_entries(context, entries, NULL);
	pipesim_costs_entries(context, &options->costs);
	pipesim_sample_entries(context, &options->samples);
	return context;
}

/* What is written must not be what is read, nor written twice. */
static gboolean check_paths(const Options *options, const GPtrArray *choices, GError **error)
{
	const PipesimNamedPath outputs[] = {{"--output", options->output},
		{"--timeline", options->timeline}, {"--chrome-trace", options->chrome_trace}};
	g_autoptr(GArray) paths = g_array_new(FALSE, FALSE, sizeof(PipesimNamedPath));
	PipesimNamedPath input = {"--trace", NULL};
	guint n_once;

	g_array_append_vals(paths, outputs, G_N_ELEMENTS(outputs));
	for (char **trace = options->costs.traces; trace != NULL && *trace != NULL; trace++) {
		input.path = *trace;
		g_array_append_val(paths, input);
	}
	n_once = paths->len; /* a trace that is read twice would count twice */
	input = (PipesimNamedPath){"--costs", options->costs.costs_file};
	g_array_append_val(paths, input);
	input = (PipesimNamedPath){"--stage-times", options->costs.stage_times};
	g_array_append_val(paths, input);
	input = (PipesimNamedPath){"--topology", options->costs.network.topology};
	g_array_append_val(paths, input);
	input.option = "--schedule";
	for (guint i = 0; i < choices->len; i++) {
		input.path = ((const PipesimChoice *)g_ptr_array_index(choices, i))->path;
		g_array_append_val(paths, input);
	}
	return pipesim_options_distinct((const PipesimNamedPath *)(gconstpointer)paths->data,
		n_once, paths->len, error);
}

static const PipesimOutput *find_format(const Options *options, GError **error)
{
	const PipesimOutput *output = NULL;

	if (options->format != NULL)
		return pipesim_output_find(options->format, error);
	if (options->output != NULL)
		output = pipesim_output_for_path(options->output);
	return output != NULL ? output : pipesim_output_find("text", error);
}

static gboolean write_timeline(const Options *options, const PipesimComparison *comparison,
	const PipesimOutput *format, GString *text, GError **error)
{
	PipesimStyle style = pipesim_terminal_style();

	if (options->timeline == NULL)
		return TRUE;
	if (strcmp(options->timeline, "-") != 0) {
		style.colour = FALSE;
		return pipesim_picture_write(
			comparison, options->timeline, &style, "gnuplot", error);
	}
	if (strcmp(format->name, "text") != 0)
		return pipesim_fail(error, PIPESIM_ERROR_USAGE,
			"--timeline - would mix with --format %s on standard output; give it "
			"a file",
			format->name);
	style.colour &= options->output == NULL;
	g_string_append_c(text, '\n');
	pipesim_timeline_text(comparison, &style, text);
	return TRUE;
}

static gboolean write_all(
	const Options *options, const PipesimComparison *comparison, GError **error)
{
	const PipesimOutput *format = find_format(options, error);
	PipesimStyle style = pipesim_terminal_style();
	g_autoptr(GString) text = g_string_new(NULL);

	if (format == NULL)
		return FALSE;
	style.colour &= options->output == NULL;
	format->write(comparison, &style, text);
	if (!write_timeline(options, comparison, format, text, error))
		return FALSE;
	if (options->chrome_trace != NULL &&
		!pipesim_chrome_trace_write(comparison, options->chrome_trace, error))
		return FALSE;
	return pipesim_print(options->output, text, error);
}

/* A refusal is a row beside rows with results; where there is no result at all it is the error.
 */
static gboolean any_result(const PipesimComparison *comparison, GError **error)
{
	g_autoptr(PipesimFaults) faults = pipesim_faults_new();

	for (guint i = 0; i < comparison->runs->len; i++) {
		const PipesimRun *run = g_ptr_array_index(comparison->runs, i);

		if (run->error == NULL)
			return TRUE;
		pipesim_faults_take(faults, g_error_copy(run->error));
	}
	return pipesim_faults_done(faults, error);
}

/* Pictures and traces are of single ops; the figures of ranks need none. JSON tells what it can
 * of them. */
static PipesimKeep find_keep(const Options *options)
{
	const PipesimOutput *format = find_format(options, NULL);

	if (options->timeline != NULL || options->chrome_trace != NULL)
		return PIPESIM_KEEP_OPS;
	return format != NULL && strcmp(format->name, "json") == 0 ? PIPESIM_KEEP_FITTING
								   : PIPESIM_KEEP_NOTHING;
}

static PipesimExit compare(
	const Options *options, const GPtrArray *choices, const char *command, GError **error)
{
	g_autoptr(PipesimCosts) costs = NULL;
	g_autoptr(PipesimComparison) comparison = NULL;
	PipesimScenario scenario = options->shape.scenario;

	costs = pipesim_cost_options_read(
		&options->costs, scenario.ranks, &scenario.memory_limit, error);
	if (costs == NULL || !pipesim_sample_options_check(&scenario, costs, error))
		return PIPESIM_EXIT_USAGE;
	scenario.keep = find_keep(options);
	comparison = pipesim_comparison_new(&scenario, costs);
	comparison->command = g_strdup(command);
	for (guint i = 0; i < choices->len; i++)
		g_ptr_array_add(comparison->runs,
			pipesim_choice_run(g_ptr_array_index(choices, i), &scenario, costs));
	if (!any_result(comparison, error))
		return PIPESIM_EXIT_USAGE;
	pipesim_comparison_finish(comparison);
	if (!write_all(options, comparison, error))
		return PIPESIM_EXIT_WRITE;
	return scenario.memory_limit > 0 && pipesim_comparison_best(comparison) < 0
		       ? PIPESIM_EXIT_NO
		       : PIPESIM_EXIT_DONE;
}

static PipesimExit run(int argc, char **argv, GError **error)
{
	g_autofree char *command = g_strjoinv(" ", argv);
	g_autoptr(GPtrArray) choices = pipesim_choices_new();
	g_auto(Options) options = {0};

	if (!pipesim_options_parse(make_context(&options), &argc, &argv, error) ||
		!pipesim_options_no_operands(argc, argv, error) ||
		!pipesim_shape_options_read(&options.shape, error) ||
		!pipesim_sample_options_read(
			&options.samples, &options.shape.scenario, error) ||
		!pipesim_choices_add_list(choices,
			options.schedules != NULL ? options.schedules : "all", error) ||
		!check_paths(&options, choices, error) ||
		!pipesim_choices_heed(choices, &options.shape.scenario, error))
		return PIPESIM_EXIT_USAGE;
	pipesim_choices_shape(choices, &options.shape.scenario);
	if (!pipesim_shape_options_require(&options.shape, error))
		return PIPESIM_EXIT_USAGE;
	return compare(&options, choices, command, error);
}

const PipesimCommand pipesim_command_compare = {
	.name = "compare",
	.summary = "compare schedules (the default)",
	.run = run,
};
