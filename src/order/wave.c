#include "config.h"

#include "order/wave.h"
#include <string.h>

#define NO_RANK G_MAXUINT32

gboolean pipesim_wave_init(PipesimWave *wave, const PipesimProgram *program, GError **error)
{
	const gsize ranks = program->shape.ranks;

	*wave = (PipesimWave){.program = program, .next = g_try_new(guint32, 5 * ranks)};
	if (wave->next == NULL)
		return pipesim_fail(error, PIPESIM_ERROR_LIMIT, "%u ranks do not fit in memory",
			program->shape.ranks);
	wave->waits_for = wave->next + ranks;
	wave->waiter = wave->next + 2 * ranks;
	wave->next_waiter = wave->next + 3 * ranks;
	wave->queue = wave->next + 4 * ranks;
	memcpy(wave->next, program->rank_begin, ranks * sizeof *wave->next);
	for (guint rank = 0; rank < ranks; rank++) {
		wave->waiter[rank] = NO_RANK;
		wave->queue[rank] = rank;
	}
	wave->n_queued = program->shape.ranks;
	return TRUE;
}

void pipesim_wave_clear(PipesimWave *wave)
{
	g_free(wave->next);
}

gboolean pipesim_wave_take(PipesimWave *wave, guint *rank)
{
	if (wave->n_queued == 0)
		return FALSE;
	*rank = wave->queue[wave->head];
	wave->head = wave->head + 1 == wave->program->shape.ranks ? 0 : wave->head + 1;
	wave->n_queued--;
	return TRUE;
}

static void append(PipesimWave *wave, guint rank)
{
	const guint ranks = wave->program->shape.ranks;
	const guint at = wave->head + wave->n_queued++;

	wave->queue[at >= ranks ? at - ranks : at] = rank;
}

static void wait_for(PipesimWave *wave, guint rank, guint32 op)
{
	const guint other = pipesim_program_rank(wave->program, op);

	wave->waits_for[rank] = op;
	wave->next_waiter[rank] = wave->waiter[other];
	wave->waiter[other] = rank;
}

void pipesim_wave_put(PipesimWave *wave, guint rank, guint32 next, guint32 waits_for)
{
	guint32 *link = &wave->waiter[rank];

	wave->next[rank] = next;
	while (*link != NO_RANK) {
		const guint32 waiter = *link;

		if (wave->waits_for[waiter] < next) {
			*link = wave->next_waiter[waiter];
			append(wave, waiter);
		} else {
			link = &wave->next_waiter[waiter];
		}
	}
	if (waits_for != PIPESIM_NO_OP)
		wait_for(wave, rank, waits_for);
}
