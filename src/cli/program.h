/* What a whole command line asks for. */
#pragma once
#include "cli/command.h"

/** pipesim_program_run: runs the command that @argv names, of which the first is not looked at, or prints what it asks for
 * without one. Returns the status that @error, where it sets that, stands for. */
PipesimExit pipesim_program_run(int argc, char **argv, GError **error);
