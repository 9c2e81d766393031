/* Rules about shapes that several schedules share, and the words in which they are refused. */
#pragma once
#include "schedule/schedule.h"

/** pipesim_check_even_ranks: FALSE with PIPESIM_ERROR_CONSTRAINT where PP is odd. */
gboolean pipesim_check_even_ranks(const PipesimShape *shape, GError **error);

/** pipesim_check_ranks_part: FALSE with PIPESIM_ERROR_CONSTRAINT where PP is no multiple of
 * @pipelines. */
gboolean pipesim_check_ranks_part(const PipesimShape *shape, guint pipelines, GError **error);

/** pipesim_check_microbatches: M >= @min and M a multiple of @step; else FALSE with
 * PIPESIM_ERROR_CONSTRAINT that states @rule and names the nearest M on either side. */
gboolean pipesim_check_microbatches(
	const PipesimShape *shape, guint min, guint step, const char *rule, GError **error);

/** pipesim_check_halves: PP and M even, of schedules with half of M in each direction. */
gboolean pipesim_check_halves(const PipesimShape *shape, GError **error);

/* Bubbles that several formulae give: (PP-1)(F+B), what filling and draining a plain pipeline
 * costs; (PP-1)(F+B-2W), the same with weight gradients moved into it; none. */
gint64 pipesim_bubble_fill_and_drain(const PipesimShape *shape, PipesimChunkTimes t);
gint64 pipesim_bubble_weights_moved(const PipesimShape *shape, PipesimChunkTimes t);
gint64 pipesim_bubble_none(const PipesimShape *shape, PipesimChunkTimes t);

/* Activations that several formulae give: min(M, PP), M, --max-activations. */
PipesimFraction pipesim_activations_pp(const PipesimShape *shape);
PipesimFraction pipesim_activations_m(const PipesimShape *shape);
PipesimFraction pipesim_activations_limit(const PipesimShape *shape);

/* What happens where W is longer than F or I. */
extern const char pipesim_w_too_long[];

/* Conditions that several formulae share; m_fills_zb: M >= 2PP-1, enough to fill the gaps between
 * F, I and W; m_parts_by_pp: M is a multiple of PP. */
#define PIPESIM_CONDITION(name, comparison)                                                 \
	static inline gboolean pipesim_holds_##name(                                        \
		const PipesimShape *shape G_GNUC_UNUSED, PipesimChunkTimes t G_GNUC_UNUSED) \
	{                                                                                   \
		return (comparison);                                                        \
	}

PIPESIM_CONDITION(w_le_f, t[PIPESIM_W] <= t[PIPESIM_F])
PIPESIM_CONDITION(w_le_i, t[PIPESIM_W] <= t[PIPESIM_I])
PIPESIM_CONDITION(f_le_i, t[PIPESIM_F] <= t[PIPESIM_I])
PIPESIM_CONDITION(i_le_f, t[PIPESIM_I] <= t[PIPESIM_F])
PIPESIM_CONDITION(f_is_b, t[PIPESIM_F] == t[PIPESIM_B])
PIPESIM_CONDITION(b_is_2f, t[PIPESIM_B] == 2 * t[PIPESIM_F])
PIPESIM_CONDITION(b_is_i_plus_w, t[PIPESIM_B] == t[PIPESIM_I] + t[PIPESIM_W])
PIPESIM_CONDITION(pair_ge_b, t[PIPESIM_FB] >= t[PIPESIM_B])
PIPESIM_CONDITION(pair_le_f_plus_b, t[PIPESIM_FB] <= t[PIPESIM_F] + t[PIPESIM_B])
PIPESIM_CONDITION(times_equal, t[PIPESIM_F] == t[PIPESIM_I] && t[PIPESIM_I] == t[PIPESIM_W])
PIPESIM_CONDITION(m_ge_pp, shape->microbatches >= shape->ranks)
PIPESIM_CONDITION(m_ge_2pp, shape->microbatches >= 2 * (guint64)shape->ranks)
PIPESIM_CONDITION(m_fills_zb, shape->microbatches >= 2 * (guint64)shape->ranks - 1)
PIPESIM_CONDITION(m_parts_by_pp, shape->microbatches % shape->ranks == 0)
#undef PIPESIM_CONDITION
