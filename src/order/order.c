#include "order/order.h"
#include <stddef.h>

PIPESIM_DESTROYS(PipesimOrder, clear, order)
{
	pipesim_free_all(order->verbs, order->loops, order->rank_begin);
	g_clear_pointer(&order->phases, g_ptr_array_unref);
	g_free(order->note);
	pipesim_program_unref(order->program);
}

PipesimOrder *pipesim_order_ref(const PipesimOrder *order)
{
	return order != NULL ? g_atomic_rc_box_acquire((gpointer)order) : NULL;
}

void pipesim_order_unref(PipesimOrder *order)
{
	if (order != NULL)
		g_atomic_rc_box_release_full(order, clear);
}

PipesimOrder *pipesim_order_of_program(const PipesimProgram *program)
{
	PipesimOrder *order = g_atomic_rc_box_new0(PipesimOrder);

	order->shape = program->shape;
	order->n_ops = program->n_ops;
	order->program = pipesim_program_ref(program);
	return order;
}

gboolean pipesim_order_has_pairs(const PipesimOrder *order)
{
	return pipesim_any(v, order->n_verbs, order->verbs[v].kind == PIPESIM_FB) ||
	       (order->program != NULL && pipesim_program_has_pairs(order->program));
}

PipesimOrder *pipesim_order_split_pairs(const PipesimOrder *order)
{
	const guint ranks = order->shape.ranks;
	PipesimOrder *split = g_atomic_rc_box_new0(PipesimOrder);
	/* By verb: where it stands among those of the new order. */
	g_autofree guint32 *at = g_new(guint32, (gsize)order->n_verbs + 1);

	split->shape = order->shape;
	split->is_closed = order->is_closed;
	split->phases = g_ptr_array_ref(order->phases);
	split->verbs = g_new(PipesimOp, MAX(2 * (gsize)order->n_verbs, 1u));
	for (guint32 v = 0; v < order->n_verbs; v++) {
		PipesimOp op = order->verbs[v];

		at[v] = split->n_verbs;
		if (op.kind == PIPESIM_FB) {
			split->verbs[split->n_verbs++] =
				(PipesimOp){.microbatch = op.microbatch,
					.kind = PIPESIM_F,
					.chunk = op.chunk,
					.phase = op.phase};
			op = (PipesimOp){.microbatch = op.b_microbatch,
				.kind = PIPESIM_B,
				.chunk = op.b_chunk,
				.phase = op.phase};
		}
		split->verbs[split->n_verbs++] = op;
	}
	at[order->n_verbs] = split->n_verbs;
	split->n_loops = order->n_loops;
	split->loops = g_memdup2(order->loops, order->n_loops * sizeof *order->loops);
	split->rank_begin =
		g_memdup2(order->rank_begin, ((gsize)ranks + 1) * sizeof *order->rank_begin);
	for (guint32 l = 0; l < split->n_loops; l++) {
		PipesimLoop *loop = &split->loops[l];
		const guint32 end = at[loop->first + loop->n];

		loop->first = at[loop->first];
		loop->n = end - loop->first;
		split->n_ops += (guint64)loop->n * loop->count;
	}
	return split;
}

/* Op by op, by counting -------------------------------------------------------------------- */

/* A chunk of the rank at hand. Counters are 64 bits wide so that a compiler sees that what is
 * written to the tables of 32 bits does not change them. */
typedef struct {
	guint32 *forward, *backward; /* of the program, from its first micro-batch on */
	guint64 first;               /* its first micro-batch */
	guint64 n_forward, n_backward;
	guint64 oldest; /* no I of it without W comes before this op */
} Chunk;

typedef struct {
	const PipesimOrder *order;
	PipesimProgram *program;
	Chunk *chunks;
	guint64 at; /* the op that comes next */
	guint64 per_chunk, slices, oldest, n_inputs, n_weights;
	guint64 ok;
} Expander;

static inline guint32 put_forward(Expander *x, guint chunk)
{
	Chunk *c = &x->chunks[chunk];
	const guint64 n = c->n_forward++;

	if (G_UNLIKELY(n >= x->per_chunk)) {
		x->ok = FALSE;
		return 0;
	}
	c->forward[n] = (guint32)x->at;
	return (guint32)(c->first + n);
}

static inline guint32 put_backward(Expander *x, guint chunk, guint32 number)
{
	Chunk *c = &x->chunks[chunk];
	const guint64 count = c->n_backward++;
	guint64 n = number == PIPESIM_LAST ? x->per_chunk - 1 - count : count;

	/* Micro-batch after micro-batch, each from its last slice to its first. */
	if (x->slices > 1 && number != PIPESIM_LAST)
		n += x->slices - 1 - 2 * (count % x->slices);

	/* Its forward has run: those count up. */
	if (G_UNLIKELY(count >= x->per_chunk || n >= c->n_forward)) {
		x->ok = FALSE;
		return 0;
	}
	c->backward[n] = (guint32)x->at;
	return (guint32)(c->first + n);
}

/* The next I from *@oldest on, of @only or of all chunks. */
static void put_weight(Expander *x, guint only, guint64 *oldest, PipesimOp *op)
{
	const PipesimOp *ops = x->program->ops;

	for (; *oldest < x->at; ++*oldest) {
		const PipesimOp *input = &ops[*oldest];

		if (input->kind != PIPESIM_I ||
			(only != PIPESIM_OLDEST && input->chunk != only))
			continue;
		op->chunk = input->chunk;
		op->microbatch = input->microbatch;
		++*oldest;
		x->n_weights++;
		return;
	}
	x->ok = FALSE;
}

/* Field by field: copying an op of which one field has just been written would wait for it. */
static inline void put(Expander *x, const PipesimOp *verb, PipesimOp *out)
{
	memcpy(&out->kind, &verb->kind, sizeof *out - offsetof(PipesimOp, kind));
	out->b_microbatch = 0;
	switch ((PipesimKind)verb->kind) {
	case PIPESIM_FB:
		out->b_microbatch = put_backward(x, verb->b_chunk, verb->b_microbatch);
		G_GNUC_FALLTHROUGH;
	case PIPESIM_F:
		out->microbatch = put_forward(x, verb->chunk);
		break;
	case PIPESIM_I:
	case PIPESIM_B:
		x->n_inputs += verb->kind == PIPESIM_I;
		out->microbatch = put_backward(x, verb->chunk, verb->microbatch);
		break;
	case PIPESIM_W:
		put_weight(x, verb->chunk,
			verb->chunk == PIPESIM_OLDEST ? &x->oldest
						      : &x->chunks[verb->chunk].oldest,
			out);
		break;
	case PIPESIM_N_KINDS:
		g_assert_not_reached();
	}
	x->at++;
}

/* FALSE where @rank has not all that it should. */
static gboolean expand_rank(Expander *x, guint rank, GError **error)
{
	const PipesimOrder *order = x->order;
	const PipesimShape *shape = &order->shape;

	x->ok = TRUE;
	x->oldest = x->at;
	x->n_inputs = x->n_weights = 0;
	for (guint chunk = 0; chunk < shape->chunks; chunk++) {
		const guint64 first = shape->copies > 1 ? chunk * x->per_chunk : 0;
		const guint32 stage = x->program->stage_of[(gsize)rank * shape->chunks + chunk];
		const gsize slot = (gsize)stage * shape->microbatches + first;

		x->chunks[chunk] = (Chunk){
			.forward = x->program->forward + slot,
			.backward = x->program->backward + slot,
			.first = first,
			.oldest = x->at,
		};
	}
	pipesim_each_of (l, order->rank_begin, rank) {
		const PipesimLoop *loop = &order->loops[l];
		const PipesimOp *verbs = &order->verbs[loop->first];

		for (guint32 round = 0; round < loop->count && x->ok; round++)
			for (guint32 v = 0; v < loop->n; v++)
				put(x, &verbs[v], &x->program->ops[x->at]);
	}
	x->ok &= x->n_weights == x->n_inputs;
	for (guint chunk = 0; chunk < shape->chunks; chunk++)
		x->ok &= x->chunks[chunk].n_forward == x->per_chunk &&
			 x->chunks[chunk].n_backward == x->per_chunk;
	return x->ok || pipesim_fail(error, PIPESIM_ERROR_INCOMPLETE,
				"the generator does not give rank %u every micro-batch exactly "
				"once, forward before backward (%u ranks, %u micro-batches); "
				"this is a fault of pipesim, please report it",
				rank, shape->ranks, shape->microbatches);
}

/* Fills @program, which has room for every op of the closed @order, and links it: completeness
 * and what comes before what follow from the counts, so that nothing has to be looked for
 * afterwards. */
static gboolean expand_counted(
	const PipesimOrder *order, PipesimProgram *program, GError **error)
{
	const gsize n = (gsize)order->shape.stages * order->shape.microbatches;
	g_autofree Chunk *chunks = g_new(Chunk, order->shape.chunks);
	Expander x = {
		.order = order,
		.program = program,
		.chunks = chunks,
		.per_chunk = pipesim_shape_per_chunk(&order->shape),
		.slices = pipesim_shape_slices(&order->shape),
	};

	program->forward = g_try_new(guint32, n);
	program->backward = g_try_new(guint32, n);
	if (program->forward == NULL || program->backward == NULL)
		return pipesim_fail(error, PIPESIM_ERROR_LIMIT,
			"%u stages of %u micro-batches do not fit in memory",
			order->shape.stages, order->shape.microbatches);
	for (guint rank = 0; rank < order->shape.ranks; rank++) {
		if (!expand_rank(&x, rank, error))
			return FALSE;
		program->rank_begin[rank + 1] = (guint32)x.at;
	}
	program->n_ops = (guint)x.at;
	return TRUE;
}

PipesimProgram *pipesim_order_expand(const PipesimOrder *order, GError **error)
{
	g_autoptr(PipesimProgram) program = NULL;

	if (order->program != NULL)
		return pipesim_program_ref(order->program);
	program = pipesim_program_new(&order->shape, order->n_ops, error);
	if (program == NULL)
		return NULL;
	g_ptr_array_unref(program->phases);
	program->phases = g_ptr_array_ref(order->phases);
	if (order->is_closed)
		return expand_counted(order, program, error) ? g_steal_pointer(&program) : NULL;
	/* Micro-batches have their numbers. */
	for (guint rank = 0; rank < order->shape.ranks; rank++) {
		pipesim_each_of (l, order->rank_begin, rank) {
			const PipesimLoop *loop = &order->loops[l];

			for (guint32 i = 0; i < loop->n * loop->count; i++)
				program->ops[program->n_ops++] =
					order->verbs[loop->first + i % loop->n];
		}
		program->rank_begin[rank + 1] = program->n_ops;
	}
	if (!pipesim_program_link(program, NULL, NULL, error))
		return NULL;
	return g_steal_pointer(&program);
}
