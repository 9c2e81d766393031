/* Repeating units: an order of so many micro-batches of each lane that a step runs again and again. Its
 * period decides how long a long step is, and it is far smaller than the step. */
#pragma once
#include "model/random.h"
#include "order/instance.h"

/* Of an op's time: smaller gains are rounding. */
#define PIPESIM_CYCLE_SMALL 1e-7

typedef struct {
	const PipesimInstance *x;
	guint unit;    /* micro-batches of a lane */
	guint n_codes; /* of a rank */
	guint n, all;  /* ops of a rank, of all ranks */
	/* What ranks run in a period, and how many of each code they have run before that which begins
	 * at 0. */
	guint8 *seq;    /* [rank * n + i] */
	gint32 *offset; /* [rank * n_codes + code] */
	double period;  /* ns a unit */
	guint8 *best_seq;
	gint32 *best_offset;
	double best_period;
	double op; /* that takes as long as the average, ns */
	/* By place, rank * n + i. */
	double *took;
	guint32 *from,
		*to; /* whose message it waits for, who waits for its own; G_MAXUINT32: none */
	gint32 *ahead;      /* in which period, from its own, that is sent */
	double *lag;        /* what the sender and the message take */
	guint8 *by_message; /* it waits longest for the message, else for the op before it */
	double *value;      /* its start, from somewhere, less periods */
	guint32 *at; /* [(rank * n_codes + code) * unit + j]: place of the j-th in the period */
	guint32 *critical; /* places that decide the period */
	guint n_critical;
	PipesimSampleKey key; /* of its random numbers */
	guint32 drawn;
	/* At work. */
	guint32 *mark, *queue;
	guint8 *own_seq;
	gint32 *own_offset;
} PipesimCycle;

/** pipesim_cycle_init: everything in @arena, whose memory sufficed or not the caller asks. */
void pipesim_cycle_init(PipesimCycle *cycle, const PipesimInstance *instance, guint unit,
	guint64 seed, guint64 number, PipesimArena *arena);

/** pipesim_cycle_begin: unit after unit, in the @way of pipesim_build(). FALSE where that has no such
 * order. */
gboolean pipesim_cycle_begin(PipesimCycle *cycle, guint way);

/** pipesim_cycle_take: what seq and offset have become by other hands. FALSE where that holds too much
 * or has a cycle: then something else must be taken, or the best again. */
gboolean pipesim_cycle_take(PipesimCycle *cycle);

/** pipesim_cycle_repeat: the best of @from, a unit of the same instance whose length divides that of @cycle, as
 * often as needed. */
void pipesim_cycle_repeat(PipesimCycle *cycle, const PipesimCycle *from);

/** pipesim_cycle_restart: the best again. */
void pipesim_cycle_restart(PipesimCycle *cycle);

/** pipesim_cycle_run: looks at @n moves of single ops; takes one that makes the unit longer by d with
 * probability exp(-d / @heat). Stops where the best period is @bound. */
void pipesim_cycle_run(PipesimCycle *cycle, guint n, double heat, double bound);

/** pipesim_cycle_unroll: the unit as it is, repeated, from its micro-batch @first on.
 * @instance: as that of @cycle, with any number of micro-batches
 * @codes: (out): per_rank of each rank of @instance */
void pipesim_cycle_unroll(
	const PipesimCycle *cycle, const PipesimInstance *instance, guint first, guint8 *codes);

static inline guint32 pipesim_cycle_random(PipesimCycle *cycle, guint32 below)
{
	return pipesim_random_below(cycle->key, cycle->drawn++, below);
}
