/* A schedule file while it is read. Private to the room. */
#pragma once
#include "runtime/cell.h"
#include "runtime/csv.h"

typedef struct {
	PipesimCsv *csv;
	GArray *ops;        /* PipesimCell, by op index */
	GArray *rank_begin; /* guint32, of ops; one more than lines */
	/* Messages and shardings, and for each the op that it stands before, or the first of
	 * the next rank. */
	GArray *others;      /* PipesimCell */
	GArray *before;      /* guint32 */
	GArray *other_begin; /* guint32, by rank; one more than lines */
	GArray *idle;        /* PipesimPlace, of empty cells; the first few */
	PipesimFaults *faults;
} PipesimCsvSchedule;

static inline guint pipesim_csv_ranks(const PipesimCsvSchedule *file)
{
	return file->rank_begin->len - 1;
}

static inline const PipesimCell *pipesim_csv_op(const PipesimCsvSchedule *file, guint32 op)
{
	return &g_array_index(file->ops, PipesimCell, op);
}

/** pipesim_csv_locate: a PipesimLocate for ops; data is a PipesimCsvSchedule. */
void pipesim_csv_locate(gpointer file, guint32 op, GError *error);

/** pipesim_csv_fault: a fault at @cell, for @code. */
void pipesim_csv_fault(PipesimCsvSchedule *file, const PipesimCell *cell, PipesimErrorCode code,
	const char *format, ...) G_GNUC_PRINTF(4, 5);

/** pipesim_csv_shape: stages and micro-batches of the file. FALSE with PIPESIM_ERROR_PARSE:
 * numbers that are out of range or count from 1; PIPESIM_ERROR_LIMIT. */
gboolean pipesim_csv_shape(PipesimCsvSchedule *file, PipesimShape *shape, GError **error);

/** pipesim_csv_place: the ops, and which chunk of its rank each stage is; not linked yet. NULL
 * with PIPESIM_ERROR_PARSE: too many stages on one rank; or PIPESIM_ERROR_LIMIT. */
PipesimProgram *pipesim_csv_place(
	PipesimCsvSchedule *file, PipesimShape *shape, GError **error);

/** pipesim_csv_lower: the messages of @file, which has some; @places: of all that is written,
 * to be freed with g_free(). NULL with PIPESIM_ERROR_INCOMPLETE or PIPESIM_ERROR_LIMIT. */
PipesimLowering *pipesim_csv_lower(PipesimCsvSchedule *file, const PipesimProgram *program,
	PipesimPlace **places, GError **error);
