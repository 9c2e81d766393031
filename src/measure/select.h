/* Chooses, among groups of the same component, the one measurement that costs are made of. */
#pragma once
#include "measure/group.h"

/* What a caller wants; the rest follows the rules below. */
typedef struct {
	const char *load_mode; /* NULL = sustained, else back_to_back, else synced, else what
				  there is */
	GHashTable *impl;      /* component -> implementation, both char *; NULL = any */
	gint64 compute_sms, comm_sms; /* both 0 = isolated components on the whole chip */
	gint64 tokens;                /* of the micro-batch; PIPESIM_UNKNOWN = any */
} PipesimTraceWish;

/** pipesim_trace_select: leaves in @groups (of PipesimTraceGroup, one component, not owned)
 * those of one measurement: at most one group a phase (a chunk: a phase and chunk; p2p: a phase
 * and size).
 * Where groups differ in load mode, then SM budget, tokens, implementation, one value is kept:
 * the one present for most phases, and among those load mode: in the order above; SM budget:
 * whole chip, or nearest to the wish; tokens: as wished, else the most; implementation: as
 * wished, else the smallest sum of medians; then the first in alphabetical order. What was
 * chosen for want of a wish is said in @notices (of char *, owned).
 * Returns: FALSE with PIPESIM_ERROR_USAGE where a wished load mode or implementation was not
 *   measured; the message lists what was. */
gboolean pipesim_trace_select(
	GPtrArray *groups, const PipesimTraceWish *wish, GPtrArray *notices, GError **error);

/** pipesim_trace_figures_at_split: figures of @near, one of @groups and the measurement
 * nearest to the wished SM split: its own, or interpolated with the nearest on the other
 * side; a notice says which, once. */
PipesimDistribution pipesim_trace_figures_at_split(const PipesimTraceGroup *near,
	const GPtrArray *groups, const PipesimTraceWish *wish, GPtrArray *notices);

/** pipesim_trace_wish_load_mode: where @wish has a split and no load mode, the most loaded one in
 * which the pair was measured there, so that FB and the rest are of one load. */
void pipesim_trace_wish_load_mode(
	PipesimTraceWish *wish, const GPtrArray *groups, GPtrArray *notices);
