/* What the parts of the zero-bubble search share: the state of an attempt, one lane a rank. */
#pragma once
#include "schedule/search/problem.h"

#define PIPESIM_ZB_F PIPESIM_PROBLEM_F
#define PIPESIM_ZB_I PIPESIM_PROBLEM_I
#define PIPESIM_ZB_W PIPESIM_PROBLEM_W

typedef struct {
	gint64 time[PIPESIM_PROBLEM_KINDS];
	gint64 busy;    /* all its ops, one after the other */
	gint64 start;   /* of its first F: after one F and one message of each lane before */
	gint64 allowed; /* idle time after which an attempt is given up */
	/* Of the attempt under way: */
	gint64 clock, idle, held;
	guint done[PIPESIM_PROBLEM_KINDS];
	guint wanted;            /* forwards to run in this phase */
	PipesimProblemKind next; /* of an eager attempt: what could run first */
	gint64 *forward_there;   /* ring: when the results of F are with the next lane */
	gint64 *input_there;     /* ring: when the results of I are with the lane before */
	guint8 *out;             /* kinds so far */
} PipesimZbLane;

typedef struct {
	const PipesimProblem *problem;
	guint p, m;
	guint mask;         /* slots of a ring - 1 */
	gint64 weight_held; /* what W frees */
	PipesimZbLane *lanes;
	gint64 *rings;
	guint8 *attempt; /* order of the attempt under way, as of PipesimZbResult */
	guint64 placed;  /* ops of all attempts, by what they cost: the effort so far */
	/* A tournament for the lane whose next op can start first: leaf @leaves + j is lane j,
	 * a node the winner of its two children, 1 the root; keys: when the next op can start.
	 */
	guint leaves;
	guint *winners;
	gint64 *keys;
} PipesimZbState;

/* One way to fill rounds of one F and one I a lane. */
typedef struct {
	/* In the warm-up, which ends with the first I: TRUE: rather one F too many than to idle
	 * for more than @spare before it. */
	gboolean overruns;
	gint64 spare;
	/* A lane whose next I is about to come leaves out its F in favour of it. */
	gboolean awaits_input;
	/* A W that does not fit before an arrival runs although the lane has idle time to
	 * spare; without idle time to spare it runs anyway. */
	gboolean fills;
	/* Idle time to spare: FALSE: as long as another lane already idles more. TRUE: up to
	 * @allowed of the lane. */
	gboolean is_targeted;
} PipesimZbRounds;

/* One way to run whatever can run first. */
typedef struct {
	gboolean prefers_input; /* of an F and an I that could start at once */
	/* F without their I, at most: one, and so many quarters of one for each lane behind; 4
	 * is what 1F1B has, 0 what memory holds. */
	guint quarters_ahead;
	gboolean waits; /* idles before an arrival rather than beginning a W, within
			   what the lane is allowed */
} PipesimZbEager;

/** pipesim_zb_rounds, pipesim_zb_eager: an attempt. FALSE where a lane idles for more than it
 * is allowed; then, and only then, the order is not complete. */
gboolean pipesim_zb_rounds(PipesimZbState *state, const PipesimZbRounds *way);
gboolean pipesim_zb_eager(PipesimZbState *state, const PipesimZbEager *way);

/** pipesim_zb_reset: begins an attempt. */
void pipesim_zb_reset(PipesimZbState *state);

/* An op of @kind that may not start before @ready. */
static inline void pipesim_zb_run(PipesimZbLane *lane, PipesimProblemKind kind, gint64 ready)
{
	if (ready > lane->clock) {
		if (lane->done[PIPESIM_ZB_F] > 0)
			lane->idle += ready - lane->clock;
		lane->clock = ready;
	}
	lane->clock += lane->time[kind];
	lane->done[kind]++;
	*lane->out++ = (guint8)kind;
}

static inline void pipesim_zb_run_forward(
	PipesimZbState *state, PipesimZbLane *lane, gint64 ready)
{
	const guint k = lane->done[PIPESIM_ZB_F];

	pipesim_zb_run(lane, PIPESIM_ZB_F, ready);
	lane->held += state->problem->held;
	lane->forward_there[k & state->mask] = lane->clock + state->problem->p2p;
}

static inline void pipesim_zb_run_input(
	PipesimZbState *state, PipesimZbLane *lane, gint64 ready)
{
	const guint k = lane->done[PIPESIM_ZB_I];

	pipesim_zb_run(lane, PIPESIM_ZB_I, ready);
	lane->held -= state->problem->freed;
	lane->input_there[k & state->mask] = lane->clock + state->problem->p2p;
}

static inline void pipesim_zb_run_weight(PipesimZbState *state, PipesimZbLane *lane)
{
	pipesim_zb_run(lane, PIPESIM_ZB_W, 0);
	lane->held -= state->weight_held;
}

/* W that could run. */
static inline guint pipesim_zb_waiting(const PipesimZbLane *lane)
{
	return lane->done[PIPESIM_ZB_I] - lane->done[PIPESIM_ZB_W];
}

/* What is missing for one more F; <= 0: nothing. */
static inline gint64 pipesim_zb_missing(const PipesimZbState *state, const PipesimZbLane *lane)
{
	return lane->held + state->problem->held - state->problem->limit;
}

/* When the input of the next F is there; the lane before must have run it. */
static inline gint64 pipesim_zb_forward_ready(const PipesimZbState *state, guint j)
{
	const PipesimZbLane *lane = &state->lanes[j];

	return j == 0 ? 0 : lane[-1].forward_there[lane->done[PIPESIM_ZB_F] & state->mask];
}

/* When the input of the next I is there; the lane after must have run it. */
static inline gint64 pipesim_zb_input_ready(const PipesimZbState *state, guint j)
{
	const PipesimZbLane *lane = &state->lanes[j];

	return j + 1 == state->p ? 0
				 : lane[1].input_there[lane->done[PIPESIM_ZB_I] & state->mask];
}
