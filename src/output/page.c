/* A page that shows a comparison in a browser: page/page.html with the data as JSON in its
 * middle. What is drawn, printed and sorted there is made of that JSON by the scripts beside
 * it. */

#include "analysis/held.h"
#include "analysis/stays.h"
#include "output/figures.h"
#include "output/moments.h"
#include "output/text.h"
#include "output/timeline-layout.h"

#include "output/page-template.h"

/* Most single ops of a page, all schedules together: 40 bytes each, and what a browser draws
 * well. */
#define MAX_OPS 200000
/* Most ranks of a timeline: a line of pixels each, on canvases that browsers have. */
#define MAX_RANKS 4096

/* A table of the text as columns by their places, and of each run the rows. Titles are for
 * readers, scripts go by the key of a column in CSV or JSON. */
static void write_table(PipesimJson *json, const PipesimComparison *comparison, const char *key,
	PipesimTextTable which)
{
	static const char *const kinds[PIPESIM_NESTED + 1] = {
		[PIPESIM_TIME] = "time",
		[PIPESIM_BYTES] = "bytes",
		[PIPESIM_SHARE] = "share",
		[PIPESIM_FACTOR] = "factor",
		[PIPESIM_ACTIVATIONS] = "activations",
		[PIPESIM_LINK] = "text",
		[PIPESIM_TEXT] = "text",
	};
	g_autofree const PipesimFigure **columns =
		g_new(const PipesimFigure *, pipesim_n_figures);
	guint n = 0;

	for (guint place = 1; place <= pipesim_n_figures; place++)
		for (guint i = 0; i < pipesim_n_figures; i++)
			if (pipesim_figures[i].text.table == which &&
				pipesim_figures[i].text.place == place &&
				pipesim_figure_asked(&pipesim_figures[i], comparison))
				columns[n++] = &pipesim_figures[i];
	pipesim_json_open_object(json, key);
	pipesim_json_open_array(json, "columns");
	for (guint i = 0; i < n; i++) {
		const char *kind = kinds[columns[i]->kind];

		pipesim_json_open_line(json, NULL);
		PIPESIM_MEMBER(json, "key", TEXT,
			columns[i]->csv != NULL ? columns[i]->csv : columns[i]->json);
		PIPESIM_MEMBER(json, "group", TEXT, columns[i]->text.group);
		PIPESIM_MEMBER(json, "title", TEXT, columns[i]->text.title);
		PIPESIM_MEMBER(json, "kind", TEXT, kind != NULL ? kind : "count");
		pipesim_json_close(json);
	}
	pipesim_json_close(json);
	pipesim_json_open_array(json, "rows");
	pipesim_each_in (const PipesimRun, run, comparison->runs) {
		const guint rows = run->error != NULL           ? 0
				   : which == PIPESIM_OF_RUNS   ? 1
				   : which == PIPESIM_OF_RANKS  ? run->shape.ranks
				   : run->report->links == NULL ? 0
				   : which == PIPESIM_OF_LINKS  ? 1
								: run->report->links->n;

		pipesim_json_open_array(json, NULL);
		for (guint row = 0; row < rows; row++) {
			pipesim_json_open_array(json, NULL);
			for (guint i = 0; i < n; i++)
				pipesim_figure_member(
					json, NULL, columns[i], comparison, run, row);
			pipesim_json_close(json);
		}
		pipesim_json_close(json);
	}
	pipesim_json_close(json);
	pipesim_json_close(json);
}

/* Each line of @sentences; of the legend column and meaning. */
static void write_lines(PipesimJson *json, const PipesimComparison *comparison, const char *key,
	void (*sentences)(const PipesimComparison *comparison, guint width, GString *out))
{
	g_autoptr(GString) text = g_string_new(NULL);

	sentences(comparison, G_MAXUINT, text);
	g_auto(GStrv) lines = g_strsplit(text->str, "\n", -1);
	pipesim_json_open_array(json, key);
	for (char **line = lines; *line != NULL; line++)
		if (sentences == pipesim_text_legend && **line != '\0') {
			g_autofree char *column = g_strndup(*line, PIPESIM_LEGEND_INDENT - 1);

			pipesim_json_open_array(json, NULL);
			PIPESIM_MEMBER(json, NULL, TEXT, g_strchomp(column));
			PIPESIM_MEMBER(json, NULL, TEXT, *line + PIPESIM_LEGEND_INDENT);
			pipesim_json_close(json);
		} else if (**line != '\0') {
			PIPESIM_MEMBER(json, NULL, TEXT, *line);
		}
	pipesim_json_close(json);
}

/* Of kinds of ops, and by how long ops took, on light and on dark paper. */
static void write_colours(PipesimJson *json)
{
	static const char *const papers[] = {
		[PIPESIM_THEME_LIGHT] = "light", [PIPESIM_THEME_DARK] = "dark"};

	pipesim_json_open_object(json, "looks");
	for (guint kind = 0; kind < PIPESIM_FB; kind++) {
		pipesim_json_open_line(json, pipesim_kind_letter(kind));
		PIPESIM_MEMBER(json, "title", TEXT, pipesim_look_titles[kind]);
		PIPESIM_LIST(json, "colours", TEXT, 2,
			pipesim_theme(PIPESIM_THEME_LIGHT)->looks[kind].colours[i]);
		pipesim_json_close(json);
	}
	pipesim_json_close(json);
	/* What else ranks do, and as which of these it is drawn. */
	pipesim_json_open_line(json, "drawn");
	for (guint kind = PIPESIM_N_KINDS; kind < PIPESIM_N_OPS; kind++)
		PIPESIM_MEMBER(json, pipesim_op_rows[kind].word, TEXT,
			pipesim_kind_letter(pipesim_look_of(kind)));
	pipesim_json_close(json);
	PIPESIM_LIST(json, "asides", TEXT, G_N_ELEMENTS(pipesim_theme(0)->asides),
		pipesim_theme(PIPESIM_THEME_LIGHT)->asides[i]);
	pipesim_json_open_object(json, "speeds");
	PIPESIM_MEMBER(json, "sustained", COUNT, PIPESIM_SPEED_SUSTAINED);
	PIPESIM_MEMBER(json, "percent", COUNT, PIPESIM_SPEED_PERCENT);
	for (guint paper = 0; paper < G_N_ELEMENTS(papers); paper++) {
		const PipesimTheme *theme = pipesim_theme((PipesimThemeName)paper);
		char colour[8];

		PIPESIM_LIST(json, papers[paper], TEXT, PIPESIM_SPEEDS,
			pipesim_theme_speed(theme, i, colour));
	}
	pipesim_json_close(json);
}

/* What was measured, in ms. */
static void put_component(
	PipesimJson *json, const PipesimComponent *component, guint index G_GNUC_UNUSED)
{
	PIPESIM_MEMBER(json, "component", TEXT, component->component);
	PIPESIM_MEMBER(json, "phase", TEXT, component->phase);
	PIPESIM_MEMBER(json, "impl", TEXT, component->impl);
	PIPESIM_MEMBER(json, "samples", COUNT, component->figures.samples);
	PIPESIM_MEMBER(json, "mean_ms", TIME, component->figures.mean);
	PIPESIM_MEMBER(json, "sd_ms", TIME, component->figures.sd);
}

/* Timelines ---------------------------------------------------------------------------------- */

/* An op by its index, a message as -2 less its own; -1: nothing. */
static gint64 print_cause(guint64 cause)
{
	if (cause == PIPESIM_NO_CAUSE)
		return -1;
	return (cause & PIPESIM_BY_TRANSFER) != 0 ? -2 - (gint64)(guint32)cause : (gint64)cause;
}

/* What is told of what a rank holds: of what kinds the bytes are from PARTS on. */
enum {
	MOMENT,
	ACTIVATIONS,
	BYTES,
	PARTS,
};

/* Wherever what is held changes; of @what at PARTS also ahead of all ops. Moments are twice the
 * number of an op on its rank when that starts, one more when it ends. */
static void write_held(PipesimJson *json, const PipesimRun *run, guint rank,
	const PipesimCosts *costs, const char *key, guint what)
{
	const PipesimReport *report = run->report;
	const PipesimOp *ops = run->step->program->ops;
	const guint32 *begin = &run->step->program->rank_begin[rank];
	PipesimHeld held = pipesim_held_begin(report, rank);
	gint64 parts[PIPESIM_N_HELD];

	pipesim_json_open_array(json, key);
	for (guint32 k = 0; k < 2 * (begin[1] - begin[0]) + 1; k++) {
		const guint32 op = begin[0] + (k - 1) / 2;

		if (k == 0 ? what < PARTS
			   : !(k % 2 == 1 ? pipesim_held_before(&held, &ops[op], op)
					  : pipesim_held_after(&held, &ops[op], op)))
			continue;
		if (what >= PARTS)
			pipesim_held_parts(&held, report, costs, parts);
		PIPESIM_MEMBER(json, NULL, COUNT,
			what == MOMENT        ? k - 1
			: what == ACTIVATIONS ? held.until_weight
			: what == BYTES       ? pipesim_held_bytes(&held, report, costs)
					      : parts[what - PARTS]);
	}
	pipesim_json_close(json);
}

/* What the rank holds: activations and, where they are known, bytes from "rest" on, of what
 * kinds they are, and where it first holds more than it may. */
static void write_memory(
	PipesimJson *json, const PipesimRun *run, guint rank, const PipesimCosts *costs)
{
	const PipesimReport *report = run->report;
	const PipesimHeld none = pipesim_held_begin(report, rank);
	const PipesimMoment *over =
		report->memory.over != NULL ? &report->memory.over[rank] : NULL;

	if (report->memory.peak != NULL)
		PIPESIM_MEMBER(json, "rest", BYTES, pipesim_held_bytes(&none, report, costs));
	write_held(json, run, rank, costs, "change", MOMENT);
	write_held(json, run, rank, costs, "held", ACTIVATIONS);
	if (report->memory.peak == NULL)
		return;
	write_held(json, run, rank, costs, "bytes", BYTES);
	pipesim_json_open_object(json, "parts");
	for (guint part = 0; part < PIPESIM_N_HELD; part++)
		if (pipesim_moment_has(report, part))
			write_held(
				json, run, rank, costs, pipesim_held_names[part], PARTS + part);
	pipesim_json_close(json);
	if (over != NULL && over->bytes > 0) {
		g_autofree char *words = pipesim_moment_words(over, rank);

		PIPESIM_MEMBER(json, "over", TEXT, words);
		PIPESIM_MEMBER(json, "over_op", COUNT,
			over->op == PIPESIM_NO_OP
				? 0
				: over->op - run->step->program->rank_begin[rank]);
	}
}

/* Times are ns. */
static void write_lane(
	PipesimJson *json, const PipesimRun *run, guint rank, const PipesimCosts *costs)
{
	const PipesimProgram *program = run->step->program;
	const guint slices = pipesim_shape_slices(&program->shape);
	const guint32 first = program->rank_begin[rank];
	const guint n = program->rank_begin[rank + 1] - first;
	const PipesimOp *ops = &program->ops[first];
	const gint64 *start = &run->step->timeline->start[first];
	const gint64 *end = &run->step->timeline->end[first];
	g_autoptr(GString) names = g_string_new(NULL);
	g_autoptr(GArray) stays = pipesim_message_stays(run->step, rank);
	g_autofree gint64 *gap = g_new(gint64, n), *took = g_new(gint64, n);
	gint64 last = 0;
	guint8 phase = 0;

	/* What runs beside the ops of the rank has its place among them, but no time. */
	for (guint i = 0; i < n; i++) {
		const gboolean beside =
			pipesim_op_rows[ops[i].kind].resource != PIPESIM_ON_RANK;

		g_string_append(names, i > 0 ? " " : "");
		pipesim_op_print(program, rank, &ops[i], names);
		gap[i] = beside ? 0 : start[i] - last;
		took[i] = beside ? 0 : end[i] - start[i];
		last += gap[i] + took[i];
	}
	pipesim_json_open_line(json, NULL);
	PIPESIM_MEMBER(json, "ops", TEXT, names->str);
	PIPESIM_LIST(json, "gap", NS, n, gap[i]);
	PIPESIM_LIST(json, "took", NS, n, took[i]);
	PIPESIM_LIST(json, "cause", NS, n,
		print_cause(pipesim_report_cause(run->step, rank, first + i)));
	if (pipesim_run_has_speeds(run))
		PIPESIM_LIST(
			json, "sustained", NS, n, pipesim_run_sustained(run, rank, first + i));
	if (run->shape.chunks > 1)
		PIPESIM_LIST(json, "chunk", NS, n, ops[i].chunk);
	else if (slices > 1)
		PIPESIM_LIST(json, "chunk", NS, n, ops[i].microbatch % slices);
	/* Where the forward half of each pair ends, after its start, and the chunk of the other. */
	pipesim_json_open_array(json, "pairs");
	for (guint i = 0; i < n; i++) {
		PipesimBox boxes[2];

		if (ops[i].kind != PIPESIM_FB)
			continue;
		PIPESIM_MEMBER(json, NULL, COUNT,
			pipesim_layout_boxes(NULL, run, rank, first + i, boxes) == 0 ||
					boxes[0].kind != PIPESIM_F
				? 0
				: boxes[0].end - boxes[0].start);
		PIPESIM_MEMBER(json, NULL, COUNT, ops[i].b_chunk);
	}
	pipesim_json_close(json);
	/* Where each begins: the op counted on its rank, and its name. */
	pipesim_json_open_array(json, "phases");
	for (guint i = 0; i < n; i++) {
		if (ops[i].phase == phase)
			continue;
		phase = ops[i].phase;
		PIPESIM_MEMBER(json, NULL, COUNT, i);
		PIPESIM_MEMBER(json, NULL, TEXT, g_ptr_array_index(program->phases, phase));
	}
	pipesim_json_close(json);
	write_memory(json, run, rank, costs);
	/* Copies and collectives that take time: which, from when, until when. */
	pipesim_json_open_array(json, "asides");
	for (guint i = 0; i < n; i++) {
		PipesimBox box;

		if (!pipesim_layout_aside(NULL, run, rank, first + i, &box))
			continue;
		PIPESIM_MEMBER(json, NULL, COUNT, box.kind);
		PIPESIM_MEMBER(json, NULL, COUNT, box.start);
		PIPESIM_MEMBER(json, NULL, COUNT, box.end);
	}
	pipesim_json_close(json);
	/* When receives that wait sit beside ops. */
	for (guint to = 0; to < 2 && run->step->timeline->n_transfers > 0; to++) {
		pipesim_json_open_array(json, to ? "beside_to" : "beside_from");
		pipesim_each (const PipesimStay, stay, stays)
			if (stay->op != PIPESIM_NO_OP)
				PIPESIM_MEMBER(json, NULL, COUNT, to ? stay->end : stay->begin);
		pipesim_json_close(json);
	}
	pipesim_json_close(json);
}

/* Of each run whether its ops are on the page: as many as fit, the best first, then in the
 * order asked for. Returns how many ops are not. */
static guint64 choose_timelines(const PipesimComparison *comparison, gboolean *shown)
{
	const guint n = comparison->runs->len;
	const int best = pipesim_comparison_choose(comparison, FALSE);
	guint64 left = MAX_OPS, without = 0;

	for (guint i = 0; i <= n; i++) {
		const guint at = i > 0 ? i - 1 : best >= 0 ? (guint)best : n;
		const PipesimRun *run = at < n ? g_ptr_array_index(comparison->runs, at) : NULL;

		if (run == NULL || run->error != NULL || shown[at])
			continue;
		shown[at] = run->step->program != NULL && run->step->program->n_ops <= left &&
			    run->shape.ranks <= MAX_RANKS;
		if (shown[at])
			left -= run->step->program->n_ops;
		else if (i > 0)
			without += run->step->job.order->n_ops;
	}
	return without;
}

char *pipesim_page_left_out(const PipesimComparison *comparison)
{
	g_autofree gboolean *shown = g_new0(gboolean, comparison->runs->len);
	const guint64 without = choose_timelines(comparison, shown);
	const char *before = "";

	if (without == 0)
		return NULL;
	GString *text = g_string_new("the timelines of ");
	for (guint i = 0; i < comparison->runs->len; i++) {
		const PipesimRun *run = g_ptr_array_index(comparison->runs, i);

		if (run->error != NULL || shown[i])
			continue;
		g_string_append_printf(text, "%s%s", before, run->name);
		before = ", ";
	}
	g_string_append_printf(text,
		" (%" G_GUINT64_FORMAT
		" ops) are left out of the page, which has room for %u ops of all schedules "
		"together, of up to %u ranks; choose fewer schedules with --schedule, or fewer "
		"micro-batches",
		without, MAX_OPS, MAX_RANKS);
	return g_string_free(text, FALSE);
}

static void write_timelines(PipesimJson *json, const PipesimComparison *comparison)
{
	g_autofree gboolean *shown = g_new0(gboolean, comparison->runs->len);
	g_autofree char *left_out = pipesim_page_left_out(comparison);

	choose_timelines(comparison, shown);
	PIPESIM_MEMBER(json, "left_out", TEXT, left_out);
	pipesim_json_open_array(json, "timelines");
	for (guint k = 0; k < comparison->runs->len; k++) {
		const PipesimRun *run = g_ptr_array_index(comparison->runs, k);
		const PipesimTimeline *timeline = shown[k] ? run->step->timeline : NULL;
		const PipesimTransfer *transfers = PIPESIM_OF(timeline, transfers);
		const guint n = transfers != NULL ? timeline->n_transfers : 0;

		if (timeline == NULL) {
			PIPESIM_MEMBER(json, NULL, TEXT, NULL);
			continue;
		}
		pipesim_json_open_object(json, NULL);
		PIPESIM_MEMBER(json, "p2p", COUNT, run->times->p2p);
		PIPESIM_MEMBER(
			json, "unit", ACTIVATIONS, pipesim_figure_activations(run->report, 1));
		PIPESIM_MEMBER(json, "chunks", TEXT,
			run->shape.chunks == 1  ? NULL
			: run->shape.copies > 1 ? "direction"
						: "chunk");
		if (transfers == NULL) {
			PIPESIM_MEMBER(json, "messages", TEXT, NULL);
		} else {
			pipesim_json_open_line(json, "messages");
			PIPESIM_LIST(json, "from", NS, n, transfers[i].from);
			PIPESIM_LIST(json, "to", NS, n, transfers[i].to);
			PIPESIM_LIST(json, "backward", NS, n, transfers[i].backward);
			PIPESIM_LIST(json, "sent", NS, n, transfers[i].sent);
			PIPESIM_LIST(json, "received", NS, n, transfers[i].received);
			PIPESIM_LIST(json, "start", NS, n, transfers[i].start);
			PIPESIM_LIST(json, "end", NS, n, transfers[i].end);
			PIPESIM_LIST(json, "cause", NS, n,
				print_cause(
					pipesim_timeline_cause(timeline, transfers[i].cause)));
			pipesim_json_close(json);
		}
		pipesim_json_open_array(json, "ranks");
		for (guint rank = 0; rank < run->shape.ranks; rank++)
			write_lane(json, run, rank, comparison->costs);
		pipesim_json_close(json);
		pipesim_json_close(json);
	}
	pipesim_json_close(json);
}

/* The page at @path with @data in it. */
static gboolean write_page(const GString *data, const char *path, GError **error)
{
	static const char mark[] = "@DATA@";
	const char *place = strstr(page_template, mark);
	g_autoptr(PipesimSink) sink = pipesim_sink_open(path, error);

	if (sink == NULL)
		return FALSE;
	GString *out = pipesim_sink_text(sink);
	g_string_append_len(out, page_template, place - page_template);
	/* Within a script element only this may not stand; in JSON it stands in strings alone. */
	for (const char *p = data->str; *p != '\0'; p++)
		if (*p == '<')
			g_string_append(out, "\\u003c");
		else
			g_string_append_c(out, *p);
	g_string_append(out, place + strlen(mark));
	return pipesim_sink_close(sink, error);
}

static void begin_page(PipesimJson *json, const char *command)
{
	pipesim_json_open_object(json, NULL);
	PIPESIM_MEMBER(json, "version", TEXT, PACKAGE_VERSION);
	PIPESIM_MEMBER(json, "command", TEXT, command);
	write_colours(json);
}

gboolean pipesim_page_answer(
	const char *command, const char *answer, const char *path, GError **error)
{
	g_autoptr(GString) data = g_string_new(NULL);
	g_autoptr(PipesimJson) json = pipesim_json_new(data);

	begin_page(json, command);
	PIPESIM_MEMBER(json, "result", TEXT, NULL);
	PIPESIM_MEMBER(json, "answer", NESTED, answer);
	pipesim_json_close(json);
	return write_page(data, path, error);
}

gboolean pipesim_page_write(
	const PipesimComparison *comparison, const char *path, GError **error)
{
	static const PipesimStyle style = {0};
	const GPtrArray *components = comparison->costs->components;
	g_autoptr(GString) data = g_string_new(NULL), result = g_string_new(NULL),
			   answer = g_string_new(NULL);
	g_autoptr(PipesimJson) json = pipesim_json_new(data);

	pipesim_output_json.write(comparison, &style, result);
	begin_page(json, comparison->command);
	PIPESIM_MEMBER(json, "result", NESTED, g_strchomp(result->str));
	/* Which schedule is best stands above the table of schedules, another answer with its own. */
	PIPESIM_MEMBER(json, "has_answer", YES_OR_NO, comparison->answer != NULL);
	if (comparison->answer == NULL)
		pipesim_text_answer(comparison, &(PipesimStyle){.answer = answer}, result);
	PIPESIM_MEMBER(json, "answer", NESTED,
		comparison->answer != NULL ? comparison->answer : answer->str);
	PIPESIM_MEMBER(json, "about", TEXT, comparison->about);
	write_table(json, comparison, "table", PIPESIM_OF_RUNS);
	write_table(json, comparison, "by_rank", PIPESIM_OF_RANKS);
	write_table(json, comparison, "links", PIPESIM_OF_LINKS);
	write_table(json, comparison, "by_link", PIPESIM_OF_EACH_LINK);
	write_lines(json, comparison, "titles", pipesim_text_titles);
	write_lines(json, comparison, "notes", pipesim_text_notes);
	PIPESIM_MEMBER(json, "notices", TEXTS, comparison->notices);
	write_lines(json, comparison, "legend", pipesim_text_legend);
	PIPESIM_EACH(json, "components", line, components != NULL ? components->len : 0, TRUE,
		put_component, g_ptr_array_index(components, i));
	write_timelines(json, comparison);
	pipesim_json_close(json);
	return write_page(data, path, error);
}
