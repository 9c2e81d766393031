#include "cli/run.h"
#include "cli/help.h"
#include "output/gnuplot.h"
#include "setup/import.h"

/* Options -------------------------------------------------------------------------------- */

/* The entry of one setting; what is parsed lands in @setup. */
static void add_entry(GArray *entries, PipesimSettingId id, PipesimSetup *setup)
{
	const PipesimSetting *setting = &pipesim_settings[id];
	/* Bytes as they are, whatever the locale. */
	const gboolean path = setting->path != PIPESIM_PATH_NONE;
	GOptionEntry entry = {.long_name = setting->name + 2, .short_name = setting->letter};

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
	if (setting->old_name != NULL) {
		entry.long_name = setting->old_name + 2;
		entry.short_name = 0;
		g_array_append_val(entries, entry);
	}
}

/* Running -------------------------------------------------------------------------------- */

/* What @letter is an option of @command for, or of any where that is NULL. */
static PipesimSettingId find_letter(const PipesimCommand *command, char letter)
{
	for (guint id = 1; letter != '\0' && id < PIPESIM_N_SETTINGS; id++)
		if (pipesim_settings[id].letter == letter &&
			(command == NULL || pipesim_command_takes(command, id)))
			return id;
	return PIPESIM_SET_NONE;
}

/* Whether what stands behind @text, "--layout" or "-t", is its value, whatever that looks like. */
static gboolean awaits_value(const PipesimCommand *command, const char *text)
{
	const PipesimSettingId id = g_str_has_prefix(text, "--") ? pipesim_setting_find(text)
				    : text[0] == '-' && strlen(text) == 2
					    ? find_letter(command, text[1])
					    : PIPESIM_SET_NONE;

	return id != PIPESIM_SET_NONE && pipesim_settings[id].argument != NULL;
}

/* "-p8" is "-p 8", which GOption does not know. The array is the caller's; its texts are those of
 * @argv, or of @owned. */
static char **split_letters(
	const PipesimCommand *command, int *argc, char *const *argv, GPtrArray *owned)
{
	char **split = g_new0(char *, 2 * (gsize)*argc + 1);
	gboolean options = TRUE, value = TRUE; /* the name of the program is no option */
	int n = 0;

	for (int i = 0; i < *argc; i++) {
		char *text = argv[i];
		const gboolean plain = value;

		options &= plain || strcmp(text, "--") != 0;
		value = options && !plain && awaits_value(command, text);
		split[n++] = text;
		if (!options || plain || text[0] != '-' || text[1] == '-' || text[1] == '\0' ||
			text[2] == '\0' || find_letter(command, text[1]) == PIPESIM_SET_NONE)
			continue;
		split[n - 1] = g_strndup(text, 2);
		g_ptr_array_add(owned, split[n - 1]);
		split[n++] = text + 2;
	}
	*argc = n;
	return split;
}

/* "--report is an option of compare, not of sweep": FALSE where no other command has it. */
static gboolean tell_owners(const PipesimCommand *command, const char *name, GError *error)
{
	const PipesimSettingId id = pipesim_setting_find(name);
	g_autofree char *owners = pipesim_command_owners(id);

	if (*owners == '\0')
		return FALSE;
	g_free(error->message);
	error->message = g_strdup_printf("%s is an option of %s, not of %s",
		pipesim_settings[id].name, owners, command->name);
	return TRUE;
}

/* Whether @name is a part of the letters of @option, in their order from the first on: "--mb" of "--microbatches". */
static gboolean shortens(const char *option, const char *name)
{
	if (strncmp(option, name, 3) != 0)
		return FALSE;
	for (; *option != '\0' && *name != '\0'; option++)
		name += *option == *name;
	return *name == '\0';
}

/* The option of another command whose letter is unknown here, "--schedule" of "unknown option -s"; NULL: none. */
static char *name_of_letter(const char *message)
{
	const char *letter = strrchr(message, '-');
	const PipesimSettingId id =
		letter != NULL ? find_letter(NULL, letter[1]) : PIPESIM_SET_NONE;

	return id != PIPESIM_SET_NONE ? g_strdup(pipesim_settings[id].name) : NULL;
}

/* "unknown option --shedule; did you mean --schedule?" */
static void suggest_option(const PipesimCommand *command, GError *error)
{
	const char *begin = strstr(error->message, "--");
	g_autofree char *name = begin != NULL ? g_strndup(begin, strcspn(begin, "="))
					      : name_of_letter(error->message);
	const char *best = NULL;
	guint least; /* more letters make another word */

	if (name == NULL || strlen(name) >= 64 || tell_owners(command, name, error))
		return;
	least = MIN(3, (guint)strlen(name) - 2);
	for (guint id = 1; id < PIPESIM_N_SETTINGS; id++)
		if (pipesim_command_takes(command, id))
			pipesim_nearer(name, pipesim_settings[id].name, &least, &best);
	for (guint id = 1; best == NULL && id < PIPESIM_N_SETTINGS; id++)
		if (pipesim_command_takes(command, id) &&
			shortens(pipesim_settings[id].name, name))
			best = pipesim_settings[id].name;
	if (best != NULL) {
		g_autofree char *message = error->message;

		error->message = g_strdup_printf("%s; did you mean %s?", message, best);
	}
}

/* Names that are no longer shown go on working; standard error says the new ones. */
static void hint_names(const PipesimCommand *command, int argc, char *const *argv)
{
	for (int i = 1; i < argc && strcmp(argv[i], "--") != 0; i++) {
		const char *text = argv[i];
		g_autofree char *name = g_strndup(text, strcspn(text, "="));
		const PipesimSettingId id =
			g_str_has_prefix(name, "--") ? pipesim_setting_find(name)
			: name[0] == '-' && !name[2] ? find_letter(command, name[1])
						     : PIPESIM_SET_NONE;
		const PipesimSetting *setting = &pipesim_settings[id];

		if (id == PIPESIM_SET_NONE || !pipesim_command_takes(command, id))
			continue;
		if (name[1] == '-' && strcmp(name, setting->name) != 0) {
			g_autofree char *hint =
				g_strdup_printf("%s is now called %s", name, setting->name);

			pipesim_print_notice(hint);
		}
		/* Its value, whatever that looks like. */
		i += setting->argument != NULL && strchr(text, '=') == NULL;
	}
}

/* What --help asks for: on itself, or on a topic. */
typedef struct {
	gboolean asked;
	char *word; /* NULL: none; owned */
} Help;

static gboolean take_help(const char *option G_GNUC_UNUSED, const char *value, gpointer data,
	GError **error G_GNUC_UNUSED)
{
	Help *help = data;

	help->asked = TRUE;
	if (value != NULL) {
		g_free(help->word);
		help->word = g_strdup(value);
	}
	return TRUE;
}

/* Options into @setup, operands behind argv[0]. */
static gboolean parse(const PipesimCommand *command, int *argc, char ***argv,
	PipesimSetup *setup, Help *help, GError **error)
{
	GOptionContext *context = g_option_context_new(NULL);
	GOptionGroup *group = g_option_group_new(NULL, NULL, NULL, help, NULL);
	const GOptionEntry show_help = {"help", 'h', G_OPTION_FLAG_OPTIONAL_ARG,
		G_OPTION_ARG_CALLBACK, (gpointer)take_help, NULL, NULL};
	g_autoptr(GArray) entries = g_array_new(TRUE, FALSE, sizeof(GOptionEntry));

	for (guint id = 1; id < PIPESIM_N_SETTINGS; id++)
		if (pipesim_command_takes(command, id))
			add_entry(entries, id, setup);
	g_array_append_val(entries, show_help);
	g_option_group_add_entries(group, (const GOptionEntry *)(gconstpointer)entries->data);
	g_option_context_set_help_enabled(context, FALSE);
	g_option_context_set_main_group(context, group);
	gboolean ok = g_option_context_parse(context, argc, argv, error);
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
	GString *line = g_string_new(pipesim_program_name());

	for (int i = 1; i < argc; i++) {
		g_autofree char *word = pipesim_shell_word(argv[i]);

		g_string_append_printf(line, " %s", word);
	}
	return g_string_free(line, FALSE);
}

static void show_reading(guint done, guint all)
{
	pipesim_print_progress("traces read", done, all);
}

/* The help on @word; NULL: of @command; both: of the program. */
static gboolean print_help(const PipesimCommand *command, const char *word, GError **error)
{
	g_autoptr(GString) text = word != NULL      ? pipesim_help_on(word, error)
				  : command != NULL ? pipesim_help_command(command)
						    : pipesim_help();

	return text != NULL && pipesim_print(NULL, text, error);
}

/* Job files ------------------------------------------------------------------------------ */

const char *pipesim_command_job(int argc, char *const *argv)
{
	const char *name = pipesim_settings[PIPESIM_SET_JOB].name, *job = NULL;
	const gsize length = strlen(name);

	for (int i = 1; i < argc && strcmp(argv[i], "--") != 0; i++)
		if (strncmp(argv[i], name, length) == 0 && argv[i][length] == '=')
			job = argv[i] + length + 1;
		else if (strcmp(argv[i], name) == 0 && i + 1 < argc)
			job = argv[i + 1];
	return job;
}

/* The command of @job, or @named, of which it then must be. */
static const PipesimCommand *find_command(
	const PipesimJobFile *job, const PipesimCommand *named, GError **error)
{
	const PipesimJobPlace *at = &job->at_command;
	const PipesimCommand *command =
		job->command != NULL ? pipesim_command_find(job->command) : named;

	if (job->command != NULL && (command == NULL || command->run == NULL))
		return pipesim_fail_null_at(error, at->path, at->line, at->column,
			"no command '%.64s' for a job; 'pipesim help' shows all", job->command);
	if (job->command != NULL && named != NULL && command != named)
		return pipesim_fail_null_at(error, at->path, at->line, at->column,
			"this job is of %s, not of %s; leave out the command", command->name,
			named->name);
	return command != NULL ? command : pipesim_commands[0];
}

/* Whether @command has all that @job asks for. */
static gboolean check_job(
	const PipesimJobFile *job, const PipesimCommand *command, GError **error)
{
	g_autoptr(PipesimFaults) faults = pipesim_faults_new();

	for (guint id = 1; id < PIPESIM_N_SETTINGS; id++) {
		const PipesimJobPlace *at = &job->at[id];

		if (at->path == NULL || pipesim_command_takes(command, id))
			continue;
		g_autofree char *owners = pipesim_command_owners(id);
		pipesim_faults_add(faults, at->path, at->line, at->column,
			"%s is an option of %s, not of %s", pipesim_settings[id].name, owners,
			command->name);
	}
	return pipesim_faults_done(faults, error);
}

/* The job of --write-job into @out, if one is asked for. */
static gboolean print_job(
	const PipesimSetup *setup, const PipesimCommand *command, GString *out, GError **error)
{
	const char *path = setup->text[PIPESIM_SET_WRITE_JOB];

	if (g_strcmp0(path, "-") == 0)
		return pipesim_refuse(error, "--write-job - would mix with the result on "
					     "standard output; give it a file");
	return path == NULL || pipesim_job_file_print(setup, command->name, command->operands,
				       path, out, error);
}

static gboolean takes(gconstpointer command, PipesimSettingId id)
{
	return pipesim_command_takes(command, id);
}

/* What --from-megatron or --from-torchtitan asks for, into @setup. FALSE with an error; NULL in *@import: nothing. */
static gboolean read_import(PipesimSetup *setup, const PipesimCommand *command,
	PipesimImport **import, GError **error)
{
	const char *megatron = setup->text[PIPESIM_SET_FROM_MEGATRON];
	const char *torchtitan = setup->text[PIPESIM_SET_FROM_TORCHTITAN];

	if (megatron == NULL && torchtitan == NULL)
		return TRUE;
	if (megatron != NULL && torchtitan != NULL)
		return pipesim_refuse(error, "--from-megatron and --from-torchtitan both say "
					     "how it is trained; give one of them");
	*import = pipesim_import_read(
		megatron != NULL ? PIPESIM_SET_FROM_MEGATRON : PIPESIM_SET_FROM_TORCHTITAN,
		megatron != NULL ? megatron : torchtitan, error);
	if (*import != NULL)
		pipesim_import_apply(*import, setup,
			command->operands == PIPESIM_PATH_MODEL && setup->n_operands > 0, takes,
			command);
	return *import != NULL;
}

/* Whether a picture is asked for. */
static gboolean draws(const PipesimSetup *setup)
{
	return pipesim_any(id, PIPESIM_N_SETTINGS,
		pipesim_settings[id].path == PIPESIM_PATH_DRAWN && setup->text[id] != NULL);
}

/* All that holds for every command, then the command itself. */
static gboolean run(
	PipesimSetup *setup, const PipesimCommand *command, PipesimExit *answer, GError **error)
{
	g_autoptr(GString) job = g_string_new(NULL);

	if (command->operand == NULL && setup->n_operands > 0)
		return pipesim_refuse(error, "unexpected operand '%s'", setup->operands[0]);
	if (command->run == NULL && setup->n_operands > 1)
		return pipesim_refuse(
			error, "one topic at a time; not '%.64s' too", setup->operands[1]);
	if (command->run == NULL)
		return print_help(NULL, setup->operands[0], error);
	if (setup->flag[PIPESIM_SET_KEEP_GNUPLOT] && !draws(setup))
		return pipesim_refuse(error, "--keep-gnuplot keeps the files of a picture; add "
					     "one, for example --timeline FILE.svg");
	pipesim_gnuplot_keep(setup->flag[PIPESIM_SET_KEEP_GNUPLOT]);
	return pipesim_setup_check_paths(setup, command->ranges, command->folder,
		       command->operand, command->operands, error) &&
	       pipesim_setup_check_writable(setup, command->folder != NULL, error) &&
	       (command->ranges || pipesim_setup_read(setup, error)) &&
	       print_job(setup, command, job, error) && command->run(setup, answer, error) &&
	       (job->len == 0 || pipesim_print(setup->text[PIPESIM_SET_WRITE_JOB], job, error));
}

PipesimExit pipesim_command_run(
	const PipesimCommand *named, const char *path, int argc, char **argv, GError **error)
{
	const char *data = g_getenv("PIPESIM_DATADIR");
	g_autoptr(PipesimJobFile) job = NULL;
	g_autoptr(PipesimImport) import = NULL;
	g_auto(PipesimSetup) setup = {.command_line = join_arguments(argc, argv),
		.data = data != NULL ? data : pipesim_setup_data(),
		.progress = show_reading,
		.notices = g_ptr_array_new_with_free_func(g_free)};
	PipesimExit answer = PIPESIM_EXIT_DONE;
	g_autoptr(GPtrArray) owned = g_ptr_array_new_with_free_func(g_free);
	g_autofree char **split = NULL;
	const PipesimCommand *command = named != NULL ? named : pipesim_commands[0];
	Help help = {0};
	int first = 1; /* of the operands */

	if (path != NULL && (job = pipesim_job_file_read(path, error)) != NULL)
		command = named = find_command(job, named, error);
	if (job != NULL && command != NULL && command != pipesim_commands[0]) {
		g_autofree char *name = g_strconcat("pipesim ", command->name, NULL);

		pipesim_program_set_name(name);
	}
	if (path != NULL && (job == NULL || command == NULL))
		return pipesim_exit_status(*error);
	argv = split = split_letters(command, &argc, argv, owned);
	hint_names(command, argc, argv);
	gboolean ok = parse(command, &argc, &argv, &setup, &help, error);
	setup.searches = pipesim_command_takes(command, PIPESIM_SET_MOVES) ||
			 pipesim_command_takes(command, PIPESIM_SET_ARRIVAL_RATE);
	if (ok && help.asked) {
		ok = print_help(named, help.word, error);
	} else if (ok) {
		/* "pipesim job.ini" */
		if (job != NULL && setup.text[PIPESIM_SET_JOB] == NULL) {
			setup.text[PIPESIM_SET_JOB] = g_strdup(path);
			first++;
		}
		setup.operands = argv + first;
		setup.n_operands = argc > first ? (guint)(argc - first) : 0;
		ok = job == NULL || check_job(job, command, error);
		if (ok && job != NULL)
			pipesim_job_file_apply(job, &setup, command->operands);
		pipesim_json_name_job(setup.text[PIPESIM_SET_JOB]);
		ok = ok && read_import(&setup, command, &import, error) &&
		     run(&setup, command, &answer, error);
		pipesim_json_name_job(NULL);
		if (!ok && job != NULL)
			pipesim_job_file_locate(job, &setup, *error);
		if (!ok && import != NULL)
			pipesim_job_file_locate(import->job, &setup, *error);
	}
	for (guint i = 0; i < setup.notices->len && !(ok && setup.told); i++)
		pipesim_print_notice(setup.notices->pdata[i]);
	g_free(help.word);
	return ok ? answer : pipesim_exit_status(*error);
}
