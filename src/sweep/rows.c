#include "sweep/rows.h"
#include "output/screen.h"
#include "setup/setting.h"

static void put_row(const PipesimRows *rows, guint64 point, guint line,
	const PipesimSweepResult *result, GString *out)
{
	const gboolean csv = rows->format == PIPESIM_ROWS_CSV;
	g_autoptr(PipesimJson) json =
		csv ? pipesim_json_new_csv(out, FALSE) : pipesim_json_new(out);

	if (!csv)
		pipesim_json_open_line(json, NULL);
	rows->put(json, rows->data, point, line, result);
	if (csv)
		pipesim_json_end_line(json);
	else
		pipesim_json_close(json);
}

void pipesim_rows_header(const PipesimRows *rows, GString *out)
{
	g_autoptr(PipesimJson) titles = pipesim_json_new_csv(out, TRUE);

	if (rows->format != PIPESIM_ROWS_CSV)
		return;
	rows->put(titles, rows->data, 0, 0, NULL);
	pipesim_json_end_line(titles);
}

void pipesim_rows_key(const PipesimRows *rows, guint64 point, guint line, GString *out)
{
	put_row(rows, point, line, NULL, out);
	/* Without its end. */
	g_string_truncate(out, out->len - (rows->format == PIPESIM_ROWS_CSV ? 1 : 2));
}

void pipesim_rows_append(const PipesimRows *rows, const PipesimSweepBlock *block, GString *out)
{
	for (guint i = 0; i < block->n_points * block->width; i++)
		put_row(rows, block->first + i / block->width, i % block->width,
			&block->results[i], out);
}

/* Rates that differ by less are as good: zb-v and zb-v-auto of one order. */
#define ALIKE 5e-4

/* Of a sweep -------------------------------------------------------------------------------- */

/* In JSON a schedule that refused has no figures. */
static void put_line(PipesimJson *json, gconstpointer data, guint64 point, guint line,
	const PipesimSweepResult *result)
{
	const PipesimSweepTitles *titles = data;
	const gboolean first = point == 0 && line == 0;
	const gboolean json_refusal =
		titles->format == PIPESIM_ROWS_JSONL && result != NULL && result->error != NULL;

	for (guint k = 0; k < titles->grid->axes->len; k++)
		PIPESIM_MEMBER(json, pipesim_grid_axis(titles->grid, k)->column, NESTED,
			pipesim_grid_value(titles->grid, point, k));
	PIPESIM_MEMBER(json, "schedule", TEXT, titles->names[line]);
	if (!PIPESIM_WHERE(json, result != NULL))
		return;
	for (guint i = 0; i < pipesim_n_figures; i++) {
		const PipesimFigure *figure = &pipesim_figures[i];

		if (figure->sweep == NULL || json_refusal ||
			(figure->of_training && !titles->training) ||
			(figure->of_power && !titles->power) ||
			(figure->of_period && !titles->period) ||
			(figure->of_host && !titles->host))
			continue;
		if (pipesim_member(json, figure->sweep, figure->kind))
			pipesim_value(json, figure->kind,
				result->error == NULL ? result->values[figure->id]
						      : pipesim_value_nothing(figure->kind));
	}
	PIPESIM_MEMBER(json, "error", TEXT, result->error);
	/* Once a sweep, not once a row. */
	if (titles->format == PIPESIM_ROWS_CSV) {
		const guint n = first && titles->notices != NULL ? titles->notices->len : 0;
		g_autoptr(GString) all = g_string_new(NULL);

		for (guint i = 0; i < n; i++)
			g_string_append_printf(all, "%s%s", i == 0 ? "" : "; ",
				(char *)g_ptr_array_index(titles->notices, i));
		PIPESIM_MEMBER(json, "notices", TEXT, all->str);
	} else if (first) {
		PIPESIM_MEMBER(json, "notices", TEXTS, titles->notices);
	}
}

PipesimRows pipesim_rows_of_sweep(const PipesimSweepTitles *titles)
{
	return (PipesimRows){.width = g_strv_length((char **)titles->names),
		.format = titles->format,
		.put = put_line,
		.data = titles};
}

gboolean pipesim_rows_format(
	const char *format, const char *path, PipesimRowFormat *rows, GError **error)
{
	const char *name = format != NULL ? format
			   : path != NULL ? pipesim_path_extension(path)
					  : "";
	guint word = PIPESIM_ROWS_TEXT;
	const gboolean known = pipesim_word_find(
		"text csv jsonl", name, "unknown format", &word, format != NULL ? error : NULL);

	*rows = (PipesimRowFormat)word;
	return known || format == NULL;
}

/* Table for people ------------------------------------------------------------------------- */

/* Schedules that a verdict names. */
#define MOST_WINNERS 4

/* Which columns of figures are shown. */
typedef enum {
	ALL,
	FEW,
	LEAST,
} Shown;

/* Figures of the best, between the columns of its name and of the next one. */
static const struct {
	PipesimFigureId id;
	Shown shown; /* the least that has it */
} figures[] = {
	{PIPESIM_FIGURE_MAKESPAN, LEAST}, /* without a barrier the period */
	{PIPESIM_FIGURE_IDLE, ALL},
	{PIPESIM_FIGURE_RATIO, FEW},
	{PIPESIM_FIGURE_HELD, FEW},
	{PIPESIM_FIGURE_MEMORY, LEAST},
};
#define COLUMNS                                                              \
	"best<|step:ms|bubble:max ms|bubble:%|peak:activations|peak:memory|" \
	"next:schedule<|next:by %"

static PipesimFigureId step_figure(const PipesimSweepTitles *titles)
{
	return titles->period ? PIPESIM_FIGURE_PERIOD : PIPESIM_FIGURE_MAKESPAN;
}

/* Work done a second and rank: larger is better; -1 where there is nothing to compare. */
static double rate(const PipesimSweepTitles *titles, const PipesimSweepResult *result)
{
	const PipesimValue *values = result->values;

	if (result->error != NULL || values[PIPESIM_FIGURE_FITS].integer == FALSE ||
		(titles->room > 0 && values[PIPESIM_FIGURE_MEMORY].integer > titles->room))
		return -1;
	return (double)values[PIPESIM_FIGURE_MICROBATCHES].integer /
	       ((double)MAX(values[step_figure(titles)].integer, 1) *
		       (double)values[PIPESIM_FIGURE_RANKS].integer);
}

/* Of two that are as fast, as in a comparison. */
static gboolean is_cheaper(const PipesimValue *a, const PipesimValue *b)
{
	if (pipesim_value_known(PIPESIM_BYTES, a[PIPESIM_FIGURE_MEMORY]))
		return a[PIPESIM_FIGURE_MEMORY].integer < b[PIPESIM_FIGURE_MEMORY].integer;
	if (a[PIPESIM_FIGURE_COPIES].integer != b[PIPESIM_FIGURE_COPIES].integer)
		return a[PIPESIM_FIGURE_COPIES].integer < b[PIPESIM_FIGURE_COPIES].integer;
	return a[PIPESIM_FIGURE_HELD].number < b[PIPESIM_FIGURE_HELD].number;
}

/* The best of @results whose rate is highest below @below, but for @without; -1: none has one.
 * @halves: of those too that the model has no layers for */
static int best_below(const PipesimSweepTitles *titles, const PipesimSweepResult *results,
	int without, double below, gboolean halves)
{
	double most = -1;
	int best = -1;

	for (guint i = 0; titles->names[i] != NULL; i++) {
		const double now = rate(titles, &results[i]);

		if ((int)i == without || now < 0 || now >= below ||
			(results[i].halves && !halves))
			continue;
		if (now > most ||
			(now == most && is_cheaper(results[i].values, results[best].values))) {
			most = now;
			best = (int)i;
		}
	}
	return best;
}

int pipesim_rows_best(const PipesimSweepTitles *titles, const PipesimSweepResult *results)
{
	const int best = best_below(titles, results, -1, INFINITY, FALSE);

	return best >= 0 ? best : best_below(titles, results, -1, INFINITY, TRUE);
}

int pipesim_rows_next(
	const PipesimSweepTitles *titles, const PipesimSweepResult *results, int best)
{
	const gboolean halves = best >= 0 && results[best].halves;
	const int next = best < 0 ? -1
				  : best_below(titles, results, best,
					    (1 - ALIKE) * rate(titles, &results[best]), halves);

	return next >= 0 || best < 0 ? next
				     : best_below(titles, results, best, INFINITY, halves);
}

double pipesim_rows_ahead(const PipesimSweepTitles *titles, const PipesimSweepResult *best,
	const PipesimSweepResult *next)
{
	return rate(titles, best) / rate(titles, next) - 1;
}

/* What a point of the sweep came to. */
typedef struct {
	guint64 number;
	const PipesimSweepResult *results; /* by schedule */
	int best;                          /* of these; -1: none runs and fits */
} Point;

static GArray *list_points(const PipesimSweepTitles *titles, const GPtrArray *blocks)
{
	GArray *points = g_array_new(FALSE, FALSE, sizeof(Point));

	pipesim_each_in (const PipesimSweepBlock, block, blocks)
		for (guint k = 0; k < block->n_points; k++) {
			Point point = {
				block->first + k, &block->results[(gsize)k * block->width], -1};

			point.best = pipesim_rows_best(titles, point.results);
			g_array_append_val(points, point);
		}
	return points;
}

static void add_point(const PipesimSweepTitles *titles, PipesimTable *table, const Point *point,
	Shown shown, const PipesimNumbers *numbers)
{
	g_autoptr(GString) cells = g_string_new(NULL);
	const PipesimSweepResult *results = point->results;
	const int best = point->best;
	const int next = pipesim_rows_next(titles, results, best);

	for (guint axis = 0; axis < titles->grid->axes->len; axis++)
		g_string_append_printf(
			cells, "%s\t", pipesim_grid_value(titles->grid, point->number, axis));
	g_string_append(cells, best < 0 ? "none runs or fits" : titles->names[best]);
	for (guint i = 0; i < G_N_ELEMENTS(figures); i++) {
		const PipesimFigureId id = i > 0 ? figures[i].id : step_figure(titles);
		g_autofree char *text = best >= 0 && figures[i].shown >= shown
						? pipesim_value_print(pipesim_figure(id)->kind,
							  results[best].values[id], numbers)
						: NULL;

		g_string_append_printf(cells, "\t%s", text != NULL ? text : "");
	}
	if (best >= 0 && next >= 0)
		g_string_append_printf(cells, "\t%s\t%s", titles->names[next],
			pipesim_fixed(100 * pipesim_rows_ahead(
						    titles, &results[best], &results[next]),
				1));
	else
		g_string_append(cells, "\t\t");
	pipesim_table_row(table, PIPESIM_ROW_PLAIN, "%s", cells->str);
}

/* Whether @axis is of what one chooses, the shape of the job and its runtime, not of what its
 * ops are. */
static gboolean is_choice(const PipesimAxis *axis)
{
	for (guint id = 1; id < PIPESIM_N_SETTINGS; id++) {
		const PipesimSetting *setting = &pipesim_settings[id];
		g_autofree char *name = g_strdup(setting->name + strlen("--"));
		const gsize length = strlen(name);

		g_strdelimit(name, "-", '_');
		if (strncmp(axis->name, name, length) == 0 &&
			(axis->name[length] == '\0' || axis->name[length] == '_') &&
			(setting->group == PIPESIM_ALL_SHAPE ||
				setting->group == PIPESIM_ALL_RUNTIME))
			return TRUE;
	}
	return FALSE;
}

/* The point and schedule with most work done a second and rank, the first of equals, where
 * choices alone are swept. */
static char *word_best(const PipesimSweepTitles *titles, const GArray *points)
{
	const PipesimSweepResult *found = NULL;
	const Point *at = NULL;
	g_autoptr(GString) line = g_string_new("Best of all:");

	pipesim_each (const Point, point, points) {
		const PipesimSweepResult *best = &point->results[MAX(point->best, 0)];

		if (point->best < 0 || (found != NULL && best->halves > found->halves) ||
			(found != NULL && best->halves == found->halves &&
				rate(titles, best) <= rate(titles, found)))
			continue;
		found = best;
		at = point;
	}
	if (found == NULL || titles->grid->points == 1)
		return NULL;
	for (guint axis = 0; axis < titles->grid->axes->len; axis++) {
		const PipesimAxis *swept = pipesim_grid_axis(titles->grid, axis);

		if (swept->values->len > 1 && !is_choice(swept))
			return NULL;
		if (swept->values->len > 1)
			g_string_append_printf(line, " %s %s,", swept->column,
				pipesim_grid_value(titles->grid, at->number, axis));
	}
	g_string_append_printf(line, " %s, %s", titles->names[at->best],
		pipesim_brief_time(found->values[step_figure(titles)].integer));
	return g_strconcat(line->str, " a step (most work per second and rank)", NULL);
}

/* "zb-v is best at 7 of 12 points, dualpipe at 5": those that are best most often first. */
static char *word_winners(const PipesimSweepTitles *titles, const GArray *points)
{
	const guint width = g_strv_length((char **)titles->names);
	g_autofree guint *wins = g_new0(guint, width);
	g_autoptr(GString) words = g_string_new(NULL);
	guint shown = 0;

	pipesim_each (const Point, point, points)
		if (point->best >= 0)
			wins[point->best]++;
	for (; shown < MOST_WINNERS && width > 1; shown++) {
		guint most = 0;

		for (guint i = 1; i < width; i++)
			if (wins[i] > wins[most])
				most = i;
		if (wins[most] == 0)
			break;
		if (shown > 0)
			g_string_append_printf(
				words, ", %s at %u", titles->names[most], wins[most]);
		else if (wins[most] == points->len)
			g_string_append_printf(
				words, "%s is best at every point", titles->names[most]);
		else
			g_string_append_printf(words, "%s is best at %u of %u points",
				titles->names[most], wins[most], points->len);
		wins[most] = 0;
	}
	if (width == 1)
		g_string_append_printf(words, "%u point%s of %s", points->len,
			points->len == 1 ? "" : "s", titles->names[0]);
	else if (shown == 0)
		g_string_append(words, "No schedule runs and fits at any point");
	return g_strdup(words->str);
}

/* The table with the columns that decide, or with all. */
static PipesimTable *make_table(
	const PipesimSweepTitles *titles, const GArray *points, Shown shown)
{
	PipesimNumbers numbers = {.decimals = 3, .activations = 2};
	g_autoptr(GArray) steps = g_array_new(FALSE, FALSE, sizeof(double));
	g_autoptr(GString) columns = g_string_new(NULL);

	pipesim_each_in (const PipesimAxis, axis, titles->grid->axes)
		g_string_append_printf(columns, "%s|", axis->column);
	g_string_append(columns, COLUMNS);
	PipesimTable *table = pipesim_table_of(columns->str);
	pipesim_each (const Point, point, points) {
		const PipesimSweepResult *best = &point->results[MAX(point->best, 0)];
		double step = 0;

		if (point->best >= 0)
			step = (double)best->values[step_figure(titles)].integer / 1e6;
		g_array_append_val(steps, step);
	}
	if (shown != ALL)
		numbers.decimals = pipesim_screen_decimals(
			(const double *)(gconstpointer)steps->data, steps->len);
	pipesim_each (const Point, point, points)
		add_point(titles, table, point, shown, &numbers);
	return table;
}

void pipesim_rows_table(const PipesimSweepTitles *titles, const GPtrArray *blocks,
	const PipesimStyle *style, GString *out)
{
	g_autoptr(GArray) points = list_points(titles, blocks);
	g_autofree char *best = word_best(titles, points);
	g_autofree char *winners = word_winners(titles, points);
	g_autoptr(PipesimScreen) screen = pipesim_screen_new();
	gboolean left_out = FALSE;

	pipesim_each (const Point, point, points)
		for (guint i = 0; point->best >= 0 && titles->names[i] != NULL; i++)
			left_out |=
				point->results[i].halves > point->results[point->best].halves;
	screen->table = make_table(titles, points, style->full ? ALL : FEW);
	if (!style->full && pipesim_table_width(screen->table) > PIPESIM_SCREEN_WIDTH) {
		pipesim_table_free(screen->table);
		screen->table = make_table(titles, points, LEAST);
	}
	g_string_append(screen->asked, "Sweep of");
	for (guint axis = 0; axis < titles->grid->axes->len; axis++) {
		const PipesimAxis *swept = pipesim_grid_axis(titles->grid, axis);

		if (swept->values->len > 1)
			g_string_append_printf(screen->asked, "%s %s (%u values)",
				g_str_has_suffix(screen->asked->str, "of") ? "" : ",",
				swept->column, swept->values->len);
	}
	if (g_str_has_suffix(screen->asked->str, "of"))
		g_string_append(screen->asked, " one point");
	pipesim_lines_say(screen->verdict, "%s.", winners);
	if (best != NULL)
		pipesim_lines_say(screen->verdict, "%s.", best);
	if (titles->room > 0)
		pipesim_lines_say(screen->notes, "Left out is what a GPU of %s does not hold.",
			pipesim_bytes(titles->room));
	if (left_out)
		pipesim_lines_say(screen->notes,
			"Left out is what needs more layers than the model has.");
	pipesim_lines_add(screen->notes, titles->notices);
	pipesim_lines_say(screen->more, "-o rows.csv");
	pipesim_lines_say(screen->more, "--winners FILE.svg");
	pipesim_lines_say(screen->more, "--report FILE.html");
	pipesim_screen_print(screen, style, out);
}
