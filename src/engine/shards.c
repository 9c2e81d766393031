#include "engine/shards.h"
#include "runtime/runtime.h"

/* Whether it takes time beside compute. */
static gboolean is_shard(guint kind)
{
	return kind == PIPESIM_ACTION_UNSHARD || kind == PIPESIM_ACTION_REDUCE_GRAD;
}

/* What the actions of one rank wait for, in one walk through its list. */
typedef struct {
	PipesimShards *shards;
	guint rank;
	/* By stage, 1 + the number of the last on this rank; 0 = there was none. Of a reduction
	 * the action too. */
	guint32 *gathered, *reduced, *reduced_at;
} Walk;

static void look_at_stage(Walk *walk, guint32 at, guint32 number)
{
	const PipesimAction *action = &walk->shards->lowering->actions[at];
	guint32 *need = walk->shards->need;
	const guint stage = action->stage;

	if (action->kind == PIPESIM_ACTION_UNSHARD) {
		walk->gathered[stage] = number + 1;
		need[2 * (gsize)at + 1] = number + 1;
	} else if (action->kind == PIPESIM_ACTION_REDUCE_GRAD) {
		walk->reduced[stage] = number + 1;
		walk->reduced_at[stage] = at;
		need[2 * (gsize)at] = need[2 * (gsize)at + 1] = number + 1;
	} else if (action->kind == PIPESIM_ACTION_WAIT_REDUCE_GRAD &&
		   walk->reduced[stage] > 0) {
		/* This one waits in its place. */
		need[2 * (gsize)at] = walk->reduced[stage];
		need[2 * (gsize)walk->reduced_at[stage]] = 0;
	}
}

static void walk_rank(Walk *walk)
{
	PipesimShards *shards = walk->shards;
	const PipesimLowering *lowering = shards->lowering;
	const PipesimProgram *program = lowering->program;
	const guint32 *stage_of = &program->stage_of[(gsize)walk->rank * program->shape.chunks];
	PipesimTimeline *timeline = shards->timeline;
	const guint32 begin = timeline->n_shards;

	pipesim_each_of (at, lowering->rank_begin, walk->rank) {
		const PipesimAction *action = &lowering->actions[at];

		if (action->kind == PIPESIM_ACTION_OP) {
			const PipesimOp *op = &program->ops[action->op];
			guint32 *need = &shards->need[2 * (gsize)at];

			need[0] = need[1] = walk->gathered[stage_of[op->chunk]];
			if (op->kind == PIPESIM_FB)
				need[1] = walk->gathered[stage_of[op->b_chunk]];
			if (!lowering->runtime->splits_pairs)
				need[0] = MAX(need[0], need[1]);
		} else if (pipesim_action_is_sharding(action->kind)) {
			look_at_stage(walk, at, timeline->n_shards - begin);
		}
		if (is_shard(action->kind))
			timeline->shards[timeline->n_shards++] =
				(PipesimShard){.stage = action->stage,
					.reduces = action->kind == PIPESIM_ACTION_REDUCE_GRAD};
	}
	timeline->shard_begin[walk->rank + 1] = timeline->n_shards;
}

gboolean pipesim_shards_begin(PipesimShards *shards, const PipesimLowering *lowering,
	const PipesimTimes *times, PipesimTimeline *timeline, PipesimArena *arena)
{
	const PipesimShape *shape = &lowering->program->shape;
	guint32 *stages[3];
	guint32 n = 0;

	*shards = (PipesimShards){.lowering = lowering, .times = times, .timeline = timeline};
	if (times->unshard == NULL && times->reduce == NULL)
		return TRUE;
	for (guint32 i = 0; i < lowering->n_actions; i++)
		n += is_shard(lowering->actions[i].kind);
	if (n == 0)
		return TRUE;
	timeline->shards = g_try_new(PipesimShard, n);
	timeline->shard_begin = g_try_new0(guint32, (gsize)shape->ranks + 1);
	shards->seats = pipesim_arena_array(arena, PipesimShardSeat, shape->ranks);
	shards->need = pipesim_arena_array(arena, guint32, 2 * (gsize)lowering->n_actions);
	for (guint i = 0; i < G_N_ELEMENTS(stages); i++)
		stages[i] = pipesim_arena_array(arena, guint32, shape->stages);
	if (timeline->shards == NULL || timeline->shard_begin == NULL || stages[2] == NULL)
		return FALSE;
	for (guint rank = 0; rank < shape->ranks; rank++) {
		Walk walk = {shards, rank, stages[0], stages[1], stages[2]};

		for (guint chunk = 0; chunk < shape->chunks; chunk++) {
			const guint stage =
				lowering->program
					->stage_of[(gsize)rank * shape->chunks + chunk];

			if (stage < shape->stages)
				walk.gathered[stage] = walk.reduced[stage] = 0;
		}
		walk_rank(&walk);
	}
	return TRUE;
}

/* The one of @rank with that @number. */
static PipesimShard *shard_of(const PipesimShards *shards, guint rank, guint32 number)
{
	return &shards->timeline->shards[shards->timeline->shard_begin[rank] + number];
}

void pipesim_shards_issue(PipesimShards *shards, guint rank, guint32 at, gint64 now)
{
	PipesimShardSeat *seat = &shards->seats[rank];
	const guint32 behind = shards->need[2 * (gsize)at + 1];

	if (!is_shard(shards->lowering->actions[at].kind) || seat->issued >= behind)
		return;
	shard_of(shards, rank, behind - 1)->issued = now;
	seat->issued = behind;
}

guint32 pipesim_shards_start(PipesimShards *shards, guint rank, gint64 now, guint64 cause)
{
	PipesimShardSeat *seat = &shards->seats[rank];

	if (seat->started > seat->done || seat->started == seat->issued)
		return PIPESIM_NO_OP;
	PipesimShard *shard = shard_of(shards, rank, seat->started);
	shard->start = now;
	shard->cause = cause;
	return shards->timeline->shard_begin[rank] + seat->started++;
}

void pipesim_shards_end(PipesimShards *shards, guint rank, gint64 now)
{
	PipesimShard *shard = shard_of(shards, rank, shards->seats[rank].done++);

	shard->end = now;
	if (shard->reduces)
		shards->timeline->makespan = MAX(shards->timeline->makespan, now);
}

gint64 pipesim_shards_time(const PipesimShards *shards, guint32 index)
{
	const PipesimShard *shard = &shards->timeline->shards[index];
	const gint64 *of = shard->reduces ? shards->times->reduce : shards->times->unshard;

	return of != NULL ? of[shard->stage] : 0;
}
