#include "config.h"

#include <string.h>

#include "base/json.h"
#include "output/figures.h"
#include "output/moments.h"
#include "output/samples.h"

/* What the figures of one run are printed of. */
typedef struct {
	PipesimJson *json;
	const PipesimComparison *comparison;
	const PipesimRun *run;
} Writer;

void pipesim_figure_json(PipesimJson *json, const PipesimFigure *figure,
	const PipesimComparison *comparison, const PipesimRun *run, guint index)
{
	static const PipesimNumbers exact = {0};
	const PipesimValue value = pipesim_figure_value(figure, comparison, run, index);
	g_autoptr(GString) plain = g_string_new(NULL);
	g_autofree char *link = NULL;

	if (!pipesim_value_known(figure->kind, value)) {
		pipesim_json_null(json);
	} else if (figure->kind == PIPESIM_TEXT) {
		pipesim_json_string(json, value.text);
	} else if (figure->kind == PIPESIM_TEXTS) {
		pipesim_json_member_texts(json, NULL, value.texts);
	} else if (figure->kind == PIPESIM_OP) {
		pipesim_json_string(json, run->report->held.peak_name[index]);
	} else if (figure->kind == PIPESIM_LINK) {
		link = pipesim_value_print(figure->kind, value, &exact);
		pipesim_json_string(json, link);
	} else {
		pipesim_value_plain(plain, figure->kind, value);
		pipesim_json_plain(json, plain->str);
	}
}

static void write_value(const Writer *writer, const PipesimFigure *figure, guint index)
{
	pipesim_figure_json(writer->json, figure, writer->comparison, writer->run, index);
}

static gboolean is_known(const Writer *writer, const PipesimFigure *figure)
{
	return pipesim_value_known(
		figure->kind, pipesim_figure_value(figure, writer->comparison, writer->run, 0));
}

static void write_member(const Writer *writer, const PipesimFigure *figure)
{
	pipesim_json_key(writer->json, figure->json);
	if (figure->kind == PIPESIM_LINKS) {
		const guint n = writer->run->report->links->n;

		/* An object a link, on a line of its own. */
		pipesim_json_open_array(writer->json, NULL);
		for (guint link = 0; link < n; link++) {
			pipesim_json_open_line(writer->json, NULL);
			for (guint i = 0; i < pipesim_n_figures; i++) {
				if (pipesim_figures[i].per != PIPESIM_PER_LINK)
					continue;
				pipesim_json_key(writer->json, pipesim_figures[i].json);
				write_value(writer, &pipesim_figures[i], link);
			}
			pipesim_json_close(writer->json);
		}
		pipesim_json_close(writer->json);
	} else if (figure->per == PIPESIM_PER_RANK && is_known(writer, figure)) {
		pipesim_json_open_array(writer->json, NULL);
		for (guint rank = 0; rank < writer->run->shape.ranks; rank++)
			write_value(writer, figure, rank);
		pipesim_json_close(writer->json);
	} else {
		write_value(writer, figure, 0);
	}
}

static void write_figures(const Writer *writer)
{
	const char *object = NULL; /* that is open, or null as a whole */
	gboolean is_null = FALSE;

	for (guint i = 0; i < pipesim_n_figures; i++) {
		const PipesimFigure *figure = &pipesim_figures[i];

		if (figure->json == NULL || figure->per == PIPESIM_PER_LINK ||
			!pipesim_figure_asked(figure, writer->comparison))
			continue;
		if (g_strcmp0(figure->object, object) != 0) {
			if (object != NULL && !is_null)
				pipesim_json_close(writer->json);
			object = figure->object;
			is_null = object != NULL && !is_known(writer, figure);
			if (object != NULL)
				pipesim_json_key(writer->json, object);
			if (is_null)
				pipesim_json_null(writer->json);
			else if (object != NULL)
				pipesim_json_open_object(writer->json, NULL);
		}
		if (!is_null)
			write_member(writer, figure);
	}
	if (object != NULL && !is_null)
		pipesim_json_close(writer->json);
}

static void write_json(const PipesimComparison *comparison,
	const PipesimStyle *style G_GNUC_UNUSED, GString *out)
{
	g_autoptr(PipesimJson) json = pipesim_json_new(out);

	pipesim_json_open_document(json);
	pipesim_json_member_int(json, "pp", comparison->scenario.ranks);
	pipesim_json_member_int(json, "microbatches", comparison->scenario.microbatches);
	pipesim_json_open_line(json, "times_ms");
	for (guint kind = 0; kind < PIPESIM_N_KINDS; kind++) {
		pipesim_json_key(json, pipesim_kind_letter(kind));
		pipesim_json_ms(json, comparison->costs->time[kind]);
	}
	pipesim_json_key(json, "P2P");
	pipesim_json_ms(json, comparison->costs->p2p);
	pipesim_json_close(json);
	pipesim_json_member_string(json, "source", comparison->costs->source);
	pipesim_json_member_string(json, "compare_at",
		comparison->scenario.compare_at == PIPESIM_AT_STAGES ? "stages" : "ranks");
	pipesim_json_member_texts(json, "notices", comparison->notices);
	pipesim_json_open_array(json, "schedules");
	for (guint i = 0; i < comparison->runs->len; i++) {
		const Writer writer = {
			json, comparison, g_ptr_array_index(comparison->runs, i)};
		const PipesimRun *run = writer.run;

		pipesim_json_open_object(json, NULL);
		pipesim_json_member_string(json, "name", run->name);
		if (run->error != NULL) {
			pipesim_json_member_string(json, "error", run->error->message);
		} else {
			write_figures(&writer);
			pipesim_moments_json(run, json);
			pipesim_samples_json_run(comparison, run, json);
		}
		pipesim_json_close(json);
	}
	pipesim_json_close(json);
	if (pipesim_runtime_waits(comparison->scenario.runtime))
		pipesim_json_member_string(json, "comm", comparison->scenario.runtime->name);
	pipesim_samples_json(comparison, json);
	pipesim_json_close(json);
}

const PipesimOutput pipesim_output_json = {
	.name = "json",
	.extension = "json",
	.summary = "one JSON object with every figure, exact, for other programs",
	.keep = PIPESIM_KEEP_REPORT,
	.critical = TRUE,
	.write = write_json,
};
