/* Files of more ranks than one pipeline has. */
#pragma once
#include "measure/trace.h"

/**
 * pipesim_number_replicas: where @traces are of one rank each, all stages are among them, and each stage
 * is in as many of them: gives their ops and spans the rank that they are in the pipeline, by the lowest
 * stage, and their replica, by the number of the rank that they name: ranks of a job count
 * data-parallel and tensor-parallel ones too. Else nothing is changed.
 *
 * Returns: how many ranks hold each stage; 0: nothing was changed.
 */
guint pipesim_number_replicas(PipesimTrace *const *traces, guint n);
