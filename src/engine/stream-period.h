/* A superstep compiled into a list of steps, and what runs it. Private to the streaming engine. */
#pragma once
#include "engine/stream-step.h"

/* Where nothing is waited for: before any time, and far from overflow. */
#define PIPESIM_LONG_AGO (-PIPESIM_MAX_END)

typedef enum {
	PIPESIM_STEP_ALONE, /* waits for nobody, tells nobody: W */
	PIPESIM_STEP_ONE,   /* takes one message, sends one */
	PIPESIM_STEP_TWO,   /* takes two, sends two: a pair */
} PipesimPeriodStepType;

/* One op of a pass. Ops of one level do not depend on each other. */
typedef struct {
	gint64 duration;
	gint64 hop[2];
	guint32 time;          /* index of its rank in PipesimPeriod.state */
	guint32 in[2], out[2]; /* in PipesimPeriod.state */
	guint32 rank, level;
	PipesimPeriodStepType type;
} PipesimPeriodStep;

/* @n steps of one type whose indices all go up by one. */
typedef struct {
	guint32 first, n;
} PipesimStretch;

/* A message at the border of two passes. */
typedef struct {
	guint32 channel;
	guint32 age;  /* 1: the last that was produced before the border */
	guint32 slot; /* in state */
} PipesimCarried;

/* A superstep, or several, as a list of steps without any branch: what each reads and writes is
 * known. */
typedef struct {
	PipesimArena *arena; /* of all of it */
	guint ranks;
	guint unroll; /* supersteps of one pass */
	gsize n_steps, n_stretches, n_carried;
	PipesimPeriodStep *steps;
	PipesimStretch *stretches;
	PipesimCarried *carried;
	gsize n_state;  /* ranks, then slots */
	gint64 *state;  /* times at which ranks are free and messages are there */
	guint32 *owner; /* by state: the rank (as an index of state) whose op wrote it; itself
			   where nothing ever writes it */
	gint64 *durations; /* by step */
	guint32 *time_of;  /* by rank: its index in state */
	guint64 *ran;      /* by rank: ops of a pass */
	guint32 *rounds;   /* by rank: rounds of its long loop that a pass adds */
	guint32 *messages; /* by channel: messages of a pass */
	guint32 *done;     /* by PipesimStreaming.done: what a pass adds */
} PipesimPeriod;

/** pipesim_period_new: what @tape did to @s, which stands right after it. NULL where that would
 * not pay or does not fit. */
PipesimPeriod *pipesim_period_new(const PipesimStreaming *s, const PipesimTape *tape);
void pipesim_period_free(PipesimPeriod *period);

/** pipesim_period_load, pipesim_period_store: state of @s from and to rings and ranks; @passes
 * went by between the two. */
void pipesim_period_load(PipesimPeriod *period, const PipesimStreaming *s);
void pipesim_period_store(const PipesimPeriod *period, PipesimStreaming *s, guint64 passes);

/** pipesim_period_run: @passes passes, one op after the other in vectors. */
void pipesim_period_run(PipesimPeriod *period, guint64 passes);

/** pipesim_period_skew: how many ops each rank should be ahead of where a pass begins, so that
 * as many ranks as possible run at once: ASAP with ops that all take one unit. @ahead: by rank.
 * FALSE where that takes more than @work steps. */
gboolean pipesim_period_skew(const PipesimPeriod *period, guint64 work, guint64 *ahead);

/** pipesim_period_jump: @passes passes, with a leap over those that repeat. FALSE where nothing
 * repeats within some seconds: the state is then of no use. */
gboolean pipesim_period_jump(PipesimPeriod *period, guint64 passes, PipesimSteady *steady);

/* One pass over @state. */
typedef void (*PipesimPeriodPass)(const PipesimPeriod *period, gint64 *state);

/* The code for one kind of processor. */
typedef struct {
	const char *name;
	PipesimPeriodPass run;
} PipesimPeriodKernel;

/** pipesim_period_kernels: all that this processor runs, the fastest first; after the last one
 * a name that is NULL. */
const PipesimPeriodKernel *pipesim_period_kernels(void);
