#include "config.h"

#include "model/trace-csv.h"
#include "model/trace-profile.h"
#include "model/trace-read.h"

/* The first byte that is not blank, past a byte order mark; 0 in an empty file. */
static char first_byte(const char *head, gsize length)
{
	gsize i = length >= 3 && head[0] == '\xef' ? 3 : 0;

	while (i < length && g_ascii_isspace(head[i]))
		i++;
	return i < length ? head[i] : '\0';
}

#define HEAD ((gsize)4096)

PipesimTrace *pipesim_trace_read(
	const char *path, const PipesimRangeRules *rules, GError **error)
{
	g_autoptr(PipesimInput) input = pipesim_input_open(path, error);
	const char *head;
	gsize length;

	if (input == NULL || !pipesim_input_peek(input, HEAD, &head, &length, error))
		return NULL;
	const char first = first_byte(head, length);
	if (first == '{' || first == '[')
		return pipesim_trace_read_profile(g_steal_pointer(&input), rules, error);
	return pipesim_trace_read_csv(g_steal_pointer(&input), error);
}
