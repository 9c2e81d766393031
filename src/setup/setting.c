#include "config.h"

#include "measure/interference.h"
#include "model/jitter.h"
#include "runtime/runtime.h"
#include "schedule/schedule.h"
#include "setup/setup.h"
#include <string.h>

/* Into the scenario ---------------------------------------------------------------------- */

static gboolean read_max_activations(
	PipesimScenario *scenario, const char *text, const char *what, GError **error)
{
	if (!pipesim_parse_fraction(text, what, &scenario->max_activations, error))
		return FALSE;
	return scenario->max_activations.num > 0 ||
	       pipesim_fail(error, PIPESIM_ERROR_USAGE,
		       "%s: 0 lets no micro-batch in; give whole-stage activations, for "
		       "example 8",
		       what);
}

static gboolean read_runtime(
	PipesimScenario *scenario, const char *text, const char *what, GError **error)
{
	scenario->runtime = pipesim_runtime_find(text, what, error);
	return scenario->runtime != NULL;
}

static gboolean read_compare_at(
	PipesimScenario *scenario, const char *text, const char *what, GError **error)
{
	if (strcmp(text, "stages") == 0)
		scenario->compare_at = PIPESIM_AT_STAGES;
	else if (strcmp(text, "ranks") != 0)
		return pipesim_fail(
			error, PIPESIM_ERROR_USAGE, "%s: '%s'; ranks or stages", what, text);
	return TRUE;
}

static gboolean read_memory_limit(
	PipesimScenario *scenario, const char *text, const char *what, GError **error)
{
	if (!pipesim_parse_bytes(text, what, &scenario->memory_limit, error))
		return FALSE;
	return scenario->memory_limit > 0 ||
	       pipesim_fail(error, PIPESIM_ERROR_USAGE, "%s: 0 fits nothing; give bytes", what);
}

static gboolean read_seed(
	PipesimScenario *scenario, const char *text, const char *what, GError **error)
{
	return pipesim_parse_count(text, what, 0, G_MAXUINT64, &scenario->seed, error);
}

static gboolean read_jitter(
	PipesimScenario *scenario, const char *text, const char *what, GError **error)
{
	PipesimFraction *jitter = &scenario->jitter;
	const gboolean percent = g_str_has_suffix(text, "%");
	g_autofree char *number = g_strndup(text, strlen(text) - (percent ? 1 : 0));

	if (!pipesim_parse_fraction(number, what, jitter, error))
		return FALSE;
	if (percent) {
		const gint64 common = MAX(pipesim_gcd(jitter->num, 100), 1);

		jitter->num /= common;
		if (jitter->den > G_MAXINT64 / 100)
			return pipesim_fail(error, PIPESIM_ERROR_USAGE,
				"%s: '%s' has too many digits", what, text);
		jitter->den *= 100 / common;
	}
	return (double)jitter->num <= PIPESIM_MAX_JITTER * (double)jitter->den ||
	       pipesim_fail(error, PIPESIM_ERROR_USAGE,
		       "%s: '%s'; a relative standard deviation from 0 to %g", what, text,
		       PIPESIM_MAX_JITTER);
}

/* Into the costs ------------------------------------------------------------------------- */

static gboolean read_times(PipesimCosts *costs, const char *text, const char *what,
	guint ranks G_GNUC_UNUSED, GError **error)
{
	return pipesim_costs_parse_times(costs, text, what, error);
}

static gboolean read_activation_bytes(PipesimCosts *costs, const char *text, const char *what,
	guint ranks G_GNUC_UNUSED, GError **error)
{
	g_auto(GStrv) parts = g_strsplit(text, "+", 2);

	if (parts[0] == NULL || parts[1] == NULL) {
		costs->bytes_until_input = 0;
		return pipesim_parse_bytes(text, what, &costs->bytes_until_weight, error);
	}
	return pipesim_parse_bytes(parts[0], what, &costs->bytes_until_input, error) &&
	       pipesim_parse_bytes(parts[1], what, &costs->bytes_until_weight, error);
}

/* Into the network ----------------------------------------------------------------------- */

static gboolean read_interference(PipesimNetwork *network, const PipesimCosts *costs,
	const char *text, const char *what, GError **error)
{
	PipesimFraction factor;

	if (strcmp(text, "measured") == 0)
		return pipesim_costs_interference(costs, what, network->slowdown, error);
	if (!pipesim_parse_fraction(text, what, &factor, error))
		return FALSE;
	if (factor.num < factor.den || factor.num / factor.den >= 1000)
		return pipesim_fail(error, PIPESIM_ERROR_USAGE,
			"%s: '%s' is out of range; what an op takes beside a message against "
			"alone, from 1 to 1000, or 'measured'",
			what, text);
	for (guint kind = 0; kind < PIPESIM_N_KINDS; kind++)
		network->slowdown[kind] = factor;
	return TRUE;
}

/* The table ------------------------------------------------------------------------------ */

#define COUNT(field, limit)        .count = offsetof(PipesimSetup, field), .most = (limit)
#define AMOUNT(parse, type, field) .amount = parse, .at = offsetof(type, field)
#define SETTING(id, called, short_form, value, line, member, ...) \
	[PIPESIM_SET_##id] = {.name = called,                     \
		.letter = short_form,                             \
		.argument = value,                                \
		.help = line,                                     \
		.group = member,                                  \
		__VA_ARGS__},

const PipesimSetting pipesim_settings[PIPESIM_N_SETTINGS] = {
#include "setup/list.h"
};
