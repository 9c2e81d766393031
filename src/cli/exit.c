#include "config.h"

#include "cli/exit.h"

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
