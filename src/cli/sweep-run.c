#include "config.h"

#include "base/hash.h"
#include "base/input.h"
#include "cli/command.h"
#include "cli/sweep-run.h"
#include "sweep/wire.h"
#include <string.h>
#include <unistd.h>

gboolean pipesim_sweep_run_is_main(const PipesimSweepRun *run)
{
	return run->processes.rank == 0;
}

gboolean pipesim_sweep_run_check(
	const PipesimSetup *setup, const char *output, PipesimRowFormat format, GError **error)
{
	return !setup->flag[PIPESIM_SET_RESUME] ||
	       (format != PIPESIM_ROWS_TEXT && output != NULL) ||
	       pipesim_fail(error, PIPESIM_ERROR_USAGE,
		       "--resume needs the file it goes on with: -o FILE.csv or -o FILE.jsonl");
}

gboolean pipesim_sweep_run_share(PipesimSweepRun *run, guint64 points, GError **error)
{
	const char *text = run->setup->text[PIPESIM_SET_THREADS];
	guint64 threads = MAX(1u, g_get_num_processors() / run->processes.local_size);
	guint64 index = 0, count = 1;

	if (!pipesim_sweep_parse_shard(
		    run->setup->text[PIPESIM_SET_SHARD], &index, &count, error))
		return FALSE;
	if (text != NULL && !pipesim_parse_count(text, "--threads", 1, 4096, &threads, error))
		return FALSE;
	/* At most 2^40 points and 2^20 parts: no overflow. */
	run->work.first = points * index / count;
	run->work.end = points * (index + 1) / count;
	run->work.threads = (guint)threads;
	return TRUE;
}

/* What decides rows ---------------------------------------------------------------------- */

/* Of a file its bytes, unpacked, as a number. */
static gboolean add_file(const char *what, const char *path, GString *made_of, GError **error)
{
	g_autoptr(PipesimInput) input = pipesim_input_open(path, error);
	guint32 hash = PIPESIM_HASH_START;
	const char *data;
	gsize length;

	if (input == NULL)
		return FALSE;
	do {
		if (!pipesim_input_peek(input, 1, &data, &length, error))
			return FALSE;
		hash = pipesim_hash_add(hash, pipesim_hash_bytes(data, length));
		pipesim_input_consume(input, length);
	} while (length > 0);
	g_string_append_printf(made_of, "%s %08x\n", what, hash);
	return TRUE;
}

void pipesim_sweep_run_id_add(GString *made_of, const char *what, const GString *text)
{
	g_string_append_printf(
		made_of, "%s %08x\n", what, pipesim_hash_bytes(text->str, text->len));
}

GString *pipesim_sweep_run_id(
	const PipesimSetup *setup, gboolean (*decides)(guint id), GError **error)
{
	g_autoptr(GString) made_of = g_string_new(PACKAGE_STRING "\n");

	for (guint id = 1; id < PIPESIM_N_SETTINGS; id++) {
		const PipesimSetting *setting = &pipesim_settings[id];
		const char *text = setup->text[id];

		if (!decides(id))
			continue;
		if (setup->flag[id])
			g_string_append_printf(made_of, "%s\n", setting->name);
		if (text == NULL)
			continue;
		/* Of schedules that are files the caller knows more. */
		g_auto(GStrv) files = pipesim_setup_files(setup, text, setting->path);

		if (id == PIPESIM_SET_MODEL)
			pipesim_transformer_print(setup->model, made_of);
		else if (*files == NULL || id == PIPESIM_SET_SCHEDULE)
			g_string_append_printf(made_of, "%s %s\n", setting->name, text);
		else if (!add_file(setting->name, text, made_of, error))
			return NULL;
	}
	return g_steal_pointer(&made_of);
}

/* Running -------------------------------------------------------------------------------- */

/* Where nothing is left to do the first point is done all the same, to be compared. */
static gboolean confirm(PipesimSweepRun *run, guint64 next, GError **error)
{
	const guint64 first = run->work.first;
	g_autoptr(PipesimSweepBlock) block = NULL;

	if (next < run->work.end || first == run->work.end)
		return TRUE;
	block = pipesim_sweep_block_new(first, 1, run->work.width);
	run->work.solve(run->work.data, first, 1, block->results);
	return pipesim_sweep_file_confirm(run->file, block, error);
}

gboolean pipesim_sweep_run_open(PipesimSweepRun *run, gboolean writes, const char *made_of,
	guint blocks, guint64 most, GError **error)
{
	guint64 next = run->work.first, share;

	if (writes && pipesim_sweep_run_is_main(run)) {
		run->file = pipesim_sweep_file_open(run->output, &run->rows, made_of,
			run->work.first, run->work.end, run->setup->flag[PIPESIM_SET_RESUME],
			&next, error);
		if (run->file == NULL || !confirm(run, next, error))
			return FALSE;
	}
	/* What only the first process knows: where its file goes on. */
	run->work.first = pipesim_mpi_agree(next);
	/* Blocks long enough that handing them over costs nothing, short enough that all threads
	 * have some. */
	share = (run->work.end - run->work.first) / (blocks * (guint64)run->work.threads);
	run->work.block = (guint)pipesim_mpi_agree(CLAMP(share, 1, most));
	return TRUE;
}

/* Whether rows come to the terminal on which a line of progress would stand among them. */
static gboolean shows_rows(const PipesimSweepRun *run)
{
	return run->file != NULL && (run->output == NULL || strcmp(run->output, "-") == 0) &&
	       isatty(STDOUT_FILENO) == 1;
}

static void show_progress(const PipesimSweepRun *run)
{
	const gint64 now = g_get_monotonic_time();
	const guint64 all = run->work.end - run->work.first;
	double left;

	if (!pipesim_progress_is_due())
		return;
	left = (double)(now - run->began) / 1e6 * (double)(all - run->done) /
	       (double)MAX(run->done, 1u);
	pipesim_show_progress("%" G_GUINT64_FORMAT " of %" G_GUINT64_FORMAT " %s, %.0f s left",
		run->done, all, run->what, left);
}

/* Takes the blocks of all processes in order, to their end or to where one was stopped. */
static gboolean gather(PipesimSweepRun *run, PipesimPool *pool, GError **error)
{
	const guint64 blocks = pipesim_sweep_blocks(&run->work);
	const guint64 points = run->work.end - run->work.first;

	for (guint64 number = 0; number < blocks; number++) {
		const guint from = (guint)(number % run->processes.size);
		PipesimSweepBlock *block;
		GError *fault = NULL;

		if (from == 0) {
			block = pipesim_pool_next(pool);
		} else {
			g_autoptr(GByteArray) bytes = pipesim_mpi_receive(from);

			block = pipesim_wire_unpack(bytes->data, bytes->len, &fault);
		}
		if (block != NULL && run->file != NULL)
			pipesim_sweep_file_write(run->file, block, &fault);
		if (block != NULL) {
			run->done += block->n_points;
			show_progress(run);
		}
		if (run->kept != NULL && block != NULL)
			g_ptr_array_add(run->kept, block);
		else
			pipesim_sweep_block_free(block);
		if (fault != NULL) {
			g_propagate_error(error, fault);
			return FALSE;
		}
		if (block == NULL || run->done < MIN((number + 1) * run->work.block, points))
			return TRUE;
	}
	return TRUE;
}

static gboolean run_pool(PipesimSweepRun *run, GError **error)
{
	g_autoptr(PipesimPool) pool = NULL;
	gboolean ok = TRUE, more = !pipesim_sweep_run_is_main(run);

	run->began = g_get_monotonic_time();
	if (!shows_rows(run))
		pipesim_print_progress(run->what, 0, run->work.end - run->work.first);
	pool = pipesim_pool_new(&run->work);
	if (pipesim_sweep_run_is_main(run))
		ok = gather(run, pool, error);
	/* All blocks of another process, then the word that nothing follows. */
	while (more) {
		PipesimSweepBlock *block = pipesim_pool_next(pool);
		g_autoptr(GByteArray) bytes = pipesim_wire_pack(block);

		pipesim_mpi_send(bytes);
		more = block != NULL;
		pipesim_sweep_block_free(block);
	}
	pipesim_end_progress();
	if (!ok)
		g_atomic_int_set(&pipesim_stop_asked, 1);
	if (!ok || !pipesim_sweep_run_is_main(run))
		return ok;
	/* Those that were stopped say so even where nobody has asked for their next block. */
	for (guint from = 1; from < run->processes.size; from++) {
		guint length;

		do {
			g_autoptr(GByteArray) bytes = pipesim_mpi_receive(from);

			length = bytes->len;
		} while (length > 0);
	}
	return TRUE;
}

gboolean pipesim_sweep_run(PipesimSweepRun *run, GError **error)
{
	run->work.stop = &pipesim_stop_asked;
	run->work.part = run->processes.rank;
	run->work.parts = run->processes.size;
	pipesim_catch_signals();
	return run_pool(run, error);
}

gboolean pipesim_sweep_run_stopped(const PipesimSweepRun *run)
{
	const guint64 all = run->work.end - run->work.first;

	if (run->done >= all)
		return FALSE;
	g_printerr("pipesim: stopped after %" G_GUINT64_FORMAT " of %" G_GUINT64_FORMAT
		   " %s%s\n",
		run->done, all, run->what,
		run->file != NULL && run->output != NULL ? "; continue with --resume" : "");
	return TRUE;
}

void pipesim_sweep_run_end(PipesimSweepRun *run, gboolean ok, const GError *error)
{
	if (ok) {
		pipesim_mpi_finish();
	} else if (run->processes.size > 1) {
		/* The others wait for one that has failed: it ends them, so that nobody is left
		 * to print. */
		if (pipesim_sweep_run_is_main(run))
			g_printerr("pipesim: %s\n", error->message);
		pipesim_mpi_abort((int)pipesim_exit_status(error));
	}
	pipesim_sweep_file_free(run->file);
	g_clear_pointer(&run->kept, g_ptr_array_unref);
}
