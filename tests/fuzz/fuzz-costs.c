/* A costs file: no crash, and what is taken is written and read again to the same bytes. */
#include "model/costs-file.h"
#include <stddef.h>
#include <stdint.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	g_autoptr(GError) error = NULL;
	g_autoptr(PipesimCosts) costs = pipesim_costs_read_ini(
		pipesim_ini_parse((const char *)data, size, "x", &error), &error);
	g_autoptr(PipesimCosts) copy = NULL;
	g_autoptr(GString) first = g_string_new(NULL), second = g_string_new(NULL);

	g_assert((costs == NULL) == (error != NULL));
	if (costs == NULL)
		return 0;
	pipesim_costs_write(costs, first);
	copy = pipesim_costs_read_ini(
		pipesim_ini_parse(first->str, first->len, "x", &error), &error);
	g_assert_no_error(error);
	pipesim_costs_write(copy, second);
	g_assert_cmpstr(first->str, ==, second->str);
	return 0;
}
