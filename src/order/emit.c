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
	return pipesim_fail_null(
		error, PIPESIM_ERROR_LIMIT, "%u ranks do not fit in memory", shape->ranks);
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

/* One rank of a padded order, of which verbs may name micro-batches that do not exist. */
typedef struct {
	PipesimEmitter *out;
	const PipesimOrder *padded;
	guint32 narrow;              /* micro-batches of a chunk that there are */
	guint32 *forward, *backward; /* of each chunk, passed so far */
	GByteArray *inputs;          /* by I passed so far: whether it is left */
	guint n_weights;             /* passed so far */
} Trimmer;

/* What may be left of a pair. */
enum {
	FIRST = 1,
	SECOND = 2,
};

/* What is left of @verb, which is passed. */
static guint8 pass(Trimmer *x, const PipesimOp *verb)
{
	guint8 left = 0;

	if (verb->kind == PIPESIM_W)
		return x->inputs->data[x->n_weights++];
	if (pipesim_op_has_forward(verb) && x->forward[verb->chunk]++ < x->narrow)
		left |= FIRST;
	if (pipesim_op_has_backward(verb) &&
		x->backward[pipesim_op_backward_chunk(verb)]++ < x->narrow)
		left |= verb->kind == PIPESIM_FB ? SECOND : FIRST;
	if (verb->kind == PIPESIM_I)
		g_byte_array_append(x->inputs, &left, 1);
	return left;
}

/* What is @left of the @n @verbs. */
static void put_left(Trimmer *x, const PipesimOp *verbs, guint32 n, const guint8 *left)
{
	for (guint32 v = 0; v < n; v++) {
		PipesimOp op = verbs[v];

		/* Half a pair is that op alone. */
		if (op.kind == PIPESIM_FB && left[v] == FIRST)
			op = (PipesimOp){.microbatch = op.microbatch,
				.kind = PIPESIM_F,
				.chunk = op.chunk};
		else if (op.kind == PIPESIM_FB && left[v] == SECOND)
			op = (PipesimOp){.microbatch = op.b_microbatch,
				.kind = PIPESIM_B,
				.chunk = op.b_chunk};
		x->out->phase = verbs[v].phase;
		if (left[v] > 0)
			append(x->out, op);
	}
}

/* @rounds of which all is left. */
static void put_whole(Trimmer *x, const PipesimOp *verbs, guint32 n, guint32 rounds)
{
	g_autofree guint8 *every = g_new(guint8, n);

	memset(every, FIRST | SECOND, n);
	if (rounds == 1)
		put_left(x, verbs, n, every);
	else
		pipesim_repeat (x->out, rounds)
			put_left(x, verbs, n, every);
}

/* Rounds of which all is left stay a loop. */
static void trim_loop(Trimmer *x, const PipesimLoop *loop)
{
	const PipesimOp *verbs = &x->padded->verbs[loop->first];
	g_autofree guint8 *left = g_new(guint8, loop->n);
	guint32 whole = 0; /* rounds before this one */

	for (guint32 round = 0; round < loop->count; round++) {
		gboolean all = TRUE;

		for (guint32 v = 0; v < loop->n; v++) {
			left[v] = pass(x, &verbs[v]);
			all &= left[v] ==
			       (verbs[v].kind == PIPESIM_FB ? FIRST | SECOND : FIRST);
		}
		if (all) {
			whole++;
			continue;
		}
		put_whole(x, verbs, loop->n, whole);
		put_left(x, verbs, loop->n, left);
		whole = 0;
	}
	put_whole(x, verbs, loop->n, whole);
}

PipesimOrder *pipesim_order_trim(
	const PipesimOrder *padded, const PipesimShape *shape, GError **error)
{
	PipesimEmitter out = {.order = new_order(shape, error)};
	Trimmer x = {
		.out = &out,
		.padded = padded,
		.narrow = pipesim_shape_per_chunk(shape),
	};

	if (out.order == NULL)
		return NULL;
	g_ptr_array_unref(out.order->phases);
	out.order->phases = g_ptr_array_ref(padded->phases);
	x.forward = g_new(guint32, 2 * (gsize)shape->chunks);
	x.backward = x.forward + shape->chunks;
	x.inputs = g_byte_array_new();
	for (guint rank = 0; rank < shape->ranks && !out.too_long; rank++) {
		memset(x.forward, 0, 2 * (gsize)shape->chunks * sizeof *x.forward);
		g_byte_array_set_size(x.inputs, 0);
		x.n_weights = 0;
		pipesim_emit_rank(&out, rank);
		pipesim_each_of (l, padded->rank_begin, rank)
			trim_loop(&x, &padded->loops[l]);
	}
	g_byte_array_unref(x.inputs);
	g_free(x.forward);
	return finish(&out, TRUE, error);
}
