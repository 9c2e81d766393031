#include "effects/effects.h"
#include "effects/launches.h"
#include "measure/reader.h"

/* Differences that are noise, ppm: of a ratio to 1, and of a median to another. */
#define NOISE   5000
#define NOTABLE 20000
/* No chip has more. */
#define MOST_SMS 100000

typedef struct {
	PipesimTrace *const *traces;
	guint n;
	const PipesimCalibration *calibration;
	const GPtrArray *chosen; /* its */
	PipesimCosts *costs;
	GPtrArray *notices;
	PipesimEffects *effects;
	const char *whole; /* component that is all of a micro-batch; NULL = all are */
} Task;

PIPESIM_FREES(PipesimEffects, pipesim_effects_free, effects)
{
	pipesim_power_fit_free(effects->power);
	pipesim_contention_fit_free(effects->contention);
	g_free(effects);
}

/* Whether @trace has rows of some series, or of none; those of @component alone (NULL: of any) and not of replays. */
static gboolean has_rows(const PipesimTrace *trace, gboolean series, const char *component)
{
	return pipesim_any_of(const PipesimTraceRow, row, trace->rows,
		(row->what.series != PIPESIM_SERIES_NONE) == series &&
			(component == NULL ||
				(row->what.series != PIPESIM_SERIES_REPLAY &&
					g_str_equal(row->what.component, component))));
}

/* Kinds from components --------------------------------------------------------------------- */

/* A figure of a component and phase. */
typedef enum {
	FULL_SPEED,
	LOAD,
	WAITING, /* beside a receive that waits */
	MOVING,  /* beside a message that moves */
} Figure;

/* ppm; FALSE where it was not measured. */
static gboolean look_up(
	const Task *task, Figure figure, const char *component, guint phase, gint64 *ppm)
{
	if (figure == FULL_SPEED || figure == LOAD) {
		const PipesimPowerPart *part =
			pipesim_power_find(task->effects->power, component, phase);

		if (part != NULL)
			*ppm = figure == LOAD ? part->load : part->full_speed;
		return part != NULL;
	}
	const PipesimContentionPart *part = pipesim_contention_find(
		task->effects->contention, component, phase, figure == MOVING);

	if (part == NULL)
		return FALSE;
	if (part->ratio < PIPESIM_PPM - NOTABLE)
		pipesim_notice(task->notices,
			"%s %s takes %.1f %% less beside a %s than alone: no slowdown is "
			"assumed",
			component, pipesim_phase_name(phase),
			(double)(PIPESIM_PPM - part->ratio) / 1e4,
			figure == MOVING ? "message that moves" : "receive that waits");
	*ppm = CLAMP(part->ratio, PIPESIM_PPM, 10 * PIPESIM_PPM);
	return TRUE;
}

/* Components that are all of a micro-batch on a rank, or of a layer, the better first. */
static const char *const wholes[] = {"chunk", "layer"};

/* Of @kind that of a whole, else from what F, I, W and B are made of, by times; FALSE where more than half was not
 * measured, else @missing collects what was not. */
static gboolean look_up_kind(
	const Task *task, Figure figure, guint kind, GString *missing, gint64 *ppm)
{
	double time = 0, known = 0, sum = 0;
	g_autoptr(GString) lacks = g_string_new(NULL);

	for (guint i = 0; i < G_N_ELEMENTS(wholes); i++)
		if (look_up(task, figure, wholes[i], kind, ppm))
			return TRUE;
	pipesim_each_in (const PipesimTraceGroup, group, task->chosen) {
		const double median = (double)group->figures.median;
		gint64 value;

		if (group->what.phase != kind)
			continue;
		time += median;
		if (look_up(task, figure, group->what.component, kind, &value)) {
			known += median;
			sum += median * (double)value;
		} else {
			g_string_append_printf(lacks, ", %s %s", group->what.component,
				pipesim_phase_name(kind));
		}
	}
	if (known <= 0 || 2 * known < time)
		return FALSE;
	*ppm = (gint64)llround(sum / known);
	if (lacks->len > 0)
		g_string_append(missing, missing->len > 0 ? lacks->str : lacks->str + 2);
	return TRUE;
}

/* The mean of two kinds by their times. */
static gint64 between(const PipesimCosts *costs, const gint64 *ppm, guint a, guint b)
{
	const double time = (double)costs->time[a] + (double)costs->time[b];

	if (time <= 0)
		return (ppm[a] + ppm[b]) / 2;
	return (gint64)llround(((double)costs->time[a] * (double)ppm[a] +
				       (double)costs->time[b] * (double)ppm[b]) /
			       time);
}

/* Every kind: as measured, else as the kinds that it is made of or part of. FALSE where neither a forward
 * nor a backward was measured. */
static gboolean fill_kinds(
	const Task *task, Figure figure, const char *what, gint64 ppm[PIPESIM_N_KINDS])
{
	gboolean known[PIPESIM_N_KINDS];
	g_autoptr(GString) missing = g_string_new(NULL);

	for (guint kind = 0; kind < PIPESIM_N_KINDS; kind++)
		known[kind] = look_up_kind(task, figure, kind, missing, &ppm[kind]);
	const gboolean halves = known[PIPESIM_I] && known[PIPESIM_W];
	const gboolean back =
		halves || known[PIPESIM_B] || known[PIPESIM_I] || known[PIPESIM_W];

	if (!known[PIPESIM_F] && !back)
		return FALSE;
	if (missing->len > 0)
		pipesim_notice(task->notices,
			"%s was not measured for %s: the other ops of each kind stand for them",
			what, missing->str);
	if (!known[PIPESIM_B] && halves)
		ppm[PIPESIM_B] = between(task->costs, ppm, PIPESIM_I, PIPESIM_W);
	else if (!known[PIPESIM_B] && back)
		ppm[PIPESIM_B] = ppm[known[PIPESIM_I] ? PIPESIM_I : PIPESIM_W];
	else if (!known[PIPESIM_B])
		ppm[PIPESIM_B] = ppm[PIPESIM_F];
	if (!known[PIPESIM_F])
		ppm[PIPESIM_F] = ppm[PIPESIM_B];
	for (guint kind = PIPESIM_I; kind <= PIPESIM_W; kind++)
		if (!known[kind])
			ppm[kind] = ppm[PIPESIM_B];
	if (!known[PIPESIM_F] || !back)
		pipesim_notice(task->notices,
			"%s was measured for %s only: %s is assumed to be alike", what,
			known[PIPESIM_F] ? "forwards" : "backwards",
			known[PIPESIM_F] ? "a backward" : "a forward");
	if (!known[PIPESIM_FB])
		ppm[PIPESIM_FB] = between(task->costs, ppm, PIPESIM_F, PIPESIM_B);
	return TRUE;
}

/* Power --------------------------------------------------------------------------------------- */

/* Why there is no [power]. */
static void tell_verdict(const Task *task)
{
	static const char *const why[PIPESIM_POWER_INDEPENDENT + 1] = {
		[PIPESIM_POWER_ABSENT] =
			"no history of ops and pauses (series governor) was measured: ops are "
			"taken to last as long whatever their chip did before",
		[PIPESIM_POWER_NO_PAUSES] =
			"the governor series has no pause of 5 ms or more: nothing shows how a "
			"chip recovers; capture it again with pauses",
		[PIPESIM_POWER_NO_WORK] =
			"the governor series never works for 200 ms without a pause: nothing "
			"shows the sustained speed; capture it again with long bursts",
	};
	const PipesimPowerFit *fit = task->effects->power;

	if (why[fit->verdict] != NULL)
		pipesim_notice(task->notices, "%s", why[fit->verdict]);
	else if (fit->verdict == PIPESIM_POWER_FEW_OPS)
		pipesim_notice(task->notices,
			"the governor series is cut short: %u ops in %u bursts, too few to fit "
			"power to; capture it again, or more of it",
			fit->ops, fit->bursts);
	else if (fit->verdict == PIPESIM_POWER_INDEPENDENT)
		pipesim_notice(task->notices,
			"op times do not depend on idle time before them (the best fit "
			"explains %.1f %% of the variance in bursts it was not fitted to): "
			"power did not limit this chip, and the sustained times are used",
			(double)MAX(fit->held_out, 0) / 1e4);
}

/* What in a fit is not as it should be. */
static void tell_oddities(const Task *task)
{
	const PipesimPowerFit *fit = task->effects->power;
	gboolean clocks = FALSE;

	pipesim_each (const PipesimPowerPart, part, fit->parts) {
		const char *phase = pipesim_phase_name(part->phase);

		if (part->n > 0 && part->reversed > NOISE)
			pipesim_notice(task->notices,
				"%s %s is %.1f %% slower after idling than under load, so "
				"power is not the cause; its sustained time is used throughout",
				part->component, phase, (double)part->reversed / 1e4);
		if (part->n > 0 && 2 * part->bent > 3 * NOISE)
			pipesim_notice(task->notices,
				"%s %s does not slow down evenly with load: parts of the range "
				"are %.1f %% off the fit",
				part->component, phase, (double)part->bent / 1e4);
	}
	for (guint t = 0; t < task->n; t++)
		pipesim_each (const PipesimTraceRow, row, task->traces[t]->rows)
			clocks |= row->what.series == PIPESIM_SERIES_GOVERNOR &&
				  row->clock != PIPESIM_UNKNOWN;
	if (!clocks)
		pipesim_notice(task->notices, "the governor series has no clocks (clk_sm_mhz): "
					      "that times follow them cannot be checked");
	else if (fit->verdict == PIPESIM_POWER_FITTED && fit->rested_clock > 0 &&
		 fit->rested_clock <= fit->loaded_clock)
		pipesim_notice(task->notices,
			"the clock of the SMs was not higher after pauses (%" G_GINT64_FORMAT
			" MHz) than under load (%" G_GINT64_FORMAT
			" MHz), though ops were faster: something other than power may recover "
			"in pauses",
			fit->rested_clock, fit->loaded_clock);
}

/* Sustained times of the histories against those that costs are made of, kind by kind. */
static void compare_sustained(const Task *task)
{
	for (guint kind = 0; kind <= PIPESIM_B; kind++) {
		const PipesimPowerPart *whole =
			task->whole != NULL
				? pipesim_power_find(task->effects->power, task->whole, kind)
				: NULL;
		double rows = 0, series = whole != NULL ? (double)whole->sustained : 0, ratio;

		pipesim_each_in (const PipesimTraceGroup, group, task->chosen) {
			const PipesimPowerPart *part = pipesim_power_find(
				task->effects->power, group->what.component, kind);

			/* Of several stages the histories show one. */
			if (group->what.phase != kind || group->what.stage >= 0 ||
				(whole == NULL && part == NULL))
				continue;
			rows += (double)group->figures.median;
			series += whole == NULL ? (double)part->sustained : 0;
		}
		ratio = rows > 0 ? series / rows - 1 : 0;
		if (fabs(ratio) * PIPESIM_PPM > NOTABLE)
			pipesim_notice(task->notices,
				"%s takes %.1f %% %s in the governor series, sustained, than "
				"in the rows that times are made of",
				pipesim_phase_name(kind), 100 * fabs(ratio),
				ratio > 0 ? "longer" : "less");
	}
}

static void set_power(const Task *task)
{
	const PipesimPowerFit *fit = task->effects->power;
	PipesimPower *power = pipesim_power_new();
	gint64 watts = 0;

	for (guint t = 0; t < task->n; t++) {
		const char *device = pipesim_trace_get(task->traces[t], "device_name");
		const char *text = pipesim_trace_get(task->traces[t], "power_limit_w");

		if (power->device == NULL)
			power->device = g_strdup(device);
		if (watts <= 0 && (text == NULL || pipesim_decimal_parse(text, strlen(text), 0,
							   &watts) != NULL))
			watts = 0;
	}
	power->limit = CLAMP(watts, 0, 100000);
	power->n_constants = 1;
	power->time_constant[0] = MAX(fit->time_constant, 1000);
	power->weight[0] = PIPESIM_PPM;
	power->threshold = fit->threshold;
	power->waiting_load = MAX(fit->waiting_load, 0);
	power->explained = fit->explained;
	power->residual = fit->after;
	if (!fill_kinds(task, FULL_SPEED, "full speed", power->full_speed) ||
		!fill_kinds(task, LOAD, "load", power->load)) {
		pipesim_notice(task->notices, "the governor series has no op that times are "
					      "made of: power is left out");
		pipesim_power_free(power);
		return;
	}
	if (fit->waiting_load == PIPESIM_UNKNOWN)
		pipesim_notice(task->notices, "no history has pauses in a waiting receive: no "
					      "power is assumed for it");
	pipesim_power_free(task->costs->power);
	task->costs->power = power;
}

static gboolean add_power(const Task *task, GError **error)
{
	g_autoptr(PipesimHistories) histories =
		pipesim_histories_new(task->traces, task->n, error);

	if (histories == NULL)
		return FALSE;
	PipesimPowerFit *fit =
		pipesim_power_fit(histories, task->calibration->means, task->whole);
	task->effects->power = fit;
	tell_verdict(task);
	if (fit->verdict == PIPESIM_POWER_FITTED || fit->verdict == PIPESIM_POWER_INDEPENDENT) {
		tell_oddities(task);
		compare_sustained(task);
		set_power(task);
	}
	return TRUE;
}

/* Contention ----------------------------------------------------------------------------------- */

static gboolean add_contention(const Task *task, gint64 sms, GError **error)
{
	PipesimContentionFit *fit = pipesim_contention_fit(
		task->traces, task->n, task->calibration->message_bytes, sms);
	PipesimContention *contention;

	task->effects->contention = fit;
	if (sms > 0 && fit->impl[FALSE] == NULL)
		return pipesim_refuse(error,
			"%" G_GINT64_FORMAT " SMs of a waiting receive are asked for, but "
			"nothing was measured beside one (series resident)",
			sms);
	if (fit->lonely > 0)
		pipesim_notice(task->notices,
			"%u rows beside a receive or a message are of ops that were not "
			"measured alone: they are not used",
			fit->lonely);
	contention = pipesim_contention_new();
	gboolean waits = fit->impl[FALSE] != NULL &&
			 fill_kinds(task, WAITING, "receive contention", contention->slowdown);
	gboolean moves =
		fit->impl[TRUE] != NULL &&
		fill_kinds(task, MOVING, "slowdown beside a message", contention->moving);
	if (!waits)
		pipesim_notice(task->notices,
			"nothing was measured beside a waiting receive (series "
			"resident): receives are assumed to slow nothing");
	else if (!g_str_equal(fit->impl[FALSE], "nccl"))
		pipesim_notice(task->notices,
			"NCCL's own waiting receive was not measured: what slows ops is a "
			"kernel that waits on %" G_GINT64_FORMAT " SMs",
			fit->sms[FALSE]);
	if (waits && !moves)
		pipesim_notice(task->notices,
			"nothing was measured beside a message that moves "
			"(series moving): messages are assumed to slow nothing");
	contention->sms = CLAMP(fit->sms[FALSE], 0, MOST_SMS);
	if (!waits && !moves) {
		g_free(contention);
		return TRUE;
	}
	g_free(task->costs->contention);
	task->costs->contention = contention;
	return TRUE;
}

/* Without series, what profiles show of ops beside messages. */
static void add_beside(const Task *task)
{
	const PipesimBeside *beside = &task->calibration->beside;
	PipesimContentionFit *fit = pipesim_contention_fit(NULL, 0, PIPESIM_UNKNOWN, 0);
	PipesimContention *contention = pipesim_contention_new();
	g_autoptr(GString) guessed = g_string_new(NULL);

	for (guint kind = 0; kind < PIPESIM_N_KINDS; kind++) {
		const PipesimContentionPart part = {.component = "chunk",
			.phase = (guint8)kind,
			.impl = "nccl",
			.sms = PIPESIM_UNKNOWN,
			.bytes = PIPESIM_UNKNOWN,
			.alone = beside->alone[kind],
			.ratio = beside->ratio[kind],
			.n = beside->n[kind]};

		contention->slowdown[kind] = part.ratio;
		if (beside->n[kind] > 0)
			g_array_append_val(fit->parts, part);
		else if (beside->alone[kind] > 0)
			pipesim_list_more(guessed, "%s", pipesim_phase_name(kind));
	}
	fit->impl[FALSE] = "nccl";
	if (guessed->len > 0)
		pipesim_notice(task->notices,
			"what a receive costs beside %s is taken from the other ops",
			guessed->str);
	task->effects->contention = fit;
	g_free(task->costs->contention);
	task->costs->contention = contention;
}

/* Metadata ------------------------------------------------------------------------------------ */

/* Into *@out, for g_free(), @n whole numbers from @least to @most, separated by ;, at @key of the first trace that has
 * it: none where no trace has. */
static gboolean read_list(const Task *task, const char *key, gint64 least, gint64 most,
	gint64 **out, guint *n, GError **error)
{
	const PipesimTrace *trace = NULL;

	*n = 0;
	for (guint t = 0; t < task->n && trace == NULL; t++)
		if (pipesim_trace_get(task->traces[t], key) != NULL)
			trace = task->traces[t];
	if (trace == NULL)
		return TRUE;
	g_auto(GStrv) items = g_strsplit(pipesim_trace_get(trace, key), ";", -1);
	*n = g_strv_length(items);
	*out = g_new(gint64, *n + 1);
	for (guint i = 0; i < *n; i++) {
		const char *item = g_strstrip(items[i]);
		const char *why = pipesim_decimal_parse(item, strlen(item), 0, &(*out)[i]);

		if (why == NULL &&
			(strpbrk(item, ".eE") != NULL || (*out)[i] < least || (*out)[i] > most))
			why = "out of range";
		if (why != NULL)
			return pipesim_fail_at(error, trace->path, 1, 1,
				"#%s: '%.80s' is %s; whole numbers from %" G_GINT64_FORMAT
				" to %" G_GINT64_FORMAT ", separated by ;",
				key, item, why, least, most);
	}
	return TRUE;
}

/* What GPUs take against their mean, where the capture compared them. */
static gboolean add_ranks(const Task *task, GError **error)
{
	PipesimCosts *costs = task->costs;
	g_autofree gint64 *ppm = NULL;
	guint n;

	if (!read_list(task, "rank_relative_ppm", 1, 100 * PIPESIM_PPM, &ppm, &n, error))
		return FALSE;
	if (n < 2 || n > PIPESIM_MAX_MEASURED_RANKS)
		return TRUE;
	g_free(costs->measured_ranks);
	costs->measured_ranks = g_steal_pointer(&ppm);
	costs->n_measured_ranks = n;
	return TRUE;
}

static gboolean add_bytes(const Task *task, GError **error)
{
	static const char *const keys[PIPESIM_N_BYTES] = {
		"stage_until_input_bytes", "stage_until_weight_bytes", "stage_parameter_bytes"};
	const guint stages = MAX(task->calibration->stages, 1);
	g_autoptr(GArray) parts = NULL;
	guint found = 0;

	for (guint sort = 0; sort < PIPESIM_N_BYTES; sort++) {
		g_autofree gint64 *bytes = NULL;
		guint n;

		if (!read_list(task, keys[sort], 0, PIPESIM_MAX_TIME_NS, &bytes, &n, error))
			return FALSE;
		if (n == 0)
			continue;
		if (n != stages)
			return pipesim_fail_at(error, task->traces[0]->path, 1, 1,
				"#%s: %u numbers, but ops of %u stage%s were measured; one for "
				"each stage",
				keys[sort], n, stages, stages == 1 ? "" : "s");
		found++;
		if (parts == NULL) {
			parts = g_array_new(FALSE, TRUE, sizeof(gint64));
			g_array_set_size(parts, stages * PIPESIM_N_BYTES);
		}
		for (guint stage = 0; stage < stages; stage++)
			g_array_index(parts, gint64, (gsize)stage * PIPESIM_N_BYTES + sort) =
				bytes[stage];
	}
	if (found > 0 && found < PIPESIM_N_BYTES)
		pipesim_notice(task->notices,
			"the capture does not have all of stage_until_input_bytes, "
			"stage_until_weight_bytes and stage_parameter_bytes: those that are "
			"missing count as 0");
	return parts == NULL || pipesim_costs_set_part_bytes(task->costs, parts,
					MAX(task->calibration->ranks, 1), error);
}

/* The whole ----------------------------------------------------------------------------------- */

/* Series of another chip than times are of would be nonsense. */
static gboolean check_devices(const Task *task, GError **error)
{
	const char *device = NULL, *of = NULL;

	for (guint t = 0; t < task->n && device == NULL; t++)
		if (has_rows(task->traces[t], FALSE, NULL)) {
			device = pipesim_trace_get(task->traces[t], "device_name");
			of = task->traces[t]->path;
		}
	for (guint t = 0; t < task->n; t++) {
		const PipesimTrace *trace = task->traces[t];
		const char *name = pipesim_trace_get(trace, "device_name");

		if (!has_rows(trace, TRUE, NULL))
			continue;
		task->effects->any = TRUE;
		if (name != NULL && device != NULL && !g_str_equal(name, device))
			return pipesim_refuse(error,
				"%s: its series are of '%s', but %s is of '%s': how a chip "
				"clocks is its own; give captures of one device",
				trace->path, name, of, device);
	}
	return TRUE;
}

PipesimEffects *pipesim_effects_calibrate(PipesimTrace *const *traces, guint n,
	PipesimCalibration *calibration, gint64 sms, GError **error)
{
	g_autoptr(PipesimEffects) effects = g_new0(PipesimEffects, 1);
	Task task = {traces, n, calibration, calibration->chosen, calibration->costs,
		calibration->notices, effects, NULL};

	if (!check_devices(&task, error) || !add_ranks(&task, error) ||
		!add_bytes(&task, error))
		return NULL;
	if (effects->any || sms != 0) {
		for (guint i = G_N_ELEMENTS(wholes); i-- > 0;)
			for (guint t = 0; t < n; t++)
				if (has_rows(traces[t], TRUE, wholes[i]))
					task.whole = wholes[i];
		if (!add_power(&task, error) || !add_contention(&task, sms, error))
			return NULL;
		pipesim_loops_calibrate(traces, n, task.costs, task.notices, &effects->loops);
	} else if (calibration->tells_beside) {
		add_beside(&task);
	}
	pipesim_launches_calibrate(traces, n, calibration->stages, task.costs, task.notices);
	return g_steal_pointer(&effects);
}

PipesimCalibration *pipesim_costs_from_traces(
	const char *const *paths, const PipesimCalibrateOptions *options, GError **error)
{
	g_autoptr(GPtrArray) traces = pipesim_traces_read(
		&(PipesimTraceFiles){.paths = paths, .progress = options->progress}, error);
	g_autoptr(PipesimEffects) effects = NULL;

	if (traces == NULL)
		return NULL;
	g_autoptr(PipesimCalibration) calibration = pipesim_calibrate(
		(PipesimTrace *const *)traces->pdata, traces->len, options, error);
	if (calibration != NULL)
		effects = pipesim_effects_calibrate((PipesimTrace *const *)traces->pdata,
			traces->len, calibration, 0, error);
	return effects != NULL ? g_steal_pointer(&calibration) : NULL;
}
