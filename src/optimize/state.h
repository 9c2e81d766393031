/* A search under way, for the files that take part in it. */
#pragma once
#include "optimize/judge.h"
#include "optimize/queue-walk.h"
#include "optimize/walk.h"
#include "order/justify.h"

/* Where walks know of queues: the part of the effort of those that do not. */
#define PIPESIM_SEARCH_PLAIN_PART 6

typedef struct {
	const PipesimSearchOf *of;
	PipesimFound *found;
	PipesimShape shape;
	PipesimJudge judge;
	gboolean judged;       /* the engine has the last word */
	PipesimInstance tight; /* with room for what walks do not count */
	gint64 *besides;       /* [rank]: what an order takes of it, bytes */
	gint64 besides_of;     /* its makespan; G_MAXINT64: it does not fit */
	gboolean has_besides;
	gint64 *peak; /* [rank] */
	gint64 leanest; /* bytes of the fullest rank of the leanest order that any limit leads to */
	gsize n;        /* ops */
	GPtrArray *codes;     /* of guint8 *: where to begin, the shortest first */
	GArray *spans;        /* of gint64: their makespans where messages do not wait */
	const guint8 *paired; /* of codes: as many pairs as memory has room for; NULL: none */
	guint8 *best;         /* the shortest where messages do not wait */
	gint64 best_makespan;
	guint8 *judged_best; /* the shortest by the engine of those that are codes; NULL: none */
	gint64 judged_makespan;
	gint64 value; /* of the result, by what chooses it */
	gboolean
		knows; /* all orders that are known have been looked at; the best of them has, as shown: */
	gint64 known_best;
	PipesimArena *arena;
	PipesimWalk *walks;
	guint n_walks;
	PipesimQueueWalk *queue_walks; /* [n_queue_walks]; NULL: messages go by none */
	guint n_queue_walks;
	double op;            /* that takes as long as the average, ns */
	guint64 moves_before; /* units looked at, and moves of a search for a shorter order */
	guint round_moves;
	/* What walks may take of the effort, as PipesimSearchOf has it. */
	guint64 walk_moves;
	gint64 walk_deadline;
	gint64 began;          /* monotonic time of the first round, us */
	guint cycle;           /* from hot to cold */
	double part;           /* of it that is over */
	gint64 *known;         /* [walk]: makespan of its best when it was last looked at */
	gint64 *judged_spans;  /* [walk] */
	guint8 **judged_codes; /* [walk] */
	PipesimJustifier *justifiers; /* [walk] */
	guint justifications; /* times that each puts its order together, in this turn */
	gint64 justify_until; /* monotonic time, us; 0: only times count */
} PipesimSearchState;

static inline gboolean pipesim_search_is_late(const PipesimSearchState *s)
{
	return (s->of->deadline > 0 && g_get_monotonic_time() >= s->of->deadline) ||
	       (s->of->stop != NULL && g_atomic_int_get(s->of->stop) != 0);
}

/** pipesim_effort_part: of @most looks @done, and of the time from @began to @deadline
 * (g_get_monotonic_time()): the part that is over of whichever is further. 0 as @most or @deadline: that does not count. */
static inline double pipesim_effort_part(
	guint64 done, guint64 most, gint64 began, gint64 deadline)
{
	double part = most > 0 ? (double)done / (double)most : 0;

	if (deadline > 0) {
		const double took = (double)(g_get_monotonic_time() - began);

		part = MAX(part, took / (double)MAX(deadline - began, 1));
	}
	return part;
}

/** pipesim_search_fits: whether what each rank does is complete and holds no more than it may. */
static inline gboolean pipesim_search_fits(const PipesimSearchState *s, const guint8 *codes)
{
	return pipesim_instance_all_fit(&s->tight, codes);
}

/** pipesim_search_is_proven: whether no order can be shorter than that found. */
static inline gboolean pipesim_search_is_proven(const PipesimSearchState *s)
{
	return !s->of->by_quantile && s->found->makespan <= s->found->bound->time;
}

/** pipesim_search_offer: makes @order the result if it is shorter; @value as the judge has it.
 * @from: (nullable): whose order it is, where no move made it */
void pipesim_search_offer(
	PipesimSearchState *s, const PipesimOrder *order, gint64 value, const char *from);

/** pipesim_search_offer_codes: the same of the order @codes; @value as
 * walks have it where the judge has no last word. */
void pipesim_search_offer_codes(PipesimSearchState *s, const guint8 *codes, gint64 value);

/** pipesim_search_is_stopped: whether tell says so, then or before. */
gboolean pipesim_search_is_stopped(PipesimSearchState *s);

/** pipesim_search_is_over: whether tell says so, the bound is met, or moves and time are over. */
gboolean pipesim_search_is_over(PipesimSearchState *s, guint64 moves, gint64 deadline);

/** pipesim_search_run_rounds: lets all walks look at moves until the effort is over, the bound is met or tell says
 * so. Some order is known. */
void pipesim_search_run_rounds(PipesimSearchState *s);

/** pipesim_search_init_justifiers: whose memory sufficed or not s->arena is asked. */
void pipesim_search_init_justifiers(PipesimSearchState *s);

/** pipesim_search_justify: each walk's order is put together anew by its times, and where that makes it shorter the walk
 * goes on from there; for a part of the effort. */
void pipesim_search_justify(PipesimSearchState *s);

/** pipesim_build_justified: pipesim_build(), put together anew by its times. */
void pipesim_build_justified(const PipesimInstance *instance, guint8 *codes);

/** pipesim_search_units: in a V, the order that repeats the unit of one micro-batch whose steps are the shortest, for
 * g_free(); NULL elsewhere, or where none is found. */
guint8 *pipesim_search_units(PipesimSearchState *s);

/** pipesim_search_paired: where overlapped pairs are shorter, the order in which ranks run as many of them as memory lets,
 * for g_free(); NULL elsewhere, or where there is none. */
guint8 *pipesim_search_paired(const PipesimInstance *instance);

/** pipesim_search_grow: an order of the whole, grown from one of a few micro-batches by walks that know of queues, for
 * g_free(); takes @part of what is left of the effort. NULL: none came of it. */
guint8 *pipesim_search_grow(PipesimSearchState *s, double part);

/** pipesim_search_run_queues: the same of walks that know of queues, where there are any. */
void pipesim_search_run_queues(PipesimSearchState *s);
