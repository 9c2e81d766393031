#include "model/slices.h"

gboolean pipesim_slicing_parse_lengths(
	PipesimSlicing *slicing, const char *text, const char *what, GError **error)
{
	guint64 sum = 0;

	slicing->how = strcmp(text, "work") == 0   ? PIPESIM_SLICES_WORK
		       : strcmp(text, "plan") == 0 ? PIPESIM_SLICES_PLAN
						   : PIPESIM_SLICES_EVEN;
	if (slicing->how != PIPESIM_SLICES_EVEN || strcmp(text, "even") == 0)
		return TRUE;
	slicing->how = PIPESIM_SLICES_LIST;
	g_auto(GStrv) items = g_strsplit(text, ",", -1);
	slicing->n = g_strv_length(items);
	if (slicing->n > PIPESIM_MAX_SLICES)
		return pipesim_fail(error, PIPESIM_ERROR_USAGE, "%s: %u slices; at most %u",
			what, slicing->n, PIPESIM_MAX_SLICES);
	for (guint i = 0; i < slicing->n; i++) {
		guint64 tokens;

		if (!pipesim_parse_count(
			    g_strstrip(items[i]), what, 1, G_MAXINT32, &tokens, error)) {
			g_prefix_error_literal(
				error, "even, work, plan or tokens of each slice: ");
			return FALSE;
		}
		slicing->length[i] = (guint32)tokens;
		sum += tokens;
	}
	slicing->tokens = (guint)sum;
	return sum <= G_MAXUINT32 || pipesim_fail(error, PIPESIM_ERROR_USAGE,
					     "%s: more than %u tokens", what, G_MAXUINT32);
}

gboolean pipesim_slicing_of(const PipesimCosts *costs, guint slices, PipesimSlicing *slicing)
{
	const PipesimCutter *cutter = costs->cutter;

	if (costs->slicing != NULL)
		*slicing = *costs->slicing;
	else if (cutter != NULL && cutter->slice != NULL)
		*slicing = (PipesimSlicing){0};
	else
		return FALSE;
	if (!slicing->priced && cutter != NULL && cutter->slice != NULL)
		cutter->slice(cutter, slices, slicing);
	return TRUE;
}

static PipesimSliceTimes cost_of(const PipesimSlicing *slicing)
{
	const PipesimSliceTimes *cost = &slicing->cost;

	return cost->a > 0 || cost->b > 0 ? *cost : (PipesimSliceTimes){.b = 1};
}

static gboolean fill_work(
	const PipesimSlicing *slicing, guint n, double *lengths, GError **error)
{
	const PipesimSliceTimes cost = cost_of(slicing);
	const double a = cost.a, b = cost.b, all = slicing->tokens;
	const double each = (b * all + a * all * all) / n, step = MAX(slicing->step, 1u);
	double left = all;

	for (guint i = n; i-- > 1; left -= lengths[i]) {
		/* b x + a (left^2 - (left - x)^2) = each */
		const double whole = b + 2 * a * left;
		const double root = sqrt(MAX(whole * whole - 4 * a * each, 0));
		const double x = 2 * each / (whole + root);

		lengths[i] = floor(x / step + 1e-9) * step;
		if (lengths[i] < step)
			return pipesim_fail(error, PIPESIM_ERROR_CONSTRAINT,
				"%u slices of equal work of %u tokens leave slice %u without a "
				"token; take fewer slices",
				n, slicing->tokens, i);
	}
	lengths[0] = left;
	return TRUE;
}

/* Frameworks cut sequences into equal slices of whole tokens. More of them suit who needs as many as ranks. */
static gboolean fail_uneven(guint tokens, guint n, GError **error)
{
	guint below = n, above = n;

	while (tokens % below != 0)
		below--;
	while (tokens % above != 0 && above < PIPESIM_MAX_SLICES)
		above++;
	return pipesim_fail(error, PIPESIM_ERROR_CONSTRAINT,
		"%u tokens cannot be cut into %u equal slices; nearest: --slices %u; "
		"--slice-lengths gives unequal ones",
		tokens, n, tokens % above == 0 ? above : below);
}

gboolean pipesim_slicing_lengths(
	const PipesimSlicing *slicing, guint n, double *lengths, GError **error)
{
	if (slicing->how == PIPESIM_SLICES_WORK)
		return fill_work(slicing, n, lengths, error);
	if (slicing->how == PIPESIM_SLICES_LIST && slicing->n != n)
		return pipesim_fail(error, PIPESIM_ERROR_CONSTRAINT,
			"--slice-lengths has %u lengths, but a sequence has %u slices; "
			"nearest: --slices %u",
			slicing->n, n, slicing->n);
	if (slicing->how == PIPESIM_SLICES_EVEN && slicing->told && slicing->tokens % n != 0)
		return fail_uneven(slicing->tokens, n, error);
	for (guint i = 0; i < n; i++)
		lengths[i] = slicing->how == PIPESIM_SLICES_LIST ? slicing->length[i]
								 : (double)slicing->tokens / n;
	return TRUE;
}

gboolean pipesim_slicing_shares(const PipesimSlicing *slicing, guint n, double *shares,
	double *attention, GError **error)
{
	const PipesimSliceTimes cost = cost_of(slicing);
	const double a = cost.a, b = cost.b, c = cost.c, gamma = cost.gamma;
	const double all = slicing->tokens;
	const double whole = slicing->whole > 0 ? slicing->whole : c + b * all + a * all * all;
	double prefix = 0;

	if (!pipesim_slicing_lengths(slicing, n, shares, error))
		return FALSE;
	for (guint i = 0; i < n; i++) {
		const double x = shares[i];

		attention[i] = a * (2 * prefix * x + x * x) / whole;
		shares[i] = (c + gamma * prefix + b * x) / whole + attention[i];
		prefix += x;
	}
	return TRUE;
}

/* Where the times of an op are, and which slice it is of. */
typedef struct {
	guint slice, stage;
	gsize at;
} Place;

PIPESIM_COMPARE(compare_slices, Place, pipesim_by(slice))

/* What @rank forwards, or runs @back, at @step: the same as its neighbour a step before. */
static Place place_at(
	const PipesimShape *shape, guint group, guint rank, guint64 step, gboolean back)
{
	const guint slices = pipesim_shape_slices(shape);
	const guint64 units = (guint64)shape->chunks * slices,
		      round = (guint64)shape->chunks * group;
	const guint64 i = step - (back ? shape->ranks - 1 - rank : rank);
	const guint64 unit = back ? units - 1 - i % units : i % units;
	const guint stage = (guint)(unit % round / group) * shape->ranks + rank;
	const guint slice = (guint)(unit / round * group + unit % group);

	return (Place){slice, stage,
		(gsize)stage * shape->microbatches + (gsize)(i / units * slices) + slice};
}

/* What two ranks at @places exchange, of all layers, against a message of a sequence. */
static double moved_by(const PipesimSlicing *slicing, const Place *a, const Place *b)
{
	const gint slices = ABS((gint)a->slice - (gint)b->slice) / 2;

	return slices > 0 ? slicing->queries + slices * slicing->keys : 0;
}

static void share_step(const PipesimShape *shape, const Place *places, const double *attention,
	const double *moved, const gint64 *stage, gint64 *each)
{
	for (guint i = 0; i < shape->ranks; i++) {
		const Place *own = &places[i], *other = &places[shape->ranks - 1 - i];
		gint64 *time = &each[own->at * PIPESIM_FB];
		const double more = (attention[other->slice] - attention[own->slice]) / 2 *
				    (double)stage[own->stage] * pipesim_shape_slices(shape);

		*time = (gint64)MIN(
			(double)*time + round(more + moved[i]), (double)PIPESIM_MAX_TIME_NS);
	}
}

void pipesim_slicing_exchange(const PipesimSlicing *slicing, const PipesimShape *shape,
	const double *attention, gint64 p2p, gint64 *const *stage, gint64 *each)
{
	static const guint ways[PIPESIM_FB] = {
		[PIPESIM_F] = 1, [PIPESIM_I] = 2, [PIPESIM_B] = 2};
	const guint64 steps = (guint64)shape->chunks * shape->microbatches;
	const guint ranks = shape->ranks, group = pipesim_shape_slice_group(shape);
	g_autofree Place *places = g_new(Place, ranks);
	g_autofree double *moved = g_new(double, ranks);

	/* Before and after these steps not all ranks work. */
	for (guint64 step = ranks - 1; step < steps; step++)
		for (guint kind = 0; kind < PIPESIM_FB; kind++) {
			for (guint rank = 0; rank < ranks; rank++)
				places[rank] =
					place_at(shape, group, rank, step, kind != PIPESIM_F);
			qsort(places, ranks, sizeof *places, compare_slices);
			/* Of a slice and the layers of a stage. */
			for (guint i = 0; i < ranks; i++)
				moved[i] =
					ways[kind] * (double)p2p *
					moved_by(slicing, &places[i], &places[ranks - 1 - i]) /
					shape->stages / pipesim_shape_slices(shape);
			share_step(shape, places, attention, moved, stage[kind], each + kind);
		}
}
