/* Repetitions of the same measurement brought together: what calibration chooses from. */
#pragma once
#include "model/statistics.h"
#include "measure/trace.h"

/* Fewer repetitions of the same number of rows are chance. */
#define PIPESIM_ROWS_REPEATED 5

/* Rows of status ok, of whole components, that differ in repetition, rank and layer only. */
typedef struct {
	const char *component, *chunk, *load_mode,
		*sm_mode; /* of the first trace that has them */
	const char *variant;
	char *impl; /* "own", or with its load instruction "own/nc256"; owned */
	guint8 phase, role;
	gboolean in_pair;             /* measured while the other half of a pair ran */
	gboolean whole_chunk;         /* spans layers_per_chunk layers */
	gint64 compute_sms, comm_sms; /* 0 = not told */
	gint64 tokens;
	gint64 payload_bytes; /* of P2P messages, told apart by size; else PIPESIM_UNKNOWN */
	gboolean measured;    /* at least one row was kept */
	guint dropped;        /* rows like these of another status */
	/* In order of capture, of gint64, all equally long; PIPESIM_UNKNOWN where a row lacks
	 * it. Where experts were measured at several numbers of rows on purpose (each at least
	 * PIPESIM_ROWS_REPEATED times), only repetitions of the number that is most frequent
	 * on their rank. */
	GArray *service; /* busy time without waiting for peers, >= 0; of a pair the whole time
			  */
	GArray *busy, *move, *wait, *rows;
	GArray *origin; /* trace and rank of each */
	/* Every repetition whose rows are known: what a line through the rows is fitted to. */
	GArray *fit_rows, *fit_service;
	PipesimDistribution figures; /* of service, lag1 within each rank; valid where measured;
					samples 0 = only mean and sd are */
} PipesimTraceGroup;

/**
 * pipesim_trace_groups: the groups of @traces in order of first appearance.
 * @dropped: (out): rows by status; element [PIPESIM_STATUS_OK] counts those that are parts of a
 *   component or recomputations, which the whole contains already
 *
 * Returns: (transfer full): of PipesimTraceGroup, owned; texts belong to @traces, which must
 * outlive it. A group may be empty where every row of it was dropped.
 */
GPtrArray *pipesim_trace_groups(
	PipesimTrace *const *traces, guint n, guint dropped[PIPESIM_N_STATUS]);

/** pipesim_trace_group_label: implementation and tuning, "own/nc256 chunk_tokens=16"; for
 * g_free(). */
char *pipesim_trace_group_label(const PipesimTraceGroup *group);
