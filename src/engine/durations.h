/* What every op of a shape takes, looked up by rank and chunk: pipesim_op_duration(), asked
 * once for each. */
#pragma once
#include "order/program.h"

typedef struct {
	const PipesimProgram *program;
	const PipesimTimes *times;
	guint chunks;
	gint64 *single; /* [(rank * chunks + chunk) * PIPESIM_FB + kind] */
	gint64 *pair;   /* [(rank * chunks + chunk) * chunks + b_chunk]; NULL where that is too
			   large */
	gint64 longest;
} PipesimDurations;

/** pipesim_durations_init: @program needs its shape and stage_of only, and must outlive
 * @durations. Ended with pipesim_durations_clear(), also where it fails: PIPESIM_ERROR_LIMIT.
 */
gboolean pipesim_durations_init(PipesimDurations *durations, const PipesimProgram *program,
	const PipesimTimes *times, GError **error);
void pipesim_durations_clear(PipesimDurations *durations);

/** pipesim_durations_fit: whether no path of @n_ops ops and as many hops can reach 2^62 ns. */
gboolean pipesim_durations_fit(const PipesimDurations *durations, guint64 n_ops);

static inline gint64 pipesim_durations_get(
	const PipesimDurations *durations, guint rank, const PipesimOp *op)
{
	const gsize at = (gsize)rank * durations->chunks + op->chunk;

	if (op->kind != PIPESIM_FB)
		return durations->single[at * PIPESIM_FB + op->kind];
	if (durations->pair != NULL)
		return durations->pair[at * durations->chunks + op->b_chunk];
	return pipesim_op_duration(durations->program, durations->times, rank, op);
}
