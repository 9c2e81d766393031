/* What a user is told beside the answer. */
#include "setup/setup.h"

void pipesim_setup_tell_layers(const PipesimSetup *setup, const char *name, const char *layers)
{
	if (layers != NULL)
		pipesim_setup_notice(setup, "%s: %s", name, layers);
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
			pipesim_setup_notice(
				setup, "%s", (char *)calibration->notices->pdata[i]);
	for (guint i = 0; i < PIPESIM_N_STATUS; i++)
		if (calibration->dropped[i] > 0)
			pipesim_list_more(dropped, "%u %s", calibration->dropped[i], what[i]);
	if (dropped->len > 0)
		pipesim_setup_notice(
			setup, "left out of %u rows: %s", calibration->rows, dropped->str);
}
