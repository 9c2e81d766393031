#include "config.h"

#include "base/hash.h"
#include "base/input.h"
#include "cli/command.h"
#include "cli/mpi.h"
#include "cli/sweep-file.h"
#include "model/costs-file.h"
#include "output/figures.h"
#include "setup/choice.h"
#include "sweep/picture.h"
#include "sweep/wire.h"
#include <signal.h>
#include <stdio.h>
#include <string.h>

/* Combinations of shapes of which the first that has fractions of layers is looked for. */
#define MAX_TOLD 4096
/* Points of a table or picture: their results are kept. */
#define MAX_KEPT 200000

/* A sweep under way. */
typedef struct {
	const PipesimSetup *setup;
	const char *output, *heat_map, *lines, *winners; /* paths, or NULL */
	PipesimProcesses processes;
	PipesimMetric metric;
	const GPtrArray *choices;
	PipesimGrid *grid;
	/* Costs before options change them, by the text of --layers: files are read once. */
	GHashTable *bases;
	PipesimSweepTitles titles;
	PipesimSweepWork work;
	PipesimSweepFile *file; /* NULL for a table */
	GPtrArray *kept;        /* of PipesimSweepBlock; NULL where nothing is drawn */
	guint64 done;           /* points, from work.first */
	gint64 began;           /* us */
} Sweep;

/* Of Sweep.bases: several threads solve points. */
static GMutex bases_lock;

/* The only thing that a signal may touch. */
static gint stop_asked;

static void ask_to_stop(int number)
{
	g_atomic_int_set(&stop_asked, 1);
	signal(number, SIG_DFL); /* the second one ends the program */
}

/* Options -------------------------------------------------------------------------------- */

static gboolean is_drawn(const Sweep *sweep)
{
	return sweep->heat_map != NULL || sweep->lines != NULL || sweep->winners != NULL;
}

static gboolean read_format(Sweep *sweep, GError **error)
{
	const char *name = sweep->setup->text[PIPESIM_SET_FORMAT];

	if (name == NULL && sweep->output != NULL)
		name = g_str_has_suffix(sweep->output, ".csv")     ? "csv"
		       : g_str_has_suffix(sweep->output, ".jsonl") ? "jsonl"
								   : NULL;
	if (name == NULL || strcmp(name, "text") == 0)
		sweep->titles.format = PIPESIM_ROWS_TEXT;
	else if (strcmp(name, "csv") == 0)
		sweep->titles.format = PIPESIM_ROWS_CSV;
	else if (strcmp(name, "jsonl") == 0)
		sweep->titles.format = PIPESIM_ROWS_JSONL;
	else
		return pipesim_fail(error, PIPESIM_ERROR_USAGE,
			"unknown format '%s'; text, csv or jsonl", name);
	if (!sweep->setup->flag[PIPESIM_SET_RESUME])
		return TRUE;
	if (sweep->titles.format == PIPESIM_ROWS_TEXT || sweep->output == NULL)
		return pipesim_fail(error, PIPESIM_ERROR_USAGE,
			"--resume needs the file it goes on with: -o FILE.csv or -o "
			"FILE.jsonl");
	if (is_drawn(sweep))
		return pipesim_fail(error, PIPESIM_ERROR_USAGE,
			"--resume computes only the missing rows, and a picture needs all of "
			"them; leave out one of the two");
	return TRUE;
}

/* Which points and with how many threads. */
static gboolean read_work(Sweep *sweep, GError **error)
{
	const char *text = sweep->setup->text[PIPESIM_SET_THREADS];
	const guint64 points = sweep->work.end;
	guint64 threads = MAX(1u, g_get_num_processors() / sweep->processes.local_size);
	guint64 index = 0, count = 1;

	if (!pipesim_sweep_parse_shard(
		    sweep->setup->text[PIPESIM_SET_SHARD], &index, &count, error))
		return FALSE;
	if (text != NULL && !pipesim_parse_count(text, "--threads", 1, 4096, &threads, error))
		return FALSE;
	/* At most 2^40 points and 2^20 parts: no overflow. */
	sweep->work.first = points * index / count;
	sweep->work.end = points * (index + 1) / count;
	sweep->work.threads = (guint)threads;
	return TRUE;
}

/* Points --------------------------------------------------------------------------------- */

/* The setup of one point: its own texts of what is swept, the others borrowed. */
static void point_init(const Sweep *sweep, guint64 number, PipesimSetup *point)
{
	*point = *sweep->setup;
	point->ahead = NULL;
	for (guint id = 1; id < PIPESIM_N_SETTINGS; id++)
		if (pipesim_settings[id].sweep != PIPESIM_NOT_SWEPT)
			point->text[id] = pipesim_grid_text(
				sweep->grid, pipesim_settings[id].name, number);
}

static void point_clear(PipesimSetup *point)
{
	for (guint id = 1; id < PIPESIM_N_SETTINGS; id++)
		if (pipesim_settings[id].sweep != PIPESIM_NOT_SWEPT)
			g_free(point->text[id]);
	pipesim_costs_free(point->costs);
	g_free(point->ahead);
}

static gboolean read_point(Sweep *sweep, PipesimSetup *point, GError **error)
{
	const char *layers = point->text[PIPESIM_SET_LAYERS];
	const char *key = layers != NULL ? layers : "";
	PipesimCosts *base;

	if (!pipesim_setup_read(point, error))
		return FALSE;
	pipesim_choices_shape(sweep->choices, &point->scenario);
	if (!pipesim_setup_require(point, error))
		return FALSE;
	g_mutex_lock(&bases_lock);
	base = g_hash_table_lookup(sweep->bases, key);
	if (base == NULL) {
		base = pipesim_setup_base(point, error);
		if (base != NULL)
			g_hash_table_insert(sweep->bases, g_strdup(key), base);
	}
	g_mutex_unlock(&bases_lock);
	/* No row shows a single op. */
	point->scenario.keep = PIPESIM_KEEP_NOTHING;
	return base != NULL && pipesim_setup_costs(point, base, error);
}

/* For PipesimSweepWork.solve. */
static void solve(gpointer data, guint64 first, guint n, PipesimSweepResult *results)
{
	Sweep *sweep = data;
	const guint width = sweep->choices->len;
	g_autofree PipesimSetup *setups = g_new(PipesimSetup, n);
	g_autofree PipesimPoint *points = g_new(PipesimPoint, n);
	g_autofree PipesimRun **runs = g_new(PipesimRun *, n);
	g_autofree guint *index = g_new(guint, n); /* of the points that could be read */
	guint n_read = 0;

	for (guint i = 0; i < n; i++) {
		g_autoptr(GError) error = NULL;

		point_init(sweep, first + i, &setups[i]);
		if (read_point(sweep, &setups[i], &error)) {
			points[n_read] = (PipesimPoint){&setups[i].scenario, setups[i].costs};
			index[n_read++] = i;
			continue;
		}
		for (guint k = 0; k < width; k++)
			results[i * width + k].error = g_strdup(error->message);
	}
	for (guint k = 0; k < width; k++) {
		pipesim_choice_run_points(
			g_ptr_array_index(sweep->choices, k), points, n_read, runs);
		for (guint i = 0; i < n_read; i++) {
			PipesimSweepResult *result = &results[index[i] * width + k];

			if (runs[i]->error != NULL)
				result->error = g_strdup(runs[i]->error->message);
			else
				pipesim_figures_of_point(runs[i], result->values);
			pipesim_run_free(runs[i]);
		}
	}
	for (guint i = 0; i < n; i++)
		point_clear(&setups[i]);
}

/* Running -------------------------------------------------------------------------------- */

static gboolean is_main(const Sweep *sweep)
{
	return sweep->processes.rank == 0;
}

static void show_progress(const Sweep *sweep)
{
	const gint64 now = g_get_monotonic_time();
	const guint64 all = sweep->work.end - sweep->work.first;
	double left;

	if (!pipesim_progress_is_due())
		return;
	left = (double)(now - sweep->began) / 1e6 * (double)(all - sweep->done) /
	       (double)MAX(sweep->done, 1u);
	pipesim_show_progress("%" G_GUINT64_FORMAT " of %" G_GUINT64_FORMAT
			      " points, %.0f s left",
		sweep->done, all, left);
}

/* Takes the blocks of all processes in order, to their end or to where one was stopped. */
static gboolean gather(Sweep *sweep, PipesimPool *pool, GError **error)
{
	const guint64 blocks = pipesim_sweep_blocks(&sweep->work);
	const guint64 points = sweep->work.end - sweep->work.first;

	for (guint64 number = 0; number < blocks; number++) {
		const guint from = (guint)(number % sweep->processes.size);
		PipesimSweepBlock *block;
		GError *fault = NULL;

		if (from == 0) {
			block = pipesim_pool_next(pool);
		} else {
			g_autoptr(GByteArray) bytes = pipesim_mpi_receive(from);

			block = pipesim_wire_unpack(bytes->data, bytes->len, &fault);
		}
		if (block != NULL && sweep->file != NULL)
			pipesim_sweep_file_write(sweep->file, block, &fault);
		if (block != NULL) {
			sweep->done += block->n_points;
			show_progress(sweep);
		}
		if (sweep->kept != NULL && block != NULL)
			g_ptr_array_add(sweep->kept, block);
		else
			pipesim_sweep_block_free(block);
		if (fault != NULL) {
			g_propagate_error(error, fault);
			return FALSE;
		}
		if (block == NULL ||
			sweep->done < MIN((number + 1) * sweep->work.block, points))
			return TRUE;
	}
	return TRUE;
}

static gboolean run_pool(Sweep *sweep, GError **error)
{
	g_autoptr(PipesimPool) pool = NULL;
	gboolean ok = TRUE, more = !is_main(sweep);

	sweep->began = g_get_monotonic_time();
	pool = pipesim_pool_new(&sweep->work);
	if (is_main(sweep))
		ok = gather(sweep, pool, error);
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
		g_atomic_int_set(&stop_asked, 1);
	if (!ok || !is_main(sweep))
		return ok;
	/* Those that were stopped say so even where nobody has asked for their next block. */
	for (guint from = 1; from < sweep->processes.size; from++) {
		guint length;

		do {
			g_autoptr(GByteArray) bytes = pipesim_mpi_receive(from);

			length = bytes->len;
		} while (length > 0);
	}
	return TRUE;
}

/* Results -------------------------------------------------------------------------------- */

static gboolean finish(Sweep *sweep, PipesimExit *answer, GError **error)
{
	const guint64 all = sweep->work.end - sweep->work.first;

	if (sweep->file == NULL && sweep->kept->len > 0) {
		const PipesimStyle style = pipesim_terminal_style(sweep->output);
		g_autoptr(GString) out = g_string_new(NULL);

		pipesim_rows_table(&sweep->titles, sweep->kept, &style, out);
		if (!pipesim_print(sweep->output, out, error))
			return FALSE;
	}
	if (sweep->done < all) {
		g_printerr("pipesim: stopped after %" G_GUINT64_FORMAT " of %" G_GUINT64_FORMAT
			   " points%s\n",
			sweep->done, all,
			sweep->file != NULL && sweep->output != NULL
				? "; continue with --resume"
				: "");
		*answer = PIPESIM_EXIT_STOPPED;
		return TRUE;
	}
	return (sweep->file == NULL || pipesim_sweep_file_close(sweep->file, error)) &&
	       pipesim_sweep_picture_draw(PIPESIM_SWEEP_HEAT_MAP, &sweep->titles, sweep->kept,
		       sweep->metric, sweep->heat_map, error) &&
	       pipesim_sweep_picture_draw(PIPESIM_SWEEP_LINES, &sweep->titles, sweep->kept,
		       sweep->metric, sweep->lines, error) &&
	       pipesim_sweep_picture_draw(PIPESIM_SWEEP_WINNERS, &sweep->titles, sweep->kept,
		       sweep->metric, sweep->winners, error);
}

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

static void add_text(const char *what, const GString *text, GString *made_of)
{
	g_string_append_printf(
		made_of, "%s %08x\n", what, pipesim_hash_bytes(text->str, text->len));
}

/* What files of orders and of costs say, not their bytes: they may be standard input. */
static void add_read(Sweep *sweep, GString *made_of)
{
	for (guint i = 0; i < sweep->choices->len; i++) {
		const PipesimChoice *choice = g_ptr_array_index(sweep->choices, i);
		g_autoptr(GString) text = g_string_new(NULL);

		if (choice->file == NULL)
			continue;
		if (choice->file->lowering != NULL)
			pipesim_lowering_print(choice->file->lowering, text);
		else
			pipesim_schedule_write_csv(choice->file->program, text);
		add_text(choice->path, text, made_of);
	}
	if (sweep->setup->text[PIPESIM_SET_COSTS] != NULL ||
		sweep->setup->list[PIPESIM_SET_TRACE] != NULL) {
		GHashTableIter bases;
		gpointer costs;

		g_hash_table_iter_init(&bases, sweep->bases);
		while (g_hash_table_iter_next(&bases, NULL, &costs)) {
			g_autoptr(GString) text = g_string_new(NULL);

			pipesim_costs_write(costs, text);
			add_text("costs", text, made_of);
		}
	}
}

/* Everything that decides a row, a line each: for PipesimSweepFile. The first point was read. */
static GString *make_id(Sweep *sweep, GError **error)
{
	g_autoptr(GString) made_of = g_string_new(PACKAGE_STRING "\n");

	for (guint id = 1; id < PIPESIM_N_SETTINGS; id++) {
		const PipesimSetting *setting = &pipesim_settings[id];
		const char *text = sweep->setup->text[id];
		/* All but who writes what where, and by how many threads; costs are told by what
		 * they say. */
		const gboolean decides =
			id == PIPESIM_SET_COMPARE_AT ||
			(setting->group != PIPESIM_NO_GROUP && id != PIPESIM_SET_COSTS);

		if (decides && sweep->setup->flag[id])
			g_string_append_printf(made_of, "%s\n", setting->name);
		if (text == NULL || !decides)
			continue;
		if (setting->path == PIPESIM_PATH_NONE)
			g_string_append_printf(made_of, "%s %s\n", setting->name, text);
		else if (id == PIPESIM_SET_MODEL)
			pipesim_transformer_print(sweep->setup->model, made_of);
		else if (!add_file(setting->name, text, made_of, error))
			return NULL;
	}
	add_read(sweep, made_of);
	return g_steal_pointer(&made_of);
}

/* Where nothing is left to do the first point is done all the same, to be compared. */
static gboolean confirm(Sweep *sweep, guint64 next, GError **error)
{
	const guint64 first = sweep->work.first;
	g_autoptr(PipesimSweepBlock) block = NULL;

	if (next < sweep->work.end || first == sweep->work.end)
		return TRUE;
	block = pipesim_sweep_block_new(first, 1, sweep->work.width);
	solve(sweep, first, 1, block->results);
	return pipesim_sweep_file_confirm(sweep->file, block, error);
}

static gboolean open_results(Sweep *sweep, GError **error)
{
	const gboolean text = sweep->titles.format == PIPESIM_ROWS_TEXT;
	const guint64 points = sweep->work.end - sweep->work.first;
	g_autoptr(GString) made_of = NULL;
	guint64 next = sweep->work.first, share;

	/* What must be kept to be drawn or laid out as a table. */
	if (text || is_drawn(sweep)) {
		if (points > MAX_KEPT)
			return pipesim_fail(error, PIPESIM_ERROR_USAGE,
				"a table or picture of %" G_GUINT64_FORMAT
				" points: at most %d; write rows with --format csv or jsonl",
				points, MAX_KEPT);
		sweep->kept = g_ptr_array_new_with_free_func(
			(GDestroyNotify)pipesim_sweep_block_free);
	}
	if (!pipesim_sweep_picture_check(
		    PIPESIM_SWEEP_HEAT_MAP, &sweep->titles, sweep->heat_map, error) ||
		!pipesim_sweep_picture_check(
			PIPESIM_SWEEP_LINES, &sweep->titles, sweep->lines, error) ||
		!pipesim_sweep_picture_check(
			PIPESIM_SWEEP_WINNERS, &sweep->titles, sweep->winners, error))
		return FALSE;
	made_of = make_id(sweep, error);
	if (made_of == NULL)
		return FALSE;
	if (!text && is_main(sweep)) {
		sweep->file = pipesim_sweep_file_open(sweep->output, &sweep->titles,
			made_of->str, sweep->work.first, sweep->work.end,
			sweep->setup->flag[PIPESIM_SET_RESUME], &next, error);
		if (sweep->file == NULL || !confirm(sweep, next, error))
			return FALSE;
	}
	/* What only the first process knows: where its file goes on. */
	sweep->work.first = pipesim_mpi_agree(next);
	/* Blocks long enough that handing them over costs nothing, short enough that all threads
	 * have some. */
	share = (sweep->work.end - sweep->work.first) / (32 * (guint64)sweep->work.threads);
	sweep->work.block = (guint)pipesim_mpi_agree(CLAMP(share, 1, 256));
	return TRUE;
}

/* What is to be said of the layers of a stage at point @number, once for the sweep. */
static gboolean tell_layers_of(Sweep *sweep, guint64 number)
{
	PipesimSetup point;
	gboolean told = FALSE;

	point_init(sweep, number, &point);
	if (read_point(sweep, &point, NULL))
		for (guint k = 0; k < sweep->choices->len && !told; k++) {
			const PipesimChoice *choice = g_ptr_array_index(sweep->choices, k);
			g_autofree char *words =
				pipesim_choice_layers(choice, &point.scenario, point.costs);
			g_autofree char *line =
				words != NULL ? g_strdup_printf("for example %s at PP %u: %s",
							pipesim_choice_name(choice),
							point.scenario.ranks, words)
					      : NULL;

			if (line != NULL)
				pipesim_setup_notice(sweep->setup, line);
			told = line != NULL;
		}
	point_clear(&point);
	return told;
}

/* The first points, of those that differ in what decides how many layers a stage has, where there is
 * something to be said of it. Those of @axis and later ones vary; *@left more are looked at. */
static gboolean tell_layers(Sweep *sweep, guint axis, guint64 number, guint *left)
{
	static const char *const deciding[] = {"pp", "chunks", "pipelines", "layers"};
	const PipesimAxis *at;
	gboolean decides = FALSE;

	if (axis == pipesim_grid_axes(sweep->grid))
		return (*left)-- == 0 || tell_layers_of(sweep, number);
	at = pipesim_grid_axis(sweep->grid, axis);
	for (guint i = 0; i < G_N_ELEMENTS(deciding); i++)
		decides |= strcmp(at->name, deciding[i]) == 0;
	for (guint i = 0; i < (decides ? at->values->len : 1); i++)
		if (tell_layers(sweep, axis + 1, number * at->values->len + i, left))
			return TRUE;
	return FALSE;
}

/* Times are a rank's share: with PP the model grows, and few ranks look best. */
static void tell_what_is_held(Sweep *sweep)
{
	const PipesimAxis *pp = sweep->setup->text[PIPESIM_SET_PP] != NULL
					? pipesim_grid_axis(sweep->grid, 0)
					: NULL;

	if (!is_main(sweep))
		return;
	if (pp != NULL && pp->values->len > 1 &&
		sweep->setup->text[PIPESIM_SET_MODEL_TIMES] == NULL &&
		(sweep->setup->costs == NULL || sweep->setup->costs->part == NULL) &&
		!pipesim_setup_has_step(sweep->setup))
		pipesim_setup_notice(sweep->setup,
			"times are per rank and PP is swept: the model grows "
			"with PP; --model-times holds the model fixed");
	tell_layers(sweep, 0, 0, &(guint){MAX_TOLD});
}

static gpointer copy_text(gconstpointer text, gpointer data G_GNUC_UNUSED)
{
	return g_strdup(text);
}

/* What the options of the sweep itself say, and running it. */
static gboolean start(Sweep *sweep, PipesimExit *answer, GError **error)
{
	/* Of other --layers than those of the first point more may be said while rows are written. */
	g_autoptr(GPtrArray) notices = NULL;
	gboolean ok;

	sweep->processes = pipesim_mpi_start();
	ok = read_format(sweep, error) &&
	     pipesim_metric_find(
		     sweep->setup->text[PIPESIM_SET_METRIC], &sweep->metric, error) &&
	     read_work(sweep, error);
	if (ok) {
		tell_what_is_held(sweep);
		sweep->titles.notices = notices =
			g_ptr_array_copy(sweep->setup->notices, copy_text, NULL);
		g_ptr_array_set_free_func(notices, g_free);
		ok = open_results(sweep, error);
	}
	if (ok) {
		sweep->work.solve = solve;
		sweep->work.data = sweep;
		sweep->work.stop = &stop_asked;
		sweep->work.part = sweep->processes.rank;
		sweep->work.parts = sweep->processes.size;
		signal(SIGINT, ask_to_stop);
		signal(SIGTERM, ask_to_stop);
		ok = run_pool(sweep, error) &&
		     (!is_main(sweep) || finish(sweep, answer, error));
	}
	if (ok) {
		pipesim_mpi_finish();
	} else if (sweep->processes.size > 1) {
		/* The others wait for one that has failed: it ends them, so that nobody is left
		 * to print. */
		if (is_main(sweep))
			g_printerr("pipesim: %s\n", (*error)->message);
		pipesim_mpi_abort((int)pipesim_exit_status(*error));
	}
	pipesim_sweep_file_free(sweep->file);
	g_clear_pointer(&sweep->kept, g_ptr_array_unref);
	return ok;
}

static gboolean run(PipesimSetup *setup, PipesimExit *answer, GError **error)
{
	g_autoptr(GPtrArray) choices = pipesim_choices_new();
	g_autoptr(PipesimGrid) grid = pipesim_grid_new();
	g_autoptr(GHashTable) bases = g_hash_table_new_full(
		g_str_hash, g_str_equal, g_free, (GDestroyNotify)pipesim_costs_free);
	g_autofree const char **names = NULL;
	Sweep sweep = {
		.setup = setup,
		.output = setup->text[PIPESIM_SET_OUTPUT],
		.heat_map = setup->text[PIPESIM_SET_HEAT_MAP],
		.lines = setup->text[PIPESIM_SET_LINES],
		.winners = setup->text[PIPESIM_SET_WINNERS],
		.choices = choices,
		.grid = grid,
		.bases = bases,
	};
	PipesimSetup first;
	gboolean ok;

	if (!pipesim_choices_add_schedules(choices, setup, error) ||
		!pipesim_setup_load_model(setup, error))
		return FALSE;
	for (guint id = 1; id < PIPESIM_N_SETTINGS; id++) {
		const PipesimSetting *setting = &pipesim_settings[id];

		if (setting->sweep != PIPESIM_NOT_SWEPT && setup->text[id] != NULL &&
			!pipesim_grid_add(grid, setting->name, setup->text[id],
				setting->sweep == PIPESIM_SWEPT_WHOLE, error))
			return FALSE;
	}
	/* What no point can be is said before any is solved. */
	point_init(&sweep, 0, &first);
	ok = read_point(&sweep, &first, error) &&
	     pipesim_choices_prepare(choices, &first, error);
	if (ok) {
		sweep.titles.power =
			first.costs->power != NULL || first.costs->residence != NULL;
		sweep.titles.host = first.costs->launch != NULL;
	}
	point_clear(&first);
	if (!ok)
		return FALSE;
	names = g_new0(const char *, choices->len + 1);
	for (guint i = 0; i < choices->len; i++)
		names[i] = pipesim_choice_name(g_ptr_array_index(choices, i));
	sweep.titles.grid = grid;
	sweep.titles.names = names;
	sweep.titles.training = pipesim_setup_has_step(setup);
	sweep.work.width = choices->len;
	sweep.work.end = pipesim_grid_points(grid);
	return start(&sweep, answer, error);
}

const PipesimCommand pipesim_command_sweep = {
	.name = "sweep",
	.summary = "simulate every combination of option values, on all cores",
	.usage = "- simulate every combination of option values",
	.about = "A number may be a range (4:64:*2 or 1:2:0.25) or a list (1/2/5; also "
		 "32,64,128 where the value is\na single number). Every combination is "
		 "simulated for every schedule.",
	.examples =
		"Examples:\n"
		"  pipesim sweep --pp 4:64:*2 --microbatches 32,64,128 -s 1f1b,zb-h1 -o "
		"all.csv\n"
		"  pipesim sweep --pp 8 --microbatches 8:64:8 --times FB=2:3:0.1 --heat-map "
		"fb.svg\n\n"
		"Ctrl-C keeps the finished rows; --resume continues after them.\n"
		"Exit status: 0 done, 2 usage, 3 bad input file, 4 gnuplot failed, 5 cannot "
		"write, 130 stopped.\n",
	.ranges = TRUE,
	.takes = {PIPESIM_ALL_SHAPE, PIPESIM_ALL_COSTS, PIPESIM_ALL_POWER, PIPESIM_ALL_MODEL,
		PIPESIM_ALL_NETWORK, PIPESIM_SET_SCHEDULE, PIPESIM_SET_COMPARE_AT,
		PIPESIM_ALL_RUNTIME, PIPESIM_SET_FORMAT, PIPESIM_SET_OUTPUT, PIPESIM_SET_RESUME,
		PIPESIM_SET_SHARD, PIPESIM_SET_THREADS, PIPESIM_SET_HEAT_MAP,
		PIPESIM_SET_WINNERS, PIPESIM_SET_LINES, PIPESIM_SET_METRIC,
		PIPESIM_SET_OP_TIMES},
	.wording = {{PIPESIM_SET_FORMAT, NULL,
			    "text, csv or jsonl (default: as -o's extension, else text)",
			    "text csv jsonl"},
		{PIPESIM_SET_OUTPUT, NULL,
			"write rows to FILE (FILE.partial until all are done)", NULL}},
	.run = run,
};
