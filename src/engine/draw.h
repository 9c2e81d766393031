/* Steps with durations drawn at random: which op takes what in which sample. */
#pragma once
#include "engine/lanes.h"
#include "model/random.h"

/* Durations of ops of one kind and length. A random number of 32 bits gives the part by its
 * upper 5 and the place within it by the next 12: (base + slope * place / 2^12) << shift ns,
 * the product rounded half up. Its lower 15 say whether the number before stays. */
typedef struct {
	guint32 base[PIPESIM_SPREAD_PARTS], slope[PIPESIM_SPREAD_PARTS];
	guint32 shift;
	guint32 stay;   /* below: the number of the micro-batch before stays */
	guint32 mirror; /* bits to turn in it */
} PipesimDrawTable;

/* One program, its times, and how they vary. */
typedef struct {
	const PipesimProgram *program; /* the caller's */
	PipesimLanes *lanes;
	PipesimDrawTable *tables;
	const PipesimTimes *times; /* the caller's: of messages */
	guint n_speeds; /* as of the jitter: duration in units of the shift times this, rounded
			 */
	guint32 speed[PIPESIM_MAX_SPEEDS];
} PipesimDraw;

/** pipesim_draw_new: tables of every duration in @times, spread as @jitter says. Within one
 * 1/32 of the distribution durations are told apart to 2^-20 of its width.
 * Random numbers belong to (seed, sample, stage, micro-batch, kind): another schedule of the
 * same stages draws the same ones. I and B share theirs, and so do F and FB, of which a
 * micro-batch has one or the other.
 * Returns: (transfer full): NULL with PIPESIM_ERROR_DEADLOCK, or with PIPESIM_ERROR_LIMIT
 * where memory does not suffice or the largest durations could add up to 2^62 ns. */
PipesimDraw *pipesim_draw_new(const PipesimProgram *program, const PipesimTimes *times,
	const PipesimJitter *jitter, GError **error);

/** pipesim_draw_of: the same over @lanes (taken). */
PipesimDraw *pipesim_draw_of(PipesimLanes *lanes, const PipesimTimes *times,
	const PipesimJitter *jitter, GError **error);
PIPESIM_FREED(PipesimDraw, pipesim_draw_free)

/** pipesim_draw_durations: what every op of the program takes in @sample of @seed, by index,
 * ns: for PipesimTimes.drawn. One number after the other: what pipesim_draw_run() is compared
 * with, and what other engines run. */
void pipesim_draw_durations(
	const PipesimDraw *draw, guint64 seed, guint64 sample, gint64 *durations);

/** pipesim_draw_run: samples @first to @first + @n - 1 of @seed in @results, on @threads
 * threads, 0 = one a core, whose number changes nothing. FALSE with PIPESIM_ERROR_LIMIT where
 * memory does not suffice. */
gboolean pipesim_draw_run(const PipesimDraw *draw, guint64 seed, guint64 first, gsize n,
	guint threads, PipesimOutcome *results, GError **error);
