/* What the files about periods share. Private to the room. */
#pragma once
#include "engine/stream-parts.h"

/* Where nothing is waited for: before any time, and far from overflow. */
#define PIPESIM_LONG_AGO (-PIPESIM_MAX_END)

typedef enum {
	PIPESIM_STEP_ALONE, /* waits for nobody, tells nobody: W */
	PIPESIM_STEP_ONE,   /* takes one message, sends one */
	PIPESIM_STEP_TWO,   /* takes two, sends two: a pair */
} PipesimStepType;

/* One op of a pass. Ops of one level do not depend on each other. */
typedef struct {
	gint64 duration;
	gint64 hop[2];
	guint32 time;          /* index of its rank in PipesimPeriod.state */
	guint32 in[2], out[2]; /* in PipesimPeriod.state */
	guint32 rank, level;
	guint32 serial; /* ops of its rank that ran before it in the pass */
	PipesimStepType type;
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

struct _PipesimPeriod {
	guint ranks, unroll;
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
};

/* One pass over @state; @ends: (nullable): by step, where their ends are written too. */
typedef void (*PipesimPeriodPass)(const PipesimPeriod *period, gint64 *state, gint64 *ends);

/* The code for one kind of processor. */
typedef struct {
	const char *name;
	PipesimPeriodPass run;
} PipesimPeriodKernel;

/** pipesim_period_kernels: all that this processor runs, the fastest first; after the last one
 * a name that is NULL. */
const PipesimPeriodKernel *pipesim_period_kernels(void);
