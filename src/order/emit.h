/* The verbs in which a schedule writes the order of one rank. The emitter numbers micro-batches
 * itself: each verb takes the next one of its chunk (or pipeline). Of n pipelines, pipeline p
 * has micro-batches p * M / n to (p + 1) * M / n - 1. Where sequences are cut, what is counted are
 * slices, and backwards of a micro-batch count its slices down. */
#pragma once
#include "order/order.h"

typedef struct _PipesimEmitter PipesimEmitter;

/** pipesim_phase: names what follows ("warm-up"), for messages and pictures. */
void pipesim_phase(PipesimEmitter *out, const char *name);

/** pipesim_note: what is to be said of the order as a whole, for the notes below a table; one
 * sentence, no final stop. The last one counts. */
void pipesim_note(PipesimEmitter *out, const char *text);

/** pipesim_repeat: `pipesim_repeat(out, n) { verbs }` is these verbs n times over, kept as a
 * loop: its body runs once, or not at all where @n is 0. Loops do not nest. */
#define pipesim_repeat(out, n)                                                   \
	for (gboolean pipesim_once = pipesim_repeat_begin(out, n); pipesim_once; \
		pipesim_once = pipesim_repeat_end(out))
gboolean pipesim_repeat_begin(PipesimEmitter *out, guint n);
gboolean pipesim_repeat_end(PipesimEmitter *out);

/** pipesim_emit_counted: @kind of the next micro-batch of @chunk, or from the last one down;
 * what the verbs below are made of. */
void pipesim_emit_counted(
	PipesimEmitter *out, PipesimKind kind, guint chunk, guint32 next_or_last);

/* F, and full backward, of the next micro-batch of @chunk. */
#define pipesim_forward(out, chunk)  pipesim_emit_counted(out, PIPESIM_F, chunk, PIPESIM_NEXT)
#define pipesim_backward(out, chunk) pipesim_emit_counted(out, PIPESIM_B, chunk, PIPESIM_NEXT)
/* The same from the last micro-batch down. A chunk counts its backwards one way. */
#define pipesim_backward_last(out, chunk) \
	pipesim_emit_counted(out, PIPESIM_B, chunk, PIPESIM_LAST)
/* I of the next micro-batch of @chunk; its W joins the end of the queue. */
#define pipesim_backward_input(out, chunk) \
	pipesim_emit_counted(out, PIPESIM_I, chunk, PIPESIM_NEXT)
/* W of the oldest I on this rank that has none yet. Not mixed with pipesim_weight_of() on one
 * rank. */
#define pipesim_weight(out) pipesim_emit_counted(out, PIPESIM_W, PIPESIM_OLDEST, PIPESIM_NEXT)
/* W of the oldest I of @chunk that has none yet. */
#define pipesim_weight_of(out, chunk) pipesim_emit_counted(out, PIPESIM_W, chunk, PIPESIM_NEXT)
/** pipesim_overlap: forward of @f_chunk and full backward of @b_chunk as one overlapped pair.
 */
void pipesim_overlap(PipesimEmitter *out, guint f_chunk, guint b_chunk);
/** pipesim_emit: an op whose micro-batch (and b_microbatch) is given, for orders that do not
 * count up; its phase is the emitter's. Such a rank uses pipesim_emit() alone. */
void pipesim_emit(PipesimEmitter *out, const PipesimOp *op);

/** pipesim_emit_rank: what follows is of @rank; ranks in ascending order, each once. Only for
 * orders of all ranks at once (PipesimPlan). */
void pipesim_emit_rank(PipesimEmitter *out, guint rank);

/* What a schedule offers to be run for each rank in turn. */
typedef void (*PipesimGenerate)(const PipesimShape *shape, guint rank, PipesimEmitter *out);
/* An order that is found for all ranks at once, from the times of ops. FALSE with @error. */
typedef gboolean (*PipesimPlan)(const PipesimShape *shape, const PipesimTimes *times,
	PipesimEmitter *out, GError **error);

/** pipesim_order_generate: runs @generate for every rank.
 * Returns: (transfer full): NULL with PIPESIM_ERROR_LIMIT where memory does not suffice. */
PipesimOrder *pipesim_order_generate(
	const PipesimShape *shape, PipesimGenerate generate, GError **error);

/** pipesim_order_plan: runs @plan. Errors as above, and those of @plan. */
PipesimOrder *pipesim_order_plan(
	const PipesimShape *shape, PipesimPlan plan, const PipesimTimes *times, GError **error);

/** pipesim_order_trim: @padded, an order of more micro-batches of each chunk, without those
 * that @shape does not have: what is left stands in the same order, so that nothing can hang
 * that did not; of a pair one half may be left. The order is of verbs that count up, its weights
 * pipesim_weight(), and what is left is too. In time that grows with the ops of @padded.
 * Returns: (transfer full): NULL with PIPESIM_ERROR_LIMIT where memory does not suffice. */
PipesimOrder *pipesim_order_trim(
	const PipesimOrder *padded, const PipesimShape *shape, GError **error);
