#include "config.h"

#include "cli/choice.h"
#include "cli/options.h"
#include "runtime/lower.h"
#include "runtime/csv.h"
#include <string.h>

typedef struct {
	PipesimShapeOptions shape;
	PipesimCostOptions costs;
	char *name, *output, *reader, *comm; /* as written */
	gboolean with_comms;
	gboolean for_pytorch; /* --for */
	PipesimComm mode;     /* --comm; NATIVE where it was not given */
} Export;

/* An order and where it comes from: a generator or a file. */
typedef struct {
	PipesimProgram *program;
	PipesimScheduleFile *file;
	PipesimComm native; /* what its own runtime does */
} Order;

static void clear_export(Export *options)
{
	pipesim_shape_options_clear(&options->shape);
	pipesim_cost_options_clear(&options->costs);
	g_free(options->name);
	g_free(options->output);
	g_free(options->reader);
	g_free(options->comm);
}

G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(Export, clear_export)

static void clear_order(Order *order)
{
	if (order->file == NULL)
		pipesim_program_free(order->program);
	pipesim_schedule_file_free(order->file);
}

G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(Order, clear_order)

static gboolean is_file(const char *name)
{
	return strchr(name, '/') != NULL || g_str_has_suffix(name, ".csv") ||
	       strcmp(name, "-") == 0;
}

static gboolean read_order(const Export *options, Order *order, GError **error)
{
	if (options->shape.scenario.ranks != 0 || options->shape.scenario.microbatches != 0)
		return pipesim_fail(error, PIPESIM_ERROR_USAGE,
			"%s is a file and has its own ranks and micro-batches; leave out --pp "
			"and --microbatches",
			options->name);
	order->file = pipesim_schedule_file_read(options->name, error);
	if (order->file == NULL)
		return FALSE;
	order->program = order->file->program;
	order->native = PIPESIM_COMM_QUEUE;
	return TRUE;
}

static gboolean generate_order(const Export *options, Order *order, GError **error)
{
	const PipesimSchedule *schedule = pipesim_schedule_find(options->name, error);
	const PipesimScenario *scenario = &options->shape.scenario;
	g_autoptr(PipesimCosts) costs = NULL;
	g_autoptr(PipesimTimes) times = NULL;
	gint64 memory_limit;
	PipesimShape shape;

	if (schedule == NULL || !pipesim_shape_options_require(&options->shape, error))
		return FALSE;
	costs = pipesim_cost_options_read(
		&options->costs, scenario->ranks, &memory_limit, error);
	if (costs == NULL || !pipesim_takes_heed(schedule->takes, scenario, error) ||
		!pipesim_schedule_shape(schedule, scenario, &shape, error))
		return FALSE;
	times = pipesim_times_new(costs, &shape);
	order->program = pipesim_schedule_program(schedule, &shape, times, error);
	order->native = schedule->comm;
	return order->program != NULL;
}

/* What _PipelineScheduleRuntime does not take. */
static gboolean check_pytorch(const PipesimProgram *program, GError **error)
{
	const PipesimShape *shape = &program->shape;

	if (shape->copies > 1)
		return pipesim_fail(error, PIPESIM_ERROR_CONSTRAINT,
			"PyTorch cannot run this order: a stage lives on two ranks, and its "
			"runtime knows one rank for each; --for pipesim writes the order all "
			"the same");
	for (guint rank = 0; rank < shape->ranks; rank++)
		if (program->rank_begin[rank] == program->rank_begin[rank + 1])
			return pipesim_fail(error, PIPESIM_ERROR_CONSTRAINT,
				"PyTorch cannot run this order: rank %u has no op, which its "
				"runtime does not expect; --for pipesim writes the order all "
				"the same",
				rank);
	return TRUE;
}

static gboolean has_groups(const PipesimLowering *lowering)
{
	for (guint32 i = 0; i < lowering->n_actions; i++)
		if (lowering->actions[i].waited)
			return TRUE;
	return FALSE;
}

static gboolean append_lowering(
	const Export *options, Order *order, GString *out, GError **error)
{
	const PipesimComm own = options->for_pytorch ? PIPESIM_COMM_QUEUE : order->native;
	const PipesimLowering *given = order->file != NULL ? order->file->lowering : NULL;
	g_autoptr(PipesimLowering) lowering = NULL;

	if (given != NULL && options->comm == NULL) {
		if (options->for_pytorch && has_groups(given))
			return pipesim_fail(error, PIPESIM_ERROR_CONSTRAINT,
				"PyTorch cannot read the groups of messages in %s; --comm "
				"queue "
				"orders them anew",
				options->name);
		if (options->for_pytorch &&
			!pipesim_lowering_check(
				given, pipesim_schedule_file_locate_action, order->file, error))
			return FALSE;
		pipesim_lowering_print(given, out);
		return TRUE;
	}
	lowering = pipesim_lower(order->program,
		options->mode == PIPESIM_COMM_NATIVE ? own : options->mode, error);
	if (lowering == NULL)
		return FALSE;
	pipesim_lowering_print(lowering, out);
	return TRUE;
}

static PipesimExit export_order(const Export *options, GError **error)
{
	g_auto(Order) order = {0};
	g_autoptr(GString) out = g_string_new(NULL);
	const gboolean file = is_file(options->name);

	if (!(file ? read_order(options, &order, error)
		   : generate_order(options, &order, error)))
		return file ? PIPESIM_EXIT_INPUT : PIPESIM_EXIT_USAGE;
	if (options->for_pytorch && !check_pytorch(order.program, error))
		return PIPESIM_EXIT_USAGE;
	if (!options->with_comms)
		pipesim_schedule_write_csv(order.program, out);
	else if (!append_lowering(options, &order, out, error))
		return PIPESIM_EXIT_USAGE;
	return pipesim_print(options->output, out, error) ? PIPESIM_EXIT_DONE
							  : PIPESIM_EXIT_WRITE;
}

static gboolean read_mode(Export *options, GError **error)
{
	options->mode = PIPESIM_COMM_NATIVE;
	if (options->comm == NULL)
		return TRUE;
	if (!options->with_comms)
		return pipesim_fail(error, PIPESIM_ERROR_USAGE,
			"--comm says which sends and receives are written; add --with-comms");
	if (!pipesim_comm_find(options->comm, &options->mode, error))
		return FALSE;
	if (options->for_pytorch && options->mode != PIPESIM_COMM_QUEUE &&
		options->mode != PIPESIM_COMM_NATIVE)
		return pipesim_fail(error, PIPESIM_ERROR_USAGE,
			"--comm %s: PyTorch runs the messages of every file as one queue a "
			"rank; leave --comm out or give queue",
			options->comm);
	return TRUE;
}

static gboolean read_options(Export *options, GError **error)
{
	if (!pipesim_shape_options_read(&options->shape, error))
		return FALSE;
	if (options->name == NULL)
		return pipesim_fail(error, PIPESIM_ERROR_USAGE,
			"--schedule is missing; see pipesim list for names");
	options->for_pytorch = g_strcmp0(options->reader, "pytorch") == 0;
	if (options->reader != NULL && !options->for_pytorch &&
		strcmp(options->reader, "pipesim") != 0)
		return pipesim_fail(error, PIPESIM_ERROR_USAGE,
			"--for: '%s' is not known; pytorch or pipesim", options->reader);
	return read_mode(options, error);
}

static PipesimExit run(int argc, char **argv, GError **error)
{
	g_auto(Export) options = {0};
	const GOptionEntry entries[] = {
		{"schedule", 's', 0, G_OPTION_ARG_STRING, &options.name,
			"schedule to write, or a file", "NAME"},
		{"with-comms", 0, 0, G_OPTION_ARG_NONE, &options.with_comms,
			"write sends and receives too", NULL},
		{"comm", 0, 0, G_OPTION_ARG_STRING, &options.comm,
			"which: async, queue, single, grouped, native (default)", "MODE"},
		{"for", 0, 0, G_OPTION_ARG_STRING, &options.reader,
			"who reads it: pytorch (refuses what it cannot run) or pipesim", "WHO"},
		{"output", 'o', 0, G_OPTION_ARG_FILENAME, &options.output,
			"write to FILE instead of standard output", "FILE"},
		{0},
	};
	GOptionContext *context =
		g_option_context_new("- write an op order as a PyTorch schedule CSV");

	pipesim_shape_entries(context, &options.shape);
	g_option_context_add_main_entries(context, entries, NULL);
	pipesim_costs_entries(context, &options.costs);
	if (!pipesim_options_parse(context, &argc, &argv, error) ||
		!pipesim_options_no_operands(argc, argv, error) ||
		!read_options(&options, error))
		return PIPESIM_EXIT_USAGE;
	return export_order(&options, error);
}

const PipesimCommand pipesim_command_export = {
	.name = "export",
	.summary = "op order of one schedule as a PyTorch schedule CSV",
	.run = run,
};
