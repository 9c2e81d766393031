/* Which runtime sends and receives how. */
#include "config.h"

#include <string.h>

#include "output/notes.h"
#include "output/table.h"

/* "queue for zb-h1, zb-h2", of the schedules whose messages wait so. */
static void append_users(GString *out, const PipesimComparison *comparison, PipesimComm comm)
{
	const char *before = " for ";

	for (guint i = 0; i < comparison->runs->len; i++) {
		const PipesimRun *run = g_ptr_array_index(comparison->runs, i);

		if (run->error != NULL || run->comm != comm)
			continue;
		if (*before == ' ')
			g_string_append_printf(
				out, "%s%s", out->len > 0 ? "; " : "", pipesim_comm_name(comm));
		g_string_append_printf(out, "%s%s", before, run->name);
		before = ", ";
	}
}

void pipesim_comm_title(const PipesimComparison *comparison, guint width, GString *out)
{
	static const char *const rules[PIPESIM_N_COMM] = {
		[PIPESIM_COMM_QUEUE] = "sends and receives of a rank wait in one queue",
		[PIPESIM_COMM_SINGLE] = "a rank receives just before the op that needs it",
		[PIPESIM_COMM_GROUPED] = "before each op a rank waits for all it has posted",
	};
	const PipesimComm comm = comparison->scenario.comm;
	g_autoptr(GString) users = g_string_new(NULL);
	guint column = sizeof "Messages, : " - 1;

	if (comm == PIPESIM_COMM_ASYNC)
		return;
	column += (guint)strlen(pipesim_comm_name(comm));
	g_string_append_printf(out, "Messages, %s: ", pipesim_comm_name(comm));
	for (guint i = 0; comm == PIPESIM_COMM_NATIVE && i < PIPESIM_COMM_NATIVE; i++)
		append_users(users, comparison, i);
	pipesim_wrap(
		out, comm == PIPESIM_COMM_NATIVE ? users->str : rules[comm], 10, column, width);
	g_string_append_c(out, '\n');
}
