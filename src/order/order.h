/* The order of every rank with its loops kept as loops: what a schedule says in a few lines,
 * whatever the number of micro-batches. Nobody changes an order once it is made: it is shared
 * by reference. */
#pragma once
#include "order/program.h"

/* In PipesimOp.microbatch and b_microbatch of a verb: not a number of its own but */
#define PIPESIM_NEXT \
	G_MAXUINT32 /* the lowest of its chunk that this kind has not had; slices: see emit.h */
#define PIPESIM_LAST (G_MAXUINT32 - 1) /* the highest of its chunk: those that count down */
/* In PipesimOp.chunk of a W: the chunk of the oldest I of the rank that has no W yet. */
#define PIPESIM_OLDEST 255

/* One loop of a rank: verbs[first] to verbs[first + n - 1], @count times over. */
typedef struct {
	guint32 first, n;
	guint32 count; /* >= 1 */
} PipesimLoop;

/* A verb is a PipesimOp whose micro-batch may be PIPESIM_NEXT or PIPESIM_LAST. Forward and
 * backward (I, B, second half of a pair) of a chunk count separately. Where @is_closed, every
 * micro-batch is one of these two: each chunk is then complete if its counts come out. */
typedef struct {
	PipesimShape shape;
	PipesimOp *verbs;
	PipesimLoop *loops;
	guint32 n_verbs, n_loops;
	guint32 *rank_begin; /* ranks + 1: loops of rank r */
	guint64 n_ops;       /* of all ranks, loops unrolled */
	gboolean is_closed;
	GPtrArray *phases; /* of char *; index 0 is "" */
	char *note;        /* what a search says of the order it found, or NULL */
	/* Of an order that was given op by op, as files give it: these ops; there are then no
	 * loops. Else NULL. */
	PipesimProgram *program;
} PipesimOrder;

/** pipesim_order_ref, pipesim_order_unref: as pipesim_program_ref() and its like. */
PipesimOrder *pipesim_order_ref(const PipesimOrder *order);
PIPESIM_FREED(PipesimOrder, pipesim_order_unref)

/** pipesim_order_of_program: the order that runs the linked @program, which it shares. */
PipesimOrder *pipesim_order_of_program(const PipesimProgram *program);

/** PipesimRankOps: the ops of @rank, and in *@n how many: its micro-batches have their numbers. */
typedef const PipesimOp *(*PipesimRankOps)(gpointer data, guint rank, guint32 *n);

/** pipesim_order_fold: what ranks run as a closed order, with loops where their ops repeat.
 * @shape: PIPESIM_FROM_FILE; @stage_of: as that of a program
 * @give: asked for each rank once, in their order; of PipesimKind alone
 *
 * Returns: (transfer full): NULL where ops do not count their micro-batches, are not all there, or stages are not placed
 * as those of schedules. Whether the order runs pipesim_order_runs() says. */
PipesimOrder *pipesim_order_fold(
	const PipesimShape *shape, const guint32 *stage_of, PipesimRankOps give, gpointer data);

/** pipesim_order_runs: whether some execution of the closed @order, without slices, reaches the end. */
gboolean pipesim_order_runs(const PipesimOrder *order);

/** pipesim_order_expand: every op of @order, one by one, linked; shared where it was given so.
 * Returns: (transfer full): NULL with PIPESIM_ERROR_INCOMPLETE where the order asks for a
 *   micro-batch that does not exist or leaves one out, or PIPESIM_ERROR_LIMIT. */
PipesimProgram *pipesim_order_expand(const PipesimOrder *order, GError **error);

/** pipesim_order_has_pairs: whether @order has overlapped pairs. */
gboolean pipesim_order_has_pairs(const PipesimOrder *order);

/** pipesim_order_split_pairs: the closed @order with every overlapped pair as its forward and then its full
 * backward: pipesim_program_split_pairs(), with loops. */
PipesimOrder *pipesim_order_split_pairs(const PipesimOrder *order);
