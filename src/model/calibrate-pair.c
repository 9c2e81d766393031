#include "config.h"

#include "model/calibrate-parts.h"

static gboolean is_pair(const PipesimTraceGroup *group, gconstpointer data)
{
	(void)data;
	return g_str_equal(group->component, "chunk") && group->phase == PIPESIM_FB &&
	       !group->in_pair;
}

/* The other measurements of the pair that differ from @data in the split alone. */
static gboolean is_same_but_split(const PipesimTraceGroup *group, gconstpointer data)
{
	const PipesimTraceGroup *like = data;

	return is_pair(group, NULL) && g_str_equal(group->impl, like->impl) &&
	       g_str_equal(group->load_mode, like->load_mode) &&
	       g_str_equal(group->sm_mode, like->sm_mode) && group->tokens == like->tokens;
}

static gboolean wishes_split(const PipesimCalibrating *c)
{
	return c->wish.compute_sms > 0 || c->wish.comm_sms > 0;
}

/* The nearest point on the other side of the wished communication share. */
static const PipesimTraceGroup *find_opposite(
	const PipesimCalibrating *c, const PipesimTraceGroup *near)
{
	g_autoptr(GPtrArray) points = pipesim_calibrate_list(c, is_same_but_split, near);
	const PipesimTraceGroup *best = NULL;

	for (guint i = 0; i < points->len; i++) {
		const PipesimTraceGroup *point = g_ptr_array_index(points, i);
		if ((point->comm_sms < c->wish.comm_sms) ==
				(near->comm_sms < c->wish.comm_sms) ||
			point->comm_sms == c->wish.comm_sms)
			continue;
		if (best == NULL || pipesim_trace_split_distance(point, &c->wish) <
					    pipesim_trace_split_distance(best, &c->wish))
			best = point;
	}
	return near->comm_sms == c->wish.comm_sms ? NULL : best;
}

/* The figures at the wished split: measured, interpolated, or of the nearest point. */
static PipesimDistribution figures_at_split(
	PipesimCalibrating *c, const PipesimTraceGroup *near)
{
	if (!wishes_split(c) || pipesim_trace_split_distance(near, &c->wish) == 0)
		return near->figures;
	const PipesimTraceGroup *far = find_opposite(c, near);
	if (far == NULL) {
		pipesim_calibrate_note(c,
			"the pair was not measured at %" G_GINT64_FORMAT "+%" G_GINT64_FORMAT
			" SMs: the nearest split, %" G_GINT64_FORMAT "+%" G_GINT64_FORMAT
			", is used",
			c->wish.compute_sms, c->wish.comm_sms, near->compute_sms,
			near->comm_sms);
		return near->figures;
	}
	pipesim_calibrate_note(c,
		"the pair at %" G_GINT64_FORMAT "+%" G_GINT64_FORMAT
		" SMs is interpolated between %" G_GINT64_FORMAT "+%" G_GINT64_FORMAT
		" and %" G_GINT64_FORMAT "+%" G_GINT64_FORMAT,
		c->wish.compute_sms, c->wish.comm_sms, near->compute_sms, near->comm_sms,
		far->compute_sms, far->comm_sms);
	return pipesim_distribution_between(&near->figures, &far->figures,
		(double)(c->wish.comm_sms - near->comm_sms) /
			(double)(far->comm_sms - near->comm_sms));
}

/* What ran inside the same sort of pair as @data. */
static gboolean is_inside(const PipesimTraceGroup *group, gconstpointer data)
{
	const PipesimTraceGroup *pair = data;

	return group->in_pair && g_str_equal(group->load_mode, pair->load_mode) &&
	       g_str_equal(group->sm_mode, pair->sm_mode) &&
	       group->compute_sms == pair->compute_sms && group->comm_sms == pair->comm_sms &&
	       group->tokens == pair->tokens;
}

static PipesimComponent *find_recorded(
	const PipesimCalibrating *c, const PipesimTraceGroup *group)
{
	for (guint i = 0; i < c->costs->components->len; i++) {
		PipesimComponent *component = g_ptr_array_index(c->costs->components, i);
		if (g_str_equal(component->component, group->component) &&
			g_str_equal(component->phase, pipesim_phase_name(group->phase)))
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

/* A stream of the pair from its first start to its last end, against its components alone. */
static void record_half(PipesimCalibrating *c, const PipesimTraceGroup *half)
{
	const gint64 alone = time_alone(c, half->role);
	PipesimComponent *component = pipesim_calibrate_record(c, half, &half->figures);

	g_free(component->component);
	component->component =
		g_strdup(half->role == PIPESIM_ROLE_COMM ? "chunk-comm" : "chunk-compute");
	if (alone > 0)
		component->in_pair = (double)half->figures.median / (double)alone;
}

/* Slowdown of what ran inside the pair: same component and phase alone = 1. */
static void record_interference(PipesimCalibrating *c, const PipesimTraceGroup *pair)
{
	g_autoptr(GPtrArray) inside = pipesim_calibrate_list(c, is_inside, pair);

	for (guint i = 0; i < inside->len; i++) {
		const PipesimTraceGroup *group = g_ptr_array_index(inside, i);
		PipesimComponent *alone = find_recorded(c, group);
		if (g_str_equal(group->component, "chunk"))
			record_half(c, group);
		else if (alone != NULL && alone->median > 0 &&
			 !g_ptr_array_find(c->chosen, group, NULL))
			alone->in_pair = (double)group->figures.median / (double)alone->median;
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
	const PipesimDistribution figures = figures_at_split(c, pair);
	pipesim_calibrate_record(c, pair, &figures);
	c->costs->time[PIPESIM_FB] = pipesim_calibrate_time(c, pair, figures.median);
	c->costs->has_pair = TRUE;
	record_interference(c, pair);
	return TRUE;
}
