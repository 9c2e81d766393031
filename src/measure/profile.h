/* A PyTorch profiler (Kineto, Chrome trace) file reduced to what attribution needs. */
#pragma once
#include "base/json-read.h"
#include "measure/trace.h"

/* Times in ns on the profiler's clock. */
typedef struct {
	gint64 start, end;
	guint64 correlation; /* 0 = none */
	guint32 stream;
	const char *name;
} PipesimActivity; /* what a GPU did: kernel, copy, set */

typedef struct {
	guint64 correlation;
	gint64 start;
} PipesimLaunch; /* the call on the host that caused an activity */

#define PIPESIM_ANY_STREAM G_MAXUINT32
typedef struct {
	gint64 start, end;
	const char *name;
	guint32 stream; /* of a range on the GPU; PIPESIM_ANY_STREAM on the host */
	guint32 thread; /* of a range on the host */
} PipesimRange;

typedef struct {
	GArray *activities;               /* of PipesimActivity */
	GArray *launches;                 /* of PipesimLaunch */
	GArray *host_ranges, *gpu_ranges; /* of PipesimRange */
	guint64 events;                   /* in the file, of every kind */
	gboolean truncated;               /* the file ended inside the document */
} PipesimProfile;

/** pipesim_profile_new: empty, for pipesim_profile_free(). */
PipesimProfile *pipesim_profile_new(void);

/**
 * pipesim_profile_read: @input as a stream; it becomes the function's. Names and metadata
 * (device_name, sm_count, rank, ranks) go into @trace, whose strings the result points to.
 *
 * Returns: (transfer full): for pipesim_profile_free(); NULL with PIPESIM_ERROR_PARSE
 *   ("path:line:column: ...") for what is no JSON or a time that is none, PIPESIM_ERROR_LIMIT
 * for more activities than are kept, or an error of pipesim_json_next().
 */
PipesimProfile *pipesim_profile_read(PipesimInput *input, PipesimTrace *trace, GError **error);
void pipesim_profile_free(PipesimProfile *profile);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(PipesimProfile, pipesim_profile_free)
