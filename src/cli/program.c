#include "cli/program.h"
#include "cli/help.h"
#include "cli/run.h"

/* The first operand is a command; the default one takes none. */
static gboolean fail_command(const char *first, GError **error)
{
	for (guint i = 0; pipesim_commands[i] != NULL && strlen(first) < 64; i++)
		if (pipesim_distance(pipesim_commands[i]->name, first) <= 2)
			return pipesim_refuse(error, "unknown command '%s'; did you mean '%s'?",
				first, pipesim_commands[i]->name);
	return pipesim_refuse(error,
		"unknown command '%.64s'; options begin with --, names of job files end in "
		".ini",
		first);
}

PipesimExit pipesim_program_run(int argc, char **argv, GError **error)
{
	const char *first = argc > 1 ? argv[1] : "";
	const PipesimCommand *command = pipesim_command_find(first);
	g_autoptr(GString) description = NULL;

	if (argc == 2 && (strcmp(first, "--version") == 0 || strcmp(first, "-V") == 0))
		description = g_string_new(PACKAGE_STRING "\n");
	else if (argc == 2 && strcmp(first, "--completion") == 0)
		description = pipesim_completion(); /* for completions/pipesim; in no help */
	else if (argc == 2 && strcmp(first, "--keys") == 0)
		description = pipesim_keys(); /* for docs/output.md; likewise */
	else if (argc == 3 && strcmp(first, "--manual") == 0 &&
		 pipesim_command_find(argv[2]) != NULL)
		description = pipesim_manual(
			pipesim_command_find(argv[2])); /* for docs/pipesim-COMMAND.1 */
	if (description != NULL)
		return pipesim_print(NULL, description, error) ? PIPESIM_EXIT_DONE
							       : PIPESIM_EXIT_WRITE;
	if (command != NULL) {
		g_autofree char *name = g_strconcat("pipesim ", command->name, NULL);

		/* "pipesim help --pp" asks about an option. */
		if (command->run == NULL && argc == 3 &&
			pipesim_setting_find(argv[2]) != PIPESIM_SET_NONE)
			argv[2] += strspn(argv[2], "-");
		pipesim_program_set_name(name); /* what messages call it */
		return pipesim_command_run(command, pipesim_command_job(argc - 1, argv + 1),
			argc - 1, argv + 1, error);
	}
	if (first[0] != '-' && (g_str_has_suffix(first, ".ini") || strchr(first, '/') != NULL))
		return pipesim_command_run(NULL, first, argc, argv, error);
	if (argc > 1 && first[0] != '-') {
		fail_command(first, error);
		return PIPESIM_EXIT_USAGE;
	}
	return pipesim_command_run(NULL, pipesim_command_job(argc, argv), argc, argv, error);
}

/* Of callers of the library ------------------------------------------------------------------ */

struct _PipesimAnswer {
	int status;
	GString *out, *said;
};

PipesimAnswer *pipesim_call(
	const char *const *arguments, PipesimTell tell, gpointer data, GError **error)
{
	g_autoptr(PipesimAnswer) answer = g_new0(PipesimAnswer, 1);
	g_autoptr(GPtrArray) argv = g_ptr_array_new();
	g_autoptr(GError) fault = NULL;
	PipesimConsole console = {.name = g_strdup("pipesim"), .tell = tell, .data = data};

	g_return_val_if_fail(arguments != NULL, NULL);
	console.out = answer->out = g_string_new(NULL);
	console.said = answer->said = g_string_new(NULL);
	g_ptr_array_add(argv, (gpointer) "pipesim");
	for (guint i = 0; arguments[i] != NULL; i++)
		g_ptr_array_add(argv, (gpointer)arguments[i]);
	g_ptr_array_add(argv, NULL);
	pipesim_console_enter(&console);
	answer->status =
		(int)pipesim_program_run((int)argv->len - 1, (char **)argv->pdata, &fault);
	pipesim_console_enter(NULL);
	g_free(console.name);
	if (fault == NULL)
		return g_steal_pointer(&answer);
	g_propagate_error(error, g_steal_pointer(&fault));
	return NULL;
}

PIPESIM_FREES(PipesimAnswer, pipesim_answer_free, answer)
{
	g_string_free(answer->out, TRUE);
	g_string_free(answer->said, TRUE);
	g_free(answer);
}

int pipesim_answer_status(const PipesimAnswer *answer)
{
	return answer->status;
}

const char *pipesim_answer_output(const PipesimAnswer *answer, gsize *length)
{
	if (length != NULL)
		*length = answer->out->len;
	return answer->out->str;
}

const char *pipesim_answer_said(const PipesimAnswer *answer)
{
	return answer->said->str;
}

void pipesim_error_free(GError *error)
{
	g_clear_error(&error);
}

void pipesim_free(gpointer memory)
{
	g_free(memory);
}

int pipesim_error_status(const GError *error)
{
	return (int)pipesim_exit_status(error);
}
