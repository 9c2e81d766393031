/* The lines of a schedule file as actions, before it is known what they add up to. Private to
 * the room. */
#pragma once
#include "runtime/lowering.h"

/* What one action says, before it is known which chunk of its rank a stage is. A pair takes
 * two: its forward half, whose kind is PIPESIM_FB, and behind it its backward half. */
typedef struct {
	guint32 stage, microbatch; /* what is about a whole stage has no micro-batch */
	guint32 column;            /* from 1; of a pair that of its bracket */
	guint8 action;             /* PipesimActionKind */
	guint8 kind : 5;           /* PipesimOpKind, of an op */
	guint8 joined : 1;         /* a message in one group with the action before it */
	guint8 waited : 1;         /* a message in brackets, with others or alone */
	guint16 slice;             /* 1 + that of the sequence, 0: none is named */
} PipesimCell;
G_STATIC_ASSERT(sizeof(PipesimCell) == 16);

/* The values that ops have in one field. */
typedef struct {
	guint64 *seen; /* a bit a value */
	guint32 words; /* of @seen */
} PipesimValues;

/* All actions of a file. Line r + 1 is rank r: its actions are cells[rank_begin[r]] to
 * cells[rank_begin[r + 1] - 1]. */
typedef struct _PipesimCells {
	const char *path; /* as messages call it */
	PipesimCell *cells;
	guint32 n, room;
	GArray *rank_begin, *op_begin; /* guint32; op_begin: the same of ops */
	guint32 n_ops, n_messages;
	guint32 n_shardings;          /* what is done to stages; of that */
	guint32 n_gathers, n_reduces; /* gathers and what lets go again, and reductions */
	guint32 n_waits;              /* for messages and reductions */
	gboolean has_more;            /* ops beyond PipesimKind */
	PipesimFraction part;         /* of activations that copies take; num 0: not said */
	guint32 n_parts;              /* copies that say it */
	guint32 n_sliced;             /* ops, messages and waits that name a slice */
	PipesimValues stages, microbatches, slices;
	/* What is wrong; and empty cells, which are wrong beside messages alone: the first
	 * few. */
	PipesimFaults *faults, *idle;
} PipesimCells;

static inline guint pipesim_cells_ranks(const PipesimCells *file)
{
	return file->rank_begin->len - 1;
}

static inline const guint32 *pipesim_cells_begin(const PipesimCells *file)
{
	return (const guint32 *)(gconstpointer)file->rank_begin->data;
}

/** pipesim_cells_ops: how many ops @rank has; of a pair one. */
static inline guint32 pipesim_cells_ops(const PipesimCells *file, guint rank)
{
	const guint32 *begin = (const guint32 *)(gconstpointer)file->op_begin->data;

	return begin[rank + 1] - begin[rank];
}

/** pipesim_cell_is_pair: whether the cell behind @cell is its backward half. */
static inline gboolean pipesim_cell_is_pair(const PipesimCell *cell)
{
	return cell->action == PIPESIM_ACTION_OP && cell->kind == PIPESIM_FB;
}

/** pipesim_cells_read: all lines of @csv: "0F7", "7I13", "7W13", "3B2",
 * "(0F7;7B13)OVERLAP_F_B", "0F7.1" of a slice, "0SEND_F7", "1RECV_F7", "7SEND_B3", "6RECV_B3",
 * "0UNSHARD", "0RESHARD", "0REDUCE_GRAD", since PyTorch 2.15 "0WAIT_SEND_F7", "7WAIT_SEND_B3",
 * "0WAIT_REDUCE_GRAD", and of pipesim's own waits for receives, "1WAIT_RECV_F7", and messages
 * that go as one: "(0SEND_F7;0RECV_B3)GROUP".
 * @file: whose path is set; to be cleared whatever comes back
 * Returns: FALSE with PIPESIM_ERROR_PARSE, each of up to 20 faults at its exact column, an
 * error of pipesim_csv_next(), or PIPESIM_ERROR_LIMIT. */
gboolean pipesim_cells_read(PipesimCells *file, PipesimCsv *csv, GError **error);
PIPESIM_CLEARED(PipesimCells, pipesim_cells_clear)

/** pipesim_cell_print: appends the action as it would be written, outside a group. */
void pipesim_cell_print(const PipesimShape *shape, const PipesimCell *cell, GString *out);

/** pipesim_cell_of: @action of @rank, no op, as it would be read; without a column. */
PipesimCell pipesim_cell_of(
	const PipesimLowering *lowering, guint rank, const PipesimAction *action);

/** pipesim_lowering_link: the lowering that a file carries itself, run as the runtime does that
 * issues such lists: Megatron's where it waits for receives, PyTorch 2.15's for sends, else
 * 2.11's.
 * @program: linked, with the ops of the file
 * @written: its ops, each once and in the order of @program, and all else; of an op only that
 *   it is one counts, not its second half; a wait comes after its message
 * @rank_begin: of @written; ranks + 1 entries; copied, as is @written
 * @locate: (nullable): told an index of @written, not an op
 * Returns: (transfer full): NULL with PIPESIM_ERROR_INCOMPLETE, which names up to 20
 *   messages that are missing, appear twice, connect no two ranks, leave before the op that
 *   they come from or arrive behind the op that needs them; or PIPESIM_ERROR_LIMIT. */
PipesimLowering *pipesim_lowering_link(const PipesimProgram *program,
	const PipesimCell *written, const guint32 *rank_begin, PipesimLocate locate,
	gpointer data, GError **error);

/** pipesim_cells_check_lists: whether the waits and shardings of @file, whose ops are those of @program, are complete, and
 * no cell beside them is empty; from then on nothing else is wrong with it.
 *
 * Returns: FALSE with PIPESIM_ERROR_INCOMPLETE, up to 20 faults, or PIPESIM_ERROR_LIMIT. */
gboolean pipesim_cells_check_lists(
	PipesimCells *file, const PipesimProgram *program, GError **error);

/** pipesim_cells_fault: a fault at @cell, one of @file, for @code. */
void pipesim_cells_fault(PipesimCells *file, const PipesimCell *cell, PipesimErrorCode code,
	const char *format, ...) G_GNUC_PRINTF(4, 5);
