#include "trace-text.h"

#include "measure/reader.h"

#include <stdio.h>
#include <string.h>

PipesimTrace *trace_of(const char *text)
{
	g_autoptr(GError) error = NULL;
	PipesimTrace *trace = pipesim_trace_read(
		pipesim_input_new_memory("x.csv", text, strlen(text)), NULL, &error);

	ck_assert_msg(trace != NULL, "%s", error != NULL ? error->message : "");
	return trace;
}

char *trace_refused(const char *text)
{
	g_autoptr(GError) error = NULL;
	g_autoptr(PipesimTrace) trace = pipesim_trace_read(
		pipesim_input_new_memory("x.csv", text, strlen(text)), NULL, &error);

	ck_assert_ptr_null(trace);
	ck_assert(g_error_matches(error, PIPESIM_ERROR, PIPESIM_ERROR_PARSE));
	return g_strdup(error->message);
}

char *trace_layer(const char *extra)
{
	static const char *const components[] = {"attn", "mlp"};
	static const char *const phases[] = {"F", "I", "W"};
	GString *text = g_string_new(TRACE_TOP TRACE_COLUMNS);

	for (guint c = 0; c < 2; c++)
		for (guint p = 0; p < 3; p++)
			for (guint rep = 0; rep < 3; rep++)
				g_string_append_printf(text,
					"r,%u,%s,%s,compute,own,sustained,%u,ok\n", rep,
					components[c], phases[p], 100 * (1 + 3 * c + p) + rep);
	g_string_append(text, extra);
	return g_string_free(text, FALSE);
}

PipesimCalibration *trace_calibrate(
	const char *text, const PipesimCalibrateOptions *options, GError **error)
{
	g_autoptr(PipesimTrace) trace = trace_of(text);
	PipesimCalibrateOptions none = {0};

	return pipesim_calibrate(&trace, 1, options != NULL ? options : &none, error);
}

gboolean trace_has_notice(const GPtrArray *notices, const char *text)
{
	for (guint i = 0; i < notices->len; i++)
		if (strstr(g_ptr_array_index(notices, i), text) != NULL)
			return TRUE;
	return FALSE;
}

char *shared_file(const char *name)
{
	const char *folder = g_getenv("PIPESIM_SHARED");
	g_autofree char *path =
		g_build_filename(folder != NULL ? folder : "../shared", "traces", name, NULL);

	if (g_file_test(path, G_FILE_TEST_EXISTS))
		return g_steal_pointer(&path);
	printf("SKIP: %s is not here\n", path);
	return NULL;
}
