#include "config.h"

#include "measure/trace-csv.h"
#include "measure/trace-nccl.h"
#include "measure/trace-nsys.h"
#include "measure/trace-profile.h"
#include "measure/trace-read.h"
#include "measure/trace-summary.h"

/* The first byte that is not blank, past a byte order mark; 0 in an empty file. */
static char first_byte(const char *head)
{
	if (g_str_has_prefix(head, "\xef\xbb\xbf"))
		head += 3;
	while (g_ascii_isspace(*head))
		head++;
	return *head;
}

/* Enough for what profilers print above their tables. */
#define HEAD ((gsize)32768)

PipesimTrace *pipesim_trace_read(
	const char *path, const PipesimRangeRules *rules, GError **error)
{
	g_autoptr(PipesimInput) input = pipesim_input_open(path, error);
	const char *data;
	gsize length;

	if (input == NULL || !pipesim_input_peek(input, HEAD, &data, &length, error))
		return NULL;
	g_autofree char *head = g_strndup(data, MIN(length, HEAD));
	if (g_str_has_prefix(head, "[pipesim-costs]")) {
		pipesim_fail_at(error, pipesim_input_name(input), 1, 1,
			"a costs file, not a trace; give it to --costs");
		return NULL;
	}
	const char first = first_byte(head);
	if (first == '{' || first == '[')
		return pipesim_trace_read_profile(g_steal_pointer(&input), rules, error);
	if (pipesim_trace_is_nsys(head))
		return pipesim_trace_read_nsys(g_steal_pointer(&input), rules, error);
	if (pipesim_trace_is_nccl(head))
		return pipesim_trace_read_nccl(g_steal_pointer(&input), error);
	if (pipesim_trace_is_summary(head))
		return pipesim_trace_read_summary(g_steal_pointer(&input), error);
	return pipesim_trace_read_csv(g_steal_pointer(&input), error);
}
