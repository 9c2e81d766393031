#include "config.h"

#include "schedule/check.h"

gboolean pipesim_check_even_ranks(const PipesimShape *shape, GError **error)
{
	if (shape->ranks % 2 == 0)
		return TRUE;
	if (shape->ranks == 1)
		return pipesim_fail(error, PIPESIM_ERROR_CONSTRAINT,
			"1 rank cannot hold a pipeline in each direction; nearest: 2");
	return pipesim_fail(error, PIPESIM_ERROR_CONSTRAINT,
		"%u ranks do not pair up from both ends; nearest: %u or %u", shape->ranks,
		shape->ranks - 1, shape->ranks + 1);
}

gboolean pipesim_check_ranks_part(const PipesimShape *shape, guint pipelines, GError **error)
{
	const guint below = shape->ranks / pipelines * pipelines;

	if (below == shape->ranks)
		return TRUE;
	if (below == 0)
		return pipesim_fail(error, PIPESIM_ERROR_CONSTRAINT,
			"%u ranks do not part among %u pipelines; nearest: %u", shape->ranks,
			pipelines, pipelines);
	return pipesim_fail(error, PIPESIM_ERROR_CONSTRAINT,
		"%u ranks do not part among %u pipelines; nearest: %u or %u", shape->ranks,
		pipelines, below, below + pipelines);
}

gboolean pipesim_check_microbatches(
	const PipesimShape *shape, guint min, guint step, const char *rule, GError **error)
{
	const guint64 m = shape->microbatches;
	const guint64 below = m / step * step;
	const guint64 first = ((guint64)min + step - 1) / step * step;

	if (m >= min && m % step == 0)
		return TRUE;
	if (below >= first)
		return pipesim_fail(error, PIPESIM_ERROR_CONSTRAINT,
			"%u micro-batches over %u ranks break the rule %s; nearest: "
			"%" G_GUINT64_FORMAT " or %" G_GUINT64_FORMAT,
			shape->microbatches, shape->ranks, rule, below, below + step);
	return pipesim_fail(error, PIPESIM_ERROR_CONSTRAINT,
		"%u micro-batches over %u ranks break the rule %s; nearest: %" G_GUINT64_FORMAT,
		shape->microbatches, shape->ranks, rule, first);
}

gint64 pipesim_bubble_fill_and_drain(const PipesimShape *shape, PipesimChunkTimes t)
{
	return (gint64)(shape->ranks - 1) * (t[PIPESIM_F] + t[PIPESIM_B]);
}

gboolean pipesim_holds_w_le_f(const PipesimShape *shape, PipesimChunkTimes t)
{
	(void)shape;
	return t[PIPESIM_W] <= t[PIPESIM_F];
}

gboolean pipesim_holds_w_le_i(const PipesimShape *shape, PipesimChunkTimes t)
{
	(void)shape;
	return t[PIPESIM_W] <= t[PIPESIM_I];
}

gboolean pipesim_holds_f_le_i(const PipesimShape *shape, PipesimChunkTimes t)
{
	(void)shape;
	return t[PIPESIM_F] <= t[PIPESIM_I];
}

gboolean pipesim_holds_i_le_f(const PipesimShape *shape, PipesimChunkTimes t)
{
	(void)shape;
	return t[PIPESIM_I] <= t[PIPESIM_F];
}

gboolean pipesim_holds_b_is_i_plus_w(const PipesimShape *shape, PipesimChunkTimes t)
{
	(void)shape;
	return t[PIPESIM_B] == t[PIPESIM_I] + t[PIPESIM_W];
}

gboolean pipesim_holds_pair_ge_b(const PipesimShape *shape, PipesimChunkTimes t)
{
	(void)shape;
	return t[PIPESIM_FB] >= t[PIPESIM_B];
}

gboolean pipesim_holds_pair_le_f_plus_b(const PipesimShape *shape, PipesimChunkTimes t)
{
	(void)shape;
	return t[PIPESIM_FB] <= t[PIPESIM_F] + t[PIPESIM_B];
}

gboolean pipesim_holds_times_equal(const PipesimShape *shape, PipesimChunkTimes t)
{
	(void)shape;
	return t[PIPESIM_F] == t[PIPESIM_I] && t[PIPESIM_I] == t[PIPESIM_W];
}

gboolean pipesim_holds_m_ge_2pp(const PipesimShape *shape, PipesimChunkTimes t)
{
	(void)t;
	return shape->microbatches >= 2 * (guint64)shape->ranks;
}
