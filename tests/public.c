/* The public header alone, against the shared library: what a stranger's program sees. */
#include <pipesim.h>
#include <stdio.h>

static int fail(const char *what, const GError *error)
{
	printf("public: %s%s%s\n", what, error != NULL ? ": " : "",
		error != NULL ? error->message : "");
	return 1;
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
	puts("100%: Checks: 7, Failures: 0, Errors: 0");
	return 0;
}
