/* What a profiler saw, reduced to what tells which named range each piece of GPU work belongs to. */
#pragma once
#include "measure/range-rules.h"

#define PIPESIM_ANY_STREAM G_MAXUINT32

/* What a GPU did (kernel, copy, set), the call on the host that launched it, or a named range
 * around either. Times in ns on the profiler's clock; names live as long as the trace. */
typedef struct {
	gint64 start, end;
	guint64 correlation; /* an activity's and its launch's; 0 = none */
	guint32 stream;      /* PIPESIM_ANY_STREAM on the host */
	union {
		guint32 thread; /* of what a host did */
		guint32 host; /* of what a GPU did: the process that stood last before it in the file; G_MAXUINT32 = none */
		guint32 range; /* of an activity, for pipesim_trace_add_profile() alone */
	};
	gboolean exchange; /* of an activity, for pipesim_trace_add_profile() alone */
	guint32 process;   /* among those of the profile */
	const char *name;
	const char *group; /* of a collective: see PipesimTraceCollective; NULL = not told */
} PipesimEvent;

typedef enum {
	PIPESIM_ACTIVITIES,
	PIPESIM_LAUNCHES,
	PIPESIM_HOST_RANGES,
	PIPESIM_GPU_RANGES,
	PIPESIM_OPERATORS, /* of the host: measure/processes.h */
	PIPESIM_N_EVENTS,
} PipesimEventKind;

/* What a file calls a process, or a GPU. */
typedef struct {
	const char *number; /* as it stands there: any text */
	gint64 tag;         /* rank that its events are tagged with; PIPESIM_UNKNOWN = none */
	gint64 named;       /* rank that its name tells; PIPESIM_UNKNOWN = none */
} PipesimProcess;

typedef struct {
	GArray *events[PIPESIM_N_EVENTS]; /* of PipesimEvent, by PipesimEventKind */
	GArray *processes;                /* of PipesimProcess; empty: there is one */
	/* The profiler worked out itself when each GPU range began and ended: its times count, and
	 * activities only tell how much of them lies in no range. */
	gboolean projected;
	gboolean has_gpu; /* one did something, or the file names one */
} PipesimProfile;

/** pipesim_event_compare: events by start; of two that start together the inner one comes later. A GCompareFunc. */
static inline gint pipesim_event_compare(gconstpointer a, gconstpointer b)
{
	const PipesimEvent *x = a, *y = b;

	return pipesim_compare(x->start, y->start) ?: pipesim_compare(y->end, x->end);
}

/** pipesim_profile_new: empty, for pipesim_profile_free(). */
PipesimProfile *pipesim_profile_new(void);
PIPESIM_FREED(PipesimProfile, pipesim_profile_free)

/** pipesim_trace_add_profile: the ranges of @profile as rows of @trace, in order of their
 * starts. @profile is sorted on the way.
 * An activity belongs to the innermost known range (pipesim_range_recognise()) that was open,
 * on whichever thread of the host, when it was launched (backward launches come from autograd's
 * thread while the range is open on the main one). Where no activity of the file can be placed
 * so, the ranges on the GPU's own streams decide; what is left goes by the user's rules for
 * kernels, neighbours of one stream with the same meaning forming one range.
 * A range with a meaning becomes a row: from its first activity to its last, busy = the union
 * over streams. Messages between stages (SendRecv, unless in a range of NCCL's all-to-all) that
 * stand in the range of an op are spans, not work, and where the op waits for one between two
 * of its kernels is no part of its time. Communication is told apart into kernels that move
 * data and those that wait for peers ("notify" in their name). Where forward and backward of
 * components overlap in time, the file shows an overlapped pair: its rows are of one pair, a
 * row "chunk FB" spans it, and layers_per_chunk is how often its components occur. Starts are
 * those of the profiler's clock, with base_time_ns where the file has it. A notice tells how
 * much GPU time lies in no known range. @rules may be NULL.
 * Returns: FALSE with PIPESIM_ERROR_PARSE where nothing has a meaning. */
gboolean pipesim_trace_add_profile(PipesimTrace *trace, PipesimProfile *profile,
	const PipesimRangeRules *rules, GError **error);
