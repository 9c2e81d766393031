/* The table for people: what the columns mean, and what a table cannot say. */

#include "output/text.h"
#include "output/figures.h"
#include "output/moments.h"
#include "output/samples.h"

#define MAX_COLUMNS 28
/* Of more ranks, neighbours that are alike counted once, the table has a summary. */
#define MAX_RANKS 32
/* More links than this are not listed one by one. */
#define MAX_LINKS 16
/* Of more schedules the names would hide what is said of them. */
#define MAX_NAMES 3

typedef struct {
	const PipesimComparison *comparison;
	const PipesimStyle *style;
	int best; /* run; -1: none */
	PipesimNumbers numbers;
	gboolean too_much; /* some run does not fit */
	guint width;       /* columns that sentences keep to */
	GString *out;
} Text;

static const PipesimRun *get_run(const Text *text, guint i)
{
	return g_ptr_array_index(text->comparison->runs, i);
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

static void measure(Text *text)
{
	pipesim_each_in (const PipesimRun, run, text->comparison->runs) {
		const PipesimReport *report = run->report;
		PipesimNumbers *numbers = &text->numbers;

		if (run->error != NULL)
			continue;
		/* What messages cost is rounded to the decimals of the other times. */
		for (guint k = 0; k < pipesim_n_figures; k++) {
			const PipesimFigure *figure = &pipesim_figures[k];

			if (figure->kind != PIPESIM_TIME || figure->csv == NULL ||
				figure->of_comm || figure->of_training || figure->of_power ||
				figure->of_host || figure->of_period || figure->of_copies)
				continue;
			PipesimValue value =
				pipesim_figure_value(figure, text->comparison, run, 0);
			if (pipesim_value_known(figure->kind, value))
				numbers->decimals =
					MAX(numbers->decimals, decimals_of(value.integer));
		}
		for (guint rank = 0; rank < report->ranks; rank++) {
			gint64 held = report->held.peak[rank] * report->held.unit.num * 1000 /
				      report->held.unit.den;

			numbers->activations =
				MAX(numbers->activations, MIN(2, decimals_of(held * 1000)));
		}
		text->too_much |= !report->memory.fits;
	}
	text->numbers.bytes =
		pipesim_text_memory_unit(text->comparison, &text->numbers.of_bytes);
}

/* Tables --------------------------------------------------------------------------------- */

/* The figures of one of the tables: the first column says what a row is of. */
typedef struct {
	const PipesimFigure *figures[MAX_COLUMNS]; /* by column */
	guint n_columns;
	PipesimTable *table;
} Figures;

/* @first: the title of the first column */
static void figures_begin(
	Figures *figures, const Text *text, PipesimTextTable which, const char *first)
{
	const gint64 bytes = text->numbers.bytes;
	PipesimColumn columns[MAX_COLUMNS] = {{NULL, first, TRUE}};

	*figures = (Figures){.n_columns = 1};
	for (guint i = 0; i < pipesim_n_figures; i++) {
		const PipesimFigure *figure = &pipesim_figures[i];
		PipesimColumn *column = &columns[figure->text.place];

		if (figure->text.table != which)
			continue;
		g_assert(figure->text.place < MAX_COLUMNS);
		figures->figures[figure->text.place] = figure;
		figures->n_columns = MAX(figures->n_columns, figure->text.place + 1);
		column->group = figure->text.group;
		column->title = figure->text.title;
		column->left = figure->kind == PIPESIM_LINK;
		if (figure->kind == PIPESIM_BYTES && bytes > 1)
			column->title = bytes == 1 << 20 ? "MiB" : "GiB";
	}
	figures->table = pipesim_table_new(columns, figures->n_columns);
}

/* For g_free(), or NULL. */
static char *print_figure(
	const Text *text, const PipesimFigure *figure, const PipesimRun *run, guint index)
{
	const PipesimValue value = pipesim_figure_value(figure, text->comparison, run, index);
	g_autofree char *number = pipesim_value_print(figure->kind, value, &text->numbers);

	if (figure->id == PIPESIM_FIGURE_MEMORY && number != NULL && text->too_much)
		return g_strconcat(number, run->report->memory.fits ? " " : "!", NULL);
	return g_steal_pointer(&number);
}

/* @first: of the row, which takes it */
static void figures_add(Figures *figures, const Text *text, PipesimRowLook look, char *first,
	const PipesimRun *run, guint index)
{
	char *cells[MAX_COLUMNS] = {first};

	for (guint i = 1; i < figures->n_columns; i++)
		if (figures->figures[i] != NULL)
			cells[i] = print_figure(text, figures->figures[i], run, index);
	pipesim_table_add(figures->table, look, cells);
}

static void figures_end(Figures *figures, Text *text)
{
	pipesim_table_print(figures->table, TABLE_WIDTH, G_MAXUINT, text->style, text->out);
	pipesim_table_free(figures->table);
}

/* With as many decimals as fit on a page. */
static void append_runs(Text *text)
{
	Figures figures;

	for (;;) {
		figures_begin(&figures, text, PIPESIM_OF_RUNS, "  schedule");
		for (guint i = 0; i < text->comparison->runs->len; i++) {
			const PipesimRun *run = get_run(text, i);
			const gboolean best = (int)i == text->best;

			if (run->error != NULL) {
				/* Its message begins with the name, which the row shows already. */
				g_autofree char *prefix = g_strconcat(run->name, ": ", NULL);
				g_autofree char *first = g_strconcat("  ", run->name, NULL);
				const char *message = run->error->message;

				if (g_str_has_prefix(message, prefix))
					message += strlen(prefix);
				pipesim_table_add_text(
					figures.table, PIPESIM_ROW_FAINT, first, message);
			} else {
				figures_add(&figures, text,
					best ? PIPESIM_ROW_BEST : PIPESIM_ROW_PLAIN,
					g_strconcat(best ? "* " : "  ", run->name, NULL), run,
					0);
			}
		}
		if (text->numbers.decimals == 0 ||
			pipesim_table_width(figures.table) <= TABLE_WIDTH)
			break;
		text->numbers.decimals--;
		pipesim_table_free(figures.table);
	}
	figures_end(&figures, text);
}

typedef struct {
	const Text *text;
	const PipesimRun *run;
	const PipesimFigure *figure; /* of each rank */
} OfRanks;

static int by_figure(gconstpointer a, gconstpointer b, gpointer data)
{
	const OfRanks *of = data;
	const PipesimValue x =
		of->figure->get(of->text->comparison, of->run, *(const guint *)a);
	const PipesimValue y =
		of->figure->get(of->text->comparison, of->run, *(const guint *)b);

	if (of->figure->kind >= PIPESIM_SHARE)
		return pipesim_compare(x.number, y.number);
	return pipesim_compare(x.integer, y.integer);
}

/* The first rank behind @first that is not like it. */
static guint next_rank(
	const Figures *figures, const Text *text, const PipesimRun *run, guint first)
{
	for (guint next = first + 1; next < run->shape.ranks; next++)
		for (guint i = 1; i < figures->n_columns; i++) {
			const PipesimFigure *figure = figures->figures[i];

			if (figure->get(text->comparison, run, first).integer !=
				figure->get(text->comparison, run, next).integer)
				return next;
		}
	return run->shape.ranks;
}

/* Where there is one schedule only, what each of its ranks does. */
static void append_ranks(Text *text, const PipesimRun *run)
{
	static const char *const names[] = {"  min", "  median", "  max"};
	const guint n = run->shape.ranks, place[] = {0, (n - 1) / 2, n - 1};
	char *cells[G_N_ELEMENTS(names)][MAX_COLUMNS] = {{NULL}};
	g_autofree guint *rank = g_new(guint, n);
	Figures figures;
	guint rows = 0;

	g_string_append_c(text->out, '\n');
	figures_begin(&figures, text, PIPESIM_OF_RANKS, "  rank");
	for (guint first = 0; first < n && rows <= MAX_RANKS; rows++)
		first = next_rank(&figures, text, run, first);
	if (rows > MAX_RANKS) {
		/* First and last rank, and of each column its least, median and greatest value. */
		figures_add(&figures, text, PIPESIM_ROW_PLAIN, g_strdup("  0"), run, 0);
		figures_add(&figures, text, PIPESIM_ROW_PLAIN, g_strdup_printf("  %u", n - 1),
			run, n - 1);
		for (guint i = 1; i < figures.n_columns; i++) {
			OfRanks of = {text, run, figures.figures[i]};

			for (guint k = 0; k < n; k++)
				rank[k] = k;
			g_qsort_with_data(rank, (int)n, sizeof *rank, by_figure, &of);
			for (guint k = 0; k < G_N_ELEMENTS(names); k++)
				cells[k][i] =
					print_figure(text, of.figure, run, rank[place[k]]);
		}
		for (guint k = 0; k < G_N_ELEMENTS(names); k++) {
			cells[k][0] = g_strdup(names[k]);
			pipesim_table_add(figures.table, PIPESIM_ROW_PLAIN, cells[k]);
		}
		figures_end(&figures, text);
		g_string_append_printf(text->out,
			"  min, median, max: of each column over %u ranks; --format json has "
			"every rank\n",
			n);
		return;
	}
	for (guint first = 0, next; first < n; first = next) {
		next = next_rank(&figures, text, run, first);
		figures_add(&figures, text, PIPESIM_ROW_PLAIN,
			next == first + 1 ? g_strdup_printf("  %u", first)
					  : g_strdup_printf("  %u to %u", first, next - 1),
			run, first);
	}
	figures_end(&figures, text);
}

/* Links ---------------------------------------------------------------------------------- */

PIPESIM_COMPARE_AT(by_busy, PipesimLinkUse, pipesim_compare(y->busy, x->busy) ?: pipesim_by(id))

/* Links differ by little: their times have all three decimals. */
static void append_links(Text *text)
{
	const PipesimRun *alone = text->comparison->runs->len == 1 ? get_run(text, 0) : NULL;
	const PipesimLinkReport *links;
	Figures figures;

	text->numbers.decimals = 3;
	g_string_append_c(text->out, '\n');
	figures_begin(&figures, text, PIPESIM_OF_LINKS, "  links of");
	pipesim_each_in (const PipesimRun, run, text->comparison->runs)
		if (run->error == NULL && run->report->links != NULL)
			figures_add(&figures, text, PIPESIM_ROW_PLAIN,
				g_strconcat("  ", run->name, NULL), run, 0);
	figures_end(&figures, text);
	if (alone == NULL || alone->error != NULL || alone->report->links->n == 0)
		return;
	/* Each link: all of them in order, or the busiest of too many. */
	links = alone->report->links;
	g_autofree guint *order = g_new(guint, links->n);
	for (guint i = 0; i < links->n; i++)
		order[i] = i;
	if (links->n > MAX_LINKS)
		g_qsort_with_data(order, (int)links->n, sizeof *order, by_busy, links->link);
	g_string_append_c(text->out, '\n');
	figures_begin(&figures, text, PIPESIM_OF_EACH_LINK, "  link");
	for (guint i = 0; i < MIN(links->n, MAX_LINKS); i++) {
		GString *name = g_string_new("  ");

		pipesim_link_print(links->link[order[i]].id, name);
		figures_add(&figures, text, PIPESIM_ROW_PLAIN, g_string_free(name, FALSE),
			alone, order[i]);
	}
	figures_end(&figures, text);
	if (links->n > MAX_LINKS)
		g_string_append_printf(
			text->out, "  the busiest %u of %u links\n", MAX_LINKS, links->n);
}

/* Legend --------------------------------------------------------------------------------- */

static void append_meaning(const Text *text, const char *column, const char *meaning)
{
	g_string_append_printf(text->out, "%-*s ", PIPESIM_LEGEND_INDENT - 1, column);
	pipesim_wrap(
		text->out, meaning, PIPESIM_LEGEND_INDENT, PIPESIM_LEGEND_INDENT, text->width);
}

/* What runtimes add, where the table is of messages that do not wait. */
static void append_native(const Text *text, const PipesimComparison *comparison)
{
	const int best = pipesim_comparison_choose(comparison, FALSE);
	const int best_native = pipesim_comparison_choose(comparison, TRUE);
	g_autoptr(GString) meaning = g_string_new(NULL);
	gboolean any = FALSE;

	pipesim_each_in (const PipesimRun, run, comparison->runs) {
		any |= run->native > 0;
		if (run->native_hangs)
			g_string_append_printf(meaning, "; %s deadlocks", run->name);
		if (run->native_left_out)
			g_string_append_printf(meaning,
				"; %s has too many ops for so large a table", run->name);
	}
	if (!any && meaning->len == 0)
		return;
	g_string_prepend(meaning, "makespan of the same order where messages block each other "
				  "as in the schedule's own runtime (--runtime native)");
	if (best >= 0 && best_native >= 0 && best != best_native) {
		const PipesimRun *run = g_ptr_array_index(comparison->runs, best_native);

		g_string_append_printf(meaning, "; there the best is %s", run->name);
	}
	append_meaning(text, "runtime", meaning->str);
}

void pipesim_text_legend(const PipesimComparison *comparison, guint width, GString *out)
{
	const Text text = {.width = width, .out = out};
	gboolean at_stages = comparison->scenario.compare_at == PIPESIM_AT_STAGES;
	gboolean limited = comparison->scenario.memory_limit > 0;
	gboolean period = comparison->costs->post_validation;

	if (pipesim_comparison_choose(comparison, FALSE) >= 0)
		append_meaning(&text, "*",
			at_stages ? "highest throughput per rank"
			: comparison->scenario.samples > 0
				? (limited ? "shortest median step of the samples that fits "
					     "the memory limit"
					   : "shortest median step of the samples")
			: limited ? "shortest makespan that fits the memory limit"
			: period  ? "shortest step"
				  : "shortest makespan");
	if (period)
		append_meaning(&text, "step",
			"time from one step to the next where each rank begins it as soon as "
			"it can, optimizer and check included, without a barrier");
	append_native(&text, comparison);
	if (pipesim_figure_known(PIPESIM_FIGURE_SPEED, comparison))
		append_meaning(
			&text, "vs 1F1B", at_stages ? "throughput per rank" : "throughput");
	if (pipesim_runtime_waits(comparison->scenario.runtime))
		append_meaning(&text, "waits",
			"increase in makespan because messages block each other");
	if (pipesim_figure_known(PIPESIM_FIGURE_SHARDING, comparison))
		append_meaning(&text, "FSDP",
			"increase in makespan because stages are gathered and reduced");
	append_meaning(&text, "bubble",
		period ? "step minus busy time and optimizer, on the rank that idles longest; "
			 "%: of all ranks' time"
		       : "makespan minus busy time, on the rank that idles longest; span: "
			 "counted only from its first start to its last end; %: of all ranks' "
			 "time");
	if (pipesim_figure_known(PIPESIM_FIGURE_IMBALANCE, comparison))
		append_meaning(&text, "imbal.",
			"part of the bubble (max) due to unequal stages or ranks: busy time of "
			"the busiest rank minus that of the least busy one");
	if (pipesim_figure_known(PIPESIM_FIGURE_FORMULA, comparison))
		append_meaning(&text, "formula",
			"the published bubble; off by: simulated (max) minus formula");
	append_meaning(&text, "activations",
		pipesim_figure_known(PIPESIM_FIGURE_PUBLISHED, comparison)
			? "most activations a rank holds until wgrad, in micro-batches of a "
			  "whole stage; publ.: published"
			: "most activations a rank holds until wgrad, in micro-batches of a "
			  "whole stage");
	if (pipesim_figure_known(PIPESIM_FIGURE_EXPOSED, comparison))
		append_meaning(&text, "copies",
			"exposed: time that the rank which waits longest for copies to the "
			"host or back waits for them; on host: the most that a rank has there");
	if (limited)
		append_meaning(&text, "memory", "peak of the fullest rank; !: above the limit");
	if (pipesim_figure_known(PIPESIM_FIGURE_POWER_SHARE, comparison))
		append_meaning(&text, "power %",
			comparison->scenario.first_step
				? "of the makespan, how much longer it is than at sustained "
				  "times: below 0, as chips are faster after idling; first step"
				: "of the makespan, how much longer it is than at sustained "
				  "times: below 0, as chips are faster after idle time; a step "
				  "like it came before");
	if (pipesim_figure_known(PIPESIM_FIGURE_CONTENTION_SHARE, comparison))
		append_meaning(&text, "contention %",
			"of the makespan, how much longer it is because receives that wait, "
			"and messages that move, slow ops beside them");
	if (pipesim_figure_known(PIPESIM_FIGURE_LAUNCH_SHARE, comparison))
		append_meaning(&text, "host %",
			"of the makespan, how much longer it is because hosts take time to "
			"launch ops");
	if (comparison->costs->network != NULL)
		append_meaning(&text, "links",
			"wait: from when a message is ready until it is sent; lost: makespan "
			"minus what it would be without queueing, and without slowdown");
}

/* Notes ---------------------------------------------------------------------------------- */

static gboolean has_reason(const PipesimRun *run, const char *reason)
{
	return run->error == NULL &&
	       g_ptr_array_find_with_equal_func(
		       run->report->published.reasons, reason, g_str_equal, NULL);
}

/* The schedules from @first on for which @reason holds. */
static char *name_schedules(const Text *text, guint first, const char *reason)
{
	GString *names = g_string_new(get_run(text, first)->name);
	guint with = 1, without = 0;

	for (guint i = first + 1; i < text->comparison->runs->len; i++) {
		const PipesimRun *run = get_run(text, i);

		if (has_reason(run, reason)) {
			g_string_append_printf(names, ", %s", run->name);
			with++;
		} else if (run->error == NULL && run->report->published.has_bubble) {
			without++;
		}
	}
	if (with > MAX_NAMES && without == 0 && first == 0)
		g_string_assign(names, "all");
	else if (with == 1)
		g_string_append_printf(
			names, ", formula %s", get_run(text, first)->schedule->bubble.text);
	return g_string_free(names, FALSE);
}

void pipesim_text_notes(const PipesimComparison *comparison, guint width, GString *out)
{
	static const PipesimFigureId notes[] = {
		PIPESIM_FIGURE_EXTENSION, PIPESIM_FIGURE_SEARCH};
	const Text text = {.comparison = comparison, .width = width, .out = out};
	g_autoptr(GString) split = g_string_new(NULL); /* whose pairs ran in halves */

	for (guint i = 0; i < comparison->runs->len; i++) {
		const PipesimRun *run = get_run(&text, i);

		if (run->error != NULL)
			continue;
		pipesim_each_in (const char, reason, run->report->published.reasons) {
			guint first = 0; /* that it holds for, and says it for all */

			while (first < i && !has_reason(get_run(&text, first), reason))
				first++;
			if (first == i) {
				g_autofree char *names = name_schedules(&text, i, reason);

				pipesim_text_note(names, reason, width, out);
			}
		}
		if (run->report->published.has_activations &&
			run->schedule->activations.is_approximate)
			pipesim_text_note(run->name,
				"published activations are a leading term; the fullest rank "
				"may hold more",
				width, out);
		for (guint k = 0; k < G_N_ELEMENTS(notes); k++) {
			const PipesimValue note = pipesim_figure_value(
				pipesim_figure(notes[k]), comparison, run, 0);

			if (note.text != NULL)
				pipesim_text_note(run->name, note.text, width, out);
		}
		g_autofree char *over =
			pipesim_moment_over(run, comparison->scenario.memory_limit);
		if (over != NULL)
			pipesim_text_note(run->name, over, width, out);
		pipesim_text_critical(comparison, run, width, out);
		if (pipesim_run_split(run))
			pipesim_list_more(split, "%s", run->name);
	}
	if (split->len > 0)
		pipesim_text_note(split->str,
			"the runtime runs an overlapped pair as F followed by B, so FB is not "
			"used",
			width, out);
}

static void write_text(
	const PipesimComparison *comparison, const PipesimStyle *style, GString *out)
{
	Text text = {
		.comparison = comparison,
		.style = style,
		.best = pipesim_comparison_choose(comparison, FALSE),
		.width = TABLE_WIDTH,
		.out = out,
	};

	if (!style->full) {
		pipesim_text_answer(comparison, style, out);
		return;
	}
	measure(&text);
	pipesim_text_titles(comparison, TABLE_WIDTH, out);
	g_string_append_c(out, '\n');
	append_runs(&text);
	if (comparison->runs->len == 1 && get_run(&text, 0)->error == NULL)
		append_ranks(&text, get_run(&text, 0));
	if (comparison->costs->network != NULL)
		append_links(&text);
	g_string_append_c(out, '\n');
	pipesim_text_legend(comparison, TABLE_WIDTH, out);
	g_string_append_c(out, '\n');
	pipesim_samples_text(comparison, style, out);
	pipesim_text_notes(comparison, TABLE_WIDTH, out);
	pipesim_wrap_all(out, comparison->verdict, TABLE_WIDTH);
	pipesim_wrap_all(out, comparison->remarks, TABLE_WIDTH);
	pipesim_wrap_all(out, comparison->notices, TABLE_WIDTH);
}

const PipesimOutput pipesim_output_text = {
	.name = "text",
	.extension = "txt",
	.summary = "table for people, with notes on what differs and why",
	.keep = PIPESIM_KEEP_RULES,
	.for_people = TRUE,
	.write = write_text,
};
