#include "config.h"

#include "cli/command.h"
#include "cli/completion.h"

/* "--schedule | -s) " */
static void append_pattern(GString *out, const PipesimSetting *setting)
{
	g_string_append_printf(out, "\t%s", setting->name);
	if (setting->letter != 0)
		g_string_append_printf(out, " | -%c", setting->letter);
	g_string_append(out, ") ");
}

static void append_value(GString *out, const PipesimSetting *setting)
{
	append_pattern(out, setting);
	if (setting->path == PIPESIM_PATH_SCHEDULES)
		g_string_append(out, "_pipesim_schedules");
	else if (setting->path != PIPESIM_PATH_NONE)
		g_string_append_printf(out, "_pipesim_files '%s'",
			setting->values != NULL ? setting->values : "*");
	else if (setting->values != NULL)
		g_string_append_printf(out, "_pipesim_words %s", setting->values);
	else
		g_string_append_c(out, ':'); /* nothing that could be known */
	g_string_append(out, " ;;\n");
}

static void append_options(GString *out, const PipesimCommand *command)
{
	const gboolean first = command == pipesim_commands[0];

	g_string_append_printf(
		out, "\t%s)\n\t\t_pipesim_words --help", first ? "*" : command->name);
	if (first)
		g_string_append(out, " --version");
	for (guint id = 1; id < PIPESIM_N_SETTINGS; id++)
		if (pipesim_command_takes(command, id))
			g_string_append_printf(out, " \\\n\t\t\t%s", pipesim_settings[id].name);
	g_string_append(out, " ;;\n");
}

GString *pipesim_completion(void)
{
	GString *out = g_string_new("_pipesim_commands='");

	for (guint i = 0; pipesim_commands[i] != NULL; i++)
		g_string_append_printf(
			out, "%s%s", i > 0 ? " " : "", pipesim_commands[i]->name);
	g_string_append(out, "'\n\n"
			     "_pipesim_value() # OPTION: completes its value; false where it "
			     "takes none\n{\n\tcase $1 in\n");
	for (guint id = 1; id < PIPESIM_N_SETTINGS; id++)
		if (pipesim_settings[id].argument != NULL)
			append_value(out, &pipesim_settings[id]);
	g_string_append(out, "\t*) return 1 ;;\n\tesac\n\treturn 0\n}\n\n"
			     "_pipesim_options() # COMMAND\n{\n\tcase $1 in\n");
	/* The default command stands for any that is not named: last. */
	for (guint i = 1; pipesim_commands[i] != NULL; i++)
		append_options(out, pipesim_commands[i]);
	append_options(out, pipesim_commands[0]);
	g_string_append(out, "\tesac\n}\n");
	return out;
}
