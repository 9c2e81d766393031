/* PIPESIM_LANES runs of one list side by side: who waits for whom is the same in all of them. */
#include "engine/ruled-kernel.h"
#if defined(__x86_64__)
#include <immintrin.h>
#endif

#define N PIPESIM_RULED_LANES
/* What gathering and reducing take where a run does neither: it is done long before anything waits for it. */
#define LONG_AGO (-PIPESIM_MAX_END)

/* A moment, or a time, of each run. */
typedef struct {
	gint64 lane[N];
} __attribute__((aligned(64))) Lanes;

typedef struct {
	Lanes p2p, host;
	Lanes *shard[2]; /* by stage */
	/* By rank and chunk, as PipesimDurations has them; NULL: looked up one by one. */
	Lanes *single, *pair;
	guint chunks;
	const PipesimRuledRun *runs; /* N of them */
	const gint64 *drawn[N];      /* by step, of each run; [0] is NULL: not all are */
} LaneTimes;

static void look_up_all(const LaneTimes *times, const PipesimRuled *ruled, guint rank,
	guint32 index, PipesimKind half, guint32 step, Lanes *took, Lanes *last)
{
	for (guint i = 0; i < N; i++)
		pipesim_ruled_look_up(&times->runs[i].times, ruled, rank, index, half, step,
			&took->lane[i], &last->lane[i]);
}

static inline void time_lanes(const LaneTimes *times, const PipesimRuled *ruled, guint rank,
	guint32 index, PipesimKind half, guint32 step, Lanes *took, Lanes *last)
{
	const PipesimOp *op = &ruled->lowering->program->ops[index];
	const gsize at =
		(gsize)rank * times->chunks + (half == PIPESIM_B ? op->b_chunk : op->chunk);

	if (times->drawn[0] != NULL)
		for (guint i = 0; i < N; i++)
			took->lane[i] = times->drawn[i][step];
	else if (times->single == NULL)
		look_up_all(times, ruled, rank, index, half, step, took, last);
	else if (op->kind == PIPESIM_FB && half == PIPESIM_FB)
		*took = times->pair[at * times->chunks + op->b_chunk];
	else
		*took = times->single[at * PIPESIM_FB +
				      (half == PIPESIM_FB ? (guint)op->kind : (guint)half)];
}

#define SET(at, to) (*(at) = *(to))
#define START(at)   (*(at) = (Lanes){{0}})
#define RELEASE(k, rank, seat)
#define Time    Lanes
#define Times   LaneTimes
#define time_op time_lanes
#define EACH(at, other, what)                                                 \
	{                                                                     \
		MAKE(Vector) *const of = (MAKE(Vector) *)(at);                \
		const MAKE(Vector) *const by = (const MAKE(Vector) *)(other); \
		for (guint i_ = 0; i_ < sizeof(Lanes) / sizeof *of; i_++)     \
			of[i_] = what(of[i_], by[i_]);                        \
	}
#define SUM(a, b)       ((a) + (b))
#define TAKE(at, other) EACH(at, other, LARGER)
#define PASS(at, span)  EACH(at, span, SUM)
#define ADD             PASS

#define MAKE(name) name##_baseline
#define TARGET
#define LARGER(a, b) (((a) & ((a) > (b))) | ((b) & ~((a) > (b))))
typedef gint64 Vector_baseline __attribute__((vector_size(16), may_alias));
#include "engine/ruled-kernel.inc"

#if defined(__x86_64__)
#undef MAKE
#undef TARGET
#define MAKE(name) name##_avx2
#define TARGET     __attribute__((target("avx2")))
typedef gint64 Vector_avx2 __attribute__((vector_size(32), may_alias));
#include "engine/ruled-kernel.inc"

#undef MAKE
#undef TARGET
#undef LARGER
#define MAKE(name)   name##_avx512
#define TARGET       __attribute__((target("avx512f")))
#define LARGER(a, b) ((Vector_avx512)_mm512_max_epi64((__m512i)(a), (__m512i)(b)))
typedef gint64 Vector_avx512 __attribute__((vector_size(64), may_alias));
#include "engine/ruled-kernel.inc"
#endif

/* Fills the tables from the runs, of which number @tells gathers and reduces stages if any does. FALSE without memory, or
 * where pairs are too many. */
static gboolean fill(
	LaneTimes *times, const PipesimRuled *ruled, guint tells, PipesimArena *arena)
{
	const PipesimShape *shape = &ruled->lowering->program->shape;
	const gsize n = (gsize)shape->ranks * shape->chunks;
	const PipesimRuledRun *runs = times->runs;
	gboolean tables = TRUE, pairs = TRUE, drawn = ruled->delay_wgrad == 0;

	times->chunks = shape->chunks;
	for (guint i = 0; i < N; i++) {
		tables &= !runs[i].times.one_by_one;
		drawn &= runs[i].times.times->drawn != NULL && !runs[i].times.times->has_edges;
		pairs &= runs[i].times.durations.pair != NULL;
		times->p2p.lane[i] = runs[i].times.p2p;
		times->host.lane[i] = runs[i].times.host;
	}
	for (guint way = 0; way < 2; way++) {
		if (runs[tells].times.shard[way] == NULL)
			continue;
		times->shard[way] = pipesim_arena_array(arena, Lanes, shape->stages);
		for (guint stage = 0; times->shard[way] != NULL && stage < shape->stages;
			stage++)
			for (guint i = 0; i < N; i++)
				times->shard[way][stage].lane[i] =
					runs[i].times.shard[way] != NULL
						? runs[i].times.shard[way][stage]
						: LONG_AGO;
	}
	for (guint i = 0; i < N && drawn; i++)
		times->drawn[i] = runs[i].times.times->drawn;
	if (!tables)
		return TRUE;
	times->single = pipesim_arena_array(arena, Lanes, n * PIPESIM_FB);
	times->pair = pairs ? pipesim_arena_array(arena, Lanes, n * shape->chunks) : NULL;
	if (times->pair == NULL)
		return FALSE;
	for (guint i = 0; i < N; i++) {
		for (gsize at = 0; at < n * PIPESIM_FB; at++)
			times->single[at].lane[i] = runs[i].times.durations.single[at];
		for (gsize at = 0; at < n * shape->chunks; at++)
			times->pair[at].lane[i] = runs[i].times.durations.pair[at];
	}
	return TRUE;
}

/* What came out of @k, of the first @n runs. */
#define GIVE(k, n)                                                              \
	for (guint i = 0; i < (n); i++) {                                       \
		figures[i].makespan = (k).makespan.lane[i];                     \
		for (guint rank = 0; rank < ranks; rank++) {                    \
			figures[i].busy[rank] = (k).busy[rank].lane[i];         \
			figures[i].first_start[rank] = (k).first[rank].lane[i]; \
			figures[i].last_end[rank] = (k).end[rank].lane[i];      \
		}                                                               \
	}
#define RUN(name)                                                                     \
	{                                                                             \
		Kernel_##name k = {.ruled = ruled,                                    \
			.times = &times,                                              \
			.shards = &runs[tells].shards,                                \
			.when = when};                                                \
		if (!run_##name(&k, arena) || k.n_done != pipesim_ruled_steps(ruled)) \
			return FALSE;                                                 \
		GIVE(k, n)                                                            \
		return TRUE;                                                          \
	}

static gboolean run_block(const PipesimRuled *ruled, PipesimRuledRun *runs, guint tells,
	PipesimRuledFigures *figures, guint n)
{
	const guint ranks = ruled->lowering->program->shape.ranks;
	g_autoptr(PipesimArena) arena = pipesim_arena_new();
	LaneTimes times = {.runs = runs};
	/* Written before it is read, so not cleared. */
	g_autofree char *room =
		g_try_malloc_n((gsize)ruled->lowering->n_actions + 1, sizeof(Lanes));
	Lanes *when = (Lanes *)(((guintptr)room + 63) / 64 * 64);

	if (room == NULL || !fill(&times, ruled, tells, arena))
		return FALSE;
#if defined(__x86_64__)
	if (__builtin_cpu_supports("avx512f"))
		RUN(avx512)
	if (__builtin_cpu_supports("avx2"))
		RUN(avx2)
#endif
	RUN(baseline)
}

/* Whether stages are gathered, and gradients reduced. */
static guint sharding_of(const PipesimTimes *times)
{
	return (times->unshard != NULL ? 1u : 0) | (times->reduce != NULL ? 2u : 0);
}

/* Runs of @times from number @first on, up to N, or to the first that gathers stages in another way than those before it:
 * none does, or all do the same. @tells: (out): one that does, if any. */
static guint alike(
	const PipesimRuled *ruled, const PipesimTimes *const *times, guint n, guint *tells)
{
	guint end = 1;

	*tells = 0;
	for (; end < MIN(n, N); end++) {
		const guint seen = sharding_of(times[*tells]), own = sharding_of(times[end]);

		/* What is issued behind a stop that only some have is issued then, or when the op ends. */
		if (own != seen && ((own != 0 && seen != 0) || ruled->delay_wgrad > 0))
			break;
		if (seen == 0 && own != 0)
			*tells = end;
	}
	return end;
}

gboolean pipesim_ruled_lanes(const PipesimRuled *ruled, const PipesimTimes *const *times,
	guint n, PipesimRuledFigures *figures)
{
	gboolean ok = TRUE;
	guint tells;

	for (guint first = 0, some; first < n && ok; first += some) {
		PipesimRuledRun runs[N];
		g_autoptr(PipesimTimeline) timeline = g_new0(PipesimTimeline, 1);

		some = alike(ruled, &times[first], n - first, &tells);
		for (guint i = 0; i < some && some < PIPESIM_RULED_WORTH && ok; i++) {
			gboolean done;

			ok = pipesim_ruled_figures(ruled, times[first + i], &figures[first + i],
				     &done, NULL) &&
			     done;
		}
		if (some < PIPESIM_RULED_WORTH)
			continue;
		for (guint i = 0; i < N; i++)
			ok &= pipesim_ruled_begin(&runs[i], ruled,
				      times[first + MIN(i, some - 1)],
				      i == tells ? timeline : NULL, NULL) &&
			      pipesim_ruled_fits(ruled, &runs[i].times);
		ok = ok && run_block(ruled, runs, tells, &figures[first], some);
		for (guint i = 0; i < N; i++)
			pipesim_ruled_end(&runs[i]);
	}
	return ok;
}
