#include "references.h"
#include "suites.h"
#include <stdlib.h>

int main(void)
{
	SRunner *runner = srunner_create(base_suite());
	int failed;

	srunner_add_suite(runner, reading_suite());
	srunner_add_suite(runner, model_suite());
	srunner_add_suite(runner, power_suite());
	srunner_add_suite(runner, program_suite());
	srunner_add_suite(runner, schedule_suite());
	srunner_add_suite(runner, search_suite());
	srunner_add_suite(runner, engine_suite());
	srunner_add_suite(runner, fast_suite());
	srunner_add_suite(runner, equal_suite());
	srunner_add_suite(runner, huge_suite());
	srunner_add_suite(runner, analysis_suite());
	srunner_add_suite(runner, bound_suite());
	srunner_add_suite(runner, justify_suite());
	srunner_add_suite(runner, passing_suite());
	srunner_add_suite(runner, op_times_suite());
	srunner_add_suite(runner, steady_suite());
	srunner_add_suite(runner, setup_suite());
	srunner_add_suite(runner, sweep_suite());
	srunner_add_suite(runner, difference_suite());
	srunner_add_suite(runner, optimize_suite());
	srunner_add_suite(runner, queues_suite());
	srunner_add_suite(runner, units_suite());
	srunner_add_suite(runner, output_suite());
	srunner_add_suite(runner, chrome_suite());
	srunner_add_suite(runner, raster_suite());
	srunner_add_suite(runner, files_suite());
	srunner_add_suite(runner, published_suite());
	srunner_add_suite(runner, random_suite());
	srunner_add_suite(runner, ranks_suite());
	srunner_add_suite(runner, named_suite());
	srunner_add_suite(runner, diagnose_suite());
	srunner_add_suite(runner, executed_suite());
	srunner_add_suite(runner, trace_suite());
	srunner_add_suite(runner, terms_suite());
	srunner_add_suite(runner, transformer_suite());
	srunner_add_suite(runner, configs_suite());
	srunner_add_suite(runner, experts_suite());
	srunner_add_suite(runner, plan_suite());
	srunner_add_suite(runner, calibrate_suite());
	srunner_add_suite(runner, power_fit_suite());
	srunner_add_suite(runner, effects_suite());
	srunner_add_suite(runner, loops_suite());
	srunner_add_suite(runner, profile_suite());
	srunner_add_suite(runner, lower_suite());
	srunner_add_suite(runner, comm_suite());
	srunner_add_suite(runner, holds_suite());
	srunner_add_suite(runner, megatron_suite());
	srunner_add_suite(runner, messages_suite());
	srunner_add_suite(runner, lanes_suite());
	srunner_add_suite(runner, samples_suite());
	srunner_add_suite(runner, links_suite());
	srunner_add_suite(runner, topology_suite());
	srunner_add_suite(runner, comm_links_suite());
	srunner_run_all(runner, CK_ENV);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	references_clear();
	return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
