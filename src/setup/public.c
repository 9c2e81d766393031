/* What callers of the library ask for: the settings of the program, by name. */
#include "setup/choice.h"

PipesimSetup *pipesim_setup_new(void)
{
	PipesimSetup *setup = g_new0(PipesimSetup, 1);

	setup->data = pipesim_setup_data();
	return setup;
}

PIPESIM_FREES(PipesimSetup, pipesim_setup_free, setup)
{
	pipesim_setup_clear(setup);
	g_free(setup);
}

/* Of what a run has no answer to nothing is taken: samples, files that commands write. */
static PipesimSettingId find_setting(const char *option)
{
	const PipesimSettingId id = pipesim_setting_find(option);
	const PipesimSettingId group = pipesim_settings[id].group;
	const gboolean runs = (group > PIPESIM_NO_GROUP && group != PIPESIM_ALL_SAMPLES &&
				      group != PIPESIM_ALL_VIEW) ||
			      id == PIPESIM_SET_COMPARE_AT;

	return runs ? id : PIPESIM_SET_NONE;
}

gboolean pipesim_setup_set(
	PipesimSetup *setup, const char *option, const char *value, GError **error)
{
	g_return_val_if_fail(setup != NULL && option != NULL, FALSE);
	PipesimSettingId id = find_setting(option);
	if (id == PIPESIM_SET_NONE)
		return pipesim_refuse(error,
			"no option '%.64s' of one run; for example pp, microbatches, chunks, "
			"times, runtime",
			option);
	if (pipesim_settings[id].repeated && value == NULL) {
		g_clear_pointer(&setup->list[id], g_strfreev);
		return TRUE;
	}
	if (pipesim_settings[id].repeated) {
		const guint n = setup->list[id] != NULL ? g_strv_length(setup->list[id]) : 0;

		setup->list[id] = g_renew(char *, setup->list[id], n + 2);
		setup->list[id][n] = g_strdup(value);
		setup->list[id][n + 1] = NULL;
		return TRUE;
	}
	if (pipesim_settings[id].argument == NULL) {
		const gboolean was = setup->flag[id];

		if (value != NULL && *value != '\0')
			return pipesim_refuse(error,
				"%s: '%.64s'; it takes no value: \"\" asks for it",
				pipesim_settings[id].name, value);
		setup->flag[id] = value != NULL;
		if (pipesim_setup_read(setup, error))
			return TRUE;
		setup->flag[id] = was;
		return FALSE;
	}
	char *before = setup->text[id];
	setup->text[id] = g_strdup(value);
	if (pipesim_setup_read(setup, error)) {
		g_free(before);
		return TRUE;
	}
	g_free(setup->text[id]);
	setup->text[id] = before;
	return FALSE;
}

void pipesim_setup_set_costs(PipesimSetup *setup, const PipesimCosts *costs)
{
	g_return_if_fail(setup != NULL);
	pipesim_costs_free(setup->base);
	setup->base = costs != NULL ? pipesim_costs_copy(costs) : NULL;
}

gboolean pipesim_setup_set_stages(PipesimSetup *setup, guint n, const gint64 *forward,
	const gint64 *input, const gint64 *weight, GError **error)
{
	g_autoptr(GArray) stages = g_array_new(FALSE, FALSE, sizeof(gint64));

	g_return_val_if_fail(setup != NULL, FALSE);
	g_return_val_if_fail(
		n == 0 || (forward != NULL && input != NULL && weight != NULL), FALSE);
	for (guint i = 0; i < n; i++) {
		const gint64 times[] = {forward[i], input[i], weight[i], 0};

		for (guint kind = PIPESIM_F; kind <= PIPESIM_W; kind++)
			if (times[kind] < 0 || times[kind] > PIPESIM_MAX_TIME_NS)
				return pipesim_refuse(error,
					"%s of stage %u is %" G_GINT64_FORMAT
					" ns; from 0 to %" G_GINT64_FORMAT,
					pipesim_kind_letter(kind), i, times[kind],
					PIPESIM_MAX_TIME_NS);
		gint64 backward = input[i] + weight[i];
		g_array_append_vals(stages, times, PIPESIM_B);
		g_array_append_val(stages, backward);
	}
	g_clear_pointer(&setup->stages, g_array_unref);
	if (n > 0)
		setup->stages = g_steal_pointer(&stages);
	return TRUE;
}

PipesimRun *pipesim_setup_run(
	PipesimSetup *setup, const char *schedule, PipesimWant want, GError **error)
{
	g_autoptr(GPtrArray) choices = pipesim_choices_new();

	g_return_val_if_fail(setup != NULL && schedule != NULL, NULL);
	if (!pipesim_choices_add(choices, schedule, error) ||
		!pipesim_setup_read(setup, error) ||
		!pipesim_choices_prepare(choices, setup, error) ||
		!pipesim_setup_require(setup, error) ||
		!pipesim_setup_costs(setup, NULL, error))
		return NULL;
	setup->scenario.keep =
		want == PIPESIM_WANT_FIGURES ? PIPESIM_KEEP_NOTHING : PIPESIM_KEEP_OPS;
	PipesimRun *run = pipesim_choice_run(
		g_ptr_array_index(choices, 0), &setup->scenario, setup->costs);
	if (pipesim_run_check(run, error))
		return run;
	pipesim_run_free(run);
	return NULL;
}
