#include "engine/durations.h"

/* Most pairs that are looked up: 8 MB. */
#define MAX_PAIRS (1u << 20)

/* 0 where a shape of a file has fewer stages on a rank than chunks. */
static gint64 ask(PipesimDurations *durations, guint rank, PipesimOp op)
{
	const guint32 *stage_of =
		&durations->program->stage_of[(gsize)rank * durations->chunks];

	if (stage_of[op.chunk] == PIPESIM_NO_OP ||
		(op.kind == PIPESIM_FB && stage_of[op.b_chunk] == PIPESIM_NO_OP))
		return 0;
	gint64 ns = pipesim_op_duration(durations->program, durations->times, rank, &op);
	durations->longest = MAX(durations->longest, ns);
	return ns;
}

gboolean pipesim_durations_init(PipesimDurations *durations, const PipesimProgram *program,
	const PipesimTimes *times, GError **error)
{
	const guint chunks = program->shape.chunks;
	const gsize n = (gsize)program->shape.ranks * chunks;

	*durations = (PipesimDurations){
		.program = program,
		.times = times,
		.chunks = chunks,
		.single = g_try_new(gint64, n * PIPESIM_FB),
		.longest = 3 * PIPESIM_MAX_TIME_NS,
	};
	if (n * chunks <= MAX_PAIRS) {
		durations->pair = g_try_new(gint64, n * chunks);
		durations->longest = 0;
	}
	if (durations->single == NULL)
		return pipesim_fail(error, PIPESIM_ERROR_LIMIT,
			"%u chunks on each of %u ranks do not fit in memory", chunks,
			program->shape.ranks);
	for (gsize at = 0; at < n; at++) {
		const guint rank = (guint)(at / chunks);
		PipesimOp op = {.chunk = (guint8)(at % chunks)};

		for (op.kind = 0; op.kind < PIPESIM_FB; op.kind++)
			durations->single[at * PIPESIM_FB + op.kind] = ask(durations, rank, op);
		for (guint other = 0; durations->pair != NULL && other < chunks; other++) {
			op.b_chunk = (guint8)other;
			durations->pair[at * chunks + other] = ask(durations, rank, op);
		}
	}
	return TRUE;
}

void pipesim_durations_clear(PipesimDurations *durations)
{
	g_free(durations->single);
	g_free(durations->pair);
}

gboolean pipesim_durations_fit(const PipesimDurations *durations, guint64 n_ops)
{
	__extension__ const __int128 most =
		(__int128)n_ops * ((__int128)durations->longest + durations->times->p2p);

	return most < PIPESIM_MAX_END;
}
