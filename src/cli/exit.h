/* What the program's end means to scripts. */
#pragma once
#include "base/error.h"

typedef enum {
	PIPESIM_EXIT_DONE = 0,
	PIPESIM_EXIT_NO = 1,        /* the answer is no */
	PIPESIM_EXIT_USAGE = 2,     /* unknown option or schedule, impossible shape */
	PIPESIM_EXIT_INPUT = 3,     /* a bad input file */
	PIPESIM_EXIT_EXTERNAL = 4,  /* an external program is missing or failed */
	PIPESIM_EXIT_WRITE = 5,     /* cannot write */
	PIPESIM_EXIT_STOPPED = 130, /* stopped by a signal; what was done is kept */
} PipesimExit;

/** pipesim_exit_status: what @error means. */
PipesimExit pipesim_exit_status(const GError *error);
