#include "diagnosis/traces.h"
#include "diagnosis/named.h"
#include "measure/part.h"
#include "measure/peers.h"
#include "measure/reader.h"

/* Names the ops of @traces that have none, as the schedule called @as, or the first that fits. */
static gboolean name_ops(
	const PipesimSetup *setup, const char *as, GPtrArray *traces, GError **error)
{
	PipesimTrace *const *all = (PipesimTrace *const *)traces->pdata;
	const PipesimSchedule *schedule = as != NULL ? pipesim_schedule_find(as, error) : NULL;
	const guint microbatches = setup->scenario.microbatches;
	g_autoptr(GPtrArray) notices = g_ptr_array_new_with_free_func(g_free);
	const PipesimTrace *unnamed = NULL, *cut = NULL;

	for (guint t = 0; t < traces->len; t++) {
		if (all[t]->segments->len > 0 && unnamed == NULL)
			unnamed = all[t];
		if (pipesim_trace_get(all[t], PIPESIM_CUT) != NULL)
			cut = all[t];
	}
	if (as != NULL) {
		if (schedule == NULL || !pipesim_name_ops(all, traces->len, schedule,
						microbatches, notices, error))
			return FALSE;
	} else if (unnamed != NULL) {
		const gboolean found =
			pipesim_infer_ops(all, traces->len, microbatches, notices) != NULL;

		if (!found && cut != NULL)
			return pipesim_fail_at(error, cut->path, 1, 1,
				"the file is cut short, and what it has is no whole step of "
				"ops without names; record one behind it");
		if (!found)
			return pipesim_fail_at(error, unnamed->path, 1, 1,
				"no GPU activity lies in a range with a known name such as "
				"'attn(F)' or 'PP:0F0', and threads and messages do not tell "
				"the order of ops; name yours with --map, or the order with "
				"--recorded-schedule");
		pipesim_notice(notices,
			"no ops have names: the order is inferred, each rank's from its "
			"threads and messages; --recorded-schedule says another");
	} else if (setup->text[PIPESIM_SET_MICROBATCHES] != NULL) {
		return pipesim_refuse(error,
			"--microbatches says how many a step of profiles without names has, "
			"and these have names; leave it out");
	}
	for (guint t = 0; t < traces->len; t++)
		if (all[t]->segments->len > 0)
			pipesim_peers_name(all[t]);
	for (guint i = 0; i < notices->len; i++)
		pipesim_setup_notice(setup, "%s", (char *)notices->pdata[i]);
	return TRUE;
}

/* The files, and what names in them mean; FALSE with the errors of --map. */
static gboolean begin(const PipesimSetup *setup, PipesimTraceFiles *files,
	PipesimRangeRules **rules, GError **error)
{
	const char *map = setup->text[PIPESIM_SET_MAP];

	*rules = map != NULL ? pipesim_range_rules_read(map, error) : NULL;
	if (map != NULL && *rules == NULL)
		return FALSE;
	*rules = pipesim_range_rules_keep_unnamed(*rules);
	*files = (PipesimTraceFiles){.paths = (const char *const *)setup->operands,
		.rules = *rules,
		.progress = setup->progress};
	return TRUE;
}

GPtrArray *pipesim_setup_traces(const PipesimSetup *setup, const PipesimPeers *peers,
	PipesimRangeRules **rules, GError **error)
{
	PipesimTraceFiles files;

	if (!begin(setup, &files, rules, error))
		return NULL;
	files.peers = peers;
	g_autoptr(GPtrArray) traces = pipesim_traces_read(&files, error);
	if (traces == NULL || !name_ops(setup, setup->text[PIPESIM_SET_AS], traces, error))
		return NULL;
	return g_steal_pointer(&traces);
}

gboolean pipesim_setup_part(const PipesimSetup *setup, GString *out, GError **error)
{
	g_autoptr(PipesimRangeRules) rules = NULL;
	PipesimTraceFiles files;
	guint64 first, end;

	if (!pipesim_setup_share(setup, setup->n_operands, &first, &end, error))
		return FALSE;
	if (first == end)
		return pipesim_refuse(error, "--shard: no file is left for %s of %u files",
			setup->text[PIPESIM_SET_SHARD], setup->n_operands);
	if (!begin(setup, &files, &rules, error))
		return FALSE;
	files.first = first;
	files.end = end;
	g_autoptr(GPtrArray) traces = pipesim_traces_read_each(&files, error);
	if (traces != NULL)
		pipesim_part_write((PipesimTrace *const *)traces->pdata, traces->len, out);
	return traces != NULL;
}
