#include "effects/print.h"
#include "order/program.h"

static const char *const verdicts[] = {
	[PIPESIM_POWER_FITTED] = "fitted",
	[PIPESIM_POWER_ABSENT] = "absent",
	[PIPESIM_POWER_FEW_OPS] = "few-ops",
	[PIPESIM_POWER_NO_PAUSES] = "no-pauses",
	[PIPESIM_POWER_NO_WORK] = "no-work",
	[PIPESIM_POWER_INDEPENDENT] = "no-dependence",
};

static double percent(gint64 ppm)
{
	return (double)ppm / 1e4;
}

static double ratio(gint64 ppm)
{
	return (double)ppm / 1e6;
}

static double ms(gint64 ns)
{
	return (double)ns / 1e6;
}

static gboolean is_fitted(const PipesimEffects *effects)
{
	return effects->power != NULL &&
	       (effects->power->verdict == PIPESIM_POWER_FITTED ||
		       effects->power->verdict == PIPESIM_POWER_INDEPENDENT);
}

/* Text ----------------------------------------------------------------------------------------- */

static void append_power_parts(const PipesimPowerFit *fit, GString *out)
{
	g_string_append_printf(out, "  %-14s  %-5s  %6s  %12s  %10s  %8s  %5s  %7s  %7s\n",
		"component", "phase", "ops", "sustained ms", "full speed", "faster", "load",
		"spread", "left");
	pipesim_each (const PipesimPowerPart, part, fit->parts) {
		g_autofree char *name = pipesim_printable(part->component);

		if (part->n > 0)
			g_string_append_printf(out,
				"  %-14s  %-5s  %6u  %12.3f  %10.3f  %7.1f%%  %5.2f  %6.2f%%  "
				"%6.2f%%\n",
				name, pipesim_phase_name(part->phase), part->n,
				ms(part->sustained),
				ms(part->sustained) * ratio(part->full_speed),
				100 - percent(part->full_speed), ratio(part->load),
				percent(part->before), percent(part->after));
	}
}

static void append_power(const PipesimEffects *effects, const PipesimCosts *costs, GString *out)
{
	const PipesimPowerFit *fit = effects->power;

	g_string_append_printf(out,
		"\npower: %u ops in %u bursts of %u histories, %u GPU%s; left out %u that "
		"begin a burst, %u outliers, %u in slow spells\n",
		fit->ops, fit->bursts, fit->runs, fit->ranks, fit->ranks == 1 ? "" : "s",
		fit->first_ops, fit->outliers, fit->slow_outliers);
	g_string_append_printf(out,
		"  running load: a mean of %.1f ms; ops slow down from %.3f to 1\n",
		ms(fit->time_constant), ratio(fit->threshold));
	append_power_parts(fit, out);
	g_string_append_printf(out,
		"  spread %.2f%%, %.2f%% left: %.1f%% of the variance explained, %.1f%% in "
		"bursts not seen\n",
		percent(fit->before), percent(fit->after), percent(fit->explained),
		percent(fit->held_out));
	if (fit->waiting_load != PIPESIM_UNKNOWN)
		g_string_append_printf(
			out, "  a waiting receive draws %.2f\n", ratio(fit->waiting_load));
	if (fit->rested_clock >= 0 && fit->loaded_clock >= 0)
		g_string_append_printf(out,
			"  clock of the SMs: %" G_GINT64_FORMAT
			" MHz after idling, %" G_GINT64_FORMAT " MHz under load\n",
			fit->rested_clock, fit->loaded_clock);
	if (fit->loaded_power >= 0)
		g_string_append_printf(
			out, "  power: %.0f W under load", ratio(fit->loaded_power) * 1e3);
	if (fit->loaded_power >= 0 && costs->power != NULL && costs->power->limit > 0)
		g_string_append_printf(
			out, ", limit %" G_GINT64_FORMAT " W", costs->power->limit);
	if (fit->loaded_power >= 0)
		g_string_append_c(out, '\n');
}

static void append_thing(const PipesimContentionPart *part, GString *out)
{
	g_autofree char *impl = pipesim_printable(part->impl);

	g_string_append_printf(out, "%s%s%s", part->moving ? "message" : "receive",
		impl[0] != '\0' ? " of " : "", impl);
	if (part->sms > 0)
		g_string_append_printf(out, " on %" G_GINT64_FORMAT " SMs", part->sms);
	if (part->moving && part->bytes > 0)
		g_string_append_printf(out, ", %" G_GINT64_FORMAT " bytes", part->bytes);
}

static void append_contention(const PipesimContentionFit *fit, gboolean full, GString *out)
{
	if (fit->parts->len == 0)
		return;
	g_string_append_printf(out, "\n%-14s  %-5s  %9s  %8s  %6s  beside a\n", "contention",
		"phase", "alone ms", "slower", "ops");
	pipesim_each (const PipesimContentionPart, part, fit->parts) {
		const PipesimContentionPart *counts = pipesim_contention_find(
			fit, part->component, part->phase, part->moving);
		g_autofree char *name = pipesim_printable(part->component);

		if (part != counts && !full)
			continue;
		g_string_append_printf(out, "%-14s  %-5s  %9.3f  %+7.1f%%  %6u  ", name,
			pipesim_phase_name(part->phase), ms(part->alone),
			percent(part->ratio) - 100, part->n);
		append_thing(part, out);
		g_string_append(out, part != counts ? " (not used)\n" : "\n");
	}
}

/* What loops and steps show, a line each; of loops only what went into a fitted governor. */
static void append_loops(const PipesimLoops *loops, const PipesimCosts *costs, GString *out)
{
	const PipesimStepCosts *step = costs->step;
	gboolean fitted = costs->power != NULL;

	if (fitted && loops->beside_ops > 0) {
		g_string_append_printf(out,
			"\nloops beside a waiting receive: ops draw %.2f there, what %s take "
			"is %.1f%% off; slower at %s clock:",
			ratio(costs->power->beside_load),
			loops->rested_ops > 0 ? "all ops" : "ops alone",
			percent(loops->beside_left),
			loops->rested_ops > 0 ? "full" : "the same");
		for (guint kind = 0; kind < PIPESIM_FB; kind++)
			if (loops->slowdown[kind] > 0)
				g_string_append_printf(out, " %s %+.1f%%",
					pipesim_phase_name(kind),
					percent(loops->slowdown[kind]) - 100);
		g_string_append_c(out, '\n');
	}
	if (fitted && loops->exchange_ops > 0)
		g_string_append_printf(out,
			"\nranks that exchange messages: sustained times %+.1f%%, %u ops\n",
			percent(costs->power->exchanging) - 100, loops->exchange_ops);
	if (step == NULL || loops->step_ops == 0)
		return;
	g_string_append_printf(out, "\nsteps: %.3f ms at the begin", ms(step->begin));
	for (guint i = 0; i < step->n_parts; i++)
		g_string_append_printf(out, "%s %.3f%s",
			i > 0 ? "" : "; first backwards of stages less",
			ms(step->part[i * PIPESIM_N_EDGES + PIPESIM_EDGE_FIRST]),
			i + 1 < step->n_parts ? "," : "");
	for (guint i = 0; i < step->n_parts; i++)
		g_string_append_printf(out, "%s %.3f%s", i > 0 ? "" : ", last ones more",
			ms(step->part[i * PIPESIM_N_EDGES + PIPESIM_EDGE_LAST]),
			i + 1 < step->n_parts ? "," : "");
	g_string_append_c(out, '\n');
}

/* Shortest and longest of @n_parts parts, by kind. */
void pipesim_text_ranges(const gint64 *parts, guint n_parts, GString *out)
{
	for (guint kind = 0; kind < PIPESIM_FB; kind++) {
		gint64 least = G_MAXINT64, most = 0;

		for (guint k = 0; k < n_parts; k++) {
			const gint64 ns = parts[(gsize)k * PIPESIM_FB + kind];

			least = MIN(least, ns);
			most = MAX(most, ns);
		}
		g_string_append_printf(out, "%s %s %s", kind > 0 ? "," : "",
			pipesim_kind_letter(kind), pipesim_ms(least));
		if (most > least)
			g_string_append_printf(out, " to %s", pipesim_ms(most));
	}
	g_string_append_c(out, '\n');
}

void pipesim_text_hosts(const PipesimCosts *costs, GString *out)
{
	if (costs->launch == NULL)
		return;
	g_string_append_printf(out,
		"Hosts launch ops (%u part%s of the model), ms:", costs->n_launches,
		costs->n_launches == 1 ? "" : "s");
	pipesim_text_ranges(costs->launch, costs->n_launches, out);
}

void pipesim_effects_text(
	const PipesimEffects *effects, const PipesimCosts *costs, gboolean full, GString *out)
{
	if (is_fitted(effects))
		append_power(effects, costs, out);
	if (effects->contention != NULL)
		append_contention(effects->contention, full, out);
	append_loops(&effects->loops, costs, out);
	if (costs->launch != NULL) {
		g_string_append_c(out, '\n');
		pipesim_text_hosts(costs, out);
	}
	if (costs->n_measured_ranks > 0 && effects->any) {
		g_string_append(out, "\nGPUs against their mean:");
		for (guint i = 0; i < costs->n_measured_ranks; i++)
			g_string_append_printf(out, " %.3f", ratio(costs->measured_ranks[i]));
		g_string_append_c(out, '\n');
	}
}

/* JSON ------------------------------------------------------------------------------------------ */

/* @value where it is known. */
static gint64 known(gint64 value)
{
	return PIPESIM_KNOWN(value != PIPESIM_UNKNOWN, value);
}

static void put_kinds(PipesimJson *json, const char *key, const gint64 *values)
{
	pipesim_json_open_line(json, key);
	for (guint kind = 0; kind < PIPESIM_N_KINDS; kind++)
		PIPESIM_MEMBER(json, pipesim_phase_name(kind), MILLIONTHS, values[kind]);
	pipesim_json_close(json);
}

/* The only one: costs of others may have two. */
static void put_mean(PipesimJson *json, const PipesimPowerFit *fit, guint index G_GNUC_UNUSED)
{
	PIPESIM_MEMBER(json, "time_constant_ns", NS, fit->time_constant);
	PIPESIM_MEMBER(json, "weight_ppm", MILLIONTHS, PIPESIM_PPM);
}

static void put_power_part(
	PipesimJson *json, const PipesimPowerPart *part, guint index G_GNUC_UNUSED)
{
	PIPESIM_MEMBER(json, "component", TEXT, part->component);
	PIPESIM_MEMBER(json, "phase", TEXT, pipesim_phase_name(part->phase));
	PIPESIM_MEMBER(json, "ops", COUNT, part->n);
	PIPESIM_MEMBER(json, "sustained_ns", NS, part->sustained);
	PIPESIM_MEMBER(json, "full_speed_ppm", MILLIONTHS, part->full_speed);
	PIPESIM_MEMBER(json, "load_ppm", MILLIONTHS, part->load);
	PIPESIM_MEMBER(json, "spread_ppm", MILLIONTHS, part->before);
	PIPESIM_MEMBER(json, "left_ppm", MILLIONTHS, part->after);
}

static void put_fit(PipesimJson *json, const PipesimPowerFit *fit)
{
	PIPESIM_EACH(json, "means", line, 1, TRUE, put_mean, fit);
	PIPESIM_MEMBER(json, "threshold_ppm", MILLIONTHS, fit->threshold);
	PIPESIM_MEMBER(json, "waiting_load_ppm", MILLIONTHS, known(fit->waiting_load));
	PIPESIM_MEMBER(json, "explained_ppm", MILLIONTHS, fit->explained);
	PIPESIM_MEMBER(json, "explained_unseen_ppm", MILLIONTHS, fit->held_out);
	PIPESIM_MEMBER(json, "spread_ppm", MILLIONTHS, fit->before);
	PIPESIM_MEMBER(json, "left_ppm", MILLIONTHS, fit->after);
	PIPESIM_MEMBER(json, "rested_clock_mhz", COUNT, known(fit->rested_clock));
	PIPESIM_MEMBER(json, "loaded_clock_mhz", COUNT, known(fit->loaded_clock));
	PIPESIM_MEMBER(json, "loaded_power_mw", COUNT, known(fit->loaded_power));
	PIPESIM_EACH(json, "components", line, fit->parts->len,
		g_array_index(fit->parts, PipesimPowerPart, i).n > 0, put_power_part,
		&g_array_index(fit->parts, PipesimPowerPart, i));
}

/* What was found, and what the costs have of it. */
typedef struct {
	const PipesimEffects *effects;
	const PipesimCosts *costs;
} Both;

static void put_power(PipesimJson *json, const Both *of, guint index G_GNUC_UNUSED)
{
	const PipesimPowerFit *fit = PIPESIM_OF(of, effects->power);
	const PipesimPower *power = PIPESIM_OF(of, costs->power);
	const PipesimLoops *loops = of != NULL ? &of->effects->loops : NULL;

	PIPESIM_MEMBER(json, "verdict", TEXT, verdicts[fit->verdict]);
	PIPESIM_MEMBER(json, "histories", COUNT, fit->runs);
	PIPESIM_MEMBER(json, "bursts", COUNT, fit->bursts);
	PIPESIM_MEMBER(json, "ops", COUNT, fit->ops);
	PIPESIM_MEMBER(json, "first_ops", COUNT, fit->first_ops);
	PIPESIM_MEMBER(json, "strays", COUNT, fit->outliers);
	PIPESIM_MEMBER(json, "excursions", COUNT, fit->slow_outliers);
	PIPESIM_MEMBER(json, "gpus", COUNT, fit->ranks);
	if (PIPESIM_WHERE(json, is_fitted(of->effects)))
		put_fit(json, fit);
	if (!PIPESIM_WHERE(json, power != NULL))
		return;
	PIPESIM_MEMBER(json, "device", TEXT, power->device);
	PIPESIM_MEMBER(json, "limit_w", COUNT, PIPESIM_KNOWN(power->limit > 0, power->limit));
	put_kinds(json, "full_speed_ppm", PIPESIM_OF(power, full_speed));
	put_kinds(json, "load_ppm", PIPESIM_OF(power, load));
	PIPESIM_MEMBER(json, "exchanging_ppm", MILLIONTHS,
		PIPESIM_KNOWN(loops->exchange_ops > 0, known(power->exchanging)));
	PIPESIM_MEMBER(json, "beside_load_ppm", MILLIONTHS,
		PIPESIM_KNOWN(loops->beside_ops > 0, known(power->beside_load)));
}

static void put_contention_part(PipesimJson *json, const PipesimContentionFit *fit, guint index)
{
	const PipesimContentionPart *part =
		fit != NULL ? &g_array_index(fit->parts, PipesimContentionPart, index) : NULL;

	PIPESIM_MEMBER(json, "component", TEXT, part->component);
	PIPESIM_MEMBER(json, "phase", TEXT, pipesim_phase_name(part->phase));
	PIPESIM_MEMBER(json, "beside", TEXT, part->moving ? "moving" : "waiting");
	PIPESIM_MEMBER(json, "impl", TEXT, part->impl);
	PIPESIM_MEMBER(json, "sms", COUNT, known(part->sms));
	PIPESIM_MEMBER(json, "bytes", BYTES, known(part->bytes));
	PIPESIM_MEMBER(json, "ops", COUNT, part->n);
	PIPESIM_MEMBER(json, "alone_ns", NS, part->alone);
	PIPESIM_MEMBER(json, "slowdown_ppm", MILLIONTHS, part->ratio);
	PIPESIM_MEMBER(json, "used", YES_OR_NO,
		part == pipesim_contention_find(
				fit, part->component, part->phase, part->moving));
}

static void put_contention(PipesimJson *json, const Both *of, guint index G_GNUC_UNUSED)
{
	const PipesimContention *contention = PIPESIM_OF(of, costs->contention);
	const PipesimContentionFit *fit = PIPESIM_OF(of, effects->contention);

	put_kinds(json, "slowdown_ppm", PIPESIM_OF(contention, slowdown));
	put_kinds(json, "moving_ppm", PIPESIM_OF(contention, moving));
	PIPESIM_EACH(json, "components", line, fit->parts->len, TRUE, put_contention_part, fit);
}

/* By kind and part of the model. */
static void put_hosts(PipesimJson *json, const PipesimCosts *costs, guint index G_GNUC_UNUSED)
{
	for (guint kind = 0; kind < PIPESIM_FB; kind++)
		PIPESIM_LIST(json, pipesim_phase_name(kind), NS, costs->n_launches,
			costs->launch[(gsize)i * PIPESIM_FB + kind]);
}

static void put_step(PipesimJson *json, const PipesimStepCosts *step, guint index G_GNUC_UNUSED)
{
	PIPESIM_MEMBER(json, "begin_ns", NS, step->begin);
	PIPESIM_LIST(json, "first_backward_less_ns", NS, step->n_parts,
		step->part[i * PIPESIM_N_EDGES + PIPESIM_EDGE_FIRST]);
	PIPESIM_LIST(json, "last_backward_more_ns", NS, step->n_parts,
		step->part[i * PIPESIM_N_EDGES + PIPESIM_EDGE_LAST]);
}

void pipesim_effects_members(
	PipesimJson *json, const PipesimEffects *effects, const PipesimCosts *costs)
{
	const Both both = {effects, costs};

	PIPESIM_OBJECT(json, "power", object, effects->power != NULL, put_power, &both);
	PIPESIM_OBJECT(json, "residence", object,
		costs->contention != NULL && effects->contention != NULL, put_contention,
		&both);
	PIPESIM_OBJECT(json, "host_times_ns", line, costs->launch != NULL, put_hosts, costs);
	PIPESIM_OBJECT(json, "step", object, costs->step != NULL, put_step, costs->step);
}
