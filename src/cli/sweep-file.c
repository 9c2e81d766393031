#include "config.h"

#include "base/sink.h"
#include "cli/sweep-file.h"
#include "setup/setup.h"
#include <errno.h>
#include <glib/gstdio.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

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
		return pipesim_fail(error, PIPESIM_ERROR_USAGE,
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

gboolean pipesim_sweep_file_confirm(
	PipesimSweepFile *file, const PipesimSweepBlock *block, GError **error)
{
	FILE *stream = fopen(file->path, "r");
	g_autofree char *there = NULL;
	gsize length;

	if (stream == NULL)
		return pipesim_fail(error, PIPESIM_ERROR_WRITE, "cannot read %s: %s",
			file->path, g_strerror(errno));
	g_string_truncate(file->text, 0);
	if (file->first == 0)
		pipesim_rows_header(file->rows, file->text);
	pipesim_rows_append(file->rows, block, file->text);
	there = g_malloc(file->text->len);
	length = fread(there, 1, file->text->len, stream);
	fclose(stream);
	if (length == file->text->len && memcmp(there, file->text->str, length) == 0)
		return TRUE;
	return pipesim_fail_at(error, file->path, 1, 1,
		"its first rows are not those of this sweep; give --resume the options and "
		"files that it was written with, or remove it");
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

/* Cells of a row in CSV; 0 in JSON. */
static guint count_cells(PipesimSweepFile *file)
{
	guint n = 0;

	if (file->rows->format != PIPESIM_ROWS_CSV)
		return 0;
	g_string_truncate(file->text, 0);
	pipesim_rows_header(file->rows, file->text);
	for (gsize i = 0; i < file->text->len; i++)
		n += file->text->str[i] == ',';
	g_string_truncate(file->text, 0);
	return n + 1;
}

/* Reads whole lines; *@keep is how many bytes hold whole points, *@points how many those are.
 */
static gboolean read_lines(PipesimSweepFile *file, FILE *stream, const char *path, long *keep,
	guint64 *points, GError **error)
{
	g_autofree char *line = NULL; /* getline's, freed by the same allocator */
	size_t room = 0;
	const guint width = file->rows->width;
	const guint cells = count_cells(file);
	gint64 row = file->first == 0 && file->rows->format == PIPESIM_ROWS_CSV ? -1 : 0;
	ssize_t length;

	for (guint64 number = 1; (length = getline(&line, &room, stream)) > 0; number++) {
		g_autofree char *junk = NULL;

		if (line[length - 1] != '\n')
			break; /* cut off in the middle */
		if (row >= (gint64)((file->end - file->first) * width) ||
			!is_ours(file, line, row))
			return pipesim_fail_at(error, path, (guint)MIN(number, G_MAXUINT), 1,
				"not a line of this sweep, which would begin '%.80s'; give "
				"--resume the options that the file was written with, or "
				"remove it",
				file->text->str);
		junk = find_junk(line, cells);
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
	FILE *stream;
	guint64 points = 0;
	long keep = 0;
	gboolean ok;

	if (path == file->partial && !check_made_of(file, error))
		return FALSE;
	stream = fopen(path, "r");
	if (stream == NULL)
		return pipesim_fail(error, PIPESIM_ERROR_WRITE, "cannot read %s: %s", path,
			g_strerror(errno));
	ok = read_lines(file, stream, path, &keep, &points, error);
	fclose(stream);
	if (!ok)
		return FALSE;
	*next = file->first + points;
	if (path == file->path) /* whole already, or of another make */
		return *next == file->end ||
		       pipesim_fail(error, PIPESIM_ERROR_USAGE,
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

static gboolean begin(PipesimSweepFile *file, GError **error)
{
	if (file->partial != NULL && !g_file_test(file->partial, G_FILE_TEST_EXISTS) &&
		!pipesim_write_file(file->id, file->made_of, strlen(file->made_of), error))
		return FALSE;
	if (file->partial != NULL)
		file->stream = fopen(file->partial, "wx");
	else
		file->stream = file->path != NULL ? fopen(file->path, "w") : stdout;
	if (file->stream != NULL)
		return write_header(file, error);
	if (errno == EEXIST)
		return pipesim_fail(error, PIPESIM_ERROR_USAGE,
			"%s was left by a sweep that did not finish; continue it with "
			"--resume, or remove it",
			file->partial);
	return fail_write(file, error);
}

PipesimSweepFile *pipesim_sweep_file_open(const char *path, const PipesimRows *rows,
	const char *made_of, guint64 first, guint64 end, gboolean resuming, guint64 *next,
	GError **error)
{
	PipesimSweepFile *file;
	gboolean ok;

	if (path != NULL && !pipesim_check_unread(path, error))
		return NULL;
	file = g_new0(PipesimSweepFile, 1);
	file->rows = rows;
	file->made_of = made_of;
	file->first = first;
	file->end = end;
	file->text = g_string_new(NULL);
	if (path != NULL && strcmp(path, "-") != 0) {
		file->path = g_strdup(path);
		if (!g_file_test(path, G_FILE_TEST_EXISTS) ||
			g_file_test(path, G_FILE_TEST_IS_REGULAR))
			file->partial = g_strconcat(path, PIPESIM_PARTIAL, NULL);
		if (file->partial != NULL)
			file->id = g_strconcat(path, PIPESIM_PARTIAL_ID, NULL);
	}
	file->name = file->partial != NULL ? file->partial
		     : file->path != NULL  ? file->path
					   : "standard output";
	*next = first;
	resuming &= file->partial != NULL;
	if (resuming && g_file_test(file->partial, G_FILE_TEST_EXISTS))
		ok = resume(file, file->partial, next, error);
	else if (resuming && g_file_test(file->path, G_FILE_TEST_EXISTS))
		ok = resume(file, file->path, next, error);
	else
		ok = begin(file, error);
	if (ok)
		return file;
	pipesim_sweep_file_free(file);
	return NULL;
}

gboolean pipesim_sweep_file_write(
	PipesimSweepFile *file, const PipesimSweepBlock *block, GError **error)
{
	pipesim_rows_append(file->rows, block, file->text);
	return write_text(file, error);
}

gboolean pipesim_sweep_file_close(PipesimSweepFile *file, GError **error)
{
	gboolean ok = TRUE;

	if (file->partial == NULL || file->stream == NULL)
		return TRUE;
	ok = fsync(fileno(file->stream)) == 0;
	ok = fclose(file->stream) == 0 && ok;
	file->stream = NULL;
	if (!ok || g_rename(file->partial, file->path) != 0)
		return fail_write(file, error);
	g_unlink(file->id);
	return TRUE;
}

void pipesim_sweep_file_free(PipesimSweepFile *file)
{
	if (file == NULL)
		return;
	if (file->stream != NULL && file->stream != stdout)
		fclose(file->stream);
	g_string_free(file->text, TRUE);
	g_free(file->partial);
	g_free(file->id);
	g_free(file->path);
	g_free(file);
}
