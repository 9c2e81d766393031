/* pipesim optimize --pack: which sequences share a micro-batch, and which micro-batches run when. */
#pragma once
#include "cli/optimize-order.h"
#include "optimize/packing.h"

typedef struct _PipesimPackedStep PipesimPackedStep;

/** pipesim_packed_check: FALSE with PIPESIM_ERROR_USAGE where other settings do not go with --pack, if that is given; else there are
 * lengths. */
gboolean pipesim_packed_check(PipesimSetup *setup, GError **error);

/** pipesim_packed_new: the best packing of the sequences of --lengths into micro-batches of --pack tokens, as many as --microbatches
 * or as are best, in the best of @choices.
 *
 * Returns: (transfer full): for pipesim_packed_free(); NULL with PIPESIM_ERROR_USAGE, PIPESIM_ERROR_CONSTRAINT or
 *   PIPESIM_ERROR_LIMIT, or what reading the lengths gives. */
PipesimPackedStep *pipesim_packed_new(
	PipesimSetup *setup, const GPtrArray *choices, guint64 moves, GError **error);
void pipesim_packed_free(PipesimPackedStep *packed);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(PipesimPackedStep, pipesim_packed_free)

/** pipesim_packed_members, pipesim_packed_text, pipesim_packed_csv, pipesim_packed_python: as those of PipesimOrdered; a line for
 * each sequence. */
void pipesim_packed_members(PipesimJson *json, const PipesimPackedStep *packed);
void pipesim_packed_text(const PipesimPackedStep *packed, const char *path,
	const PipesimStyle *style, GString *out);
void pipesim_packed_csv(const PipesimPackedStep *packed, GString *out);
void pipesim_packed_python(const PipesimPackedStep *packed, GString *out);
