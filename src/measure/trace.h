/* Measured repetitions, whatever file they come from. The schema is docs/formats.md. */
#pragma once
#include "model/costs.h"

typedef struct _PipesimTrace PipesimTrace;

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

/* What a row is for, where it is not for the times of ops themselves. */
typedef enum {
	PIPESIM_SERIES_NONE,     /* where the column is missing too */
	PIPESIM_SERIES_GOVERNOR, /* a history of ops and pauses: effects/history.h */
	PIPESIM_SERIES_WAITING,  /* the same, whose pauses are spent in a receive that waits */
	PIPESIM_SERIES_RESIDENT, /* beside a receive that waits */
	PIPESIM_SERIES_MOVING,   /* beside a message that moves */
	PIPESIM_SERIES_REPLAY,   /* in the order of a simulated rank */
	PIPESIM_SERIES_EXCHANGE, /* in a loop without pause that exchanges messages, or the same without them */
	PIPESIM_SERIES_STEP, /* at the begin or the end of a step */
	PIPESIM_N_SERIES,
} PipesimSeries;

/* Load modes of series resident: one loop without pause; bursts after pauses. */
#define PIPESIM_LOAD_STEADY "steady"
#define PIPESIM_LOAD_RESTED "rested"
#define PIPESIM_UNKNOWN     G_GINT64_CONSTANT(-1)

/* What was measured, and how: repetitions of the same have all of this in common. Texts live as
 * long as the trace and are never NULL: "" where the column is missing or the cell empty. Numbers
 * are PIPESIM_UNKNOWN where they are missing. */
typedef struct {
	const char *component, *chunk;
	const char *impl;    /* "own", or with its load instruction "own/nc256" */
	const char *variant; /* what else tells them apart: "chunk_tokens=16 l2=cold" */
	const char *load_mode, *sm_mode;
	gint64 compute_sms, comm_sms; /* budget; 0 = the whole chip */
	gint64 tokens, payload_bytes;
	gint64 stage;   /* that @chunk is: it is then "stage 3", of a pair "stage 3 + 0" */
	gint64 b_stage; /* of a pair of a pipeline: that of its backward half */
	guint8 phase, role, series;
	gboolean whole_chunk; /* spans every layer of the chunk, not one */
	gboolean in_pair; /* beside the other half of an overlapped pair; not the pair itself */
} PipesimMeasured;

/* One repetition, or a mean of several. Texts and numbers as above, times in ns. */
typedef struct {
	PipesimMeasured what;
	const char *run_id;
	const char *pair_id; /* not empty: of one execution of an overlapped pair */
	gint64 rep, rank;
	/* Of an op of a pipeline: whole chunks with their micro-batch are such ops. */
	gint64 step; /* as the file numbers it; unknown: each time that it occurs is a step */
	gint64 replica; /* data-parallel rank; unknown: there is one */
	gint64 microbatch;
	gint64 b_microbatch; /* of an overlapped pair: of its backward half */
	gint64 start; /* on the clock of the file or, where steps are numbered, of the step */
	guint8 status;
	gboolean part;   /* one kernel of a component that was measured as a whole */
	gint64 duration; /* from start to end; >= 0 */
	gint64 busy;     /* union of its kernels; = duration where not told apart */
	gint64 half; /* of a pair: when its backward half began, from its start; 0 = not told */
	gint64 queued; /* how long before its start its first kernel had been launched; 0 = not told */
	gint64 beside; /* of it, lost to messages beside the op: measure/beside.h; 0 = none or not told */
	gint64 peers; /* of it, lost to collectives within that wait for other ranks: measure/peers.h */
	gint64 move, wait; /* communication: data moving, waiting for peers */
	gint64 rows;       /* of experts */
	guint attentions;  /* forward kernels of attention in it: one a layer */
	gint64 layer; /* from one attention of its own direction to the next, in the mean; 0 = not told */
	gint64 weights;  /* of a full backward: what its weight gradients took; 0 = not told */
	gint64 resident; /* SMs that a waiting receive held meanwhile; 0 = none waited */
	gint64 clock, power; /* of the chip meanwhile: SMs' MHz, mW */
	gint64 sd;           /* known: the row is a mean of as many @samples, 0 = not told */
	guint samples;
	guint line; /* of the file, from 1; 0 = not told, as in JSON */
} PipesimTraceRow;

/* What a rank did in a step besides its ops: messages, collectives, the optimizer. Numbers are
 * PIPESIM_UNKNOWN where they are missing. */
typedef struct {
	const char *name; /* as the file calls it; lives as long as the trace */
	gboolean message; /* a send or a receive, from its issue to its end */
	gint64 step, replica, rank, stage;
	gint64 seq; /* counts spans of one name within a step, rank and replica, by start */
	gint64 start, duration;
	gint64 wait; /* of a collective, for the last of its ranks: measure/peers.h; 0 = none or not told */
} PipesimTraceSpan;

/* A collective of a profile. */
typedef struct {
	const char *name; /* of its kernel */
	const char *
		group; /* of ranks, as the profile describes it, and what else tells collectives apart; "" = not told */
	gint64 start, duration;
	gint64 alone; /* of its duration, while no kernel of an op ran */
	gint64 wait;  /* for the last of its ranks, of that: pipesim_peers_measure() */
	const PipesimTrace *late; /* that rank; NULL = not among the files */
} PipesimTraceCollective;

/* When the attentions of one direction ran in an op. */
typedef struct {
	gint64 first, last; /* starts, ns */
	guint n;
} PipesimLayers;

/* What ran between two messages, of a profile without names of ops. */
typedef struct {
	gint64 start, end, busy; /* ns */
	gint64 queued;           /* as in rows */
	guint n;                 /* kernels */
	guint attentions;        /* of these, as in rows */
	PipesimLayers layers;
	gint64 weights; /* likewise */
	guint products; /* of matrices, of these kernels */
	gboolean backward;
	gboolean apart; /* a message was launched since the one before */
	gboolean fresh; /* an optimizer ran, or a step began, since the one before */
} PipesimTraceSegment;

/* A kernel that the ops of one kind ran, at one size. */
typedef struct {
	const char *name;
	guint8 phase;
	guint n;      /* how often */
	gint64 mean;  /* what it takes, but in ops that are not usual, ns */
	gint64 usual; /* at the shortest at each place in an op, in the mean, ns */
	guint size;   /* which of its sizes, that with most time first */
} PipesimTraceKernel;

/* When one such kernel ran that was long enough to tell the clock of its chip, with no message beside it. */
typedef struct {
	const char *name;
	gint64 start, took; /* ns */
} PipesimTracePace;

struct _PipesimTrace {
	char *path;
	PipesimTrace *next;   /* of another rank, whose file is the same; owned */
	GHashTable *metadata; /* key -> value, both owned by strings */
	GArray *rows;         /* of PipesimTraceRow, in the order of the file */
	GArray *spans;        /* of PipesimTraceSpan, in the order of the file */
	GArray *kernels;      /* of PipesimTraceKernel: of profiles alone */
	GArray *paces;        /* of PipesimTracePace, the first of them by start: too */
	GArray *collectives;  /* of PipesimTraceCollective, until pipesim_peers_measure() */
	const PipesimTrace *
		late; /* for which the collectives in its ops waited most; NULL = not among the files */
	const char *late_group; /* of those; NULL = none waited */
	gint64 late_ns;
	GArray *segments;      /* of PipesimTraceSegment: where nothing else was found */
	GPtrArray *notices;    /* of char *, owned: what a reader of the figures should know */
	GPtrArray *coverage;   /* likewise, of what was measured: how much of it rows have */
	GStringChunk *strings; /* that all of these point to */
};

/** pipesim_trace_new: empty, for pipesim_trace_free(). */
PipesimTrace *pipesim_trace_new(const char *path);
PIPESIM_FREED(PipesimTrace, pipesim_trace_free)

/** pipesim_trace_row_init: every text "" and every number unknown; ok, compute, forward. */
void pipesim_trace_row_init(PipesimTraceRow *row);

/** pipesim_trace_row_op: the same, of an op @phase of @stage. */
void pipesim_trace_row_op(
	PipesimTraceRow *row, guint phase, gint64 stage, GStringChunk *strings);

/** pipesim_trace_set: adds or replaces metadata. */
void pipesim_trace_set(PipesimTrace *trace, const char *key, const char *value);
/** pipesim_trace_tell_layer: the layer that was measured, where @trace tells all of it; else @told stays. */
void pipesim_trace_tell_layer(const PipesimTrace *trace, PipesimMeasuredLayer *told);
/** pipesim_trace_get: the value of @key; NULL where there is none. */
const char *pipesim_trace_get(const PipesimTrace *trace, const char *key);
/** pipesim_trace_get_count: the same as a whole number >= 0; PIPESIM_UNKNOWN where it is none.
 */
gint64 pipesim_trace_get_count(const PipesimTrace *trace, const char *key);

/** pipesim_trace_base: what the clock of a profile counts from, ns: files of one host count
 * from different moments of one clock. */
gint64 pipesim_trace_base(const PipesimTrace *trace);

/** pipesim_notice: adds to @notices, of char *, what they do not say yet. */
void pipesim_notice(GPtrArray *notices, const char *format, ...) G_GNUC_PRINTF(2, 3);

/** pipesim_stage_chunk: what rows of @stage have as their chunk, "stage 3", as a text of @strings. */
const char *pipesim_stage_chunk(GStringChunk *strings, gint64 stage);

/** pipesim_trace_row_pair: makes @row, of the forward half of an overlapped pair, the pair, with the stage and micro-batch
 * of its backward half. */
void pipesim_trace_row_pair(
	PipesimTraceRow *row, gint64 b_stage, gint64 b_microbatch, GStringChunk *strings);

/** pipesim_trace_row: row @i of @trace. */
static inline PipesimTraceRow *pipesim_trace_row(const PipesimTrace *trace, guint i)
{
	return &g_array_index(trace->rows, PipesimTraceRow, i);
}

/** pipesim_row_is_op: whether @row is one op of a step: a chunk with its micro-batch, or a pair with both. */
static inline gboolean pipesim_row_is_op(const PipesimTraceRow *row)
{
	return row->microbatch >= 0 && row->what.whole_chunk &&
	       (row->what.role == PIPESIM_ROLE_COMPUTE || row->b_microbatch >= 0) &&
	       !row->part && row->what.series == PIPESIM_SERIES_NONE;
}

/** pipesim_trace_has_ops: whether one of the rows of @trace is such an op. */
static inline gboolean pipesim_trace_has_ops(const PipesimTrace *trace)
{
	return pipesim_any_of(const PipesimTraceRow, row, trace->rows, pipesim_row_is_op(row));
}

/** pipesim_split_words: the words of a line, up to one that begins with #; for g_strfreev(). */
char **pipesim_split_words(const char *line);

/* What rows are called that time how long the host launches an op, and, within a history, how long the chip
 * had nothing but a receive that waits. */
#define PIPESIM_HOST_COMPONENT    "host"
#define PIPESIM_RECEIVE_COMPONENT "receive"

/* Metadata that tells by the names of ranges who ran the ops: PyTorch's runtime for schedule files, or its GPipe and 1F1B; by
 * those of groups of ranks Megatron-LM. */
#define PIPESIM_SOURCE          "source"
#define PIPESIM_SOURCE_FILES    "PyTorch's runtime"
#define PIPESIM_SOURCE_CLASSES  "PyTorch's class"
#define PIPESIM_SOURCE_MEGATRON "Megatron-LM"

/** pipesim_trace_lacks_stages: whether @trace is a profile with ops of which only its rank can tell the stage. */
static inline gboolean pipesim_trace_lacks_stages(const PipesimTrace *trace)
{
	return trace->segments->len > 0 ||
	       g_strcmp0(pipesim_trace_get(trace, PIPESIM_SOURCE), PIPESIM_SOURCE_CLASSES) == 0;
}

/* Metadata of a trace whose file ends within an event. */
#define PIPESIM_CUT "cut"

/* Metadata of a profile without some kernels that were launched: how many of a million. */
#define PIPESIM_LOST "kernels_lost_ppm"

/* Metadata of a trace of a run without a GPU, whose work is that of operators. */
#define PIPESIM_ON_CPU "on_cpu"

/* Metadata of a trace whose rank was taken from when its first forward began: pipesim_number_ranks(). */
#define PIPESIM_RANK_BY_START "rank_by_start"

/** pipesim_phase_find: the phase called @name ("F", "RECOMP"), or -1. */
gint pipesim_phase_find(const char *name);
/** pipesim_phase_name: "F", "I", "W", "B", "FB", "RECOMP". */
const char *pipesim_phase_name(guint phase);
