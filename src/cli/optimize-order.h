/* pipesim optimize --order microbatches: which micro-batches run when, where they differ in length. */
#pragma once
#include "optimize/packing.h"
#include "output/screen.h"
#include "setup/choice.h"

/* A way to put micro-batches in order, or to make them of sequences. */
typedef struct {
	const char *name;
	guint microbatches; /* that it makes; 0: all have as many */
	gint64 makespan; /* ns; of random ones the median; 0: the schedule cannot run so many */
	guint *order;    /* owned; NULL: of none */
	gint64 median, p95; /* over batches that were drawn, ns; 0: none were */
} PipesimWay;

/* The ways, of which the last is the best that was found: orders of micro-batches, or packings of sequences into them. */
typedef struct {
	PipesimSetup *setup;
	const char *schedule;
	guint n;       /* micro-batches, or sequences */
	gint64 bound;  /* ns */
	guint samples; /* batches drawn */
	guint n_ways;
	PipesimWay ways[8];
	gint64 *tokens, longest; /* of each sequence, the most of one; NULL: of micro-batches */
	PipesimSequences of;
	gboolean has_cost; /* more than its tokens say what a sequence takes */
} PipesimOrdered;
PIPESIM_FREED(PipesimOrdered, pipesim_ordered_free)

/** pipesim_way_drawn: @way's median and 95th percentile of @n @values, which are sorted. */
void pipesim_way_drawn(PipesimWay *way, gint64 *values, guint n);

/** pipesim_choice_deal: @choice with @microbatches, ready to run with any in any place. Returns: (transfer full): NULL with
 * PIPESIM_ERROR_CONSTRAINT, PIPESIM_ERROR_LIMIT. */
PipesimDeal *pipesim_choice_deal(const PipesimChoice *choice, const PipesimSetup *setup,
	guint microbatches, GError **error);

/** pipesim_holds_little: whether a rank holds no more in @choice than --max-activations says, PP where it does not, and than
 * --memory-limit. */
gboolean pipesim_holds_little(const PipesimChoice *choice, const PipesimScenario *scenario,
	const PipesimCosts *costs);

/** pipesim_say_gap: in @verdict, of char *, that nothing shorter than @makespan is possible, or how much shorter, ns.
 * @what, @where: "order of them", " in this schedule" */
void pipesim_say_gap(
	GPtrArray *verdict, const char *what, const char *where, gint64 makespan, gint64 bound);

/** pipesim_ordered_new: the best order of the micro-batches of @setup, whose costs have times
 * of each, in each of @choices, of one schedule at least, and the best of these.
 * Returns: (transfer full): for pipesim_ordered_free(); NULL with PIPESIM_ERROR_USAGE,
 *   PIPESIM_ERROR_CONSTRAINT where no schedule can be run so, or PIPESIM_ERROR_LIMIT. */
PipesimOrdered *pipesim_ordered_new(
	PipesimSetup *setup, const GPtrArray *choices, guint64 moves, GError **error);

/** pipesim_ordered_members: what JSON has of it. */
void pipesim_ordered_members(PipesimJson *json, const PipesimOrdered *ordered);

/** pipesim_ordered_text: the same for people; @path: (nullable): where the order was written. */
void pipesim_ordered_text(const PipesimOrdered *ordered, const char *path,
	const PipesimStyle *style, GString *out);

/** pipesim_ordered_python: the same as a function of Python. */
void pipesim_ordered_python(const PipesimOrdered *ordered, GString *out);

/** pipesim_ordered_csv: the order as a data loader follows it: a line for each place, or for each sequence. */
void pipesim_ordered_csv(const PipesimOrdered *ordered, GString *out);
