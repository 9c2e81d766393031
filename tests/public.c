/* The public header alone, against the shared library: what a stranger's program sees. */
#include <pipesim.h>
#include <stdio.h>

static int fail(const char *what, const GError *error)
{
	printf("public: %s%s%s\n", what, error != NULL ? ": " : "",
		error != NULL ? error->message : "");
	return 1;
}

/* Options by name, costs from memory, ops and messages of a run. */
static const char *ask(void)
{
	const gint64 forward[] = {2000, 1000, 1000, 1000},
		     backward[] = {1000, 1000, 1000, 1000};
	g_autoptr(GError) error = NULL;
	g_autoptr(PipesimSetup) setup = pipesim_setup_new();
	g_autoptr(PipesimCosts) costs = pipesim_costs_new(1000, 1000, 1000, -1, 100, NULL);
	g_autoptr(PipesimRun) run = NULL;
	g_autofree char *order = NULL;
	PipesimRunOp op, from;
	PipesimRunMessage message;

	if (pipesim_setup_set(setup, "micro-batches", "8", &error) ||
		!g_error_matches(error, PIPESIM_ERROR, PIPESIM_ERROR_USAGE))
		return "an unknown option was not refused";
	g_clear_error(&error);
	if (!pipesim_setup_set(setup, "--pp", "4", NULL) ||
		pipesim_setup_set(setup, "pp", "many", &error))
		return "an option was not taken, or nonsense was";
	g_clear_error(&error);
	if (pipesim_setup_run(setup, "1f1b", PIPESIM_WANT_FIGURES, &error) != NULL ||
		!g_error_matches(error, PIPESIM_ERROR, PIPESIM_ERROR_USAGE))
		return "micro-batches were not missed";
	g_clear_error(&error);
	if (!pipesim_setup_set(setup, "microbatches", "8", NULL) ||
		!pipesim_setup_set(setup, "comm", "queue", NULL) ||
		!pipesim_costs_set_bytes(costs, 10, 20, 1000, NULL) ||
		pipesim_costs_set_bytes(costs, -1, 0, 0, NULL))
		return "bytes were not taken, or nonsense was";
	pipesim_setup_set_costs(setup, costs);
	run = pipesim_setup_run(setup, "1f1b", PIPESIM_WANT_MESSAGES, &error);
	if (run == NULL)
		return "1f1b does not run by options";
	if (pipesim_run_n_ops(run, 3) != 16 || pipesim_run_n_messages(run) != 2 * 3 * 8 ||
		pipesim_run_stages(run) != 4 || pipesim_run_microbatches(run) != 8 ||
		g_strcmp0(pipesim_run_runtime(run), "queue") != 0)
		return "not the ops and messages of 1f1b 4/8";
	for (guint i = 0; i < pipesim_run_n_messages(run); i++) {
		pipesim_run_message(run, i, &message);
		pipesim_run_op(run, message.from_rank, message.from_op, &from);
		pipesim_run_op(run, message.to_rank, message.to_op, &op);
		if (from.end > message.sent || message.start < message.sent ||
			message.end - message.start != 100 || op.start < message.end ||
			op.microbatch != from.microbatch ||
			op.stage != (message.backward ? from.stage - 1 : from.stage + 1))
			return "a message does not lie between its ops";
	}
	/* Rank 0 holds 4 micro-batches; both kinds of bytes, and its parameters. */
	if (pipesim_run_peak_bytes(run, 0) != 1000 + 4 * 30 || !pipesim_run_fits(run) ||
		pipesim_run_waiting(run, 2) != 1200)
		return "not the bytes or the waiting of 1f1b 4/8";
	order = pipesim_run_order(run);
	if (order == NULL || !g_str_has_prefix(order, "0F0,0F1,0F2,0F3,0B0,"))
		return "not the order of 1f1b";
	g_clear_pointer(&run, pipesim_run_free);

	if (pipesim_setup_set_stages(setup, 1, &(gint64){-1}, backward, backward, &error) ||
		!pipesim_setup_set_stages(setup, 4, forward, backward, backward, NULL) ||
		!pipesim_setup_set(setup, "comm", NULL, NULL) ||
		!pipesim_setup_set(setup, "memory-limit", "1GB", NULL))
		return "stages were not taken, or nonsense was";
	g_clear_error(&error);
	run = pipesim_setup_run(setup, "gpipe", PIPESIM_WANT_OPS, &error);
	if (run == NULL)
		return "gpipe does not run with stages of its own";
	pipesim_run_op(run, 0, 1, &op);
	if (op.kind != PIPESIM_F || op.microbatch != 1 || op.start != 2000 || op.end != 4000)
		return "stage 0 does not take twice as long";
	/* 8 forwards of stage 0, 3 hops and stages forward, 8 backwards, 3 back */
	if (pipesim_run_makespan(run) != 8 * 2000 + 3 * 1100 + 8 * 2000 + 3 * 2100)
		return "not the makespan of gpipe 4/8";
	g_clear_pointer(&run, pipesim_run_free);
	if (!pipesim_setup_set(setup, "stage-times", "x.csv", NULL) ||
		pipesim_setup_run(setup, "gpipe", PIPESIM_WANT_OPS, &error) != NULL ||
		!g_error_matches(error, PIPESIM_ERROR, PIPESIM_ERROR_USAGE))
		return "stages from two sides were not refused";
	g_clear_error(&error);
	if (!pipesim_setup_set(setup, "stage-times", NULL, NULL) ||
		!pipesim_setup_set(setup, "costs", "x.ini", NULL) ||
		pipesim_setup_run(setup, "gpipe", PIPESIM_WANT_OPS, &error) != NULL ||
		!g_error_matches(error, PIPESIM_ERROR, PIPESIM_ERROR_USAGE))
		return "costs from two sides were not refused";
	return NULL;
}

int main(void)
{
	g_autoptr(GError) error = NULL;
	g_autoptr(PipesimCosts) costs = pipesim_costs_new(1000, 1000, 1000, -1, 0, &error);
	const PipesimSchedule *dualpipe = pipesim_schedule_find("dualpipe", &error);
	const PipesimCosts *const many[] = {costs, costs};
	g_autoptr(PipesimRun) run = NULL;
	g_autoptr(PipesimWhatif) whatif = NULL;
	PipesimOutcome outcomes[2];

	if (costs == NULL || dualpipe == NULL)
		return fail("nothing to simulate", error);
	run = pipesim_simulate(dualpipe, 8, 20, costs, &error);
	if (run == NULL)
		return fail("no run", error);
	if (pipesim_run_makespan(run) != 66000 || pipesim_run_bubble(run, 0) != 6000 ||
		pipesim_run_peak_activations(run, 0) != 9)
		return fail("dualpipe 8/20 is not 66, 6, 9", NULL);
	if (pipesim_simulate(dualpipe, 7, 20, costs, &error) != NULL ||
		!g_error_matches(error, PIPESIM_ERROR, PIPESIM_ERROR_CONSTRAINT))
		return fail("7 ranks were not refused", error);
	whatif = pipesim_whatif_new(dualpipe, 8, 20, costs, &error);
	if (whatif == NULL || !pipesim_whatif_run(whatif, many, 2, 1, outcomes, &error))
		return fail("nothing at many costs", error);
	if (outcomes[1].makespan != 66000 || outcomes[1].max_idle != 6000 ||
		outcomes[1].idle != 8 * 6000)
		return fail("dualpipe 8/20 is not 66, 6, 48 at many costs", NULL);
	if (pipesim_schedule_list()[0] == NULL)
		return fail("no schedules", NULL);
	if (ask() != NULL)
		return fail(ask(), NULL);
	puts("100%: Checks: 8, Failures: 0, Errors: 0");
	return 0;
}
