/* A command of the program: one file and one line in list.h. */
#pragma once
#include "base/error.h"

/* Exit statuses that scripts rely on. */
typedef enum {
	PIPESIM_EXIT_DONE = 0,
	PIPESIM_EXIT_NO = 1,        /* the answer is no */
	PIPESIM_EXIT_USAGE = 2,     /* unknown option or schedule, impossible shape */
	PIPESIM_EXIT_INPUT = 3,     /* a bad input file */
	PIPESIM_EXIT_EXTERNAL = 4,  /* an external program is missing or failed */
	PIPESIM_EXIT_WRITE = 5,     /* cannot write */
	PIPESIM_EXIT_STOPPED = 130, /* stopped by a signal; what was done is kept */
} PipesimExit;

typedef struct {
	const char *name;
	const char *summary; /* one line for --help, no final stop */
	/* argv[0] is the command's name. Returns PIPESIM_EXIT_DONE or PIPESIM_EXIT_NO;
	 * otherwise sets @error, from which main derives the status. */
	PipesimExit (*run)(int argc, char **argv, GError **error);
} PipesimCommand;

#define COMMAND(id) extern const PipesimCommand pipesim_command_##id;
#include "cli/list.h"
#undef COMMAND

/** pipesim_exit_status: what @error means to a script. */
PipesimExit pipesim_exit_status(const GError *error);
