/* Many points solved on all threads and processes, handed over in order, and written as rows to a file that can be gone on
 * with: what a sweep and the candidates of a plan have in common. */
#pragma once
#include "cli/mpi.h"
#include "sweep/rows.h"

/* The file that is filled: PATH.partial until it is whole, so that what is done survives an end before time and
 * PATH is never half of something. PATH.partial.id beside it has everything that decides a row, a line each,
 * and is compared where rows are resumed. */
typedef struct _PipesimSweepFile PipesimSweepFile;

typedef struct {
	const PipesimSetup *setup;
	PipesimProcesses processes;
	const char *what; /* "points", as messages call them */
	const char *output;
	PipesimRows rows;
	PipesimSweepWork work;  /* solve and data are the caller's */
	PipesimSweepFile *file; /* NULL: no rows are written; the first process's */
	GPtrArray *kept;        /* of PipesimSweepBlock; NULL where nothing is drawn */
	guint64 done;           /* points, from work.first */
} PipesimSweepRun;

/** pipesim_sweep_run_check: whether rows of @format in @output can be gone on with, where --resume says so. FALSE with
 * PIPESIM_ERROR_USAGE. */
gboolean pipesim_sweep_run_check(
	const PipesimSetup *setup, const char *output, PipesimRowFormat format, GError **error);

/** pipesim_sweep_run_share: which of @points points, by --shard, and how many threads, by --threads. FALSE with
 * PIPESIM_ERROR_USAGE. */
gboolean pipesim_sweep_run_share(PipesimSweepRun *run, guint64 points, GError **error);

/** pipesim_sweep_run_id: everything that decides a row, a line each, of the settings of which @decides says so: what
 * --costs and --trace say is the caller's to add. (transfer full): NULL where a file cannot be read. */
GString *pipesim_sweep_run_id(
	const PipesimSetup *setup, gboolean (*decides)(guint id), GError **error);

/** pipesim_sweep_run_id_add: to that a text, as a number. */
void pipesim_sweep_run_id_add(GString *made_of, const char *what, const GString *text);

/** pipesim_sweep_run_open: the file of rows, where @writes; what is left to do, in @blocks blocks a thread, of at most
 * @most points each. FALSE with PIPESIM_ERROR_WRITE; PIPESIM_ERROR_USAGE where there is a PATH.partial but no
 * --resume, or where that has no .id; PIPESIM_ERROR_PARSE where what is there is of another sweep. */
gboolean pipesim_sweep_run_open(PipesimSweepRun *run, gboolean writes, const char *made_of,
	guint blocks, guint64 most, GError **error);

/** pipesim_sweep_run: all that is left to do, or until SIGINT or SIGTERM. Errors of writing and of other processes. */
gboolean pipesim_sweep_run(PipesimSweepRun *run, GError **error);

/** pipesim_sweep_run_finish: of the process that writes: gives the file its name, or where something is left to do says
 * so, on standard error and in @answer. FALSE with PIPESIM_ERROR_WRITE. */
gboolean pipesim_sweep_run_finish(PipesimSweepRun *run, PipesimExit *answer, GError **error);

/** pipesim_sweep_run_clear: what was not finished stays PATH.partial. */
void pipesim_sweep_run_clear(PipesimSweepRun *run);
