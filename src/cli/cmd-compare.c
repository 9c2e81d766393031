#include "cli/command.h"
#include "layout/choose.h"
#include "output/figures.h"
#include "output/screen.h"
#include "output/timeline-layout.h"
#include "setup/choice.h"

/* A refusal is a row beside rows with results; where there is no result at all it is the error.
 */
static gboolean any_result(const PipesimComparison *comparison, GError **error)
{
	g_autoptr(PipesimFaults) faults = pipesim_faults_new();

	pipesim_each_in (const PipesimRun, run, comparison->runs) {
		if (run->error == NULL)
			return TRUE;
		pipesim_faults_take(faults, g_error_copy(run->error));
	}
	return pipesim_faults_done(faults, error);
}

static gboolean run(PipesimSetup *setup, PipesimExit *answer, GError **error)
{
	PipesimScenario *scenario = &setup->scenario;
	const PipesimSchedule *one = pipesim_schedule_find("1f1b", NULL);
	g_autoptr(GPtrArray) choices = pipesim_choices_new();
	g_autoptr(GString) text = g_string_new(NULL);
	g_autoptr(GPtrArray) more =
		pipesim_lines_new("--timeline FILE.svg", "--report FILE.html", NULL);
	const gboolean page = setup->text[PIPESIM_SET_REPORT] != NULL;
	const char *name = setup->text[PIPESIM_SET_FORMAT];
	const char *path = setup->text[PIPESIM_SET_OUTPUT];
	const PipesimStyle style = pipesim_terminal_style(setup, path);
	PipesimScenario base;

	if (!pipesim_check_page(setup->text[PIPESIM_SET_REPORT], error) ||
		!pipesim_setup_check_view(setup, error) ||
		!pipesim_choices_add_list(choices, setup->text[PIPESIM_SET_SCHEDULE], error) ||
		!pipesim_choices_prepare(choices, setup, error) ||
		!pipesim_setup_require(setup, error) ||
		!pipesim_setup_costs(setup, NULL, error))
		return FALSE;
	const PipesimOutput *format =
		name == NULL && path != NULL ? pipesim_output_for_path(path) : NULL;
	if (format == NULL)
		format = pipesim_output_find(name != NULL ? name : "text", error);
	if (format == NULL ||
		!pipesim_check_full(setup, format->for_people ? NULL : format->name, error))
		return FALSE;
	scenario->critical = setup->flag[PIPESIM_SET_CRITICAL_PATH] || page || format->critical;
	/* Pictures and traces are of single ops, a page of those that fit; the figures of ranks
	 * need none. */
	if (setup->text[PIPESIM_SET_TIMELINE] != NULL ||
		setup->text[PIPESIM_SET_CHROME_TRACE] != NULL)
		scenario->keep = PIPESIM_KEEP_OPS;
	else if (page || (scenario->critical && format->for_people)) /* names its ops */
		scenario->keep = PIPESIM_KEEP_FITTING;
	else
		scenario->keep = format->keep;
	/* What is too much is told with its micro-batch. */
	if (scenario->memory_limit > 0 && scenario->keep >= PIPESIM_KEEP_NOTHING &&
		format->for_people)
		scenario->keep = PIPESIM_KEEP_REPORT;
	g_autoptr(PipesimComparison) comparison =
		pipesim_comparison_new(scenario, setup->costs);
	comparison->command = g_strdup(setup->command_line);
	comparison->notices = setup->notices;
	comparison->more = more;
	comparison->named = setup->text[PIPESIM_SET_SCHEDULE] != NULL;
	comparison->critical = setup->flag[PIPESIM_SET_CRITICAL_PATH];
	pipesim_each_in (const PipesimChoice, choice, choices)
		g_ptr_array_add(
			comparison->runs, pipesim_choice_run(choice, scenario, setup->costs));
	if (!any_result(comparison, error) ||
		(setup->text[PIPESIM_SET_TIMELINE] != NULL &&
			!pipesim_layout_check(comparison, &setup->view, error)))
		return FALSE;
	if (pipesim_comparison_needs_base(comparison, &base))
		comparison->laid_out = pipesim_layout_choose(one, &base, setup->costs);
	pipesim_comparison_finish(comparison);
	g_autoptr(GPtrArray) layers = pipesim_comparison_layers(comparison, FALSE);
	for (guint i = 0; i < layers->len && (style.full || page || !format->for_people); i++)
		pipesim_setup_notice(setup, "%s", (char *)layers->pdata[i]);
	setup->told = format->for_people;
	if (format->for_people || page)
		pipesim_comparison_run_native(comparison);
	if (scenario->memory_limit > 0 && pipesim_comparison_choose(comparison, FALSE) < 0)
		*answer = PIPESIM_EXIT_NO;
	format->write(comparison, &style, text);
	g_autofree char *left_out = page ? pipesim_page_left_out(comparison) : NULL;
	if (left_out != NULL)
		pipesim_print_notice(left_out); /* the page says it itself */
	return pipesim_print_drawn(setup, comparison, path, text, error);
}

const PipesimCommand pipesim_command_compare = {
	.name = "compare",
	.summary = "which schedule is best for a shape and its times (the default)",
	.about = "Simulates pipeline-parallel training schedules over PP ranks and prints "
		 "their makespan,\nbubble and activation memory beside the published formulae.",
	.examples = "Examples:\n"
		    "  pipesim --pp 8 --microbatches 20\n"
		    "  pipesim --pp 8 --microbatches 20 --times F=1,I=1,W=1,FB=2.4 --timeline "
		    "dualpipe.svg \\\n"
		    "          --schedule dualpipe\n\n"
		    "Exit status: 0 done, 1 no schedule fits the memory limit, 2 usage, 3 bad "
		    "input file,\n4 gnuplot missing or failed, 5 cannot write.\n",
	.takes = {PIPESIM_ALL_SHAPE, PIPESIM_SET_SCHEDULE, PIPESIM_SET_FORMAT,
		PIPESIM_SET_OUTPUT, PIPESIM_ALL_RUNTIME, PIPESIM_SET_COMPARE_AT,
		PIPESIM_SET_SORT, PIPESIM_SET_KEEP_GNUPLOT, PIPESIM_SET_FULL, PIPESIM_SET_BRIEF,
		PIPESIM_SET_TIMELINE, PIPESIM_SET_CRITICAL_PATH, PIPESIM_SET_CHROME_TRACE,
		PIPESIM_SET_REPORT, PIPESIM_ALL_VIEW, PIPESIM_ALL_COSTS, PIPESIM_ALL_POWER,
		PIPESIM_ALL_MODEL, PIPESIM_ALL_ENCODER, PIPESIM_SET_VOCAB_PARALLEL,
		PIPESIM_SET_RECOMPUTE_AS_OPS, PIPESIM_ALL_NETWORK, PIPESIM_ALL_SAMPLES,
		PIPESIM_SET_OP_TIMES, PIPESIM_SET_FROM_MEGATRON, PIPESIM_SET_FROM_TORCHTITAN},
	.wording =
		{{PIPESIM_SET_FORMAT, NULL,
			 "text, json, csv or ops (default: by the extension of -o, else text)",
			 "text json csv ops"},
			{PIPESIM_SET_OUTPUT, NULL, "file to write instead of standard output",
				NULL}},
	.members = pipesim_comparison_members,
	.run = run,
};
