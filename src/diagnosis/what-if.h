/* What a job would take if ops, ranks or stages took their ideal time, as ByteDance's StragglerAnalysis
 * defines it ("Understanding Stragglers in Large Model Training Using What-if Analysis", 2025).
 *
 * Every step is replayed on a graph of dependencies with chosen durations and no delay between ops; T(x) is
 * the mean over steps of the step with durations x. V are the durations as measured, of messages and
 * collectives from the moment when the last of those that take part had begun; I those of all ops of one
 * kind over all ranks and steps: their mean for computing, their median for what waits for others.
 *
 *	S	= T(V) / T(I)
 *	S_t	= T(I, but V for ops of kind t) / T(I); likewise of one replica, of one stage
 *	S_w	of one rank: the smaller of that of its replica and that of its stage
 *	M_S	= (T(V) - T(V, but I on the last stage)) / (T(V) - T(I))
 *	M_W	the same with I on the 3 % of ranks with the highest S_w */
#pragma once
#include "diagnosis/record.h"

typedef struct {
	const char *name; /* of a kind; those of messages go together by direction */
	double slowdown;  /* S_t */
} PipesimWhatIfKind;

typedef struct {
	double launch;   /* steps as measured / T(V): what the graph does not explain */
	double slowdown; /* S */
	GArray *kinds;   /* of PipesimWhatIfKind, highest first */
	guint n_replicas, n_stages;
	double *replica, *stage; /* S_t of each */
	double *rank;            /* S_w, [replica * n_stages + stage] */
	double last_stage;       /* M_S */
	double worst_ranks;      /* M_W */
	GArray *worst;           /* guint32: which ranks those are, as indices of @rank */
} PipesimWhatIf;

/** pipesim_what_if: of @record, which shows messages, one stage a rank.
 * Returns: (transfer full): NULL with PIPESIM_ERROR_CONSTRAINT where the record has no
 *   messages, several stages on a rank, split backwards, or not the same ops in all steps
 *   and replicas. */
PipesimWhatIf *pipesim_what_if(const PipesimRecord *record, GError **error);
PIPESIM_FREED(PipesimWhatIf, pipesim_what_if_free)
