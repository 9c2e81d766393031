/* Models and devices that are shipped, for tests. */
#pragma once
#include "suites.h"
#include "transformer/cutter.h"

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

/** shipped_device: devices/NAME.ini, read once in the run of a test; not to be given back. */
static inline PipesimDevice *shipped_device(const char *name)
{
	static GHashTable *known;
	const char *top = g_getenv("TOP_SRCDIR");
	g_autofree char *file = g_strconcat(name, ".ini", NULL);
	g_autofree char *path =
		g_build_filename(top != NULL ? top : ".", "devices", file, NULL);
	PipesimDevice *device;
	GError *error = NULL;

	if (known == NULL)
		known = g_hash_table_new(g_str_hash, g_str_equal);
	device = g_hash_table_lookup(known, name);
	if (device != NULL)
		return device;
	device = pipesim_device_read(path, name, &error);
	ck_assert_msg(device != NULL, "%s", error != NULL ? error->message : "");
	g_hash_table_insert(known, device->name, device);
	return device;
}
