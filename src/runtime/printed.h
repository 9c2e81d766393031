/* Orders as the programs that make them print them, as lines of a schedule file. Private to the room. */
#pragma once
#include "base/base.h"

/* Cells in place of what was printed; the text is NULL where it was a schedule file. */
typedef struct {
	GString *text;
	GArray *columns; /* guint32: where what a cell is of stands; a line a rank, as in @text */
} PipesimPrinted;

/** pipesim_printed_open: @input, which it takes over, as a schedule file. Where it begins as
 * what one of these prints it is read whole:
 *
 *   zero-bubble's repository, a line a rank: "f0 f1 b0 F0 w0", small letters of a rank's first chunk. Who
 *   sends and receives what, and post-validation, is passed over. Chunks of a micro-batch, and slices, are
 *   told apart by their order; whether two chunks are a V, by how soon the last rank comes to its second, or who
 *   receives; what tells neither is refused.
 *   Megatron-LM's log, of each rank a line "Rank 0: ORDER [1, 1, 2, -2]", its chunks from 1, backwards
 *   below 0; other lines are passed over.
 *
 * Returns: (transfer full): of no other life than @printed and @input; NULL where @input is
 *   NULL, or with PIPESIM_ERROR_PARSE at its place, or what pipesim_input_peek() gives. */
PipesimInput *pipesim_printed_open(
	PipesimPrinted *printed, PipesimInput *input, GError **error);
PIPESIM_CLEARED(PipesimPrinted, pipesim_printed_clear)
