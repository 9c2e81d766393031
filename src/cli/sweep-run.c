#include "cli/sweep-run.h"
#include "cli/command.h"
#include "sweep/wire.h"
#include <errno.h>
#include <glib/gstdio.h>
#include <stdio.h>
#include <unistd.h>

/* The file of rows ----------------------------------------------------------------------- */

struct _PipesimSweepFile {
	/* NULL: written in place: standard output, a device or pipe. */
	char *path, *partial, *id;
	const char *made_of; /* what stands at @id */
	const char *name;    /* of what is written, as messages call it */
	FILE *stream;
	const PipesimRows *rows;
	guint64 first, end;
	GString *text;
};

static gboolean fail_write(const PipesimSweepFile *file, GError **error)
{
	return pipesim_fail(error, PIPESIM_ERROR_WRITE, "cannot write %s: %s%s", file->name,
		g_strerror(errno),
		file->stream != NULL && file->partial != NULL
			? "; the rows there are kept: make room, and continue with --resume"
			: "");
}

static gboolean write_text(PipesimSweepFile *file, GError **error)
{
	const gsize length = file->text->len;
	const gboolean ok = fwrite(file->text->str, 1, length, file->stream) == length &&
			    fflush(file->stream) == 0;

	g_string_truncate(file->text, 0);
	return ok || fail_write(file, error);
}

static gboolean write_header(PipesimSweepFile *file, GError **error)
{
	/* Parts of an array job are put together with cat: only the first has a header. */
	if (file->first == 0)
		pipesim_rows_header(file->rows, file->text);
	return file->text->len == 0 || write_text(file, error);
}

/* Resuming ------------------------------------------------------------------------------- */

/* Where two texts of lines first differ: the line of each, without its end. */
static char *first_line(const char *text, gsize from)
{
	while (from > 0 && text[from - 1] != '\n')
		from--;
	return g_strndup(text + from, strcspn(text + from, "\n"));
}

/* Rows of other costs or files look as ours do: what they were made of must be the same. */
static gboolean check_made_of(const PipesimSweepFile *file, GError **error)
{
	g_autofree char *there = NULL, *said = NULL, *asked = NULL;
	gsize same = 0;

	if (!g_file_get_contents(file->id, &there, NULL, NULL))
		return pipesim_refuse(error,
			"%s is missing, which records what the rows of %s depend on; remove "
			"the rows and start again",
			file->id, file->partial);
	if (strcmp(there, file->made_of) == 0)
		return TRUE;
	while (there[same] != '\0' && there[same] == file->made_of[same])
		same++;
	said = first_line(there, same);
	asked = first_line(file->made_of, same);
	return pipesim_fail_at(error, file->id, 1, 1,
		"the rows of %s depend on other options or files: '%.80s' there, '%.80s' here; "
		"give --resume the options and files that they were written with, or remove "
		"them",
		file->partial, said, asked);
}

/* Whether @line is what row @row begins with; row -1 is the header. */
static gboolean is_ours(PipesimSweepFile *file, const char *line, gint64 row)
{
	const guint width = file->rows->width;
	gboolean same;

	g_string_truncate(file->text, 0);
	if (row < 0) {
		pipesim_rows_header(file->rows, file->text);
		same = strcmp(line, file->text->str) == 0;
	} else {
		pipesim_rows_key(file->rows, file->first + (guint64)row / width,
			(guint)((guint64)row % width), file->text);
		same = strncmp(line, file->text->str, file->text->len) == 0 &&
		       strchr(",}", line[file->text->len]) != NULL;
	}
	if (same)
		g_string_truncate(file->text, 0);
	return same;
}

/* What of @line no row has: a number that is none, or cells too many or too few; NULL: it may be one. Of
 * @cells in CSV; 0: an object of JSON. For g_free(). */
static char *find_junk(const char *line, guint cells)
{
	gboolean quoted = FALSE;
	guint n = 1;

	for (const char *p = line; *p != '\0';) {
		const gsize word =
			quoted ? 0 : strspn(p, "0123456789.+-" G_CSET_a_2_z G_CSET_A_2_Z);
		g_autofree char *text = g_strndup(p, word);
		char *end = NULL;

		if (word > 0 && !isfinite(g_ascii_strtod(text, &end)) && *end == '\0')
			return g_strdup_printf("'%.20s' is no figure", text);
		if (cells == 0 && *p == '\\' && p[1] != '\0')
			p++;
		quoted ^= *p == '"';
		n += !quoted && *p == ',';
		p += MAX(word, 1);
	}
	if (cells > 0 && n != cells)
		return g_strdup_printf("it has %u cells in place of %u", n, cells);
	if (quoted || (cells == 0 && !g_str_has_suffix(line, "}\n")))
		return g_strdup("it has no end");
	return NULL;
}

/* Reads whole lines; *@keep is how many bytes hold whole points, *@points how many those are.
 */
static gboolean read_lines(PipesimSweepFile *file, FILE *stream, const char *path, long *keep,
	guint64 *points, GError **error)
{
	g_autofree char *line = NULL; /* getline's, freed by the same allocator */
	size_t room = 0;
	const guint width = file->rows->width;
	const gboolean csv = file->rows->format == PIPESIM_ROWS_CSV;
	guint cells = csv; /* of a row in CSV; 0 in JSON */
	gint64 row = file->first == 0 && csv ? -1 : 0;
	ssize_t length;

	pipesim_rows_header(file->rows, file->text);
	for (const char *c = file->text->str; *c != '\0'; c++)
		cells += *c == ',';
	g_string_truncate(file->text, 0);
	for (guint64 number = 1; (length = getline(&line, &room, stream)) > 0; number++) {
		if (line[length - 1] != '\n')
			break; /* cut off in the middle */
		if (row >= (gint64)((file->end - file->first) * width) ||
			!is_ours(file, line, row))
			return pipesim_fail_at(error, path, (guint)MIN(number, G_MAXUINT), 1,
				"not a line of this sweep, which would begin '%.80s'; give "
				"--resume the options that the file was written with, or "
				"remove it",
				file->text->str);
		g_autofree char *junk = find_junk(line, cells);
		if (junk != NULL)
			return pipesim_fail_at(error, path, (guint)MIN(number, G_MAXUINT), 1,
				"not a row as sweeps write it: %s; cut the file off before "
				"this line, and --resume goes on from there",
				junk);
		row++;
		if (row >= 0 && (guint64)row % width == 0) {
			*keep = ftell(stream);
			*points = (guint64)row / width;
		}
	}
	return TRUE;
}

/* Goes on with @path, partial or whole: behind the points that it has, what follows is cut off. */
static gboolean resume(PipesimSweepFile *file, const char *path, guint64 *next, GError **error)
{
	guint64 points = 0;
	long keep = 0;

	if (path == file->partial && !check_made_of(file, error))
		return FALSE;
	FILE *stream = fopen(path, "r");
	if (stream == NULL)
		return pipesim_fail(error, PIPESIM_ERROR_WRITE, "cannot read %s: %s", path,
			g_strerror(errno));
	gboolean ok = read_lines(file, stream, path, &keep, &points, error);
	fclose(stream);
	if (!ok)
		return FALSE;
	*next = file->first + points;
	if (path == file->path) /* whole already, or of another make */
		return *next == file->end ||
		       pipesim_refuse(error,
			       "%s has %" G_GUINT64_FORMAT " of %" G_GUINT64_FORMAT
			       " points and is no partial file; rename it to %s to go on",
			       path, points, file->end - file->first, file->partial);
	if (truncate(path, keep) == 0)
		file->stream = fopen(path, "a");
	if (file->stream == NULL)
		return fail_write(file, error);
	return keep > 0 || write_header(file, error);
}

/* Opening -------------------------------------------------------------------------------- */

static gboolean open_file(
	PipesimSweepRun *run, const char *made_of, guint64 *next, GError **error)
{
	const char *path = run->output;
	gboolean resuming = run->setup->flag[PIPESIM_SET_RESUME];
	PipesimSweepFile *file;

	if (path != NULL && !pipesim_check_unread(path, error))
		return FALSE;
	file = run->file = g_new(PipesimSweepFile, 1);
	*file = (PipesimSweepFile){.rows = &run->rows,
		.made_of = made_of,
		.first = run->work.first,
		.end = run->work.end,
		.name = "standard output",
		.text = g_string_new(NULL)};
	if (path != NULL && strcmp(path, "-") != 0) {
		file->name = file->path = g_strdup(path);
		if (!g_file_test(path, G_FILE_TEST_EXISTS) ||
			g_file_test(path, G_FILE_TEST_IS_REGULAR)) {
			file->name = file->partial = g_strconcat(path, PIPESIM_PARTIAL, NULL);
			file->id = g_strconcat(path, PIPESIM_PARTIAL_ID, NULL);
		}
	}
	resuming &= file->partial != NULL;
	if (resuming && g_file_test(file->partial, G_FILE_TEST_EXISTS))
		return resume(file, file->partial, next, error);
	if (resuming && g_file_test(file->path, G_FILE_TEST_EXISTS))
		return resume(file, file->path, next, error);
	if (file->partial != NULL && !g_file_test(file->partial, G_FILE_TEST_EXISTS) &&
		!pipesim_write_file(file->id, made_of, strlen(made_of), error))
		return FALSE;
	if (file->partial != NULL)
		file->stream = fopen(file->partial, "wx");
	else
		file->stream =
			file->path != NULL ? fopen(file->path, "w") : pipesim_console_stream();
	if (file->stream != NULL)
		return write_header(file, error);
	if (errno == EEXIST)
		return pipesim_refuse(error,
			"%s was left by a sweep that did not finish; continue it with "
			"--resume, or remove it",
			file->partial);
	return fail_write(file, error);
}

/* Sharing -------------------------------------------------------------------------------- */

gboolean pipesim_sweep_run_check(
	const PipesimSetup *setup, const char *output, PipesimRowFormat format, GError **error)
{
	return !setup->flag[PIPESIM_SET_RESUME] ||
	       (format != PIPESIM_ROWS_TEXT && output != NULL) ||
	       pipesim_refuse(error,
		       "--resume needs the file it goes on with: -o FILE.csv or -o FILE.jsonl");
}

gboolean pipesim_sweep_run_share(PipesimSweepRun *run, guint64 points, GError **error)
{
	const guint own = MAX(1u, g_get_num_processors() / run->processes.local_size);

	run->work.threads = run->setup->threads > 0 ? run->setup->threads : own;
	return pipesim_setup_share(run->setup, points, &run->work.first, &run->work.end, error);
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
		else if (!add_file(setting->name, *files, made_of, error))
			return NULL;
	}
	return g_steal_pointer(&made_of);
}

/* Running -------------------------------------------------------------------------------- */

/* Where nothing is left to do, whether the whole file has what the first point gives, which is done for that. */
static gboolean confirm(PipesimSweepRun *run, guint64 next, GError **error)
{
	PipesimSweepFile *file = run->file;
	const guint64 first = run->work.first;

	if (next < run->work.end || first == run->work.end)
		return TRUE;
	g_autoptr(PipesimSweepBlock) block = pipesim_sweep_block_new(first, 1, run->work.width);
	run->work.solve(run->work.data, first, 1, block->results);
	FILE *stream = fopen(file->path, "r");
	if (stream == NULL)
		return pipesim_fail(error, PIPESIM_ERROR_WRITE, "cannot read %s: %s",
			file->path, g_strerror(errno));
	g_string_truncate(file->text, 0);
	if (first == 0)
		pipesim_rows_header(file->rows, file->text);
	pipesim_rows_append(file->rows, block, file->text);
	g_autofree char *there = g_malloc(file->text->len);
	gsize length = fread(there, 1, file->text->len, stream);
	fclose(stream);
	if (length == file->text->len && memcmp(there, file->text->str, length) == 0)
		return TRUE;
	return pipesim_fail_at(error, file->path, 1, 1,
		"its first rows are not those of this sweep; give --resume the options and "
		"files that it was written with, or remove it");
}

gboolean pipesim_sweep_run_open(PipesimSweepRun *run, gboolean writes, const char *made_of,
	guint blocks, guint64 most, GError **error)
{
	guint64 next = run->work.first, share;

	if (writes && run->processes.rank == 0 &&
		(!open_file(run, made_of, &next, error) || !confirm(run, next, error)))
		return FALSE;
	/* What only the first process knows: where its file goes on. */
	run->work.first = pipesim_mpi_agree(next);
	/* Blocks long enough that handing them over costs nothing, short enough that all threads
	 * have some. */
	share = (run->work.end - run->work.first) / (blocks * (guint64)run->work.threads);
	run->work.block = (guint)pipesim_mpi_agree(CLAMP(share, 1, most));
	return TRUE;
}

/* Takes the blocks of all processes in order, to their end or to where one was stopped. */
static gboolean gather(PipesimSweepRun *run, PipesimPool *pool, GError **error)
{
	const guint64 points = run->work.end - run->work.first;
	const gint64 began = g_get_monotonic_time();

	for (guint64 number = 0; number < pipesim_sweep_blocks(&run->work); number++) {
		const guint from = (guint)(number % run->processes.size);
		const double passed = (double)(g_get_monotonic_time() - began) / 1e6;
		PipesimSweepBlock *block;
		GError *fault = NULL;

		if (from == 0) {
			block = pipesim_pool_next(pool);
		} else {
			g_autoptr(GByteArray) bytes = pipesim_mpi_receive(from);

			block = pipesim_wire_unpack(bytes->data, bytes->len, &fault);
		}
		if (block != NULL && run->file != NULL) {
			pipesim_rows_append(run->file->rows, block, run->file->text);
			write_text(run->file, &fault);
		}
		if (block != NULL)
			run->done += block->n_points;
		if (block != NULL && pipesim_progress_is_due())
			pipesim_show_progress("%" G_GUINT64_FORMAT " of %" G_GUINT64_FORMAT
					      " %s, %.0f s left",
				run->done, points, run->what,
				passed * (double)(points - run->done) /
					(double)MAX(run->done, 1u));
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

gboolean pipesim_sweep_run(PipesimSweepRun *run, GError **error)
{
	const gboolean is_main = run->processes.rank == 0;
	/* Rows come to the terminal on which a line of progress would stand among them. */
	const gboolean shows_rows =
		run->file != NULL && run->file->stream == stdout && isatty(STDOUT_FILENO) == 1;
	gboolean ok = TRUE, more = !is_main;

	run->work.stop = pipesim_stop();
	run->work.part = run->processes.rank;
	run->work.parts = run->processes.size;
	pipesim_catch_signals();
	if (!shows_rows)
		pipesim_print_progress(run->what, 0, run->work.end - run->work.first);
	g_autoptr(PipesimPool) pool = pipesim_pool_new(&run->work);
	if (is_main)
		ok = gather(run, pool, error);
	/* All blocks of another process, then the word that nothing follows. */
	while (more) {
		g_autoptr(PipesimSweepBlock) block = pipesim_pool_next(pool);
		g_autoptr(GByteArray) bytes = pipesim_wire_pack(block);

		pipesim_mpi_send(bytes);
		more = block != NULL;
	}
	pipesim_end_progress();
	if (!ok)
		g_atomic_int_set(pipesim_stop(), 1);
	/* Those that were stopped say so even where nobody has asked for their next block. */
	for (guint from = 1; ok && is_main && from < run->processes.size; from++) {
		guint length;

		do {
			g_autoptr(GByteArray) bytes = pipesim_mpi_receive(from);

			length = bytes->len;
		} while (length > 0);
	}
	return ok;
}

gboolean pipesim_sweep_run_finish(PipesimSweepRun *run, PipesimExit *answer, GError **error)
{
	const guint64 all = run->work.end - run->work.first;
	PipesimSweepFile *file = run->file;

	if (run->processes.rank > 0 ||
		(run->done >= all &&
			(file == NULL || file->partial == NULL || file->stream == NULL)))
		return TRUE;
	if (run->done >= all) {
		gboolean ok = fsync(fileno(file->stream)) == 0;

		ok = fclose(file->stream) == 0 && ok;
		file->stream = NULL;
		if (!ok || g_rename(file->partial, file->path) != 0)
			return fail_write(file, error);
		g_unlink(file->id);
		return TRUE;
	}
	pipesim_say("pipesim: stopped after %" G_GUINT64_FORMAT " of %" G_GUINT64_FORMAT
		    " %s%s",
		run->done, all, run->what,
		run->file != NULL && run->output != NULL ? "; continue with --resume" : "");
	*answer = PIPESIM_EXIT_STOPPED;
	return TRUE;
}

void pipesim_sweep_run_clear(PipesimSweepRun *run)
{
	PipesimSweepFile *file = run->file;

	g_clear_pointer(&run->kept, g_ptr_array_unref);
	if (file == NULL)
		return;
	if (file->stream != NULL && file->stream != stdout)
		fclose(file->stream);
	g_string_free(file->text, TRUE);
	pipesim_free_all(file->partial, file->id, file->path, file);
}
