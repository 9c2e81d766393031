#include "diagnosis/balance.h"

/* What one layer takes in @kind, as the stages @first to before @end have it. */
static gint64 layer_of(
	const gint64 *part, guint first, guint end, guint kind, const guint *layers)
{
	const guint n = end - first;
	g_autofree gint64 *took = g_new(gint64, n);

	for (guint i = 0; i < n; i++)
		took[i] = part[(gsize)(first + i) * PIPESIM_FB + kind] / layers[first + i];
	qsort(took, n, sizeof *took, pipesim_compare_int64);
	return (took[(n - 1) / 2] + took[n / 2]) / 2;
}

/* Of a stage that has not the whole of it, such as a first one without a backward for input, its own share. */
static gint64 layer_in(const gint64 *stage, const gint64 *layer, guint kind, guint layers)
{
	return MIN(layer[kind], stage[kind] / layers);
}

static gint64 whole(const gint64 *time)
{
	return time[PIPESIM_F] + time[PIPESIM_B];
}

/* What @ns of work takes on @rank. */
static gint64 on_rank(const PipesimDiagnosis *diagnosis, guint rank, gint64 ns)
{
	const PipesimFraction *slow = diagnosis->costs->slow;

	return slow != NULL ? pipesim_time_scale(ns, slow[rank].num, slow[rank].den) : ns;
}

/* One layer after the other, beyond the first of each stage, to the rank that it makes least long; there to the
 * shortest stage. As every layer adds as much, no other way leaves the longest rank shorter. */
static void share_layers(
	PipesimBalance *balance, const PipesimDiagnosis *diagnosis, const gint64 *part)
{
	const PipesimShape *shape = &diagnosis->program->shape;
	const guint n_places = shape->ranks * shape->chunks;
	g_autofree gint64 *stage = g_new(gint64, shape->stages);
	g_autofree gint64 *rank = g_new0(gint64, shape->ranks);
	guint left = 0;

	for (guint s = 0; s < shape->stages; s++) {
		const gint64 *time = &part[(gsize)s * PIPESIM_FB];

		balance->layers[s] = 1;
		stage[s] = whole(time) - (balance->before[s] - 1) * balance->layer;
		left += balance->before[s] - 1;
	}
	for (guint at = 0; at < n_places; at++)
		if (diagnosis->program->stage_of[at] != PIPESIM_NO_OP)
			rank[at / shape->chunks] += on_rank(diagnosis, at / shape->chunks,
				stage[diagnosis->program->stage_of[at]]);
	for (; left > 0; left--) {
		guint best = n_places;

		for (guint at = 0; at < n_places; at++) {
			const guint32 s = diagnosis->program->stage_of[at];
			const guint r = at / shape->chunks;

			if (s == PIPESIM_NO_OP)
				continue;
			if (best == n_places || rank[r] < rank[best / shape->chunks] ||
				(r == best / shape->chunks &&
					stage[s] < stage[diagnosis->program->stage_of[best]]))
				best = at;
		}
		balance->layers[diagnosis->program->stage_of[best]]++;
		stage[diagnosis->program->stage_of[best]] += balance->layer;
		rank[best / shape->chunks] +=
			on_rank(diagnosis, best / shape->chunks, balance->layer);
	}
}

/* The executed order at stages of these layers. */
static gboolean run_balanced(PipesimBalance *balance, const PipesimDiagnosis *diagnosis,
	const gint64 *layer, GError **error)
{
	const PipesimShape *shape = &diagnosis->program->shape;
	const PipesimScenario scenario = {.ranks = shape->ranks,
		.microbatches = shape->microbatches,
		.runtime = diagnosis->executed->runtime,
		.keep = PIPESIM_KEEP_NOTHING};
	g_autoptr(PipesimCosts) costs = pipesim_costs_copy(diagnosis->costs);
	g_autoptr(GArray) parts = g_array_new(FALSE, FALSE, sizeof(gint64));

	for (guint s = 0; s < shape->stages; s++)
		for (guint kind = 0; kind < PIPESIM_FB; kind++) {
			const gint64 *stage = &diagnosis->costs->part[(gsize)s * PIPESIM_FB];
			const gint64 time =
				stage[kind] +
				((gint64)balance->layers[s] - (gint64)balance->before[s]) *
					layer_in(stage, layer, kind, balance->before[s]);

			g_array_append_val(parts, time);
		}
	if (!pipesim_costs_set_parts(costs, parts, shape->ranks, error))
		return FALSE;
	balance->run =
		pipesim_run_program("balanced", diagnosis->program, NULL, &scenario, costs);
	return pipesim_run_check(balance->run, error);
}

PipesimBalance *pipesim_balance_new(
	const PipesimDiagnosis *diagnosis, guint layers, GError **error)
{
	const PipesimShape *shape = &diagnosis->program->shape;
	const gint64 *part = diagnosis->costs->part;
	const gboolean inner = shape->stages > 2;
	g_autoptr(PipesimBalance) balance = g_new0(PipesimBalance, 1);
	gint64 layer[PIPESIM_FB];
	guint shortest = 0;

	if (shape->copies > 1 || layers * shape->ranks % shape->stages != 0)
		return pipesim_refuse_null(error,
			shape->copies > 1 ? "--layers: stages of which two ranks have copies "
					    "are not balanced; leave it out"
					  : "--layers %u per rank are no whole number in each "
					    "of its %u stages",
			layers, shape->chunks);
	if (part == NULL || diagnosis->costs->n_parts != shape->stages)
		return pipesim_refuse_null(error, "--layers: the traces do not tell the times "
						  "of stages apart; leave it out");
	balance->n_stages = shape->stages;
	balance->counted = layers == 0;
	balance->before = g_new0(guint, shape->stages);
	balance->layers = g_new(guint, shape->stages);
	for (guint s = 0; s < shape->stages; s++)
		balance->before[s] = layers * shape->ranks / shape->stages;
	if (layers == 0 && !pipesim_record_layers(diagnosis->record, balance->before))
		return pipesim_refuse_null(error,
			"the forwards of a stage show no layers; --layers says how many a "
			"rank has");
	balance->guessed = !inner;
	for (guint s = 1; s < shape->stages; s++)
		if (whole(&part[(gsize)s * PIPESIM_FB]) / balance->before[s] <
			whole(&part[(gsize)shortest * PIPESIM_FB]) / balance->before[shortest])
			shortest = s;
	for (guint kind = 0; kind < PIPESIM_FB; kind++)
		layer[kind] = layer_of(part, inner ? 1 : shortest,
			inner ? shape->stages - 1 : shortest + 1, kind, balance->before);
	balance->layer = whole(layer);
	share_layers(balance, diagnosis, part);
	return run_balanced(balance, diagnosis, layer, error) ? g_steal_pointer(&balance)
							      : NULL;
}

PIPESIM_FREES(PipesimBalance, pipesim_balance_free, balance)
{
	pipesim_run_free(balance->run);
	pipesim_free_all(balance->before, balance->layers, balance);
}
