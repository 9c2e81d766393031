#include "config.h"

#include "base/json.h"
#include "base/sink.h"
#include "output/figures.h"
#include "output/output.h"
#include "plan/plan.h"
#include "runtime/csv.h"
#include <errno.h>
#include <glib/gstdio.h>
#include <math.h>

/* Other formats -------------------------------------------------------------------------- */

/* How a candidate trains. */
static void write_way(const PipesimCandidate *candidate, PipesimJson *json)
{
	const PipesimTraining *training = &candidate->training;
	g_autofree char *recompute = pipesim_plan_recompute(training, "+");
	const struct {
		const char *key;
		gint64 value;
	} sizes[] = {{"tp", training->tp}, {"pp", candidate->ranks}, {"cp", training->cp},
		{"ep", training->ep}, {"dp", training->dp},
		{"microbatch_size", training->microbatch},
		{"microbatches", candidate->microbatches}};
	char room[64];

	pipesim_json_member_string(
		json, "schedule", pipesim_plan_schedule(candidate, room, sizeof room));
	for (guint i = 0; i < G_N_ELEMENTS(sizes); i++)
		pipesim_json_member_int(json, sizes[i].key, sizes[i].value);
	pipesim_json_member_string(json, "recompute", recompute);
}

/* What that gives, but for its times. */
static void write_figures(const PipesimCandidate *candidate, PipesimJson *json)
{
	const struct {
		const char *key;
		double value;
	} shares[] = {{"mfu", candidate->mfu}, {"bubble", candidate->bubble},
		{"recomputation", candidate->again}, {"messages", candidate->messages},
		{"after_ops", candidate->after}};

	pipesim_json_member_int(json, "tokens_per_second", candidate->tokens);
	for (guint i = 0; i < G_N_ELEMENTS(shares); i++) {
		pipesim_json_key(json, shares[i].key);
		pipesim_json_double(json, shares[i].value);
	}
	pipesim_json_member_int(json, "peak_bytes", candidate->memory);
	pipesim_json_member_int(json, "fullest_rank", candidate->fullest);
}

static void write_candidate(
	const PipesimPlanning *plan, const PipesimCandidate *candidate, PipesimJson *json)
{
	g_autoptr(PipesimStages) stages = pipesim_plan_stages(plan, candidate);
	g_autoptr(GString) layout = g_string_new(NULL);
	g_autoptr(GString) command = g_string_new(NULL);

	if (stages != NULL)
		pipesim_stages_print(stages, layout);
	pipesim_plan_command(plan, candidate, command);
	pipesim_json_open_object(json, NULL);
	write_way(candidate, json);
	pipesim_json_member_string(json, "layout", layout->str);
	pipesim_json_key(json, "layout_exact");
	pipesim_json_bool(json, candidate->gap == 0);
	pipesim_json_key(json, "layout_gap");
	pipesim_json_double(json, candidate->gap < 1 ? candidate->gap : (double)NAN);
	pipesim_json_key(json, "step_ms");
	pipesim_json_ms(json, candidate->step);
	pipesim_json_key(json, "makespan_ms");
	pipesim_json_ms(json, candidate->makespan);
	write_figures(candidate, json);
	pipesim_json_member_string(json, "command", command->str);
	pipesim_json_close(json);
}

static void write_list(
	const PipesimPlanning *plan, const char *key, const GArray *list, PipesimJson *json)
{
	pipesim_json_open_array(json, key);
	for (guint i = 0; i < list->len; i++)
		write_candidate(plan, &g_array_index(list, PipesimCandidate, i), json);
	pipesim_json_close(json);
}

void pipesim_plan_json(const PipesimPlanning *plan, GString *out)
{
	const PipesimPlanned *planned = plan->planned;
	g_autoptr(PipesimJson) json = pipesim_json_new(out);

	pipesim_json_open_document(json);
	pipesim_json_member_string(json, "model", plan->wish.model->name);
	pipesim_json_member_int(json, "gpus", plan->wish.gpus);
	pipesim_json_member_int(json, "global_batch", plan->wish.batch);
	pipesim_json_member_int(json, "memory_bytes", plan->wish.memory);
	pipesim_json_member_int(json, "candidates", planned->candidates);
	pipesim_json_member_int(json, "too_large", planned->too_large);
	pipesim_json_member_int(json, "beaten", planned->beaten);
	pipesim_json_member_int(json, "simulated", planned->simulated);
	if (plan->wish.layouts)
		pipesim_json_member_int(json, "laid_out", planned->laid_out);
	write_list(plan, "best", planned->best, json);
	write_list(plan, "near_misses", planned->misses, json);
	pipesim_json_close(json);
}

/* A row of each that none beats in step and memory both. */
void pipesim_plan_csv(const PipesimPlanning *plan, GString *out)
{
	const GArray *frontier = plan->planned->frontier;
	PipesimNumber step, makespan;

	g_string_append(out,
		"schedule,tp,pp,cp,ep,dp,microbatch_size,microbatches,recompute,"
		"step_ms,makespan_ms,tokens_per_second,mfu,peak_bytes,fullest_rank,"
		"command\n");
	for (guint i = 0; i < frontier->len; i++) {
		const PipesimCandidate *candidate =
			&g_array_index(frontier, PipesimCandidate, i);
		const PipesimTraining *training = &candidate->training;
		g_autofree char *recompute = pipesim_plan_recompute(training, "+");
		g_autoptr(GString) command = g_string_new(NULL);
		char room[64], mfu[G_ASCII_DTOSTR_BUF_SIZE] = "";

		if (!isnan(candidate->mfu))
			g_ascii_formatd(mfu, sizeof mfu, "%.4f", candidate->mfu);
		pipesim_plan_command(plan, candidate, command);
		pipesim_csv_quote(out, pipesim_plan_schedule(candidate, room, sizeof room));
		g_string_append_printf(out,
			",%" G_GINT64_FORMAT ",%u,%" G_GINT64_FORMAT ",%" G_GINT64_FORMAT
			",%" G_GINT64_FORMAT ",%" G_GINT64_FORMAT ",%u,%s,",
			training->tp, candidate->ranks, training->cp, training->ep,
			training->dp, training->microbatch, candidate->microbatches, recompute);
		g_string_append_printf(out,
			"%s,%s,%" G_GINT64_FORMAT ",%s,%" G_GINT64_FORMAT ",%u,",
			pipesim_print_ms(step, candidate->step),
			pipesim_print_ms(makespan, candidate->makespan), candidate->tokens, mfu,
			candidate->memory, candidate->fullest);
		pipesim_csv_quote(out, command->str);
		g_string_append_c(out, '\n');
	}
}

/* Rows of all candidates ----------------------------------------------------------------- */

static void put_header(gconstpointer data G_GNUC_UNUSED, GString *out)
{
	g_string_append(out,
		"schedule,tp,pp,cp,ep,dp,microbatch_size,microbatches,recompute,bound_ms,"
		"step_ms,makespan_ms,tokens_per_second,mfu,bubble,recomputation,messages,"
		"after_ops,peak_bytes,fullest_rank,fits\n");
}

static void put_nothing(gconstpointer data G_GNUC_UNUSED, GString *out G_GNUC_UNUSED)
{
}

/* What is known before it is simulated. */
static void begin_json(const PipesimCandidate *candidate, PipesimJson *json)
{
	pipesim_json_open_line(json, NULL);
	write_way(candidate, json);
	pipesim_json_key(json, "bound_ms");
	pipesim_json_ms(json, candidate->bound);
}

static void begin_csv(const PipesimCandidate *candidate, GString *out)
{
	const PipesimTraining *training = &candidate->training;
	g_autofree char *recompute = pipesim_plan_recompute(training, "+");
	PipesimNumber bound;
	char room[64];

	pipesim_csv_quote(out, pipesim_plan_schedule(candidate, room, sizeof room));
	g_string_append_printf(out,
		",%" G_GINT64_FORMAT ",%u,%" G_GINT64_FORMAT ",%" G_GINT64_FORMAT
		",%" G_GINT64_FORMAT ",%" G_GINT64_FORMAT ",%u,%s,%s",
		training->tp, candidate->ranks, training->cp, training->ep, training->dp,
		training->microbatch, candidate->microbatches, recompute,
		pipesim_print_ms(bound, candidate->bound));
}

static void put_key(gconstpointer data, guint64 point, guint line G_GNUC_UNUSED, GString *out)
{
	const PipesimPlanLines *lines = data;
	const PipesimCandidate candidate =
		pipesim_planner_candidate(lines->planner, (guint)point, NULL);
	g_autoptr(PipesimJson) json = NULL;
	gsize length;

	if (lines->format == PIPESIM_ROWS_CSV) {
		begin_csv(&candidate, out);
		return;
	}
	json = pipesim_json_new(out);
	begin_json(&candidate, json);
	length = out->len;
	pipesim_json_close(json);
	g_string_truncate(out, length);
}

/* Figures are null where it did not run. */
static void write_json(const PipesimCandidate *candidate, GString *out)
{
	g_autoptr(PipesimJson) json = pipesim_json_new(out);

	begin_json(candidate, json);
	pipesim_json_key(json, "step_ms");
	if (candidate->step > 0)
		pipesim_json_ms(json, candidate->step);
	else
		pipesim_json_null(json);
	pipesim_json_key(json, "makespan_ms");
	if (candidate->step > 0)
		pipesim_json_ms(json, candidate->makespan);
	else
		pipesim_json_null(json);
	write_figures(candidate, json);
	pipesim_json_key(json, "fits");
	pipesim_json_bool(json, candidate->fits);
	pipesim_json_close(json);
}

/* And empty in a CSV. */
static void write_csv(const PipesimCandidate *candidate, GString *out)
{
	const double shares[] = {candidate->mfu, candidate->bubble, candidate->again,
		candidate->messages, candidate->after};
	PipesimNumber step, makespan, number;

	begin_csv(candidate, out);
	if (candidate->step == 0) {
		g_string_append(out, ",,,,,,,,,,,false\n");
		return;
	}
	g_string_append_printf(out, ",%s,%s,%" G_GINT64_FORMAT,
		pipesim_print_ms(step, candidate->step),
		pipesim_print_ms(makespan, candidate->makespan), candidate->tokens);
	for (guint i = 0; i < G_N_ELEMENTS(shares); i++)
		g_string_append_printf(out, ",%s",
			isnan(shares[i]) ? "" : pipesim_print_double(number, shares[i]));
	g_string_append_printf(out, ",%" G_GINT64_FORMAT ",%u,%s\n", candidate->memory,
		candidate->fullest, candidate->fits ? "true" : "false");
}

static void put_rows(gconstpointer data, const PipesimSweepBlock *block, GString *out)
{
	const PipesimPlanLines *lines = data;

	for (guint i = 0; i < block->n_points; i++) {
		const PipesimCandidate candidate = pipesim_planner_candidate(
			lines->planner, (guint)block->first + i, &block->results[i].brief);

		if (lines->format == PIPESIM_ROWS_CSV)
			write_csv(&candidate, out);
		else
			write_json(&candidate, out);
	}
}

PipesimRows pipesim_plan_rows(const PipesimPlanLines *lines)
{
	const gboolean csv = lines->format == PIPESIM_ROWS_CSV;

	return (PipesimRows){.width = 1,
		.titled = csv,
		.header = csv ? put_header : put_nothing,
		.key = put_key,
		.append = put_rows,
		.data = lines};
}

/* Files ---------------------------------------------------------------------------------- */

static gboolean write_file(
	const char *folder, const char *name, const GString *text, GError **error)
{
	g_autofree char *path = g_build_filename(folder, name, NULL);

	return pipesim_write_file(path, text->str, text->len, error);
}

/* Order and timeline of @candidate, op by op. */
static gboolean write_run(const PipesimPlanning *plan, const PipesimCandidate *candidate,
	const char *folder, GError **error)
{
	PipesimScenario scenario = pipesim_planner_scenario(&plan->wish, candidate);
	g_autoptr(PipesimCosts) costs = pipesim_planner_costs(&plan->wish, candidate, error);
	g_autofree char *timeline = g_build_filename(folder, "timeline.json", NULL);
	g_autoptr(PipesimComparison) comparison = NULL;
	g_autoptr(GString) csv = g_string_new(NULL), command = g_string_new(NULL);
	PipesimRun *run;

	if (costs == NULL)
		return FALSE;
	scenario.keep = PIPESIM_KEEP_OPS;
	pipesim_plan_command(plan, candidate, command);
	comparison = pipesim_comparison_new(&scenario, costs);
	comparison->command = g_strdup(command->str);
	run = pipesim_run_schedule(candidate->schedule, &scenario, costs);
	g_ptr_array_add(comparison->runs, run);
	if (run->error != NULL) {
		g_propagate_error(error, g_error_copy(run->error));
		return FALSE;
	}
	pipesim_schedule_write_csv(run->step->whole, csv);
	return write_file(folder, "schedule.csv", csv, error) &&
	       pipesim_chrome_trace_write(comparison, timeline, error);
}

/* Everything about the best, in @folder. */
gboolean pipesim_plan_folder(const PipesimPlanning *plan, const char *folder, GError **error)
{
	const PipesimCandidate *best = &g_array_index(plan->planned->best, PipesimCandidate, 0);
	g_autoptr(PipesimStages) stages = pipesim_plan_stages(plan, best);
	g_autoptr(GString) json = g_string_new(NULL);
	g_autoptr(GString) layout = g_string_new(NULL);
	g_autoptr(GString) megatron = g_string_new(NULL);
	g_autoptr(GString) titan = g_string_new(NULL);
	g_autoptr(GString) recipe = g_string_new(NULL);
	g_autoptr(GString) command = g_string_new(NULL);

	if (g_mkdir_with_parents(folder, 0777) != 0)
		return pipesim_fail(error, PIPESIM_ERROR_WRITE, "cannot make the folder %s: %s",
			folder, g_strerror(errno));
	pipesim_plan_json(plan, json);
	if (stages != NULL)
		pipesim_stages_print(stages, layout);
	g_string_append_c(layout, '\n');
	pipesim_plan_megatron(plan, best, megatron);
	pipesim_plan_torchtitan(plan, best, titan);
	pipesim_plan_torchtitan_recipe(plan, best, recipe);
	pipesim_plan_command(plan, best, command);
	g_string_append_c(command, '\n');
	return write_file(folder, "plan.json", json, error) &&
	       write_file(folder, "layout.txt", layout, error) &&
	       write_file(folder, "megatron.txt", megatron, error) &&
	       write_file(folder, "torchtitan.toml", titan, error) &&
	       write_file(folder, "torchtitan.py", recipe, error) &&
	       write_file(folder, "command.txt", command, error) &&
	       write_run(plan, best, folder, error);
}
