/* The best ways to train as people read them: a table, what each loses, and what does not fit. */
#include "config.h"

#include "output/figures.h"
#include "plan/plan.h"
#include "transformer/errors.h"
#include <stdarg.h>
#include <string.h>

#define WIDTH 100

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

static const PipesimColumn columns[] = {{NULL, "", FALSE}, {NULL, "for", TRUE},
	{NULL, "schedule", TRUE}, {NULL, "TP", FALSE}, {NULL, "CP", FALSE}, {NULL, "PP", FALSE},
	{NULL, "EP", FALSE}, {NULL, "DP", FALSE}, {NULL, "mbs", FALSE},
	{NULL, "recompute", TRUE}, {"step", "s", FALSE}, {"MFU", "%", FALSE},
	{"bubble", "%", FALSE}, {"GiB of a GPU", "needs", FALSE},
	{"GiB of a GPU", "reserve", FALSE}};

/* "act+norm": modules of Megatron-LM, short. */
static char *short_recompute(const PipesimTraining *training)
{
	static const char *const names[][2] = {{"moe_act", "act"}, {"layernorm", "norm"},
		{"mla_up_proj", "mla"}, {"shared_experts", "shared"}, {"core_attn", "core"}};
	g_autofree char *text = pipesim_plan_recompute(training, "+");
	g_autoptr(GString) out = g_string_new(text);

	for (guint i = 0; i < G_N_ELEMENTS(names); i++)
		g_string_replace(out, names[i][0], names[i][1], 0);
	return g_strdup(out->str);
}

/* @less: columns that are left out, first the last ones. */
static void add_row(PipesimTable *table, const PipesimAdvice *plan, const PipesimPlanRow *row,
	guint number, guint less)
{
	const PipesimCandidate *candidate = row->candidate;
	const PipesimTraining *training = &candidate->training;
	g_autofree char *reserve = gib(candidate->reserve);
	PipesimNumber seconds;
	char room[64];
	char *cells[] = {g_strdup_printf("%s%u", row->equal ? "=" : "", number),
		plan->asked->len > 1 ? g_strdup(pipesim_framework(&row->of->wish)->name) : NULL,
		g_strdup(pipesim_plan_schedule(candidate, room, sizeof room)),
		g_strdup_printf("%" G_GINT64_FORMAT, training->tp),
		training->cp > 1 ? g_strdup_printf("%" G_GINT64_FORMAT, training->cp) : NULL,
		g_strdup_printf("%u", candidate->ranks),
		row->of->wish.model->experts == 0 ? NULL
		: training->etp > 1 ? g_strdup_printf("%" G_GINT64_FORMAT "x%" G_GINT64_FORMAT,
					      training->ep, training->etp)
				    : g_strdup_printf("%" G_GINT64_FORMAT, training->ep),
		g_strdup_printf("%" G_GINT64_FORMAT "%s", training->dp,
			training->zero == PIPESIM_ZERO_3 ? "*" : ""),
		less < 3 ? g_strdup_printf("%" G_GINT64_FORMAT, training->microbatch) : NULL,
		short_recompute(training),
		g_strdup(pipesim_figure_fixed(seconds, (double)candidate->step / 1e9, 3)),
		candidate->mfu > 0 && less < 2 ? percent(candidate->mfu) : NULL,
		less < 1 ? percent(candidate->bubble) : NULL, gib(candidate->memory),
		g_strconcat("+ ", reserve, NULL)};

	pipesim_table_add(table, number == 1 ? PIPESIM_ROW_BEST : PIPESIM_ROW_PLAIN, cells);
}

static void G_GNUC_PRINTF(2, 3) say(GString *out, const char *format, ...)
{
	g_autofree char *text = NULL;
	va_list words;

	va_start(words, format);
	text = g_strdup_vprintf(format, words);
	va_end(words);
	pipesim_wrap(out, text, 2, 0, WIDTH);
	if (out->len > 0 && out->str[out->len - 1] != '\n')
		g_string_append_c(out, '\n');
}

/* How far steps may be off: a sentence for Megatron-LM's modules, and one for PyTorch's. */
static void append_errors(const PipesimAdvice *plan, GString *out)
{
	double told = 0;

	for (guint i = 0; i < plan->asked->len; i++) {
		const PipesimWish *wish = &((PipesimPlanning *)plan->asked->pdata[i])->wish;
		const double error = pipesim_step_error(wish->model->experts > 0,
			wish->training.fp8, wish->training.eager, wish->capture != NULL);
		g_autofree char *share = percent(error);

		if (error == told || (told > 0 && !wish->training.eager))
			continue;
		told = error;
		say(out,
			"A step%s may be off by %s %%, the mean where %s was %s (docs/plan.md)",
			wish->training.eager ? " of PyTorch's modules" : "", share,
			wish->model->experts > 0 ? "a model with experts" : "a dense model",
			wish->capture != NULL ? "measured" : "described");
	}
}

static void append_asked(const PipesimAdvice *plan, GString *out)
{
	const PipesimPlanning *first = plan->asked->pdata[0];
	const PipesimWish *wish = &first->wish;
	g_autofree char *limit = gib(wish->memory);
	const PipesimPlanned all = pipesim_advice_sum(plan);
	PipesimNumber mfu;

	say(out,
		"%s on %u GPUs, %u per node: %" G_GINT64_FORMAT
		" sequences of %" G_GINT64_FORMAT " tokens a step, %s GiB a GPU",
		wish->model->name, wish->gpus, wish->per_node, wish->batch, wish->training.seq,
		limit);
	if (wish->capture != NULL)
		say(out, "Times from the trace, scaled: attention and MLP by FLOPs, rows of "
			 "experts "
			 "by bytes, the head as the MLP");
	else if (wish->device->measured != NULL)
		say(out,
			"Times from kernels on %s: %u shapes of products and %u other terms of "
			"it measured, links, network and the model not",
			wish->device->name, wish->device->measured->len, wish->device->terms);
	else
		say(out, "Times from FLOPs on %s at %s of its peak, not measured",
			wish->device->name,
			pipesim_print_double(
				mfu, pipesim_device_share(wish->device, &wish->training)));
	if (plan->measured.steps > 0)
		say(out,
			"Corrected by %u measured step%s: kernels take %.2f and messages %.2f "
			"of what is described; errors of these %.1f %% before, %.1f %% now",
			plan->measured.steps, plan->measured.steps == 1 ? "" : "s",
			plan->measured.pace[0], plan->measured.pace[1],
			100 * plan->measured.before, 100 * plan->measured.after);
	say(out,
		"Collectives and messages at shares of a node's links, %.0f GB/s per GPU "
		"between nodes",
		PIPESIM_NETWORK / 1e9);
	append_errors(plan, out);
	say(out,
		"%u candidates: %u fit under no schedule, %u cannot be among the best, %u "
		"simulated",
		all.candidates, all.too_large, all.beaten, all.simulated);
	if (wish->layouts)
		say(out,
			"%u of them laid out anew; the others cannot be among the ten best "
			"under "
			"any layout",
			all.laid_out);
	g_string_append_c(out, '\n');
}

/* "rank 0 would need 91.2 GiB: 20.1 static, 66.0 activations, 5.1 while an op runs" */
static char *memory_of(const PipesimCandidate *candidate, const char *verb)
{
	g_autofree char *all = gib(candidate->memory), *fixed = gib(candidate->parameters);
	g_autofree char *held = gib(candidate->activations), *reserve = gib(candidate->reserve);
	g_autofree char *moment = gib(candidate->transient);

	return g_strdup_printf("rank %u %s %s GiB: %s parameters, optimizer and workspaces, %s "
			       "activations, %s while an op runs; + %s reserve",
		candidate->fullest, verb, all, fixed, held, moment, reserve);
}

/* What of a step is lost in @candidate. */
static void append_losses(const PipesimCandidate *candidate, GString *out)
{
	g_autofree char *bubble = percent(candidate->bubble),
			*again = percent(candidate->again);
	g_autofree char *messages = percent(candidate->messages);
	g_autofree char *after = percent(candidate->after);

	say(out,
		"Lost in 1, %% of its step: ranks that wait %s, recomputation %s, messages of "
		"TP and "
		"EP %s, gradients and optimizer %s",
		bubble, again, messages, after);
}

/* Where nothing fits: how much would. */
static void append_smallest(const PipesimAdvice *plan, GString *out)
{
	const PipesimPlanning *of = NULL;
	const PipesimCandidate *smallest = NULL;

	for (guint i = 0; i < plan->asked->len; i++) {
		const PipesimPlanning *other = plan->asked->pdata[i];

		if (smallest == NULL || other->planned->smallest.least < smallest->least) {
			of = other;
			smallest = &other->planned->smallest;
		}
	}
	if (smallest == NULL)
		return;
	g_autofree char *recompute = pipesim_plan_recompute(&smallest->training, "+");
	g_autofree char *least = gib(smallest->least);
	g_autofree char *reserve = gib(pipesim_planner_reserved(
		&of->wish, &smallest->training, smallest->ranks, smallest->least));

	say(out,
		"nothing fits: with TP %" G_GINT64_FORMAT ", PP %u, DP %" G_GINT64_FORMAT
		" and recompute %s a rank still has %s GiB of parameters, optimizer and one "
		"micro-batch, + %s reserve; give more GPUs, or --zero 3",
		smallest->training.tp, smallest->ranks, smallest->training.dp, recompute, least,
		reserve);
}

static void append_misses(const PipesimAdvice *plan, GString *out)
{
	for (guint i = 0; i < plan->misses->len; i++) {
		const PipesimPlanRow *row = &g_array_index(plan->misses, PipesimPlanRow, i);
		const PipesimCandidate *miss = row->candidate;
		g_autofree char *recompute = pipesim_plan_recompute(&miss->training, "+");
		g_autofree char *memory = memory_of(miss, "would need");
		g_autofree char *cure = pipesim_advice_cure(row);
		PipesimNumber seconds;
		char room[64];

		say(out,
			"%s%s%s with TP %" G_GINT64_FORMAT ", PP %u, size %" G_GINT64_FORMAT
			", recompute %s would take %s s, but %s. It fits %s",
			plan->asked->len > 1 ? pipesim_framework(&row->of->wish)->words : "",
			plan->asked->len > 1 ? ": " : "",
			pipesim_plan_schedule(miss, room, sizeof room), miss->training.tp,
			miss->ranks, miss->training.microbatch, recompute,
			pipesim_figure_fixed(seconds, (double)miss->step / 1e9, 3), memory,
			cure);
	}
}

static void append_explained(const PipesimAdvice *plan, guint number, GString *out)
{
	const PipesimPlanRow *row = &g_array_index(plan->rows, PipesimPlanRow, number - 1);
	const PipesimFramework *framework = pipesim_framework(&row->of->wish);
	g_autofree char *memory = memory_of(row->candidate, "needs");
	g_autoptr(PipesimStages) stages = pipesim_plan_stages(row->of, row->candidate);
	g_autoptr(GString) flags = g_string_new(NULL);
	g_auto(GStrv) lines = NULL;

	g_string_append_c(out, '\n');
	say(out, "%u: %s", number, memory);
	if (row->candidate->alike != NULL)
		say(out, "As long but for 1 %%: %s", row->candidate->alike);
	if (stages != NULL) {
		g_string_append(out, "\nLayout\n  ");
		pipesim_stages_print(stages, out);
		g_string_append_c(out, '\n');
	}
	if (strcmp(framework->name, "megatron") == 0)
		pipesim_plan_megatron(row->of, row->candidate, flags);
	else if (framework->eager)
		pipesim_plan_torchtitan_recipe(row->of, row->candidate, flags);
	if (flags->len > 0)
		g_string_append_printf(out, "\n%s\n", framework->words);
	lines = g_strsplit(g_strstrip(flags->str), "\n", -1);
	for (char **line = lines; *line != NULL; line++)
		g_string_append_printf(out, "%s%s\n", **line != '\0' ? "  " : "", *line);
	g_string_append(out, "\nShow it\n  ");
	pipesim_plan_command(row->of, row->candidate, out);
	g_string_append_c(out, '\n');
}

/* Where several were asked: the best of each, a sentence each. */
static void append_verdicts(const PipesimAdvice *plan, GString *out)
{
	for (guint i = 0; i < plan->asked->len && plan->asked->len > 1; i++) {
		const PipesimPlanning *of = plan->asked->pdata[i];
		const PipesimFramework *framework = pipesim_framework(&of->wish);
		const PipesimPlanRow *row = pipesim_advice_best(plan, framework->name);
		PipesimNumber seconds;
		char room[64];

		if (row == NULL) {
			say(out, "%s: nothing fits", framework->words);
			continue;
		}
		say(out,
			"%s: %s, TP %" G_GINT64_FORMAT ", PP %u: %s s a step, %" G_GINT64_FORMAT
			" tokens a second",
			framework->words,
			pipesim_plan_schedule(row->candidate, room, sizeof room),
			row->candidate->training.tp, row->candidate->ranks,
			pipesim_figure_fixed(seconds, (double)row->candidate->step / 1e9, 3),
			row->candidate->tokens);
	}
	if (plan->asked->len > 1)
		g_string_append_c(out, '\n');
}

void pipesim_plan_text(
	const PipesimAdvice *plan, guint explained, const PipesimStyle *style, GString *out)
{
	g_autoptr(PipesimTable) table = NULL;
	g_autofree char *decision = pipesim_advice_decision(plan);
	gboolean gathered = FALSE, equal = FALSE;

	append_asked(plan, out);
	append_verdicts(plan, out);
	for (guint i = 0; i < plan->rows->len; i++) {
		const PipesimPlanRow *row = &g_array_index(plan->rows, PipesimPlanRow, i);

		gathered |= row->candidate->training.zero == PIPESIM_ZERO_3;
		equal |= row->equal;
	}
	/* As much as a page is wide. */
	for (guint less = 0; less < 4; less++) {
		g_clear_pointer(&table, pipesim_table_free);
		table = pipesim_table_new(columns, G_N_ELEMENTS(columns));
		for (guint i = 0; i < plan->rows->len; i++)
			add_row(table, plan, &g_array_index(plan->rows, PipesimPlanRow, i),
				i + 1, less);
		if (pipesim_table_width(table) <= WIDTH)
			break;
	}
	if (plan->rows->len > 0) {
		pipesim_table_print(table, WIDTH, style, out);
		g_string_append_c(out, '\n');
		if (gathered)
			say(out, "*: parameters are gathered stage by stage (--zero 3)");
		if (equal)
			say(out, "=: as short as 1, as far as a step can be trusted");
		if (decision != NULL)
			say(out, "%s", decision);
		append_losses(g_array_index(plan->rows, PipesimPlanRow, 0).candidate, out);
	} else {
		append_smallest(plan, out);
	}
	append_misses(plan, out);
	if (explained > 0)
		append_explained(plan, explained, out);
}
