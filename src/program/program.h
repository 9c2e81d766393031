/* Which op every rank runs in which order, and which op waits for which. */
#pragma once
#include "model/shape.h"

#define PIPESIM_NO_OP G_MAXUINT32

/* One unit of work on one rank. Ops are addressed by index, never by pointer. */
typedef struct {
	guint32 rank;
	guint32 stage, microbatch;     /* of the forward half where kind is FB */
	guint32 b_stage, b_microbatch; /* of the backward half where kind is FB, else 0 */
	guint16 phase;                 /* index into PipesimProgram.phases */
	guint8 kind;                   /* PipesimKind */
	guint8 direction; /* chunk or direction on its rank; of the forward half of a pair */
} PipesimOp;
G_STATIC_ASSERT(sizeof(PipesimOp) == 24);

/* Complete: each (stage, micro-batch) has exactly one F and either one B or one I and one W,
 * all on one rank. Acyclic: the engine reaches the end. Rank r runs ops[rank_begin[r]] to
 * ops[rank_begin[r + 1] - 1] in that order. */
typedef struct {
	PipesimShape shape;
	guint n_ops;
	PipesimOp *ops;
	guint32 *rank_begin; /* ranks + 1 */
	/* Data dependencies: op i waits for inputs[input_begin[i]] to inputs[input_begin[i + 1]
	 * - 1]. That a rank runs one op after the other is not among them. */
	guint32 *input_begin; /* n_ops + 1 */
	guint32 *inputs;
	GPtrArray *phases; /* of char *, owned; index 0 is "" */
} PipesimProgram;

/** pipesim_program_new: room for @max_ops; shape copied; no edges yet. NULL with
 * PIPESIM_ERROR_LIMIT where memory does not suffice. */
PipesimProgram *pipesim_program_new(const PipesimShape *shape, guint max_ops, GError **error);
void pipesim_program_free(PipesimProgram *program);

/* Puts the place of @op in its file into @error (pipesim_error_locate); @op may be
 * PIPESIM_NO_OP: the file as a whole. */
typedef void (*PipesimLocate)(gpointer data, guint32 op, GError *error);

/**
 * pipesim_program_link: checks completeness and derives the edges from the ops. Stages and
 * micro-batches of all ops must be within the shape.
 * @locate: (nullable): for programs read from a file
 *
 * Returns: FALSE with PIPESIM_ERROR_INCOMPLETE, which names up to 20 ops that are missing,
 * stand twice, run on another rank than their forward or before it; or PIPESIM_ERROR_LIMIT.
 */
gboolean pipesim_program_link(
	PipesimProgram *program, PipesimLocate locate, gpointer data, GError **error);

/**
 * pipesim_program_check_order: whether some execution of the linked @program reaches the end.
 * @locate: (nullable): for programs read from a file; told an op of the cycle
 *
 * Returns: FALSE with PIPESIM_ERROR_DEADLOCK; the message shows one cycle, op by op.
 */
gboolean pipesim_program_check_order(
	const PipesimProgram *program, PipesimLocate locate, gpointer data, GError **error);

/** pipesim_program_successors: the edges turned round, in the same form; both arrays are the
 * caller's. Returns FALSE with PIPESIM_ERROR_LIMIT where memory does not suffice. */
gboolean pipesim_program_successors(
	const PipesimProgram *program, guint32 **begin, guint32 **successors, GError **error);

/** pipesim_op_print: appends "0F7" or "(0F7;7B13)OVERLAP_F_B". */
void pipesim_op_print(const PipesimOp *op, GString *out);

/** pipesim_kind_letter: "F", "I", "W", "B", "FB". */
const char *pipesim_kind_letter(PipesimKind kind);

G_DEFINE_AUTOPTR_CLEANUP_FUNC(PipesimProgram, pipesim_program_free)
