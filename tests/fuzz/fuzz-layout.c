/* A layout string: no crash; what is taken is written as a string that says the same. */
#include "transformer/layout.h"
#include <stddef.h>
#include <stdint.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const gint64 layers[] = {4, 12, 61};
	/* Of nothing there is no address. */
	g_autofree char *text = size > 0 ? g_strndup((const char *)data, size) : g_strdup("");

	for (guint i = 0; i < 2 * G_N_ELEMENTS(layers); i++) {
		const PipesimTransformer model = {
			.name = (char *)"m", .layers = layers[i / 2], .mtp = i % 2};
		g_autoptr(GError) error = NULL;
		g_autoptr(PipesimStages) stages =
			pipesim_stages_parse(&model, i % 2, text, "x", &error);
		g_autoptr(GString) first = g_string_new(NULL);
		g_autoptr(GString) second = g_string_new(NULL);
		g_autoptr(PipesimStages) again = NULL;

		g_assert((stages == NULL) == (error != NULL));
		if (stages == NULL)
			continue;
		pipesim_stages_print(stages, first);
		again = pipesim_stages_parse(&model, i % 2, first->str, "x", NULL);
		g_assert(again != NULL && again->stages == stages->stages);
		pipesim_stages_print(again, second);
		g_assert(g_string_equal(first, second));
	}
	return 0;
}
