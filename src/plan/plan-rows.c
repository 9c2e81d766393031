#include "config.h"

#include "base/sink.h"
#include "output/figures.h"
#include "output/output.h"
#include "plan/plan.h"
#include "runtime/csv.h"
#include <errno.h>
#include <glib/gstdio.h>
#include <math.h>

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

/* Candidates that are shown, of the list that is meant. */
typedef struct {
	const PipesimPlanning *plan;
	const GArray *list;
} Shown;

static void put_candidate(PipesimJson *json, const Shown *shown, guint index)
{
	const PipesimCandidate *candidate =
		shown != NULL ? &g_array_index(shown->list, PipesimCandidate, index) : NULL;
	g_autoptr(PipesimStages) stages =
		shown != NULL ? pipesim_plan_stages(shown->plan, candidate) : NULL;
	g_autoptr(GString) layout = g_string_new(NULL), command = g_string_new(NULL);

	if (stages != NULL)
		pipesim_stages_print(stages, layout);
	if (shown != NULL)
		pipesim_plan_command(shown->plan, candidate, command);
	put_way(json, candidate);
	PIPESIM_MEMBER(json, "layout", TEXT, layout->str);
	PIPESIM_MEMBER(json, "layout_exact", YES_OR_NO, candidate->gap == 0);
	PIPESIM_MEMBER(
		json, "layout_gap", SHARE, candidate->gap < 1 ? candidate->gap : (double)NAN);
	put_figures(json, candidate);
	PIPESIM_MEMBER(json, "command", TEXT, command->str);
}

void pipesim_plan_members(PipesimJson *json, gconstpointer of)
{
	const PipesimPlanning *plan = of;
	const PipesimPlanned *planned = PIPESIM_OF(plan, planned);
	const Shown best = {plan, PIPESIM_OF(planned, best)};
	const Shown misses = {plan, PIPESIM_OF(planned, misses)};

	pipesim_json_open_document(json);
	PIPESIM_MEMBER(json, "model", TEXT, plan->wish.model->name);
	PIPESIM_MEMBER(json, "gpus", COUNT, plan->wish.gpus);
	PIPESIM_MEMBER(json, "global_batch", COUNT, plan->wish.batch);
	PIPESIM_MEMBER(json, "memory_bytes", BYTES, plan->wish.memory);
	PIPESIM_MEMBER(json, "candidates", COUNT, planned->candidates);
	PIPESIM_MEMBER(json, "too_large", COUNT, planned->too_large);
	PIPESIM_MEMBER(json, "beaten", COUNT, planned->beaten);
	PIPESIM_MEMBER(json, "simulated", COUNT, planned->simulated);
	if (PIPESIM_WHERE(json, plan->wish.layouts))
		PIPESIM_MEMBER(json, "laid_out", COUNT, planned->laid_out);
	PIPESIM_EACH(json, "best", object, best.list->len, TRUE, put_candidate, &best);
	PIPESIM_EACH(
		json, "near_misses", object, misses.list->len, TRUE, put_candidate, &misses);
	pipesim_json_close(json);
}

/* Of one that none beats in step and memory both. */
static void put_trade(PipesimJson *json, const PipesimPlanning *plan, guint index)
{
	const PipesimCandidate *c =
		plan != NULL ? &g_array_index(plan->planned->frontier, PipesimCandidate, index)
			     : NULL;
	g_autoptr(GString) command = g_string_new(NULL);
	char mfu[G_ASCII_DTOSTR_BUF_SIZE] = "";

	if (c != NULL)
		pipesim_plan_command(plan, c, command);
	if (c != NULL && !isnan(c->mfu))
		g_ascii_formatd(mfu, sizeof mfu, "%.4f", c->mfu);
	put_way(json, c);
	PIPESIM_MEMBER(json, "step_ms", TIME, c->step);
	PIPESIM_MEMBER(json, "makespan_ms", TIME, c->makespan);
	PIPESIM_MEMBER(json, "tokens_per_second", COUNT, c->tokens);
	PIPESIM_MEMBER(json, "mfu", TEXT, mfu);
	PIPESIM_MEMBER(json, "peak_bytes", BYTES, c->memory);
	PIPESIM_MEMBER(json, "fullest_rank", COUNT, c->fullest);
	PIPESIM_MEMBER(json, "command", TEXT, command->str);
}

void pipesim_plan_csv(const PipesimPlanning *plan, GString *out)
{
	PIPESIM_CSV(out, plan->planned->frontier->len, put_trade, plan);
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

const char *const pipesim_plan_files[] = {"plan.json", "layout.txt", "megatron.txt",
	"torchtitan.toml", "torchtitan.py", "command.txt", "schedule.csv", "timeline.json",
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

	return pipesim_write_file(path, text->str, text->len, error);
}

/* Order and timeline of @candidate, op by op. */
static gboolean write_run(const PipesimPlanning *plan, const PipesimCandidate *candidate,
	const char *folder, GError **error)
{
	PipesimScenario scenario = pipesim_planner_scenario(&plan->wish, candidate);
	g_autoptr(PipesimCosts) costs = pipesim_planner_costs(&plan->wish, candidate, error);
	g_autofree char *timeline = path_in(folder, "timeline.json");
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
	g_autoptr(PipesimJson) writer = pipesim_json_new(json);
	g_autoptr(GString) layout = g_string_new(NULL);
	g_autoptr(GString) megatron = g_string_new(NULL);
	g_autoptr(GString) titan = g_string_new(NULL);
	g_autoptr(GString) recipe = g_string_new(NULL);
	g_autoptr(GString) command = g_string_new(NULL);

	if (g_mkdir_with_parents(folder, 0777) != 0)
		return pipesim_fail(error, PIPESIM_ERROR_WRITE, "cannot make the folder %s: %s",
			folder, g_strerror(errno));
	pipesim_plan_members(writer, plan);
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
