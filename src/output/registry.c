#include "output/output.h"

static const PipesimOutput *const outputs[] = {
#define OUTPUT(id) &pipesim_output_##id,
#include "output/list.h"
#undef OUTPUT
};

const char *pipesim_output_names(void)
{
	static const char names[] =
#define OUTPUT(id) ", " #id
#include "output/list.h"
#undef OUTPUT
		;

	return names + strlen(", ");
}

const PipesimOutput *pipesim_output_find(const char *name, GError **error)
{
	for (gsize i = 0; i < G_N_ELEMENTS(outputs); i++)
		if (strcmp(outputs[i]->name, name) == 0)
			return outputs[i];
	return pipesim_refuse_null(
		error, "unknown format '%s'; formats: %s", name, pipesim_output_names());
}

const PipesimOutput *pipesim_output_for_path(const char *path)
{
	const char *slash = strrchr(path, '/');
	const char *dot = strrchr(slash != NULL ? slash : path, '.');

	for (gsize i = 0; dot != NULL && i < G_N_ELEMENTS(outputs); i++)
		if (g_ascii_strcasecmp(outputs[i]->extension, dot + 1) == 0)
			return outputs[i];
	return NULL;
}
