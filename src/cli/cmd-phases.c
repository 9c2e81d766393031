#include "cli/command.h"
#include "model/phases.h"
#include "output/screen.h"

/* A forward beside a backward, and what is known beside it, ns. */
typedef struct {
	guint forward, backward;
	GArray *ops;
	gint64 together, alone; /* until both have ended; both one after the other */
	gint64 measured;        /* the pair; PIPESIM_NOTHING: it is not these */
} Pair;

static void put_op(PipesimJson *json, const GArray *ops, guint index)
{
	static const char *const phases[] = {"F", "B", "W"};
	const PipesimNodeOp *op =
		ops != NULL ? &g_array_index(ops, PipesimNodeOp, index) : NULL;

	PIPESIM_MEMBER(json, "index", COUNT, index);
	PIPESIM_MEMBER(json, "phase", TEXT, phases[op->phase]);
	PIPESIM_MEMBER(json, "node", TEXT, pipesim_node_names[op->node]);
	PIPESIM_MEMBER(json, "layer", COUNT, PIPESIM_KNOWN(op->layer >= 0, op->layer));
	PIPESIM_MEMBER(json, "stream", TEXT, op->exchanges ? "comm" : "comp");
	PIPESIM_MEMBER(json, "start_ms", TIME, op->start);
	PIPESIM_MEMBER(json, "end_ms", TIME, op->end);
}

static void put_members(PipesimJson *json, gconstpointer of)
{
	const Pair *pair = of;

	PIPESIM_MEMBER(json, "forward_layers", COUNT, pair->forward);
	PIPESIM_MEMBER(json, "backward_layers", COUNT, pair->backward);
	PIPESIM_MEMBER(json, "makespan_ms", TIME, pair->together);
	PIPESIM_MEMBER(json, "sequential_ms", TIME, pair->alone);
	PIPESIM_MEMBER(json, "measured_ms", TIME, pair->measured);
	PIPESIM_EACH(json, "nodes", line, pair->ops->len, TRUE, put_op, pair->ops);
}

static void write_screen(const Pair *pair, const PipesimStyle *style, GString *out)
{
	g_autoptr(PipesimScreen) screen = pipesim_screen_new();

	g_string_append_printf(screen->asked,
		"a forward of %u layer%s beside a backward of %u, on two streams",
		pair->forward, pair->forward == 1 ? "" : "s", pair->backward);
	pipesim_lines_say(screen->verdict,
		"Together they take %s, %s %% of the %s of one after the other.",
		pipesim_brief_time(pair->together),
		pipesim_brief_number(
			100 * (double)pair->together / (double)MAX(pair->alone, 1)),
		pipesim_brief_time(pair->alone));
	if (pair->measured != PIPESIM_NOTHING)
		pipesim_lines_say(screen->verdict,
			"The pair was measured at %s: simulated it is %+.1f %% off.",
			pipesim_brief_time(pair->measured),
			100 * ((double)pair->together / (double)pair->measured - 1));
	screen->table = pipesim_table_of("  op<|stream<|start, ms|end, ms");
	pipesim_each (const PipesimNodeOp, op, pair->ops) {
		g_autofree char *layer =
			op->layer >= 0 ? g_strdup_printf(" %d", op->layer) : g_strdup("");

		pipesim_table_row(screen->table, PIPESIM_ROW_PLAIN, "  %c %s%s\t%s\t%s\t%s",
			"FBW"[op->phase], pipesim_node_names[op->node], layer,
			op -> exchanges ? "all-to-all" : "compute",
			pipesim_ms_fixed(op->start, 3), pipesim_ms_fixed(op->end, 3));
	}
	pipesim_screen_print(screen, style, out);
}

/* Times of nodes apart and inside the pair, which are the same where they are given. */
static gboolean read_times(
	PipesimSetup *setup, PipesimNodeTimes times[2], Pair *pair, GError **error)
{
	const char *text = setup->text[PIPESIM_SET_PHASE_TIMES];
	const gboolean measured = setup->list[PIPESIM_SET_TRACE] != NULL ||
				  setup->text[PIPESIM_SET_COSTS] != NULL;

	if (measured == (text != NULL))
		return pipesim_refuse(error, "%s",
			measured ? "--phase-times says what a trace or costs say too; give one "
				   "of them"
				 : "nothing says what phases take; give --phase-times, --trace "
				   "or --costs");
	if (text != NULL) {
		if (!pipesim_node_times_parse(&times[0], text, "--phase-times", error))
			return FALSE;
		times[1] = times[0];
		return TRUE;
	}
	g_autoptr(PipesimCosts) costs = pipesim_setup_base(setup, error);
	if (costs == NULL || !pipesim_node_times_measured(&times[0], costs, FALSE, error) ||
		!pipesim_node_times_measured(&times[1], costs, TRUE, error))
		return FALSE;
	pipesim_each_in (const PipesimComponent, one, costs->components) {
		/* Captures have a layer a chunk. */
		if (g_strcmp0(one->component, "chunk") == 0 && pair->forward == 1 &&
			pair->backward == 1)
			pair->measured = one->figures.median;
	}
	return TRUE;
}

static gboolean run(PipesimSetup *setup, PipesimExit *answer G_GNUC_UNUSED, GError **error)
{
	const char *path = setup->text[PIPESIM_SET_OUTPUT];
	const char *layers = setup->text[PIPESIM_SET_CHUNK_LAYERS];
	const gboolean early = setup->flag[PIPESIM_SET_EARLY_ATTN];
	g_auto(GStrv) parts = g_strsplit(layers != NULL ? layers : "1", "+", 2);
	const PipesimStyle style = pipesim_terminal_style(setup, path);
	g_autoptr(GString) out = g_string_new(NULL);
	g_autoptr(GArray) ops = NULL, forward = NULL, backward = NULL;
	Pair pair = {.measured = PIPESIM_NOTHING};
	PipesimNodeTimes times[2] = {0};
	guint64 f, b;
	guint format;

	if (!pipesim_format(setup, "text json csv", &format, error) ||
		!pipesim_parse_count(parts[0] != NULL ? parts[0] : "", "--chunk-layers", 0,
			1000, &f, error) ||
		!pipesim_parse_count(parts[0] != NULL && parts[1] != NULL ? parts[1] : parts[0],
			"--chunk-layers", 0, 1000, &b, error))
		return FALSE;
	pair.forward = (guint)f;
	pair.backward = (guint)b;
	if (!read_times(setup, times, &pair, error))
		return FALSE;
	forward = pipesim_phases_new(&times[0], pair.forward, 0, early);
	backward = pipesim_phases_new(&times[0], 0, pair.backward, early);
	pair.ops = ops = pipesim_phases_new(&times[1], pair.forward, pair.backward, early);
	pair.together = pipesim_phases_end(ops);
	pair.alone = pipesim_phases_end(forward) + pipesim_phases_end(backward);
	if (format == PIPESIM_AS_JSON)
		pipesim_command_json(&pipesim_command_phases, &pair, out);
	else if (format == PIPESIM_AS_CSV)
		PIPESIM_CSV(out, ops->len, put_op, ops);
	else
		write_screen(&pair, &style, out);
	return pipesim_print(path, out, error);
}

const PipesimCommand pipesim_command_phases = {
	.name = "phases",
	.summary = "a forward beside a backward of layers with experts",
	.about = "Simulates attention, dispatch, experts and combine of a forward beside those "
		 "of a backward, on a stream\nof compute and one of all-to-alls, in the order "
		 "in which Megatron-LM issues them.",
	.takes = {PIPESIM_SET_PHASE_TIMES, PIPESIM_SET_CHUNK_LAYERS, PIPESIM_SET_EARLY_ATTN,
		PIPESIM_SET_TRACE, PIPESIM_SET_COSTS, PIPESIM_SET_FULL, PIPESIM_SET_FORMAT,
		PIPESIM_SET_OUTPUT},
	.wording = {{PIPESIM_SET_FULL, NULL, "print all ops", NULL},
		{PIPESIM_SET_FORMAT, NULL, "text, json or csv (default: text)",
			"text json csv"}},
	.members = put_members,
	.run = run,
};
