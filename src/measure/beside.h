/* What ops lose to messages beside them: a receive that waits for its sender holds part of the chip. Told by profiles, which
 * show what else ran on a rank while an op did. */
#pragma once
#include "measure/trace.h"

typedef struct {
	gint64 start, end;
} PipesimInterval;

/** pipesim_intervals_join: those of @all, in any order, that touch become one; then by time. */
void pipesim_intervals_join(GArray *all);

/** pipesim_beside_messages: when messages of @trace were under way on its rank: intervals that do not overlap, by
 * time, for g_array_unref(). */
GArray *pipesim_beside_messages(const PipesimTrace *trace);

/** pipesim_beside_covered: how much of the time from @start to @end they cover, ns. */
gint64 pipesim_beside_covered(const GArray *messages, gint64 start, gint64 end);

/* Of each kind of op. */
typedef struct {
	gint64 ratio
		[PIPESIM_N_KINDS]; /* time beside messages against alone, ppm; >= a million */
	gint64 alone[PIPESIM_N_KINDS]; /* a median, ns */
	guint n[PIPESIM_N_KINDS]; /* ops that tell it; 0: it is taken from the other kinds */
} PipesimBeside;

/** pipesim_beside_measure: how much longer ops take beside messages, from profiles among
 * @traces: with x the share of its time that messages of its rank cover, an op takes alone (1 +
 * s x). s is that of its kind with which ops of one kind, stage and rank differ least, of all
 * such that x tells apart by 0.3 or more. Sets what each op lost by it, PipesimTraceRow.beside,
 * there by the s of its own rank where that tells one.
 * Returns: FALSE where nothing tells it, or ops were no longer: all rows have lost 0. */
gboolean pipesim_beside_measure(PipesimTrace *const *traces, guint n, PipesimBeside *out);
