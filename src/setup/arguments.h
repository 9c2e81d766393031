/* Arguments as shell scripts, YAML and TOML have them, with their places. */
#pragma once
#include "base/base.h"

/* One argument: its name without dashes in front, '-' for '_'; of TOML "section.key" as it is. */
typedef struct {
	char *name, *value; /* value: "" for a flag */
	guint line, column;
	gboolean used; /* its reader's */
} PipesimArgument;

/** pipesim_arguments_new: an array of PipesimArgument, for g_array_unref(). */
GArray *pipesim_arguments_new(void);

/** pipesim_arguments_shell: appends to @all those of a script: "--name", "--name=value", and words behind it, until the
 * next one, or the end of a line that goes on nowhere. Variables that are set are followed, commands are not run. */
void pipesim_arguments_shell(GArray *all, const char *text);

/** pipesim_arguments_lines: the same of lines "- key: value", "--key: value", or, of @toml, "key = value" below
 * "[section]". */
void pipesim_arguments_lines(GArray *all, const char *text, gboolean toml);
