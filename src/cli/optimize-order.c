#include "config.h"

#include "analysis/best-order.h"
#include "base/array.h"
#include "cli/optimize-order.h"
#include "model/random.h"
#include "output/figures.h"
#include "output/screen.h"

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

struct _PipesimOrdered {
	const PipesimSetup *setup;
	char *schedule;
	guint m;
	gint64 bound;
	guint samples; /* batches drawn */
	PipesimWay ways[N_WAYS];
};

void pipesim_ordered_free(PipesimOrdered *ordered)
{
	if (ordered == NULL)
		return;
	for (guint i = 0; i < N_WAYS; i++)
		g_free(ordered->ways[i].order);
	g_free(ordered->schedule);
	g_free(ordered);
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
	const guint m = ordered->m, n = ordered->samples;
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

static PipesimOrdered *new_ordered(PipesimDeal *deal, const PipesimSetup *setup,
	const char *schedule, guint m, guint64 moves)
{
	PipesimOrdered *ordered = g_new0(PipesimOrdered, 1);
	const guint64 seed = setup->scenario.seed;
	g_autofree gint64 *drawn = g_new(gint64, RANDOM_ORDERS);
	PipesimWay *found = &ordered->ways[FOUND];

	ordered->setup = setup;
	ordered->schedule = g_strdup(schedule);
	ordered->m = m;
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
	PipesimRun *run;
	gboolean fits;

	brief.keep = PIPESIM_KEEP_NOTHING;
	brief.samples = 0;
	run = pipesim_choice_run(choice, &brief, costs);
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
	g_autoptr(PipesimProgram) program = NULL;
	g_autoptr(PipesimTimes) times = NULL;

	scenario.microbatches = microbatches;
	program = choice->file != NULL ? pipesim_program_ref(choice->file->program)
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
	times = pipesim_times_new_placed(setup->costs, &program->shape, program->stage_of);
	return pipesim_deal_new(program, times, error);
}

/* The best order of @choice; NULL with @error where it cannot be run so. @moves: ops that may be looked at */
static PipesimOrdered *order_choice(
	const PipesimChoice *choice, PipesimSetup *setup, guint64 moves, GError **error)
{
	const guint m = setup->scenario.microbatches;
	g_autoptr(PipesimDeal) deal = pipesim_choice_deal(choice, setup, m, error);
	PipesimOrdered *ordered;

	if (deal == NULL)
		return NULL;
	ordered = new_ordered(deal, setup, pipesim_choice_name(choice), m, moves);
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
		g_autoptr(PipesimOrdered) ordered = NULL;

		if (setup->order == 2 && !pipesim_holds_little(choices->pdata[i],
						 &setup->scenario, setup->costs))
			continue;
		ordered = order_choice(choices->pdata[i], setup, moves / choices->len, &fault);

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

static double gap(const PipesimOrdered *ordered)
{
	return (double)(ordered->ways[FOUND].makespan - ordered->bound) /
	       (double)MAX(ordered->bound, 1);
}

void pipesim_put_way(PipesimJson *json, const PipesimWay *way)
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

static void put_way(PipesimJson *json, const PipesimOrdered *ordered, guint index)
{
	const PipesimWay *way = ordered != NULL ? &ordered->ways[index] : NULL;

	pipesim_put_way(json, way);
	if (PIPESIM_WHERE(json, way->order != NULL))
		PIPESIM_LIST(json, "order", COUNT, ordered->m, way->order[i]);
}

void pipesim_ordered_members(PipesimJson *json, const PipesimOrdered *ordered)
{
	PIPESIM_MEMBER(json, "schedule", TEXT, ordered->schedule);
	PIPESIM_MEMBER(json, "makespan_ms", TIME, ordered->ways[FOUND].makespan);
	PIPESIM_MEMBER(json, "lower_bound_ms", TIME, ordered->bound);
	PIPESIM_MEMBER(json, "gap", SHARE, gap(ordered));
	PIPESIM_LIST(json, "order", COUNT, ordered->m, ordered->ways[FOUND].order[i]);
	PIPESIM_EACH(json, "orders", line, N_WAYS, TRUE, put_way, ordered);
}

static char *cell(gint64 ns)
{
	return ns > 0 ? g_strdup(pipesim_ms_fixed(ns, 3)) : NULL;
}

#define COLUMNS(title)                                                                    \
	{                                                                                 \
		{NULL, title, TRUE}, {"micro-", "batches", FALSE}, {"step", "ms", FALSE}, \
			{"over the", "best, %", FALSE},                                   \
			{"batches drawn, ms", "median", FALSE},                           \
		{                                                                         \
			"batches drawn, ms", "95 %", FALSE                                \
		}                                                                         \
	}

PipesimTable *pipesim_ways_table(gboolean packed, const PipesimWay *ways, guint n)
{
	static const PipesimColumn columns[][6] = {COLUMNS("  order"), COLUMNS("  packing")};
	const gint64 best = ways[n - 1].makespan;
	PipesimTable *table = pipesim_table_new(columns[packed], G_N_ELEMENTS(columns[packed]));

	for (guint i = n; i-- > 0;) {
		const PipesimWay *way = &ways[i];
		const double over = 100 * (double)(way->makespan - best) / (double)MAX(best, 1);
		char *cells[] = {g_strconcat(i == n - 1 ? "* " : "  ", way->name, NULL),
			way->microbatches > 0 ? g_strdup_printf("%u", way->microbatches) : NULL,
			cell(way->makespan),
			way->makespan > 0 ? g_strdup(pipesim_fixed(over, 2)) : NULL,
			cell(way->median), cell(way->p95)};

		pipesim_table_add(
			table, i == n - 1 ? PIPESIM_ROW_BEST : PIPESIM_ROW_PLAIN, cells);
	}
	return table;
}

void pipesim_say_gap(
	GPtrArray *verdict, const char *what, const char *where, gint64 makespan, gint64 bound)
{
	const double gap = 100 * (double)(makespan - bound) / (double)MAX(bound, 1);

	if (makespan <= bound)
		pipesim_screen_say(
			verdict, "It is proven optimal: no %s is shorter%s.", what, where);
	else
		pipesim_screen_say(verdict, "No %s is shorter than %s%s: the gap is %s%.2f %%.",
			what, pipesim_brief_time(bound), where, gap < 0.01 ? "below " : "",
			MAX(gap, 0.01));
}

void pipesim_ordered_text(const PipesimOrdered *ordered, const char *path,
	const PipesimStyle *style, GString *out)
{
	g_autoptr(PipesimScreen) screen = pipesim_screen_new();
	const PipesimWay *found = &ordered->ways[FOUND],
			 *given = &ordered->ways[PIPESIM_BATCH_GIVEN];
	g_autoptr(GString) order = g_string_new(NULL);

	g_string_append_printf(screen->asked, "PP %u, %u micro-batches of unequal length, %s",
		ordered->setup->scenario.ranks, ordered->m, ordered->schedule);
	pipesim_screen_say(screen->verdict,
		"The best order found takes %s, %.2f %% less than as given.",
		pipesim_brief_time(found->makespan),
		100 * (double)(given->makespan - found->makespan) / (double)given->makespan);
	pipesim_say_gap(screen->verdict,
		found->makespan <= ordered->bound ? "order of these micro-batches"
						  : "order of them",
		" in this schedule", found->makespan, ordered->bound);
	screen->table = pipesim_ways_table(FALSE, ordered->ways, N_WAYS);
	screen->whole = TRUE;
	for (guint i = 0; i < ordered->m; i++)
		g_string_append_printf(order, "%s%u", i > 0 ? " " : "", found->order[i]);
	pipesim_screen_say(screen->below, "order: %s", order->str);
	pipesim_screen_say(screen->notes, "random: the median of %u orders", RANDOM_ORDERS);
	if (path != NULL)
		pipesim_screen_say(screen->notes, "The order was written to %s", path);
	else
		g_ptr_array_add(screen->more, g_strdup("-o FILE.csv"));
	pipesim_screen_note(screen, ordered->setup->notices);
	pipesim_screen_print(screen, style, out);
}

void pipesim_ordered_python(const PipesimOrdered *ordered, GString *out)
{
	g_string_append_printf(out,
		"# The order in which the micro-batches of a batch run: %s, PP %u.\nORDER = [",
		ordered->schedule, ordered->setup->scenario.ranks);
	for (guint i = 0; i < ordered->m; i++)
		g_string_append_printf(
			out, "%s%u", i > 0 ? ", " : "", ordered->ways[FOUND].order[i]);
	g_string_append(out, "]\n\n\ndef microbatches(batch):\n"
			     "    return [batch[i] for i in ORDER]\n");
}

static void put_place(PipesimJson *csv, const PipesimOrdered *ordered, guint index)
{
	PIPESIM_MEMBER(csv, "place", COUNT, index);
	PIPESIM_MEMBER(csv, "microbatch", COUNT, ordered->ways[FOUND].order[index]);
}

void pipesim_ordered_csv(const PipesimOrdered *ordered, GString *out)
{
	PIPESIM_CSV(out, ordered->m, put_place, ordered);
}
