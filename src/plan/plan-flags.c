/* How a candidate is written for people: in words, and as a command. */
#include "config.h"

#include "plan/plan.h"
#include <math.h>
#include <string.h>

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
	static const char safe[] = "%+,-./:=@_" G_CSET_A_2_Z G_CSET_a_2_z G_CSET_DIGITS;
	g_autofree char *quoted =
		*text == '\0' || text[strspn(text, safe)] != '\0' ? g_shell_quote(text) : NULL;

	g_string_append_printf(out, " %s %s", option, quoted != NULL ? quoted : text);
}

/* Options of the command line that say what the model is and how it is trained, but for sizes. */
static void append_given(const PipesimPlanning *plan, GString *out)
{
	static const PipesimSettingId kept[] = {PIPESIM_SET_SEQ, PIPESIM_SET_CP,
		PIPESIM_SET_EXPERT_TP, PIPESIM_SET_CP_COMM, PIPESIM_SET_OPTIMIZER,
		PIPESIM_SET_MODULES, PIPESIM_SET_ZERO, PIPESIM_SET_PRECISION,
		PIPESIM_SET_ATTENTION, PIPESIM_SET_LOSS, PIPESIM_SET_UNFUSED,
		PIPESIM_SET_ROUTING, PIPESIM_SET_WORKSPACE, PIPESIM_SET_MFU,
		PIPESIM_SET_ACTIVE_STAGES, PIPESIM_SET_UNSHARD_AHEAD};
	const PipesimSetup *setup = plan->setup;

	for (guint i = 0; i < G_N_ELEMENTS(kept); i++)
		if (setup->text[kept[i]] != NULL)
			append_word(out, pipesim_settings[kept[i]].name, setup->text[kept[i]]);
	for (char **trace = setup->list[PIPESIM_SET_TRACE]; trace != NULL && *trace != NULL;
		trace++)
		append_word(out, "--trace", *trace);
	if (plan->wish.device != NULL)
		g_string_append_printf(out, " --device %s", plan->wish.device->name);
	/* With ZeRO-3 gradients are reduced within the step, and nothing is left to overlap. */
	if (plan->wish.training.overlap && plan->wish.training.zero != PIPESIM_ZERO_3)
		g_string_append(out, " --overlap-reduce");
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
	PipesimNumber p2p, bandwidth;
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
	if (training->ep > 1)
		g_string_append_printf(out, " --ep %" G_GINT64_FORMAT, training->ep);
	if (training->sequence_parallel)
		g_string_append(out, " --sequence-parallel");
	if (strcmp(recompute, "none") != 0)
		g_string_append_printf(out, " --recompute %s", recompute);
	append_given(plan, out);
	/* Both of the plan where they were not given. */
	g_string_append_printf(out, " --%s-bandwidth %sGB/s",
		training->zero == PIPESIM_ZERO_3 ? "shard" : "dp",
		pipesim_print_double(bandwidth,
			(double)pipesim_planner_reduce(&plan->wish, training) / 1e9));
	if (plan->wish.runtime != NULL)
		g_string_append_printf(out, " --runtime %s", plan->wish.runtime->name);
	if (costs != NULL && plan->wish.device != NULL)
		g_string_append_printf(
			out, " --times P2P=%s", pipesim_print_ms(p2p, costs->p2p));
	g_string_append_printf(out, " --memory-limit %" G_GINT64_FORMAT "B", plan->wish.memory);
}
