#include "references.h"
#include "suites.h"
#include <stdlib.h>

int main(void)
{
	SRunner *runner = srunner_create(NULL);
	int failed;

#define SUITE(name) srunner_add_suite(runner, name##_suite());
#include "list.h"
#undef SUITE
	srunner_run_all(runner, CK_ENV);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	references_clear();
	return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
