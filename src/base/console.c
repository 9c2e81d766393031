#include "base/console.h"

static _Thread_local PipesimConsole *own;

PipesimConsole *pipesim_console(void)
{
	return own;
}

void pipesim_console_enter(PipesimConsole *console)
{
	own = console;
}

void pipesim_console_tell(PipesimConsole *console, PipesimTold what, const char *text)
{
	if (!console->tell(what, text, console->data))
		g_atomic_int_set(&console->stop, 1);
}

void pipesim_console_write(PipesimConsole *console, const char *data, gsize length)
{
	if (console->tell == NULL) {
		g_string_append_len(console->out, data, (gssize)length);
	} else if (length > 0) {
		g_autofree char *text = g_strndup(data, length);

		pipesim_console_tell(console, PIPESIM_TOLD_OUTPUT, text);
	}
}

static ssize_t write_through(void *console, const char *data, size_t length)
{
	pipesim_console_write(console, data, length);
	return (ssize_t)length;
}

FILE *pipesim_console_stream(void)
{
	return own == NULL
		       ? stdout
		       : fopencookie(own, "w", (cookie_io_functions_t){.write = write_through});
}

const char *pipesim_program_name(void)
{
	return own != NULL ? own->name : g_get_prgname();
}

void pipesim_program_set_name(const char *name)
{
	if (own == NULL) {
		g_set_prgname(name);
		return;
	}
	g_free(own->name);
	own->name = g_strdup(name);
}
