/* Ways to train, told apart and put together. */
#include "plan/plan.h"
#include "plan/planner-ways.h"

gboolean pipesim_plan_same_way(const PipesimCandidate *a, const PipesimCandidate *b)
{
	const PipesimTraining *x = &a->training, *y = &b->training;

	return a->ranks == b->ranks && x->tp == y->tp && x->cp == y->cp && x->dp == y->dp &&
	       x->ep == y->ep && x->etp == y->etp && x->microbatch == y->microbatch &&
	       x->zero == y->zero;
}

/* What is simple: little is computed again, then schedules as they stand in their list, then fewer chunks. */
static guint64 complexity(const PipesimWish *wish, const PipesimCandidate *candidate)
{
	const PipesimTraining *training = &candidate->training;
	guint64 at = training->full ? (training->each != NULL       ? 24
					      : training->first > 0 ? 16
								    : 32)
				    : (guint64)__builtin_popcount(training->recompute);

	at *= PIPESIM_MAX_CHUNKS;
	for (guint i = 0;
		wish->schedules[i] != NULL && wish->schedules[i] != candidate->schedule; i++)
		at++;
	return at * (PIPESIM_MAX_CHUNKS + 1) + candidate->chunks;
}

/* Whether @one of @members of a row may be the shortest of it with a layout of its own: the shortest without, and of each
 * schedule the simplest, which is what a plan of that schedule alone lays out. */
static gboolean is_apart(
	const PipesimWish *wish, const GPtrArray *members, const PipesimCandidate *one)
{
	if (one == members->pdata[0])
		return TRUE;
	return !pipesim_any_in(const PipesimCandidate, other, members,
		other->schedule == one->schedule &&
			complexity(wish, other) < complexity(wish, one));
}

/* @members of a row, the shortest first, as one. @shortest (nullable) takes those that are rows of their own. */
static PipesimCandidate put_together(
	const PipesimWish *wish, const GPtrArray *members, GArray *shortest)
{
	const PipesimCandidate *simplest = members->pdata[0];
	g_autoptr(GString) alike = g_string_new(NULL);
	char room[64];

	pipesim_each_in (const PipesimCandidate, other, members)
		if (complexity(wish, other) < complexity(wish, simplest))
			simplest = other;
	pipesim_each_in (const PipesimCandidate, other, members) {
		g_autofree char *recompute = pipesim_plan_recompute(&other->training, "+");
		const gboolean same =
			other->training.full == simplest->training.full &&
			other->training.recompute == simplest->training.recompute &&
			other->training.first == simplest->training.first &&
			other->training.each == simplest->training.each;
		const gboolean apart = shortest != NULL && is_apart(wish, members, other);

		if (apart && complexity(wish, other) != complexity(wish, simplest))
			g_array_append_vals(shortest, other, 1);
		if (other != simplest && !apart)
			pipesim_list_more(alike, "%s%s%s",
				pipesim_plan_schedule(other, room, sizeof room),
				same ? "" : " with recompute ", same ? "" : recompute);
		if (other->alike != NULL)
			pipesim_list_more(alike, "%s", other->alike);
	}
	PipesimCandidate row = *simplest;
	row.alike = alike->len > 0 ? g_intern_string(alike->str) : NULL;
	return row;
}

GArray *pipesim_plan_group(
	const PipesimWish *wish, const GArray *found, guint most, GArray *shortest)
{
	g_autoptr(GPtrArray) rows =
		g_ptr_array_new_with_free_func((GDestroyNotify)g_ptr_array_unref);
	GArray *grouped = g_array_new(FALSE, FALSE, sizeof(PipesimCandidate));

	pipesim_each (const PipesimCandidate, one, found) {
		guint at = 0;

		for (; at < rows->len; at++) {
			GPtrArray *row = rows->pdata[at];
			const PipesimCandidate *first = row->pdata[0];
			const gboolean near = (double)one->step <= 1.01 * (double)first->step;

			if (!pipesim_plan_same_way(first, one))
				continue;
			const gboolean has = pipesim_any_in(const PipesimCandidate, other, row,
				other->schedule == one->schedule);
			if (near)
				g_ptr_array_add(row, (gpointer)one);
			if (near || has)
				break;
		}
		if (at < rows->len || rows->len == most)
			continue;
		g_ptr_array_add(rows, g_ptr_array_new());
		g_ptr_array_add(rows->pdata[at], (gpointer)one);
	}
	pipesim_each_in (GPtrArray, row, rows) {
		const PipesimCandidate one = put_together(wish, row, shortest);

		g_array_append_val(grouped, one);
	}
	return grouped;
}

/* Lists ----------------------------------------------------------------------------------- */

void pipesim_plan_insert(GArray *list, const PipesimCandidate *candidate, guint most)
{
	guint at = 0, same = 0;

	for (; at < list->len; at++) {
		const PipesimCandidate *other = &g_array_index(list, PipesimCandidate, at);

		if (other->step > candidate->step ||
			(other->step == candidate->step && other->memory > candidate->memory))
			break;
		if (pipesim_plan_same_way(other, candidate))
			return;
	}
	if (at >= most)
		return;
	g_array_insert_val(list, at, *candidate);
	for (same = at + 1; same < list->len; same++)
		if (pipesim_plan_same_way(
			    &g_array_index(list, PipesimCandidate, same), candidate)) {
			g_array_remove_index(list, same);
			break;
		}
	if (list->len > most)
		g_array_set_size(list, most);
}

gboolean pipesim_plan_is_beaten(const GArray *frontier, gint64 step, gint64 memory)
{
	pipesim_each (const PipesimCandidate, other, frontier) {
		if (other->step <= step && other->memory <= memory)
			return TRUE;
	}
	return FALSE;
}

void pipesim_plan_add_to_frontier(GArray *frontier, const PipesimCandidate *candidate)
{
	guint at = 0;

	if (pipesim_plan_is_beaten(frontier, candidate->step, candidate->memory))
		return;
	for (guint i = frontier->len; i-- > 0;) {
		const PipesimCandidate *other = &g_array_index(frontier, PipesimCandidate, i);

		if (other->step >= candidate->step && other->memory >= candidate->memory)
			g_array_remove_index(frontier, i);
	}
	while (at < frontier->len &&
		g_array_index(frontier, PipesimCandidate, at).step < candidate->step)
		at++;
	g_array_insert_val(frontier, at, *candidate);
}
