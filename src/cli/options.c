#include "config.h"

#include "cli/calibration-table.h"
#include "cli/options.h"
#include "model/costs-file.h"
#include "model/stage-times.h"
#include <glib/gstdio.h>
#include <langinfo.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

void pipesim_shape_entries(GOptionContext *context, PipesimShapeOptions *options)
{
	const GOptionEntry entries[] = {
		{"pp", 'p', 0, G_OPTION_ARG_STRING, &options->pp, "pipeline ranks", "N"},
		{"microbatches", 'm', 0, G_OPTION_ARG_STRING, &options->microbatches,
			"micro-batches of a step, both directions together", "N"},
		{"chunks", 0, 0, G_OPTION_ARG_STRING, &options->chunks,
			"stages a rank, of interleaved schedules and waves", "V"},
		{"group", 0, 0, G_OPTION_ARG_STRING, &options->group,
			"micro-batches of a group, of interleaved schedules", "G"},
		{"pipelines", 0, 0, G_OPTION_ARG_STRING, &options->pipelines,
			"pipelines of chimera, both directions together", "N"},
		{"max-activations", 0, 0, G_OPTION_ARG_STRING, &options->max_activations,
			"activations a rank may hold, for zb-auto (default: PP)", "N"},
		{0},
	};

	g_option_context_add_main_entries(context, entries, NULL);
}

void pipesim_costs_entries(GOptionContext *context, PipesimCostOptions *options)
{
	const GOptionEntry entries[] = {
		{"times", 0, 0, G_OPTION_ARG_STRING, &options->times,
			"in ms: F=1,I=1,W=1,B=2,FB=3,P2P=0 (default B=I+W, FB=F+B)", "LIST"},
		{"trace", 0, 0, G_OPTION_ARG_FILENAME_ARRAY, &options->traces,
			"times from a measured trace (may be repeated)", "FILE"},
		{"layers", 0, 0, G_OPTION_ARG_STRING, &options->layers,
			"layers of a rank's share, for --trace (default: the trace's)", "N"},
		{"costs", 0, 0, G_OPTION_ARG_FILENAME, &options->costs_file,
			"times and bytes from 'pipesim calibrate'", "FILE.ini"},
		{"stage-scale", 0, 0, G_OPTION_ARG_STRING, &options->stage_scale,
			"length of stages against the average: 0=1.3,7=1.25", "LIST"},
		{"stage-times", 0, 0, G_OPTION_ARG_FILENAME, &options->stage_times,
			"times of each stage: a CSV with columns stage,F,I,W", "FILE"},
		{"slow-rank", 0, 0, G_OPTION_ARG_STRING, &options->slow_rank,
			"what ops of a rank take against the others: 3=1.1", "LIST"},
		{"activation-bytes", 0, 0, G_OPTION_ARG_STRING, &options->activation_bytes,
			"activations of a micro-batch: held to I + to W (one: to W)", "N[+N]"},
		{"parameter-bytes", 0, 0, G_OPTION_ARG_STRING, &options->parameter_bytes,
			"parameters, gradients, optimizer state of one copy", "N"},
		{"memory-limit", 0, 0, G_OPTION_ARG_STRING, &options->memory_limit,
			"memory of a rank: mark what does not fit", "N"},
		{0},
	};

	g_option_context_add_main_entries(context, entries, NULL);
	pipesim_network_entries(context, &options->network);
}

static gboolean read_count(
	const char *text, const char *what, guint max, guint *out, GError **error)
{
	guint64 value = 0;

	if (text != NULL && !pipesim_parse_count(text, what, 1, max, &value, error))
		return FALSE;
	*out = (guint)value;
	return TRUE;
}

static gboolean read_compare_at(const char *what, PipesimScenario *scenario, GError **error)
{
	if (what == NULL || strcmp(what, "ranks") == 0)
		return TRUE;
	scenario->compare_at = PIPESIM_AT_STAGES;
	return strcmp(what, "stages") == 0 ||
	       pipesim_fail(
		       error, PIPESIM_ERROR_USAGE, "--compare-at: '%s'; ranks or stages", what);
}

gboolean pipesim_shape_options_read(PipesimShapeOptions *options, GError **error)
{
	PipesimScenario *scenario = &options->scenario;
	PipesimFraction *most = &scenario->max_activations;

	if (!read_count(options->pp, "--pp", PIPESIM_MAX_RANKS, &scenario->ranks, error) ||
		!read_count(options->microbatches, "--microbatches", PIPESIM_MAX_MICROBATCHES,
			&scenario->microbatches, error) ||
		!read_count(options->chunks, "--chunks", PIPESIM_MAX_CHUNKS, &scenario->chunks,
			error) ||
		!read_count(options->group, "--group", PIPESIM_MAX_MICROBATCHES,
			&scenario->group, error) ||
		!read_count(options->pipelines, "--pipelines", PIPESIM_MAX_CHUNKS,
			&scenario->pipelines, error) ||
		!read_compare_at(options->compare_at, scenario, error) ||
		(options->comm != NULL &&
			!pipesim_comm_find(options->comm, &scenario->comm, error)))
		return FALSE;
	if (options->max_activations == NULL)
		return TRUE;
	if (!pipesim_parse_fraction(options->max_activations, "--max-activations", most, error))
		return FALSE;
	return most->num > 0 || pipesim_fail(error, PIPESIM_ERROR_USAGE,
					"--max-activations: 0 lets no micro-batch in; give "
					"whole-stage activations, for example 8");
}

gboolean pipesim_shape_options_require(const PipesimShapeOptions *options, GError **error)
{
	if (options->scenario.ranks != 0 && options->scenario.microbatches != 0)
		return TRUE;
	return pipesim_fail(error, PIPESIM_ERROR_USAGE,
		"%s is missing; for example --pp 8 --microbatches 20",
		options->scenario.ranks == 0 ? "--pp" : "--microbatches");
}

static gboolean read_bytes(const char *text, const char *what, gint64 *out, GError **error)
{
	return text == NULL || pipesim_parse_bytes(text, what, out, error);
}

static gboolean read_activation_bytes(PipesimCosts *costs, const char *text, GError **error)
{
	g_auto(GStrv) parts = text != NULL ? g_strsplit(text, "+", 2) : NULL;

	if (parts == NULL)
		return TRUE;
	if (parts[0] == NULL || parts[1] == NULL) {
		costs->bytes_until_input = 0;
		return pipesim_parse_bytes(
			text, "--activation-bytes", &costs->bytes_until_weight, error);
	}
	return pipesim_parse_bytes(
		       parts[0], "--activation-bytes", &costs->bytes_until_input, error) &&
	       pipesim_parse_bytes(
		       parts[1], "--activation-bytes", &costs->bytes_until_weight, error);
}

static gboolean read_memory(const PipesimCostOptions *options, PipesimCosts *costs,
	gint64 *memory_limit, GError **error)
{
	*memory_limit = 0;
	if (!read_activation_bytes(costs, options->activation_bytes, error) ||
		!read_bytes(options->parameter_bytes, "--parameter-bytes",
			&costs->parameter_bytes, error) ||
		!read_bytes(options->memory_limit, "--memory-limit", memory_limit, error))
		return FALSE;
	if (options->memory_limit == NULL)
		return TRUE;
	if (*memory_limit == 0)
		return pipesim_fail(error, PIPESIM_ERROR_USAGE,
			"--memory-limit: 0 fits nothing; give bytes");
	if (costs->bytes_until_input == 0 && costs->bytes_until_weight == 0 &&
		costs->parameter_bytes == 0)
		return pipesim_fail(error, PIPESIM_ERROR_USAGE,
			"--memory-limit needs bytes to compare with; give --activation-bytes, "
			"--parameter-bytes or a costs file that has them");
	return TRUE;
}

static PipesimCosts *calibrate(const PipesimCostOptions *options, GError **error)
{
	PipesimCalibrateOptions calibrate;
	g_autoptr(PipesimCalibration) calibration = NULL;

	pipesim_calibrate_options_init(&calibrate);
	if (!read_count(options->layers, "--layers", 100000, &calibrate.layers, error))
		return NULL;
	calibration = pipesim_costs_from_traces(
		(const char *const *)options->traces, NULL, &calibrate, error);
	if (calibration == NULL)
		return NULL;
	pipesim_calibration_notices(calibration);
	return g_steal_pointer(&calibration->costs);
}

PipesimCosts *pipesim_cost_options_base(const PipesimCostOptions *options, GError **error)
{
	if (options->costs_file != NULL && options->traces != NULL) {
		pipesim_fail(error, PIPESIM_ERROR_USAGE,
			"--costs and --trace both say what an op takes; give one of them");
		return NULL;
	}
	if (options->layers != NULL && options->traces == NULL) {
		pipesim_fail(error, PIPESIM_ERROR_USAGE,
			"--layers is for --trace; a costs file has its layers from 'pipesim "
			"calibrate'");
		return NULL;
	}
	if (options->costs_file != NULL)
		return pipesim_costs_read(options->costs_file, error);
	if (options->traces != NULL)
		return calibrate(options, error);
	return pipesim_costs_default();
}

static gboolean read_stage_times(
	const PipesimCostOptions *options, PipesimCosts *costs, guint ranks, GError **error)
{
	if (options->stage_times == NULL)
		return TRUE;
	if (options->stage_scale != NULL)
		return pipesim_fail(error, PIPESIM_ERROR_USAGE,
			"--stage-times and --stage-scale both say how long a stage is; give "
			"one of them");
	return pipesim_costs_read_stages(costs, options->stage_times, ranks, error);
}

/* --times may add FB and P2P to stages that differ, not change what their file says. */
static gboolean read_times(
	const PipesimCostOptions *options, PipesimCosts *costs, GError **error)
{
	gint64 before[PIPESIM_FB];

	memcpy(before, costs->time, sizeof before);
	if (options->times == NULL)
		return TRUE;
	if (!pipesim_costs_parse_times(costs, options->times, error))
		return FALSE;
	if (options->stage_times == NULL || memcmp(before, costs->time, sizeof before) == 0)
		return TRUE;
	return pipesim_fail(error, PIPESIM_ERROR_USAGE,
		"--times and --stage-times both give F, I, W or B; give --times only FB and "
		"P2P");
}

/* Says in one line where times come from that no file gave, or that were changed after. */
static void name_source(const PipesimCostOptions *options, PipesimCosts *costs)
{
	g_autofree char *file = g_steal_pointer(&costs->source);

	if (options->stage_times != NULL) {
		g_autofree char *base = g_steal_pointer(&file);

		file = base != NULL ? g_strdup_printf("%s; then %s", base, options->stage_times)
				    : g_strdup(options->stage_times);
	}
	if (file != NULL && options->times != NULL)
		costs->source = g_strdup_printf("%s; then --times %s", file, options->times);
	else if (file != NULL)
		costs->source = g_steal_pointer(&file);
	else if (options->times != NULL)
		costs->source = g_strdup_printf("--times %s", options->times);
	else
		costs->source = g_strdup("unit times (no --times, --trace or --costs)");
}

PipesimCosts *pipesim_cost_options_read(
	const PipesimCostOptions *options, guint ranks, gint64 *memory_limit, GError **error)
{
	g_autoptr(PipesimCosts) base = pipesim_cost_options_base(options, error);

	return base != NULL
		       ? pipesim_cost_options_apply(options, base, ranks, memory_limit, error)
		       : NULL;
}

PipesimCosts *pipesim_cost_options_apply(const PipesimCostOptions *options,
	const PipesimCosts *base, guint ranks, gint64 *memory_limit, GError **error)
{
	g_autoptr(PipesimCosts) costs = pipesim_costs_copy(base);

	if (!read_stage_times(options, costs, ranks, error) ||
		!read_times(options, costs, error))
		return NULL;
	if (options->stage_scale != NULL &&
		!pipesim_costs_parse_scale(costs, options->stage_scale, ranks, error))
		return NULL;
	if (options->slow_rank != NULL &&
		!pipesim_costs_parse_slow(costs, options->slow_rank, ranks, error))
		return NULL;
	if (!pipesim_network_options_read(
		    &options->network, ranks, options->times, costs, error) ||
		!read_memory(options, costs, memory_limit, error))
		return NULL;
	name_source(options, costs);
	return g_steal_pointer(&costs);
}

void pipesim_shape_options_clear(PipesimShapeOptions *options)
{
	g_free(options->compare_at);
	g_free(options->comm);
	g_free(options->pp);
	g_free(options->microbatches);
	g_free(options->chunks);
	g_free(options->group);
	g_free(options->pipelines);
	g_free(options->max_activations);
}

void pipesim_cost_options_clear(PipesimCostOptions *options)
{
	g_free(options->times);
	g_free(options->stage_scale);
	g_free(options->stage_times);
	g_free(options->slow_rank);
	g_free(options->costs_file);
	g_free(options->layers);
	g_free(options->activation_bytes);
	g_free(options->parameter_bytes);
	g_free(options->memory_limit);
	pipesim_network_options_clear(&options->network);
	g_strfreev(options->traces);
}

/* GOption itself prints an ellipsis, which is no ASCII, and does not notice a full disk. */
static gboolean print_help(GOptionContext *context, GError **error)
{
	g_autofree char *help = g_option_context_get_help(context, TRUE, NULL);
	g_autoptr(GString) text = g_string_new(help);

	g_string_replace(text, "[OPTION\u2026]", "[OPTION...]", 1);
	g_string_replace(text, "Application Options:", "Options:", 1);
	return pipesim_print(NULL, text, error);
}

gboolean pipesim_options_parse(GOptionContext *context, int *argc, char ***argv, GError **error)
{
	gboolean help = FALSE, ok;
	const GOptionEntry entries[] = {
		{"help", 'h', 0, G_OPTION_ARG_NONE, &help, "show this help", NULL},
		{0},
	};

	g_option_context_set_help_enabled(context, FALSE);
	g_option_context_add_main_entries(context, entries, NULL);
	ok = g_option_context_parse(context, argc, argv, error) &&
	     (!help || print_help(context, error));
	if (ok && help)
		exit(PIPESIM_EXIT_DONE);
	g_option_context_free(context);
	/* "Unknown option": all other messages begin in lower case. */
	if (!ok && (*error)->domain == G_OPTION_ERROR)
		*(*error)->message = g_ascii_tolower(*(*error)->message);
	return ok;
}

gboolean pipesim_options_no_operands(int argc, char **argv, GError **error)
{
	if (argc <= 1)
		return TRUE;
	return pipesim_fail(error, PIPESIM_ERROR_USAGE, "unexpected operand '%s'", argv[1]);
}

/* Devices and pipes take what several options write. */
static gboolean same_file(const char *a, const char *b)
{
	g_autofree char *full_a = g_canonicalize_filename(a, NULL);
	g_autofree char *full_b = g_canonicalize_filename(b, NULL);
	GStatBuf stat_a, stat_b;

	if (g_stat(a, &stat_a) != 0 || g_stat(b, &stat_b) != 0)
		return strcmp(full_a, full_b) == 0;
	return S_ISREG(stat_a.st_mode) && stat_a.st_dev == stat_b.st_dev &&
	       stat_a.st_ino == stat_b.st_ino;
}

static gboolean is_file(const char *path)
{
	return path != NULL && strcmp(path, "-") != 0;
}

gboolean pipesim_options_distinct(
	const PipesimNamedPath *paths, guint n_once, guint n_paths, GError **error)
{
	for (guint i = 0; i < n_once; i++)
		for (guint j = i + 1; j < n_paths && is_file(paths[i].path); j++)
			if (is_file(paths[j].path) && same_file(paths[i].path, paths[j].path))
				return pipesim_fail(error, PIPESIM_ERROR_USAGE,
					"%s and %s are the same file '%s'; name each file once",
					paths[i].option, paths[j].option, paths[i].path);
	return TRUE;
}

/* 0 where nothing limits it: a file or a pipe. */
static guint terminal_width(void)
{
	const char *columns = g_getenv("COLUMNS");
	struct winsize size;
	guint64 width;

	if (columns != NULL && pipesim_parse_count(columns, "COLUMNS", 40, 10000, &width, NULL))
		return (guint)width;
	if (isatty(STDOUT_FILENO) == 1 && ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0)
		return size.ws_col;
	return 0;
}

PipesimStyle pipesim_terminal_style(void)
{
	const char *no_color = g_getenv("NO_COLOR");
	const gboolean terminal = isatty(STDOUT_FILENO) == 1;

	return (PipesimStyle){
		.colour = terminal && (no_color == NULL || *no_color == '\0') &&
			  g_strcmp0(g_getenv("TERM"), "dumb") != 0,
		.unicode = strcmp(nl_langinfo(CODESET), "UTF-8") == 0,
		.width = terminal_width(),
	};
}

gboolean pipesim_print(const char *path, const GString *text, GError **error)
{
	return pipesim_write_file(path != NULL ? path : "-", text->str, text->len, error);
}
