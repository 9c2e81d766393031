/* The points of a sweep: every combination of what the options leave open.
 *
 * Anywhere in the value of an option a number may be
 *
 *   4:64:*2        from 4 to 64, each twice the one before
 *   1:2:0.25       from 1 to 2 in steps of 0.25; 4:7 in steps of 1
 *   1/1.5/4:8      these, in this order
 *
 * and where the value is one number, a comma does what the slash does. A unit comes after all
 * of it ("1:2:0.5ms", "80/141GB"). No sign of this means anything to a shell but the star, which few
 * files match. Numbers are decimal and exact. */
#pragma once
#include "base/base.h"

/* One number that is swept. */
typedef struct {
	char *name;        /* "pp", "times_F", "slow_rank_3" */
	char *column;      /* the same with its unit: "memory_limit_GB" */
	GPtrArray *values; /* of char *, in order, at least one; "1.5", without its unit */
	char *unit;        /* that comes after it; "" where none does */
} PipesimAxis;

/** pipesim_range_expand: appends the numbers that @text stands for to @values, as text: "3",
 * "4:64:*2", "1:2:0.25". At most 9 decimals; at most 1,000,000 numbers.
 * @what: how messages call it
 * Returns: FALSE with PIPESIM_ERROR_USAGE. */
gboolean pipesim_range_expand(
	const char *text, const char *what, GPtrArray *values, GError **error);

/* All of it. */
typedef struct {
	GPtrArray *options; /* what was added */
	GPtrArray *axes;    /* of PipesimAxis *, in order */
	guint64 points;     /* combinations; 1 where nothing is swept */
} PipesimGrid;

PipesimGrid *pipesim_grid_new(void);
PIPESIM_FREED(PipesimGrid, pipesim_grid_free)

/** pipesim_grid_add: adds option @option ("--times") with @text, in the order in which points
 * vary: what is added first varies slowest.
 * @plain: the value is one number, so that a comma separates values too; it is an axis even
 *   where it has one value only
 * Returns: FALSE with PIPESIM_ERROR_USAGE; also where all combinations are more than 2^40. */
gboolean pipesim_grid_add(PipesimGrid *grid, const char *option, const char *text,
	gboolean plain, GError **error);

/** pipesim_grid_axis: number @axis of @grid. */
const PipesimAxis *pipesim_grid_axis(const PipesimGrid *grid, guint axis);

/** pipesim_grid_value: of @axis at point @point. */
const char *pipesim_grid_value(const PipesimGrid *grid, guint64 point, guint axis);

/** pipesim_grid_text: the value of @option at @point, for the parser of that option; NULL where
 * it was not added. For g_free(). */
char *pipesim_grid_text(const PipesimGrid *grid, const char *option, guint64 point);
