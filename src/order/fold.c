/* Orders that were given op by op, with loops again: what counts its micro-batches up, as nearly all that schedules write
 * does, is known by its verbs, and verbs that repeat are a loop. */
#include "order/order.h"
#include <stddef.h>

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

/* Of a chunk of one rank. */
typedef struct {
	guint32 first; /* micro-batch */
	guint32 forwards, backwards, inputs, weights;
	guint32 oldest, newest; /* I without W, where there are some */
} Count;

typedef struct {
	const PipesimShape *shape;
	GArray *verbs, *loops; /* of PipesimOp, PipesimLoop */
	Key *keys;             /* of the ops of one rank */
	guint32 *alike; /* as many numbers: find_alike(); before, by I: the next of its chunk */
	guint32 room;   /* for so many ops */
	Count *chunks;
	guint32 backward; /* PIPESIM_NEXT or PIPESIM_LAST */
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

/* Whether the @n @ops of a rank are all that it has to run, and count their micro-batches. */
static gboolean counts(Folder *folder, const PipesimOp *ops, guint32 n)
{
	const guint32 per_chunk = pipesim_shape_per_chunk(folder->shape);
	const gboolean down = folder->backward == PIPESIM_LAST;
	Count *const chunks = folder->chunks;
	guint32 *const next = folder->alike;
	gboolean same = TRUE;

	for (guint chunk = 0; chunk < folder->shape->chunks; chunk++)
		chunks[chunk] = (Count){
			.first = folder->shape->copies > 1 ? chunk * per_chunk : 0,
		};
	for (guint32 i = 0; i < n && same; i++) {
		const PipesimOp *op = &ops[i];
		Count *count = &chunks[op->chunk];

		memcpy(&folder->keys[i], &op->kind, sizeof *folder->keys);
		if (op->kind == PIPESIM_W) {
			same = count->weights++ < count->inputs &&
			       ops[count->oldest].microbatch == op->microbatch;
			if (same)
				count->oldest = next[count->oldest];
			continue;
		}
		if (op->kind == PIPESIM_I) {
			*(count->inputs++ == count->weights ? &count->oldest
							    : &next[count->newest]) = i;
			count->newest = i;
		}
		if (op->kind != PIPESIM_F) {
			Count *back = &chunks[pipesim_op_backward_chunk(op)];
			const guint32 nth = back->backwards++,
				      own = down ? per_chunk - 1 - nth : nth;

			/* Its forward has run. */
			same = own < back->forwards &&
			       pipesim_op_backward_microbatch(op) == back->first + own;
		}
		if (pipesim_op_has_forward(op))
			same &= op->microbatch == count->first + count->forwards++;
	}
	for (guint chunk = 0; chunk < folder->shape->chunks; chunk++)
		same &= chunks[chunk].forwards == per_chunk &&
			chunks[chunk].backwards == per_chunk &&
			chunks[chunk].inputs == chunks[chunk].weights;
	return same;
}

/* The next rank. FALSE where it does not count, or memory does not suffice. */
static gboolean fold_rank(Folder *folder, const PipesimOp *ops, guint32 n)
{
	if (n > folder->room) {
		pipesim_free_all(folder->keys, folder->alike);
		folder->keys = g_try_new(Key, n);
		folder->alike = g_try_new(guint32, n);
		folder->room = n;
	}
	if (folder->keys == NULL || folder->alike == NULL)
		return FALSE;
	/* Backwards of all ranks go up, or all down. */
	if (!counts(folder, ops, n)) {
		if (folder->loops->len > 0)
			return FALSE;
		folder->backward = PIPESIM_LAST;
		if (!counts(folder, ops, n))
			return FALSE;
	}
	fold_stretch(folder, 0, n);
	return TRUE;
}

/* Where stages are as a placement of schedules has them. */
static gboolean find_placement(PipesimShape *shape, const guint32 *stage_of)
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
			same = stage_of[i] ==
			       pipesim_shape_stage(shape, i / shape->chunks, i % shape->chunks);
		if (same)
			return TRUE;
	}
	return FALSE;
}

PipesimOrder *pipesim_order_fold(
	const PipesimShape *asked, const guint32 *stage_of, PipesimRankOps give, gpointer data)
{
	PipesimShape shape = *asked;
	Folder folder = {.shape = &shape, .backward = PIPESIM_NEXT};
	gboolean ok = TRUE;

	if (pipesim_shape_slices(&shape) > 1 || !find_placement(&shape, stage_of))
		return NULL;
	PipesimOrder *order = g_atomic_rc_box_new0(PipesimOrder);
	order->shape = shape;
	order->phases = g_ptr_array_new_with_free_func(g_free);
	g_ptr_array_add(order->phases, g_strdup(""));
	order->rank_begin = g_new0(guint32, (gsize)shape.ranks + 1);
	order->is_closed = TRUE;
	folder.chunks = g_new(Count, shape.chunks);
	folder.verbs = g_array_new(FALSE, FALSE, sizeof(PipesimOp));
	folder.loops = g_array_new(FALSE, FALSE, sizeof(PipesimLoop));
	for (guint rank = 0; rank < shape.ranks && ok; rank++) {
		guint32 n;
		const PipesimOp *ops = give(data, rank, &n);

		ok = fold_rank(&folder, ops, n);
		order->n_ops += n;
		order->rank_begin[rank + 1] = folder.loops->len;
	}
	order->n_verbs = folder.verbs->len;
	order->n_loops = folder.loops->len;
	order->verbs = (PipesimOp *)g_array_free(folder.verbs, FALSE);
	order->loops = (PipesimLoop *)g_array_free(folder.loops, FALSE);
	pipesim_free_all(folder.chunks, folder.keys, folder.alike);
	if (!ok)
		g_clear_pointer(&order, pipesim_order_unref);
	return order;
}
