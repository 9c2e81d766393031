#include "measure/interference.h"
#include "model/jitter.h"
#include "model/slices.h"
#include "runtime/runtime.h"
#include "schedule/schedule.h"
#include "setup/setup.h"

#define READER(name)                                                                        \
	static gboolean read_##name(const PipesimTarget *to, const PipesimSetting *setting, \
		const char *text, GError **error G_GNUC_UNUSED)

/* Of any ------------------------------------------------------------------------------- */

static gpointer place_of(const PipesimTarget *to, const PipesimSetting *setting)
{
	gpointer const bases[] = {
		[PIPESIM_INTO_SETUP] = to->setup,
		[PIPESIM_INTO_TRAINING] = to->training,
		[PIPESIM_INTO_COSTS] = to->costs,
		[PIPESIM_INTO_NETWORK] = to->network,
	};

	return G_STRUCT_MEMBER_P(bases[setting->into], setting->at);
}

READER(count)
{
	guint64 count;

	if (!pipesim_parse_count(
		    text, setting->name, MAX(setting->least, 1u), setting->most, &count, error))
		return FALSE;
	*(guint *)place_of(to, setting) = (guint)count;
	return TRUE;
}

READER(wide)
{
	return pipesim_parse_count(
		text, setting->name, 0, setting->most, place_of(to, setting), error);
}

static gboolean is_within(PipesimFraction x, double least, double most)
{
	const double value = (double)x.num / (double)x.den;

	return least <= value && value <= most;
}

READER(time)
{
	return pipesim_parse_time(text, setting->name, place_of(to, setting), error);
}

READER(bytes)
{
	return pipesim_parse_bytes(text, setting->name, place_of(to, setting), error);
}

READER(bandwidth)
{
	return pipesim_parse_bandwidth(text, setting->name, place_of(to, setting), error);
}

READER(fraction)
{
	return pipesim_parse_fraction(text, setting->name, place_of(to, setting), error);
}

READER(text)
{
	*(const char **)place_of(to, setting) = text;
	return TRUE;
}

gboolean pipesim_word_find(
	const char *words, const char *text, const char *what, guint *word, GError **error)
{
	g_auto(GStrv) all = g_strsplit(words, " ", -1);
	g_autofree char *list = g_strjoinv(", ", all), *but_last = NULL;
	guint n = 0;

	for (; all[n] != NULL; n++)
		if (strcmp(all[n], text) == 0) {
			*word = n;
			return TRUE;
		}
	but_last = g_strndup(list, strlen(list) - strlen(all[n - 1]) - 2);
	return pipesim_refuse(error, "%s '%s'; %s or %s", what, text, but_last, all[n - 1]);
}

/* Which of the words of @setting @text is. */
static gboolean find_word(
	const PipesimSetting *setting, const char *text, guint *word, GError **error)
{
	g_autofree char *what = g_strconcat(setting->name, ":", NULL);
	g_auto(GStrv) words = g_strsplit(setting->values, " ", -1);
	g_autofree char *list = g_strjoinv(", ", words);

	/* Both forms are older than the table. */
	if (setting->into != PIPESIM_INTO_TRAINING ||
		g_strv_contains((const char *const *)words, text))
		return pipesim_word_find(setting->values, text, what, word, error);
	return pipesim_refuse(error, "%s '%s' is none of %s", what, text, list);
}

READER(word)
{
	guint word;

	if (!find_word(setting, text, &word, error))
		return FALSE;
	*(guint *)place_of(to, setting) = setting->least + word;
	return TRUE;
}

/* Into the scenario ---------------------------------------------------------------------- */

READER(max_activations)
{
	PipesimScenario *scenario = &to->setup->scenario;

	if (!pipesim_parse_fraction(text, setting->name, &scenario->max_activations, error))
		return FALSE;
	return scenario->max_activations.num > 0 ||
	       pipesim_refuse(error,
		       "%s: 0 allows no micro-batch; give a number of whole-stage activations, "
		       "for example 8",
		       setting->name);
}

READER(offload_part)
{
	PipesimFraction *part = &to->setup->scenario.offload_part;

	return pipesim_parse_fraction(text, setting->name, part, error) &&
	       ((part->num > 0 && part->num <= part->den && part->den <= 1000) ||
		       pipesim_fail(error, PIPESIM_ERROR_USAGE,
			       "%s: '%s'; a part above 0 and up to 1 in at most three "
			       "decimals, for example 0.5",
			       setting->name, text));
}

READER(runtime)
{
	PipesimScenario *scenario = &to->setup->scenario;

	scenario->runtime = pipesim_runtime_find(text, setting->name, error);
	return scenario->runtime != NULL;
}

/* "full", "auto", or how many stages for each rank: "1,2,1,2". */
READER(ahead)
{
	PipesimSetup *setup = to->setup;
	PipesimIssuing *issuing = &setup->scenario.issuing;

	if (strcmp(text, "full") == 0)
		return TRUE;
	if (strcmp(text, "auto") == 0) {
		issuing->ahead = PIPESIM_AHEAD_AUTO;
		return TRUE;
	}
	g_auto(GStrv) items = g_strsplit(text, ",", -1);
	issuing->ahead = PIPESIM_AHEAD_LIST;
	issuing->n_ahead = g_strv_length(items);
	g_free(setup->ahead);
	issuing->ahead_of = setup->ahead = g_new0(guint32, issuing->n_ahead);
	for (guint i = 0; i < issuing->n_ahead; i++) {
		guint64 count;

		if (!pipesim_parse_count(g_strstrip(items[i]), setting->name, 1,
			    PIPESIM_MAX_CHUNKS, &count, error))
			return FALSE;
		setup->ahead[i] = (guint32)count;
	}
	return TRUE;
}

READER(memory_limit)
{
	PipesimScenario *scenario = &to->setup->scenario;

	if (!pipesim_parse_bytes(text, setting->name, &scenario->memory_limit, error))
		return FALSE;
	return scenario->memory_limit > 0 ||
	       pipesim_refuse(error,
		       "%s: nothing fits into 0 bytes; give a size, for example 80GB",
		       setting->name);
}

READER(jitter)
{
	PipesimFraction *jitter = &to->setup->scenario.jitter;
	const gboolean percent = g_str_has_suffix(text, "%");
	g_autofree char *number = g_strndup(text, strlen(text) - (percent ? 1 : 0));

	if (!pipesim_parse_fraction(number, setting->name, jitter, error))
		return FALSE;
	if (percent) {
		const gint64 common = MAX(pipesim_gcd(jitter->num, 100), 1);

		jitter->num /= common;
		if (jitter->den > G_MAXINT64 / 100)
			return pipesim_refuse(
				error, "%s: '%s' has too many digits", setting->name, text);
		jitter->den *= 100 / common;
	}
	return (double)jitter->num <= PIPESIM_MAX_JITTER * (double)jitter->den ||
	       pipesim_refuse(error, "%s: '%s'; a relative standard deviation from 0 to %g",
		       setting->name, text, PIPESIM_MAX_JITTER);
}

/* Into the costs ------------------------------------------------------------------------- */

static PipesimSlicing *slicing_of(const PipesimTarget *to)
{
	if (to->costs->slicing == NULL)
		to->costs->slicing = g_new0(PipesimSlicing, 1);
	return to->costs->slicing;
}

READER(copy_engines)
{
	guint64 count;

	if (!pipesim_parse_count(text, setting->name, 1, 2, &count, error))
		return FALSE;
	to->costs->copy_engines = (guint)count;
	return TRUE;
}

READER(slice_lengths)
{
	return pipesim_slicing_parse_lengths(slicing_of(to), text, setting->name, error);
}

READER(slice_cost)
{
	return pipesim_slice_times_parse(
		&slicing_of(to)->cost, text, setting->name, TRUE, error);
}

READER(times)
{
	return pipesim_costs_parse_times(to->costs, text, setting->name, 0, error);
}

/* Of parts, stages or ranks. */
#define BY_RANKS(id, parse)                                                     \
	READER(id)                                                              \
	{                                                                       \
		return parse(to->costs, text, setting->name, to->ranks, error); \
	}
BY_RANKS(model_times, pipesim_costs_parse_times)
BY_RANKS(scale, pipesim_costs_parse_scale)
BY_RANKS(slow, pipesim_costs_parse_slow)
BY_RANKS(speed, pipesim_costs_parse_speed)

READER(activation_bytes)
{
	PipesimCosts *costs = to->costs;
	g_auto(GStrv) parts = g_strsplit(text, "+", 2);

	if (parts[0] == NULL || parts[1] == NULL) {
		costs->bytes_until_input = 0;
		return pipesim_parse_bytes(
			text, setting->name, &costs->bytes_until_weight, error);
	}
	return pipesim_parse_bytes(parts[0], setting->name, &costs->bytes_until_input, error) &&
	       pipesim_parse_bytes(parts[1], setting->name, &costs->bytes_until_weight, error);
}

READER(power)
{
	PipesimCosts *costs = to->costs;
	guint off;

	if (!find_word(setting, text, &off, error))
		return FALSE;
	if (costs->power == NULL && costs->contention == NULL && costs->step == NULL)
		return pipesim_refuse(error,
			"%s has no effect here: the costs have neither [power] nor "
			"[residence]; 'pipesim calibrate' finds them in traces that have these "
			"series",
			setting->name);
	if (off == 1) {
		g_clear_pointer(&costs->power, pipesim_power_free);
		g_clear_pointer(&costs->contention, g_free);
	}
	return TRUE;
}

READER(launches)
{
	PipesimCosts *costs = to->costs;
	guint off;

	if (!find_word(setting, text, &off, error))
		return FALSE;
	if (costs->launch == NULL)
		return pipesim_refuse(error,
			"%s has no effect here: the costs have no [host-times]; 'pipesim "
			"calibrate' finds them in captures of stages",
			setting->name);
	if (off == 1) {
		g_clear_pointer(&costs->launch, g_free);
		costs->n_launches = 0;
	}
	return TRUE;
}

READER(power_limit)
{
	PipesimCosts *costs = to->costs;
	const gsize length = strlen(text);
	g_autofree char *number =
		g_strndup(text, g_str_has_suffix(text, "W") ? length - 1 : length);
	guint64 watts;

	if (!pipesim_parse_count(number, setting->name, 1, 1000000, &watts, error))
		return FALSE;
	if (costs->power == NULL)
		return pipesim_refuse(error,
			"%s has no effect here: the costs have no [power], or it is off",
			setting->name);
	return pipesim_power_set_limit(costs->power, (gint64)watts, setting->name, error);
}

/* Into the training ---------------------------------------------------------------------- */

READER(recompute)
{
	return pipesim_training_parse_recompute(to->training, text, setting->name, error);
}

READER(modules)
{
	PipesimTraining *training = to->training;
	guint word;

	if (!find_word(setting, text, &word, error))
		return FALSE;
	training->titan = word >= 6;
	training->compiled = word == 7;
	training->eager = word == 3 || training->titan;
	training->deepseek = word == 4;
	training->next = word == 5;
	if (word < 3)
		training->megatron = (PipesimMegatron)word;
	return TRUE;
}

/* In the order of PipesimPrecision; behind them TransformerEngine's, from fp8 on, with parameters kept so. */
#define PRECISIONS                                                                       \
	"bf16 fp16 fp8 fp8-cs fp8-ds fp8-mx fp8-block fp8-tensorwise fp8-rowwise nvfp4 " \
	"fp8-params fp8-cs-params fp8-ds-params fp8-mx-params fp8-block-params"
#define PARAMETERS (PIPESIM_NVFP4 + 1)

READER(precision)
{
	PipesimTraining *training = to->training;
	guint word;

	if (!find_word(setting, text, &word, error))
		return FALSE;
	training->fp8 = word >= PIPESIM_FP8;
	training->fp8_parameters = word >= PARAMETERS;
	training->precision =
		(PipesimPrecision)(training->fp8_parameters ? word - PARAMETERS + PIPESIM_FP8
							    : word);
	return TRUE;
}

READER(attention)
{
	guint word;

	if (!find_word(setting, text, &word, error))
		return FALSE;
	to->training->unfused = word == 1;
	to->training->flash2 = word == 2;
	return TRUE;
}

READER(unfused)
{
	PipesimTraining *training = to->training;
	gboolean *const places[] = {
		&training->unfused_permutation, &training->no_dummies, &training->unfused_rope};
	g_auto(GStrv) words = g_strsplit(text, ",", -1);
	gboolean given[G_N_ELEMENTS(places)] = {FALSE};
	guint word;

	for (guint i = 0; i == 0 || words[i] != NULL; i++) {
		if (!find_word(setting, words[i] != NULL ? words[i] : "", &word, error))
			return FALSE;
		given[word] = TRUE;
	}
	for (guint i = 0; i < G_N_ELEMENTS(places); i++)
		*places[i] = given[i];
	return TRUE;
}

READER(routing)
{
	PipesimFraction factor;

	if (!pipesim_parse_fraction(text, setting->name, &factor, error))
		return FALSE;
	to->training->routing = factor;
	return is_within(factor, 1, 1000) ||
	       pipesim_refuse(error,
		       "%s: '%s'; the fullest rank has the mean or more, from 1 to 1000",
		       setting->name, text);
}

READER(workspace)
{
	PipesimTraining *training = to->training;
	g_auto(GStrv) parts = g_strsplit(text, "+", 2);

	training->grouped_workspace = 0;
	return pipesim_parse_bytes(parts[0] != NULL ? parts[0] : "", setting->name,
		       &training->workspace, error) &&
	       (parts[0] == NULL || parts[1] == NULL ||
		       pipesim_parse_bytes(
			       parts[1], setting->name, &training->grouped_workspace, error));
}

READER(mfu)
{
	PipesimTraining *training = to->training;
	const gboolean percent = g_str_has_suffix(text, "%");
	g_autofree char *number = g_strndup(text, strlen(text) - (percent ? 1 : 0));
	PipesimFraction share;

	if (!pipesim_parse_fraction(number, setting->name, &share, error))
		return FALSE;
	training->mfu = (double)share.num / (double)share.den / (percent ? 100 : 1);
	return (training->mfu >= 0.001 && training->mfu <= 1) ||
	       pipesim_refuse(error,
		       "%s: '%s'; a share of the peak from 0.001 to 1, for example 0.45",
		       setting->name, text);
}

READER(pace)
{
	double *pace = to->training->pace;
	g_auto(GStrv) parts = g_strsplit(text, ",", -1);
	PipesimFraction factor;

	for (guint i = 0; i < 2 && g_strv_length(parts) == 2; i++) {
		if (!pipesim_parse_fraction(parts[i], setting->name, &factor, error))
			return FALSE;
		pace[i] = (double)factor.num / (double)factor.den;
	}
	return (pace[0] >= 0.1 && pace[0] <= 10 && pace[1] >= 0.1 && pace[1] <= 10) ||
	       pipesim_refuse(error,
		       "%s: '%s'; two factors from 0.1 to 10, of kernels and of messages, for "
		       "example 1.05,0.9",
		       setting->name, text);
}

/* Into the network ----------------------------------------------------------------------- */

READER(interference)
{
	PipesimFraction factor;

	if (strcmp(text, "measured") == 0)
		return pipesim_costs_interference(
			to->costs, setting->name, to->network->slowdown, error);
	if (!pipesim_parse_fraction(text, setting->name, &factor, error))
		return FALSE;
	if (!is_within(factor, 1, 1000))
		return pipesim_refuse(error,
			"%s: '%s' is out of range; the slowdown of compute while a message is "
			"in flight, from 1 to 1000, or 'measured'",
			setting->name, text);
	for (guint kind = 0; kind < PIPESIM_N_KINDS; kind++)
		to->network->slowdown[kind] = factor;
	return TRUE;
}

/* Into the view -------------------------------------------------------------------------- */

/* "100:250", "100:", ":250us". */
READER(window)
{
	PipesimView *view = &to->setup->view;
	g_auto(GStrv) ends = g_strsplit(text, ":", 2);

	if (ends[0] == NULL || ends[1] == NULL || (*ends[0] == '\0' && *ends[1] == '\0'))
		return pipesim_refuse(error, "%s: '%s'; from and to in ms, for example 100:250",
			setting->name, text);
	if ((*ends[0] != '\0' &&
		    !pipesim_parse_time(ends[0], setting->name, &view->begin, error)) ||
		(*ends[1] != '\0' &&
			!pipesim_parse_time(ends[1], setting->name, &view->end, error)))
		return FALSE;
	return *ends[1] == '\0' || view->begin < view->end ||
	       pipesim_refuse(error, "%s: '%s' ends before it begins", setting->name, text);
}

/* "0:3", "5". */
READER(ranks)
{
	PipesimView *view = &to->setup->view;
	g_auto(GStrv) ends = g_strsplit(text, ":", 2);
	const char *last = ends[0] != NULL && ends[1] != NULL ? ends[1] : text;
	guint64 from, until;

	if (!pipesim_parse_count(ends[0] != NULL ? ends[0] : "", setting->name, 0,
		    PIPESIM_MAX_RANKS - 1, &from, error) ||
		!pipesim_parse_count(
			last, setting->name, 0, PIPESIM_MAX_RANKS - 1, &until, error))
		return FALSE;
	view->first_rank = (guint)from;
	view->behind_rank = (guint)until + 1;
	return from <= until ||
	       pipesim_refuse(error, "%s: '%s' ends before it begins", setting->name, text);
}

/* "1600x900", "1600". */
READER(size)
{
	PipesimView *view = &to->setup->view;
	g_auto(GStrv) sides = g_strsplit(text, "x", 2);
	guint64 width, height = 0;

	if (sides[0] == NULL ||
		!pipesim_parse_count(
			sides[0], setting->name, 1, PIPESIM_MAX_PIXELS, &width, NULL) ||
		(sides[1] != NULL && !pipesim_parse_count(sides[1], setting->name, 1,
					     PIPESIM_MAX_PIXELS, &height, NULL)))
		return pipesim_refuse(error,
			"%s: '%s'; width and height in pixels, at most %u each: 1600x900, or "
			"the width alone",
			setting->name, text, PIPESIM_MAX_PIXELS);
	view->width = (guint)width;
	view->height = (guint)height;
	return TRUE;
}

/* The table ------------------------------------------------------------------------------ */

typedef PipesimSetup Setup;
typedef PipesimTraining Training;
typedef PipesimCosts Costs;
typedef PipesimNetwork Network;
#define INTO_Setup    PIPESIM_INTO_SETUP
#define INTO_Training PIPESIM_INTO_TRAINING
#define INTO_Costs    PIPESIM_INTO_COSTS
#define INTO_Network  PIPESIM_INTO_NETWORK
/* A place of so many bytes, which is that of what is stored there. */
#define PLACE(where, field, bytes)     \
	.into = INTO_##where,          \
	.at = offsetof(where, field) + \
	      0 * sizeof(char[sizeof(((where *)NULL)->field) == (bytes) ? 1 : -1])
#define FLAG(where, field) PLACE(where, field, sizeof(gboolean))
#define COUNT(field, limit) \
	PLACE(Setup, field, sizeof(guint)), .read = read_count, .most = (limit)
#define WIDE(field, limit) \
	PLACE(Setup, field, sizeof(guint64)), .read = read_wide, .most = (limit)
#define WORD(where, field)         PLACE(where, field, sizeof(guint)), .read = read_word
#define AMOUNT(where, field, unit) PLACE(where, field, sizeof(gint64)), .read = read_##unit
#define FRACTION(field)            PLACE(Setup, field, sizeof(PipesimFraction)), .read = read_fraction
#define READ(where, how)           .into = INTO_##where, .read = read_##how
#define PATH(done)                 .path = PIPESIM_PATH_##done
#define SWEPT(how)                 .sweep = PIPESIM_SWEPT_##how
#define USED(by)                   .users = PIPESIM_##by
#define SETTING(id, called, short_form, value, line, member, about, ...) \
	[PIPESIM_SET_##id] = {.name = called,                            \
		.letter = short_form,                                    \
		.argument = value,                                       \
		.help = line,                                            \
		.group = PIPESIM_##member,                               \
		.topic = PIPESIM_TOPIC_##about,                          \
		__VA_ARGS__},

const PipesimSetting pipesim_settings[PIPESIM_N_SETTINGS] = {
#include "setup/list.h"
};

const PipesimTopicWords pipesim_topics[PIPESIM_N_TOPICS] = {
	[PIPESIM_TOPIC_SHAPE] = {"shape", "ranks, micro-batches, stages and schedules"},
	[PIPESIM_TOPIC_TIMES] = {"times", "how long ops take: given, measured or random"},
	[PIPESIM_TOPIC_MODEL] = {"model", "bytes and times from a model and how it is trained"},
	[PIPESIM_TOPIC_MEMORY] = {"memory", "what a rank holds, and may hold"},
	[PIPESIM_TOPIC_MESSAGES] = {"messages",
		"how sends and receives block, links, and the collectives of FSDP"},
	[PIPESIM_TOPIC_PICTURES] = {"pictures", "timelines, pages and plots"},
	[PIPESIM_TOPIC_SEARCH] = {"search", "what optimize, plan and sweep look through"},
	[PIPESIM_TOPIC_POWER] = {"power",
		"power limits, receive contention and CPU launches, where costs have them"},
	[PIPESIM_TOPIC_OUTPUT] = {"output", "what is printed, and where to"},
};

PipesimSettingId pipesim_setting_find(const char *name)
{
	if (g_str_has_prefix(name, "--"))
		name += 2;
	for (guint id = 1; id < PIPESIM_N_SETTINGS; id++) {
		const PipesimSetting *setting = &pipesim_settings[id];

		if (strcmp(setting->name + 2, name) == 0 ||
			(setting->old_name != NULL && strcmp(setting->old_name + 2, name) == 0))
			return id;
	}
	return PIPESIM_SET_NONE;
}

gboolean pipesim_settings_read(const PipesimSetup *setup, PipesimSettingInto into,
	const PipesimTarget *to, GError **error)
{
	for (guint id = 1; id < PIPESIM_N_SETTINGS; id++) {
		const PipesimSetting *setting = &pipesim_settings[id];

		if (setting->into != into)
			continue;
		if (setting->argument == NULL)
			*(gboolean *)place_of(to, setting) = setup->flag[id];
		else if (setup->text[id] != NULL &&
			 !setting->read(to, setting, setup->text[id], error))
			return FALSE;
	}
	return TRUE;
}

gboolean pipesim_setup_given(const PipesimSetup *setup, guint id)
{
	return setup->text[id] != NULL || setup->list[id] != NULL || setup->flag[id];
}

gboolean pipesim_setup_refuse_given(const PipesimSetup *setup, GError **error,
	const char *words, const PipesimSettingId *ids)
{
	g_autoptr(GString) message = g_string_new(words);

	while (*ids != PIPESIM_SET_NONE && !pipesim_setup_given(setup, *ids))
		ids++;
	if (*ids == PIPESIM_SET_NONE)
		return TRUE;
	g_string_replace(message, "%s", pipesim_settings[*ids].name, 1);
	return pipesim_refuse(error, "%s", message->str);
}
