#include "grid.h"
#include "analysis/best-order.h"
#include "reference-engine.h"
#include "runtime/csv.h"
#include "suites.h"

static const guint shapes[][2] = {{1, 1}, {1, 2}, {1, 5}, {2, 1}, {2, 2}, {2, 3}, {2, 4},
	{2, 8}, {2, 10}, {3, 1}, {3, 3}, {3, 6}, {3, 7}, {4, 2}, {4, 3}, {4, 4}, {4, 6}, {4, 8},
	{4, 9}, {4, 10}, {4, 12}, {4, 14}, {4, 16}, {5, 4}, {5, 10}, {5, 13}, {6, 6}, {6, 10},
	{6, 12}, {6, 14}, {6, 20}, {7, 14}, {7, 15}, {8, 3}, {8, 8}, {8, 10}, {8, 12}, {8, 16},
	{8, 18}, {8, 20}, {8, 22}, {8, 24}, {8, 32}, {10, 20}, {10, 22}, {12, 24}, {12, 30},
	{13, 40}, {16, 32}, {16, 40}, {16, 64}};

/* Those at which what else a schedule lets one choose is varied. */
static const guint varied[][2] = {{1, 3}, {3, 7}, {4, 3}, {4, 9}, {4, 24}, {8, 20}};

#define MAX_CASES (G_N_ELEMENTS(shapes) * 64)

typedef struct {
	GridCase cases[MAX_CASES];
	int count;
} CaseList;

static CaseList accepted, refused;

PipesimScenario grid_scenario(const GridCase *point)
{
	return (PipesimScenario){
		.ranks = point->ranks,
		.microbatches = point->microbatches,
		.chunks = point->chunks,
		.group = point->group,
		.pipelines = point->pipelines,
		.pairs = point->pairs,
		.slices = point->slices,
	};
}

static void sort_out(GridCase point)
{
	const PipesimScenario scenario = grid_scenario(&point);
	PipesimShape shape;
	CaseList *list = pipesim_schedule_shape(point.schedule, &scenario, &shape, NULL)
				 ? &accepted
				 : &refused;

	g_assert_cmpint(list->count, <, MAX_CASES);
	list->cases[list->count++] = point;
}

/* Other chunks, groups and pipelines than the schedule's own, where it lets one choose. */
static void vary(const PipesimSchedule *schedule, guint ranks, guint microbatches)
{
	const GridCase plain = {schedule, ranks, microbatches, 0, 0, 0, FALSE, 0};

	if (schedule->takes & PIPESIM_TAKES_CHUNKS)
		for (guint chunks = 1; chunks <= 4; chunks++) {
			GridCase point = plain;

			point.chunks = chunks;
			point.group = schedule->takes & PIPESIM_TAKES_GROUP && chunks >= 3
					      ? chunks * ranks / 3
					      : 0;
			sort_out(point);
		}
	if (schedule->takes & PIPESIM_TAKES_SLICES)
		for (guint slices = 1; slices <= 8; slices *= 2) {
			GridCase point = plain;

			point.slices = slices;
			point.chunks =
				schedule->takes & PIPESIM_TAKES_CHUNKS ? 1 + slices / 4 : 0;
			sort_out(point);
		}
	if (schedule->takes & PIPESIM_TAKES_GROUP)
		for (guint group = 1; group <= ranks + 2; group += 1 + ranks / 2) {
			GridCase point = plain;

			point.group = group;
			sort_out(point);
		}
	if (schedule->takes & PIPESIM_TAKES_PAIRS)
		for (guint chunks = 1; chunks <= 3; chunks++) {
			GridCase point = plain;

			point.pairs = TRUE;
			point.chunks = chunks;
			point.group = chunks == 3 ? ranks : 0;
			sort_out(point);
		}
	if (schedule->takes & PIPESIM_TAKES_PIPELINES)
		for (guint pipelines = 4; pipelines <= 6; pipelines++) {
			GridCase point = plain;

			point.pipelines = pipelines;
			sort_out(point);
		}
}

static void sort_schedule(const PipesimSchedule *schedule)
{
	for (guint i = 0; i < G_N_ELEMENTS(shapes); i++)
		sort_out((GridCase){schedule, shapes[i][0], shapes[i][1], 0, 0, 0, FALSE, 0});
	for (guint i = 0; i < G_N_ELEMENTS(varied); i++)
		vary(schedule, varied[i][0], varied[i][1]);
}

/* Keeps each n-th point: unit.sh asks for it in the largest suites. Prime to the
 * number of shapes, so that every schedule and every shape is among them. */
static void thin(CaseList *list, int stride)
{
	int kept = 0;

	for (int i = 0; i < list->count; i += stride)
		list->cases[kept++] = list->cases[i];
	list->count = kept;
}

static const GridCase *cases(CaseList *list, int *count)
{
	const char *stride = g_getenv("PIPESIM_GRID_STRIDE");

	if (accepted.count == 0) {
		for (const PipesimSchedule *const *s = pipesim_schedule_list(); *s != NULL; s++)
			if ((*s)->barriers == 0)
				sort_schedule(*s);
		if (stride != NULL) {
			thin(&accepted, atoi(stride));
			thin(&refused, atoi(stride));
		}
	}
	*count = list->count;
	return list->cases;
}

guint grid_every(guint n)
{
	return g_getenv("PIPESIM_LONG") != NULL ? 1 : n;
}

const GridCase *grid_accepted(int *count)
{
	return cases(&accepted, count);
}

const GridCase *grid_refused(int *count)
{
	return cases(&refused, count);
}

PipesimProgram *scenario_program(
	const PipesimSchedule *schedule, const PipesimScenario *scenario, GError **error)
{
	g_autoptr(PipesimCosts) costs = pipesim_costs_default();

	return pipesim_best_program(schedule, scenario, costs, error);
}

PipesimProgram *make_program(
	const PipesimSchedule *schedule, guint ranks, guint microbatches, GError **error)
{
	const PipesimScenario scenario = {.ranks = ranks, .microbatches = microbatches};

	return scenario_program(schedule, &scenario, error);
}

static PipesimProgram *take_program(PipesimScheduleFile *file)
{
	PipesimProgram *program = file != NULL ? pipesim_order_expand(file->order, NULL) : NULL;

	pipesim_schedule_file_free(file);
	return program;
}

PipesimProgram *read_program(const char *path, GError **error)
{
	return take_program(pipesim_schedule_file_read(path, error));
}

PipesimProgram *parse_program(const char *text, gsize length, const char *path, GError **error)
{
	return take_program(pipesim_schedule_file_parse(text, length, path, error));
}

PipesimShape make_shape(
	guint ranks, guint chunks, guint microbatches, PipesimPlacement placement)
{
	const PipesimScenario scenario = {.ranks = ranks, .microbatches = microbatches};
	PipesimShape shape;

	ck_assert(pipesim_shape_init(&shape, &scenario, chunks, placement, NULL));
	return shape;
}

PipesimRun *make_run(
	const char *name, guint ranks, guint microbatches, const PipesimCosts *costs)
{
	const PipesimScenario scenario = {
		.ranks = ranks, .microbatches = microbatches, .critical = TRUE};
	const PipesimSchedule *schedule = pipesim_schedule_find(name, NULL);

	ck_assert_msg(schedule != NULL, "no schedule %s", name);
	return pipesim_run_schedule(schedule, &scenario, costs);
}

static char *describe(const GridCase *point)
{
	return g_strdup_printf("%s %u/%u, chunks %u, group %u, pipelines %u",
		point->schedule->name, point->ranks, point->microbatches, point->chunks,
		point->group, point->pipelines);
}

PipesimProgram *grid_program(const GridCase *point)
{
	const PipesimScenario scenario = grid_scenario(point);
	g_autofree char *text = describe(point);
	g_autoptr(GError) error = NULL;
	PipesimProgram *program = scenario_program(point->schedule, &scenario, &error);

	ck_assert_msg(program != NULL, "%s: %s", text, error != NULL ? error->message : "");
	return program;
}

PipesimOrder *grid_order(const GridCase *point)
{
	const PipesimScenario scenario = grid_scenario(point);
	g_autoptr(PipesimCosts) costs = pipesim_costs_default();
	g_autoptr(PipesimTimes) times = NULL;
	PipesimOrder *order;
	PipesimShape shape;

	ck_assert(pipesim_schedule_shape(point->schedule, &scenario, &shape, NULL));
	times = pipesim_times_new(costs, &shape);
	order = pipesim_best_order(point->schedule, &shape, times, &scenario, costs, NULL);
	ck_assert_ptr_nonnull(order);
	return order;
}

PipesimCosts *grid_costs(gint64 f, gint64 i, gint64 w, gint64 fb, gint64 p2p)
{
	g_autoptr(GError) error = NULL;
	PipesimCosts *costs = pipesim_costs_new(f, i, w, fb, p2p, &error);

	ck_assert_msg(costs != NULL, "%s", error != NULL ? error->message : "no error");
	return costs;
}

/* "0=1.234,1=0.9,...": factors above 0 and below @below. */
static char *random_factors(GRand *random, guint n, gint32 below)
{
	GString *factors = g_string_new(NULL);

	for (guint i = 0; i < n; i++)
		g_string_append_printf(factors, "%s%u=%d.%03d", i > 0 ? "," : "", i,
			g_rand_int_range(random, 0, below), g_rand_int_range(random, 1, 1000));
	return g_string_free(factors, FALSE);
}

PipesimCosts *grid_random_costs(guint32 seed, guint ranks, gboolean uneven)
{
	GRand *random = g_rand_new_with_seed(seed);
	gint64 f = g_rand_int_range(random, 0, 2000003);
	gint64 i = g_rand_int_range(random, 1, 2500009);
	gint64 w = g_rand_int_range(random, 0, 1500007);
	gint64 saved = g_rand_int_range(random, 0, 1 + (gint32)MIN(f, i));
	gint64 p2p = seed % 3 == 0 ? 0 : g_rand_int_range(random, 1, 900001);
	PipesimCosts *costs = grid_costs(f, i, w, f + i + w - saved, p2p);

	if (uneven) {
		g_autofree char *scale = random_factors(random, ranks, 3);

		ck_assert(pipesim_costs_parse_scale(costs, scale, "x", ranks, NULL));
	}
	if (uneven && seed % 4 == 3) {
		g_autofree char *slow = random_factors(random, ranks, 2);

		ck_assert(pipesim_costs_parse_slow(costs, slow, "x", ranks, NULL));
	}
	g_rand_free(random);
	return costs;
}

PipesimRun *grid_run(const GridCase *point, const PipesimCosts *costs)
{
	PipesimScenario scenario = grid_scenario(point);
	g_autofree char *text = describe(point);
	PipesimRun *run;

	scenario.critical = TRUE;
	run = pipesim_run_schedule(point->schedule, &scenario, costs);
	ck_assert_msg(run->error == NULL, "%s: %s", text,
		run->error != NULL ? run->error->message : "");
	return run;
}

PipesimTimeline *grid_timeline(const PipesimProgram *program, const PipesimCosts *costs)
{
	g_autoptr(GError) error = NULL;
	g_autoptr(PipesimTimes) times = pipesim_times_new(costs, &program->shape);
	PipesimTimeline *timeline = reference_run(program, times, &error);

	ck_assert_msg(timeline != NULL, "%s", error != NULL ? error->message : "no error");
	return timeline;
}

PipesimRun *named_run(
	const char *name, guint ranks, guint microbatches, const PipesimCosts *costs)
{
	const GridCase point = {
		pipesim_schedule_find(name, NULL), ranks, microbatches, 0, 0, 0, FALSE, 0};

	ck_assert_msg(point.schedule != NULL, "no schedule %s", name);
	return grid_run(&point, costs);
}

gboolean grid_is_extended(const GridCase *point, const PipesimShape *shape)
{
	return pipesim_schedule_extension(point->schedule, shape) != NULL;
}
