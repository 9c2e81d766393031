/* A job file: no crash, and what is taken is written and read again to the same bytes. */
#include "setup/job-file.h"
#include <stddef.h>
#include <stdint.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* What a job of @text asks for, written again. NULL: it is none. */
static GString *write_again(const char *text, gsize size)
{
	g_autoptr(GError) error = NULL;
	g_autoptr(PipesimJobFile) job = pipesim_job_file_parse(text, size, "x", &error);
	g_auto(PipesimSetup) setup = {0};
	GString *out = g_string_new(NULL);

	g_assert((job == NULL) == (error != NULL));
	if (job == NULL) {
		g_string_free(out, TRUE);
		return NULL;
	}
	pipesim_job_file_apply(job, &setup, PIPESIM_PATH_SCHEDULES);
	pipesim_job_file_print(&setup, "compare", PIPESIM_PATH_SCHEDULES, "x", out, &error);
	g_assert_no_error(error);
	return out;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	g_autoptr(GString) first = write_again((const char *)data, size), second = NULL;

	if (first == NULL)
		return 0;
	second = write_again(first->str, first->len);
	g_assert_nonnull(second);
	g_assert_cmpstr(first->str, ==, second->str);
	return 0;
}
