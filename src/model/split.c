#include "model/split.h"
#include "model/slices.h"

__extension__ typedef __int128 Wide;

/* A layer of a stage of length 1 on a rank that is not slow. */
#define UNIT (1 << 20)

/* Most stretches of longer stages that are told one by one. */
#define MAX_STRETCHES 4

gboolean pipesim_op_times_fit(
	const PipesimOpTimes *times, const PipesimShape *shape, GError **error)
{
	if (times->microbatches != shape->microbatches)
		return pipesim_fail(error, PIPESIM_ERROR_CONSTRAINT,
			"--op-times has times of %u micro-batches, the step has %u",
			times->microbatches, shape->microbatches);
	if (pipesim_shape_parts(shape) > 1)
		return pipesim_fail(error, PIPESIM_ERROR_CONSTRAINT,
			"micro-batches run in parts, whose times --op-times does not have");
	return (guint64)shape->stages * shape->microbatches <= PIPESIM_MAX_OP_TIMES ||
	       pipesim_fail(error, PIPESIM_ERROR_LIMIT,
		       "%u stages of %u micro-batches; with --op-times %" G_GUINT64_FORMAT
		       " of both together are the most",
		       shape->stages, shape->microbatches, PIPESIM_MAX_OP_TIMES);
}

static gboolean fit_slices(const PipesimCosts *costs, const PipesimShape *shape, GError **error)
{
	g_autofree PipesimSlicing *slicing = g_new(PipesimSlicing, 1);
	g_autofree double *lengths = g_new(double, shape->parts);

	if (!pipesim_slicing_of(costs, shape->parts, slicing))
		return TRUE;
	if ((guint64)shape->stages * shape->microbatches > PIPESIM_MAX_OP_TIMES)
		return pipesim_fail(error, PIPESIM_ERROR_LIMIT,
			"%u stages of %u slices; where slices differ %" G_GUINT64_FORMAT
			" of both together are the most",
			shape->stages, shape->microbatches, PIPESIM_MAX_OP_TIMES);
	return pipesim_slicing_lengths(slicing, shape->parts, lengths, error);
}

gboolean pipesim_split_check(
	const PipesimCosts *costs, const PipesimShape *shape, GError **error)
{
	if ((costs->cutter != NULL && !costs->cutter->check(costs->cutter, shape, error)) ||
		(costs->op_times != NULL &&
			!pipesim_op_times_fit(costs->op_times, shape, error)))
		return FALSE;
	if (shape->sliced && !fit_slices(costs, shape, error))
		return FALSE;
	if (!costs->whole_layers || costs->model_layers >= shape->stages)
		return TRUE;
	return pipesim_fail(error, PIPESIM_ERROR_CONSTRAINT,
		"%u stages of whole layers need at least as many layers; the model has "
		"%" G_GUINT64_FORMAT ": give more with --layers, or take --split even",
		shape->stages, costs->model_layers);
}

/* A heap of ranks, that with least to do on top. Loads only grow: one that is out of date is
 * found out when its rank comes to the top. */
typedef struct {
	const PipesimCosts *costs;
	const PipesimShape *shape;
	const guint32 *stage_of; /* [rank * chunks + chunk] */
	gsize *first_place;      /* of each stage, into place; stages + 1 */
	guint32 *place;          /* rank * chunks + chunk, by stage */
	Wide *load;              /* by rank */
	Wide *key;               /* by rank: its load when it was put into the heap */
	guint32 *heap;
	guint32 n;
	guint32 *next; /* by rank: the chunk that it is asked for next */
} Division;

static gint64 weight_of(const Division *d, guint rank, guint stage)
{
	const PipesimFraction scale =
		pipesim_costs_stage_scale(d->costs, stage, d->shape->stages);
	const gint64 weight = pipesim_time_scale(UNIT, scale.num, scale.den);

	if (rank >= d->costs->n_slow)
		return weight;
	return pipesim_time_scale(weight, d->costs->slow[rank].num, d->costs->slow[rank].den);
}

static gboolean is_before(const Division *d, guint32 a, guint32 b)
{
	return d->key[a] != d->key[b] ? d->key[a] < d->key[b] : a < b;
}

static void sift_down(Division *d, guint32 at)
{
	const guint32 rank = d->heap[at];

	for (;;) {
		guint32 child = 2 * at + 1;

		if (child >= d->n)
			break;
		if (child + 1 < d->n && is_before(d, d->heap[child + 1], d->heap[child]))
			child++;
		if (!is_before(d, d->heap[child], rank))
			break;
		d->heap[at] = d->heap[child];
		at = child;
	}
	d->heap[at] = rank;
}

/* Which places each stage has, and what every rank has to do where all have @each layers. */
static void count_places(Division *d, guint64 each)
{
	const gsize n = (gsize)d->shape->ranks * d->shape->chunks;

	for (gsize at = 0; at < n; at++)
		if (d->stage_of[at] != G_MAXUINT32)
			d->first_place[d->stage_of[at] + 1]++;
	for (guint stage = 0; stage < d->shape->stages; stage++)
		d->first_place[stage + 1] += d->first_place[stage];
	gsize placed = d->first_place[d->shape->stages];
	/* The end of each goes down to its begin. */
	for (gsize at = n; at-- > 0;) {
		const guint32 stage = d->stage_of[at];
		const guint rank = (guint)(at / d->shape->chunks);

		if (stage == G_MAXUINT32)
			continue;
		d->place[--d->first_place[stage + 1]] = (guint32)at;
		d->load[rank] += (Wide)each * weight_of(d, rank, stage);
	}
	for (guint stage = 0; stage < d->shape->stages; stage++)
		d->first_place[stage] = d->first_place[stage + 1];
	d->first_place[d->shape->stages] = placed;
}

static void choose_longer(Division *d, guint64 n, guint8 *longer)
{
	const guint chunks = d->shape->chunks;

	while (n > 0 && d->n > 0) {
		const guint32 rank = d->heap[0];
		const guint32 *stages = &d->stage_of[(gsize)rank * chunks];
		guint32 *next = &d->next[rank], stage;

		/* Its first chunk whose stage has no further layer yet. */
		while (*next < chunks &&
			(stages[*next] == G_MAXUINT32 || longer[stages[*next]]))
			++*next;
		stage = *next < chunks ? stages[*next] : G_MAXUINT32;
		if (stage == G_MAXUINT32) {
			d->heap[0] = d->heap[--d->n];
		} else if (d->key[rank] != d->load[rank]) {
			d->key[rank] = d->load[rank];
		} else {
			longer[stage] = TRUE;
			n--;
			for (gsize i = d->first_place[stage]; i < d->first_place[stage + 1];
				i++) {
				const guint on = d->place[i] / d->shape->chunks;

				d->load[on] += weight_of(d, on, stage);
			}
			d->key[rank] = d->load[rank];
		}
		if (d->n > 0)
			sift_down(d, 0);
	}
}

guint64 *pipesim_split_layers(
	const PipesimCosts *costs, const PipesimShape *shape, const guint32 *stage_of)
{
	const guint64 each = costs->model_layers / shape->stages;
	const gsize n_places = (gsize)shape->ranks * shape->chunks;
	g_autofree guint32 *own = NULL, *place = NULL, *heap = NULL, *next = NULL;

	if (!costs->whole_layers || each == 0 || costs->model_layers % shape->stages == 0)
		return NULL;
	if (stage_of == NULL) {
		own = g_new(guint32, n_places);
		for (gsize at = 0; at < n_places; at++)
			own[at] = shape->placement == PIPESIM_FROM_FILE
					  ? (guint32)MIN(at, shape->stages - 1)
					  : pipesim_shape_stage(shape,
						    (guint)(at / shape->chunks),
						    (guint)(at % shape->chunks));
		stage_of = own;
	}
	place = g_new(guint32, n_places);
	heap = g_new(guint32, shape->ranks);
	next = g_new0(guint32, shape->ranks);
	g_autofree gsize *first_place = g_new0(gsize, (gsize)shape->stages + 1);
	g_autofree guint8 *longer = g_new0(guint8, shape->stages);
	g_autofree Wide *load = g_new0(Wide, shape->ranks);
	g_autofree Wide *key = g_new(Wide, shape->ranks);
	Division d = (Division){costs, shape, stage_of, first_place, place, load, key, heap,
		shape->ranks, next};
	count_places(&d, each);
	for (guint rank = 0; rank < shape->ranks; rank++) {
		heap[rank] = rank;
		key[rank] = load[rank];
	}
	for (guint rank = shape->ranks / 2; rank-- > 0;)
		sift_down(&d, rank);
	choose_longer(&d, costs->model_layers % shape->stages, longer);
	guint64 *first = g_new(guint64, (gsize)shape->stages + 1);
	first[0] = 0;
	for (guint stage = 0; stage < shape->stages; stage++)
		first[stage + 1] = first[stage] + each + longer[stage];
	return first;
}

static gboolean parts_differ(const PipesimCosts *costs)
{
	return pipesim_any(i, costs->n_parts,
		memcmp(costs->part, &costs->part[i * PIPESIM_FB],
			PIPESIM_FB * sizeof *costs->part) != 0);
}

char *pipesim_split_describe(
	const PipesimCosts *costs, const PipesimShape *shape, const PipesimTimes *times)
{
	const guint64 layers = costs->model_layers, each = layers / shape->stages;
	g_autoptr(GString) words = NULL;
	PipesimNumber number;

	if (costs->cutter != NULL && costs->cutter->words != NULL)
		return g_strdup(costs->cutter->words);
	if (costs->part != NULL && costs->n_parts > 1 && shape->stages > costs->n_parts &&
		parts_differ(costs))
		return g_strdup_printf(
			"%u stages share %u rows of stage times, each row cut evenly; for "
			"stages that are uneven within a row give %u rows",
			shape->stages, costs->n_parts, shape->stages);
	if (layers == 0 || layers % shape->stages == 0)
		return NULL;
	words = g_string_new(NULL);
	if (times->first_layer != NULL) {
		g_string_append_printf(words,
			"%" G_GUINT64_FORMAT " or %" G_GUINT64_FORMAT
			" layers per stage (%" G_GUINT64_FORMAT
			" in %u stages), %" G_GUINT64_FORMAT " in stage%s ",
			each, each + 1, layers, shape->stages, each + 1,
			layers % shape->stages > 1 ? "s" : "");
		/* "0 to 3, 8" */
		for (guint begin = 0, end, n = 0; begin < times->stages; begin = end) {
			const guint64 *first = times->first_layer;
			const gboolean longer = first[begin + 1] - first[begin] > each;

			for (end = begin + 1; end < times->stages; end++)
				if ((first[end + 1] - first[end] > each) != longer)
					break;
			if (!longer)
				continue;
			if (n++ == MAX_STRETCHES) {
				g_string_append(words, " and others");
				break;
			}
			g_string_append_printf(words, "%s%u", n > 1 ? ", " : "", begin);
			if (end > begin + 1)
				g_string_append_printf(words, " to %u", end - 1);
		}
		return g_string_free(g_steal_pointer(&words), FALSE);
	}
	/* As ms are printed: 2.5, 0.333. */
	gint64 share = pipesim_time_scale(1000000, (gint64)layers, shape->stages);
	pipesim_print_ms(number, (share + 500) / 1000 * 1000);
	g_string_append_printf(words,
		"%s layers per stage (%" G_GUINT64_FORMAT
		" in %u stages), which no model can have; %s",
		number, layers, shape->stages,
		each > 0 ? "--split layers gives every stage whole layers"
			 : "give more layers with --layers");
	return g_string_free(g_steal_pointer(&words), FALSE);
}
