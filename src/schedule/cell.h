/* The grammar of one cell of a schedule file. Private to the room. */
#pragma once
#include "base/csv.h"
#include "program/program.h"

/**
 * pipesim_cell_parse: "0F7", "7I13", "7W13", "3B2", "(0F7;7B13)OVERLAP_F_B".
 * @op: kind, stage, microbatch and the backward half are set, the rest is left alone
 *
 * Returns: FALSE with PIPESIM_ERROR_PARSE at the exact column.
 */
gboolean pipesim_cell_parse(const PipesimCsv *csv, const PipesimCsvRecord *record,
	const PipesimCsvCell *cell, PipesimOp *op, GError **error);
