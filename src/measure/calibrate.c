#include "config.h"

#include "measure/calibrate-parts.h"
#include "measure/trace-read.h"

void pipesim_calibrate_options_init(PipesimCalibrateOptions *options)
{
	*options = (PipesimCalibrateOptions){.wish.tokens = PIPESIM_UNKNOWN};
}

void pipesim_calibration_free(PipesimCalibration *calibration)
{
	if (calibration == NULL)
		return;
	pipesim_costs_free(calibration->costs);
	g_ptr_array_unref(calibration->notices);
	g_free(calibration);
}

void pipesim_calibrate_note(PipesimCalibrating *c, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	g_ptr_array_add(c->notices, g_strdup_vprintf(format, args));
	va_end(args);
}

GPtrArray *pipesim_calibrate_list(const PipesimCalibrating *c,
	gboolean (*wanted)(const PipesimTraceGroup *group, gconstpointer data),
	gconstpointer data)
{
	GPtrArray *list = g_ptr_array_new();

	for (guint i = 0; i < c->groups->len; i++) {
		PipesimTraceGroup *group = g_ptr_array_index(c->groups, i);
		if (group->measured && wanted(group, data))
			g_ptr_array_add(list, group);
	}
	return list;
}

gint64 pipesim_calibrate_time(
	const PipesimCalibrating *c, const PipesimTraceGroup *group, gint64 ns)
{
	return pipesim_time_scale(ns, c->layers, group->whole_chunk ? c->layers_per_chunk : 1);
}

/* Median of what is known of it; PIPESIM_UNKNOWN where nothing is. */
static gint64 median_known(const GArray *values)
{
	g_autofree gint64 *known = g_new(gint64, values->len);
	guint n = 0;

	for (guint i = 0; i < values->len; i++) {
		const gint64 value = g_array_index(values, gint64, i);
		if (value >= 0)
			known[n++] = value;
	}
	if (n == 0)
		return PIPESIM_UNKNOWN;
	PipesimDistribution figures;
	pipesim_distribution_init(&figures, known, n);
	return figures.median;
}

static gint64 busy_mean(const PipesimTraceGroup *group, const PipesimDistribution *figures)
{
	PipesimDistribution busy;

	if (group->busy->len == 0 || group->role == PIPESIM_ROLE_PAIR)
		return figures->mean;
	pipesim_distribution_init(
		&busy, (const gint64 *)(gpointer)group->busy->data, group->busy->len);
	return busy.mean;
}

/* What experts take grows with the rows they get: a line through every repetition. What else a
 * chunk does would hide it, and so would the differences between GPUs. */
static void fit_rows(PipesimComponent *component, const PipesimTraceGroup *group)
{
	PipesimFit fit;

	component->rows = median_known(group->rows);
	if (group->role != PIPESIM_ROLE_COMPUTE || component->rows <= 0 ||
		g_str_equal(group->component, "chunk"))
		return;
	if (!pipesim_fit_line(&fit, (const gint64 *)(gpointer)group->fit_rows->data,
		    (const gint64 *)(gpointer)group->fit_service->data, group->fit_rows->len,
		    FALSE))
		return;
	component->fit = fit;
}

PipesimComponent *pipesim_calibrate_record(PipesimCalibrating *c,
	const PipesimTraceGroup *group, const PipesimDistribution *figures)
{
	PipesimComponent *component = g_new0(PipesimComponent, 1);

	component->component =
		group->chunk[0] != '\0' && !g_str_equal(group->chunk, "0")
			? g_strdup_printf("%s %s", group->component, group->chunk)
			: g_strdup(group->component);
	component->phase = g_strdup(pipesim_phase_name(group->phase));
	component->impl = pipesim_trace_group_label(group);
	component->dropped = group->dropped;
	component->figures = *figures;
	component->busy_mean = busy_mean(group, figures);
	component->move = median_known(group->move);
	component->wait = median_known(group->wait);
	fit_rows(component, group);
	g_ptr_array_add(c->costs->components, component);
	return component;
}

static gboolean was_chosen(
	const PipesimCalibrating *c, const PipesimTraceGroup *like, guint8 phase)
{
	for (guint i = 0; i < c->chosen->len; i++) {
		const PipesimTraceGroup *group = g_ptr_array_index(c->chosen, i);
		if (g_str_equal(group->component, like->component) &&
			g_str_equal(group->chunk, like->chunk) && group->phase == phase)
			return TRUE;
	}
	return FALSE;
}

/* A full backward counts as such, and as I and W where those were not measured. */
static void add_backward(
	PipesimCalibrating *c, const PipesimTraceGroup *group, gint64 time, gint64 *sum)
{
	sum[PIPESIM_B] += time;
	if (was_chosen(c, group, PIPESIM_I))
		return;
	sum[PIPESIM_I] += time / 2;
	sum[PIPESIM_W] += time - time / 2;
	pipesim_calibrate_note(c,
		"%s%s%s: only its full backward was measured, halved into I and W: schedules "
		"that "
		"split the backward are guesses",
		group->component, group->chunk[0] != '\0' ? " " : "", group->chunk);
}

static gboolean check_sum(const gint64 *sum, GError **error)
{
	for (guint kind = 0; kind <= PIPESIM_B; kind++)
		if (sum[kind] < 0 || sum[kind] > PIPESIM_MAX_TIME_NS)
			return pipesim_fail(error, PIPESIM_ERROR_USAGE,
				"%s adds up to more than %" G_GINT64_FORMAT " ns; fewer layers",
				pipesim_phase_name(kind), PIPESIM_MAX_TIME_NS);
	return TRUE;
}

/* F, I, W and B from what was chosen. Groups are few and each is at most PIPESIM_MAX_TIME_NS
 * times layers saturated, so that sums stop at the check before they can wrap. */
static gboolean add_up(PipesimCalibrating *c, GError **error)
{
	gint64 sum[PIPESIM_N_KINDS] = {0};

	for (guint i = 0; i < c->chosen->len; i++) {
		const PipesimTraceGroup *group = g_ptr_array_index(c->chosen, i);
		const gint64 time = MIN(pipesim_calibrate_time(c, group, group->figures.median),
			PIPESIM_MAX_TIME_NS + 1);

		pipesim_calibrate_record(c, group, &group->figures);
		if (group->phase == PIPESIM_B)
			add_backward(c, group, time, sum);
		else
			sum[group->phase] += time;
		if ((group->phase == PIPESIM_I || group->phase == PIPESIM_W) &&
			!was_chosen(c, group, PIPESIM_B))
			sum[PIPESIM_B] += time;
		if (!check_sum(sum, error))
			return FALSE;
	}
	for (guint kind = 0; kind <= PIPESIM_B; kind++)
		c->costs->time[kind] = sum[kind];
	c->costs->time[PIPESIM_FB] = sum[PIPESIM_F] + sum[PIPESIM_B];
	return TRUE;
}

/* The first device that a trace names, or NULL. */
static const char *find_device(const PipesimCalibrating *c)
{
	const char *device = NULL;

	for (guint t = 0; t < c->n_traces && device == NULL; t++)
		device = pipesim_trace_get(c->traces[t], "device_name");
	return device;
}

static char *describe_source(const PipesimCalibrating *c)
{
	const char *device = find_device(c);
	GString *source = g_string_new(device != NULL ? device : "unknown device");

	for (guint t = 0; t < c->n_traces; t++)
		g_string_append_printf(
			source, "%s%s", t == 0 ? ", " : " + ", c->traces[t]->path);
	if (c->costs->layers > 0)
		g_string_append_printf(source, ", %u layer%s", c->costs->layers,
			c->costs->layers == 1 ? "" : "s");
	return g_string_free(source, FALSE);
}

static void note_traces(PipesimCalibrating *c)
{
	const char *first = find_device(c);

	for (guint t = 0; t < c->n_traces; t++) {
		const PipesimTrace *trace = c->traces[t];
		const char *complete = pipesim_trace_get(trace, "complete");
		const char *device = pipesim_trace_get(trace, "device_name");
		if (g_strcmp0(complete, "0") == 0)
			pipesim_calibrate_note(
				c, "%s: the capture was interrupted", trace->path);
		if (device != NULL && !g_str_equal(device, first))
			pipesim_calibrate_note(
				c, "%s is of another device, %s", trace->path, device);
		for (guint i = 0; i < trace->notices->len; i++)
			pipesim_calibrate_note(
				c, "%s", (char *)g_ptr_array_index(trace->notices, i));
	}
}

static void init_layers(PipesimCalibrating *c, const PipesimCalibrateOptions *options)
{
	const gint64 told = pipesim_trace_get_count(c->traces[0], "layers_per_chunk");

	c->layers_per_chunk = CLAMP(told, 1, G_MAXINT32);
	c->layers = options->layers > 0 ? options->layers : c->layers_per_chunk;
	c->wish = options->wish;
	if (c->wish.tokens == PIPESIM_UNKNOWN)
		c->wish.tokens = pipesim_trace_get_count(c->traces[0], "tokens");
}

/* Whole chunks that nobody counted the layers of have an unknown number. */
static gboolean layers_told(const PipesimCalibrating *c)
{
	return c->layers > 1 || c->chosen->len == 0 ||
	       !((const PipesimTraceGroup *)g_ptr_array_index(c->chosen, 0))->whole_chunk;
}

static void note_slow_pair(PipesimCalibrating *c)
{
	const gint64 *time = c->costs->time;
	const gint64 both = time[PIPESIM_F] + time[PIPESIM_B];
	PipesimNumber pair, serial;

	if (c->costs->has_pair && time[PIPESIM_FB] > both)
		pipesim_calibrate_note(c,
			"the overlapped pair takes longer than F and B one after the other: %s "
			"against %s ms",
			pipesim_print_ms_fixed(pair, time[PIPESIM_FB], 3),
			pipesim_print_ms_fixed(serial, both, 3));
}

/* A wish that meets nothing is a slip of the pen: --impl atn=cudnn. */
static gboolean demand_wished(const PipesimCalibrating *c, GError **error)
{
	GHashTableIter iter;
	gpointer component, impl;

	if (c->wish.impl == NULL)
		return TRUE;
	g_hash_table_iter_init(&iter, c->wish.impl);
	while (g_hash_table_iter_next(&iter, &component, &impl)) {
		gboolean found = FALSE;

		for (guint i = 0; i < c->groups->len && !found; i++) {
			const PipesimTraceGroup *group = g_ptr_array_index(c->groups, i);
			found = g_str_equal(group->component, component);
		}
		if (!found)
			return pipesim_fail(error, PIPESIM_ERROR_USAGE,
				"'%s' is wanted as '%s', but no such component was measured",
				(const char *)component, (const char *)impl);
	}
	return TRUE;
}

static gboolean run(PipesimCalibrating *c, GError **error)
{
	if (!demand_wished(c, error))
		return FALSE;
	pipesim_calibrate_split_load_mode(c);
	if (!pipesim_calibrate_components(c, error) || !add_up(c, error) ||
		!pipesim_calibrate_pair(c, error) || !pipesim_calibrate_link(c, error))
		return FALSE;
	if (c->costs->time[PIPESIM_FB] > PIPESIM_MAX_TIME_NS)
		return pipesim_fail(error, PIPESIM_ERROR_USAGE,
			"FB adds up to more than %" G_GINT64_FORMAT " ns; fewer layers",
			PIPESIM_MAX_TIME_NS);
	pipesim_calibrate_ranks(c);
	note_slow_pair(c);
	c->costs->layers = layers_told(c) ? (guint)c->layers : 0;
	c->costs->source = describe_source(c);
	return TRUE;
}

PipesimCalibration *pipesim_calibrate(PipesimTrace *const *traces, guint n,
	const PipesimCalibrateOptions *options, GError **error)
{
	g_autoptr(PipesimCalibration) result = g_new0(PipesimCalibration, 1);
	g_autoptr(GPtrArray) groups = NULL;
	g_autoptr(GPtrArray) chosen = g_ptr_array_new();
	PipesimCalibrating c = {.traces = traces, .n_traces = n, .chosen = chosen};

	result->costs = c.costs = pipesim_costs_new(0, 0, 0, -1, 0, NULL);
	result->notices = c.notices = g_ptr_array_new_with_free_func(g_free);
	c.costs->components =
		g_ptr_array_new_with_free_func((GDestroyNotify)pipesim_component_free);
	for (guint t = 0; t < n; t++)
		result->rows += traces[t]->rows->len;
	c.groups = groups = pipesim_trace_groups(traces, n, result->dropped);
	init_layers(&c, options);
	note_traces(&c);
	return run(&c, error) ? g_steal_pointer(&result) : NULL;
}

PipesimCalibration *pipesim_costs_from_traces(const char *const *paths,
	const PipesimRangeRules *rules, const PipesimCalibrateOptions *options, GError **error)
{
	g_autoptr(GPtrArray) traces =
		g_ptr_array_new_with_free_func((GDestroyNotify)pipesim_trace_free);

	for (guint i = 0; paths[i] != NULL; i++) {
		PipesimTrace *trace = pipesim_trace_read(paths[i], rules, error);
		if (trace == NULL)
			return NULL;
		g_ptr_array_add(traces, trace);
	}
	return pipesim_calibrate(
		(PipesimTrace *const *)traces->pdata, traces->len, options, error);
}
