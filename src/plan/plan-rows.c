#include "plan/plan.h"
#include "runtime/csv.h"
#include <errno.h>
#include <glib/gstdio.h>

/* Members ---------------------------------------------------------------------------------- */

/* How a candidate trains. */
static void put_way(PipesimJson *json, const PipesimCandidate *candidate)
{
	const PipesimTraining *training = candidate != NULL ? &candidate->training : NULL;
	g_autofree char *recompute =
		training != NULL ? pipesim_plan_recompute(training, "+") : NULL;
	char room[64];

	PIPESIM_MEMBER(
		json, "schedule", TEXT, pipesim_plan_schedule(candidate, room, sizeof room));
	PIPESIM_MEMBER(json, "tp", COUNT, training->tp);
	PIPESIM_MEMBER(json, "pp", COUNT, candidate->ranks);
	PIPESIM_MEMBER(json, "cp", COUNT, training->cp);
	PIPESIM_MEMBER(json, "ep", COUNT, training->ep);
	PIPESIM_MEMBER(json, "dp", COUNT, training->dp);
	PIPESIM_MEMBER(json, "microbatch_size", COUNT, training->microbatch);
	PIPESIM_MEMBER(json, "microbatches", COUNT, candidate->microbatches);
	PIPESIM_MEMBER(json, "recompute", TEXT, recompute);
	PIPESIM_MEMBER(json, "expert_tp", COUNT, training->etp);
	PIPESIM_MEMBER(json, "zero", TEXT, pipesim_plan_zero(training));
}

/* What that gives; nothing where it did not run. */
static void put_figures(PipesimJson *json, const PipesimCandidate *c)
{
	const gboolean ran = c != NULL && c->step > 0;

	PIPESIM_MEMBER(json, "step_ms", TIME, PIPESIM_KNOWN(ran, c->step));
	PIPESIM_MEMBER(json, "makespan_ms", TIME, PIPESIM_KNOWN(ran, c->makespan));
	PIPESIM_MEMBER(json, "tokens_per_second", COUNT, PIPESIM_KNOWN(ran, c->tokens));
	PIPESIM_MEMBER(json, "mfu", SHARE, ran ? c->mfu : (double)NAN);
	PIPESIM_MEMBER(json, "bubble", SHARE, ran ? c->bubble : (double)NAN);
	PIPESIM_MEMBER(json, "recomputation", SHARE, ran ? c->again : (double)NAN);
	PIPESIM_MEMBER(json, "messages", SHARE, ran ? c->messages : (double)NAN);
	PIPESIM_MEMBER(json, "after_ops", SHARE, ran ? c->after : (double)NAN);
	PIPESIM_MEMBER(json, "peak_bytes", BYTES, PIPESIM_KNOWN(ran, c->memory));
	PIPESIM_MEMBER(json, "fullest_rank", COUNT, PIPESIM_KNOWN(ran, c->fullest));
}

static const PipesimPlanRow *row_of(const GArray *rows, guint index)
{
	return rows != NULL ? &g_array_index(rows, PipesimPlanRow, index) : NULL;
}

static void put_candidate(PipesimJson *json, const GArray *rows, guint index)
{
	const PipesimPlanRow *row = row_of(rows, index);
	const PipesimCandidate *candidate = PIPESIM_OF(row, candidate);
	g_autoptr(PipesimStages) stages =
		row != NULL ? pipesim_plan_stages(row->of, candidate) : NULL;
	g_autoptr(GString) layout = g_string_new(NULL), command = g_string_new(NULL);

	if (stages != NULL)
		pipesim_stages_print(stages, layout);
	if (row != NULL)
		pipesim_plan_command(row->of, candidate, command);
	PIPESIM_MEMBER(json, "for", TEXT, pipesim_framework(&row->of->wish)->name);
	put_way(json, candidate);
	PIPESIM_MEMBER(json, "layout", TEXT, layout->str);
	PIPESIM_MEMBER(json, "layout_exact", YES_OR_NO, candidate->gap == 0);
	PIPESIM_MEMBER(
		json, "layout_gap", SHARE, candidate->gap < 1 ? candidate->gap : (double)NAN);
	put_figures(json, candidate);
	PIPESIM_MEMBER(json, "parameter_bytes", BYTES, candidate->parameters);
	PIPESIM_MEMBER(json, "activation_bytes", BYTES, candidate->activations);
	PIPESIM_MEMBER(json, "transient_bytes", BYTES, candidate->transient);
	PIPESIM_MEMBER(json, "reserve_bytes", BYTES, candidate->reserve);
	PIPESIM_MEMBER(json, "alike", TEXT, candidate->alike);
	PIPESIM_MEMBER(json, "command", TEXT, command->str);
}

static void put_best(PipesimJson *json, const PipesimAdvice *plan, guint index)
{
	put_candidate(json, PIPESIM_OF(plan, rows), index);
	PIPESIM_MEMBER(json, "error", SHARE, row_of(plan->rows, index)->error);
	PIPESIM_MEMBER(json, "equal", YES_OR_NO, row_of(plan->rows, index)->equal);
}

static void put_miss(PipesimJson *json, const PipesimAdvice *plan, guint index)
{
	g_autofree char *cure =
		plan != NULL ? pipesim_advice_cure(row_of(plan->misses, index)) : NULL;

	put_candidate(json, PIPESIM_OF(plan, misses), index);
	PIPESIM_MEMBER(json, "fits", TEXT, cure);
}

PipesimPlanned pipesim_advice_sum(const PipesimAdvice *plan)
{
	PipesimPlanned sum = {0};

	pipesim_each_in (const PipesimPlanning, of, plan->asked) {
		const PipesimPlanned *one = of->planned;

		sum.candidates += one->candidates;
		sum.too_large += one->too_large;
		sum.beaten += one->beaten;
		sum.simulated += one->simulated;
		sum.laid_out += one->laid_out;
	}
	return sum;
}

/* What steps that were run correct. */
static void put_measured(PipesimJson *json, const PipesimAdvice *plan, guint i G_GNUC_UNUSED)
{
	PIPESIM_MEMBER(json, "steps", COUNT, plan->measured.steps);
	PIPESIM_MEMBER(json, "factors", COUNT, plan->measured.factors);
	PIPESIM_MEMBER(json, "kernels", FACTOR, plan->measured.pace[0]);
	PIPESIM_MEMBER(json, "messages", FACTOR, plan->measured.pace[1]);
	PIPESIM_MEMBER(json, "error_before", SHARE, plan->measured.before);
	PIPESIM_MEMBER(json, "error_after", SHARE, plan->measured.after);
}

void pipesim_plan_members(PipesimJson *json, gconstpointer of)
{
	const PipesimAdvice *plan = of;
	const PipesimWish *wish =
		plan != NULL ? &((PipesimPlanning *)plan->asked->pdata[0])->wish : NULL;
	const PipesimPlanned all =
		plan != NULL ? pipesim_advice_sum(plan) : (PipesimPlanned){0};
	g_autofree char *decision = plan != NULL ? pipesim_advice_decision(plan) : NULL;

	PIPESIM_MEMBER(json, "model", TEXT, wish->model->name);
	PIPESIM_MEMBER(json, "gpus", COUNT, wish->gpus);
	PIPESIM_MEMBER(json, "global_batch", COUNT, wish->batch);
	PIPESIM_MEMBER(json, "memory_bytes", BYTES, wish->memory);
	PIPESIM_MEMBER(json, "candidates", COUNT, all.candidates);
	PIPESIM_MEMBER(json, "too_large", COUNT, all.too_large);
	PIPESIM_MEMBER(json, "beaten", COUNT, all.beaten);
	PIPESIM_MEMBER(json, "simulated", COUNT, all.simulated);
	if (PIPESIM_WHERE(json, wish->layouts))
		PIPESIM_MEMBER(json, "laid_out", COUNT, all.laid_out);
	PIPESIM_MEMBER(json, "decision", TEXT, decision);
	PIPESIM_OBJECT(json, "measured", object, plan->measured.steps > 0, put_measured, plan);
	PIPESIM_EACH(json, "best", object, plan->rows->len, TRUE, put_best, plan);
	PIPESIM_EACH(json, "near_misses", object, plan->misses->len, TRUE, put_miss, plan);
}

/* Of one that none beats in step and memory both. */
static void put_trade(PipesimJson *json, const GArray *rows, guint index)
{
	const PipesimPlanRow *row = row_of(rows, index);
	const PipesimCandidate *c = PIPESIM_OF(row, candidate);
	g_autoptr(GString) command = g_string_new(NULL);
	char mfu[G_ASCII_DTOSTR_BUF_SIZE] = "";

	if (c != NULL)
		pipesim_plan_command(row->of, c, command);
	if (c != NULL && !isnan(c->mfu))
		g_ascii_formatd(mfu, sizeof mfu, "%.4f", c->mfu);
	put_way(json, c);
	PIPESIM_MEMBER(json, "step_ms", TIME, c->step);
	PIPESIM_MEMBER(json, "makespan_ms", TIME, c->makespan);
	PIPESIM_MEMBER(json, "tokens_per_second", COUNT, c->tokens);
	PIPESIM_MEMBER(json, "mfu", TEXT, mfu);
	PIPESIM_MEMBER(json, "peak_bytes", BYTES, c->memory);
	PIPESIM_MEMBER(json, "fullest_rank", COUNT, c->fullest);
	PIPESIM_MEMBER(json, "for", TEXT, pipesim_framework(&row->of->wish)->name);
	PIPESIM_MEMBER(json, "command", TEXT, command->str);
}

void pipesim_plan_csv(const PipesimAdvice *plan, GString *out)
{
	g_autoptr(GArray) rows = g_array_new(FALSE, FALSE, sizeof(PipesimPlanRow));

	pipesim_each_in (const PipesimPlanning, of, plan->asked) {
		pipesim_each (const PipesimCandidate, candidate, of->planned->frontier) {
			const PipesimPlanRow row = {.of = of, .candidate = candidate};

			g_array_append_val(rows, row);
		}
	}
	PIPESIM_CSV(out, rows->len, put_trade, rows);
}

/* Rows of all candidates ----------------------------------------------------------------- */

/* What is known before it is simulated, then what came of that. */
static void put_row(PipesimJson *json, gconstpointer planner, guint64 point,
	guint line G_GNUC_UNUSED, const PipesimSweepResult *result)
{
	const PipesimCandidate candidate =
		pipesim_json_names(json) ? (PipesimCandidate){0}
					 : pipesim_planner_candidate(planner, (guint)point,
						   result != NULL ? &result->brief : NULL);

	put_way(json, &candidate);
	PIPESIM_MEMBER(json, "bound_ms", TIME, candidate.bound);
	if (!PIPESIM_WHERE(json, result != NULL))
		return;
	put_figures(json, &candidate);
	PIPESIM_MEMBER(json, "fits", YES_OR_NO, candidate.step > 0 && candidate.fits);
}

PipesimRows pipesim_plan_rows(const PipesimPlanner *planner, PipesimRowFormat format)
{
	return (PipesimRows){.width = 1, .format = format, .put = put_row, .data = planner};
}

/* Files ---------------------------------------------------------------------------------- */

/* By number in pipesim_plan_folder(). */
const char *const pipesim_plan_files[] = {"plan.json", "layout.txt", "command.txt",
	"megatron.txt", "torchtitan.toml", "torchtitan.py", "schedule.csv", "timeline.json",
	NULL};

static char *path_in(const char *folder, const char *name)
{
	g_assert(g_strv_contains(pipesim_plan_files, name));
	return g_build_filename(folder, name, NULL);
}

static gboolean write_file(
	const char *folder, const char *name, const GString *text, GError **error)
{
	g_autofree char *path = path_in(folder, name);

	/* What is of an earlier plan would be taken for this one. */
	if (text->len == 0) {
		g_unlink(path);
		return TRUE;
	}
	return pipesim_write_file(path, text->str, text->len, error);
}

gboolean pipesim_plan_run(const PipesimPlanRow *row, const char *path,
	gboolean (*write)(const PipesimComparison *, const char *, GError **),
	const char *answer, GString *csv, GError **error)
{
	PipesimScenario scenario = pipesim_planner_scenario(&row->of->wish, row->candidate);
	g_autoptr(PipesimCosts) costs =
		pipesim_planner_costs(&row->of->wish, row->candidate, error);
	g_autoptr(GString) command = g_string_new(NULL);

	if (costs == NULL)
		return FALSE;
	scenario.keep = PIPESIM_KEEP_OPS;
	pipesim_plan_command(row->of, row->candidate, command);
	g_autoptr(PipesimComparison) comparison = pipesim_comparison_new(&scenario, costs);
	comparison->command = g_strdup(command->str);
	comparison->answer = g_strdup(answer);
	PipesimRun *run = pipesim_run_schedule(row->candidate->schedule, &scenario, costs);
	g_ptr_array_add(comparison->runs, run);
	if (!pipesim_run_check(run, error))
		return FALSE;
	if (csv != NULL)
		pipesim_schedule_write_csv(run->step->whole, csv);
	return write == NULL || write(comparison, path, error);
}

/* Into @out a line for each framework of @plan: who runs what. */
static void append_commands(const PipesimAdvice *plan, GString *out)
{
	pipesim_each_in (const PipesimPlanning, of, plan->asked) {
		const PipesimFramework *framework = pipesim_framework(&of->wish);
		const PipesimPlanRow *row = pipesim_advice_best(plan, framework->name);

		if (row == NULL)
			continue;
		if (plan->asked->len > 1)
			g_string_append_printf(out, "# %s\n", framework->words);
		pipesim_plan_command(row->of, row->candidate, out);
		g_string_append_c(out, '\n');
	}
}

gboolean pipesim_plan_folder(const PipesimAdvice *plan, const char *folder, GError **error)
{
	const PipesimPlanRow *first = pipesim_advice_best(plan, NULL);
	const PipesimPlanRow *stock = pipesim_advice_best(plan, "megatron");
	const PipesimPlanRow *torch = pipesim_advice_best(plan, "torchtitan");
	g_autoptr(PipesimStages) stages = pipesim_plan_stages(first->of, first->candidate);
	g_autofree char *timeline = path_in(folder, "timeline.json");
	g_autoptr(PipesimJson) writer = NULL;
	GString *text[7]; /* all but the timeline */
	gboolean ok = FALSE;

	if (g_mkdir_with_parents(folder, 0777) != 0)
		return pipesim_fail(error, PIPESIM_ERROR_WRITE, "cannot make the folder %s: %s",
			folder, g_strerror(errno));
	for (guint i = 0; i < G_N_ELEMENTS(text); i++)
		text[i] = g_string_new(NULL);
	pipesim_json_document(writer = pipesim_json_new(text[0]), pipesim_plan_members, plan);
	if (stages != NULL)
		pipesim_stages_print(stages, text[1]);
	g_string_append_c(text[1], '\n');
	append_commands(plan, text[2]);
	if (stock != NULL)
		pipesim_plan_megatron(stock->of, stock->candidate, text[3]);
	if (torch != NULL) {
		pipesim_plan_torchtitan(torch->of, torch->candidate, text[4]);
		pipesim_plan_torchtitan_recipe(torch->of, torch->candidate, text[5]);
	}
	/* PyTorch's runtime takes an order from a file. */
	ok = pipesim_plan_run(first, timeline, pipesim_chrome_trace_write, NULL,
		     torch == NULL || torch == first ? text[6] : NULL, error) &&
	     (torch == NULL || torch == first ||
		     pipesim_plan_run(torch, NULL, NULL, NULL, text[6], error));
	for (guint i = 0; i < G_N_ELEMENTS(text); i++) {
		ok = ok && write_file(folder, pipesim_plan_files[i], text[i], error);
		g_string_free(text[i], TRUE);
	}
	return ok;
}
