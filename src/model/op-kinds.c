#include "config.h"

#include "model/op-kinds.h"

#define COMPUTES(called, takes, frees)                               \
	{                                                            \
		called, called, PIPESIM_ON_RANK, takes, frees, FALSE \
	}
#define PASS(called)                                        \
	{                                                   \
		called, called, PIPESIM_ON_RANK, 0, 0, TRUE \
	}
#define COLLECTIVE(called, ms)                                \
	{                                                     \
		called, ms, PIPESIM_ON_COLLECTIVE, 0, 0, TRUE \
	}

const PipesimOpRow pipesim_op_rows[PIPESIM_N_OPS] = {
	[PIPESIM_F] = COMPUTES("F", 1, 0),
	[PIPESIM_I] = COMPUTES("I", 0, 0),
	[PIPESIM_W] = COMPUTES("W", 0, 1),
	[PIPESIM_B] = COMPUTES("B", 0, 1),
	[PIPESIM_FB] = COMPUTES("FB", 1, 1),
	[PIPESIM_OP_RECOMPUTE] = COMPUTES("R", 1, 0),
	[PIPESIM_OP_OFFLOAD_START] = {"OFFLOAD_START", "COPY", PIPESIM_ON_COPY_OUT, 0, 0,
		FALSE},
	[PIPESIM_OP_OFFLOAD_END] = {"OFFLOAD_END", NULL, PIPESIM_ON_NOTHING, 0, 1, FALSE},
	[PIPESIM_OP_RELOAD_ALLOC] = {"RELOAD_ALLOC", NULL, PIPESIM_ON_NOTHING, 1, 0, FALSE},
	[PIPESIM_OP_RELOAD_START] = {"RELOAD_START", "COPY", PIPESIM_ON_COPY_IN, 0, 0, FALSE},
	[PIPESIM_OP_RELOAD_DONE] = {"RELOAD_DONE", NULL, PIPESIM_ON_NOTHING, 0, 0, FALSE},
	[PIPESIM_OP_OFFLOAD_BARRIER] = {"OFFLOAD_BARRIER", NULL, PIPESIM_ON_NOTHING, 0, 0,
		TRUE},
	[PIPESIM_OP_OFFLOAD] = {"OFFLOAD", "COPY", PIPESIM_ON_COPY_OUT, 0, 1, FALSE},
	[PIPESIM_OP_RELOAD] = {"RELOAD", "COPY", PIPESIM_ON_COPY_IN, 1, 0, FALSE},
	[PIPESIM_OP_OUTPUT] = PASS("S"),
	[PIPESIM_OP_OUTPUT_WEIGHT] = PASS("T"),
	[PIPESIM_OP_EMBED] = PASS("EF"),
	[PIPESIM_OP_EMBED_WEIGHT] = PASS("EB"),
	[PIPESIM_OP_LOSS] = PASS("LOSS"),
	[PIPESIM_OP_LOSS_BACKWARD] = PASS("LOSSB"),
	[PIPESIM_OP_BCAST_H] = COLLECTIVE("BCAST_H", "BCAST_H"),
	[PIPESIM_OP_BCAST_T] = COLLECTIVE("BCAST_T", "BCAST_T"),
	[PIPESIM_OP_REDUCE_S] = COLLECTIVE("REDUCE_S", "REDUCE_S"),
	[PIPESIM_OP_REDUCE_T] = COLLECTIVE("REDUCE_T", "REDUCE_T"),
	[PIPESIM_OP_ALLREDUCE_E] = COLLECTIVE("ALLREDUCE_E", "ALLREDUCE_E"),
	[PIPESIM_OP_BCAST_E] = COLLECTIVE("BCAST_E", "BCAST_E"),
};
