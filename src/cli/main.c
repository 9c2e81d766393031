#include "config.h"

#include "base/distance.h"
#include "base/large.h"
#include "cli/command.h"
#include <locale.h>
#include <signal.h>
#include <string.h>

static const PipesimCommand *find_command(const char *name)
{
	for (guint i = 0; pipesim_commands[i] != NULL; i++)
		if (strcmp(pipesim_commands[i]->name, name) == 0)
			return pipesim_commands[i];
	return NULL;
}

/* The first operand is a command; the default one takes none. */
static void fail_unknown(const char *name, GError **error)
{
	for (guint i = 0; pipesim_commands[i] != NULL && strlen(name) < 64; i++)
		if (pipesim_distance(pipesim_commands[i]->name, name) <= 2) {
			pipesim_fail(error, PIPESIM_ERROR_USAGE,
				"unknown command '%s'; did you mean '%s'?", name,
				pipesim_commands[i]->name);
			return;
		}
	pipesim_fail(error, PIPESIM_ERROR_USAGE,
		"unknown command '%.64s'; options begin with --", name);
}

/* Errors of files begin with their place, so that editors jump there; the others with our name.
 */
static void print_error(const GError *error)
{
	const gboolean located =
		error->domain == PIPESIM_ERROR && pipesim_error_location(error)->path != NULL;

	g_printerr("%s%s\n", located ? "" : "pipesim: ", error->message);
	if (pipesim_exit_status(error) == PIPESIM_EXIT_USAGE)
		g_printerr("Try '%s --help'.\n", g_get_prgname());
}

/* What the program says of itself; NULL where @option asks for nothing of that kind. */
static GString *describe(const char *option)
{
	if (strcmp(option, "--version") == 0 || strcmp(option, "-V") == 0)
		return g_string_new(PACKAGE_STRING "\n");
	if (strcmp(option, "--completion") == 0) /* for completions/pipesim; in no help */
		return pipesim_completion();
	return NULL;
}

int main(int argc, char **argv)
{
	const PipesimCommand *command = argc > 1 ? find_command(argv[1]) : NULL;
	g_autoptr(GString) description = argc == 2 ? describe(argv[1]) : NULL;
	g_autoptr(GError) error = NULL;
	PipesimExit status;

	setlocale(LC_CTYPE, "");  /* not LC_NUMERIC: numbers in files keep their point */
	signal(SIGPIPE, SIG_IGN); /* a closed pipe is a failed write, reported as such */
	g_set_prgname("pipesim");
	pipesim_keep_memory();
	if (description != NULL) {
		status = pipesim_print(NULL, description, &error) ? PIPESIM_EXIT_DONE
								  : PIPESIM_EXIT_WRITE;
	} else if (command != NULL) {
		g_autofree char *name = g_strconcat("pipesim ", command->name, NULL);

		g_set_prgname(name); /* what --help calls it */
		status = pipesim_command_run(command, argc - 1, argv + 1, &error);
	} else if (argc > 1 && argv[1][0] != '-') {
		fail_unknown(argv[1], &error);
		status = PIPESIM_EXIT_USAGE;
	} else {
		status = pipesim_command_run(pipesim_commands[0], argc, argv, &error);
	}
	if (error != NULL)
		print_error(error);
	return (int)status;
}
