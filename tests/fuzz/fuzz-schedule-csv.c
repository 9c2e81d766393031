/* Whatever the bytes: no crash, and what is taken is written and read again to the same bytes.
 */
#include "schedule/csv.h"
#include <stddef.h>
#include <stdint.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	g_autoptr(GError) error = NULL;
	g_autoptr(PipesimProgram) program =
		pipesim_schedule_parse_csv((const char *)data, size, "x", &error);
	g_autoptr(PipesimProgram) copy = NULL;
	g_autoptr(GString) first = g_string_new(NULL), second = g_string_new(NULL);

	g_assert((program == NULL) == (error != NULL));
	if (program == NULL) {
		g_assert(error->domain == PIPESIM_ERROR && error->message[0] != '\0');
		return 0;
	}
	pipesim_schedule_write_csv(program, first);
	copy = pipesim_schedule_parse_csv(first->str, first->len, "x", &error);
	g_assert_no_error(error);
	pipesim_schedule_write_csv(copy, second);
	g_assert_cmpstr(first->str, ==, second->str);
	pipesim_program_check_order(program, NULL, NULL, &error);
	return 0;
}
