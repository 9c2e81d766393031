#include "cli/command.h"
#include "runtime/csv.h"

/* What is printed when all files have been looked at. */
typedef struct {
	gboolean all;                  /* under every runtime */
	const PipesimRuntime *runtime; /* else under this one */
	const PipesimIssuing *issuing;
	PipesimExit *worst; /* of the files so far */
	GString *out;
} Validation;

/* What a file says about a schedule is an answer; what cannot be read is an error. */
static gboolean is_answer(const GError *error)
{
	return g_error_matches(error, PIPESIM_ERROR, PIPESIM_ERROR_INCOMPLETE) ||
	       g_error_matches(error, PIPESIM_ERROR, PIPESIM_ERROR_DEADLOCK);
}

/* How messages fare under the ways of communicating: the names of these, and what is said before them. */
enum {
	RUN,
	HANG,
	CROSS,
	NONE,
	N_FATES
};
static const char *const words[N_FATES] = {[RUN] = "\n  no deadlock under",
	[HANG] = "\n  deadlock under",
	[CROSS] = "\n  wrong tensors received under",
	[NONE] = "\n  no such order in"}; /* runtimes with orders of their own */

/* Sorts one way of communicating, of @runtime or by @file's own @lowering, into @fates; says on standard error where
 * messages hang or meet the wrong ones and that decides. */
static gboolean try_comm(Validation *validation, PipesimScheduleFile *file,
	const PipesimProgram *program, const char *path, const PipesimRuntime *runtime,
	const PipesimLowering *lowering, PipesimProven *proven, GString *const *fates,
	GError **error)
{
	const char *name = lowering != NULL ? "the messages of the file" : runtime->name;
	g_autoptr(GError) fault = NULL;
	const PipesimIssuing asked = pipesim_runtime_asked(runtime, validation->issuing);
	/* A hang decides under rules that were asked for, or that a file is run by where it says
	 * nothing else. PyTorch runs files by its own rules; orders of several stages per rank are not made
	 * for the other rules, and most hang under them. */
	const gboolean decides = !validation->all || lowering != NULL || !runtime->waits ||
				 runtime == pipesim_runtime_resolve(&pipesim_native_runtime,
						    PIPESIM_RUNTIME_OF_FILES);
	/* The way round a cycle is told where it decides. */
	const gboolean runs =
		lowering != NULL ? pipesim_lowering_check(lowering, asked.communicators,
					   pipesim_schedule_file_locate_action, file, &fault)
				 : pipesim_runtime_runs(program, runtime, &asked, proven,
					   decides ? pipesim_schedule_file_locate_op : NULL,
					   file, &fault);
	const gboolean none = g_error_matches(fault, PIPESIM_ERROR, PIPESIM_ERROR_CONSTRAINT);
	const guint fate = runs   ? RUN
			   : none ? NONE
			   : g_error_matches(fault, PIPESIM_ERROR, PIPESIM_ERROR_DEADLOCK)
				   ? HANG
				   : CROSS;

	if (!runs && !none && !is_answer(fault)) {
		g_propagate_error(error, g_steal_pointer(&fault));
		return FALSE;
	}
	if (none && !validation->all) {
		pipesim_say("%s: %s", path, fault->message);
		*validation->worst = PIPESIM_EXIT_NO;
	} else if (!runs && !none && decides) {
		pipesim_say("%s", fault->message);
		*validation->worst = PIPESIM_EXIT_NO;
	}
	pipesim_list_more(fates[fate], "%s", name);
	return TRUE;
}

/* Whether the version of PyTorch that was asked for loads a file with the messages of @lowering; else says
 * why not. */
static gboolean is_for(
	const Validation *validation, const PipesimLowering *lowering, const char *path)
{
	const PipesimRuntime *asked = validation->all ? NULL : validation->runtime;

	if (asked == NULL || !asked->runs_files || asked == lowering->runtime)
		return TRUE;
	pipesim_say("%s:1:1: %s; pipesim export --schedule %s --runtime %s --output FILE "
		    "writes it for that version",
		path,
		asked->waits_for_sends
			? "PyTorch 2.15 does not load this file: it has sends without WAIT_SEND"
			: "PyTorch 2.11 does not load this file: it has waits for sends, of "
			  "which that version takes 0WAIT_SEND_F0 for 0W",
		path, asked->name);
	return FALSE;
}

/* A line about @file. A file that lists its messages is run as it lists them. */
static gboolean report(
	Validation *validation, PipesimScheduleFile *file, const char *path, GError **error)
{
	const PipesimShape *shape = &file->order->shape;
	g_autoptr(PipesimProgram) program = pipesim_order_expand(file->order, error);
	const PipesimRuntime *const *runtimes = pipesim_runtime_list();
	g_autoptr(GString) run = g_string_new(NULL), hang = g_string_new(NULL),
			   cross = g_string_new(NULL), none = g_string_new(NULL);
	GString *const fates[N_FATES] = {run, hang, cross, none};
	GString *out = validation->out;
	const PipesimExit before = *validation->worst;
	PipesimProven proven = PIPESIM_PROVEN_NONE;

	if (program == NULL)
		return FALSE;
	*validation->worst = PIPESIM_EXIT_DONE;
	for (guint i = 0; runtimes[i] != NULL; i++) {
		const gboolean wanted = validation->all || runtimes[i] == validation->runtime;

		if (wanted && (file->lowering == NULL || !runtimes[i]->waits) &&
			!try_comm(validation, file, program, path, runtimes[i], NULL, &proven,
				fates, error))
			return FALSE;
	}
	if (file->lowering != NULL && !is_for(validation, file->lowering, path))
		*validation->worst = PIPESIM_EXIT_NO;
	if (file->lowering != NULL && (validation->all || validation->runtime->waits) &&
		!try_comm(validation, file, program, path, file->lowering->runtime,
			file->lowering, &proven, fates, error))
		return FALSE;
	gboolean failed = *validation->worst != PIPESIM_EXIT_DONE;
	*validation->worst = MAX(before, *validation->worst);
	g_string_append_printf(out, "%s %s: %u rank%s, %u stage%s, %u micro-batch%s", path,
		failed ? "does not run" : "runs", shape->ranks, shape->ranks == 1 ? "" : "s",
		shape->stages, shape->stages == 1 ? "" : "s", pipesim_shape_whole(shape),
		pipesim_shape_whole(shape) == 1 ? "" : "es");
	if (shape->sliced)
		g_string_append_printf(out, " in %u slices each", shape->parts);
	g_string_append_printf(out, ", %u ops; complete, acyclic", program->n_ops);
	for (guint rank = 0; rank < shape->ranks; rank++) {
		g_autofree char *idle = pipesim_schedule_file_idle(file, rank);

		if (idle != NULL)
			g_string_append_printf(out, "\n  %s", idle);
	}
	for (guint fate = 0; fate < N_FATES; fate++)
		if (fates[fate]->len > 0)
			g_string_append_printf(out, "%s %s", words[fate], fates[fate]->str);
	g_string_append_c(out, '\n');
	return TRUE;
}

static gboolean run(PipesimSetup *setup, PipesimExit *answer, GError **error)
{
	g_autoptr(GString) out = g_string_new(NULL);
	Validation validation = {
		.all = setup->text[PIPESIM_SET_RUNTIME] == NULL,
		.runtime = pipesim_runtime_resolve(
			setup->scenario.runtime, PIPESIM_RUNTIME_OF_FILES),
		.issuing = &setup->scenario.issuing,
		.worst = answer,
		.out = out,
	};

	if (setup->n_operands == 0)
		pipesim_refuse(error, "validate takes schedule files");
	for (guint i = 0; i < setup->n_operands && *error == NULL; i++) {
		const char *path = setup->operands[i];
		g_autoptr(GError) fault = NULL;
		g_autoptr(PipesimScheduleFile) file = pipesim_schedule_file_read(path, &fault);

		if (file != NULL) {
			report(&validation, file, path, error);
		} else if (is_answer(fault)) {
			pipesim_say("%s", fault->message);
			*answer = PIPESIM_EXIT_NO;
		} else {
			g_propagate_error(error, g_steal_pointer(&fault));
		}
	}
	return pipesim_print(NULL, out, *error == NULL ? error : NULL) && *error == NULL;
}

const PipesimCommand pipesim_command_validate = {
	.name = "validate",
	.summary = "whether schedule files are complete and free of deadlock",
	.usage = "FILE.csv...",
	.examples = "Each file is checked under the message rules async, pytorch-2.11 and "
		    "pytorch-2.15 (PyTorch's\nmulti-stage schedules), single (PyTorch's GPipe "
		    "and 1F1B) and deepseek (DualPipe); an order of\n1F1B or interleaved 1F1B "
		    "under megatron too. native is pytorch-2.11. A file that lists its "
		    "own\nsends and receives is run with those, as the version of PyTorch that "
		    "writes such files runs them:\nevery message has both ends, the right ones "
		    "meet, and nothing waits in a circle.\n\n"
		    "Exit status: 0 every file can run; 1 one has ops that are missing or "
		    "listed twice, or an order\nthat deadlocks under async or pytorch-2.11, or "
		    "under the rules given by --runtime, or messages that\nmeet the wrong "
		    "receive (each fault with its place); 3 one cannot be read.\n",
	.operand = "an operand",
	.operands = PIPESIM_PATH_READ,
	.takes = {PIPESIM_ALL_RUNTIME},
	.wording = {{PIPESIM_SET_RUNTIME, NULL,
		"check under these rules only (default: all of them)", NULL}},
	.run = run,
};
