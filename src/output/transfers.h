/* When messages are on their way, for what draws them. */
#pragma once
#include "analysis/run.h"
#include "runtime/lower.h"

/* A message of the timeline, or where that has none, what data dependencies say. */
typedef struct {
	PipesimMessage message;
	gint64 start, end; /* on the link, ns */
	guint track;       /* no two of a track overlap */
} PipesimTracked;

/* Of one rank and one way, by start. */
typedef struct {
	PipesimTracked *transfers;
	gsize n;
	guint tracks; /* as many as messages are on their way at once; 0 where they take no time
		       */
} PipesimTransfers;

typedef enum {
	PIPESIM_SENT,
	PIPESIM_RECEIVED
} PipesimWay;

/**
 * pipesim_transfers: what @rank of @run sends or receives; for pipesim_transfers_clear().
 *
 * Returns: FALSE with PIPESIM_ERROR_LIMIT where memory does not suffice.
 */
gboolean pipesim_transfers(const PipesimRun *run, guint rank, PipesimWay way,
	PipesimTransfers *transfers, GError **error);
void pipesim_transfers_clear(PipesimTransfers *transfers);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(PipesimTransfers, pipesim_transfers_clear)
