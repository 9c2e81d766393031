/* Overlapped pairs taken apart. */
#include "config.h"

#include "order/program.h"

static guint count_pairs(const PipesimProgram *program)
{
	guint n = 0;

	for (guint32 op = 0; op < program->n_ops; op++)
		n += program->ops[op].kind == PIPESIM_FB;
	return n;
}

static void copy_op(const PipesimOp *op, PipesimProgram *split)
{
	PipesimOp *out = &split->ops[split->n_ops++];

	*out = *op;
	if (op->kind != PIPESIM_FB)
		return;
	*out = (PipesimOp){.microbatch = op->microbatch,
		.kind = PIPESIM_F,
		.chunk = op->chunk,
		.phase = op->phase};
	split->ops[split->n_ops++] = (PipesimOp){.microbatch = op->b_microbatch,
		.kind = PIPESIM_B,
		.chunk = op->b_chunk,
		.phase = op->phase};
}

PipesimProgram *pipesim_program_split_pairs(const PipesimProgram *program, GError **error)
{
	const PipesimShape *shape = &program->shape;
	g_autoptr(PipesimProgram) split = pipesim_program_new(
		shape, (guint64)program->n_ops + count_pairs(program), error);

	if (split == NULL)
		return NULL;
	for (gsize i = 0; i < (gsize)shape->ranks * shape->chunks; i++)
		split->stage_of[i] = program->stage_of[i];
	g_ptr_array_unref(split->phases);
	split->phases = g_ptr_array_ref(program->phases);
	for (guint rank = 0; rank < shape->ranks; rank++) {
		for (guint32 op = program->rank_begin[rank]; op < program->rank_begin[rank + 1];
			op++)
			copy_op(&program->ops[op], split);
		split->rank_begin[rank + 1] = split->n_ops;
	}
	return pipesim_program_link(split, NULL, NULL, error) ? g_steal_pointer(&split) : NULL;
}
