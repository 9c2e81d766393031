#include "config.h"

#include "cli/mpi.h"
#include "cli/sweep-file.h"
#include "cli/sweep-points.h"
#include "sweep/picture.h"
#include "sweep/wire.h"
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* Points of a table or picture: their results are kept. */
#define MAX_KEPT 200000

typedef struct {
	PipesimShapeOptions shape;
	PipesimCostOptions costs;
	char *schedules, *format, *output, *shard, *threads, *heat_map, *lines, *metric;
	gboolean resume;
} Options;

/* A sweep under way. */
typedef struct {
	const Options *options;
	PipesimProcesses processes;
	PipesimRowFormat format;
	PipesimMetric metric;
	PipesimSweepPoints *points;
	PipesimSweepTitles titles;
	PipesimSweepWork work;
	PipesimSweepFile *file; /* NULL for a table */
	GPtrArray *kept;        /* of PipesimSweepBlock; NULL where nothing is drawn */
	guint64 done;           /* points, from work.first */
	gint64 began, shown;    /* us */
} Sweep;

/* The only thing that a signal may touch. */
static gint stop_asked;

static void ask_to_stop(int number)
{
	g_atomic_int_set(&stop_asked, 1);
	signal(number, SIG_DFL); /* the second one ends the program */
}

static void clear_options(Options *options)
{
	pipesim_shape_options_clear(&options->shape);
	pipesim_cost_options_clear(&options->costs);
	g_free(options->schedules);
	g_free(options->format);
	g_free(options->output);
	g_free(options->shard);
	g_free(options->threads);
	g_free(options->heat_map);
	g_free(options->lines);
	g_free(options->metric);
}
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(Options, clear_options)

/* Options -------------------------------------------------------------------------------- */

static GOptionContext *make_context(Options *options)
{
	const GOptionEntry entries[] = {
		{"schedule", 's', 0, G_OPTION_ARG_STRING, &options->schedules,
			"schedules, or files of op orders (default: all)", "NAME|FILE.csv,..."},
		{"compare-at", 0, 0, G_OPTION_ARG_STRING, &options->shape.compare_at,
			"what is alike for all: ranks (default) or stages", "WHAT"},
		{"comm", 0, 0, G_OPTION_ARG_STRING, &options->shape.comm,
			"how messages wait: async, queue, single, grouped, native", "MODE"},
		{"format", 'f', 0, G_OPTION_ARG_STRING, &options->format,
			"text, csv or jsonl (default: as -o's extension, else text)", "FORMAT"},
		{"output", 'o', 0, G_OPTION_ARG_FILENAME, &options->output,
			"write rows to FILE (FILE.partial until all are there)", "FILE"},
		{"resume", 0, 0, G_OPTION_ARG_NONE, &options->resume,
			"go on behind the rows that the file has", NULL},
		{"shard", 0, 0, G_OPTION_ARG_STRING, &options->shard,
			"only part I of N, from 0/N to N-1/N", "I/N"},
		{"threads", 'j', 0, G_OPTION_ARG_STRING, &options->threads,
			"threads (default: one a core)", "N"},
		{"heat-map", 0, 0, G_OPTION_ARG_FILENAME, &options->heat_map,
			"draw a heat map over two swept numbers (.svg, .png, .pdf)", "FILE"},
		{"lines", 0, 0, G_OPTION_ARG_FILENAME, &options->lines,
			"draw lines over the last swept number (.svg, .png, .pdf)", "FILE"},
		{"metric", 0, 0, G_OPTION_ARG_STRING, &options->metric,
			"bubble (default), makespan, microbatch or activations", "NAME"},
		{0},
	};
	GOptionContext *context = g_option_context_new("- simulate every combination");

	g_option_context_set_summary(context,
		"Numbers may be ranges, 4:64:*2 or 1:2:0.25, and lists, 1/2/5; where a value "
		"is "
		"one number\n32,64,128 will do. Every combination is simulated for every "
		"schedule.");
	g_option_context_set_description(context,
		"Examples:\n"
		"  pipesim sweep --pp 4:64:*2 --microbatches 32,64,128 -s 1f1b,zb-h1 -o "
		"all.csv\n"
		"  pipesim sweep --pp 8 --microbatches 8:64:8 --times FB=2:3:0.1 --heat-map "
		"fb.svg\n\n"
		"Ctrl-C keeps the rows that are done; --resume goes on with them.\n"
		"Exit status: 0 done, 2 usage, 3 bad input file, 4 gnuplot failed, 5 cannot "
		"write, 130 stopped.\n");
	pipesim_shape_entries(context, &options->shape);
	pipesim_costs_entries(context, &options->costs);
	g_option_context_add_main_entries(context, entries, NULL);
	return context;
}

static gboolean read_format(const Options *options, PipesimRowFormat *format, GError **error)
{
	const char *name = options->format;

	if (name == NULL && options->output != NULL)
		name = g_str_has_suffix(options->output, ".csv")     ? "csv"
		       : g_str_has_suffix(options->output, ".jsonl") ? "jsonl"
								     : NULL;
	if (name == NULL || strcmp(name, "text") == 0)
		*format = PIPESIM_ROWS_TEXT;
	else if (strcmp(name, "csv") == 0)
		*format = PIPESIM_ROWS_CSV;
	else if (strcmp(name, "jsonl") == 0)
		*format = PIPESIM_ROWS_JSONL;
	else
		return pipesim_fail(error, PIPESIM_ERROR_USAGE,
			"unknown format '%s'; text, csv or jsonl", name);
	if (!options->resume)
		return TRUE;
	if (*format == PIPESIM_ROWS_TEXT || options->output == NULL)
		return pipesim_fail(error, PIPESIM_ERROR_USAGE,
			"--resume needs the file it goes on with: -o FILE.csv or -o "
			"FILE.jsonl");
	if (options->heat_map != NULL || options->lines != NULL)
		return pipesim_fail(error, PIPESIM_ERROR_USAGE,
			"--resume has only the rest of the results; draw with the file's rows");
	return TRUE;
}

static gboolean read_shard(const char *text, PipesimSweepWork *work, GError **error)
{
	g_auto(GStrv) parts = text != NULL ? g_strsplit(text, "/", 2) : NULL;
	const guint64 points = work->end;
	guint64 index, count;

	if (text == NULL)
		return TRUE;
	if (g_strv_length(parts) != 2 ||
		!pipesim_parse_count(parts[1], "--shard", 1, 1u << 20, &count, NULL) ||
		!pipesim_parse_count(parts[0], "--shard", 0, count - 1, &index, NULL))
		return pipesim_fail(error, PIPESIM_ERROR_USAGE,
			"--shard: '%s'; write I/N, with I from 0 to N - 1", text);
	/* At most 2^40 points and 2^20 parts: no overflow. */
	work->first = points * index / count;
	work->end = points * (index + 1) / count;
	return TRUE;
}

static gboolean read_threads(const Options *options, Sweep *sweep, GError **error)
{
	guint64 threads = MAX(1u, g_get_num_processors() / sweep->processes.local_size);

	if (options->threads != NULL &&
		!pipesim_parse_count(options->threads, "--threads", 1, 4096, &threads, error))
		return FALSE;
	sweep->work.threads = (guint)threads;
	return TRUE;
}

/* Running -------------------------------------------------------------------------------- */

static gboolean is_main(const Sweep *sweep)
{
	return sweep->processes.rank == 0;
}

static void show_progress(Sweep *sweep)
{
	const gint64 now = g_get_monotonic_time();
	const guint64 all = sweep->work.end - sweep->work.first;
	double left;

	if (isatty(STDERR_FILENO) != 1 || now - sweep->shown < G_TIME_SPAN_SECOND / 5)
		return;
	sweep->shown = now;
	left = (double)(now - sweep->began) / 1e6 * (double)(all - sweep->done) /
	       (double)MAX(sweep->done, 1u);
	fprintf(stderr,
		"\r\033[K%" G_GUINT64_FORMAT " of %" G_GUINT64_FORMAT " points, %.0f s left",
		sweep->done, all, left);
	fflush(stderr);
}

static void end_progress(const Sweep *sweep)
{
	if (sweep->shown > 0)
		fputs("\r\033[K", stderr);
}

/* The next block of all processes, in order; NULL at the end, or where one was stopped. */
static gboolean next_block(Sweep *sweep, PipesimPool *pool, guint64 number,
	PipesimSweepBlock **block, GError **error)
{
	const guint from = (guint)(number % sweep->processes.size);
	GByteArray *bytes;

	if (from == 0) {
		*block = pipesim_pool_next(pool);
		return TRUE;
	}
	bytes = pipesim_mpi_receive(from);
	*block = pipesim_wire_unpack(bytes->data, bytes->len, error);
	g_byte_array_unref(bytes);
	return *error == NULL;
}

static gboolean take(Sweep *sweep, PipesimSweepBlock *block, GError **error)
{
	gboolean ok =
		sweep->file == NULL || pipesim_sweep_file_write(sweep->file, block, error);

	sweep->done += block->n_points;
	if (sweep->kept != NULL)
		g_ptr_array_add(sweep->kept, block);
	else
		pipesim_sweep_block_free(block);
	show_progress(sweep);
	return ok;
}

static gboolean gather(Sweep *sweep, PipesimPool *pool, GError **error)
{
	const guint64 blocks = pipesim_sweep_blocks(&sweep->work);

	for (guint64 number = 0; number < blocks; number++) {
		PipesimSweepBlock *block = NULL;

		if (!next_block(sweep, pool, number, &block, error))
			return FALSE;
		if (block == NULL)
			return TRUE;
		if (!take(sweep, block, error))
			return FALSE;
		if (sweep->done < MIN((number + 1) * sweep->work.block,
					  sweep->work.end - sweep->work.first))
			return TRUE; /* cut short by a stop */
	}
	return TRUE;
}

/* All blocks of this process, then the word that nothing follows. */
static void send_all(PipesimPool *pool)
{
	PipesimSweepBlock *block;

	do {
		GByteArray *bytes;

		block = pipesim_pool_next(pool);
		bytes = pipesim_wire_pack(block);
		pipesim_mpi_send(bytes);
		g_byte_array_unref(bytes);
		pipesim_sweep_block_free(block);
	} while (block != NULL);
}

/* Those that were stopped say so even where nobody has asked for their next block. */
static void hear_the_end(const Sweep *sweep)
{
	for (guint from = 1; from < sweep->processes.size; from++) {
		guint length;

		do {
			GByteArray *bytes = pipesim_mpi_receive(from);

			length = bytes->len;
			g_byte_array_unref(bytes);
		} while (length > 0);
	}
}

static gboolean run_pool(Sweep *sweep, GError **error)
{
	g_autoptr(PipesimPool) pool = NULL;
	gboolean ok = TRUE;

	sweep->began = g_get_monotonic_time();
	pool = pipesim_pool_new(&sweep->work);
	if (is_main(sweep))
		ok = gather(sweep, pool, error);
	else
		send_all(pool);
	end_progress(sweep);
	if (!ok)
		g_atomic_int_set(&stop_asked, 1);
	else if (is_main(sweep))
		hear_the_end(sweep);
	return ok;
}

/* Results -------------------------------------------------------------------------------- */

static gboolean print_table(const Sweep *sweep, GError **error)
{
	PipesimStyle style = pipesim_terminal_style();
	g_autoptr(GString) out = g_string_new(NULL);

	style.colour &= sweep->options->output == NULL;
	pipesim_rows_table(&sweep->titles, sweep->kept, &style, out);
	return pipesim_print(sweep->options->output, out, error);
}

static gboolean draw(const Sweep *sweep, GError **error)
{
	const Options *options = sweep->options;

	return (options->heat_map == NULL ||
		       pipesim_sweep_heat_map(&sweep->titles, sweep->kept, sweep->metric,
			       options->heat_map, "gnuplot", error)) &&
	       (options->lines == NULL ||
		       pipesim_sweep_lines(&sweep->titles, sweep->kept, sweep->metric,
			       options->lines, "gnuplot", error));
}

static PipesimExit finish(Sweep *sweep, GError **error)
{
	const guint64 all = sweep->work.end - sweep->work.first;

	if (sweep->file == NULL && sweep->kept->len > 0 && !print_table(sweep, error))
		return PIPESIM_EXIT_WRITE;
	if (sweep->done < all) {
		g_printerr("pipesim: stopped after %" G_GUINT64_FORMAT " of %" G_GUINT64_FORMAT
			   " points%s\n",
			sweep->done, all,
			sweep->file != NULL && sweep->options->output != NULL
				? "; --resume goes on with them"
				: "");
		return PIPESIM_EXIT_STOPPED;
	}
	if (sweep->file != NULL && !pipesim_sweep_file_close(sweep->file, error))
		return PIPESIM_EXIT_WRITE;
	return draw(sweep, error) ? PIPESIM_EXIT_DONE : PIPESIM_EXIT_EXTERNAL;
}

/* What must be kept to be drawn or laid out as a table. */
static gboolean keep_results(Sweep *sweep, GError **error)
{
	const Options *options = sweep->options;
	const gboolean text = sweep->format == PIPESIM_ROWS_TEXT;

	if (!text && options->heat_map == NULL && options->lines == NULL)
		return TRUE;
	if (sweep->work.end - sweep->work.first > MAX_KEPT)
		return pipesim_fail(error, PIPESIM_ERROR_USAGE,
			"a table or picture of %" G_GUINT64_FORMAT
			" points: at most %d; write rows with --format csv or jsonl",
			sweep->work.end - sweep->work.first, MAX_KEPT);
	sweep->kept = g_ptr_array_new_with_free_func((GDestroyNotify)pipesim_sweep_block_free);
	return (options->heat_map == NULL || pipesim_sweep_heat_map_check(&sweep->titles,
						     options->heat_map, error)) &&
	       (options->lines == NULL ||
		       pipesim_sweep_lines_check(&sweep->titles, options->lines, error));
}

/* Blocks long enough that handing them over costs nothing, short enough that all threads have
 * some. */
static guint choose_block(const PipesimSweepWork *work)
{
	const guint64 share = (work->end - work->first) / (32 * (guint64)work->threads);

	return (guint)CLAMP(share, 1, 256);
}

static gboolean open_results(Sweep *sweep, GError **error)
{
	guint64 next = sweep->work.first;

	if (!keep_results(sweep, error))
		return FALSE;
	if (sweep->format != PIPESIM_ROWS_TEXT && is_main(sweep)) {
		sweep->file = pipesim_sweep_file_open(sweep->options->output, &sweep->titles,
			sweep->format, sweep->work.first, sweep->work.end,
			sweep->options->resume, &next, error);
		if (sweep->file == NULL)
			return FALSE;
	}
	/* What only the first process knows: where its file goes on. */
	sweep->work.first = pipesim_mpi_agree(next);
	sweep->work.block = (guint)pipesim_mpi_agree(choose_block(&sweep->work));
	return TRUE;
}

static PipesimExit sweep_all(Sweep *sweep, GError **error)
{
	if (!open_results(sweep, error))
		return PIPESIM_EXIT_USAGE;
	sweep->work.solve = pipesim_sweep_points_solve;
	sweep->work.data = sweep->points;
	sweep->work.stop = &stop_asked;
	sweep->work.part = sweep->processes.rank;
	sweep->work.parts = sweep->processes.size;
	signal(SIGINT, ask_to_stop);
	signal(SIGTERM, ask_to_stop);
	if (!run_pool(sweep, error))
		return PIPESIM_EXIT_WRITE;
	return is_main(sweep) ? finish(sweep, error) : PIPESIM_EXIT_DONE;
}

/* The others wait for one that has failed: it ends them, so that nobody is left to print. */
static void abort_all(const Sweep *sweep, const GError *error)
{
	if (is_main(sweep))
		g_printerr("pipesim: %s\n", error->message);
	pipesim_mpi_abort((int)pipesim_exit_status(error));
}

static PipesimExit prepare(const Options *options, GPtrArray *choices, GError **error)
{
	g_autoptr(PipesimSweepPoints) points =
		pipesim_sweep_points_new(&options->shape, &options->costs, choices, error);
	g_autofree const char **names = g_new0(const char *, choices->len + 1);
	Sweep sweep = {.options = options, .points = points};
	PipesimExit status = PIPESIM_EXIT_USAGE;

	if (points == NULL)
		return status;
	for (guint i = 0; i < choices->len; i++) {
		const PipesimChoice *choice = g_ptr_array_index(choices, i);

		names[i] = choice->schedule != NULL ? pipesim_schedule_name(choice->schedule)
						    : choice->path;
	}
	sweep.titles = (PipesimSweepTitles){pipesim_sweep_points_grid(points), names};
	sweep.work.width = choices->len;
	sweep.work.end = pipesim_grid_points(sweep.titles.grid);
	sweep.processes = pipesim_mpi_start();
	if (read_format(options, &sweep.format, error) &&
		pipesim_metric_find(options->metric, &sweep.metric, error) &&
		read_shard(options->shard, &sweep.work, error) &&
		read_threads(options, &sweep, error))
		status = sweep_all(&sweep, error);
	if (*error == NULL)
		pipesim_mpi_finish();
	else if (sweep.processes.size > 1)
		abort_all(&sweep, *error);
	pipesim_sweep_file_free(sweep.file);
	g_clear_pointer(&sweep.kept, g_ptr_array_unref);
	return status;
}

static PipesimExit run(int argc, char **argv, GError **error)
{
	g_auto(Options) options = {0};
	g_autoptr(GPtrArray) choices = pipesim_choices_new();

	if (!pipesim_options_parse(make_context(&options), &argc, &argv, error) ||
		!pipesim_options_no_operands(argc, argv, error) ||
		!pipesim_choices_add_list(
			choices, options.schedules != NULL ? options.schedules : "all", error))
		return PIPESIM_EXIT_USAGE;
	return prepare(&options, choices, error);
}

const PipesimCommand pipesim_command_sweep = {
	.name = "sweep",
	.summary = "simulate every combination of ranges of options, on all cores",
	.run = run,
};
