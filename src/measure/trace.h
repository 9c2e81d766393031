/* Measured repetitions, whatever file they come from. The schema is docs/formats.md. */
#pragma once
#include "base/error.h"
#include "base/input.h"

/* What a row measured: the kinds of op, or a recomputation inside a backward. */
typedef enum {
	PIPESIM_PHASE_RECOMPUTE = PIPESIM_N_KINDS,
	PIPESIM_N_PHASES,
} PipesimPhase; /* below that: a PipesimKind */

typedef enum {
	PIPESIM_ROLE_COMPUTE, /* where the column is missing too */
	PIPESIM_ROLE_COMM,
	PIPESIM_ROLE_PAIR, /* both halves of an overlapped pair, from first start to last end */
} PipesimRole;

typedef enum {
	PIPESIM_STATUS_OK, /* where the column is missing too */
	PIPESIM_STATUS_WARMUP,
	PIPESIM_STATUS_OUTLIER,
	PIPESIM_STATUS_CHECKSUM_FAIL,
	PIPESIM_N_STATUS,
} PipesimStatus;

#define PIPESIM_UNKNOWN G_GINT64_CONSTANT(-1)

/* One repetition. Texts belong to the trace and are never NULL: "" where the column is missing
 * or the cell empty. Numbers are PIPESIM_UNKNOWN where they are missing. Times in ns. */
typedef struct {
	guint line; /* in its file, 0 = made from several lines */
	guint8 phase, role, status;
	gboolean whole_chunk; /* layer "all": spans every layer of the chunk, not one */
	const char *run_id, *component, *impl, *ld_mode, *load_mode, *sm_mode, *part, *chunk,
		*layer;
	const char *pair_id; /* not empty: measured inside an overlapped pair */
	const char *variant; /* what else tells implementations apart: ld_mode, chunk_tokens,
				pace */
	gint64 rep, rank;
	gint64 duration;   /* from start to end; >= 0 */
	gint64 busy;       /* union of its kernels; = duration where not told apart */
	gint64 move, wait; /* communication: data moving, waiting for peers */
	gint64 rows, tokens, payload_bytes;
	gint64 compute_sms, comm_sms; /* budget; 0 = the whole chip */
} PipesimTraceRow;

/* A distribution of which only figures are known (no repetitions). */
typedef struct {
	const char *component;
	guint8 phase;
	guint samples; /* 0 = not told */
	gint64 mean, sd;
} PipesimTraceSummary;

typedef struct {
	char *path;
	GPtrArray *metadata; /* key, value, key, value ...; owned by strings */
	GArray *rows;        /* of PipesimTraceRow, in the order of the file */
	GArray *summaries;   /* of PipesimTraceSummary */
	GPtrArray *notices;  /* of char *, owned: what a reader of the figures should know */
	GStringChunk *strings;
} PipesimTrace;

/** pipesim_trace_new: empty, for pipesim_trace_free(). */
PipesimTrace *pipesim_trace_new(const char *path);
void pipesim_trace_free(PipesimTrace *trace);

/** pipesim_trace_intern: @length bytes of @text (-1 = to its NUL) as a string of @trace; equal
 * texts give the same pointer. */
const char *pipesim_trace_intern(PipesimTrace *trace, const char *text, gssize length);

/** pipesim_trace_row_init: every text "" and every number unknown; ok, compute, forward. */
void pipesim_trace_row_init(PipesimTraceRow *row);

/** pipesim_trace_set: adds or replaces metadata. */
void pipesim_trace_set(PipesimTrace *trace, const char *key, const char *value);
/** pipesim_trace_get: the value of @key; NULL where there is none. */
const char *pipesim_trace_get(const PipesimTrace *trace, const char *key);
/** pipesim_trace_get_count: the same as a whole number >= 0; PIPESIM_UNKNOWN where it is none.
 */
gint64 pipesim_trace_get_count(const PipesimTrace *trace, const char *key);

/** pipesim_trace_join_pairs: every row of one execution of an overlapped pair (equal run_id,
 * rank and pair_id) learns the SM budgets of both halves and the pace of its communication.
 * Call it once, when all rows are there. */
void pipesim_trace_join_pairs(PipesimTrace *trace);

/** pipesim_trace_note: adds to the notices. */
void pipesim_trace_note(PipesimTrace *trace, const char *format, ...) G_GNUC_PRINTF(2, 3);

/** pipesim_phase_find: the phase called @name ("F", "RECOMP"), or -1. */
gint pipesim_phase_find(const char *name);
/** pipesim_phase_name: "F", "I", "W", "B", "FB", "RECOMP". */
const char *pipesim_phase_name(guint phase);

G_DEFINE_AUTOPTR_CLEANUP_FUNC(PipesimTrace, pipesim_trace_free)
