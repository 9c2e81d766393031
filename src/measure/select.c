#include "measure/select.h"

/* One property in which groups may differ. */
typedef struct {
	const char *name; /* for notices; NULL = choose silently */
	enum {
		LOAD_MODE,
		SPLIT,
		TOKENS,
		IMPL,
		VARIANT,
	} what;
	gboolean per_phase; /* phases may have different values */
	/* A phase that lacks the value of the others keeps what it has: an attention block's
	 * weight gradients contain no attention kernel, and so no choice of one. */
	gboolean may_differ;
} Property;

static const Property properties[] = {
	{NULL, LOAD_MODE, FALSE, FALSE},
	{"SM budgets", SPLIT, FALSE, FALSE},
	{"numbers of tokens", TOKENS, FALSE, FALSE},
	{"implementations", IMPL, FALSE, TRUE},
	{"implementations", IMPL, TRUE, FALSE},
	{"settings", VARIANT, TRUE, FALSE},
};

/* As text: equal texts are equal values; for g_free(). */
static char *value_of(const Property *property, const PipesimTraceGroup *group)
{
	const PipesimMeasured *what = &group->what;

	switch (property->what) {
	case LOAD_MODE:
		return g_strdup(what->load_mode);
	case SPLIT:
		return g_strdup_printf("%s %" G_GINT64_FORMAT "+%" G_GINT64_FORMAT,
			what->sm_mode, what->compute_sms, what->comm_sms);
	case TOKENS:
		return g_strdup_printf("%" G_GINT64_FORMAT, what->tokens);
	case IMPL:
		return g_strdup(what->impl);
	case VARIANT:
		return g_strdup(what->variant[0] != '\0' ? what->variant : "default");
	}
	g_return_val_if_reached(NULL);
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

/* How unwelcome the value of @group is: the smallest sum over phases wins. */
static double penalty_of(
	const Property *property, const PipesimTraceGroup *group, const PipesimTraceWish *wish)
{
	static const char *const order[] = {"sustained", "back_to_back", "", "synced"};
	const gboolean pair = group->what.role == PIPESIM_ROLE_PAIR;
	const double median = (double)group->figures.median;
	guint i = 0;

	switch (property->what) {
	case LOAD_MODE:
		while (i < G_N_ELEMENTS(order) && !g_str_equal(group->what.load_mode, order[i]))
			i++;
		return i;
	case SPLIT:
		/* Of several ways of sharing at the same distance the fastest: a fraction of an
		 * SM. */
		if (wishes_split(wish))
			return (double)split_distance(group, wish) +
			       (pair ? median * 1e-15 : 0);
		/* A pair without a wish: the split that is fastest. */
		if (pair)
			return median;
		/* The whole chip, or else as much of it as there is. */
		return group->what.sm_mode[0] == '\0' ||
				       g_str_equal(group->what.sm_mode, "none")
			       ? 0
			       : 1e6 - (double)(group->what.compute_sms + group->what.comm_sms);
	case TOKENS:
		return group->what.tokens == wish->tokens ? 0
							  : 1e18 - (double)group->what.tokens;
	case IMPL:
	case VARIANT:
		break;
	}
	return median;
}

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

static GArray *list_candidates(const GPtrArray *groups, const Property *property, guint phase,
	const PipesimTraceWish *wish)
{
	GArray *list = g_array_new(FALSE, FALSE, sizeof(Candidate));

	g_array_set_clear_func(list, candidate_clear);
	pipesim_each_in (const PipesimTraceGroup, group, groups) {
		if (phase != ALL_PHASES && group->what.phase != phase)
			continue;
		g_autofree char *text = value_of(property, group);
		guint at = 0;
		while (at < list->len &&
			!g_str_equal(g_array_index(list, Candidate, at).text, text))
			at++;
		if (at == list->len)
			g_array_append_val(list, ((Candidate){.text = g_steal_pointer(&text)}));
		Candidate *found = &g_array_index(list, Candidate, at);
		const double penalty = penalty_of(property, group, wish);
		double *least = &found->penalty[group->what.phase];
		*least = found->phases & 1u << group->what.phase ? MIN(*least, penalty)
								 : penalty;
		found->phases |= 1u << group->what.phase;
	}
	return list;
}

/* The better first: of more phases, of these of the lesser penalty. */
static gint compare_candidates(const Candidate *a, const Candidate *b)
{
	return __builtin_popcount(b->phases) - __builtin_popcount(a->phases) ?:
		pipesim_compare(total_penalty(a), total_penalty(b)) ?: strcmp(a->text, b->text);
}

/* Leaves of @groups those with the best value of @property, of @phase alone or of all. */
static gboolean choose(GPtrArray *groups, const Property *property, guint phase,
	const PipesimTraceWish *wish, GPtrArray *notices, GError **error)
{
	const guint max_listed = 8;
	const PipesimTraceGroup *first = g_ptr_array_index(groups, 0);
	const char *wished = NULL; /* NULL = any */
	const Candidate *best = NULL;
	const gboolean split_wished = property->what == SPLIT && wishes_split(wish);
	g_autoptr(GArray) list = list_candidates(groups, property, phase, wish);
	g_autoptr(GString) all = g_string_new(NULL);
	gboolean had_choice = FALSE, was_as_near = FALSE;

	if (list->len == 0)
		return TRUE;
	if (property->what == LOAD_MODE)
		wished = wish->load_mode;
	else if (property->what == IMPL && !property->per_phase && wish->impl != NULL)
		wished = g_hash_table_lookup(wish->impl, first->what.component);
	for (guint i = 0; i < list->len; i++) {
		const Candidate *candidate = &g_array_index(list, Candidate, i);
		if (i < max_listed)
			g_string_append_printf(
				all, "%s'%s'", i > 0 ? ", " : "", candidate->text);
		/* All of it is as wished, or what comes before its slash. */
		if ((wished == NULL ||
			    (g_str_has_prefix(candidate->text, wished) &&
				    strchr("/", candidate->text[strlen(wished)]) != NULL)) &&
			(best == NULL || compare_candidates(candidate, best) < 0))
			best = candidate;
	}
	if (list->len > max_listed)
		g_string_append_printf(all, " and %u more", list->len - max_listed);
	if (best == NULL)
		return pipesim_refuse(error, "%s was not measured as '%s'; there is %s",
			first->what.component, wished, all->str);
	pipesim_each (const Candidate, other, list) {
		if (other == best)
			continue;
		had_choice |= (other->phases & best->phases) != 0;
		was_as_near |= other->phases == best->phases &&
			       total_penalty(other) - total_penalty(best) < 0.5;
	}
	if (property->name != NULL && wished == NULL && had_choice && !split_wished)
		pipesim_notice(notices, "%s%s%s: several %s were measured (%s); '%s' is used",
			first->what.component, property->per_phase ? " " : "",
			property->per_phase ? pipesim_phase_name(phase) : "", property->name,
			all->str, best->text);
	if (split_wished && first->what.role == PIPESIM_ROLE_PAIR && was_as_near)
		pipesim_notice(notices,
			"%s: '%s' is used, the fastest of several ways of sharing SMs that are "
			"equally near to the requested split",
			first->what.component, best->text);

	/* Drops other values; where phases may differ, only of phases that have the best. */
	for (guint i = groups->len; i-- > 0;) {
		const PipesimTraceGroup *group = g_ptr_array_index(groups, i);
		g_autofree char *value = value_of(property, group);
		const gboolean spared =
			property->may_differ && (best->phases & 1u << group->what.phase) == 0;
		if ((phase == ALL_PHASES || group->what.phase == phase) && !spared &&
			!g_str_equal(value, best->text))
			g_ptr_array_remove_index(groups, i);
	}
	return TRUE;
}

gboolean pipesim_trace_select(
	GPtrArray *groups, const PipesimTraceWish *wish, GPtrArray *notices, GError **error)
{
	for (guint i = 0; i < G_N_ELEMENTS(properties); i++) {
		const gboolean per_phase = properties[i].per_phase;
		const guint n = per_phase ? PIPESIM_N_PHASES : 1;
		for (guint k = 0; k < n && groups->len > 0; k++)
			if (!choose(groups, &properties[i], per_phase ? k : ALL_PHASES, wish,
				    notices, error))
				return FALSE;
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
	const gint64 wished =
		near->what.role == PIPESIM_ROLE_COMPUTE ? wish->compute_sms : wish->comm_sms;
	g_autoptr(GPtrArray) points =
		pipesim_trace_groups_list(groups, is_same_but_split, near);
	const PipesimTraceGroup *far = NULL; /* the nearest on the other side of the wish */
	for (guint i = 0; i < points->len && share(near) != wished; i++) {
		const PipesimTraceGroup *point = g_ptr_array_index(points, i);
		if ((share(point) < wished) == (share(near) < wished) || share(point) == wished)
			continue;
		if (far == NULL || ABS(share(point) - wished) < ABS(share(far) - wished))
			far = point;
	}
	if (far == NULL) {
		pipesim_notice(notices,
			"%s was not measured at the split asked for: the nearest, %s SMs, is "
			"used",
			name_of(near), here);
		return near->figures;
	}
	g_autofree char *there = split_name(far);
	pipesim_notice(notices,
		"%s is interpolated between what was measured at %s and at %s SMs",
		name_of(near), here, there);
	return pipesim_distribution_between(&near->figures, &far->figures,
		(double)(wished - share(near)) / (double)(share(far) - share(near)));
}

static gboolean is_pair(const PipesimTraceGroup *group, gconstpointer data G_GNUC_UNUSED)
{
	return group->what.role == PIPESIM_ROLE_PAIR;
}

void pipesim_trace_wish_load_mode(
	PipesimTraceWish *wish, const GPtrArray *groups, GPtrArray *notices)
{
	static const char *const order[] = {"sustained", "back_to_back", "synced"};
	g_autoptr(GPtrArray) pairs = pipesim_trace_groups_list(groups, is_pair, NULL);
	gint64 least = G_MAXINT64;
	gboolean exact = FALSE;

	if (!wishes_split(wish) || wish->load_mode != NULL)
		return;
	for (guint i = 0; i < pairs->len; i++)
		exact |= split_distance(g_ptr_array_index(pairs, i), wish) == 0;
	/* How well the pairs of a load mode meet the wish: 0 = measured there or on both sides of
	 * it, else the distance of the nearest. Where a pair was measured there only such count. */
	for (guint i = 0; i < G_N_ELEMENTS(order); i++) {
		gboolean below = FALSE, above = FALSE;
		gint64 misfit = G_MAXINT64;
		pipesim_each_in (const PipesimTraceGroup, group, pairs) {
			const gint64 distance = split_distance(group, wish);
			if (!g_str_equal(group->what.load_mode, order[i]) ||
				(exact && distance > 0))
				continue;
			below |= group->what.comm_sms <= wish->comm_sms;
			above |= group->what.comm_sms >= wish->comm_sms;
			misfit = MIN(misfit, distance);
		}
		if (below && above)
			misfit = 0;
		if (misfit >= least)
			continue;
		least = misfit;
		wish->load_mode = order[i];
	}
	if (wish->load_mode != NULL && !g_str_equal(wish->load_mode, order[0]))
		pipesim_notice(notices,
			"the pair was captured at that split %s, not sustained: all times are "
			"of that load",
			wish->load_mode);
}
