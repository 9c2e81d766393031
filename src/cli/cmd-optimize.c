#include "cli/command.h"
#include "cli/optimize-curve.h"
#include "cli/optimize-pack.h"
#include "model/costs-file.h"
#include "output/timeline-layout.h"

/* Moves that are looked at where nothing is said, by ops: some 10 s of one core for each limit
 * that is searched, and the same everywhere. */
#define USUAL_WORK  G_GUINT64_CONSTANT(8000000000)
#define LEAST_MOVES 20000
/* Of fewer ops a move takes about as long. */
#define LEAST_OPS 800
/* Orders made by hand that are shown beside the one found. */
#define MOST_STARTS 4
/* Ops of orders of micro-batches that are looked at where nothing is said: some seconds. */
#define ORDERED_WORK G_GUINT64_CONSTANT(300000000)

/* Where the stages lie, in the order of the words of --placement. */
typedef struct {
	const char *name;
	PipesimPlacement placement;
	guint chunks; /* where none are asked for */
	guint takes;  /* PipesimTakes */
} Placement;

static const Placement placements[] = {
	{"single", PIPESIM_LOOPED, 1, 0},
	{"v", PIPESIM_V, 2, 0},
	{"interleaved", PIPESIM_LOOPED, 2, PIPESIM_TAKES_CHUNKS},
	{"wave", PIPESIM_WAVE, 4, PIPESIM_TAKES_CHUNKS},
	{"bidirectional", PIPESIM_BIDIRECTIONAL, 2, PIPESIM_TAKES_PIPELINES},
};

/* Words of --format. */
enum {
	AS_TEXT,
	AS_JSON,
	AS_CSV,
	AS_PYTHON,
};

typedef struct {
	PipesimSetup *setup;
	const Placement *placement;
	guint chunks;
	guint format;        /* AS_TEXT ... */
	GPtrArray *programs; /* of files to begin from */
	PipesimSearchOf of;
	PipesimFound *found;
	gint64 usual; /* step of what was found at usual times (pipesim_report_step()), ns */
	gint64 makespan;
	GArray *curve;           /* of --curve, in place of it too */
	PipesimOrdered *ordered; /* of --order microbatches and of --pack, likewise */
} Optimize;

/* Options -------------------------------------------------------------------------------- */

static gboolean read_placement(Optimize *o, GError **error)
{
	const PipesimScenario *scenario = &o->setup->scenario;
	const char *lengths = o->setup->text[PIPESIM_SET_SLICE_LENGTHS];
	/* A list of lengths, or a plan, says how many slices there are. */
	const gboolean slices =
		scenario->slices > 1 || (lengths != NULL && strpbrk(lengths, ",p") != NULL);
	guint takes =
		PIPESIM_TAKES_LIMIT |
		pipesim_runtime_resolve(scenario->runtime, PIPESIM_RUNTIME_OF_FILES)->takes;

	o->placement = &placements[o->setup->placement];
	takes |= o->placement->takes;
	/* What is put in order otherwise runs as schedules have it. */
	if (o->setup->order == 0)
		takes |= PIPESIM_TAKES_SPARING | (slices ? PIPESIM_TAKES_SLICES : 0) |
			 (scenario->offload > 0 ? PIPESIM_TAKES_COPIES : 0);
	if (o->setup->text[PIPESIM_SET_PACK] != NULL)
		takes |= PIPESIM_TAKES_SLICES;
	if (!pipesim_setup_check_used(o->setup, takes, error))
		return FALSE;
	o->chunks = o->placement->chunks;
	if (scenario->chunks > 0)
		o->chunks = scenario->chunks;
	if (scenario->pipelines > 0)
		o->chunks = scenario->pipelines;
	if (o->placement->placement != PIPESIM_BIDIRECTIONAL)
		return TRUE;
	if (o->chunks % 2 != 0 || scenario->ranks % (o->chunks / 2) != 0)
		return pipesim_fail(error, PIPESIM_ERROR_CONSTRAINT,
			"--pipelines: half of them go each way, and PP is a multiple of that "
			"half; %u pipelines on %u ranks are not",
			o->chunks, scenario->ranks);
	if (scenario->microbatches % o->chunks != 0)
		return pipesim_fail(error, PIPESIM_ERROR_CONSTRAINT,
			"--placement bidirectional: micro-batches are a multiple of the "
			"pipelines; nearest: %u",
			MAX(scenario->microbatches / o->chunks, 1u) * o->chunks);
	return TRUE;
}

/* Moves alone, time alone, both or the usual moves; @of has none. */
static gboolean read_effort(const Optimize *o, PipesimSearchOf *of, GError **error)
{
	const char *time = o->setup->text[PIPESIM_SET_TIME];
	const gboolean moves = o->setup->text[PIPESIM_SET_MOVES] != NULL;
	const PipesimScenario *scenario = &o->setup->scenario;
	const guint64 ops = (guint64)scenario->ranks * scenario->microbatches * o->chunks * 3;
	gint64 ns = 0;

	of->moves = o->setup->moves;
	if (time != NULL && !pipesim_parse_time(time, "--time", &ns, error))
		return FALSE;
	/* Times are ms without a unit; who asks for 10 here means seconds. */
	if (ns > 0 && !g_str_has_suffix(time, "s"))
		return pipesim_refuse(
			error, "--time: '%s' has no unit; write %ss or %sms", time, time, time);
	if (time != NULL && ns == 0 && of->moves > 0)
		return pipesim_refuse(
			error, "--time 0 leaves no moves; leave out --moves or --time");
	if (time == NULL && !moves)
		of->moves = MAX(USUAL_WORK / MAX(ops, LEAST_OPS), LEAST_MOVES);
	if (ns > 0)
		of->deadline = g_get_monotonic_time() + ns / 1000;
	return TRUE;
}

/* Files of orders to begin from, which tell the shape too where no option does. */
static gboolean read_starts(Optimize *o, GPtrArray *choices, GError **error)
{
	const PipesimSetup *setup = o->setup;

	o->programs = g_ptr_array_new_with_free_func((GDestroyNotify)pipesim_program_unref);
	for (guint i = 0; i < setup->n_operands; i++)
		if (!pipesim_choices_add(choices, setup->operands[i], error))
			return FALSE;
	pipesim_each_in (const PipesimChoice, choice, choices) {
		if (choice->file == NULL)
			return pipesim_refuse(error,
				"%s: all schedules of the placement are begun from anyway; "
				"name files of orders",
				pipesim_choice_name(choice));
		PipesimProgram *program = pipesim_order_expand(choice->file->order, error);
		if (program == NULL)
			return FALSE;
		g_ptr_array_add(o->programs, program);
	}
	return TRUE;
}

static gboolean check_outputs(const Optimize *o, GError **error)
{
	const PipesimSetup *setup = o->setup;
	const char *output = setup->text[PIPESIM_SET_OUTPUT], *extension;

	if (setup->flag[PIPESIM_SET_EXPLAIN_BOUND] &&
		(o->format == AS_JSON || o->format == AS_CSV))
		return pipesim_refuse(error, "--explain-bound is text; leave out --format %s",
			setup->text[PIPESIM_SET_FORMAT]);
	if (output == NULL)
		return TRUE;
	if (strcmp(output, "-") == 0)
		return pipesim_refuse(error, "-o - would mix the order with the result on "
					     "standard output; give it a file");
	extension = pipesim_path_extension(output);
	return *extension == '\0' || g_ascii_strcasecmp(extension, "csv") == 0 ||
	       pipesim_refuse(error,
		       "-o writes the order as a schedule file, not .%s; name it FILE.csv",
		       extension);
}

/* Search --------------------------------------------------------------------------------- */

static gboolean tell(const PipesimSearchNews *news, gpointer data)
{
	const Optimize *o = data;

	if (pipesim_progress_is_due() && news->makespan == 0) {
		pipesim_show_progress("bound ...");
	} else if (pipesim_progress_is_due()) {
		pipesim_show_progress("%s ms, bound %s ms, gap %.2f %%, %.1f M moves",
			pipesim_ms_fixed(news->makespan, 3), pipesim_ms_fixed(news->bound, 3),
			100 * (double)MAX(news->makespan - news->bound, 0) /
				(double)MAX(news->bound, 1),
			(double)news->moves / 1e6);
	}
	return !g_atomic_int_get(o->of.stop);
}

static gboolean search(Optimize *o, GError **error)
{
	PipesimSearchOf *of = &o->of;
	const guint objective = o->setup->objective; /* makespan, or a quantile */

	of->scenario = &o->setup->scenario;
	of->costs = o->setup->costs;
	of->placement = o->placement->placement;
	of->chunks = o->chunks;
	of->whole = o->setup->flag[PIPESIM_SET_FULL_BACKWARD] ||
		    pipesim_runtime_resolve(of->scenario->runtime, PIPESIM_RUNTIME_OF_FILES)
			    ->runs_whole;
	of->programs = o->programs;
	of->seed = o->setup->scenario.seed;
	of->explain = o->setup->flag[PIPESIM_SET_EXPLAIN_BOUND];
	of->threads = o->setup->threads;
	of->tell = tell;
	of->data = o;
	of->stop = pipesim_stop();
	of->by_quantile = objective > 0;
	of->quantile = of->by_quantile ? objective - 1 : 0;
	if (of->by_quantile && of->scenario->samples == 0)
		return pipesim_refuse(error,
			"--objective %s is of steps drawn at random; add --samples, for "
			"example --samples 200",
			pipesim_quantile_name(of->quantile));
	if (of->costs->post_validation && (of->explain || of->by_quantile))
		return pipesim_refuse(error,
			"%s is of a step that a barrier ends; leave out --post-validation",
			of->explain ? "--explain-bound" : "--objective");
	if (!read_effort(o, of, error))
		return FALSE;
	pipesim_catch_signals();
	pipesim_begin_progress("orders to begin from");
	if (o->setup->text[PIPESIM_SET_CURVE] != NULL)
		o->curve = pipesim_curve_new(of, error);
	else
		o->found = pipesim_mixed_search(of, error);
	pipesim_end_progress();
	return o->found != NULL || o->curve != NULL;
}

/* Output --------------------------------------------------------------------------------- */

/* The order found as a row, and the best of those made by hand. */
static PipesimComparison *compare(const Optimize *o)
{
	PipesimScenario scenario = pipesim_search_known(&o->of);

	scenario.keep = o->setup->text[PIPESIM_SET_TIMELINE] != NULL ||
					o->setup->text[PIPESIM_SET_CHROME_TRACE] != NULL ||
					o->setup->text[PIPESIM_SET_REPORT] != NULL
				? PIPESIM_KEEP_OPS
				: PIPESIM_KEEP_NOTHING;
	PipesimComparison *comparison = pipesim_comparison_new(&scenario, o->setup->costs);
	comparison->command = g_strdup(o->setup->command_line);
	comparison->notices = o->setup->notices;
	comparison->named = TRUE;
	o->setup->told = o->format == AS_TEXT;
	g_ptr_array_add(comparison->runs, pipesim_run_program("optimized", o->found->program,
						  NULL, &scenario, o->setup->costs));
	for (guint i = 0; i < MIN(o->found->starts->len, MOST_STARTS); i++) {
		const PipesimRun *start = g_ptr_array_index(o->found->starts, i);

		scenario.recompute = start->shape.recompute;
		scenario.offload = start->shape.offload;
		g_ptr_array_add(comparison->runs,
			pipesim_run_schedule(start->schedule, &scenario, o->setup->costs));
	}
	pipesim_comparison_finish(comparison);
	return comparison;
}

/* The file of the @i-th order that could not be begun from; NULL: there are no more. */
static const char *left_out(const Optimize *o, guint i)
{
	const GArray *left_out = o->found->left_out;
	const guint file = i < left_out->len ? g_array_index(left_out, guint, i) : G_MAXUINT;

	return file < o->setup->n_operands ? o->setup->operands[file] : NULL;
}

/* What was found, and how much shorter an order could be. */
static void decide(const Optimize *o, GPtrArray *verdict)
{
	const PipesimFound *found = o->found;
	const PipesimRun *best = found->starts->len > 0 ? found->starts->pdata[0] : NULL;
	const gint64 value = best != NULL ? pipesim_search_start_value(&o->of, best) : 0;
	g_autoptr(GString) out = g_string_new(NULL);

	/* Of a tighter limit a search may have made another one. */
	if (found->from != NULL && (found->limit == NULL || value <= found->makespan))
		g_string_append_printf(out, "Nothing was found that beats %s: ", found->from);
	else
		g_string_append(out, "The shortest order that was found takes ");
	if (o->of.by_quantile)
		g_string_append_printf(out, "%s of %u samples ",
			pipesim_quantile_name(o->of.quantile), o->setup->scenario.samples);
	g_string_append(out, pipesim_brief_time(found->makespan));
	if (o->of.by_quantile)
		g_string_append_printf(
			out, " (%s at usual times)", pipesim_brief_time(o->usual));
	/* What is known may be of no row: with less spared than the rows have. */
	if (value > found->makespan && (found->from == NULL || found->limit != NULL))
		g_string_append_printf(out, ", %.2f %% less than %s, the best known that fits",
			100 * (double)(value - found->makespan) / (double)value, best->name);
	pipesim_lines_say(verdict, "%s.", out->str);
	pipesim_say_gap(
		verdict, "order within the memory limit", "", o->usual, found->bound->time);
}

/* Ops of a kind of the order found. */
static guint count_ops(const Optimize *o, guint kind)
{
	const PipesimProgram *program = o->found->program;

	return (guint)pipesim_sum(i, program->n_ops, program->ops[i].kind == kind);
}

static void remark(const Optimize *o, GPtrArray *remarks)
{
	const char *path = o->setup->text[PIPESIM_SET_OUTPUT];
	const PipesimScenario *scenario = &o->setup->scenario;
	const PipesimShape *shape = &o->found->program->shape;
	const guint forwards = shape->stages * shape->microbatches;

	if (scenario->recompute > 0)
		pipesim_lines_say(remarks, "It runs %u of %u forwards once more",
			count_ops(o, PIPESIM_OP_RECOMPUTE), forwards);
	if (scenario->offload > 0)
		pipesim_lines_say(remarks, "It copies the activations of %u of %u forwards",
			count_ops(o, PIPESIM_OP_OFFLOAD_START), forwards);
	if (path != NULL)
		pipesim_lines_say(remarks, "The order was written to %s", path);
	if (o->found->limit != NULL)
		pipesim_lines_say(
			remarks, "It fits %s: more memory gained nothing", o->found->limit);
	for (guint i = 0; left_out(o, i) != NULL; i++)
		pipesim_lines_say(remarks,
			"%s was not used: it has another shape or other stages, holds more "
			"than the limit, or deadlocks",
			left_out(o, i));
}

static void put_start(PipesimJson *json, const Optimize *o, guint index)
{
	const PipesimRun *run = o != NULL ? o->found->starts->pdata[index] : NULL;

	PIPESIM_MEMBER(json, "name", TEXT, run->name);
	PIPESIM_MEMBER(json, "makespan_ms", TIME, run->report->makespan);
	if (PIPESIM_WHERE(json, run->report->period != NULL))
		PIPESIM_MEMBER(json, "period_ms", TIME, run->report->period->found.time);
	if (PIPESIM_WHERE(json, o->of.by_quantile))
		PIPESIM_MEMBER(
			json, "objective_ms", TIME, pipesim_search_start_value(&o->of, run));
}

static void put_found(PipesimJson *json, const Optimize *o, const PipesimFound *found)
{
	PIPESIM_MEMBER(json, "placement", TEXT, o->placement->name);
	PIPESIM_MEMBER(json, "stages_per_rank", COUNT, o->chunks);
	PIPESIM_MEMBER(json, "makespan_ms", TIME, o->makespan);
	if (PIPESIM_WHERE(json, o->setup->costs->post_validation))
		PIPESIM_MEMBER(json, "period_ms", TIME, o->usual);
	PIPESIM_MEMBER(json, "lower_bound_ms", TIME, found->bound->time);
	PIPESIM_MEMBER(json, "gap", SHARE, pipesim_found_gap(found, o->usual));
	if (PIPESIM_WHERE(json, o->setup->scenario.recompute > 0))
		PIPESIM_MEMBER(json, "recomputed", COUNT, count_ops(o, PIPESIM_OP_RECOMPUTE));
	if (PIPESIM_WHERE(json, o->setup->scenario.offload > 0))
		PIPESIM_MEMBER(json, "copied", COUNT, count_ops(o, PIPESIM_OP_OFFLOAD_START));
	PIPESIM_MEMBER(json, "objective", TEXT,
		o->of.by_quantile                  ? pipesim_quantile_name(o->of.quantile)
		: o->setup->costs->post_validation ? "period"
						   : "makespan");
	PIPESIM_MEMBER(json, "objective_ms", TIME, found->makespan);
	PIPESIM_MEMBER(json, "order_of", TEXT, found->from);
	PIPESIM_MEMBER(json, "within", TEXT, found->limit);
	PIPESIM_MEMBER(json, "schedule_file", TEXT, o->setup->text[PIPESIM_SET_OUTPUT]);
	PIPESIM_MEMBER(json, "moves", COUNT, found->moves);
	PIPESIM_LIST(json, "left_out", TEXT, found->left_out->len, left_out(o, i));
	PIPESIM_EACH(json, "schedules", line, found->starts->len, TRUE, put_start, o);
}

static void put_members(PipesimJson *json, gconstpointer of)
{
	const Optimize *o = of;
	const PipesimFound *found = PIPESIM_OF(o, found);

	PIPESIM_MEMBER(json, "pp", COUNT, o->setup->scenario.ranks);
	PIPESIM_MEMBER(json, "microbatches", COUNT, o->setup->scenario.microbatches);
	if (PIPESIM_WHERE(json, o->ordered != NULL))
		pipesim_ordered_members(json, PIPESIM_OF(o, ordered));
	if (PIPESIM_WHERE(json, o->curve != NULL))
		pipesim_curve_members(json, PIPESIM_OF(o, curve));
	if (PIPESIM_WHERE(json, found != NULL))
		put_found(json, o, found);
}

/* Of what has no runs to show: a curve, and the order of micro-batches. */
static gboolean write_page(const Optimize *o, GError **error)
{
	const char *path = o->setup->text[PIPESIM_SET_REPORT];
	g_autoptr(GString) answer = g_string_new(NULL), text = g_string_new(NULL);

	if (path == NULL)
		return TRUE;
	if (o->curve != NULL)
		pipesim_curve_answer(o->curve, &o->setup->scenario, answer);
	else
		pipesim_ordered_text(o->ordered, o->setup->text[PIPESIM_SET_OUTPUT],
			&(PipesimStyle){.answer = answer}, text);
	return pipesim_page_answer(o->setup->command_line, answer->str, path, error);
}

/* First the file of what has taken long to find. @comparison: of an order that was found */
static gboolean write_all(
	const Optimize *o, const PipesimComparison *comparison, GError **error)
{
	const char *path = o->setup->text[PIPESIM_SET_OUTPUT];
	const char *picture = o->setup->text[PIPESIM_SET_LINES];
	const PipesimStyle style = pipesim_terminal_style(o->setup, NULL);
	g_autoptr(GString) out = g_string_new(NULL), csv = g_string_new(NULL);

	if (o->curve != NULL)
		pipesim_curve_csv(o->curve, csv);
	else if (o->ordered != NULL)
		pipesim_ordered_csv(o->ordered, csv);
	else if (path != NULL || o->format == AS_CSV)
		pipesim_schedule_write_csv(o->found->program, csv);
	if (path != NULL && !pipesim_print(path, csv, error))
		return FALSE;
	if (o->format == AS_JSON)
		pipesim_command_json(&pipesim_command_optimize, o, out);
	else if (o->format == AS_PYTHON)
		pipesim_ordered_python(o->ordered, out);
	else if (o->format == AS_CSV)
		g_string_append_len(out, csv->str, (gssize)csv->len);
	else if (o->curve != NULL)
		pipesim_curve_text(o->curve, &style, out);
	else if (o->ordered != NULL)
		pipesim_ordered_text(o->ordered, path, &style, out);
	else
		pipesim_output_text.write(comparison, &style, out);
	if (o->setup->flag[PIPESIM_SET_EXPLAIN_BOUND]) {
		g_string_append(out, "\nWhy no order is shorter. F 3 of stage 2 is the third "
				     "forward that stage 2 runs, whichever\nmicro-batch that "
				     "is; [n] is the line that says so.\n\n");
		pipesim_bound_print(o->found->bound, o->found->instance, out);
	}
	if (comparison != NULL)
		return pipesim_print_drawn(o->setup, comparison, NULL, out, error);
	return (o->curve == NULL || picture == NULL ||
		       pipesim_curve_draw(o->curve, picture, error)) &&
	       write_page(o, error) && pipesim_print(NULL, out, error);
}

static gboolean write_found(Optimize *o, GError **error)
{
	const PipesimSetup *setup = o->setup;
	const char *timeline = setup->text[PIPESIM_SET_TIMELINE];
	g_autoptr(GPtrArray) verdict = pipesim_lines_new(NULL, NULL),
			     remarks = pipesim_lines_new(NULL, NULL);
	g_autoptr(GPtrArray) more = pipesim_lines_new(
		"--timeline FILE.svg", "--report FILE.html", "-o FILE.csv", NULL);
	g_autoptr(PipesimComparison) comparison = compare(o);
	guint i = 0;

	/* The order found stands wherever sorting has put it. */
	while (((PipesimRun *)comparison->runs->pdata[i])->schedule != NULL)
		i++;
	const PipesimRun *optimized = comparison->runs->pdata[i];
	if (!pipesim_run_check(optimized, error))
		return FALSE;
	o->makespan = optimized->report->makespan;
	o->usual = pipesim_report_step(optimized->report);
	if (timeline != NULL &&
		(!pipesim_layout_check(comparison, &setup->view, error) ||
			!pipesim_picture_check(comparison, timeline, &setup->view, error)))
		return FALSE;
	if (!pipesim_mixed_wanted(&setup->scenario))
		g_ptr_array_insert(more, 0, g_strdup("--explain-bound"));
	decide(o, verdict);
	remark(o, remarks);
	comparison->verdict = verdict;
	comparison->remarks = remarks;
	comparison->more = more;
	return write_all(o, comparison, error);
}

/* Curve ---------------------------------------------------------------------------------- */

/* What is asked for of a curve goes with it, and it with what is asked for. */
static gboolean check_curve(const PipesimSetup *setup, GError **error)
{
	const char *curve = setup->text[PIPESIM_SET_CURVE];

	if (curve == NULL)
		return setup->text[PIPESIM_SET_LINES] == NULL ||
		       pipesim_refuse(error, "--lines draws --curve memory; give it too");
	if (strcmp(curve, "memory") != 0)
		return pipesim_refuse(error, "--curve: '%s' is none; it is memory", curve);
	return pipesim_setup_without(setup, error,
		"--curve memory goes through all limits; leave out %s",
		PIPESIM_SET_MAX_ACTIVATIONS, PIPESIM_SET_MEMORY_LIMIT, PIPESIM_SET_OBJECTIVE,
		PIPESIM_SET_EXPLAIN_BOUND, PIPESIM_SET_TIMELINE, PIPESIM_SET_CHROME_TRACE,
		PIPESIM_SET_ORDER, PIPESIM_SET_PACK);
}

/* Micro-batches ---------------------------------------------------------------------------- */

/* The number of micro-batches, where their file alone tells. */
static gboolean count_lengths(PipesimSetup *setup, GError **error)
{
	const char *lengths = setup->text[PIPESIM_SET_LENGTHS];
	const char *path = lengths != NULL ? lengths : setup->text[PIPESIM_SET_OP_TIMES];
	g_autoptr(PipesimCosts) costs = pipesim_costs_default();

	if (path == NULL)
		return pipesim_refuse(error,
			"--order %s is of micro-batches that differ; give --lengths FILE or "
			"--op-times FILE",
			setup->text[PIPESIM_SET_ORDER]);
	if (setup->text[PIPESIM_SET_MICROBATCHES] != NULL)
		return TRUE;
	if (!pipesim_op_times_read(costs, pipesim_input_open(path, error), 1, error))
		return FALSE;
	setup->scenario.microbatches = costs->op_times->microbatches;
	return TRUE;
}

/* What --order microbatches does nothing with. */
static gboolean check_ordered(const PipesimSetup *setup, GError **error)
{
	if (!pipesim_setup_without(setup, error,
		    "%s has no effect on the order of micro-batches; leave it out",
		    PIPESIM_SET_FULL_BACKWARD, PIPESIM_SET_OBJECTIVE, PIPESIM_SET_TIME,
		    PIPESIM_SET_EXPLAIN_BOUND, PIPESIM_SET_TIMELINE, PIPESIM_SET_CHROME_TRACE,
		    PIPESIM_SET_POST_VALIDATION, PIPESIM_SET_JITTER, PIPESIM_SET_MESSAGE_BYTES,
		    PIPESIM_SET_TOPOLOGY))
		return FALSE;
	return !pipesim_runtime_waits(setup->scenario.runtime) ||
	       pipesim_refuse(error,
		       "--order %s takes messages that never wait; leave out --runtime",
		       setup->text[PIPESIM_SET_ORDER]);
}

/* The schedules in which micro-batches are put in order: what was asked for, or all of the placement. */
static gboolean choose_ordered(const Optimize *o, GPtrArray *choices, GError **error)
{
	const char *names = o->setup->text[PIPESIM_SET_SCHEDULE];
	const gboolean both = o->setup->order == 2;

	if (both && (names != NULL || choices->len > 0))
		return pipesim_refuse(error,
			"--order both looks through all schedules of --placement; leave out %s",
			names != NULL ? "--schedule" : "the files");
	if (!both)
		return (names == NULL && choices->len > 0) ||
		       pipesim_choices_add_list(choices, names != NULL ? names : "1f1b", error);
	for (const PipesimSchedule *const *at = pipesim_schedule_list(); *at != NULL; at++)
		if ((*at)->placement == o->placement->placement && (*at)->parts <= 1 &&
			(*at)->barriers == 0 &&
			!pipesim_choices_add(choices, (*at)->name, error))
			return FALSE;
	return TRUE;
}

static gboolean find_ordered(Optimize *o, GPtrArray *choices, GError **error)
{
	PipesimSetup *setup = o->setup;
	const guint64 ops =
		(guint64)setup->scenario.ranks * setup->scenario.microbatches * o->chunks * 3;
	const guint64 n = setup->text[PIPESIM_SET_MOVES] != NULL
				  ? setup->moves
				  : MAX(ORDERED_WORK / MAX(ops, 1u), 1000);

	if (!check_ordered(setup, error) || !choose_ordered(o, choices, error))
		return FALSE;
	o->ordered = (setup->text[PIPESIM_SET_PACK] != NULL
			      ? pipesim_packed_new
			      : pipesim_ordered_new)(setup, choices, n, error);
	return o->ordered != NULL;
}

/* Whether what is asked for goes with what is put in order. */
static gboolean check_order(const Optimize *o, GError **error)
{
	PipesimSetup *setup = o->setup;

	if (setup->order == 0 &&
		!pipesim_setup_without(setup, error,
			"%s is for --order microbatches; a search for an order of ops has "
			"micro-batches that are all alike",
			PIPESIM_SET_SCHEDULE, PIPESIM_SET_LENGTHS, PIPESIM_SET_OP_TIMES))
		return FALSE;
	if (o->format == AS_PYTHON && setup->order == 0)
		return pipesim_refuse(error, "--format python is of --order microbatches and "
					     "of --pack; an order of ops is written with -o");
	return setup->order == 0 || count_lengths(setup, error);
}

static gboolean run(PipesimSetup *setup, PipesimExit *answer, GError **error)
{
	g_autoptr(GPtrArray) choices = pipesim_choices_new();
	Optimize o = {.setup = setup};
	gboolean ok = pipesim_format(setup, "text json csv python", &o.format, error) &&
		      check_outputs(&o, error) &&
		      pipesim_check_page(setup->text[PIPESIM_SET_REPORT], error) &&
		      pipesim_setup_check_view(setup, error) && check_curve(setup, error) &&
		      pipesim_packed_check(setup, error) && check_order(&o, error) &&
		      read_starts(&o, choices, error);

	if (ok)
		pipesim_choices_shape(choices, &setup->scenario);
	ok = ok && pipesim_setup_require(setup, error) && read_placement(&o, error) &&
	     pipesim_setup_costs(setup, NULL, error);
	if (ok)
		pipesim_setup_sustain(setup);
	ok = ok && (setup->order > 0 ? find_ordered(&o, choices, error) : search(&o, error)) &&
	     (o.found != NULL ? write_found(&o, error) : write_all(&o, NULL, error));
	if (ok && o.found != NULL && o.found->stopped) {
		pipesim_print_notice("interrupted: the result is the best order found by then");
		*answer = PIPESIM_EXIT_STOPPED;
	}
	pipesim_found_free(o.found);
	pipesim_ordered_free(o.ordered);
	if (o.curve != NULL)
		g_array_unref(o.curve);
	if (o.programs != NULL)
		g_ptr_array_unref(o.programs);
	return ok;
}

const PipesimCommand pipesim_command_optimize = {
	.name = "optimize",
	.summary = "the shortest order within a memory limit, with proof",
	.usage = "[FILE.csv...]",
	.about = "Begins from every schedule of the placement that fits, and from the orders "
		 "in FILE.csv, and moves\nsingle ops within their ranks. Prints what it finds "
		 "beside the best schedules and how far it is,\nat most, above the shortest "
		 "order that there is within the memory limit.",
	.examples = "Examples:\n"
		    "  pipesim optimize --pp 8 --microbatches 32 --max-activations 6 --time "
		    "10s -o best.csv\n"
		    "  pipesim optimize --pp 8 --microbatches 16 --placement v --times "
		    "F=1,I=1.6,W=0.85\n\n"
		    "Exit status: 0 done, 2 usage, or no order fits the limit, 3 bad input "
		    "file,\n4 gnuplot missing or failed, 5 cannot write, 130 stopped: what was "
		    "found is written.\n",
	.operand = "an order to begin from",
	.operands = PIPESIM_PATH_SCHEDULES,
	.takes = {PIPESIM_ALL_SHAPE, PIPESIM_SET_PLACEMENT, PIPESIM_SET_FULL_BACKWARD,
		PIPESIM_SET_CURVE, PIPESIM_SET_LINES, PIPESIM_SET_ORDER, PIPESIM_SET_LENGTHS,
		PIPESIM_SET_PACK, PIPESIM_SET_OP_TIMES, PIPESIM_SET_SCHEDULE,
		PIPESIM_SET_OBJECTIVE, PIPESIM_SET_TIME, PIPESIM_SET_MOVES, PIPESIM_SET_THREADS,
		PIPESIM_SET_EXPLAIN_BOUND, PIPESIM_SET_FULL, PIPESIM_SET_FORMAT,
		PIPESIM_SET_OUTPUT, PIPESIM_ALL_RUNTIME, PIPESIM_SET_TIMELINE,
		PIPESIM_SET_CHROME_TRACE, PIPESIM_ALL_VIEW, PIPESIM_SET_REPORT,
		PIPESIM_SET_KEEP_GNUPLOT, PIPESIM_ALL_COSTS, PIPESIM_ALL_MODEL,
		PIPESIM_ALL_ENCODER, PIPESIM_ALL_NETWORK, PIPESIM_ALL_SAMPLES,
		PIPESIM_SET_FROM_MEGATRON, PIPESIM_SET_FROM_TORCHTITAN},
	.wording =
		{{PIPESIM_SET_SLICES, NULL,
			 "slices of equal length that each sequence is cut into (default: 1)",
			 NULL},
			{PIPESIM_SET_OFFLOAD_CHUNKS, NULL,
				"first stages of each rank whose activations may go to the "
				"host (default: 0)",
				NULL},
			{PIPESIM_SET_RECOMPUTE_CHUNKS, NULL,
				"first stages of each rank whose forward may run again before "
				"the backward (default: 0)",
				NULL},
			{PIPESIM_SET_CHUNKS, NULL,
				"stages on each rank of interleaved (default: 2) and wave "
				"placements (default: 4)",
				NULL},
			{PIPESIM_SET_PIPELINES, NULL,
				"pipelines of a bidirectional placement, over both directions "
				"(default: 2)",
				NULL},
			{PIPESIM_SET_FORMAT, NULL,
				"text, json, csv (what -o writes) or, of micro-batches in "
				"order or packed, python (default: text)",
				"text json csv python"},
			{PIPESIM_SET_OUTPUT, "FILE.csv",
				"file for the order, as a PyTorch schedule CSV; of "
				"micro-batches a line each",
				"csv"},
			{PIPESIM_SET_SCHEDULE, "NAME|FILE.csv",
				"schedule whose micro-batches are put in order (default: 1f1b)",
				NULL},
			{PIPESIM_SET_LINES, NULL,
				"draw the curve of --curve (.svg, .png, .pdf)", NULL},
			{PIPESIM_SET_SEED, NULL,
				"seed of the search and of random op times (default: 1)", NULL},
			{PIPESIM_SET_MAX_ACTIVATIONS, NULL,
				"activations that a rank may hold, in whole stages (default: "
				"PP, or as bytes allow)",
				NULL},
			{PIPESIM_SET_MEMORY_LIMIT, NULL,
				"memory that a rank may use, such as 80GB", NULL}},
	.members = put_members,
	.run = run,
};
