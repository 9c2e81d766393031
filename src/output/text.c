#include "config.h"

#include <math.h>
#include <string.h>

#include "output/figures.h"
#include "output/links.h"
#include "output/notes.h"
#include "output/samples.h"
#include "output/table.h"

/* What a page of a design document takes. */
#define TABLE_WIDTH 100

enum {
	NAME,
	ON_RANKS,
	MAKESPAN,
	SPEED,
	WAITING,
	IDLE,
	SPAN,
	RATIO,
	FORMULA,
	DIFFERENCE,
	HELD,
	PUBLISHED,
	COPIES,
	MEMORY,
	N_COLUMNS
};

/* How the numbers of one table are printed. */
typedef struct {
	guint decimals;    /* of ms */
	guint activations; /* decimals of activations */
	gint64 bytes;      /* one unit of the memory column */
	gboolean too_much; /* some row does not fit */
	PipesimColumn columns[N_COLUMNS];
} Layout;

static const PipesimRun *get_run(const PipesimComparison *comparison, guint i)
{
	return g_ptr_array_index(comparison->runs, i);
}

static char *print_ms(gint64 ns, guint decimals)
{
	PipesimNumber number;

	return g_strdup(pipesim_print_ms_fixed(number, ns, decimals));
}

static char *print_double(double value, guint decimals)
{
	GString *text = g_string_new(NULL);

	pipesim_figure_fixed(text, value, decimals);
	return g_string_free(text, FALSE);
}

/* Titles --------------------------------------------------------------------------------- */

static void append_time(GString *out, const char *before, const char *name, gint64 ns)
{
	PipesimNumber number;

	g_string_append_printf(out, "%s%s %s", before, name, pipesim_print_ms(number, ns));
}

/* "TITLE: stage 0 x 1.3, ...", of the factors that are not 1. */
static void append_factors(GString *out, const char *title, const char *what,
	const PipesimFraction *factor, guint n)
{
	const char *before = title;

	for (guint i = 0; factor != NULL && i < n; i++) {
		if (factor[i].num == factor[i].den)
			continue;
		g_string_append_printf(out, "%s%s %u x ", before, what, i);
		pipesim_figure_short(out, pipesim_figure_fraction(factor[i]), 9);
		before = ", ";
	}
	if (before != title)
		g_string_append_c(out, '\n');
}

/* Shortest and longest of the parts that have times of their own. */
static void append_parts(GString *out, const PipesimCosts *costs)
{
	static const PipesimKind kinds[] = {PIPESIM_F, PIPESIM_I, PIPESIM_W, PIPESIM_B};
	PipesimNumber shortest, longest;

	if (costs->part == NULL)
		return;
	g_string_append_printf(out, "Stages differ, ms over %u parts:", costs->n_parts);
	for (gsize i = 0; i < G_N_ELEMENTS(kinds); i++) {
		gint64 least = G_MAXINT64, most = 0;

		for (guint k = 0; k < costs->n_parts; k++) {
			const gint64 ns = costs->part[(gsize)k * PIPESIM_FB + kinds[i]];

			least = MIN(least, ns);
			most = MAX(most, ns);
		}
		g_string_append_printf(out, "%s %s %s", i > 0 ? "," : "",
			pipesim_kind_letter(kinds[i]), pipesim_print_ms(shortest, least));
		if (most > least)
			g_string_append_printf(out, " to %s", pipesim_print_ms(longest, most));
	}
	g_string_append_c(out, '\n');
}

static void append_bytes(GString *out, const PipesimComparison *comparison)
{
	const PipesimCosts *costs = comparison->costs;
	PipesimNumber until_input, until_weight, parameters, limit;

	if (costs->bytes_until_input == 0 && costs->bytes_until_weight == 0 &&
		costs->parameter_bytes == 0)
		return;
	g_string_append_printf(out,
		"Memory: a micro-batch holds %s until I, %s until W; parameters %s",
		pipesim_print_bytes(until_input, costs->bytes_until_input),
		pipesim_print_bytes(until_weight, costs->bytes_until_weight),
		pipesim_print_bytes(parameters, costs->parameter_bytes));
	if (comparison->scenario.memory_limit > 0)
		g_string_append_printf(out, "; limit %s",
			pipesim_print_bytes(limit, comparison->scenario.memory_limit));
	g_string_append_c(out, '\n');
}

/* Only where a schedule has several stages a rank does it make a difference. */
static void append_footing(GString *out, const PipesimComparison *comparison)
{
	gboolean several = FALSE;

	for (guint i = 0; i < comparison->runs->len; i++) {
		const PipesimRun *run = get_run(comparison, i);

		several |= run->error == NULL && run->shape.stages > run->shape.ranks;
	}
	if (comparison->scenario.compare_at == PIPESIM_AT_STAGES)
		g_string_append_printf(out,
			"Compared at equal stages: %u of the same length in every schedule; "
			"with v "
			"a rank on %u/v ranks\n",
			comparison->scenario.ranks, comparison->scenario.ranks);
	else if (several)
		g_string_append_printf(out,
			"Compared at equal ranks: %u in every schedule; with v stages a rank "
			"each "
			"takes 1/v of its time\n",
			comparison->scenario.ranks);
}

static void append_titles(GString *out, const PipesimComparison *comparison)
{
	const PipesimCosts *costs = comparison->costs;
	g_autoptr(GString) times = g_string_new(NULL);

	g_string_append_printf(out, "PP %u, %u micro-batch%s\n", comparison->scenario.ranks,
		comparison->scenario.microbatches,
		comparison->scenario.microbatches == 1 ? "" : "es");
	append_footing(out, comparison);
	append_time(times, "Times, ms: ", "F", costs->time[PIPESIM_F]);
	append_time(times, ", ", "I", costs->time[PIPESIM_I]);
	append_time(times, ", ", "W", costs->time[PIPESIM_W]);
	append_time(times, ", ", "B", costs->time[PIPESIM_B]);
	append_time(times, ", ", "FB", costs->time[PIPESIM_FB]);
	append_time(times, "; ", "P2P", costs->p2p);
	g_string_append_printf(times, " (%s, a micro-batch)",
		comparison->scenario.compare_at == PIPESIM_AT_STAGES ? "a stage"
								     : "a rank's share");
	pipesim_wrap(out, times->str, 2, 0, TABLE_WIDTH);
	g_string_append_c(out, '\n');
	g_string_append(out, "Times from: ");
	pipesim_wrap(out, costs->source != NULL ? costs->source : "given, not measured", 12, 12,
		TABLE_WIDTH);
	g_string_append_c(out, '\n');
	append_factors(out, "Stage lengths against the average: ", "stage", costs->scale,
		costs->n_scale);
	append_parts(out, costs);
	append_factors(out, "Ranks against the others: ", "rank", costs->slow, costs->n_slow);
	append_bytes(out, comparison);
	pipesim_comm_title(comparison, TABLE_WIDTH, out);
	pipesim_links_title(costs, TABLE_WIDTH, out);
	g_string_append_c(out, '\n');
}

/* Numbers -------------------------------------------------------------------------------- */

/* Decimals, 3 at most, that show @ns as it is. */
static guint decimals_of(gint64 ns)
{
	guint decimals = 0;

	for (gint64 unit = 1000000; decimals < 3 && ns % unit != 0; unit /= 10)
		decimals++;
	return decimals;
}

static void measure_report(const PipesimReport *report, Layout *layout, gint64 *memory)
{
	const gint64 times[] = {report->makespan, report->bubble.max_idle,
		report->bubble.max_span_idle, report->published.bubble};

	for (gsize i = 0; i < G_N_ELEMENTS(times); i++)
		layout->decimals = MAX(layout->decimals, decimals_of(times[i]));
	for (guint i = 0; i < report->ranks; i++) {
		gint64 held = report->held.peak[i] * report->held.unit.num * 1000 /
			      report->held.unit.den;

		layout->activations =
			MAX(layout->activations, MIN(2, decimals_of(held * 1000)));
	}
	if (report->memory.peak != NULL)
		*memory = MAX(*memory, report->memory.max);
	layout->too_much |= !report->memory.fits;
}

static const PipesimColumn columns[N_COLUMNS] = {
	[NAME] = {NULL, "  schedule", TRUE},
	[ON_RANKS] = {NULL, "ranks", FALSE},
	[MAKESPAN] = {"makespan", "ms", FALSE},
	[SPEED] = {"vs", "1F1B", FALSE},
	[WAITING] = {"waits", "ms", FALSE},
	[IDLE] = {"bubble", "max ms", FALSE},
	[SPAN] = {"bubble", "span", FALSE},
	[RATIO] = {"bubble", "%", FALSE},
	[FORMULA] = {"formula", "ms", FALSE},
	[DIFFERENCE] = {"formula", "off by", FALSE},
	[HELD] = {"activations", "peak", FALSE},
	[PUBLISHED] = {"activations", "publ.", FALSE},
	[COPIES] = {"param.", "copies", FALSE},
	[MEMORY] = {"memory", "B", FALSE},
};

static void layout_init(Layout *layout, const PipesimComparison *comparison)
{
	gint64 memory = 0;

	*layout = (Layout){.bytes = 1};
	memcpy(layout->columns, columns, sizeof(columns));
	for (guint i = 0; i < comparison->runs->len; i++)
		if (get_run(comparison, i)->error == NULL)
			measure_report(get_run(comparison, i)->report, layout, &memory);
	if (memory >= 1000000000) {
		layout->bytes = 1000000000;
		layout->columns[MEMORY].title = "GB";
	} else if (memory >= 1000000) {
		layout->bytes = 1000000;
		layout->columns[MEMORY].title = "MB";
	}
}

static char *print_memory(const PipesimReport *report, const Layout *layout)
{
	g_autofree char *number = print_double(
		(double)report->memory.max / (double)layout->bytes, layout->bytes > 1 ? 1 : 0);

	return g_strconcat(number,
		!report->memory.fits ? "!"
		: layout->too_much   ? " "
				     : "",
		NULL);
}

/* Table ---------------------------------------------------------------------------------- */

static void add_result(PipesimTable *table, const Layout *layout,
	const PipesimComparison *comparison, const PipesimRun *run, gboolean best)
{
	const PipesimReport *report = run->report;
	double speed = pipesim_throughput(comparison, run);
	gboolean span = run->schedule != NULL && run->schedule->bubble.is_span;
	char *cells[N_COLUMNS] = {
		[NAME] = g_strconcat(best ? "* " : "  ", run->name, NULL),
		[MAKESPAN] = print_ms(report->makespan, layout->decimals),
		[IDLE] = print_ms(report->bubble.max_idle, layout->decimals),
		[RATIO] = print_double(100 * pipesim_figure_fraction(report->bubble.ratio), 1),
		[HELD] = print_double(pipesim_figure_activations(report, report->held.max_peak),
			layout->activations),
		[COPIES] = g_strdup_printf("%u", run->shape.copies),
	};

	if (comparison->scenario.compare_at == PIPESIM_AT_STAGES)
		cells[ON_RANKS] = g_strdup_printf("%u", report->ranks);
	if (!isnan(speed))
		cells[SPEED] = print_double(speed, 2);
	if (span)
		cells[SPAN] = print_ms(report->bubble.max_span_idle, layout->decimals);
	if (report->published.has_bubble) {
		cells[FORMULA] = print_ms(report->published.bubble, layout->decimals);
		cells[DIFFERENCE] = print_ms(report->published.difference, layout->decimals);
	}
	if (report->comm != NULL)
		cells[WAITING] = print_ms(report->comm->rules, layout->decimals);
	if (report->published.has_activations)
		cells[PUBLISHED] =
			print_double(pipesim_figure_fraction(report->published.activations),
				layout->activations);
	if (report->memory.peak != NULL)
		cells[MEMORY] = print_memory(report, layout);
	pipesim_table_add(table, best ? PIPESIM_ROW_BEST : PIPESIM_ROW_PLAIN, cells);
}

/* Messages of a schedule begin with its name, which the row shows already. */
static void add_refusal(PipesimTable *table, const PipesimRun *run)
{
	g_autofree char *prefix = g_strconcat(run->name, ": ", NULL);
	g_autofree char *first = g_strconcat("  ", run->name, NULL);
	const char *message = run->error->message;

	if (g_str_has_prefix(message, prefix))
		message += strlen(prefix);
	pipesim_table_add_text(table, PIPESIM_ROW_FAINT, first, message);
}

static PipesimTable *make_table(
	const PipesimComparison *comparison, const Layout *layout, int best)
{
	PipesimTable *table = pipesim_table_new(layout->columns, N_COLUMNS);

	for (guint i = 0; i < comparison->runs->len; i++) {
		const PipesimRun *run = get_run(comparison, i);

		if (run->error != NULL)
			add_refusal(table, run);
		else
			add_result(table, layout, comparison, run, (int)i == best);
	}
	return table;
}

static void append_table(GString *out, const PipesimComparison *comparison, Layout *layout,
	int best, const PipesimStyle *style)
{
	g_autoptr(PipesimTable) table = make_table(comparison, layout, best);

	while (layout->decimals > 0 && pipesim_table_width(table) > TABLE_WIDTH) {
		layout->decimals--;
		pipesim_table_free(table);
		table = make_table(comparison, layout, best);
	}
	pipesim_table_print(table, TABLE_WIDTH, style, out);
}

/* Ranks ---------------------------------------------------------------------------------- */

enum {
	RANKS,
	RANK_IDLE,
	RANK_SPAN,
	RANK_HELD,
	RANK_UNTIL_INPUT,
	RANK_MEMORY,
	N_RANK_COLUMNS
};

static gboolean same_rank(const PipesimReport *report, guint a, guint b)
{
	return report->bubble.idle[a] == report->bubble.idle[b] &&
	       report->bubble.span_idle[a] == report->bubble.span_idle[b] &&
	       report->held.peak[a] == report->held.peak[b] &&
	       report->held.peak_until_input[a] == report->held.peak_until_input[b] &&
	       (report->memory.peak == NULL ||
		       report->memory.peak[a] == report->memory.peak[b]);
}

static void add_ranks(PipesimTable *table, const Layout *layout, const PipesimReport *report,
	guint first, guint last)
{
	char *cells[N_RANK_COLUMNS] = {
		[RANKS] = first == last ? g_strdup_printf("  %u", first)
					: g_strdup_printf("  %u to %u", first, last),
		[RANK_IDLE] = print_ms(report->bubble.idle[first], layout->decimals),
		[RANK_SPAN] = print_ms(report->bubble.span_idle[first], layout->decimals),
		[RANK_HELD] = print_double(
			pipesim_figure_activations(report, report->held.peak[first]),
			layout->activations),
		[RANK_UNTIL_INPUT] = print_double(pipesim_figure_activations(report,
							  report->held.peak_until_input[first]),
			layout->activations),
	};

	if (report->memory.peak != NULL)
		cells[RANK_MEMORY] = print_double(
			(double)report->memory.peak[first] / (double)layout->bytes, 1);
	pipesim_table_add(table, PIPESIM_ROW_PLAIN, cells);
}

/* Where there is one schedule only, what each of its ranks does. */
static void append_ranks(GString *out, const Layout *layout, const PipesimReport *report,
	const PipesimStyle *style)
{
	const PipesimColumn rank_columns[N_RANK_COLUMNS] = {
		[RANKS] = {NULL, "  rank", TRUE},
		[RANK_IDLE] = {"bubble", "ms", FALSE},
		[RANK_SPAN] = {"bubble", "span", FALSE},
		[RANK_HELD] = {"activations held", "to W", FALSE},
		[RANK_UNTIL_INPUT] = {"activations held", "to I", FALSE},
		[RANK_MEMORY] = {"memory", layout->columns[MEMORY].title, FALSE},
	};
	g_autoptr(PipesimTable) table = pipesim_table_new(rank_columns, N_RANK_COLUMNS);

	for (guint first = 0, next; first < report->ranks; first = next) {
		for (next = first + 1; next < report->ranks && same_rank(report, first, next);)
			next++;
		add_ranks(table, layout, report, first, next - 1);
	}
	g_string_append_c(out, '\n');
	pipesim_table_print(table, TABLE_WIDTH, style, out);
}

/* Legend --------------------------------------------------------------------------------- */

static void append_meaning(GString *out, const char *column, const char *meaning)
{
	g_string_append_printf(out, "%-12s ", column);
	pipesim_wrap(out, meaning, 13, 13, TABLE_WIDTH);
	g_string_append_c(out, '\n');
}

static void append_legend(GString *out, const PipesimComparison *comparison, int best)
{
	gboolean at_stages = comparison->scenario.compare_at == PIPESIM_AT_STAGES;
	gboolean limited = comparison->scenario.memory_limit > 0;

	g_string_append_c(out, '\n');
	if (best >= 0)
		append_meaning(out, "*",
			at_stages ? "highest throughput of a rank"
			: limited ? "shortest makespan that fits the memory limit"
				  : "shortest makespan");
	append_meaning(out, "vs 1F1B", at_stages ? "throughput of a rank" : "throughput");
	if (comparison->scenario.comm != PIPESIM_COMM_ASYNC)
		append_meaning(out, "waits",
			"what the makespan is longer than where no message waits for another");
	append_meaning(out, "bubble",
		"makespan less busy time of the rank that idles longest; span: only between "
		"its "
		"first start and last end; %: of all ranks' time");
	append_meaning(out, "formula", "the published bubble; off by: max less formula");
	append_meaning(out, "activations",
		"most micro-batches of a whole stage that a rank holds until W; publ.: "
		"published");
	if (limited)
		append_meaning(out, "memory", "of the fullest rank; !: more than the limit");
	if (comparison->costs->network != NULL)
		append_meaning(out, "links",
			"wait: from when a message is ready until it moves; lost: makespan "
			"less that "
			"of links that keep nothing waiting, and that slow nothing");
	g_string_append_c(out, '\n');
}

static void write_text(
	const PipesimComparison *comparison, const PipesimStyle *style, GString *out)
{
	int best = pipesim_comparison_best(comparison);
	Layout layout;

	layout_init(&layout, comparison);
	append_titles(out, comparison);
	append_table(out, comparison, &layout, best, style);
	if (comparison->runs->len == 1 && get_run(comparison, 0)->error == NULL)
		append_ranks(out, &layout, get_run(comparison, 0)->report, style);
	pipesim_links_text(comparison, TABLE_WIDTH, style, out);
	append_legend(out, comparison, best);
	pipesim_samples_text(comparison, style, out);
	pipesim_notes(comparison, TABLE_WIDTH, out);
}

const PipesimOutput pipesim_output_text = {
	.name = "text",
	.extensions = "txt",
	.summary = "table for people, with notes on what differs and why",
	.keep = PIPESIM_KEEP_NOTHING,
	.for_people = TRUE,
	.write = write_text,
};
