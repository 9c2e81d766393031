#include "plan/plan-picture.h"
#include "output/figures.h"
#include "output/gnuplot.h"
#include "output/screen.h"
#include "sweep/series.h"

#define WIDTH  960
#define HEIGHT 600

/* "30.5 12.25  # 1f1b TP 8 PP 4 DP 2 size 1 M 16". */
static void append_point(GString *data, const PipesimCandidate *candidate)
{
	const PipesimTraining *training = &candidate->training;

	g_string_append_printf(data,
		"%s %s  # %s chunks %u TP %" G_GINT64_FORMAT " PP %u EP %" G_GINT64_FORMAT
		" DP %" G_GINT64_FORMAT " size %" G_GINT64_FORMAT " M %u\n",
		pipesim_gib(candidate->memory, 3),
		pipesim_fixed((double)candidate->step / 1e9, 6), candidate->schedule->name,
		candidate->chunks, training->tp, candidate->ranks, training->ep, training->dp,
		training->microbatch, candidate->microbatches);
}

/* Those of @schedule that fit, or do not; how many. A block that is never empty. */
static guint append_block(GString *data, const GArray *all, const PipesimSchedule *schedule,
	gboolean fits, const char *title)
{
	guint n = 0;

	g_string_append_printf(data, "# %s%s\n", title, fits ? "" : ", does not fit");
	pipesim_each (const PipesimCandidate, candidate, all) {
		if (candidate->step == 0 || candidate->schedule != schedule ||
			candidate->fits != fits)
			continue;
		append_point(data, candidate);
		n++;
	}
	g_string_append(data, n == 0 ? "NaN NaN\n\n\n" : "\n\n");
	return n;
}

/* @fits: whether any candidate does; else all of them are shown, however much they need. */
static void begin_script(const PipesimWish *wish, gboolean fits, PipesimGnuplot *picture)
{
	GString *out = picture->script;

	g_string_append(out,
		"# gnuplot script; the candidates of the plan are in the .dat beside it\n");
	pipesim_gnuplot_begin(picture, WIDTH, HEIGHT);
	g_string_append_printf(out,
		"limit = %s\nset datafile missing 'NaN'\nset tics nomirror out scale 0.6\nset "
		"border 3\n"
		"set key outside right top reverse Left\n"
		"set xlabel 'memory of the fullest rank, GiB'\nset ylabel 'step, s'\n"
		"set offsets 0, graph 0.02, graph 0.02, graph 0.02\n"
		"set arrow from limit, graph 0 to limit, graph 1 nohead dashtype 2 lc rgb "
		"'#808080'\n",
		pipesim_gib(wish->memory, 3));
	g_string_append(
		out, fits ? "set xrange [0:2 * limit]\n"
			  : ("set xrange [0:*]\n"
			     "set label 'no candidate fits' at graph 0.5, graph 0.9 center\n"));
	pipesim_gnuplot_quote(out, "set title ", wish->model->name,
		" font sprintf('Arial Bold,%%g', %u * point)\nplot \\\n",
		PIPESIM_GNUPLOT_FONT + 1);
}

gboolean pipesim_plan_picture_draw(const PipesimWish *wish, const PipesimPlanned *planned,
	const char *path, GError **error)
{
	g_autoptr(GPtrArray) names = g_ptr_array_new();
	const GArray *frontier = planned->frontier;
	gboolean drawn = FALSE;
	guint block = 0;
	char tint[8];

	if (path == NULL)
		return TRUE;
	g_autoptr(PipesimGnuplot) picture =
		pipesim_gnuplot_new(path, PIPESIM_GNUPLOT_EXTENSIONS, error);
	if (picture == NULL)
		return FALSE;
	for (guint i = 0; wish->schedules[i] != NULL; i++)
		g_ptr_array_add(names, (gpointer)wish->schedules[i]->name);
	g_ptr_array_add(names, NULL);
	begin_script(wish, frontier->len > 0, picture);
	for (guint i = 0; wish->schedules[i] != NULL; i++) {
		const PipesimSeries series =
			pipesim_series((const char *const *)names->pdata, i);

		for (gint fits = 1; fits >= 0; fits--, block++) {
			const guint n = append_block(picture->data, planned->all,
				wish->schedules[i], fits, series.name);

			if (n == 0)
				continue;
			g_string_append_printf(picture->script,
				"%s  data index %u with points pointtype %u pointsize %s lc "
				"rgb '%s' ",
				drawn ? ", \\\n" : "", block, fits ? series.point : 6,
				fits ? "0.8" : "0.5",
				fits ? series.colour : pipesim_series_tint(&series, tint));
			drawn = TRUE;
			if (fits)
				pipesim_gnuplot_quote(
					picture->script, "title ", series.name, " ");
			else
				g_string_append(picture->script, "notitle");
		}
	}
	g_string_append(picture->data, "# none beats these in both\n");
	pipesim_each (const PipesimCandidate, candidate, frontier)
		append_point(picture->data, candidate);
	if (frontier->len > 0)
		g_string_append_printf(picture->script,
			"%s  data index %u with fsteps lc rgb '#000000' title 'best at each "
			"memory'\n",
			drawn ? ", \\\n" : "", block);
	else
		g_string_append(
			picture->script, drawn ? "\n" : "  [0:2 * limit] [0:1] 2 notitle\n");
	return pipesim_gnuplot_draw(picture, "gnuplot", error);
}
