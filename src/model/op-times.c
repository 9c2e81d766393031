#include "config.h"

#include "model/op-times.h"
#include "model/parts.h"

__extension__ typedef __int128 Wide;

PipesimOpTimes *pipesim_op_times_ref(PipesimOpTimes *times)
{
	if (times != NULL)
		g_atomic_int_inc(&times->references);
	return times;
}

void pipesim_op_times_unref(PipesimOpTimes *times)
{
	if (times == NULL || !g_atomic_int_dec_and_test(&times->references))
		return;
	g_free(times->time);
	g_free(times->length);
	g_free(times);
}

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

static void set(PipesimTimes *out, guint stage, guint microbatch, guint kind, gint64 ns)
{
	const gsize op = (gsize)stage * out->microbatches + microbatch;

	out->each[op * PIPESIM_FB + kind] = MIN(ns, PIPESIM_MAX_TIME_NS);
}

/* Lengths are decimals of at most nine places: whole billionths. */
static Wide billionths(PipesimFraction length)
{
	return (Wide)length.num * (1000000000 / length.den);
}

static void fill_lengths(const PipesimOpTimes *times, PipesimTimes *out)
{
	const guint n = times->microbatches;
	Wide total = 0;

	for (guint i = 0; i < n; i++)
		total += billionths(times->length[i]);
	for (guint i = 0; i < n; i++) {
		/* Against the average, in billionths too. */
		const Wide share =
			(billionths(times->length[i]) * n * 1000000000 + total / 2) / total;

		for (guint stage = 0; stage < out->stages; stage++)
			for (guint kind = 0; kind < PIPESIM_FB; kind++)
				set(out, stage, i, kind,
					pipesim_time_scale(out->stage[kind][stage],
						(gint64)share, 1000000000));
	}
}

void pipesim_op_times_fill(const PipesimOpTimes *times, PipesimTimes *out)
{
	const guint n = times->microbatches;

	out->microbatches = n;
	out->equal_stages = FALSE;
	out->each = g_new(gint64, (gsize)out->stages * n * PIPESIM_FB);
	if (times->parts == 0) {
		fill_lengths(times, out);
		return;
	}
	for (guint i = 0; i < n; i++)
		for (guint kind = 0; kind < PIPESIM_FB; kind++) {
			const PipesimParts parts = {&times->time[(gsize)i * PIPESIM_FB + kind],
				times->parts, n * PIPESIM_FB};

			for (guint stage = 0; stage < out->stages; stage++)
				set(out, stage, i, kind,
					pipesim_parts_sum(&parts, out, stage, 1));
		}
}
