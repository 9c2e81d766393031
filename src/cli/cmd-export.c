#include "config.h"

#include "cli/command.h"
#include "runtime/csv.h"
#include "runtime/lower.h"
#include "schedule/schedule.h"
#include <string.h>

/* An order and where it comes from: a generator or a file. */
typedef struct {
	PipesimProgram *program;
	PipesimScheduleFile *file;
	PipesimComm native; /* what its own runtime does */
} Order;

static void clear_order(Order *order)
{
	if (order->file == NULL)
		pipesim_program_free(order->program);
	pipesim_schedule_file_free(order->file);
}

G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(Order, clear_order)

static gboolean read_order(const PipesimSetup *setup, Order *order, GError **error)
{
	const char *name = setup->text[PIPESIM_SET_SCHEDULE];

	if (setup->scenario.ranks != 0 || setup->scenario.microbatches != 0)
		return pipesim_fail(error, PIPESIM_ERROR_USAGE,
			"%s is a file and has its own ranks and micro-batches; leave out --pp "
			"and --microbatches",
			name);
	order->file = pipesim_schedule_file_read(name, error);
	if (order->file == NULL)
		return FALSE;
	order->program = order->file->program;
	order->native = PIPESIM_COMM_QUEUE;
	return TRUE;
}

static gboolean generate_order(PipesimSetup *setup, Order *order, GError **error)
{
	const PipesimSchedule *schedule =
		pipesim_schedule_find(setup->text[PIPESIM_SET_SCHEDULE], error);
	g_autoptr(PipesimTimes) times = NULL;
	PipesimShape shape;

	if (schedule == NULL || !pipesim_setup_require(setup, error) ||
		!pipesim_setup_costs(setup, NULL, error) ||
		!pipesim_setup_heed(setup, schedule->takes, error) ||
		!pipesim_schedule_shape(schedule, &setup->scenario, &shape, error))
		return FALSE;
	times = pipesim_times_new(setup->costs, &shape);
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

/* Order and messages as they are to be written: as the file has them, by the rules of --comm, or by
 * those of whoever reads it. */
static gboolean append_lowering(const PipesimSetup *setup, gboolean for_pytorch, Order *order,
	GString *out, GError **error)
{
	const PipesimLowering *given = order->file != NULL ? order->file->lowering : NULL;
	PipesimComm comm = for_pytorch ? PIPESIM_COMM_QUEUE : order->native;
	g_autoptr(PipesimLowering) lowering = NULL;

	if (given != NULL && setup->text[PIPESIM_SET_COMM] == NULL) {
		if (for_pytorch && has_groups(given))
			return pipesim_fail(error, PIPESIM_ERROR_CONSTRAINT,
				"PyTorch cannot read the groups of messages in %s; --comm "
				"queue orders them anew",
				setup->text[PIPESIM_SET_SCHEDULE]);
		if (for_pytorch &&
			!pipesim_lowering_check(
				given, pipesim_schedule_file_locate_action, order->file, error))
			return FALSE;
		pipesim_lowering_print(given, out);
		return TRUE;
	}
	if (setup->text[PIPESIM_SET_COMM] != NULL &&
		setup->scenario.comm != PIPESIM_COMM_NATIVE)
		comm = setup->scenario.comm;
	lowering = pipesim_lower(order->program, comm, error);
	if (lowering == NULL)
		return FALSE;
	pipesim_lowering_print(lowering, out);
	return TRUE;
}

static PipesimExit export_order(PipesimSetup *setup, gboolean for_pytorch, GError **error)
{
	g_auto(Order) order = {0};
	g_autoptr(GString) out = g_string_new(NULL);
	const gboolean file = pipesim_setup_names_file(setup->text[PIPESIM_SET_SCHEDULE]);

	if (!(file ? read_order(setup, &order, error) : generate_order(setup, &order, error)))
		return file ? PIPESIM_EXIT_INPUT : PIPESIM_EXIT_USAGE;
	if (for_pytorch && !check_pytorch(order.program, error))
		return PIPESIM_EXIT_USAGE;
	if (!setup->flag[PIPESIM_SET_WITH_COMMS])
		pipesim_schedule_write_csv(order.program, out);
	else if (!append_lowering(setup, for_pytorch, &order, out, error))
		return PIPESIM_EXIT_USAGE;
	return pipesim_print(setup->text[PIPESIM_SET_OUTPUT], out, error) ? PIPESIM_EXIT_DONE
									  : PIPESIM_EXIT_WRITE;
}

static gboolean check_comm(const PipesimSetup *setup, gboolean for_pytorch, GError **error)
{
	const char *comm = setup->text[PIPESIM_SET_COMM];

	if (comm == NULL)
		return TRUE;
	if (!setup->flag[PIPESIM_SET_WITH_COMMS])
		return pipesim_fail(error, PIPESIM_ERROR_USAGE,
			"--comm says which sends and receives are written; add --with-comms");
	if (for_pytorch && setup->scenario.comm != PIPESIM_COMM_QUEUE &&
		setup->scenario.comm != PIPESIM_COMM_NATIVE)
		return pipesim_fail(error, PIPESIM_ERROR_USAGE,
			"--comm %s: PyTorch runs the messages of every file as one queue a "
			"rank; leave --comm out or give queue",
			comm);
	return TRUE;
}

static PipesimExit run(PipesimSetup *setup, GError **error)
{
	const char *reader = setup->text[PIPESIM_SET_FOR];
	const gboolean for_pytorch = g_strcmp0(reader, "pytorch") == 0;

	if (setup->text[PIPESIM_SET_SCHEDULE] == NULL)
		pipesim_fail(error, PIPESIM_ERROR_USAGE,
			"--schedule is missing; see pipesim list for names");
	else if (reader != NULL && !for_pytorch && strcmp(reader, "pipesim") != 0)
		pipesim_fail(error, PIPESIM_ERROR_USAGE,
			"--for: '%s' is not known; pytorch or pipesim", reader);
	else if (check_comm(setup, for_pytorch, error))
		return export_order(setup, for_pytorch, error);
	return PIPESIM_EXIT_USAGE;
}

const PipesimCommand pipesim_command_export = {
	.name = "export",
	.summary = "op order of one schedule as a PyTorch schedule CSV",
	.usage = "- write an op order as a PyTorch schedule CSV",
	.takes = {PIPESIM_ALL_SHAPE, PIPESIM_SET_SCHEDULE, PIPESIM_SET_WITH_COMMS,
		PIPESIM_SET_COMM, PIPESIM_SET_FOR, PIPESIM_SET_OUTPUT, PIPESIM_ALL_COSTS,
		PIPESIM_ALL_NETWORK},
	.wording = {{PIPESIM_SET_SCHEDULE, "NAME", "schedule to write, or a file"},
		{PIPESIM_SET_COMM, NULL,
			"which: async, queue, single, grouped, native (default)"}},
	.run = run,
};
