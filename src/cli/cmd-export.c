#include "analysis/best-order.h"
#include "cli/command.h"
#include "setup/choice.h"

/* The order of a file with the copies that --offload-fraction asks for, as a run at the costs of @setup has it. */
static PipesimProgram *plan_copies(
	PipesimSetup *setup, const PipesimChoice *choice, GError **error)
{
	const PipesimShape *shape = &choice->file->order->shape;
	PipesimProgram *program = NULL;

	setup->scenario.ranks = shape->ranks;
	setup->scenario.microbatches = pipesim_shape_whole(shape);
	if (!pipesim_setup_costs(setup, NULL, error))
		return NULL;
	PipesimRun *run = pipesim_choice_run(choice, &setup->scenario, setup->costs);
	if (pipesim_run_check(run, error))
		program = pipesim_program_ref(run->step->program);
	pipesim_run_free(run);
	return program;
}

/* What @choice runs: a file's ops, or those that its schedule gives. NULL with @error. */
static PipesimProgram *find_program(
	PipesimSetup *setup, const PipesimChoice *choice, GError **error)
{
	const PipesimSchedule *schedule = choice->schedule;
	PipesimScenario scenario = setup->scenario;

	if (schedule == NULL && (scenario.ranks > 0 || scenario.microbatches > 0))
		return pipesim_refuse_null(error,
			"%s is a file and has its own ranks and micro-batches; leave out --pp "
			"and --microbatches",
			choice->path);
	if (schedule != NULL && (!pipesim_setup_require(setup, error) ||
					!pipesim_setup_costs(setup, NULL, error)))
		return NULL;
	if (scenario.runtime == NULL)
		scenario.runtime = &pipesim_native_runtime;
	if (!pipesim_setup_check_used(setup, pipesim_choice_takes(choice, &scenario), error))
		return NULL;
	if (schedule == NULL)
		return scenario.offload_part.num > 0
			       ? plan_copies(setup, choice, error)
			       : pipesim_order_expand(choice->file->order, error);
	scenario = pipesim_choice_scenario(choice, &setup->scenario);
	return pipesim_best_program(schedule, &scenario, setup->costs, error);
}

/* What _PipelineScheduleRuntime does not take. */
static gboolean check_pytorch(const PipesimProgram *program, GError **error)
{
	const PipesimShape *shape = &program->shape;

	if (shape->copies > 1)
		return pipesim_fail(error, PIPESIM_ERROR_CONSTRAINT,
			"PyTorch cannot run this order: a stage is on two ranks, and its "
			"runtime allows one rank per stage; --framework pipesim writes the "
			"order anyway");
	if (shape->sliced || program->has_more)
		return pipesim_fail(error, PIPESIM_ERROR_CONSTRAINT,
			"PyTorch cannot run this order: %s, which its runtime does not know; "
			"--framework pipesim writes the order anyway",
			shape->sliced ? "sequences are cut into slices"
				      : "it has ops beyond F, I, W and B");
	for (guint rank = 0; rank < shape->ranks; rank++)
		if (program->rank_begin[rank] == program->rank_begin[rank + 1])
			return pipesim_fail(error, PIPESIM_ERROR_CONSTRAINT,
				"PyTorch cannot run this order: rank %u has no ops, which its "
				"runtime does not support; --framework pipesim writes the "
				"order anyway",
				rank);
	return TRUE;
}

/* Nothing that hangs or receives wrong tensors is written unasked. */
static gboolean prove(const PipesimSetup *setup, const PipesimLowering *lowering,
	PipesimLocate locate, gpointer file, GError **error)
{
	const PipesimIssuing asked =
		pipesim_runtime_asked(lowering->runtime, &setup->scenario.issuing);
	g_autoptr(GError) fault = NULL;

	if (setup->flag[PIPESIM_SET_UNPROVEN] ||
		pipesim_lowering_check(lowering, asked.communicators, locate, file, &fault))
		return TRUE;
	return pipesim_fail(error,
		locate != NULL ? (PipesimErrorCode)fault->code : PIPESIM_ERROR_CONSTRAINT,
		"%s\n--unproven writes it all the same", fault->message);
}

/* Order and messages as they are to be written: as the file has them, by the rules of --runtime, or by
 * those of whoever reads it. */
static gboolean append_lowering(const PipesimSetup *setup, gboolean for_pytorch,
	const PipesimChoice *choice, const PipesimProgram *program, GString *out,
	GError **error)
{
	const PipesimLowering *given = choice->file != NULL ? choice->file->lowering : NULL;
	const char *own = PIPESIM_RUNTIME_OF_FILES; /* and of PyTorch */
	const PipesimRuntime *runtime = &pipesim_native_runtime;
	PipesimIssuing issuing;

	if (given != NULL && setup->text[PIPESIM_SET_RUNTIME] == NULL) {
		if (for_pytorch && pipesim_any(i, given->n_actions, given->actions[i].waited))
			return pipesim_fail(error, PIPESIM_ERROR_CONSTRAINT,
				"PyTorch cannot read the groups of messages in %s; --runtime "
				"pytorch-2.11 writes them in another order",
				choice->path);
		if (!prove(setup, given, pipesim_schedule_file_locate_action, choice->file,
			    error))
			return FALSE;
		pipesim_lowering_print(given, out);
		return TRUE;
	}
	if (setup->text[PIPESIM_SET_RUNTIME] != NULL)
		runtime = setup->scenario.runtime;
	if (choice->schedule != NULL && !for_pytorch)
		own = choice->schedule->runtime;
	runtime = pipesim_runtime_resolve(runtime, own);
	issuing = pipesim_runtime_asked(runtime, &setup->scenario.issuing);
	g_autoptr(PipesimLowering) lowering = pipesim_lower(program, runtime, &issuing, error);
	if (lowering == NULL || !prove(setup, lowering, NULL, NULL, error))
		return FALSE;
	pipesim_lowering_print(lowering, out);
	return TRUE;
}

/* A file has no word for parts that are not slices: read again, each is a micro-batch. */
static void tell_parts(const PipesimSetup *setup, const char *name, const PipesimShape *shape)
{
	if (!shape->sliced && pipesim_shape_parts(shape) > 1)
		pipesim_setup_notice(setup,
			"%s runs each micro-batch in %u parts, which the file counts as "
			"micro-batches, %u of them; run it with times and activations of a "
			"part",
			name, pipesim_shape_parts(shape), shape->microbatches);
}

static gboolean run(PipesimSetup *setup, PipesimExit *answer G_GNUC_UNUSED, GError **error)
{
	const char *name = setup->text[PIPESIM_SET_SCHEDULE];
	const char *reader = setup->text[PIPESIM_SET_FOR];
	const gboolean for_pytorch = g_strcmp0(reader, "pytorch") == 0;
	g_autoptr(GPtrArray) choices = pipesim_choices_new();
	g_autoptr(GString) out = g_string_new(NULL);
	const PipesimRuntime *runtime =
		pipesim_runtime_resolve(setup->scenario.runtime, PIPESIM_RUNTIME_OF_FILES);
	gboolean messages = setup->flag[PIPESIM_SET_WITH_COMMS];

	if (setup->n_operands > (name == NULL ? 1 : 0))
		return pipesim_refuse(error, "export writes one schedule; name it once");
	if (setup->n_operands == 1)
		name = setup->operands[0];
	if (name == NULL)
		return pipesim_refuse(
			error, "a schedule is missing; see pipesim list for names");
	if (reader != NULL && !for_pytorch && strcmp(reader, "pipesim") != 0)
		return pipesim_refuse(
			error, "--framework: '%s' is not known; pytorch or pipesim", reader);
	if (setup->text[PIPESIM_SET_RUNTIME] != NULL && for_pytorch && !runtime->runs_files)
		return pipesim_refuse(error,
			"--runtime %s: PyTorch runs the messages of every file by its own "
			"rules; leave --runtime out or give pytorch-2.11 or pytorch-2.15",
			setup->text[PIPESIM_SET_RUNTIME]);
	if (!pipesim_choices_add(choices, name, error))
		return FALSE;
	const PipesimChoice *choice = g_ptr_array_index(choices, 0);
	g_autoptr(PipesimProgram) program = find_program(setup, choice, error);
	if (program == NULL || (for_pytorch && !check_pytorch(program, error)))
		return FALSE;
	tell_parts(setup, name, &program->shape);
	/* Whatever says how they are issued wants messages. */
	messages |= pipesim_any(id, PIPESIM_N_SETTINGS,
		pipesim_settings[id].group == PIPESIM_ALL_RUNTIME &&
			pipesim_setup_given(setup, id));
	if (!messages)
		pipesim_schedule_write_csv(program, out);
	else if (!append_lowering(setup, for_pytorch, choice, program, out, error))
		return FALSE;
	return pipesim_print(setup->text[PIPESIM_SET_OUTPUT], out, error);
}

const PipesimCommand pipesim_command_export = {
	.name = "export",
	.summary = "a schedule as a PyTorch schedule CSV",
	.usage = "[NAME]",
	.operand = "the schedule",
	.operands = PIPESIM_PATH_SCHEDULES,
	.takes = {PIPESIM_ALL_SHAPE, PIPESIM_SET_SCHEDULE, PIPESIM_SET_WITH_COMMS,
		PIPESIM_ALL_RUNTIME, PIPESIM_SET_UNPROVEN, PIPESIM_SET_FOR, PIPESIM_SET_OUTPUT,
		PIPESIM_ALL_COSTS, PIPESIM_ALL_MODEL, PIPESIM_ALL_ENCODER,
		PIPESIM_SET_VOCAB_PARALLEL, PIPESIM_SET_RECOMPUTE_AS_OPS, PIPESIM_ALL_NETWORK,
		PIPESIM_SET_FROM_MEGATRON, PIPESIM_SET_FROM_TORCHTITAN},
	.wording = {{PIPESIM_SET_SCHEDULE, "NAME", "schedule or schedule file to write", NULL},
		{PIPESIM_SET_RUNTIME, NULL,
			"whose rules place sends and receives (default: native, the schedule's "
			"own)",
			NULL}},
	.run = run,
};
