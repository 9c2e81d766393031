#include "config.h"

#include "base/tournament.h"

gboolean pipesim_tournament_init(PipesimTournament *tournament, guint32 ranks)
{
	guint32 places = 1;

	while (places < ranks)
		places *= 2;
	tournament->places = places;
	tournament->match = g_try_new(PipesimMatch, 2 * (gsize)places);
	if (tournament->match == NULL)
		return FALSE;
	for (guint32 i = 0; i < 2 * places; i++)
		tournament->match[i] = (PipesimMatch){PIPESIM_NEVER, 0};
	return TRUE;
}

void pipesim_tournament_clear(PipesimTournament *tournament)
{
	g_clear_pointer(&tournament->match, g_free);
}
