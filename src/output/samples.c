#include "output/samples.h"
#include "output/figures.h"

/* The three figures of a sample. Times in ns are printed as ms. */
typedef struct {
	const char *name, *unit; /* unit: end of a key */
	gsize offset;            /* of its quantiles in PipesimSamples */
	gboolean is_time;
} Figure;

static const Figure figures[] = {
	{"makespan", "_ms", G_STRUCT_OFFSET(PipesimSamples, makespan), TRUE},
	{"bubble_max", "_ms", G_STRUCT_OFFSET(PipesimSamples, max_idle), TRUE},
	{"bubble_ratio", "", G_STRUCT_OFFSET(PipesimSamples, ratio), FALSE},
};

/* JSON and CSV ----------------------------------------------------------------------------- */

/* The value of a quantile, and the ends of its interval. */
static const struct {
	const char *key, *column;
	gsize offset; /* of PipesimQuantile */
} ends[] = {
	{"value", "", G_STRUCT_OFFSET(PipesimQuantile, value)},
	{"low", "_low", G_STRUCT_OFFSET(PipesimQuantile, low)},
	{"high", "_high", G_STRUCT_OFFSET(PipesimQuantile, high)},
};

/* Member @key: end @end of quantile @q; nothing where there are no @samples. */
static void put_end(PipesimJson *json, const char *key, const Figure *figure,
	const PipesimSamples *samples, guint q, guint end)
{
	const gsize at = figure->offset + q * sizeof(PipesimQuantile) + ends[end].offset;
	const double value =
		samples != NULL ? G_STRUCT_MEMBER(double, samples, at) : (double)NAN;

	if (figure->is_time)
		PIPESIM_MEMBER(json, key, TIME, PIPESIM_KNOWN(samples != NULL, (gint64)value));
	else
		PIPESIM_MEMBER(json, key, SHARE, value);
}

void pipesim_samples_members_run(
	PipesimJson *json, const PipesimComparison *comparison, const PipesimRun *run)
{
	const PipesimSamples *samples = PIPESIM_OF(run, samples);

	if (!PIPESIM_WHERE(json, comparison->scenario.samples > 0))
		return;
	pipesim_json_open_object(json, "samples");
	for (guint i = 0; i < G_N_ELEMENTS(figures); i++) {
		g_autofree char *key = g_strconcat(figures[i].name, figures[i].unit, NULL);

		pipesim_json_open_object(json, key);
		for (guint q = 0; q < PIPESIM_N_QUANTILES; q++) {
			pipesim_json_open_line(json, pipesim_quantile_name(q));
			for (guint end = 0; end < G_N_ELEMENTS(ends); end++)
				put_end(json, ends[end].key, &figures[i], samples, q, end);
			PIPESIM_MEMBER(json, "bounded", YES_OR_NO,
				(&G_STRUCT_MEMBER(
					PipesimQuantile, samples, figures[i].offset))[q]
					.is_bounded);
			pipesim_json_close(json);
		}
		pipesim_json_close(json);
	}
	PIPESIM_MEMBER(json, "wins", COUNT, samples->wins);
	pipesim_json_close(json);
}

void pipesim_samples_members(PipesimJson *json, const PipesimScenario *scenario)
{
	g_autofree char *seed =
		g_strdup_printf("%" G_GUINT64_FORMAT, scenario != NULL ? scenario->seed : 0);

	if (!PIPESIM_WHERE(json, scenario->samples > 0))
		return;
	pipesim_json_open_line(json, "samples");
	PIPESIM_MEMBER(json, "n", COUNT, scenario->samples);
	PIPESIM_MEMBER(json, "seed", TEXT, seed);
	PIPESIM_MEMBER(json, "jitter", SHARE,
		scenario->jitter.den > 0 ? pipesim_figure_fraction(scenario->jitter)
					 : (double)NAN);
	PIPESIM_MEMBER(json, "confidence", SHARE, 0.95);
	pipesim_json_close(json);
}

void pipesim_samples_columns(
	PipesimJson *csv, const PipesimComparison *comparison, const PipesimRun *run)
{
	const PipesimSamples *samples = PIPESIM_OF(run, samples);

	if (comparison->scenario.samples == 0)
		return;
	for (guint i = 0; i < G_N_ELEMENTS(figures); i++)
		for (guint k = 0; k < PIPESIM_N_QUANTILES * G_N_ELEMENTS(ends); k++) {
			const guint q = k / G_N_ELEMENTS(ends), end = k % G_N_ELEMENTS(ends);
			g_autofree char *key =
				g_strconcat(figures[i].name, "_", pipesim_quantile_name(q),
					ends[end].column, figures[i].unit, NULL);

			put_end(csv, key, &figures[i], samples, q, end);
		}
	PIPESIM_MEMBER(csv, "win_share", SHARE,
		samples != NULL ? (double)samples->wins / samples->n : (double)NAN);
}

/* Text ------------------------------------------------------------------------------------- */

/* "9.5-10.5": the interval of @quantile; "?": of too few samples. */
static char *print_range(const PipesimQuantile *quantile, guint decimals)
{
	return g_strdup_printf("%s-%s%s", pipesim_ms_fixed((gint64)quantile->low, decimals),
		pipesim_ms_fixed((gint64)quantile->high, decimals),
		quantile->is_bounded ? "" : "?");
}

/* Without @full neither intervals nor the ends of the bubble. */
static void add_row(PipesimTable *table, const PipesimRun *run, guint decimals, gboolean first,
	gboolean full)
{
	const PipesimSamples *samples = run->samples;
	const PipesimQuantile *step = samples->makespan, *ratio = samples->ratio;
	g_autofree char *median =
		full ? print_range(&step[PIPESIM_MEDIAN], decimals) : g_strdup("");
	g_autofree char *p99 = full ? print_range(&step[PIPESIM_P99], decimals) : g_strdup("");

#define MS(q)      pipesim_ms_fixed((gint64)step[PIPESIM_##q].value, decimals)
#define PERCENT(x) pipesim_fixed(100 * (x), 1)
	pipesim_table_row(table, first ? PIPESIM_ROW_BEST : PIPESIM_ROW_PLAIN,
		"%s%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s", first ? "* " : "  ", run->name,
		MS(P5), MS(MEDIAN), median, MS(P95), MS(P99), p99,
		full ? PERCENT(ratio[PIPESIM_P5].value) : "",
		PERCENT(ratio[PIPESIM_MEDIAN].value),
		full ? PERCENT(ratio[PIPESIM_P95].value) : "",
		PERCENT((double)samples->wins / samples->n));
}

void pipesim_samples_title(const PipesimComparison *comparison, GString *out)
{
	const PipesimScenario *scenario = &comparison->scenario;

	g_string_append_printf(out, "%u sample%s, seed %" G_GUINT64_FORMAT ": op times ",
		scenario->samples, scenario->samples == 1 ? "" : "s", scenario->seed);
	if (scenario->jitter.den > 0) {
		g_string_append_printf(out, "are normally distributed, sd %s %%",
			pipesim_short(100 * pipesim_figure_fraction(scenario->jitter), 7));
	} else {
		g_string_append(out, "are drawn from the measurements");
		if (comparison->costs->n_measured_ranks > 0)
			g_string_append_printf(out, ", each rank's from one of %u ranks",
				comparison->costs->n_measured_ranks);
	}
}

PipesimTable *pipesim_samples_table(
	const PipesimComparison *comparison, const GPtrArray *runs, gboolean full)
{
	PipesimTable *table = pipesim_table_of(
		"  schedule<|step, ms:p5|step, ms:median|step, ms:95 % CI<|step, ms:p95|step, "
		"ms:p99|step, ms:95 % CI<|bubble, %:p5|bubble, %:median|bubble, %:p95|wins:%");
	const int index = pipesim_comparison_choose(comparison, FALSE);
	const PipesimRun *best =
		index >= 0 && comparison->runs->len > 1 ? comparison->runs->pdata[index] : NULL;
	double longest = 0;

	pipesim_each_in (const PipesimRun, run, runs)
		if (run->samples != NULL)
			longest = MAX(longest, run->samples->makespan[PIPESIM_P99].high);
	/* What two steps differ by should show, and the table keep to a page. */
	guint decimals = longest < 1e7 ? 3 : longest < 1e9 ? 2 : 1;
	pipesim_each_in (const PipesimRun, run, runs)
		if (run->samples != NULL)
			add_row(table, run, decimals, run == best, full);
	return table;
}

void pipesim_samples_text(
	const PipesimComparison *comparison, const PipesimStyle *style, GString *out)
{
	g_autoptr(GString) meaning =
		g_string_new("95 % CI: confidence interval of the percentile, from order "
			     "statistics of the samples");
	gboolean guessed = FALSE;
	guint n = 0;

	if (comparison->scenario.samples == 0)
		return;
	pipesim_each_in (const PipesimRun, run, comparison->runs) {
		if (run->samples == NULL)
			continue;
		n++;
		guessed |= !run->samples->makespan[PIPESIM_P99].is_bounded ||
			   !run->samples->makespan[PIPESIM_MEDIAN].is_bounded;
	}
	pipesim_samples_title(comparison, out);
	g_string_append(out, "\n\n");
	g_autoptr(PipesimTable) table =
		pipesim_samples_table(comparison, comparison->runs, TRUE);
	pipesim_table_print(table, TABLE_WIDTH, G_MAXUINT, style, out);
	g_string_append_c(out, '\n');
	g_string_append(meaning, guessed ? "; ?: too few samples for it" : "");
	pipesim_wrap(out, meaning->str, 2, 0, TABLE_WIDTH);
	if (n > 1)
		g_string_append(out, "wins: share of samples in which it is fastest (common "
				     "random numbers)\n");
	g_string_append_c(out, '\n');
}
