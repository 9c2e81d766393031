/* The steps of a bound's proof, gathered as they are found and cut to those that the bound needs.
 * Private to the bound. */
#pragma once
#include "optimize/bound.h"

/* One step as it is found. */
typedef struct {
	PipesimBoundRule rule;
	guint rank, kind, chunk, n;      /* the op; n from 1 on */
	gint64 time, from, until, saved; /* as in PipesimBoundStep */
	/* Of a message: the op of the same n that it comes from, and what it and the message take. Of
	 * a member: the n of its kind that it is. Of a turn: the second forward of the rank above, and what is added. */
	guint from_rank, from_kind, from_chunk, from_n;
	gint64 added;
} PipesimClaim;

typedef struct _PipesimProof PipesimProof;

PipesimProof *pipesim_proof_new(const PipesimInstance *instance);
PIPESIM_FREED(PipesimProof, pipesim_proof_free)

/** pipesim_proof_ops: some of the ops that the claim which comes next speaks of. */
void pipesim_proof_ops(PipesimProof *proof, const PipesimBoundOps *ops);

/** pipesim_proof_add: a claim; in each direction each raises what was known of its op. */
void pipesim_proof_add(PipesimProof *proof, const PipesimClaim *claim);

/** pipesim_proof_turn: the claims that follow look backwards. */
void pipesim_proof_turn(PipesimProof *proof);

/** pipesim_proof_finish: what the last claim, the bound, needs; @proof NULL: the time alone. */
PipesimBound *pipesim_proof_finish(PipesimProof *proof, gint64 time);
