/* Whatever the bytes: no crash, and what is taken is written and read again to the same bytes.
 */
#include "runtime/csv.h"
#include <stddef.h>
#include <stdint.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static GString *print_file(const PipesimScheduleFile *file)
{
	GString *out = g_string_new(NULL);
	g_autoptr(PipesimProgram) program = pipesim_order_expand(file->order, NULL);

	if (file->lowering != NULL)
		pipesim_lowering_print(file->lowering, out);
	else
		pipesim_schedule_write_csv(program, out);
	return out;
}

/* The rules of every runtime: each lowers the order, and either it runs or there is a cycle. */
static void lower(PipesimScheduleFile *file, const PipesimProgram *program)
{
	for (guint i = 0; pipesim_runtime_list()[i] != NULL; i++) {
		g_autoptr(GError) error = NULL;
		g_autoptr(PipesimLowering) lowering =
			pipesim_lower(program, pipesim_runtime_list()[i], NULL, &error);

		/* Some runtimes have orders of their own. */
		if (g_error_matches(error, PIPESIM_ERROR, PIPESIM_ERROR_CONSTRAINT))
			continue;
		g_assert_no_error(error);
		if (!pipesim_lowering_check(lowering, PIPESIM_COMMUNICATOR_RANK,
			    pipesim_schedule_file_locate_op, file, &error))
			g_assert(
				g_error_matches(error, PIPESIM_ERROR, PIPESIM_ERROR_DEADLOCK) ||
				g_error_matches(
					error, PIPESIM_ERROR, PIPESIM_ERROR_INCOMPLETE));
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	g_autoptr(GError) error = NULL;
	g_autoptr(GError) deadlock = NULL;
	g_autoptr(PipesimScheduleFile) file =
		pipesim_schedule_file_parse((const char *)data, size, "x", &error);
	g_autoptr(PipesimScheduleFile) copy = NULL;
	g_autoptr(GString) first = NULL;
	g_autoptr(GString) second = NULL;
	g_autoptr(PipesimProgram) program = NULL;

	g_assert((file == NULL) == (error != NULL));
	if (file == NULL) {
		g_assert(error->domain == PIPESIM_ERROR && error->message[0] != '\0');
		return 0;
	}
	first = print_file(file);
	copy = pipesim_schedule_file_parse(first->str, first->len, "x", &error);
	g_assert_no_error(error);
	second = print_file(copy);
	g_assert_cmpstr(first->str, ==, second->str);
	program = pipesim_order_expand(file->order, &error);
	g_assert_no_error(error);
	pipesim_program_check_order(program, NULL, NULL, &error);
	if (file->lowering != NULL)
		pipesim_lowering_check(file->lowering, PIPESIM_COMMUNICATOR_RANK,
			pipesim_schedule_file_locate_action, file, &deadlock);
	else
		lower(file, program);
	return 0;
}
