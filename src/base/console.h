/* What a call of the library has in place of the terminal. */
#pragma once
#include "pipesim.h"
#include <stdio.h>

typedef struct {
	char *name;       /* what the program would be called, with its command; owned */
	GString *out;     /* standard output */
	GString *said;    /* standard error, but for progress */
	PipesimTell tell; /* NULL: nobody asks; else it gets what @out would */
	gpointer data;
	gint stop;   /* 1: asked to */
	gint64 told; /* when progress was, us; 0: no work has begun */
} PipesimConsole;

/** pipesim_console: that of this thread; NULL: those of the process. Threads that a command starts have none: they
 * write nothing. */
PipesimConsole *pipesim_console(void);

/** pipesim_console_enter: from now on this thread's is @console, the caller's; NULL: none again. */
void pipesim_console_enter(PipesimConsole *console);

/** pipesim_console_tell: @text to who asks, who may ask to stop. */
void pipesim_console_tell(PipesimConsole *console, PipesimTold what, const char *text);

/** pipesim_console_write: @length bytes to its standard output. */
void pipesim_console_write(PipesimConsole *console, const char *data, gsize length);

/** pipesim_console_stream: standard output of this thread as a stream: stdout, or one to be closed. NULL with errno. */
FILE *pipesim_console_stream(void);

/** pipesim_program_name: what the program is called, with its command once that is known: "pipesim compare". */
const char *pipesim_program_name(void);
void pipesim_program_set_name(const char *name);
