/* What an op of each stage takes and holds, of what was asked for the whole model. */
#include "config.h"

#include "model/op-times.h"
#include "model/parts.h"
#include "model/split.h"
#include <string.h>

/* Sums of products of times and counts. */
__extension__ typedef __int128 Wide;

/* @even, of an equal share of the model, of a stage that is longer or shorter. */
static gint64 stretch(
	const PipesimTimes *times, const PipesimCosts *costs, guint stage, gint64 even)
{
	const PipesimFraction scale = pipesim_costs_stage_scale(costs, stage, times->stages);
	const guint64 *first = times->first_layer;

	if (first != NULL)
		even = pipesim_time_scale(even,
			(gint64)((first[stage + 1] - first[stage]) * times->stages),
			(gint64)first[times->stages]);
	return pipesim_time_scale(even, scale.num, scale.den);
}

/* Times of one chunk. What is derived from others is derived again after they were rounded:
 * formulae that are exact would else be off by some ns. */
static void divide_times(
	PipesimTimes *times, const PipesimCosts *costs, const PipesimShape *shape)
{
	const gint64 *share = costs->time;
	gint64 *chunk = times->chunk;

	for (int kind = 0; kind < PIPESIM_N_KINDS; kind++)
		chunk[kind] = pipesim_time_scale(share[kind], shape->ranks,
			(gint64)shape->stages * pipesim_shape_parts(shape));
	if (share[PIPESIM_B] == share[PIPESIM_I] + share[PIPESIM_W])
		chunk[PIPESIM_B] = chunk[PIPESIM_I] + chunk[PIPESIM_W];
	if (share[PIPESIM_FB] == share[PIPESIM_F] + share[PIPESIM_B])
		chunk[PIPESIM_FB] = chunk[PIPESIM_F] + chunk[PIPESIM_B];
}

static void fill_from_parts(
	PipesimTimes *times, const PipesimCosts *costs, const PipesimShape *shape)
{
	gboolean sum = TRUE;

	for (guint i = 0; i < costs->n_parts; i++) {
		const gint64 *part = &costs->part[(gsize)i * PIPESIM_FB];

		sum &= part[PIPESIM_B] == part[PIPESIM_I] + part[PIPESIM_W];
	}
	for (guint stage = 0; stage < times->stages; stage++) {
		for (int kind = 0; kind < PIPESIM_FB; kind++) {
			const PipesimParts parts = {
				&costs->part[kind], costs->n_parts, PIPESIM_FB};

			times->stage[kind][stage] = pipesim_parts_sum(
				&parts, times, stage, pipesim_shape_parts(shape));
			if (kind == PIPESIM_B && sum)
				times->stage[kind][stage] = times->stage[PIPESIM_I][stage] +
							    times->stage[PIPESIM_W][stage];
			times->equal_stages &=
				times->stage[kind][stage] == times->stage[kind][0];
		}
	}
}

/* Formulae go by the average stage, as they do where stages have times of their own. */
static void average_stages(PipesimTimes *times)
{
	gint64 *average = times->average;
	const gboolean sum = average[PIPESIM_FB] == average[PIPESIM_F] + average[PIPESIM_B];
	const gint64 both = average[PIPESIM_F] + average[PIPESIM_B];

	for (int kind = 0; kind < PIPESIM_FB; kind++) {
		Wide total = 0;

		for (guint stage = 0; stage < times->stages; stage++)
			total += times->stage[kind][stage];
		average[kind] = (gint64)((total + times->stages / 2) / times->stages);
	}
	if (sum)
		average[PIPESIM_FB] = average[PIPESIM_F] + average[PIPESIM_B];
	else if (both > 0)
		average[PIPESIM_FB] = pipesim_time_scale(times->chunk[PIPESIM_FB],
			average[PIPESIM_F] + average[PIPESIM_B], both);
}

static void fill_from_scale(PipesimTimes *times, const PipesimCosts *costs)
{
	const PipesimFraction first = pipesim_costs_stage_scale(costs, 0, times->stages);

	/* All alike, as most are: a sweep asks for such times by the million. */
	if (costs->scale == NULL && times->first_layer == NULL) {
		for (int kind = 0; kind < PIPESIM_FB; kind++)
			for (guint stage = 0; stage < times->stages; stage++)
				times->stage[kind][stage] = times->chunk[kind];
		return;
	}
	for (guint stage = 0; stage < times->stages; stage++) {
		const PipesimFraction scale =
			pipesim_costs_stage_scale(costs, stage, times->stages);

		for (int kind = 0; kind < PIPESIM_FB; kind++)
			times->stage[kind][stage] =
				stretch(times, costs, stage, times->chunk[kind]);
		times->equal_stages &=
			(Wide)scale.num * first.den == (Wide)first.num * scale.den;
	}
	/* Where all have as many there are no bounds. */
	times->equal_stages &= times->first_layer == NULL;
	if (costs->scale != NULL || times->first_layer != NULL)
		average_stages(times);
}

/* Where stages hold different amounts, or others than an equal share of the model. A stage that
 * is longer has more layers, and holds more by as much. */
static void fill_bytes(
	PipesimTimes *times, const PipesimCosts *costs, const PipesimShape *shape)
{
	const gint64 share[PIPESIM_N_BYTES] = {
		costs->bytes_until_input, costs->bytes_until_weight, costs->parameter_bytes};

	if (!pipesim_costs_has_bytes(costs) ||
		(costs->part_bytes == NULL && costs->scale == NULL &&
			times->first_layer == NULL))
		return;
	for (guint sort = 0; sort < PIPESIM_N_BYTES; sort++) {
		const PipesimParts parts = {
			costs->part_bytes != NULL ? &costs->part_bytes[sort] : NULL,
			costs->n_part_bytes, PIPESIM_N_BYTES};
		const guint pieces =
			sort == PIPESIM_PARAMETERS ? 1 : pipesim_shape_parts(shape);

		times->bytes[sort] = g_new(gint64, shape->stages);
		for (guint stage = 0; stage < shape->stages; stage++) {
			const gint64 even = pipesim_time_scale(
				share[sort], shape->ranks, (gint64)shape->stages * pieces);

			times->bytes[sort][stage] =
				costs->part_bytes != NULL
					? pipesim_parts_sum(&parts, times, stage, pieces)
					: stretch(times, costs, stage, even);
		}
	}
}

/* What a rank moves takes at its bandwidth, ns. */
static gint64 move_time(gint64 bytes, gint64 bandwidth)
{
	const Wide ns = ((Wide)bytes * 1000000000 + bandwidth - 1) / bandwidth;

	return (gint64)MIN(ns, (Wide)PIPESIM_MAX_TIME_NS);
}

/* What a rank moves to gather a stage and to reduce it, where no model tells: stages that are
 * longer have more. */
static void fill_moved(
	PipesimTimes *times, const PipesimCosts *costs, const PipesimShape *shape)
{
	gint64 **const sizes[] = {&times->gathered, &times->moved[0], &times->moved[1]};

	for (guint i = 0; i < G_N_ELEMENTS(sizes); i++) {
		*sizes[i] = g_new(gint64, shape->stages);
		for (guint stage = 0; stage < shape->stages; stage++)
			(*sizes[i])[stage] = stretch(times, costs, stage,
				pipesim_time_scale(
					costs->sharding.bytes, shape->ranks, shape->stages));
	}
}

/* What that takes where it shares no link with messages at the moment. */
static void fill_sharding(
	PipesimTimes *times, const PipesimCosts *costs, const PipesimShape *shape)
{
	const PipesimSharding *sharding = &costs->sharding;
	const gint64 share[] = {sharding->unshard, sharding->reduce};
	gint64 **const to[] = {&times->unshard, &times->reduce};
	const gboolean over_links =
		costs->network != NULL && costs->network->shards != PIPESIM_SHARDS_OWN;

	if (times->gathered == NULL && sharding->bytes > 0)
		fill_moved(times, costs, shape);
	if (share[0] == 0 && share[1] == 0 &&
		((sharding->bandwidth == 0 && !over_links) || times->gathered == NULL))
		return;
	for (guint i = 0; i < G_N_ELEMENTS(to); i++) {
		gint64 *time = *to[i] = g_new(gint64, shape->stages);

		for (guint stage = 0; stage < shape->stages; stage++) {
			if (over_links)
				time[stage] = pipesim_network_shard_time(
					costs->network, times->moved[i][stage]);
			else if (sharding->bandwidth > 0)
				time[stage] =
					move_time(times->moved[i][stage], sharding->bandwidth);
			else
				time[stage] = stretch(times, costs, stage,
					pipesim_time_scale(
						share[i], shape->ranks, shape->stages));
		}
	}
}

/* A host launches what lies in a stage. */
static void fill_launches(
	PipesimTimes *times, const PipesimCosts *costs, const PipesimShape *shape)
{
	for (guint kind = 0; costs->launch != NULL && kind < PIPESIM_FB; kind++) {
		const PipesimParts parts = {
			&costs->launch[kind], costs->n_launches, PIPESIM_FB};

		times->launch[kind] = g_new(gint64, times->stages);
		/* Of a part of a micro-batch it launches as many kernels. */
		for (guint stage = 0; stage < shape->stages; stage++)
			times->launch[kind][stage] = pipesim_parts_sum(&parts, times, stage, 1);
	}
}

/* Ranks that @costs says nothing of are as fast as the times say. */
static void slow_ranks(
	PipesimTimes *times, const PipesimCosts *costs, const PipesimShape *shape)
{
	gboolean differ = FALSE;

	for (guint rank = 0; rank < MIN(costs->n_slow, shape->ranks); rank++)
		differ |= costs->slow[rank].num != costs->slow[rank].den;
	if (!differ)
		return;
	times->slow = g_new(PipesimFraction, shape->ranks);
	for (guint rank = 0; rank < shape->ranks; rank++)
		times->slow[rank] =
			rank < costs->n_slow ? costs->slow[rank] : (PipesimFraction){1, 1};
}

PipesimTimes *pipesim_times_new(const PipesimCosts *costs, const PipesimShape *shape)
{
	return pipesim_times_new_placed(costs, shape, NULL);
}

PipesimTimes *pipesim_times_new_placed(
	const PipesimCosts *costs, const PipesimShape *shape, const guint32 *stage_of)
{
	PipesimTimes *times = g_new0(PipesimTimes, 1);
	const guint parts = pipesim_shape_parts(shape);

	times->stages = shape->stages;
	times->p2p = costs->p2p;
	times->bytes_until_input = pipesim_time_scale(costs->bytes_until_input, 1, parts);
	times->bytes_until_weight = pipesim_time_scale(costs->bytes_until_weight, 1, parts);
	times->equal_stages = TRUE;
	times->first_layer = pipesim_split_layers(costs, shape, stage_of);
	divide_times(times, costs, shape);
	memcpy(times->average, times->chunk, sizeof times->average);
	slow_ranks(times, costs, shape);
	times->power = pipesim_power_copy(costs->power);
	if (times->power != NULL && shape->ranks > 1)
		pipesim_power_exchange(times->power);
	times->residence = g_memdup2(costs->residence, sizeof *costs->residence);
	for (int kind = 0; kind < PIPESIM_FB; kind++)
		times->stage[kind] = g_new(gint64, shape->stages);
	if (costs->part != NULL)
		fill_from_parts(times, costs, shape);
	else
		fill_from_scale(times, costs);
	if (costs->cutter != NULL)
		costs->cutter->cut(costs->cutter, shape, times);
	else
		fill_bytes(times, costs, shape);
	fill_sharding(times, costs, shape);
	fill_launches(times, costs, shape);
	pipesim_step_costs_fill(costs->step, times);
	if (times->tail != NULL)
		average_stages(times);
	if (costs->op_times != NULL)
		pipesim_op_times_fill(costs->op_times, times);
	return times;
}

void pipesim_times_free(PipesimTimes *times)
{
	if (times == NULL)
		return;
	for (int kind = 0; kind < PIPESIM_FB; kind++) {
		g_free(times->stage[kind]);
		g_free(times->launch[kind]);
	}
	for (guint sort = 0; sort < PIPESIM_N_STAGE_BYTES; sort++)
		g_free(times->bytes[sort]);
	g_free(times->unshard);
	g_free(times->reduce);
	g_free(times->gathered);
	g_free(times->moved[0]);
	g_free(times->moved[1]);
	g_free(times->late);
	g_free(times->early);
	g_free(times->tail);
	g_free(times->each);
	g_free(times->sorts);
	g_free(times->slow);
	g_free(times->first_layer);
	pipesim_power_free(times->power);
	g_free(times->residence);
	for (guint edge = 0; edge < PIPESIM_N_EDGES; edge++)
		g_free(times->edge[edge]);
	g_free(times);
}

gint64 pipesim_times_pair(const PipesimTimes *times, guint f_stage, guint b_stage)
{
	if (times->equal_stages)
		return times->average[PIPESIM_FB];
	return pipesim_times_paired(
		times, times->stage[PIPESIM_F][f_stage] + times->stage[PIPESIM_B][b_stage]);
}

gint64 pipesim_times_paired(const PipesimTimes *times, gint64 both)
{
	const gint64 even = times->chunk[PIPESIM_F] + times->chunk[PIPESIM_B];

	return even == 0 ? times->average[PIPESIM_FB]
			 : pipesim_time_scale(times->chunk[PIPESIM_FB], both, even);
}
