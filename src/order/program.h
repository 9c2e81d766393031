/* Which op every rank runs in which order, and which op waits for which. */
#pragma once
#include "model/costs.h"

#define PIPESIM_NO_OP G_MAXUINT32

/* One unit of work on one rank. Ops are addressed by index, never by pointer; rank and stage
 * follow from where an op stands. */
typedef struct {
	guint32 microbatch;   /* of the forward half where kind is FB */
	guint32 b_microbatch; /* of the backward half where kind is FB, else 0 */
	guint8 kind;          /* PipesimKind, or PipesimOpKind beyond it where has_more */
	guint8 chunk;         /* chunk or pipeline on its rank; of the forward half of a pair */
	guint8 b_chunk;       /* of the backward half where kind is FB, else 0 */
	guint8 phase;         /* index into PipesimProgram.phases */
} PipesimOp;
G_STATIC_ASSERT(sizeof(PipesimOp) == 12);

/* Complete: each (stage, micro-batch) has exactly one F and either one B or one I and one W,
 * all on one rank, in an order that its rank can run. Rank r runs ops[rank_begin[r]] to
 * ops[rank_begin[r + 1] - 1] in that order.
 * Once it is linked nobody changes it: it is shared by reference. */
typedef struct {
	PipesimShape shape;
	guint n_ops;
	PipesimOp *ops;
	guint32 *rank_begin; /* ranks + 1 */
	guint32 *stage_of;   /* [rank * chunks + chunk]; PIPESIM_NO_OP where a rank has fewer */
	/* The op that runs the forward, and the backward (I, B or a pair's), of [stage * M +
	 * micro-batch]. From these follow the data dependencies. */
	guint32 *forward, *backward;
	GPtrArray *phases; /* of char *, shared with the order that it is of; index 0 is "" */
	/* Some ops are of a PipesimOpKind beyond PipesimKind: engine/mixed.h alone runs it. An F that is
	 * recomputed, and so keeps only its input, has PIPESIM_RECOMPUTED in b_chunk. */
	gboolean has_more;
} PipesimProgram;

#define PIPESIM_RECOMPUTED 1

/** pipesim_program_new: room for @max_ops; shape copied; stages placed as its placement says
 * (not PIPESIM_FROM_FILE: the caller does it); not linked yet. NULL with PIPESIM_ERROR_LIMIT
 * where memory does not suffice or @max_ops is above PIPESIM_MAX_OPS. */
PipesimProgram *pipesim_program_new(const PipesimShape *shape, guint64 max_ops, GError **error);

/** pipesim_program_ref, pipesim_program_unref: one more holder, one fewer; the last one frees
 * it. From any thread; NULL is nothing. */
PipesimProgram *pipesim_program_ref(const PipesimProgram *program);
PIPESIM_FREED(PipesimProgram, pipesim_program_unref)

/** pipesim_rank_in: the rank whose entries, from @rank_begin[rank] on, @index is one of; in the
 * logarithm of the @ranks. */
static inline guint pipesim_rank_in(const guint32 *rank_begin, guint ranks, guint32 index)
{
	const guint32 *first = rank_begin; /* of the ranks that it may be */

	/* Without a branch that the processor would have to guess. */
	for (guint n = ranks; n > 1; n -= n / 2)
		first += first[n / 2] <= index ? n / 2 : 0;
	return (guint)(first - rank_begin);
}

/** pipesim_program_rank: the rank that runs op @index. */
guint pipesim_program_rank(const PipesimProgram *program, guint32 index);

/** pipesim_program_rank_near: the same, at once where op @index runs on rank @near or one beside it,
 * as most do of what an op waits for. */
static inline guint pipesim_program_rank_near(
	const PipesimProgram *program, guint32 index, guint near)
{
	const guint32 *begin = program->rank_begin;

	if (index >= begin[near] && index < begin[near + 1])
		return near;
	if (near > 0 && index >= begin[near - 1] && index < begin[near])
		return near - 1;
	if (near + 1 < program->shape.ranks && index >= begin[near + 1] &&
		index < begin[near + 2])
		return near + 1;
	return pipesim_program_rank(program, index);
}

/** pipesim_op_stage, pipesim_op_b_stage: the stage of @op, or of its forward half, and of its
 * backward half. */
static inline guint pipesim_op_stage(
	const PipesimProgram *program, guint rank, const PipesimOp *op)
{
	return program->stage_of[(gsize)rank * program->shape.chunks + op->chunk];
}

static inline guint pipesim_op_b_stage(
	const PipesimProgram *program, guint rank, const PipesimOp *op)
{
	return program->stage_of[(gsize)rank * program->shape.chunks + op->b_chunk];
}

static inline gboolean pipesim_op_has_forward(const PipesimOp *op)
{
	return op->kind == PIPESIM_F || op->kind == PIPESIM_FB;
}

/* Whether a gradient for the stage before comes out of @op. */
static inline gboolean pipesim_op_has_backward(const PipesimOp *op)
{
	return op->kind == PIPESIM_I || op->kind == PIPESIM_B || op->kind == PIPESIM_FB;
}

/** pipesim_op_backward_chunk, pipesim_op_backward_microbatch: of the backward that @op is, or has as a pair; of another op
 * its own. */
static inline guint8 pipesim_op_backward_chunk(const PipesimOp *op)
{
	return op->kind == PIPESIM_FB ? op->b_chunk : op->chunk;
}

static inline guint32 pipesim_op_backward_microbatch(const PipesimOp *op)
{
	return op->kind == PIPESIM_FB ? op->b_microbatch : op->microbatch;
}

/** pipesim_op_backward_slot, pipesim_op_forward_slot: the stage and micro-batch whose backward @op is, where it has one.
 */
static inline gsize pipesim_op_backward_slot(
	const PipesimProgram *program, guint rank, const PipesimOp *op)
{
	const gsize stage = op->kind == PIPESIM_FB ? pipesim_op_b_stage(program, rank, op)
						   : pipesim_op_stage(program, rank, op);

	return stage * program->shape.microbatches + pipesim_op_backward_microbatch(op);
}

static inline gsize pipesim_op_forward_slot(
	const PipesimProgram *program, guint rank, const PipesimOp *op)
{
	return (gsize)pipesim_op_stage(program, rank, op) * program->shape.microbatches +
	       op->microbatch;
}

/** pipesim_program_inputs: the ops of other stages whose results @op of @rank needs: of the
 * forward half the stage before, of the backward half the stage after. What it needs of its own
 * stage (B needs F, W needs I) comes before it on its rank.
 * Returns: how many: 0 to 2. */
static inline guint pipesim_program_inputs(
	const PipesimProgram *program, guint rank, const PipesimOp *op, guint32 inputs[2])
{
	const gsize m = program->shape.microbatches;
	guint n = 0;
	gsize slot;

	if (pipesim_op_has_forward(op)) {
		slot = pipesim_op_forward_slot(program, rank, op);
		if (slot >= m)
			inputs[n++] = program->forward[slot - m];
	}
	if (pipesim_op_has_backward(op)) {
		slot = pipesim_op_backward_slot(program, rank, op);
		if (slot + m < (gsize)program->shape.stages * m)
			inputs[n++] = program->backward[slot + m];
	}
	return n;
}

/** pipesim_program_outputs: the same turned round: the ops of other stages that need @op. */
static inline guint pipesim_program_outputs(
	const PipesimProgram *program, guint rank, const PipesimOp *op, guint32 outputs[2])
{
	const gsize m = program->shape.microbatches;
	guint n = 0;
	gsize slot;

	if (pipesim_op_has_forward(op)) {
		slot = pipesim_op_forward_slot(program, rank, op);
		if (slot + m < (gsize)program->shape.stages * m)
			outputs[n++] = program->forward[slot + m];
	}
	if (pipesim_op_has_backward(op)) {
		slot = pipesim_op_backward_slot(program, rank, op);
		if (slot >= m)
			outputs[n++] = program->backward[slot - m];
	}
	return n;
}

/** pipesim_times_on: what takes @ns on the ranks that are not slow takes on @rank, ns. */
static inline gint64 pipesim_times_on(const PipesimTimes *times, guint rank, gint64 ns)
{
	return times->slow == NULL
		       ? ns
		       : pipesim_time_scale(ns, times->slow[rank].num, times->slow[rank].den);
}

/** pipesim_op_each: what @op, one of @program's ops, takes where times are of single micro-batches, on a
 * rank that is not slow, ns. */
static inline gint64 pipesim_op_each(const PipesimProgram *program, const PipesimTimes *times,
	guint rank, const PipesimOp *op)
{
	const gsize first = (gsize)pipesim_op_stage(program, rank, op) * times->microbatches;
	const gint64 *each = &times->each[(first + op->microbatch) * PIPESIM_FB];
	gsize second;

	if (op->kind != PIPESIM_FB)
		return each[op->kind];
	second = (gsize)pipesim_op_b_stage(program, rank, op) * times->microbatches +
		 op->b_microbatch;
	return pipesim_times_paired(
		times, each[PIPESIM_F] + times->each[second * PIPESIM_FB + PIPESIM_B]);
}

/** pipesim_op_duration: what @op of @rank, one of @program's ops, takes, ns: that of its stage
 * or pair, times the factor of its rank, rounded to ns once more; or what was drawn for it. The
 * one place where durations come from. */
static inline gint64 pipesim_op_duration(const PipesimProgram *program,
	const PipesimTimes *times, guint rank, const PipesimOp *op)
{
	const guint stage = pipesim_op_stage(program, rank, op);

	if (times->drawn != NULL)
		return times->drawn[op - program->ops];
	if (times->each != NULL)
		return pipesim_times_on(times, rank, pipesim_op_each(program, times, rank, op));
	return pipesim_times_on(times, rank,
		op->kind == PIPESIM_FB ? pipesim_times_pair(times, stage,
						 pipesim_op_b_stage(program, rank, op))
				       : times->stage[op->kind][stage]);
}

/** pipesim_op_launch: what the host of @rank takes to launch @op, one of @program's ops, ns; of a pair both
 * halves. 0 where @times know of no launches. */
static inline gint64 pipesim_op_launch(const PipesimProgram *program, const PipesimTimes *times,
	guint rank, const PipesimOp *op)
{
	const guint stage = pipesim_op_stage(program, rank, op);

	if (times->launch[PIPESIM_F] == NULL)
		return 0;
	if (op->kind != PIPESIM_FB)
		return times->launch[op->kind][stage];
	return pipesim_add_capped(times->launch[PIPESIM_F][stage],
		times->launch[PIPESIM_B][pipesim_op_b_stage(program, rank, op)]);
}

/* Puts the place of @op in its file into @error (pipesim_error_locate); @op may be
 * PIPESIM_NO_OP: the file as a whole. */
typedef void (*PipesimLocate)(gpointer data, guint32 op, GError *error);

/* Where faults go, and who knows their places. */
typedef struct {
	PipesimFaults *faults;
	PipesimLocate locate; /* NULL for programs that no file holds */
	gpointer data;
} PipesimFaultPlaces;

/** pipesim_fault: adds a PIPESIM_ERROR_INCOMPLETE at @index, as the locate of @places counts.
 */
void pipesim_fault(const PipesimFaultPlaces *places, guint32 index, const char *format, ...)
	G_GNUC_PRINTF(3, 4);

/** pipesim_program_link: checks completeness and finds forward and backward ops. Chunks and
 * micro-batches of all ops must be within the shape.
 * @locate: (nullable): for programs read from a file
 * Returns: FALSE with PIPESIM_ERROR_INCOMPLETE, which names up to 20 ops that are missing,
 * appear twice, run on another rank than their forward or before it; or PIPESIM_ERROR_LIMIT. */
gboolean pipesim_program_link(
	PipesimProgram *program, PipesimLocate locate, gpointer data, GError **error);

/** pipesim_program_check_order: whether some execution of the linked @program reaches the end.
 * @locate: (nullable): for programs read from a file; told the ops of the cycle
 * Returns: FALSE with PIPESIM_ERROR_DEADLOCK; the message goes once round a cycle, op by op.
 * With @locate every op stands on a line of its own behind its place, and so does the swap
 * of two neighbours on one rank that repairs it, where there is one. */
gboolean pipesim_program_check_order(
	const PipesimProgram *program, PipesimLocate locate, gpointer data, GError **error);

/** pipesim_program_sequence: the ops of the linked @program in an order in which they could run
 * one after the other: each after its inputs and after what comes before it on its rank.
 * @sequence: (nullable): room for n_ops indices
 * Returns: how many ops come to run: n_ops but for an order with a cycle. G_MAXUINT32 with
 * PIPESIM_ERROR_LIMIT where memory does not suffice. */
guint32 pipesim_program_sequence(
	const PipesimProgram *program, guint32 *sequence, GError **error);

/** pipesim_program_check_plain: FALSE with PIPESIM_ERROR_CONSTRAINT, which asks to leave out @option, where @program has
 * ops that only engine/mixed.h runs. */
gboolean pipesim_program_check_plain(
	const PipesimProgram *program, const char *option, GError **error);

/** pipesim_program_has_pairs: whether any op is an overlapped pair. */
gboolean pipesim_program_has_pairs(const PipesimProgram *program);

/** pipesim_program_split_pairs: @program with every overlapped pair as its forward and then its
 * full backward: how a runtime without overlap runs it. An op of @program that comes after n
 * pairs has an index n higher.
 * Returns: (transfer full): linked; NULL with PIPESIM_ERROR_LIMIT. */
PipesimProgram *pipesim_program_split_pairs(const PipesimProgram *program, GError **error);

/** pipesim_program_copy: one of the linked @program's own, which nobody shares; NULL where memory does not suffice. */
PipesimProgram *pipesim_program_copy(const PipesimProgram *program);

/** pipesim_program_exchange: op @index of such a copy and the next one of its @rank change places, which they do again
 * to be where they were. FALSE where that breaks the order within a stage: nothing happens then. */
gboolean pipesim_program_exchange(PipesimProgram *program, guint rank, guint32 index);

/** pipesim_op_print: appends "0F7" or "(0F7;7B13)OVERLAP_F_B". */
void pipesim_op_print(
	const PipesimProgram *program, guint rank, const PipesimOp *op, GString *out);

/** pipesim_kind_letter: "F", "I", "W", "B", "FB". */
const char *pipesim_kind_letter(PipesimKind kind);
