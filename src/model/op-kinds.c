#include "model/op-kinds.h"

#define COMPUTES(called, takes, frees, looks)                                       \
	{                                                                           \
		called, called, PIPESIM_ON_RANK, takes, frees, FALSE, .look = looks \
	}
#define PASS(called, ...)                                                                   \
	{                                                                                   \
		called, called, PIPESIM_ON_RANK, 0, 0, TRUE, .look = PIPESIM_W, __VA_ARGS__ \
	}
#define COLLECTIVE(called, pass)                                                      \
	{                                                                             \
		called, called, PIPESIM_ON_COLLECTIVE, 0, 0, TRUE, .look = PIPESIM_W, \
								   .behind[0] = pass  \
	}
#define COPIES(called, ms, resource, takes, frees, ...)                                   \
	{                                                                                 \
		called, ms, resource, takes, frees, FALSE, .look = PIPESIM_W, __VA_ARGS__ \
	}

const PipesimOpRow pipesim_op_rows[PIPESIM_N_OPS] = {
	[PIPESIM_F] = COMPUTES("F", 1, 0, PIPESIM_F),
	[PIPESIM_I] = COMPUTES("I", 0, 0, PIPESIM_I),
	[PIPESIM_W] = COMPUTES("W", 0, 1, PIPESIM_W),
	[PIPESIM_B] = COMPUTES("B", 0, 1, PIPESIM_B),
	[PIPESIM_FB] = COMPUTES("FB", 1, 1, PIPESIM_FB),
	[PIPESIM_OP_RECOMPUTE] = {"R", "R", PIPESIM_ON_RANK, 1, 0, FALSE, .look = PIPESIM_F,
		.what = "forward once more", .after_forward = TRUE, .before_backward = TRUE},
	[PIPESIM_OP_OFFLOAD_START] = COPIES("OFFLOAD_START", PIPESIM_COPY_TIME,
		PIPESIM_ON_COPY_OUT, 0, 0, .host = 1, .after_forward = TRUE),
	[PIPESIM_OP_OFFLOAD_END] = COPIES("OFFLOAD_END", NULL, PIPESIM_ON_NOTHING, 0, 1,
		.copy = PIPESIM_OP_OFFLOAD_START, .before_backward = TRUE,
		.behind = {PIPESIM_OP_OFFLOAD_START}),
	[PIPESIM_OP_RELOAD_ALLOC] = COPIES("RELOAD_ALLOC", NULL, PIPESIM_ON_NOTHING, 1, 0,
		.behind = {PIPESIM_OP_OFFLOAD_START}),
	[PIPESIM_OP_RELOAD_START] = COPIES("RELOAD_START", PIPESIM_COPY_TIME,
		PIPESIM_ON_COPY_IN, 0, 0, .before_backward = TRUE,
		.behind = {PIPESIM_OP_OFFLOAD_START, PIPESIM_OP_RELOAD_ALLOC}),
	[PIPESIM_OP_RELOAD_DONE] =
		COPIES("RELOAD_DONE", NULL, PIPESIM_ON_NOTHING, 0, 0, .host = -1),
	[PIPESIM_OP_OFFLOAD_BARRIER] = {"OFFLOAD_BARRIER", NULL, PIPESIM_ON_NOTHING, 0, 0, TRUE,
		.look = PIPESIM_W},
	[PIPESIM_OP_OFFLOAD] = COPIES("OFFLOAD", PIPESIM_COPY_TIME, PIPESIM_ON_COPY_OUT, 0, 1,
		.host = 1, .copy = PIPESIM_OP_OFFLOAD, .after_forward = TRUE),
	[PIPESIM_OP_RELOAD] = COPIES("RELOAD", PIPESIM_COPY_TIME, PIPESIM_ON_COPY_IN, 1, 0,
		.host = -1, .before_backward = TRUE, .behind = {PIPESIM_OP_OFFLOAD}),
	[PIPESIM_OP_OUTPUT] = PASS("S", .what = "output layer", .everywhere = TRUE,
		.behind = {PIPESIM_OP_BCAST_H}, .awaits = {{PIPESIM_OP_BCAST_H, 0}}),
	[PIPESIM_OP_OUTPUT_WEIGHT] =
		PASS("T", .what = "weights of the output layer", .behind = {PIPESIM_OP_OUTPUT},
			.awaits = {{PIPESIM_OP_REDUCE_S, 0}, {PIPESIM_OP_BCAST_T, 0},
				{PIPESIM_OP_BCAST_H, 1}}),
	[PIPESIM_OP_EMBED] = PASS("EF", .what = "embedding", .everywhere = TRUE),
	[PIPESIM_OP_EMBED_WEIGHT] = PASS("EB", .what = "embedding",
		.behind = {PIPESIM_OP_EMBED, PIPESIM_OP_BCAST_E},
		.awaits = {{PIPESIM_OP_BCAST_E, 0}}),
	[PIPESIM_OP_LOSS] = PASS("LOSS", .what = "loss", .awaits = {{PIPESIM_OP_REDUCE_S, 0}}),
	[PIPESIM_OP_LOSS_BACKWARD] = PASS("LOSSB", .what = "loss", .behind = {PIPESIM_OP_LOSS},
		.awaits = {{PIPESIM_OP_REDUCE_S, 0}}),
	[PIPESIM_OP_BCAST_H] = COLLECTIVE("BCAST_H", 0),
	[PIPESIM_OP_BCAST_T] = COLLECTIVE("BCAST_T", 0),
	[PIPESIM_OP_REDUCE_S] = COLLECTIVE("REDUCE_S", PIPESIM_OP_OUTPUT),
	[PIPESIM_OP_REDUCE_T] = COLLECTIVE("REDUCE_T", 0),
	[PIPESIM_OP_ALLREDUCE_E] = COLLECTIVE("ALLREDUCE_E", PIPESIM_OP_EMBED),
	[PIPESIM_OP_BCAST_E] = COLLECTIVE("BCAST_E", 0),
};

gboolean pipesim_own_set(gint64 own[PIPESIM_N_OPS], const char *name, gint64 ns)
{
	gboolean any = FALSE;

	for (guint kind = PIPESIM_N_KINDS; kind < PIPESIM_N_OPS; kind++)
		if (g_strcmp0(pipesim_op_rows[kind].time, name) == 0) {
			own[kind] = ns;
			any = TRUE;
		}
	return any;
}

gint64 pipesim_own_copy(const gint64 own[PIPESIM_N_OPS])
{
	guint kind = 0;

	while (pipesim_op_rows[kind].resource != PIPESIM_ON_COPY_OUT)
		kind++;
	return own[kind];
}
