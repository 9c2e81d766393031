#include "optimize/stretch.h"

/* Ops of all places that are tried to begin to repeat. */
#define MOST_OPS 4000000

/* Where the stretch of @length ops of @rank begins that has @unit of each code and whose first op starts nearest
 * to @time; per_rank where there is none. */
static guint find_stretch(
	const PipesimWalk *walk, guint rank, guint unit, gint64 time, const guint8 *codes)
{
	const PipesimInstance *x = walk->x;
	const guint mask = pipesim_instance_code_mask(x);
	const guint n_codes = x->chunks * x->kinds, length = unit * n_codes;
	const guint32 *seq = &walk->seq[rank * walk->per_rank];
	g_autofree guint *count = g_new0(guint, n_codes);
	guint wrong = n_codes, found = x->per_rank; /* codes that do not come @unit times */
	gint64 nearest = G_MAXINT64;

	for (guint end = 0; end < x->per_rank; end++) {
		guint *in = &count[codes[end] & mask];

		wrong += *in == unit;
		(*in)++;
		wrong -= *in == unit;
		if (end >= length) {
			guint *out = &count[codes[end - length] & mask];

			wrong += *out == unit;
			(*out)--;
			wrong -= *out == unit;
		}
		if (wrong > 0)
			continue;
		gint64 away = ABS(walk->head[seq[end + 1 - length]] - time);
		if (away < nearest) {
			nearest = away;
			found = end + 1 - length;
		}
	}
	return found;
}

gboolean pipesim_stretch(const PipesimWalk *walk, const PipesimInstance *instance, guint unit,
	gint64 time, guint8 *codes)
{
	const PipesimInstance *x = walk->x;
	const guint missing = instance->count - x->count;
	const guint length = unit * x->chunks * x->kinds;

	if (missing % unit != 0 || unit > x->count)
		return FALSE;
	g_autofree guint8 *all = g_new(guint8, walk->n);
	pipesim_walk_codes(walk, all);
	for (guint rank = 0; rank < x->ranks; rank++) {
		const guint8 *from = all + (gsize)rank * x->per_rank;
		guint8 *to = codes + (gsize)rank * instance->per_rank;
		const guint first = find_stretch(walk, rank, unit, time, from);

		if (first == x->per_rank)
			return FALSE;
		memcpy(to, from, first);
		to += first;
		for (guint i = 0; i <= missing / unit; i++, to += length)
			memcpy(to, from + first, length);
		memcpy(to, from + first + length, x->per_rank - first - length);
	}
	pipesim_instance_tidy(instance, codes);
	return TRUE;
}

gint64 pipesim_stretch_best(const PipesimWalk *walk, const PipesimInstance *instance,
	guint most, PipesimStretchJudge judge, gpointer data, guint8 *codes)
{
	const gsize n = (gsize)instance->ranks * instance->per_rank;
	const guint tries = (guint)CLAMP(MOST_OPS / n, 8, 2 * walk->x->count);
	g_autofree guint8 *tried = g_new(guint8, n);
	gint64 best = G_MAXINT64;

	for (guint unit = 1; unit <= most; unit++)
		for (guint i = 0; i < tries; i++) {
			const gint64 time = walk->makespan / tries * i;

			if (!pipesim_stretch(walk, instance, unit, time, tried))
				continue;
			gint64 makespan = judge(tried, data);
			if (makespan < 0)
				return best;
			if (makespan >= best)
				continue;
			best = makespan;
			memcpy(codes, tried, n);
		}
	return best;
}
