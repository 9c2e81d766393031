#include "config.h"

#include "base/json.h"
#include "output/figures.h"
#include "output/links.h"
#include "output/samples.h"

static void key_ms(PipesimJson *json, const char *key, gint64 ns)
{
	pipesim_json_key(json, key);
	pipesim_json_ms(json, ns);
}

static void key_double(PipesimJson *json, const char *key, double value)
{
	pipesim_json_key(json, key);
	pipesim_json_double(json, value);
}

static void key_bool(PipesimJson *json, const char *key, gboolean value)
{
	pipesim_json_key(json, key);
	pipesim_json_bool(json, value);
}

static void key_ints(PipesimJson *json, const char *key, const gint64 *values, guint n)
{
	pipesim_json_key(json, key);
	pipesim_json_open_array(json);
	for (guint i = 0; i < n; i++)
		pipesim_json_int(json, values[i]);
	pipesim_json_close(json);
}

static void key_times(PipesimJson *json, const char *key, const gint64 *ns, guint n)
{
	pipesim_json_key(json, key);
	pipesim_json_open_array(json);
	for (guint i = 0; i < n; i++)
		pipesim_json_ms(json, ns[i]);
	pipesim_json_close(json);
}

static void key_activations(
	PipesimJson *json, const char *key, const PipesimReport *report, const guint *chunks)
{
	pipesim_json_key(json, key);
	pipesim_json_open_array(json);
	for (guint i = 0; i < report->ranks; i++)
		pipesim_json_double(json, pipesim_figure_activations(report, chunks[i]));
	pipesim_json_close(json);
}

static void write_bubble(PipesimJson *json, const PipesimRun *run)
{
	const PipesimReport *report = run->report;

	pipesim_json_key(json, "bubble");
	pipesim_json_open_object(json);
	key_times(json, "per_rank_ms", report->bubble.idle, report->ranks);
	key_ms(json, "max_ms", report->bubble.max_idle);
	key_double(json, "ratio", pipesim_figure_fraction(report->bubble.ratio));
	key_ms(json, "span_max_ms", report->bubble.max_span_idle);
	pipesim_json_key(json, "formula_ms");
	if (report->published.has_bubble)
		pipesim_json_ms(json, report->published.bubble);
	else
		pipesim_json_null(json);
	pipesim_json_member_string(
		json, "formula", run->schedule != NULL ? run->schedule->bubble.text : NULL);
	pipesim_json_key(json, "difference_ms");
	if (report->published.has_bubble)
		pipesim_json_ms(json, report->published.difference);
	else
		pipesim_json_null(json);
	pipesim_json_close(json);
}

static void write_activations(PipesimJson *json, const PipesimReport *report)
{
	pipesim_json_key(json, "activations");
	pipesim_json_open_object(json);
	key_activations(json, "peak_per_rank", report, report->held.peak);
	key_activations(
		json, "peak_until_input_per_rank", report, report->held.peak_until_input);
	key_double(json, "peak", pipesim_figure_activations(report, report->held.max_peak));
	pipesim_json_key(json, "formula");
	if (report->published.has_activations)
		pipesim_json_double(
			json, pipesim_figure_fraction(report->published.activations));
	else
		pipesim_json_null(json);
	pipesim_json_close(json);
}

static void write_memory(PipesimJson *json, const PipesimReport *report, gint64 limit)
{
	pipesim_json_key(json, "memory_bytes");
	if (report->memory.peak == NULL) {
		pipesim_json_null(json);
		return;
	}
	pipesim_json_open_object(json);
	key_ints(json, "peak_per_rank", report->memory.peak, report->ranks);
	key_ints(json, "until_input_per_rank", report->memory.until_input, report->ranks);
	key_ints(json, "until_weight_per_rank", report->memory.until_weight, report->ranks);
	pipesim_json_member_int(json, "parameters", report->memory.parameters);
	pipesim_json_key(json, "limit");
	if (limit > 0)
		pipesim_json_int(json, limit);
	else
		pipesim_json_null(json);
	key_bool(json, "fits", report->memory.fits);
	pipesim_json_close(json);
}

static void write_reasons(PipesimJson *json, const PipesimReport *report)
{
	pipesim_json_key(json, "reasons");
	pipesim_json_open_array(json);
	for (guint i = 0; i < report->published.reasons->len; i++)
		pipesim_json_string(json, g_ptr_array_index(report->published.reasons, i));
	pipesim_json_close(json);
}

static void write_peak_ops(PipesimJson *json, const PipesimRun *run)
{
	g_autoptr(GString) op = g_string_new(NULL);

	pipesim_json_key(json, "peak_op_per_rank");
	if (run->report->held.peak_op == NULL) {
		pipesim_json_null(json);
		return;
	}
	pipesim_json_open_array(json);
	for (guint i = 0; i < run->report->ranks; i++) {
		guint32 peak = run->report->held.peak_op[i];

		g_string_truncate(op, 0);
		if (peak != PIPESIM_NO_OP)
			pipesim_op_print(
				run->step->program, i, &run->step->program->ops[peak], op);
		pipesim_json_string(json, peak != PIPESIM_NO_OP ? op->str : NULL);
	}
	pipesim_json_close(json);
}

static void write_comm(PipesimJson *json, const PipesimRun *run)
{
	const PipesimCommReport *comm = run->report->comm;

	pipesim_json_key(json, "comm");
	if (comm == NULL) {
		pipesim_json_null(json);
		return;
	}
	pipesim_json_open_object(json);
	pipesim_json_member_string(json, "mode", pipesim_comm_name(comm->comm));
	key_ms(json, "rules_ms", comm->rules);
	key_ms(json, "moves_ms", comm->moves);
	key_times(json, "waiting_per_rank_ms", comm->waiting, run->report->ranks);
	key_times(json, "moving_per_rank_ms", comm->moving, run->report->ranks);
	pipesim_json_member_int(json, "messages", comm->n_messages);
	key_bool(json, "split_pairs", pipesim_run_split(run));
	pipesim_json_close(json);
}

static void write_result(PipesimJson *json, const PipesimComparison *comparison,
	const PipesimRun *run, gboolean best)
{
	pipesim_json_member_int(json, "microbatches", pipesim_shape_whole(&run->shape));
	pipesim_json_member_int(json, "stages", run->shape.stages);
	key_ms(json, "makespan_ms", run->report->makespan);
	write_bubble(json, run);
	write_activations(json, run->report);
	pipesim_json_member_int(json, "parameter_copies", run->shape.copies);
	write_memory(json, run->report, comparison->scenario.memory_limit);
	key_double(json, "throughput_vs_1f1b", pipesim_throughput(comparison, run));
	key_bool(json, "best", best);
	write_reasons(json, run->report);
	pipesim_json_member_string(json, "extension", pipesim_figure_extension(run));
	pipesim_json_member_string(json, "search", pipesim_figure_search(run));
	write_peak_ops(json, run);
	pipesim_json_key(json, "lower_bound_ms");
	if (run->report->path.has_bound)
		pipesim_json_ms(json, run->report->path.lower_bound);
	else
		pipesim_json_null(json);
	pipesim_json_key(json, "critical_path_ops");
	if (run->report->path.ops != NULL)
		pipesim_json_int(json, run->report->path.n_ops);
	else
		pipesim_json_null(json);
	pipesim_json_key(json, "links");
	pipesim_links_json(json, run);
	pipesim_json_member_int(json, "ranks", run->shape.ranks);
	if (comparison->scenario.comm != PIPESIM_COMM_ASYNC)
		write_comm(json, run);
	pipesim_samples_json_run(comparison, run, json);
}

static void write_times(PipesimJson *json, const PipesimCosts *costs)
{
	static const PipesimKind order[] = {
		PIPESIM_F, PIPESIM_I, PIPESIM_W, PIPESIM_B, PIPESIM_FB};

	pipesim_json_key(json, "times_ms");
	pipesim_json_open_line(json);
	for (gsize i = 0; i < G_N_ELEMENTS(order); i++)
		key_ms(json, pipesim_kind_letter(order[i]), costs->time[order[i]]);
	key_ms(json, "P2P", costs->p2p);
	pipesim_json_close(json);
}

static void write_json(const PipesimComparison *comparison,
	const PipesimStyle *style G_GNUC_UNUSED, GString *out)
{
	g_autoptr(PipesimJson) json = pipesim_json_new(out);
	int best = pipesim_comparison_best(comparison);

	pipesim_json_open_object(json);
	pipesim_json_key(json, "pipesim");
	pipesim_json_open_line(json);
	pipesim_json_member_string(json, "version", PACKAGE_VERSION);
	pipesim_json_member_int(json, "schema", 1);
	pipesim_json_close(json);
	pipesim_json_member_int(json, "pp", comparison->scenario.ranks);
	pipesim_json_member_int(json, "microbatches", comparison->scenario.microbatches);
	write_times(json, comparison->costs);
	pipesim_json_member_string(json, "source", comparison->costs->source);
	pipesim_json_member_string(json, "compare_at",
		comparison->scenario.compare_at == PIPESIM_AT_STAGES ? "stages" : "ranks");
	pipesim_json_key(json, "schedules");
	pipesim_json_open_array(json);
	for (guint i = 0; i < comparison->runs->len; i++) {
		const PipesimRun *run = g_ptr_array_index(comparison->runs, i);

		pipesim_json_open_object(json);
		pipesim_json_member_string(json, "name", run->name);
		if (run->error != NULL)
			pipesim_json_member_string(json, "error", run->error->message);
		else
			write_result(json, comparison, run, (int)i == best);
		pipesim_json_close(json);
	}
	pipesim_json_close(json);
	if (comparison->scenario.comm != PIPESIM_COMM_ASYNC)
		pipesim_json_member_string(
			json, "comm", pipesim_comm_name(comparison->scenario.comm));
	pipesim_samples_json(comparison, json);
	pipesim_json_close(json);
}

const PipesimOutput pipesim_output_json = {
	.name = "json",
	.extensions = "json",
	.summary = "one JSON object with every figure, exact, for other programs",
	.keep = PIPESIM_KEEP_FITTING,
	.critical = TRUE,
	.write = write_json,
};
