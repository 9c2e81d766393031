/* The answer of a comparison: which schedule to use, beside those that nothing beats. */

#include "output/figures.h"
#include "output/moments.h"
#include "output/samples.h"
#include "output/screen.h"
#include "output/text.h"

/* Steps that differ by less are as long, and memory that does so is the same. */
#define ALIKE 1e-3
/* What a verdict calls a difference. */
#define WORTH 5e-3

/* By how much a schedule may be longer to be named beside the best, and the part of its memory that it takes at most. */
#define NEAR    1e-2
#define LIGHTER 0.95
/* Columns for the names of a row. */
#define MOST_NAMES   30
#define MOST_COLUMNS 24
/* Runs that are named when they do not fit. */
#define MOST_UNFIT 6

/* What decides between runs; less is better. */
typedef struct {
	const PipesimRun *run;
	double step, memory, copies,
		native; /* per micro-batch and rank; @native as far as any is known */
	GString *names;
	guint n_names;
} Row;

typedef struct {
	const PipesimComparison *comparison;
	const PipesimRun *best, *base; /* @base: 1F1B; either may be NULL */
	gboolean
		plain; /* a 1F1B of @runs is not @base: it has slices, copies or recomputation */
	const char *rival; /* what @base is called in sentences */
	gboolean native;   /* some run has a time in its own runtime */
	GPtrArray *rows;   /* of Row, shown */
	guint n_beaten, n_refused;
	double unit; /* of all times of the table, ns */
	PipesimScreen *screen;
} Verdict;

static void row_free(Row *row)
{
	g_string_free(row->names, TRUE);
	g_free(row);
}

/* The path of a file may be longer than all other columns. */
static const char *name_of(const PipesimRun *run)
{
	const char *base = strrchr(run->name, '/');

	if (strcmp(run->name, "-") == 0)
		return "standard input";
	return base != NULL && strlen(run->name) > MOST_NAMES ? base + 1 : run->name;
}

/* Time of a rank for a micro-batch where @run takes @step. */
static double per_microbatch(const PipesimRun *run, gint64 step)
{
	return (double)step * run->shape.ranks / pipesim_shape_whole(&run->shape);
}

/* That by the rules of its runtime where it has one. */
static double native_of(const PipesimRun *run)
{
	return per_microbatch(
		run, run->native > 0 ? run->native : pipesim_report_step(run->report));
}

static const char *throughput_word(const Verdict *v)
{
	return v->comparison->scenario.compare_at == PIPESIM_AT_STAGES ? "throughput per rank"
								       : "throughput";
}

static const char *memory_word(const PipesimRun *run)
{
	return run->report->memory.peak != NULL ? "memory" : "activation memory";
}

static gboolean fits(const Verdict *v, const PipesimRun *run)
{
	return pipesim_comparison_fits(v->comparison, run);
}

/* Rows -------------------------------------------------------------------------------------- */

static Row *new_row(const Verdict *v, const PipesimRun *run)
{
	Row *row = g_new0(Row, 1);

	row->run = run;
	row->step = per_microbatch(run, pipesim_report_step(run->report));
	row->memory = pipesim_run_memory(run);
	row->copies = run->report->memory.peak != NULL ? 1 : run->shape.copies;
	/* Who has no runtime is not known to be fast in one. */
	if (v->native)
		row->native = run->native > 0 && !run->native_hangs ? native_of(run)
								    : (double)INFINITY;
	row->names = g_string_new(run == v->base && v->plain ? "plain 1f1b" : name_of(run));
	row->n_names = 1;
	return row;
}

static gboolean beats(const Row *a, const Row *b)
{
	return a->step <= b->step && a->memory <= b->memory && a->copies <= b->copies &&
	       a->native <= b->native &&
	       (a->step < b->step || a->memory < b->memory || a->copies < b->copies ||
		       a->native < b->native);
}

static gboolean alike(double a, double b)
{
	return a == b || fabs(a - b) <= ALIKE * MAX(a, b);
}

/* Adds @row to one that is as long and as large, and shown, if there is one. */
static gboolean join(const Verdict *v, const Row *row)
{
	pipesim_each_in (Row, other, v->rows) {
		if (!alike(row->step, other->step) || !alike(row->memory, other->memory) ||
			row->copies != other->copies ||
			row->run->shape.ranks != other->run->shape.ranks ||
			(v->comparison->named && !alike(row->native, other->native)))
			continue;
		if (other->names->len + 2 + row->names->len <= MOST_NAMES)
			g_string_append_printf(other->names, ", %s", row->names->str);
		other->n_names++;
		return TRUE;
	}
	return FALSE;
}

PIPESIM_COMPARE_OF(by_step, Row, pipesim_by(step))

/* Fills the rows that are shown, from those that exist and fit, if any do. */
static void choose_rows(Verdict *v)
{
	const PipesimComparison *comparison = v->comparison;
	const gboolean any = v->best != NULL;
	g_autoptr(GPtrArray) rows = g_ptr_array_new_with_free_func((GDestroyNotify)row_free);

	pipesim_each_in (const PipesimRun, run, comparison->runs)
		if (run->report == NULL)
			v->n_refused++;
		else if (!any || (run->report->memory.fits &&
					 (pipesim_run_exists(comparison, run) ||
						 !pipesim_run_exists(comparison, v->best))))
			g_ptr_array_add(rows, new_row(v, run));
	if (v->base != NULL && v->base == comparison->base &&
		(v->best == NULL || v->base->report->memory.fits))
		g_ptr_array_add(rows, new_row(v, v->base));
	if (comparison->scenario.sort == PIPESIM_UNSORTED)
		g_ptr_array_sort(rows, by_step);
	/* The best first, so that others join it. */
	for (guint pass = 0; pass < 2; pass++)
		pipesim_each_in (Row, row, rows) {
			const gboolean beaten = !comparison->named && row->run != v->base &&
						row->run != v->best &&
						pipesim_any_in(const Row, other, rows,
							other != NULL && beats(other, row));

			if (beaten == (pass == 0) || join(v, row))
				continue;
			if (pass == 0)
				g_ptr_array_add(v->rows, new_row(v, row->run));
			else
				v->n_beaten++;
		}
}

/* The table --------------------------------------------------------------------------------- */

/* @figure of @run in the unit of its column; NAN: there is none. */
static double value_of(const Verdict *v, const PipesimFigure *figure, const PipesimRun *run)
{
	const PipesimValue value = pipesim_figure_value(figure, v->comparison, run, 0);

	if (!pipesim_value_known(figure->kind, value))
		return (double)NAN;
	if (figure->kind >= PIPESIM_SHARE)
		return figure->kind == PIPESIM_SHARE ? 100 * value.number : value.number;
	return (double)value.integer / (figure->kind == PIPESIM_TIME           ? v->unit
					       : figure->kind == PIPESIM_BYTES ? PIPESIM_GIB
									       : 1);
}

static gboolean is_shown(const Verdict *v, const PipesimFigure *figure)
{
	gboolean known = FALSE, several = FALSE;

	if (figure->few.place == 0 || (figure->id == PIPESIM_FIGURE_NATIVE && !v->native) ||
		(figure->id == PIPESIM_FIGURE_MAKESPAN &&
			v->comparison->costs->post_validation) ||
		(figure->id == PIPESIM_FIGURE_HELD &&
			pipesim_figure_known(PIPESIM_FIGURE_MEMORY, v->comparison)))
		return FALSE;
	pipesim_each_in (const Row, row, v->rows) {
		known |= isfinite(value_of(v, figure, row->run));
		several |= row->run->shape.copies > 1;
	}
	return known && (figure->id != PIPESIM_FIGURE_COPIES || several);
}

/* That show the values of @figure in a column, in its unit. */
static guint decimals_of(const Verdict *v, const PipesimFigure *figure)
{
	g_autofree double *values = g_new(double, v->rows->len);
	guint n = 0;

	if (figure->kind == PIPESIM_SHARE || figure->kind == PIPESIM_FACTOR)
		return figure->kind == PIPESIM_SHARE ? 1 : 2;
	pipesim_each_in (const Row, row, v->rows)
		values[n++] = value_of(v, figure, row->run);
	return pipesim_screen_decimals(values, n);
}

/* "* zb-v, zb-v-auto +2": how many more are as long and as large. */
static char *name_row(const Verdict *v, const Row *row)
{
	const char *mark = row->run == v->best ? "* " : "  ";
	guint told = 1;

	for (const char *p = row->names->str; (p = strstr(p, ", ")) != NULL; p++)
		told++;
	return told < row->n_names
		       ? g_strdup_printf("%s%s +%u", mark, row->names->str, row->n_names - told)
		       : g_strconcat(mark, row->names->str, NULL);
}

/* With the columns that spare no more than @spared. */
static PipesimTable *make_table(const Verdict *v, guint spared)
{
	const PipesimFigure *figures[MOST_COLUMNS] = {NULL};
	PipesimColumn columns[MOST_COLUMNS] = {{NULL, "  schedule", TRUE}};
	guint decimals[MOST_COLUMNS];

	for (guint k = 0; k < pipesim_n_figures; k++) {
		const PipesimFigure *figure = &pipesim_figures[k];
		const guint place = figure->few.place;

		if (!is_shown(v, figure) ||
			(figure->few.spare > 0 && figure->few.spare <= spared))
			continue;
		figures[place] = figure;
		decimals[place] = decimals_of(v, figure);
		columns[place] = (PipesimColumn){figure->few.group, figure->few.title, FALSE};
		if (figure->kind == PIPESIM_TIME && v->unit > 1e6)
			columns[place].title = "s";
		/* Behind the last op of a described model the step goes on. */
		if (figure->id == PIPESIM_FIGURE_MAKESPAN &&
			pipesim_figure_known(PIPESIM_FIGURE_STEP, v->comparison))
			columns[place].group = "pipeline";
	}
	PipesimTable *table = pipesim_table_new(columns, MOST_COLUMNS);
	pipesim_each_in (const Row, row, v->rows) {
		char *cells[MOST_COLUMNS] = {name_row(v, row)};

		for (guint c = 1; c < MOST_COLUMNS; c++) {
			const double value = figures[c] != NULL
						     ? value_of(v, figures[c], row->run)
						     : (double)NAN;

			if (isfinite(value))
				cells[c] = g_strdup(pipesim_fixed(value, decimals[c]));
		}
		pipesim_table_add(table,
			row->run == v->best ? PIPESIM_ROW_BEST
			: v->best == NULL   ? PIPESIM_ROW_FAILED
					    : PIPESIM_ROW_PLAIN,
			cells);
	}
	return table;
}

/* Sentences --------------------------------------------------------------------------------- */

static void ask(const Verdict *v)
{
	const PipesimScenario *scenario = &v->comparison->scenario;
	const PipesimCosts *costs = v->comparison->costs;
	const gboolean unit = costs->source != NULL && g_str_has_prefix(costs->source, "unit "),
		       given = costs->part == NULL &&
			       (costs->source == NULL || unit || *costs->source == '-');
	GString *out = v->screen->asked;

	g_string_append_printf(out, "PP %u, %u micro-batch%s; ", scenario->ranks,
		scenario->microbatches, scenario->microbatches == 1 ? "" : "es");
	if (scenario->compare_at == PIPESIM_AT_STAGES)
		g_string_append_printf(out, "%u stages for every schedule; ", scenario->ranks);
	/* Measured times and a model's are told by where they are from. */
	if (!given) {
		g_string_append(out, costs->source);
	} else {
		const PipesimKind kinds[] = {PIPESIM_F, PIPESIM_I, PIPESIM_W};

		g_string_append(out, unit ? "unit times: " : "");
		for (guint i = 0; i < G_N_ELEMENTS(kinds); i++)
			g_string_append_printf(out, "%s%s %s", i > 0 ? ", " : "",
				pipesim_kind_letter(kinds[i]),
				pipesim_brief_number((double)costs->time[kinds[i]] / 1e6));
		if (costs->p2p > 0)
			g_string_append_printf(out, ", P2P %s",
				pipesim_brief_number((double)costs->p2p / 1e6));
		g_string_append_printf(out, " ms a %s",
			scenario->compare_at == PIPESIM_AT_STAGES ? "stage" : "rank");
	}
	if (pipesim_runtime_waits(scenario->runtime))
		g_string_append_printf(
			out, "; messages block as in %s", scenario->runtime->name);
	if (scenario->memory_limit > 0)
		g_string_append_printf(out, "; at most %s a rank",
			pipesim_brief_bytes(scenario->memory_limit));
}

/* ", with the same activation memory": of the best beside 1F1B. */
static void append_memory(const Verdict *v, GString *out)
{
	const PipesimReport *best = v->best->report, *base = v->base->report;
	const double ratio = pipesim_run_memory(v->best) / pipesim_run_memory(v->base);
	const char *what = memory_word(v->best);

	if (!isfinite(ratio) || ratio <= 0)
		return;
	if (!fits(v, v->base))
		g_string_append_printf(
			out, ", which needs %s", pipesim_brief_bytes(base->memory.max));
	else if (fabs(ratio - 1) < WORTH)
		g_string_append_printf(out, " with the same %s", what);
	else if (best->memory.peak != NULL)
		g_string_append_printf(out, " in %s (%s: %s)",
			pipesim_brief_bytes(best->memory.max), v->rival,
			pipesim_brief_bytes(base->memory.max));
	else
		g_string_append_printf(out, " with %.0f %% %s %s", 100 * fabs(ratio - 1),
			ratio > 1 ? "more" : "less", what);
	if (v->best->shape.copies > v->base->shape.copies)
		g_string_append_printf(
			out, " and %u copies of the weights", v->best->shape.copies);
}

/* What is hardly longer in clearly less memory: the difference is within what described and measured times are off by. */
static void decide_lighter(const Verdict *v)
{
	const double speed = pipesim_throughput(v->comparison, v->best);
	const PipesimRun *lighter = v->best;

	pipesim_each_in (const Row, row, v->rows)
		if (fits(v, row->run) && row->run != v->base &&
			(row->run->report->memory.peak != NULL ||
				row->run->shape.copies <= v->best->shape.copies) &&
			pipesim_run_memory(row->run) < LIGHTER * pipesim_run_memory(lighter) &&
			pipesim_throughput(v->comparison, row->run) > (1 - NEAR) * speed)
			lighter = row->run;
	if (lighter == v->best)
		return;
	double longer = 100 * (speed / pipesim_throughput(v->comparison, lighter) - 1);
	g_autofree char *words = longer < 0.05
					 ? g_strdup("is as fast")
					 : g_strdup_printf("takes %.1f %% longer", longer);
	pipesim_lines_say(v->screen->verdict, "%s %s with %.0f %% less %s.", name_of(lighter),
		words, 100 * (1 - pipesim_run_memory(lighter) / pipesim_run_memory(v->best)),
		memory_word(v->best));
}

/* What else is best where messages block each other. */
static void decide_native(const Verdict *v)
{
	const int index = pipesim_comparison_choose(v->comparison, TRUE);
	const PipesimRun *best = index >= 0 ? v->comparison->runs->pdata[index] : NULL;
	g_autoptr(GString) words = g_string_new(NULL);

	if (!v->native || best == NULL || best == v->best || best->native <= 0)
		return;
	double gain = native_of(v->best) / native_of(best);
	if (!v->best->native_hangs && gain < 1 + WORTH)
		return;
	g_string_append_printf(words,
		"If messages block each other, as in the schedules' own runtimes, use %s",
		name_of(best));
	if (v->base != NULL && best != v->base)
		g_string_append_printf(
			words, " (%.2f times)", native_of(v->base) / native_of(best));
	else
		g_string_append_printf(words, " (%.2f times %s)", gain, name_of(v->best));
	if (best->shape.copies > v->best->shape.copies)
		g_string_append_printf(
			words, ", with %u copies of the weights", best->shape.copies);
	pipesim_lines_say(v->screen->verdict, "%s.", words->str);
}

/* By the steps that were drawn. */
static void decide_samples(const Verdict *v)
{
	const PipesimSamples *samples = v->best->samples;
	const gboolean one = v->comparison->runs->len == 1;
	g_autoptr(GString) out = g_string_new(NULL);

	g_string_append_printf(out, "%s%s: ", one ? "" : "Use ", name_of(v->best));
	if (!one && samples->wins > 0)
		g_string_append_printf(out, "the fastest in %.0f %% of the samples; ",
			100.0 * samples->wins / samples->n);
	g_string_append_printf(out, "median step %s, 95th percentile %s",
		pipesim_brief_time(pipesim_run_step(v->best)),
		pipesim_brief_time((gint64)samples->makespan[PIPESIM_P95].value));
	if (v->base != NULL && v->base->samples != NULL && v->base != v->best)
		g_string_append_printf(out, "; %.2f times the %s of %s",
			per_microbatch(v->base, pipesim_run_step(v->base)) /
				per_microbatch(v->best, pipesim_run_step(v->best)),
			throughput_word(v), v->rival);
	pipesim_lines_say(v->screen->verdict, "%s.", out->str);
}

/* " a GPU of 80 GiB" that is described, "" where none is. */
static char *gpu_of(const Verdict *v)
{
	const gint64 room = pipesim_comparison_room(v->comparison);

	return room > 0 ? g_strdup_printf(" a GPU of %s", pipesim_brief_bytes(room))
			: g_strdup("");
}

/* "74.51 GiB" that @run needs; where what there is reads the same, by how much that is too much. */
static char *need_of(const Verdict *v, const PipesimRun *run)
{
	const gint64 room = pipesim_comparison_room(v->comparison);
	const gint64 limit = room > 0 ? room : v->comparison->scenario.memory_limit;
	const char *need = pipesim_brief_bytes(run->report->memory.max);

	if (strcmp(pipesim_brief_bytes(limit), need) != 0)
		return g_strdup(need);
	return g_strdup_printf(
		"%s (%s too much)", need, pipesim_bytes(run->report->memory.max - limit));
}

/* What the GPU has no room for is not run on it, whatever it takes. */
static void say_unfit(const Verdict *v, gboolean one)
{
	g_autofree char *gpu = gpu_of(v), *need = NULL;
	const PipesimRun *least = NULL;

	pipesim_each_in (const PipesimRun, run, v->comparison->runs)
		if (run->report != NULL &&
			(least == NULL || pipesim_run_memory(run) < pipesim_run_memory(least)))
			least = run;
	need = need_of(v, least);
	pipesim_lines_say(v->screen->verdict, "%s%s: %s needs %s%s.%s",
		one ? "It does not fit" : "None fits", gpu, least->name, need,
		one ? "" : ", the least of them",
		*gpu != '\0'
			? " Divide parameters (--tp, --zero), recompute (--recompute), or ask "
			  "pipesim plan what fits."
			: "");
}

/* Whether some run is left out of what is best. */
static gboolean leaves_out(const Verdict *v)
{
	return pipesim_any_in(const PipesimRun, run, v->comparison->runs,
		run->report != NULL &&
			(!fits(v, run) || !pipesim_run_exists(v->comparison, run)));
}

static void decide(const Verdict *v)
{
	const PipesimComparison *comparison = v->comparison;
	const double speed = v->best != NULL ? pipesim_throughput(comparison, v->best) : NAN;
	const gboolean one = comparison->runs->len == 1;
	g_autoptr(GString) out = g_string_new(NULL);

	if (v->best != NULL && v->best->samples != NULL) {
		decide_samples(v);
		return;
	}
	if (v->best == NULL || !fits(v, v->best))
		say_unfit(v, one);
	if (v->best == NULL)
		return;
	if (one)
		g_string_append_printf(out, "%s takes %s, %.1f %% of it bubble",
			name_of(v->best),
			pipesim_brief_time(pipesim_report_step(v->best->report)),
			100 * pipesim_figure_fraction(v->best->report->bubble.ratio));
	else if (speed < 1 - WORTH && v->base != NULL && fits(v, v->base))
		g_string_append_printf(
			out, "None beats %s; %s comes closest", v->rival, name_of(v->best));
	else if (!fits(v, v->best))
		g_string_append_printf(out, "With room for all use %s", name_of(v->best));
	else
		g_string_append_printf(out, "Use %s%s", name_of(v->best),
			speed < 1 - WORTH ? ", the fastest that fits" : "");
	if (v->best == v->base && !one)
		g_string_append(out, leaves_out(v) ? ": no other that can run is faster"
						   : ": no other is faster");
	else if (isfinite(speed) && v->best != v->base && fabs(speed - 1) < WORTH)
		g_string_append_printf(
			out, one ? ": as fast as %s" : ": it is as fast as %s", v->rival);
	else if (isfinite(speed) && v->best != v->base)
		g_string_append_printf(
			out, ": %.2f times the %s of %s", speed, throughput_word(v), v->rival);
	else if (!one)
		g_string_append(out, ": it is the fastest");
	if (v->base != NULL && v->base != v->best)
		append_memory(v, out);
	pipesim_lines_say(v->screen->verdict, "%s.", out->str);
	decide_lighter(v);
	decide_native(v);
}

/* Below the table --------------------------------------------------------------------------- */

/* What does not fit, what no model has, what the shape does not allow, and how many more there are. */
static void list_others(const Verdict *v)
{
	const PipesimComparison *comparison = v->comparison;
	g_autoptr(GString) unfit = g_string_new(NULL), halves = g_string_new(NULL),
			   rest = g_string_new(NULL);
	g_autofree char *gpu = gpu_of(v);
	guint n_unfit = 0, most = 0;

	pipesim_each_in (const PipesimRun, run, comparison->runs) {
		if (run->report == NULL) {
			if (comparison->named)
				pipesim_lines_say(v->screen->failed, "%s", run->error->message);
		} else if (v->best != NULL && fits(v, v->best) && !fits(v, run)) {
			g_autofree char *need = need_of(v, run);

			if (n_unfit++ < MOST_UNFIT)
				pipesim_list_more(unfit, "%s %s", run->name, need);
		} else if (v->best != NULL && !pipesim_run_exists(comparison, run) &&
			   pipesim_run_exists(comparison, v->best)) {
			pipesim_list_more(halves, "%s", run->name);
			most = MAX(most, run->shape.stages);
		}
	}
	if (n_unfit > MOST_UNFIT)
		g_string_append_printf(unfit, " and %u more", n_unfit - MOST_UNFIT);
	if (unfit->len > 0)
		pipesim_lines_say(v->screen->failed, "Do not fit%s: %s.", gpu, unfit->str);
	if (halves->len > 0)
		pipesim_lines_say(v->screen->failed,
			"Need more layers than the model has (%" G_GUINT64_FORMAT
			" for up to %u stages; --layers): %s.",
			comparison->costs->model_layers, most, halves->str);
	if (v->n_beaten > 0)
		g_string_append_printf(
			rest, "%u that one of these beats in step and memory", v->n_beaten);
	if (v->n_refused > 0 && !comparison->named)
		pipesim_list_more(rest, "%u that the shape does not allow", v->n_refused);
	if (rest->len > 0)
		pipesim_lines_say(
			v->screen->below, "Not shown: %s (--schedule all).", rest->str);
}

/* Of the runs that are shown. */
static void note_runs(const Verdict *v)
{
	const PipesimComparison *comparison = v->comparison;
	g_autoptr(GString) split = g_string_new(NULL), hang = g_string_new(NULL);
	g_autoptr(GString) passes = g_string_new(NULL);
	g_autoptr(GPtrArray) layers = pipesim_comparison_layers(comparison, TRUE);

	pipesim_each_in (const Row, row, v->rows) {
		if (row->run->native_hangs)
			pipesim_list_more(hang, "%s", row->run->name);
		if (pipesim_run_split(row->run))
			pipesim_list_more(split, "%s", row->run->name);
		if (row->run->schedule != NULL && row->run->schedule->barriers > 0 &&
			comparison->costs->own[PIPESIM_OP_OUTPUT] == 0 &&
			comparison->costs->cutter == NULL)
			pipesim_list_more(passes, "%s", row->run->name);
	}
	if (passes->len > 0)
		pipesim_lines_say(v->screen->notes,
			"%s: passes over the vocabulary take no time; give S and T in --times, "
			"or --model and --device with --vocab-parallel.",
			passes->str);
	if (hang->len > 0)
		pipesim_lines_say(v->screen->notes,
			"In its own runtime it deadlocks: %s (--runtime native).", hang->str);
	pipesim_lines_add(v->screen->notes, comparison->notices);
	if (comparison->named || v->best == NULL)
		pipesim_each_in (const PipesimRun, run, comparison->runs) {
			g_autofree char *over =
				run->report != NULL ? pipesim_moment_over(run,
							      comparison->scenario.memory_limit)
						    : NULL;

			if (over != NULL)
				pipesim_lines_say(v->screen->notes, "%s: %s", run->name, over);
		}
	if (v->best != NULL) {
		const char *beyond = pipesim_figure_value(
			pipesim_figure(PIPESIM_FIGURE_EXTENSION), comparison, v->best, 0)
					     .text;

		if (beyond != NULL)
			pipesim_lines_say(v->screen->notes, "%s: %s", v->best->name, beyond);
	}
	if (split->len > 0)
		pipesim_lines_say(v->screen->notes,
			"%s: the runtime runs an overlapped pair as F followed by B, so FB is "
			"not used",
			split->str);
	pipesim_each_in (const char, line, layers)
		pipesim_lines_say(v->screen->notes, "%s", line);
	pipesim_each_in (const PipesimRun, run, comparison->runs)
		if (run->native_left_out)
			pipesim_lines_say(v->screen->notes,
				"%s: has too many ops to say here how messages block each "
				"other: see --runtime native",
				name_of(run));
}

static void begin(Verdict *v, const PipesimComparison *comparison)
{
	const int best = pipesim_comparison_choose(comparison, FALSE);
	const PipesimRun *own =
		pipesim_comparison_find(comparison, pipesim_schedule_find("1f1b", NULL));

	*v = (Verdict){.comparison = comparison,
		.best = best >= 0 ? comparison->runs->pdata[best] : NULL,
		.base = comparison->base ?: own,
		.plain = comparison->base != NULL && own != NULL,
		.rows = g_ptr_array_new_with_free_func((GDestroyNotify)row_free),
		.screen = pipesim_screen_new()};
	v->rival = v->plain ? "plain 1F1B" : "1F1B";
	v->native = pipesim_any_in(const PipesimRun, run, comparison->runs, run->native > 0);
	choose_rows(v);
	v->unit = 1e6;
	pipesim_each_in (const Row, row, v->rows)
		if (MAX(row->run->report->makespan, row->run->native) >= PIPESIM_IN_SECONDS)
			v->unit = 1e9;
	pipesim_lines_add(v->screen->verdict, comparison->verdict);
	pipesim_lines_add(v->screen->notes, comparison->remarks);
	pipesim_lines_add(v->screen->more, comparison->more);
	if (comparison->verdict == NULL)
		decide(v);
}

void pipesim_text_answer(
	const PipesimComparison *comparison, const PipesimStyle *style, GString *out)
{
	PipesimScreen *screen;
	Verdict v;

	begin(&v, comparison);
	screen = v.screen;
	ask(&v);
	if (comparison->scenario.samples > 0) {
		g_autoptr(GPtrArray) runs = g_ptr_array_new();

		pipesim_each_in (const Row, row, v.rows)
			g_ptr_array_add(runs, (gpointer)row->run);
		g_string_append(screen->asked, "; ");
		pipesim_samples_title(comparison, screen->asked);
		screen->table = pipesim_samples_table(comparison, runs, FALSE);
	} else {
		screen->table = make_table(&v, 0);
	}
	for (guint spared = 1; spared < MOST_COLUMNS && comparison->scenario.samples == 0 &&
			       pipesim_table_width(screen->table) > PIPESIM_SCREEN_WIDTH;
		spared++) {
		pipesim_table_free(screen->table);
		screen->table = make_table(&v, spared);
	}
	screen->whole = comparison->named;
	list_others(&v);
	note_runs(&v);
	if (v.best != NULL && v.best->schedule != NULL)
		pipesim_lines_say(screen->more, "pipesim explain %s", v.best->schedule->name);
	screen->appendix = g_string_new(NULL);
	pipesim_each_in (const PipesimRun, run, comparison->runs)
		if (run->error == NULL)
			pipesim_text_critical(
				comparison, run, PIPESIM_SCREEN_WIDTH, screen->appendix);
	pipesim_screen_print(screen, style, out);
	g_ptr_array_unref(v.rows);
	pipesim_screen_free(screen);
}
