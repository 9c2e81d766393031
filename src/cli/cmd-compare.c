#include "config.h"

#include "cli/options.h"
#include "schedule/csv.h"
#include <string.h>

typedef struct {
	PipesimShapeOptions shape;
	PipesimCostOptions costs;
	char *schedules, *format, *output, *timeline, *chrome_trace;
} Options;

/* One entry of --schedule: a built-in schedule, or a program from a file. */
typedef struct {
	const PipesimSchedule *schedule;
	char *path;
	PipesimProgram *program; /* of a file, until its run takes it */
} Choice;

static void free_choice(gpointer data)
{
	Choice *choice = data;

	g_free(choice->path);
	pipesim_program_free(choice->program);
	g_free(choice);
}

static void clear_options(Options *options)
{
	pipesim_shape_options_clear(&options->shape);
	pipesim_cost_options_clear(&options->costs);
	g_free(options->schedules);
	g_free(options->format);
	g_free(options->output);
	g_free(options->timeline);
	g_free(options->chrome_trace);
}
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(Options, clear_options)

static GOptionContext *make_context(Options *options)
{
	const GOptionEntry entries[] = {
		{"schedule", 's', 0, G_OPTION_ARG_STRING, &options->schedules,
			"schedules, or files of op orders (default: all)", "NAME|FILE.csv,..."},
		{"format", 'f', 0, G_OPTION_ARG_STRING, &options->format,
			"text, json or csv (default: as -o's extension, else text)", "FORMAT"},
		{"output", 'o', 0, G_OPTION_ARG_FILENAME, &options->output,
			"write the result to FILE, not to standard output", "FILE"},
		{"compare-at", 0, 0, G_OPTION_ARG_STRING, &options->shape.compare_at,
			"what is alike for all: ranks (default) or stages", "WHAT"},
		{"timeline", 't', 0, G_OPTION_ARG_FILENAME, &options->timeline,
			"draw timelines: .svg, .png, .pdf (gnuplot), .txt, - (text)", "FILE"},
		{"chrome-trace", 0, 0, G_OPTION_ARG_FILENAME, &options->chrome_trace,
			"write timelines for Perfetto or chrome://tracing", "FILE.json"},
		{0},
	};
	GOptionContext *context = g_option_context_new("- compare pipeline schedules");

	g_option_context_set_summary(context,
		"Simulates pipeline-parallel training schedules over PP ranks and prints their "
		"makespan,\nbubble and activation memory beside the published formulae.\n\n"
		"Commands:\n  compare    compare schedules (the default)\n  list       "
		"schedules, aliases, constraints\n  explain    formulae of one schedule, their "
		"letters, when they are exact\n  export     op order of one schedule as a "
		"PyTorch schedule CSV\n  validate   is a schedule CSV complete, and does it "
		"run without deadlock?\n  calibrate  costs from measured traces\n"
		"'pipesim COMMAND --help' shows the options of a command.");
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
	return context;
}

static gboolean is_file(const char *name)
{
	return strchr(name, '/') != NULL || g_str_has_suffix(name, ".csv") ||
	       strcmp(name, "-") == 0;
}

static gboolean choose_one(const char *name, GPtrArray *choices, GError **error)
{
	Choice *choice = g_new0(Choice, 1);

	g_ptr_array_add(choices, choice);
	if (is_file(name)) {
		choice->path = g_strdup(name);
		choice->program = pipesim_schedule_read_csv(name, error);
		return choice->program != NULL;
	}
	choice->schedule = pipesim_schedule_find(name, error);
	return choice->schedule != NULL;
}

static gboolean choose(const char *names, GPtrArray *choices, GError **error)
{
	g_auto(GStrv) items = g_strsplit(names != NULL ? names : "all", ",", -1);

	if (items[0] == NULL)
		return pipesim_fail(error, PIPESIM_ERROR_USAGE,
			"--schedule is empty; give names, files or all");
	for (char **item = items; *item != NULL; item++) {
		const PipesimSchedule *const *all = pipesim_schedule_list();

		if (strcmp(*item, "all") != 0) {
			if (!choose_one(g_strstrip(*item), choices, error))
				return FALSE;
			continue;
		}
		for (; *all != NULL; all++) {
			Choice *choice = g_new0(Choice, 1);

			choice->schedule = *all;
			g_ptr_array_add(choices, choice);
		}
	}
	return TRUE;
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
	input.option = "--schedule";
	for (guint i = 0; i < choices->len; i++) {
		input.path = ((const Choice *)g_ptr_array_index(choices, i))->path;
		g_array_append_val(paths, input);
	}
	return pipesim_options_distinct((const PipesimNamedPath *)(gconstpointer)paths->data,
		n_once, paths->len, error);
}

static gboolean read_compare_at(PipesimShapeOptions *options, GError **error)
{
	const char *what = options->compare_at;

	if (what == NULL || strcmp(what, "ranks") == 0)
		return TRUE;
	options->scenario.compare_at = PIPESIM_AT_STAGES;
	return strcmp(what, "stages") == 0 ||
	       pipesim_fail(
		       error, PIPESIM_ERROR_USAGE, "--compare-at: '%s'; ranks or stages", what);
}

/* What was not given is taken from the first schedule file. */
static void shape_from_files(PipesimScenario *scenario, const GPtrArray *choices)
{
	for (guint i = 0; i < choices->len; i++) {
		const Choice *choice = g_ptr_array_index(choices, i);

		if (choice->program == NULL)
			continue;
		if (scenario->ranks == 0)
			scenario->ranks = scenario->compare_at == PIPESIM_AT_STAGES
						  ? choice->program->shape.stages
						  : choice->program->shape.ranks;
		if (scenario->microbatches == 0)
			scenario->microbatches = choice->program->shape.microbatches;
		return;
	}
}

static gboolean fits(const PipesimShape *shape, const PipesimScenario *scenario)
{
	const guint ranks =
		scenario->compare_at == PIPESIM_AT_STAGES ? shape->stages : shape->ranks;

	return ranks == scenario->ranks && shape->microbatches == scenario->microbatches;
}

static PipesimRun *run_choice(Choice *choice, const PipesimComparison *comparison)
{
	const PipesimScenario *scenario = &comparison->scenario;
	const gboolean at_stages = scenario->compare_at == PIPESIM_AT_STAGES;
	const PipesimShape *shape;
	PipesimRun *run;

	if (choice->schedule != NULL)
		return pipesim_run_schedule(choice->schedule, scenario, comparison->costs);
	shape = &choice->program->shape;
	if (fits(shape, scenario))
		return pipesim_run_program(choice->path, g_steal_pointer(&choice->program),
			scenario, comparison->costs);
	run = g_new0(PipesimRun, 1);
	run->name = g_strdup(choice->path);
	pipesim_fail(&run->error, PIPESIM_ERROR_CONSTRAINT,
		"%s: the file is for %u %s and %u micro-batches; compare it at those",
		choice->path, at_stages ? shape->stages : shape->ranks,
		at_stages ? "stages" : "ranks", shape->microbatches);
	return run;
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

static PipesimExit compare(
	const Options *options, const GPtrArray *choices, const char *command, GError **error)
{
	g_autoptr(PipesimCosts) costs = NULL;
	g_autoptr(PipesimComparison) comparison = NULL;
	PipesimScenario scenario = options->shape.scenario;

	costs = pipesim_cost_options_read(
		&options->costs, scenario.ranks, &scenario.memory_limit, error);
	if (costs == NULL)
		return PIPESIM_EXIT_USAGE;
	comparison = pipesim_comparison_new(&scenario, costs);
	comparison->command = g_strdup(command);
	for (guint i = 0; i < choices->len; i++)
		g_ptr_array_add(comparison->runs,
			run_choice(g_ptr_array_index(choices, i), comparison));
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
	g_autoptr(GPtrArray) choices = g_ptr_array_new_with_free_func(free_choice);
	g_auto(Options) options = {0};

	if (!pipesim_options_parse(make_context(&options), &argc, &argv, error) ||
		!pipesim_options_no_operands(argc, argv, error) ||
		!pipesim_shape_options_read(&options.shape, error) ||
		!read_compare_at(&options.shape, error) ||
		!choose(options.schedules, choices, error) ||
		!check_paths(&options, choices, error))
		return PIPESIM_EXIT_USAGE;
	shape_from_files(&options.shape.scenario, choices);
	if (!pipesim_shape_options_require(&options.shape, error))
		return PIPESIM_EXIT_USAGE;
	return compare(&options, choices, command, error);
}

const PipesimCommand pipesim_command_compare = {
	.name = "compare",
	.summary = "compare schedules (the default)",
	.run = run,
};
