/* Whole layers over stages so that the longest stage is as short as it can be: the shortest
 * length within which a left-to-right filling needs no more stages is found by bisection; of
 * all cuts within it the one whose stages are most alike, by the sum of their squares. */
#include "transformer/layout.h"

/* Most items for which stages are made alike: n squared over the stages. */
#define MOST_ITEMS 4096

/* What is cut: an encoder's layers, embedding, layers, multi-token prediction as one, head. */
typedef struct {
	guint n;
	const double *sum; /* of the weights of the items before */
} Items;

static double weight(const Items *items, guint begin, guint end)
{
	return items->sum[end] - items->sum[begin];
}

/* Whether a filling from the left with stages of at most *@most takes no more than @stages.
 * Then *@most becomes its longest stage; else the next length at which the filling changes. */
static gboolean fill(const Items *items, guint stages, double *most)
{
	double longest = 0, next = (double)INFINITY;
	guint used = 0, end;

	for (guint begin = 0; begin < items->n; begin = end, used++) {
		end = begin;
		while (end < items->n && weight(items, begin, end + 1) <= *most)
			end++;
		longest = MAX(longest, weight(items, begin, end));
		if (end < items->n)
			next = MIN(next, weight(items, begin, end + 1));
		/* An item is longer, or too many follow. */
		if (end == begin || used == stages) {
			*most = next;
			return FALSE;
		}
	}
	*most = longest;
	return TRUE;
}

static double shortest(const Items *items, guint stages)
{
	/* Nothing below low is long enough. */
	double low = 0, high = items->sum[items->n];

	while (low < high) {
		double middle = low + (high - low) / 2;

		/* Between neighbouring numbers there is none. */
		if (middle >= high)
			middle = low;
		if (fill(items, stages, &middle))
			high = middle;
		else
			low = middle;
	}
	return high;
}

/* The ends of stages within @most that are most alike. */
static void choose_alike(const Items *items, guint stages, double most, guint *ends)
{
	const guint n = items->n, width = n + 1;
	g_autofree double *best = g_new(double, 2 * (gsize)width);
	g_autofree guint *from = g_new0(guint, (gsize)stages * width);
	/* Where each stage ends at the earliest and at the latest, so that those behind and before it are within @most. */
	g_autofree guint *first = g_new(guint, 2 * (gsize)stages);
	guint *last = first + stages;

	for (guint stage = 0, begin = 0; stage < stages; begin = last[stage++]) {
		last[stage] = begin + 1;
		while (last[stage] < n - (stages - 1 - stage) &&
			weight(items, begin, last[stage] + 1) <= most)
			last[stage]++;
	}
	first[stages - 1] = n;
	for (guint stage = stages - 1; stage > 0; stage--) {
		first[stage - 1] = first[stage] - 1;
		while (first[stage - 1] > stage &&
			weight(items, first[stage - 1] - 1, first[stage]) <= most)
			first[stage - 1]--;
	}
	best[0] = 0;
	for (guint stage = 0; stage < stages; stage++) {
		const double *before = &best[(stage % 2) * width];
		double *now = &best[((stage + 1) % 2) * width];

		for (guint end = first[stage]; end <= last[stage]; end++) {
			const guint least = stage > 0 ? first[stage - 1] : 0;

			now[end] = (double)INFINITY;
			for (guint begin = MIN(end, stage > 0 ? last[stage - 1] + 1 : 1);
				begin-- > least;) {
				const double length = weight(items, begin, end);
				const double total = before[begin] + length * length;

				if (length > most)
					break;
				if (total < now[end]) {
					now[end] = total;
					from[(gsize)stage * width + end] = begin;
				}
			}
		}
	}
	for (guint stage = stages, end = n; stage-- > 0;) {
		ends[stage] = end;
		end = from[(gsize)stage * width + end];
	}
}

/* Items ahead of the embedding. */
static gint64 ahead(const PipesimTransformer *model, guint apart)
{
	return apart & PIPESIM_APART_ENCODER ? pipesim_part_count(model, PIPESIM_PART_ENCODER)
					     : 0;
}

guint pipesim_stages_items(const PipesimTransformer *model, guint apart)
{
	return (guint)(ahead(model, apart) + model->layers + 2 +
		       (apart & PIPESIM_APART_MTP ? 2 * model->mtp : model->mtp > 0));
}

void pipesim_stages_item(const PipesimTransformer *model, guint apart, guint item,
	gint64 counts[PIPESIM_N_PARTS])
{
	const gint64 layer = (gint64)item - ahead(model, apart) - 1;
	const gint64 behind = layer - model->layers;
	const gboolean last = item + 1 == pipesim_stages_items(model, apart);
	const gboolean several = apart & PIPESIM_APART_MTP;

	memset(counts, 0, PIPESIM_N_PARTS * sizeof *counts);
	if (layer == -1 && !(apart & PIPESIM_APART_ENCODER))
		counts[PIPESIM_PART_ENCODER] = pipesim_part_count(model, PIPESIM_PART_ENCODER);
	counts[layer < -1   ? PIPESIM_PART_ENCODER
		: layer < 0 ? PIPESIM_PART_EMBEDDING
		: behind < 0
			? (pipesim_transformer_is_sparse(model, layer) ? PIPESIM_PART_SPARSE
								       : PIPESIM_PART_DENSE)
		: last                            ? PIPESIM_PART_HEAD
		: !several || behind < model->mtp ? PIPESIM_PART_MTP
						  : PIPESIM_PART_LOSS] = 1;
	if (several)
		return;
	counts[PIPESIM_PART_MTP] *= model->mtp;
	counts[PIPESIM_PART_LOSS] = last && model->vocab > 0 ? model->mtp : 0;
}

PipesimStages *pipesim_stages_of_items(
	const PipesimTransformer *model, guint apart, const guint *ends, guint stages)
{
	PipesimStages *layout = g_new0(PipesimStages, 1);

	layout->stages = stages;
	layout->cut = g_new0(PipesimCut, stages);
	for (guint stage = 0, item = 0; stage < stages; stage++) {
		PipesimCut *cut = &layout->cut[stage];
		gint64 counts[PIPESIM_N_PARTS];

		cut->first = CLAMP((gint64)item - ahead(model, apart) - 1, 0, model->layers);
		cut->follows = stage > 0 && pipesim_transformer_encodes(model);
		for (; item < ends[stage]; item++) {
			pipesim_stages_item(model, apart, item, counts);
			cut->embedding |= counts[PIPESIM_PART_EMBEDDING] > 0;
			cut->head |= counts[PIPESIM_PART_HEAD] > 0;
			cut->layers += counts[PIPESIM_PART_DENSE] + counts[PIPESIM_PART_SPARSE];
			cut->encoders += counts[PIPESIM_PART_ENCODER];
			cut->mtp += counts[PIPESIM_PART_MTP];
			cut->losses += counts[PIPESIM_PART_LOSS];
		}
	}
	return layout;
}

PipesimStages *pipesim_stages_balance(const PipesimTransformer *model, guint apart,
	const double parts[PIPESIM_N_PARTS], guint stages, GError **error)
{
	Items items = {.n = pipesim_stages_items(model, apart)};
	g_autofree double *sum = g_new0(double, (gsize)items.n + 1);

	items.sum = sum;
	for (guint i = 0; i < items.n; i++) {
		gint64 counts[PIPESIM_N_PARTS];

		pipesim_stages_item(model, apart, i, counts);
		sum[i + 1] = sum[i];
		for (PipesimPart part = 0; part < PIPESIM_N_PARTS; part++)
			sum[i + 1] += (double)counts[part] * parts[part];
	}

	if (stages > items.n)
		return pipesim_fail_null(error, PIPESIM_ERROR_CONSTRAINT,
			"%u stages, but %s has %" G_GINT64_FORMAT
			" layers, embedding and head; nearest: %" G_GINT64_FORMAT " stages",
			stages, model->name, model->layers, model->layers);
	g_autofree guint *ends = g_new(guint, stages);
	double most = shortest(&items, stages);
	if (items.n <= MOST_ITEMS)
		choose_alike(&items, stages, most, ends);
	/* Else left to right, with an item left for every stage that follows. */
	for (guint stage = 0, end = 0; stage < stages && items.n > MOST_ITEMS; stage++) {
		const guint begin = end++, last = items.n - (stages - 1 - stage);

		while (end < last && weight(&items, begin, end + 1) <= most)
			end++;
		ends[stage] = end = stage + 1 == stages ? items.n : end;
	}
	return pipesim_stages_of_items(model, apart, ends, stages);
}
