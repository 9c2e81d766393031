/* The best ways to train as people read them: a table, what each loses, and what does not fit. */
#include "config.h"

#include "output/figures.h"
#include "plan/plan.h"

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

static const PipesimColumn columns[] = {{NULL, "", FALSE}, {NULL, "schedule", TRUE},
	{NULL, "TP", FALSE}, {NULL, "PP", FALSE}, {NULL, "CP", FALSE}, {NULL, "EP", FALSE},
	{NULL, "DP", FALSE}, {"micro-batches", "size", FALSE}, {"micro-batches", "M", FALSE},
	{NULL, "recompute", TRUE}, {"step", "s", FALSE}, {"step", "tokens/s", FALSE},
	{NULL, "MFU %", FALSE}, {"fullest rank", "rank", FALSE}, {"fullest rank", "GiB", FALSE},
	{"lost, % of the step", "bubble", FALSE}, {"lost, % of the step", "again", FALSE},
	{"lost, % of the step", "messages", FALSE}, {"lost, % of the step", "after", FALSE}};

static void add_row(PipesimTable *table, const PipesimPlanning *plan,
	const PipesimCandidate *candidate, guint number, gboolean best)
{
	const PipesimTraining *training = &candidate->training;
	PipesimNumber seconds;
	char room[64];
	char *cells[] = {number > 0 ? g_strdup_printf("%u", number) : NULL,
		g_strdup(pipesim_plan_schedule(candidate, room, sizeof room)),
		g_strdup_printf("%" G_GINT64_FORMAT, training->tp),
		g_strdup_printf("%u", candidate->ranks),
		training->cp > 1 ? g_strdup_printf("%" G_GINT64_FORMAT, training->cp) : NULL,
		plan->wish.model->experts > 0
			? g_strdup_printf("%" G_GINT64_FORMAT, training->ep)
			: NULL,
		g_strdup_printf("%" G_GINT64_FORMAT, training->dp),
		g_strdup_printf("%" G_GINT64_FORMAT, training->microbatch),
		g_strdup_printf("%u", candidate->microbatches),
		pipesim_plan_recompute(training, "+"),
		g_strdup(pipesim_figure_fixed(seconds, (double)candidate->step / 1e9, 3)),
		g_strdup_printf("%" G_GINT64_FORMAT, candidate->tokens),
		candidate->mfu > 0 ? percent(candidate->mfu) : NULL,
		g_strdup_printf("%u", candidate->fullest), gib(candidate->memory),
		percent(candidate->bubble), percent(candidate->again),
		percent(candidate->messages), percent(candidate->after)};

	pipesim_table_add(table, best ? PIPESIM_ROW_BEST : PIPESIM_ROW_PLAIN, cells);
}

static void append_asked(const PipesimPlanning *plan, GString *out)
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
		g_string_append(out, "Times from the trace, scaled: attention and MLP by "
				     "FLOPs, rows of experts by bytes, the head as the MLP\n");
	else
		g_string_append_printf(out,
			"Times from FLOPs on %s at %s of its peak, not measured\n",
			wish->device->name,
			pipesim_print_double(
				mfu, pipesim_device_share(wish->device, &wish->training)));
	if (plan->measured.steps > 0)
		g_string_append_printf(out,
			"Corrected by %u measured step%s: kernels take %.2f and messages %.2f "
			"of what is described; errors of these %.1f %% before, %.1f %% now\n",
			plan->measured.steps, plan->measured.steps == 1 ? "" : "s",
			plan->measured.pace[0], plan->measured.pace[1],
			100 * plan->measured.before, 100 * plan->measured.after);
	g_string_append_printf(out,
		"Collectives and messages at shares of a node's links, %.0f GB/s per GPU "
		"between nodes\n",
		PIPESIM_NETWORK / 1e9);
	if (wish->training.zero == PIPESIM_ZERO_3)
		g_string_append_printf(out,
			"Stages are gathered and reduced within the step, as %s lists it\n",
			wish->runtime->name);
	g_string_append_printf(out,
		"%u candidates: %u fit under no schedule, %u cannot be among the ten best, %u "
		"simulated\n",
		planned->candidates, planned->too_large, planned->beaten, planned->simulated);
	if (wish->layouts)
		g_string_append_printf(out,
			"%u of them laid out anew; the others cannot be among the ten best "
			"under any layout\n",
			planned->laid_out);
	g_string_append_c(out, '\n');
}

/* "rank 0 would need 91.2 GiB: 20.1 static, 66.0 activations, 5.1 while an op runs" */
static void append_memory(const PipesimCandidate *candidate, const char *verb, GString *out)
{
	g_autofree char *all = gib(candidate->memory), *fixed = gib(candidate->parameters);
	g_autofree char *held = gib(candidate->activations),
			*moment = gib(candidate->transient);

	g_string_append_printf(out,
		"rank %u %s %s GiB: %s parameters, optimizer and workspaces, %s activations, "
		"%s while an op runs",
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
static void append_smallest(const PipesimPlanning *plan, GString *out)
{
	const PipesimCandidate *smallest = &plan->planned->smallest;
	g_autofree char *recompute = pipesim_plan_recompute(&smallest->training, "+");
	g_autofree char *least = gib(smallest->least);

	g_string_append_printf(out,
		"nothing fits: with TP %" G_GINT64_FORMAT ", PP %u, DP %" G_GINT64_FORMAT
		" and recompute %s a rank still has %s GiB of parameters, optimizer and one "
		"micro-batch; give more GPUs, or --zero 3\n",
		smallest->training.tp, smallest->ranks, smallest->training.dp, recompute,
		least);
}

static void append_misses(const PipesimPlanning *plan, GString *out)
{
	const GArray *misses = plan->planned->misses;

	for (guint i = 0; i < misses->len; i++) {
		const PipesimCandidate *miss = &g_array_index(misses, PipesimCandidate, i);
		g_autofree char *recompute = pipesim_plan_recompute(&miss->training, "+");
		PipesimNumber seconds;
		char room[64];

		g_string_append_printf(out,
			"%s with TP %" G_GINT64_FORMAT ", PP %u, size %" G_GINT64_FORMAT
			", recompute %s would take %s s, but ",
			pipesim_plan_schedule(miss, room, sizeof room), miss->training.tp,
			miss->ranks, miss->training.microbatch, recompute,
			pipesim_figure_fixed(seconds, (double)miss->step / 1e9, 3));
		append_memory(miss, "would need", out);
		g_string_append_c(out, '\n');
	}
}

static void append_explained(const PipesimPlanning *plan, guint number, GString *out)
{
	const PipesimCandidate *candidate =
		&g_array_index(plan->planned->best, PipesimCandidate, number - 1);
	g_autoptr(PipesimStages) stages = pipesim_plan_stages(plan, candidate);
	g_autoptr(GString) flags = g_string_new(NULL);
	g_auto(GStrv) lines = NULL;

	g_string_append_printf(out, "\n%u: ", number);
	append_memory(candidate, "needs", out);
	if (stages != NULL) {
		g_string_append(out, "\n\nLayout\n  ");
		pipesim_stages_print(stages, out);
	}
	g_string_append(out, "\n\nMegatron-LM\n");
	pipesim_plan_megatron(plan, candidate, flags);
	lines = g_strsplit(g_strstrip(flags->str), "\n", -1);
	for (char **line = lines; *line != NULL; line++)
		g_string_append_printf(out, "  %s\n", *line);
	g_string_append(out, "\nShow it\n  ");
	pipesim_plan_command(plan, candidate, out);
	g_string_append_c(out, '\n');
}

void pipesim_plan_text(
	const PipesimPlanning *plan, guint explained, const PipesimStyle *style, GString *out)
{
	const GArray *best = plan->planned->best;
	g_autoptr(PipesimTable) table = pipesim_table_new(columns, G_N_ELEMENTS(columns));

	append_asked(plan, out);
	for (guint i = 0; i < best->len; i++)
		add_row(table, plan, &g_array_index(best, PipesimCandidate, i), i + 1, i == 0);
	if (best->len > 0) {
		pipesim_table_print(table, WIDTH, style, out);
		g_string_append(out,
			"\nbubble: ranks that wait; again: recomputation; messages: of TP "
			"and EP; after: gradients and optimizer\n");
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
