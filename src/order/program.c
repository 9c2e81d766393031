#include "order/program.h"

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
			" ops of %u ranks are too many to store (at most %u, as memory "
			"allows); use fewer ranks or micro-batches",
			max_ops, shape->ranks, PIPESIM_MAX_OPS);
		pipesim_program_unref(program);
		return NULL;
	}
	for (guint rank = 0; rank < shape->ranks && shape->placement != PIPESIM_FROM_FILE;
		rank++)
		for (guint chunk = 0; chunk < shape->chunks; chunk++)
			program->stage_of[(gsize)rank * shape->chunks + chunk] =
				pipesim_shape_stage(shape, rank, chunk);
	return program;
}

PIPESIM_DESTROYS(PipesimProgram, clear, program)
{
	pipesim_free_all(program->ops, program->rank_begin, program->stage_of, program->forward,
		program->backward);
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

gboolean pipesim_program_check_plain(
	const PipesimProgram *program, const char *option, GError **error)
{
	return !program->has_more ||
	       pipesim_fail(error, PIPESIM_ERROR_CONSTRAINT,
		       "orders with recomputation, copies or passes are simulated with "
		       "messages that arrive after P2P alone, one step at a time; leave out %s",
		       option);
}

const char *pipesim_kind_letter(PipesimKind kind)
{
	return pipesim_op_rows[kind].word;
}

/* Whole orders of millions of ops are printed: no format parsing here. Returns where the digits of
 * @value begin, which end before @end. */
static char *put_digits(char *end, guint value)
{
	do
		*--end = (char)('0' + value % 10);
	while ((value /= 10) > 0);
	return end;
}

/* An op beyond PipesimKind. */
static void print_more(
	const PipesimProgram *program, guint rank, const PipesimOp *op, GString *out)
{
	const PipesimOpRow *row = &pipesim_op_rows[op->kind];
	PipesimNumber unit;

	if (pipesim_op_is_barrier(op->kind)) {
		g_string_append(out, row->word);
		return;
	}
	g_string_append_printf(out, "%u%s%s",
		row->of_rank ? rank : pipesim_op_stage(program, rank, op), row->word,
		pipesim_shape_unit(&program->shape, op->microbatch, unit));
}

static void print_cell(GString *out, guint stage, char letter, guint unit, guint slices)
{
	char text[36];
	char *p = text + sizeof text;

	if (slices > 1) {
		p = put_digits(p, unit % slices);
		*--p = '.';
		unit /= slices;
	}
	p = put_digits(p, unit);
	*--p = letter;
	p = put_digits(p, stage);
	g_string_append_len(out, p, text + sizeof text - p);
}

void pipesim_op_print(
	const PipesimProgram *program, guint rank, const PipesimOp *op, GString *out)
{
	const guint stage = pipesim_op_stage(program, rank, op);
	const guint slices = pipesim_shape_slices(&program->shape);

	if (G_UNLIKELY(op->kind >= PIPESIM_N_KINDS)) {
		print_more(program, rank, op, out);
		return;
	}
	if (op->kind != PIPESIM_FB) {
		print_cell(
			out, stage, pipesim_kind_letter(op->kind)[0], op->microbatch, slices);
		return;
	}
	g_string_append_c(out, '(');
	print_cell(out, stage, 'F', op->microbatch, slices);
	g_string_append_c(out, ';');
	print_cell(out, pipesim_op_b_stage(program, rank, op), 'B', op->b_microbatch, slices);
	g_string_append(out, ")OVERLAP_F_B");
}

guint pipesim_program_rank(const PipesimProgram *program, guint32 index)
{
	return pipesim_rank_in(program->rank_begin, program->shape.ranks, index);
}

/* Completeness, and which op runs what. -------------------------------------------------------- */

void pipesim_fault(const PipesimFaultPlaces *places, guint32 index, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	GError *error = pipesim_error_new(PIPESIM_ERROR_INCOMPLETE, NULL, 0, 0, format, args);
	va_end(args);
	if (places->locate != NULL)
		places->locate(places->data, index, error);
	pipesim_faults_take(places->faults, error);
}

typedef struct {
	PipesimProgram *program;
	/* By stage * M + micro-batch; forward and backward become the program's own. */
	guint32 *forward, *backward, *weight;
	PipesimFaultPlaces places;
	gboolean has_more;
} Linker;

static void check_pairing(Linker *linker, gsize at)
{
	const guint m = linker->program->shape.microbatches;
	const guint stage = (guint)(at / m);
	PipesimNumber text;
	const char *unit = pipesim_shape_unit(&linker->program->shape, (guint)(at % m), text);
	const guint32 forward = linker->forward[at], backward = linker->backward[at],
		      weight = linker->weight[at];
	const gboolean split =
		backward != PIPESIM_NO_OP && linker->program->ops[backward].kind == PIPESIM_I;

	if (forward == PIPESIM_NO_OP)
		pipesim_fault(&linker->places, backward != PIPESIM_NO_OP ? backward : weight,
			"no %uF%s: stage %u never runs the forward of micro-batch %s", stage,
			unit, stage, unit);
	if (backward == PIPESIM_NO_OP)
		pipesim_fault(&linker->places, forward,
			"no %uB%s or %uI%s: stage %u never runs the backward of micro-batch %s",
			stage, unit, stage, unit, stage, unit);
	if (split && weight == PIPESIM_NO_OP)
		pipesim_fault(&linker->places, backward,
			"no %uW%s: %uI%s needs a backward for weights after it", stage, unit,
			stage, unit);
	if (!split && backward != PIPESIM_NO_OP && weight != PIPESIM_NO_OP)
		pipesim_fault(&linker->places, weight,
			"%uW%s beside %uB%s: B is the full backward; write I and W, or B alone",
			stage, unit, stage, unit);
}

/* What is on one rank must stand there in an order that can run. @end is that of the rank of
 * the op before. */
static void check_place(Linker *linker, guint32 before, guint32 after, guint32 end)
{
	const PipesimProgram *program = linker->program;

	if (before == PIPESIM_NO_OP || after == PIPESIM_NO_OP ||
		(after > before && after < end))
		return;
	guint before_rank = pipesim_program_rank(program, before);
	guint after_rank = pipesim_program_rank(program, after);
	g_autoptr(GString) text = g_string_new(NULL);
	pipesim_op_print(program, after_rank, &program->ops[after], text);
	if (before_rank != after_rank) {
		g_string_append_printf(text, " on rank %u belongs to rank %u, which runs ",
			after_rank, before_rank);
		pipesim_op_print(program, before_rank, &program->ops[before], text);
	} else {
		g_string_append(text, before == after ? " overlaps itself: its halves are of "
							"one micro-batch; pair different ones"
						      : " comes before ");
		if (before != after) {
			pipesim_op_print(program, before_rank, &program->ops[before], text);
			g_string_append(text, ", which it needs; put it after");
		}
	}
	pipesim_fault(&linker->places, after, "%s", text->str);
}

static void check_all(Linker *linker)
{
	const PipesimProgram *program = linker->program;
	const gsize n = (gsize)program->shape.stages * program->shape.microbatches;
	const guint slices = pipesim_shape_slices(&program->shape);
	guint rank = 0;

	for (gsize at = 0; at < n; at++) {
		const guint32 forward = linker->forward[at], backward = linker->backward[at],
			      weight = linker->weight[at];
		const guint32 op = forward != PIPESIM_NO_OP ? forward : backward;
		guint32 end = 0;

		/* What nearly every slot is: nothing to say. */
		if (forward == PIPESIM_NO_OP || backward == PIPESIM_NO_OP ||
			(program->ops[backward].kind == PIPESIM_I) != (weight != PIPESIM_NO_OP))
			check_pairing(linker, at);
		/* Where its rank ends: forwards of one stage stand on one rank nearly
		 * always. */
		if (op != PIPESIM_NO_OP) {
			if (op < program->rank_begin[rank] ||
				op >= program->rank_begin[rank + 1])
				rank = pipesim_program_rank(program, op);
			end = program->rank_begin[rank + 1];
		}
		check_place(linker, forward, backward, end);
		check_place(linker, backward, weight, end);
		/* A slice reads keys and values of those before it, and its gradients come from
		 * those behind it. */
		if (slices > 1 && at % slices > 0) {
			check_place(linker, linker->forward[at - 1], forward, end);
			check_place(linker, backward, linker->backward[at - 1], end);
		}
	}
}

static guint32 *new_table(gsize n)
{
	guint32 *table = g_try_new(guint32, n);

	if (table != NULL)
		memset(table, 0xff, n * sizeof *table); /* PIPESIM_NO_OP */
	return table;
}

/* Op @index into its place in @table, unless another one stands there. */
static inline void record(
	Linker *linker, guint32 index, guint32 *table, const char *letter, gsize at)
{
	const PipesimProgram *program = linker->program;
	const guint m = program->shape.microbatches;
	PipesimNumber text;

	if (table[at] == PIPESIM_NO_OP)
		table[at] = index;
	else
		pipesim_fault(&linker->places, index,
			"stage %u runs %s of micro-batch %s twice (ranks %u and %u); each once",
			(guint)(at / m), letter,
			pipesim_shape_unit(&program->shape, (guint)(at % m), text),
			pipesim_program_rank(program, table[at]),
			pipesim_program_rank(program, index));
}

static gboolean fill_tables(Linker *linker, GError **error)
{
	const PipesimProgram program = *linker->program; /* which no write changes */
	const PipesimShape *shape = &program.shape;
	const gsize n = (gsize)shape->stages * shape->microbatches;
	guint32 *forward = new_table(n), *backward = new_table(n), *weight = new_table(n);

	linker->forward = forward;
	linker->backward = backward;
	linker->weight = weight;
	if (forward == NULL || backward == NULL || weight == NULL)
		return pipesim_fail(error, PIPESIM_ERROR_LIMIT,
			"%u stages of %u micro-batches do not fit in memory", shape->stages,
			shape->microbatches);
	pipesim_each_rank_of (i, program.rank_begin, rank, shape->ranks) {
		const PipesimOp *op = &program.ops[i];

		if (pipesim_op_has_forward(op))
			record(linker, i, forward, "F",
				pipesim_op_forward_slot(&program, rank, op));
		if (pipesim_op_has_backward(op))
			record(linker, i, backward, "I or B",
				pipesim_op_backward_slot(&program, rank, op));
		if (op->kind == PIPESIM_W)
			record(linker, i, weight, "W or B",
				pipesim_op_forward_slot(&program, rank, op));
		linker->has_more |= op->kind >= PIPESIM_N_KINDS;
	}
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
		program->has_more = linker.has_more;
		ok = pipesim_faults_done(faults, error);
	}
	g_free(linker.weight);
	program->forward = linker.forward;
	program->backward = linker.backward;
	return ok;
}

/* Changed copies. ------------------------------------------------------------------------------ */

PipesimProgram *pipesim_program_copy(const PipesimProgram *program)
{
	const PipesimShape *shape = &program->shape;
	const gsize slots = (gsize)shape->stages * shape->microbatches;
	PipesimProgram *copy = pipesim_program_new(shape, program->n_ops, NULL);

	if (copy == NULL)
		return NULL;
	copy->n_ops = program->n_ops;
	copy->has_more = program->has_more;
	memcpy(copy->ops, program->ops, program->n_ops * sizeof *copy->ops);
	memcpy(copy->rank_begin, program->rank_begin,
		((gsize)shape->ranks + 1) * sizeof *copy->rank_begin);
	memcpy(copy->stage_of, program->stage_of,
		(gsize)shape->ranks * shape->chunks * sizeof *copy->stage_of);
	copy->forward = g_memdup2(program->forward, slots * sizeof *copy->forward);
	copy->backward = g_memdup2(program->backward, slots * sizeof *copy->backward);
	return copy;
}

/* Whether @op of @rank needs on its stage what @before, of the same rank, does. */
static gboolean needs(
	const PipesimProgram *program, guint rank, const PipesimOp *op, const PipesimOp *before)
{
	const guint slices = pipesim_shape_slices(&program->shape);
	const gsize forward = pipesim_op_forward_slot(program, rank, op),
		    backward = pipesim_op_backward_slot(program, rank, op),
		    last_forward = pipesim_op_forward_slot(program, rank, before),
		    last_backward = pipesim_op_backward_slot(program, rank, before);

	if (pipesim_op_has_forward(before) &&
		((pipesim_op_has_backward(op) && backward == last_forward) ||
			(pipesim_op_has_forward(op) && slices > 1 &&
				forward == last_forward + 1 && forward % slices > 0)))
		return TRUE;
	return pipesim_op_has_backward(before) &&
	       ((op->kind == PIPESIM_W && forward == last_backward) ||
		       (pipesim_op_has_backward(op) && slices > 1 &&
			       last_backward == backward + 1 && last_backward % slices > 0));
}

gboolean pipesim_program_exchange(PipesimProgram *program, guint rank, guint32 index)
{
	PipesimOp *ops = &program->ops[index];
	const PipesimOp first = ops[0];

	if (needs(program, rank, &ops[1], &first))
		return FALSE;
	ops[0] = ops[1];
	ops[1] = first;
	for (guint32 i = 0; i < 2; i++) {
		if (pipesim_op_has_forward(&ops[i]))
			program->forward[pipesim_op_forward_slot(program, rank, &ops[i])] =
				index + i;
		if (pipesim_op_has_backward(&ops[i]))
			program->backward[pipesim_op_backward_slot(program, rank, &ops[i])] =
				index + i;
	}
	return TRUE;
}

gboolean pipesim_program_has_pairs(const PipesimProgram *program)
{
	return pipesim_any(op, program->n_ops, program->ops[op].kind == PIPESIM_FB);
}

PipesimProgram *pipesim_program_split_pairs(const PipesimProgram *program, GError **error)
{
	const PipesimShape *shape = &program->shape;
	guint64 n_pairs = 0;

	for (guint32 i = 0; i < program->n_ops; i++)
		n_pairs += program->ops[i].kind == PIPESIM_FB;
	if (n_pairs == 0)
		return pipesim_program_ref(program);
	g_autoptr(PipesimProgram) split =
		pipesim_program_new(shape, program->n_ops + n_pairs, error);
	if (split == NULL)
		return NULL;
	memcpy(split->stage_of, program->stage_of,
		(gsize)shape->ranks * shape->chunks * sizeof *split->stage_of);
	g_ptr_array_unref(split->phases);
	split->phases = g_ptr_array_ref(program->phases);
	for (guint rank = 0; rank < shape->ranks; rank++) {
		pipesim_each_of (i, program->rank_begin, rank) {
			const PipesimOp *op = &program->ops[i];

			if (op->kind != PIPESIM_FB) {
				split->ops[split->n_ops++] = *op;
				continue;
			}
			split->ops[split->n_ops++] = (PipesimOp){.microbatch = op->microbatch,
				.kind = PIPESIM_F,
				.chunk = op->chunk,
				.phase = op->phase};
			split->ops[split->n_ops++] = (PipesimOp){.microbatch = op->b_microbatch,
				.kind = PIPESIM_B,
				.chunk = op->b_chunk,
				.phase = op->phase};
		}
		split->rank_begin[rank + 1] = split->n_ops;
	}
	return pipesim_program_link(split, NULL, NULL, error) ? g_steal_pointer(&split) : NULL;
}
