#include "config.h"

#include "order/emit.h"
#include <string.h>

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
	gpointer grown;

	if (n < *room)
		return TRUE;
	grown = n < MAX_VERBS ? g_try_realloc_n(*array, 2 * (gsize)n + 64, size) : NULL;
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
	if (!out->in_loop && !(rank_has_loop && last_loop(out)->count == 1) &&
		!begin_loop(out, 1))
		return;
	if (!grow(out, (gpointer *)&order->verbs, order->n_verbs, &out->verbs_size,
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
			"the order does not fit in memory (at most %u verbs); take fewer ranks "
			"or micro-batches",
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

/* The number that micro-batch @number of @chunk of the padded order has in the trimmed one;
 * FALSE where there is none. */
static gboolean renumber(
	const PipesimOrder *padded, const PipesimShape *shape, guint chunk, guint32 *number)
{
	const guint wide = pipesim_shape_per_chunk(&padded->shape);
	const guint narrow = pipesim_shape_per_chunk(shape);
	const guint index = shape->copies > 1 ? *number - chunk * wide : *number;

	*number = shape->copies > 1 ? chunk * narrow + index : index;
	return index < narrow;
}

static void emit_trimmed(PipesimEmitter *out, const PipesimOrder *padded, PipesimOp op)
{
	const PipesimShape *shape = &out->order->shape;
	const gboolean first = renumber(padded, shape, op.chunk, &op.microbatch);
	const gboolean second =
		op.kind == PIPESIM_FB && renumber(padded, shape, op.b_chunk, &op.b_microbatch);

	if (op.kind == PIPESIM_FB && first != second) {
		/* Half a pair is that op alone. */
		op = first ? (PipesimOp){.microbatch = op.microbatch,
				     .kind = PIPESIM_F,
				     .chunk = op.chunk}
			   : (PipesimOp){.microbatch = op.b_microbatch,
				     .kind = PIPESIM_B,
				     .chunk = op.b_chunk};
	}
	if (first || second)
		pipesim_emit(out, &op);
}

PipesimOrder *pipesim_order_trim(
	const PipesimOrder *padded, const PipesimShape *shape, GError **error)
{
	PipesimEmitter out = {.order = new_order(shape, error)};

	if (out.order == NULL)
		return NULL;
	for (guint rank = 0; rank < shape->ranks && !out.too_long; rank++) {
		guint64 n;
		g_autofree PipesimOp *ops = pipesim_order_expand_rank(padded, rank, &n, error);

		if (ops == NULL)
			return finish(&out, FALSE, NULL);
		pipesim_emit_rank(&out, rank);
		for (guint64 i = 0; i < n; i++) {
			pipesim_phase(&out, g_ptr_array_index(padded->phases, ops[i].phase));
			emit_trimmed(&out, padded, ops[i]);
		}
	}
	return finish(&out, TRUE, error);
}
