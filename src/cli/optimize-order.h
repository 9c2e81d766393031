/* pipesim optimize --order microbatches: which micro-batches run when, where they differ in length. */
#pragma once
#include "base/member.h"
#include "optimize/microbatches.h"
#include "output/screen.h"
#include "setup/choice.h"

typedef struct _PipesimOrdered PipesimOrdered;

/** pipesim_ordered_new: the best order of the micro-batches of @setup, whose costs have times of each, in each of
 * @choices, of one schedule at least, and the best of these.
 *
 * Returns: (transfer full): for pipesim_ordered_free(); NULL with PIPESIM_ERROR_USAGE, PIPESIM_ERROR_CONSTRAINT where
 *   no schedule can be run so, or PIPESIM_ERROR_LIMIT. */
PipesimOrdered *pipesim_ordered_new(
	PipesimSetup *setup, const GPtrArray *choices, guint64 moves, GError **error);
void pipesim_ordered_free(PipesimOrdered *ordered);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(PipesimOrdered, pipesim_ordered_free)

/** pipesim_ordered_members: what JSON has of it. */
void pipesim_ordered_members(PipesimJson *json, const PipesimOrdered *ordered);

/** pipesim_ordered_text: the same for people; @path: (nullable): where the order was written. */
void pipesim_ordered_text(const PipesimOrdered *ordered, const char *path,
	const PipesimStyle *style, GString *out);

/** pipesim_ordered_csv: the order as a data loader follows it: a line for each place. */
void pipesim_ordered_csv(const PipesimOrdered *ordered, GString *out);
