/* A page that shows a comparison in a browser: page/page.html with the data as JSON in its
 * middle. What is drawn, printed and sorted there is made of that JSON by the scripts beside
 * it. */
#include "config.h"

#include <string.h>

#include "analysis/held.h"
#include "analysis/stays.h"
#include "base/json.h"
#include "output/figures.h"
#include "output/moments.h"
#include "output/text.h"
#include "output/timeline-layout.h"
#include "runtime/runtime.h"

#include "output/page-template.h"

/* Most single ops of a page, all schedules together: 40 bytes each, and what a browser draws
 * well. */
#define MAX_OPS 200000
/* Most ranks of a timeline: a line of pixels each, on canvases that browsers have. */
#define MAX_RANKS 4096

/* Tables ------------------------------------------------------------------------------------- */

static const char *name_kind(PipesimFigureKind kind)
{
	static const char *const names[] = {
		[PIPESIM_TIME] = "time",
		[PIPESIM_BYTES] = "bytes",
		[PIPESIM_SHARE] = "share",
		[PIPESIM_FACTOR] = "factor",
		[PIPESIM_ACTIVATIONS] = "activations",
		[PIPESIM_LINK] = "text",
		[PIPESIM_TEXT] = "text",
	};

	return kind < G_N_ELEMENTS(names) && names[kind] != NULL ? names[kind] : "count";
}

/* The figures of @which by their places; NULL where there is none. */
static guint find_columns(const PipesimComparison *comparison, PipesimTextTable which,
	const PipesimFigure **columns)
{
	guint n = 0;

	for (guint place = 1; place <= pipesim_n_figures; place++)
		for (guint i = 0; i < pipesim_n_figures; i++)
			if (pipesim_figures[i].text.table == which &&
				pipesim_figures[i].text.place == place &&
				pipesim_figure_asked(&pipesim_figures[i], comparison))
				columns[n++] = &pipesim_figures[i];
	return n;
}

static guint count_rows(const PipesimRun *run, PipesimTextTable which)
{
	if (run->error != NULL)
		return 0;
	if (which == PIPESIM_OF_RUNS)
		return 1;
	if (which == PIPESIM_OF_RANKS)
		return run->shape.ranks;
	if (run->report->links == NULL)
		return 0;
	return which == PIPESIM_OF_LINKS ? 1 : run->report->links->n;
}

/* A table of the text as columns, and of each run the rows. Titles are for readers, scripts go
 * by the key of a column in CSV or JSON. */
static void write_table(PipesimJson *json, const PipesimComparison *comparison, const char *key,
	PipesimTextTable which)
{
	g_autofree const PipesimFigure **columns =
		g_new(const PipesimFigure *, pipesim_n_figures);
	const guint n = find_columns(comparison, which, columns);

	pipesim_json_open_object(json, key);
	pipesim_json_open_array(json, "columns");
	for (guint i = 0; i < n; i++) {
		pipesim_json_open_line(json, NULL);
		PIPESIM_MEMBER(json, "key", TEXT,
			columns[i]->csv != NULL ? columns[i]->csv : columns[i]->json);
		PIPESIM_MEMBER(json, "group", TEXT, columns[i]->text.group);
		PIPESIM_MEMBER(json, "title", TEXT, columns[i]->text.title);
		PIPESIM_MEMBER(json, "kind", TEXT, name_kind(columns[i]->kind));
		pipesim_json_close(json);
	}
	pipesim_json_close(json);
	pipesim_json_open_array(json, "rows");
	for (guint r = 0; r < comparison->runs->len; r++) {
		const PipesimRun *run = g_ptr_array_index(comparison->runs, r);
		const guint rows = count_rows(run, which);

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

/* Sentences ---------------------------------------------------------------------------------- */

typedef void (*Sentences)(const PipesimComparison *comparison, guint width, GString *out);

static void write_lines(PipesimJson *json, const PipesimComparison *comparison, const char *key,
	Sentences sentences)
{
	g_autoptr(GString) text = g_string_new(NULL);
	g_auto(GStrv) lines = NULL;

	sentences(comparison, G_MAXUINT, text);
	lines = g_strsplit(text->str, "\n", -1);
	pipesim_json_open_array(json, key);
	for (char **line = lines; *line != NULL; line++)
		if (**line != '\0')
			PIPESIM_MEMBER(json, NULL, TEXT, *line);
	pipesim_json_close(json);
}

/* [column, meaning] */
static void write_legend(PipesimJson *json, const PipesimComparison *comparison)
{
	g_autoptr(GString) text = g_string_new(NULL);
	g_auto(GStrv) lines = NULL;

	pipesim_text_legend(comparison, G_MAXUINT, text);
	lines = g_strsplit(text->str, "\n", -1);
	pipesim_json_open_array(json, "legend");
	for (char **line = lines; *line != NULL && **line != '\0'; line++) {
		g_autofree char *column = g_strndup(*line, PIPESIM_LEGEND_INDENT - 1);

		pipesim_json_open_array(json, NULL);
		PIPESIM_MEMBER(json, NULL, TEXT, g_strchomp(column));
		PIPESIM_MEMBER(json, NULL, TEXT, *line + PIPESIM_LEGEND_INDENT);
		pipesim_json_close(json);
	}
	pipesim_json_close(json);
}

static void write_looks(PipesimJson *json)
{
	pipesim_json_open_object(json, "looks");
	for (guint kind = 0; kind < PIPESIM_FB; kind++) {
		const PipesimLook *look = &pipesim_looks[kind];

		pipesim_json_open_line(json, pipesim_kind_letter(kind));
		PIPESIM_MEMBER(json, "title", TEXT, pipesim_look_titles[kind]);
		PIPESIM_LIST(json, "colours", TEXT, 2, look->colours[i]);
		pipesim_json_close(json);
	}
	pipesim_json_close(json);
}

/* Colours of ops by how long they took, on light and on dark paper. */
static void write_speeds(PipesimJson *json)
{
	static const char *const papers[] = {
		[PIPESIM_THEME_LIGHT] = "light", [PIPESIM_THEME_DARK] = "dark"};

	pipesim_json_open_object(json, "speeds");
	PIPESIM_MEMBER(json, "sustained", COUNT, PIPESIM_SPEED_SUSTAINED);
	PIPESIM_MEMBER(json, "percent", COUNT, PIPESIM_SPEED_PERCENT);
	for (guint paper = 0; paper < G_N_ELEMENTS(papers); paper++) {
		const PipesimTheme *theme = pipesim_theme((PipesimThemeName)paper);
		char colour[8];

		PIPESIM_LIST(json, papers[paper], TEXT, PIPESIM_SPEEDS,
			pipesim_theme_speed(
				theme, i, PIPESIM_SPEED_SUSTAINED, PIPESIM_SPEEDS, colour));
	}
	pipesim_json_close(json);
}

/* What was measured, in ms. */
static void write_components(PipesimJson *json, const PipesimCosts *costs)
{
	pipesim_json_open_array(json, "components");
	for (guint i = 0; costs->components != NULL && i < costs->components->len; i++) {
		const PipesimComponent *component = g_ptr_array_index(costs->components, i);
		const PipesimDistribution *figures = &component->figures;

		pipesim_json_open_line(json, NULL);
		PIPESIM_MEMBER(json, "component", TEXT, component->component);
		PIPESIM_MEMBER(json, "phase", TEXT, component->phase);
		PIPESIM_MEMBER(json, "impl", TEXT, component->impl);
		PIPESIM_MEMBER(json, "samples", COUNT, figures->samples);
		PIPESIM_MEMBER(json, "mean_ms", TIME, figures->mean);
		PIPESIM_MEMBER(json, "sd_ms", TIME, figures->sd);
		pipesim_json_close(json);
	}
	pipesim_json_close(json);
}

/* Timelines ---------------------------------------------------------------------------------- */

/* Of a rank. */
typedef struct {
	const PipesimRun *run;
	guint rank;
	guint32 begin, end; /* its ops */
} Lane;

static gint64 gap_before(const Lane *lane, guint32 op)
{
	const PipesimTimeline *timeline = lane->run->step->timeline;

	return timeline->start[op] - (op > lane->begin ? timeline->end[op - 1] : 0);
}

static gint64 time_taken(const Lane *lane, guint32 op)
{
	const PipesimTimeline *timeline = lane->run->step->timeline;

	return timeline->end[op] - timeline->start[op];
}

static gint64 sustained_time(const Lane *lane, guint32 op)
{
	return pipesim_run_sustained(lane->run, lane->rank, op);
}

/* An op by its index, a message as -2 less its own; -1: nothing. */
static gint64 print_cause(guint64 cause)
{
	if (cause == PIPESIM_NO_CAUSE)
		return -1;
	return (cause & PIPESIM_BY_TRANSFER) != 0 ? -2 - (gint64)(guint32)cause : (gint64)cause;
}

static gint64 cause_of(const Lane *lane, guint32 op)
{
	return print_cause(pipesim_report_cause(lane->run->step, lane->rank, op));
}

static gint64 chunk_of(const Lane *lane, guint32 op)
{
	return lane->run->step->program->ops[op].chunk;
}

static void write_ops(PipesimJson *json, const Lane *lane, const char *key,
	gint64 (*value)(const Lane *, guint32))
{
	PIPESIM_LIST(json, key, NS, lane->end - lane->begin, value(lane, lane->begin + i));
}

static void write_names(PipesimJson *json, const Lane *lane)
{
	const PipesimProgram *program = lane->run->step->program;
	g_autoptr(GString) names = g_string_new(NULL);

	for (guint32 op = lane->begin; op < lane->end; op++) {
		g_string_append(names, op > lane->begin ? " " : "");
		pipesim_op_print(program, lane->rank, &program->ops[op], names);
	}
	PIPESIM_MEMBER(json, "ops", TEXT, names->str);
}

/* Of each pair where its forward half ends, ns after its start, and the chunk of the other. */
static void write_pairs(PipesimJson *json, const Lane *lane)
{
	const PipesimProgram *program = lane->run->step->program;
	PipesimBox boxes[2];

	pipesim_json_open_array(json, "pairs");
	for (guint32 op = lane->begin; op < lane->end; op++) {
		guint n;

		if (program->ops[op].kind != PIPESIM_FB)
			continue;
		n = pipesim_layout_boxes(lane->run, lane->rank, op, boxes);
		PIPESIM_MEMBER(json, NULL, COUNT,
			n == 0 || boxes[0].kind != PIPESIM_F ? 0
							     : boxes[0].end - boxes[0].start);
		PIPESIM_MEMBER(json, NULL, COUNT, program->ops[op].b_chunk);
	}
	pipesim_json_close(json);
}

/* Where each begins: the op counted on its rank, and its name. */
static void write_phases(PipesimJson *json, const Lane *lane)
{
	const PipesimProgram *program = lane->run->step->program;
	guint8 phase = 0;

	pipesim_json_open_array(json, "phases");
	for (guint32 op = lane->begin; op < lane->end; op++) {
		if (program->ops[op].phase == phase)
			continue;
		phase = program->ops[op].phase;
		PIPESIM_MEMBER(json, NULL, COUNT, op - lane->begin);
		PIPESIM_MEMBER(json, NULL, TEXT, g_ptr_array_index(program->phases, phase));
	}
	pipesim_json_close(json);
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
static void write_held(PipesimJson *json, const Lane *lane, const PipesimCosts *costs,
	const char *key, guint what)
{
	const PipesimReport *report = lane->run->report;
	const PipesimOp *ops = lane->run->step->program->ops;
	PipesimHeld held = pipesim_held_begin(report, lane->rank);
	gint64 parts[PIPESIM_N_HELD];

	pipesim_json_open_array(json, key);
	for (guint32 k = 0; k < 2 * (lane->end - lane->begin) + 1; k++) {
		const guint32 op = lane->begin + (k - 1) / 2;

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

/* Bytes from "rest" on, and of what kinds they are; where the rank first holds more than it
 * may. */
static void write_bytes(PipesimJson *json, const Lane *lane, const PipesimCosts *costs)
{
	const PipesimReport *report = lane->run->report;
	const PipesimHeld none = pipesim_held_begin(report, lane->rank);
	const PipesimMoment *over =
		report->memory.over != NULL ? &report->memory.over[lane->rank] : NULL;

	PIPESIM_MEMBER(json, "rest", BYTES, pipesim_held_bytes(&none, report, costs));
	write_held(json, lane, costs, "change", MOMENT);
	write_held(json, lane, costs, "held", ACTIVATIONS);
	write_held(json, lane, costs, "bytes", BYTES);
	pipesim_json_open_object(json, "parts");
	for (guint part = 0; part < PIPESIM_N_HELD; part++)
		if (pipesim_moment_has(report, part))
			write_held(json, lane, costs, pipesim_held_names[part], PARTS + part);
	pipesim_json_close(json);
	if (over != NULL && over->bytes > 0) {
		g_autofree char *words = pipesim_moment_words(over, lane->rank);

		PIPESIM_MEMBER(json, "over", TEXT, words);
		PIPESIM_MEMBER(json, "over_op", COUNT,
			over->op == PIPESIM_NO_OP ? 0 : over->op - lane->begin);
	}
}

/* When receives that wait sit beside ops. */
static void write_stays(PipesimJson *json, const Lane *lane)
{
	g_autoptr(GArray) stays = pipesim_message_stays(lane->run->step, lane->rank);

	for (guint end = 0; end < 2; end++) {
		pipesim_json_open_array(json, end == 0 ? "beside_from" : "beside_to");
		for (guint i = 0; i < stays->len; i++) {
			const PipesimStay *stay = &g_array_index(stays, PipesimStay, i);

			if (stay->op != PIPESIM_NO_OP)
				PIPESIM_MEMBER(
					json, NULL, COUNT, end == 0 ? stay->begin : stay->end);
		}
		pipesim_json_close(json);
	}
}

static void write_lane(PipesimJson *json, const Lane *lane, const PipesimCosts *costs)
{
	const PipesimShape *shape = &lane->run->shape;

	pipesim_json_open_line(json, NULL);
	write_names(json, lane);
	write_ops(json, lane, "gap", gap_before);
	write_ops(json, lane, "took", time_taken);
	write_ops(json, lane, "cause", cause_of);
	if (pipesim_run_has_speeds(lane->run))
		write_ops(json, lane, "sustained", sustained_time);
	if (shape->chunks > 1)
		write_ops(json, lane, "chunk", chunk_of);
	write_pairs(json, lane);
	write_phases(json, lane);
	if (lane->run->report->memory.peak != NULL) {
		write_bytes(json, lane, costs);
	} else {
		write_held(json, lane, costs, "change", MOMENT);
		write_held(json, lane, costs, "held", ACTIVATIONS);
	}
	if (lane->run->step->timeline->n_transfers > 0)
		write_stays(json, lane);
	pipesim_json_close(json);
}

static gint64 get_of_transfer(const PipesimTimeline *timeline, guint32 index, guint which)
{
	const PipesimTransfer *transfer = &timeline->transfers[index];
	const gint64 values[] = {transfer->from, transfer->to, transfer->backward,
		transfer->sent, transfer->received, transfer->start, transfer->end,
		print_cause(pipesim_timeline_cause(timeline, transfer->cause))};

	return values[which];
}

static void write_messages(PipesimJson *json, const PipesimTimeline *timeline)
{
	static const char *const keys[] = {
		"from", "to", "backward", "sent", "received", "start", "end", "cause"};

	if (timeline->transfers == NULL) {
		PIPESIM_MEMBER(json, "messages", TEXT, NULL);
		return;
	}
	pipesim_json_open_line(json, "messages");
	for (guint key = 0; key < G_N_ELEMENTS(keys); key++)
		PIPESIM_LIST(json, keys[key], NS, timeline->n_transfers,
			get_of_transfer(timeline, i, key));
	pipesim_json_close(json);
}

/* Times are ns. */
static void write_timeline(
	PipesimJson *json, const PipesimComparison *comparison, const PipesimRun *run)
{
	const guint32 *begin = run->step->program->rank_begin;

	pipesim_json_open_object(json, NULL);
	PIPESIM_MEMBER(json, "p2p", COUNT, run->times->p2p);
	PIPESIM_MEMBER(json, "unit", ACTIVATIONS, pipesim_figure_activations(run->report, 1));
	PIPESIM_MEMBER(json, "chunks", TEXT,
		run->shape.chunks == 1  ? NULL
		: run->shape.copies > 1 ? "direction"
					: "chunk");
	write_messages(json, run->step->timeline);
	pipesim_json_open_array(json, "ranks");
	for (guint rank = 0; rank < run->shape.ranks; rank++) {
		const Lane lane = {run, rank, begin[rank], begin[rank + 1]};

		write_lane(json, &lane, comparison->costs);
	}
	pipesim_json_close(json);
	pipesim_json_close(json);
}

/* Of each run whether its ops are on the page: as many as fit, the best first, then in the
 * order asked for. Returns how many ops are not. */
static guint64 choose_timelines(const PipesimComparison *comparison, gboolean *shown)
{
	const guint n = comparison->runs->len;
	const int best = pipesim_comparison_best(comparison);
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
	GString *text;
	const char *before = "";

	if (without == 0)
		return NULL;
	text = g_string_new("the timelines of ");
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
	for (guint i = 0; i < comparison->runs->len; i++) {
		if (shown[i])
			write_timeline(
				json, comparison, g_ptr_array_index(comparison->runs, i));
		else
			PIPESIM_MEMBER(json, NULL, TEXT, NULL);
	}
	pipesim_json_close(json);
}

/* The page ----------------------------------------------------------------------------------- */

static void write_data(const PipesimComparison *comparison, GString *out)
{
	static const PipesimStyle style = {0};
	g_autoptr(PipesimJson) json = pipesim_json_new(out);
	g_autoptr(GString) result = g_string_new(NULL);

	pipesim_output_json.write(comparison, &style, result);
	pipesim_json_open_object(json, NULL);
	PIPESIM_MEMBER(json, "command", TEXT, comparison->command);
	PIPESIM_MEMBER(json, "about", TEXT, comparison->about);
	PIPESIM_MEMBER(json, "result", NESTED, g_strchomp(result->str));
	write_table(json, comparison, "table", PIPESIM_OF_RUNS);
	write_table(json, comparison, "by_rank", PIPESIM_OF_RANKS);
	write_table(json, comparison, "links", PIPESIM_OF_LINKS);
	write_table(json, comparison, "by_link", PIPESIM_OF_EACH_LINK);
	write_lines(json, comparison, "titles", pipesim_text_titles);
	write_lines(json, comparison, "notes", pipesim_text_notes);
	PIPESIM_MEMBER(json, "notices", TEXTS, comparison->notices);
	write_legend(json, comparison);
	write_looks(json);
	write_speeds(json);
	write_components(json, comparison->costs);
	write_timelines(json, comparison);
	pipesim_json_close(json);
}

gboolean pipesim_page_write(
	const PipesimComparison *comparison, const char *path, GError **error)
{
	static const char mark[] = "@DATA@";
	const char *place = strstr(page_template, mark);
	g_autoptr(GString) data = g_string_new(NULL);
	g_autoptr(PipesimSink) sink = pipesim_sink_open(path, error);
	GString *out;

	if (sink == NULL)
		return FALSE;
	out = pipesim_sink_text(sink);
	write_data(comparison, data);
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
