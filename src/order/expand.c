/* Orders whose micro-batches count, op by op. Counting shows on the way that they are complete,
 * so that nothing has to be looked for afterwards. */
#include "config.h"

#include "order/expand.h"
#include <stddef.h>
#include <string.h>

/* A chunk of the rank at hand. Counters are 64 bits wide so that a compiler sees that what is
 * written to the tables of 32 bits does not change them. */
typedef struct {
	guint32 *forward, *backward; /* of the program, from its first micro-batch on */
	guint64 first;               /* its first micro-batch */
	guint64 n_forward, n_backward;
	guint64 oldest; /* no I of it without W stands before this op */
} Chunk;

typedef struct {
	const PipesimOrder *order;
	PipesimProgram *program;
	Chunk *chunks;
	guint64 at; /* the op that comes next */
	guint64 per_chunk, oldest, n_inputs, n_weights;
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
	const guint64 n = number == PIPESIM_LAST ? x->per_chunk - 1 - count : count;

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

static void begin_rank(Expander *x, guint rank)
{
	const PipesimShape *shape = &x->order->shape;

	x->oldest = x->at;
	x->n_inputs = x->n_weights = 0;
	for (guint chunk = 0; chunk < shape->chunks; chunk++) {
		const guint32 first = shape->copies > 1 ? chunk * x->per_chunk : 0;
		const gsize slot =
			(gsize)x->program->stage_of[(gsize)rank * shape->chunks + chunk] *
				shape->microbatches +
			first;

		x->chunks[chunk] = (Chunk){
			.forward = x->program->forward + slot,
			.backward = x->program->backward + slot,
			.first = first,
			.oldest = x->at,
		};
	}
}

static gboolean is_complete(const Expander *x)
{
	if (!x->ok || x->n_weights != x->n_inputs)
		return FALSE;
	for (guint chunk = 0; chunk < x->order->shape.chunks; chunk++)
		if (x->chunks[chunk].n_forward != x->per_chunk ||
			x->chunks[chunk].n_backward != x->per_chunk)
			return FALSE;
	return TRUE;
}

static gboolean expand_rank(Expander *x, guint rank)
{
	const PipesimOrder *order = x->order;
	PipesimOp *ops = x->program->ops;

	begin_rank(x, rank);
	for (guint32 l = order->rank_begin[rank]; l < order->rank_begin[rank + 1]; l++) {
		const PipesimLoop *loop = &order->loops[l];
		const PipesimOp *verbs = &order->verbs[loop->first];

		for (guint32 round = 0; round < loop->count && x->ok; round++)
			for (guint32 v = 0; v < loop->n; v++)
				put(x, &verbs[v], &ops[x->at]);
	}
	x->program->rank_begin[rank + 1] = (guint32)x->at;
	return is_complete(x);
}

gboolean pipesim_expand_counted(const PipesimOrder *order, PipesimProgram *program)
{
	const gsize n = (gsize)order->shape.stages * order->shape.microbatches;
	Expander x = {
		.order = order,
		.program = program,
		.chunks = g_new(Chunk, order->shape.chunks),
		.per_chunk = pipesim_shape_per_chunk(&order->shape),
		.ok = TRUE,
	};

	program->forward = g_try_new(guint32, n);
	program->backward = g_try_new(guint32, n);
	x.ok = program->forward != NULL && program->backward != NULL;
	for (guint rank = 0; rank < order->shape.ranks && x.ok; rank++)
		x.ok = expand_rank(&x, rank);
	program->n_ops = (guint)x.at;
	g_free(x.chunks);
	if (x.ok)
		return TRUE;
	g_clear_pointer(&program->forward, g_free);
	g_clear_pointer(&program->backward, g_free);
	program->n_ops = 0;
	return FALSE;
}
