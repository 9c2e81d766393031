/* What ranks hold, in part on the host or computed once more: put into an order of F, I, W and B. */
#pragma once
#include "order/order.h"

/* How copies are planned. */
typedef struct {
	gint64 *start, *end; /* by op of the program, ns: when it is planned to run */
	gint64 p2p;          /* of a message in that plan, ns */
	gint64 copy;         /* of a chunk of a micro-batch, one way, ns; > 0 */
	guint chunks;        /* of each rank, the first ones, whose activations are copied */
	guint engines;       /* of a rank: 2, one each way; else one. Slots are of one */
	/* In slots, as PipeOffload has it (arXiv:2503.01328); else out right behind F, and back from when
	 * the op before the backward begins. */
	gboolean slots;
} PipesimOffload;

/** pipesim_program_offload: @program, of whole micro-batches without pairs, with copies.
 * Slots: a rank has one engine, whose slots go out, in, out, in. Forwards of the warm-up are
 * taken as late as what needs them allows (@how->start and @how->end change). From the first
 * rank's first F on, each F takes the next free slot out, and from the end back each backward
 * the last free slot in that ends as long before it as it takes; what both have less than six
 * copies between them stays on the device. Ranks 2i and 2i + 1 share a link: the slots of the
 * second are half a period later, and each has a barrier where the other begins a copy. Before
 * the first copy back there are no gaps, and a copy takes 0.7 of one beside another.
 * Returns: (transfer full): NULL with PIPESIM_ERROR_CONSTRAINT where a copy could not be
 *   back in time, or PIPESIM_ERROR_LIMIT. */
PipesimProgram *pipesim_program_offload(
	const PipesimProgram *program, const PipesimOffload *how, GError **error);

/**
 * pipesim_order_offload_part: @order, of F, I, W, B and pairs, with copies of @shape->offload_part of what its
 * first @shape->offload chunks hold (0: all), as Megatron-LM orders them (fine-grained activation offloading,
 * core/pipeline_parallel/fine_grained_activation_offload.py), a stage being one group: out as F ends, one after the
 * other, back as the rank comes to the backward before the one that needs it, and freed by the first op that begins
 * once a copy is out. What the first backward of a rank needs stays, and what the next backward does as its F ends. Where
 * more than @shape->offload_inflight copies are on the way out the rank waits for the oldest. Rank r keeps r times
 * @shape->offload_delta bytes of what it needs first.
 * An @order that has copies keeps them: those of a file that does not say of what part they are.
 * @shape: that of @order, but for what it asks of copies; of what is returned
 * @times: at which the copies end; those of the run, so that nothing waits for an end before its time
 *
 * Returns: (transfer full): NULL with PIPESIM_ERROR_CONSTRAINT where @order has other ops, PIPESIM_ERROR_USAGE
 *   where a copy takes no time or bytes that are asked for are not known, or PIPESIM_ERROR_LIMIT. */
PipesimOrder *pipesim_order_offload_part(const PipesimOrder *order, const PipesimShape *shape,
	const PipesimTimes *times, GError **error);

/** pipesim_program_has: whether @program has ops of stages beyond PipesimKind on such a resource: on that of copies to the
 * host what is copied, on the rank itself R. */
gboolean pipesim_program_has(const PipesimProgram *program, PipesimResource on);

/** pipesim_program_recompute: @program, which may have copies, with an R right before each backward of @chunks of each
 * rank from the @first one on, of which it copies nothing. NULL with PIPESIM_ERROR_LIMIT. */
PipesimProgram *pipesim_program_recompute(
	const PipesimProgram *program, guint first, guint chunks, GError **error);
