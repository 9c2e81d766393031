/* Attempts in the order of time: whichever lane can start an op first does. Where memory is
 * short, forwards come in bursts that rounds do not make. */
#include "config.h"

#include "schedule/search/zb-lanes.h"

/* What an op costs here against one of a round. */
#define COST  4
#define NEVER G_MAXINT64

/* Whether lane @j has as many F without their I as @way lets it have. */
static gboolean is_far_ahead(const PipesimZbState *state, const PipesimZbEager *way, guint j)
{
	const PipesimZbLane *lane = &state->lanes[j];
	const guint64 ahead = lane->done[PIPESIM_ZB_F] - lane->done[PIPESIM_ZB_I];

	return way->quarters_ahead > 0 &&
	       ahead > (guint64)(state->p - 1 - j) * way->quarters_ahead / 4;
}

static gint64 forward_start(const PipesimZbState *state, const PipesimZbEager *way, guint j)
{
	const PipesimZbLane *lane = &state->lanes[j];
	const guint k = lane->done[PIPESIM_ZB_F];

	if (k == state->m || (j > 0 && lane[-1].done[PIPESIM_ZB_F] == k) ||
		is_far_ahead(state, way, j) || pipesim_zb_missing(state, lane) > 0)
		return NEVER;
	return MAX(pipesim_zb_forward_ready(state, j), lane->clock);
}

static gint64 input_start(const PipesimZbState *state, guint j)
{
	const PipesimZbLane *lane = &state->lanes[j];
	const guint k = lane->done[PIPESIM_ZB_I];

	if (lane->done[PIPESIM_ZB_F] == k ||
		(j + 1 < state->p && lane[1].done[PIPESIM_ZB_I] == k))
		return NEVER;
	return MAX(pipesim_zb_input_ready(state, j), lane->clock);
}

/* Whether a W of @lane runs before an op that can start at @start. */
static gboolean runs_weight(const PipesimZbLane *lane, const PipesimZbEager *way, gint64 start)
{
	if (pipesim_zb_waiting(lane) == 0 || start <= lane->clock)
		return FALSE;
	return !way->waits || start - lane->clock >= lane->time[PIPESIM_ZB_W] ||
	       start - lane->clock > lane->allowed - lane->idle;
}

/* What lane @j can run first, of what is known. */
static void choose(PipesimZbState *state, const PipesimZbEager *way, guint j)
{
	PipesimZbLane *lane = &state->lanes[j];
	const gint64 forward = forward_start(state, way, j);
	const gint64 input = input_start(state, j);
	const gboolean is_input = input < forward || (input == forward && way->prefers_input);
	const gint64 start = is_input ? input : forward;
	guint node = (state->leaves + j) / 2;

	lane->next = is_input ? PIPESIM_ZB_I : PIPESIM_ZB_F;
	state->keys[j] = start;
	if (runs_weight(lane, way, start)) {
		lane->next = PIPESIM_ZB_W;
		state->keys[j] = lane->clock;
	}
	for (; node > 0; node /= 2) {
		const guint a = state->winners[2 * node], b = state->winners[2 * node + 1];

		state->winners[node] = state->keys[b] < state->keys[a] ? b : a;
	}
}

static void begin(PipesimZbState *state, const PipesimZbEager *way)
{
	pipesim_zb_reset(state);
	for (guint i = 0; i < state->leaves; i++) {
		state->winners[state->leaves + i] = i;
		state->keys[i] = NEVER;
	}
	for (guint node = state->leaves; --node > 0;)
		state->winners[node] = state->winners[2 * node];
	for (guint j = 0; j < state->p; j++)
		choose(state, way, j);
}

/* Runs what lane @j has chosen; its neighbours may have new inputs then. */
static void run_next(PipesimZbState *state, const PipesimZbEager *way, guint j)
{
	PipesimZbLane *lane = &state->lanes[j];
	const gint64 start = state->keys[j];

	if (lane->next == PIPESIM_ZB_W) {
		pipesim_zb_run_weight(state, lane);
	} else if (lane->next == PIPESIM_ZB_F) {
		pipesim_zb_run_forward(state, lane, start);
		if (j + 1 < state->p)
			choose(state, way, j + 1);
	} else {
		pipesim_zb_run_input(state, lane, start);
		if (j > 0)
			choose(state, way, j - 1);
	}
	choose(state, way, j);
}

gboolean pipesim_zb_eager(PipesimZbState *state, const PipesimZbEager *way)
{
	const guint64 ops = PIPESIM_PROBLEM_KINDS * (guint64)state->p * state->m;
	gboolean ok = TRUE;
	guint64 n;

	begin(state, way);
	for (n = 0; n < ops && ok; n++) {
		const guint j = state->winners[state->leaves > 1 ? 1 : state->leaves];

		/* The oldest micro-batch in flight can always go on. */
		g_assert(state->keys[j] != NEVER);
		run_next(state, way, j);
		ok = state->lanes[j].idle <= state->lanes[j].allowed;
	}
	state->placed += COST * n;
	return ok;
}
