#include "config.h"

#include "cli/sweep-points.h"
#include "output/figures.h"

/* An option whose numbers can be swept: where its text stands. */
typedef struct {
	const char *name;
	gsize offset;
	gboolean of_costs; /* in PipesimCostOptions, else in PipesimShapeOptions */
	gboolean plain;    /* its value is one number */
} Sweepable;

#define SHAPE(name, field, plain)                                        \
	{                                                                \
		name, offsetof(PipesimShapeOptions, field), FALSE, plain \
	}
#define COSTS(name, field, plain)                                      \
	{                                                              \
		name, offsetof(PipesimCostOptions, field), TRUE, plain \
	}

/* In the order in which points vary, the slowest first. */
static const Sweepable sweepables[] = {
	SHAPE("--pp", pp, TRUE),
	SHAPE("--microbatches", microbatches, TRUE),
	SHAPE("--chunks", chunks, TRUE),
	SHAPE("--group", group, TRUE),
	SHAPE("--pipelines", pipelines, TRUE),
	SHAPE("--max-activations", max_activations, TRUE),
	COSTS("--layers", layers, TRUE),
	COSTS("--times", times, FALSE),
	COSTS("--stage-scale", stage_scale, FALSE),
	COSTS("--slow-rank", slow_rank, FALSE),
	COSTS("--activation-bytes", activation_bytes, FALSE),
	COSTS("--parameter-bytes", parameter_bytes, FALSE),
	COSTS("--memory-limit", memory_limit, FALSE),
	COSTS("--message-bytes", network.message_bytes, FALSE),
	COSTS("--link-latency", network.link_latency, FALSE),
	COSTS("--link-bandwidth", network.link_bandwidth, FALSE),
	COSTS("--interference", network.interference, FALSE),
};

struct _PipesimSweepPoints {
	const PipesimShapeOptions *shape;
	const PipesimCostOptions *costs;
	const GPtrArray *choices;
	PipesimGrid *grid;
	/* Costs before options change them, by the text of --layers: files are read once. */
	GHashTable *bases;
	GMutex lock;
};

/* The options of one point. */
typedef struct {
	PipesimShapeOptions shape;
	PipesimCostOptions costs;
	char *texts[G_N_ELEMENTS(sweepables)]; /* owned; what of the two is swept */
} Point;

static char **field(
	const Sweepable *sweepable, PipesimShapeOptions *shape, PipesimCostOptions *costs)
{
	char *base = sweepable->of_costs ? (char *)costs : (char *)shape;

	return (char **)(gpointer)(base + sweepable->offset);
}

static gboolean fill_grid(PipesimSweepPoints *points, GError **error)
{
	PipesimShapeOptions shape = *points->shape;
	PipesimCostOptions costs = *points->costs;

	for (gsize i = 0; i < G_N_ELEMENTS(sweepables); i++) {
		const char *text = *field(&sweepables[i], &shape, &costs);

		if (text != NULL && !pipesim_grid_add(points->grid, sweepables[i].name, text,
					    sweepables[i].plain, error))
			return FALSE;
	}
	return TRUE;
}

static void point_init(const PipesimSweepPoints *points, guint64 number, Point *point)
{
	point->shape = *points->shape;
	point->costs = *points->costs;
	for (gsize i = 0; i < G_N_ELEMENTS(sweepables); i++) {
		point->texts[i] = pipesim_grid_text(points->grid, sweepables[i].name, number);
		*field(&sweepables[i], &point->shape, &point->costs) = point->texts[i];
	}
}

static void point_clear(Point *point)
{
	for (gsize i = 0; i < G_N_ELEMENTS(sweepables); i++)
		g_free(point->texts[i]);
}

static const PipesimCosts *find_base(
	PipesimSweepPoints *points, const Point *point, GError **error)
{
	const char *key = point->costs.layers != NULL ? point->costs.layers : "";
	const PipesimCosts *base;

	g_mutex_lock(&points->lock);
	base = g_hash_table_lookup(points->bases, key);
	if (base == NULL) {
		PipesimCosts *read = pipesim_cost_options_base(&point->costs, error);

		if (read != NULL)
			g_hash_table_insert(points->bases, g_strdup(key), read);
		base = read;
	}
	g_mutex_unlock(&points->lock);
	return base;
}

static PipesimCosts *read_point(PipesimSweepPoints *points, Point *point, GError **error)
{
	PipesimScenario *scenario = &point->shape.scenario;
	const PipesimCosts *base;

	if (!pipesim_shape_options_read(&point->shape, error))
		return NULL;
	pipesim_choices_shape(points->choices, scenario);
	if (!pipesim_shape_options_require(&point->shape, error))
		return NULL;
	base = find_base(points, point, error);
	/* No row shows a single op. */
	scenario->keep = PIPESIM_KEEP_NOTHING;
	return base != NULL ? pipesim_cost_options_apply(&point->costs, base, scenario->ranks,
				      &scenario->memory_limit, error)
			    : NULL;
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
		.max_idle = report->max_idle,
		.max_span_idle = report->max_span_idle,
		.ratio = pipesim_figure_fraction(report->ratio),
		.activations = pipesim_figure_activations(report, report->max_peak),
		.memory = report->memory != NULL ? report->max_memory : -1,
		.fits = report->fits,
	};
}

static void solve_choice(const PipesimChoice *choice, const PipesimScenario *scenario,
	const PipesimCosts *costs, PipesimSweepResult *result)
{
	/* A file's program serves every point: the run borrows it. */
	PipesimChoice borrowed = *choice;
	PipesimRun *run = pipesim_choice_run(&borrowed, scenario, costs);

	take_result(run, result);
	if (choice->program != NULL)
		run->program = NULL;
	pipesim_run_free(run);
}

void pipesim_sweep_points_solve(gpointer data, guint64 number, PipesimSweepResult *results)
{
	PipesimSweepPoints *points = data;
	g_autoptr(PipesimCosts) costs = NULL;
	g_autoptr(GError) error = NULL;
	Point point;

	point_init(points, number, &point);
	costs = read_point(points, &point, &error);
	for (guint i = 0; i < points->choices->len; i++) {
		if (costs != NULL)
			solve_choice(g_ptr_array_index(points->choices, i),
				&point.shape.scenario, costs, &results[i]);
		else
			results[i] = (PipesimSweepResult){.error = g_strdup(error->message)};
	}
	point_clear(&point);
}

static gboolean check_first(PipesimSweepPoints *points, GError **error)
{
	g_autoptr(PipesimCosts) costs = NULL;
	Point point;

	point_init(points, 0, &point);
	costs = read_point(points, &point, error);
	point_clear(&point);
	return costs != NULL &&
	       pipesim_choices_heed(points->choices, &point.shape.scenario, error);
}

PipesimSweepPoints *pipesim_sweep_points_new(const PipesimShapeOptions *shape,
	const PipesimCostOptions *costs, const GPtrArray *choices, GError **error)
{
	PipesimSweepPoints *points = g_new0(PipesimSweepPoints, 1);

	points->shape = shape;
	points->costs = costs;
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
