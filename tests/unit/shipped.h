/* Models that are shipped, for tests. */
#pragma once
#include "transformer/transformer.h"
#include <check.h>

/** read_shipped: models/NAME.ini. */
static inline PipesimTransformer *read_shipped(const char *name)
{
	const char *top = g_getenv("TOP_SRCDIR");
	g_autofree char *file = g_strconcat(name, ".ini", NULL);
	g_autofree char *path = g_build_filename(top != NULL ? top : ".", "models", file, NULL);
	GError *error = NULL;
	PipesimTransformer *model = pipesim_transformer_read(path, &error);

	ck_assert_msg(model != NULL, "%s", error != NULL ? error->message : "");
	return model;
}
