#include "config.h"

#include "cli/options.h"

static void append_schedule(const PipesimSchedule *schedule, GString *out)
{
	g_string_append_printf(out, "%-18s%s\n", schedule->name, schedule->summary);
	g_string_append_printf(out, "%18sshapes: %s\n", "", schedule->constraints);
	if (schedule->aliases != NULL) {
		g_autofree char *aliases = g_strjoinv(", ", (char **)schedule->aliases);

		g_string_append_printf(out, "%18salso called: %s\n", "", aliases);
	}
}

static PipesimExit run(int argc, char **argv, GError **error)
{
	gboolean names = FALSE;
	const GOptionEntry entries[] = {
		{"names", 0, 0, G_OPTION_ARG_NONE, &names, "names alone, one a line", NULL},
		{0},
	};
	GOptionContext *context = g_option_context_new("- list the schedules");
	g_autoptr(GString) out = g_string_new(NULL);

	g_option_context_add_main_entries(context, entries, NULL);
	if (!pipesim_options_parse(context, &argc, &argv, error) ||
		!pipesim_options_no_operands(argc, argv, error))
		return PIPESIM_EXIT_USAGE;
	for (const PipesimSchedule *const *all = pipesim_schedule_list(); *all != NULL; all++) {
		if (names)
			g_string_append_printf(out, "%s\n", (*all)->name);
		else
			append_schedule(*all, out);
	}
	return pipesim_print(NULL, out, error) ? PIPESIM_EXIT_DONE : PIPESIM_EXIT_WRITE;
}

const PipesimCommand pipesim_command_list = {
	.name = "list",
	.summary = "schedules, aliases, constraints",
	.run = run,
};
