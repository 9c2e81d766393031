#include "output/figures.h"

/* Expressions of the list -------------------------------------------------------------------- */

#define UNKNOWN                  PIPESIM_NOTHING
#define KNOWN(condition, value)  ((condition) ? (gint64)(value) : UNKNOWN)
#define NUMBER(condition, value) ((condition) ? (double)(value) : (double)NAN)

double pipesim_figure_fraction(PipesimFraction value)
{
	return (double)value.num / (double)value.den;
}

/* UNKNOWN where stages and ranks are alike. */
static gint64 imbalance_of(const PipesimRun *run)
{
	const gint64 *busy = run->report->bubble.busy;
	gint64 least = G_MAXINT64, most = 0;

	if (run->times->equal_stages && run->times->slow == NULL)
		return UNKNOWN;
	for (guint rank = 0; rank < run->report->ranks; rank++) {
		least = MIN(least, busy[rank]);
		most = MAX(most, busy[rank]);
	}
	return most - least;
}

double pipesim_figure_activations(const PipesimReport *report, guint chunks)
{
	return chunks * pipesim_figure_fraction(report->held.unit);
}

static gboolean is_best(const PipesimComparison *comparison, const PipesimRun *run)
{
	const int best = pipesim_comparison_choose(comparison, FALSE);

	return best >= 0 && g_ptr_array_index(comparison->runs, best) == run;
}

static double share_of(gint64 part, gint64 whole)
{
	return whole > 0 ? (double)part / (double)whole : 0;
}

/* Of a message, ns. */
static gint64 mean_wait(gint64 waited, guint64 messages)
{
	return messages > 0 ? waited / (gint64)messages : 0;
}

/* The list ----------------------------------------------------------------------------------- */

#define FIGURE(id, kind, value, ...)                                                    \
	static PipesimValue get_##id(const PipesimComparison *comparison G_GNUC_UNUSED, \
		const PipesimRun *run, guint index G_GNUC_UNUSED)                       \
	{                                                                               \
		const PipesimReport *report = run->report;                              \
		const PipesimCommReport *comm G_GNUC_UNUSED =                           \
			report != NULL ? report->comm : NULL;                           \
		const PipesimLinkReport *links G_GNUC_UNUSED =                          \
			report != NULL ? report->links : NULL;                          \
		const PipesimPowerReport *power G_GNUC_UNUSED =                         \
			report != NULL ? report->power : NULL;                          \
		const PipesimPeriodReport *period G_GNUC_UNUSED =                       \
			report != NULL ? report->period : NULL;                         \
                                                                                        \
		return (PipesimValue){PIPESIM_VALUE_##kind(value)};                     \
	}
#define SWEPT FIGURE
#include "output/figure-list.h"

/* Where they stand. */
#define JSON(key)        .json = key
#define IN(name, key)    .object = #name, .json = key
#define CSV(key)         .csv = key
#define SWEEP(key)       .sweep = key
#define JSON_CSV(key)    JSON(key), CSV(key)
#define CSV_SWEEP(key)   CSV(key), SWEEP(key)
#define ALL(key)         JSON(key), CSV_SWEEP(key)
#define PER(what)        .per = PIPESIM_PER_##what
#define OF(what)         .of_##what = TRUE
#define TEXT(table, ...) .text = {PIPESIM_OF_##table, __VA_ARGS__}
#define FEW(...)         .few = {__VA_ARGS__}
const PipesimFigure pipesim_figures[] = {
#define FIGURE(id, kind, value, ...) \
	{PIPESIM_FIGURE_##id, PIPESIM_##kind, get_##id, __VA_ARGS__},
#define SWEPT FIGURE
#include "output/figure-list.h"
};
const guint pipesim_n_figures = G_N_ELEMENTS(pipesim_figures);

const PipesimFigure *pipesim_figure(PipesimFigureId id)
{
	for (guint i = 0; i < pipesim_n_figures; i++)
		if (pipesim_figures[i].id == id)
			return &pipesim_figures[i];
	g_return_val_if_reached(NULL);
}

/* Values ------------------------------------------------------------------------------------- */

PipesimValue pipesim_figure_value(const PipesimFigure *figure,
	const PipesimComparison *comparison, const PipesimRun *run, guint index)
{
	if (run->error == NULL || figure->id == PIPESIM_FIGURE_ERROR)
		return figure->get(comparison, run, index);
	return pipesim_value_nothing(figure->kind);
}

gboolean pipesim_figure_asked(const PipesimFigure *figure, const PipesimComparison *comparison)
{
	const PipesimCutter *cutter = comparison->costs->cutter;

	return (!figure->of_comm || pipesim_runtime_waits(comparison->scenario.runtime)) &&
	       (!figure->of_power || comparison->costs->power != NULL ||
		       comparison->costs->contention != NULL) &&
	       (!figure->of_copies || pipesim_own_copy(comparison->costs->own) > 0) &&
	       (!figure->of_period || comparison->costs->post_validation) &&
	       (!figure->of_host || comparison->costs->launch != NULL) &&
	       (!figure->of_training || (cutter != NULL && cutter->tokens > 0));
}

void pipesim_figures_of_point(const PipesimRun *run, PipesimValue values[PIPESIM_N_SWEPT])
{
	for (guint i = 0; i < pipesim_n_figures; i++)
		if (pipesim_figures[i].id < PIPESIM_N_SWEPT)
			values[pipesim_figures[i].id] = pipesim_figures[i].get(NULL, run, 0);
}

gboolean pipesim_figure_known(PipesimFigureId id, const PipesimComparison *comparison)
{
	const PipesimFigure *figure = pipesim_figure(id);

	return pipesim_any_in(const PipesimRun, run, comparison->runs,
		pipesim_value_known(
			figure->kind, pipesim_figure_value(figure, comparison, run, 0)));
}

char *pipesim_value_print(
	PipesimFigureKind kind, PipesimValue value, const PipesimNumbers *numbers)
{
	g_autoptr(GString) text = g_string_new(NULL);

	if (!pipesim_value_known(kind, value))
		return NULL;
	if (kind == PIPESIM_TIME)
		g_string_append(text, pipesim_ms_fixed(value.integer, numbers->decimals));
	else if (kind == PIPESIM_BYTES && numbers->bytes == 0)
		g_string_append(text, pipesim_bytes(value.integer));
	else if (kind == PIPESIM_BYTES)
		g_string_append(
			text, pipesim_fixed((double)value.integer / (double)numbers->bytes,
				      numbers->of_bytes));
	else if (kind == PIPESIM_SHARE)
		g_string_append(text, pipesim_fixed(100 * value.number, 1));
	else if (kind == PIPESIM_FACTOR)
		g_string_append(text, pipesim_fixed(value.number, 2));
	else if (kind == PIPESIM_ACTIVATIONS)
		g_string_append(text, pipesim_fixed(value.number, numbers->activations));
	else if (kind == PIPESIM_LINK)
		pipesim_link_print((PipesimLinkId)value.integer, text);
	else
		pipesim_value_plain(text, kind, value);
	return g_strdup(text->str);
}

/* Texts -------------------------------------------------------------------------------------- */

const char *pipesim_figure_fixed(PipesimNumber out, double value, guint decimals)
{
	char format[] = "%.0f";

	format[2] = (char)('0' + MIN(decimals, 9));
	return g_ascii_formatd(out, PIPESIM_NUMBER_LENGTH, format, value);
}

const char *pipesim_figure_short(PipesimNumber out, double value, guint decimals)
{
	char *end;

	pipesim_figure_fixed(out, value, decimals);
	if (strchr(out, '.') == NULL)
		return out;
	for (end = out + strlen(out); end[-1] == '0'; end--)
		;
	end[end[-1] == '.' ? -1 : 0] = '\0';
	return out;
}

void pipesim_figure_times(GString *out, const PipesimCosts *costs, const char *before)
{
	g_string_append(out, "Times, ms:");
	for (guint kind = 0; kind < PIPESIM_N_KINDS; kind++)
		g_string_append_printf(out, "%s %s %s", kind > 0 ? "," : "",
			pipesim_kind_letter(kind), pipesim_ms(costs->time[kind]));
	g_string_append_printf(out, "%sP2P %s", before, pipesim_ms(costs->p2p));
}
