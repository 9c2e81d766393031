/* What the program says of its commands and options. */
#pragma once
#include "cli/command.h"

/** pipesim_help: the first page: commands, and the options that everybody needs. */
GString *pipesim_help(void);

/** pipesim_help_command: what @command does, and its options by topic. */
GString *pipesim_help_command(const PipesimCommand *command);

/** pipesim_help_on: what there is on @word: a topic, a command or an option. NULL with PIPESIM_ERROR_USAGE. */
GString *pipesim_help_on(const char *word, GError **error);

/** pipesim_manual: the options of @command by topic, as its manual has them, in mdoc. */
GString *pipesim_manual(const PipesimCommand *command);
