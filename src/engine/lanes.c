#include "config.h"

#include "engine/lanes-kernel.h"
#include "model/random.h"
#include <string.h>

/* Slots that always stand: time 0, and where goes what nobody waits for. */
enum {
	ZERO,
	NOWHERE,
	N_FIXED
};

/* What is needed while the ops are put in order; by op of the program but for free. */
typedef struct {
	PipesimLanes *lanes;
	const PipesimProgram *program;
	guint32 *rank;
	guint32 *level;  /* wavefront */
	guint32 *slot;   /* where its end goes */
	guint8 *readers; /* ops of other ranks that have not read it */
	guint32 *free;   /* slots free again, a stack */
	guint n_free;
} Builder;

static gboolean allocate(Builder *b, GError **error)
{
	const gsize n = MAX(b->program->n_ops, 1u);
	PipesimLanes *lanes = b->lanes;

	lanes->ops = g_try_new(PipesimLaneOp, n);
	lanes->order = g_try_new(guint32, n);
	lanes->example = g_try_new(guint32, n);
	lanes->example_rank = g_try_new(guint32, n);
	b->rank = g_try_new(guint32, n);
	b->level = g_try_new0(guint32, n);
	b->slot = g_try_new(guint32, n);
	b->readers = g_try_new0(guint8, n);
	b->free = g_try_new(guint32, n);
	if (lanes->ops != NULL && lanes->order != NULL && lanes->example != NULL &&
		lanes->example_rank != NULL && b->rank != NULL && b->level != NULL &&
		b->slot != NULL && b->readers != NULL && b->free != NULL)
		return TRUE;
	return pipesim_fail(error, PIPESIM_ERROR_LIMIT,
		"%u ops do not fit in memory; take fewer ranks or micro-batches", (guint)n);
}

static void find_ranks(Builder *b)
{
	const PipesimProgram *program = b->program;

	for (guint rank = 0; rank < program->shape.ranks; rank++)
		for (guint32 i = program->rank_begin[rank]; i < program->rank_begin[rank + 1];
			i++)
			b->rank[i] = rank;
}

static guint inputs_of(const Builder *b, guint32 op, guint32 inputs[2])
{
	return pipesim_program_inputs(b->program, b->rank[op], &b->program->ops[op], inputs);
}

/* Each op one level above what it waits for. */
static guint32 find_levels(Builder *b)
{
	const PipesimProgram *program = b->program;
	guint32 inputs[2], highest = 0;

	for (guint i = 0; i < program->n_ops; i++) {
		const guint32 op = b->lanes->order[i];
		const guint n = inputs_of(b, op, inputs);
		guint32 level =
			op > program->rank_begin[b->rank[op]] ? b->level[op - 1] + 1 : 0;

		for (guint k = 0; k < n; k++) {
			level = MAX(level, b->level[inputs[k]] + 1);
			b->readers[inputs[k]] += b->rank[inputs[k]] != b->rank[op];
		}
		b->level[op] = level;
		highest = MAX(highest, level);
	}
	return highest;
}

static gboolean sort_by_level(Builder *b, guint32 highest, GError **error)
{
	g_autofree guint32 *begin = g_try_new0(guint32, (gsize)highest + 2);

	if (begin == NULL)
		return pipesim_fail(error, PIPESIM_ERROR_LIMIT,
			"%u ops do not fit in memory; take fewer ranks or micro-batches",
			b->program->n_ops);
	for (guint32 op = 0; op < b->program->n_ops; op++)
		begin[b->level[op] + 1]++;
	for (guint32 level = 0; level < highest; level++)
		begin[level + 1] += begin[level];
	for (guint32 op = 0; op < b->program->n_ops; op++)
		b->lanes->order[begin[b->level[op]]++] = op;
	return TRUE;
}

/* A slot is free for others when the last op that waits for it has read it. */
static void place_messages(Builder *b, guint32 op, PipesimLaneOp *out)
{
	guint32 inputs[2];
	const guint n = inputs_of(b, op, inputs);
	guint used = 0;

	for (guint k = 0; k < n; k++)
		if (b->rank[inputs[k]] != b->rank[op]) {
			out->inputs[used++] = b->slot[inputs[k]];
			if (--b->readers[inputs[k]] == 0)
				b->free[b->n_free++] = b->slot[inputs[k]];
		}
	out->output = NOWHERE;
	if (b->readers[op] > 0)
		out->output = b->n_free > 0 ? b->free[--b->n_free] : b->lanes->n_slots++;
	b->slot[op] = out->output;
}

static guint chain_group(PipesimKind kind)
{
	if (kind == PIPESIM_F || kind == PIPESIM_FB)
		return 0;
	return kind == PIPESIM_W ? 2 : 1;
}

/* Random numbers belong to stage and micro-batch, chains to the chunk that goes through them.
 */
static void place_numbers(const Builder *b, guint32 op, PipesimLaneOp *out)
{
	const PipesimShape *shape = &b->program->shape;
	const PipesimOp *from = &b->program->ops[op];
	const guint group = chain_group(from->kind);
	const gsize cell = (gsize)group * shape->stages * shape->microbatches +
			   pipesim_op_forward_slot(b->program, b->rank[op], from);

	out->place = (guint32)(cell + 1) * PIPESIM_PLACE_STEP;
	out->microbatch = from->microbatch;
	out->chain = (group * shape->ranks + b->rank[op]) * shape->chunks + from->chunk;
}

/* One table for each kind and chunk of a rank, or pair of chunks. The ops of a rank stand
 * together: an entry of the rank before is one below @first. */
static void find_tables(Builder *b, guint32 *table_of)
{
	const PipesimProgram *program = b->program;
	const guint chunks = program->shape.chunks;
	PipesimLanes *lanes = b->lanes;

	for (guint rank = 0; rank < program->shape.ranks; rank++) {
		const guint first = lanes->n_tables;

		for (guint32 i = program->rank_begin[rank]; i < program->rank_begin[rank + 1];
			i++) {
			const PipesimOp *op = &program->ops[i];
			const gsize row =
				op->kind == PIPESIM_FB ? PIPESIM_FB + op->b_chunk : op->kind;
			guint32 *table = &table_of[row * chunks + op->chunk];

			if (*table < first || *table >= lanes->n_tables) {
				lanes->example[lanes->n_tables] = i;
				lanes->example_rank[lanes->n_tables] = rank;
				*table = lanes->n_tables++;
			}
			b->slot[i] = *table; /* until it is its slot */
		}
	}
}

static void build(Builder *b)
{
	PipesimLanes *lanes = b->lanes;

	lanes->n_slots = N_FIXED;
	for (guint i = 0; i < lanes->n_ops; i++) {
		const guint32 op = lanes->order[i];
		PipesimLaneOp *out = &lanes->ops[i];

		*out = (PipesimLaneOp){.rank = b->rank[op], .table = b->slot[op] & 0x3fffffff};
		place_messages(b, op, out);
		place_numbers(b, op, out);
	}
	lanes->n_chains = 3 * b->program->shape.ranks * b->program->shape.chunks;
}

static gboolean fill(Builder *b, GError **error)
{
	const guint chunks = b->program->shape.chunks;
	const gsize n_kinds = (gsize)(PIPESIM_FB + chunks) * chunks;
	g_autofree guint32 *table_of = g_new(guint32, n_kinds);
	guint32 done;

	memset(table_of, 0xff, n_kinds * sizeof *table_of);
	if (!allocate(b, error))
		return FALSE;
	done = pipesim_program_sequence(b->program, b->lanes->order, error);
	if (done == G_MAXUINT32)
		return FALSE;
	if (done < b->program->n_ops)
		return pipesim_program_check_order(b->program, NULL, NULL, error);
	find_ranks(b);
	if (!sort_by_level(b, find_levels(b), error))
		return FALSE;
	find_tables(b, table_of);
	build(b);
	return TRUE;
}

PipesimLanes *pipesim_lanes_new(const PipesimProgram *program, GError **error)
{
	g_autoptr(PipesimLanes) lanes = g_new0(PipesimLanes, 1);
	Builder b = {.lanes = lanes, .program = program};
	gboolean ok;

	lanes->program = program;
	lanes->n_ops = program->n_ops;
	lanes->kernels = pipesim_lane_kernels_list()[0];
	ok = fill(&b, error);
	g_free(b.rank);
	g_free(b.level);
	g_free(b.slot);
	g_free(b.readers);
	g_free(b.free);
	return ok ? g_steal_pointer(&lanes) : NULL;
}

void pipesim_lanes_free(PipesimLanes *lanes)
{
	if (lanes == NULL)
		return;
	g_free(lanes->ops);
	g_free(lanes->order);
	g_free(lanes->example);
	g_free(lanes->example_rank);
	g_free(lanes);
}
