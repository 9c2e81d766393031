#include "config.h"

#include "order/program.h"
#include <string.h>

static void place_stages(PipesimProgram *program)
{
	const PipesimShape *shape = &program->shape;

	if (shape->placement == PIPESIM_FROM_FILE)
		return;
	for (guint rank = 0; rank < shape->ranks; rank++)
		for (guint chunk = 0; chunk < shape->chunks; chunk++)
			program->stage_of[(gsize)rank * shape->chunks + chunk] =
				pipesim_shape_stage(shape, rank, chunk);
}

PipesimProgram *pipesim_program_new(const PipesimShape *shape, guint64 max_ops, GError **error)
{
	PipesimProgram *program = g_atomic_rc_box_new0(PipesimProgram);

	program->shape = *shape;
	program->phases = g_ptr_array_new_with_free_func(g_free);
	g_ptr_array_add(program->phases, g_strdup(""));
	if (max_ops <= PIPESIM_MAX_OPS) {
		program->ops = g_try_new(PipesimOp, MAX(max_ops, 1u));
		program->rank_begin = g_try_new0(guint32, (gsize)shape->ranks + 1);
		program->stage_of = g_try_new(guint32, (gsize)shape->ranks * shape->chunks);
	}
	if (program->ops == NULL || program->rank_begin == NULL || program->stage_of == NULL) {
		pipesim_fail(error, PIPESIM_ERROR_LIMIT,
			"%" G_GUINT64_FORMAT
			" ops of %u ranks are too many to keep one by one (at most %u, as "
			"memory allows); take fewer ranks or micro-batches",
			max_ops, shape->ranks, PIPESIM_MAX_OPS);
		pipesim_program_unref(program);
		return NULL;
	}
	place_stages(program);
	return program;
}

static void clear(gpointer data)
{
	PipesimProgram *program = data;

	g_free(program->ops);
	g_free(program->rank_begin);
	g_free(program->stage_of);
	g_free(program->forward);
	g_free(program->backward);
	g_ptr_array_unref(program->phases);
}

PipesimProgram *pipesim_program_ref(const PipesimProgram *program)
{
	return program != NULL ? g_atomic_rc_box_acquire((gpointer)program) : NULL;
}

void pipesim_program_unref(PipesimProgram *program)
{
	if (program != NULL)
		g_atomic_rc_box_release_full(program, clear);
}

const char *pipesim_kind_letter(PipesimKind kind)
{
	static const char *const letters[PIPESIM_N_KINDS] = {"F", "I", "W", "B", "FB"};

	return letters[kind];
}

/* Whole orders of millions of ops are printed: no format parsing here. */
static void print_cell(GString *out, guint stage, char letter, guint microbatch)
{
	char text[24];
	char *p = text + sizeof text;
	guint value = microbatch;

	do
		*--p = (char)('0' + value % 10);
	while ((value /= 10) > 0);
	*--p = letter;
	value = stage;
	do
		*--p = (char)('0' + value % 10);
	while ((value /= 10) > 0);
	g_string_append_len(out, p, text + sizeof text - p);
}

void pipesim_op_print(
	const PipesimProgram *program, guint rank, const PipesimOp *op, GString *out)
{
	const guint stage = pipesim_op_stage(program, rank, op);

	if (op->kind != PIPESIM_FB) {
		print_cell(out, stage, pipesim_kind_letter(op->kind)[0], op->microbatch);
		return;
	}
	g_string_append_c(out, '(');
	print_cell(out, stage, 'F', op->microbatch);
	g_string_append_c(out, ';');
	print_cell(out, pipesim_op_b_stage(program, rank, op), 'B', op->b_microbatch);
	g_string_append(out, ")OVERLAP_F_B");
}

guint pipesim_program_rank(const PipesimProgram *program, guint32 index)
{
	const guint32 *first = program->rank_begin; /* of the ranks that it may be */

	/* Without a branch that the processor would have to guess. */
	for (guint n = program->shape.ranks; n > 1; n -= n / 2)
		first += first[n / 2] <= index ? n / 2 : 0;
	return (guint)(first - program->rank_begin);
}

/* Changed copies. ------------------------------------------------------------------------------ */

PipesimProgram *pipesim_program_exchanged(const PipesimProgram *program, guint32 index)
{
	const PipesimShape *shape = &program->shape;
	g_autoptr(PipesimProgram) copy = pipesim_program_new(shape, program->n_ops, NULL);

	if (copy == NULL)
		return NULL;
	copy->n_ops = program->n_ops;
	memcpy(copy->ops, program->ops, program->n_ops * sizeof *copy->ops);
	memcpy(copy->rank_begin, program->rank_begin,
		((gsize)shape->ranks + 1) * sizeof *copy->rank_begin);
	memcpy(copy->stage_of, program->stage_of,
		(gsize)shape->ranks * shape->chunks * sizeof *copy->stage_of);
	copy->ops[index] = program->ops[index + 1];
	copy->ops[index + 1] = program->ops[index];
	return pipesim_program_link(copy, NULL, NULL, NULL) ? g_steal_pointer(&copy) : NULL;
}

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
