#include "measure/stage-times.h"

/* The stage whose times @missing gets: the nearest that was measured, if possible neither the first
 * nor the last, which hold embedding and head, and the first often no I. */
static guint nearest_stage(const PipesimJoined *joined, guint missing)
{
	guint best[2] = {PIPESIM_NO_RANK, PIPESIM_NO_RANK}, least[2] = {0};

	for (guint stage = 0; stage < joined->stages; stage++) {
		const guint distance = stage < missing ? missing - stage : stage - missing;
		const guint outer = stage == 0 || stage == joined->stages - 1;

		if (joined->rank_of[stage] == PIPESIM_NO_RANK)
			continue;
		/* Of both ends the last has every kind of op. */
		if (best[outer] == PIPESIM_NO_RANK || distance < least[outer] ||
			(outer && stage > 0)) {
			best[outer] = stage;
			least[outer] = distance;
		}
	}
	return best[0] != PIPESIM_NO_RANK ? best[0] : best[1];
}

static gint64 part_of(const GArray *parts, gint64 stage, guint kind)
{
	return g_array_index(parts, gint64, (gsize)stage * PIPESIM_FB + kind);
}

gboolean pipesim_stage_times_set(const PipesimJoined *joined, GArray *parts, const char *path,
	PipesimCosts *costs, GPtrArray *notices, GError **error)
{
	const gint64 pair = costs->time[PIPESIM_FB];
	gint64 sum = 0;
	guint first = 0; /* of those in a row that are missing and get the same */

	for (guint stage = 0; stage < joined->stages; stage++) {
		const gint64 *from = &g_array_index(parts, gint64, (gsize)stage * PIPESIM_FB);

		if (joined->rank_of[stage] == PIPESIM_NO_RANK) {
			const guint taken = nearest_stage(joined, stage);
			const gboolean ends = stage + 1 == joined->stages ||
					      joined->rank_of[stage + 1] != PIPESIM_NO_RANK ||
					      nearest_stage(joined, stage + 1) != taken;

			memcpy(&g_array_index(parts, gint64, (gsize)stage * PIPESIM_FB),
				&g_array_index(parts, gint64, (gsize)taken * PIPESIM_FB),
				PIPESIM_FB * sizeof(gint64));
			if (!ends)
				continue;
			g_autofree char *ranks = pipesim_joined_missing(joined);
			g_autofree char *stages =
				first == stage
					? g_strdup_printf("stage %u was", first)
					: g_strdup_printf("stages %u to %u were", first, stage);
			pipesim_notice(notices,
				"%s not measured: no trace of %s; taken to be as long as stage "
				"%u, the nearest that was",
				stages, ranks, taken);
		} else if (from[PIPESIM_F] == 0 || from[PIPESIM_B] == 0) {
			return pipesim_fail_at(error, path, 1, 1,
				"not measured: any %s of stage %u; a stage needs F, and I and "
				"W or B; profile whole steps",
				from[PIPESIM_F] == 0 ? "forward" : "backward", stage);
		}
		first = stage + 1;
	}
	for (guint stage = 0; stage < joined->stages; stage++)
		sum += part_of(parts, stage, PIPESIM_F) / joined->stages +
		       part_of(parts, stage, PIPESIM_B) / joined->stages;
	costs->time[PIPESIM_F] = sum;
	costs->time[PIPESIM_B] = 0;
	costs->time[PIPESIM_FB] = costs->has_pair ? pair : sum;
	return pipesim_costs_set_parts(costs, parts, joined->ranks, error);
}

void pipesim_stage_times_notice(const PipesimJoined *joined, GPtrArray *notices)
{
	g_autoptr(GHashTable) ranks = g_hash_table_new(NULL, NULL);

	for (guint stage = 0; stage < joined->stages; stage++)
		if (joined->rank_of[stage] != PIPESIM_NO_RANK)
			g_hash_table_add(ranks, GUINT_TO_POINTER(joined->rank_of[stage]));
	const guint n = g_hash_table_size(ranks);
	if (n > 0 && n < joined->world && joined->stages == joined->chunks * n)
		pipesim_notice(notices, "ops of %u of %u ranks: %s", n, joined->world,
			n == 1 ? "every rank is taken to be as this one; give the files of all "
				 "for the times of every stage"
			       : "the others are taken to hold other copies of the model");
}

gboolean pipesim_stage_times_figure(
	PipesimTrace *const *traces, guint n, gboolean *means, GError **error)
{
	for (guint t = 0; t < n; t++) {
		const char *figure = pipesim_trace_get(traces[t], "stage_figure");

		if (figure == NULL || strcmp(figure, "median") == 0)
			continue;
		if (strcmp(figure, "mean") != 0)
			return pipesim_fail_at(error, traces[t]->path, 1, 1,
				"metadata stage_figure '%.40s'; mean or median", figure);
		*means = TRUE;
	}
	return TRUE;
}

gboolean pipesim_stage_times_pair(const PipesimJoined *joined, const GArray *parts,
	const GPtrArray *groups, gboolean means, PipesimCosts *costs, GError **error)
{
	double paired = 0, alone = 0, all = 0;

	pipesim_each_in (const PipesimTraceGroup, group, groups) {
		if (group->what.b_stage < 0)
			continue;
		paired += (double)(means ? pipesim_trace_group_mean(group)
					 : group->figures.median);
		alone += (double)part_of(parts, group->what.stage, PIPESIM_F) +
			 (double)part_of(parts, group->what.b_stage, PIPESIM_B);
	}
	for (guint stage = 0; stage < joined->stages; stage++) {
		/* What was not measured is as long as pipesim_stage_times_set() will take it to be. */
		const guint of = joined->rank_of[stage] == PIPESIM_NO_RANK
					 ? nearest_stage(joined, stage)
					 : stage;

		all += (double)part_of(parts, of, PIPESIM_F) +
		       (double)part_of(parts, of, PIPESIM_B);
	}
	gint64 time = llround(MIN(all / joined->stages * paired / MAX(alone, 1),
		(double)PIPESIM_MAX_TIME_NS + 1));
	if (time > PIPESIM_MAX_TIME_NS)
		return pipesim_refuse(error,
			"pairs (FB) take more than %" G_GINT64_FORMAT " ns",
			PIPESIM_MAX_TIME_NS);
	costs->time[PIPESIM_FB] = time;
	costs->has_pair = TRUE;
	return TRUE;
}
