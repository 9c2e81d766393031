/* What the shell completes: the part of completions/pipesim that follows from the tables. */
#pragma once
#include <glib.h>

/** pipesim_completion: functions of bash that say which commands and options there are, and what
 * values an option takes; the same bytes every time. For g_string_free(). */
GString *pipesim_completion(void);
