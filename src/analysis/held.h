/* What one rank holds while it walks through its ops. */
#pragma once
#include "analysis/report.h"

/* Chunks of activations: those that go with the backward for input, and with the weight
 * gradient. Begins as 0. */
typedef struct {
	guint until_input, until_weight;
} PipesimHeld;

/** pipesim_held_before, pipesim_held_after: what is held while @op runs, and from its end on.
 * Returns whether that changes anything. */
gboolean pipesim_held_before(PipesimHeld *held, const PipesimOp *op);
gboolean pipesim_held_after(PipesimHeld *held, const PipesimOp *op);

/** pipesim_held_bytes: bytes of both kinds together and of the parameters; saturates.
 * @report: for its unit and parameters
 * @until_input, @until_weight: (out) (nullable): of each kind */
gint64 pipesim_held_bytes(const PipesimHeld *held, const PipesimReport *report,
	const PipesimCosts *costs, gint64 *until_input, gint64 *until_weight);
