#include "config.h"

#include "cli/options.h"
#include "schedule/csv.h"

static PipesimExit export_order(const char *name, const PipesimShapeOptions *shape_options,
	const char *output, GError **error)
{
	const PipesimSchedule *schedule = pipesim_schedule_find(name, error);
	g_autoptr(PipesimCosts) costs = pipesim_costs_default();
	g_autoptr(PipesimTimes) times = NULL;
	g_autoptr(PipesimProgram) program = NULL;
	g_autoptr(GString) out = g_string_new(NULL);
	PipesimShape shape;

	if (schedule == NULL ||
		!pipesim_schedule_shape(schedule, &shape_options->scenario, &shape, error))
		return PIPESIM_EXIT_USAGE;
	times = pipesim_times_new(costs, &shape);
	program = pipesim_schedule_program(schedule, &shape, times, error);
	if (program == NULL)
		return PIPESIM_EXIT_USAGE;
	pipesim_schedule_write_csv(program, out);
	return pipesim_print(output, out, error) ? PIPESIM_EXIT_DONE : PIPESIM_EXIT_WRITE;
}

static PipesimExit run(int argc, char **argv, GError **error)
{
	g_auto(PipesimShapeOptions) shape = {0};
	g_autofree char *name = NULL, *output = NULL;
	const GOptionEntry entries[] = {
		{"schedule", 's', 0, G_OPTION_ARG_STRING, &name, "schedule to write", "NAME"},
		{"output", 'o', 0, G_OPTION_ARG_FILENAME, &output,
			"write to FILE instead of standard output", "FILE"},
		{0},
	};
	GOptionContext *context =
		g_option_context_new("- write an op order as a PyTorch schedule CSV");

	pipesim_shape_entries(context, &shape);
	g_option_context_add_main_entries(context, entries, NULL);
	if (!pipesim_options_parse(context, &argc, &argv, error) ||
		!pipesim_options_no_operands(argc, argv, error) ||
		!pipesim_shape_options_read(&shape, error) ||
		!pipesim_shape_options_require(&shape, error))
		return PIPESIM_EXIT_USAGE;
	if (name == NULL) {
		pipesim_fail(error, PIPESIM_ERROR_USAGE,
			"--schedule is missing; see pipesim list for names");
		return PIPESIM_EXIT_USAGE;
	}
	return export_order(name, &shape, output, error);
}

const PipesimCommand pipesim_command_export = {
	.name = "export",
	.summary = "op order of one schedule as a PyTorch schedule CSV",
	.run = run,
};
