/* Which rank's op ends first: a winner tree with one place a rank. A rank runs one op at a
 * time, so no more events than ranks are ever ahead; a change plays log2(ranks) matches whose
 * places are known beforehand, without a branch that depends on times. */
#pragma once
#include "base/number.h"

typedef struct {
	gint64 time;
	guint32 rank;
} PipesimMatch;

typedef struct {
	guint32 places;      /* a power of two, at least the ranks */
	PipesimMatch *match; /* 1 = the winner, n = between 2n and 2n + 1 */
} PipesimTournament;

/** pipesim_tournament_init: all ranks at PIPESIM_NEVER. FALSE without memory. */
static inline gboolean pipesim_tournament_init(PipesimTournament *tournament, guint32 ranks)
{
	tournament->places = 1;
	while (tournament->places < ranks)
		tournament->places *= 2;
	tournament->match = g_try_new(PipesimMatch, 2 * (gsize)tournament->places);
	for (guint32 i = 0; tournament->match != NULL && i < 2 * tournament->places; i++)
		tournament->match[i] = (PipesimMatch){PIPESIM_NEVER, 0};
	return tournament->match != NULL;
}

static inline void pipesim_tournament_clear(PipesimTournament *tournament)
{
	g_clear_pointer(&tournament->match, g_free);
}

/** pipesim_tournament_first: the earliest time and its lowest rank. */
static inline PipesimMatch pipesim_tournament_first(const PipesimTournament *tournament)
{
	return tournament->match[1];
}

/** pipesim_tournament_set: the op that @rank runs ends at @time, or PIPESIM_NEVER. */
static inline void pipesim_tournament_set(
	PipesimTournament *tournament, guint32 rank, gint64 time)
{
	PipesimMatch *match = tournament->match;
	PipesimMatch winner = {time, rank};
	guint32 at = tournament->places + rank;

	match[at] = winner;
	for (; at > 1; at /= 2) {
		const PipesimMatch other = match[at ^ 1];
		/* Of equals the left one, which has the lower ranks. Moves, for a branch would often
		 * be guessed wrong. */
		const gboolean other_wins = __builtin_expect_with_probability(
			other.time < winner.time + (at & 1), 1, 0.5);

		winner.time = other_wins ? other.time : winner.time;
		winner.rank = other_wins ? other.rank : winner.rank;
		match[at / 2] = winner;
	}
}
