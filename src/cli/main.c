#include "config.h"

#include "base/distance.h"
#include "base/input.h"
#include "base/large.h"
#include "cli/command.h"
#include <locale.h>
#include <signal.h>
#include <string.h>

int main(int argc, char **argv)
{
	const char *first = argc > 1 ? argv[1] : "";
	const PipesimCommand *command = NULL;
	g_autoptr(GString) description = NULL;
	g_autoptr(GError) error = NULL;
	PipesimExit status;

	setlocale(LC_CTYPE, "");  /* not LC_NUMERIC: numbers in files keep their point */
	signal(SIGPIPE, SIG_IGN); /* a closed pipe is a failed write, reported as such */
	pipesim_end_on_interrupt();
	g_set_prgname("pipesim");
	pipesim_keep_memory();
	pipesim_input_watch();
	for (guint i = 0; pipesim_commands[i] != NULL; i++)
		if (strcmp(pipesim_commands[i]->name, first) == 0)
			command = pipesim_commands[i];
	if (argc == 2 && (strcmp(first, "--version") == 0 || strcmp(first, "-V") == 0))
		description = g_string_new(PACKAGE_STRING "\n");
	else if (argc == 2 && strcmp(first, "--completion") == 0)
		description = pipesim_completion(); /* for completions/pipesim; in no help */
	else if (argc == 2 && strcmp(first, "--keys") == 0)
		description = pipesim_keys(); /* for docs/output.md; likewise */
	if (description != NULL) {
		status = pipesim_print(NULL, description, &error) ? PIPESIM_EXIT_DONE
								  : PIPESIM_EXIT_WRITE;
	} else if (command != NULL) {
		g_autofree char *name = g_strconcat("pipesim ", command->name, NULL);

		g_set_prgname(name); /* what --help calls it */
		status = pipesim_command_run(command, argc - 1, argv + 1, &error);
	} else if (argc > 1 && first[0] != '-') {
		/* The first operand is a command; the default one takes none. */
		for (guint i = 0; pipesim_commands[i] != NULL && strlen(first) < 64; i++)
			if (error == NULL &&
				pipesim_distance(pipesim_commands[i]->name, first) <= 2)
				pipesim_fail(&error, PIPESIM_ERROR_USAGE,
					"unknown command '%s'; did you mean '%s'?", first,
					pipesim_commands[i]->name);
		if (error == NULL)
			pipesim_fail(&error, PIPESIM_ERROR_USAGE,
				"unknown command '%.64s'; options begin with --", first);
		status = PIPESIM_EXIT_USAGE;
	} else {
		status = pipesim_command_run(pipesim_commands[0], argc, argv, &error);
	}
	pipesim_end_progress();
	/* Errors of files begin with their place, so that editors jump there; the others with our
	 * name. */
	if (error != NULL) {
		const gboolean located = error->domain == PIPESIM_ERROR &&
					 pipesim_error_location(error)->path != NULL;

		g_printerr("%s%s\n", located ? "" : "pipesim: ", error->message);
		if (pipesim_exit_status(error) == PIPESIM_EXIT_USAGE)
			g_printerr("Try '%s --help'.\n", g_get_prgname());
	}
	return (int)status;
}
