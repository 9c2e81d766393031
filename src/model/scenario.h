/* What is to be simulated, besides the schedule and the costs. */
#pragma once
#include "model/issuing.h"

/* How ranks issue sends and receives, and what waits for what: runtime/runtime.h. */
typedef struct _PipesimRuntime PipesimRuntime;

/* What is alike where schedules are compared that have different numbers of stages per rank. */
typedef enum {
	PIPESIM_AT_RANKS,  /* all have PP ranks, and cut the model into PP times v stages */
	PIPESIM_AT_STAGES, /* all cut the model into PP stages, and have PP / v ranks */
} PipesimCompareAt;

/* In which order schedules are shown. */
typedef enum {
	PIPESIM_UNSORTED, /* as they were asked for */
	PIPESIM_BY_MAKESPAN,
	PIPESIM_BY_MEMORY, /* bytes of the fullest rank, or its activations where no bytes are known */
	PIPESIM_BY_NAME,
} PipesimSort;

/* What is to be known of single ops. */
typedef enum {
	PIPESIM_KEEP_OPS,     /* everything; an error where there are too many to keep */
	PIPESIM_KEEP_FITTING, /* everything where it fits, else as below */
	PIPESIM_KEEP_REPORT, /* everything where it fits until the report is made, then nothing */
	PIPESIM_KEEP_NOTHING, /* nothing: no program, timeline or critical path is kept where
				   the figures of ranks can be had without */
	PIPESIM_KEEP_RULES,   /* nor where messages wait under the rules of a runtime */
	PIPESIM_KEEP_FIGURES, /* nor what these rules cost */
	PIPESIM_KEEP_STEP,    /* nor what checks of steps without a barrier cost */
} PipesimKeep;

/* Most samples. */
#define PIPESIM_MAX_SAMPLES 10000000

/* Plain values: copied by assignment. What is 0 was not asked for. */
typedef struct {
	guint ranks, microbatches;
	guint chunks; /* per rank, for schedules that let one choose; 0 = their own default */
	guint group;  /* micro-batches of a group of interleaved schedules; 0 = their default */
	gboolean pairs;    /* interleaved 1F1B runs F and B of its steady phase as one op */
	guint slices;      /* of a sequence; 0 = the schedule's own default */
	gboolean exchange; /* ranks share the attention of slices, where they work in step */
	/* Chunks of each rank, the first ones, whose activations go to the host, or are computed
	 * once more; 0 = the schedule's default */
	guint offload, recompute;
	gboolean
		recompute_ops; /* what a described model computes again is R; of all chunks, where none are named */
	PipesimFraction
		offload_part;   /* of these activations; num 0 = as the schedule plans it */
	guint offload_inflight; /* copies out that a rank does not wait for; 0 = any number */
	gint64 offload_delta;   /* bytes that each rank copies less than the one before it */
	guint pipelines;        /* of Chimera, both directions together; 0 = 2 */
	/* Whole-stage activations that a rank may hold, for schedules that are found by a
	 * search; num 0 = PP, as 1F1B. */
	PipesimFraction max_activations;
	const PipesimRuntime *runtime; /* NULL = async: messages never wait for each other */
	PipesimIssuing issuing;        /* what is asked of it */
	PipesimCompareAt compare_at;
	PipesimSort sort;
	gint64 memory_limit; /* bytes a rank; 0 = none */
	PipesimKeep keep;
	gboolean critical;   /* the critical path and a lower bound are asked for */
	gboolean first_step; /* no step came before that warmed up the chips */
	gint64 pause;        /* of the chips between two steps, ns */
	guint samples;       /* steps to draw at random */
	guint64 seed;        /* of these */
	/* Relative standard deviation of normal durations; den 0 = as the costs were measured.
	 */
	PipesimFraction jitter;
} PipesimScenario;
