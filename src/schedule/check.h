/* Rules about shapes that several schedules share, and the words in which they are refused. */
#pragma once
#include "schedule/schedule.h"

/** pipesim_check_even_ranks: FALSE with PIPESIM_ERROR_CONSTRAINT where PP is odd. */
gboolean pipesim_check_even_ranks(const PipesimShape *shape, GError **error);

/** pipesim_check_microbatches: M >= @min and M a multiple of @step; else FALSE with
 * PIPESIM_ERROR_CONSTRAINT that states @rule and names the nearest M on either side. */
gboolean pipesim_check_microbatches(
	const PipesimShape *shape, guint min, guint step, const char *rule, GError **error);

/** pipesim_check_halves: PP and M even, of schedules with half of M in each direction. */
gboolean pipesim_check_halves(const PipesimShape *shape, GError **error);

/** pipesim_check_limit: --max-activations at least 1, of searches. */
gboolean pipesim_check_limit(const PipesimShape *shape, GError **error);

/** pipesim_one_f_one_b: the order of 1F1B, of slices where a sequence is cut; of one chunk a rank. */
void pipesim_one_f_one_b(const PipesimShape *shape, guint rank, PipesimEmitter *out);

/** pipesim_interleaved_slices: that of interleaved 1F1B in groups of PP slices: of whole micro-batches. */
void pipesim_interleaved_slices(const PipesimShape *shape, guint rank, PipesimEmitter *out);

/** pipesim_interleaved_split: that of interleaved 1F1B in groups of @group, each I with its W behind it, for
 * which one forward a hop is far enough ahead. */
void pipesim_interleaved_split(
	const PipesimShape *shape, guint group, guint index, PipesimEmitter *out);

/* What a formula, or a condition of one, says of a shape and the times of a chunk, as an
 * expression over @shape and @t: as PipesimBubbleFormula.value, PipesimActivationFormula.value
 * and PipesimCondition.holds. */
#define PIPESIM_BUBBLE(name, ns)                                                            \
	static inline gint64 name(                                                          \
		const PipesimShape *shape G_GNUC_UNUSED, PipesimChunkTimes t G_GNUC_UNUSED) \
	{                                                                                   \
		return (ns);                                                                \
	}
#define PIPESIM_ACTIVATIONS(name, num, den)                           \
	static inline PipesimFraction name(const PipesimShape *shape) \
	{                                                             \
		return (PipesimFraction){(num), (den)};               \
	}
#define PIPESIM_CONDITION(name, comparison)                                                 \
	static inline gboolean name(                                                        \
		const PipesimShape *shape G_GNUC_UNUSED, PipesimChunkTimes t G_GNUC_UNUSED) \
	{                                                                                   \
		return (comparison);                                                        \
	}

/* PipesimSchedule.plan as one @call, of @shape, @times, @out and @error. */
#define PIPESIM_PLANNED(name, call)                                                           \
	static gboolean name(const PipesimShape *shape,                                       \
		const PipesimTimes *times G_GNUC_UNUSED, PipesimEmitter *out, GError **error) \
	{                                                                                     \
		return (call);                                                                \
	}

/* Bubbles that several formulae give: (PP-1)(F+B), what filling and draining a plain pipeline
 * costs; (PP-1)(F+B-2W), the same with weight gradients moved into it; none. */
PIPESIM_BUBBLE(pipesim_bubble_fill_and_drain,
	(gint64)(shape->ranks - 1) * (t[PIPESIM_F] + t[PIPESIM_B]))
PIPESIM_BUBBLE(pipesim_bubble_weights_moved,
	(gint64)(shape->ranks - 1) * (t[PIPESIM_F] + t[PIPESIM_B] - 2 * t[PIPESIM_W]))
PIPESIM_BUBBLE(pipesim_bubble_none, 0)

/* Activations that several formulae give: min(M, PP), M, --max-activations. */
PIPESIM_ACTIVATIONS(pipesim_activations_pp,
	MIN(shape->ranks - 1 + pipesim_shape_slices(shape), shape->microbatches),
	pipesim_shape_slices(shape))
PIPESIM_ACTIVATIONS(pipesim_activations_m, pipesim_shape_whole(shape), 1)
PIPESIM_ACTIVATIONS(
	pipesim_activations_limit, shape->max_activations.num, shape->max_activations.den)

/* What happens where W is longer than F or I. */
extern const char pipesim_w_too_long[];

/* What letters mean in formulae of slices in chunks. */
extern const char pipesim_letters_of_slices[];

/* Conditions that several formulae share; m_fills_zb: M >= 2PP-1, enough to fill the gaps
 * between F, I and W; m_parts_by_pp: M is a multiple of PP. */
PIPESIM_CONDITION(pipesim_holds_w_le_f, t[PIPESIM_W] <= t[PIPESIM_F])
PIPESIM_CONDITION(pipesim_holds_w_le_i, t[PIPESIM_W] <= t[PIPESIM_I])
PIPESIM_CONDITION(pipesim_holds_f_le_i, t[PIPESIM_F] <= t[PIPESIM_I])
PIPESIM_CONDITION(pipesim_holds_i_le_f, t[PIPESIM_I] <= t[PIPESIM_F])
PIPESIM_CONDITION(pipesim_holds_f_is_b, t[PIPESIM_F] == t[PIPESIM_B])
PIPESIM_CONDITION(pipesim_holds_b_is_2f, t[PIPESIM_B] == 2 * t[PIPESIM_F])
PIPESIM_CONDITION(pipesim_holds_b_is_i_plus_w, t[PIPESIM_B] == t[PIPESIM_I] + t[PIPESIM_W])
PIPESIM_CONDITION(pipesim_holds_pair_ge_b, t[PIPESIM_FB] >= t[PIPESIM_B])
PIPESIM_CONDITION(pipesim_holds_pair_le_f_plus_b, t[PIPESIM_FB] <= t[PIPESIM_F] + t[PIPESIM_B])
PIPESIM_CONDITION(
	pipesim_holds_times_equal, t[PIPESIM_F] == t[PIPESIM_I] && t[PIPESIM_I] == t[PIPESIM_W])
PIPESIM_CONDITION(pipesim_holds_m_ge_pp, shape->microbatches >= shape->ranks)
PIPESIM_CONDITION(pipesim_holds_m_ge_2pp, shape->microbatches >= 2 * (guint64)shape->ranks)
PIPESIM_CONDITION(
	pipesim_holds_m_fills_zb, shape->microbatches >= 2 * (guint64)shape->ranks - 1)
PIPESIM_CONDITION(pipesim_holds_m_parts_by_pp, shape->microbatches % shape->ranks == 0)
