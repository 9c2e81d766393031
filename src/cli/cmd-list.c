#include "cli/command.h"

static gboolean run(PipesimSetup *setup, PipesimExit *answer G_GNUC_UNUSED, GError **error)
{
	g_autoptr(GString) out = g_string_new(NULL);

	for (const PipesimSchedule *const *all = pipesim_schedule_list(); *all != NULL; all++) {
		const PipesimSchedule *schedule = *all;

		if (setup->flag[PIPESIM_SET_NAMES]) {
			g_string_append_printf(out, "%s\n", schedule->name);
			continue;
		}
		g_string_append_printf(out, "%-18s%s\n", schedule->name, schedule->summary);
		g_string_append_printf(out, "%18sshapes: %s\n", "", schedule->constraints);
		if (schedule->aliases != NULL)
			g_string_append_printf(
				out, "%18salso called: %s\n", "", schedule->aliases);
	}
	return pipesim_print(NULL, out, error);
}

const PipesimCommand pipesim_command_list = {
	.name = "list",
	.summary = "schedules, their aliases and the shapes they support",
	.takes = {PIPESIM_SET_NAMES},
	.run = run,
};
