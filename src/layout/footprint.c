#include "config.h"

#include "layout/footprint.h"
#include <string.h>

/* Sums stay below it. */
#define MOST ((double)(G_GINT64_CONSTANT(1) << 61))

/* Ops of one rank that change what it holds alike. */
typedef struct {
	guint8 kind, chunk, b_chunk;
} Sort;

/* What such an op needs while it runs, what is there then besides what was before it, and what of that stays, bytes. */
typedef struct {
	gint64 during, rise, stay;
} Weight;

struct _PipesimFootprint {
	PipesimShape shape;
	GArray *ids; /* of guint32: the ops that are weighed, rank by rank, as sorts of their rank */
	GArray *sorts;     /* of Sort, rank by rank */
	guint *begin;      /* ranks + 1: into ids */
	guint *sort_begin; /* ranks + 1: into sorts */
};

/* What a rank holds, counted. */
typedef struct {
	gint *until_input, *until_weight, *between; /* by chunk; one array */
	gsize size;                                 /* of all three, bytes */
} Counts;

static gboolean is_sort(const Sort *sort, const PipesimOp *op)
{
	return sort->kind == op->kind && sort->chunk == op->chunk &&
	       sort->b_chunk == op->b_chunk;
}

/* Where it is among those of the rank that begin at @first. */
static guint32 id_of(GArray *sorts, guint first, const PipesimOp *op)
{
	const Sort sort = {op->kind, op->chunk, op->b_chunk};
	guint i = first;

	while (i < sorts->len && !is_sort(&g_array_index(sorts, Sort, i), op))
		i++;
	if (i == sorts->len)
		g_array_append_val(sorts, sort);
	return i - first;
}

static void count_forward(Counts *counts, const Sort *op)
{
	if (op->kind != PIPESIM_F && op->kind != PIPESIM_FB)
		return;
	counts->until_input[op->chunk]++;
	counts->until_weight[op->chunk]++;
}

static void count_backward(Counts *counts, const Sort *op)
{
	const guint chunk = op->kind == PIPESIM_FB ? op->b_chunk : op->chunk;

	if (op->kind == PIPESIM_I || op->kind == PIPESIM_B || op->kind == PIPESIM_FB)
		counts->until_input[chunk]--;
	if (op->kind == PIPESIM_I || op->kind == PIPESIM_W)
		counts->between[chunk] += op->kind == PIPESIM_I ? 1 : -1;
	if (op->kind == PIPESIM_W || op->kind == PIPESIM_B || op->kind == PIPESIM_FB)
		counts->until_weight[chunk]--;
}

/* Whether the @n ops from @a on do to their rank what those from @b on do. */
static gboolean is_same(const PipesimOp *a, const PipesimOp *b, guint32 n)
{
	for (guint32 i = 0; i < n; i++)
		if (a[i].kind != b[i].kind || a[i].chunk != b[i].chunk ||
			a[i].b_chunk != b[i].b_chunk)
			return FALSE;
	return TRUE;
}

/* @loop, whose ops are @ops. */
static void add_loop(PipesimFootprint *footprint, const PipesimLoop *loop, const PipesimOp *ops,
	guint first, Counts *counts)
{
	g_autofree gint *before = g_malloc(counts->size);
	gboolean still = FALSE; /* the last round that was counted changed nothing */

	for (guint32 round = 0; round < loop->count; round++, ops += loop->n) {
		if (still && is_same(ops, ops - loop->n, loop->n))
			continue;
		memcpy(before, counts->until_input, counts->size);
		for (guint32 i = 0; i < loop->n; i++) {
			const guint32 id = id_of(footprint->sorts, first, &ops[i]);

			const Sort sort = {ops[i].kind, ops[i].chunk, ops[i].b_chunk};

			g_array_append_val(footprint->ids, id);
			count_forward(counts, &sort);
			count_backward(counts, &sort);
		}
		still = memcmp(before, counts->until_input, counts->size) == 0;
	}
}

static void add_rank(PipesimFootprint *footprint, const PipesimOrder *order,
	const PipesimProgram *program, guint rank)
{
	const guint chunks = footprint->shape.chunks, first = footprint->sorts->len;
	g_autofree gint *room = g_new0(gint, 3 * chunks);
	const PipesimOp *ops = &program->ops[program->rank_begin[rank]];
	Counts counts = {room, room + chunks, room + 2 * chunks, 3 * chunks * sizeof *room};

	for (guint32 l = order->rank_begin[rank]; l < order->rank_begin[rank + 1]; l++) {
		const PipesimLoop *loop = &order->loops[l];

		add_loop(footprint, loop, ops, first, &counts);
		ops += (gsize)loop->n * loop->count;
	}
}

PipesimFootprint *pipesim_footprint_new(
	const PipesimOrder *order, const PipesimProgram *program)
{
	PipesimFootprint *footprint = g_new0(PipesimFootprint, 1);
	const guint ranks = order->shape.ranks;

	footprint->shape = order->shape;
	footprint->ids = g_array_new(FALSE, FALSE, sizeof(guint32));
	footprint->sorts = g_array_new(FALSE, FALSE, sizeof(Sort));
	footprint->begin = g_new0(guint, ranks + 1);
	footprint->sort_begin = g_new0(guint, ranks + 1);
	for (guint rank = 0; rank < ranks; rank++) {
		add_rank(footprint, order, program, rank);
		footprint->begin[rank + 1] = footprint->ids->len;
		footprint->sort_begin[rank + 1] = footprint->sorts->len;
	}
	return footprint;
}

void pipesim_footprint_free(PipesimFootprint *footprint)
{
	if (footprint == NULL)
		return;
	g_array_unref(footprint->ids);
	g_array_unref(footprint->sorts);
	g_free(footprint->begin);
	g_free(footprint->sort_begin);
	g_free(footprint);
}

static gint64 bytes_of(const PipesimTimes *times, PipesimBytes sort, guint stage)
{
	return times->bytes[sort] != NULL ? times->bytes[sort][stage] : 0;
}

static Weight weight_of(
	const PipesimFootprint *footprint, const PipesimTimes *times, guint rank, Sort sort)
{
	static const PipesimBytes during[PIPESIM_N_KINDS] = {
		[PIPESIM_F] = PIPESIM_TRANSIENT_FORWARD,
		[PIPESIM_I] = PIPESIM_TRANSIENT,
		[PIPESIM_W] = PIPESIM_TRANSIENT_WEIGHT,
		[PIPESIM_B] = PIPESIM_TRANSIENT,
		[PIPESIM_FB] = PIPESIM_TRANSIENT};
	const PipesimShape *shape = &footprint->shape;
	const guint stage = pipesim_shape_stage(shape, rank, sort.chunk);
	const guint back = sort.kind == PIPESIM_FB
				   ? pipesim_shape_stage(shape, rank, sort.b_chunk)
				   : stage;
	const gint64 both = bytes_of(times, PIPESIM_UNTIL_INPUT, back) +
			    bytes_of(times, PIPESIM_UNTIL_WEIGHT, back);
	const gint64 between = bytes_of(times, PIPESIM_BETWEEN, back);
	gint64 up = 0, down = 0, most;

	if (sort.kind == PIPESIM_F || sort.kind == PIPESIM_FB)
		up = bytes_of(times, PIPESIM_UNTIL_INPUT, stage) +
		     bytes_of(times, PIPESIM_UNTIL_WEIGHT, stage);
	most = MAX(bytes_of(times, during[sort.kind], stage),
		bytes_of(times, during[sort.kind], back));
	if (sort.kind == PIPESIM_B || sort.kind == PIPESIM_FB)
		down = both;
	else if (sort.kind == PIPESIM_I)
		down = bytes_of(times, PIPESIM_UNTIL_INPUT, back) - between;
	else if (sort.kind == PIPESIM_W)
		down = bytes_of(times, PIPESIM_UNTIL_WEIGHT, back) + between;
	return (Weight){most, up + most, up - down};
}

/* Parameters of @rank and what else stays; FALSE where what it may hold does not fit. */
static gboolean begin_rank(const PipesimFootprint *footprint, const PipesimTimes *times,
	const PipesimCosts *costs, guint rank, PipesimFullest *fullest)
{
	const PipesimShape *shape = &footprint->shape;
	double most = 0;
	guint sorts = 0;

	*fullest = (PipesimFullest){0};
	for (guint chunk = 0; chunk < shape->chunks; chunk++) {
		const guint stage = pipesim_shape_stage(shape, rank, chunk);

		for (PipesimBytes sort = 0; sort < PIPESIM_N_STAGE_BYTES; sort++)
			most += (double)bytes_of(times, sort, stage) *
				((double)shape->microbatches + 1);
		fullest->parameters = pipesim_add_capped(
			fullest->parameters, bytes_of(times, PIPESIM_PARAMETERS, stage));
		sorts |= times->sorts != NULL ? times->sorts[stage] : 0;
		/* Rounds that are left out would add to it. */
		if (bytes_of(times, PIPESIM_UNTIL_STEP, stage) > 0)
			return FALSE;
	}
	if (times->sorts != NULL)
		fullest->parameters = pipesim_add_capped(
			fullest->parameters, costs->cutter->fixed(costs->cutter, sorts));
	fullest->peak = fullest->parameters;
	return most + (double)fullest->parameters < MOST;
}

void pipesim_footprint_counts(
	const PipesimFootprint *footprint, const PipesimTimes *times, guint rank, gint *counts)
{
	const guint chunks = footprint->shape.chunks, begin = footprint->begin[rank];
	const guint32 *ids = (const guint32 *)(gpointer)footprint->ids->data;
	const Sort *sorts =
		(const Sort *)(gpointer)footprint->sorts->data + footprint->sort_begin[rank];
	Counts now = {counts, counts + chunks, counts + 2 * chunks, 0};
	gint64 held = 0, peak = -1;
	guint at = begin;

	for (guint i = begin; i < footprint->begin[rank + 1]; i++) {
		const Weight weight = weight_of(footprint, times, rank, sorts[ids[i]]);

		if (held + weight.rise > peak) {
			peak = held + weight.rise;
			at = i;
		}
		held += weight.stay;
	}
	memset(counts, 0, 3 * chunks * sizeof *counts);
	for (guint i = begin; i < footprint->begin[rank + 1] && i <= at; i++) {
		count_forward(&now, &sorts[ids[i]]);
		if (i < at)
			count_backward(&now, &sorts[ids[i]]);
	}
}

gboolean pipesim_footprint_weigh(const PipesimFootprint *footprint, const PipesimTimes *times,
	const PipesimCosts *costs, PipesimFullest *fullest)
{
	const guint32 *ids = (const guint32 *)(gpointer)footprint->ids->data;
	g_autofree Weight *weights = g_new(Weight, MAX(footprint->sorts->len, 1u));

	for (guint rank = 0; rank < footprint->shape.ranks; rank++) {
		const guint first = footprint->sort_begin[rank];
		gint64 held, peak, transient = 0;

		if (!begin_rank(footprint, times, costs, rank, &fullest[rank]))
			return FALSE;
		for (guint i = first; i < footprint->sort_begin[rank + 1]; i++)
			weights[i - first] = weight_of(footprint, times, rank,
				g_array_index(footprint->sorts, Sort, i));
		held = peak = fullest[rank].parameters;
		for (guint i = footprint->begin[rank]; i < footprint->begin[rank + 1]; i++) {
			const Weight *weight = &weights[ids[i]];

			if (held + weight->rise > peak) {
				peak = held + weight->rise;
				transient = weight->during;
			}
			held += weight->stay;
		}
		fullest[rank].peak = peak;
		fullest[rank].transient = transient;
	}
	return TRUE;
}
