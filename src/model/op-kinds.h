/* Kinds of ops as data: what one is called, where it runs, what it takes of memory. A new one is its row in
 * op-kinds.c; what makes it meaningful is who waits for it (engine/mixed.c). */
#pragma once
#include "base/base.h"

/* PipesimOp.kind: a PipesimKind, or one of these. */
typedef enum {
	PIPESIM_OP_RECOMPUTE = PIPESIM_N_KINDS, /* F once more, before its B or I */
	PIPESIM_OP_OFFLOAD_START,               /* a copy to the host begins */
	PIPESIM_OP_OFFLOAD_END,                 /* is waited for; its memory is free */
	PIPESIM_OP_RELOAD_ALLOC,                /* memory for what comes back */
	PIPESIM_OP_RELOAD_START,                /* its copy begins */
	PIPESIM_OP_RELOAD_DONE,                 /* after W: the copy on the host may go */
	PIPESIM_OP_OFFLOAD_BARRIER,             /* with the rank that shares the link */
	PIPESIM_OP_OFFLOAD,       /* Primus: waits for the copy that began behind F; frees */
	PIPESIM_OP_RELOAD,        /* its copy back, with memory for it */
	PIPESIM_OP_OUTPUT,        /* S: a part of the vocabulary, logits and local sums */
	PIPESIM_OP_OUTPUT_WEIGHT, /* T: its weight gradient */
	PIPESIM_OP_EMBED,         /* EF: a part of the embedding */
	PIPESIM_OP_EMBED_WEIGHT,  /* EB: its weight gradient */
	PIPESIM_OP_LOSS,          /* of the last stage, once all parts have S */
	PIPESIM_OP_LOSS_BACKWARD,
	PIPESIM_OP_BCAST_H, /* the last stage's output to all ranks */
	PIPESIM_OP_BCAST_T, /* what T needs */
	PIPESIM_OP_REDUCE_S,
	PIPESIM_OP_REDUCE_T,
	PIPESIM_OP_ALLREDUCE_E, /* the embedding, for the first stage */
	PIPESIM_OP_BCAST_E,     /* its gradient */
	PIPESIM_N_OPS,
} PipesimOpKind;

/* Numbers of micro-batches beyond M that ops of a rank may have: collectives of one more carry what the last
 * one made, and generators embed up to two that do not exist. */
#define PIPESIM_MICROBATCHES_MORE 2

/* What it runs on. */
typedef enum {
	PIPESIM_ON_RANK,       /* computes: one after the other */
	PIPESIM_ON_COPY_OUT,   /* begun by its rank, which goes on */
	PIPESIM_ON_COPY_IN,    /* the same */
	PIPESIM_ON_COLLECTIVE, /* the same, once the last rank has come to it */
	PIPESIM_ON_NOTHING,    /* a moment of its rank */
} PipesimResource;

/* What --times calls the time of copies, out and in. */
#define PIPESIM_COPY_TIME "COPY"

typedef struct {
	const char *word; /* in cells: "R", "OFFLOAD_START" */
	const char *time; /* what --times calls its time; NULL: it has none of its own */
	PipesimResource resource; /* what it runs on */
	gint8 takes, frees;       /* activations of its chunk: as it begins, as it ends */
	gboolean of_rank;         /* the stage of its cell is a rank */
	PipesimKind look;         /* whose colour it has */
	const char *
		what; /* in legends, behind the first letter of its word; NULL: it is never drawn by a letter of its own */
	gint8 host;   /* as it begins: chunks more on the host */
	guint8 copy; /* kind of the copy of its own chunk that it waits for; 0: none. Its own kind:
			that copy begins by itself, behind F */
	/* Where it stands beside the F of its stage and micro-batch, and the backward. */
	gboolean after_forward, before_backward;
	gboolean everywhere; /* where one rank has it of a micro-batch, all have it of all */
	/* Of its own stage or rank and micro-batch: what it stands behind, each there where it is and it where each is; none from
	 * kind 0 on. */
	guint8 behind[2];
	/* Collectives that it waits for where its rank has begun them: the kind, and how many
	 * micro-batches behind its own; none from kind 0 on. */
	struct {
		guint8 kind, behind;
	} awaits[3];
} PipesimOpRow;

/** pipesim_op_is_barrier: whether it is of no stage nor micro-batch, but with the rank that shares a link. */
#define pipesim_op_is_barrier(kind) \
	(pipesim_op_rows[kind].of_rank && pipesim_op_rows[kind].resource == PIPESIM_ON_NOTHING)

/** pipesim_own_set: all kinds whose time --times calls @name take @ns. FALSE where there is none. */
gboolean pipesim_own_set(gint64 own[PIPESIM_N_OPS], const char *name, gint64 ns);

/** pipesim_own_copy: what a copy to the host takes, ns; 0: that is not known. */
gint64 pipesim_own_copy(const gint64 own[PIPESIM_N_OPS]);

/** pipesim_op_rows: by kind, PipesimKind first; static. Of those a W frees what an I leaves. */
extern const PipesimOpRow pipesim_op_rows[PIPESIM_N_OPS];
