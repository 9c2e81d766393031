/* What one rank holds while it walks through its ops. */
#pragma once
#include "analysis/report.h"

/* Activations: those that go with the backward for input, and with the weight gradient. */
typedef struct {
	guint rank;
	guint until_input, until_weight; /* pieces of chunks */
	guint pieces, copied;            /* of a chunk, and those of them that go to the host */
	guint host;                      /* what is there, pieces */
	guint slices;                    /* of a sequence */
	const gint64 *tokens;            /* of each; NULL: of equal length */
	gint64 all;                      /* of a sequence */
	__extension__ __int128 host_bytes;
	/* By PipesimBytes: what a micro-batch holds of each chunk of the rank, NULL where all are alike or
	 * nothing is known of it; and what is held of each sort, bytes. */
	const gint64 *of[PIPESIM_N_STAGE_BYTES];
	__extension__ __int128 bytes[PIPESIM_N_STAGE_BYTES];
	/* By op of the step what is held besides, where that is known; at the moment of
	 * that. */
	const PipesimBesides *besides;
	gint64 messages, gathered;
	gint64 absent;    /* of the parameters: gradients that nothing has brought yet */
	gint64 transient; /* what the op that runs needs, where a model is described */
} PipesimHeld;

/** pipesim_held_begin: what @rank holds before its first op: nothing.
 * @report: for the bytes of its chunks; it must outlive what is returned */
PipesimHeld pipesim_held_begin(const PipesimReport *report, guint rank);

/** pipesim_held_before, pipesim_held_after: what is held while @op runs, the one of @index of
 * the step, and from its end on. Returns whether that changes anything. */
gboolean pipesim_held_before(PipesimHeld *held, const PipesimOp *op, guint64 index);
gboolean pipesim_held_after(PipesimHeld *held, const PipesimOp *op, guint64 index);

/** pipesim_held_parts: bytes by what they are of; their sum is pipesim_held_bytes(). */
void pipesim_held_parts(const PipesimHeld *held, const PipesimReport *report,
	const PipesimCosts *costs, gint64 parts[PIPESIM_N_HELD]);

/** pipesim_held_bytes: all of them together; saturates.
 * @report: for its unit and parameters */
gint64 pipesim_held_bytes(
	const PipesimHeld *held, const PipesimReport *report, const PipesimCosts *costs);
