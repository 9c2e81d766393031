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
		       "%s: 0 allows no micro-batch; give a number of whole-stage activations, "
		       "for example 8",
		       what);
}

static gboolean read_runtime(
	PipesimScenario *scenario, const char *text, const char *what, GError **error)
{
	scenario->runtime = pipesim_runtime_find(text, what, error);
	return scenario->runtime != NULL;
}

static gboolean read_channels(
	PipesimScenario *scenario, const char *text, const char *what, GError **error)
{
	for (guint i = PIPESIM_CHANNEL_RANK; i <= PIPESIM_CHANNEL_EDGE; i++) {
		scenario->issuing.channels = (PipesimChannels)i;
		if (strcmp(text, pipesim_channels_name(scenario->issuing.channels)) == 0)
			return TRUE;
	}
	return pipesim_fail(
		error, PIPESIM_ERROR_USAGE, "%s: '%s'; rank, pair or edge", what, text);
}

static gboolean read_delay_wgrad(
	PipesimScenario *scenario, const char *text, const char *what, GError **error)
{
	return pipesim_parse_time(text, what, &scenario->issuing.delay_wgrad, error);
}

static gboolean read_host_time(
	PipesimScenario *scenario, const char *text, const char *what, GError **error)
{
	return pipesim_parse_time(text, what, &scenario->issuing.host_time, error);
}

/* "full", "auto", or how many stages for each rank: "1,2,1,2". */
static gboolean read_ahead(
	PipesimSetup *setup, const char *text, const char *what, GError **error)
{
	PipesimIssuing *issuing = &setup->scenario.issuing;
	g_auto(GStrv) items = NULL;

	if (strcmp(text, "full") == 0)
		return TRUE;
	if (strcmp(text, "auto") == 0) {
		issuing->ahead = PIPESIM_AHEAD_AUTO;
		return TRUE;
	}
	items = g_strsplit(text, ",", -1);
	issuing->ahead = PIPESIM_AHEAD_LIST;
	issuing->n_ahead = g_strv_length(items);
	g_free(setup->ahead);
	issuing->ahead_of = setup->ahead = g_new0(guint32, issuing->n_ahead);
	for (guint i = 0; i < issuing->n_ahead; i++) {
		guint64 count;

		if (!pipesim_parse_count(
			    g_strstrip(items[i]), what, 1, PIPESIM_MAX_CHUNKS, &count, error))
			return FALSE;
		setup->ahead[i] = (guint32)count;
	}
	return TRUE;
}

static gboolean read_step_pause(
	PipesimScenario *scenario, const char *text, const char *what, GError **error)
{
	return pipesim_parse_time(text, what, &scenario->pause, error);
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

static gboolean read_sort(
	PipesimScenario *scenario, const char *text, const char *what, GError **error)
{
	static const char *const names[] = {[PIPESIM_BY_MAKESPAN] = "makespan",
		[PIPESIM_BY_MEMORY] = "memory",
		[PIPESIM_BY_NAME] = "name"};

	for (guint i = PIPESIM_BY_MAKESPAN; i < G_N_ELEMENTS(names); i++)
		if (strcmp(text, names[i]) == 0)
			scenario->sort = (PipesimSort)i;
	return scenario->sort != PIPESIM_UNSORTED ||
	       pipesim_fail(error, PIPESIM_ERROR_USAGE, "%s: '%s'; makespan, memory or name",
		       what, text);
}

static gboolean read_memory_limit(
	PipesimScenario *scenario, const char *text, const char *what, GError **error)
{
	if (!pipesim_parse_bytes(text, what, &scenario->memory_limit, error))
		return FALSE;
	return scenario->memory_limit > 0 ||
	       pipesim_fail(error, PIPESIM_ERROR_USAGE,
		       "%s: nothing fits into 0 bytes; give a size, for example 80GB", what);
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

static gboolean read_split(PipesimCosts *costs, const char *text, const char *what,
	guint ranks G_GNUC_UNUSED, GError **error)
{
	costs->whole_layers = strcmp(text, "layers") == 0;
	return costs->whole_layers || strcmp(text, "even") == 0 ||
	       pipesim_fail(error, PIPESIM_ERROR_USAGE, "%s: '%s'; even or layers", what, text);
}

static gboolean read_power(PipesimCosts *costs, const char *text, const char *what,
	guint ranks G_GNUC_UNUSED, GError **error)
{
	const gboolean off = strcmp(text, "off") == 0;

	if (!off && strcmp(text, "measured") != 0)
		return pipesim_fail(
			error, PIPESIM_ERROR_USAGE, "%s: '%s'; measured or off", what, text);
	if (costs->power == NULL && costs->residence == NULL && costs->step == NULL)
		return pipesim_fail(error, PIPESIM_ERROR_USAGE,
			"%s has no effect here: the costs have neither [power] nor "
			"[residence]; 'pipesim calibrate' finds them in traces that have these "
			"series",
			what);
	if (off) {
		g_clear_pointer(&costs->power, pipesim_power_free);
		g_clear_pointer(&costs->residence, g_free);
	}
	return TRUE;
}

static gboolean read_launches(PipesimCosts *costs, const char *text, const char *what,
	guint ranks G_GNUC_UNUSED, GError **error)
{
	const gboolean off = strcmp(text, "off") == 0;

	if (!off && strcmp(text, "measured") != 0)
		return pipesim_fail(
			error, PIPESIM_ERROR_USAGE, "%s: '%s'; measured or off", what, text);
	if (costs->launch == NULL)
		return pipesim_fail(error, PIPESIM_ERROR_USAGE,
			"%s has no effect here: the costs have no [host-times]; 'pipesim "
			"calibrate' finds them in captures of stages",
			what);
	if (off) {
		g_clear_pointer(&costs->launch, g_free);
		costs->n_launches = 0;
	}
	return TRUE;
}

static gboolean read_power_limit(PipesimCosts *costs, const char *text, const char *what,
	guint ranks G_GNUC_UNUSED, GError **error)
{
	const gsize length = strlen(text);
	g_autofree char *number =
		g_strndup(text, g_str_has_suffix(text, "W") ? length - 1 : length);
	guint64 watts;

	if (!pipesim_parse_count(number, what, 1, 1000000, &watts, error))
		return FALSE;
	if (costs->power == NULL)
		return pipesim_fail(error, PIPESIM_ERROR_USAGE,
			"%s has no effect here: the costs have no [power], or it is off", what);
	return pipesim_power_set_limit(costs->power, (gint64)watts, what, error);
}

/* Into the training ---------------------------------------------------------------------- */

/* Which of the values of the setting @id, which messages call @what, @text is. */
static gboolean read_word(
	PipesimSettingId id, const char *text, const char *what, guint *word, GError **error)
{
	g_auto(GStrv) words = g_strsplit(pipesim_settings[id].values, " ", -1);
	g_autofree char *list = g_strjoinv(", ", words);

	for (*word = 0; words[*word] != NULL; ++*word)
		if (strcmp(words[*word], text) == 0)
			return TRUE;
	return pipesim_fail(
		error, PIPESIM_ERROR_USAGE, "%s: '%s' is none of %s", what, text, list);
}

static gboolean read_cp_comm(
	PipesimTraining *training, const char *text, const char *what, GError **error)
{
	guint word;

	if (!read_word(PIPESIM_SET_CP_COMM, text, what, &word, error))
		return FALSE;
	training->cp_all_to_all = word == 1;
	return TRUE;
}

static gboolean read_optimizer(
	PipesimTraining *training, const char *text, const char *what, GError **error)
{
	guint word;

	if (!read_word(PIPESIM_SET_OPTIMIZER, text, what, &word, error))
		return FALSE;
	training->optimizer = (PipesimOptimizer)word;
	return TRUE;
}

static gboolean read_modules(
	PipesimTraining *training, const char *text, const char *what, GError **error)
{
	guint word;

	if (!read_word(PIPESIM_SET_MODULES, text, what, &word, error))
		return FALSE;
	training->eager = word == 3;
	if (!training->eager)
		training->megatron = (PipesimMegatron)word;
	return TRUE;
}

static gboolean read_zero(
	PipesimTraining *training, const char *text, const char *what, GError **error)
{
	guint word;

	if (!read_word(PIPESIM_SET_ZERO, text, what, &word, error))
		return FALSE;
	training->zero = (PipesimZero)word;
	return TRUE;
}

static gboolean read_precision(
	PipesimTraining *training, const char *text, const char *what, GError **error)
{
	guint word;

	if (!read_word(PIPESIM_SET_PRECISION, text, what, &word, error))
		return FALSE;
	training->fp8 = word >= 1;
	training->fp8_parameters = word == 2;
	return TRUE;
}

static gboolean read_attention(
	PipesimTraining *training, const char *text, const char *what, GError **error)
{
	guint word;

	if (!read_word(PIPESIM_SET_ATTENTION, text, what, &word, error))
		return FALSE;
	training->unfused = word == 1;
	return TRUE;
}

static gboolean read_loss(
	PipesimTraining *training, const char *text, const char *what, GError **error)
{
	guint word;

	if (!read_word(PIPESIM_SET_LOSS, text, what, &word, error))
		return FALSE;
	training->loss = (PipesimLoss)word;
	return TRUE;
}

static gboolean read_unfused(
	PipesimTraining *training, const char *text, const char *what, GError **error)
{
	guint word;

	if (!read_word(PIPESIM_SET_UNFUSED, text, what, &word, error))
		return FALSE;
	training->unfused_permutation = word != 1;
	training->no_dummies = word != 0;
	return TRUE;
}

static gboolean read_routing(
	PipesimTraining *training, const char *text, const char *what, GError **error)
{
	PipesimFraction factor;

	if (!pipesim_parse_fraction(text, what, &factor, error))
		return FALSE;
	training->routing = factor;
	return (factor.num >= factor.den && factor.num / factor.den <= 1000) ||
	       pipesim_fail(error, PIPESIM_ERROR_USAGE,
		       "%s: '%s'; the fullest rank has the mean or more, from 1 to 1000", what,
		       text);
}

static gboolean read_workspace(
	PipesimTraining *training, const char *text, const char *what, GError **error)
{
	g_auto(GStrv) parts = g_strsplit(text, "+", 2);

	training->grouped_workspace = 0;
	return pipesim_parse_bytes(
		       parts[0] != NULL ? parts[0] : "", what, &training->workspace, error) &&
	       (parts[0] == NULL || parts[1] == NULL ||
		       pipesim_parse_bytes(
			       parts[1], what, &training->grouped_workspace, error));
}

static gboolean read_mfu(
	PipesimTraining *training, const char *text, const char *what, GError **error)
{
	const gboolean percent = g_str_has_suffix(text, "%");
	g_autofree char *number = g_strndup(text, strlen(text) - (percent ? 1 : 0));
	PipesimFraction share;

	if (!pipesim_parse_fraction(number, what, &share, error))
		return FALSE;
	training->mfu = (double)share.num / (double)share.den / (percent ? 100 : 1);
	return (training->mfu >= 0.001 && training->mfu <= 1) ||
	       pipesim_fail(error, PIPESIM_ERROR_USAGE,
		       "%s: '%s'; a share of the peak from 0.001 to 1, for example 0.45", what,
		       text);
}

static gboolean read_dp_bandwidth(
	PipesimTraining *training, const char *text, const char *what, GError **error)
{
	return pipesim_parse_bandwidth(text, what, &training->reduce, error);
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
			"%s: '%s' is out of range; the slowdown of compute while a message is "
			"in flight, from 1 to 1000, or 'measured'",
			what, text);
	for (guint kind = 0; kind < PIPESIM_N_KINDS; kind++)
		network->slowdown[kind] = factor;
	return TRUE;
}

/* Into the view -------------------------------------------------------------------------- */

/* "100:250", "100:", ":250us". */
static gboolean read_window(
	PipesimView *view, const char *text, const char *what, GError **error)
{
	g_auto(GStrv) ends = g_strsplit(text, ":", 2);

	if (ends[0] == NULL || ends[1] == NULL || (*ends[0] == '\0' && *ends[1] == '\0'))
		return pipesim_fail(error, PIPESIM_ERROR_USAGE,
			"%s: '%s'; from and to in ms, for example 100:250", what, text);
	if ((*ends[0] != '\0' && !pipesim_parse_time(ends[0], what, &view->begin, error)) ||
		(*ends[1] != '\0' && !pipesim_parse_time(ends[1], what, &view->end, error)))
		return FALSE;
	return *ends[1] == '\0' || view->begin < view->end ||
	       pipesim_fail(error, PIPESIM_ERROR_USAGE, "%s: '%s' ends before it begins", what,
		       text);
}

/* "0:3", "5". */
static gboolean read_ranks(
	PipesimView *view, const char *text, const char *what, GError **error)
{
	g_auto(GStrv) ends = g_strsplit(text, ":", 2);
	const char *last = ends[0] != NULL && ends[1] != NULL ? ends[1] : text;
	guint64 from, to;

	if (!pipesim_parse_count(ends[0] != NULL ? ends[0] : "", what, 0, PIPESIM_MAX_RANKS - 1,
		    &from, error) ||
		!pipesim_parse_count(last, what, 0, PIPESIM_MAX_RANKS - 1, &to, error))
		return FALSE;
	view->first_rank = (guint)from;
	view->behind_rank = (guint)to + 1;
	return from <= to || pipesim_fail(error, PIPESIM_ERROR_USAGE,
				     "%s: '%s' ends before it begins", what, text);
}

static gboolean read_title(PipesimView *view, const char *text, const char *what G_GNUC_UNUSED,
	GError **error G_GNUC_UNUSED)
{
	view->title = text;
	return TRUE;
}

/* "1600x900", "1600". */
static gboolean read_size(PipesimView *view, const char *text, const char *what, GError **error)
{
	g_auto(GStrv) sides = g_strsplit(text, "x", 2);
	guint64 width, height = 0;

	if (sides[0] == NULL ||
		!pipesim_parse_count(sides[0], what, 1, PIPESIM_MAX_PIXELS, &width, NULL) ||
		(sides[1] != NULL && !pipesim_parse_count(sides[1], what, 1, PIPESIM_MAX_PIXELS,
					     &height, NULL)))
		return pipesim_fail(error, PIPESIM_ERROR_USAGE,
			"%s: '%s'; width and height in pixels, at most %u each: 1600x900, or "
			"the width alone",
			what, text, PIPESIM_MAX_PIXELS);
	view->width = (guint)width;
	view->height = (guint)height;
	return TRUE;
}

static gboolean read_font_size(
	PipesimView *view, const char *text, const char *what, GError **error)
{
	guint64 pixels;

	if (!pipesim_parse_count(text, what, 6, 72, &pixels, error))
		return FALSE;
	view->font = (guint)pixels;
	return TRUE;
}

static gboolean read_theme(
	PipesimView *view, const char *text, const char *what, GError **error)
{
	static const char *const names[] = {"light", "dark", "print"};

	for (guint i = 0; i < G_N_ELEMENTS(names); i++)
		if (strcmp(text, names[i]) == 0) {
			view->theme = (PipesimThemeName)i;
			return TRUE;
		}
	return pipesim_fail(
		error, PIPESIM_ERROR_USAGE, "%s: '%s'; light, dark or print", what, text);
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
