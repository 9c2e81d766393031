#include "analysis/steady.h"
#include "cli/command.h"
#include "layout/choose.h"
#include "output/figures.h"
#include "output/screen.h"
#include "setup/choice.h"

/* One schedule: its state, or why it has none. */
typedef struct {
	const char *name;
	PipesimSteadyState *state;
	GError *error;
	PipesimRun *step; /* where there is no state: the micro-batches that were asked for */
} Row;

PIPESIM_DESTROYS(Row, free_row, row)
{
	pipesim_steady_state_free(row->state);
	g_clear_error(&row->error);
	pipesim_run_free(row->step);
	g_free(row);
}

/* Text ----------------------------------------------------------------------------------- */

/* What stands in place of figures; NULL where there are some. */
static char *word_row(const Row *row)
{
	g_autofree char *prefix = g_strconcat(row->name, ": ", NULL);
	const char *message;

	if (row->state != NULL)
		return NULL;
	message = row->error->message;
	if (g_str_has_prefix(message, prefix))
		message += strlen(prefix);
	if (row->step == NULL)
		return g_strdup(message);
	return g_strdup_printf("%s; this step takes %s ms, bubble %s ms", message,
		pipesim_ms(row->step->report->makespan),
		pipesim_ms(row->step->report->bubble.max_idle));
}

/* What is in ns. */
static double ms(PipesimFraction ns)
{
	return pipesim_figure_fraction(ns) / 1e6;
}

/* With @full also how the order repeats, the exact time, and what the rank idles that idles most. */
static void add_row(PipesimTable *table, const Row *row, gboolean best, gboolean full,
	guint decimals, guint fill_decimals)
{
	const PipesimSteadyState *state = row->state;
	g_autofree char *counts = NULL;
	g_autoptr(GString) exact = g_string_new(NULL);
	double worst = 0;

	if (full && state->proven)
		counts = g_strdup_printf("%" G_GUINT64_FORMAT "\t%" G_GUINT64_FORMAT,
			state->transient, state->period);
	if (full)
		g_string_printf(exact, "%" G_GINT64_FORMAT, state->microbatch.num);
	if (full && state->microbatch.den != 1)
		g_string_append_printf(exact, "/%" G_GINT64_FORMAT, state->microbatch.den);
	for (guint rank = 0; rank < state->ranks; rank++)
		worst = MAX(worst, pipesim_figure_fraction(state->idle[rank]));
	pipesim_table_row(table, best ? PIPESIM_ROW_BEST : PIPESIM_ROW_PLAIN,
		"%s%s\t%s\t%s\t%s\t%s\t%s\t%s", best ? "* " : "  ", row->name,
		counts != NULL ? counts : "\t", pipesim_fixed(ms(state->microbatch), decimals),
		exact->str,
		pipesim_fixed(100 * pipesim_figure_fraction(state->ratio), full ? 2 : 1),
		full ? pipesim_fixed(100 * worst, 2) : "",
		pipesim_fixed(ms(state->fixed), fill_decimals));
}

/* "gpipe, looped-bfs: measured ...", of the rows for which no period was proven. */
static void say_measured(const GPtrArray *rows, GPtrArray *lines)
{
	pipesim_each_in (const Row, row, rows) {
		const PipesimSteadyState *state = row->state;
		g_autoptr(GString) names = g_string_new(NULL);
		const Row *first = NULL; /* of those that were measured with as many */

		if (state == NULL || state->proven)
			continue;
		pipesim_each_in (const Row, other, rows) {
			if (other->state == NULL || other->state->proven ||
				other->state->microbatches != state->microbatches)
				continue;
			first = first != NULL ? first : other;
			pipesim_list_more(names, "%s", other->name);
		}
		if (first == row)
			pipesim_lines_say(lines,
				"%s: measured: steps of %" G_GUINT64_FORMAT
				", %" G_GUINT64_FORMAT " and %" G_GUINT64_FORMAT
				" micro-batches grow by the same; a period is not proven",
				names->str, state->microbatches, 2 * state->microbatches,
				3 * state->microbatches);
	}
}

/* The row that takes least for a micro-batch, then for filling and draining; NULL: none has a steady phase. */
static const Row *find_best(const GPtrArray *rows)
{
	const Row *best = NULL;

	pipesim_each_in (const Row, row, rows) {
		const PipesimSteadyState *state = row->state;

		if (state == NULL)
			continue;
		double more =
			best != NULL ? ms(state->microbatch) - ms(best->state->microbatch) : -1;
		if (more < 0 || (more == 0 && ms(state->fixed) < ms(best->state->fixed)))
			best = row;
	}
	return best;
}

/* Of how many ranks, @what, and by whose rules where messages wait. */
static void ask(const PipesimSetup *setup, const char *what, GString *out)
{
	g_string_append_printf(out, "PP %u, ", setup->scenario.ranks);
	if (what != NULL)
		g_string_append(out, what);
	else
		g_string_append_printf(out, "%u micro-batch%s", setup->scenario.microbatches,
			setup->scenario.microbatches == 1 ? "" : "es");
	if (pipesim_runtime_waits(setup->scenario.runtime))
		g_string_append_printf(
			out, "; messages block as in %s", setup->scenario.runtime->name);
}

/* Where no schedule comes to a steady phase: the shortest of their steps. */
static void say_steps(const GPtrArray *rows, guint m, PipesimScreen *screen)
{
	const Row *best = NULL;

	pipesim_each_in (const Row, row, rows)
		if (row->step == NULL)
			pipesim_lines_say(screen->failed, "%s", row->error->message);
		else if (best == NULL ||
			 row->step->report->makespan < best->step->report->makespan)
			best = row;
	pipesim_lines_say(screen->verdict,
		"%u micro-batch%s too few for a steady phase; leave out --microbatches for the "
		"long run. %s %s: %s.",
		m, m == 1 ? " is" : "es are",
		rows->len > 1 ? "The shortest step is that of" : "That of", best->name,
		pipesim_brief_time(best->step->report->makespan));
}

static void write_screen(const GPtrArray *rows, const PipesimSetup *setup,
	const PipesimStyle *style, GString *out)
{
	g_autoptr(PipesimScreen) screen = pipesim_screen_new();
	const Row *best = find_best(rows);
	g_autofree char *words = g_strdup_printf(
		"steady phase of %u schedule%s", rows->len, rows->len == 1 ? "" : "s");
	g_autofree double *times = g_new(double, rows->len), *fills = g_new(double, rows->len);
	guint n = 0;

	ask(setup, best != NULL ? words : NULL, screen->asked);
	pipesim_each_in (const Row, row, rows)
		if (row->state != NULL) {
			times[n] = ms(row->state->microbatch);
			fills[n++] = ms(row->state->fixed);
		}
	if (best == NULL) {
		say_steps(rows, setup->scenario.microbatches, screen);
	} else {
		pipesim_lines_say(screen->verdict,
			"%s takes %s per additional micro-batch%s; filling and draining add %s "
			"to a step.",
			best->name,
			pipesim_brief_time(
				(gint64)pipesim_figure_fraction(best->state->microbatch)),
			rows->len > 1 ? ", the least of these" : "",
			pipesim_brief_time(
				(gint64)pipesim_figure_fraction(best->state->fixed)));
		screen->table = pipesim_table_of(
			"  schedule<|micro-batches:transient|micro-batches:period|"
			"micro-batch:ms|micro-batch:exactly, ns|bubble:%|bubble:most, %|"
			"fill, drain:ms");
	}
	for (guint i = 0; best != NULL && i < rows->len; i++) {
		const Row *row = g_ptr_array_index(rows, i);
		g_autofree char *why = word_row(row);

		if (why != NULL)
			pipesim_lines_say(screen->failed, "%s: %s", row->name, why);
		else
			add_row(screen->table, row, row == best, style->full,
				style->full ? 6 : pipesim_screen_decimals(times, n),
				style->full ? 3 : pipesim_screen_decimals(fills, n));
	}
	say_measured(rows, screen->notes);
	if (best != NULL && style->full)
		pipesim_lines_say(screen->notes,
			"transient: micro-batches until the order repeats, at most; period: "
			"micro-batches per repetition; exactly: length of a period / its "
			"micro-batches; bubble: share of all ranks' time, and of the rank that "
			"idles most");
	pipesim_lines_add(screen->notes, setup->notices);
	pipesim_screen_print(screen, style, out);
}

/* JSON ----------------------------------------------------------------------------------- */

static void put_state(PipesimJson *json, const PipesimSteadyState *state)
{
	PIPESIM_MEMBER(json, "proven", YES_OR_NO, state->proven);
	PIPESIM_MEMBER(
		json, "transient", COUNT, PIPESIM_KNOWN(state->proven, state->transient));
	PIPESIM_MEMBER(json, "period", COUNT, PIPESIM_KNOWN(state->proven, state->period));
	PIPESIM_MEMBER(json, "period_ms", TIME, PIPESIM_KNOWN(state->proven, state->time));
	PIPESIM_MEMBER(json, "microbatch_ms", MS, ms(state->microbatch));
	PIPESIM_MEMBER(json, "bubble_ratio", SHARE, pipesim_figure_fraction(state->ratio));
	PIPESIM_LIST(json, "bubble_ratio_per_rank", SHARE, state->ranks,
		pipesim_figure_fraction(state->idle[i]));
	if (PIPESIM_WHERE(json, state->fixed.den == 1))
		PIPESIM_MEMBER(json, "fill_and_drain_ms", TIME, state->fixed.num);
	else
		PIPESIM_MEMBER(json, "fill_and_drain_ms", MS, ms(state->fixed));
	PIPESIM_MEMBER(json, "microbatches", COUNT, state->microbatches);
}

static void put_row(PipesimJson *json, const Row *row, guint index G_GNUC_UNUSED)
{
	const PipesimRun *step = PIPESIM_OF(row, step);

	PIPESIM_MEMBER(json, "name", TEXT, row->name);
	if (PIPESIM_WHERE(json, row->state != NULL))
		put_state(json, PIPESIM_OF(row, state));
	if (PIPESIM_WHERE(json, row->state == NULL))
		PIPESIM_MEMBER(json, "error", TEXT, row->error->message);
	if (!PIPESIM_WHERE(json, step != NULL))
		return;
	PIPESIM_MEMBER(json, "microbatches", COUNT, pipesim_shape_whole(&step->shape));
	PIPESIM_MEMBER(json, "makespan_ms", TIME, step->report->makespan);
	PIPESIM_MEMBER(json, "bubble_max_ms", TIME, step->report->bubble.max_idle);
}

typedef struct {
	const PipesimSetup *setup;
	const GPtrArray *rows;
} Answer;

static void put_members(PipesimJson *json, gconstpointer of)
{
	const Answer *answer = of;

	PIPESIM_MEMBER(json, "pp", COUNT, answer->setup->scenario.ranks);
	if (PIPESIM_WHERE(json, pipesim_runtime_waits(answer->setup->scenario.runtime)))
		PIPESIM_MEMBER(json, "comm", TEXT, answer->setup->scenario.runtime->name);
	PIPESIM_MEMBER(json, "notices", TEXTS, answer->setup->notices);
	PIPESIM_EACH(json, "schedules", object, answer->rows->len, TRUE, put_row,
		(Row *)answer->rows->pdata[i]);
}

/* Command -------------------------------------------------------------------------------- */

/* Rows of PipesimSteadyState; NULL with why where no schedule has one. */
static GPtrArray *solve(const GPtrArray *choices, const PipesimSetup *setup, GError **error)
{
	g_autoptr(GPtrArray) rows = g_ptr_array_new_with_free_func(free_row);
	g_autoptr(PipesimFaults) faults = pipesim_faults_new();
	gboolean any = FALSE;

	pipesim_each_in (const PipesimChoice, choice, choices) {
		const PipesimScenario scenario =
			pipesim_choice_scenario(choice, &setup->scenario);
		PipesimScenario step = scenario;
		g_autoptr(PipesimCosts) laid_out = NULL;
		Row *row = g_new0(Row, 1);

		row->name = pipesim_choice_name(choice);
		/* Layers that the costs leave open are those of a step of as many micro-batches. */
		if (step.microbatches == 0) {
			row->state = pipesim_steady_state_new(
				choice->schedule, &scenario, setup->costs, &row->error);
			if (row->state != NULL)
				step.microbatches = (guint)row->state->microbatches;
		}
		if (step.microbatches > 0)
			laid_out = pipesim_layout_choose(choice->schedule, &step, setup->costs);
		if (scenario.microbatches > 0 || laid_out != NULL) {
			pipesim_steady_state_free(row->state);
			row->state = pipesim_steady_state_new(choice->schedule, &scenario,
				laid_out != NULL ? laid_out : setup->costs, &row->error);
		}
		g_ptr_array_add(rows, row);
		/* The plain simulation of as many micro-batches as were asked for. */
		if (row->state == NULL && setup->scenario.microbatches > 0) {
			PipesimScenario plain = setup->scenario;

			plain.keep = PIPESIM_KEEP_FIGURES;
			row->step = pipesim_choice_run(choice, &plain, setup->costs);
			if (row->step->error != NULL)
				g_clear_pointer(&row->step, pipesim_run_free);
		}
		pipesim_setup_tell_layers(setup, row->name,
			row->state != NULL  ? row->state->layers
			: row->step != NULL ? row->step->layers
					    : NULL);
		any |= row->state != NULL || row->step != NULL;
		if (row->error != NULL)
			pipesim_faults_take(faults, g_error_copy(row->error));
	}
	return any || pipesim_faults_done(faults, error) ? g_steal_pointer(&rows) : NULL;
}

static gboolean run(PipesimSetup *setup, PipesimExit *answer G_GNUC_UNUSED, GError **error)
{
	const char *path = setup->text[PIPESIM_SET_OUTPUT];
	const PipesimStyle style = pipesim_terminal_style(setup, path);
	g_autoptr(GPtrArray) choices = pipesim_choices_new(), rows = NULL;
	g_autoptr(GString) out = g_string_new(NULL);
	guint json;

	if (!pipesim_format(setup, "text json", &json, error))
		return FALSE;
	setup->told = !json;
	if (setup->n_operands == 0)
		pipesim_choices_add_list(choices, NULL, NULL);
	for (guint i = 0; i < setup->n_operands; i++)
		if (!pipesim_choices_add_list(choices, setup->operands[i], error))
			return FALSE;
	pipesim_each_in (const PipesimChoice, choice, choices) {
		if (choice->schedule == NULL)
			return pipesim_refuse(error,
				"%s: a file has a fixed number of micro-batches; steady takes "
				"names of schedules",
				choice->path);
	}
	if (setup->scenario.ranks == 0)
		return pipesim_refuse(error, "--pp is missing; for example --pp 8");
	if (!pipesim_choices_prepare(choices, setup, error) ||
		!pipesim_setup_costs(setup, NULL, error))
		return FALSE;
	pipesim_setup_sustain(setup);
	rows = solve(choices, setup, error);
	if (rows == NULL)
		return FALSE;
	if (json)
		pipesim_command_json(&pipesim_command_steady, &(Answer){setup, rows}, out);
	else
		write_screen(rows, setup, &style, out);
	return pipesim_print(path, out, error);
}

const PipesimCommand pipesim_command_steady = {
	.name = "steady",
	.summary = "the exact time of a micro-batch in the steady phase",
	.usage = "[SCHEDULE...]",
	.about = "SCHEDULE is the name of a built-in schedule (default: all). With constant op "
		 "times "
		 "the steady phase of\na schedule repeats exactly: the length of its period "
		 "divided by the micro-batches in it is what\neach additional micro-batch "
		 "costs. Where no period can be proven, over links for example, the\ngrowth "
		 "between three steps is measured. With --microbatches M only M are looked at.",
	.examples = "Exit status: 0 done, 2 usage, or no schedule has a steady phase, 3 bad "
		    "input file.\n",
	.operand = "an operand",
	.takes = {PIPESIM_ALL_SHAPE, PIPESIM_ALL_COSTS, PIPESIM_ALL_MODEL, PIPESIM_ALL_ENCODER,
		PIPESIM_ALL_NETWORK, PIPESIM_ALL_RUNTIME, PIPESIM_SET_FULL, PIPESIM_SET_FORMAT,
		PIPESIM_SET_OUTPUT, PIPESIM_SET_FROM_MEGATRON, PIPESIM_SET_FROM_TORCHTITAN},
	.members = put_members,
	.run = run,
};
