/* What the chip of a rank does to the times of its ops. A chip that works at its power limit
 * runs an op faster after it has idled: it keeps a running mean of its load, and slows its
 * clock down as that comes near to the load of a rank that never idles. And a receive that
 * waits for its sender holds part of the chip, so that what runs beside it takes longer.
 * Loads, weights and factors are whole millionths (ppm), times ns; nothing here computes
 * with floating point, so that every machine finds the same. */
#pragma once
#include "base/base.h"

#define PIPESIM_POWER_CONSTANTS 2
/* A running mean of 1, in which states are kept. */
#define PIPESIM_LOAD_ONE (G_GINT64_CONSTANT(1) << 40)
/* The largest: of a kind of op that draws more than the average of a rank that never idles. */
#define PIPESIM_LOAD_MOST (2 * PIPESIM_LOAD_ONE)

/* How a chip under its power limit clocks, as it was measured.
 * A rank's load is @load of the kind of op that runs, @waiting_load while nothing runs and a
 * receive waits, else 0. Each running mean follows it exponentially: after dt at a load L it
 * is L + (mean - L) exp(-dt / time_constant). Together, by @weight, they make x. An op takes
 * what costs say, its sustained time, times full + (sustained - full) u, where u = clamp((x
 * - threshold) / (1 - threshold), 0, 1) over the op, full is @full_speed of its kind, and
 * @sustained 1. */
typedef struct {
	char *device;      /* that was measured; NULL = not told */
	gint64 limit;      /* of its power, W; 0 = not told */
	guint n_constants; /* of the two arrays that follow: 1 or 2 */
	gint64 time_constant[PIPESIM_POWER_CONSTANTS]; /* >= 1000 */
	gint64 weight[PIPESIM_POWER_CONSTANTS];        /* of one million together */
	gint64 threshold;                              /* below one million */
	gint64 full_speed
		[PIPESIM_N_KINDS]; /* time at full clock against the sustained one, 1 to a million */
	gint64 load[PIPESIM_N_KINDS];
	gint64 waiting_load;
	/* Of @load, while a message waits on the rank for its other end: the part of the chip that its kernel holds
	 * draws less than work would. */
	gint64 beside_load;
	/* The sustained time of ranks that exchange messages all the time against that of the costs: links that
	 * are awake draw power too. */
	gint64 exchanging;
	/* The sustained time against that of the costs, by kind, full_speed or more: a million, but under
	 * another limit than the one that was measured (pipesim_power_set_limit()), and with messages
	 * (pipesim_power_exchange()). Not in files. */
	gint64 sustained[PIPESIM_N_KINDS];
	/* Of @load what ranks draw that something else holds up, ppm: they do the same work in more time. NULL: all draw
	 * all of it. Not in files. */
	gint64 *held;
	guint n_held;     /* ranks; further ones draw all */
	gint64 explained; /* share of the variance of what was measured; -1 = not told */
	gint64 residual;  /* relative root mean square that is left; -1 = not told */
} PipesimPower;

/* What an op takes beside a receive that waits on its rank, and beside a message that moves out of
 * it or into it, against alone: a million or more. */
typedef struct {
	gint64 slowdown[PIPESIM_N_KINDS];
	gint64 moving[PIPESIM_N_KINDS];
	gint64 sms; /* that the receive held when it was measured; 0 = not told */
} PipesimContention;

/* The running means of one chip, 0 to PIPESIM_LOAD_MOST. All 0: it has idled for long. */
typedef struct {
	gint64 mean[PIPESIM_POWER_CONSTANTS];
} PipesimPowerState;

/** pipesim_power_new: of an op that takes the same whatever came before: one time constant of
 * 70 ms, threshold 700000, full speed and loads of a million, no load of a receive that waits, messages
 * that take nothing. */
PipesimPower *pipesim_power_new(void);
PipesimPower *pipesim_power_copy(const PipesimPower *power);
PIPESIM_FREED(PipesimPower, pipesim_power_free)

/** pipesim_power_set_limit: as the chip would do with a power limit of @watts, from what was
 * measured at its own. Assumes that what it draws goes as load x speed^e: then the threshold,
 * which is the load that full clock can bear, goes as the limit, and sustained speed as its
 * e-th root. Where full is full_speed of a kind, threshold = full^e: e was measured for each
 * kind. Its own limit changes nothing.
 * @what: how messages call the limit
 * Returns: FALSE with PIPESIM_ERROR_USAGE where the limit that was measured is not known, or
 *   no op depends on the load, or the threshold is 0, or @watts is below a quarter of it, or
 *   an op would be more than 16 times slower; @power is then unchanged. */
gboolean pipesim_power_set_limit(
	PipesimPower *power, gint64 watts, const char *what, GError **error);

/** pipesim_power_exchange: of a chip whose rank exchanges messages: its sustained times are @power->exchanging of what
 * they were. */
void pipesim_power_exchange(PipesimPower *power);

/** pipesim_contention_new: of receives and messages that slow nothing; for g_free(). */
PipesimContention *pipesim_contention_new(void);

/** pipesim_power_advance: @state after @dt >= 0 ns at @load ppm. */
void pipesim_power_advance(
	const PipesimPower *power, PipesimPowerState *state, gint64 dt, gint64 load);

/** pipesim_power_load: x of @state, 0 to PIPESIM_LOAD_MOST. */
gint64 pipesim_power_load(const PipesimPower *power, const PipesimPowerState *state);

/* An op is cut into pieces of a part of the shortest time constant, but not below so many ns of sustained work. */
#define PIPESIM_POWER_PIECES   16
#define PIPESIM_POWER_PIECE_NS 100000

/** pipesim_power_duration: what an op of @kind takes that starts at @state, where it takes
 * @sustained ns in a chip that never idles: in pieces, each at the x in its middle, which loads the chip as
 * the op does; each rounded to the ns, half up. */
gint64 pipesim_power_duration(const PipesimPower *power, const PipesimPowerState *state,
	PipesimKind kind, gint64 sustained);

/** pipesim_power_repeat: where a step has to begin to end as it began, if its loads are those of one
 * that took @took ns and went from @begin to @end. @begin where time is too short to tell. */
PipesimPowerState pipesim_power_repeat(const PipesimPower *power,
	const PipesimPowerState *begin, const PipesimPowerState *end, gint64 took);
