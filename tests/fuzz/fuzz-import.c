/* Arguments of frameworks: no crash; a model that is described is one, or is refused with a reason. */
#include "setup/import.h"
#include "transformer/transformer.h"
#include <stddef.h>
#include <stdint.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static gboolean takes(gconstpointer command, PipesimSettingId id)
{
	return command == NULL && id != PIPESIM_SET_NONE;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	for (guint from = 0; from <= PIPESIM_FROM_TORCHTITAN; from++) {
		g_autoptr(GError) error = NULL, fault = NULL;
		g_autoptr(PipesimImport) import = pipesim_import_parse(
			(PipesimFramed)from, (const char *)data, size, "x", &error);
		g_auto(PipesimSetup) setup = {
			.notices = g_ptr_array_new_with_free_func(g_free)};

		g_assert((import == NULL) == (error != NULL));
		if (import == NULL)
			continue;
		pipesim_import_apply(import, &setup, FALSE, takes, NULL);
		g_assert_nonnull(setup.text[PIPESIM_SET_PP]);
		if (setup.described != NULL)
			g_assert(pipesim_setup_load_model(&setup, &fault) == (fault == NULL));
	}
	return 0;
}
