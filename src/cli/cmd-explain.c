#include "config.h"

#include "cli/choice.h"
#include "cli/explain-order.h"
#include "output/figures.h"
#include "output/table.h"
#include "runtime/lower.h"
#include <string.h>

#define WIDTH 80

typedef struct {
	PipesimShapeOptions shape;
	PipesimCostOptions costs;
} Options;

static void clear_options(Options *options)
{
	pipesim_shape_options_clear(&options->shape);
	pipesim_cost_options_clear(&options->costs);
}

G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(Options, clear_options)

static void append_wrapped(GString *out, const char *text, guint indent)
{
	g_string_append_printf(out, "%*s", (int)indent, "");
	pipesim_wrap(out, text, indent, indent, WIDTH);
	g_string_append_c(out, '\n');
}

static void append_section(GString *out, const char *title, const char *text)
{
	if (text == NULL)
		return;
	g_string_append_printf(out, "\n%s\n", title);
	append_wrapped(out, text, 2);
}

/* What it is ----------------------------------------------------------------------------- */

static void append_names(const PipesimSchedule *schedule, GString *out)
{
	g_autofree char *names = NULL;

	if (schedule->aliases == NULL || schedule->aliases[0] == NULL)
		return;
	names = g_strjoinv(", ", (char **)schedule->aliases);
	append_section(out, "Also called", names);
}

static void append_options(const PipesimSchedule *schedule, GString *out)
{
	g_autoptr(GString) text = g_string_new(NULL);

	if (schedule->takes & PIPESIM_TAKES_CHUNKS)
		g_string_append_printf(
			text, "--chunks V, stages a rank (default %u). ", schedule->chunks);
	if (schedule->takes & PIPESIM_TAKES_GROUP)
		g_string_append(text, "--group G, micro-batches of a group. ");
	if (schedule->takes & PIPESIM_TAKES_PIPELINES)
		g_string_append(text, "--pipelines N, both directions together (default 2). ");
	if (schedule->takes & PIPESIM_TAKES_LIMIT)
		g_string_append(text,
			"--max-activations N, whole-stage activations that a rank may hold "
			"(default PP). ");
	if (text->len > 0)
		append_section(out, "Options", text->str);
}

/* Formulae ------------------------------------------------------------------------------- */

static void append_conditions(const PipesimCondition *condition, GString *out)
{
	if (condition == NULL)
		return;
	g_string_append(out, "\nConditions of the bubble formula\n");
	for (; condition->rule != NULL; condition++) {
		g_autofree char *text = g_strdup_printf("%s%s%s", condition->rule,
			condition->consequence != NULL ? "; where it does not hold: " : "",
			condition->consequence != NULL ? condition->consequence : "");

		append_wrapped(out, text, 2);
	}
}

static void append_bubble(const PipesimBubbleFormula *bubble, GString *out)
{
	g_string_append_printf(out, "\nBubble (%s)\n  %s\n",
		bubble->is_span ? "span: last end - first start - busy, largest over ranks"
				: "makespan - busy, largest over ranks",
		bubble->text != NULL ? bubble->text : "no formula is published");
	if (bubble->letters != NULL)
		append_wrapped(out, bubble->letters, 2);
	if (bubble->exact != NULL)
		append_wrapped(out, bubble->exact, 2);
	append_conditions(bubble->conditions, out);
	append_section(out, "Ranks that idle for different times", bubble->uneven);
}

static void append_formulae(const PipesimSchedule *schedule, GString *out)
{
	append_section(out, "Source", schedule->reference);
	append_bubble(&schedule->bubble, out);
	g_string_append_printf(out,
		"\nPeak activations (stages of one micro-batch, largest rank)\n  %s\n",
		schedule->activations.text != NULL ? schedule->activations.text
						   : "no formula is published");
	if (schedule->activations.exact != NULL)
		append_wrapped(out, schedule->activations.exact, 2);
	append_section(out, "Parameters",
		schedule->placement == PIPESIM_BIDIRECTIONAL
			? "2x: a rank holds a stage of each direction"
			: "1x: each stage lives on one rank");
	g_string_append_printf(out, "\nSends and receives (--comm native)\n  %s\n",
		schedule->comm == PIPESIM_COMM_ASYNC ? "no runtime is known; as async"
						     : pipesim_comm_name(schedule->comm));
}

static void append_notes(const char *notes, GString *out)
{
	g_auto(GStrv) paragraphs = notes != NULL ? g_strsplit(notes, "\n\n", -1) : NULL;

	for (guint i = 0; paragraphs != NULL && paragraphs[i] != NULL; i++) {
		g_string_append_c(out, '\n');
		append_wrapped(out, paragraphs[i], 0);
	}
}

/* One run -------------------------------------------------------------------------------- */

/* What was not asked for becomes a small shape that the schedule takes. */
static gboolean choose_shape(const PipesimSchedule *schedule, PipesimScenario *scenario,
	PipesimShape *shape, GError **error)
{
	static const guint per_rank[] = {2, 1, 4, 3};

	if (scenario->microbatches != 0)
		return pipesim_schedule_shape(schedule, scenario, shape, error);
	for (gsize i = 0; i < G_N_ELEMENTS(per_rank); i++) {
		scenario->microbatches = per_rank[i] * scenario->ranks;
		if (pipesim_schedule_shape(schedule, scenario, shape, NULL))
			return TRUE;
	}
	scenario->microbatches = per_rank[0] * scenario->ranks;
	return pipesim_schedule_shape(schedule, scenario, shape, error);
}

static gboolean append_order(const PipesimSchedule *schedule, const PipesimShape *shape,
	const PipesimCosts *costs, GString *out, GError **error)
{
	g_autoptr(PipesimTimes) times = pipesim_times_new(costs, shape);
	g_autoptr(PipesimOrder) order = pipesim_schedule_order(schedule, shape, times, error);

	if (order == NULL)
		return FALSE;
	pipesim_explain_placement(shape, out);
	pipesim_explain_phases(order, out);
	return TRUE;
}

static gboolean append_timeline(const PipesimSchedule *schedule,
	const PipesimScenario *scenario, const PipesimCosts *costs, const PipesimStyle *style,
	GString *out, GError **error)
{
	g_autoptr(PipesimComparison) comparison = pipesim_comparison_new(scenario, costs);
	PipesimRun *run = pipesim_run_schedule(schedule, scenario, costs);

	g_ptr_array_add(comparison->runs, run);
	if (run->error != NULL) {
		g_propagate_error(error, g_error_copy(run->error));
		return FALSE;
	}
	g_string_append(out, "\nTimeline\n");
	pipesim_timeline_text(comparison, style, out);
	return TRUE;
}

static gboolean explain(const PipesimSchedule *schedule, PipesimScenario *scenario,
	const PipesimCosts *costs, const PipesimStyle *style, GString *out, GError **error)
{
	PipesimShape shape;

	if (!pipesim_takes_heed(schedule->takes, scenario, error) ||
		!choose_shape(schedule, scenario, &shape, error))
		return FALSE;
	g_string_append_printf(out, "%s: %s\n", schedule->name, schedule->summary);
	append_section(out, "Idea", schedule->idea);
	append_names(schedule, out);
	append_section(out, "Shapes", schedule->constraints);
	append_options(schedule, out);
	if (!append_order(schedule, &shape, costs, out, error) ||
		!append_timeline(schedule, scenario, costs, style, out, error))
		return FALSE;
	append_formulae(schedule, out);
	append_notes(schedule->notes, out);
	return TRUE;
}

static PipesimExit run(int argc, char **argv, GError **error)
{
	GOptionContext *context = g_option_context_new("NAME - explain one schedule");
	g_autoptr(GString) out = g_string_new(NULL);
	g_autoptr(PipesimCosts) costs = NULL;
	g_auto(Options) options = {0};
	PipesimScenario *scenario = &options.shape.scenario;
	PipesimStyle style = pipesim_terminal_style();
	const PipesimSchedule *schedule;

	g_option_context_set_summary(context,
		"Says what a schedule does, gains and costs, where its stages live, what its "
		"ranks run in\nwhich phase, and what its published formulae mean. Phases and "
		"timeline are of PP 4 and\n8 micro-batches unless others are given.");
	pipesim_shape_entries(context, &options.shape);
	pipesim_costs_entries(context, &options.costs);
	if (!pipesim_options_parse(context, &argc, &argv, error))
		return PIPESIM_EXIT_USAGE;
	if (argc != 2) {
		pipesim_fail(error, PIPESIM_ERROR_USAGE,
			"explain takes one schedule; see pipesim list for their names");
		return PIPESIM_EXIT_USAGE;
	}
	schedule = pipesim_schedule_find(argv[1], error);
	if (schedule == NULL || !pipesim_shape_options_read(&options.shape, error))
		return PIPESIM_EXIT_USAGE;
	if (scenario->ranks == 0)
		scenario->ranks = 4;
	costs = pipesim_cost_options_read(
		&options.costs, scenario->ranks, &scenario->memory_limit, error);
	if (style.width == 0)
		style.width = WIDTH;
	if (costs == NULL || !explain(schedule, scenario, costs, &style, out, error))
		return PIPESIM_EXIT_USAGE;
	return pipesim_print(NULL, out, error) ? PIPESIM_EXIT_DONE : PIPESIM_EXIT_WRITE;
}

const PipesimCommand pipesim_command_explain = {
	.name = "explain",
	.summary = "idea, placement, phases and formulae of one schedule",
	.run = run,
};
