#include "config.h"

#include "program/program.h"

PipesimProgram *pipesim_program_new(const PipesimShape *shape, guint max_ops, GError **error)
{
	PipesimProgram *program = g_new0(PipesimProgram, 1);

	program->shape = *shape;
	program->ops = g_try_new(PipesimOp, MAX(max_ops, 1u));
	program->rank_begin = g_try_new0(guint32, (gsize)shape->ranks + 1);
	program->phases = g_ptr_array_new_with_free_func(g_free);
	g_ptr_array_add(program->phases, g_strdup(""));
	if (program->ops == NULL || program->rank_begin == NULL) {
		pipesim_fail(error, PIPESIM_ERROR_LIMIT,
			"%u ops of %u ranks do not fit in memory; take fewer of either",
			max_ops, shape->ranks);
		pipesim_program_free(program);
		return NULL;
	}
	return program;
}

void pipesim_program_free(PipesimProgram *program)
{
	if (program == NULL)
		return;
	g_free(program->ops);
	g_free(program->rank_begin);
	g_free(program->input_begin);
	g_free(program->inputs);
	g_ptr_array_unref(program->phases);
	g_free(program);
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

void pipesim_op_print(const PipesimOp *op, GString *out)
{
	if (op->kind != PIPESIM_FB) {
		print_cell(out, op->stage, pipesim_kind_letter(op->kind)[0], op->microbatch);
		return;
	}
	g_string_append_c(out, '(');
	print_cell(out, op->stage, 'F', op->microbatch);
	g_string_append_c(out, ';');
	print_cell(out, op->b_stage, 'B', op->b_microbatch);
	g_string_append(out, ")OVERLAP_F_B");
}

gboolean pipesim_program_successors(
	const PipesimProgram *program, guint32 **begin, guint32 **successors, GError **error)
{
	const guint32 n_edges = program->input_begin[program->n_ops];
	guint32 *first = g_try_new0(guint32, (gsize)program->n_ops + 2);
	guint32 *list = g_try_new(guint32, MAX(n_edges, 1u));

	if (first == NULL || list == NULL) {
		g_free(first);
		g_free(list);
		return pipesim_fail(error, PIPESIM_ERROR_LIMIT,
			"%u dependencies do not fit in memory; take fewer ranks or "
			"micro-batches",
			n_edges);
	}
	/* Counting sort by producer, one place ahead so that filling leaves the offsets right.
	 */
	for (guint32 e = 0; e < n_edges; e++)
		first[program->inputs[e] + 2]++;
	for (guint i = 2; i <= program->n_ops; i++)
		first[i] += first[i - 1];
	for (guint op = 0; op < program->n_ops; op++)
		for (guint32 e = program->input_begin[op]; e < program->input_begin[op + 1];
			e++)
			list[first[program->inputs[e] + 1]++] = op;
	*begin = first;
	*successors = list;
	return TRUE;
}
