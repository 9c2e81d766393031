/* Megatron-LM's schedules without and with virtual stages (forward_backward_pipelining_without_interleaving,
 * _with_interleaving), as they are told: for lists, or as they run. Private to both.
 *
 * A rank issues a receive one op before its use. Without virtual stages, or where it is asked not to overlap, what it
 * sends and receives after an op is one batch, which it waits for; with virtual stages the messages of the steady phase
 * are issued one by one and waited for where they are needed, a forward's send right away, as its output is let go of
 * then. Where F and B of the steady phase run as one pair (overlap_moe_expert_parallel_comm) both inputs are waited for
 * before it, and both results leave behind it.
 *
 * All ranks run the same chunks and micro-batches in the same order: forwards and backwards are told by their
 * number. */
#pragma once
#include "order/order.h"
#include "runtime/runtime.h"

/* No op, or none that is to be sent, received or waited for. */
#define PIPESIM_NONE PIPESIM_NO_OP

typedef struct {
	guint32 microbatch, chunk;
} PipesimMegatronOp;

/* What all ranks run, by direction: 0 forwards, 1 backwards. */
typedef struct {
	const PipesimProgram *program; /* shape and stages */
	const PipesimIssuing *issuing;
	guint ranks, chunks;
	guint32 n; /* of each direction */
	guint32 m; /* micro-batches */
	PipesimMegatronOp *ops[2];
	guint32 *of[2]; /* by chunk * m + micro-batch: its number */
	gboolean batched, pairs;
} PipesimMegatron;

/* What may be sent and received after an op; of a send the number of the op that it comes from, of a receive that of the
 * one that needs it. */
typedef struct {
	guint32 ops
		[4]; /* send to the next rank, receive from the last; send to that, receive from the next */
} PipesimExchange;

/* Where a rank is told. */
typedef struct {
	guint rank;
	guint32 warm_up;
	guint32 at;           /* in the text; 0: at its begin */
	guint32 k;            /* the round of the loop there */
	guint32 sent[2];      /* ops whose sends have not been waited for */
	PipesimExchange what; /* was issued and is waited for */
	guint32 n_ended;      /* of that, in order */
} PipesimMegatronSeat;

/** pipesim_megatron_new: room for all of @program, some of it @pairs; the caller says what is run. Memory from @arena,
 * which says whether it sufficed. */
PipesimMegatron pipesim_megatron_new(const PipesimProgram *program,
	const PipesimIssuing *issuing, gboolean pairs, PipesimArena *arena);

/** pipesim_megatron_take: the next forward, or @backward, is of @chunk and @microbatch; it has number @k. */
static inline void pipesim_megatron_take(
	PipesimMegatron *all, guint backward, guint32 k, guint8 chunk, guint32 microbatch)
{
	all->ops[backward][k] = (PipesimMegatronOp){microbatch, chunk};
	all->of[backward][chunk * all->m + microbatch] = k;
}

/** pipesim_megatron_refuses: the same of @order, which has loops: whether its last group is too small. */
gboolean pipesim_megatron_refuses(const PipesimOrder *order);

/** pipesim_megatron_check: whether no group of micro-batches is too small to go round; FALSE with
 * PIPESIM_ERROR_CONSTRAINT. */
gboolean pipesim_megatron_check(const PipesimMegatron *all, GError **error);

/** pipesim_megatron_ahead: messages of one stage that a rank receives ahead, at most: the one that a group comes back to
 * has it made as many ops before as messages take to go round. */
guint32 pipesim_megatron_ahead(const PipesimMegatron *all);

/** pipesim_megatron_seat: @rank before its first op. */
PipesimMegatronSeat pipesim_megatron_seat(const PipesimMegatron *all, guint rank);

/** pipesim_megatron_sends: whether op @k of @rank, PIPESIM_NONE: none, has a message of @kind. */
static inline gboolean pipesim_megatron_sends(
	const PipesimMegatron *all, guint rank, guint kind, guint32 k)
{
	const guint backward = pipesim_action_is_backward(kind);

	if (k == PIPESIM_NONE || all->ranks == 1)
		return FALSE;
	/* To the stage behind it or from there. */
	return (pipesim_action_is_send(kind) != (gboolean)backward)
		       ? rank + 1 < all->ranks || all->ops[backward][k].chunk + 1u < all->chunks
		       : rank > 0 || all->ops[backward][k].chunk > 0;
}

/** pipesim_megatron_next: the receive of the input of a forward that goes with the @k-th one, or of the gradient of a
 * @backward: that of the next, or on the rank where stages of the next chunk follow what the rank at the other end made
 * as many ops ago as messages take to go round. */
static inline guint32 pipesim_megatron_next(
	const PipesimMegatron *all, guint rank, guint32 k, guint backward)
{
	const guint32 made = k - (all->ranks - 1);
	guint32 chunk;

	if (backward ? rank + 1 < all->ranks : rank > 0)
		return k + 1 < all->n ? k + 1 : PIPESIM_NONE;
	if (k + 1 < all->ranks)
		return PIPESIM_NONE;
	/* Before the first chunk is above the last one, as it has no sign. */
	chunk = all->ops[backward][made].chunk + (backward ? -1u : 1u);
	return chunk < all->chunks
		       ? all->of[backward][chunk * all->m + all->ops[backward][made].microbatch]
		       : PIPESIM_NONE;
}

/** pipesim_megatron_kinds: in which order messages are issued, and waited for, on @rank: one begins with what its
 * neighbours do not begin with; and in a batch. */
static inline const guint8 *pipesim_megatron_kinds(const PipesimMegatron *all, guint rank)
{
	static const guint8 orders[][4] = {
		{PIPESIM_ACTION_SEND_F, PIPESIM_ACTION_RECV_F, PIPESIM_ACTION_SEND_B,
			PIPESIM_ACTION_RECV_B},
		{PIPESIM_ACTION_RECV_F, PIPESIM_ACTION_SEND_F, PIPESIM_ACTION_RECV_B,
			PIPESIM_ACTION_SEND_B},
		{PIPESIM_ACTION_SEND_B, PIPESIM_ACTION_RECV_F, PIPESIM_ACTION_SEND_F,
			PIPESIM_ACTION_RECV_B},
	};

	return orders[all->batched ? 2 : rank % 2];
}
