/* Chips at their power limit: an op takes longer the less its rank idled before it, which another order of things changes. */
#pragma once
#include "diagnosis/doctor.h"

/* Chips whose clocks swing by less (pipesim_clock_swing()) are below their power limit: profiles of such show 1.2 to 1.7 %,
 * those of chips at their limit 2.9 % and more (docs/diagnose.md). */
#define PIPESIM_LEAST_SWING 20000

/** pipesim_at_limit: whether chips of @record are at their power limit. */
static inline gboolean pipesim_at_limit(const PipesimRecord *record)
{
	return record->swing >= PIPESIM_LEAST_SWING;
}

/** pipesim_govern_record: of @record, whose chips are at their limit and clock as those of
 * @device, sets what each op would have taken sustained: that follows from what its rank did
 * before it, step after step. Speeds of ranks become those at one clock.
 * @device: whose power is known; must outlive @record */
void pipesim_govern_record(PipesimRecord *record, const PipesimDevice *device);

/* What is replayed, by op of the executed order, ns. */
typedef struct {
	const gint64 *work; /* what ops take by themselves, sustained */
	const gint64 *rest; /* what they wait, and what messages beside them cost */
	const gint64 *
		usual; /* what ops of their stage usually take so: what takes longer draws less */
	gint64 *took; /* (out): both, at the clocks of the replay */
	gboolean
		ruled; /* messages wait by the rules of the runtime, which @rest is without; else for nothing */
} PipesimReplayed;

/** pipesim_governed_replay: the makespan of the executed order without messages, where chips run as fast as what they
 * idle lets them, step after step; where no governor is known ops take their work. -1 with an error of pipesim_step_again(). */
gint64 pipesim_governed_replay(
	const PipesimDoctor *doctor, const PipesimReplayed *what, GError **error);

/** pipesim_governed_clocks: what each op of @step, which has ops, would take by @timeline at the clocks that its rank has then, in
 * a step that follows others like it, ns. @times have power.
 * @late: of the time of each op on @timeline, what its rank idles at its begin
 * @took: (out): by op */
void pipesim_governed_clocks(const PipesimStep *step, const PipesimTimes *times,
	const PipesimTimeline *timeline, const gint64 *late, gint64 *took);

/** pipesim_govern_costs: where the governor is known, makes the times of stages in the costs of
 * the diagnosis sustained ones, adds the governor to them and names it in the diagnosis, so
 * that a schedule is simulated at the clocks that its own idle time leaves. Halves of backwards
 * that were not recorded follow from whole ones, and these from them, as captures tell; and so
 * does what receives cost beside ops where nothing in the record shows it.
 * Returns: FALSE with PIPESIM_ERROR_LIMIT. */
gboolean pipesim_govern_costs(PipesimDoctor *doctor, GError **error);
