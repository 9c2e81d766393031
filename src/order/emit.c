#include "order/emit.h"

struct _PipesimEmitter {
	PipesimOrder *order;
	guint32 verbs_size, loops_size; /* room in the order's arrays */
	guint n_ranks;                  /* that have begun */
	guint8 phase;
	gboolean in_loop;
	gboolean too_long; /* more verbs than fit: the rest is dropped */
};

/* Most verbs of an order: 400 MB. Loops are not unrolled, so that only orders found by search
 * come near. */
#define MAX_VERBS (1u << 25)

static PipesimLoop *last_loop(PipesimEmitter *out)
{
	return &out->order->loops[out->order->n_loops - 1];
}

/* Room for one more element of @size bytes in @array. */
static gboolean grow(PipesimEmitter *out, gpointer *array, guint32 n, guint32 *room, gsize size)
{
	if (n < *room)
		return TRUE;
	gpointer grown =
		n < MAX_VERBS ? g_try_realloc_n(*array, 2 * (gsize)n + 64, size) : NULL;
	if (grown == NULL) {
		out->too_long = TRUE;
		return FALSE;
	}
	*array = grown;
	*room = 2 * n + 64;
	return TRUE;
}

static gboolean begin_loop(PipesimEmitter *out, guint count)
{
	PipesimOrder *order = out->order;

	if (!grow(out, (gpointer *)&order->loops, order->n_loops, &out->loops_size,
		    sizeof *order->loops))
		return FALSE;
	order->loops[order->n_loops++] = (PipesimLoop){order->n_verbs, 0, count};
	return TRUE;
}

static void append(PipesimEmitter *out, PipesimOp verb)
{
	PipesimOrder *order = out->order;
	const gboolean rank_has_loop = order->n_loops > order->rank_begin[out->n_ranks - 1];

	/* Verbs outside of loops gather in one that runs once. */
	if ((!out->in_loop && !(rank_has_loop && last_loop(out)->count == 1) &&
		    !begin_loop(out, 1)) ||
		!grow(out, (gpointer *)&order->verbs, order->n_verbs, &out->verbs_size,
			sizeof *order->verbs))
		return;
	verb.phase = out->phase;
	last_loop(out)->n++;
	order->verbs[order->n_verbs++] = verb;
	/* Those of a loop are counted when it ends. */
	if (!out->in_loop)
		order->n_ops++;
}

gboolean pipesim_repeat_begin(PipesimEmitter *out, guint n)
{
	g_return_val_if_fail(!out->in_loop, FALSE);
	out->in_loop = n > 0 && begin_loop(out, n);
	return out->in_loop;
}

gboolean pipesim_repeat_end(PipesimEmitter *out)
{
	PipesimLoop *loop = last_loop(out);

	out->in_loop = FALSE;
	out->order->n_ops += (guint64)loop->n * loop->count;
	if (loop->n == 0)
		out->order->n_loops--;
	return FALSE;
}

void pipesim_phase(PipesimEmitter *out, const char *name)
{
	GPtrArray *phases = out->order->phases;
	guint index;

	for (index = 0; index < phases->len; index++)
		if (strcmp(g_ptr_array_index(phases, index), name) == 0)
			break;
	if (index == phases->len && index < G_MAXUINT8)
		g_ptr_array_add(phases, g_strdup(name));
	out->phase = (guint8)MIN(index, G_MAXUINT8 - 1);
}

void pipesim_note(PipesimEmitter *out, const char *text)
{
	g_free(out->order->note);
	out->order->note = g_strdup(text);
}

void pipesim_emit_counted(PipesimEmitter *out, PipesimKind kind, guint chunk, guint32 number)
{
	append(out,
		(PipesimOp){
			.microbatch = number, .kind = (guint8)kind, .chunk = (guint8)chunk});
}

void pipesim_overlap(PipesimEmitter *out, guint f_chunk, guint b_chunk)
{
	append(out, (PipesimOp){
			    .microbatch = PIPESIM_NEXT,
			    .b_microbatch = PIPESIM_NEXT,
			    .kind = PIPESIM_FB,
			    .chunk = (guint8)f_chunk,
			    .b_chunk = (guint8)b_chunk,
		    });
}

void pipesim_emit(PipesimEmitter *out, const PipesimOp *op)
{
	out->order->is_closed = FALSE;
	append(out, *op);
}

static void end_rank(PipesimEmitter *out)
{
	if (out->n_ranks > 0)
		out->order->rank_begin[out->n_ranks] = out->order->n_loops;
}

void pipesim_emit_rank(PipesimEmitter *out, guint rank)
{
	g_return_if_fail(rank == out->n_ranks && rank < out->order->shape.ranks);
	end_rank(out);
	out->n_ranks++;
	out->phase = 0;
}

static PipesimOrder *new_order(const PipesimShape *shape, GError **error)
{
	g_autoptr(PipesimOrder) order = g_atomic_rc_box_new0(PipesimOrder);

	order->shape = *shape;
	order->is_closed = TRUE;
	order->phases = g_ptr_array_new_with_free_func(g_free);
	g_ptr_array_add(order->phases, g_strdup(""));
	order->rank_begin = g_try_new0(guint32, (gsize)shape->ranks + 1);
	if (order->rank_begin != NULL)
		return g_steal_pointer(&order);
	pipesim_fail(error, PIPESIM_ERROR_LIMIT, "%u ranks do not fit in memory", shape->ranks);
	return NULL;
}

static PipesimOrder *finish(PipesimEmitter *out, gboolean ok, GError **error)
{
	end_rank(out);
	if (ok && out->too_long)
		ok = pipesim_fail(error, PIPESIM_ERROR_LIMIT,
			"the order does not fit in memory (at most %u ops, counting a loop "
			"once); use fewer ranks or micro-batches",
			MAX_VERBS);
	if (ok)
		return out->order;
	pipesim_order_unref(out->order);
	return NULL;
}

PipesimOrder *pipesim_order_generate(
	const PipesimShape *shape, PipesimGenerate generate, GError **error)
{
	PipesimEmitter out = {.order = new_order(shape, error)};

	if (out.order == NULL)
		return NULL;
	for (guint rank = 0; rank < shape->ranks && !out.too_long; rank++) {
		pipesim_emit_rank(&out, rank);
		generate(shape, rank, &out);
		/* Ranks are much alike: where the first ones are so long that all together are
		 * far beyond what fits, the others are not waited for. */
		out.too_long |= (guint64)out.order->n_verbs / out.n_ranks * shape->ranks >
				16 * (guint64)MAX_VERBS;
	}
	return finish(&out, TRUE, error);
}

PipesimOrder *pipesim_order_plan(
	const PipesimShape *shape, PipesimPlan plan, const PipesimTimes *times, GError **error)
{
	PipesimEmitter out = {.order = new_order(shape, error)};

	if (out.order == NULL)
		return NULL;
	return finish(&out, plan(shape, times, &out, error), error);
}

/* Trimming. ------------------------------------------------------------------------------------ */

typedef struct {
	guint32 ordinal; /* among the I of the rank */
	PipesimOp input;
} Pending;

/* One rank of a padded order, of which most verbs may name micro-batches that do not exist.
 * Rounds of a loop without any that does are leapt over: the work grows with what is left, not
 * with the padding. */
typedef struct {
	PipesimEmitter *out;
	const PipesimOrder *padded;
	guint32 wide, narrow;        /* micro-batches of a chunk, before and after */
	guint32 *forward, *backward; /* of each chunk, passed so far */
	guint32 n_inputs, n_weights; /* passed so far */
	GArray *pending;             /* Pending: I that are left, and from @head on have no W */
	guint head;
} Trimmer;

/* The number in the trimmed order of the micro-batch that a verb with @number takes, after
 * @passed ones of its @chunk; FALSE where there is none. */
static gboolean renumber(const Trimmer *x, guint32 *number, guint chunk, guint32 passed)
{
	const guint32 index = *number == PIPESIM_LAST ? x->wide - 1 - passed : passed;

	*number = index + (x->out->order->shape.copies > 1 ? chunk * x->narrow : 0);
	return index < x->narrow;
}

/* At least so many uses of its chunk come before one that is left. */
static guint32 uses_before(const Trimmer *x, guint32 number, guint32 passed)
{
	if (number == PIPESIM_LAST)
		return x->wide - passed > x->narrow ? x->wide - passed - x->narrow : 0;
	return passed < x->narrow ? 0 : G_MAXUINT32;
}

static guint32 verbs_before(const Trimmer *x, const PipesimOp *verb)
{
	switch ((PipesimKind)verb->kind) {
	case PIPESIM_FB:
		return MIN(uses_before(x, verb->microbatch, x->forward[verb->chunk]),
			uses_before(x, verb->b_microbatch, x->backward[verb->b_chunk]));
	case PIPESIM_F:
		return uses_before(x, verb->microbatch, x->forward[verb->chunk]);
	case PIPESIM_I:
	case PIPESIM_B:
		return uses_before(x, verb->microbatch, x->backward[verb->chunk]);
	case PIPESIM_W:
		return x->head < x->pending->len
			       ? g_array_index(x->pending, Pending, x->head).ordinal -
					 x->n_weights
			       : G_MAXUINT32;
	case PIPESIM_N_KINDS:
		break;
	}
	g_assert_not_reached();
}

static void pass(Trimmer *x, const PipesimOp *verb, guint32 rounds)
{
	if (verb->kind == PIPESIM_F || verb->kind == PIPESIM_FB)
		x->forward[verb->chunk] += rounds;
	if (pipesim_op_has_backward(verb))
		x->backward[verb->kind == PIPESIM_FB ? verb->b_chunk : verb->chunk] += rounds;
	x->n_inputs += verb->kind == PIPESIM_I ? rounds : 0;
	x->n_weights += verb->kind == PIPESIM_W ? rounds : 0;
}

static void trim_verb(Trimmer *x, const PipesimOp *verb)
{
	PipesimOp op = *verb;
	gboolean first, second = FALSE;

	if (op.kind == PIPESIM_W) {
		first = verbs_before(x, verb) == 0;
		if (first) {
			op = g_array_index(x->pending, Pending, x->head++).input;
			op.kind = PIPESIM_W;
		}
	} else {
		first = renumber(x, &op.microbatch, op.chunk,
			pipesim_op_has_backward(verb) && op.kind != PIPESIM_FB
				? x->backward[op.chunk]
				: x->forward[op.chunk]);
		second = op.kind == PIPESIM_FB &&
			 renumber(x, &op.b_microbatch, op.b_chunk, x->backward[op.b_chunk]);
	}
	if (first && op.kind == PIPESIM_I)
		g_array_append_vals(x->pending, &(Pending){x->n_inputs, op}, 1);
	pass(x, verb, 1);
	if (op.kind == PIPESIM_FB && first != second) {
		/* Half a pair is that op alone. */
		op = first ? (PipesimOp){.microbatch = op.microbatch,
				     .kind = PIPESIM_F,
				     .chunk = op.chunk}
			   : (PipesimOp){.microbatch = op.b_microbatch,
				     .kind = PIPESIM_B,
				     .chunk = op.b_chunk};
	}
	x->out->phase = verb->phase;
	if (first || second)
		pipesim_emit(x->out, &op);
}

static void trim_loop(Trimmer *x, const PipesimLoop *loop)
{
	const PipesimOp *verbs = &x->padded->verbs[loop->first];

	for (guint32 round = 0; round < loop->count; round++) {
		guint32 before = G_MAXUINT32;

		for (guint32 v = 0; v < loop->n; v++)
			before = MIN(before, verbs_before(x, &verbs[v]));
		/* A round uses a chunk at most twice a verb. */
		before = MIN(before / (2 * loop->n), loop->count - round);
		for (guint32 v = 0; v < loop->n && before > 0; v++)
			pass(x, &verbs[v], before);
		round += before;
		for (guint32 v = 0; v < loop->n && round < loop->count; v++)
			trim_verb(x, &verbs[v]);
	}
}

PipesimOrder *pipesim_order_trim(
	const PipesimOrder *padded, const PipesimShape *shape, GError **error)
{
	PipesimEmitter out = {.order = new_order(shape, error)};
	Trimmer x = {
		.out = &out,
		.padded = padded,
		.wide = pipesim_shape_per_chunk(&padded->shape),
		.narrow = pipesim_shape_per_chunk(shape),
	};

	if (out.order == NULL)
		return NULL;
	g_ptr_array_unref(out.order->phases);
	out.order->phases = g_ptr_array_ref(padded->phases);
	x.forward = g_new(guint32, 2 * (gsize)shape->chunks);
	x.backward = x.forward + shape->chunks;
	x.pending = g_array_new(FALSE, FALSE, sizeof(Pending));
	for (guint rank = 0; rank < shape->ranks && !out.too_long; rank++) {
		memset(x.forward, 0, 2 * (gsize)shape->chunks * sizeof *x.forward);
		g_array_set_size(x.pending, 0);
		x.n_inputs = x.n_weights = x.head = 0;
		pipesim_emit_rank(&out, rank);
		for (guint32 l = padded->rank_begin[rank]; l < padded->rank_begin[rank + 1];
			l++)
			trim_loop(&x, &padded->loops[l]);
	}
	g_array_unref(x.pending);
	g_free(x.forward);
	return finish(&out, TRUE, error);
}
