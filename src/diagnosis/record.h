/* The steps that the traces of one run recorded, op by op, on one clock. */
#pragma once
#include "measure/join.h"
#include "transformer/device.h"

/* Times in ns on the clock of its step. */
typedef struct {
	gint64 start, end;
	gint64 half;   /* see PipesimTraceRow */
	gint64 queued; /* see PipesimTraceRow */
	gint64 idle;   /* of this time, without work: the rank stood still inside the op */
	gint64 beside; /* of this time, lost to messages beside the op */
	gint64 peers; /* of this time, lost to collectives within that waited for other ranks */
	/* What it takes by itself; where the governor of its chip is known, of a rank that never idles. And what it and
	 * the rank before it draw then: ppm. */
	gint64 sustained;
	guint32 load, idle_load;
	guint32 stage, microbatch;
	guint32 b_stage, b_microbatch; /* of the backward half of a pair; else 0 */
	guint32 layers;                /* that a forward shows; 0: it does not tell */
	gint64 layer;                  /* see PipesimTraceRow */
	guint8 kind;                   /* F, I, W, B or FB */
	guint line;                    /* of its file; 1 where that is not told */
	const char *path;              /* of its trace */
} PipesimRecordOp;

/* What a rank did besides its ops. */
typedef struct {
	const char *name; /* that of the trace */
	gboolean message; /* a send or a receive, from its issue to its end */
	gint64 seq, wait; /* see PipesimTraceSpan */
	gint64 start, end;
} PipesimRecordSpan;

/* One pipeline, a replica of the model, in one step. Ops of rank r are ops[op_begin[r]] to
 * ops[op_begin[r + 1] - 1], by start, none begun before the one before it ended; spans likewise, but
 * that they may overlap. */
typedef struct {
	guint step, replica; /* as indices */
	PipesimRecordOp *ops;
	guint32 *op_begin;
	GArray *spans; /* of PipesimRecordSpan */
	guint32 *span_begin;
	gint64 start, end; /* of its ops */
} PipesimRecordPipeline;

/* A step as the file numbers it, and all that its ranks did in it, of all replicas. */
typedef struct {
	gint64 number;
	gint64 start, end;
	gint64 after; /* until the next step began: 0 where clocks begin anew, or none follows at once */
} PipesimRecordStep;

typedef struct {
	PipesimJoined joined; /* every stage is on a rank */
	guint n_replicas;
	GArray *steps; /* of PipesimRecordStep, in order of their numbers; whole ones alone */
	/* That of step s and replica r is pipelines[s * n_replicas + r]. */
	GPtrArray *pipelines; /* of PipesimRecordPipeline, owned */
	gint64 *speed;        /* of each rank, see pipesim_rank_speeds(); NULL: not told */
	gint64 *bursts;       /* too */
	gint64 swing;         /* of their clocks, see pipesim_clock_swing() */
	/* How these chips clock, see pipesim_govern_record(); NULL: not known, or below their limit. The caller's. */
	const PipesimDevice *chip;
	const PipesimPower *power;
	const char *device; /* that all ranks ran on; NULL: not told, or several */
	const PipesimTrace *
		waiting; /* whose ops waited most for another rank in collectives; NULL: none did */
	gboolean runs_on;      /* one clock for all steps: files that do not number them */
	gboolean has_messages; /* the traces show sends and receives */
	gboolean of_files;     /* they are of PyTorch's runtime for schedule files */
	gboolean of_classes;   /* or of its GPipe and 1F1B */
	gboolean of_megatron;
	gint64 in_ops;       /* of GPUs, ns: what all ops of all steps took */
	gint64 still;        /* of that, without a kernel: the host had launched none */
	gboolean cut;        /* one of the files ends within an event */
	gboolean recomputes; /* backwards show attention of forwards */
	const PipesimTrace *
		lost; /* that lacks most of the kernels that it launched; NULL: none lacks any to speak of */
	gboolean dated; /* all traces say what their clocks count from */
	gint64 moved; /* the most that a clock was set by against that of the rank before, ns */
	gboolean by_start;  /* ranks were numbered by when their first forward began */
	GPtrArray *notices; /* of char *: what was left out, and how clocks were set */
} PipesimRecord;

/** pipesim_record_new: the ops of @traces, joined into one run (pipesim_join(), which changes
 * them), by step, replica and rank. A trace whose ops have no step has as many as times each of
 * them occurs. Steps that are not whole are left out, with a notice. Where ranks count from
 * different moments their clocks are set so that no op of any step starts before what it needs
 * has ended: in the middle of what messages both ways allow.
 * Returns: (transfer full): NULL with PIPESIM_ERROR_USAGE: a stage without ops, whose trace
 *   is not among @traces; PIPESIM_ERROR_PARSE: no ops; none with a start; ops of a rank that
 *   overlap; clocks that cannot be set; PIPESIM_ERROR_INCOMPLETE: no whole step, with what
 *   lacks; an op twice; and what pipesim_join() refuses. Texts are those of @traces, which
 *   must outlive it. */
PipesimRecord *pipesim_record_new(PipesimTrace *const *traces, guint n, GError **error);
PIPESIM_FREED(PipesimRecord, pipesim_record_free)

static inline const PipesimRecordPipeline *pipesim_record_pipeline(
	const PipesimRecord *record, guint step, guint replica)
{
	return g_ptr_array_index(record->pipelines, (gsize)step * record->n_replicas + replica);
}

static inline PipesimRecordStep *pipesim_record_step(const PipesimRecord *record, guint i)
{
	return &g_array_index(record->steps, PipesimRecordStep, i);
}

/** pipesim_record_alone: what @op took, but for what messages beside it and waits of collectives within cost it, ns. */
static inline gint64 pipesim_record_alone(const PipesimRecordOp *op)
{
	return MAX(op->end - op->start - op->beside - op->peers, 0);
}

/** pipesim_record_length: from the start of step @i to its end, or to the next one that follows at once, ns. */
static inline gint64 pipesim_record_length(const PipesimRecord *record, guint i)
{
	const PipesimRecordStep *step = pipesim_record_step(record, i);

	return step->end - step->start + step->after;
}

/** pipesim_record_apart: whether files that say when they were recorded say so of times that do not overlap: clocks of hosts differ by
 * less, or they are of different steps. */
gboolean pipesim_record_apart(const PipesimRecord *record);

/** pipesim_record_waited: what @rank of @pipeline waited for other ranks in collectives behind its last op, ns.
 * @end: (out): when it was done, ns */
gint64 pipesim_record_waited(const PipesimRecordPipeline *pipeline, guint rank, gint64 *end);

/** pipesim_record_layers: into @layers, of zeros, how many layers the forwards of each stage show. FALSE where some show none, or
 * other numbers. */
gboolean pipesim_record_layers(const PipesimRecord *record, guint *layers);

/** pipesim_record_slowest: of @step, the pipeline that takes longest; the first of equals. */
const PipesimRecordPipeline *pipesim_record_slowest(const PipesimRecord *record, guint step);
