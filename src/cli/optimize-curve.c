#include "cli/optimize-curve.h"
#include "output/figures.h"
#include "output/gnuplot.h"

typedef struct {
	guint activations;  /* that a rank may hold */
	gint64 step, bound; /* ns; without a barrier periods */
	double bubble;      /* of all ranks' time */
} Point;

#define POINT(curve, i) g_array_index(curve, Point, i)

/* Within @n activations, from @last on, which becomes what was found. FALSE where no order fits, or stopped. */
static gboolean find_point(
	const PipesimSearchOf *of, guint n, GPtrArray *last, Point *point, GError **error)
{
	PipesimScenario scenario = *of->scenario;
	PipesimSearchOf own = *of;

	scenario.max_activations = (PipesimFraction){n, 1};
	own.scenario = &scenario;
	own.programs = last;
	g_autoptr(PipesimFound) found = pipesim_mixed_search(&own, error);
	if (found == NULL)
		return FALSE;
	g_ptr_array_set_size(last, 0);
	g_ptr_array_add(last, pipesim_program_ref(found->program));
	scenario.keep = PIPESIM_KEEP_NOTHING;
	PipesimRun *run =
		pipesim_run_program("optimized", found->program, NULL, &scenario, of->costs);
	*point = (Point){n, found->makespan, found->bound->time, 0};
	if (run->error == NULL)
		point->bubble = pipesim_figure_fraction(run->report->bubble.ratio);
	pipesim_run_free(run);
	return TRUE;
}

GArray *pipesim_curve_new(const PipesimSearchOf *of, GError **error)
{
	const guint most = 2 * of->scenario->ranks;
	g_autoptr(GPtrArray) last =
		g_ptr_array_new_with_free_func((GDestroyNotify)pipesim_program_unref);
	g_autoptr(GArray) curve = g_array_new(FALSE, FALSE, sizeof(Point));
	g_autoptr(GError) fault = NULL;
	PipesimSearchOf part = *of;

	part.moves = of->moves / most;
	for (guint n = 1; n <= most; n++) {
		const gint64 now = g_get_monotonic_time();
		Point point;

		if (of->deadline > 0)
			part.deadline = now + MAX(of->deadline - now, 1) / (most + 1 - n);
		g_clear_error(&fault);
		if (find_point(&part, n, last, &point, &fault))
			g_array_append_val(curve, point);
	}
	if (curve->len > 0)
		return g_steal_pointer(&curve);
	g_propagate_error(error, g_steal_pointer(&fault));
	return NULL;
}

static void put_point(PipesimJson *json, const GArray *curve, guint index)
{
	PIPESIM_MEMBER(json, "max_activations", COUNT, POINT(curve, index).activations);
	PIPESIM_MEMBER(json, "step_ms", TIME, POINT(curve, index).step);
	PIPESIM_MEMBER(json, "lower_bound_ms", TIME, POINT(curve, index).bound);
	PIPESIM_MEMBER(json, "bubble_ratio", SHARE, POINT(curve, index).bubble);
}

void pipesim_curve_members(PipesimJson *json, const GArray *curve)
{
	PIPESIM_EACH(json, "curve", line, curve->len, TRUE, put_point, curve);
}

void pipesim_curve_csv(const GArray *curve, GString *out)
{
	PIPESIM_CSV(out, curve->len, put_point, curve);
}

static PipesimTable *make_table(const GArray *curve)
{
	PipesimTable *table =
		pipesim_table_of("activations:of a rank|step:ms|no order below:ms|bubble:%");

	for (guint i = 0; i < curve->len; i++)
		pipesim_table_row(table, PIPESIM_ROW_PLAIN, "%u\t%s\t%s\t%s",
			POINT(curve, i).activations, pipesim_ms_fixed(POINT(curve, i).step, 3),
			pipesim_ms_fixed(POINT(curve, i).bound, 3),
			pipesim_fixed(100 * POINT(curve, i).bubble, 2));
	return table;
}

void pipesim_curve_text(const GArray *curve, const PipesimStyle *style, GString *out)
{
	g_autoptr(PipesimTable) table = make_table(curve);

	pipesim_table_print(table, PIPESIM_SCREEN_WIDTH, G_MAXUINT, style, out);
}

void pipesim_curve_answer(const GArray *curve, const PipesimScenario *scenario, GString *answer)
{
	g_autoptr(PipesimScreen) screen = pipesim_screen_new();
	g_autoptr(GString) text = g_string_new(NULL);
	guint least;

	pipesim_skip(least, curve->len,
		POINT(curve, least).step > POINT(curve, curve->len - 1).step);
	g_string_append_printf(screen->asked,
		"PP %u, %u micro-batches, the shortest order within each limit of memory",
		scenario->ranks, scenario->microbatches);
	pipesim_lines_say(screen->verdict,
		"The shortest step found takes %s, from %u activation%s of a rank on.",
		pipesim_brief_time(POINT(curve, least).step), POINT(curve, least).activations,
		POINT(curve, least).activations == 1 ? "" : "s");
	screen->table = make_table(curve);
	pipesim_screen_print(screen, &(PipesimStyle){.answer = answer}, text);
}

gboolean pipesim_curve_draw(const GArray *curve, const char *path, GError **error)
{
	g_autoptr(PipesimGnuplot) picture =
		pipesim_gnuplot_new(path, PIPESIM_GNUPLOT_EXTENSIONS, error);

	if (picture == NULL)
		return FALSE;
	for (guint i = 0; i < curve->len; i++) {
		const Point *point = &POINT(curve, i);
		const double left = MAX(1 - (1 - point->bubble) * (double)point->step /
							(double)MAX(point->bound, 1),
			0);

		g_string_append_printf(picture->data, "%u %s %s\n", point->activations,
			pipesim_fixed(100 * point->bubble, 4), pipesim_fixed(100 * left, 4));
	}
	pipesim_gnuplot_begin(picture, 800, 500);
	g_string_append(picture->script,
		"set xlabel 'activations that a rank may hold'\n"
		"set ylabel 'bubble, %'\nset yrange [0:*]\nset grid\n"
		"plot data using 1:2 with linespoints title 'shortest order found', "
		"data using 1:3 with lines title 'no order below'\n");
	return pipesim_gnuplot_draw(picture, "gnuplot", error);
}
