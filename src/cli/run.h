/* From a command line to the command that it asks for. */
#pragma once
#include "cli/command.h"

/** pipesim_command_job: the job file that @argv names by --job; NULL: none. */
const char *pipesim_command_job(int argc, char *const *argv);

/** pipesim_command_run: reads @argv, of which the first is not looked at, and runs @command; at
 * --help prints what that is. Returns the status that @error, where it sets that, stands for.
 * @command: (nullable): NULL: none was named, which is that of the job, or the first one
 * @job: (nullable): the job file that @argv names, by --job or as its first operand */
PipesimExit pipesim_command_run(
	const PipesimCommand *command, const char *job, int argc, char **argv, GError **error);
