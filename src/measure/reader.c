#include "config.h"

#include "measure/reader.h"

#include <string.h>

static const PipesimReader *const readers[] = {
#define READER(id) &pipesim_reader_##id,
#include "measure/list.h"
#undef READER
};

const PipesimReader *pipesim_reader_find(const char *head, gsize length)
{
	guint i = 0;

	/* The last takes what no other knows, and says what is wrong with it. */
	while (i < G_N_ELEMENTS(readers) - 1 && !readers[i]->is(head, length))
		i++;
	return readers[i];
}

/* Enough for what profilers print above their tables. */
#define HEAD ((gsize)32768)

PipesimTrace *pipesim_trace_read_input(
	PipesimInput *input, const PipesimRangeRules *rules, GError **error)
{
	g_autoptr(PipesimInput) owned = input;
	const char *data;
	gsize length;

	if (!pipesim_input_peek(input, HEAD, &data, &length, error))
		return NULL;
	g_autofree char *head = g_strndup(data, MIN(length, HEAD));
	if (g_str_has_prefix(head, "[pipesim-costs]")) {
		pipesim_fail_at(error, pipesim_input_name(input), 1, 1,
			"a costs file, not a trace; give it to --costs");
		return NULL;
	}
	return pipesim_reader_find(head, strlen(head))
		->read(g_steal_pointer(&owned), rules, error);
}

PipesimTrace *pipesim_trace_read(
	const char *path, const PipesimRangeRules *rules, GError **error)
{
	PipesimInput *input = pipesim_input_open(path, error);

	return input != NULL ? pipesim_trace_read_input(input, rules, error) : NULL;
}
