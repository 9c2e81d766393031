/* Walks side by side, in rounds after which each may go on from what another has found. */
#include "optimize/state.h"

/* Moves that a walk looks at between two looks at the others. */
#define ROUND       4096
#define SHORT_ROUND 500
/* Rounds that a small effort is divided into. */
#define ROUNDS 64
/* Heat at the end of a cycle, in average ops. */
#define COLDEST 0.03
/* Orders that a walk lets the engine run in a round; of quantiles the rest of the search knows less. */
#define JUDGED       16
#define JUDGED_DRAWN 160

/* Ends of the cycles, as parts of the whole effort. */
static const double cycles[] = {0, 0.1, 0.4, 1};

static gboolean run_walk(
	gsize item, gpointer own G_GNUC_UNUSED, gpointer data, GError **error G_GNUC_UNUSED)
{
	/* Half of the walks begin hot, for what needs many moves at once; the others hardly leave the units that
	 * they begin from. */
	static const double hottest[] = {0.4, 0.04, 0.9, 0.2};
	const PipesimSearchState *s = data;
	const double hot = hottest[item % G_N_ELEMENTS(hottest)];

	/* Where the engine judges an order as short as the bound is not yet the end. */
	pipesim_walk_run(&s->walks[item], s->round_moves,
		s->op * hot * pow(COLDEST / hot, s->part),
		s->judged ? -1 : s->found->bound->time);
	return TRUE;
}

/* By the engine: from the best that it knows, whatever makes it no longer. */
static gboolean run_judged(
	gsize item, gpointer own G_GNUC_UNUSED, gpointer data, GError **error G_GNUC_UNUSED)
{
	PipesimSearchState *s = data;
	PipesimWalk *walk = &s->walks[item];
	guint8 *codes = s->judged_codes[item];
	g_autofree guint8 *next = g_new(guint8, s->n);
	gint64 makespan = s->judged_makespan;
	const guint n = s->of->by_quantile ? JUDGED_DRAWN : JUDGED;

	s->judged_spans[item] = makespan;
	if (makespan == G_MAXINT64)
		return TRUE;
	memcpy(codes, s->judged_best, s->n);
	if (!pipesim_walk_begin(walk, codes))
		return TRUE;
	for (guint i = 0; i < n && !pipesim_search_is_late(s); i++) {
		if (!pipesim_walk_step(walk, walk->makespan + walk->makespan / 50))
			break;
		pipesim_walk_codes(walk, next);
		gint64 judged = pipesim_judge_codes(&s->judge, next);
		if (judged <= makespan) {
			makespan = judged;
			memcpy(codes, next, s->n);
		} else {
			pipesim_walk_begin(walk, codes);
		}
	}
	s->judged_spans[item] = makespan;
	return TRUE;
}

static void in_parallel(
	PipesimSearchState *s, gboolean (*run)(gsize, gpointer, gpointer, GError **))
{
	const PipesimParallel work = {
		.n_items = s->n_walks, .threads = s->of->threads, .run = run, .data = s};

	pipesim_parallel(&work, NULL);
}

/* Takes what the walks have found. */
static void gather(PipesimSearchState *s)
{
	s->found->moves = s->moves_before;
	for (guint i = 0; i < s->n_walks; i++) {
		PipesimWalk *walk = &s->walks[i];
		gint64 makespan = walk->best_makespan;

		s->found->moves += walk->moves;
		if (makespan < s->best_makespan) {
			s->best_makespan = makespan;
			memcpy(s->best, walk->best, s->n);
		}
		if (makespan >= s->known[i])
			continue;
		s->known[i] = makespan;
		if (s->judged)
			makespan = pipesim_judge_codes(&s->judge, walk->best);
		if (s->judged && makespan < s->judged_makespan) {
			s->judged_makespan = makespan;
			memcpy(s->judged_best, walk->best, s->n);
		}
		pipesim_search_offer_codes(s, walk->best, makespan);
	}
}

/* Where the engine judges and walks know nothing of queues: lets it run orders, and takes what that has found. */
static void judge_all(PipesimSearchState *s)
{
	gint64 best = s->judged_makespan;
	guint from = s->n_walks;

	if (!s->judged || s->queue_walks != NULL)
		return;
	in_parallel(s, run_judged);
	/* Of equals the last one that is none longer: ways over a plain lead somewhere too. */
	for (guint i = 0; i < s->n_walks; i++)
		if (s->judged_spans[i] < best ||
			(s->judged_spans[i] == best && from == s->n_walks)) {
			best = s->judged_spans[i];
			from = i;
		}
	if (from == s->n_walks || best == G_MAXINT64)
		return;
	s->judged_makespan = best;
	memcpy(s->judged_best, s->judged_codes[from], s->n);
	pipesim_search_offer_codes(s, s->judged_best, best);
}

/* Of each two walks one goes on from the best of all, the other from its own. At first those that hardly leave what they
 * begin from have the shortest one where it is in step on all ranks: others lose that at once. */
static void begin_cycle(PipesimSearchState *s, gboolean first)
{
	const guint shift = s->codes->pdata[0] == s->paired;

	for (guint i = 0; i < s->n_walks; i++) {
		PipesimWalk *walk = &s->walks[i];
		const guint8 *codes = i % 2 == 0 ? s->best : walk->best;

		if (first)
			codes = s->codes->pdata[(i + shift) % MIN(s->codes->len, 4u)];
		else if (s->judged_makespan < G_MAXINT64 && i % 4 == 0)
			codes = s->judged_best;
		g_autofree guint8 *own = g_memdup2(codes, s->n);
		pipesim_walk_begin(walk, own);
		s->known[i] = walk->best_makespan;
	}
}

void pipesim_search_run_rounds(PipesimSearchState *s)
{
	s->began = g_get_monotonic_time();
	s->walk_moves = s->of->moves;
	s->walk_deadline = s->of->deadline;
	if (s->queue_walks != NULL) {
		s->walk_moves = s->moves_before +
				(s->walk_moves - MIN(s->walk_moves, s->moves_before)) /
					PIPESIM_SEARCH_PLAIN_PART;
		if (s->walk_deadline > 0)
			s->walk_deadline = s->began + (s->walk_deadline - s->began) /
							      PIPESIM_SEARCH_PLAIN_PART;
	}
	begin_cycle(s, TRUE);
	pipesim_search_justify(s);
	gather(s);
	while (!pipesim_search_is_over(s, s->walk_moves, s->walk_deadline)) {
		const guint64 most = s->walk_moves - MIN(s->walk_moves, s->moves_before);
		const double over = pipesim_effort_part(
			s->found->moves - s->moves_before, most, s->began, s->walk_deadline);
		const double part = MIN(over, 1);
		guint64 round = ROUND, left = ROUND * (guint64)s->n_walks;

		if (part >= cycles[s->cycle + 1] && s->cycle + 2 < G_N_ELEMENTS(cycles)) {
			judge_all(s);
			s->cycle++;
			begin_cycle(s, FALSE);
			pipesim_search_justify(s);
		}
		s->part = (part - cycles[s->cycle]) / (cycles[s->cycle + 1] - cycles[s->cycle]);
		if (s->walk_moves > 0)
			round = CLAMP(s->walk_moves / s->n_walks / ROUNDS, SHORT_ROUND, ROUND);
		if (s->walk_moves > s->found->moves)
			left = s->walk_moves - s->found->moves;
		s->round_moves = (guint)MIN(round, (left + s->n_walks - 1) / s->n_walks);
		in_parallel(s, run_walk);
		gather(s);
	}
	if (!s->found->stopped)
		judge_all(s);
}
