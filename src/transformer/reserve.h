/* What a GPU has in use beside what a rank's tensors need: the context of CUDA, NCCL's buffers,
 * code, and what PyTorch's allocator holds and does not use. `plan --reserve` and the page of
 * docs/memory.md say what it is; every figure and its source stands in reserve.c. */
#pragma once
#include "transformer/training.h"

typedef enum {
	PIPESIM_RESERVE_LEAST, /* no code compiled by PyTorch, and the least that was measured */
	PIPESIM_RESERVE_USUAL, /* the mean of what was measured: what a plan takes off */
	PIPESIM_RESERVE_MOST,  /* the most */
} PipesimReserveBound;

/* Bytes; all that stands outside of the allocator does so whatever the model is. */
typedef struct {
	gint64 context;       /* of CUDA, with the code that PyTorch loads at once */
	gint64 communicators; /* rings of each group of ranks, NCCL's */
	gint64 connections;   /* of every rank to every other of its node, for all-to-alls */
	gint64 libraries; /* code that the first step loads or compiles, with its workspaces */
	gint64 allocator; /* reserved by PyTorch's allocator beyond the peak of what is in use */
} PipesimReserve;

/** pipesim_reserve_communicators: groups of ranks, of more than one rank, that a rank of
 * @training over @pp pipeline ranks talks in: all ranks, TP, CP, EP, PP, TP with PP, DP with
 * CP, DP of experts. */
guint pipesim_reserve_communicators(const PipesimTraining *training, gint64 pp);

/** pipesim_reserve: of a rank whose tensors take @peak bytes at most, in nodes of @node GPUs;
 * never less than 0. */
PipesimReserve pipesim_reserve(const PipesimTraining *training, gint64 pp, gint64 node,
	gint64 peak, PipesimReserveBound bound);

/** pipesim_reserve_sum: all of it. */
static inline gint64 pipesim_reserve_sum(const PipesimReserve *reserve)
{
	return reserve->context + reserve->communicators + reserve->connections +
	       reserve->libraries + reserve->allocator;
}
