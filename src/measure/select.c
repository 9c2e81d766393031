#include "config.h"

#include "measure/select.h"

#include <string.h>

/* One property in which groups may differ. */
typedef struct {
	const char *name; /* for notices; NULL = choose silently */
	/* Its value as text: equal texts are equal values. */
	char *(*value)(const PipesimTraceGroup *group);
	/* How unwelcome this value is: the smallest sum over phases wins. */
	double (*penalty)(const PipesimTraceGroup *group, const PipesimTraceWish *wish);
	/* The value that must be taken, or what stands before its slash; NULL = any. */
	const char *(*wished)(const PipesimTraceGroup *group, const PipesimTraceWish *wish);
	gboolean per_phase; /* phases may have different values */
	/* A phase that lacks the value of the others keeps what it has: an attention block's
	 * weight gradients contain no attention kernel, and so no choice of one. */
	gboolean may_differ;
} Property;

static char *load_mode_value(const PipesimTraceGroup *group)
{
	return g_strdup(group->what.load_mode);
}

static double load_mode_penalty(const PipesimTraceGroup *group, const PipesimTraceWish *wish)
{
	static const char *const order[] = {"sustained", "back_to_back", "", "synced"};

	(void)wish;
	for (guint i = 0; i < G_N_ELEMENTS(order); i++)
		if (g_str_equal(group->what.load_mode, order[i]))
			return i;
	return G_N_ELEMENTS(order);
}

static const char *load_mode_wished(
	const PipesimTraceGroup *group, const PipesimTraceWish *wish)
{
	(void)group;
	return wish->load_mode;
}

static char *split_value(const PipesimTraceGroup *group)
{
	return g_strdup_printf("%s %" G_GINT64_FORMAT "+%" G_GINT64_FORMAT, group->what.sm_mode,
		group->what.compute_sms, group->what.comm_sms);
}

static gboolean whole_chip(const PipesimTraceGroup *group)
{
	return group->what.sm_mode[0] == '\0' || g_str_equal(group->what.sm_mode, "none");
}

static gint64 split_distance(const PipesimTraceGroup *group, const PipesimTraceWish *wish)
{
	const gint64 compute = wish->compute_sms - group->what.compute_sms;
	const gint64 comm = wish->comm_sms - group->what.comm_sms;

	if (group->what.in_pair || group->what.role == PIPESIM_ROLE_PAIR)
		return ABS(compute) + ABS(comm);
	return group->what.role == PIPESIM_ROLE_COMM ? ABS(comm) : ABS(compute);
}

static gboolean wishes_split(const PipesimTraceWish *wish)
{
	return wish->compute_sms > 0 || wish->comm_sms > 0;
}

static double split_penalty(const PipesimTraceGroup *group, const PipesimTraceWish *wish)
{
	const gboolean pair = group->what.role == PIPESIM_ROLE_PAIR;

	/* Of several ways of sharing at the same distance the fastest: a fraction of an SM. */
	if (wishes_split(wish))
		return (double)split_distance(group, wish) +
		       (pair ? (double)group->figures.median * 1e-15 : 0);
	/* A pair without a wish: the split that is fastest. */
	if (pair)
		return (double)group->figures.median;
	return whole_chip(group)
		       ? 0
		       : 1e6 - (double)(group->what.compute_sms + group->what.comm_sms);
}

static char *tokens_value(const PipesimTraceGroup *group)
{
	return g_strdup_printf("%" G_GINT64_FORMAT, group->what.tokens);
}

static double tokens_penalty(const PipesimTraceGroup *group, const PipesimTraceWish *wish)
{
	return group->what.tokens == wish->tokens ? 0 : 1e18 - (double)group->what.tokens;
}

static char *impl_value(const PipesimTraceGroup *group)
{
	return g_strdup(group->what.impl);
}

static char *variant_value(const PipesimTraceGroup *group)
{
	return g_strdup(group->what.variant[0] != '\0' ? group->what.variant : "default");
}

static double median_penalty(const PipesimTraceGroup *group, const PipesimTraceWish *wish)
{
	(void)wish;
	return (double)group->figures.median;
}

static const char *impl_wished(const PipesimTraceGroup *group, const PipesimTraceWish *wish)
{
	return wish->impl != NULL ? g_hash_table_lookup(wish->impl, group->what.component)
				  : NULL;
}

static const Property properties[] = {
	{NULL, load_mode_value, load_mode_penalty, load_mode_wished, FALSE, FALSE},
	{"SM budgets", split_value, split_penalty, NULL, FALSE, FALSE},
	{"numbers of tokens", tokens_value, tokens_penalty, NULL, FALSE, FALSE},
	{"implementations", impl_value, median_penalty, impl_wished, FALSE, TRUE},
	{"implementations", impl_value, median_penalty, NULL, TRUE, FALSE},
	{"settings", variant_value, median_penalty, NULL, TRUE, FALSE},
};

/* One value of a property, over the groups that have it. */
typedef struct {
	char *text;
	guint phases;                     /* bit set */
	double penalty[PIPESIM_N_PHASES]; /* the least of each phase */
} Candidate;

static double total_penalty(const Candidate *candidate)
{
	double sum = 0;

	for (guint i = 0; i < PIPESIM_N_PHASES; i++)
		sum += candidate->phases & 1u << i ? candidate->penalty[i] : 0;
	return sum;
}

static void candidate_clear(gpointer data)
{
	g_free(((Candidate *)data)->text);
}

/* All phases at once, or one of them. */
#define ALL_PHASES G_MAXUINT

static gboolean concerns(const PipesimTraceGroup *group, guint phase)
{
	return phase == ALL_PHASES || group->what.phase == phase;
}

static Candidate *add_candidate(GArray *list, const char *text)
{
	for (guint i = 0; i < list->len; i++)
		if (g_str_equal(g_array_index(list, Candidate, i).text, text))
			return &g_array_index(list, Candidate, i);
	g_array_append_val(list, ((Candidate){.text = g_strdup(text)}));
	return &g_array_index(list, Candidate, list->len - 1);
}

static GArray *list_candidates(const GPtrArray *groups, const Property *property, guint phase,
	const PipesimTraceWish *wish)
{
	GArray *list = g_array_new(FALSE, FALSE, sizeof(Candidate));

	g_array_set_clear_func(list, candidate_clear);
	for (guint i = 0; i < groups->len; i++) {
		const PipesimTraceGroup *group = g_ptr_array_index(groups, i);
		if (!concerns(group, phase))
			continue;
		g_autofree char *text = property->value(group);
		Candidate *found = add_candidate(list, text);
		const double penalty = property->penalty(group, wish);
		double *least = &found->penalty[group->what.phase];
		*least = found->phases & 1u << group->what.phase ? MIN(*least, penalty)
								 : penalty;
		found->phases |= 1u << group->what.phase;
	}
	return list;
}

/* Whether @a is to be preferred to @b. */
static gboolean better(const Candidate *a, const Candidate *b)
{
	const guint a_phases = (guint)__builtin_popcount(a->phases);
	const guint b_phases = (guint)__builtin_popcount(b->phases);

	if (a_phases != b_phases)
		return a_phases > b_phases;
	const double x = total_penalty(a), y = total_penalty(b);
	if (x < y || x > y)
		return x < y;
	return g_strcmp0(a->text, b->text) < 0;
}

static gboolean matches(const char *text, const char *wished)
{
	const gsize length = strlen(wished);

	return strncmp(text, wished, length) == 0 &&
	       (text[length] == '\0' || text[length] == '/');
}

static const Candidate *find_best(const GArray *list, const char *wished)
{
	const Candidate *best = NULL;

	for (guint i = 0; i < list->len; i++) {
		const Candidate *candidate = &g_array_index(list, Candidate, i);
		if (wished != NULL && !matches(candidate->text, wished))
			continue;
		if (best == NULL || better(candidate, best))
			best = candidate;
	}
	return best;
}

#define MAX_LISTED 8
static char *list_texts(const GArray *list)
{
	GString *text = g_string_new(NULL);

	for (guint i = 0; i < list->len && i < MAX_LISTED; i++)
		g_string_append_printf(text, "%s'%s'", i > 0 ? ", " : "",
			g_array_index(list, Candidate, i).text);
	if (list->len > MAX_LISTED)
		g_string_append_printf(text, " and %u more", list->len - MAX_LISTED);
	return g_string_free(text, FALSE);
}

/* Drops other values; where phases may differ, only of phases that have @best. */
static void keep_value(
	GPtrArray *groups, const Property *property, guint phase, const Candidate *best)
{
	for (guint i = groups->len; i-- > 0;) {
		const PipesimTraceGroup *group = g_ptr_array_index(groups, i);
		g_autofree char *value = property->value(group);
		const gboolean spared =
			property->may_differ && (best->phases & 1u << group->what.phase) == 0;
		if (concerns(group, phase) && !spared && !g_str_equal(value, best->text))
			g_ptr_array_remove_index(groups, i);
	}
}

/* Whether @best was taken instead of another value for the same phase. */
static gboolean had_choice(const GArray *list, const Candidate *best)
{
	for (guint i = 0; i < list->len; i++) {
		const Candidate *other = &g_array_index(list, Candidate, i);
		if (other != best && (other->phases & best->phases) != 0)
			return TRUE;
	}
	return FALSE;
}

/* Whether another value lies as near to the wished split. */
static gboolean was_as_near(const GArray *list, const Candidate *best)
{
	for (guint i = 0; i < list->len; i++) {
		const Candidate *other = &g_array_index(list, Candidate, i);
		if (other != best && other->phases == best->phases &&
			total_penalty(other) - total_penalty(best) < 0.5)
			return TRUE;
	}
	return FALSE;
}

static gboolean choose(GPtrArray *groups, const Property *property, guint phase,
	const PipesimTraceWish *wish, GPtrArray *notices, GError **error)
{
	const PipesimTraceGroup *first = g_ptr_array_index(groups, 0);
	const char *wished = property->wished != NULL ? property->wished(first, wish) : NULL;
	g_autoptr(GArray) list = list_candidates(groups, property, phase, wish);
	g_autofree char *all = list_texts(list);

	if (list->len == 0)
		return TRUE;
	const Candidate *best = find_best(list, wished);
	if (best == NULL)
		return pipesim_fail(error, PIPESIM_ERROR_USAGE,
			"%s was not measured as '%s'; there is %s", first->what.component,
			wished, all);
	if (property->name != NULL && wished == NULL && had_choice(list, best) &&
		!(property->value == split_value && wishes_split(wish)))
		pipesim_notice(notices, "%s%s%s: several %s were measured (%s); '%s' is used",
			first->what.component, property->per_phase ? " " : "",
			property->per_phase ? pipesim_phase_name(phase) : "", property->name,
			all, best->text);
	if (property->value == split_value && wishes_split(wish) &&
		first->what.role == PIPESIM_ROLE_PAIR && was_as_near(list, best))
		pipesim_notice(notices,
			"%s: '%s' is used, the fastest of several ways of sharing SMs that are "
			"as near to the split asked for",
			first->what.component, best->text);
	keep_value(groups, property, phase, best);
	return TRUE;
}

gboolean pipesim_trace_select(
	GPtrArray *groups, const PipesimTraceWish *wish, GPtrArray *notices, GError **error)
{
	for (guint i = 0; i < G_N_ELEMENTS(properties); i++) {
		const guint first = properties[i].per_phase ? 0 : ALL_PHASES;
		const guint last = properties[i].per_phase ? PIPESIM_N_PHASES - 1 : ALL_PHASES;
		for (guint phase = first; groups->len > 0; phase++) {
			if (!choose(groups, &properties[i], phase, wish, notices, error))
				return FALSE;
			if (phase == last)
				break;
		}
	}
	return TRUE;
}

/* Between splits ----------------------------------------------------------------------------- */

/* The share that tells splits apart: of the stream that the group ran on. */
static gint64 share(const PipesimTraceGroup *group)
{
	return group->what.role == PIPESIM_ROLE_COMPUTE ? group->what.compute_sms
							: group->what.comm_sms;
}

static gint64 wished_share(const PipesimTraceGroup *group, const PipesimTraceWish *wish)
{
	return group->what.role == PIPESIM_ROLE_COMPUTE ? wish->compute_sms : wish->comm_sms;
}

/* The other measurements that differ from @data in the split alone. */
static gboolean is_same_but_split(const PipesimTraceGroup *group, gconstpointer data)
{
	const PipesimTraceGroup *like = data;

	return g_str_equal(group->what.component, like->what.component) &&
	       group->what.phase == like->what.phase && group->what.role == like->what.role &&
	       group->what.in_pair == like->what.in_pair &&
	       g_str_equal(group->what.impl, like->what.impl) &&
	       g_str_equal(group->what.variant, like->what.variant) &&
	       g_str_equal(group->what.load_mode, like->what.load_mode) &&
	       g_str_equal(group->what.sm_mode, like->what.sm_mode) &&
	       group->what.tokens == like->what.tokens;
}

/* The nearest point on the other side of the wish; NULL where there is none. */
static const PipesimTraceGroup *find_opposite(
	const GPtrArray *groups, const PipesimTraceGroup *near, const PipesimTraceWish *wish)
{
	g_autoptr(GPtrArray) points =
		pipesim_trace_groups_list(groups, is_same_but_split, near);
	const gint64 wished = wished_share(near, wish);
	const PipesimTraceGroup *best = NULL;

	for (guint i = 0; i < points->len; i++) {
		const PipesimTraceGroup *point = g_ptr_array_index(points, i);
		if ((share(point) < wished) == (share(near) < wished) || share(point) == wished)
			continue;
		if (best == NULL || ABS(share(point) - wished) < ABS(share(best) - wished))
			best = point;
	}
	return share(near) == wished ? NULL : best;
}

static void note_once(GPtrArray *notices, char *text)
{
	g_autofree char *owned = text;

	if (!g_ptr_array_find_with_equal_func(notices, owned, g_str_equal, NULL))
		g_ptr_array_add(notices, g_steal_pointer(&owned));
}

static char *split_name(const PipesimTraceGroup *group)
{
	if (group->what.role == PIPESIM_ROLE_PAIR)
		return g_strdup_printf("%" G_GINT64_FORMAT "+%" G_GINT64_FORMAT,
			group->what.compute_sms, group->what.comm_sms);
	return g_strdup_printf("%" G_GINT64_FORMAT, share(group));
}

static const char *name_of(const PipesimTraceGroup *group)
{
	if (group->what.role == PIPESIM_ROLE_PAIR)
		return "the pair";
	return group->what.role == PIPESIM_ROLE_COMM ? "communication alone" : "compute alone";
}

PipesimDistribution pipesim_trace_figures_at_split(const PipesimTraceGroup *near,
	const GPtrArray *groups, const PipesimTraceWish *wish, GPtrArray *notices)
{
	g_autofree char *here = split_name(near);

	if (!wishes_split(wish) || split_distance(near, wish) == 0)
		return near->figures;
	const gint64 wished = wished_share(near, wish);
	const PipesimTraceGroup *far = find_opposite(groups, near, wish);
	if (far == NULL) {
		note_once(notices,
			g_strdup_printf("%s was not measured at the split asked for: the "
					"nearest, %s SMs, is used",
				name_of(near), here));
		return near->figures;
	}
	g_autofree char *there = split_name(far);
	note_once(notices,
		g_strdup_printf(
			"%s is interpolated between what was measured at %s and at %s SMs",
			name_of(near), here, there));
	return pipesim_distribution_between(&near->figures, &far->figures,
		(double)(wished - share(near)) / (double)(share(far) - share(near)));
}

static gboolean is_pair_at_split(const PipesimTraceGroup *group, gconstpointer data)
{
	return group->what.role == PIPESIM_ROLE_PAIR && split_distance(group, data) == 0;
}

static gboolean is_pair(const PipesimTraceGroup *group, gconstpointer data)
{
	(void)data;
	return group->what.role == PIPESIM_ROLE_PAIR;
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
		if (!g_str_equal(group->what.load_mode, load_mode))
			continue;
		below |= group->what.comm_sms <= wish->comm_sms;
		above |= group->what.comm_sms >= wish->comm_sms;
		nearest = MIN(nearest, split_distance(group, wish));
	}
	return below && above ? 0 : nearest;
}

void pipesim_trace_wish_load_mode(
	PipesimTraceWish *wish, const GPtrArray *groups, GPtrArray *notices)
{
	static const char *const order[] = {"sustained", "back_to_back", "synced"};
	g_autoptr(GPtrArray) exact = pipesim_trace_groups_list(groups, is_pair_at_split, wish);
	g_autoptr(GPtrArray) all = pipesim_trace_groups_list(groups, is_pair, NULL);
	const GPtrArray *pairs = exact->len > 0 ? exact : all;
	gint64 least = G_MAXINT64;

	if (!wishes_split(wish) || wish->load_mode != NULL)
		return;
	for (guint i = 0; i < G_N_ELEMENTS(order); i++) {
		const gint64 distance = misfit(wish, pairs, order[i]);
		if (distance >= least)
			continue;
		least = distance;
		wish->load_mode = order[i];
	}
	if (wish->load_mode != NULL && !g_str_equal(wish->load_mode, order[0]))
		pipesim_notice(notices,
			"the pair was captured at that split %s, not sustained: all times are "
			"of that load",
			wish->load_mode);
}
