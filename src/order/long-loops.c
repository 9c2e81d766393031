#include "order/long-loops.h"

/* Most loops that are gone through one after the other. */
#define MAX_PHASES (2 * PIPESIM_MAX_CHUNKS)
/* Most halves of a superstep. */
#define MAX_COMMON (1 << 16)

/* The loops of @rank with at least an eighth of its ops, or where there are more of a size half as
 * many ops as the longest; or that one alone. Returns how many. */
static guint32 find_long_loops(
	const PipesimOrder *order, guint rank, gboolean one, guint32 *out)
{
	guint64 total = 0, most = 0;
	guint32 n = 0;

	pipesim_each_of (l, order->rank_begin, rank) {
		total += pipesim_loop_ops(&order->loops[l]);
		most = MAX(most, pipesim_loop_ops(&order->loops[l]));
	}
	pipesim_each_of (l, order->rank_begin, rank) {
		const PipesimLoop *loop = &order->loops[l];
		const gboolean is_long =
			one ? pipesim_loop_ops(loop) == most && n == 0
			    : pipesim_loop_ops(loop) >= MAX(MIN(total / 8, most / 2), 1u);

		if (!is_long || loop->count < 2)
			continue;
		if (out != NULL)
			out[n] = l;
		n++;
	}
	return n;
}

static guint halves(const PipesimOrder *order, const PipesimLoop *loop)
{
	guint n = 0;

	for (guint32 v = 0; v < loop->n; v++) {
		const PipesimOp *op = &order->verbs[loop->first + v];

		n += (guint)pipesim_op_has_forward(op) + (guint)pipesim_op_has_backward(op);
	}
	return MAX(n, 1u);
}

gboolean pipesim_long_loops_find(
	PipesimLongLoops *loops, const PipesimOrder *order, PipesimArena *arena)
{
	const guint ranks = order->shape.ranks;
	const guint32 n = find_long_loops(order, 0, FALSE, NULL);
	gboolean one = n == 0 || n > MAX_PHASES;
	guint32 found[MAX_PHASES];

	for (guint rank = 1; rank < ranks && !one; rank++)
		one = find_long_loops(order, rank, FALSE, NULL) != n;
	loops->n_phases = one ? 1 : n;
	loops->loops = pipesim_arena_array(arena, guint32, (gsize)ranks * loops->n_phases);
	loops->steps = pipesim_arena_array(arena, guint32, (gsize)ranks * loops->n_phases);
	for (guint rank = 0; rank < ranks && loops->steps != NULL; rank++) {
		if (find_long_loops(order, rank, one, found) != loops->n_phases) {
			loops->n_phases = 0; /* a rank without any loop */
			break;
		}
		for (guint32 phase = 0; phase < loops->n_phases; phase++)
			loops->loops[(gsize)phase * ranks + rank] = found[phase];
	}
	for (guint32 phase = 0; phase < loops->n_phases && loops->steps != NULL; phase++) {
		const guint32 *of = &loops->loops[(gsize)phase * ranks];
		gint64 common = 1;

		for (guint rank = 0; rank < ranks && common <= MAX_COMMON; rank++) {
			const gint64 n_halves = halves(order, &order->loops[of[rank]]);

			common = common / pipesim_gcd(common, n_halves) * n_halves;
		}
		for (guint rank = 0; rank < ranks; rank++)
			loops->steps[(gsize)phase * ranks + rank] =
				common > MAX_COMMON
					? 1
					: (guint32)(common /
						    halves(order, &order->loops[of[rank]]));
	}
	return loops->steps != NULL;
}

guint64 pipesim_loop_before(const PipesimOrder *order, guint rank, guint32 loop)
{
	guint64 n = 0;

	for (guint32 l = order->rank_begin[rank]; l < loop; l++)
		n += pipesim_loop_ops(&order->loops[l]);
	return n;
}

guint32 pipesim_long_loops_added(
	const PipesimLongLoops *loops, const PipesimOrder *order, guint32 phase)
{
	const PipesimShape *shape = &order->shape;
	guint32 n[2 * PIPESIM_MAX_CHUNKS], all = 0;

	for (guint rank = 0; rank < shape->ranks; rank++) {
		const gsize i = (gsize)phase * shape->ranks + rank;
		const PipesimLoop *loop = &order->loops[loops->loops[i]];

		memset(n, 0, sizeof n);
		for (guint32 v = loop->first; v < loop->first + loop->n; v++) {
			const PipesimOp *op = &order->verbs[v];

			if (op->microbatch == PIPESIM_LAST || op->b_microbatch == PIPESIM_LAST)
				return 0;
			if (pipesim_op_has_forward(op))
				n[2 * op->chunk] += loops->steps[i];
			if (pipesim_op_has_backward(op))
				n[2 * pipesim_op_backward_chunk(op) + 1] += loops->steps[i];
		}
		all = rank == 0 ? n[0] : all;
		for (guint chunk = 0; chunk < 2 * shape->chunks; chunk++)
			if (n[chunk] != all)
				return 0;
	}
	return all;
}

guint64 pipesim_long_loops_supersteps(
	const PipesimLongLoops *loops, const PipesimOrder *order, guint32 phase)
{
	const guint ranks = order->shape.ranks;
	guint64 least = G_MAXUINT64;

	for (gsize i = (gsize)phase * ranks; i < (gsize)(phase + 1) * ranks; i++)
		least = MIN(least, order->loops[loops->loops[i]].count / loops->steps[i]);
	return least;
}

gboolean pipesim_long_loops_cut(const PipesimLongLoops *loops, const PipesimOrder *order,
	guint64 supersteps, guint32 added, PipesimOrder *out, PipesimArena *arena)
{
	*out = *order;
	out->loops = pipesim_arena_array(arena, PipesimLoop, order->n_loops);
	if (out->loops == NULL)
		return FALSE;
	memcpy(out->loops, order->loops, order->n_loops * sizeof *order->loops);
	for (gsize i = 0; i < (gsize)loops->n_phases * order->shape.ranks; i++) {
		PipesimLoop *loop = &out->loops[loops->loops[i]];

		loop->count -= (guint32)(supersteps * loops->steps[i]);
		out->n_ops -= supersteps * loops->steps[i] * loop->n;
	}
	out->shape.microbatches -= (guint32)(supersteps * added * order->shape.copies);
	return TRUE;
}
