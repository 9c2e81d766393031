#include "config.h"

#include "order/order.h"
#include <stddef.h>
#include <string.h>

static void clear(gpointer data)
{
	PipesimOrder *order = data;

	g_free(order->verbs);
	g_free(order->loops);
	g_free(order->rank_begin);
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

void pipesim_cursor_init(PipesimCursor *cursor, const PipesimOrder *order, guint rank)
{
	const guint chunks = order->shape.chunks;
	const PipesimPosition begin = {order->rank_begin[rank], 0, 0};

	*cursor = (PipesimCursor){
		.order = order,
		.rank = rank,
		.at = begin,
		.per_chunk = pipesim_shape_per_chunk(&order->shape),
		.forward = g_new0(guint32, 4 * (gsize)chunks),
		.oldest = begin,
		.oldest_of = g_new(PipesimPosition, chunks),
	};
	cursor->backward = cursor->forward + chunks;
	cursor->passed = cursor->backward + chunks;
	cursor->passed_of = cursor->passed + chunks;
	for (guint chunk = 0; chunk < chunks; chunk++)
		cursor->oldest_of[chunk] = begin;
}

void pipesim_cursor_clear(PipesimCursor *cursor)
{
	g_free(cursor->forward);
	g_free(cursor->oldest_of);
}

static const PipesimOp *verb_at(const PipesimOrder *order, const PipesimPosition *at)
{
	return &order->verbs[order->loops[at->loop].first + at->verb];
}

static void advance(const PipesimOrder *order, PipesimPosition *at)
{
	const PipesimLoop *loop = &order->loops[at->loop];

	if (++at->verb < loop->n)
		return;
	at->verb = 0;
	if (++at->round < loop->count)
		return;
	at->round = 0;
	at->loop++;
}

/* The number that the @count-th micro-batch of @chunk has, counting up or down. */
static guint32 number(PipesimCursor *cursor, guint32 verb_number, guint chunk, guint32 count)
{
	const PipesimShape *shape = &cursor->order->shape;
	const guint32 first = shape->copies > 1 ? chunk * cursor->per_chunk : 0;

	if (count >= cursor->per_chunk) {
		cursor->overrun = TRUE;
		return 0;
	}
	return verb_number == PIPESIM_LAST ? first + cursor->per_chunk - 1 - count
					   : first + count;
}

/* The first I at or after @at; counts the backwards that it passes, of @only or of all chunks
 * (PIPESIM_OLDEST). The I that is found counts as passed, its number is in @verb. */
static void find_input(PipesimCursor *cursor, PipesimPosition *at, guint only, PipesimOp *op)
{
	const PipesimOrder *order = cursor->order;

	/* An I stands before its W on the rank: the walk ends before the rank does. */
	for (;; advance(order, at)) {
		const PipesimOp *verb = verb_at(order, at);
		const guint chunk = verb->kind == PIPESIM_FB ? verb->b_chunk : verb->chunk;
		guint32 *passed;

		if (!pipesim_op_has_backward(verb) || (only != PIPESIM_OLDEST && chunk != only))
			continue;
		passed = only == PIPESIM_OLDEST ? &cursor->passed[chunk]
						: &cursor->passed_of[chunk];
		op->chunk = (guint8)chunk;
		op->microbatch = number(cursor, verb->microbatch, chunk, (*passed)++);
		if (verb->kind == PIPESIM_I)
			break;
	}
	advance(order, at);
}

static void resolve(PipesimCursor *cursor, PipesimOp *op)
{
	const guint only = op->chunk; /* of a W */

	/* A number of its own. */
	if (op->microbatch < PIPESIM_LAST)
		return;
	switch ((PipesimKind)op->kind) {
	case PIPESIM_FB:
		op->b_microbatch = number(
			cursor, op->b_microbatch, op->b_chunk, cursor->backward[op->b_chunk]++);
		G_GNUC_FALLTHROUGH;
	case PIPESIM_F:
		op->microbatch =
			number(cursor, op->microbatch, op->chunk, cursor->forward[op->chunk]++);
		break;
	case PIPESIM_I:
	case PIPESIM_B:
		cursor->n_inputs += op->kind == PIPESIM_I;
		op->microbatch = number(
			cursor, op->microbatch, op->chunk, cursor->backward[op->chunk]++);
		break;
	case PIPESIM_W:
		if (cursor->n_weights++ >= cursor->n_inputs)
			cursor->overrun = TRUE;
		else if (only == PIPESIM_OLDEST)
			find_input(cursor, &cursor->oldest, only, op);
		else if (cursor->passed_of[only] >= cursor->backward[only])
			cursor->overrun = TRUE;
		else
			find_input(cursor, &cursor->oldest_of[only], only, op);
		break;
	case PIPESIM_N_KINDS:
		g_assert_not_reached();
	}
}

gboolean pipesim_cursor_next(PipesimCursor *cursor, PipesimOp *op)
{
	const PipesimOrder *order = cursor->order;

	if (cursor->at.loop == order->rank_begin[cursor->rank + 1])
		return FALSE;
	*op = *verb_at(order, &cursor->at);
	advance(order, &cursor->at);
	resolve(cursor, op);
	return !cursor->overrun;
}

gboolean pipesim_cursor_complete(const PipesimCursor *cursor)
{
	if (cursor->overrun || cursor->n_weights != cursor->n_inputs)
		return FALSE;
	for (guint chunk = 0; chunk < cursor->order->shape.chunks; chunk++)
		if (cursor->forward[chunk] != cursor->per_chunk ||
			cursor->backward[chunk] != cursor->per_chunk)
			return FALSE;
	return TRUE;
}

/* Op by op, by counting. ----------------------------------------------------------------------- */

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

/* Whether @rank has all that it should. */
static gboolean expand_rank_counted(Expander *x, guint rank)
{
	const PipesimOrder *order = x->order;
	const PipesimShape *shape = &order->shape;
	PipesimOp *ops = x->program->ops;

	x->oldest = x->at;
	x->n_inputs = x->n_weights = 0;
	for (guint chunk = 0; chunk < shape->chunks; chunk++) {
		const guint32 first = shape->copies > 1 ? chunk * x->per_chunk : 0;
		const guint32 stage = x->program->stage_of[(gsize)rank * shape->chunks + chunk];
		const gsize slot = (gsize)stage * shape->microbatches + first;

		x->chunks[chunk] = (Chunk){
			.forward = x->program->forward + slot,
			.backward = x->program->backward + slot,
			.first = first,
			.oldest = x->at,
		};
	}
	for (guint32 l = order->rank_begin[rank]; l < order->rank_begin[rank + 1]; l++) {
		const PipesimLoop *loop = &order->loops[l];
		const PipesimOp *verbs = &order->verbs[loop->first];

		for (guint32 round = 0; round < loop->count && x->ok; round++)
			for (guint32 v = 0; v < loop->n; v++)
				put(x, &verbs[v], &ops[x->at]);
	}
	x->program->rank_begin[rank + 1] = (guint32)x->at;
	if (!x->ok || x->n_weights != x->n_inputs)
		return FALSE;
	for (guint chunk = 0; chunk < shape->chunks; chunk++)
		if (x->chunks[chunk].n_forward != x->per_chunk ||
			x->chunks[chunk].n_backward != x->per_chunk)
			return FALSE;
	return TRUE;
}

/* Fills @program, which has room for every op of the closed @order, and links it: completeness and
 * what stands before what follow from the counts, so that nothing has to be looked for afterwards.
 * FALSE where the order is not complete or memory does not suffice; @program is then as it was, and
 * expanding op by op says what is wrong. */
static gboolean expand_counted(const PipesimOrder *order, PipesimProgram *program)
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
		x.ok = expand_rank_counted(&x, rank);
	program->n_ops = (guint)x.at;
	g_free(x.chunks);
	if (x.ok)
		return TRUE;
	g_clear_pointer(&program->forward, g_free);
	g_clear_pointer(&program->backward, g_free);
	program->n_ops = 0;
	return FALSE;
}

/* Op by op, by walking. ------------------------------------------------------------------------ */

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
	if (order->is_closed && expand_counted(order, program))
		return g_steal_pointer(&program);
	for (guint rank = 0; rank < order->shape.ranks; rank++) {
		PipesimCursor cursor;
		PipesimOp op;
		gboolean ok;

		pipesim_cursor_init(&cursor, order, rank);
		while (pipesim_cursor_next(&cursor, &op))
			program->ops[program->n_ops++] = op;
		ok = order->is_closed ? pipesim_cursor_complete(&cursor) : !cursor.overrun;
		pipesim_cursor_clear(&cursor);
		program->rank_begin[rank + 1] = program->n_ops;
		if (!ok) {
			pipesim_fail(error, PIPESIM_ERROR_INCOMPLETE,
				"the generator does not give rank %u every micro-batch exactly "
				"once (%u ranks, %u micro-batches); this is a fault of "
				"pipesim, please report it",
				rank, order->shape.ranks, order->shape.microbatches);
			return NULL;
		}
	}
	if (!pipesim_program_link(program, NULL, NULL, error))
		return NULL;
	return g_steal_pointer(&program);
}
