#include "config.h"

#include "measure/calibrate-parts.h"

static gboolean wishes_split(const PipesimTraceWish *wish)
{
	return wish->compute_sms > 0 || wish->comm_sms > 0;
}

/* The share that tells splits apart: of the stream that the group ran on. */
static gint64 share(const PipesimTraceGroup *group)
{
	return group->role == PIPESIM_ROLE_COMPUTE ? group->compute_sms : group->comm_sms;
}

static gint64 wished_share(const PipesimTraceGroup *group, const PipesimTraceWish *wish)
{
	return group->role == PIPESIM_ROLE_COMPUTE ? wish->compute_sms : wish->comm_sms;
}

/* The other measurements that differ from @data in the split alone. */
static gboolean is_same_but_split(const PipesimTraceGroup *group, gconstpointer data)
{
	const PipesimTraceGroup *like = data;

	return g_str_equal(group->component, like->component) && group->phase == like->phase &&
	       group->role == like->role && group->in_pair == like->in_pair &&
	       g_str_equal(group->impl, like->impl) &&
	       g_str_equal(group->variant, like->variant) &&
	       g_str_equal(group->load_mode, like->load_mode) &&
	       g_str_equal(group->sm_mode, like->sm_mode) && group->tokens == like->tokens;
}

/* The nearest point on the other side of the wish; NULL where there is none. */
static const PipesimTraceGroup *find_opposite(
	const PipesimCalibrating *c, const PipesimTraceGroup *near)
{
	g_autoptr(GPtrArray) points = pipesim_calibrate_list(c, is_same_but_split, near);
	const gint64 wish = wished_share(near, &c->wish);
	const PipesimTraceGroup *best = NULL;

	for (guint i = 0; i < points->len; i++) {
		const PipesimTraceGroup *point = g_ptr_array_index(points, i);
		if ((share(point) < wish) == (share(near) < wish) || share(point) == wish)
			continue;
		if (best == NULL || ABS(share(point) - wish) < ABS(share(best) - wish))
			best = point;
	}
	return share(near) == wish ? NULL : best;
}

static void note_once(PipesimCalibrating *c, char *text)
{
	g_autofree char *owned = text;

	if (!g_ptr_array_find_with_equal_func(c->notices, owned, g_str_equal, NULL))
		g_ptr_array_add(c->notices, g_steal_pointer(&owned));
}

static char *split_name(const PipesimTraceGroup *group)
{
	if (group->role == PIPESIM_ROLE_PAIR)
		return g_strdup_printf("%" G_GINT64_FORMAT "+%" G_GINT64_FORMAT,
			group->compute_sms, group->comm_sms);
	return g_strdup_printf("%" G_GINT64_FORMAT, share(group));
}

static const char *name_of(const PipesimTraceGroup *group)
{
	if (group->role == PIPESIM_ROLE_PAIR)
		return "the pair";
	return group->role == PIPESIM_ROLE_COMM ? "communication alone" : "compute alone";
}

PipesimDistribution pipesim_calibrate_at_split(
	PipesimCalibrating *c, const PipesimTraceGroup *near)
{
	g_autofree char *here = split_name(near);

	if (!wishes_split(&c->wish) || pipesim_trace_split_distance(near, &c->wish) == 0)
		return near->figures;
	const gint64 wish = wished_share(near, &c->wish);
	const PipesimTraceGroup *far = find_opposite(c, near);
	if (far == NULL) {
		note_once(c, g_strdup_printf("%s was not measured at the split asked for: the "
					     "nearest, %s SMs, "
					     "is used",
				     name_of(near), here));
		return near->figures;
	}
	g_autofree char *there = split_name(far);
	note_once(c, g_strdup_printf(
			     "%s is interpolated between what was measured at %s and at %s SMs",
			     name_of(near), here, there));
	return pipesim_distribution_between(&near->figures, &far->figures,
		(double)(wish - share(near)) / (double)(share(far) - share(near)));
}

static gboolean is_pair_at_split(const PipesimTraceGroup *group, gconstpointer data)
{
	return group->role == PIPESIM_ROLE_PAIR &&
	       pipesim_trace_split_distance(group, data) == 0;
}

static gboolean is_pair(const PipesimTraceGroup *group, gconstpointer data)
{
	(void)data;
	return group->role == PIPESIM_ROLE_PAIR;
}

/* How well the pairs of a load mode meet the wish: 0 = measured there or on both sides of it,
 * else the distance of the nearest; G_MAXINT64 where there are none. */
static gint64 misfit(
	const PipesimTraceWish *wish, const GPtrArray *pairs, const char *load_mode)
{
	gboolean below = FALSE, above = FALSE;
	gint64 nearest = G_MAXINT64;

	for (guint i = 0; i < pairs->len; i++) {
		const PipesimTraceGroup *group = g_ptr_array_index(pairs, i);
		if (!g_str_equal(group->load_mode, load_mode))
			continue;
		below |= group->comm_sms <= wish->comm_sms;
		above |= group->comm_sms >= wish->comm_sms;
		nearest = MIN(nearest, pipesim_trace_split_distance(group, wish));
	}
	return below && above ? 0 : nearest;
}

void pipesim_calibrate_split_load_mode(PipesimCalibrating *c)
{
	static const char *const order[] = {"sustained", "back_to_back", "synced"};
	g_autoptr(GPtrArray) exact = pipesim_calibrate_list(c, is_pair_at_split, &c->wish);
	g_autoptr(GPtrArray) all = pipesim_calibrate_list(c, is_pair, NULL);
	const GPtrArray *pairs = exact->len > 0 ? exact : all;
	gint64 least = G_MAXINT64;

	if (!wishes_split(&c->wish) || c->wish.load_mode != NULL)
		return;
	for (guint i = 0; i < G_N_ELEMENTS(order); i++)
		if (misfit(&c->wish, pairs, order[i]) < least) {
			least = misfit(&c->wish, pairs, order[i]);
			c->wish.load_mode = order[i];
		}
	if (c->wish.load_mode != NULL && !g_str_equal(c->wish.load_mode, order[0]))
		pipesim_calibrate_note(c,
			"the pair was captured at that split %s, not sustained: all times are "
			"of "
			"that load",
			c->wish.load_mode);
}
