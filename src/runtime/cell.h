/* The grammar of one cell of a schedule file. Private to the room. */
#pragma once
#include "base/csv.h"
#include "runtime/lower.h"

/* What one action says, before it is known which chunk of its rank a stage is. */
typedef struct {
	guint8 action; /* PipesimActionKind; a sharding is PIPESIM_N_ACTIONS + its kind */
	guint8 kind;   /* PipesimKind, of an op */
	guint8 joined; /* a message in one group with the action before it */
	guint8 waited; /* a message in brackets, with others or alone */
	guint32 stage, microbatch;     /* of the forward half of a pair; a sharding has no
					  micro-batch */
	guint32 b_stage, b_microbatch; /* of the backward half of a pair, else 0 */
	guint32 line, column;          /* from 1 */
} PipesimCell;

/**
 * pipesim_cell_parse: "0F7", "7I13", "7W13", "3B2", "(0F7;7B13)OVERLAP_F_B", "0SEND_F7",
 * "1RECV_F7", "7SEND_B3", "6RECV_B3", "0UNSHARD", "0RESHARD", "0REDUCE_GRAD", and of pipesim's
 * own messages that go as one: "(0SEND_F7;0RECV_B3)GROUP".
 * @out: PipesimCell, to which one is added, or several of a group
 *
 * Returns: FALSE with PIPESIM_ERROR_PARSE at the exact column; nothing is then added.
 */
gboolean pipesim_cell_parse(const PipesimCsv *csv, const PipesimCsvRecord *record,
	const PipesimCsvCell *cell, GArray *out, GError **error);

/** pipesim_cell_print: appends the action as it would be written, outside a group. */
void pipesim_cell_print(const PipesimCell *cell, GString *out);
