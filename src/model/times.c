/* What an op of each stage takes and holds, of what was asked for the whole model. */
#include "model/slices.h"
#include "model/split.h"

/* Sums of products of times and counts. */
__extension__ typedef __int128 Wide;

/* What lies in stage @stage of @times, whose stages and layers are known, of numbers of @n
 * equal parts of the model, any number of them, @step apart from @first on: over @pieces;
 * rounded to the nearest, half up, and at most G_MAXINT64. */
static gint64 sum_parts(const gint64 *first, guint n, guint step, const PipesimTimes *times,
	guint stage, guint pieces)
{
	const guint64 *layer = times->first_layer;
	const guint64 whole = layer != NULL ? layer[times->stages] : times->stages;
	/* In @whole-ths of a part. */
	const guint64 begin = (layer != NULL ? layer[stage] : stage) * n;
	const guint64 end = (layer != NULL ? layer[stage + 1] : stage + 1) * n;
	const Wide divisor = (Wide)whole * pieces;
	Wide total = 0;

	for (guint64 i = begin / whole; i * whole < end; i++)
		total += (Wide)first[i * step] *
			 (MIN(end, (i + 1) * whole) - MAX(begin, i * whole));
	total = (total + divisor / 2) / divisor;
	return total > G_MAXINT64 ? G_MAXINT64 : (gint64)total;
}

/* The same of every stage. */
static gint64 *sum_all(
	const gint64 *first, guint n, guint step, const PipesimTimes *times, guint pieces)
{
	gint64 *sums = g_new(gint64, times->stages);

	for (guint stage = 0; stage < times->stages; stage++)
		sums[stage] = sum_parts(first, n, step, times, stage, pieces);
	return sums;
}

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

/* Of every stage its share of @share, of a rank, over @pieces: stages that are longer have
 * more. */
static gint64 *share_out(const PipesimTimes *times, const PipesimCosts *costs,
	const PipesimShape *shape, gint64 share, guint pieces)
{
	const gint64 even =
		pipesim_time_scale(share, shape->ranks, (gint64)shape->stages * pieces);
	gint64 *shares = g_new(gint64, shape->stages);

	for (guint stage = 0; stage < shape->stages; stage++)
		shares[stage] = stretch(times, costs, stage, even);
	return shares;
}

static void fill_from_parts(
	PipesimTimes *times, const PipesimCosts *costs, const PipesimShape *shape)
{
	const gint64 *part = costs->part;
	const gboolean sum = pipesim_all(i, costs->n_parts,
		part[i * PIPESIM_FB + PIPESIM_B] ==
			part[i * PIPESIM_FB + PIPESIM_I] + part[i * PIPESIM_FB + PIPESIM_W]);

	for (int kind = 0; kind < PIPESIM_FB; kind++) {
		gint64 *stages = times->stage[kind] = sum_all(&costs->part[kind],
			costs->n_parts, PIPESIM_FB, times, pipesim_shape_parts(shape));

		for (guint stage = 0; stage < times->stages; stage++) {
			if (kind == PIPESIM_B && sum)
				stages[stage] = times->stage[PIPESIM_I][stage] +
						times->stage[PIPESIM_W][stage];
			times->equal_stages &= stages[stage] == stages[0];
		}
	}
	if (!costs->first_whole)
		return;
	times->stage[PIPESIM_I][0] = 0;
	times->stage[PIPESIM_W][0] = times->stage[PIPESIM_B][0];
	times->equal_stages = FALSE;
}

/* Formulae go by the average stage, as they do where stages have times of their own. */
static void average_stages(PipesimTimes *times)
{
	gint64 *average = times->average;
	const gboolean sum = average[PIPESIM_FB] == average[PIPESIM_F] + average[PIPESIM_B];
	const gint64 both = average[PIPESIM_F] + average[PIPESIM_B];

	for (int kind = 0; kind < PIPESIM_FB; kind++) {
		const Wide total =
			pipesim_sum(stage, times->stages, (Wide)times->stage[kind][stage]);

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

	for (int kind = 0; kind < PIPESIM_FB; kind++)
		times->stage[kind] = g_new(gint64, times->stages);
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
		const guint pieces =
			sort == PIPESIM_PARAMETERS ? 1 : pipesim_shape_parts(shape);

		times->bytes[sort] =
			costs->part_bytes != NULL
				? sum_all(&costs->part_bytes[sort], costs->n_part_bytes,
					  PIPESIM_N_BYTES, times, pieces)
				: share_out(times, costs, shape, share[sort], pieces);
	}
}

/* What a rank moves to gather a stage and to reduce it, where no model tells, and what that
 * takes where it shares no link with messages at the moment. */
static void fill_sharding(
	PipesimTimes *times, const PipesimCosts *costs, const PipesimShape *shape)
{
	const PipesimSharding *sharding = &costs->sharding;
	const gint64 share[] = {sharding->unshard, sharding->reduce};
	gint64 **const to[] = {&times->unshard, &times->reduce};
	gint64 **const sizes[] = {&times->gathered, &times->moved[0], &times->moved[1]};
	const gboolean over_links =
		costs->network != NULL && costs->network->shards != PIPESIM_SHARDS_OWN;
	const gint64 bandwidth = sharding->bandwidth;

	for (guint i = times->gathered == NULL && sharding->bytes > 0 ? 0 : 3; i < 3; i++)
		*sizes[i] = share_out(times, costs, shape, sharding->bytes, 1);
	if (share[0] == 0 && share[1] == 0 &&
		((bandwidth == 0 && !over_links) || times->gathered == NULL))
		return;
	for (guint i = 0; i < G_N_ELEMENTS(to); i++) {
		gint64 *time = *to[i] = share_out(times, costs, shape, share[i], 1);

		for (guint stage = 0; stage < shape->stages; stage++) {
			if (over_links) {
				time[stage] = pipesim_network_shard_time(
					costs->network, times->moved[i][stage]);
			} else if (bandwidth > 0) {
				const Wide ns = (Wide)times->moved[i][stage] * 1000000000;

				time[stage] = (gint64)MIN((ns + bandwidth - 1) / bandwidth,
					(Wide)PIPESIM_MAX_TIME_NS);
			}
		}
	}
}

/* Ranks that @costs says nothing of are as fast as the times say. */
static void slow_ranks(
	PipesimTimes *times, const PipesimCosts *costs, const PipesimShape *shape)
{
	if (pipesim_all(rank, MIN(costs->n_slow, shape->ranks),
		    costs->slow[rank].num == costs->slow[rank].den))
		return;
	times->slow = g_new(PipesimFraction, shape->ranks);
	for (guint rank = 0; rank < shape->ranks; rank++)
		times->slow[rank] =
			rank < costs->n_slow ? costs->slow[rank] : (PipesimFraction){1, 1};
}

/* Of single micro-batches, of stages whose average times are known. */
static void fill_each(PipesimTimes *times, const PipesimOpTimes *of)
{
	const guint n = of->microbatches;
	const gint64 billion = 1000000000;
	Wide total = 0;

	times->microbatches = n;
	times->equal_stages = FALSE;
	times->each = g_new(gint64, (gsize)times->stages * n * PIPESIM_FB);
	/* Lengths are decimals of at most nine places: whole billionths. */
	for (guint i = 0; i < n && of->parts == 0; i++)
		total += (Wide)of->length[i].num * (billion / of->length[i].den);
	for (guint i = 0; i < n; i++) {
		gint64 share = 0; /* of the average length, in billionths */

		if (of->parts == 0)
			share = (gint64)(((Wide)of->length[i].num *
							 (billion / of->length[i].den) * n *
							 billion +
						 total / 2) /
					 total);
		for (guint stage = 0; stage < times->stages; stage++)
			for (guint kind = 0; kind < PIPESIM_FB; kind++) {
				const gint64 ns =
					of->parts == 0
						? pipesim_time_scale(times->stage[kind][stage],
							  share, billion)
						: sum_parts(&of->time[(gsize)i * PIPESIM_FB +
								      kind],
							  of->parts, n * PIPESIM_FB, times,
							  stage, 1);

				times->each[((gsize)stage * n + i) * PIPESIM_FB + kind] =
					MIN(ns, PIPESIM_MAX_TIME_NS);
			}
	}
}

/* Of single slices, whose average lasts as long as those of equal length do, but for launches. */
static void fill_slices(
	PipesimTimes *times, const PipesimCosts *costs, const PipesimShape *shape)
{
	const guint n = shape->microbatches, slices = pipesim_shape_slices(shape);
	g_autofree PipesimSlicing *slicing = g_new(PipesimSlicing, 1);
	g_autofree double *shares = g_new(double, slices);
	g_autofree double *attention = g_new(double, slices);
	g_autofree double *lengths = g_new(double, slices);

	if (!pipesim_slicing_of(costs, slices, slicing) ||
		!pipesim_slicing_shares(slicing, slices, shares, attention, NULL))
		return;
	if (slicing->how != PIPESIM_SLICES_EVEN &&
		pipesim_slicing_lengths(slicing, slices, lengths, NULL)) {
		times->tokens = g_new(gint64, slices);
		for (guint i = 0; i < slices; i++)
			times->tokens[i] = (gint64)rint(lengths[i]);
	}
	times->microbatches = n;
	times->equal_stages = FALSE;
	times->each = g_new(gint64, (gsize)times->stages * n * PIPESIM_FB);
	for (guint stage = 0; stage < times->stages; stage++)
		for (guint i = 0; i < n; i++)
			for (guint kind = 0; kind < PIPESIM_FB; kind++) {
				const double ns = (double)times->stage[kind][stage] * slices *
						  shares[i % slices];

				times->each[((gsize)stage * n + i) * PIPESIM_FB + kind] =
					(gint64)MIN(round(ns), (double)PIPESIM_MAX_TIME_NS);
			}
	if (shape->exchange)
		pipesim_slicing_exchange(
			slicing, shape, attention, times->p2p, times->stage, times->each);
}

/* What an op beyond PipesimKind takes: that of a chunk, of a copy the part of it that goes, or of a rank. */
static gint64 own_time(const PipesimCosts *costs, const PipesimShape *shape, guint kind)
{
	const PipesimOpRow *row = &pipesim_op_rows[kind];
	const gboolean part =
		shape->offload_part.num > 0 &&
		(row->resource == PIPESIM_ON_COPY_OUT || row->resource == PIPESIM_ON_COPY_IN);

	if (row->of_rank)
		return costs->own[kind];
	return pipesim_time_scale(costs->own[kind],
		shape->ranks * (part ? shape->offload_part.num : 1),
		(gint64)shape->stages * pipesim_shape_parts(shape) *
			(part ? shape->offload_part.den : 1));
}

gint64 pipesim_times_again(const PipesimTimes *times, guint kind, guint stage, gint64 forward)
{
	const gint64 usual = times->stage[PIPESIM_F][stage];
	const gint64 ns = times->again != NULL   ? times->again[stage]
			  : times->own[kind] > 0 ? times->own[kind]
						 : usual;

	return usual == 0 ? ns : pipesim_time_scale(ns, forward, usual);
}

gboolean pipesim_times_check_copy(const PipesimTimes *times, const char *option, GError **error)
{
	return pipesim_own_copy(times->own) > 0 ||
	       pipesim_fail(error, PIPESIM_ERROR_USAGE,
		       "%s needs the time of a copy; give COPY of --times, or "
		       "--offload-bandwidth",
		       option);
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
	const PipesimStepCosts *step = costs->step;
	const gint64 *share = costs->time;
	gint64 *chunk = times->chunk;

	times->stages = shape->stages;
	times->p2p = costs->p2p;
	times->post_validation = costs->post_validation;
	times->has_optimizer = costs->has_optimizer;
	times->optimizer = costs->optimizer;
	times->bytes_until_input = pipesim_time_scale(costs->bytes_until_input, 1, parts);
	times->bytes_until_weight = pipesim_time_scale(costs->bytes_until_weight, 1, parts);
	times->equal_stages = TRUE;
	times->first_layer = pipesim_split_layers(costs, shape, stage_of);
	/* What is derived from others is derived again after they were rounded: formulae
	 * that are exact would else be off by some ns. */
	for (int kind = 0; kind < PIPESIM_N_KINDS; kind++)
		chunk[kind] = pipesim_time_scale(
			share[kind], shape->ranks, (gint64)shape->stages * parts);
	if (share[PIPESIM_B] == share[PIPESIM_I] + share[PIPESIM_W])
		chunk[PIPESIM_B] = chunk[PIPESIM_I] + chunk[PIPESIM_W];
	if (share[PIPESIM_FB] == share[PIPESIM_F] + share[PIPESIM_B])
		chunk[PIPESIM_FB] = chunk[PIPESIM_F] + chunk[PIPESIM_B];
	memcpy(times->average, chunk, sizeof times->average);
	/* Megatron-LM has a stream each way. */
	times->engines = costs->copy_engines > 0       ? costs->copy_engines
			 : shape->offload_part.num > 0 ? 2
						       : 1;
	for (guint kind = PIPESIM_N_KINDS; kind < PIPESIM_N_OPS; kind++)
		times->own[kind] = own_time(costs, shape, kind);
	slow_ranks(times, costs, shape);
	times->power = pipesim_power_copy(costs->power);
	if (times->power != NULL && shape->ranks > 1)
		pipesim_power_exchange(times->power);
	times->contention = g_memdup2(costs->contention, sizeof *costs->contention);
	if (costs->part != NULL)
		fill_from_parts(times, costs, shape);
	else
		fill_from_scale(times, costs);
	if (costs->cutter != NULL)
		costs->cutter->cut(costs->cutter, shape, times);
	else
		fill_bytes(times, costs, shape);
	fill_sharding(times, costs, shape);
	/* What happens once for a stage, however many parts of micro-batches there are: a
	 * host launches as many kernels of a part, and gradients are those of the stage. */
	for (guint kind = 0; costs->launch != NULL && kind < PIPESIM_FB; kind++)
		times->launch[kind] =
			sum_all(&costs->launch[kind], costs->n_launches, PIPESIM_FB, times, 1);
	times->has_edges = step != NULL;
	times->begin = step != NULL ? step->begin : 0;
	for (guint edge = 0; step != NULL && step->part != NULL && edge < PIPESIM_N_EDGES;
		edge++)
		times->edge[edge] =
			sum_all(&step->part[edge], step->n_parts, PIPESIM_N_EDGES, times, 1);
	if (times->tail != NULL)
		average_stages(times);
	if (costs->op_times != NULL)
		fill_each(times, costs->op_times);
	else if (pipesim_shape_slices(shape) > 1)
		fill_slices(times, costs, shape);
	return times;
}

PIPESIM_FREES(PipesimTimes, pipesim_times_free, times)
{
	for (int kind = 0; kind < PIPESIM_FB; kind++)
		pipesim_free_all(times->stage[kind], times->launch[kind]);
	for (guint sort = 0; sort < PIPESIM_N_STAGE_BYTES; sort++)
		g_free(times->bytes[sort]);
	for (guint edge = 0; edge < PIPESIM_N_EDGES; edge++)
		g_free(times->edge[edge]);
	pipesim_power_free(times->power);
	pipesim_free_all(times->unshard, times->reduce, times->gathered, times->moved[0],
		times->moved[1], times->late, times->early, times->tail, times->each,
		times->tokens, times->sorts, times->again, times->slow, times->first_layer,
		times->contention, times);
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
