/* Attempts in rounds: after a warm-up every lane runs at most one F and exactly one I a round.
 * All F of a round come first, from the first lane to the last, then all I, from the last to
 * the first: an input is always known when its op is placed. */
#include "config.h"

#include "schedule/search/zb-lanes.h"

typedef struct {
	PipesimZbState *state;
	const PipesimZbRounds *way;
	gint64 most_idle; /* of the lanes so far */
} Attempt;

/* How long @lane may idle from here. */
static gint64 to_spare(const Attempt *a, const PipesimZbLane *lane)
{
	return (a->way->is_targeted ? lane->allowed : a->most_idle) - lane->idle;
}

/* W before an arrival at @until: those that fit, and perhaps one that does not. */
static void fill_gap(const Attempt *a, PipesimZbLane *lane, gint64 until)
{
	while (pipesim_zb_waiting(lane) > 0 && lane->clock + lane->time[PIPESIM_ZB_W] <= until)
		pipesim_zb_run_weight(a->state, lane);
	if (pipesim_zb_waiting(lane) > 0 && lane->clock < until &&
		(a->way->fills || until - lane->clock > to_spare(a, lane)))
		pipesim_zb_run_weight(a->state, lane);
}

static gboolean within_allowed(Attempt *a, const PipesimZbLane *lane)
{
	a->most_idle = MAX(a->most_idle, lane->idle);
	return lane->idle <= lane->allowed;
}

/* Forwards of @lane, beyond the first, before its first I is there at @ready. Returns when that
 * I can start. */
static gint64 plan_warm_up(const Attempt *a, PipesimZbLane *lane, gint64 ready)
{
	const PipesimProblem *problem = a->state->problem;
	gint64 end = lane->clock, held = lane->held;

	lane->wanted = 0;
	while (end < ready && held + problem->held <= problem->limit &&
		lane->done[PIPESIM_ZB_F] + lane->wanted < a->state->m) {
		const gint64 gap = ready - end;

		if (gap < lane->time[PIPESIM_ZB_F] &&
			(!a->way->overruns || gap <= a->way->spare))
			break;
		held += problem->held;
		end += lane->time[PIPESIM_ZB_F];
		lane->wanted++;
	}
	return MAX(end, ready);
}

/* A lane that runs as many forwards ahead as the one before it would wait for the last of them.
 */
static void step_down(const Attempt *a)
{
	for (guint j = 1; j < a->state->p; j++) {
		PipesimZbLane *lane = &a->state->lanes[j];

		/* Nor can it run forwards that the one before it runs later. */
		lane->wanted = MIN(lane->wanted, lane[-1].wanted);
		if (lane->wanted == 0 || lane->wanted < lane[-1].wanted ||
			lane->done[PIPESIM_ZB_F] + lane->wanted >= a->state->m)
			continue;
		lane->wanted = lane[-1].wanted > 0 ? lane[-1].wanted - 1 : 0;
	}
}

static void warm_up(Attempt *a)
{
	PipesimZbState *state = a->state;
	gint64 ready = 0;

	for (guint j = 0; j < state->p; j++)
		pipesim_zb_run_forward(
			state, &state->lanes[j], pipesim_zb_forward_ready(state, j));
	for (guint j = state->p; j-- > 0;) {
		PipesimZbLane *lane = &state->lanes[j];
		const gint64 begin =
			j + 1 == state->p ? lane->clock : plan_warm_up(a, lane, ready);

		ready = begin + lane->time[PIPESIM_ZB_I] + state->problem->p2p;
	}
	state->lanes[state->p - 1].wanted = 0;
	step_down(a);
	for (guint j = 0; j < state->p; j++)
		for (PipesimZbLane *lane = &state->lanes[j]; lane->wanted > 0; lane->wanted--)
			pipesim_zb_run_forward(state, lane, pipesim_zb_forward_ready(state, j));
}

/* Whether @lane had better wait for its next I than run an F before it, the lane after it being
 * well supplied. */
static gboolean should_wait(const Attempt *a, const PipesimZbLane *lane)
{
	const PipesimZbLane *next = lane + 1;
	const gint64 there = next->clock + next->time[PIPESIM_ZB_F] + next->time[PIPESIM_ZB_I] +
			     a->state->problem->p2p;
	const gint64 missing = pipesim_zb_missing(a->state, lane);
	gint64 weights = 0;

	if (lane->done[PIPESIM_ZB_F] < next->done[PIPESIM_ZB_F] + 2)
		return FALSE;
	if (lane->clock >= there)
		return TRUE;
	if (missing > 0)
		weights = (missing + a->state->weight_held - 1) / a->state->weight_held;
	return lane->clock + lane->time[PIPESIM_ZB_F] + weights * lane->time[PIPESIM_ZB_W] >
		       there &&
	       there - lane->clock <= to_spare(a, lane);
}

static gboolean wants_forward(const Attempt *a, guint j)
{
	const PipesimZbLane *lane = &a->state->lanes[j];

	if (lane->done[PIPESIM_ZB_F] == a->state->m)
		return FALSE;
	if (pipesim_zb_missing(a->state, lane) >
		pipesim_zb_waiting(lane) * a->state->weight_held)
		return FALSE;
	return !a->way->awaits_input || j + 1 == a->state->p || !should_wait(a, lane);
}

/* A lane that the next one takes nothing from this round runs no F either, unless its own I of
 * this round needs one. */
static void choose_forwards(const Attempt *a, guint round)
{
	gboolean wanted = TRUE;

	for (guint j = a->state->p; j-- > 0;) {
		PipesimZbLane *lane = &a->state->lanes[j];

		wanted = (wanted && wants_forward(a, j)) || lane->done[PIPESIM_ZB_F] == round;
		lane->wanted = wanted;
	}
}

static gboolean run_forwards(Attempt *a)
{
	PipesimZbState *state = a->state;

	for (guint j = 0; j < state->p; j++) {
		PipesimZbLane *lane = &state->lanes[j];
		gint64 ready;

		if (!lane->wanted ||
			(j > 0 && lane[-1].done[PIPESIM_ZB_F] == lane->done[PIPESIM_ZB_F]))
			continue;
		while (pipesim_zb_missing(state, lane) > 0)
			pipesim_zb_run_weight(state, lane);
		ready = pipesim_zb_forward_ready(state, j);
		fill_gap(a, lane, ready);
		pipesim_zb_run_forward(state, lane, ready);
		if (!within_allowed(a, lane))
			return FALSE;
	}
	return TRUE;
}

static gboolean run_inputs(Attempt *a)
{
	PipesimZbState *state = a->state;

	for (guint j = state->p; j-- > 0;) {
		PipesimZbLane *lane = &state->lanes[j];
		const gint64 ready = pipesim_zb_input_ready(state, j);

		fill_gap(a, lane, ready);
		/* Nobody waits for the first lane's I, and it has no F left to make room for.
		 */
		while (j == 0 && lane->done[PIPESIM_ZB_F] == state->m &&
			pipesim_zb_waiting(lane) > 0)
			pipesim_zb_run_weight(state, lane);
		pipesim_zb_run_input(state, lane, ready);
		if (!within_allowed(a, lane))
			return FALSE;
	}
	return TRUE;
}

gboolean pipesim_zb_rounds(PipesimZbState *state, const PipesimZbRounds *way)
{
	Attempt a = {state, way, 0};
	gboolean ok = TRUE;
	guint round;

	pipesim_zb_reset(state);
	warm_up(&a);
	for (round = 0; round < state->m && ok; round++) {
		if (round > 0) {
			choose_forwards(&a, round);
			ok = run_forwards(&a);
		}
		ok = ok && run_inputs(&a);
	}
	state->placed += PIPESIM_PROBLEM_KINDS * (guint64)state->p * round;
	for (guint j = 0; j < state->p && ok; j++)
		while (pipesim_zb_waiting(&state->lanes[j]) > 0)
			pipesim_zb_run_weight(state, &state->lanes[j]);
	return ok;
}
