#include "config.h"

#include "base/distance.h"
#include "base/large.h"
#include "cli/options.h"
#include <locale.h>
#include <signal.h>
#include <string.h>

static const PipesimCommand *const commands[] = {
#define COMMAND(id) &pipesim_command_##id,
#include "cli/list.h"
#undef COMMAND
	NULL,
};

static const PipesimCommand *find_command(const char *name)
{
	for (guint i = 0; commands[i] != NULL; i++)
		if (strcmp(commands[i]->name, name) == 0)
			return commands[i];
	return NULL;
}

/* The first operand is a command; the default one takes none. */
static void fail_unknown(const char *name, GError **error)
{
	for (guint i = 0; commands[i] != NULL && strlen(name) < 64; i++)
		if (pipesim_distance(commands[i]->name, name) <= 2) {
			pipesim_fail(error, PIPESIM_ERROR_USAGE,
				"unknown command '%s'; did you mean '%s'?", name,
				commands[i]->name);
			return;
		}
	pipesim_fail(error, PIPESIM_ERROR_USAGE,
		"unknown command '%.64s'; options begin with --", name);
}

PipesimExit pipesim_exit_status(const GError *error)
{
	if (error->domain == G_FILE_ERROR || error->domain == G_KEY_FILE_ERROR)
		return PIPESIM_EXIT_INPUT;
	if (error->domain != PIPESIM_ERROR)
		return PIPESIM_EXIT_USAGE;
	switch ((PipesimErrorCode)error->code) {
	case PIPESIM_ERROR_PARSE:
	case PIPESIM_ERROR_INCOMPLETE:
		return PIPESIM_EXIT_INPUT;
	case PIPESIM_ERROR_EXTERNAL:
		return PIPESIM_EXIT_EXTERNAL;
	case PIPESIM_ERROR_WRITE:
		return PIPESIM_EXIT_WRITE;
	case PIPESIM_ERROR_DEADLOCK: /* of what a file holds, or of what was asked for */
	case PIPESIM_ERROR_LIMIT:
		return pipesim_error_location(error)->path != NULL ? PIPESIM_EXIT_INPUT
								   : PIPESIM_EXIT_USAGE;
	case PIPESIM_ERROR_USAGE:
	case PIPESIM_ERROR_CONSTRAINT:
		return PIPESIM_EXIT_USAGE;
	}
	g_return_val_if_reached(PIPESIM_EXIT_USAGE);
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

static PipesimExit print_version(GError **error)
{
	g_autoptr(GString) text = g_string_new(PACKAGE_STRING "\n");

	return pipesim_print(NULL, text, error) ? PIPESIM_EXIT_DONE : PIPESIM_EXIT_WRITE;
}

int main(int argc, char **argv)
{
	const PipesimCommand *command = argc > 1 ? find_command(argv[1]) : NULL;
	g_autoptr(GError) error = NULL;
	PipesimExit status = PIPESIM_EXIT_USAGE;

	setlocale(LC_CTYPE, "");  /* not LC_NUMERIC: numbers in files keep their point */
	signal(SIGPIPE, SIG_IGN); /* a closed pipe is a failed write, reported as such */
	g_set_prgname("pipesim");
	pipesim_keep_memory();
	if (argc == 2 && (strcmp(argv[1], "--version") == 0 || strcmp(argv[1], "-V") == 0)) {
		status = print_version(&error);
	} else if (command != NULL) {
		g_autofree char *name = g_strconcat("pipesim ", command->name, NULL);

		g_set_prgname(name); /* what --help calls it */
		status = command->run(argc - 1, argv + 1, &error);
	} else if (argc > 1 && argv[1][0] != '-') {
		fail_unknown(argv[1], &error);
	} else {
		status = commands[0]->run(argc, argv, &error);
	}
	if (error != NULL) {
		print_error(error);
		status = pipesim_exit_status(error);
	}
	return (int)status;
}
