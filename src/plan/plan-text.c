/* The best ways to train as people read them: a table, what each loses, and what does not fit. */
#include "output/screen.h"
#include "plan/plan.h"
#include "transformer/errors.h"

/* In few characters what is needed and reserved is one column. */
#define COLUMNS                                                                \
	"|for<|schedule<|TP|CP|PP|EP|DP|mbs|recompute<|step:s|MFU:%|bubble:%|" \
	"GiB of a GPU:needs|GiB of a GPU:reserve"
#define FEW_COLUMNS \
	"|for<|schedule<|TP|CP|PP|EP|DP|mbs|recompute<|step:s|MFU:%|bubble:%|needs:GiB|"

/* Longest lists of layers by stage that stand in a text, and in few characters; of a longer one its range does. */
#define LONGEST_LIST 20
#define SHORT_LIST   3

/* "first=0..4" of a list by stage that is long. */
static char *range_of(const PipesimTraining *training)
{
	guint n;
	g_autofree gint64 *each = pipesim_recompute_each(training, &n);
	gint64 least = training->first;

	for (guint i = 0; i < n; i++)
		least = MIN(least, each[i]);
	return g_strdup_printf(
		"first=%" G_GINT64_FORMAT "..%" G_GINT64_FORMAT, least, training->first);
}

/* "act+norm": modules of Megatron-LM, short; of DeepSeek's layers where @few those alone that they do not always compute again. */
static char *short_recompute(const PipesimTraining *training, gboolean few)
{
	static const char *const names[][2] = {{"moe_act", "act"}, {"layernorm", "norm"},
		{"mla_up_proj", "mla"}, {"shared_experts", "shared"}, {"core_attn", "core"}};
	PipesimTraining own = *training;

	if (training->each != NULL &&
		strlen(training->each) > (few ? SHORT_LIST : LONGEST_LIST))
		return range_of(training);
	if (few && training->deepseek)
		own.recompute &= ~(guint)PIPESIM_RECOMPUTE_DEEPSEEK;
	g_autofree char *text = pipesim_plan_recompute(&own, "+");
	g_autoptr(GString) out = g_string_new(text);

	for (guint i = 0; i < G_N_ELEMENTS(names); i++)
		g_string_replace(out, names[i][0], names[i][1], 0);
	return g_strdup(out->str);
}

/* @less: columns that are left out, first the last ones. @few: in few characters, with what is needed and the reserve as one. */
static void add_row(PipesimTable *table, const PipesimAdvice *plan, const PipesimPlanRow *row,
	guint number, guint less, gboolean few)
{
	const PipesimCandidate *candidate = row->candidate;
	const PipesimTraining *training = &candidate->training;
	const gboolean experts = row->of->wish.model->experts > 0;
	char room[64];
	g_auto(GStrv) schedule =
		g_strsplit(pipesim_plan_schedule(candidate, room, sizeof room), "-1f1b:", 2);
	/* The longest: numbers as long as its are the widest. */
	const double last =
		(double)g_array_index(plan->rows, PipesimPlanRow, plan->rows->len - 1)
			.candidate->step /
		1e9;
	g_autofree char *name = g_strjoinv(few ? ":" : "-1f1b:", schedule);
	g_autofree char *recompute = short_recompute(training, few || less > 0);

#define OR_NOTHING(shown, value, decimals) \
	((shown) ? pipesim_fixed((double)(value), decimals) : "")
	pipesim_table_row(table, number == 1 ? PIPESIM_ROW_BEST : PIPESIM_ROW_PLAIN,
		"%s%u\t%s\t%s\t%" G_GINT64_FORMAT "\t%s\t%u\t%s%s%s\t%" G_GINT64_FORMAT
		"%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s%s",
		row->equal ? "=" : "", number,
		plan->asked->len > 1 ? pipesim_framework(&row->of->wish)->name : "", name,
		training->tp, OR_NOTHING(training->cp > 1, training->cp, 0), candidate->ranks,
		OR_NOTHING(experts, training->ep, 0), experts && training->etp > 1 ? "x" : "",
		OR_NOTHING(experts && training->etp > 1, training->etp, 0), training->dp,
		training->zero == PIPESIM_ZERO_3 ? "*" : "",
		OR_NOTHING(less < 3, training->microbatch, 0), recompute,
		pipesim_fixed((double)candidate->step / 1e9, few && last >= 100  ? 1
							     : few && last >= 10 ? 2
										 : 3),
		OR_NOTHING(candidate->mfu > 0 && less < 2, 100 * candidate->mfu, 1),
		OR_NOTHING(less < 1, 100 * candidate->bubble, 1),
		pipesim_gib(candidate->memory + (few ? candidate->reserve : 0), 1),
		few ? "" : "+ ", few ? "" : pipesim_gib(candidate->reserve, 1));
}

/* As much as there is room for. */
static PipesimTable *make_table(const PipesimAdvice *plan, gboolean few)
{
	const guint width = few ? PIPESIM_SCREEN_WIDTH : TABLE_WIDTH;
	PipesimTable *table = NULL;

	for (guint less = few; less < 4; less++) {
		pipesim_table_free(table);
		table = pipesim_table_of(few ? FEW_COLUMNS : COLUMNS);
		for (guint i = 0; i < plan->rows->len; i++)
			add_row(table, plan, &g_array_index(plan->rows, PipesimPlanRow, i),
				i + 1, less, few);
		if (pipesim_table_width(table) <= width)
			break;
	}
	return table;
}

/* "2 % off, 9 of 10 within 4 %; torchtitan 8, 15 %": how far steps may be off, to so many @digits, by Megatron-LM's modules and by
 * PyTorch's: the mean, and of nine in ten. Of what was measured the mean alone is known. */
static char *errors_of(const PipesimAdvice *plan, guint digits)
{
	g_autoptr(GString) out = g_string_new(NULL);
	double told = 0;

	pipesim_each_in (const PipesimPlanning, of, plan->asked) {
		const PipesimWish *wish = &of->wish;
		const double error = pipesim_advice_error(plan, wish);
		const gboolean described = wish->capture == NULL && plan->measured.steps == 0;

		if (error == told || (told > 0 && !wish->training.eager))
			continue;
		g_string_append_printf(out, "%s%s", told > 0 ? "; torchtitan " : "",
			pipesim_fixed(100 * error, digits));
		if (told == 0)
			g_string_append(out, digits > 0 ? " % off in the mean" : " % off");
		if (described)
			g_string_append_printf(out, "%s%s",
				told > 0 ? ", " : ", 9 of 10 within ",
				pipesim_fixed(
					100 * pipesim_described_step_error(
						      &wish->training, wish->model->experts > 0)
							.most,
					digits));
		if (described || told > 0)
			g_string_append(out, " %");
		told = error;
	}
	return g_strdup(out->str);
}

/* " (8 nodes of 8)", or how many GPUs links join where these are more than a node's. */
static char *nodes_of(const PipesimWish *wish)
{
	if (wish->device != NULL && wish->device->node > wish->per_node &&
		wish->gpus > wish->per_node)
		return g_strdup_printf(
			" (links join %" G_GINT64_FORMAT ")", wish->device->node);
	return wish->gpus > wish->per_node
		       ? g_strdup_printf(" (%u nodes of %u)", wish->gpus / wish->per_node,
				 wish->per_node)
		       : g_strdup("");
}

/* Who asked for what, and how far times can be trusted. */
static void append_asked(const PipesimAdvice *plan, GString *out)
{
	const PipesimWish *wish = &((PipesimPlanning *)plan->asked->pdata[0])->wish;
	g_autofree char *name = g_path_get_basename(wish->model->name);
	const char *extension = pipesim_path_extension(name);
	/* Of a file, not of "qwen2.5-vl-7b". */
	const gboolean is_file =
		g_str_equal(extension, "ini") || g_str_equal(extension, "json");
	g_autofree char *gpu = NULL, *nodes = nodes_of(wish), *errors = errors_of(plan, 0);

	g_string_append_printf(out, "%.*s on %u ",
		(int)(strlen(name) - (is_file ? strlen(extension) + 1 : 0)), name, wish->gpus);
	if (wish->device != NULL && strchr(wish->device->name, '/') == NULL)
		gpu = g_ascii_strup(wish->device->name, -1);
	g_string_append_printf(out, "%s of %.1f GiB%s", gpu != NULL ? gpu : "GPUs",
		(double)wish->memory / PIPESIM_GIB, nodes);
	g_string_append_printf(out,
		", %" G_GINT64_FORMAT " sequences of %" G_GINT64_FORMAT
		" tokens a step; times ",
		wish->batch, wish->training.seq);
	g_string_append(out, wish->capture != NULL ? "of a trace"
			     : plan->measured.steps > 0
				     ? "described, corrected by measured steps"
			     : wish->device->measured != NULL ? "described, kernels measured"
							      : "described");
	/* What nobody asked for, and makes up to a third of the step. */
	if (wish->training.guessed && wish->training.graphs == PIPESIM_GRAPHS_STEP)
		g_string_append(out, ", Megatron-LM's steps as CUDA graphs");
	g_string_append_printf(out, " (%s)\n", errors);
}

/* What times are made of, how far off they are, and what was tried. */
static void note_facts(const PipesimAdvice *plan, GPtrArray *notes)
{
	const PipesimWish *wish = &((PipesimPlanning *)plan->asked->pdata[0])->wish;
	g_autofree char *errors = errors_of(plan, 1);
	const PipesimPlanned all = pipesim_advice_sum(plan);

	if (wish->capture != NULL)
		pipesim_lines_say(notes, "times from the trace, scaled: attention and MLP by "
					 "FLOPs, rows of experts by bytes, the head as the "
					 "MLP");
	else if (wish->device->measured != NULL)
		pipesim_lines_say(notes,
			"times from kernels on %s: %u shapes of products and %u other terms of "
			"it measured, links, network and the model not",
			wish->device->name, wish->device->measured->len, wish->device->terms);
	else
		pipesim_lines_say(notes,
			"times from kernels on %s, products at %s of its peak, not measured",
			wish->device->name,
			pipesim_double(pipesim_device_share(wish->device, &wish->training)));
	if (plan->measured.steps > 0)
		pipesim_lines_say(notes,
			"corrected by %u measured step%s: kernels take %.2f and messages %.2f "
			"of what is described; errors of these %.1f %% before, %.1f %% now",
			plan->measured.steps, plan->measured.steps == 1 ? "" : "s",
			plan->measured.pace[0], plan->measured.pace[1],
			100 * plan->measured.before, 100 * plan->measured.after);
	pipesim_lines_say(notes,
		"collectives and messages at shares of a node's links, %.0f GB/s per GPU "
		"between nodes",
		(wish->training.node_bandwidth > 0 ? (double)wish->training.node_bandwidth
			: wish->device != NULL     ? wish->device->network
						   : PIPESIM_NETWORK) /
			1e9);
	pipesim_lines_say(notes, "steps of %s, %s, are %s%s (docs/plan.md)",
		wish->model->experts > 0 ? "models with experts" : "dense models",
		wish->capture != NULL      ? "measured"
		: plan->measured.steps > 0 ? "described and corrected"
					   : "described",
		errors,
		pipesim_experts_untold(&wish->training) && wish->model->experts > 0 &&
				wish->capture == NULL
			? "; less where --dispatcher and --graphs say how they run"
			: "");
	pipesim_lines_say(notes,
		"%u candidates: %u fit under no schedule, %u cannot be among the best, %u "
		"simulated",
		all.candidates, all.too_large, all.beaten, all.simulated);
	if (wish->layouts)
		pipesim_lines_say(notes,
			"%u of them laid out anew; the others cannot be among the ten best "
			"under any layout",
			all.laid_out);
}

/* "rank 0 would need 91.2 GiB: 20.1 static, 66.0 activations, 5.1 while an op runs" */
static char *memory_of(const PipesimCandidate *candidate, const char *verb)
{
	return g_strdup_printf("rank %u %s %s GiB: %s parameters, optimizer and workspaces, %s "
			       "activations and messages%s, %s while an op runs; + %s reserve",
		candidate->fullest, verb, pipesim_gib(candidate->memory, 1),
		pipesim_gib(candidate->parameters, 1), pipesim_gib(candidate->activations, 1),
		candidate->training.zero == PIPESIM_ZERO_3 ? " with gathered stages" : "",
		pipesim_gib(candidate->transient, 1), pipesim_gib(candidate->reserve, 1));
}

/* Sentences -------------------------------------------------------------------------------- */

/* "58k", "1.23M" tokens a second. */
static const char *short_rate(PipesimNumber out, gint64 tokens)
{
	const gboolean millions = tokens >= 1000000;

	if (tokens < 10000)
		return pipesim_screen_number(out, (double)tokens);
	pipesim_figure_fixed(out, (double)tokens / (millions ? 1e6 : 1e3), millions ? 2 : 0);
	g_strlcat(out, millions ? "M" : "k", PIPESIM_NUMBER_LENGTH);
	return out;
}

/* "TP 8, PP 2, EP 4, DP 4, interleaved-1f1b with 4 chunks". */
static char *words_of(const PipesimPlanRow *row)
{
	const PipesimCandidate *candidate = row->candidate;
	const PipesimTraining *training = &candidate->training;
	const struct {
		const char *name;
		gint64 size;
		gboolean always;
	} sizes[] = {{"TP", training->tp, TRUE}, {"CP", training->cp, FALSE},
		{"PP", candidate->ranks, TRUE}, {"EP", training->ep, FALSE},
		{"DP", training->dp, TRUE}};
	g_autoptr(GString) words = g_string_new(NULL);
	g_autofree char *recompute = short_recompute(training, training->each == NULL);

	for (guint i = 0; i < G_N_ELEMENTS(sizes); i++)
		if (sizes[i].always || sizes[i].size > 1)
			g_string_append_printf(words, "%s %" G_GINT64_FORMAT ", ",
				sizes[i].name, sizes[i].size);
	if (training->microbatch > 1)
		g_string_append_printf(
			words, "mbs %" G_GINT64_FORMAT ", ", training->microbatch);
	g_string_append(words, candidate->schedule->name);
	if (candidate->chunks > 0)
		g_string_append_printf(words, " with %u chunks", candidate->chunks);
	if (strcmp(recompute, "none") != 0)
		g_string_append_printf(words, ", recompute %s", recompute);
	return g_strdup(words->str);
}

/* Other modules than its own may be shorter than any order of these. */
static const char *who_of(const PipesimWish *wish)
{
	if (pipesim_framework(wish)->runtime != NULL)
		return pipesim_framework(wish)->words;
	return wish->capture != NULL     ? "Any order"
	       : wish->training.eager    ? "Any order of PyTorch's modules"
	       : wish->training.deepseek ? "Any order of DeepSeek's modules"
					 : "Any order of Megatron-LM's modules";
}

/* What the best of @of comes to. */
static char *verdict_of(const PipesimAdvice *plan, const PipesimPlanning *of)
{
	const PipesimFramework *framework = pipesim_framework(&of->wish);
	const PipesimPlanRow *row = pipesim_advice_best(plan, framework->name);
	g_autofree char *words = row != NULL ? words_of(row) : NULL;
	const char *who = who_of(&of->wish);
	PipesimNumber rate, mfu = "";

	if (row == NULL)
		return g_strdup_printf(
			"%s: nothing fits in %s GiB.", who, pipesim_gib(of->wish.memory, 1));
	if (row->candidate->mfu > 0)
		pipesim_figure_fixed(mfu, 100 * row->candidate->mfu, 1);
	return g_strdup_printf("%s: %s: %s a step, %s tokens/s%s%s%s.", who, words,
		pipesim_brief_time(row->candidate->step),
		short_rate(rate, row->candidate->tokens), *mfu != '\0' ? ", MFU " : "", mfu,
		*mfu != '\0' ? "%" : "");
}

/* What else would be shorter, and what that needs; @full: by parts. */
static char *miss_of(const PipesimPlanRow *row, gboolean full)
{
	g_autofree char *words = words_of(row), *cure = pipesim_advice_cure(row);
	g_autofree char *memory = full ? memory_of(row->candidate, "would need") : NULL;

	return g_strdup_printf("%s, %s would take %s; it fits %s%s%s%s",
		pipesim_framework(&row->of->wish)->words, words,
		pipesim_brief_time(row->candidate->step), cure, full ? " (" : "",
		full ? memory : "", full ? ")" : "");
}

/* Where nothing fits: how much would. */
static char *smallest_of(const PipesimAdvice *plan)
{
	const PipesimPlanning *of = plan->asked->pdata[0];
	const PipesimCandidate *smallest = &of->planned->smallest;
	gboolean shares = FALSE; /* FSDP was tried */

	pipesim_each_in (const PipesimPlanning, other, plan->asked) {
		shares |= other->wish.training.eager;

		if (other->planned->smallest.least < smallest->least) {
			of = other;
			smallest = &other->planned->smallest;
		}
	}
	g_autofree char *recompute = pipesim_plan_recompute(&smallest->training, "+");
	const gint64 reserve = pipesim_planner_reserved(
		&of->wish, &smallest->training, smallest->ranks, smallest->least);

	return g_strdup_printf(
		"nothing fits: with TP %" G_GINT64_FORMAT ", PP %u, DP %" G_GINT64_FORMAT
		" and recompute %s a rank still has %s GiB of parameters, optimizer and one "
		"micro-batch, + %s reserve; give more GPUs%s",
		smallest->training.tp, smallest->ranks, smallest->training.dp, recompute,
		pipesim_gib(smallest->least, 1), pipesim_gib(reserve, 1),
		shares ? "" : ", or --framework torchtitan, which shares parameters too");
}

/* What stands below the table: its marks, and what of a step is lost in the first row. */
static void note_marks(const PipesimAdvice *plan, GPtrArray *notes)
{
	const PipesimCandidate *first = g_array_index(plan->rows, PipesimPlanRow, 0).candidate;
	gboolean gathered = FALSE, equal = FALSE, each = FALSE;

	pipesim_each (const PipesimPlanRow, row, plan->rows) {
		gathered |= row->candidate->training.zero == PIPESIM_ZERO_3;
		equal |= row->equal;
		each |= row->candidate->training.each != NULL;
	}
	if (equal)
		pipesim_lines_say(notes, "= as short as row 1, within the error of a step");
	if (gathered)
		pipesim_lines_say(notes, "* parameters are gathered stage by stage (--zero 3)");
	if (each)
		pipesim_lines_say(notes, "first=N,N... or N..N: layers that each stage "
					 "recomputes; --explain lists all");
	pipesim_lines_say(notes,
		"Lost in row 1, %% of its step: waiting %s, recomputation %s, messages of TP "
		"and EP %s, gradients and optimizer %s",
		pipesim_fixed(100 * first->bubble, 1), pipesim_fixed(100 * first->again, 1),
		pipesim_fixed(100 * first->messages, 1), pipesim_fixed(100 * first->after, 1));
}

static void append_explained(const PipesimAdvice *plan, guint number, GString *out)
{
	const PipesimPlanRow *row = &g_array_index(plan->rows, PipesimPlanRow, number - 1);
	const PipesimFramework *framework = pipesim_framework(&row->of->wish);
	g_autofree char *memory = memory_of(row->candidate, "needs");
	g_autoptr(PipesimStages) stages = pipesim_plan_stages(row->of, row->candidate);
	g_autoptr(GString) flags = g_string_new(NULL);
	g_autoptr(GPtrArray) about = pipesim_lines_new(NULL, NULL);

	pipesim_lines_say(about, "%u: %s", number, memory);
	if (row->candidate->alike != NULL)
		pipesim_lines_say(about, "Within 1 %% of it: %s", row->candidate->alike);
	pipesim_wrap_all(out, about, TABLE_WIDTH);
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
	g_auto(GStrv) lines = g_strsplit(g_strstrip(flags->str), "\n", -1);
	for (char **line = lines; *line != NULL; line++)
		g_string_append_printf(out, "%s%s\n", **line != '\0' ? "  " : "", *line);
	g_string_append(out, "\nShow it\n  ");
	pipesim_plan_command(row->of, row->candidate, out);
	g_string_append_c(out, '\n');
}

void pipesim_plan_text(
	const PipesimAdvice *plan, guint explained, const PipesimStyle *style, GString *out)
{
	g_autoptr(PipesimScreen) screen = pipesim_screen_new();
	g_autofree char *decision = pipesim_advice_decision(plan);

	append_asked(plan, screen->asked);
	pipesim_each_in (const PipesimPlanning, of, plan->asked) {
		g_autofree char *verdict = verdict_of(plan, of);

		pipesim_lines_say(screen->verdict, "%s", verdict);
	}
	if (decision != NULL)
		pipesim_lines_say(screen->verdict, "%s.", decision);
	if (plan->rows->len > 0) {
		screen->table = make_table(plan, !style->full);
		note_marks(plan, screen->below);
		pipesim_lines_say(screen->more, "--explain 1");
	} else {
		g_autofree char *smallest = smallest_of(plan);

		pipesim_lines_say(screen->notes, "%s", smallest);
	}
	pipesim_each (const PipesimPlanRow, row, plan->misses) {
		g_autofree char *miss = miss_of(row, style->full);

		pipesim_lines_say(screen->notes, "%s", miss);
	}
	if (style->full)
		note_facts(plan, screen->notes);
	if (explained > 0) {
		screen->whole = TRUE;
		screen->appendix = g_string_new(NULL);
		append_explained(plan, explained, screen->appendix);
	}
	pipesim_lines_say(screen->more, "-o FOLDER");
	pipesim_lines_say(screen->more, "--report FILE.html");
	pipesim_screen_print(screen, style, out);
}
