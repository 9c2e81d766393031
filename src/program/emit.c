#include "config.h"

#include "program/emit.h"
#include <string.h>

/* No schedule has more chunks or directions on a rank than this. */
#define MAX_CHUNKS 256

struct _PipesimEmitter {
	PipesimProgram *program;
	guint rank;
	guint16 phase;
	guint per_chunk; /* micro-batches that each chunk of this rank sees */
	guint forward[MAX_CHUNKS], backward[MAX_CHUNKS]; /* next micro-batch, from 0 */
	/* Inputs done whose weights are still to do, oldest first: ops [weight_next...] of kind
	 * I. */
	guint32 weight_next;
	guint n_inputs, n_weights;
	gboolean overrun; /* the schedule asked for a micro-batch that does not exist */
};

static guint first_microbatch(const PipesimEmitter *out, guint chunk)
{
	const PipesimShape *shape = &out->program->shape;

	return shape->placement == PIPESIM_BIDIRECTIONAL && chunk == 1 ? out->per_chunk : 0;
}

static PipesimOp *append(PipesimEmitter *out, PipesimKind kind, guint chunk)
{
	PipesimProgram *program = out->program;
	PipesimOp *op = &program->ops[program->n_ops++];

	*op = (PipesimOp){
		.rank = out->rank,
		.stage = pipesim_shape_stage(&program->shape, out->rank, chunk),
		.phase = out->phase,
		.kind = (guint8)kind,
		.direction = (guint8)chunk,
	};
	return op;
}

/* Takes the next number of a counter; remembers where the schedule goes too far. */
static gboolean take(PipesimEmitter *out, guint *counter, guint *number)
{
	if (*counter >= out->per_chunk) {
		out->overrun = TRUE;
		return FALSE;
	}
	*number = (*counter)++;
	return TRUE;
}

void pipesim_phase(PipesimEmitter *out, const char *name)
{
	GPtrArray *phases = out->program->phases;
	guint index;

	for (index = 0; index < phases->len; index++)
		if (strcmp(g_ptr_array_index(phases, index), name) == 0)
			break;
	if (index == phases->len)
		g_ptr_array_add(phases, g_strdup(name));
	out->phase = (guint16)index;
}

void pipesim_forward(PipesimEmitter *out, guint chunk)
{
	guint number;

	if (take(out, &out->forward[chunk], &number))
		append(out, PIPESIM_F, chunk)->microbatch =
			first_microbatch(out, chunk) + number;
}

void pipesim_backward(PipesimEmitter *out, guint chunk)
{
	guint number;

	if (take(out, &out->backward[chunk], &number))
		append(out, PIPESIM_B, chunk)->microbatch =
			first_microbatch(out, chunk) + number;
}

void pipesim_backward_input(PipesimEmitter *out, guint chunk)
{
	guint number;

	if (!take(out, &out->backward[chunk], &number))
		return;
	append(out, PIPESIM_I, chunk)->microbatch = first_microbatch(out, chunk) + number;
	out->n_inputs++;
}

void pipesim_weight(PipesimEmitter *out)
{
	PipesimProgram *program = out->program;
	const PipesimOp *input;
	PipesimOp *op;

	if (out->n_weights == out->n_inputs) {
		out->overrun = TRUE;
		return;
	}
	while (program->ops[out->weight_next].kind != PIPESIM_I)
		out->weight_next++;
	input = &program->ops[out->weight_next++];
	op = append(out, PIPESIM_W, input->direction);
	op->microbatch = input->microbatch;
	out->n_weights++;
}

void pipesim_overlap(PipesimEmitter *out, guint f_chunk, guint b_chunk)
{
	guint forward, backward;
	PipesimOp *op;

	if (!take(out, &out->forward[f_chunk], &forward) ||
		!take(out, &out->backward[b_chunk], &backward))
		return;
	op = append(out, PIPESIM_FB, f_chunk);
	op->microbatch = first_microbatch(out, f_chunk) + forward;
	op->b_stage = pipesim_shape_stage(&out->program->shape, out->rank, b_chunk);
	op->b_microbatch = first_microbatch(out, b_chunk) + backward;
}

static gboolean rank_is_complete(const PipesimEmitter *out)
{
	for (guint chunk = 0; chunk < out->program->shape.chunks; chunk++)
		if (out->forward[chunk] != out->per_chunk ||
			out->backward[chunk] != out->per_chunk)
			return FALSE;
	return !out->overrun && out->n_weights == out->n_inputs;
}

static gboolean generate_rank(
	PipesimProgram *program, guint rank, PipesimGenerate generate, GError **error)
{
	const PipesimShape *shape = &program->shape;
	PipesimEmitter out = {
		.program = program,
		.rank = rank,
		.per_chunk = shape->placement == PIPESIM_BIDIRECTIONAL ? shape->microbatches / 2
								       : shape->microbatches,
		.weight_next = program->n_ops,
	};

	generate(shape, rank, &out);
	program->rank_begin[rank + 1] = program->n_ops;
	if (rank_is_complete(&out))
		return TRUE;
	return pipesim_fail(error, PIPESIM_ERROR_INCOMPLETE,
		"the generator does not give rank %u every micro-batch exactly once (%u "
		"ranks, %u micro-batches); this is a fault of pipesim, please report it",
		rank, shape->ranks, shape->microbatches);
}

PipesimProgram *pipesim_program_generate(
	const PipesimShape *shape, PipesimGenerate generate, GError **error)
{
	g_autoptr(PipesimProgram) program = NULL;
	/* F, I and W of every chunk; a bidirectional one sees half of the micro-batches. */
	const guint max_ops = 3 * shape->stages * shape->microbatches;

	g_return_val_if_fail(shape->chunks <= MAX_CHUNKS, NULL);
	program = pipesim_program_new(shape, max_ops, error);
	if (program == NULL)
		return NULL;
	for (guint rank = 0; rank < shape->ranks; rank++)
		if (!generate_rank(program, rank, generate, error))
			return NULL;
	program->ops = g_realloc_n(program->ops, MAX(program->n_ops, 1u), sizeof *program->ops);
	if (!pipesim_program_link(program, NULL, NULL, error))
		return NULL;
	return g_steal_pointer(&program);
}
