/* Whole layers over stages so that the longest stage is as short as it can be: the shortest
 * length within which a left-to-right filling needs no more stages is found by bisection; of
 * all cuts within it the one whose stages are most alike, by the sum of their squares. */
#include "config.h"

#include "transformer/layout.h"
#include <math.h>

/* Most items for which stages are made alike: n squared over the stages. */
#define MOST_ITEMS 4096

/* What is cut: embedding, layers, multi-token prediction as one, head. */
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
	*most = used <= stages ? longest : next;
	return used <= stages;
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

	for (guint end = 0; end <= n; end++)
		best[end] = end == 0 ? 0 : (double)INFINITY;
	for (guint stage = 0; stage < stages; stage++) {
		const double *before = &best[(stage % 2) * width];
		double *now = &best[((stage + 1) % 2) * width];

		/* Each stage holds an item at least, those before and behind it too. */
		for (guint end = stage + 1; end <= n - (stages - 1 - stage); end++) {
			now[end] = (double)INFINITY;
			for (guint begin = end; begin-- > stage;) {
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

guint pipesim_stages_items(const PipesimTransformer *model)
{
	return (guint)model->layers + 2 + (model->mtp > 0);
}

PipesimPart pipesim_stages_item(const PipesimTransformer *model, guint item)
{
	const gint64 layer = (gint64)item - 1;

	if (item == 0)
		return PIPESIM_PART_EMBEDDING;
	if (layer < model->layers)
		return pipesim_transformer_is_sparse(model, layer) ? PIPESIM_PART_SPARSE
								   : PIPESIM_PART_DENSE;
	return item + 1 < pipesim_stages_items(model) ? PIPESIM_PART_MTP : PIPESIM_PART_HEAD;
}

PipesimStages *pipesim_stages_of_items(
	const PipesimTransformer *model, const guint *ends, guint stages)
{
	const guint n = pipesim_stages_items(model);
	PipesimStages *layout = g_new0(PipesimStages, 1);

	layout->stages = stages;
	layout->cut = g_new0(PipesimCut, stages);
	for (guint stage = 0, begin = 0; stage < stages; begin = ends[stage], stage++) {
		PipesimCut *cut = &layout->cut[stage];
		const gint64 first = MAX((gint64)begin - 1, 0);
		const gint64 behind = MIN((gint64)ends[stage] - 1, model->layers);

		cut->embedding = begin == 0;
		cut->head = ends[stage] == n;
		cut->first = MIN(first, model->layers);
		cut->layers = MAX(behind - cut->first, 0);
		cut->mtp = model->mtp > 0 && begin < n - 1 && ends[stage] >= n - 1 ? model->mtp
										   : 0;
	}
	return layout;
}

PipesimStages *pipesim_stages_balance(const PipesimTransformer *model,
	const double parts[PIPESIM_N_PARTS], guint stages, GError **error)
{
	Items items = {.n = pipesim_stages_items(model)};
	g_autofree double *sum = g_new0(double, (gsize)items.n + 1);
	g_autofree guint *ends = NULL;
	double most;

	items.sum = sum;
	for (guint i = 0; i < items.n; i++) {
		const PipesimPart part = pipesim_stages_item(model, i);

		sum[i + 1] = sum[i] +
			     parts[part] * (part == PIPESIM_PART_MTP ? (double)model->mtp : 1);
	}

	if (stages > items.n) {
		pipesim_fail(error, PIPESIM_ERROR_CONSTRAINT,
			"%u stages, but %s has %" G_GINT64_FORMAT
			" layers, embedding and head; nearest: %" G_GINT64_FORMAT " stages",
			stages, model->name, model->layers, model->layers);
		return NULL;
	}
	ends = g_new(guint, stages);
	most = shortest(&items, stages);
	if (items.n <= MOST_ITEMS)
		choose_alike(&items, stages, most, ends);
	/* Else left to right, with an item left for every stage that follows. */
	for (guint stage = 0, end = 0; stage < stages && items.n > MOST_ITEMS; stage++) {
		const guint begin = end++, last = items.n - (stages - 1 - stage);

		while (end < last && weight(&items, begin, end + 1) <= most)
			end++;
		ends[stage] = end = stage + 1 == stages ? items.n : end;
	}
	return pipesim_stages_of_items(model, ends, stages);
}
