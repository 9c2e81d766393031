#include "config.h"

#include "model/costs-file.h"
#include "model/costs-keys.h"

static void set_int(GKeyFile *file, const char *group, const char *key, gint64 value)
{
	g_key_file_set_int64(file, group, key, value);
}

static void set_double(GKeyFile *file, const char *group, const char *key, double value)
{
	PipesimNumber text;

	g_key_file_set_value(file, group, key, pipesim_print_double(text, value));
}

static void set_key(
	GKeyFile *file, const char *group, const PipesimKey *key, gconstpointer from)
{
	const char *text;

	switch (key->kind) {
	case PIPESIM_KEY_INT64:
		set_int(file, group, key->name,
			G_STRUCT_MEMBER(const gint64, from, key->offset));
		break;
	case PIPESIM_KEY_GUINT:
		set_int(file, group, key->name,
			G_STRUCT_MEMBER(const guint, from, key->offset));
		break;
	case PIPESIM_KEY_DOUBLE:
		set_double(file, group, key->name,
			G_STRUCT_MEMBER(const double, from, key->offset));
		break;
	case PIPESIM_KEY_TEXT:
		text = G_STRUCT_MEMBER(char *const, from, key->offset);
		if (text != NULL)
			g_key_file_set_string(file, group, key->name, text);
		break;
	}
}

static void set_quantiles(GKeyFile *file, const char *group, const gint64 *quantile)
{
	g_autoptr(GString) list = g_string_new(NULL);

	for (guint i = 0; i < PIPESIM_QUANTILES; i++)
		g_string_append_printf(
			list, "%s%" G_GINT64_FORMAT, i > 0 ? ";" : "", quantile[i]);
	g_key_file_set_value(file, group, "quantiles_ns", list->str);
}

static void set_components(GKeyFile *file, const GPtrArray *components)
{
	for (guint i = 0; i < components->len; i++) {
		const PipesimComponent *component = g_ptr_array_index(components, i);
		g_autofree char *group = g_strdup_printf(PIPESIM_COMPONENT_PREFIX "%u", i + 1);

		for (const PipesimKey *key = pipesim_component_keys; key->name != NULL; key++)
			set_key(file, group, key, component);
		set_quantiles(file, group, component->quantile);
	}
}

static void set_scale(GKeyFile *file, const PipesimCosts *costs)
{
	set_int(file, PIPESIM_SCALE_GROUP, "parts", costs->n_scale);
	for (guint i = 0; i < costs->n_scale; i++) {
		g_autofree char *part = g_strdup_printf("%u", i);
		g_autofree char *value =
			g_strdup_printf("%" G_GINT64_FORMAT "/%" G_GINT64_FORMAT,
				costs->scale[i].num, costs->scale[i].den);

		g_key_file_set_value(file, PIPESIM_SCALE_GROUP, part, value);
	}
}

static void set_ranks(GKeyFile *file, const PipesimCosts *costs)
{
	g_autoptr(GString) list = g_string_new(NULL);

	for (guint i = 0; i < costs->n_measured_ranks; i++)
		g_string_append_printf(list, "%s%" G_GINT64_FORMAT, i > 0 ? ";" : "",
			costs->measured_ranks[i]);
	g_key_file_set_value(file, PIPESIM_RANKS_GROUP, "relative_ppm", list->str);
}

void pipesim_costs_write(const PipesimCosts *costs, GString *out)
{
	g_autoptr(GKeyFile) file = g_key_file_new();
	g_autofree char *text = NULL;

	set_int(file, PIPESIM_COSTS_GROUP, "version", 1);
	for (const PipesimKey *key = pipesim_costs_keys; key->name != NULL; key++)
		/* Without a pair FB follows F and B, when they are edited too. */
		if (costs->has_pair || !g_str_equal(key->name, "FB"))
			set_key(file, key->group, key, costs);
	if (costs->scale != NULL)
		set_scale(file, costs);
	if (costs->measured_ranks != NULL)
		set_ranks(file, costs);
	if (costs->components != NULL)
		set_components(file, costs->components);
	text = g_key_file_to_data(file, NULL, NULL);
	g_string_append(out, text);
}
