/* What all that takes part in a search asks of it, and tells it. */
#include "optimize/state.h"

void pipesim_search_offer(
	PipesimSearchState *s, const PipesimOrder *order, gint64 value, const char *from)
{
	PipesimFound *found = s->found;
	gint64 shown = value;

	if (!s->of->by_quantile && value >= found->makespan)
		return;
	/* Of quantiles, by more samples than are shown: but by those that are shown none of the orders that are
	 * known is shorter. */
	if (s->of->by_quantile) {
		if (value == G_MAXINT64 || (s->knows && value >= s->value))
			return;
		shown = pipesim_judge_shown(&s->judge, order);
		if (s->knows ? shown > s->known_best : shown >= found->makespan)
			return;
		s->value = value;
	}
	pipesim_program_unref(found->program);
	found->program = pipesim_program_ref(order->program);
	found->makespan = shown;
	g_free(found->from);
	found->from = g_strdup(from);
}

void pipesim_search_offer_codes(PipesimSearchState *s, const guint8 *codes, gint64 value)
{
	if (!s->of->by_quantile && value >= s->found->makespan)
		return;
	g_autoptr(PipesimOrder) order = pipesim_instance_order(s->found->instance, codes, NULL);
	if (order != NULL)
		pipesim_search_offer(s, order, value, NULL);
}

gboolean pipesim_search_is_stopped(PipesimSearchState *s)
{
	const PipesimSearchOf *of = s->of;
	const PipesimSearchNews news = {
		s->found->makespan, s->found->bound->time, s->found->moves};

	s->found->stopped |= (of->tell != NULL && !of->tell(&news, of->data)) ||
			     (of->stop != NULL && g_atomic_int_get(of->stop) != 0);
	return s->found->stopped;
}

gboolean pipesim_search_is_over(PipesimSearchState *s, guint64 moves, gint64 deadline)
{
	if (pipesim_search_is_stopped(s) || pipesim_search_is_proven(s))
		return TRUE;
	if (deadline > 0)
		return g_get_monotonic_time() >= deadline ||
		       (moves > 0 && s->found->moves >= moves);
	return s->found->moves >= moves;
}
