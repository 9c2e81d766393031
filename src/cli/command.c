#include "config.h"

#include "base/distance.h"
#include "cli/command.h"
#include <string.h>

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

static gboolean takes(const PipesimCommand *command, PipesimSettingId id)
{
	for (guint i = 0; i < G_N_ELEMENTS(command->takes); i++)
		if (is_taken(command->takes[i], id))
			return TRUE;
	return FALSE;
}

/* Options -------------------------------------------------------------------------------- */

/* What @command says of one setting. */
static PipesimWording word(const PipesimCommand *command, PipesimSettingId id)
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

/* The entry of one setting; what is parsed lands in @setup. */
static void add_entry(GArray *entries, const PipesimCommand *command, PipesimSettingId id,
	PipesimSetup *setup)
{
	const PipesimSetting *setting = &pipesim_settings[id];
	/* Bytes as they are, whatever the locale. */
	const gboolean path = setting->path != PIPESIM_PATH_NONE;
	const PipesimWording words = word(command, id);
	GOptionEntry entry = {
		.long_name = setting->name + 2,
		.short_name = setting->letter,
		.description = words.help,
		.arg_description = words.argument,
	};

	if (setting->argument == NULL) {
		entry.arg = G_OPTION_ARG_NONE;
		entry.arg_data = &setup->flag[id];
	} else if (setting->repeated) {
		entry.arg = path ? G_OPTION_ARG_FILENAME_ARRAY : G_OPTION_ARG_STRING_ARRAY;
		entry.arg_data = &setup->list[id];
	} else {
		entry.arg = path ? G_OPTION_ARG_FILENAME : G_OPTION_ARG_STRING;
		entry.arg_data = &setup->text[id];
	}
	g_array_append_val(entries, entry);
	if (setting->other_name != NULL) {
		entry.long_name = setting->other_name + 2;
		entry.short_name = 0;
		entry.flags = G_OPTION_FLAG_HIDDEN;
		g_array_append_val(entries, entry);
	}
}

/* Running -------------------------------------------------------------------------------- */

/* "-p8" is "-p 8", which GOption does not know. The array is the caller's; its texts are those of
 * @argv, or of @owned. */
static char **split_letters(
	const PipesimCommand *command, int *argc, char *const *argv, GPtrArray *owned)
{
	char **split = g_new0(char *, 2 * (gsize)*argc + 1);
	gboolean options = TRUE;
	int n = 0;

	for (int i = 0; i < *argc; i++) {
		char *text = argv[i];

		options &= strcmp(text, "--") != 0;
		split[n++] = text;
		if (!options || i == 0 || text[0] != '-' || text[1] == '-' || text[1] == '\0' ||
			text[2] == '\0')
			continue;
		for (guint id = 1; id < PIPESIM_N_SETTINGS; id++)
			if (pipesim_settings[id].letter == text[1] && takes(command, id)) {
				split[n - 1] = g_strndup(text, 2);
				g_ptr_array_add(owned, split[n - 1]);
				split[n++] = text + 2;
			}
	}
	*argc = n;
	return split;
}

/* "--report is an option of compare, not of sweep": FALSE where no other command has it. */
static gboolean tell_owners(const PipesimCommand *command, const char *name, GError *error)
{
	g_autoptr(GString) owners = g_string_new(NULL);
	PipesimSettingId id = 1;

	while (id < PIPESIM_N_SETTINGS && strcmp(pipesim_settings[id].name, name) != 0)
		id++;
	for (guint i = 0; id < PIPESIM_N_SETTINGS && pipesim_commands[i] != NULL; i++)
		if (takes(pipesim_commands[i], id))
			g_string_append_printf(owners, "%s%s", owners->len > 0 ? ", " : "",
				pipesim_commands[i]->name);
	if (owners->len == 0)
		return FALSE;
	g_free(error->message);
	error->message = g_strdup_printf(
		"%s is an option of %s, not of %s", name, owners->str, command->name);
	return TRUE;
}

/* "unknown option --shedule; did you mean --schedule?" */
static void suggest_option(const PipesimCommand *command, GError *error)
{
	const char *begin = strstr(error->message, "--");
	g_autofree char *name = begin != NULL ? g_strndup(begin, strcspn(begin, "=")) : NULL;
	const PipesimSetting *best = NULL;
	guint least = 3; /* more letters make another word */

	if (name == NULL || strlen(name) >= 64 || tell_owners(command, name, error))
		return;
	for (guint id = 1; id < PIPESIM_N_SETTINGS; id++) {
		const guint distance = pipesim_distance(pipesim_settings[id].name, name);

		if (takes(command, id) && distance < least) {
			least = distance;
			best = &pipesim_settings[id];
		}
	}
	if (best != NULL) {
		g_autofree char *message = error->message;

		error->message = g_strdup_printf("%s; did you mean %s?", message, best->name);
	}
}

/* Options into @setup, operands behind argv[0]. */
static gboolean parse(const PipesimCommand *command, int *argc, char ***argv,
	PipesimSetup *setup, gboolean *help, GError **error)
{
	GOptionContext *context = g_option_context_new(command->usage);
	const GOptionEntry show_help = {
		"help", 'h', 0, G_OPTION_ARG_NONE, help, "show this help", NULL};
	g_autoptr(GArray) entries = g_array_new(TRUE, FALSE, sizeof(GOptionEntry));
	g_autoptr(GString) about = g_string_new(command->about);
	gboolean ok;

	for (guint i = 0; i < G_N_ELEMENTS(command->takes); i++)
		for (guint id = 1; id < PIPESIM_N_SETTINGS; id++)
			if (is_taken(command->takes[i], id))
				add_entry(entries, command, id, setup);
	g_array_append_val(entries, show_help);
	g_option_context_set_help_enabled(context, FALSE);
	g_option_context_add_main_entries(
		context, (const GOptionEntry *)(gconstpointer)entries->data, NULL);
	/* The default command's help is the program's: it lists the commands. */
	if (command == pipesim_commands[0]) {
		g_string_append(about, "\n\nCommands:\n");
		for (guint i = 0; pipesim_commands[i] != NULL; i++)
			g_string_append_printf(about, "  %-9s  %s\n", pipesim_commands[i]->name,
				pipesim_commands[i]->summary);
		g_string_append(about, "'pipesim COMMAND --help' shows the options of a "
				       "command, 'pipesim --version' the version.");
	}
	if (about->len > 0)
		g_option_context_set_summary(context, about->str);
	g_option_context_set_description(context, command->examples);
	ok = g_option_context_parse(context, argc, argv, error);
	if (ok && *help) {
		/* GOption itself prints an ellipsis, which is no ASCII, and does not notice a full disk. */
		g_autofree char *words = g_option_context_get_help(context, TRUE, NULL);
		g_autoptr(GString) text = g_string_new(words);

		g_string_replace(text, "[OPTION\u2026]", "[OPTION...]", 1);
		g_string_replace(text, "Application Options:", "Options:", 1);
		ok = pipesim_print(NULL, text, error);
	}
	g_option_context_free(context);
	if (!ok && g_error_matches(*error, G_OPTION_ERROR, G_OPTION_ERROR_UNKNOWN_OPTION))
		suggest_option(command, *error);
	/* "Unknown option": all other messages begin in lower case. */
	if (!ok && (*error)->domain == G_OPTION_ERROR)
		*(*error)->message = g_ascii_tolower(*(*error)->message);
	return ok;
}

/* What was typed, as a shell takes it. */
static char *join_arguments(int argc, char *const *argv)
{
	GString *line = g_string_new(g_get_prgname());

	for (int i = 1; i < argc; i++) {
		g_autofree char *word = pipesim_shell_word(argv[i]);

		g_string_append_printf(line, " %s", word);
	}
	return g_string_free(line, FALSE);
}

/* Where the models lie: as the environment says, or beside the program, where it was built. NULL is where
 * they were installed. */
static char *find_data(void)
{
	g_autofree char *program = g_file_read_link("/proc/self/exe", NULL);
	g_autofree char *folder = program != NULL ? g_path_get_dirname(program) : NULL;
	g_autofree char *models =
		folder != NULL ? g_build_filename(folder, "models", NULL) : NULL;
	const char *said = g_getenv("PIPESIM_DATADIR");

	if (said != NULL)
		return g_strdup(said);
	return models != NULL && g_file_test(models, G_FILE_TEST_IS_DIR)
		       ? g_steal_pointer(&folder)
		       : NULL;
}

static void show_reading(guint done, guint all)
{
	pipesim_print_progress("traces read", done, all);
}

PipesimExit pipesim_command_run(
	const PipesimCommand *command, int argc, char **argv, GError **error)
{
	g_autofree char *data = find_data();
	g_auto(PipesimSetup) setup = {.command_line = join_arguments(argc, argv),
		.data = data,
		.notice = pipesim_print_notice,
		.progress = show_reading,
		.notices = g_ptr_array_new_with_free_func(g_free)};
	PipesimExit answer = PIPESIM_EXIT_DONE;
	g_autoptr(GPtrArray) owned = g_ptr_array_new_with_free_func(g_free);
	g_autofree char **split = NULL;
	gboolean help = FALSE, ok;

	argv = split = split_letters(command, &argc, argv, owned);
	ok = parse(command, &argc, &argv, &setup, &help, error);
	setup.searches = takes(command, PIPESIM_SET_MOVES);
	if (ok && !help) {
		setup.operands = argv + 1;
		setup.n_operands = argc > 1 ? (guint)argc - 1 : 0;
		/* What holds for all commands, then the command itself. */
		if (command->operand == NULL && setup.n_operands > 0)
			ok = pipesim_fail(error, PIPESIM_ERROR_USAGE, "unexpected operand '%s'",
				setup.operands[0]);
		else
			ok = pipesim_setup_check_paths(&setup, command->ranges, command->folder,
				     command->operand, command->operands, error) &&
			     pipesim_setup_check_writable(
				     &setup, command->folder != NULL, error) &&
			     (command->ranges || pipesim_setup_read(&setup, error)) &&
			     command->run(&setup, &answer, error);
	}
	return ok ? answer : pipesim_exit_status(*error);
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
}

/* One row for all commands that say of it what the table says; the others have their own. */
static void append_options(GString *out, PipesimSettingId id)
{
	const PipesimSetting *setting = &pipesim_settings[id];
	const PipesimWording table = {id, setting->argument, setting->help, setting->values};
	g_autoptr(GString) names = g_string_new(NULL);

	for (guint i = 0; pipesim_commands[i] != NULL; i++) {
		const PipesimCommand *command = pipesim_commands[i];
		const PipesimWording words = word(command, id);

		if (!takes(command, id))
			continue;
		if (words.argument == table.argument && words.help == table.help &&
			words.values == table.values)
			g_string_append_printf(
				names, "%s%s", names->len > 0 ? " " : "", command->name);
		else
			append_option(out, command->name, id, &words);
	}
	if (names->len > 0)
		append_option(out, names->str, id, &table);
}

void pipesim_command_json(const PipesimCommand *command, gconstpointer of, GString *out)
{
	g_autoptr(PipesimJson) json = pipesim_json_new(out);

	command->members(json, of);
}

GString *pipesim_keys(void)
{
	GString *out = g_string_new(NULL);

	for (guint i = 0; pipesim_commands[i] != NULL; i++) {
		g_autoptr(PipesimJson) json =
			pipesim_json_new_names(out, pipesim_commands[i]->name);

		if (pipesim_commands[i]->members != NULL)
			pipesim_commands[i]->members(json, NULL);
	}
	return out;
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
			.argument = command->operand, .values = pipesim_settings[like].values};
		/* Operands that are no files are names of schedules. */
		g_autofree char *value =
			path == PIPESIM_PATH_NONE ? g_strdup("@name") : value_of(path, &words);

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
