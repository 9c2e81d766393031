/* How a candidate is written for people: in words, and as a command. */
#include "plan/plan.h"

/* Words ---------------------------------------------------------------------------------- */

const char *pipesim_plan_schedule(const PipesimCandidate *candidate, char *room, gsize size)
{
	if (candidate->chunks == 0)
		return candidate->schedule->name;
	g_snprintf(room, size, "%s:%u", candidate->schedule->name, candidate->chunks);
	return room;
}

/* As --recompute takes it, and with commas and its names as Megatron does. */
char *pipesim_plan_recompute(const PipesimTraining *training, const char *between)
{
	static const char *const names[] = {"core_attn", "mlp", "moe", "moe_act",
		"shared_experts", "layernorm", "mla_up_proj", "selective-op"};
	g_autoptr(GString) words = g_string_new(NULL);

	if (training->each != NULL)
		g_string_append_printf(words, "first=%s", training->each);
	else if (training->full && training->first > 0)
		g_string_append_printf(words, "first=%" G_GINT64_FORMAT, training->first);
	else if (training->full && training->every > 0)
		g_string_append_printf(words, "every=%" G_GINT64_FORMAT, training->every);
	else if (training->full)
		g_string_append(words, "full");
	for (guint i = 0; !training->full && i < G_N_ELEMENTS(names); i++)
		if (training->recompute & (1u << i))
			g_string_append_printf(
				words, "%s%s", words->len > 0 ? between : "", names[i]);
	return g_strdup(words->len > 0 ? words->str : "none");
}

const char *pipesim_plan_zero(const PipesimTraining *training)
{
	return (const char *[]){"0", "1", "2", "3", "fsdp", "fsdp-fp32"}[training->zero];
}

/* The stages of @candidate; NULL only where memory is short. */
PipesimStages *pipesim_plan_stages(
	const PipesimPlanning *plan, const PipesimCandidate *candidate)
{
	const PipesimScenario scenario = pipesim_planner_scenario(&plan->wish, candidate);
	g_autoptr(PipesimCosts) costs = pipesim_planner_costs(&plan->wish, candidate, NULL);
	PipesimShape shape;

	if (costs == NULL ||
		!pipesim_schedule_shape(candidate->schedule, &scenario, &shape, NULL))
		return NULL;
	return pipesim_cutter_layout(costs->cutter, shape.stages, NULL);
}

/* " --model 'my model.json'": @text as a shell reads it back. */
static void append_word(GString *out, const char *option, const char *text)
{
	g_autofree char *word = pipesim_shell_word(text);

	g_string_append_printf(out, " %s %s", option, word);
}

/* Options of the command line that say what the model is and how it is trained, but for sizes. */
static void append_given(const PipesimPlanning *plan, const PipesimTraining *training,
	const PipesimSchedule *schedule, GString *out)
{
	/* What is written of the candidate, whether it was given or not. */
	static const PipesimSettingId own[] = {PIPESIM_SET_MODEL, PIPESIM_SET_LAYOUT,
		PIPESIM_SET_MICROBATCH_SIZE, PIPESIM_SET_TP, PIPESIM_SET_CP, PIPESIM_SET_EP,
		PIPESIM_SET_EXPERT_TP, PIPESIM_SET_DP, PIPESIM_SET_SEQUENCE_PARALLEL,
		PIPESIM_SET_RECOMPUTE, PIPESIM_SET_ZERO, PIPESIM_SET_DEVICE,
		PIPESIM_SET_DP_BANDWIDTH, PIPESIM_SET_OVERLAP_REDUCE, PIPESIM_SET_EP_OVERLAP,
		PIPESIM_SET_TIME_FACTORS};
	const PipesimSetup *setup = plan->setup;
	PipesimNumber factors[2];

	for (PipesimSettingId id = 1; id < PIPESIM_N_SETTINGS; id++) {
		gboolean kept =
			pipesim_settings[id].group == PIPESIM_ALL_MODEL ||
			id == PIPESIM_SET_IMAGES || id == PIPESIM_SET_IMAGE_PATCHES ||
			id == PIPESIM_SET_ACTIVE_STAGES || id == PIPESIM_SET_UNSHARD_AHEAD ||
			id == PIPESIM_SET_POST_VALIDATION ||
			((id == PIPESIM_SET_OFFLOAD_BANDWIDTH ||
				 id == PIPESIM_SET_OFFLOAD_FRACTION) &&
				(plan->wish.offload_part.num > 0 ||
					schedule->offloads != PIPESIM_OFFLOADS_NOTHING));

		kept &= pipesim_all(i, G_N_ELEMENTS(own), id != own[i]);
		if (kept && setup->text[id] != NULL)
			append_word(out, pipesim_settings[id].name,
				id == PIPESIM_SET_PRECISION
					? pipesim_framework_precision(
						  pipesim_framework(&plan->wish),
						  setup->text[id])
					: setup->text[id]);
		else if (kept && setup->flag[id])
			g_string_append_printf(out, " %s", pipesim_settings[id].name);
	}
	if (training->zero != PIPESIM_ZERO_1)
		g_string_append_printf(out, " --zero %s", pipesim_plan_zero(training));
	if (setup->text[PIPESIM_SET_MODULES] == NULL &&
		pipesim_framework(&plan->wish)->modules != NULL)
		g_string_append_printf(
			out, " --modules %s", pipesim_framework(&plan->wish)->modules);
	for (char **trace = setup->list[PIPESIM_SET_TRACE]; trace != NULL && *trace != NULL;
		trace++)
		append_word(out, "--trace", *trace);
	if (plan->wish.device != NULL)
		append_word(out, "--device", plan->wish.device->name);
	if (training->pace[0] > 0)
		g_string_append_printf(out, " --time-factors %s,%s",
			pipesim_print_double(factors[0], training->pace[0]),
			pipesim_print_double(factors[1], training->pace[1]));
	/* With ZeRO-3 gradients are reduced within the step, and nothing is left to overlap. */
	if (plan->wish.training.overlap && training->zero != PIPESIM_ZERO_3)
		g_string_append(out, " --overlap-grad-reduce");
	if (setup->flag[PIPESIM_SET_EP_OVERLAP] && training->ep_overlap)
		g_string_append(out, " --ep-overlap");
}

/* "pipesim --pp 8 ...": what shows @candidate. */
void pipesim_plan_command(
	const PipesimPlanning *plan, const PipesimCandidate *candidate, GString *out)
{
	const PipesimTraining *training = &candidate->training;
	g_autofree char *recompute = pipesim_plan_recompute(training, "+");
	g_autoptr(PipesimCosts) costs = pipesim_planner_costs(&plan->wish, candidate, NULL);
	g_autoptr(PipesimStages) stages = pipesim_plan_stages(plan, candidate);
	g_autoptr(GString) layout = g_string_new(NULL);
	char room[64];

	if (stages != NULL)
		pipesim_stages_print(stages, layout);
	g_string_append_printf(out, "pipesim --pp %u -m %u -s %s", candidate->ranks,
		candidate->microbatches, pipesim_plan_schedule(candidate, room, sizeof room));
	append_word(out, "--model", plan->setup->text[PIPESIM_SET_MODEL]);
	g_string_append_printf(out,
		" --layout '%s' --microbatch-size %" G_GINT64_FORMAT " --tp %" G_GINT64_FORMAT
		" --dp %" G_GINT64_FORMAT,
		layout->str, training->microbatch, training->tp, training->dp);
	for (guint i = 0; i < 3; i++)
		if ((gint64[]){training->cp, training->ep, training->etp}[i] > 1)
			g_string_append_printf(out, " --%s %" G_GINT64_FORMAT,
				(const char *[]){"cp", "ep", "expert-tp"}[i],
				(gint64[]){training->cp, training->ep, training->etp}[i]);
	if (training->sequence_parallel)
		g_string_append(out, " --sequence-parallel");
	if (strcmp(recompute, "none") != 0)
		g_string_append_printf(out, " --recompute %s", recompute);
	append_given(plan, training, candidate->schedule, out);
	/* Of the plan where it was not given; a device knows how fast it reduces behind the step. */
	if (training->zero == PIPESIM_ZERO_3 || plan->wish.device == NULL ||
		training->reduce > 0)
		g_string_append_printf(out, " --%s-bandwidth %sGB/s",
			training->zero == PIPESIM_ZERO_3 ? "shard" : "dp",
			pipesim_double(
				(double)pipesim_planner_reduce(&plan->wish, training) / 1e9));
	if (plan->wish.runtime != NULL)
		g_string_append_printf(out, " --runtime %s", plan->wish.runtime->name);
	if (costs != NULL && plan->wish.device != NULL)
		g_string_append_printf(out, " --times P2P=%s", pipesim_ms(costs->p2p));
	g_string_append_printf(out, " --memory-limit %" G_GINT64_FORMAT "B",
		pipesim_planner_limit(&plan->wish, training, candidate->ranks));
}
