#include "cli/optimize-order.h"
#include "analysis/best-order.h"
#include "model/random.h"
#include "output/figures.h"

/* Orders drawn at random that stand beside. */
#define RANDOM_ORDERS 1000
/* Of each batch that is drawn, the moves that look for its best order. */
#define DRAWN_MOVES 600

/* The rules, then orders drawn at random, then the best that was found. */
enum {
	RANDOM = PIPESIM_N_BATCH_RULES,
	FOUND,
	N_WAYS,
};

G_STATIC_ASSERT(N_WAYS <= G_N_ELEMENTS(((PipesimOrdered *)NULL)->ways));

PIPESIM_FREES(PipesimOrdered, pipesim_ordered_free, ordered)
{
	for (guint i = 0; i < ordered->n_ways; i++)
		g_free(ordered->ways[i].order);
	pipesim_free_all(ordered->tokens, ordered);
}

/* Searching ------------------------------------------------------------------------------- */

static gint64 quantile(gint64 *values, guint n, guint percent)
{
	qsort(values, n, sizeof *values, pipesim_compare_int64);
	return values[(guint64)(n - 1) * percent / 100];
}

void pipesim_way_drawn(PipesimWay *way, gint64 *values, guint n)
{
	way->median = quantile(values, n, 50);
	way->p95 = quantile(values, n, 95);
}

/* The order that @way puts @batch into. */
static void arrange(PipesimDeal *deal, guint way, guint64 seed, guint64 number, guint *batch)
{
	if (way < PIPESIM_N_BATCH_RULES)
		pipesim_deal_arrange(deal, way, batch);
	else if (way == RANDOM)
		pipesim_deal_shuffle(deal, seed, number, batch);
	else
		pipesim_deal_search(deal, DRAWN_MOVES, seed, batch);
}

/* Batches of as many micro-batches, drawn from those that there are, with repetition. */
static void draw_batches(PipesimOrdered *ordered, PipesimDeal *deal, guint64 seed)
{
	const guint m = ordered->n, n = ordered->samples;
	g_autofree gint64 *values = g_new(gint64, n);
	g_autofree guint *batch = g_new(guint, m);

	for (guint way = 0; way < N_WAYS && n > 0; way++) {
		for (guint i = 0; i < n; i++) {
			const PipesimSampleKey key = pipesim_sample_key(seed + 1, i);

			for (guint k = 0; k < m; k++)
				batch[k] = pipesim_random_below(key, k, m);
			arrange(deal, way, seed, i, batch);
			values[i] = pipesim_deal_run(deal, batch);
		}
		pipesim_way_drawn(&ordered->ways[way], values, n);
	}
}

static PipesimOrdered *new_ordered(
	PipesimDeal *deal, PipesimSetup *setup, const char *schedule, guint m, guint64 moves)
{
	PipesimOrdered *ordered = g_new0(PipesimOrdered, 1);
	const guint64 seed = setup->scenario.seed;
	g_autofree gint64 *drawn = g_new(gint64, RANDOM_ORDERS);
	PipesimWay *found = &ordered->ways[FOUND];

	ordered->setup = setup;
	ordered->schedule = schedule;
	ordered->n = m;
	ordered->n_ways = N_WAYS;
	for (guint way = 0; way < N_WAYS; way++) {
		ordered->ways[way].name = way == FOUND    ? "found"
					  : way == RANDOM ? "random"
							  : pipesim_batch_rule_names[way];
		ordered->ways[way].order = g_new(guint, m);
		for (guint i = 0; i < m; i++)
			ordered->ways[way].order[i] = i;
	}
	for (guint rule = 0; rule < PIPESIM_N_BATCH_RULES; rule++) {
		pipesim_deal_arrange(deal, rule, ordered->ways[rule].order);
		ordered->ways[rule].makespan =
			pipesim_deal_run(deal, ordered->ways[rule].order);
	}
	for (guint i = 0; i < RANDOM_ORDERS; i++) {
		pipesim_deal_shuffle(deal, seed, i, ordered->ways[RANDOM].order);
		drawn[i] = pipesim_deal_run(deal, ordered->ways[RANDOM].order);
	}
	ordered->ways[RANDOM].makespan = quantile(drawn, RANDOM_ORDERS, 50);
	g_clear_pointer(&ordered->ways[RANDOM].order, g_free);
	found->makespan = pipesim_deal_search(deal, moves, seed, found->order);
	ordered->bound = m <= PIPESIM_MICROBATCHES_EXACT
				 ? found->makespan
				 : pipesim_deal_bound(deal, &found->makespan, found->order);
	return ordered;
}

gboolean pipesim_holds_little(
	const PipesimChoice *choice, const PipesimScenario *scenario, const PipesimCosts *costs)
{
	const PipesimFraction *most = &scenario->max_activations;
	const double limit =
		most->num > 0 ? pipesim_figure_fraction(*most) : (double)scenario->ranks;
	PipesimScenario brief = *scenario;
	gboolean fits;

	brief.keep = PIPESIM_KEEP_NOTHING;
	brief.samples = 0;
	PipesimRun *run = pipesim_choice_run(choice, &brief, costs);
	fits = run->error != NULL ||
	       (run->report->memory.fits && pipesim_figure_activations(run->report,
						    run->report->held.max_peak) <= limit);
	pipesim_run_free(run);
	return fits;
}

PipesimDeal *pipesim_choice_deal(const PipesimChoice *choice, const PipesimSetup *setup,
	guint microbatches, GError **error)
{
	PipesimScenario scenario = pipesim_choice_scenario(choice, &setup->scenario);

	scenario.microbatches = microbatches;
	g_autoptr(PipesimProgram) program =
		choice->file != NULL ? pipesim_order_expand(choice->file->order, error)
				     : pipesim_best_program(choice->schedule, &scenario,
					       setup->costs, error);
	if (program == NULL)
		return NULL;
	if (pipesim_shape_parts(&program->shape) > 1)
		return pipesim_fail_null(error, PIPESIM_ERROR_CONSTRAINT,
			"micro-batches run in parts; take a schedule of whole ones");
	if (program->shape.microbatches != microbatches)
		return pipesim_fail_null(error, PIPESIM_ERROR_CONSTRAINT,
			"the file has %u micro-batches, and %u are asked for",
			program->shape.microbatches, microbatches);
	if (setup->costs->op_times != NULL &&
		!pipesim_op_times_fit(setup->costs->op_times, &program->shape, error))
		return NULL;
	g_autoptr(PipesimTimes) times =
		pipesim_times_new_placed(setup->costs, &program->shape, program->stage_of);
	return pipesim_deal_new(program, times, error);
}

/* The best order of @choice; NULL with @error where it cannot be run so. @moves: ops that may be looked at */
static PipesimOrdered *order_choice(
	const PipesimChoice *choice, PipesimSetup *setup, guint64 moves, GError **error)
{
	const guint m = setup->scenario.microbatches;
	g_autoptr(PipesimDeal) deal = pipesim_choice_deal(choice, setup, m, error);

	if (deal == NULL)
		return NULL;
	PipesimOrdered *ordered =
		new_ordered(deal, setup, pipesim_choice_name(choice), m, moves);
	ordered->samples = setup->scenario.samples;
	draw_batches(ordered, deal, setup->scenario.seed);
	return ordered;
}

PipesimOrdered *pipesim_ordered_new(
	PipesimSetup *setup, const GPtrArray *choices, guint64 moves, GError **error)
{
	g_autoptr(PipesimFaults) faults = pipesim_faults_new();
	g_autoptr(PipesimOrdered) best = NULL;

	for (guint i = 0; i < choices->len; i++) {
		g_autoptr(GError) fault = NULL;

		if (setup->order == 2 && !pipesim_holds_little(choices->pdata[i],
						 &setup->scenario, setup->costs))
			continue;
		g_autoptr(PipesimOrdered) ordered =
			order_choice(choices->pdata[i], setup, moves / choices->len, &fault);

		if (ordered == NULL) {
			g_prefix_error(&fault, "%s: ", pipesim_choice_name(choices->pdata[i]));
			pipesim_faults_take(faults, g_steal_pointer(&fault));
		} else if (best == NULL ||
			   ordered->ways[FOUND].makespan < best->ways[FOUND].makespan) {
			pipesim_ordered_free(best);
			best = g_steal_pointer(&ordered);
		}
	}
	if (best == NULL && pipesim_faults_done(faults, error))
		return pipesim_fail_null(error, PIPESIM_ERROR_CONSTRAINT,
			"no schedule of the placement holds so few activations");
	if (best == NULL)
		return NULL;
	return g_steal_pointer(&best);
}

/* Output ---------------------------------------------------------------------------------- */

static const PipesimWay *found_of(const PipesimOrdered *ordered)
{
	return &ordered->ways[ordered->n_ways - 1];
}

/* The sequences of micro-batch @at, [n], in their order; how many. */
static guint list_sequences(const PipesimOrdered *packed, guint at, guint *sequences)
{
	guint n = 0;

	for (guint i = 0; i < packed->n; i++)
		if (found_of(packed)->order[i] == at)
			sequences[n++] = i;
	return n;
}

static void put_microbatch(PipesimJson *json, const PipesimOrdered *packed, guint index)
{
	g_autofree guint *sequences = packed != NULL ? g_new(guint, packed->n) : NULL;
	const guint n = packed != NULL ? list_sequences(packed, index, sequences) : 0;
	const gint64 tokens = pipesim_sum(i, n, packed->tokens[sequences[i]]);

	PIPESIM_MEMBER(json, "tokens", COUNT, tokens);
	PIPESIM_LIST(json, "sequences", COUNT, n, sequences[i]);
}

static void put_packing(PipesimJson *json, const PipesimWay *way, guint index G_GNUC_UNUSED)
{
	PIPESIM_MEMBER(json, "name", TEXT, way->name);
	if (PIPESIM_WHERE(json, way->microbatches > 0))
		PIPESIM_MEMBER(json, "microbatches", COUNT, way->microbatches);
	PIPESIM_MEMBER(
		json, "makespan_ms", TIME, way->makespan > 0 ? way->makespan : PIPESIM_NOTHING);
	if (PIPESIM_WHERE(json, way->median > 0)) {
		PIPESIM_MEMBER(json, "median_ms", TIME, way->median);
		PIPESIM_MEMBER(json, "p95_ms", TIME, way->p95);
	}
}

static void put_order(PipesimJson *json, const PipesimOrdered *ordered, guint index)
{
	const PipesimWay *way = ordered != NULL ? &ordered->ways[index] : NULL;

	put_packing(json, way, index);
	if (PIPESIM_WHERE(json, way->order != NULL))
		PIPESIM_LIST(json, "order", COUNT, ordered->n, way->order[i]);
}

void pipesim_ordered_members(PipesimJson *json, const PipesimOrdered *ordered)
{
	const PipesimWay *found = ordered != NULL ? found_of(ordered) : NULL;

	PIPESIM_MEMBER(json, "schedule", TEXT, ordered->schedule);
	PIPESIM_MEMBER(json, "makespan_ms", TIME, found->makespan);
	PIPESIM_MEMBER(json, "lower_bound_ms", TIME, ordered->bound);
	PIPESIM_MEMBER(json, "gap", SHARE,
		(double)(found->makespan - ordered->bound) / (double)MAX(ordered->bound, 1));
	if (PIPESIM_WHERE(json, ordered->tokens == NULL)) {
		PIPESIM_LIST(json, "order", COUNT, ordered->n, found->order[i]);
		PIPESIM_EACH(json, "orders", line, ordered->n_ways, TRUE, put_order, ordered);
	}
	if (PIPESIM_WHERE(json, ordered->tokens != NULL)) {
		PIPESIM_EACH(json, "packed", line, found->microbatches, TRUE, put_microbatch,
			ordered);
		PIPESIM_EACH(json, "packings", line, ordered->n_ways, TRUE, put_packing,
			&ordered->ways[i]);
	}
}

/* The best first. */
static PipesimTable *make_table(const PipesimOrdered *ordered)
{
	const gint64 best = found_of(ordered)->makespan;
	PipesimTable *table = pipesim_table_of(
		ordered->tokens != NULL ? "  packing<|micro-:batches|step:ms|over the:best, %|"
					  "batches drawn, ms:median|batches drawn, ms:95 %"
					: "  order<|micro-:batches|step:ms|over the:best, %|"
					  "batches drawn, ms:median|batches drawn, ms:95 %");

#define MS(ns) ((ns) > 0 ? pipesim_ms_fixed(ns, 3) : "")
	for (guint i = ordered->n_ways; i-- > 0;) {
		const PipesimWay *way = &ordered->ways[i];
		const gboolean found = i + 1 == ordered->n_ways;
		const double over = 100 * (double)(way->makespan - best) / (double)MAX(best, 1);

		pipesim_table_row(table, found ? PIPESIM_ROW_BEST : PIPESIM_ROW_PLAIN,
			"%s%s\t%.0u\t%s\t%s\t%s\t%s", found ? "* " : "  ", way->name,
			way->microbatches, MS(way->makespan),
			way->makespan > 0 ? pipesim_fixed(over, 2) : "", MS(way->median),
			MS(way->p95));
	}
	return table;
}
void pipesim_say_gap(
	GPtrArray *verdict, const char *what, const char *where, gint64 makespan, gint64 bound)
{
	const double gap = 100 * (double)(makespan - bound) / (double)MAX(bound, 1);

	if (makespan <= bound)
		pipesim_lines_say(
			verdict, "It is proven optimal: no %s is shorter%s.", what, where);
	else
		pipesim_lines_say(verdict, "No %s is shorter than %s%s: the gap is %s%.2f %%.",
			what, pipesim_brief_time(bound), where, gap < 0.01 ? "below " : "",
			MAX(gap, 0.01));
}

/* What was found of an order, into @screen and, as it is run, @below. */
static void say_order(const PipesimOrdered *ordered, PipesimScreen *screen, GString *below)
{
	const PipesimWay *found = found_of(ordered),
			 *given = &ordered->ways[PIPESIM_BATCH_GIVEN];

	g_string_append_printf(screen->asked, "%u micro-batches of unequal length, %s",
		ordered->n, ordered->schedule);
	pipesim_lines_say(screen->verdict,
		"The best order found takes %s, %.2f %% less than as given.",
		pipesim_brief_time(found->makespan),
		100 * (double)(given->makespan - found->makespan) / (double)given->makespan);
	pipesim_say_gap(screen->verdict,
		found->makespan <= ordered->bound ? "order of these micro-batches"
						  : "order of them",
		" in this schedule", found->makespan, ordered->bound);
	pipesim_lines_say(screen->notes, "random: the median of %u orders", RANDOM_ORDERS);
	g_string_append(below, "order:");
	for (guint i = 0; i < ordered->n; i++)
		g_string_append_printf(below, " %u", found->order[i]);
}

static void say_packing(const PipesimOrdered *packed, PipesimScreen *screen, GString *below)
{
	g_autofree guint *sequences = g_new(guint, packed->n);
	const PipesimWay *found = found_of(packed),
			 *naive = &packed->ways[PIPESIM_PACK_FIRST_FIT];
	g_autofree char *less = NULL;

	g_string_append_printf(screen->asked,
		"%u sequence%s, at most %" G_GINT64_FORMAT " tokens in a micro-batch, %s",
		packed->n, packed->n == 1 ? "" : "s", packed->of.limit, packed->schedule);
	if (naive->makespan > 0)
		less = g_strdup_printf(", %.2f %% less than first-fit",
			100 * (double)(naive->makespan - found->makespan) /
				(double)naive->makespan);
	pipesim_lines_say(screen->verdict,
		"The best packing found makes %u micro-batch%s and takes %s%s.",
		found->microbatches, found->microbatches == 1 ? "" : "es",
		pipesim_brief_time(found->makespan), less != NULL ? less : "");
	pipesim_say_gap(screen->verdict,
		packed->setup->text[PIPESIM_SET_MICROBATCHES] != NULL ? "packing into so many"
								      : "packing",
		" in this schedule", found->makespan, packed->bound);
	if (!packed->has_cost)
		pipesim_lines_say(screen->notes,
			"A sequence takes as long as it has tokens: --slice-cost, or --model "
			"and --device, count attention too");
	g_string_append(below, "micro-batches of sequences:");
	for (guint k = 0; k < found->microbatches; k++) {
		const guint n = list_sequences(packed, k, sequences);

		for (guint i = 0; i < n; i++)
			g_string_append_printf(below, "%c%u", i > 0 ? '+' : ' ', sequences[i]);
	}
}

void pipesim_ordered_text(const PipesimOrdered *ordered, const char *path,
	const PipesimStyle *style, GString *out)
{
	g_autoptr(PipesimScreen) screen = pipesim_screen_new();
	g_autoptr(GString) below = g_string_new(NULL);
	const gboolean packed = ordered->tokens != NULL;

	g_string_append_printf(screen->asked, "PP %u, ", ordered->setup->scenario.ranks);
	(packed ? say_packing : say_order)(ordered, screen, below);
	screen->table = make_table(ordered);
	screen->whole = TRUE;
	pipesim_lines_say(screen->below, "%s", below->str);
	if (path != NULL)
		pipesim_lines_say(screen->notes, "The %s was written to %s",
			packed ? "packing" : "order", path);
	else
		pipesim_lines_say(screen->more, "-o FILE.csv");
	pipesim_lines_add(screen->notes, ordered->setup->notices);
	pipesim_screen_print(screen, style, out);
}

void pipesim_ordered_python(const PipesimOrdered *ordered, GString *out)
{
	const PipesimWay *found = found_of(ordered);
	const gboolean packed = ordered->tokens != NULL;
	g_autofree guint *sequences = g_new(guint, ordered->n);

	g_string_append_printf(out, "# %s: %s, PP %u.\n%s",
		packed ? "Sequences of each micro-batch, in the order in which these run"
		       : "The order in which the micro-batches of a batch run",
		ordered->schedule, ordered->setup->scenario.ranks,
		packed ? "PACKED = [\n" : "ORDER = [");
	for (guint i = 0; i < ordered->n && !packed; i++)
		g_string_append_printf(out, "%s%u", i > 0 ? ", " : "", found->order[i]);
	for (guint k = 0; k < found->microbatches && packed; k++) {
		const guint n = list_sequences(ordered, k, sequences);

		for (guint i = 0; i < n; i++)
			g_string_append_printf(
				out, "%s%u", i > 0 ? ", " : "    [", sequences[i]);
		g_string_append(out, "],\n");
	}
	g_string_append(out,
		packed ? "]\n\n\ndef microbatches(sequences):\n"
			 "    return [[sequences[i] for i in packed] for packed in PACKED]\n"
		       : "]\n\n\ndef microbatches(batch):\n"
			 "    return [batch[i] for i in ORDER]\n");
}

static void put_place(PipesimJson *csv, const PipesimOrdered *ordered, guint index)
{
	PIPESIM_MEMBER(csv, "place", COUNT, index);
	PIPESIM_MEMBER(csv, "microbatch", COUNT, found_of(ordered)->order[index]);
}

typedef struct {
	const PipesimOrdered *packed;
	guint *sequences; /* by micro-batch */
} Lines;

static void put_sequence(PipesimJson *csv, const Lines *lines, guint index)
{
	const PipesimOrdered *packed = PIPESIM_OF(lines, packed);

	PIPESIM_MEMBER(
		csv, "microbatch", COUNT, found_of(packed)->order[lines->sequences[index]]);
	PIPESIM_MEMBER(csv, "sequence", COUNT, lines->sequences[index]);
	PIPESIM_MEMBER(csv, "tokens", COUNT, packed->tokens[lines->sequences[index]]);
}

void pipesim_ordered_csv(const PipesimOrdered *ordered, GString *out)
{
	g_autofree guint *sequences = g_new(guint, ordered->n);
	const Lines lines = {ordered, sequences};
	guint n = 0;

	if (ordered->tokens == NULL) {
		PIPESIM_CSV(out, ordered->n, put_place, ordered);
		return;
	}
	for (guint k = 0; k < found_of(ordered)->microbatches; k++)
		n += list_sequences(ordered, k, sequences + n);
	PIPESIM_CSV(out, n, put_sequence, &lines);
}
