/* Rows of measured memory (columns: docs/memory.md) as what is asked of pipesim: a model, how it was trained
 * and cut, and the peak that pipesim finds for the rank. */
#pragma once
#include "transformer/cutter.h"

typedef struct {
	GHashTable *fields; /* column -> text */
	PipesimTransformer *model;
	PipesimTraining training;
	PipesimStages *
		layout; /* of all ranks: the row's own as it is, the others share what is left */
	guint rank, ranks, chunks, group, microbatches;
	const char *schedule;
	const char *outside; /* why the formulae do not cover it, or NULL */
	gint64 peak,
		first;    /* measured, bytes: of the run and of its first step; 0 = not known */
	gint64 left;      /* measured at the end of a step, bytes; 0 = not known */
	gint64 rest;      /* of predicted: what is added to workspaces and not explained */
	gint64 held;      /* counted at the end of a step */
	gint64 predicted; /* 0 = refused, see error */
	gint64 balanced;  /* the same */
	gint64 tenth; /* what the fullest rank needs more where it has 1.1 times the mean of rows */
	gint64 step;       /* measured, ns; 0 = not known */
	gint64 adam_share; /* of the optimizer's moments, which the first step lacks */
	GError *error;
} MemoryRow;

/** memory_rows_read: of the files @names in @folder. (transfer full): of MemoryRow; NULL where one is not
 * there. */
GPtrArray *memory_rows_read(const char *folder, const char *const *names);

/** memory_row_text: a column of it; "" where it has none. */
const char *memory_row_text(const MemoryRow *row, const char *column);

/** memory_row_count: the peak of its rank as @training, its own but for what does not decide whether it runs. */
gint64 memory_row_count(const MemoryRow *row, const PipesimTraining *training);

/** memory_row_error: predicted over measured, less 1; NAN where either is not known. */
double memory_row_error(const MemoryRow *row);
