#include "config.h"

#include "measure/calibrate-parts.h"

#include <string.h>

/* What a layer cannot do without, in the order of its forward. */
typedef struct {
	const char *name, *phases;
	gboolean experts; /* only where the model has experts */
} Needed;

static const Needed needed[] = {
	{"attn", "FIW", FALSE},
	{"dispatch", "FI", TRUE},
	{"mlp", "FIW", FALSE},
	{"combine", "FI", TRUE},
};

static gboolean is_chunk(const PipesimTraceGroup *group)
{
	return g_str_equal(group->component, "chunk");
}

static gboolean is_alone(const PipesimTraceGroup *group, gconstpointer component)
{
	return g_str_equal(group->component, component) && group->phase != PIPESIM_FB &&
	       !group->in_pair;
}

static gboolean is_inside_pair(const PipesimTraceGroup *group, gconstpointer component)
{
	return g_str_equal(group->component, component) && group->phase != PIPESIM_FB &&
	       group->in_pair;
}

/* Letters of the phases chosen for @component: "FIW". */
static char *phases_of(const PipesimCalibrating *c, const char *component)
{
	GString *phases = g_string_new(NULL);

	for (guint i = 0; i < c->chosen->len; i++) {
		const PipesimTraceGroup *group = g_ptr_array_index(c->chosen, i);
		if (g_str_equal(group->component, component))
			g_string_append(phases, pipesim_phase_name(group->phase));
	}
	return g_string_free(phases, FALSE);
}

static gboolean has_experts(const PipesimCalibrating *c)
{
	for (guint t = 0; t < c->n_traces; t++)
		if (pipesim_trace_get_count(c->traces[t], "experts_local") > 0)
			return TRUE;
	for (guint i = 0; i < c->groups->len; i++) {
		const PipesimTraceGroup *group = g_ptr_array_index(c->groups, i);
		if (g_str_equal(group->component, "dispatch") ||
			g_str_equal(group->component, "combine"))
			return TRUE;
	}
	return FALSE;
}

static gboolean fail_missing(
	const PipesimCalibrating *c, const char *missing, const char *rule, GError **error)
{
	return pipesim_fail_at(error, c->traces[0]->path, 1, 1,
		"not measured: %s; %s; capture it, or add a trace that has it", missing, rule);
}

/* Full layers: every phase of every needed component, or B for both backward phases. */
static gboolean check_layer(const PipesimCalibrating *c, GError **error)
{
	const gboolean experts = has_experts(c);
	g_autoptr(GString) missing = g_string_new(NULL);

	for (guint i = 0; i < G_N_ELEMENTS(needed); i++) {
		g_autofree char *have = phases_of(c, needed[i].name);
		if (needed[i].experts && !experts)
			continue;
		for (const char *phase = needed[i].phases; *phase != '\0'; phase++)
			if (strchr(have, *phase) == NULL &&
				(*phase == 'F' || strchr(have, 'B') == NULL))
				g_string_append_printf(missing, "%s%s %c",
					missing->len > 0 ? ", " : "", needed[i].name, *phase);
	}
	if (missing->len > 0)
		return fail_missing(c, missing->str,
			experts ? "a layer with experts needs attn and mlp F, I, W and "
				  "dispatch and combine F, I"
				: "a dense layer needs attn and mlp F, I, W",
			error);
	return TRUE;
}

/* Anything else: some forward and some backward. */
static gboolean check_any(const PipesimCalibrating *c, GError **error)
{
	gboolean forward = FALSE, backward = FALSE;

	for (guint i = 0; i < c->chosen->len; i++) {
		const PipesimTraceGroup *group = g_ptr_array_index(c->chosen, i);
		forward |= group->phase == PIPESIM_F;
		backward |= group->phase == PIPESIM_I || group->phase == PIPESIM_B;
	}
	if (!forward)
		return fail_missing(
			c, "any forward (F)", "a rank needs F, and I and W or B", error);
	return backward || fail_missing(c, "any backward (I or B)",
				   "a rank needs F, and I and W or B", error);
}

static gint compare_phases(gconstpointer a, gconstpointer b)
{
	const PipesimTraceGroup *x = *(PipesimTraceGroup *const *)a;
	const PipesimTraceGroup *y = *(PipesimTraceGroup *const *)b;

	return x->phase != y->phase ? (gint)x->phase - (gint)y->phase
				    : strcmp(x->chunk, y->chunk);
}

/* @inside collects the names of what was measured only beside the other half of a pair. */
static gboolean choose_component(
	PipesimCalibrating *c, const char *component, GString *inside, GError **error)
{
	g_autoptr(GPtrArray) groups = pipesim_calibrate_list(c, is_alone, component);

	if (groups->len == 0) {
		g_clear_pointer(&groups, g_ptr_array_unref);
		groups = pipesim_calibrate_list(c, is_inside_pair, component);
		if (groups->len > 0)
			g_string_append_printf(
				inside, "%s%s", inside->len > 0 ? ", " : "", component);
	}
	if (!pipesim_trace_select(groups, &c->wish, c->notices, error))
		return FALSE;
	g_ptr_array_sort(groups, compare_phases);
	for (guint i = 0; i < groups->len; i++) {
		PipesimTraceGroup *group = g_ptr_array_index(groups, i);
		group->figures = pipesim_calibrate_at_split(c, group);
		g_ptr_array_add(c->chosen, group);
	}
	return TRUE;
}

static gboolean choose_all(PipesimCalibrating *c, const GPtrArray *names, GError **error)
{
	g_autoptr(GString) inside = g_string_new(NULL);

	for (guint i = 0; i < names->len; i++)
		if (!choose_component(c, names->pdata[i], inside, error))
			return FALSE;
	if (inside->len > 0)
		pipesim_calibrate_note(c,
			"measured only inside an overlapped pair: %s; F, I and W include the "
			"interference",
			inside->str);
	return TRUE;
}

static gboolean was_measured(const PipesimCalibrating *c, const char *component)
{
	for (guint i = 0; i < c->groups->len; i++) {
		const PipesimTraceGroup *group = g_ptr_array_index(c->groups, i);
		if (group->measured && g_str_equal(group->component, component))
			return TRUE;
	}
	return FALSE;
}

/* Distinct names: those of a layer, then others as they appear; not those that have steps of
 * their own. */
static GPtrArray *list_names(const PipesimCalibrating *c)
{
	GPtrArray *names = g_ptr_array_new();

	for (guint i = 0; i < G_N_ELEMENTS(needed); i++)
		if (was_measured(c, needed[i].name))
			g_ptr_array_add(names, (gpointer)needed[i].name);
	for (guint i = 0; i < c->groups->len; i++) {
		const PipesimTraceGroup *group = g_ptr_array_index(c->groups, i);
		if (is_chunk(group) || g_str_equal(group->component, "p2p"))
			continue;
		if (!g_ptr_array_find_with_equal_func(
			    names, group->component, g_str_equal, NULL))
			g_ptr_array_add(names, (gpointer)group->component);
	}
	return names;
}

static gboolean has_needed(const GPtrArray *names)
{
	for (guint i = 0; i < G_N_ELEMENTS(needed); i++)
		for (guint j = 0; j < names->len; j++)
			if (g_str_equal(names->pdata[j], needed[i].name))
				return TRUE;
	return FALSE;
}

static void note_others(PipesimCalibrating *c, const GPtrArray *names)
{
	for (guint i = 0; i < names->len; i++) {
		gboolean known = FALSE;
		for (guint j = 0; j < G_N_ELEMENTS(needed); j++)
			known |= g_str_equal(names->pdata[i], needed[j].name);
		if (!known)
			pipesim_calibrate_note(c, "%s is counted too", (char *)names->pdata[i]);
	}
}

gboolean pipesim_calibrate_components(PipesimCalibrating *c, GError **error)
{
	g_autoptr(GPtrArray) names = list_names(c);
	g_autoptr(GPtrArray) chunk = g_ptr_array_new();

	g_ptr_array_add(chunk, (gpointer) "chunk");
	if (!choose_all(c, chunk, error))
		return FALSE;
	if (c->chosen->len > 0) {
		if (names->len > 0)
			pipesim_calibrate_note(
				c, "whole chunks were measured: F, I, W and B are theirs");
		return check_any(c, error);
	}
	if (!choose_all(c, names, error))
		return FALSE;
	if (!has_needed(names))
		return check_any(c, error);
	note_others(c, names);
	return check_layer(c, error);
}
