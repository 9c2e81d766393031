#include "config.h"

#include "cli/sweep-points.h"
#include "output/figures.h"

struct _PipesimSweepPoints {
	const PipesimSetup *setup;
	const GPtrArray *choices;
	PipesimGrid *grid;
	/* Costs before options change them, by the text of --layers: files are read once. */
	GHashTable *bases;
	GMutex lock;
};

static gboolean fill_grid(PipesimSweepPoints *points, GError **error)
{
	for (guint id = 1; id < PIPESIM_N_SETTINGS; id++) {
		const PipesimSetting *setting = &pipesim_settings[id];
		const char *text = points->setup->text[id];

		if (setting->sweep != PIPESIM_NOT_SWEPT && text != NULL &&
			!pipesim_grid_add(points->grid, setting->name, text,
				setting->sweep == PIPESIM_SWEPT_WHOLE, error))
			return FALSE;
	}
	return TRUE;
}

/* The setup of one point: its own texts of what is swept, the others borrowed. */
static void point_init(const PipesimSweepPoints *points, guint64 number, PipesimSetup *point)
{
	*point = *points->setup;
	for (guint id = 1; id < PIPESIM_N_SETTINGS; id++)
		if (pipesim_settings[id].sweep != PIPESIM_NOT_SWEPT)
			point->text[id] = pipesim_grid_text(
				points->grid, pipesim_settings[id].name, number);
}

static void point_clear(PipesimSetup *point)
{
	for (guint id = 1; id < PIPESIM_N_SETTINGS; id++)
		if (pipesim_settings[id].sweep != PIPESIM_NOT_SWEPT)
			g_free(point->text[id]);
	pipesim_costs_free(point->costs);
}

static const PipesimCosts *find_base(
	PipesimSweepPoints *points, const PipesimSetup *point, GError **error)
{
	const char *layers = point->text[PIPESIM_SET_LAYERS];
	const char *key = layers != NULL ? layers : "";
	PipesimCosts *base;

	g_mutex_lock(&points->lock);
	base = g_hash_table_lookup(points->bases, key);
	if (base == NULL) {
		base = pipesim_setup_base(point, error);
		if (base != NULL)
			g_hash_table_insert(points->bases, g_strdup(key), base);
	}
	g_mutex_unlock(&points->lock);
	return base;
}

static gboolean read_point(PipesimSweepPoints *points, PipesimSetup *point, GError **error)
{
	const PipesimCosts *base;

	if (!pipesim_setup_read(point, error))
		return FALSE;
	pipesim_choices_shape(points->choices, &point->scenario);
	if (!pipesim_setup_require(point, error))
		return FALSE;
	base = find_base(points, point, error);
	/* No row shows a single op. */
	point->scenario.keep = PIPESIM_KEEP_NOTHING;
	return base != NULL && pipesim_setup_costs(point, base, error);
}

static void take_result(PipesimRun *run, PipesimSweepResult *result)
{
	const PipesimReport *report = run->report;

	if (run->error != NULL) {
		*result = (PipesimSweepResult){.error = g_strdup(run->error->message)};
		return;
	}
	*result = (PipesimSweepResult){
		.solved = TRUE,
		.ranks = run->shape.ranks,
		.microbatches = pipesim_shape_whole(&run->shape),
		.stages = run->shape.stages,
		.copies = run->shape.copies,
		.makespan = report->makespan,
		.max_idle = report->bubble.max_idle,
		.max_span_idle = report->bubble.max_span_idle,
		.ratio = pipesim_figure_fraction(report->bubble.ratio),
		.activations = pipesim_figure_activations(report, report->held.max_peak),
		.memory = report->memory.peak != NULL ? report->memory.max : -1,
		.fits = report->memory.fits,
	};
}

static void solve_choice(const PipesimChoice *choice, const PipesimScenario *scenario,
	const PipesimCosts *costs, PipesimSweepResult *result)
{
	g_autoptr(PipesimRun) run = pipesim_choice_run(choice, scenario, costs);

	take_result(run, result);
}

void pipesim_sweep_points_solve(gpointer data, guint64 number, PipesimSweepResult *results)
{
	PipesimSweepPoints *points = data;
	g_autoptr(GError) error = NULL;
	PipesimSetup point;

	point_init(points, number, &point);
	read_point(points, &point, &error);
	for (guint i = 0; i < points->choices->len; i++) {
		if (error == NULL)
			solve_choice(g_ptr_array_index(points->choices, i), &point.scenario,
				point.costs, &results[i]);
		else
			results[i] = (PipesimSweepResult){.error = g_strdup(error->message)};
	}
	point_clear(&point);
}

static gboolean check_first(PipesimSweepPoints *points, GError **error)
{
	PipesimSetup point;
	gboolean ok;

	point_init(points, 0, &point);
	ok = read_point(points, &point, error) &&
	     pipesim_choices_prepare(points->choices, &point, error);
	point_clear(&point);
	return ok;
}

PipesimSweepPoints *pipesim_sweep_points_new(
	const PipesimSetup *setup, const GPtrArray *choices, GError **error)
{
	PipesimSweepPoints *points = g_new0(PipesimSweepPoints, 1);

	points->setup = setup;
	points->choices = choices;
	points->grid = pipesim_grid_new();
	points->bases = g_hash_table_new_full(
		g_str_hash, g_str_equal, g_free, (GDestroyNotify)pipesim_costs_free);
	g_mutex_init(&points->lock);
	if (fill_grid(points, error) && check_first(points, error))
		return points;
	pipesim_sweep_points_free(points);
	return NULL;
}

void pipesim_sweep_points_free(PipesimSweepPoints *points)
{
	if (points == NULL)
		return;
	pipesim_grid_free(points->grid);
	g_hash_table_unref(points->bases);
	g_mutex_clear(&points->lock);
	g_free(points);
}

const PipesimGrid *pipesim_sweep_points_grid(const PipesimSweepPoints *points)
{
	return points->grid;
}
