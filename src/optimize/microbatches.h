/* In which order unequal micro-batches run, where the schedule is fixed: which of them takes each of its
 * places. */
#pragma once
#include "order/program.h"

/* Most micro-batches all of whose orders are looked at. */
#define PIPESIM_MICROBATCHES_EXACT 8

typedef enum {
	PIPESIM_BATCH_GIVEN,
	PIPESIM_BATCH_SORTED,
	PIPESIM_BATCH_LONGEST_FIRST,
	PIPESIM_BATCH_LONGEST_IN_THE_MIDDLE,
	PIPESIM_N_BATCH_RULES,
} PipesimBatchRule;

/** pipesim_batch_rule_names: "given", "sorted", "longest-first", "longest-in-the-middle". */
extern const char *const pipesim_batch_rule_names[PIPESIM_N_BATCH_RULES];

/* A schedule, made ready to run with any micro-batch in any place. */
typedef struct _PipesimDeal PipesimDeal;

/** pipesim_deal_new: @program at @times, of single micro-batches where they are; messages take P2P and never wait.
 *
 * Returns: (transfer full): for pipesim_deal_free(); NULL with PIPESIM_ERROR_CONSTRAINT where forwards and
 *   backwards of different micro-batches run as one op, or PIPESIM_ERROR_LIMIT. */
PipesimDeal *pipesim_deal_new(
	const PipesimProgram *program, const PipesimTimes *times, GError **error);
PIPESIM_FREED(PipesimDeal, pipesim_deal_free)

/** pipesim_deal_set_share: @microbatch takes from now on @share of the usual times. */
void pipesim_deal_set_share(PipesimDeal *deal, guint microbatch, double share);

/** pipesim_deal_run: the makespan where the i-th micro-batch of the schedule is @order[i], ns. */
gint64 pipesim_deal_run(PipesimDeal *deal, const guint *order);

/** pipesim_deal_arrange: puts @order, any micro-batches, as @rule has it. */
void pipesim_deal_arrange(const PipesimDeal *deal, PipesimBatchRule rule, guint *order);

/** pipesim_deal_shuffle: puts them in an order drawn at random: number @number of @seed. */
void pipesim_deal_shuffle(const PipesimDeal *deal, guint64 seed, guint64 number, guint *order);

/** pipesim_deal_search: the best order of the micro-batches in @order, into it: all orders are
 * looked at of up to PIPESIM_MICROBATCHES_EXACT of them, of more as many as @moves.
 * Returns: its makespan, ns. */
gint64 pipesim_deal_search(PipesimDeal *deal, guint64 moves, guint64 seed, guint *order);

/** pipesim_deal_bound: what no order of the micro-batches in @order is shorter than, ns. Of any
 * path through the ops of the schedule, and so of any average of several, the length is a sum
 * over places of what stands there: the least of all assignments (Kuhn and Munkres) is a bound.
 * Which paths: those that are longest in the average of all orders that were the best answer so
 * far (fictitious play; Robinson, 1951), which comes to the best bound that averages give.
 * @order: becomes the best of those answers if it is shorter than @makespan, which it has */
gint64 pipesim_deal_bound(PipesimDeal *deal, gint64 *makespan, guint *order);
