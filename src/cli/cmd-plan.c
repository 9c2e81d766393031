#include "config.h"

#include "base/json.h"
#include "cli/command.h"
#include "output/figures.h"
#include "output/gnuplot.h"
#include "output/sink.h"
#include "output/table.h"
#include "setup/choice.h"
#include "sweep/planner.h"
#include <errno.h>
#include <glib/gstdio.h>
#include <math.h>
#include <string.h>

#define WIDTH  100
#define DEVICE "h100"

/* What one command line asks for and found. */
typedef struct {
	PipesimSetup *setup;
	PipesimWish wish;
	PipesimRates capture;
	GPtrArray *schedules; /* of PipesimSchedule, NULL-terminated */
	PipesimPlanned *planned;
} Plan;

/* Words ---------------------------------------------------------------------------------- */

static const char *schedule_name(const PipesimCandidate *candidate, char *room, gsize size)
{
	if (candidate->chunks == 0)
		return candidate->schedule->name;
	g_snprintf(room, size, "%s:%u", candidate->schedule->name, candidate->chunks);
	return room;
}

/* As --recompute takes it, and with commas and its names as Megatron does. */
static char *recompute_words(const PipesimTraining *training, const char *between)
{
	static const char *const names[] = {"core_attn", "mlp", "moe", "moe_act",
		"shared_experts", "layernorm", "mla_up_proj"};
	g_autoptr(GString) words = g_string_new(NULL);

	if (training->full && training->first > 0)
		g_string_append_printf(words, "first=%" G_GINT64_FORMAT, training->first);
	else if (training->full && training->every > 0)
		g_string_append_printf(words, "every=%" G_GINT64_FORMAT, training->every);
	else if (training->full)
		g_string_append(words, "full");
	for (guint i = 0; i < G_N_ELEMENTS(names); i++)
		if (training->recompute & (1u << i))
			g_string_append_printf(
				words, "%s%s", words->len > 0 ? between : "", names[i]);
	return g_strdup(words->len > 0 ? words->str : "none");
}

/* The stages of @candidate; NULL only where memory is short. */
static PipesimStages *stages_of(const Plan *plan, const PipesimCandidate *candidate)
{
	const PipesimScenario scenario = pipesim_planner_scenario(&plan->wish, candidate);
	g_autoptr(PipesimCosts) costs = pipesim_planner_costs(&plan->wish, candidate, NULL);
	PipesimShape shape;

	if (costs == NULL ||
		!pipesim_schedule_shape(candidate->schedule, &scenario, &shape, NULL))
		return NULL;
	return pipesim_cutter_layout(costs->cutter, shape.stages, NULL);
}

/* Options of the command line that say what the model is and how it is trained, but for sizes. */
static void append_given(const Plan *plan, GString *out)
{
	static const PipesimSettingId kept[] = {PIPESIM_SET_SEQ, PIPESIM_SET_CP,
		PIPESIM_SET_EXPERT_TP, PIPESIM_SET_CP_COMM, PIPESIM_SET_OPTIMIZER,
		PIPESIM_SET_ZERO, PIPESIM_SET_PRECISION, PIPESIM_SET_ATTENTION,
		PIPESIM_SET_LOSS, PIPESIM_SET_UNFUSED, PIPESIM_SET_ROUTING,
		PIPESIM_SET_WORKSPACE, PIPESIM_SET_MFU, PIPESIM_SET_DP_BANDWIDTH,
		PIPESIM_SET_RUNTIME};
	const PipesimSetup *setup = plan->setup;

	for (guint i = 0; i < G_N_ELEMENTS(kept); i++)
		if (setup->text[kept[i]] != NULL)
			g_string_append_printf(out, " %s %s", pipesim_settings[kept[i]].name,
				setup->text[kept[i]]);
	for (char **trace = setup->list[PIPESIM_SET_TRACE]; trace != NULL && *trace != NULL;
		trace++)
		g_string_append_printf(out, " --trace %s", *trace);
	if (plan->wish.device != NULL)
		g_string_append_printf(out, " --device %s", plan->wish.device->name);
	if (plan->wish.training.overlap)
		g_string_append(out, " --overlap-reduce");
}

/* "pipesim --pp 8 ...": what shows @candidate. */
static void append_command(const Plan *plan, const PipesimCandidate *candidate, GString *out)
{
	const PipesimTraining *training = &candidate->training;
	g_autofree char *recompute = recompute_words(training, "+");
	g_autoptr(PipesimCosts) costs = pipesim_planner_costs(&plan->wish, candidate, NULL);
	PipesimNumber p2p;
	char room[64];

	g_string_append_printf(out,
		"pipesim --pp %u -m %u -s %s --model %s --layout auto --microbatch-size "
		"%" G_GINT64_FORMAT " --tp %" G_GINT64_FORMAT " --dp %" G_GINT64_FORMAT,
		candidate->ranks, candidate->microbatches,
		schedule_name(candidate, room, sizeof room),
		plan->setup->text[PIPESIM_SET_MODEL], training->microbatch, training->tp,
		training->dp);
	if (training->ep > 1)
		g_string_append_printf(out, " --ep %" G_GINT64_FORMAT, training->ep);
	if (training->sequence_parallel)
		g_string_append(out, " --sequence-parallel");
	if (strcmp(recompute, "none") != 0)
		g_string_append_printf(out, " --recompute %s", recompute);
	append_given(plan, out);
	if (plan->setup->text[PIPESIM_SET_DP_BANDWIDTH] == NULL)
		g_string_append_printf(out, " --dp-bandwidth %.0fGB/s", PIPESIM_NETWORK / 1e9);
	if (costs != NULL && plan->wish.device != NULL)
		g_string_append_printf(
			out, " --times P2P=%s", pipesim_print_ms(p2p, costs->p2p));
	g_string_append_printf(out, " --memory-limit %" G_GINT64_FORMAT "B", plan->wish.memory);
}

/* Flags of runtimes ---------------------------------------------------------------------- */

static void append_megatron(const Plan *plan, const PipesimCandidate *candidate, GString *out)
{
	const PipesimTraining *training = &candidate->training;
	const guint recomputed = training->recompute;
	g_autoptr(PipesimStages) stages = stages_of(plan, candidate);
	g_autofree char *modules = recompute_words(training, " ");

	g_string_append_printf(out,
		"--tensor-model-parallel-size %" G_GINT64_FORMAT
		" --pipeline-model-parallel-size %u",
		training->tp, candidate->ranks);
	if (candidate->ranks > 1 && stages != NULL) {
		g_string_append(out, " --pipeline-model-parallel-layout '");
		pipesim_stages_print(stages, out);
		g_string_append_c(out, '\'');
	}
	g_string_append_printf(out,
		" --micro-batch-size %" G_GINT64_FORMAT
		" --global-batch-size %" G_GINT64_FORMAT,
		training->microbatch, plan->wish.batch);
	if (training->sequence_parallel)
		g_string_append(out, " --sequence-parallel");
	if (training->cp > 1)
		g_string_append_printf(
			out, " --context-parallel-size %" G_GINT64_FORMAT, training->cp);
	if (training->ep > 1)
		g_string_append_printf(out,
			" --expert-model-parallel-size %" G_GINT64_FORMAT
			" --expert-tensor-parallel-size %" G_GINT64_FORMAT,
			training->ep, training->etp);
	if (training->zero != PIPESIM_ZERO_0)
		g_string_append(out, " --use-distributed-optimizer");
	if (training->full)
		g_string_append_printf(out,
			" --recompute-granularity full --recompute-method uniform "
			"--recompute-num-layers %" G_GINT64_FORMAT,
			MAX(training->every, 1));
	else if (recomputed != 0)
		g_string_append_printf(out,
			" --recompute-granularity selective --recompute-modules %s", modules);
	g_string_append_c(out, '\n');
}

static void append_torchtitan(const Plan *plan, const PipesimCandidate *candidate, GString *out)
{
	const PipesimTraining *training = &candidate->training;
	g_autoptr(PipesimStages) stages = stages_of(plan, candidate);

	g_string_append_printf(out,
		"[parallelism]\n"
		"pipeline_parallel_degree = %u\n"
		"pipeline_parallel_schedule_csv = \"schedule.csv\"\n"
		"num_pp_microbatches = %u\n"
		"tensor_parallel_degree = %" G_GINT64_FORMAT "\n"
		"data_parallel_shard_degree = %" G_GINT64_FORMAT "\n"
		"context_parallel_degree = %" G_GINT64_FORMAT "\n"
		"expert_parallel_degree = %" G_GINT64_FORMAT "\n",
		candidate->ranks, candidate->microbatches, training->tp, training->dp,
		training->cp, training->ep);
	if (stages != NULL) {
		g_string_append(out, "module_fqns_per_model_part = ");
		pipesim_stages_print_modules(stages, out);
		g_string_append_c(out, '\n');
	}
	g_string_append_printf(out, "\n[activation_checkpoint]\nmode = \"%s\"\n",
		training->full             ? "full"
		: training->recompute != 0 ? "selective"
					   : "none");
}

/* Text ----------------------------------------------------------------------------------- */

static char *percent(double share)
{
	PipesimNumber number;

	return g_strdup(pipesim_figure_fixed(number, 100 * share, 1));
}

static char *gib(gint64 bytes)
{
	PipesimNumber number;

	return g_strdup(pipesim_figure_fixed(number, (double)bytes / 1073741824, 1));
}

static const PipesimColumn columns[] = {{NULL, "", FALSE}, {NULL, "schedule", TRUE},
	{NULL, "TP", FALSE}, {NULL, "PP", FALSE}, {NULL, "CP", FALSE}, {NULL, "EP", FALSE},
	{NULL, "DP", FALSE}, {"micro-batches", "size", FALSE}, {"micro-batches", "M", FALSE},
	{NULL, "recompute", TRUE}, {"step", "s", FALSE}, {"step", "tokens/s", FALSE},
	{NULL, "MFU %", FALSE}, {"fullest rank", "rank", FALSE}, {"fullest rank", "GiB", FALSE},
	{"lost, % of the step", "bubble", FALSE}, {"lost, % of the step", "again", FALSE},
	{"lost, % of the step", "messages", FALSE}, {"lost, % of the step", "after", FALSE}};

static void add_row(PipesimTable *table, const Plan *plan, const PipesimCandidate *candidate,
	guint number, gboolean best)
{
	const PipesimTraining *training = &candidate->training;
	PipesimNumber seconds;
	char room[64];
	char *cells[] = {number > 0 ? g_strdup_printf("%u", number) : NULL,
		g_strdup(schedule_name(candidate, room, sizeof room)),
		g_strdup_printf("%" G_GINT64_FORMAT, training->tp),
		g_strdup_printf("%u", candidate->ranks),
		training->cp > 1 ? g_strdup_printf("%" G_GINT64_FORMAT, training->cp) : NULL,
		plan->wish.model->experts > 0
			? g_strdup_printf("%" G_GINT64_FORMAT, training->ep)
			: NULL,
		g_strdup_printf("%" G_GINT64_FORMAT, training->dp),
		g_strdup_printf("%" G_GINT64_FORMAT, training->microbatch),
		g_strdup_printf("%u", candidate->microbatches), recompute_words(training, "+"),
		g_strdup(pipesim_figure_fixed(seconds, (double)candidate->step / 1e9, 3)),
		g_strdup_printf("%" G_GINT64_FORMAT, candidate->tokens),
		candidate->mfu > 0 ? percent(candidate->mfu) : NULL,
		g_strdup_printf("%u", candidate->fullest), gib(candidate->memory),
		percent(candidate->bubble), percent(candidate->again),
		percent(candidate->messages), percent(candidate->after)};

	pipesim_table_add(table, best ? PIPESIM_ROW_BEST : PIPESIM_ROW_PLAIN, cells);
}

static void append_asked(const Plan *plan, GString *out)
{
	const PipesimWish *wish = &plan->wish;
	const PipesimPlanned *planned = plan->planned;
	g_autofree char *limit = gib(wish->memory);
	PipesimNumber mfu;

	g_string_append_printf(out,
		"%s on %u GPUs, %u per node: %" G_GINT64_FORMAT
		" sequences of %" G_GINT64_FORMAT " tokens a step, %s GiB a GPU\n",
		wish->model->name, wish->gpus, wish->per_node, wish->batch, wish->training.seq,
		limit);
	if (wish->capture != NULL)
		g_string_append(out,
			"Times from the trace, scaled: attention and MLP by FLOPs, "
			"rows of experts by bytes, the head as the MLP\n");
	else
		g_string_append_printf(out,
			"Times from FLOPs on %s at %s of its peak, not measured\n",
			wish->device->name, pipesim_print_double(mfu, wish->training.mfu));
	g_string_append_printf(out,
		"Links at their peak in a node, %.0f GB/s per GPU between nodes\n",
		PIPESIM_NETWORK / 1e9);
	g_string_append_printf(out,
		"%u candidates: %u fit under no schedule, %u cannot be among the ten best, %u "
		"simulated\n\n",
		planned->candidates, planned->too_large, planned->beaten, planned->simulated);
}

/* "rank 0 would need 91.2 GiB: 20.1 static, 66.0 activations, 5.1 while an op runs" */
static void append_memory(const PipesimCandidate *candidate, const char *verb, GString *out)
{
	g_autofree char *all = gib(candidate->memory), *fixed = gib(candidate->parameters);
	g_autofree char *held = gib(candidate->activations),
			*moment = gib(candidate->transient);

	g_string_append_printf(out,
		"rank %u %s %s GiB: %s parameters, optimizer and workspaces, %s activations, "
		"%s "
		"while an op runs",
		candidate->fullest, verb, all, fixed, held, moment);
}

/* Why @candidate is behind @best: what it loses more than that. */
static void append_reason(
	const PipesimCandidate *candidate, const PipesimCandidate *best, GString *out)
{
	const struct {
		const char *name;
		double more;
	} losses[] = {{"bubble", candidate->bubble - best->bubble},
		{"recomputation", candidate->again - best->again},
		{"messages of TP and EP", candidate->messages - best->messages},
		{"gradients and optimizer", candidate->after - best->after}};
	guint worst = 0;
	PipesimNumber behind, more;

	for (guint i = 1; i < G_N_ELEMENTS(losses); i++)
		if (losses[i].more > losses[worst].more)
			worst = i;
	g_string_append_printf(out, "2 is %s %% behind 1",
		pipesim_figure_fixed(
			behind, 100 * ((double)candidate->step / (double)best->step - 1), 2));
	if (losses[worst].more > 0.0005)
		g_string_append_printf(out, ": %s takes %s %% of its step more",
			losses[worst].name,
			pipesim_figure_fixed(more, 100 * losses[worst].more, 1));
	g_string_append_c(out, '\n');
}

/* Where nothing fits: how much would. */
static void append_smallest(const Plan *plan, GString *out)
{
	const PipesimCandidate *smallest = &plan->planned->smallest;
	g_autofree char *recompute = recompute_words(&smallest->training, "+");
	g_autofree char *least = gib(smallest->least);

	g_string_append_printf(out,
		"nothing fits: with TP %" G_GINT64_FORMAT ", PP %u, DP %" G_GINT64_FORMAT
		" and recompute %s a rank still has %s GiB of parameters, optimizer and one "
		"micro-batch; give more GPUs, or --zero 3\n",
		smallest->training.tp, smallest->ranks, smallest->training.dp, recompute,
		least);
}

static void append_misses(const Plan *plan, GString *out)
{
	const GArray *misses = plan->planned->misses;

	for (guint i = 0; i < misses->len; i++) {
		const PipesimCandidate *miss = &g_array_index(misses, PipesimCandidate, i);
		g_autofree char *recompute = recompute_words(&miss->training, "+");
		PipesimNumber seconds;
		char room[64];

		g_string_append_printf(out,
			"%s with TP %" G_GINT64_FORMAT ", PP %u, size %" G_GINT64_FORMAT
			", recompute %s would take %s s, but ",
			schedule_name(miss, room, sizeof room), miss->training.tp, miss->ranks,
			miss->training.microbatch, recompute,
			pipesim_figure_fixed(seconds, (double)miss->step / 1e9, 3));
		append_memory(miss, "would need", out);
		g_string_append_c(out, '\n');
	}
}

static void append_explained(const Plan *plan, guint number, GString *out)
{
	const PipesimCandidate *candidate =
		&g_array_index(plan->planned->best, PipesimCandidate, number - 1);
	g_autoptr(PipesimStages) stages = stages_of(plan, candidate);

	g_string_append_printf(out, "\n%u: ", number);
	append_memory(candidate, "needs", out);
	if (stages != NULL) {
		g_string_append(out, "\n\nLayout\n  ");
		pipesim_stages_print(stages, out);
	}
	g_string_append(out, "\n\nMegatron-LM\n  ");
	append_megatron(plan, candidate, out);
	g_string_append(out, "\nShow it\n  ");
	append_command(plan, candidate, out);
	g_string_append_c(out, '\n');
}

static void write_text(const Plan *plan, guint explained, GString *out)
{
	const GArray *best = plan->planned->best;
	const PipesimStyle style = pipesim_terminal_style(NULL);
	g_autoptr(PipesimTable) table = pipesim_table_new(columns, G_N_ELEMENTS(columns));

	append_asked(plan, out);
	for (guint i = 0; i < best->len; i++)
		add_row(table, plan, &g_array_index(best, PipesimCandidate, i), i + 1, i == 0);
	if (best->len > 0) {
		pipesim_table_print(table, WIDTH, &style, out);
		g_string_append(out, "\nbubble: ranks that wait; again: recomputation; "
				     "messages: of TP and EP; after: "
				     "gradients and optimizer\n");
	}
	if (best->len == 0)
		append_smallest(plan, out);
	if (best->len > 1)
		append_reason(&g_array_index(best, PipesimCandidate, 1),
			&g_array_index(best, PipesimCandidate, 0), out);
	append_misses(plan, out);
	if (explained > 0)
		append_explained(plan, explained, out);
}

/* Other formats -------------------------------------------------------------------------- */

static void write_candidate(
	const Plan *plan, const PipesimCandidate *candidate, PipesimJson *json)
{
	const PipesimTraining *training = &candidate->training;
	g_autofree char *recompute = recompute_words(training, "+");
	g_autoptr(PipesimStages) stages = stages_of(plan, candidate);
	g_autoptr(GString) layout = g_string_new(NULL);
	g_autoptr(GString) command = g_string_new(NULL);
	const struct {
		const char *key;
		double value;
	} shares[] = {{"mfu", candidate->mfu}, {"bubble", candidate->bubble},
		{"recomputation", candidate->again}, {"messages", candidate->messages},
		{"after_ops", candidate->after}};
	char room[64];

	if (stages != NULL)
		pipesim_stages_print(stages, layout);
	append_command(plan, candidate, command);
	pipesim_json_open_object(json, NULL);
	pipesim_json_member_string(
		json, "schedule", schedule_name(candidate, room, sizeof room));
	pipesim_json_member_int(json, "tp", training->tp);
	pipesim_json_member_int(json, "pp", candidate->ranks);
	pipesim_json_member_int(json, "cp", training->cp);
	pipesim_json_member_int(json, "ep", training->ep);
	pipesim_json_member_int(json, "dp", training->dp);
	pipesim_json_member_int(json, "microbatch_size", training->microbatch);
	pipesim_json_member_int(json, "microbatches", candidate->microbatches);
	pipesim_json_member_string(json, "recompute", recompute);
	pipesim_json_member_string(json, "layout", layout->str);
	pipesim_json_key(json, "step_ms");
	pipesim_json_ms(json, candidate->step);
	pipesim_json_key(json, "makespan_ms");
	pipesim_json_ms(json, candidate->makespan);
	pipesim_json_member_int(json, "tokens_per_second", candidate->tokens);
	for (guint i = 0; i < G_N_ELEMENTS(shares); i++) {
		pipesim_json_key(json, shares[i].key);
		pipesim_json_double(json, shares[i].value);
	}
	pipesim_json_member_int(json, "peak_bytes", candidate->memory);
	pipesim_json_member_int(json, "fullest_rank", candidate->fullest);
	pipesim_json_member_string(json, "command", command->str);
	pipesim_json_close(json);
}

static void write_list(const Plan *plan, const char *key, const GArray *list, PipesimJson *json)
{
	pipesim_json_open_array(json, key);
	for (guint i = 0; i < list->len; i++)
		write_candidate(plan, &g_array_index(list, PipesimCandidate, i), json);
	pipesim_json_close(json);
}

static void write_json(const Plan *plan, GString *out)
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
	write_list(plan, "best", planned->best, json);
	write_list(plan, "near_misses", planned->misses, json);
	pipesim_json_close(json);
}

/* A row of each that none beats in step and memory both. */
static void write_csv(const Plan *plan, GString *out)
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
		g_autofree char *recompute = recompute_words(training, "+");
		g_autoptr(GString) command = g_string_new(NULL);
		char room[64], mfu[G_ASCII_DTOSTR_BUF_SIZE] = "";

		if (!isnan(candidate->mfu))
			g_ascii_formatd(mfu, sizeof mfu, "%.4f", candidate->mfu);
		append_command(plan, candidate, command);
		pipesim_figure_quote(out, schedule_name(candidate, room, sizeof room));
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
		pipesim_figure_quote(out, command->str);
		g_string_append_c(out, '\n');
	}
}

/* Files ---------------------------------------------------------------------------------- */

static gboolean write_file(
	const char *folder, const char *name, const GString *text, GError **error)
{
	g_autofree char *path = g_build_filename(folder, name, NULL);

	return pipesim_write_file(path, text->str, text->len, error);
}

/* Order and timeline of @candidate, op by op. */
static gboolean write_run(
	const Plan *plan, const PipesimCandidate *candidate, const char *folder, GError **error)
{
	PipesimScenario scenario = pipesim_planner_scenario(&plan->wish, candidate);
	g_autoptr(PipesimCosts) costs = pipesim_planner_costs(&plan->wish, candidate, error);
	g_autofree char *timeline = g_build_filename(folder, "timeline.json", NULL);
	g_autoptr(PipesimComparison) comparison = NULL;
	g_autoptr(GString) csv = g_string_new(NULL);
	PipesimRun *run;

	if (costs == NULL)
		return FALSE;
	scenario.keep = PIPESIM_KEEP_OPS;
	comparison = pipesim_comparison_new(&scenario, costs);
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
static gboolean write_folder(const Plan *plan, const char *folder, GError **error)
{
	const PipesimCandidate *best = &g_array_index(plan->planned->best, PipesimCandidate, 0);
	g_autoptr(PipesimStages) stages = stages_of(plan, best);
	g_autoptr(GString) json = g_string_new(NULL);
	g_autoptr(GString) layout = g_string_new(NULL);
	g_autoptr(GString) megatron = g_string_new(NULL);
	g_autoptr(GString) titan = g_string_new(NULL);
	g_autoptr(GString) command = g_string_new(NULL);

	if (g_mkdir_with_parents(folder, 0777) != 0)
		return pipesim_fail(error, PIPESIM_ERROR_WRITE, "cannot make the folder %s: %s",
			folder, g_strerror(errno));
	write_json(plan, json);
	if (stages != NULL)
		pipesim_stages_print(stages, layout);
	g_string_append_c(layout, '\n');
	append_megatron(plan, best, megatron);
	append_torchtitan(plan, best, titan);
	append_command(plan, best, command);
	g_string_append_c(command, '\n');
	return write_file(folder, "plan.json", json, error) &&
	       write_file(folder, "layout.txt", layout, error) &&
	       write_file(folder, "megatron.txt", megatron, error) &&
	       write_file(folder, "torchtitan.toml", titan, error) &&
	       write_file(folder, "command.txt", command, error) &&
	       write_run(plan, best, folder, error);
}

/* What is asked -------------------------------------------------------------------------- */

/* Of --runtime: the schedules that it runs. */
static const char *schedules_for(const PipesimRuntime *runtime)
{
	const char *name = runtime != NULL ? runtime->name : "";

	if (g_str_has_prefix(name, "pytorch"))
		return "gpipe,1f1b,interleaved-1f1b,interleaved-zb,zb-v,dualpipev";
	if (g_str_has_prefix(name, "deepseek"))
		return "dualpipe,dualpipev";
	return "1f1b,interleaved-1f1b,zb-h1,zb-v,v-half,v-min,interleaved-zb,dualpipe,"
	       "dualpipev";
}

static gboolean choose_schedules(Plan *plan, GError **error)
{
	const char *given = plan->setup->text[PIPESIM_SET_SCHEDULE];
	g_autoptr(GPtrArray) choices = pipesim_choices_new();

	if (!pipesim_choices_add_list(
		    choices, given != NULL ? given : schedules_for(plan->wish.runtime), error))
		return FALSE;
	for (guint i = 0; i < choices->len; i++) {
		const PipesimChoice *choice = g_ptr_array_index(choices, i);

		if (choice->schedule == NULL || choice->label != NULL ||
			(choice->schedule->takes & PIPESIM_TAKES_LIMIT))
			return pipesim_fail(error, PIPESIM_ERROR_USAGE,
				"--schedule: '%s'; plan takes schedules by name, without "
				"chunks, and "
				"none that is searched",
				pipesim_choice_name(choice));
		g_ptr_array_add(plan->schedules, (gpointer)choice->schedule);
	}
	g_ptr_array_add(plan->schedules, NULL);
	plan->wish.schedules = (const PipesimSchedule *const *)plan->schedules->pdata;
	return TRUE;
}

static gboolean choose_times(Plan *plan, GError **error)
{
	const PipesimSetup *setup = plan->setup;
	const char *device = setup->text[PIPESIM_SET_DEVICE];
	g_autoptr(PipesimCosts) base = NULL;

	if (setup->list[PIPESIM_SET_TRACE] == NULL) {
		plan->wish.device = pipesim_device_find(
			device != NULL ? device : DEVICE, "--device", error);
		if (plan->wish.device != NULL && plan->wish.device->workspace > 0 &&
			setup->text[PIPESIM_SET_WORKSPACE] == NULL)
			plan->wish.training.workspace = plan->wish.device->workspace;
		return plan->wish.device != NULL;
	}
	if (device != NULL || setup->text[PIPESIM_SET_MFU] != NULL)
		return pipesim_fail(error, PIPESIM_ERROR_USAGE,
			"%s and --trace both say what an op takes; give one of them",
			device != NULL ? "--device" : "--mfu");
	base = pipesim_setup_base(setup, error);
	plan->wish.capture = &plan->capture;
	return base != NULL && pipesim_capture_rates(base, &plan->capture, error);
}

static gboolean require(const Plan *plan, GError **error)
{
	static const PipesimSettingId needed[] = {PIPESIM_SET_MODEL, PIPESIM_SET_GPUS,
		PIPESIM_SET_MEMORY, PIPESIM_SET_GLOBAL_BATCH};

	for (guint i = 0; i < G_N_ELEMENTS(needed); i++)
		if (plan->setup->text[needed[i]] == NULL)
			return pipesim_fail(error, PIPESIM_ERROR_USAGE,
				"%s is missing; for example pipesim plan --model llama-3-70b "
				"--gpus "
				"64 --memory 80GiB --global-batch 512 --seq 8192",
				pipesim_settings[needed[i]].name);
	return plan->setup->text[PIPESIM_SET_LAYOUT] == NULL ||
	       pipesim_fail(error, PIPESIM_ERROR_USAGE,
		       "--layout: plan balances the layers of every candidate itself; leave it "
		       "out");
}

static void show_progress(guint done, guint all, gpointer data G_GNUC_UNUSED)
{
	pipesim_print_progress("candidates", done, all);
}

static gboolean ask(Plan *plan, GError **error)
{
	PipesimSetup *setup = plan->setup;
	const char *threads = setup->text[PIPESIM_SET_THREADS];
	PipesimWish *wish = &plan->wish;
	guint64 n = 0;

	if (!require(plan, error) ||
		!pipesim_parse_bytes(
			setup->text[PIPESIM_SET_MEMORY], "--memory", &wish->memory, error) ||
		(threads != NULL &&
			!pipesim_parse_count(threads, "--threads", 1, 4096, &n, error)) ||
		!pipesim_setup_training(setup, &wish->training, error) ||
		!pipesim_setup_load_model(setup, error))
		return FALSE;
	wish->model = setup->model;
	if (setup->text[PIPESIM_SET_DP_BANDWIDTH] == NULL)
		wish->training.reduce = (gint64)PIPESIM_NETWORK;
	wish->training.tp = setup->sizes.tp;
	wish->training.ep = setup->sizes.ep;
	wish->training.dp = setup->sizes.dp;
	wish->training.microbatch = setup->sizes.microbatch;
	wish->recompute_given = setup->text[PIPESIM_SET_RECOMPUTE] != NULL;
	wish->gpus = setup->gpus;
	wish->per_node = setup->gpus_per_node > 0 ? setup->gpus_per_node : MIN(8, setup->gpus);
	wish->batch = setup->global_batch;
	wish->ranks = setup->scenario.ranks;
	wish->chunks = setup->scenario.chunks;
	wish->runtime = setup->scenario.runtime;
	wish->threads = (guint)n;
	wish->progress = show_progress;
	return choose_times(plan, error) && choose_schedules(plan, error);
}

static gboolean check_found(const Plan *plan, GError **error)
{
	const PipesimPlanned *planned = plan->planned;

	if (planned->candidates == 0 && planned->refusal != NULL) {
		g_propagate_error(error, g_error_copy(planned->refusal));
		return FALSE;
	}
	return planned->candidates > 0 ||
	       pipesim_fail(error, PIPESIM_ERROR_CONSTRAINT,
		       "no way to divide %u GPUs and a batch of %" G_GINT64_FORMAT
		       ": TP x PP x CP x DP is all GPUs, and the batch a multiple of DP times "
		       "the "
		       "size of a micro-batch; change --gpus, --global-batch or the sizes "
		       "given",
		       plan->wish.gpus, plan->wish.batch);
}

static gboolean answer(Plan *plan, PipesimExit *status, GError **error)
{
	const PipesimSetup *setup = plan->setup;
	const char *format = setup->text[PIPESIM_SET_FORMAT];
	const char *explain = setup->text[PIPESIM_SET_EXPLAIN];
	const gboolean json = g_strcmp0(format, "json") == 0;
	const gboolean csv = g_strcmp0(format, "csv") == 0;
	g_autoptr(GString) out = g_string_new(NULL);
	guint64 explained = 0;

	if (format != NULL && !json && !csv && strcmp(format, "text") != 0)
		return pipesim_fail(error, PIPESIM_ERROR_USAGE,
			"--format: '%s'; text, json or csv", format);
	if (explain != NULL && (!pipesim_parse_count(explain, "--explain", 1, PIPESIM_BEST,
				       &explained, error)))
		return FALSE;
	plan->wish.frontier = csv;
	plan->planned = pipesim_planner_run(&plan->wish, error);
	if (plan->planned == NULL || !check_found(plan, error))
		return FALSE;
	if (explained > plan->planned->best->len)
		return pipesim_fail(error, PIPESIM_ERROR_USAGE, "--explain: '%s', but %u fit",
			explain, plan->planned->best->len);
	if (plan->planned->best->len == 0)
		*status = PIPESIM_EXIT_NO;
	if (json)
		write_json(plan, out);
	else if (csv)
		write_csv(plan, out);
	else
		write_text(plan, (guint)explained, out);
	return (setup->text[PIPESIM_SET_OUTPUT] == NULL || plan->planned->best->len == 0 ||
		       write_folder(plan, setup->text[PIPESIM_SET_OUTPUT], error)) &&
	       pipesim_print(NULL, out, error);
}

static gboolean run(PipesimSetup *setup, PipesimExit *status, GError **error)
{
	Plan plan = {.setup = setup, .schedules = g_ptr_array_new()};
	const gboolean ok = ask(&plan, error) && answer(&plan, status, error);

	pipesim_planned_free(plan.planned);
	g_ptr_array_unref(plan.schedules);
	return ok;
}

const PipesimCommand pipesim_command_plan = {
	.name = "plan",
	.summary = "the best ways to train a model on so many GPUs",
	.usage = "- how to train a model on so many GPUs",
	.about = "Searches TP, PP, EP, DP, chunks, schedule, size of micro-batches and "
		 "recomputation, simulates what\ncould be among the ten best, and says what "
		 "limits "
		 "each. Times come from --device (h100 unless\ngiven) at --mfu, or from "
		 "--trace.",
	.examples = "Examples:\n"
		    "  pipesim plan --model llama-3-70b --gpus 64 --memory 80GiB "
		    "--global-batch 512 "
		    "--seq 8192\n\n"
		    "Exit status: 0 done, 1 nothing fits, 2 usage, 3 bad input file, 5 cannot "
		    "write.\n",
	.takes = {PIPESIM_SET_GPUS, PIPESIM_SET_GPUS_PER_NODE, PIPESIM_SET_MEMORY,
		PIPESIM_SET_GLOBAL_BATCH, PIPESIM_SET_PP, PIPESIM_SET_CHUNKS,
		PIPESIM_SET_SCHEDULE, PIPESIM_SET_RUNTIME, PIPESIM_ALL_MODEL, PIPESIM_SET_TRACE,
		PIPESIM_SET_EXPLAIN, PIPESIM_SET_THREADS, PIPESIM_SET_FORMAT,
		PIPESIM_SET_OUTPUT},
	.wording = {{PIPESIM_SET_FORMAT, NULL,
			    "text (default), json, or csv: best step at each memory",
			    "text json csv"},
		{PIPESIM_SET_OUTPUT, "FOLDER",
			"write layout, flags, schedule and timeline of the best", NULL},
		{PIPESIM_SET_PP, NULL, "pipeline ranks (default: searched)", NULL},
		{PIPESIM_SET_SCHEDULE, "NAME,...", "schedules to try", NULL},
		{PIPESIM_SET_CHUNKS, NULL, "stages per rank (default: searched)", NULL}},
	.run = run,
};
