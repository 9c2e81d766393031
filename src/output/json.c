#include "output/figures.h"
#include "output/moments.h"
#include "output/samples.h"

/* What the figures of one run are written of. */
typedef struct {
	const PipesimComparison *comparison;
	const PipesimRun *run;
} Of;

void pipesim_figure_member(PipesimJson *json, const char *key, const PipesimFigure *figure,
	const PipesimComparison *comparison, const PipesimRun *run, guint index)
{
	static const PipesimNumbers exact = {0};
	g_autofree char *link = NULL;

	if (!pipesim_member(json, key, figure->kind))
		return;
	PipesimValue value = pipesim_figure_value(figure, comparison, run, index);
	if (figure->kind == PIPESIM_LINK) {
		link = pipesim_value_print(figure->kind, value, &exact);
		pipesim_value(json, PIPESIM_TEXT, (PipesimValue){.text = link});
	} else if (figure->kind == PIPESIM_OP && pipesim_value_known(figure->kind, value)) {
		pipesim_value(json, PIPESIM_TEXT,
			(PipesimValue){.text = run->report->held.peak_name[index]});
	} else {
		pipesim_value(json, figure->kind, value);
	}
}

static gboolean is_known(const Of *of, const PipesimFigure *figure)
{
	return pipesim_value_known(
		figure->kind, pipesim_figure_value(figure, of->comparison, of->run, 0));
}

static void put_link(PipesimJson *json, const Of *of, guint index)
{
	for (guint k = 0; k < pipesim_n_figures; k++)
		if (pipesim_figures[k].per == PIPESIM_PER_LINK)
			pipesim_figure_member(json, pipesim_figures[k].json,
				&pipesim_figures[k], PIPESIM_OF(of, comparison),
				PIPESIM_OF(of, run), index);
}

static void put_figures(PipesimJson *json, const Of *of)
{
	const PipesimComparison *comparison = PIPESIM_OF(of, comparison);
	const PipesimRun *run = PIPESIM_OF(of, run);
	const char *object = NULL; /* that is open, or null as a whole */
	gboolean is_null = FALSE;

	for (guint k = 0; k < pipesim_n_figures; k++) {
		const PipesimFigure *figure = &pipesim_figures[k];

		if (figure->json == NULL || figure->per == PIPESIM_PER_LINK ||
			!PIPESIM_WHERE(json, pipesim_figure_asked(figure, comparison)))
			continue;
		if (g_strcmp0(figure->object, object) != 0) {
			if (object != NULL && !is_null)
				pipesim_json_close(json);
			object = figure->object;
			is_null = object != NULL && !PIPESIM_WHERE(json, is_known(of, figure));
			if (is_null)
				PIPESIM_MEMBER(json, object, TEXT, NULL);
			else if (object != NULL)
				pipesim_json_open_object(json, object);
		}
		if (is_null)
			continue;
		if (figure->kind == PIPESIM_LINKS) {
			PIPESIM_EACH(json, figure->json, line, run->report->links->n, TRUE,
				put_link, of);
		} else if (figure->per == PIPESIM_PER_RANK &&
			   PIPESIM_WHERE(json, is_known(of, figure))) {
			pipesim_json_open_array(json, figure->json);
			for (guint rank = 0; rank < (run != NULL ? run->shape.ranks : 1);
				rank++)
				pipesim_figure_member(
					json, NULL, figure, comparison, run, rank);
			pipesim_json_close(json);
		} else {
			pipesim_figure_member(json, figure->json, figure, comparison, run, 0);
		}
	}
	if (object != NULL && !is_null)
		pipesim_json_close(json);
}

static void put_run(PipesimJson *json, const PipesimComparison *comparison, guint index)
{
	const PipesimRun *run = comparison != NULL ? comparison->runs->pdata[index] : NULL;
	const Of of = {comparison, run};

	PIPESIM_MEMBER(json, "name", TEXT, run->name);
	if (PIPESIM_WHERE(json, run->error != NULL))
		PIPESIM_MEMBER(json, "error", TEXT, run->error->message);
	if (!PIPESIM_WHERE(json, run->error == NULL))
		return;
	put_figures(json, run != NULL ? &of : NULL);
	pipesim_moments_members(json, PIPESIM_OF(run, report));
	pipesim_samples_members_run(json, comparison, run);
}

void pipesim_comparison_members(PipesimJson *json, gconstpointer of)
{
	const PipesimComparison *comparison = of;
	const PipesimScenario *scenario = comparison != NULL ? &comparison->scenario : NULL;
	const PipesimCosts *costs = PIPESIM_OF(comparison, costs);

	PIPESIM_MEMBER(json, "pp", COUNT, scenario->ranks);
	PIPESIM_MEMBER(json, "microbatches", COUNT, scenario->microbatches);
	pipesim_json_open_line(json, "times_ms");
	for (guint kind = 0; kind < PIPESIM_N_KINDS; kind++)
		PIPESIM_MEMBER(json, pipesim_kind_letter(kind), TIME, costs->time[kind]);
	PIPESIM_MEMBER(json, "P2P", TIME, costs->p2p);
	pipesim_json_close(json);
	PIPESIM_MEMBER(json, "source", TEXT, costs->source);
	PIPESIM_MEMBER(json, "compare_at", TEXT,
		scenario->compare_at == PIPESIM_AT_STAGES ? "stages" : "ranks");
	PIPESIM_MEMBER(json, "notices", TEXTS, comparison->notices);
	PIPESIM_EACH(
		json, "schedules", object, comparison->runs->len, TRUE, put_run, comparison);
	if (PIPESIM_WHERE(json, pipesim_runtime_waits(scenario->runtime)))
		PIPESIM_MEMBER(json, "comm", TEXT, scenario->runtime->name);
	pipesim_samples_members(json, scenario);
}

static void write_json(const PipesimComparison *comparison,
	const PipesimStyle *style G_GNUC_UNUSED, GString *out)
{
	g_autoptr(PipesimJson) json = pipesim_json_new(out);

	pipesim_json_document(json, pipesim_comparison_members, comparison);
}

const PipesimOutput pipesim_output_json = {
	.name = "json",
	.extension = "json",
	.summary = "one JSON object with every figure, exact, for other programs",
	.keep = PIPESIM_KEEP_REPORT,
	.critical = TRUE,
	.write = write_json,
};
