/* The grammar of one cell of a schedule file. Private to the room. */
#pragma once
#include "base/csv.h"
#include "program/program.h"

/* What one cell says, before it is known which chunk of its rank a stage is. */
typedef struct {
	guint8 kind;                   /* PipesimKind */
	guint32 stage, microbatch;     /* of the forward half of a pair */
	guint32 b_stage, b_microbatch; /* of the backward half of a pair, else 0 */
	guint32 line, column;          /* from 1; set by the caller */
} PipesimCell;

/**
 * pipesim_cell_parse: "0F7", "7I13", "7W13", "3B2", "(0F7;7B13)OVERLAP_F_B".
 * @out: all but line and column are set
 *
 * Returns: FALSE with PIPESIM_ERROR_PARSE at the exact column.
 */
gboolean pipesim_cell_parse(const PipesimCsv *csv, const PipesimCsvRecord *record,
	const PipesimCsvCell *cell, PipesimCell *out, GError **error);

/** pipesim_cell_print: appends the cell as it would be written. */
void pipesim_cell_print(const PipesimCell *cell, GString *out);
