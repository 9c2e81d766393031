/* Completeness of a program, and which op runs what. */
#include "config.h"

#include "order/fault.h"

typedef struct {
	PipesimProgram *program;
	/* By stage * M + micro-batch; forward and backward become the program's own. */
	guint32 *forward, *backward, *weight;
	PipesimFaultPlaces places;
} Linker;

static void record(Linker *linker, guint32 index, guint32 *table, const char *letter, gsize at)
{
	const PipesimProgram *program = linker->program;

	if (table[at] == PIPESIM_NO_OP)
		table[at] = index;
	else
		pipesim_fault(&linker->places, index,
			"stage %u runs %s of micro-batch %u twice (ranks %u and %u); each once",
			(guint)(at / program->shape.microbatches), letter,
			(guint)(at % program->shape.microbatches),
			pipesim_program_rank(program, table[at]),
			pipesim_program_rank(program, index));
}

static void record_rank(Linker *linker, guint rank)
{
	const PipesimProgram *program = linker->program;

	for (guint32 i = program->rank_begin[rank]; i < program->rank_begin[rank + 1]; i++) {
		const PipesimOp *op = &program->ops[i];

		if (pipesim_op_has_forward(op))
			record(linker, i, linker->forward, "F",
				pipesim_op_forward_slot(program, rank, op));
		if (pipesim_op_has_backward(op))
			record(linker, i, linker->backward, "I or B",
				pipesim_op_backward_slot(program, rank, op));
		if (op->kind == PIPESIM_W)
			record(linker, i, linker->weight, "W or B",
				pipesim_op_forward_slot(program, rank, op));
	}
}

static void check_pairing(Linker *linker, gsize at)
{
	const guint m = linker->program->shape.microbatches;
	const guint stage = (guint)(at / m), microbatch = (guint)(at % m);
	const guint32 forward = linker->forward[at], backward = linker->backward[at],
		      weight = linker->weight[at];
	const gboolean split =
		backward != PIPESIM_NO_OP && linker->program->ops[backward].kind == PIPESIM_I;

	if (forward == PIPESIM_NO_OP)
		pipesim_fault(&linker->places, backward != PIPESIM_NO_OP ? backward : weight,
			"no %uF%u: stage %u never runs the forward of micro-batch %u", stage,
			microbatch, stage, microbatch);
	if (backward == PIPESIM_NO_OP)
		pipesim_fault(&linker->places, forward,
			"no %uB%u or %uI%u: stage %u never runs the backward of micro-batch %u",
			stage, microbatch, stage, microbatch, stage, microbatch);
	if (split && weight == PIPESIM_NO_OP)
		pipesim_fault(&linker->places, backward,
			"no %uW%u: %uI%u needs a backward for weights after it", stage,
			microbatch, stage, microbatch);
	if (!split && backward != PIPESIM_NO_OP && weight != PIPESIM_NO_OP)
		pipesim_fault(&linker->places, weight,
			"%uW%u beside %uB%u: B is the full backward; write I and W, or B alone",
			stage, microbatch, stage, microbatch);
}

static void explain_place(Linker *linker, guint32 before, guint32 after)
{
	const PipesimProgram *program = linker->program;
	const guint before_rank = pipesim_program_rank(program, before);
	const guint after_rank = pipesim_program_rank(program, after);
	g_autoptr(GString) text = g_string_new(NULL);

	pipesim_op_print(program, after_rank, &program->ops[after], text);
	if (before_rank != after_rank) {
		g_string_append_printf(text, " on rank %u belongs to rank %u, which runs ",
			after_rank, before_rank);
		pipesim_op_print(program, before_rank, &program->ops[before], text);
	} else {
		g_string_append(text, before == after
					      ? " overlaps itself: its halves are of one "
						"micro-batch; pair different ones"
					      : " stands before ");
		if (before != after) {
			pipesim_op_print(program, before_rank, &program->ops[before], text);
			g_string_append(text, ", which it needs; put it after");
		}
	}
	pipesim_fault(&linker->places, after, "%s", text->str);
}

/* What is on one rank must stand there in an order that can run. @begin and @end are that
 * rank's ops, or those of the rank of the op before. */
static void check_place(Linker *linker, guint32 before, guint32 after, guint32 end)
{
	if (before == PIPESIM_NO_OP || after == PIPESIM_NO_OP)
		return;
	if (after <= before || after >= end)
		explain_place(linker, before, after);
}

/* Where the rank of @op ends: forwards of one stage stand on one rank nearly always. */
static guint32 end_of_rank(const PipesimProgram *program, guint32 op, guint *rank)
{
	if (op == PIPESIM_NO_OP)
		return 0;
	if (op < program->rank_begin[*rank] || op >= program->rank_begin[*rank + 1])
		*rank = pipesim_program_rank(program, op);
	return program->rank_begin[*rank + 1];
}

static void check_all(Linker *linker)
{
	const PipesimProgram *program = linker->program;
	const gsize n = (gsize)program->shape.stages * program->shape.microbatches;
	guint rank = 0;

	for (gsize at = 0; at < n; at++) {
		const guint32 forward = linker->forward[at], backward = linker->backward[at],
			      weight = linker->weight[at];
		guint32 end;

		/* What nearly every slot is: nothing to say. */
		if (forward == PIPESIM_NO_OP || backward == PIPESIM_NO_OP ||
			(program->ops[backward].kind == PIPESIM_I) != (weight != PIPESIM_NO_OP))
			check_pairing(linker, at);
		end = end_of_rank(
			program, forward != PIPESIM_NO_OP ? forward : backward, &rank);
		check_place(linker, forward, backward, end);
		check_place(linker, backward, weight, end);
	}
}

static guint32 *new_table(gsize n)
{
	guint32 *table = g_try_new(guint32, n);

	for (gsize i = 0; table != NULL && i < n; i++)
		table[i] = PIPESIM_NO_OP;
	return table;
}

static gboolean fill_tables(Linker *linker, GError **error)
{
	const PipesimShape *shape = &linker->program->shape;
	const gsize n = (gsize)shape->stages * shape->microbatches;

	linker->forward = new_table(n);
	linker->backward = new_table(n);
	linker->weight = new_table(n);
	if (linker->forward == NULL || linker->backward == NULL || linker->weight == NULL)
		return pipesim_fail(error, PIPESIM_ERROR_LIMIT,
			"%u stages of %u micro-batches do not fit in memory", shape->stages,
			shape->microbatches);
	for (guint rank = 0; rank < shape->ranks; rank++)
		record_rank(linker, rank);
	return TRUE;
}

gboolean pipesim_program_link(
	PipesimProgram *program, PipesimLocate locate, gpointer data, GError **error)
{
	g_autoptr(PipesimFaults) faults = pipesim_faults_new();
	Linker linker = {.program = program, .places = {faults, locate, data}};
	gboolean ok = fill_tables(&linker, error);

	if (ok) {
		check_all(&linker);
		ok = pipesim_faults_done(faults, error);
	}
	g_free(linker.weight);
	program->forward = linker.forward;
	program->backward = linker.backward;
	return ok;
}
