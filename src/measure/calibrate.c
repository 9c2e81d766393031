#include "measure/calibrate.h"
#include "measure/stage-times.h"

/* What the steps share. */
typedef struct {
	PipesimTrace *const *traces;
	guint n_traces;
	PipesimTraceWish wish; /* with the tokens of the traces */
	gint64 layers, layers_per_chunk, whole;
	gint64 weights;    /* what W is of a full backward, in millionths */
	GPtrArray *groups; /* of PipesimTraceGroup, owned */
	GPtrArray *chosen; /* of PipesimTraceGroup, not owned: what F, I, W and B are made of */
	PipesimCosts *costs;
	GPtrArray *notices;
	PipesimCalibration *out;
	const PipesimJoined *joined;
	/* Times of every stage, ns, by stage and PipesimKind; NULL: stages are not told apart. */
	GArray *parts;
} Calibrating;

PIPESIM_FREES(PipesimCalibration, pipesim_calibration_free, calibration)
{
	pipesim_costs_free(calibration->costs);
	g_ptr_array_unref(calibration->notices);
	g_ptr_array_unref(calibration->chosen);
	g_clear_pointer(&calibration->groups, g_ptr_array_unref);
	g_free(calibration);
}

/* @ns of @group as a share of a rank. */
static gint64 time_of(const Calibrating *c, const PipesimTraceGroup *group, gint64 ns)
{
	return pipesim_time_scale(
		ns, c->layers, group->what.whole_chunk ? c->layers_per_chunk : 1);
}

/* Figures of one field of the repetitions of @group, where it is known. */
#define figures_of(group, field, figures)                                               \
	pipesim_trace_group_figures((group), G_STRUCT_OFFSET(PipesimRepetition, field), \
		PIPESIM_UNKNOWN, (figures))

/* Adds @group with @figures to the components of the costs; the new entry, owned by them. */
static PipesimComponent *record(
	Calibrating *c, const PipesimTraceGroup *group, const PipesimDistribution *figures)
{
	PipesimComponent *component = g_new0(PipesimComponent, 1);
	const guint n = group->repetitions->len;
	PipesimDistribution own;

	component->component =
		group->what.chunk[0] != '\0' && !g_str_equal(group->what.chunk, "0")
			? g_strdup_printf("%s %s", group->what.component, group->what.chunk)
			: g_strdup(group->what.component);
	component->phase = g_strdup(pipesim_phase_name(group->what.phase));
	component->impl = pipesim_trace_group_label(group);
	component->dropped = group->dropped;
	component->figures = *figures;
	component->busy_mean =
		group->what.role != PIPESIM_ROLE_PAIR && figures_of(group, busy, &own)
			? own.mean
			: figures->mean;
	component->move = figures_of(group, move, &own) ? own.median : PIPESIM_UNKNOWN;
	component->wait = figures_of(group, wait, &own) ? own.median : PIPESIM_UNKNOWN;
	component->rows = figures_of(group, rows, &own) ? own.median : PIPESIM_UNKNOWN;
	/* What experts take grows with the rows they get: a line through every repetition. What
	 * else a chunk does would hide it, and so would the differences between GPUs. */
	if (group->what.role == PIPESIM_ROLE_COMPUTE && component->rows > 0 &&
		!g_str_equal(group->what.component, "chunk")) {
		g_autofree gint64 *rows = g_new(gint64, n + (gsize)1); /* not NULL */
		g_autofree gint64 *service = g_new(gint64, n + (gsize)1);
		PipesimFit fit;
		guint known = 0;
		pipesim_each (const PipesimRepetition, repetition, group->repetitions) {
			if (repetition->rows < 0)
				continue;
			rows[known] = repetition->rows;
			service[known++] = repetition->service;
		}
		if (pipesim_fit_line(&fit, rows, service, known, FALSE))
			component->fit = fit;
	}
	g_ptr_array_add(c->costs->components, component);
	return component;
}

/* Components -------------------------------------------------------------------------------- */

/* What a layer cannot do without, in the order of its forward. */
static const struct {
	const char *name;
	guint n_phases;   /* of F, I, W */
	gboolean experts; /* only where the model has experts */
} needed[] = {
	{"attn", 3, FALSE},
	{"dispatch", 2, TRUE},
	{"mlp", 3, FALSE},
	{"combine", 2, TRUE},
};

/* @data: the PipesimMeasured whose component it must have, measured alone or inside a pair */
static gboolean is_component(const PipesimTraceGroup *group, gconstpointer data)
{
	const PipesimMeasured *like = data;

	return g_str_equal(group->what.component, like->component) &&
	       group->what.phase != PIPESIM_FB && group->what.in_pair == like->in_pair;
}

#define ANY_PHASE G_MAXUINT

/* Whether one of @groups is of @component, @chunk and @phase; NULL = of any. */
static gboolean has(
	const GPtrArray *groups, const char *component, const char *chunk, guint phase)
{
	return pipesim_any_in(const PipesimTraceGroup, group, groups,
		(component == NULL || g_str_equal(group->what.component, component)) &&
			(chunk == NULL || g_str_equal(group->what.chunk, chunk)) &&
			(phase == ANY_PHASE || group->what.phase == phase));
}

static gboolean fail_missing(
	const Calibrating *c, const char *missing, const char *rule, GError **error)
{
	return pipesim_fail_at(error, c->traces[0]->path, 1, 1,
		"not measured: %s; %s; capture it, or add a trace that has it", missing, rule);
}

/* Full layers: every phase of every needed component, or B for both backward phases. */
static gboolean check_layer(const Calibrating *c, GError **error)
{
	const gboolean experts =
		has(c->groups, "dispatch", NULL, ANY_PHASE) ||
		has(c->groups, "combine", NULL, ANY_PHASE) ||
		pipesim_any(t, c->n_traces,
			pipesim_trace_get_count(c->traces[t], "experts_local") > 0);
	g_autoptr(GString) missing = g_string_new(NULL);

	for (guint i = 0; i < G_N_ELEMENTS(needed); i++) {
		const char *name = needed[i].name;
		if (needed[i].experts && !experts)
			continue;
		for (guint phase = 0; phase < needed[i].n_phases; phase++)
			if (!has(c->chosen, name, NULL, phase) &&
				(phase == PIPESIM_F || !has(c->chosen, name, NULL, PIPESIM_B)))
				pipesim_list_more(
					missing, "%s %s", name, pipesim_phase_name(phase));
	}
	if (missing->len > 0)
		return fail_missing(c, missing->str,
			experts ? "a layer with experts needs attn and mlp F, I, W and "
				  "dispatch and combine F, I"
				: "a dense layer needs attn and mlp F, I, W",
			error);
	return TRUE;
}

PIPESIM_COMPARE_OF(compare_phases, PipesimTraceGroup,
	pipesim_by(what.phase) ?: strcmp(x->what.chunk, y->what.chunk))

/* @inside collects the names of what was measured only beside the other half of a pair. */
static gboolean choose_component(
	Calibrating *c, const char *component, GString *inside, GError **error)
{
	PipesimMeasured like = {.component = component};
	g_autoptr(GPtrArray) groups = pipesim_trace_groups_list(c->groups, is_component, &like);

	if (groups->len == 0) {
		g_clear_pointer(&groups, g_ptr_array_unref);
		like.in_pair = TRUE;
		groups = pipesim_trace_groups_list(c->groups, is_component, &like);
		if (groups->len > 0)
			pipesim_list_more(inside, "%s", component);
	}
	if (!pipesim_trace_select(groups, &c->wish, c->notices, error))
		return FALSE;
	g_ptr_array_sort(groups, compare_phases);
	pipesim_each_in (PipesimTraceGroup, group, groups) {
		group->figures =
			pipesim_trace_figures_at_split(group, c->groups, &c->wish, c->notices);
		g_ptr_array_add(c->chosen, group);
	}
	return TRUE;
}

/* Fills c->chosen: whole chunks, or else components, of a layer or of something else. */
static gboolean choose_components(Calibrating *c, GError **error)
{
	g_autoptr(GPtrArray) names = g_ptr_array_new();
	g_autoptr(GString) inside = g_string_new(NULL);

	/* Distinct names: those of a layer, then others as they appear; not those that have steps
	 * of their own. */
	for (guint i = 0; i < G_N_ELEMENTS(needed); i++)
		if (has(c->groups, needed[i].name, NULL, ANY_PHASE))
			g_ptr_array_add(names, (gpointer)needed[i].name);
	const guint n_needed = names->len;
	pipesim_each_in (const PipesimTraceGroup, group, c->groups) {
		const char *name = group->what.component;
		if (!g_str_equal(name, "chunk") && !g_str_equal(name, "p2p") &&
			!g_ptr_array_find_with_equal_func(names, name, g_str_equal, NULL))
			g_ptr_array_add(names, (gpointer)name);
	}
	if (!choose_component(c, "chunk", inside, error))
		return FALSE;
	const gboolean whole = c->chosen->len > 0;
	for (guint i = 0; i < names->len && !whole; i++)
		if (!choose_component(c, names->pdata[i], inside, error))
			return FALSE;
	if (inside->len > 0)
		pipesim_notice(c->notices,
			"measured only inside an overlapped pair: %s; F, I and W include the "
			"interference",
			inside->str);
	if (whole && names->len > 0)
		pipesim_notice(
			c->notices, "whole chunks were measured: F, I, W and B are theirs");
	if (whole || n_needed == 0) {
		/* Anything else: some forward and some backward. */
		static const char rule[] = "a rank needs F, and I and W or B";
		if (!has(c->chosen, NULL, NULL, PIPESIM_F))
			return fail_missing(c, "any forward (F)", rule, error);
		return has(c->chosen, NULL, NULL, PIPESIM_I) ||
		       has(c->chosen, NULL, NULL, PIPESIM_B) ||
		       fail_missing(c, "any backward (I or B)", rule, error);
	}
	for (guint i = n_needed; i < names->len; i++)
		pipesim_notice(c->notices, "%s is counted too", (char *)names->pdata[i]);
	return check_layer(c, error);
}

#define HALF (PIPESIM_PPM / 2)

/* What W is of the full backwards of @traces, in millionths, as their kernels tell; half where
 * they do not. */
static gint64 weights_of(PipesimTrace *const *traces, guint n)
{
	double weights = 0, busy = 0;

	for (guint t = 0; t < n; t++)
		pipesim_each (const PipesimTraceRow, row, traces[t]->rows)
			if (row->what.phase == PIPESIM_B) {
				weights += (double)row->weights;
				busy += (double)row->busy;
			}
	return weights > 0 ? llround(weights / busy * PIPESIM_PPM) : HALF;
}

/* F, I, W and B from what was chosen, of each stage where they are told apart. Groups are few and each is at most PIPESIM_MAX_TIME_NS
 * times layers saturated, so that sums stop at the check before they can wrap. */
static gboolean add_up(Calibrating *c, GError **error)
{
	gint64 all[PIPESIM_FB] = {0};

	pipesim_each_in (const PipesimTraceGroup, group, c->chosen) {
		const PipesimMeasured *what = &group->what;
		const gint64 figure = c->out->means && what->stage >= 0
					      ? pipesim_trace_group_mean(group)
					      : group->figures.median;
		const gint64 time = MIN(time_of(c, group, figure), PIPESIM_MAX_TIME_NS + 1);
		gint64 *sum = c->parts != NULL ? &g_array_index(c->parts, gint64,
							 (gsize)what->stage * PIPESIM_FB)
					       : all;

		record(c, group, &group->figures);
		sum[what->phase] += time;
		/* A full backward counts as I and W too where those were not measured. */
		if (what->phase == PIPESIM_B &&
			!has(c->chosen, what->component, what->chunk, PIPESIM_I)) {
			const gint64 weights =
				pipesim_time_scale(time, c->weights, PIPESIM_PPM);
			const gboolean named = c->parts == NULL && what->chunk[0] != '\0';

			sum[PIPESIM_I] += time - weights;
			sum[PIPESIM_W] += weights;
			pipesim_notice(c->notices,
				"%s%s%s: only its full backward was measured, %s into I "
				"and W: schedules that split the backward are guesses",
				what->component, named ? " " : "", named ? what->chunk : "",
				c->weights == HALF ? "halved" : "divided by its kernels");
		}
		if ((what->phase == PIPESIM_I || what->phase == PIPESIM_W) &&
			!has(c->chosen, what->component, what->chunk, PIPESIM_B))
			sum[PIPESIM_B] += time;
		for (guint kind = 0; kind <= PIPESIM_B; kind++)
			if (sum[kind] < 0 || sum[kind] > PIPESIM_MAX_TIME_NS)
				return pipesim_refuse(error,
					"%s adds up to more than %" G_GINT64_FORMAT
					" ns; fewer layers",
					pipesim_phase_name(kind), PIPESIM_MAX_TIME_NS);
	}
	memcpy(c->costs->time, all, sizeof all);
	c->costs->time[PIPESIM_FB] = all[PIPESIM_F] + all[PIPESIM_B];
	return TRUE;
}

/* The overlapped pair ------------------------------------------------------------------------- */

static gboolean is_pair(const PipesimTraceGroup *group, gconstpointer data G_GNUC_UNUSED)
{
	return g_str_equal(group->what.component, "chunk") && group->what.phase == PIPESIM_FB &&
	       !group->what.in_pair;
}

/* What ran inside the same sort of pair as @data. */
static gboolean is_inside(const PipesimTraceGroup *group, gconstpointer data)
{
	const PipesimTraceGroup *pair = data;

	return group->what.in_pair &&
	       g_str_equal(group->what.load_mode, pair->what.load_mode) &&
	       g_str_equal(group->what.sm_mode, pair->what.sm_mode) &&
	       group->what.compute_sms == pair->what.compute_sms &&
	       group->what.comm_sms == pair->what.comm_sms &&
	       group->what.tokens == pair->what.tokens &&
	       g_strcmp0(strstr(group->what.variant, "pace_gbps="),
		       strstr(pair->what.variant, "pace_gbps=")) == 0;
}

/* What was measured as @name, @phase and @impl, NULL = any; or NULL. */
static PipesimComponent *find_component(
	const GPtrArray *components, const char *name, const char *phase, const char *impl)
{
	pipesim_each_in (PipesimComponent, component, components)
		if (g_str_equal(component->component, name) &&
			g_str_equal(component->phase, phase) &&
			(impl == NULL || g_str_equal(component->impl, impl)))
			return component;
	return NULL;
}

/* A stream of @pair from its first start to its last end; @inside: what ran in such pairs. */
static void record_half(
	Calibrating *c, const PipesimTraceGroup *pair, const GPtrArray *inside, guint8 role)
{
	const PipesimTraceGroup *half = NULL;
	gboolean named = FALSE;
	gint64 alone = 0;

	/* Where captures with several implementations are taken together, the pair, "a+b+c", names
	 * its half at its beginning or end. */
	for (guint i = 0; i < inside->len && !named; i++) {
		const PipesimTraceGroup *group = g_ptr_array_index(inside, i);
		g_autofree char *first = g_strconcat(group->what.impl, "+", NULL);
		g_autofree char *last = g_strconcat("+", group->what.impl, NULL);
		if (group->what.role != role || !g_str_equal(group->what.component, "chunk"))
			continue;
		named = g_str_has_prefix(pair->what.impl, first) ||
			g_str_has_suffix(pair->what.impl, last);
		if (named || half == NULL)
			half = group;
	}
	if (half == NULL)
		return;
	/* Isolated medians of the stream's components, per layer. */
	pipesim_each_in (const PipesimTraceGroup, group, c->chosen)
		if (group->what.role == role && !group->what.in_pair)
			alone += group->figures.median;
	PipesimComponent *component = record(c, half, &half->figures);
	g_free(component->component);
	component->component =
		g_strdup(role == PIPESIM_ROLE_COMM ? "chunk-comm" : "chunk-compute");
	/* The communication stream mostly waits for compute: its span tells no slowdown. */
	if (alone > 0 && role == PIPESIM_ROLE_COMPUTE)
		component->in_pair = (double)half->figures.median / (double)alone;
}

/* FB and the interference of its halves, where measured. */
static gboolean add_pair(Calibrating *c, GError **error)
{
	g_autoptr(GPtrArray) groups = pipesim_trace_groups_list(c->groups, is_pair, NULL);

	if (groups->len == 0) {
		pipesim_notice(
			c->notices, "no overlapped pair (chunk FB) was measured: FB = F + B");
		return TRUE;
	}
	if (c->parts != NULL &&
		((const PipesimTraceGroup *)groups->pdata[0])->what.b_stage >= 0) {
		pipesim_each_in (const PipesimTraceGroup, group, groups)
			record(c, group, &group->figures);
		return pipesim_stage_times_pair(
			c->joined, c->parts, groups, c->out->means, c->costs, error);
	}
	if (!pipesim_trace_select(groups, &c->wish, c->notices, error))
		return FALSE;
	const PipesimTraceGroup *pair = g_ptr_array_index(groups, 0);
	const PipesimDistribution figures =
		pipesim_trace_figures_at_split(pair, c->groups, &c->wish, c->notices);
	record(c, pair, &figures);
	c->costs->time[PIPESIM_FB] = time_of(c, pair, figures.median);
	c->costs->has_pair = TRUE;

	/* Slowdown of what ran inside the pair: same component and phase alone = 1. */
	g_autoptr(GPtrArray) inside = pipesim_trace_groups_list(c->groups, is_inside, pair);
	record_half(c, pair, inside, PIPESIM_ROLE_COMPUTE);
	record_half(c, pair, inside, PIPESIM_ROLE_COMM);
	pipesim_each_in (const PipesimTraceGroup, group, inside) {
		g_autofree char *label = pipesim_trace_group_label(group);
		/* The same work, done the same way; the pace of a pair is that of its messages. */
		char *pace = group->what.role == PIPESIM_ROLE_COMPUTE
				     ? strstr(label, " pace_gbps=")
				     : NULL;
		if (pace != NULL)
			*pace = '\0';
		PipesimComponent *alone = find_component(c->costs->components,
			group->what.component, pipesim_phase_name(group->what.phase), label);
		if (!g_str_equal(group->what.component, "chunk") && alone != NULL &&
			alone->figures.median > 0 && !g_ptr_array_find(c->chosen, group, NULL))
			alone->in_pair =
				(double)group->figures.median / (double)alone->figures.median;
	}
	return TRUE;
}

/* Several GPUs ------------------------------------------------------------------------------------- */

static gboolean is_message(const PipesimTraceGroup *group, gconstpointer data G_GNUC_UNUSED)
{
	return g_str_equal(group->what.component, "p2p") && group->figures.median > 0;
}

/* Of a pipeline message: between neighbours for one micro-batch: as the first of the traces that
 * knows tells, or its tokens * hidden in BF16; PIPESIM_UNKNOWN where none does. */
static gint64 message_bytes(const Calibrating *c)
{
	for (guint t = 0; t < c->n_traces; t++) {
		const gint64 told = pipesim_trace_get_count(c->traces[t], "pp_message_bytes");
		const gint64 tokens = pipesim_trace_get_count(c->traces[t], "tokens");
		gint64 hidden = pipesim_trace_get_count(c->traces[t], "hidden");
		const char *model = pipesim_trace_get(c->traces[t], "model");
		const char *found = model != NULL ? strstr(model, "hidden=") : NULL;
		gsize used;
		/* Or in "model,deepseek-v3 hidden=7168 ...". */
		if (hidden < 0 && found != NULL)
			pipesim_decimal_scan(
				found + 7, strspn(found + 7, "0123456789"), 0, &hidden, &used);
		if (told > 0)
			return told;
		if (hidden > 0 && tokens > 0 && hidden < G_MAXINT32 && tokens < G_MAXINT32)
			return 2 * hidden * tokens;
	}
	return PIPESIM_UNKNOWN;
}

/* P2P, latency and bandwidth, where measured: the time of a pipeline message, and a line through
 * the medians by size where sizes suffice for one. */
static gboolean add_link(Calibrating *c, GError **error)
{
	g_autoptr(GPtrArray) messages = pipesim_trace_groups_list(c->groups, is_message, NULL);
	const gint64 bytes = message_bytes(c);
	const PipesimTraceGroup *exact = NULL, *largest = NULL;
	PipesimCosts *costs = c->costs;
	PipesimTraceWish wish = c->wish;
	PipesimFit fit;

	if (messages->len == 0) {
		pipesim_notice(
			c->notices, "no message between ranks (p2p) was measured: P2P = 0");
		return TRUE;
	}
	/* Message sizes are what differs here: tokens and SM split say nothing. */
	wish.tokens = PIPESIM_UNKNOWN;
	wish.compute_sms = wish.comm_sms = 0;
	if (!pipesim_trace_select(messages, &wish, c->notices, error))
		return FALSE;
	const guint n = messages->len;
	g_autofree gint64 *size = g_new(gint64, n);
	g_autofree gint64 *time = g_new(gint64, n);
	for (guint i = 0; i < n; i++) {
		const PipesimTraceGroup *group = g_ptr_array_index(messages, i);
		size[i] = group->what.payload_bytes;
		time[i] = group->figures.median;
		if (n == 1 || size[i] == bytes)
			record(c, group, &group->figures);
		if (exact == NULL && size[i] == bytes)
			exact = group;
		if (largest == NULL || size[i] > largest->what.payload_bytes)
			largest = group;
	}
	const gboolean fitted = pipesim_fit_line(&fit, size, time, n, TRUE) && fit.slope > 0;
	if (fitted) {
		costs->link_latency = (gint64)llround(MAX(0, fit.base));
		costs->link_bandwidth = (gint64)llround(MIN(1e9 / fit.slope, 9e18));
	}
	if (exact != NULL) {
		costs->p2p = exact->figures.median;
	} else if (fitted && bytes > 0) {
		costs->p2p = costs->link_latency +
			     pipesim_time_scale(bytes, 1000000000, costs->link_bandwidth);
		pipesim_notice(c->notices,
			"P2P of %" G_GINT64_FORMAT " bytes follows from the latency and "
			"bandwidth fitted to %u other sizes",
			bytes, n);
	} else {
		costs->p2p = largest->figures.median;
		if (largest->what.payload_bytes >= 0)
			pipesim_notice(c->notices,
				"P2P is that of the largest message measured, %" G_GINT64_FORMAT
				" bytes",
				largest->what.payload_bytes);
	}
	if (strstr(largest->what.impl, "loopback") != NULL)
		pipesim_notice(c->notices,
			"P2P was measured as a copy inside one GPU, not over a link");
	return TRUE;
}

/* Sets what each rank took against the mean, where every one of 2 to PIPESIM_MAX_MEASURED_RANKS
 * ranks measured all that was chosen. */
static void set_ranks(PipesimCosts *costs, const GPtrArray *chosen)
{
	g_autoptr(GArray) origins = g_array_new(FALSE, FALSE, sizeof(gint64));
	g_autoptr(GHashTable) known = g_hash_table_new(g_int64_hash, g_int64_equal);
	gint64 mean = 0;

	if (chosen->len == 0)
		return;
	/* In order of first appearance. */
	const PipesimTraceGroup *first = g_ptr_array_index(chosen, 0);
	pipesim_each (PipesimRepetition, repetition, first->repetitions)
		if (repetition->kept && g_hash_table_add(known, &repetition->origin))
			g_array_append_val(origins, repetition->origin);
	const guint n = origins->len;
	g_autofree gint64 *totals = g_new0(gint64, MAX(n, 1u));
	for (guint i = 0; i < n; i++) {
		for (guint k = 0; k < chosen->len; k++) {
			PipesimDistribution figures;
			if (!pipesim_trace_group_figures(g_ptr_array_index(chosen, k),
				    G_STRUCT_OFFSET(PipesimRepetition, service),
				    g_array_index(origins, gint64, i), &figures) ||
				figures.median > PIPESIM_MAX_TIME_NS / chosen->len)
				return;
			totals[i] += figures.median;
		}
		mean += totals[i] / n;
	}
	if (n < 2 || n > PIPESIM_MAX_MEASURED_RANKS || mean == 0)
		return;
	for (guint i = 0; i < n; i++)
		totals[i] = pipesim_time_scale(totals[i], PIPESIM_PPM, mean);
	costs->measured_ranks = g_steal_pointer(&totals);
	costs->n_measured_ranks = n;
}

/* The whole ----------------------------------------------------------------------------------- */

/* The first device that a trace names, or NULL. */
static const char *find_device(const Calibrating *c)
{
	const char *device = NULL;

	for (guint t = 0; t < c->n_traces && device == NULL; t++)
		device = pipesim_trace_get(c->traces[t], "device_name");
	return device;
}

static gboolean run(Calibrating *c, GError **error)
{
	const gint64 *time = c->costs->time;
	const char *device = find_device(c);
	g_autoptr(GString) source = g_string_new(device != NULL ? device : "unknown device");
	GHashTableIter iter;
	gpointer component, impl;

	/* A wish that meets nothing is a slip of the pen: --impl atn=cudnn. */
	if (c->wish.impl != NULL) {
		g_hash_table_iter_init(&iter, c->wish.impl);
		while (g_hash_table_iter_next(&iter, &component, &impl))
			if (!has(c->groups, component, NULL, ANY_PHASE))
				return pipesim_refuse(error,
					"--impl: no component '%s' was measured as '%s'",
					(const char *)component, (const char *)impl);
	}
	pipesim_trace_wish_load_mode(&c->wish, c->groups, c->notices);
	if (!choose_components(c, error))
		return FALSE;
	/* Whether what was chosen are ops of a run of several stages. */
	const gboolean several =
		c->joined->stages > 1 &&
		!pipesim_any_in(const PipesimTraceGroup, group, c->chosen,
			group->what.stage < 0 || group->what.stage >= c->joined->stages);
	if (several) {
		c->parts = g_array_sized_new(
			FALSE, TRUE, sizeof(gint64), c->joined->stages * PIPESIM_FB);
		g_array_set_size(c->parts, c->joined->stages * PIPESIM_FB);
		if (pipesim_trace_get_count(c->traces[0], "layers_per_chunk") > 0)
			c->layers_per_chunk =
				MIN(c->layers_per_chunk * c->joined->chunks, G_MAXINT32);
	}
	const PipesimTraceGroup *first =
		c->chosen->len > 0 ? g_ptr_array_index(c->chosen, 0) : NULL;
	if (c->layers == 0) {
		c->layers = c->layers_per_chunk;
		/* A measured stage is what it is; layers can be repeated. */
		if (c->whole > 1 && !several && first != NULL && !first->what.whole_chunk)
			c->layers = (c->layers + c->whole - 1) / c->whole * c->whole;
		if (c->layers > c->layers_per_chunk)
			pipesim_notice(c->notices,
				"the trace has %" G_GINT64_FORMAT
				" layer%s a rank; %" G_GINT64_FORMAT
				" are simulated, so that every stage has whole layers "
				"(--layers)",
				c->layers_per_chunk, c->layers_per_chunk == 1 ? "" : "s",
				c->layers);
	}
	pipesim_stage_times_notice(c->joined, c->notices);
	if (!pipesim_stage_times_figure(c->traces, c->n_traces, &c->out->means, error) ||
		!add_up(c, error) || !add_pair(c, error) || !add_link(c, error) ||
		(c->parts != NULL && !pipesim_stage_times_set(c->joined, c->parts,
					     c->traces[0]->path, c->costs, c->notices, error)))
		return FALSE;
	if (time[PIPESIM_FB] > PIPESIM_MAX_TIME_NS)
		return pipesim_refuse(error,
			"FB adds up to more than %" G_GINT64_FORMAT " ns; fewer layers",
			PIPESIM_MAX_TIME_NS);
	set_ranks(c->costs, c->chosen);
	const gint64 both = time[PIPESIM_F] + time[PIPESIM_B];
	if (c->costs->has_pair && time[PIPESIM_FB] > both) {
		pipesim_notice(c->notices,
			"the overlapped pair takes longer than F and B one after the other: %s "
			"against %s ms",
			pipesim_ms_fixed(time[PIPESIM_FB], 3), pipesim_ms_fixed(both, 3));
		c->out->long_pair = c->notices->len;
	}
	/* Whole chunks that nobody counted the layers of have an unknown number. */
	if (c->layers > 1 || first == NULL || !first->what.whole_chunk)
		c->costs->layers = (guint)c->layers;
	/* Ranks of a node may share a file. */
	for (guint t = 0; t < c->n_traces; t++)
		if (t == 0 || !g_str_equal(c->traces[t]->path, c->traces[t - 1]->path))
			g_string_append_printf(
				source, "%s%s", t == 0 ? ", " : " + ", c->traces[t]->path);
	if (c->costs->layers > 0)
		g_string_append_printf(source, ", %u layer%s", c->costs->layers,
			c->costs->layers == 1 ? "" : "s");
	c->costs->source = g_string_free(g_steal_pointer(&source), FALSE);
	pipesim_trace_tell_layer(c->traces[0], &c->costs->measured);
	return TRUE;
}

PipesimCalibration *pipesim_calibrate(PipesimTrace *const *traces, guint n,
	const PipesimCalibrateOptions *options, GError **error)
{
	g_autoptr(PipesimCalibration) result = g_new0(PipesimCalibration, 1);
	g_auto(PipesimJoined) joined = {0};
	Calibrating c = {.traces = traces, .n_traces = n, .joined = &joined, .out = result};

	result->chosen = c.chosen = g_ptr_array_new();
	result->costs = c.costs = pipesim_costs_new(0, 0, 0, -1, 0, NULL);
	result->notices = c.notices = g_ptr_array_new_with_free_func(g_free);
	c.costs->components =
		g_ptr_array_new_with_free_func((GDestroyNotify)pipesim_component_free);
	if (!pipesim_join(traces, n, &joined, error))
		return NULL;
	result->rows = pipesim_sum(t, n, traces[t]->rows->len);
	result->tells_beside = pipesim_beside_measure(traces, n, &result->beside);
	c.groups = result->groups = pipesim_trace_groups(traces, n, result->dropped);
	c.layers_per_chunk =
		CLAMP(pipesim_trace_get_count(traces[0], "layers_per_chunk"), 1, G_MAXINT32);
	c.weights = weights_of(traces, n);
	c.layers = options->layers;
	c.whole = options->whole;
	c.wish = options->wish;
	if (c.wish.tokens == 0)
		c.wish.tokens = pipesim_trace_get_count(traces[0], "tokens");
	const char *first = find_device(&c);
	for (guint t = 0; t < n; t++) {
		const PipesimTrace *trace = traces[t];
		const char *complete = pipesim_trace_get(trace, "complete");
		const char *device = pipesim_trace_get(trace, "device_name");
		if (g_strcmp0(complete, "0") == 0)
			pipesim_notice(
				c.notices, "%s: the capture was interrupted", trace->path);
		if (device != NULL && !g_str_equal(device, first))
			pipesim_notice(
				c.notices, "%s is of another device, %s", trace->path, device);
		pipesim_each_in (const char, notice, trace->notices)
			pipesim_notice(c.notices, "%s", notice);
		pipesim_each_in (const char, notice, trace->coverage)
			pipesim_notice(c.notices, "%s", notice);
	}
	gboolean ok = run(&c, error);
	result->stages = c.parts != NULL ? joined.stages : 0;
	result->ranks = joined.ranks;
	result->message_bytes = message_bytes(&c);
	g_clear_pointer(&c.parts, g_array_unref);
	return ok ? g_steal_pointer(&result) : NULL;
}

/* Most that repetitions of a backward and its forward may differ by: a profile may begin or end
 * within a step. */
#define MOST_UNPAIRED 10 /* % */

/* Expressions that take in too much or too little show in the spread, and in forwards without their backwards. */
gboolean pipesim_calibration_check_named(const PipesimCalibration *calibration, GError **error)
{
	const GPtrArray *components = calibration->costs->components;
	static const char *const backwards[] = {"B", "I", "W"};

	pipesim_each_in (const PipesimComponent, component, components) {
		const PipesimDistribution *figures = &component->figures;

		if (figures->sd > figures->mean)
			return pipesim_refuse(error,
				"--map: %s %s takes %.3f ms with a spread of %.0f %%: its "
				"rules take in what is not alike; name it apart",
				component->component, component->phase, figures->median / 1e6,
				100.0 * (double)figures->sd / (double)figures->mean);
		for (guint k = 0;
			g_str_equal(component->phase, "F") && k < G_N_ELEMENTS(backwards);
			k++) {
			const PipesimComponent *backward = find_component(
				components, component->component, backwards[k], NULL);
			const guint there = figures->samples + component->dropped;
			const guint back =
				backward != NULL ? backward->figures.samples + backward->dropped
						 : there;

			if (100 * (guint64)MAX(there, back) >
				(100 + MOST_UNPAIRED) * (guint64)MIN(there, back))
				return pipesim_refuse(error,
					"--map: %s has %u F and %u %s: each micro-batch has "
					"one "
					"of each; correct the rules, or profile whole steps",
					component->component, there, back, backwards[k]);
		}
	}
	return TRUE;
}
