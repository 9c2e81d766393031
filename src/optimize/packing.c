#include "optimize/packing.h"
#include "model/random.h"
#include "optimize/deal.h"

/* Packings that a search begins from anew, and with fewer moves no search looks at all. */
#define STARTS    4
#define LEAST_ALL 1000
/* Paths that a bound averages. */
#define MOST_ROUNDS  60
#define LEAST_ROUNDS 3

const char *const pipesim_pack_rule_names[PIPESIM_N_PACK_RULES] = {
	"alone", "first-fit", "sorted-first-fit", "balanced"};

static double cost_of(const PipesimSequences *of, guint index)
{
	const double x = (double)of->tokens[index];

	return of->cost.b * x + of->cost.a * x * x;
}

guint pipesim_pack_fewest(const PipesimSequences *of)
{
	gint64 sum = 0;

	for (guint i = 0; i < of->n; i++)
		sum += of->tokens[i];
	return (guint)((sum + of->limit - 1) / of->limit);
}

/* Rules ---------------------------------------------------------------------------------- */

PIPESIM_COMPARE_AT(compare_tokens, gint64, pipesim_compare(*y, *x))

/* For g_free(): longest first. */
static guint *sort(const PipesimSequences *of)
{
	guint *sorted = g_new(guint, of->n);

	for (guint i = 0; i < of->n; i++)
		sorted[i] = i;
	g_qsort_with_data(
		sorted, (gint)of->n, sizeof *sorted, compare_tokens, (gpointer)of->tokens);
	return sorted;
}

static guint first_fit(const PipesimSequences *of, const guint *order, guint *place)
{
	g_autofree gint64 *tokens = g_new0(gint64, of->n);
	guint m = 0;

	for (guint i = 0; i < of->n; i++) {
		guint at = 0;

		while (tokens[at] + of->tokens[order[i]] > of->limit)
			at++;
		tokens[at] += of->tokens[order[i]];
		place[order[i]] = at;
		m = MAX(m, at + 1);
	}
	return m;
}

/* Into @m, each to the cheapest with room, longest first. FALSE: one has none. */
static gboolean spread(const PipesimSequences *of, guint m, guint *place)
{
	g_autofree guint *sorted = sort(of);
	g_autofree gint64 *tokens = g_new0(gint64, m);
	g_autofree double *cost = g_new0(double, m);

	for (guint i = 0; i < of->n; i++) {
		guint best = m;

		for (guint k = 0; k < m; k++)
			if (tokens[k] + of->tokens[sorted[i]] <= of->limit &&
				(best == m || cost[k] < cost[best]))
				best = k;
		if (best == m)
			return FALSE;
		tokens[best] += of->tokens[sorted[i]];
		cost[best] += cost_of(of, sorted[i]);
		place[sorted[i]] = best;
	}
	return of->n >= m;
}

/* A sum of costs and the sequences in it: a list by the next of each, of->n behind the last. */
typedef struct {
	double sum;
	guint first, last;
} Heap;

PIPESIM_COMPARE(compare_heaps, Heap, pipesim_compare(y->sum, x->sum) ?: pipesim_by(first))

/* The largest differencing method: as long as there are two, the two divisions whose heaps differ most become one, the largest heap
 * of one with the smallest of the other. FALSE: one has more tokens than a micro-batch, or none. */
static gboolean difference(const PipesimSequences *of, guint m, guint *place)
{
	const guint n = of->n;
	g_autofree Heap *heaps = g_new(Heap, (gsize)n * m);
	g_autofree guint *next = g_new(guint, n);
	g_autofree gint64 *tokens = g_new0(gint64, m);

	for (guint i = 0; i < n; i++) {
		next[i] = n;
		for (guint k = 0; k < m; k++)
			heaps[(gsize)i * m + k] =
				k == 0 ? (Heap){cost_of(of, i), i, i} : (Heap){0, n, n};
	}
	for (guint left = n; left > 1; left--) {
		Heap *a = NULL, *b = NULL, *last = &heaps[(gsize)(left - 1) * m];

		for (guint i = 0; i < left; i++) {
			Heap *at = &heaps[(gsize)i * m];
			const double wide = at[0].sum - at[m - 1].sum;

			if (a == NULL || wide > a[0].sum - a[m - 1].sum) {
				b = a;
				a = at;
			} else if (b == NULL || wide > b[0].sum - b[m - 1].sum) {
				b = at;
			}
		}
		for (guint k = 0; k < m; k++) {
			Heap *to = &a[k];
			const Heap *from = &b[m - 1 - k];

			if (to->first == n)
				to->first = from->first;
			else
				next[to->last] = from->first;
			to->last = from->first != n ? from->last : to->last;
			to->sum += from->sum;
		}
		qsort(a, m, sizeof *a, compare_heaps);
		/* The last one takes the place of what is gone. */
		memmove(b, last, sizeof *b * m);
	}
	for (guint k = 0; k < m; k++) {
		for (guint i = heaps[k].first; i != n; i = next[i]) {
			tokens[k] += of->tokens[i];
			place[i] = k;
		}
		if (tokens[k] == 0 || tokens[k] > of->limit)
			return FALSE;
	}
	return TRUE;
}

/* The dearest of @m in the middle. */
static void put_longest_in_the_middle(const PipesimSequences *of, guint m, guint *place)
{
	g_autofree Heap *heaps = g_new0(Heap, m);
	g_autofree guint *to = g_new(guint, m);

	for (guint k = 0; k < m; k++)
		heaps[k].first = k;
	for (guint i = 0; i < of->n; i++)
		heaps[place[i]].sum += cost_of(of, i);
	qsort(heaps, m, sizeof *heaps, compare_heaps);
	/* The cheapest at both ends in turn. */
	for (guint i = 0; i < m; i++)
		to[heaps[m - 1 - i].first] = i % 2 == 0 ? i / 2 : m - 1 - i / 2;
	for (guint i = 0; i < of->n; i++)
		place[i] = to[place[i]];
}

guint pipesim_pack_arrange(
	const PipesimSequences *of, PipesimPackRule rule, guint m, guint *place)
{
	g_autofree guint *order = g_new(guint, of->n);

	for (guint i = 0; i < of->n; i++)
		order[i] = place[i] = i;
	if (rule == PIPESIM_PACK_ALONE)
		return of->n;
	if (rule == PIPESIM_PACK_FIRST_FIT)
		return first_fit(of, order, place);
	if (rule == PIPESIM_PACK_SORTED) {
		g_autofree guint *sorted = sort(of);

		return first_fit(of, sorted, place);
	}
	m = MAX(m, pipesim_pack_fewest(of));
	while (!difference(of, m, place))
		m = MIN(m + 1 + m / 16, of->n);
	put_longest_in_the_middle(of, m, place);
	return m;
}

/* Search --------------------------------------------------------------------------------- */

gint64 pipesim_pack_run(PipesimDeal *deal, const PipesimSequences *of, const guint *place)
{
	const guint m = deal->m;
	g_autofree double *cost = g_new(double, m);
	g_autofree guint *order = g_new(guint, m);

	for (guint k = 0; k < m; k++) {
		cost[k] = of->cost.c;
		order[k] = k;
	}
	for (guint i = 0; i < of->n; i++)
		cost[place[i]] += cost_of(of, i);
	for (guint k = 0; k < m; k++)
		pipesim_deal_set_share(deal, k, cost[k] / of->whole);
	return pipesim_deal_run(deal, order);
}

/* What looks at all ways to go on from the sequences that have a place. */
typedef struct {
	PipesimDeal *deal;
	const PipesimSequences *of;
	const guint *sorted;
	guint *place, *best_place;
	gint64 *tokens; /* [m] */
	guint empty;
	gint64 best;
} All;

static void look_at_all(All *all, guint i)
{
	const PipesimSequences *of = all->of;
	const guint index = i < of->n ? all->sorted[i] : 0;
	guint first = 0;

	if (i == of->n) {
		const gint64 makespan = pipesim_pack_run(all->deal, of, all->place);

		if (makespan < all->best) {
			all->best = makespan;
			memcpy(all->best_place, all->place, sizeof *all->place * of->n);
		}
		return;
	}
	/* Of two that are alike it does not matter which is where. */
	if (i > 0 && of->tokens[all->sorted[i - 1]] == of->tokens[index])
		first = all->place[all->sorted[i - 1]];
	for (guint k = first; k < all->deal->m; k++) {
		const gboolean was_empty = all->tokens[k] == 0;

		if (all->tokens[k] + of->tokens[index] > of->limit ||
			all->empty - was_empty > of->n - 1 - i)
			continue;
		all->tokens[k] += of->tokens[index];
		all->empty -= was_empty;
		all->place[index] = k;
		look_at_all(all, i + 1);
		all->tokens[k] -= of->tokens[index];
		all->empty += was_empty;
	}
}

/* A packing on its way: micro-batches in any order, and which of them runs when. */
typedef struct {
	PipesimDeal *deal;
	const PipesimSequences *of;
	/* [n]: micro-batch of each; [m]: sequences of each; [m]: which runs when; [m]: when each runs */
	guint *in, *count, *order, *position;
	gint64 *tokens; /* [m] */
	double *cost;   /* [m] */
} Packed;

static void put(Packed *packed, guint index, guint to)
{
	const PipesimSequences *of = packed->of;
	const guint from = packed->in[index];

	packed->count[from]--;
	packed->count[to]++;
	packed->tokens[from] -= of->tokens[index];
	packed->tokens[to] += of->tokens[index];
	packed->cost[from] -= cost_of(of, index);
	packed->cost[to] += cost_of(of, index);
	packed->in[index] = to;
	pipesim_deal_set_share(packed->deal, from, packed->cost[from] / of->whole);
	pipesim_deal_set_share(packed->deal, to, packed->cost[to] / of->whole);
}

/* One move of @index and maybe @other; the same once more with what they were takes it back. FALSE: it does not fit. */
static gboolean move_sequences(Packed *packed, guint index, guint other, guint to)
{
	const gint64 *tokens = packed->of->tokens;
	const guint from = packed->in[index];
	const gboolean swap = other < packed->of->n;
	const gint64 more = tokens[index] - (swap ? tokens[other] : 0);

	if (from == to || packed->tokens[to] + more > packed->of->limit ||
		packed->tokens[from] - more > packed->of->limit ||
		(!swap && packed->count[from] == 1))
		return FALSE;
	put(packed, index, to);
	if (swap)
		put(packed, other, from);
	return TRUE;
}

static void begin(Packed *packed, const guint *place)
{
	const PipesimSequences *of = packed->of;
	const guint m = packed->deal->m;

	for (guint k = 0; k < m; k++) {
		packed->order[k] = k;
		packed->count[k] = 0;
		packed->tokens[k] = 0;
		packed->cost[k] = of->cost.c;
	}
	for (guint i = 0; i < of->n; i++) {
		packed->in[i] = place[i];
		packed->count[place[i]]++;
		packed->tokens[place[i]] += of->tokens[i];
		packed->cost[place[i]] += cost_of(of, i);
	}
	for (guint k = 0; k < m; k++)
		pipesim_deal_set_share(packed->deal, k, packed->cost[k] / of->whole);
}

/* From where it stands, as pipesim_deal_search(); the best into @place. */
static void anneal(Packed *packed, guint64 moves, PipesimSampleKey key, guint *place)
{
	const guint m = packed->deal->m, n = packed->of->n;
	gint64 best = G_MAXINT64, at = pipesim_deal_run(packed->deal, packed->order);
	const double hot = (double)at / 50;
	guint32 drawn = 0;

	for (guint64 i = 0; i <= moves; i++) {
		const double heat = hot * (1 - (double)i / (double)(moves + 1));
		const guint way = pipesim_random_below(key, drawn++, 4);
		const guint index = pipesim_random_below(key, drawn++, n);
		const guint other = way == 0 ? pipesim_random_below(key, drawn++, n) : n;
		const guint from = pipesim_random_below(key, drawn++, m);
		const guint to =
			way == 0 ? packed->in[other] : pipesim_random_below(key, drawn++, m);
		const guint was = packed->in[index];
		const double luck =
			(pipesim_random_below(key, drawn++, 1u << 20) + 1.0) / (1 << 20);

		if (way >= 2 ? from == to : !move_sequences(packed, index, other, to))
			continue;
		if (way >= 2)
			pipesim_order_move(packed->order, from, to, way == 2);
		gint64 makespan = pipesim_deal_run(packed->deal, packed->order);
		if ((double)(makespan - at) <= -log(luck) * heat) {
			at = makespan;
		} else if (way >= 2) {
			pipesim_order_move(packed->order, to, from, way == 2);
		} else {
			put(packed, index, was);
			if (way == 0)
				put(packed, other, to);
		}
		if (at >= best)
			continue;
		best = at;
		for (guint k = 0; k < m; k++)
			packed->position[packed->order[k]] = k;
		for (guint s = 0; s < n; s++)
			place[s] = packed->position[packed->in[s]];
	}
}

gint64 pipesim_pack_search(PipesimDeal *deal, const PipesimSequences *of, guint64 moves,
	guint64 seed, guint *place, gboolean *all)
{
	const guint n = of->n, m = deal->m;
	g_autofree guint *room = g_new(guint, 2 * (gsize)n + 3 * (gsize)m);
	g_autofree gint64 *tokens = g_new(gint64, m);
	g_autofree double *cost = g_new(double, m);
	Packed packed = {deal, of, room, room + 2 * n, room + 2 * n + m, room + 2 * n + 2 * m,
		tokens, cost};
	guint *tried = room + n;
	gint64 best = G_MAXINT64;

	*all = n <= PIPESIM_PACKED_EXACT && moves >= LEAST_ALL;
	if (*all) {
		g_autofree guint *sorted = sort(of);
		All look = {deal, of, sorted, tried, place, tokens, m, best};

		memset(tokens, 0, sizeof *tokens * m);
		look_at_all(&look, 0);
		return look.best;
	}
	for (guint i = 0; i < STARTS; i++) {
		if (!(i < 2 ? difference(of, m, tried) : spread(of, m, tried)) &&
			!spread(of, m, tried) &&
			pipesim_pack_arrange(of, PIPESIM_PACK_SORTED, 0, tried) != m)
			break;
		put_longest_in_the_middle(of, m, tried);
		begin(&packed, tried);
		if (i % 2 == 1)
			pipesim_deal_shuffle(deal, seed, i, packed.order);
		anneal(&packed, moves / STARTS, pipesim_sample_key(seed, 200 + i), tried);
		gint64 makespan = pipesim_pack_run(deal, of, tried);
		if (makespan < best) {
			best = makespan;
			memcpy(place, tried, sizeof *place * n);
		}
	}
	return best;
}

/* Bound ---------------------------------------------------------------------------------- */

/* What the sequences in one place cost at most: those whose tokens cost most, as far as there is room. */
static double dearest(const PipesimSequences *of)
{
	g_autofree guint *sorted = sort(of);
	gint64 room = of->limit;
	double most = 0;

	for (guint i = 0; i < of->n && room > 0; i++) {
		const gint64 tokens = of->tokens[sorted[i]], fit = MIN(tokens, room);

		most += cost_of(of, sorted[i]) * (double)fit / (double)tokens;
		room -= fit;
	}
	return most;
}

PIPESIM_COMPARE_AT(compare_places, gint64, pipesim_compare(*x, *y))

/* What all bounds of one question go by. */
typedef struct {
	PipesimDeal *deal;
	const PipesimSequences *of;
	double least, longest, most, sum; /* of one sequence, of a place, of all */
	gint64 *cost, *took;
	double *share;
	guint *order, *cheapest;
} Bounding;

/* The least sum of cost of each place times what stands there, ns, where the longest sequence is in @held, m: anywhere; into share. */
static double share_out(Bounding *b, guint held)
{
	const PipesimSequences *of = b->of;
	const guint m = b->deal->m;
	const double longest = held < m ? b->longest : b->least;
	double left = MAX(b->sum - (m - 1) * b->least - longest, 0), sum = 0;

	g_qsort_with_data(b->cheapest, (gint)m, sizeof *b->cheapest, compare_places, b->cost);
	for (guint i = 0; i < m; i++) {
		const guint k = b->cheapest[i];
		const double first = k == held ? b->longest : b->least;
		const double more = MIN(MAX(b->most - first, 0), left);

		left -= more;
		b->share[k] = (of->cost.c + first + more) / of->whole;
		sum += (double)b->cost[k] * b->share[k];
	}
	return sum;
}

/* What no packing with the longest sequence in @held is shorter than, ns; no more than @enough is asked for. */
static gint64 bound_where(Bounding *b, guint held, guint rounds, gint64 enough)
{
	PipesimDeal *deal = b->deal;
	const guint m = deal->m, usual = m;
	PipesimPaths paths = {.deal = deal, .batch = &usual, .columns = 1, .cost = b->cost};
	gint64 bound = 0;

	memset(b->cost, 0, sizeof *b->cost * m);
	memset(b->took, 0, sizeof *b->took * deal->n);
	/* The first path is that of micro-batches as short as can be, or where nothing is held that of equal ones. */
	for (guint k = 0; k < m; k++)
		b->share[k] = (b->of->cost.c + (held == m          ? b->sum / m
						       : k == held ? b->longest
								   : b->least)) /
			      b->of->whole;
	for (guint round = 1; round <= rounds && bound < enough; round++) {
		for (guint k = 0; k < m; k++)
			pipesim_deal_set_share(deal, k, b->share[k]);
		pipesim_deal_run(deal, b->order);
		for (guint i = 0; i < deal->n; i++)
			b->took[i] += deal->took[i];
		pipesim_deal_relax(deal, b->took, round);
		pipesim_paths_add(&paths, b->took, round);
		double sum = share_out(b, held) + (double)paths.lag;
		/* Each op of a path may have been rounded down by half a ns. */
		bound = MAX(bound, (gint64)floor(sum / paths.n - deal->n / 2.0));
	}
	return bound;
}

gint64 pipesim_pack_bound(
	PipesimDeal *deal, const PipesimSequences *of, gint64 makespan, guint64 work)
{
	const guint m = deal->m;
	const guint all = (guint)MIN(work / ((guint64)deal->n * 8), MOST_ROUNDS);
	const guint rounds = (guint)MIN(work / ((guint64)m * deal->n * 8), MOST_ROUNDS);
	g_autofree gint64 *cost = g_new(gint64, m), *took = g_new(gint64, deal->n);
	g_autofree double *share = g_new(double, m);
	g_autofree guint *order = g_new(guint, 2 * (gsize)m);
	Bounding b = {
		deal, of, G_MAXDOUBLE, 0, dearest(of), 0, cost, took, share, order, order + m};
	gint64 bound = makespan;

	for (guint i = 0; i < of->n; i++) {
		b.least = MIN(b.least, cost_of(of, i));
		b.longest = MAX(b.longest, cost_of(of, i));
		b.sum += cost_of(of, i);
	}
	for (guint k = 0; k < m; k++)
		order[k] = b.cheapest[k] = k;
	/* Too many places for the longest one: it is anywhere. */
	if (rounds < LEAST_ROUNDS)
		return MIN(makespan, bound_where(&b, m, MAX(all, LEAST_ROUNDS), makespan));
	for (guint k = 0; k < m; k++)
		bound = MIN(bound, bound_where(&b, k, rounds, bound));
	return bound;
}
