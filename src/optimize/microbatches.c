#include "model/random.h"
#include "optimize/deal.h"

/* Rounds of the bound, and what they may cost: the cube of micro-batches each. */
#define MOST_ROUNDS 400
#define MOST_WORK   G_GUINT64_CONSTANT(400000000)
/* Of more micro-batches a bound looks at one path. */
#define MOST_ASSIGNED 512
/* Orders that a search begins from anew. */
#define STARTS 6

const char *const pipesim_batch_rule_names[PIPESIM_N_BATCH_RULES] = {
	"given", "sorted", "longest-first", "longest-in-the-middle"};

PIPESIM_FREES(PipesimDeal, pipesim_deal_free, deal)
{
	g_free(deal->ops);
	g_free(deal->each);
	g_free(deal->took);
	g_free(deal->end);
	g_free(deal->weight);
	g_free(deal);
}

/* What ops of all lanes take. */
static void fill_each(
	PipesimDeal *deal, const PipesimProgram *program, const PipesimTimes *times)
{
	const guint chunks = program->shape.chunks, m = deal->m;

	for (guint lane = 0; lane < deal->lanes; lane++) {
		const guint stage = program->stage_of[lane];

		for (guint i = 0; i < (m + 1) * PIPESIM_FB && stage != PIPESIM_NO_OP; i++) {
			const gint64 takes =
				times->each != NULL && i < m * PIPESIM_FB
					? times->each[(gsize)stage * m * PIPESIM_FB + i]
					: times->stage[i % PIPESIM_FB][stage];

			deal->each[(gsize)lane * (m + 1) * PIPESIM_FB + i] =
				pipesim_times_on(times, lane / chunks, takes);
		}
	}
}

void pipesim_deal_set_share(PipesimDeal *deal, guint microbatch, double share)
{
	for (guint lane = 0; lane < deal->lanes; lane++) {
		gint64 *each = &deal->each[(gsize)lane * (deal->m + 1) * PIPESIM_FB];

		for (guint kind = 0; kind < PIPESIM_FB; kind++)
			each[microbatch * PIPESIM_FB + kind] = (gint64)MIN(
				round(share * (double)each[deal->m * PIPESIM_FB + kind]),
				(double)PIPESIM_MAX_TIME_NS);
	}
}

/* @at: by op of the program, where it stands in deal->ops */
static void fill_op(PipesimDeal *deal, const PipesimProgram *program, gint64 p2p,
	const guint32 *at, guint32 index)
{
	const guint rank = pipesim_program_rank(program, index), m = deal->m;
	const PipesimOp *op = &program->ops[index];
	PipesimDealOp *own = &deal->ops[at[index]];
	guint32 inputs[2];
	const guint n = pipesim_program_inputs(program, rank, op, inputs);

	*own = (PipesimDealOp){
		.before = index > program->rank_begin[rank] ? at[index - 1] : deal->n,
		.input = {deal->n, deal->n},
		.place = op->microbatch,
		.takes = &deal->each[((gsize)(rank * program->shape.chunks + op->chunk) *
					     (m + 1)) *
					     PIPESIM_FB +
				     op->kind]};
	for (guint i = 0; i < n; i++) {
		own->input[i] = at[inputs[i]];
		own->lag[i] = pipesim_program_rank(program, inputs[i]) == rank ? 0 : p2p;
	}
	for (guint k = 0; k < m; k++)
		deal->weight[k] += own->takes[(gsize)k * PIPESIM_FB];
}

PipesimDeal *pipesim_deal_new(
	const PipesimProgram *program, const PipesimTimes *times, GError **error)
{
	g_autofree guint32 *sequence = g_try_new(guint32, program->n_ops);
	g_autofree guint32 *at = g_try_new(guint32, program->n_ops);
	g_autoptr(PipesimDeal) deal = g_new0(PipesimDeal, 1);

	if (pipesim_program_has_pairs(program))
		return pipesim_fail_null(error, PIPESIM_ERROR_CONSTRAINT,
			"overlapped pairs run two micro-batches as one op; take a schedule "
			"without them");
	deal->n = program->n_ops;
	deal->m = program->shape.microbatches;
	deal->lanes = program->shape.ranks * program->shape.chunks;
	deal->ops = g_try_new(PipesimDealOp, deal->n);
	deal->each = g_try_new0(gint64, (gsize)deal->lanes * (deal->m + 1) * PIPESIM_FB);
	deal->took = g_try_new0(gint64, deal->n);
	deal->end = g_try_new0(gint64, deal->n + 1);
	deal->weight = g_new0(gint64, deal->m);
	if (sequence == NULL || at == NULL || deal->ops == NULL || deal->each == NULL ||
		deal->took == NULL || deal->end == NULL)
		return pipesim_fail_null(error, PIPESIM_ERROR_LIMIT,
			"%u ops do not fit in memory", program->n_ops);
	if (pipesim_program_sequence(program, sequence, error) != program->n_ops)
		return NULL;
	for (guint32 i = 0; i < deal->n; i++)
		at[sequence[i]] = i;
	fill_each(deal, program, times);
	for (guint32 i = 0; i < deal->n; i++)
		fill_op(deal, program, times->p2p, at, sequence[i]);
	return g_steal_pointer(&deal);
}

gint64 pipesim_deal_relax(PipesimDeal *deal, const gint64 *took, gint64 times)
{
	gint64 *end = deal->end, last = 0;

	for (guint i = 0; i < deal->n; i++) {
		const PipesimDealOp *op = &deal->ops[i];
		gint64 start = op->before < deal->n ? end[op->before] : 0;

		for (guint k = 0; k < 2 && op->input[k] < deal->n; k++) {
			const gint64 there = end[op->input[k]] + op->lag[k] * times;

			start = MAX(start, there);
		}
		end[i] = start + took[i];
		last = MAX(last, end[i]);
	}
	return last;
}

gint64 pipesim_deal_run(PipesimDeal *deal, const guint *order)
{
	for (guint i = 0; i < deal->n; i++) {
		const PipesimDealOp *op = &deal->ops[i];

		deal->took[i] = op->takes[(gsize)order[op->place] * PIPESIM_FB];
	}
	return pipesim_deal_relax(deal, deal->took, 1);
}

/* Rules ---------------------------------------------------------------------------------- */

PIPESIM_COMPARE_AT(compare_weights, gint64, pipesim_compare(*x, *y))

void pipesim_deal_arrange(const PipesimDeal *deal, PipesimBatchRule rule, guint *order)
{
	const guint m = deal->m;

	if (rule == PIPESIM_BATCH_GIVEN)
		return;
	g_qsort_with_data(order, (gint)m, sizeof *order, compare_weights, deal->weight);
	g_autofree guint *sorted = g_memdup2(order, sizeof *order * m);
	for (guint i = 0; i < m && rule == PIPESIM_BATCH_LONGEST_FIRST; i++)
		order[i] = sorted[m - 1 - i];
	/* The shortest at both ends in turn. */
	for (guint i = 0; i < m && rule == PIPESIM_BATCH_LONGEST_IN_THE_MIDDLE; i++)
		order[i % 2 == 0 ? i / 2 : m - 1 - i / 2] = sorted[i];
}

static void exchange(guint *order, guint a, guint b)
{
	const guint other = order[a];

	order[a] = order[b];
	order[b] = other;
}

void pipesim_deal_shuffle(const PipesimDeal *deal, guint64 seed, guint64 number, guint *order)
{
	const PipesimSampleKey key = pipesim_sample_key(seed, number);

	for (guint i = deal->m; i > 1; i--)
		exchange(order, i - 1, pipesim_random_below(key, i, i));
}

/* Search --------------------------------------------------------------------------------- */

/* The next order of @order, whose micro-batches of one @kind count as equal; FALSE: that was the last. */
static gboolean next_order(const guint *kind, guint *order, guint m)
{
	guint i = m - 1, k = m - 1;

	while (i > 0 && kind[order[i - 1]] >= kind[order[i]])
		i--;
	if (m == 0 || i == 0)
		return FALSE;
	while (kind[order[k]] <= kind[order[i - 1]])
		k--;
	exchange(order, i - 1, k);
	for (guint a = i, b = m - 1; a < b; a++, b--)
		exchange(order, a, b);
	return TRUE;
}

/* Whether all ops of two micro-batches take the same. */
static gboolean are_alike(const PipesimDeal *deal, guint a, guint b)
{
	gboolean alike = TRUE;

	for (guint i = 0; i < deal->n && alike; i++)
		alike = deal->ops[i].takes[(gsize)a * PIPESIM_FB] ==
			deal->ops[i].takes[(gsize)b * PIPESIM_FB];
	return alike;
}

static gint64 look_at_all(PipesimDeal *deal, guint *order)
{
	const guint m = deal->m;
	g_autofree guint *kind = g_new0(guint, m), *tried = NULL;
	gint64 best = G_MAXINT64;

	pipesim_deal_arrange(deal, PIPESIM_BATCH_SORTED, order);
	for (guint i = 1; i < m; i++)
		kind[order[i]] =
			are_alike(deal, order[i - 1], order[i]) ? kind[order[i - 1]] : i;
	tried = g_memdup2(order, sizeof *order * m);
	do {
		const gint64 makespan = pipesim_deal_run(deal, tried);

		if (makespan < best) {
			best = makespan;
			memcpy(order, tried, sizeof *order * m);
		}
	} while (next_order(kind, tried, m));
	return best;
}

void pipesim_order_move(guint *order, guint from, guint to, gboolean swap)
{
	const guint moved = order[from];

	if (swap) {
		exchange(order, from, to);
		return;
	}
	if (from < to)
		memmove(&order[from], &order[from + 1], sizeof *order * (to - from));
	else
		memmove(&order[to + 1], &order[to], sizeof *order * (from - to));
	order[to] = moved;
}

/* From @order on, as often as @moves, by moves that make it longer the more rarely the later. */
static gint64 anneal(PipesimDeal *deal, guint64 moves, PipesimSampleKey key, guint *order)
{
	const guint m = deal->m;
	g_autofree guint *now = g_memdup2(order, sizeof *order * m);
	gint64 best = pipesim_deal_run(deal, order), at = best;
	const double hot = (double)best / 100;
	guint32 drawn = 0;

	for (guint64 i = 0; i < moves; i++) {
		const double heat = hot * (1 - (double)i / (double)moves);
		const guint from = pipesim_random_below(key, drawn++, m);
		const guint to = pipesim_random_below(key, drawn++, m);
		const gboolean swap = pipesim_random_below(key, drawn++, 2) == 0;
		const double luck =
			(pipesim_random_below(key, drawn++, 1u << 20) + 1.0) / (1 << 20);

		if (from == to)
			continue;
		pipesim_order_move(now, from, to, swap);
		gint64 makespan = pipesim_deal_run(deal, now);
		if ((double)(makespan - at) <= -log(luck) * heat) {
			at = makespan;
			if (at < best) {
				best = at;
				memcpy(order, now, sizeof *order * m);
			}
		} else {
			pipesim_order_move(now, to, from, swap);
		}
	}
	return best;
}

gint64 pipesim_deal_search(PipesimDeal *deal, guint64 moves, guint64 seed, guint *order)
{
	const guint m = deal->m;

	if (m <= PIPESIM_MICROBATCHES_EXACT)
		return look_at_all(deal, order);
	g_autofree guint *given = g_memdup2(order, sizeof *order * m);
	g_autofree guint *tried = g_new(guint, m);
	gint64 best = pipesim_deal_run(deal, order);
	for (guint i = 0; i < STARTS; i++) {
		gint64 makespan;

		memcpy(tried, given, sizeof *order * m);
		if (i < PIPESIM_N_BATCH_RULES)
			pipesim_deal_arrange(deal, i, tried);
		else
			pipesim_deal_shuffle(deal, seed, i, tried);
		makespan =
			anneal(deal, moves / STARTS, pipesim_sample_key(seed, 100 + i), tried);
		if (makespan < best) {
			best = makespan;
			memcpy(order, tried, sizeof *order * m);
		}
	}
	return best;
}

/* Bound ---------------------------------------------------------------------------------- */

void pipesim_paths_add(PipesimPaths *paths, const gint64 *took, gint64 times)
{
	const PipesimDeal *deal = paths->deal;
	const guint n = deal->n, columns = paths->columns;
	guint32 at = 0;

	for (guint32 i = 1; i < n; i++)
		if (deal->end[i] > deal->end[at])
			at = i;
	while (at < n) {
		const PipesimDealOp *op = &deal->ops[at];
		const gint64 start = deal->end[at] - took[at];
		guint32 next =
			op->before < n && deal->end[op->before] == start ? op->before : n;

		for (guint i = 0; i < columns; i++)
			paths->cost[(gsize)op->place * columns + i] +=
				op->takes[(gsize)paths->batch[i] * PIPESIM_FB];
		for (guint k = 0; k < 2 && next == n && op->input[k] < n; k++)
			if (deal->end[op->input[k]] + op->lag[k] * times == start) {
				next = op->input[k];
				paths->lag += op->lag[k];
			}
		at = next;
	}
	paths->n++;
}

/* The least sum of @cost, [row * n + column], of one of each row and column; @column: which of each row. */
static gint64 assign(const gint64 *cost, guint n, guint *column)
{
	g_autofree gint64 *room = g_new0(gint64, 3 * (gsize)(n + 1));
	gint64 *u = room, *v = u + n + 1, *least = v + n + 1, sum = 0;
	g_autofree guint *row = g_new0(guint, n + 1), *way = g_new0(guint, n + 1);
	g_autofree gboolean *used = g_new(gboolean, n + 1);

	for (guint i = 1; i <= n; i++) {
		guint at = 0;

		row[0] = i;
		for (guint k = 0; k <= n; k++) {
			least[k] = G_MAXINT64;
			used[k] = FALSE;
		}
		do {
			const guint from = row[at];
			gint64 delta = G_MAXINT64;
			guint next = 0;

			used[at] = TRUE;
			for (guint k = 1; k <= n; k++) {
				const gint64 reduced =
					cost[(gsize)(from - 1) * n + k - 1] - u[from] - v[k];

				if (used[k])
					continue;
				if (reduced < least[k]) {
					least[k] = reduced;
					way[k] = at;
				}
				if (least[k] < delta) {
					delta = least[k];
					next = k;
				}
			}
			for (guint k = 0; k <= n; k++) {
				u[row[k]] += used[k] ? delta : 0;
				v[k] -= used[k] ? delta : 0;
				least[k] -= used[k] ? 0 : delta;
			}
			at = next;
		} while (row[at] != 0);
		for (; at != 0; at = way[at])
			row[at] = row[way[at]];
	}
	for (guint k = 1; k <= n; k++) {
		column[row[k] - 1] = k - 1;
		sum += cost[(gsize)(row[k] - 1) * n + k - 1];
	}
	return sum;
}

gint64 pipesim_deal_bound(PipesimDeal *deal, gint64 *makespan, guint *order)
{
	const guint m = deal->m;
	const guint64 each = (guint64)m * m * m + (guint64)deal->n * 4;
	const guint rounds = (guint)CLAMP(MOST_WORK / each, 1, MOST_ROUNDS);
	g_autofree guint *batch = g_memdup2(order, sizeof *order * m),
			 *column = g_new(guint, m);
	g_autofree guint *tried = g_new(guint, m);
	g_autofree gint64 *cost = g_new0(gint64, (gsize)m * m), *took = g_new0(gint64, deal->n);
	PipesimPaths paths = {.deal = deal, .batch = batch, .columns = m, .cost = cost};
	gint64 bound = 0;

	if (m > MOST_ASSIGNED)
		return 0;
	pipesim_deal_run(deal, order);
	pipesim_paths_add(&paths, deal->took, 1);
	for (guint round = 1; round <= rounds && bound < *makespan; round++) {
		const gint64 least = assign(cost, m, column) + paths.lag;

		bound = MAX(bound, (least + paths.n - 1) / paths.n);
		for (guint place = 0; place < m; place++)
			tried[place] = batch[column[place]];
		gint64 found = pipesim_deal_run(deal, tried);
		if (found < *makespan) {
			*makespan = found;
			memcpy(order, tried, sizeof *order * m);
		}
		for (guint i = 0; i < deal->n; i++)
			took[i] += deal->took[i];
		pipesim_deal_relax(deal, took, round);
		pipesim_paths_add(&paths, took, round);
	}
	return MIN(bound, *makespan);
}
