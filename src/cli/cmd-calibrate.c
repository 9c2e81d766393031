#include "config.h"

#include "base/decimal.h"
#include "cli/calibration-table.h"
#include "cli/options.h"
#include "model/costs-file.h"
#include "output/distributions.h"

#include <string.h>

typedef struct {
	char *output, *layers, *load_mode, *sm_split, *map, *picture;
	char **impl;
	gboolean report;
} Options;

static void options_clear(Options *options)
{
	g_free(options->output);
	g_free(options->layers);
	g_free(options->load_mode);
	g_free(options->sm_split);
	g_free(options->map);
	g_free(options->picture);
	g_strfreev(options->impl);
}
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(Options, options_clear)

static GOptionContext *make_context(Options *options)
{
	const GOptionEntry entries[] = {
		{"output", 'o', 0, G_OPTION_ARG_FILENAME, &options->output,
			"costs file to write, for --costs; '-' = standard output, no table",
			"FILE.ini"},
		{"layers", 0, 0, G_OPTION_ARG_STRING, &options->layers,
			"layers of a rank's share (default: as the trace says)", "N"},
		{"load-mode", 0, 0, G_OPTION_ARG_STRING, &options->load_mode,
			"sustained, back_to_back or synced (default: the first captured)",
			"MODE"},
		{"impl", 0, 0, G_OPTION_ARG_STRING_ARRAY, &options->impl,
			"implementation, where there are several (default: the fastest)",
			"COMPONENT=IMPL"},
		{"sm-split", 0, 0, G_OPTION_ARG_STRING, &options->sm_split,
			"SMs of computation + communication in the pair (default: the fastest)",
			"A+B"},
		{"map", 0, 0, G_OPTION_ARG_FILENAME, &options->map,
			"what names in profiler files mean; format in docs/formats.md",
			"RULES"},
		{"picture", 0, 0, G_OPTION_ARG_FILENAME, &options->picture,
			"draw the spread of each component: .svg, .png, .pdf (gnuplot)",
			"FILE"},
		{"report", 0, 0, G_OPTION_ARG_NONE, &options->report,
			"all figures: percentiles, autocorrelation, waiting, interference, "
			"fits",
			NULL},
		{0},
	};
	GOptionContext *context = g_option_context_new("TRACE... - costs from measured traces");

	g_option_context_set_summary(context, "Reads measured repetitions and prints, for each "
					      "component and phase of one layer, the\nmedian, "
					      "the spread (sd / mean) and the repetitions kept "
					      "and dropped; then the times "
					      "of a\nrank's whole share.");
	g_option_context_set_description(context,
		"Examples:\n  pipesim calibrate traces/h200.csv -o h200.ini --layers 4\n"
		"  pipesim --pp 8 --microbatches 20 --costs h200.ini\n");
	g_option_context_add_main_entries(context, entries, NULL);
	return context;
}

static gboolean read_split(const char *text, PipesimTraceWish *wish, GError **error)
{
	const char *plus = strchr(text, '+');

	if (plus != NULL &&
		pipesim_decimal_parse(text, (gsize)(plus - text), 0, &wish->compute_sms) ==
			NULL &&
		pipesim_decimal_parse(plus + 1, strlen(plus + 1), 0, &wish->comm_sms) == NULL &&
		wish->compute_sms > 0 && wish->compute_sms < 100000 && wish->comm_sms >= 0 &&
		wish->comm_sms < 100000)
		return TRUE;
	return pipesim_fail(error, PIPESIM_ERROR_USAGE,
		"--sm-split '%s' is not two numbers of SMs such as 112+20", text);
}

/* COMPONENT=IMPL into wish->impl, which this makes. */
static gboolean read_impl(char **list, PipesimTraceWish *wish, GError **error)
{
	wish->impl = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, g_free);
	for (; list != NULL && *list != NULL; list++) {
		const char *equals = strchr(*list, '=');
		if (equals == NULL || equals == *list || equals[1] == '\0')
			return pipesim_fail(error, PIPESIM_ERROR_USAGE,
				"--impl '%s' is not COMPONENT=IMPL", *list);
		g_hash_table_insert(wish->impl, g_strndup(*list, (gsize)(equals - *list)),
			g_strdup(equals + 1));
	}
	return TRUE;
}

static gboolean read_options(
	const Options *options, PipesimCalibrateOptions *calibrate, GError **error)
{
	guint64 layers = 0;

	if (options->layers != NULL &&
		!pipesim_parse_count(options->layers, "--layers", 1, 100000, &layers, error))
		return FALSE;
	calibrate->layers = (guint)layers;
	calibrate->wish.load_mode = options->load_mode;
	if (options->sm_split != NULL &&
		!read_split(options->sm_split, &calibrate->wish, error))
		return FALSE;
	return read_impl(options->impl, &calibrate->wish, error);
}

static gboolean print_result(
	const PipesimCalibration *calibration, const Options *options, GError **error)
{
	g_autoptr(GString) costs = g_string_new(NULL);
	g_autoptr(GString) table = g_string_new(NULL);

	pipesim_calibration_notices(calibration);
	pipesim_costs_write(calibration->costs, costs);
	if (options->output != NULL && !pipesim_print(options->output, costs, error))
		return FALSE;
	if (options->picture != NULL && !pipesim_distributions_write(calibration->costs,
						options->picture, "gnuplot", error))
		return FALSE;
	if (g_strcmp0(options->output, "-") == 0)
		return TRUE;
	pipesim_calibration_table(calibration, options->report, table);
	return pipesim_print(NULL, table, error);
}

static PipesimCalibration *calibrate(
	const Options *options, const char *const *paths, GError **error)
{
	g_autoptr(PipesimRangeRules) rules = NULL;
	PipesimCalibration *calibration = NULL;
	PipesimCalibrateOptions wishes;

	pipesim_calibrate_options_init(&wishes);
	if (options->map != NULL) {
		rules = pipesim_range_rules_read(options->map, error);
		if (rules == NULL)
			return NULL;
	}
	if (read_options(options, &wishes, error))
		calibration = pipesim_costs_from_traces(paths, rules, &wishes, error);
	g_clear_pointer(&wishes.wish.impl, g_hash_table_unref);
	return calibration;
}

/* What is written must not take the place of what it is made from; a trace that is read twice
 * would count twice. */
static gboolean check_paths(const Options *options, char **traces, GError **error)
{
	const PipesimNamedPath named[] = {
		{"--output", options->output}, {"--picture", options->picture}};
	const PipesimNamedPath map = {"--map", options->map};
	g_autoptr(GArray) paths = g_array_new(FALSE, FALSE, sizeof(PipesimNamedPath));

	g_array_append_vals(paths, named, G_N_ELEMENTS(named));
	for (; *traces != NULL; traces++) {
		const PipesimNamedPath trace = {"a trace", *traces};

		g_array_append_val(paths, trace);
	}
	g_array_append_val(paths, map);
	return pipesim_options_distinct((const PipesimNamedPath *)(gconstpointer)paths->data,
		paths->len - 1, paths->len, error);
}

static PipesimExit run(int argc, char **argv, GError **error)
{
	g_auto(Options) options = {0};
	g_autoptr(PipesimCalibration) calibration = NULL;

	if (!pipesim_options_parse(make_context(&options), &argc, &argv, error))
		return PIPESIM_EXIT_USAGE;
	if (argc < 2) {
		pipesim_fail(error, PIPESIM_ERROR_USAGE,
			"no trace given; for example pipesim calibrate traces/h200.csv");
		return PIPESIM_EXIT_USAGE;
	}
	if (!check_paths(&options, argv + 1, error))
		return PIPESIM_EXIT_USAGE;
	calibration = calibrate(&options, (const char *const *)argv + 1, error);
	if (calibration == NULL || !print_result(calibration, &options, error))
		return PIPESIM_EXIT_USAGE;
	return PIPESIM_EXIT_DONE;
}

const PipesimCommand pipesim_command_calibrate = {
	.name = "calibrate",
	.summary = "costs from measured traces",
	.run = run,
};
