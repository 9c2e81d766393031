#include "model/costs.h"

/* Sums of products of times and counts. */
__extension__ typedef __int128 Wide;

/* Where the values of one parse come together before any of them is kept. */
enum {
	P2P = PIPESIM_N_KINDS,
	N_NAMES
};
static const char *const names[N_NAMES] = {"F", "I", "W", "B", "FB", "P2P"};

PipesimCosts *pipesim_costs_default(void)
{
	const gint64 ms = 1000000;
	PipesimCosts *costs = pipesim_costs_new(ms, ms, ms, -1, 0, NULL);

	costs->unit = TRUE;
	return costs;
}

PipesimCosts *pipesim_costs_new(gint64 forward, gint64 input, gint64 weight, gint64 overlapped,
	gint64 p2p, GError **error)
{
	const gint64 times[] = {forward, input, weight, p2p, MAX(overlapped, 0)};
	static const char *const of[] = {"F", "I", "W", "P2P", "FB"};

	for (guint i = 0; i < G_N_ELEMENTS(times); i++)
		if (times[i] < 0 || times[i] > PIPESIM_MAX_TIME_NS)
			return pipesim_refuse_null(error,
				"%s is %" G_GINT64_FORMAT " ns; from 0 to %" G_GINT64_FORMAT,
				of[i], times[i], PIPESIM_MAX_TIME_NS);
	PipesimCosts *costs = g_new0(PipesimCosts, 1);
	costs->time[PIPESIM_F] = forward;
	costs->time[PIPESIM_I] = input;
	costs->time[PIPESIM_W] = weight;
	costs->time[PIPESIM_B] = input + weight;
	costs->has_pair = overlapped >= 0;
	costs->time[PIPESIM_FB] = costs->has_pair ? overlapped : forward + input + weight;
	costs->p2p = p2p;
	return costs;
}

void pipesim_component_free(PipesimComponent *component)
{
	if (component != NULL)
		pipesim_free_all(
			component->component, component->phase, component->impl, component);
}

void pipesim_step_costs_free(PipesimStepCosts *costs)
{
	if (costs != NULL)
		pipesim_free_all(costs->part, costs);
}

void pipesim_op_times_unref(PipesimOpTimes *times)
{
	if (times == NULL || !g_atomic_int_dec_and_test(&times->references))
		return;
	pipesim_free_all(times->time, times->length, times);
}

PipesimCosts *pipesim_costs_copy(const PipesimCosts *costs)
{
	PipesimCosts *copy = g_memdup2(costs, sizeof *costs);

	copy->source = g_strdup(costs->source);
	copy->notices = g_strdup(costs->notices);
	copy->network = pipesim_network_copy(costs->network);
	copy->scale = g_memdup2(costs->scale, costs->n_scale * sizeof *costs->scale);
	copy->part = g_memdup2(
		costs->part, (gsize)costs->n_parts * PIPESIM_FB * sizeof *costs->part);
	copy->part_bytes = g_memdup2(costs->part_bytes,
		(gsize)costs->n_part_bytes * PIPESIM_N_BYTES * sizeof *costs->part_bytes);
	copy->measured_ranks = g_memdup2(
		costs->measured_ranks, costs->n_measured_ranks * sizeof *costs->measured_ranks);
	copy->slow = g_memdup2(costs->slow, costs->n_slow * sizeof *costs->slow);
	copy->launch = g_memdup2(
		costs->launch, (gsize)costs->n_launches * PIPESIM_FB * sizeof *costs->launch);
	copy->power = pipesim_power_copy(costs->power);
	copy->contention = g_memdup2(costs->contention, sizeof *costs->contention);
	copy->slicing = g_memdup2(costs->slicing, sizeof *costs->slicing);
	copy->step = g_memdup2(costs->step, sizeof *costs->step);
	if (copy->step != NULL)
		copy->step->part = g_memdup2(costs->step->part,
			(gsize)costs->step->n_parts * PIPESIM_N_EDGES * sizeof(gint64));
	if (costs->op_times != NULL)
		g_atomic_int_inc(&copy->op_times->references);
	if (costs->components != NULL)
		g_ptr_array_ref(costs->components);
	if (costs->cutter != NULL)
		g_atomic_int_inc(&copy->cutter->references);
	return copy;
}

static void release_cutter(PipesimCutter *cutter)
{
	if (cutter != NULL && g_atomic_int_dec_and_test(&cutter->references))
		cutter->free(cutter);
}

void pipesim_costs_set_cutter(PipesimCosts *costs, PipesimCutter *cutter)
{
	release_cutter(costs->cutter);
	costs->cutter = cutter;
}

/* Puts @n of @values, which may be a part of it, in the place of *@set. */
static void replace(gint64 **set, const gint64 *values, gsize n)
{
	gint64 *copy = g_memdup2(values, n * sizeof *values);

	g_free(*set);
	*set = copy;
}

gboolean pipesim_costs_set_parts(
	PipesimCosts *costs, const GArray *parts, guint ranks, GError **error)
{
	const gint64 *values = parts != NULL ? (gpointer)parts->data : costs->part;
	const guint n = parts != NULL ? parts->len / PIPESIM_FB : costs->n_parts;
	const gint64 pair = costs->time[PIPESIM_FB];
	const gint64 alone = costs->time[PIPESIM_F] + costs->time[PIPESIM_B];
	gint64 time[PIPESIM_FB];

	/* Those of the whole model as a share of one of the ranks. */
	for (guint kind = 0; kind < PIPESIM_FB; kind++) {
		Wide total = pipesim_sum(i, n, (Wide)values[i * PIPESIM_FB + kind]);

		total = (total + ranks / 2) / ranks;
		if (total > PIPESIM_MAX_TIME_NS)
			return pipesim_fail(error, PIPESIM_ERROR_LIMIT,
				"%s of all stages together exceeds what pipesim can count",
				names[kind]);
		time[kind] = (gint64)total;
	}
	memcpy(costs->time, time, sizeof time);
	costs->unit = FALSE;
	costs->time[PIPESIM_FB] = time[PIPESIM_F] + time[PIPESIM_B];
	if (costs->has_pair && alone > 0)
		costs->time[PIPESIM_FB] =
			pipesim_time_scale(costs->time[PIPESIM_FB], pair, alone);
	costs->n_parts = n;
	replace(&costs->part, values, (gsize)n * PIPESIM_FB);
	return TRUE;
}

gboolean pipesim_costs_set_part_bytes(
	PipesimCosts *costs, const GArray *parts, guint ranks, GError **error)
{
	const gint64 *values = parts != NULL ? (gpointer)parts->data : costs->part_bytes;
	const guint n = parts != NULL ? parts->len / PIPESIM_N_BYTES : costs->n_part_bytes;
	gint64 *const average[PIPESIM_N_BYTES] = {
		&costs->bytes_until_input, &costs->bytes_until_weight, &costs->parameter_bytes};
	Wide total[PIPESIM_N_BYTES] = {0};

	for (gsize i = 0; i < (gsize)n * PIPESIM_N_BYTES; i++)
		total[i % PIPESIM_N_BYTES] += values[i];
	for (guint sort = 0; sort < PIPESIM_N_BYTES; sort++)
		if (total[sort] > G_MAXINT64)
			return pipesim_fail(error, PIPESIM_ERROR_LIMIT,
				"all stages together hold more bytes than pipesim can count");
	for (guint sort = 0; sort < PIPESIM_N_BYTES; sort++)
		*average[sort] = (gint64)((total[sort] + ranks / 2) / ranks);
	costs->n_part_bytes = n;
	replace(&costs->part_bytes, values, (gsize)n * PIPESIM_N_BYTES);
	return TRUE;
}

gboolean pipesim_costs_has_bytes(const PipesimCosts *costs)
{
	return costs->part_bytes != NULL || costs->cutter != NULL ||
	       costs->bytes_until_input > 0 || costs->bytes_until_weight > 0 ||
	       costs->parameter_bytes > 0;
}

gboolean pipesim_costs_set_bytes(PipesimCosts *costs, gint64 until_input, gint64 until_weight,
	gint64 parameters, GError **error)
{
	g_return_val_if_fail(costs != NULL, FALSE);
	if (until_input < 0 || until_weight < 0 || parameters < 0)
		return pipesim_refuse(error, "bytes below 0; 0 stands for unknown");
	costs->bytes_until_input = until_input;
	costs->bytes_until_weight = until_weight;
	costs->parameter_bytes = parameters;
	return TRUE;
}

PipesimCosts *pipesim_costs_share(const PipesimCosts *costs, guint factor)
{
	PipesimCosts *share = pipesim_costs_copy(costs);
	PipesimSharding *sharding = &share->sharding;
	gint64 *const sizes[] = {&share->bytes_until_input, &share->bytes_until_weight,
		&share->parameter_bytes, &sharding->unshard, &sharding->reduce,
		&sharding->bytes};

	for (int kind = 0; kind < PIPESIM_N_KINDS; kind++)
		share->time[kind] = pipesim_time_scale(share->time[kind], factor, 1);
	for (gsize i = 0; i < G_N_ELEMENTS(sizes); i++)
		*sizes[i] = pipesim_time_scale(*sizes[i], factor, 1);
	return share;
}

PIPESIM_FREES(PipesimCosts, pipesim_costs_free, costs)
{
	pipesim_op_times_unref(costs->op_times);
	pipesim_network_free(costs->network);
	pipesim_power_free(costs->power);
	pipesim_step_costs_free(costs->step);
	g_clear_pointer(&costs->components, g_ptr_array_unref);
	release_cutter(costs->cutter);
	pipesim_free_all(costs->scale, costs->part, costs->part_bytes, costs->slow,
		costs->measured_ranks, costs->launch, costs->contention, costs->slicing,
		costs->source, costs->notices, costs);
}

gboolean pipesim_costs_sustain(PipesimCosts *costs)
{
	const gboolean any = costs->power != NULL || costs->contention != NULL ||
			     costs->launch != NULL || costs->step != NULL;

	g_clear_pointer(&costs->power, pipesim_power_free);
	g_clear_pointer(&costs->contention, g_free);
	g_clear_pointer(&costs->step, pipesim_step_costs_free);
	g_clear_pointer(&costs->launch, g_free);
	costs->n_launches = 0;
	return any;
}

/* Splits "NAME=VALUE"; both parts are the caller's. */
static gboolean split_setting(
	const char *item, const char *what, char **name, char **value, GError **error)
{
	const char *equals = strchr(item, '=');

	if (equals == NULL || equals == item || equals[1] == '\0')
		return pipesim_refuse(error,
			"%s: '%s' is not NAME=VALUE; separate settings with commas", what,
			item);
	*name = g_strstrip(g_strndup(item, (gsize)(equals - item)));
	*value = g_strstrip(g_strdup(equals + 1));
	return TRUE;
}

/* Unit times are no measurement: what somebody measured is not mixed with them. */
static gboolean check_complete(const PipesimCosts *costs, const gboolean given[N_NAMES],
	gboolean of_model, const char *what, GError **error)
{
	const gboolean backward = given[PIPESIM_B] || (given[PIPESIM_I] && given[PIPESIM_W]);
	const gboolean any = of_model || given[PIPESIM_F] || given[PIPESIM_I] ||
			     given[PIPESIM_W] || given[PIPESIM_B];

	return !costs->unit || !any || (given[PIPESIM_F] && backward) ||
	       pipesim_refuse(error,
		       "%s: %s is missing, and its default of 1 ms would not match the other "
		       "times; give F and B, or F, I and W",
		       what,
		       !given[PIPESIM_F]  ? "F"
		       : given[PIPESIM_I] ? "W"
		       : given[PIPESIM_W] ? "I"
					  : "B");
}

/* What of B belongs to I and what to W where only B is given: shares as @value has them. Of
 * unit times one of both may be given; the other is the rest. */
static gboolean divide_backward(const PipesimCosts *costs, gint64 value[N_NAMES],
	const gboolean given[N_NAMES], const char *what, GError **error)
{
	const gint64 before = value[PIPESIM_I] + value[PIPESIM_W], b = value[PIPESIM_B];
	const PipesimKind one = given[PIPESIM_I] ? PIPESIM_I : PIPESIM_W;
	const PipesimKind other = given[PIPESIM_I] ? PIPESIM_W : PIPESIM_I;

	if (!given[PIPESIM_B] || (given[PIPESIM_I] && given[PIPESIM_W]))
		return TRUE;
	if (!given[PIPESIM_I] && !given[PIPESIM_W]) {
		value[PIPESIM_I] =
			before > 0 ? pipesim_time_scale(b, value[PIPESIM_I], before) : b / 2;
		value[PIPESIM_W] = b - value[PIPESIM_I];
		return TRUE;
	}
	if (!costs->unit)
		return TRUE;
	value[other] = b - value[one];
	return value[other] >= 0 ||
	       pipesim_refuse(error,
		       "%s: %s is longer than B, of which it is a part; give %s too", what,
		       names[one], names[other]);
}

gboolean pipesim_costs_parse_times(
	PipesimCosts *costs, const char *text, const char *what, guint ranks, GError **error)
{
	g_auto(GStrv) items = g_strsplit(text, ",", -1);
	gint64 value[N_NAMES];
	gboolean given[N_NAMES] = {FALSE};
	gboolean derive_backward, derive_pair;
	gint64 own[PIPESIM_N_OPS], time_of_own = 0;

	if (items[0] == NULL)
		return pipesim_refuse(
			error, "%s is empty; write for example F=1,I=1,W=1", what);
	memcpy(value, costs->time, sizeof costs->time);
	memcpy(own, costs->own, sizeof own);
	value[P2P] = costs->p2p;
	for (char **item = items; *item != NULL; item++) {
		g_autofree char *name = NULL, *time = NULL, *which = NULL;
		guint i = 0;

		if (!split_setting(*item, what, &name, &time, error))
			return FALSE;
		while (i < N_NAMES && strcmp(names[i], name) != 0)
			i++;
		which = g_strdup_printf("%s %s", what, name);
		if (i == N_NAMES && ranks == 0 && pipesim_own_set(own, name, 0)) {
			if (!pipesim_parse_time(time, which, &time_of_own, error))
				return FALSE;
			pipesim_own_set(own, name, time_of_own);
			continue;
		}
		if (i == N_NAMES)
			return pipesim_refuse(error,
				"%s: unknown time '%s'; F, I, W, B, FB or P2P", what, name);
		if (given[i])
			return pipesim_refuse(error, "%s: %s is given twice", what, name);
		given[i] = TRUE;
		if (!pipesim_parse_time(time, which, &value[i], error))
			return FALSE;
	}
	/* A rank's share of the times of a model. Sums stay sums. */
	if (ranks > 0 && given[PIPESIM_I] && given[PIPESIM_W] &&
		value[PIPESIM_B] == value[PIPESIM_I] + value[PIPESIM_W])
		given[PIPESIM_B] = FALSE;
	for (int kind = 0; ranks > 0 && kind < PIPESIM_N_KINDS; kind++)
		if (given[kind])
			value[kind] = pipesim_time_scale(value[kind], 1, ranks);
	if (!check_complete(costs, given, ranks > 0, what, error) ||
		!divide_backward(costs, value, given, what, error))
		return FALSE;
	derive_backward = !given[PIPESIM_B] && (given[PIPESIM_I] || given[PIPESIM_W]);
	if (derive_backward)
		value[PIPESIM_B] = value[PIPESIM_I] + value[PIPESIM_W];
	derive_pair =
		!given[PIPESIM_FB] && (given[PIPESIM_F] || given[PIPESIM_B] || derive_backward);
	if (derive_pair)
		value[PIPESIM_FB] = value[PIPESIM_F] + value[PIPESIM_B];
	memcpy(costs->time, value, sizeof costs->time);
	memcpy(costs->own, own, sizeof own);
	costs->has_pair = given[PIPESIM_FB] || (costs->has_pair && !derive_pair);
	costs->p2p = value[P2P];
	costs->halved = given[PIPESIM_B] && !given[PIPESIM_I] && !given[PIPESIM_W];
	costs->unit &= !given[PIPESIM_F];
	return TRUE;
}

/* What a list of factors is of: how messages call the list, an element and an example. */
typedef struct {
	const char *what, *element, *example;
} Factors;

/* "0=1.3,7=1.25": the factors of 0 to @n - 1, 1 where none is given, into *@set and its length. */
static gboolean parse_factors(const char *text, const Factors *factors, guint n,
	PipesimFraction **set, guint *n_set, GError **error)
{
	g_auto(GStrv) items = g_strsplit(text, ",", -1);
	g_autofree PipesimFraction *factor = g_new0(PipesimFraction, n); /* 0/0: not given */
	const char *what = factors->what, *element = factors->element;

	if (items[0] == NULL)
		return pipesim_refuse(
			error, "%s is empty; write for example %s", what, factors->example);
	for (char **item = items; *item != NULL; item++) {
		g_autofree char *name = NULL, *value = NULL;
		guint64 i;

		if (!split_setting(*item, what, &name, &value, error) ||
			!pipesim_parse_count(name, what, 0, n - 1, &i, error))
			return FALSE;
		if (factor[i].den != 0)
			return pipesim_refuse(error,
				"%s: %s %" G_GUINT64_FORMAT " is given twice", what, element,
				i);
		if (!pipesim_parse_fraction(value, what, &factor[i], error))
			return FALSE;
		if (factor[i].num == 0)
			return pipesim_refuse(error,
				"%s: %s %" G_GUINT64_FORMAT
				" must take some time; a factor above 0, for example %s",
				what, element, i, factors->example);
	}
	for (guint i = 0; i < n; i++)
		if (factor[i].den == 0)
			factor[i] = (PipesimFraction){1, 1};
	g_free(*set);
	*set = g_steal_pointer(&factor);
	*n_set = n;
	return TRUE;
}

gboolean pipesim_costs_parse_scale(
	PipesimCosts *costs, const char *text, const char *what, guint ranks, GError **error)
{
	const Factors factors = {what, "part", "0=1.3,7=1.25"};

	return parse_factors(text, &factors, ranks, &costs->scale, &costs->n_scale, error);
}

gboolean pipesim_costs_parse_slow(
	PipesimCosts *costs, const char *text, const char *what, guint ranks, GError **error)
{
	const Factors factors = {what, "rank", "3=1.1"};

	return parse_factors(text, &factors, ranks, &costs->slow, &costs->n_slow, error);
}

gboolean pipesim_costs_parse_speed(
	PipesimCosts *costs, const char *text, const char *what, guint ranks, GError **error)
{
	const Factors factors = {what, "rank", "3=0.97"};
	g_autofree PipesimFraction *speed = NULL;
	guint n;

	if (!parse_factors(text, &factors, ranks, &speed, &n, error))
		return FALSE;
	for (guint rank = 0; rank < n; rank++) {
		const PipesimFraction slow =
			costs->slow != NULL ? costs->slow[rank] : (PipesimFraction){1, 1};
		gint64 num, den, common;

		if (__builtin_mul_overflow(slow.num, speed[rank].den, &num) ||
			__builtin_mul_overflow(slow.den, speed[rank].num, &den))
			return pipesim_refuse(error,
				"%s: the speed of rank %u has too many digits", what, rank);
		common = pipesim_gcd(num, den);
		speed[rank] = (PipesimFraction){num / common, den / common};
	}
	g_free(costs->slow);
	costs->slow = g_steal_pointer(&speed);
	costs->n_slow = n;
	return TRUE;
}

PipesimFraction pipesim_costs_stage_scale(const PipesimCosts *costs, guint stage, guint stages)
{
	if (costs->scale == NULL)
		return (PipesimFraction){1, 1};
	return costs->scale[(guint64)stage * costs->n_scale / stages];
}
