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

/** pipesim_bubble_fill_and_drain: (PP-1)(F+B), what filling and draining a plain pipeline
 * costs. */
gint64 pipesim_bubble_fill_and_drain(const PipesimShape *shape, PipesimChunkTimes t);

/* Conditions that several formulae share. */
gboolean pipesim_holds_w_le_f(const PipesimShape *shape, PipesimChunkTimes t);
gboolean pipesim_holds_w_le_i(const PipesimShape *shape, PipesimChunkTimes t);
gboolean pipesim_holds_f_le_i(const PipesimShape *shape, PipesimChunkTimes t);
gboolean pipesim_holds_i_le_f(const PipesimShape *shape, PipesimChunkTimes t);
gboolean pipesim_holds_b_is_i_plus_w(const PipesimShape *shape, PipesimChunkTimes t);
gboolean pipesim_holds_pair_ge_b(const PipesimShape *shape, PipesimChunkTimes t);
gboolean pipesim_holds_pair_le_f_plus_b(const PipesimShape *shape, PipesimChunkTimes t);
gboolean pipesim_holds_times_equal(const PipesimShape *shape, PipesimChunkTimes t);
gboolean pipesim_holds_m_ge_2pp(const PipesimShape *shape, PipesimChunkTimes t);
