/* Walks side by side where messages go by queues: hot at first, as what is short without queues is not with them. */
#include "optimize/state.h"

/* Ops that a walk tells between two looks at the others, about, and that take as long as a move of other walks. */
#define ROUND       200000
#define MOVE_VISITS 800
/* Heat at the end, in average ops; the part of the effort of what grows before. */
#define COLDEST 0.01
#define GROWN   0.8

typedef struct {
	PipesimSearchState *s;
	guint64 before; /* moves */
	gint64 began;
	gboolean grown; /* the first walk begins from what has grown */
	double part;    /* of the effort that is over */
	guint round;
	gint64 *known; /* [walk]: makespan of its best when it was last looked at */
} Queues;

static gboolean run_walk(
	gsize item, gpointer own G_GNUC_UNUSED, gpointer data, GError **error G_GNUC_UNUSED)
{
	static const double hottest[] = {0.8, 0.04}, grown[] = {0.1, 0.04};
	const Queues *queues = data;
	const double hot = (queues->grown ? grown : hottest)[item % G_N_ELEMENTS(hottest)];

	pipesim_queue_walk_run(&queues->s->queue_walks[item], queues->round,
		queues->s->op * hot * pow(COLDEST / hot, queues->part));
	return TRUE;
}

/* Each from an order of its own, of the shortest with queues. */
static void begin_walks(PipesimSearchState *s)
{
	const guint n = s->codes->len;
	g_autofree gint64 *spans = g_new(gint64, n);

	for (guint i = 0; i < n; i++) {
		pipesim_queue_walk_begin(s->queue_walks, s->codes->pdata[i]);
		spans[i] = s->queue_walks->makespan;
	}
	for (guint i = 0; i < n; i++) {
		guint before = 0;

		for (guint k = 0; k < n; k++)
			before += spans[k] < spans[i] || (spans[k] == spans[i] && k < i);
		for (guint w = 0; w < s->n_queue_walks; w++)
			if (w % n == before)
				pipesim_queue_walk_begin(
					&s->queue_walks[w], s->codes->pdata[i]);
	}
}

/* Whether an order that has grown is shorter than all others to begin from. */
static gboolean grow(PipesimSearchState *s)
{
	guint8 *codes = pipesim_search_grow(s, GROWN);

	if (codes == NULL)
		return FALSE;
	gint64 makespan = pipesim_judge_codes(&s->judge, codes);
	pipesim_search_offer_codes(s, codes, makespan);
	g_ptr_array_add(s->codes, codes);
	if (makespan >= s->judged_makespan)
		return FALSE;
	s->judged_makespan = makespan;
	return TRUE;
}

void pipesim_search_run_queues(PipesimSearchState *s)
{
	const PipesimSearchOf *of = s->of;
	const gboolean grown = grow(s);
	Queues queues = {.s = s,
		.grown = grown,
		.before = s->found->moves,
		.began = g_get_monotonic_time(),
		.known = g_new(gint64, s->n_queue_walks)};
	const PipesimParallel work = {.n_items = s->n_queue_walks,
		.threads = of->threads,
		.run = run_walk,
		.data = &queues};
	const guint64 most = of->moves - MIN(of->moves, queues.before);
	guint64 looks;

	for (guint i = 0; i < s->n_queue_walks; i++)
		queues.known[i] = s->judged_makespan;
	begin_walks(s);
	while (!pipesim_search_is_over(s, of->moves, of->deadline)) {
		const guint64 left = of->moves - MIN(of->moves, s->found->moves);
		const double part = pipesim_effort_part(
			s->found->moves - queues.before, most, queues.began, of->deadline);

		queues.round = (guint)(ROUND / s->n) + 1;
		if (most > 0)
			queues.round = (guint)MIN(
				queues.round, left * MOVE_VISITS / s->n / s->n_queue_walks + 1);
		queues.part = MIN(part, 1);
		pipesim_parallel(&work, NULL);
		/* What the walks have found is taken by the word of the engine. */
		looks = 0;
		for (guint i = 0; i < s->n_queue_walks; i++) {
			PipesimQueueWalk *walk = &s->queue_walks[i];

			looks += walk->looks;
			if (walk->best_makespan >= queues.known[i])
				continue;
			queues.known[i] = walk->best_makespan;
			pipesim_search_offer_codes(
				s, walk->best, pipesim_judge_codes(&s->judge, walk->best));
		}
		s->found->moves = queues.before + looks * s->n / MOVE_VISITS;
	}
	g_free(queues.known);
}
