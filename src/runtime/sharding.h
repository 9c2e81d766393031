/* What PyTorch's pipeline runtime does besides ops and messages: to the parameters and gradients
 * of a stage that several data-parallel ranks share (FSDP), and, since 2.15, to what it has sent.
 * None of it costs time here, but where it stands decides which receive stands where
 * (runtime/pytorch.c), and ops behind a wait for a send wait for that message. */
#pragma once
#include "order/program.h"

typedef enum {
	PIPESIM_UNSHARD,     /* gather the parameters of a stage */
	PIPESIM_RESHARD,     /* let go of them */
	PIPESIM_REDUCE_GRAD, /* reduce and scale the gradients, once a step */
	PIPESIM_WAIT_REDUCE_GRAD,
	PIPESIM_WAIT_SEND_F, /* a sent tensor is let go of once it has arrived; not of a stage, but it
				stands among these */
	PIPESIM_WAIT_SEND_B,
	PIPESIM_N_SHARDINGS,
} PipesimShardingKind;

typedef struct {
	guint32 before; /* what it stands before, of its rank; the end of the rank: behind all
			 */
	guint32 rank;
	union {
		guint32 stage;
		guint32 message; /* of a wait for a send: that send, an action by index */
	};
	guint8 kind; /* PipesimShardingKind */
} PipesimSharding;

/** pipesim_sharding_is_wait: whether @kind waits for a send. */
static inline gboolean pipesim_sharding_is_wait(guint kind)
{
	return kind == PIPESIM_WAIT_SEND_F || kind == PIPESIM_WAIT_SEND_B;
}

/** pipesim_sharding_next: the next of @shardings (nullable) that stands before action or op @before of @rank;
 * NULL where none is left. @next: where it stands, counted on */
static inline PipesimSharding *pipesim_sharding_next(
	const GArray *shardings, guint rank, guint32 before, guint *next)
{
	PipesimSharding *sharding;

	if (shardings == NULL || *next >= shardings->len)
		return NULL;
	sharding = &g_array_index(shardings, PipesimSharding, *next);
	if (sharding->rank != rank || sharding->before > before)
		return NULL;
	++*next;
	return sharding;
}

/* How a version of PyTorch does it. */
typedef struct {
	guint active;    /* stages of a rank that are kept unsharded, max_active_stages */
	gboolean by_age; /* stages resharded at one place go as they were unsharded, else
			       ascending, where 2.11 follows the hashes of a set */
	gboolean waits;  /* a reduction is followed by its wait */
} PipesimShardingRules;

/**
 * pipesim_sharding_add: appends to @out what stands before the ops of @rank, in order, @before
 * an op's index or the first of the next rank, as _add_unshard_reshard and _add_reduce_grad do:
 * before each op the next stages of the rank are unsharded and others resharded; behind the last
 * W or B of a stage its gradients are reduced. A pair that is reached with one stage to go brings
 * both of its stages.
 *
 * Returns: FALSE with PIPESIM_ERROR_LIMIT where memory does not suffice.
 */
gboolean pipesim_sharding_add(const PipesimProgram *program, guint rank,
	const PipesimShardingRules *rules, GArray *out, GError **error);
