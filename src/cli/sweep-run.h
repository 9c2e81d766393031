/* Many points solved on all threads and processes, handed over in order, and written as rows to a file that can be gone on
 * with: what a sweep and the candidates of a plan have in common. */
#pragma once
#include "cli/mpi.h"
#include "cli/sweep-file.h"
#include "setup/setup.h"

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
	gint64 began;           /* us */
} PipesimSweepRun;

/** pipesim_sweep_run_is_main: whether this process writes. */
gboolean pipesim_sweep_run_is_main(const PipesimSweepRun *run);

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
 * @most points each. Errors of pipesim_sweep_file_open(). */
gboolean pipesim_sweep_run_open(PipesimSweepRun *run, gboolean writes, const char *made_of,
	guint blocks, guint64 most, GError **error);

/** pipesim_sweep_run: all that is left to do, or until SIGINT or SIGTERM. Errors of writing and of other processes. */
gboolean pipesim_sweep_run(PipesimSweepRun *run, GError **error);

/** pipesim_sweep_run_stopped: whether something is left to do, which is then said. */
gboolean pipesim_sweep_run_stopped(const PipesimSweepRun *run);

/** pipesim_sweep_run_end: leaves the other processes, or ends them where @ok is FALSE and says @error. */
void pipesim_sweep_run_end(PipesimSweepRun *run, gboolean ok, const GError *error);
