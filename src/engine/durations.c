#include "config.h"

#include "engine/durations.h"

/* Most pairs that are looked up: 8 MB. */
#define MAX_PAIRS (1u << 20)

/* Where a shape of a file has fewer stages on a rank than chunks. */
static gboolean has_stage(const PipesimDurations *durations, gsize at)
{
	return durations->program->stage_of[at] != PIPESIM_NO_OP;
}

static gint64 ask(PipesimDurations *durations, guint rank, PipesimOp op)
{
	const gint64 ns = pipesim_op_duration(durations->program, durations->times, rank, &op);

	durations->longest = MAX(durations->longest, ns);
	return ns;
}

static void fill_chunk(PipesimDurations *durations, guint rank, guint chunk)
{
	const gsize first = (gsize)rank * durations->chunks, at = first + chunk;
	PipesimOp op = {.chunk = (guint8)chunk};

	for (op.kind = 0; op.kind < PIPESIM_FB; op.kind++)
		durations->single[at * PIPESIM_FB + op.kind] =
			has_stage(durations, at) ? ask(durations, rank, op) : 0;
	for (guint other = 0; durations->pair != NULL && other < durations->chunks; other++) {
		op.b_chunk = (guint8)other;
		durations->pair[at * durations->chunks + other] =
			has_stage(durations, at) && has_stage(durations, first + other)
				? ask(durations, rank, op)
				: 0;
	}
}

gboolean pipesim_durations_init(PipesimDurations *durations, const PipesimProgram *program,
	const PipesimTimes *times, GError **error)
{
	const gsize n = (gsize)program->shape.ranks * program->shape.chunks;

	*durations = (PipesimDurations){
		.program = program,
		.times = times,
		.chunks = program->shape.chunks,
		.single = g_try_new(gint64, n * PIPESIM_FB),
		.longest = 3 * PIPESIM_MAX_TIME_NS,
	};
	if (n * program->shape.chunks <= MAX_PAIRS) {
		durations->pair = g_try_new(gint64, n * program->shape.chunks);
		durations->longest = 0;
	}
	if (durations->single == NULL)
		return pipesim_fail(error, PIPESIM_ERROR_LIMIT,
			"%u chunks on each of %u ranks do not fit in memory",
			program->shape.chunks, program->shape.ranks);
	for (guint rank = 0; rank < program->shape.ranks; rank++)
		for (guint chunk = 0; chunk < program->shape.chunks; chunk++)
			fill_chunk(durations, rank, chunk);
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
