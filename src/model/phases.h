/* What a layer with experts does, phase by phase, on two streams: compute, and all-to-alls. */
#pragma once
#include "model/costs.h"

typedef enum {
	PIPESIM_NODE_ATTN, /* attention, norm, router */
	PIPESIM_NODE_DISPATCH,
	PIPESIM_NODE_MLP, /* experts */
	PIPESIM_NODE_COMBINE,
	PIPESIM_NODE_SEND, /* to the next stage, of a whole chunk */
	PIPESIM_NODE_PRE,  /* what comes before a chunk's layers, and after its backward */
	PIPESIM_N_NODES,
} PipesimNode;

/** pipesim_node_names: "attn", "dispatch" ...; static. */
extern const char *const pipesim_node_names[PIPESIM_N_NODES];

/* ns, by phase F, I and W: backward but for weight gradients is I, in Megatron's words B. */
typedef struct {
	gint64 of[3][PIPESIM_N_NODES];
} PipesimNodeTimes;

/** pipesim_node_times_parse: what @text, such as "F_attn=2,B_mlp=3,W_mlp=2", says in ms. FALSE with PIPESIM_ERROR_USAGE, which calls
 * it @what. */
gboolean pipesim_node_times_parse(
	PipesimNodeTimes *times, const char *text, const char *what, GError **error);

/** pipesim_node_times_measured: medians of the components of @costs, or where @paired what they take inside the pair. FALSE with
 * PIPESIM_ERROR_USAGE where one is missing. */
gboolean pipesim_node_times_measured(
	PipesimNodeTimes *times, const PipesimCosts *costs, gboolean paired, GError **error);

typedef struct {
	guint phase; /* F, I, W */
	PipesimNode node;
	gint layer;         /* of its chunk; -1: the chunk's */
	gboolean exchanges; /* on the stream of all-to-alls */
	gint64 start, end;
} PipesimNodeOp;

/** pipesim_phases_new: a forward of @forward layers beside a backward of @backward, as
 * Megatron-LM issues them (combined 1F1B, core/models/common/model_chunk_schedule_plan.py): the
 * forward of layer i beside the backward of layer backward - 1 - i, what is left over by
 * itself. Each stream runs its ops in this order; one also waits for the one before of its
 * chain, forward or backward; weight gradients wait for their stream alone.
 * @early: the backward of attention comes before the forward's experts, so that its memory goes
 * early
 * Returns: (transfer full): of PipesimNodeOp, in the order in which they are issued. */
GArray *pipesim_phases_new(
	const PipesimNodeTimes *times, guint forward, guint backward, gboolean early);

/** pipesim_phases_end: ns until the last of @ops has ended. */
gint64 pipesim_phases_end(const GArray *ops);
