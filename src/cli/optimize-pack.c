#include "cli/optimize-pack.h"
#include "model/costs-file.h"
#include "model/random.h"
#include "transformer/sequences.h"

/* Numbers of micro-batches that are searched well, and what each is looked at with before. */
#define MOST_SEARCHED 8
#define FIRST_MOVES   200
/* Ops of paths of all their bounds, then and before. */
#define BOUND_WORK G_GUINT64_CONSTANT(200000000)
/* Moves of the best packing of each batch that is drawn. */
#define DRAWN_MOVES 600

/* The rules, then the best that was found. */
enum {
	FOUND = PIPESIM_N_PACK_RULES,
	N_WAYS,
};

/* So many micro-batches in a schedule. */
typedef struct {
	const PipesimChoice *choice;
	guint microbatches;
	gint64 makespan, bound; /* ns */
	guint *place;
	gboolean all; /* packings were looked at */
} Try;

static void clear_try(gpointer data)
{
	g_free(((Try *)data)->place);
}

/* What is asked for ----------------------------------------------------------------------- */

gboolean pipesim_packed_check(PipesimSetup *setup, GError **error)
{
	if (setup->text[PIPESIM_SET_PACK] == NULL)
		return TRUE;
	if (!pipesim_setup_without(setup, error,
		    "--pack makes micro-batches of whole sequences; leave out %s",
		    PIPESIM_SET_OP_TIMES, PIPESIM_SET_SLICES, PIPESIM_SET_SLICE_LENGTHS))
		return FALSE;
	setup->order = MAX(setup->order, 1u);
	return setup->text[PIPESIM_SET_LENGTHS] != NULL ||
	       pipesim_refuse(
		       error, "--pack needs the tokens of each sequence; give --lengths FILE");
}

static gboolean read_tokens(PipesimOrdered *packed, GError **error)
{
	const char *path = packed->setup->text[PIPESIM_SET_LENGTHS];
	g_autoptr(PipesimCosts) costs = pipesim_costs_default();
	guint longest = 0;

	if (!pipesim_op_times_read(costs, pipesim_input_open(path, error), 1, error))
		return FALSE;
	const PipesimOpTimes *lengths = costs->op_times;
	packed->n = packed->of.n = lengths->microbatches;
	if (packed->of.n > PIPESIM_MAX_PACKED)
		return pipesim_fail(error, PIPESIM_ERROR_LIMIT,
			"--lengths: %u sequences, at most %d are packed; take those of one "
			"data-parallel rank",
			packed->of.n, PIPESIM_MAX_PACKED);
	packed->of.tokens = packed->tokens = g_new(gint64, packed->of.n);
	for (guint i = 0; i < packed->of.n; i++) {
		const PipesimFraction length =
			lengths->parts == 0 ? lengths->length[i] : (PipesimFraction){0, 1};

		packed->tokens[i] = length.num / length.den;
		if (length.num == 0 || length.num % length.den != 0)
			return pipesim_refuse(error,
				"--lengths: --pack counts whole tokens, sequence %u in %s has "
				"none",
				i, path);
		if (packed->tokens[i] > packed->tokens[longest])
			longest = i;
	}
	packed->longest = packed->tokens[longest];
	if (packed->longest > packed->of.limit)
		return pipesim_fail(error, PIPESIM_ERROR_CONSTRAINT,
			"sequence %u has %" G_GINT64_FORMAT
			" tokens, more than a micro-batch; nearest: --pack %" G_GINT64_FORMAT,
			longest, packed->longest, packed->longest);
	return TRUE;
}

/* What a sequence costs: as --slice-cost has it, as the kernels of a described model, or by its tokens alone. */
static gboolean read_cost(PipesimOrdered *packed, GError **error)
{
	PipesimSetup *setup = packed->setup;
	PipesimSequences *of = &packed->of;
	const double n = setup->sizes.seq > 0 ? setup->sizes.seq : 4096;

	packed->has_cost = TRUE;
	of->cost.b = 1;
	if (setup->text[PIPESIM_SET_SLICE_COST] != NULL) {
		of->cost = setup->costs->slicing->cost;
	} else if (setup->device != NULL && setup->costs->cutter != NULL) {
		const PipesimTraining *training = pipesim_cutter_training(setup->costs->cutter);
		const PipesimRates rates = pipesim_device_rates(setup->device, training);

		of->cost = pipesim_sequence_times(
			setup->model, training, &rates, packed->longest, of->limit, NULL);
	} else {
		packed->has_cost = FALSE;
	}
	of->whole = of->cost.c +
		    MAX(setup->sizes.microbatch, 1u) * (of->cost.b * n + of->cost.a * n * n);
	return of->cost.gamma == 0 ||
	       pipesim_refuse(error, "--slice-cost: gamma is of slices behind others; leave it "
				     "out with --pack");
}

/* Searching ------------------------------------------------------------------------------- */

/* @try, whose choice and number are set, with so many moves. FALSE: the schedule cannot be run so. */
static gboolean search(
	PipesimOrdered *packed, Try *try, guint64 moves, guint64 work, GError **error)
{
	const PipesimSequences *of = &packed->of;
	const guint64 seed = packed->setup->scenario.seed;
	g_autoptr(PipesimDeal) deal =
		pipesim_choice_deal(try->choice, packed->setup, try->microbatches, error);
	g_autofree guint *place = g_new(guint, of->n);

	if (deal == NULL)
		return FALSE;
	gint64 makespan = pipesim_pack_search(deal, of, moves, seed, place, &try->all);
	if (makespan == G_MAXINT64)
		return try->place != NULL ||
		       pipesim_fail(error, PIPESIM_ERROR_CONSTRAINT,
			       "no packing into %u micro-batches was found", try->microbatches);
	if (try->place == NULL || makespan < try->makespan) {
		g_free(try->place);
		try->place = g_steal_pointer(&place);
		try->makespan = makespan;
	}
	try->bound = MAX(try->bound,
		try->all ? makespan : pipesim_pack_bound(deal, of, try->makespan, work));
	return TRUE;
}

PIPESIM_COMPARE(compare_tries, Try, pipesim_by(makespan))

/* Each number of micro-batches in each of @choices; none: FALSE. */
static gboolean search_all(PipesimOrdered *packed, const GPtrArray *choices, guint64 moves,
	GArray *tries, GError **error)
{
	const PipesimSetup *setup = packed->setup;
	const gboolean given = setup->text[PIPESIM_SET_MICROBATCHES] != NULL;
	const gboolean few = packed->of.n <= PIPESIM_PACKED_EXACT;
	const guint fewest = pipesim_pack_fewest(&packed->of);
	g_autoptr(GError) fault = NULL;

	pipesim_each_in (const PipesimChoice, choice, choices) {
		const guint m = choice->file != NULL ? choice->file->order->shape.microbatches
				: given              ? setup->scenario.microbatches
						     : 0;

		if (setup->order == 2 &&
			!pipesim_holds_little(choice, &setup->scenario, setup->costs))
			continue;
		for (guint k = MAX(fewest, m); k <= (m > 0 ? m : packed->of.n); k++) {
			Try try = {.choice = choice, .microbatches = k};

			if (search(packed, &try, few ? moves : FIRST_MOVES,
				    BOUND_WORK / choices->len / (packed->of.n - fewest + 1),
				    fault == NULL ? &fault : NULL))
				g_array_append_val(tries, try);
		}
	}
	g_array_sort(tries, compare_tries);
	for (guint i = 0; i < MIN(tries->len, MOST_SEARCHED); i++) {
		Try *try = &g_array_index(tries, Try, i);

		if (!try->all && !search(packed, try, moves, BOUND_WORK / MOST_SEARCHED, error))
			return FALSE;
	}
	g_array_sort(tries, compare_tries);
	if (tries->len > 0)
		return TRUE;
	if (fault != NULL)
		g_propagate_error(error, g_steal_pointer(&fault));
	else
		pipesim_fail(error, PIPESIM_ERROR_CONSTRAINT,
			"the tokens need %u micro-batches at least, of %u sequences", fewest,
			packed->of.n);
	return FALSE;
}

/* @place, made by @rule or searched, of @m micro-batches; 0: the schedule cannot be run so. @deals: those there were, by m */
static gint64 run_way(PipesimOrdered *packed, const PipesimChoice *choice,
	const PipesimSequences *of, guint way, guint *place, guint *m, GPtrArray *deals)
{
	const guint64 seed = packed->setup->scenario.seed;
	gboolean all;

	if (way < FOUND)
		*m = pipesim_pack_arrange(of, way,
			packed->setup->text[PIPESIM_SET_MICROBATCHES] != NULL
				? packed->setup->scenario.microbatches
				: 0,
			place);
	if (deals->pdata[*m] == NULL)
		deals->pdata[*m] = pipesim_choice_deal(choice, packed->setup, *m, NULL);
	if (deals->pdata[*m] == NULL)
		return 0;
	if (way < FOUND)
		return pipesim_pack_run(deals->pdata[*m], of, place);
	return pipesim_pack_search(deals->pdata[*m], of, DRAWN_MOVES, seed, place, &all);
}

/* The rules beside what was found, and all of them for batches drawn from the same lengths, with repetition. */
static void compare_ways(PipesimOrdered *packed, const Try *best)
{
	const guint n = packed->of.n, samples = packed->setup->scenario.samples;
	g_autoptr(GPtrArray) deals =
		g_ptr_array_new_with_free_func((GDestroyNotify)pipesim_deal_free);
	g_autofree gint64 *values = g_new(gint64, samples + 1), *tokens = g_new(gint64, n);
	PipesimSequences drawn = packed->of;

	drawn.tokens = tokens;
	g_ptr_array_set_size(deals, (gint)n + 1);
	for (guint i = 0; i < N_WAYS; i++) {
		PipesimWay *way = &packed->ways[i];
		g_autofree guint *place = g_new(guint, n);
		guint known = 0;

		*way = (PipesimWay){.name = i == FOUND ? "found" : pipesim_pack_rule_names[i],
			.microbatches = best->microbatches,
			.makespan = best->makespan};
		if (i < FOUND)
			way->makespan = run_way(packed, best->choice, &packed->of, i, place,
				&way->microbatches, deals);
		for (guint sample = 0; sample < samples && way->makespan > 0; sample++) {
			const PipesimSampleKey key =
				pipesim_sample_key(packed->setup->scenario.seed + 1, sample);

			for (guint k = 0; k < n; k++)
				tokens[k] = packed->tokens[pipesim_random_below(key, k, n)];
			guint m = pipesim_pack_fewest(&drawn);
			m = MAX(best->microbatches, m);
			/* Where so many have no room for all, more have. */
			do
				values[known] = run_way(
					packed, best->choice, &drawn, i, place, &m, deals);
			while (values[known] == G_MAXINT64 && m++ < n);
			known += values[known] > 0 && values[known] < G_MAXINT64;
		}
		if (known == samples && known > 0)
			pipesim_way_drawn(way, values, known);
		way->order = i == FOUND ? g_memdup2(best->place, sizeof *place * n)
					: g_steal_pointer(&place);
	}
}

PipesimOrdered *pipesim_packed_new(
	PipesimSetup *setup, const GPtrArray *choices, guint64 moves, GError **error)
{
	g_autoptr(PipesimOrdered) packed = g_new0(PipesimOrdered, 1);
	g_autoptr(GArray) tries = g_array_new(FALSE, FALSE, sizeof(Try));

	g_array_set_clear_func(tries, clear_try);
	packed->setup = setup;
	packed->n_ways = N_WAYS;
	packed->of.limit = setup->pack;
	if (!read_tokens(packed, error) || !read_cost(packed, error) ||
		!search_all(
			packed, choices, moves / choices->len / MOST_SEARCHED, tries, error))
		return NULL;
	const Try *best = &g_array_index(tries, Try, 0);
	packed->bound = best->makespan;
	pipesim_each (const Try, try, tries)
		packed->bound = MIN(packed->bound, try->bound);
	packed->schedule = pipesim_choice_name(best->choice);
	compare_ways(packed, best);
	setup->scenario.microbatches = best->microbatches;
	return g_steal_pointer(&packed);
}
