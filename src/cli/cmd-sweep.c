#include "cli/command.h"
#include "cli/sweep-run.h"
#include "model/costs-file.h"
#include "output/screen.h"
#include "setup/choice.h"
#include "sweep/picture.h"

/* Combinations of shapes of which the first that has fractions of layers is looked for. */
#define MAX_TOLD 4096
/* Points of a table or picture: their results are kept. */
#define MAX_KEPT 200000
/* Choices of all threads of which is kept what steps share: up to 13 MB each. */
#define MAX_SHARED 64

/* A sweep under way. */
typedef struct {
	const PipesimSetup *setup;
	const GPtrArray *choices;
	PipesimGrid *grid;
	/* Costs before options change them, by the text of --layers: files are read once. */
	GHashTable *bases;
	GAsyncQueue *kept; /* of GPtrArray of PipesimShared *: what steps shared, by choice */
	PipesimSweepTitles titles;
	PipesimSweepRun run;
} Sweep;

/* Of Sweep.bases: several threads solve points. */
static GMutex bases_lock;

static const PipesimSettingId pictures[] = {[PIPESIM_SWEEP_HEAT_MAP] = PIPESIM_SET_HEAT_MAP,
	[PIPESIM_SWEEP_LINES] = PIPESIM_SET_LINES,
	[PIPESIM_SWEEP_WINNERS] = PIPESIM_SET_WINNERS};

static gboolean is_drawn(const Sweep *sweep)
{
	return sweep->setup->text[PIPESIM_SET_REPORT] != NULL ||
	       pipesim_any(i, G_N_ELEMENTS(pictures), sweep->setup->text[pictures[i]] != NULL);
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

	if (!pipesim_setup_read(point, error))
		return FALSE;
	pipesim_choices_shape(sweep->choices, &point->scenario);
	point->stages_per_rank = pipesim_choices_stages(sweep->choices, &point->scenario);
	if (!pipesim_setup_require(point, error))
		return FALSE;
	g_autofree char *key = layers != NULL ? g_strdup(layers)
					      : g_strdup_printf(" %u", point->stages_per_rank);
	g_mutex_lock(&bases_lock);
	PipesimCosts *base = g_hash_table_lookup(sweep->bases, key);
	if (base == NULL) {
		base = pipesim_setup_base(point, error);
		if (base != NULL)
			g_hash_table_insert(sweep->bases, g_steal_pointer(&key), base);
	}
	g_mutex_unlock(&bases_lock);
	/* No row shows a single op. */
	point->scenario.keep = PIPESIM_KEEP_FIGURES;
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
	GPtrArray *kept = g_async_queue_try_pop(sweep->kept);
	guint n_read = 0;

	if (kept == NULL) {
		kept = g_ptr_array_new_with_free_func((GDestroyNotify)pipesim_shared_free);
		g_ptr_array_set_size(kept, (gint)width);
	}
	for (guint i = 0; i < n; i++) {
		g_autoptr(GError) error = NULL;

		point_init(sweep, first + i, &setups[i]);
		if (read_point(sweep, &setups[i], &error)) {
			points[n_read] = (PipesimPoint){
				.scenario = &setups[i].scenario, .costs = setups[i].costs};
			index[n_read++] = i;
			continue;
		}
		for (guint k = 0; k < width; k++)
			results[i * width + k].error = g_strdup(error->message);
	}
	for (guint k = 0; k < width; k++) {
		for (guint i = 0; i < n_read && width * sweep->run.work.threads <= MAX_SHARED;
			i++)
			points[i].kept = (PipesimShared **)&kept->pdata[k];
		pipesim_choice_run_points(
			g_ptr_array_index(sweep->choices, k), points, n_read, runs);
		for (guint i = 0; i < n_read; i++) {
			PipesimSweepResult *result = &results[index[i] * width + k];

			if (runs[i]->error != NULL)
				result->error = g_strdup(runs[i]->error->message);
			else
				pipesim_figures_of_point(runs[i], result->values);
			result->halves = runs[i]->error == NULL &&
					 !pipesim_run_has_layers(runs[i], points[i].costs);
			pipesim_run_free(runs[i]);
		}
	}
	for (guint i = 0; i < n; i++)
		point_clear(&setups[i]);
	g_async_queue_push(sweep->kept, kept);
}

/* Results -------------------------------------------------------------------------------- */

static gboolean write_page(const Sweep *sweep, GError **error)
{
	const char *path = sweep->setup->text[PIPESIM_SET_REPORT];
	g_autoptr(GString) answer = g_string_new(NULL), text = g_string_new(NULL);

	if (path == NULL || sweep->run.kept->len == 0)
		return TRUE;
	pipesim_rows_table(
		&sweep->titles, sweep->run.kept, &(PipesimStyle){.answer = answer}, text);
	return pipesim_page_answer(sweep->setup->command_line, answer->str, path, error);
}

static gboolean finish(Sweep *sweep, PipesimExit *answer, GError **error)
{
	PipesimSweepRun *run = &sweep->run;

	if (run->file == NULL && run->kept->len > 0) {
		const PipesimStyle style = pipesim_terminal_style(sweep->setup, run->output);
		g_autoptr(GString) out = g_string_new(NULL);

		pipesim_rows_table(&sweep->titles, run->kept, &style, out);
		if (!pipesim_print(run->output, out, error))
			return FALSE;
	}
	if (!pipesim_sweep_run_finish(run, answer, error) || *answer == PIPESIM_EXIT_STOPPED)
		return *answer == PIPESIM_EXIT_STOPPED;
	return pipesim_all(i, G_N_ELEMENTS(pictures),
		       pipesim_sweep_picture_draw((PipesimSweepPicture)i, &sweep->titles,
			       run->kept, sweep->setup->metric, sweep->setup->text[pictures[i]],
			       error)) &&
	       write_page(sweep, error);
}

/* All but who writes what where, and by how many threads; costs are told by what they say. */
static gboolean decides(guint id)
{
	return id == PIPESIM_SET_COMPARE_AT ||
	       (pipesim_settings[id].group != PIPESIM_NO_GROUP && id != PIPESIM_SET_COSTS);
}

/* What files of orders and of costs say, not their bytes: they may be standard input. */
static void add_read(Sweep *sweep, GString *made_of)
{
	pipesim_each_in (const PipesimChoice, choice, sweep->choices) {
		g_autoptr(GString) text = g_string_new(NULL);
		g_autoptr(PipesimProgram) program = NULL;

		if (choice->file == NULL)
			continue;
		if (choice->file->lowering == NULL)
			program = pipesim_order_expand(choice->file->order, NULL);
		else
			pipesim_lowering_print(choice->file->lowering, text);
		if (program != NULL)
			pipesim_schedule_write_csv(program, text);
		pipesim_sweep_run_id_add(made_of, choice->path, text);
	}
	if (sweep->setup->text[PIPESIM_SET_COSTS] != NULL ||
		sweep->setup->list[PIPESIM_SET_TRACE] != NULL) {
		GHashTableIter bases;
		gpointer costs;

		g_hash_table_iter_init(&bases, sweep->bases);
		while (g_hash_table_iter_next(&bases, NULL, &costs)) {
			g_autoptr(GString) text = g_string_new(NULL);

			pipesim_costs_write(costs, text);
			pipesim_sweep_run_id_add(made_of, "costs", text);
		}
	}
}

static gboolean open_results(Sweep *sweep, GError **error)
{
	const gboolean text = sweep->titles.format == PIPESIM_ROWS_TEXT;
	const guint64 points = sweep->run.work.end - sweep->run.work.first;

	/* What must be kept to be drawn or laid out as a table. */
	if (text || is_drawn(sweep)) {
		if (points > MAX_KEPT)
			return pipesim_refuse(error,
				"a table or picture of %" G_GUINT64_FORMAT
				" points: at most %d; write rows with --format csv or jsonl",
				points, MAX_KEPT);
		sweep->run.kept = g_ptr_array_new_with_free_func(
			(GDestroyNotify)pipesim_sweep_block_free);
	}
	for (guint i = 0; i < G_N_ELEMENTS(pictures); i++)
		if (!pipesim_sweep_picture_check((PipesimSweepPicture)i, &sweep->titles,
			    sweep->setup->text[pictures[i]], error))
			return FALSE;
	/* The first point was read. */
	g_autoptr(GString) made_of = pipesim_sweep_run_id(sweep->setup, decides, error);
	if (made_of == NULL)
		return FALSE;
	add_read(sweep, made_of);
	return pipesim_sweep_run_open(&sweep->run, !text, made_of->str, 32, 256, error);
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

			told = words != NULL;
			if (told)
				pipesim_setup_notice(sweep->setup,
					"for example %s at PP %u: %s",
					pipesim_choice_name(choice), point.scenario.ranks,
					words);
		}
	point_clear(&point);
	return told;
}

/* The first points, of those that differ in what decides how many layers a stage has, where there is
 * something to be said of it. Those of @axis and later ones vary; *@left more are looked at. */
static gboolean tell_layers(Sweep *sweep, guint axis, guint64 number, guint *left)
{
	static const char *const deciding[] = {"pp", "chunks", "pipelines", "layers"};

	if (axis == sweep->grid->axes->len)
		return (*left)-- == 0 || tell_layers_of(sweep, number);
	const PipesimAxis *at = g_ptr_array_index(sweep->grid->axes, axis);
	const gboolean decides =
		pipesim_any(i, G_N_ELEMENTS(deciding), strcmp(at->name, deciding[i]) == 0);
	return pipesim_any(i, decides ? at->values->len : 1,
		tell_layers(sweep, axis + 1, number * at->values->len + i, left));
}

/* Times are a rank's share: with PP the model grows, and few ranks look best. */
static void tell_what_is_held(Sweep *sweep)
{
	const PipesimAxis *pp = sweep->setup->text[PIPESIM_SET_PP] != NULL
					? g_ptr_array_index(sweep->grid->axes, 0)
					: NULL;

	if (sweep->run.processes.rank > 0)
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

/* What the options of the sweep itself say, and running it. */
static gboolean start(Sweep *sweep, PipesimExit *answer, GError **error)
{
	/* Of other --layers than those of the first point more may be said while rows are written. */
	g_autoptr(GPtrArray) notices = pipesim_lines_new(NULL, NULL);

	sweep->run.processes = pipesim_mpi_start();
	gboolean ok = pipesim_rows_format(sweep->setup->text[PIPESIM_SET_FORMAT],
			      sweep->run.output, &sweep->titles.format, error) &&
		      pipesim_sweep_run_check(
			      sweep->setup, sweep->run.output, sweep->titles.format, error);
	ok = ok &&
	     pipesim_check_full(sweep->setup,
		     sweep->titles.format == PIPESIM_ROWS_TEXT ? NULL : "csv or jsonl", error);
	if (ok && sweep->setup->flag[PIPESIM_SET_RESUME] && is_drawn(sweep))
		ok = pipesim_refuse(error,
			"--resume computes only the missing rows, and a picture needs all of "
			"them; leave out one of the two");
	ok = ok && pipesim_check_page(sweep->setup->text[PIPESIM_SET_REPORT], error) &&
	     pipesim_sweep_run_share(&sweep->run, sweep->grid->points, error);
	if (ok) {
		sweep->run.rows = pipesim_rows_of_sweep(&sweep->titles);
		tell_what_is_held(sweep);
		pipesim_lines_add(notices, sweep->setup->notices);
		sweep->titles.notices = notices;
		ok = open_results(sweep, error) && pipesim_sweep_run(&sweep->run, error) &&
		     (sweep->run.processes.rank > 0 || finish(sweep, answer, error));
	}
	pipesim_mpi_end(sweep->run.processes, ok ? NULL : *error);
	pipesim_sweep_run_clear(&sweep->run);
	return ok;
}

static gboolean run(PipesimSetup *setup, PipesimExit *answer, GError **error)
{
	g_autoptr(GPtrArray) choices = pipesim_choices_new();
	g_autoptr(PipesimGrid) grid = pipesim_grid_new();
	g_autoptr(GHashTable) bases = g_hash_table_new_full(
		g_str_hash, g_str_equal, g_free, (GDestroyNotify)pipesim_costs_free);
	g_autoptr(GAsyncQueue) kept = g_async_queue_new_full((GDestroyNotify)g_ptr_array_unref);
	g_autofree const char **names = NULL;
	Sweep sweep = {
		.setup = setup,
		.choices = choices,
		.grid = grid,
		.bases = bases,
		.kept = kept,
		.run = {.setup = setup,
			.what = "points",
			.output = setup->text[PIPESIM_SET_OUTPUT]},
	};
	PipesimSetup first;

	if (!pipesim_choices_add_list(choices, setup->text[PIPESIM_SET_SCHEDULE], error) ||
		!pipesim_setup_load_model(setup, error) ||
		!pipesim_setup_load_device(setup, NULL, error))
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
	gboolean ok = read_point(&sweep, &first, error) &&
		      pipesim_choices_prepare(choices, &first, error);
	if (ok) {
		setup->threads = first.threads;
		setup->metric = first.metric;
		sweep.titles.power =
			first.costs->power != NULL || first.costs->contention != NULL;
		sweep.titles.host = first.costs->launch != NULL;
		sweep.titles.period = first.costs->post_validation;
		if (first.costs->cutter != NULL &&
			setup->text[PIPESIM_SET_MEMORY_LIMIT] == NULL)
			sweep.titles.room = first.costs->cutter->room;
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
	sweep.run.work.width = choices->len;
	sweep.run.work.solve = solve;
	sweep.run.work.data = &sweep;
	ok = start(&sweep, answer, error);
	setup->told = sweep.titles.format == PIPESIM_ROWS_TEXT;
	return ok;
}

const PipesimCommand pipesim_command_sweep = {
	.name = "sweep",
	.summary = "every combination of option values, on all cores",
	.about = "A number may be a range (4:64:*2 or 1:2:0.25) or a list (1/2/5; also "
		 "32,64,128 where the value is\na single number). Every combination is "
		 "simulated for every schedule.",
	.examples = "Examples:\n"
		    "  pipesim sweep --pp 4:64:*2 --microbatches 32,64,128 -s 1f1b,zb-h1 -o "
		    "all.csv\n"
		    "  pipesim sweep --pp 8 --microbatches 8:64:8 --times FB=2:3:0.1 "
		    "--heat-map fb.svg\n\n"
		    "Ctrl-C keeps the finished rows; --resume continues after them.\n"
		    "Exit status: 0 done, 2 usage, 3 bad input file, 4 gnuplot failed, 5 "
		    "cannot write, 130 stopped.\n",
	.ranges = TRUE,
	.takes = {PIPESIM_ALL_SHAPE, PIPESIM_ALL_COSTS, PIPESIM_ALL_POWER, PIPESIM_ALL_MODEL,
		PIPESIM_ALL_ENCODER, PIPESIM_SET_VOCAB_PARALLEL, PIPESIM_SET_RECOMPUTE_AS_OPS,
		PIPESIM_ALL_NETWORK, PIPESIM_SET_SCHEDULE, PIPESIM_SET_COMPARE_AT,
		PIPESIM_ALL_RUNTIME, PIPESIM_SET_FULL, PIPESIM_SET_FORMAT, PIPESIM_SET_OUTPUT,
		PIPESIM_SET_RESUME, PIPESIM_SET_SHARD, PIPESIM_SET_THREADS,
		PIPESIM_SET_HEAT_MAP, PIPESIM_SET_WINNERS, PIPESIM_SET_LINES,
		PIPESIM_SET_METRIC, PIPESIM_SET_KEEP_GNUPLOT, PIPESIM_SET_REPORT,
		PIPESIM_SET_OP_TIMES, PIPESIM_SET_FROM_MEGATRON, PIPESIM_SET_FROM_TORCHTITAN},
	.wording = {{PIPESIM_SET_FORMAT, NULL,
			    "text, csv or jsonl (default: by the extension of -o, else text)",
			    "text csv jsonl"},
		{PIPESIM_SET_OUTPUT, NULL, "file for the rows; FILE.partial until all are done",
			NULL}},
	.run = run,
};
