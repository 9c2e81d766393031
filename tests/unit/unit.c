#include "references.h"
#include "suites.h"
#include <glib.h>
#include <stdlib.h>

/* Making a suite may take a while: what it loops over is built and read then. NAME: with _ for the - of the suite. */
static gboolean is_wanted(const char *name)
{
	g_autofree char *wanted = g_strdup(g_getenv("CK_RUN_SUITE"));

	return wanted == NULL || g_str_equal(g_strdelimit(wanted, "-", '_'), name);
}

int main(void)
{
	SRunner *runner = srunner_create(NULL);
	int failed;

#define SUITE(name)           \
	if (is_wanted(#name)) \
		srunner_add_suite(runner, name##_suite());
#include "list.h"
#undef SUITE
	srunner_run_all(runner, CK_ENV);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	references_clear();
	return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
