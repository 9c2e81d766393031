#include "config.h"

#include "measure/calibrate-parts.h"

#include <string.h>

static gboolean is_pair(const PipesimTraceGroup *group, gconstpointer data)
{
	(void)data;
	return g_str_equal(group->component, "chunk") && group->phase == PIPESIM_FB &&
	       !group->in_pair;
}

static gboolean same_pace(const char *a, const char *b)
{
	return g_strcmp0(strstr(a, "pace_gbps="), strstr(b, "pace_gbps=")) == 0;
}

/* What ran inside the same sort of pair as @data. */
static gboolean is_inside(const PipesimTraceGroup *group, gconstpointer data)
{
	const PipesimTraceGroup *pair = data;

	return group->in_pair && g_str_equal(group->load_mode, pair->load_mode) &&
	       g_str_equal(group->sm_mode, pair->sm_mode) &&
	       group->compute_sms == pair->compute_sms && group->comm_sms == pair->comm_sms &&
	       group->tokens == pair->tokens && same_pace(group->variant, pair->variant);
}

/* The same work, done the same way. */
static PipesimComponent *find_recorded(
	const PipesimCalibrating *c, const PipesimTraceGroup *group)
{
	g_autofree char *label = pipesim_trace_group_label(group);

	for (guint i = 0; i < c->costs->components->len; i++) {
		PipesimComponent *component = g_ptr_array_index(c->costs->components, i);
		if (g_str_equal(component->component, group->component) &&
			g_str_equal(component->phase, pipesim_phase_name(group->phase)) &&
			g_str_equal(component->impl, label))
			return component;
	}
	return NULL;
}

/* Sum of the isolated medians of a stream's components, per layer. */
static gint64 time_alone(const PipesimCalibrating *c, guint8 role)
{
	gint64 sum = 0;

	for (guint i = 0; i < c->chosen->len; i++) {
		const PipesimTraceGroup *group = g_ptr_array_index(c->chosen, i);
		if (group->role == role && !group->in_pair)
			sum += group->figures.median;
	}
	return sum;
}

/* A stream of the pair from its first start to its last end. */
static void record_half(PipesimCalibrating *c, const PipesimTraceGroup *half)
{
	const gint64 alone = time_alone(c, half->role);
	PipesimComponent *component = pipesim_calibrate_record(c, half, &half->figures);

	g_free(component->component);
	component->component =
		g_strdup(half->role == PIPESIM_ROLE_COMM ? "chunk-comm" : "chunk-compute");
	/* The communication stream mostly waits for compute: its span tells no slowdown. */
	if (alone > 0 && half->role == PIPESIM_ROLE_COMPUTE)
		component->in_pair = (double)half->figures.median / (double)alone;
}

/* Whether the pair, "a+b+c", names @half at its beginning or end. */
static gboolean is_named(const PipesimTraceGroup *half, const PipesimTraceGroup *pair)
{
	g_autofree char *first = g_strconcat(half->impl, "+", NULL);
	g_autofree char *last = g_strconcat("+", half->impl, NULL);

	return g_str_has_prefix(pair->impl, first) || g_str_has_suffix(pair->impl, last);
}

/* Where captures with several implementations are taken together, the half of this pair. */
static const PipesimTraceGroup *find_half(
	const GPtrArray *inside, guint8 role, const PipesimTraceGroup *pair)
{
	const PipesimTraceGroup *found = NULL;

	for (guint i = 0; i < inside->len; i++) {
		const PipesimTraceGroup *group = g_ptr_array_index(inside, i);
		if (group->role != role || !g_str_equal(group->component, "chunk"))
			continue;
		if (is_named(group, pair))
			return group;
		if (found == NULL)
			found = group;
	}
	return found;
}

/* Slowdown of what ran inside the pair: same component and phase alone = 1. */
static void record_interference(PipesimCalibrating *c, const PipesimTraceGroup *pair)
{
	g_autoptr(GPtrArray) inside = pipesim_calibrate_list(c, is_inside, pair);
	const guint8 roles[] = {PIPESIM_ROLE_COMPUTE, PIPESIM_ROLE_COMM};

	for (guint r = 0; r < G_N_ELEMENTS(roles); r++) {
		const PipesimTraceGroup *half = find_half(inside, roles[r], pair);
		if (half != NULL)
			record_half(c, half);
	}
	for (guint i = 0; i < inside->len; i++) {
		const PipesimTraceGroup *group = g_ptr_array_index(inside, i);
		PipesimComponent *alone = find_recorded(c, group);
		if (!g_str_equal(group->component, "chunk") && alone != NULL &&
			alone->figures.median > 0 && !g_ptr_array_find(c->chosen, group, NULL))
			alone->in_pair =
				(double)group->figures.median / (double)alone->figures.median;
	}
}

gboolean pipesim_calibrate_pair(PipesimCalibrating *c, GError **error)
{
	g_autoptr(GPtrArray) groups = pipesim_calibrate_list(c, is_pair, NULL);

	if (groups->len == 0) {
		pipesim_calibrate_note(
			c, "no overlapped pair (chunk FB) was measured: FB = F + B");
		return TRUE;
	}
	if (!pipesim_trace_select(groups, &c->wish, c->notices, error))
		return FALSE;
	const PipesimTraceGroup *pair = g_ptr_array_index(groups, 0);
	const PipesimDistribution figures = pipesim_calibrate_at_split(c, pair);
	pipesim_calibrate_record(c, pair, &figures);
	c->costs->time[PIPESIM_FB] = pipesim_calibrate_time(c, pair, figures.median);
	c->costs->has_pair = TRUE;
	record_interference(c, pair);
	return TRUE;
}
