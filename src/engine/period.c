#include "engine/period.h"
#include "engine/fast.h"
#include "engine/ruled.h"

__extension__ typedef __int128 Wide;

/* Steps that are run before the matrix is made: most settle by then. */
#define TRIES 4
/* Ops, times ranks, that are run to make it. */
#define MOST_WORK (G_GUINT64_CONSTANT(1) << 33)
#define NO_PATH   (-1)

typedef struct {
	const PipesimStep *step;
	const gint64 *between;
	guint ranks;
	gint64 hop; /* of a message of the check; -1: ranks do not check */
	PipesimProgram *program;
	PipesimLowering *derived;
	PipesimRuled *ruled; /* NULL: messages never wait */
	PipesimTimes times;
	gint64 *drawn, *end, *busy, *first;
} Chain;

static void clear(Chain *c)
{
	pipesim_ruled_free(c->ruled);
	pipesim_lowering_free(c->derived);
	pipesim_program_unref(c->program);
	g_free(c->drawn);
	g_free(c->end);
}

static gboolean init(Chain *c, GError **error)
{
	const PipesimStep *step = c->step;
	const PipesimJob *job = &step->job;

	c->end = g_new(gint64, 3 * (gsize)c->ranks);
	c->busy = c->end + c->ranks;
	c->first = c->busy + c->ranks;
	c->times = *job->times;
	c->times.power = NULL;
	c->times.contention = NULL;
	c->times.has_edges = FALSE;
	memset(c->times.launch, 0, sizeof c->times.launch);
	if (pipesim_times_vary(job->times)) {
		c->drawn = g_new(gint64, step->timeline->n_ops);
		for (guint i = 0; i < step->timeline->n_ops; i++)
			c->drawn[i] = step->timeline->end[i] - step->timeline->start[i];
		c->times.drawn = c->drawn;
	}
	c->program = step->whole != NULL ? pipesim_program_ref(step->whole)
					 : pipesim_order_expand(job->order, error);
	if (c->program == NULL || !pipesim_runtime_waits(job->runtime))
		return c->program != NULL;
	if (pipesim_step_messages(step) == NULL)
		c->derived = pipesim_lower(c->program, job->runtime, &job->issuing, error);
	if (pipesim_step_messages(step) != NULL || c->derived != NULL)
		c->ruled = pipesim_ruled_new(
			c->derived != NULL ? c->derived : pipesim_step_messages(step),
			&job->issuing, error);
	return c->ruled != NULL;
}

/* When the ranks are done with a step that they begin at @begin: c->end. */
static gboolean run(Chain *c, const gint64 *begin, GError **error)
{
	PipesimRuledFigures figures = {
		.busy = c->busy, .first_start = c->first, .last_end = c->end};
	gboolean done = FALSE;

	c->times.released = begin;
	if (c->ruled != NULL)
		return pipesim_ruled_figures(c->ruled, &c->times, &figures, &done, error) &&
		       (done || pipesim_fail(error, PIPESIM_ERROR_LIMIT,
					"steps take too long to follow one another"));
	g_autoptr(PipesimTimeline) timeline = pipesim_fast_run(c->program, &c->times, error);
	for (guint rank = 0; timeline != NULL && rank < c->ranks; rank++) {
		const guint32 last = c->program->rank_begin[rank + 1];

		c->end[rank] = last > c->program->rank_begin[rank] ? timeline->end[last - 1]
								   : begin[rank];
	}
	return timeline != NULL;
}

/* When they begin the next one: c->end becomes what each then knows of gradients, @next that. */
static void pass_on(Chain *c, gint64 *next)
{
	for (guint rank = 0; rank < c->ranks; rank++) {
		if (rank > 0 && c->hop >= 0)
			c->end[rank] = MAX(c->end[rank], c->end[rank - 1] + c->hop);
		next[rank] = c->end[rank] + c->between[rank];
	}
}

/* The largest mean of a cycle of @n nodes, whose longest walks of n edges end with so much: Karp's theorem, of
 * walks that begin anywhere. @to: [to * n + from]: of an edge, NO_PATH = none. */
static PipesimFraction largest_mean(const gint64 *to, guint n)
{
	g_autofree gint64 *walk = g_new(gint64, (gsize)(n + 1) * n);
	PipesimFraction best = {0, 1};

	memset(walk, 0, sizeof *walk * n);
	for (guint k = 1; k <= n; k++)
		for (guint v = 0; v < n; v++) {
			gint64 most = G_MININT64;

			for (guint u = 0; u < n; u++) {
				const gint64 before = walk[(gsize)(k - 1) * n + u];
				const gint64 edge = to[(gsize)v * n + u];

				if (edge != NO_PATH && before != G_MININT64)
					most = MAX(most, before + edge);
			}
			walk[(gsize)k * n + v] = most;
		}
	for (guint v = 0; v < n; v++) {
		const gint64 last = walk[(gsize)n * n + v];
		PipesimFraction least = {G_MAXINT64, 1};

		for (guint k = 0; k < n && last != G_MININT64; k++) {
			const gint64 before = walk[(gsize)k * n + v];
			const gint64 more = last - before, edges = n - k;

			if (before != G_MININT64 &&
				(Wide)more * least.den < (Wide)least.num * edges)
				least = (PipesimFraction){more, edges};
		}
		if (last != G_MININT64 &&
			(Wide)least.num * best.den > (Wide)best.num * least.den)
			best = least;
	}
	return best;
}

/* By the matrix: a step is run once for each rank that begins later than all others can end. */
static gboolean solve(Chain *c, PipesimFraction *mean, GError **error)
{
	const guint n = c->ranks;
	g_autofree gint64 *to = g_try_new(gint64, (gsize)n * n), *begin = g_new0(gint64, n),
			  *next = g_new(gint64, n);
	gint64 late = 1;

	if ((guint64)c->program->n_ops * n > MOST_WORK || to == NULL || n > 4096)
		return pipesim_fail(error, PIPESIM_ERROR_LIMIT,
			"%u ops on %u ranks are too many to find the period of their steps; "
			"take fewer micro-batches",
			c->program->n_ops, n);
	if (!run(c, begin, error))
		return FALSE;
	pass_on(c, next);
	for (guint rank = 0; rank < n; rank++)
		late = MAX(late, next[rank]);
	if (late > PIPESIM_MAX_END / 4 / (n + 1))
		return pipesim_fail(error, PIPESIM_ERROR_LIMIT,
			"steps take too long to follow one another");
	for (guint from = 0; from < n; from++) {
		begin[from] = late;
		if (!run(c, begin, error))
			return FALSE;
		pass_on(c, next);
		begin[from] = 0;
		for (guint rank = 0; rank < n; rank++)
			to[(gsize)rank * n + from] =
				next[rank] >= late ? next[rank] - late : NO_PATH;
	}
	*mean = largest_mean(to, n);
	return TRUE;
}

/* Steps one after the other, from @begin on, until their starts all come by the same later, or several times: then
 * the matrix tells. @begin, @next: starts of the last one, and of the one after it. */
static gboolean find(
	Chain *c, gint64 *begin, gint64 *next, PipesimFraction *mean, GError **error)
{
	gint64 low = 0;

	for (guint i = 0; i < TRIES; i++) {
		gint64 high = 0, least = G_MAXINT64, shift;

		if (i > 0) {
			shift = next[0];
			for (guint rank = 0; rank < c->ranks; rank++)
				shift = MIN(shift, next[rank]);
			for (guint rank = 0; rank < c->ranks; rank++)
				begin[rank] = next[rank] - shift;
		}
		if (!run(c, begin, error))
			return FALSE;
		pass_on(c, next);
		for (guint rank = 0; rank < c->ranks; rank++) {
			low = MAX(low, c->step->busy[rank] + c->between[rank]);
			high = MAX(high, next[rank] - begin[rank]);
			least = MIN(least, next[rank] - begin[rank]);
		}
		low = MAX(low, least);
		/* No rank does more than it has time for; in the long run none is faster than the fastest was
		 * here, nor all slower than the slowest. */
		*mean = (PipesimFraction){high, 1};
		if (high <= low)
			return TRUE;
	}
	return solve(c, mean, error);
}

/* What it costs that the check of the step which began at @begin fails; @next: when ranks began the one after
 * it. */
static gboolean roll_back(
	Chain *c, const gint64 *begin, const gint64 *next, gint64 *cost, GError **error)
{
	g_autofree gint64 *again = g_new(gint64, c->ranks);
	const guint last = c->ranks - 1;
	gint64 usual = 0, late = 0;

	if (!run(c, begin, error))
		return FALSE;
	pass_on(c, again);
	for (guint rank = 0; rank < c->ranks; rank++)
		again[rank] = MAX(next[rank], c->end[last] + (gint64)(last - rank) * c->hop) +
			      2 * c->between[rank];
	if (!run(c, next, error))
		return FALSE;
	for (guint rank = 0; rank < c->ranks; rank++)
		usual = MAX(usual, c->end[rank]);
	if (!run(c, again, error))
		return FALSE;
	for (guint rank = 0; rank < c->ranks; rank++)
		late = MAX(late, c->end[rank]);
	*cost = late - usual;
	return TRUE;
}

static gint64 round_up(PipesimFraction mean)
{
	return mean.num / mean.den + (mean.num % mean.den != 0);
}

gboolean pipesim_period_find(const PipesimStep *step, const gint64 *between, gboolean whole,
	PipesimPeriod *period, GError **error)
{
	Chain c = {.step = step,
		.between = between,
		.ranks = step->job.order->shape.ranks,
		.hop = step->job.times->p2p};
	g_autofree gint64 *begin = g_memdup2(step->first_start, sizeof *begin * c.ranks),
			  *next = g_new(gint64, c.ranks);
	PipesimFraction unchecked;
	gint64 divisor;
	gboolean ok = (step->program == NULL || pipesim_program_check_plain(step->program,
							"--post-validation", error)) &&
		      init(&c, error) && find(&c, begin, next, &period->exact, error);

	period->check = period->rollback = 0;
	if (ok) {
		divisor = MAX(pipesim_gcd(period->exact.num, period->exact.den), 1);
		period->exact.num /= divisor;
		period->exact.den /= divisor;
		period->time = round_up(period->exact);
	}
	if (ok && whole) {
		ok = roll_back(&c, begin, next, &period->rollback, error);
		c.hop = -1;
		memcpy(begin, step->first_start, sizeof *begin * c.ranks);
		ok = ok && find(&c, begin, next, &unchecked, error);
		if (ok)
			period->check = MAX(period->time - round_up(unchecked), 0);
	}
	clear(&c);
	return ok;
}
