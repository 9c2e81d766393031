#include "config.h"

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
static const char *const words[N_FATES] = {[RUN] = ", no deadlock under",
	[HANG] = "; deadlock under",
	[CROSS] = "; wrong tensors received under",
	[NONE] = "; no such order in"}; /* runtimes with orders of their own */

/* "A, B, C". */
static void append_name(GString *names, const char *name)
{
	g_string_append_printf(names, "%s%s", names->len > 0 ? ", " : "", name);
}

/* Sorts one way of communicating into @fates; says on standard error where messages hang or meet the wrong
 * ones and that decides. */
static gboolean try_comm(Validation *validation, PipesimScheduleFile *file,
	const PipesimLowering *lowering, GString *const *fates, GError **error)
{
	const char *name =
		lowering->from_file ? "the messages of the file" : lowering->runtime->name;
	g_autoptr(GError) fault = NULL;
	const PipesimIssuing asked =
		pipesim_runtime_asked(lowering->runtime, validation->issuing);
	const gboolean runs = pipesim_lowering_check(lowering, asked.channels,
		lowering->from_file ? pipesim_schedule_file_locate_action
				    : pipesim_schedule_file_locate_op,
		file, &fault);
	/* A hang decides under rules that were asked for, or that a file is run by where it says
	 * nothing else. PyTorch runs files by its own rules; orders of several stages per rank are not made
	 * for the other rules, and most hang under them. */
	const gboolean decides =
		!validation->all || lowering->from_file || !lowering->runtime->waits ||
		lowering->runtime == pipesim_runtime_resolve(
					     &pipesim_native_runtime, PIPESIM_RUNTIME_OF_FILES);
	const guint fate = runs ? RUN
			   : g_error_matches(fault, PIPESIM_ERROR, PIPESIM_ERROR_DEADLOCK)
				   ? HANG
				   : CROSS;

	if (!runs && !is_answer(fault)) {
		g_propagate_error(error, g_steal_pointer(&fault));
		return FALSE;
	}
	if (!runs && decides) {
		g_printerr("%s\n", fault->message);
		*validation->worst = PIPESIM_EXIT_NO;
	}
	append_name(fates[fate], name);
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
	g_printerr("%s:1:1: %s; pipesim export --from %s --runtime %s --output FILE writes it "
		   "for that version\n",
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
	const PipesimShape *shape = &file->program->shape;
	const PipesimRuntime *const *runtimes = pipesim_runtime_list();
	g_autoptr(GString) run = g_string_new(NULL), hang = g_string_new(NULL),
			   cross = g_string_new(NULL), none = g_string_new(NULL);
	GString *const fates[N_FATES] = {run, hang, cross, none};
	GString *out = validation->out;

	for (guint i = 0; runtimes[i] != NULL; i++) {
		const gboolean wanted = validation->all || runtimes[i] == validation->runtime;
		g_autoptr(PipesimLowering) lowering = NULL;
		g_autoptr(GError) fault = NULL;
		PipesimIssuing issuing;

		if (!wanted || (file->lowering != NULL && runtimes[i]->waits))
			continue;
		issuing = pipesim_runtime_asked(runtimes[i], validation->issuing);
		lowering = pipesim_lower(file->program, runtimes[i], &issuing, &fault);
		if (lowering == NULL &&
			g_error_matches(fault, PIPESIM_ERROR, PIPESIM_ERROR_CONSTRAINT)) {
			append_name(none, runtimes[i]->name);
			if (validation->all)
				continue;
			g_printerr("%s: %s\n", path, fault->message);
			*validation->worst = PIPESIM_EXIT_NO;
			continue;
		}
		if (lowering == NULL) {
			g_propagate_error(error, g_steal_pointer(&fault));
			return FALSE;
		}
		if (!try_comm(validation, file, lowering, fates, error))
			return FALSE;
	}
	if (file->lowering != NULL && !is_for(validation, file->lowering, path))
		*validation->worst = PIPESIM_EXIT_NO;
	if (file->lowering != NULL && (validation->all || validation->runtime->waits) &&
		!try_comm(validation, file, file->lowering, fates, error))
		return FALSE;
	g_string_append_printf(out,
		"%s: %u rank%s, %u stage%s, %u micro-batch%s, %u ops: complete, acyclic", path,
		shape->ranks, shape->ranks == 1 ? "" : "s", shape->stages,
		shape->stages == 1 ? "" : "s", shape->microbatches,
		shape->microbatches == 1 ? "" : "es", file->program->n_ops);
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
		return pipesim_fail(
			error, PIPESIM_ERROR_USAGE, "validate takes schedule files");
	for (guint i = 0; i < setup->n_operands && *error == NULL; i++) {
		const char *path = setup->operands[i];
		g_autoptr(GError) fault = NULL;
		g_autoptr(PipesimScheduleFile) file = pipesim_schedule_file_read(path, &fault);

		if (file != NULL) {
			report(&validation, file, path, error);
		} else if (is_answer(fault)) {
			g_printerr("%s\n", fault->message);
			*answer = PIPESIM_EXIT_NO;
		} else {
			g_propagate_error(error, g_steal_pointer(&fault));
		}
	}
	return pipesim_print(NULL, out, *error == NULL ? error : NULL) && *error == NULL;
}

const PipesimCommand pipesim_command_validate = {
	.name = "validate",
	.summary = "check that a schedule CSV is complete and free of deadlock",
	.usage = "FILE.csv... - check schedule files: complete, acyclic, no deadlock",
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
		"check one set of message rules (default: all of them)", NULL}},
	.run = run,
};
