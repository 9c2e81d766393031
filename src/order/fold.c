/* Orders that were given op by op, with loops again: what counts its micro-batches up, as nearly all that schedules write
 * does, is known by its verbs, and verbs that repeat are a loop. */
#include "config.h"

#include "order/order.h"
#include <stddef.h>
#include <string.h>

/* Ops below which a stretch is left as it is. */
#define SHORT 4
/* A loop is taken where it has one of so many parts of the stretch in the middle of which it was found; else the best
 * one. */
#define ENOUGH 4

/* A verb by all but its micro-batches: kind, chunks and phase. */
typedef guint32 Key;
G_STATIC_ASSERT(sizeof(PipesimOp) - offsetof(PipesimOp, kind) == sizeof(Key));

typedef struct {
	guint32 begin, length, count;
} Found;

typedef struct {
	GArray *verbs, *loops; /* of PipesimOp, PipesimLoop */
	const Key *keys;       /* of the ops of one rank */
	guint32 *alike;        /* room for as many numbers: find_alike() */
	guint32 backward;      /* PIPESIM_NEXT or PIPESIM_LAST */
} Folder;

/* Adds @count rounds of the @n verbs from keys[@at] on. */
static void put_loop(Folder *folder, guint32 at, guint32 n, guint32 count)
{
	const PipesimLoop loop = {folder->verbs->len, n, count};

	if (n == 0)
		return;
	g_array_append_val(folder->loops, loop);
	for (guint32 i = at; i < at + n; i++) {
		PipesimOp verb = {.microbatch = PIPESIM_NEXT};

		memcpy(&verb.kind, &folder->keys[i], sizeof *folder->keys);
		if (verb.kind == PIPESIM_FB)
			verb.b_microbatch = folder->backward;
		else if (pipesim_op_has_backward(&verb))
			verb.microbatch = folder->backward;
		g_array_append_val(folder->verbs, verb);
	}
}

/* By place in the @n @keys: how many keys from there on are as those at the begin. In time that grows with @n alone: what
 * lies within the stretch that reached furthest is known from the begin. */
static void find_alike(const Key *keys, guint32 n, guint32 *alike)
{
	guint32 from = 0, to = 0; /* of that stretch */

	for (guint32 i = 1; i < n; i++) {
		guint32 same = i < to ? MIN(to - i, alike[i - from]) : 0;

		while (i + same < n && keys[same] == keys[i + same])
			same++;
		alike[i] = same;
		if (i + same > to) {
			from = i;
			to = i + same;
		}
	}
}

/* What repeats in the middle of keys[@begin] to keys[@end - 1], as far as it does; count 0: nothing. */
static Found find_loop(const Folder *folder, guint32 begin, guint32 end)
{
	const Key *keys = folder->keys;
	const guint32 middle = begin + (end - begin) / 2;
	Found best = {0};

	find_alike(&keys[middle], end - middle, folder->alike);
	for (guint32 n = 1; middle + 2 * n <= end; n++) {
		guint32 first = middle, last;

		if (folder->alike[n] < n)
			continue;
		last = middle + n + folder->alike[n];
		while (first > begin && keys[first - 1] == keys[first - 1 + n])
			first--;
		if (last - first > best.length * best.count)
			best = (Found){first, n, (last - first) / n};
		if (best.length * best.count >= (end - begin) / ENOUGH)
			break;
		/* What repeats within that does so by a multiple of it: the same loop. */
		n = MAX(n, (last - middle) / 2);
	}
	return best;
}

static void fold_stretch(Folder *folder, guint32 begin, guint32 end)
{
	const Found found = end - begin < SHORT ? (Found){0} : find_loop(folder, begin, end);

	if (found.count < 2) {
		put_loop(folder, begin, end - begin, 1);
		return;
	}
	fold_stretch(folder, begin, found.begin);
	put_loop(folder, found.begin, found.length, found.count);
	fold_stretch(folder, found.begin + found.length * found.count, end);
}

static void fold_ranks(
	PipesimOrder *order, const PipesimProgram *program, const Key *keys, guint32 backward)
{
	g_autofree guint32 *alike = g_new(guint32, program->n_ops);
	Folder folder = {.verbs = g_array_new(FALSE, FALSE, sizeof(PipesimOp)),
		.loops = g_array_new(FALSE, FALSE, sizeof(PipesimLoop)),
		.alike = alike,
		.backward = backward};

	for (guint rank = 0; rank < order->shape.ranks; rank++) {
		const guint32 begin = program->rank_begin[rank];

		folder.keys = &keys[begin];
		fold_stretch(&folder, 0, program->rank_begin[rank + 1] - begin);
		order->rank_begin[rank + 1] = folder.loops->len;
	}
	order->n_verbs = folder.verbs->len;
	order->n_loops = folder.loops->len;
	order->verbs = (PipesimOp *)g_array_free(folder.verbs, FALSE);
	order->loops = (PipesimLoop *)g_array_free(folder.loops, FALSE);
}

/* Of a chunk of one rank. */
typedef struct {
	guint32 first; /* micro-batch */
	guint32 forwards, backwards;
	guint32 oldest; /* no I of it without W comes before this op */
} Count;

/* Whether @op is the W of the oldest I of @chunk that has none. */
static gboolean is_oldest(const PipesimOp *ops, const PipesimOp *op, Count *chunk)
{
	const PipesimOp *input = &ops[chunk->oldest];

	while (input < op && (input->kind != PIPESIM_I || input->chunk != op->chunk))
		input++;
	chunk->oldest = (guint32)(input + 1 - ops);
	return input < op && input->microbatch == op->microbatch;
}

/* Whether all ops of @rank count their micro-batches, backwards all @down or all up. */
static gboolean counts(const PipesimProgram *program, guint rank, gboolean down, Count *chunks)
{
	const guint32 per_chunk = pipesim_shape_per_chunk(&program->shape);
	const guint32 begin = program->rank_begin[rank], end = program->rank_begin[rank + 1];
	gboolean same = TRUE;

	for (guint chunk = 0; chunk < program->shape.chunks; chunk++)
		chunks[chunk] = (Count){
			.first = program->shape.copies > 1 ? chunk * per_chunk : 0,
			.oldest = begin,
		};
	for (guint32 i = begin; i < end && same; i++) {
		const PipesimOp *op = &program->ops[i];
		Count *count = &chunks[op->chunk];

		if (op->kind == PIPESIM_W)
			same = is_oldest(program->ops, op, count);
		if (pipesim_op_has_forward(op))
			same = op->microbatch == count->first + count->forwards++;
		if (pipesim_op_has_backward(op)) {
			guint32 n;

			count = &chunks[pipesim_op_backward_chunk(op)];
			n = count->backwards++;
			same &= pipesim_op_backward_microbatch(op) ==
				count->first + (down ? per_chunk - 1 - n : n);
		}
	}
	return same;
}

/* Where @program has its stages as a placement of schedules has them. */
static gboolean find_placement(const PipesimProgram *program, PipesimShape *shape)
{
	const gboolean even = shape->stages % shape->ranks == 0;

	for (guint placement = 0; placement < PIPESIM_FROM_FILE; placement++) {
		gboolean same = (placement == PIPESIM_BIDIRECTIONAL) == (shape->copies > 1);

		if (shape->copies > 1)
			same &= shape->copies == shape->chunks && shape->chunks % 2 == 0;
		else
			same &= even && shape->chunks == shape->stages / shape->ranks &&
				(placement != PIPESIM_V || shape->chunks == 2);
		shape->placement = placement;
		for (guint i = 0; same && i < shape->ranks * shape->chunks; i++)
			same = program->stage_of[i] ==
			       pipesim_shape_stage(shape, i / shape->chunks, i % shape->chunks);
		if (same)
			return TRUE;
	}
	return FALSE;
}

PipesimOrder *pipesim_order_fold(const PipesimProgram *program)
{
	const guint ranks = program->shape.ranks;
	g_autofree Count *chunks = g_new(Count, program->shape.chunks);
	g_autofree Key *keys = NULL;
	PipesimShape shape = program->shape;
	PipesimOrder *order;
	gboolean down;

	if (program->n_ops == 0 || program->has_more || pipesim_shape_slices(&shape) > 1 ||
		!find_placement(program, &shape))
		return NULL;
	down = !counts(program, 0, FALSE, chunks);
	for (guint rank = 0; rank < ranks; rank++)
		if (!counts(program, rank, down, chunks))
			return NULL;
	keys = g_new(Key, program->n_ops);
	for (guint32 i = 0; i < program->n_ops; i++)
		memcpy(&keys[i], &program->ops[i].kind, sizeof *keys);
	order = g_atomic_rc_box_new0(PipesimOrder);
	order->shape = shape;
	order->phases = g_ptr_array_ref(program->phases);
	order->rank_begin = g_new0(guint32, (gsize)ranks + 1);
	order->n_ops = program->n_ops;
	order->is_closed = TRUE;
	fold_ranks(order, program, keys, down ? PIPESIM_LAST : PIPESIM_NEXT);
	return order;
}
