/* What PyTorch's pipeline runtime does besides ops and messages to the parameters and gradients
 * of a stage that several data-parallel ranks share (FSDP). It neither costs nor waits for
 * anything here, but its place decides which receive stands where (runtime/queue.c). */
#pragma once
#include "order/program.h"

typedef enum {
	PIPESIM_UNSHARD,     /* gather the parameters of a stage */
	PIPESIM_RESHARD,     /* let go of them */
	PIPESIM_REDUCE_GRAD, /* reduce and scale the gradients, once a step */
} PipesimShardingKind;

typedef struct {
	guint32 before; /* what it stands before, of its rank; the end of the rank: behind all
			 */
	guint32 rank, stage;
	guint8 kind; /* PipesimShardingKind */
} PipesimSharding;

/**
 * pipesim_sharding_add: appends to @out what stands before the ops of @rank, in order, @before
 * an op's index or the first of the next rank. As PyTorch 2.11 does it (_add_unshard_reshard,
 * _add_reduce_grad): before each op the next three stages of the rank are unsharded and others
 * resharded; behind the last W or B of a stage its gradients are reduced. Stages that are
 * resharded at one place stand in ascending order, where PyTorch's follows the hashes of a set.
 *
 * Returns: FALSE with PIPESIM_ERROR_LIMIT where memory does not suffice.
 */
gboolean pipesim_sharding_add(
	const PipesimProgram *program, guint rank, GArray *out, GError **error);
