/* Repetitions of the same measurement brought together: what calibration chooses from. */
#pragma once
#include "measure/trace.h"

/* Fewer repetitions of the same number of rows are chance. */
#define PIPESIM_ROWS_REPEATED 5

/* What is known of one; PIPESIM_UNKNOWN where its row lacks it. */
typedef struct {
	gint64 service; /* busy time without waiting for peers and what messages beside cost, >= 0; of a pair or an op
			   of a step from start to end */
	gint64 busy, move, wait, rows;
	gint64 origin; /* trace and rank, >= 0 */
	/* FALSE: experts were measured at several numbers of rows on purpose (each at least
	 * PIPESIM_ROWS_REPEATED times), and this is not the most frequent one on its rank. Such a
	 * repetition serves the line through the rows alone. */
	gboolean kept;
} PipesimRepetition;

/* Rows of status ok, of whole components, that differ in repetition, rank and layer only. */
typedef struct {
	/* Of the first trace that has them; chunk where the component is "chunk", else ""; size
	 * where it is "p2p", else PIPESIM_UNKNOWN. */
	PipesimMeasured what;
	gboolean measured;   /* at least one repetition was kept, or figures were told */
	guint dropped;       /* rows like these of another status */
	GArray *repetitions; /* of PipesimRepetition, in order of capture */
	const PipesimTraceRow *mean; /* NULL = all are single ones */
	PipesimDistribution figures; /* of service, lag1 within each rank; valid where measured;
					samples 0 = only mean and sd are */
} PipesimTraceGroup;

/** pipesim_trace_groups: the groups of @traces in order of first appearance.
 * @dropped: (out): rows by status; element [PIPESIM_STATUS_OK] counts those that are parts of a
 *   component or recomputations, which the whole contains already
 * Returns: (transfer full): of PipesimTraceGroup, owned; texts belong to @traces, which must
 *   outlive it. A group may be empty where every row of it was dropped. */
GPtrArray *pipesim_trace_groups(
	PipesimTrace *const *traces, guint n, guint dropped[PIPESIM_N_STATUS]);

/** pipesim_trace_groups_list: the measured ones of @groups for which @wanted says TRUE; a new
 * array, nothing in it owned. */
GPtrArray *pipesim_trace_groups_list(const GPtrArray *groups,
	gboolean (*wanted)(const PipesimTraceGroup *group, gconstpointer data),
	gconstpointer data);

/** pipesim_trace_group_figures: of the field of PipesimRepetition at @offset, where it is known,
 * over what was kept of @origin, PIPESIM_UNKNOWN = of all. FALSE where that is nothing. */
gboolean pipesim_trace_group_figures(const PipesimTraceGroup *group, gsize offset,
	gint64 origin, PipesimDistribution *figures);

/** pipesim_trace_group_mean: of the service of what was kept, without repetitions a quarter
 * off the median; for a group that was measured. A chip at its power limit swings by several
 * percent over tenths of a second, so that a step takes the sum of fast ops and slow ones;
 * what is further off is not of these swings. */
gint64 pipesim_trace_group_mean(const PipesimTraceGroup *group);

/** pipesim_mean_of_usual: the same of @times, gint64 in ns, which it sorts: the middle one is the median; 0 where there
 * are none. */
double pipesim_mean_of_usual(GArray *times);

/** pipesim_trace_group_label: implementation and tuning, "own/nc256 chunk_tokens=16"; for
 * g_free(). */
char *pipesim_trace_group_label(const PipesimTraceGroup *group);
