/* Traces of several ranks as one run: which stage and rank each op is of. */
#pragma once
#include "measure/trace.h"

/* A stage on a rank. */
typedef struct {
	guint32 rank, stage;
	guint32 first; /* the lowest of its micro-batches there */
} PipesimStagePlace;

/* What the ops of all traces show; arrays are by stage. */
typedef struct {
	guint stages;        /* the highest that any op is of, and 1; 0: there are no ops */
	guint ranks, chunks; /* stages of a rank, the most that one has */
	guint microbatches;
	guint32 *
		rank_of; /* PIPESIM_NO_RANK: no trace has an op of the stage; of copies the first */
	guint copies; /* ranks that hold a stage and run other micro-batches of it, the most; >= 1 */
	GArray *held; /* of PipesimStagePlace, by rank, then by first micro-batch where there are copies, by stage */
	guint world; /* ranks that the files themselves speak of; 0 = none does */
} PipesimJoined;

#define PIPESIM_NO_RANK G_MAXUINT32

/** pipesim_join: finds out of which rank each of @traces is that has ops (pipesim_row_is_op()):
 * as it says itself, else by the lowest of its stages, else by its place among them. Ops
 * without a rank get that one, and ops without a stage, one stage a rank, that of their rank.
 * Where several traces hold the same stages they are replicas.
 * Returns: FALSE with PIPESIM_ERROR_USAGE where two traces are of the same rank, or not all
 *   are of one run: other numbers of ranks or micro-batches, or a micro-batch of a stage on
 *   two of them; PIPESIM_ERROR_PARSE where there are more than a run can have. */
gboolean pipesim_join(PipesimTrace *const *traces, guint n, PipesimJoined *out, GError **error);
/** pipesim_joined_missing: "ranks 1, 2", of which there is no op; for g_free(). */
char *pipesim_joined_missing(const PipesimJoined *joined);
PIPESIM_CLEARED(PipesimJoined, pipesim_joined_clear)
