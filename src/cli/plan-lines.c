/* Rows of all candidates of a plan, as a sweep writes its own. */
#include "config.h"

#include "cli/plan.h"
#include "cli/sweep-run.h"

/* Candidates that threads take at once, and of a block: those of one family then run side by side. */
#define TOGETHER 512
#define LONGEST  4096

/* All but who writes what where, and by how many threads; traces are told by what they say. */
static gboolean decides(guint id)
{
	static const PipesimSettingId others[] = {PIPESIM_SET_OUTPUT, PIPESIM_SET_RESUME,
		PIPESIM_SET_THREADS, PIPESIM_SET_SHARD, PIPESIM_SET_FORMAT, PIPESIM_SET_TRACE};

	for (guint i = 0; i < G_N_ELEMENTS(others); i++)
		if (id == others[i])
			return FALSE;
	return TRUE;
}

/* For PipesimSweepWork.solve. */
static void solve(gpointer data, guint64 first, guint n, PipesimSweepResult *results)
{
	g_autofree PipesimBrief *briefs = g_new0(PipesimBrief, MAX(n, 1u));

	pipesim_planner_simulate(data, (guint)first, n, briefs);
	for (guint i = 0; i < n; i++)
		results[i].brief = briefs[i];
}

gboolean pipesim_plan_lines(const PipesimPlanning *plan, PipesimPlanner *planner,
	PipesimRowFormat format, PipesimProcesses processes, gboolean *stopped, GError **error)
{
	const PipesimPlanLines lines = {planner, format};
	PipesimSweepRun run = {.setup = plan->setup,
		.processes = processes,
		.what = "candidates",
		.output = plan->setup->text[PIPESIM_SET_OUTPUT],
		.rows = pipesim_plan_rows(&lines),
		.work = {.width = 1, .solve = solve, .data = planner, .together = TOGETHER}};
	g_autoptr(GString) made_of = NULL;
	gboolean ok = pipesim_sweep_run_share(&run, pipesim_planner_count(planner), error);

	if (ok)
		made_of = pipesim_sweep_run_id(plan->setup, decides, error);
	if (made_of != NULL && plan->capture_text != NULL)
		pipesim_sweep_run_id_add(made_of, "costs", plan->capture_text);
	ok = made_of != NULL &&
	     pipesim_sweep_run_open(&run, TRUE, made_of->str, 4, LONGEST, error) &&
	     pipesim_sweep_run(&run, error);
	*stopped = ok && pipesim_sweep_run_is_main(&run) && pipesim_sweep_run_stopped(&run);
	if (ok && !*stopped && run.file != NULL)
		ok = pipesim_sweep_file_close(run.file, error);
	pipesim_sweep_file_free(run.file);
	return ok;
}
