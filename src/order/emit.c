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

/* One rank of a padded order, of which most verbs may name micro-batches that do not exist.
 * Rounds of a loop without any that does are leapt over, and those of which all verbs do stay a
 * loop: the work grows with neither. */
typedef struct {
	PipesimEmitter *out;
	const PipesimOrder *padded;
	guint32 wide, narrow;        /* micro-batches of a chunk, before and after */
	guint32 *forward, *backward; /* of each chunk, passed so far */
	guint32 n_inputs, n_weights; /* passed so far */
	guint32 *
		in_round; /* forwards of each chunk in a round of the loop, backwards of each, and weights */
	GArray *pending; /* guint32: which I of the rank are left, and from @head on have no W */
	guint head;
} Trimmer;

/* Whether the micro-batch is left that a verb with @number takes, after @passed ones of its chunk. */
static gboolean is_left(const Trimmer *x, guint32 number, guint32 passed)
{
	return (number == PIPESIM_LAST ? x->wide - 1 - passed : passed) < x->narrow;
}

/* At least so many uses of its chunk come before one that is left. */
static guint32 uses_before(const Trimmer *x, guint32 number, guint32 passed)
{
	if (number == PIPESIM_LAST)
		return x->wide - passed > x->narrow ? x->wide - passed - x->narrow : 0;
	return passed < x->narrow ? 0 : G_MAXUINT32;
}

/* So many uses of its chunk at least are left from here on. */
static guint32 uses_left(const Trimmer *x, guint32 number, guint32 passed)
{
	if (!is_left(x, number, passed))
		return 0;
	return number == PIPESIM_LAST ? G_MAXUINT32 : x->narrow - passed;
}

typedef guint32 (*Uses)(const Trimmer *x, guint32 number, guint32 passed);

/* So many rounds go by before @uses of the forwards of a chunk, or of its backwards, are over. */
static guint32 rounds_of(
	const Trimmer *x, Uses uses, gboolean backward, guint chunk, guint32 number)
{
	const guint at = chunk + (backward ? x->padded->shape.chunks : 0);
	const guint32 n = uses(x, number, (backward ? x->backward : x->forward)[chunk]);

	return n < G_MAXUINT32 ? n / x->in_round[at] : n;
}

/* The same of all that @verb takes. */
static guint32 rounds_of_verb(const Trimmer *x, const PipesimOp *verb, Uses uses)
{
	const guint32 number = verb->microbatch, waiting = x->pending->len - x->head;
	const guint32 *weights = &x->in_round[2 * x->padded->shape.chunks];

	switch ((PipesimKind)verb->kind) {
	case PIPESIM_FB:
		return MIN(rounds_of(x, uses, FALSE, verb->chunk, number),
			rounds_of(x, uses, TRUE, verb->b_chunk, verb->b_microbatch));
	case PIPESIM_F:
		return rounds_of(x, uses, FALSE, verb->chunk, number);
	case PIPESIM_I:
	case PIPESIM_B:
		return rounds_of(x, uses, TRUE, verb->chunk, number);
	case PIPESIM_W:
		if (uses == uses_left)
			return waiting == x->n_inputs - x->n_weights ? G_MAXUINT32 : 0;
		return waiting > 0
			       ? (g_array_index(x->pending, guint32, x->head) - x->n_weights) /
					 *weights
			       : G_MAXUINT32;
	case PIPESIM_N_KINDS:
		break;
	}
	g_assert_not_reached();
}

/* The same of all of @loop. */
static guint32 rounds_of_all(const Trimmer *x, const PipesimLoop *loop, Uses uses)
{
	guint32 rounds = loop->count;

	for (guint32 v = 0; v < loop->n; v++)
		rounds = MIN(
			rounds, rounds_of_verb(x, &x->padded->verbs[loop->first + v], uses));
	return rounds;
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
		first = x->head < x->pending->len &&
			g_array_index(x->pending, guint32, x->head) == x->n_weights;
		x->head += first;
	} else {
		first = is_left(x, op.microbatch,
			pipesim_op_has_backward(verb) && op.kind != PIPESIM_FB
				? x->backward[op.chunk]
				: x->forward[op.chunk]);
		second = op.kind == PIPESIM_FB &&
			 is_left(x, op.b_microbatch, x->backward[op.b_chunk]);
	}
	if (first && op.kind == PIPESIM_I)
		g_array_append_val(x->pending, x->n_inputs);
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
		append(x->out, op);
}

/* @rounds of which all is left, and of what comes before them too what has no W yet. */
static void keep_rounds(Trimmer *x, const PipesimOp *verbs, guint32 n, guint32 rounds)
{
	pipesim_repeat (x->out, rounds)
		for (guint32 v = 0; v < n; v++) {
			x->out->phase = verbs[v].phase;
			append(x->out, verbs[v]);
			pass(x, &verbs[v], rounds);
		}
	g_array_set_size(x->pending, 0);
	x->head = 0;
	for (guint32 i = x->n_weights; i < x->n_inputs; i++)
		g_array_append_val(x->pending, i);
}

static void trim_loop(Trimmer *x, const PipesimLoop *loop)
{
	const PipesimOp *verbs = &x->padded->verbs[loop->first];
	const guint chunks = x->padded->shape.chunks;

	memset(x->in_round, 0, (2 * (gsize)chunks + 1) * sizeof *x->in_round);
	for (guint32 v = 0; v < loop->n; v++) {
		if (pipesim_op_has_forward(&verbs[v]))
			x->in_round[verbs[v].chunk]++;
		if (pipesim_op_has_backward(&verbs[v]))
			x->in_round[chunks + pipesim_op_backward_chunk(&verbs[v])]++;
		x->in_round[2 * chunks] += verbs[v].kind == PIPESIM_W;
	}
	for (guint32 left = loop->count, rounds; left > 0; left -= rounds) {
		rounds = MIN(rounds_of_all(x, loop, uses_before), left);
		for (guint32 v = 0; v < loop->n && rounds > 0; v++)
			pass(x, &verbs[v], rounds);
		if (rounds > 0)
			continue;
		rounds = MIN(rounds_of_all(x, loop, uses_left), left);
		if (rounds > 1) {
			keep_rounds(x, verbs, loop->n, rounds);
			continue;
		}
		rounds = 1;
		for (guint32 v = 0; v < loop->n; v++)
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
	x.forward = g_new(guint32, 4 * (gsize)shape->chunks + 1);
	x.backward = x.forward + shape->chunks;
	x.in_round = x.backward + shape->chunks;
	x.pending = g_array_new(FALSE, FALSE, sizeof(guint32));
	for (guint rank = 0; rank < shape->ranks && !out.too_long; rank++) {
		memset(x.forward, 0, 2 * (gsize)shape->chunks * sizeof *x.forward);
		g_array_set_size(x.pending, 0);
		x.n_inputs = x.n_weights = x.head = 0;
		pipesim_emit_rank(&out, rank);
		pipesim_each_of (l, padded->rank_begin, rank)
			trim_loop(&x, &padded->loops[l]);
	}
	g_array_unref(x.pending);
	g_free(x.forward);
	return finish(&out, TRUE, error);
}
