/* The split of a model's whole layers over stages that lets the longest rank of a recorded run be as short
 * as it can be. */
#pragma once
#include "diagnosis/diagnosis.h"

typedef struct {
	guint n_stages;
	guint *before;    /* layers of each stage as recorded */
	gboolean counted; /* by what forwards ran */
	guint *layers;    /* of each stage, at least 1 */
	gint64 layer;     /* forward and backward of one, ns */
	PipesimRun *run;  /* the executed order at such stages */
	gboolean
		guessed; /* no stage has layers alone for sure: the shortest was taken for one */
} PipesimBalance;

/** pipesim_balance_new: @layers of a rank, in equal parts on its stages, or, where it is 0,
 * those that forwards show, moved so that the rank with most forwards and backwards has least
 * of them. A layer takes the median of the stages between the first and the last over their
 * number of layers, kind by kind; what a stage takes beyond, embedding, head and loss, stays
 * where it is.
 * Returns: (transfer full): NULL with PIPESIM_ERROR_USAGE where @layers are no whole number
 *   a stage, are not told, or cannot be moved, or the errors of pipesim_run_program(). */
PipesimBalance *pipesim_balance_new(
	const PipesimDiagnosis *diagnosis, guint layers, GError **error);
PIPESIM_FREED(PipesimBalance, pipesim_balance_free)
