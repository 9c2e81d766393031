#include "cli/program.h"
#include <locale.h>
#include <signal.h>

int main(int argc, char **argv)
{
	g_autoptr(GError) error = NULL;

	setlocale(LC_CTYPE, "");  /* not LC_NUMERIC: numbers in files keep their point */
	signal(SIGPIPE, SIG_IGN); /* a closed pipe is a failed write, reported as such */
	pipesim_end_on_interrupt();
	g_set_prgname("pipesim");
	pipesim_keep_memory();
	pipesim_input_watch();
	PipesimExit status = pipesim_program_run(argc, argv, &error);
	pipesim_end_progress();
	/* Errors of files begin with their place, so that editors jump there; the others with our
	 * name. */
	if (error != NULL) {
		const gboolean located = error->domain == PIPESIM_ERROR &&
					 pipesim_error_location(error)->path != NULL;

		g_printerr("%s%s\n", located ? "" : "pipesim: ", error->message);
		if (pipesim_exit_status(error) == PIPESIM_EXIT_USAGE)
			g_printerr("Try '%s --help'.\n", pipesim_program_name());
	}
	return (int)status;
}
