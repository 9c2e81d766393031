#include "config.h"

#include "cli/options.h"
#include "schedule/csv.h"

/* What a file says about a schedule is an answer; what cannot be read is an error. */
static gboolean is_answer(const GError *error)
{
	return g_error_matches(error, PIPESIM_ERROR, PIPESIM_ERROR_INCOMPLETE) ||
	       g_error_matches(error, PIPESIM_ERROR, PIPESIM_ERROR_DEADLOCK);
}

static void append_count(GString *out, guint n, const char *what, const char *plural)
{
	g_string_append_printf(out, "%u %s%s, ", n, what, n == 1 ? "" : plural);
}

static PipesimExit validate(const char *path, GString *out, GError **error)
{
	g_autoptr(GError) fault = NULL;
	g_autoptr(PipesimProgram) program = pipesim_schedule_read_csv(path, &fault);

	if (program != NULL) {
		g_string_append_printf(out, "%s: ", path);
		append_count(out, program->shape.ranks, "rank", "s");
		append_count(out, program->shape.stages, "stage", "s");
		append_count(out, program->shape.microbatches, "micro-batch", "es");
		g_string_append_printf(
			out, "%u ops: complete, acyclic, no deadlock\n", program->n_ops);
		return PIPESIM_EXIT_DONE;
	}
	if (is_answer(fault)) {
		g_printerr("%s\n", fault->message);
		return PIPESIM_EXIT_NO;
	}
	g_propagate_error(error, g_steal_pointer(&fault));
	return PIPESIM_EXIT_INPUT;
}

static PipesimExit run(int argc, char **argv, GError **error)
{
	GOptionContext *context = g_option_context_new(
		"FILE.csv... - check schedule files: complete, acyclic, no deadlock");
	g_autoptr(GString) out = g_string_new(NULL);
	PipesimExit worst = PIPESIM_EXIT_DONE;

	g_option_context_set_description(context,
		"Exit status: 0 every file can run, 1 one has ops missing, twice or in an "
		"order that\n"
		"deadlocks (each fault with its place), 3 one cannot be read.\n");
	if (!pipesim_options_parse(context, &argc, &argv, error))
		return PIPESIM_EXIT_USAGE;
	if (argc < 2) {
		pipesim_fail(error, PIPESIM_ERROR_USAGE, "validate takes schedule files");
		return PIPESIM_EXIT_USAGE;
	}
	for (int i = 1; i < argc && *error == NULL; i++) {
		const PipesimExit exit = validate(argv[i], out, error);

		worst = MAX(worst, exit);
	}
	if (!pipesim_print(NULL, out, *error == NULL ? error : NULL))
		return PIPESIM_EXIT_WRITE;
	return worst;
}

const PipesimCommand pipesim_command_validate = {
	.name = "validate",
	.summary = "is a schedule CSV complete, and does it run without deadlock?",
	.run = run,
};
