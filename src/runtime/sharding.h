/* When PyTorch's pipeline runtime gathers the parameters of a stage that several data-parallel
 * ranks share (FSDP), lets go of them, and reduces its gradients. Where that stands decides
 * which receive stands where (runtime/pytorch.c). Private to the room. */
#pragma once
#include "runtime/lists.h"

/* How a version does it, and what is asked of it. */
typedef struct {
	guint active;    /* stages of a rank that are kept unsharded, max_active_stages */
	guint ahead;     /* that are unsharded before they are used, unshard_lookahead */
	gboolean by_age; /* stages resharded at one place go as they were unsharded, else
			       ascending, where 2.11 follows the hashes of a set */
	gboolean waits;  /* a reduction has its wait: right behind it, or */
	gboolean defers; /* before the next one of the rank, and of the last one at the end */
} PipesimShardingRules;

/* When a rank uses its chunks, by chunk; its ops are counted from its first. */
typedef struct {
	guint n;                          /* chunks that it uses, */
	guint8 order[PIPESIM_MAX_CHUNKS]; /* as it comes to them */
	guint32 n_gone
		[PIPESIM_MAX_CHUNKS]; /* so many ops before it uses one no more; 0: never */
	guint32 n_reduced[PIPESIM_MAX_CHUNKS]; /* until its gradients are complete; 0: never */
	guint32 gradients[PIPESIM_MAX_CHUNKS]; /* W and B */
} PipesimChunkUses;

/** pipesim_chunk_uses_add: the next of its ops, or verbs, is @op, which runs @rounds times, for the last time as
 * number @last. */
void pipesim_chunk_uses_add(PipesimChunkUses *uses, const PipesimShape *shape,
	const PipesimOp *op, guint32 rounds, guint32 last);

/** pipesim_sharding_keeps_all: whether all chunks of a rank stay while they are used. */
static inline gboolean pipesim_sharding_keeps_all(
	const PipesimShape *shape, const PipesimShardingRules *rules)
{
	return shape->chunks <= rules->active && rules->ahead == rules->active;
}

/** pipesim_sharding_list: appends to @out what is done to the stages of @rank, in `wait` of
 * each the op before which that is, or the end of its ops, as _add_unshard_reshard and
 * _add_reduce_grad do: before each op the next `active` stages of the rank stay, others are
 * resharded, and of those the next `ahead` are unsharded; behind the last W or B of a stage its
 * gradients are reduced. A pair that is reached with one stage to go brings both of its stages.
 * @uses: (nullable): its chunks, where all stay: the ops are then not looked at
 * Returns: FALSE with PIPESIM_ERROR_LIMIT where memory does not suffice. */
gboolean pipesim_sharding_list(PipesimLowerer *lowerer, guint rank,
	const PipesimShardingRules *rules, const PipesimChunkUses *uses, PipesimList *out,
	GError **error);
