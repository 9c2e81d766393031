/* Going once round a deadlock, and looking for the exchange of neighbours that undoes it. */
#include "order/cycle.h"

/* Longer cycles are shown by their beginning. */
#define MAX_SHOWN 24

/* Entries that the search for a swap looks at in all: a fraction of a second. */
#define MAX_LOOKED_AT 10000000u

static gboolean same(PipesimStuck a, PipesimStuck b)
{
	return a.rank == b.rank && a.index == b.index;
}

static gboolean before(PipesimStuck a, PipesimStuck b)
{
	return a.rank < b.rank || (a.rank == b.rank && a.index < b.index);
}

GArray *pipesim_find_cycle(const PipesimWaiting *waiting, PipesimStuck from)
{
	GArray *cycle = g_array_new(FALSE, FALSE, sizeof(PipesimStuck));
	PipesimStuck slow = from, fast = from, first;
	gboolean behind;

	/* Whatever is stuck has a blocker that is stuck too: following them must come round. */
	do {
		slow = waiting->blocker(waiting->graph, slow, &behind);
		fast = waiting->blocker(waiting->graph, fast, &behind);
		fast = waiting->blocker(waiting->graph, fast, &behind);
	} while (!same(slow, fast));
	/* Told from its first entry on the lowest rank, wherever it was entered. */
	first = slow;
	for (slow = waiting->blocker(waiting->graph, fast, &behind); !same(slow, fast);
		slow = waiting->blocker(waiting->graph, slow, &behind))
		if (before(slow, first))
			first = slow;
	slow = first;
	do {
		g_array_append_val(cycle, slow);
		slow = waiting->blocker(waiting->graph, slow, &behind);
	} while (!same(slow, first));
	return cycle;
}

static void append_place(const PipesimWaiting *waiting, guint32 index, GString *out)
{
	GError *error = NULL;

	pipesim_fail(&error, PIPESIM_ERROR_DEADLOCK, "-");
	waiting->locate(waiting->data, index, error);
	const PipesimErrorPrivate *place = pipesim_error_location(error);
	g_string_append_printf(out, "\n%s:%u:%u: ", place->path, place->line, place->column);
	g_error_free(error);
}

static void append_step(const PipesimWaiting *waiting, PipesimStuck at, GString *out)
{
	waiting->print(waiting->graph, at, out);
	g_string_append_printf(out, " on rank %u", at.rank);
}

/* The entry that is to be exchanged with the next one, and its rank. */
static gboolean find_swap(
	const PipesimWaiting *waiting, const GArray *cycle, PipesimStuck *swap)
{
	guint64 looked_at = 0;

	for (guint i = 0; i < cycle->len; i++) {
		const PipesimStuck at = g_array_index(cycle, PipesimStuck, i);
		const guint32 *begin = &waiting->rank_begin[at.rank];
		const guint32 entry = waiting->entry(waiting->graph, at);

		for (guint before = 1; before <= 1; before--) {
			const guint32 index = entry - before;

			if ((before == 1 && entry == begin[0]) || index + 1 >= begin[1])
				continue;
			looked_at += waiting->size;
			if (looked_at > MAX_LOOKED_AT)
				return FALSE;
			*swap = (PipesimStuck){at.rank, index};
			if (waiting->runs_exchanged(waiting->graph, at.rank, index))
				return TRUE;
		}
	}
	return FALSE;
}

gboolean pipesim_fail_cycle(
	const PipesimWaiting *waiting, const GArray *cycle, const char *what, GError **error)
{
	/* "A waits for B, which comes after C, which waits for A" in one line; with places each
	 * on its own, of which the first comes before the whole message. */
	const gboolean lines = waiting->locate != NULL;
	g_autoptr(GString) text = g_string_new(what);
	g_autoptr(GError) deadlock = NULL;
	const PipesimStuck first = g_array_index(cycle, PipesimStuck, 0);
	PipesimStuck swap;

	g_string_append(text, ": ");
	for (guint i = 0; i < cycle->len && i < MAX_SHOWN; i++) {
		const PipesimStuck at = g_array_index(cycle, PipesimStuck, i);
		gboolean behind;
		const PipesimStuck next = waiting->blocker(waiting->graph, at, &behind);

		if (i > 0 && lines)
			append_place(waiting, waiting->entry(waiting->graph, at), text);
		else if (i > 0)
			g_string_append(text, ", which");
		if (i == 0 || lines)
			append_step(waiting, at, text);
		g_string_append(text, behind ? " comes after " : " waits for ");
		if (behind)
			waiting->print(waiting->graph, next, text);
		else
			append_step(waiting, next, text);
	}
	if (cycle->len > MAX_SHOWN && lines)
		g_string_append_printf(text, ", and so on, %u steps in all", cycle->len);
	else if (cycle->len > MAX_SHOWN)
		g_string_append(text, ", and so on round the cycle");
	if (lines && find_swap(waiting, cycle, &swap)) {
		append_place(waiting, swap.index, text);
		g_string_append(text, "exchanging ");
		waiting->print_entry(waiting->graph, swap.rank, swap.index, text);
		g_string_append(text, " and ");
		waiting->print_entry(waiting->graph, swap.rank, swap.index + 1, text);
		g_string_append_printf(text, " on rank %u repairs it", swap.rank);
	}
	pipesim_fail(&deadlock, PIPESIM_ERROR_DEADLOCK, "%s", text->str);
	if (lines)
		waiting->locate(waiting->data, waiting->entry(waiting->graph, first), deadlock);
	g_propagate_error(error, g_steal_pointer(&deadlock));
	return FALSE;
}
