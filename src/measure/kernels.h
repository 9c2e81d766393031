/* Which kernels the ops of a profile run, and how long each takes. */
#pragma once
#include "measure/trace.h"

/* A kernel that ran in an op. */
typedef struct {
	const char *name; /* of the trace's own texts */
	guint8 phase;
	guint32 op;   /* that it ran in, counted in any way */
	gint64 start; /* on the clock of the trace's rows */
	gint64 took;  /* ns */
	/* Set by pipesim_trace_add_kernels(). */
	gint64 usual;
	guint64 role;    /* the kernels of its op, and which of them it is */
	gboolean beside; /* a message */
} PipesimRan;

/** pipesim_trace_add_kernels: adds to @trace of each size of each kernel and kind of op in @ran (of PipesimRan by start,
 * sorted and shortened on the way) how often it ran where no message of @trace was under way, and how long; and the longer
 * ones one by one.
 *
 * Ops that run the same kernels run them at the same sizes: the n-th of a name in such an op is one kernel, and what it
 * took at the shortest tells its size. What another process on its GPU stretches is of no other size then. */
void pipesim_trace_add_kernels(PipesimTrace *trace, GArray *ran);
