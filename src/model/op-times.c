#include "config.h"

#include "model/op-times.h"

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

/* What lies in @stage of @stages of what @times has of @kind of a micro-batch. */
static gint64 sum_parts(
	const PipesimOpTimes *times, guint stage, guint stages, guint microbatch, guint kind)
{
	const guint64 begin = (guint64)stage * times->parts;
	const guint64 end = begin + times->parts;
	Wide total = 0;

	for (guint64 part = begin / stages; part * stages < end; part++) {
		const guint64 overlap =
			MIN(end, (part + 1) * stages) - MAX(begin, part * stages);

		total += (Wide)times
				 ->time[(part * times->microbatches + microbatch) * PIPESIM_FB +
					 kind] *
			 overlap;
	}
	total = (total + stages / 2) / stages;
	return (gint64)MIN(total, PIPESIM_MAX_TIME_NS);
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
				out->each[((gsize)stage * n + i) * PIPESIM_FB + kind] =
					MIN(pipesim_time_scale(out->stage[kind][stage],
						    (gint64)share, 1000000000),
						PIPESIM_MAX_TIME_NS);
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
	for (guint stage = 0; stage < out->stages; stage++)
		for (guint i = 0; i < n; i++)
			for (guint kind = 0; kind < PIPESIM_FB; kind++)
				out->each[((gsize)stage * n + i) * PIPESIM_FB + kind] =
					sum_parts(times, stage, out->stages, i, kind);
}
