#include "schedule/check.h"

gboolean pipesim_check_even_ranks(const PipesimShape *shape, GError **error)
{
	if (shape->ranks % 2 == 0)
		return TRUE;
	if (shape->ranks == 1)
		return pipesim_fail(error, PIPESIM_ERROR_CONSTRAINT,
			"1 rank cannot hold a pipeline in each direction; nearest: 2");
	return pipesim_fail(error, PIPESIM_ERROR_CONSTRAINT,
		"PP %u is odd, but ranks pair up from both ends; nearest: %u or %u",
		shape->ranks, shape->ranks - 1, shape->ranks + 1);
}

gboolean pipesim_check_microbatches(
	const PipesimShape *shape, guint min, guint step, const char *rule, GError **error)
{
	const guint64 m = shape->microbatches;
	const guint64 below = m / step * step;
	const guint64 first = ((guint64)min + step - 1) / step * step;
	g_autofree char *what =
		g_strdup_printf("%u micro-batch%s on %u rank%s violate%s the rule %s",
			shape->microbatches, m == 1 ? "" : "es", shape->ranks,
			shape->ranks == 1 ? "" : "s", m == 1 ? "s" : "", rule);

	if (m >= min && m % step == 0)
		return TRUE;
	if (below >= first)
		return pipesim_fail(error, PIPESIM_ERROR_CONSTRAINT,
			"%s; nearest: %" G_GUINT64_FORMAT " or %" G_GUINT64_FORMAT, what, below,
			below + step);
	return pipesim_fail(error, PIPESIM_ERROR_CONSTRAINT, "%s; nearest: %" G_GUINT64_FORMAT,
		what, first);
}

gboolean pipesim_check_halves(const PipesimShape *shape, GError **error)
{
	return pipesim_check_even_ranks(shape, error) &&
	       pipesim_check_microbatches(
		       shape, 2, 2, "M even (half of them in each direction)", error);
}

const char pipesim_w_too_long[] =
	"the formula is then too low: a W longer than the gap it should fill delays its rank";

const char pipesim_letters_of_slices[] =
	"F is the forward and B the full backward (I + W) of a rank's whole share for one "
	"micro-batch; K slices (--slices), V chunks per rank (--chunks).";

gboolean pipesim_check_limit(const PipesimShape *shape, GError **error)
{
	return shape->max_activations.num >= shape->max_activations.den ||
	       pipesim_fail(error, PIPESIM_ERROR_CONSTRAINT,
		       "a rank must hold at least one activation; nearest: --max-activations "
		       "1");
}
