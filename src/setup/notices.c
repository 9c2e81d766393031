/* What a user is told beside the answer. */
#include "setup/setup.h"

void pipesim_setup_notice(const PipesimSetup *setup, const char *line)
{
	if (setup->notices != NULL &&
		g_ptr_array_find_with_equal_func(setup->notices, line, g_str_equal, NULL))
		return;
	if (setup->notice != NULL)
		setup->notice(line);
	if (setup->notices != NULL)
		g_ptr_array_add(setup->notices, g_strdup(line));
}

void pipesim_setup_tell_layers(const PipesimSetup *setup, const char *name, const char *layers)
{
	g_autofree char *line = g_strdup_printf("%s: %s", name, layers);

	if (layers != NULL)
		pipesim_setup_notice(setup, line);
}

void pipesim_setup_tell(const PipesimSetup *setup, const PipesimCalibration *calibration)
{
	static const char *const what[PIPESIM_N_STATUS] = {
		"parts of a component that was measured as a whole", "warm-ups", "outliers",
		"failed checksums"};
	g_autoptr(GString) dropped = g_string_new(NULL);

	for (guint i = 0; i < calibration->notices->len; i++)
		if (i + 1 != calibration->long_pair ||
			setup->pair_time == PIPESIM_PAIR_MEASURED)
			pipesim_setup_notice(setup, g_ptr_array_index(calibration->notices, i));
	for (guint i = 0; i < PIPESIM_N_STATUS; i++)
		if (calibration->dropped[i] > 0)
			pipesim_list_more(dropped, "%u %s", calibration->dropped[i], what[i]);
	if (dropped->len > 0) {
		g_autofree char *line = g_strdup_printf(
			"left out of %u rows: %s", calibration->rows, dropped->str);

		pipesim_setup_notice(setup, line);
	}
}
