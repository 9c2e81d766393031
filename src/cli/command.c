#include "cli/command.h"

/* It needs what all commands are, so that whoever runs it prints: pipesim_help(). */
const PipesimCommand pipesim_command_help = {
	.name = "help",
	.summary = "what options mean, by topic or command",
	.usage = "[TOPIC|COMMAND|OPTION]",
	.operand = "a topic",
};

const PipesimCommand *const pipesim_commands[] = {
#define COMMAND(id) &pipesim_command_##id,
#include "cli/list.h"
#undef COMMAND
	NULL,
};

static gboolean is_taken(guint taken, PipesimSettingId setting)
{
	return taken == setting ||
	       (taken > PIPESIM_NO_GROUP && taken == pipesim_settings[setting].group);
}

gboolean pipesim_command_takes(const PipesimCommand *command, PipesimSettingId id)
{
	/* The help has none but itself. */
	if (pipesim_settings[id].everywhere)
		return command->run != NULL;
	return pipesim_any(i, G_N_ELEMENTS(command->takes), is_taken(command->takes[i], id));
}

const PipesimCommand *pipesim_command_find(const char *name)
{
	for (guint i = 0; pipesim_commands[i] != NULL; i++)
		if (strcmp(pipesim_commands[i]->name, name) == 0)
			return pipesim_commands[i];
	return NULL;
}

char *pipesim_command_owners(PipesimSettingId id)
{
	GString *names = g_string_new(NULL);

	for (guint i = 0; id != PIPESIM_SET_NONE && pipesim_commands[i] != NULL; i++)
		if (pipesim_command_takes(pipesim_commands[i], id))
			pipesim_list_more(names, "%s", pipesim_commands[i]->name);
	return g_string_free(names, FALSE);
}

PipesimWording pipesim_command_word(const PipesimCommand *command, PipesimSettingId id)
{
	const PipesimSetting *setting = &pipesim_settings[id];
	PipesimWording words = {id, setting->argument, setting->help, setting->values};

	for (guint i = 0; i < G_N_ELEMENTS(command->wording); i++) {
		const PipesimWording *own = &command->wording[i];

		if (own->setting == id && own->argument != NULL)
			words.argument = own->argument;
		if (own->setting == id && own->help != NULL)
			words.help = own->help;
		if (own->setting == id && own->values != NULL)
			words.values = own->values;
	}
	return words;
}

/* Completion ----------------------------------------------------------------------------- */

/* Words of one line; only the first stands unquoted. */
static G_GNUC_NULL_TERMINATED void append_row(GString *out, const char *first, ...)
{
	va_list words;

	g_string_append(out, first);
	va_start(words, first);
	for (const char *word; (word = va_arg(words, const char *)) != NULL;) {
		g_autofree char *quoted = g_shell_quote(word);

		g_string_append_printf(out, " %s", quoted);
	}
	va_end(words);
	g_string_append_c(out, '\n');
}

/* What is known of a value; for g_free(). */
static char *value_of(PipesimSettingPath path, const PipesimWording *words)
{
	if (path == PIPESIM_PATH_SCHEDULES)
		return g_strdup(
			strchr(words->argument, ',') != NULL ? "@schedules" : "@schedule");
	if (path != PIPESIM_PATH_NONE && path != PIPESIM_PATH_LAYOUT &&
		path != PIPESIM_PATH_DEVICE)
		return g_strconcat("@", words->values != NULL ? words->values : "*", NULL);
	return g_strdup(words->values != NULL ? words->values : "");
}

static void append_option(
	GString *out, const char *commands, PipesimSettingId id, const PipesimWording *words)
{
	const PipesimSetting *setting = &pipesim_settings[id];
	const char letter[] = {setting->letter != 0 ? '-' : '\0', setting->letter, '\0'};
	g_autofree char *value = value_of(setting->path, words);
	g_autofree char *argument = g_strconcat(words->argument != NULL ? words->argument : "",
		setting->repeated ? "..." : "", NULL);

	append_row(out, "_pipesim_option", commands, setting->name, letter, argument, value,
		words->help, NULL);
	if (setting->old_name != NULL && setting->argument != NULL)
		append_row(out, "_pipesim_alias", commands, setting->old_name, argument, value,
			NULL);
}

/* One row for all commands that say of it what the table says; the others have their own. */
static void append_options(GString *out, PipesimSettingId id)
{
	const PipesimSetting *setting = &pipesim_settings[id];
	const PipesimWording table = {id, setting->argument, setting->help, setting->values};
	g_autoptr(GString) names = g_string_new(NULL);

	for (guint i = 0; pipesim_commands[i] != NULL; i++) {
		const PipesimCommand *command = pipesim_commands[i];
		const PipesimWording words = pipesim_command_word(command, id);

		if (!pipesim_command_takes(command, id))
			continue;
		if (g_strcmp0(words.argument, table.argument) == 0 &&
			g_strcmp0(words.help, table.help) == 0 &&
			g_strcmp0(words.values, table.values) == 0)
			g_string_append_printf(
				names, "%s%s", names->len > 0 ? " " : "", command->name);
		else
			append_option(out, command->name, id, &words);
	}
	if (names->len > 0)
		append_option(out, names->str, id, &table);
}

GString *pipesim_keys(void)
{
	GString *out = g_string_new(NULL);

	for (guint i = 0; pipesim_commands[i] != NULL; i++) {
		g_autoptr(PipesimJson) json =
			pipesim_json_new_names(out, pipesim_commands[i]->name);

		if (pipesim_commands[i]->members != NULL)
			pipesim_json_document(json, pipesim_commands[i]->members, NULL);
	}
	return out;
}

/* What help is on, but for options. */
static char *list_topics(void)
{
	GString *words = g_string_new(pipesim_commands[0]->name);

	for (guint topic = 0; topic < PIPESIM_N_TOPICS; topic++)
		g_string_append_printf(words, " %s", pipesim_topics[topic].name);
	for (guint i = 1; pipesim_commands[i] != NULL; i++)
		if (strcmp(pipesim_commands[i]->name, "model") != 0) /* a topic too */
			g_string_append_printf(words, " %s", pipesim_commands[i]->name);
	return g_string_free(words, FALSE);
}

GString *pipesim_completion(void)
{
	GString *out = g_string_new(NULL);
	g_autoptr(GString) names = g_string_new(NULL);

	for (guint i = 0; pipesim_commands[i] != NULL; i++) {
		const PipesimCommand *command = pipesim_commands[i];
		const PipesimSettingPath path = command->operands;
		const PipesimSettingId like = path == PIPESIM_PATH_READ_ONCE
						      ? PIPESIM_SET_TRACE
						      : PIPESIM_SET_SCHEDULE;
		const PipesimWording words = {
			.argument = command->usage, .values = pipesim_settings[like].values};
		/* Operands that are no files are names of schedules. */
		g_autofree char *value = command->run == NULL        ? list_topics()
					 : path == PIPESIM_PATH_NONE ? g_strdup("@name")
								     : value_of(path, &words);

		append_row(out, "_pipesim_command", command->name, command->summary, NULL);
		if (command->operand != NULL)
			append_row(out, "_pipesim_operand", command->name, value, NULL);
		g_string_append_printf(names, "%s%s", i > 0 ? " " : "", command->name);
	}
	for (guint id = 1; id < PIPESIM_N_SETTINGS; id++)
		append_options(out, id);
	append_row(out, "_pipesim_option", names->str, "--help", "-h", "", "", "show this help",
		NULL);
	return out;
}
