#include "config.h"

#include "diagnosis/named.h"
#include "diagnosis/traces.h"
#include "measure/reader.h"

static gboolean name_ops(
	const PipesimSetup *setup, const char *as, GPtrArray *traces, GError **error)
{
	const PipesimSchedule *schedule = pipesim_schedule_find(as, error);
	g_autoptr(GPtrArray) notices = g_ptr_array_new_with_free_func(g_free);

	if (schedule == NULL)
		return FALSE;
	if (!pipesim_name_ops((PipesimTrace *const *)traces->pdata, traces->len, schedule,
		    setup->scenario.microbatches, notices, error))
		return FALSE;
	for (guint i = 0; i < notices->len; i++)
		pipesim_setup_notice(setup, g_ptr_array_index(notices, i));
	return TRUE;
}

GPtrArray *pipesim_setup_traces(
	const PipesimSetup *setup, PipesimRangeRules **rules, GError **error)
{
	const char *map = setup->text[PIPESIM_SET_MAP], *as = setup->text[PIPESIM_SET_AS];
	g_autoptr(GPtrArray) traces = NULL;

	*rules = map != NULL ? pipesim_range_rules_read(map, error) : NULL;
	if (map != NULL && *rules == NULL)
		return NULL;
	if (as == NULL && setup->text[PIPESIM_SET_MICROBATCHES] != NULL)
		return pipesim_fail_null(error, PIPESIM_ERROR_USAGE,
			"--microbatches says how many a step of profiles without names has; "
			"add --recorded-schedule, for example --recorded-schedule 1f1b");
	if (as != NULL)
		*rules = pipesim_range_rules_keep_unnamed(*rules);
	traces = pipesim_traces_read(
		(const char *const *)setup->operands, *rules, setup->progress, error);
	if (traces == NULL || (as != NULL && !name_ops(setup, as, traces, error)))
		return NULL;
	return g_steal_pointer(&traces);
}
