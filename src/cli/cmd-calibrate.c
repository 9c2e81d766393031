#include "config.h"

#include "base/decimal.h"
#include "cli/calibration-table.h"
#include "cli/command.h"
#include "model/costs-file.h"
#include "output/distributions.h"

#include <string.h>

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

static gboolean print_result(
	const PipesimCalibration *calibration, const PipesimSetup *setup, GError **error)
{
	const char *path = setup->text[PIPESIM_SET_OUTPUT];
	const char *picture = setup->text[PIPESIM_SET_PICTURE];
	g_autoptr(GString) costs = g_string_new(NULL);
	g_autoptr(GString) table = g_string_new(NULL);

	pipesim_setup_tell(setup, calibration);
	pipesim_costs_write(calibration->costs, costs);
	if (path != NULL && !pipesim_print(path, costs, error))
		return FALSE;
	if (picture != NULL &&
		!pipesim_distributions_write(calibration->costs, picture, "gnuplot", error))
		return FALSE;
	if (g_strcmp0(path, "-") == 0)
		return TRUE;
	pipesim_calibration_table(calibration, setup->flag[PIPESIM_SET_REPORT], table);
	return pipesim_print(NULL, table, error);
}

static PipesimCalibration *calibrate(const PipesimSetup *setup, GError **error)
{
	const char *map = setup->text[PIPESIM_SET_MAP];
	const char *split = setup->text[PIPESIM_SET_SM_SPLIT];
	g_autoptr(PipesimRangeRules) rules =
		map != NULL ? pipesim_range_rules_read(map, error) : NULL;
	PipesimCalibration *calibration = NULL;
	PipesimCalibrateOptions wishes;

	if (map != NULL && rules == NULL)
		return NULL;
	pipesim_calibrate_options_init(&wishes);
	wishes.layers = setup->layers;
	wishes.wish.load_mode = setup->text[PIPESIM_SET_LOAD_MODE];
	if ((split == NULL || read_split(split, &wishes.wish, error)) &&
		read_impl(setup->list[PIPESIM_SET_IMPL], &wishes.wish, error))
		calibration = pipesim_costs_from_traces(
			(const char *const *)setup->operands, rules, &wishes, error);
	g_clear_pointer(&wishes.wish.impl, g_hash_table_unref);
	return calibration;
}

static PipesimExit run(PipesimSetup *setup, GError **error)
{
	g_autoptr(PipesimCalibration) calibration = NULL;

	if (setup->n_operands == 0) {
		pipesim_fail(error, PIPESIM_ERROR_USAGE,
			"no trace given; for example pipesim calibrate traces/h200.csv");
		return PIPESIM_EXIT_USAGE;
	}
	calibration = calibrate(setup, error);
	if (calibration == NULL || !print_result(calibration, setup, error))
		return PIPESIM_EXIT_USAGE;
	return PIPESIM_EXIT_DONE;
}

const PipesimCommand pipesim_command_calibrate = {
	.name = "calibrate",
	.summary = "costs from measured traces",
	.usage = "TRACE... - costs from measured traces",
	.about = "Reads measured repetitions and prints, for each component and phase of one "
		 "layer, the\nmedian, the spread (sd / mean) and the repetitions kept and "
		 "dropped; then the times of a\nrank's whole share.",
	.examples = "Examples:\n  pipesim calibrate traces/h200.csv -o h200.ini --layers 4\n"
		    "  pipesim --pp 8 --microbatches 20 --costs h200.ini\n",
	.operand = "a trace",
	.operands = PIPESIM_PATH_READ_ONCE,
	.takes = {PIPESIM_SET_OUTPUT, PIPESIM_SET_LAYERS, PIPESIM_SET_LOAD_MODE,
		PIPESIM_SET_IMPL, PIPESIM_SET_SM_SPLIT, PIPESIM_SET_MAP, PIPESIM_SET_PICTURE,
		PIPESIM_SET_REPORT},
	.wording =
		{{PIPESIM_SET_OUTPUT, "FILE.ini",
			 "costs file to write, for --costs; '-' = standard output, no table"},
			{PIPESIM_SET_LAYERS, NULL,
				"layers of a rank's share (default: as the trace says)"}},
	.run = run,
};
