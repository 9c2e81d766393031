/* Completeness of a program, and its edges. */
#include "config.h"

#include "program/program.h"

/* The op that does each part of a (stage, micro-batch); B stands for both backward and weight.
 */
typedef enum {
	FORWARD,
	BACKWARD,
	WEIGHT,
	N_PARTS,
} Part;

typedef struct {
	PipesimProgram *program;
	guint32 *op[N_PARTS]; /* [stage * M + micro-batch] */
	PipesimLocate locate;
	gpointer data;
	PipesimFaults *faults;
} Linker;

static gsize slot(const Linker *linker, guint stage, guint microbatch)
{
	return (gsize)stage * linker->program->shape.microbatches + microbatch;
}

static void fault(Linker *linker, guint32 op, const char *format, ...) G_GNUC_PRINTF(3, 4);
static void fault(Linker *linker, guint32 op, const char *format, ...)
{
	GError *error = NULL;
	g_autofree char *message = NULL;
	va_list args;

	va_start(args, format);
	message = g_strdup_vprintf(format, args);
	va_end(args);
	pipesim_fail(&error, PIPESIM_ERROR_INCOMPLETE, "%s", message);
	if (linker->locate != NULL)
		linker->locate(linker->data, op, error);
	pipesim_faults_take(linker->faults, error);
}

static void record(Linker *linker, guint32 index, Part part, guint stage, guint microbatch)
{
	static const char *const letter[N_PARTS] = {"F", "I or B", "W or B"};
	guint32 *entry = &linker->op[part][slot(linker, stage, microbatch)];

	if (*entry == PIPESIM_NO_OP)
		*entry = index;
	else
		fault(linker, index,
			"stage %u runs %s of micro-batch %u twice (ranks %u and %u); each once",
			stage, letter[part], microbatch, linker->program->ops[*entry].rank,
			linker->program->ops[index].rank);
}

static void record_op(Linker *linker, guint32 index)
{
	const PipesimOp *op = &linker->program->ops[index];
	const gboolean pair = op->kind == PIPESIM_FB;
	const guint stage = pair ? op->b_stage : op->stage;
	const guint microbatch = pair ? op->b_microbatch : op->microbatch;

	if (op->kind == PIPESIM_F || pair)
		record(linker, index, FORWARD, op->stage, op->microbatch);
	if (op->kind == PIPESIM_I || op->kind == PIPESIM_B || pair)
		record(linker, index, BACKWARD, stage, microbatch);
	if (op->kind == PIPESIM_W)
		record(linker, index, WEIGHT, stage, microbatch);
}

static void check_pairing(
	Linker *linker, guint stage, guint microbatch, const guint32 op[N_PARTS])
{
	const gboolean split = op[BACKWARD] != PIPESIM_NO_OP &&
			       linker->program->ops[op[BACKWARD]].kind == PIPESIM_I;

	if (op[FORWARD] == PIPESIM_NO_OP)
		fault(linker, op[BACKWARD] != PIPESIM_NO_OP ? op[BACKWARD] : op[WEIGHT],
			"no %uF%u: stage %u never runs the forward of micro-batch %u", stage,
			microbatch, stage, microbatch);
	if (op[BACKWARD] == PIPESIM_NO_OP)
		fault(linker, op[FORWARD],
			"no %uB%u or %uI%u: stage %u never runs the backward of micro-batch %u",
			stage, microbatch, stage, microbatch, stage, microbatch);
	if (split && op[WEIGHT] == PIPESIM_NO_OP)
		fault(linker, op[BACKWARD],
			"no %uW%u: %uI%u needs a backward for weights after it", stage,
			microbatch, stage, microbatch);
	if (!split && op[BACKWARD] != PIPESIM_NO_OP && op[WEIGHT] != PIPESIM_NO_OP)
		fault(linker, op[WEIGHT],
			"%uW%u beside %uB%u: B is the full backward; write I and W, or B alone",
			stage, microbatch, stage, microbatch);
}

/* What is on one rank must stand there in an order that can run. */
static void check_place(Linker *linker, guint32 before, guint32 after)
{
	const PipesimOp *ops = linker->program->ops;
	g_autoptr(GString) text = NULL;

	if (before == PIPESIM_NO_OP || after == PIPESIM_NO_OP ||
		(ops[before].rank == ops[after].rank && before < after))
		return;
	text = g_string_new(NULL);
	pipesim_op_print(&ops[after], text);
	if (ops[before].rank != ops[after].rank) {
		g_string_append_printf(text, " on rank %u belongs to rank %u, which runs ",
			ops[after].rank, ops[before].rank);
		pipesim_op_print(&ops[before], text);
	} else {
		g_string_append(text, before == after
					      ? " overlaps itself: its halves are of one "
						"micro-batch; pair different ones"
					      : " stands before ");
		if (before != after) {
			pipesim_op_print(&ops[before], text);
			g_string_append(text, ", which it needs; put it after");
		}
	}
	fault(linker, after, "%s", text->str);
}

static void check_all(Linker *linker)
{
	const PipesimShape *shape = &linker->program->shape;

	for (guint stage = 0; stage < shape->stages; stage++) {
		for (guint microbatch = 0; microbatch < shape->microbatches; microbatch++) {
			const gsize i = slot(linker, stage, microbatch);
			const guint32 op[N_PARTS] = {linker->op[FORWARD][i],
				linker->op[BACKWARD][i], linker->op[WEIGHT][i]};

			check_pairing(linker, stage, microbatch, op);
			check_place(linker, op[FORWARD], op[BACKWARD]);
			check_place(linker, op[BACKWARD], op[WEIGHT]);
		}
	}
}

/* Inputs of the forward half, then of the backward half. Returns how many. */
static guint inputs_of(const Linker *linker, const PipesimOp *op, guint32 inputs[3])
{
	const gboolean pair = op->kind == PIPESIM_FB;
	const guint stage = pair ? op->b_stage : op->stage;
	const guint microbatch = pair ? op->b_microbatch : op->microbatch;
	guint n = 0;

	if ((op->kind == PIPESIM_F || pair) && op->stage > 0)
		inputs[n++] = linker->op[FORWARD][slot(linker, op->stage - 1, op->microbatch)];
	if (op->kind == PIPESIM_W)
		inputs[n++] = linker->op[BACKWARD][slot(linker, stage, microbatch)];
	if (op->kind == PIPESIM_I || op->kind == PIPESIM_B || pair) {
		inputs[n++] = linker->op[FORWARD][slot(linker, stage, microbatch)];
		if (stage + 1 < linker->program->shape.stages)
			inputs[n++] = linker->op[BACKWARD][slot(linker, stage + 1, microbatch)];
	}
	return n;
}

static gboolean derive_edges(Linker *linker, GError **error)
{
	PipesimProgram *program = linker->program;
	guint32 n = 0;

	program->input_begin = g_try_new(guint32, (gsize)program->n_ops + 1);
	program->inputs = g_try_new(guint32, (gsize)program->n_ops * 3 + 1);
	if (program->input_begin == NULL || program->inputs == NULL)
		return pipesim_fail(error, PIPESIM_ERROR_LIMIT,
			"edges of %u ops do not fit in memory; take fewer ranks or "
			"micro-batches",
			program->n_ops);
	for (guint i = 0; i < program->n_ops; i++) {
		program->input_begin[i] = n;
		n += inputs_of(linker, &program->ops[i], &program->inputs[n]);
	}
	program->input_begin[program->n_ops] = n;
	program->inputs = g_realloc_n(program->inputs, MAX(n, 1u), sizeof *program->inputs);
	return TRUE;
}

static gboolean fill_tables(Linker *linker, GError **error)
{
	const PipesimShape *shape = &linker->program->shape;
	const gsize n = (gsize)shape->stages * shape->microbatches;

	for (int part = 0; part < N_PARTS; part++) {
		linker->op[part] = g_try_new(guint32, n);
		if (linker->op[part] == NULL)
			return pipesim_fail(error, PIPESIM_ERROR_LIMIT,
				"%u stages of %u micro-batches do not fit in memory",
				shape->stages, shape->microbatches);
		for (gsize i = 0; i < n; i++)
			linker->op[part][i] = PIPESIM_NO_OP;
	}
	for (guint i = 0; i < linker->program->n_ops; i++)
		record_op(linker, i);
	return TRUE;
}

gboolean pipesim_program_link(
	PipesimProgram *program, PipesimLocate locate, gpointer data, GError **error)
{
	g_autoptr(PipesimFaults) faults = pipesim_faults_new();
	Linker linker = {.program = program, .locate = locate, .data = data, .faults = faults};
	gboolean ok = fill_tables(&linker, error);

	if (ok) {
		check_all(&linker);
		ok = pipesim_faults_done(faults, error) && derive_edges(&linker, error);
	}
	for (int part = 0; part < N_PARTS; part++)
		g_free(linker.op[part]);
	return ok;
}
