/* The order in which a recorded step ran its ops, as a program, and which schedule that is. */
#pragma once
#include "analysis/run.h"
#include "diagnosis/record.h"

/** pipesim_executed_program: the ops of @pipeline in the order in which its ranks ran them. Op
 * i of the program is op i of @pipeline.
 * Returns: (transfer full): linked; NULL with PIPESIM_ERROR_INCOMPLETE or
 *   PIPESIM_ERROR_DEADLOCK where the ops cannot have run so, or PIPESIM_ERROR_LIMIT. */
PipesimProgram *pipesim_executed_program(
	const PipesimRecord *record, const PipesimRecordPipeline *pipeline, GError **error);

/** pipesim_executed_same: whether both pipelines of @record ran the same ops in the same order on every
 * rank. */
gboolean pipesim_executed_same(const PipesimRecord *record, const PipesimRecordPipeline *a,
	const PipesimRecordPipeline *b);

/* The built-in schedule that is nearest to an order. */
typedef struct {
	PipesimRun *run; /* NULL: none has its stages on the same ranks */
	guint32 same;    /* ops that are the same, each rank from its first on */
	gboolean exact;
} PipesimNearest;

/** pipesim_nearest_schedule: that of which most ops are those of @executed, rank by rank up to
 * the first that differs; the first of equals. @executed has ops. FALSE with PIPESIM_ERROR_LIMIT where one does not fit
 * in memory: it might be that one. */
gboolean pipesim_nearest_schedule(const PipesimRun *executed, const PipesimScenario *scenario,
	const PipesimCosts *costs, PipesimNearest *out, GError **error);
void pipesim_nearest_clear(PipesimNearest *nearest);
