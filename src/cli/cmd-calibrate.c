#include "cli/command.h"
#include "diagnosis/traces.h"
#include "effects/print.h"
#include "model/costs-file.h"
#include "output/figures.h"
#include "output/screen.h"

/* The table ------------------------------------------------------------------------------ */

/* Figures of a component in ms that only a report shows. */
static const struct {
	const char *title;
	gsize offset; /* of PipesimComponent */
} figures[] = {
	{"mean", offsetof(PipesimComponent, figures.mean)},
	{"sd", offsetof(PipesimComponent, figures.sd)},
	{"p5", offsetof(PipesimComponent, figures.quantile[1])},
	{"p95", offsetof(PipesimComponent, figures.quantile[PIPESIM_QUANTILES - 2])},
	{"p99", offsetof(PipesimComponent, figures.p99)},
	{"min", offsetof(PipesimComponent, figures.min)},
	{"max", offsetof(PipesimComponent, figures.max)},
	{"busy", offsetof(PipesimComponent, busy_mean)},
	{"move", offsetof(PipesimComponent, move)},
	{"wait", offsetof(PipesimComponent, wait)},
};

/* @full: what was dropped, and by what; @all: what a report shows too. */
static PipesimTable *make_table(const PipesimCosts *costs, gboolean full, gboolean all)
{
	g_autoptr(GString) titles =
		g_string_new("  component<|phase<|median:ms|spread:%|samples|dropped");

	for (gsize i = 0; i < G_N_ELEMENTS(figures); i++)
		g_string_append_printf(titles, "|%s:ms", figures[i].title);
	g_string_append(titles, "|lag-1|in pair|implementation<");
	PipesimTable *table = pipesim_table_of(titles->str);
	pipesim_each_in (const PipesimComponent, component, costs->components) {
		const PipesimDistribution *of = &component->figures;
		g_autofree char *name = pipesim_printable(component->component);
		g_autofree char *phase = pipesim_printable(component->phase);
		g_autofree char *impl = pipesim_printable(component->impl);
		g_autoptr(GString) more = g_string_new(NULL);

		for (gsize i = 0; i < G_N_ELEMENTS(figures); i++) {
			const gint64 ns = G_STRUCT_MEMBER(gint64, component, figures[i].offset);

			g_string_append_printf(
				more, "\t%s", all && ns >= 0 ? pipesim_ms_fixed(ns, 3) : "");
		}
		pipesim_table_row(table, PIPESIM_ROW_PLAIN,
			"  %s\t%s\t%s\t%s\t%u\t%s%s\t%s\t%s\t%s", name, phase,
			pipesim_ms_fixed(of->median, 3),
			of->mean > 0 ? pipesim_fixed(100 * (double)of->sd / (double)of->mean, 1)
				     : "",
			of->samples, full ? pipesim_fixed(component->dropped, 0) : "",
			more->str, all ? pipesim_fixed(of->lag1, 2) : "",
			all && component->in_pair > 0 ? pipesim_fixed(component->in_pair, 3)
						      : "",
			full ? impl : "");
	}
	return table;
}

/* Lines through rows of components, and through sizes of messages. */
static void note_fits(const PipesimCosts *costs, GPtrArray *notes)
{
	pipesim_each_in (const PipesimComponent, component, costs->components) {
		const PipesimFit *fit = &component->fit;
		g_autofree char *name = pipesim_printable(component->component);

		if (fabs(fit->base) > 0 || fabs(fit->slope) > 0)
			pipesim_lines_say(notes,
				"a line through %s %s: %.4f ms + %.3f ns * rows, residual %.4f "
				"ms (median %" G_GINT64_FORMAT " rows)",
				name, component->phase, fit->base / 1e6, fit->slope,
				fit->residual / 1e6, component->rows);
	}
	if (costs->link_bandwidth > 0)
		pipesim_lines_say(notes, "link: %s ms + bytes / %.1f GB/s",
			pipesim_ms(costs->link_latency), (double)costs->link_bandwidth / 1e9);
}

/* What a rank takes, and the medians of what it is made of. */
static void write_screen(const PipesimSetup *setup, const PipesimCosts *costs,
	const PipesimEffects *effects, GString *out)
{
	static const PipesimKind kinds[] = {PIPESIM_F, PIPESIM_I, PIPESIM_W, PIPESIM_B};
	PipesimStyle style = pipesim_terminal_style(setup, NULL);
	g_autoptr(PipesimScreen) screen = pipesim_screen_new();
	g_autoptr(GString) times = g_string_new(NULL);
	g_autofree char *source = pipesim_printable(costs->source);

	style.full |= setup->flag[PIPESIM_SET_FIGURES];
	g_string_append(screen->asked, source);
	for (guint i = 0; i < G_N_ELEMENTS(kinds); i++)
		g_string_append_printf(times, "%s%s %s", i > 0 ? ", " : "",
			pipesim_kind_letter(kinds[i]),
			pipesim_brief_number((double)costs->time[kinds[i]] / 1e6));
	g_string_append_printf(times, " ms; an overlapped pair %s",
		pipesim_brief_time(costs->time[PIPESIM_FB]));
	g_string_append_printf(times, "%s, a message %s",
		costs->has_pair ? "" : " (not measured: F + B)",
		pipesim_brief_time(costs->p2p));
	if (costs->layers > 0)
		pipesim_lines_say(screen->verdict, "A rank of %u layer%s takes %s.",
			costs->layers, costs->layers == 1 ? "" : "s", times->str);
	else
		pipesim_lines_say(screen->verdict, "A rank takes %s.", times->str);
	screen->table = make_table(costs, style.full, setup->flag[PIPESIM_SET_FIGURES]);
	if (style.full)
		note_fits(costs, screen->notes);
	pipesim_lines_add(screen->notes, setup->notices);
	screen->appendix = g_string_new(NULL);
	pipesim_effects_text(
		effects, costs, setup->flag[PIPESIM_SET_FIGURES], screen->appendix);
	if (setup->text[PIPESIM_SET_OUTPUT] == NULL)
		pipesim_lines_say(screen->more, "-o FILE.ini, then --costs FILE.ini");
	pipesim_lines_say(screen->more, "--picture FILE.svg");
	pipesim_screen_print(screen, &style, out);
}

/* JSON ----------------------------------------------------------------------------------- */

static void put_component(
	PipesimJson *json, const PipesimComponent *component, guint index G_GNUC_UNUSED)
{
	PIPESIM_MEMBER(json, "component", TEXT, component->component);
	PIPESIM_MEMBER(json, "phase", TEXT, component->phase);
	PIPESIM_MEMBER(json, "impl", TEXT, component->impl);
	PIPESIM_MEMBER(json, "samples", COUNT, component->figures.samples);
	PIPESIM_MEMBER(json, "dropped", COUNT, component->dropped);
	PIPESIM_MEMBER(json, "median_ns", NS, component->figures.median);
	PIPESIM_MEMBER(json, "mean_ns", NS, component->figures.mean);
	PIPESIM_MEMBER(json, "sd_ns", NS, component->figures.sd);
	PIPESIM_MEMBER(json, "p99_ns", NS, component->figures.p99);
}

/* A part of the model. */
static void put_stage(PipesimJson *json, const PipesimCosts *costs, guint index)
{
	static const char *const bytes[PIPESIM_N_BYTES] = {
		"until_input_bytes", "until_weight_bytes", "parameters_bytes"};

	for (guint kind = 0; kind < PIPESIM_FB; kind++)
		if (PIPESIM_WHERE(json, costs->part != NULL))
			PIPESIM_MEMBER(json, pipesim_kind_letter(kind), NS,
				costs->part[(gsize)index * PIPESIM_FB + kind]);
	for (guint sort = 0; sort < PIPESIM_N_BYTES; sort++)
		if (PIPESIM_WHERE(json, costs->part_bytes != NULL))
			PIPESIM_MEMBER(json, bytes[sort], BYTES,
				costs->part_bytes[(gsize)index * PIPESIM_N_BYTES + sort]);
}

typedef struct {
	const PipesimCalibration *calibration;
	const PipesimEffects *effects;
	const GPtrArray *notices;
} Found;

static void put_members(PipesimJson *json, gconstpointer of)
{
	const Found *found = of;
	const PipesimCalibration *calibration = PIPESIM_OF(found, calibration);
	const PipesimCosts *costs = PIPESIM_OF(calibration, costs);

	PIPESIM_MEMBER(json, "source", TEXT, costs->source);
	PIPESIM_MEMBER(json, "layers", COUNT, costs->layers);
	pipesim_json_open_line(json, "times_ns");
	for (guint kind = 0; kind < PIPESIM_N_KINDS; kind++)
		PIPESIM_MEMBER(json, pipesim_kind_letter(kind), NS, costs->time[kind]);
	PIPESIM_MEMBER(json, "P2P", NS, costs->p2p);
	pipesim_json_close(json);
	PIPESIM_EACH(json, "components", line, costs->components->len, TRUE, put_component,
		(PipesimComponent *)costs->components->pdata[i]);
	PIPESIM_EACH(json, "stages", line, MAX(costs->n_parts, costs->n_part_bytes), TRUE,
		put_stage, costs);
	PIPESIM_LIST(json, "measured_ranks_ppm", MILLIONTHS, costs->n_measured_ranks,
		costs->measured_ranks[i]);
	pipesim_effects_members(json, PIPESIM_OF(found, effects), costs);
	PIPESIM_MEMBER(json, "notices", TEXTS, found->notices);
}

/* Options -------------------------------------------------------------------------------- */

#define MAX_SMS 100000

static gboolean read_split(const char *text, PipesimTraceWish *wish, GError **error)
{
	const char *plus = strchr(text, '+');

	if (plus != NULL &&
		pipesim_decimal_parse(text, (gsize)(plus - text), 0, &wish->compute_sms) ==
			NULL &&
		pipesim_decimal_parse(plus + 1, strlen(plus + 1), 0, &wish->comm_sms) == NULL &&
		wish->compute_sms > 0 && wish->compute_sms < MAX_SMS && wish->comm_sms >= 0 &&
		wish->comm_sms < MAX_SMS)
		return TRUE;
	return pipesim_refuse(
		error, "--sm-split '%s' is not two numbers of SMs such as 112+20", text);
}

/* COMPONENT=IMPL into wish->impl, which this makes. */
static gboolean read_impl(char **list, PipesimTraceWish *wish, GError **error)
{
	wish->impl = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, g_free);
	for (; list != NULL && *list != NULL; list++) {
		const char *equals = strchr(*list, '=');
		if (equals == NULL || equals == *list || equals[1] == '\0')
			return pipesim_refuse(
				error, "--impl '%s' is not COMPONENT=IMPL", *list);
		g_hash_table_insert(wish->impl, g_strndup(*list, (gsize)(equals - *list)),
			g_strdup(equals + 1));
	}
	return TRUE;
}

/* Command -------------------------------------------------------------------------------- */

/* @effects: (out) */
static PipesimCalibration *calibrate(
	const PipesimSetup *setup, PipesimEffects **effects, GError **error)
{
	const char *split = setup->text[PIPESIM_SET_SM_SPLIT];
	g_autoptr(PipesimRangeRules) rules = NULL;
	g_autoptr(GPtrArray) traces = pipesim_setup_traces(setup, NULL, &rules, error);
	PipesimTrace *const *all;
	g_autoptr(PipesimCalibration) calibration = NULL;
	PipesimCalibrateOptions wishes = {0};

	if (traces == NULL)
		return NULL;
	all = (PipesimTrace *const *)traces->pdata;
	wishes.layers = setup->layers;
	wishes.wish.load_mode = setup->text[PIPESIM_SET_LOAD_MODE];
	if ((split == NULL || read_split(split, &wishes.wish, error)) &&
		read_impl(setup->list[PIPESIM_SET_IMPL], &wishes.wish, error))
		calibration = pipesim_calibrate(all, traces->len, &wishes, error);
	g_clear_pointer(&wishes.wish.impl, g_hash_table_unref);
	if (calibration != NULL)
		*effects = pipesim_effects_calibrate(
			all, traces->len, calibration, setup->resident_sms, error);
	if (*effects == NULL || (setup->text[PIPESIM_SET_MAP] != NULL &&
					!pipesim_calibration_check_named(calibration, error)))
		return NULL;
	return g_steal_pointer(&calibration);
}

static gboolean run(PipesimSetup *setup, PipesimExit *answer G_GNUC_UNUSED, GError **error)
{
	const char *path = setup->text[PIPESIM_SET_OUTPUT];
	const char *picture = setup->text[PIPESIM_SET_PICTURE];
	const gboolean stages = path != NULL && g_str_has_suffix(path, ".csv");
	g_autoptr(GString) costs = g_string_new(NULL);
	g_autoptr(GString) table = g_string_new(NULL), told = g_string_new(NULL);
	g_autoptr(PipesimEffects) effects = NULL;
	guint json;

	if (setup->n_operands == 0)
		return pipesim_refuse(error,
			"no trace given; for example pipesim calibrate traces/h200.csv.gz");
	g_autoptr(PipesimCalibration) calibration = calibrate(setup, &effects, error);
	if (calibration == NULL || !pipesim_format(setup, "text json", &json, error))
		return FALSE;
	pipesim_setup_tell(setup, calibration);
	/* Who uses the costs is told what was told here. */
	for (guint i = 0; i < setup->notices->len; i++)
		g_string_append_printf(told, "%s%s", i > 0 ? "\n" : "",
			(char *)g_ptr_array_index(setup->notices, i));
	g_free(calibration->costs->notices);
	calibration->costs->notices = told->len > 0 ? g_strdup(told->str) : NULL;
	if (stages && calibration->costs->part == NULL)
		return pipesim_refuse(error,
			"--output '%s': a table of stage times, but the traces do not tell "
			"stages apart; write a costs file, .ini",
			path);
	if (stages)
		pipesim_costs_write_stages(calibration->costs, costs);
	else
		pipesim_costs_write(calibration->costs, costs);
	if ((path != NULL && !pipesim_print(path, costs, error)) ||
		(picture != NULL && !pipesim_distributions_write(
					    calibration->costs, picture, "gnuplot", error)))
		return FALSE;
	if (g_strcmp0(path, "-") == 0)
		return TRUE;
	if (json) {
		pipesim_command_json(&pipesim_command_calibrate,
			&(Found){calibration, effects, setup->notices}, table);
	} else {
		write_screen(setup, calibration->costs, effects, table);
	}
	setup->told = !json;
	return pipesim_print(NULL, table, error);
}

const PipesimCommand pipesim_command_calibrate = {
	.name = "calibrate",
	.summary = "op times from measured traces",
	.usage = "TRACE...",
	.about = "Reads measured repetitions. Prints, per component and phase of one layer, "
		 "the median time, the\nspread (sd / mean) and how many repetitions were kept "
		 "and dropped; then the op times of a rank.",
	.examples = "Examples:\n  pipesim calibrate traces/h200.csv.gz -o h200.ini --layers 4\n"
		    "  pipesim --pp 8 --microbatches 20 --costs h200.ini\n",
	.operand = "a trace",
	.operands = PIPESIM_PATH_READ_ONCE,
	.takes = {PIPESIM_SET_OUTPUT, PIPESIM_SET_LAYERS, PIPESIM_SET_LOAD_MODE,
		PIPESIM_SET_IMPL, PIPESIM_SET_SM_SPLIT, PIPESIM_SET_RESIDENT_SMS,
		PIPESIM_SET_MAP, PIPESIM_SET_AS, PIPESIM_SET_MICROBATCHES, PIPESIM_SET_PICTURE,
		PIPESIM_SET_KEEP_GNUPLOT, PIPESIM_SET_FIGURES, PIPESIM_SET_FULL,
		PIPESIM_SET_FORMAT},
	.wording = {{PIPESIM_SET_MICROBATCHES, NULL,
			    "micro-batches of a step, where ops have no names "
			    "(default: as many as fit)",
			    NULL},
		{PIPESIM_SET_OUTPUT, "FILE.ini",
			"file for the costs, or FILE.csv for stage times; - prints the costs "
			"alone",
			"ini csv"},
		{PIPESIM_SET_LAYERS, NULL, "layers on each rank (default: as in the trace)",
			NULL}},
	.members = put_members,
	.run = run,
};
