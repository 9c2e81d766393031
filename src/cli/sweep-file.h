/* The file that a sweep, or a plan, fills: PATH.partial until it is whole, so that what is done survives an
 * end before time and PATH is never half of something. */
#pragma once
#include "sweep/rows.h"

typedef struct _PipesimSweepFile PipesimSweepFile;

/**
 * pipesim_sweep_file_open: "-" or NULL is standard output, written as rows come.
 * @rows: how they are written; must outlive the file
 * @made_of: everything that decides a row, a line each, the caller's until this returns; stands in PATH.partial.id beside the rows
 *   and is compared where they are resumed
 * @first, @end: points that the file is to hold
 * @resume: go on behind the whole points that PATH.partial, or PATH, has already
 * @next: the point to go on with: @end where nothing is left to do
 *
 * Returns: (transfer full): NULL with PIPESIM_ERROR_WRITE, PIPESIM_ERROR_USAGE where there is a
 * PATH.partial but no @resume, or where that has no .id; PIPESIM_ERROR_PARSE where what is there is
 * of another sweep.
 */
PipesimSweepFile *pipesim_sweep_file_open(const char *path, const PipesimRows *rows,
	const char *made_of, guint64 first, guint64 end, gboolean resume, guint64 *next,
	GError **error);

/** pipesim_sweep_file_confirm: whether a whole PATH, of which nothing is left to do, has the rows
 * of @block, its first. FALSE with PIPESIM_ERROR_PARSE where they differ, or
 * PIPESIM_ERROR_WRITE where it cannot be read. */
gboolean pipesim_sweep_file_confirm(
	PipesimSweepFile *file, const PipesimSweepBlock *block, GError **error);

/** pipesim_sweep_file_write: FALSE with PIPESIM_ERROR_WRITE. */
gboolean pipesim_sweep_file_write(
	PipesimSweepFile *file, const PipesimSweepBlock *block, GError **error);

/** pipesim_sweep_file_close: all rows are there: gives the file its name. FALSE with
 * PIPESIM_ERROR_WRITE. */
gboolean pipesim_sweep_file_close(PipesimSweepFile *file, GError **error);

/** pipesim_sweep_file_free: what was not closed stays PATH.partial. */
void pipesim_sweep_file_free(PipesimSweepFile *file);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(PipesimSweepFile, pipesim_sweep_file_free)
