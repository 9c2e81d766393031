/* The loops of an order in which its ranks spend their time, and how far all go on together in them. */
#pragma once
#include "order/order.h"

/* Phases are gone through one after the other; each has one loop of every rank. */
typedef struct {
	guint32 n_phases; /* 0: a rank has no loop */
	guint32 *loops;   /* [phase * ranks + rank]: of the order */
	guint32 *
		steps; /* the same: rounds of it in which all ranks run as many halves of micro-batches, a
			     superstep; 1 where that would be long */
} PipesimLongLoops;

/** pipesim_long_loops_find: memory from @arena; FALSE where it does not suffice. */
gboolean pipesim_long_loops_find(
	PipesimLongLoops *loops, const PipesimOrder *order, PipesimArena *arena);

/** pipesim_long_loops_added: micro-batches that a superstep of @phase adds to each stage, forwards and backwards; 0: not
 * one number, or some are counted down. */
guint32 pipesim_long_loops_added(
	const PipesimLongLoops *loops, const PipesimOrder *order, guint32 phase);

/** pipesim_long_loops_supersteps: that all loops of @phase have. */
guint64 pipesim_long_loops_supersteps(
	const PipesimLongLoops *loops, const PipesimOrder *order, guint32 phase);

/** pipesim_long_loops_cut: @order with as many @supersteps fewer, each of @added micro-batches of a chunk, as @out, which
 * shares all but the loops. Memory from @arena; FALSE where it does not suffice. */
gboolean pipesim_long_loops_cut(const PipesimLongLoops *loops, const PipesimOrder *order,
	guint64 supersteps, guint32 added, PipesimOrder *out, PipesimArena *arena);

/** pipesim_loop_ops: of all rounds. */
static inline guint64 pipesim_loop_ops(const PipesimLoop *loop)
{
	return (guint64)loop->n * loop->count;
}

/** pipesim_loop_before: ops of @rank before @loop. */
guint64 pipesim_loop_before(const PipesimOrder *order, guint rank, guint32 loop);
