/* What the program says of itself: by command, by topic, by option. All of it is of the tables of commands and
 * settings. */
#include "cli/help.h"
#include "output/table.h"

#define WIDTH  80
#define INDENT 27 /* of what stands beside an option */

static void append_row(
	GString *out, char letter, const char *name, const char *argument, const char *help)
{
	const gsize begin = out->len;

	g_string_append(out, "  ");
	if (letter != 0)
		g_string_append_printf(out, "-%c, ", letter);
	g_string_append_printf(out, "%s%s%s", name, argument != NULL ? "=" : "",
		argument != NULL ? argument : "");
	guint column = (guint)(out->len - begin);
	if (column + 2 > INDENT) {
		g_string_append_c(out, '\n');
		column = 0;
	}
	g_string_append_printf(out, "%*s", INDENT - (int)column, "");
	pipesim_wrap(out, help, INDENT, INDENT, WIDTH);
}

/* What it may be, where @help does not say so itself: "; one of a, b, c". */
static char *with_values(const PipesimSetting *setting, const char *help, const char *values)
{
	g_auto(GStrv) words = g_strsplit(values != NULL ? values : "", " ", -1);
	g_autofree char *list = g_strjoinv(", ", words);
	gboolean said = TRUE;

	for (char **word = words; *word != NULL; word++)
		said &= strstr(help, *word) != NULL;
	if (said || setting->argument == NULL ||
		(setting->path != PIPESIM_PATH_NONE && setting->path != PIPESIM_PATH_DEVICE))
		return g_strdup(help);
	return g_strdup_printf("%s; %s%s", help,
		setting->path == PIPESIM_PATH_NONE ? "one of " : "a file or ", list);
}

static void append_commands(GString *out)
{
	g_string_append(out, "Commands:\n");
	/* What the help is stands below them. */
	for (guint i = 0; pipesim_commands[i] != NULL; i++)
		if (pipesim_commands[i]->run != NULL)
			g_string_append_printf(out, "  %-10s %s\n", pipesim_commands[i]->name,
				pipesim_commands[i]->summary);
}

static void append_topics(GString *out)
{
	for (guint topic = 0; topic < PIPESIM_N_TOPICS; topic++)
		g_string_append_printf(out, "%s%s",
			topic == 0                      ? ""
			: topic + 1 == PIPESIM_N_TOPICS ? " or "
							: ", ",
			pipesim_topics[topic].name);
}

GString *pipesim_help(void)
{
	GString *out = g_string_new(
		"pipesim: compares, plans and diagnoses pipeline-parallel training "
		"schedules\n\n"
		"  pipesim --pp 8 --microbatches 20       compare schedules at unit times\n"
		"  pipesim --pp 8 -m 64 --times F=24,B=47 at your own times, in ms\n"
		"  pipesim job.ini                        run what a job file asks for\n\n");

	append_commands(out);
	g_string_append(out, "\nOptions everybody needs:\n");
	for (guint id = 1; id < PIPESIM_N_SETTINGS; id++) {
		const PipesimSetting *setting = &pipesim_settings[id];

		if (setting->basic != NULL)
			append_row(out, setting->letter, setting->name,
				pipesim_command_word(pipesim_commands[0], id).argument,
				setting->basic);
	}
	g_string_append(
		out, "\nMore: 'pipesim help COMMAND', or by topic 'pipesim help TOPIC':\n");
	append_topics(out);
	g_string_append(out, "\n");
	return out;
}

GString *pipesim_help_command(const PipesimCommand *command)
{
	GString *out = g_string_new(NULL);

	g_string_append_printf(out, "Usage: pipesim %s [OPTION...]%s%s\n\n", command->name,
		command->usage != NULL ? " " : "",
		command->usage != NULL ? command->usage : "");
	pipesim_wrap(
		out, command->about != NULL ? command->about : command->summary, 0, 0, WIDTH);
	for (guint topic = 0; topic < PIPESIM_N_TOPICS; topic++) {
		gboolean any = FALSE;

		for (guint id = 1; id < PIPESIM_N_SETTINGS; id++) {
			const PipesimSetting *setting = &pipesim_settings[id];
			const PipesimWording words = pipesim_command_word(command, id);

			if (setting->topic != topic || !pipesim_command_takes(command, id))
				continue;
			if (!any)
				g_string_append_printf(out, "\n%c%s:\n",
					g_ascii_toupper(*pipesim_topics[topic].name),
					pipesim_topics[topic].name + 1);
			any = TRUE;
			append_row(out, setting->letter, setting->name, words.argument,
				words.help);
		}
	}
	if (command->examples != NULL)
		g_string_append_printf(out, "\n%s", command->examples);
	return out;
}

static GString *help_topic(PipesimTopic topic)
{
	GString *out = g_string_new(NULL);

	g_string_append_printf(
		out, "%s: %s\n\n", pipesim_topics[topic].name, pipesim_topics[topic].about);
	for (guint id = 1; id < PIPESIM_N_SETTINGS; id++) {
		const PipesimSetting *setting = &pipesim_settings[id];
		g_autofree char *takers = pipesim_command_owners(id);
		g_autofree char *words =
			pipesim_command_takes(pipesim_commands[0], id)
				? g_strdup(setting->help)
				: g_strdup_printf("%s [%s]", setting->help, takers);

		if (setting->topic == topic)
			append_row(
				out, setting->letter, setting->name, setting->argument, words);
	}
	g_string_append(out,
		"\n[command]: of these commands alone. The manual says more: man pipesim\n");
	if (pipesim_command_find(pipesim_topics[topic].name) != NULL)
		g_string_append_printf(out,
			"There is a command of this name too: pipesim %s --help\n",
			pipesim_topics[topic].name);
	return out;
}

static GString *help_option(PipesimSettingId id)
{
	const PipesimSetting *setting = &pipesim_settings[id];
	GString *out = g_string_new(NULL);
	g_autofree char *takers = pipesim_command_owners(id);
	g_autofree char *help = with_values(setting, setting->help, setting->values);

	append_row(out, setting->letter, setting->name, setting->argument, help);
	g_string_append_printf(out, "\nTopic: %s. Commands: %s.\n",
		pipesim_topics[setting->topic].name, takers);
	if (setting->old_name != NULL)
		g_string_append_printf(out, "Old name: %s.\n", setting->old_name);
	return out;
}

GString *pipesim_help_on(const char *word, GError **error)
{
	const PipesimCommand *command = pipesim_command_find(word);
	const PipesimSettingId id = pipesim_setting_find(word);
	g_autoptr(GString) topics = g_string_new(NULL);
	const char *best = NULL;
	guint least = 4; /* more letters make another word */

	for (guint topic = 0; topic < PIPESIM_N_TOPICS; topic++)
		if (strcmp(pipesim_topics[topic].name, word) == 0)
			return help_topic(topic);
	if (command != NULL)
		return pipesim_help_command(command);
	if (id != PIPESIM_SET_NONE)
		return help_option(id);
	if (strlen(word) < 64) {
		for (guint topic = 0; topic < PIPESIM_N_TOPICS; topic++)
			pipesim_nearer(word, pipesim_topics[topic].name, &least, &best);
		for (guint i = 0; pipesim_commands[i] != NULL; i++)
			pipesim_nearer(word, pipesim_commands[i]->name, &least, &best);
	}
	append_topics(topics);
	return pipesim_refuse_null(error, "no help on '%.64s'; %s%s%sthe topics are %s", word,
		best != NULL ? "did you mean '" : "", best != NULL ? best : "",
		best != NULL ? "'? " : "", topics->str);
}

/* Manuals ---------------------------------------------------------------------------------- */

/* @text as a sentence of mdoc, a line. */
static void append_sentence(GString *out, const char *text)
{
	g_auto(GStrv) parts = g_strsplit(text, "\\", -1);
	g_autofree char *escaped = g_strjoinv("\\e", parts);

	if (*escaped == '.' || *escaped == '\'')
		g_string_append(out, "\\&");
	g_string_append_c(
		out, g_ascii_isupper(escaped[1]) ? *escaped : g_ascii_toupper(*escaped));
	g_string_append_printf(out, "%s.\n", escaped + 1);
}

GString *pipesim_manual(const PipesimCommand *command)
{
	GString *out = g_string_new(".Sh OPTIONS\n");

	for (guint topic = 0; topic < PIPESIM_N_TOPICS; topic++) {
		gboolean any = FALSE;

		for (guint id = 1; id < PIPESIM_N_SETTINGS; id++) {
			const PipesimSetting *setting = &pipesim_settings[id];
			const PipesimWording words = pipesim_command_word(command, id);
			g_autofree char *help = NULL;

			if (setting->topic != topic || !pipesim_command_takes(command, id))
				continue;
			if (!any)
				g_string_append_printf(out, ".Ss %c%s\n.Bl -tag -width Ds\n",
					g_ascii_toupper(*pipesim_topics[topic].name),
					pipesim_topics[topic].name + 1);
			any = TRUE;
			g_string_append(out, ".It ");
			if (setting->letter != 0)
				g_string_append_printf(out, "Fl %c%s%s , ", setting->letter,
					words.argument != NULL ? " Ar " : "",
					words.argument != NULL ? words.argument : "");
			g_string_append_printf(out, "Fl %s%s%s\n", setting->name + 1,
				words.argument != NULL ? " Ns = Ns Ar " : "",
				words.argument != NULL ? words.argument : "");
			help = with_values(setting, words.help, words.values);
			append_sentence(out, help);
		}
		if (any)
			g_string_append(out, ".El\n");
	}
	return out;
}
