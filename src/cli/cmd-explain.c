#include "cli/command.h"
#include "output/table.h"
#include "setup/choice.h"

#define WIDTH 80
/* Longest sequence that is looked for when an order written op by op is put in loops. */
#define MAX_PERIOD 24
/* Ranks of a placement that are shown from the first on and up to the last. */
#define FIRST_RANKS 8
#define LAST_RANKS  2

/* Nothing where @text is NULL. */
static void append_wrapped(GString *out, const char *text, guint indent)
{
	if (text == NULL)
		return;
	g_string_append_printf(out, "%*s", (int)indent, "");
	pipesim_wrap(out, text, indent, indent, WIDTH);
}

static void append_section(GString *out, const char *title, const char *text)
{
	if (text == NULL)
		return;
	g_string_append_printf(out, "\n%s\n", title);
	append_wrapped(out, text, 2);
}

/* Placement ------------------------------------------------------------------------------ */

static gboolean is_shown(const PipesimShape *shape, guint rank)
{
	return shape->ranks <= FIRST_RANKS + LAST_RANKS + 1 || rank < FIRST_RANKS ||
	       rank + LAST_RANKS >= shape->ranks;
}

/* The ranks of @order, or where @chunk is not below 0 their stages. */
static void append_row(GString *out, const PipesimOrder *order, const char *title, int chunk)
{
	const PipesimShape *shape = &order->shape;
	const int width = shape->stages > 1000 ? 7 : 4;

	g_string_append_printf(out, "  %-*s", shape->copies == 2 ? 23 : 12, title);
	for (guint rank = 0; rank < shape->ranks; rank++) {
		const gsize at = (gsize)rank * shape->chunks + (guint)MAX(chunk, 0);
		const guint number = chunk < 0 ? rank
				     : order->program != NULL
					     ? order->program->stage_of[at]
					     : pipesim_shape_stage(shape, rank, (guint)chunk);

		if (rank == FIRST_RANKS && !is_shown(shape, rank))
			g_string_append_printf(out, "%*s", width, "...");
		if (is_shown(shape, rank) && number == PIPESIM_NO_OP)
			g_string_append_printf(out, "%*s", width, "-");
		else if (is_shown(shape, rank))
			g_string_append_printf(out, "%*u", width, number);
	}
	g_string_append_c(out, '\n');
}

static void append_placement(const PipesimOrder *order, GString *out)
{
	const PipesimShape *shape = &order->shape;

	g_string_append_printf(
		out, "\nPlacement: the stages of each rank, at PP %u\n  ", shape->ranks);
	if (shape->copies > 1)
		g_string_append_printf(out, "%u copies of %u stages, one for each %s\n",
			shape->copies, shape->stages,
			shape->copies == 2 ? "direction" : "pipeline");
	else
		g_string_append_printf(out, "%u stage%s of 1/%u of the model, one copy\n",
			shape->stages, shape->stages == 1 ? "" : "s", shape->stages);
	append_row(out, order, "rank", -1);
	for (guint chunk = 0; chunk < shape->chunks; chunk++) {
		/* By the numbers that ops below have. */
		g_autofree char *title =
			shape->chunks == 1 ? g_strdup("stage")
			: shape->copies == 2
				? g_strdup_printf("%s direction (%u)",
					  chunk == 0 ? "forward" : "reverse", chunk)
				: g_strdup_printf("%s %u",
					  shape->copies > 2 ? "pipeline" : "chunk", chunk);

		append_row(out, order, title, (int)chunk);
	}
}

/* Phases --------------------------------------------------------------------------------- */

/* How often the first @period of @n verbs follow each other. */
static guint count_rounds(const PipesimOp *verbs, guint n, guint period)
{
	guint same = period;

	for (; same < n; same++) {
		const PipesimOp *verb = &verbs[same], *before = verb - period;

		if (verb->kind != before->kind || verb->chunk != before->chunk ||
			verb->b_chunk != before->b_chunk)
			break;
	}
	return same / period;
}

/* What a rank runs, phase by phase. */
typedef struct {
	const PipesimOrder *order;
	const GPtrArray *names;
	GString *out;
	guint8 phase;
	gboolean begun;
	GString *line;   /* of the phase, not printed yet */
	gboolean single; /* it ends with a verb outside of any loop */
} Phases;

static void append_rounds(Phases *phases, const PipesimOp *verbs, guint n, guint rounds)
{
	const gboolean single = rounds == 1, one = phases->order->shape.chunks == 1;
	GString *line = phases->line;

	if (line->len > 0)
		g_string_append(line, single && phases->single ? " " : ", ");
	if (!single)
		g_string_append_printf(line, "%u x %s", rounds, n > 1 ? "(" : "");
	/* Ops without their micro-batches: "F", "W1", "F0&B1". */
	for (guint i = 0; i < n; i++, verbs++) {
		const char *letter = pipesim_kind_letter(verbs->kind);

		g_string_append(line, i > 0 ? " " : "");
		if (one || verbs->chunk == PIPESIM_OLDEST)
			g_string_append(line, verbs->kind == PIPESIM_FB ? "F&B" : letter);
		else if (verbs->kind == PIPESIM_FB)
			g_string_append_printf(line, "F%u&B%u", verbs->chunk, verbs->b_chunk);
		else
			g_string_append_printf(line, "%s%u", letter, verbs->chunk);
	}
	if (!single && n > 1)
		g_string_append_c(line, ')');
	phases->single = single;
}

/* Verbs that stand one by one: what repeats among them is shown as a loop. */
static void append_sequence(Phases *phases, const PipesimOp *verbs, guint n)
{
	while (n > 0) {
		guint best = 1, rounds = count_rounds(verbs, n, 1);

		/* The period whose rounds take up most of the verbs; the shortest of equals. */
		for (guint period = 2; period <= MIN(MAX_PERIOD, n / 2); period++) {
			const guint count = count_rounds(verbs, n, period);

			if (count > 1 && count * period > rounds * best) {
				best = period;
				rounds = count;
			}
		}
		if (rounds == 1)
			best = 1;
		append_rounds(phases, verbs, best, rounds);
		verbs += best * rounds;
		n -= best * rounds;
	}
}

static void end_phase(Phases *phases)
{
	const char *name = g_ptr_array_index(phases->names, phases->phase);

	if (!phases->begun)
		return;
	g_string_append_printf(phases->out, "    %-14s ", name[0] != '\0' ? name : "all");
	glong width = 4 + MAX(14, g_utf8_strlen(name, -1)) + 1;
	pipesim_wrap(phases->out, phases->line->str, 19, (guint)width, WIDTH);
	g_string_truncate(phases->line, 0);
	phases->begun = FALSE;
}

static void begin_phase(Phases *phases, guint8 phase)
{
	if (phases->begun && phases->phase != phase)
		end_phase(phases);
	phases->begun = TRUE;
	phases->phase = phase;
}

/* Outside of loops. */
static void append_verbs(Phases *phases, const PipesimOp *verbs, guint n)
{
	for (guint from = 0, to; from < n; from = to) {
		for (to = from + 1; to < n && verbs[to].phase == verbs[from].phase;)
			to++;
		begin_phase(phases, verbs[from].phase);
		append_sequence(phases, verbs + from, to - from);
	}
}

static void append_rank(const PipesimOrder *order, guint rank, GString *out)
{
	const PipesimProgram *program = order->program;
	const guint32 *begin = program != NULL ? program->rank_begin : order->rank_begin;
	g_autoptr(GString) line = g_string_new(NULL);
	Phases phases = {.order = order,
		.names = program != NULL ? program->phases : order->phases,
		.out = out,
		.line = line};

	g_string_append_printf(out, "  rank %u\n", rank);
	if (program != NULL)
		append_verbs(
			&phases, &program->ops[begin[rank]], begin[rank + 1] - begin[rank]);
	for (guint32 i = begin[rank]; program == NULL && i < begin[rank + 1]; i++) {
		const PipesimLoop *loop = &order->loops[i];
		const PipesimOp *verbs = &order->verbs[loop->first];

		if (loop->n > 0 && loop->count > 1) {
			begin_phase(&phases, verbs[0].phase);
			append_rounds(&phases, verbs, loop->n, loop->count);
			continue;
		}
		append_verbs(&phases, verbs, loop->n);
	}
	end_phase(&phases);
}

/* Formulae ------------------------------------------------------------------------------- */

static void append_formulae(const PipesimSchedule *schedule, GString *out)
{
	const PipesimBubbleFormula *bubble = &schedule->bubble;
	const PipesimCondition *condition = bubble->conditions;

	append_section(out, "Source", schedule->reference);
	g_string_append_printf(out, "\nBubble (%s)\n  %s\n",
		bubble->is_span ? "span: last end - first start - busy, largest over ranks"
				: "makespan - busy, largest over ranks",
		bubble->text != NULL ? bubble->text : "no formula is published");
	append_wrapped(out, bubble->letters, 2);
	append_wrapped(out, bubble->exact, 2);
	if (condition->rule != NULL)
		g_string_append(out, "\nConditions of the bubble formula\n");
	for (; condition->rule != NULL; condition++) {
		g_autofree char *text = g_strdup_printf("%s%s%s", condition->rule,
			condition->consequence != NULL ? "; where it does not hold: " : "",
			condition->consequence != NULL ? condition->consequence : "");

		append_wrapped(out, text, 2);
	}
	append_section(out, "Where the bubble differs between ranks", bubble->uneven);
	g_string_append_printf(out,
		"\nPeak activations (stages of one micro-batch, largest rank)\n  %s\n",
		schedule->activations.text != NULL ? schedule->activations.text
						   : "no formula is published");
	append_wrapped(out, schedule->activations.exact, 2);
	append_section(out, "Parameters",
		schedule->placement == PIPESIM_BIDIRECTIONAL
			? "2 copies: a rank holds a stage of each direction"
			: "1 copy: each stage is on one rank");
	g_string_append_printf(out, "\nSends and receives (--runtime native)\n  %s\n",
		schedule->runtime != NULL ? schedule->runtime
					  : "no known runtime; simulated as async");
}

/* One run -------------------------------------------------------------------------------- */

/* What was not asked for becomes a small shape that the schedule takes. */
static gboolean choose_shape(const PipesimSchedule *schedule, PipesimScenario *scenario,
	PipesimShape *shape, GError **error)
{
	static const guint per_rank[] = {2, 1, 4, 3};

	if (scenario->microbatches != 0)
		return pipesim_schedule_shape(schedule, scenario, shape, error);
	for (gsize i = 0; i < G_N_ELEMENTS(per_rank); i++) {
		scenario->microbatches = per_rank[i] * scenario->ranks;
		if (pipesim_schedule_shape(schedule, scenario, shape, NULL))
			return TRUE;
	}
	scenario->microbatches = per_rank[0] * scenario->ranks;
	return pipesim_schedule_shape(schedule, scenario, shape, error);
}

/* What the schedule is, from its words and the settings that it uses. */
static void append_words(const PipesimSchedule *schedule, GString *out)
{
	g_autoptr(GString) options = g_string_new(NULL);

	g_string_append_printf(out, "%s: %s\n", schedule->name, schedule->summary);
	append_section(out, "Idea", schedule->idea);
	append_section(out, "Also called", schedule->aliases);
	append_section(out, "Shapes", schedule->constraints);
	for (guint id = 1; id < PIPESIM_N_SETTINGS; id++) {
		const PipesimSetting *setting = &pipesim_settings[id];

		if (!(schedule->takes & setting->users) || setting->brief == NULL)
			continue;
		g_string_append_printf(options, "%s%s%s, %s", setting->name,
			setting->argument != NULL ? " " : "",
			setting->argument != NULL ? setting->argument : "", setting->brief);
		if (id == PIPESIM_SET_CHUNKS)
			g_string_append_printf(options, " (default %u)", schedule->chunks);
		g_string_append(options, ". ");
	}
	if (options->len > 0)
		append_section(out, "Options", options->str);
}

/* What the run of @choice shows: which rank holds what, the phases of ranks, the timeline. */
static gboolean append_run(const PipesimChoice *choice, PipesimSetup *setup,
	const PipesimStyle *style, GString *out, GError **error)
{
	g_autoptr(PipesimComparison) comparison =
		pipesim_comparison_new(&setup->scenario, setup->costs);
	PipesimRun *run = pipesim_choice_run(choice, &setup->scenario, setup->costs);
	const PipesimOrder *order;
	guint ranks, whole, parts;

	g_ptr_array_add(comparison->runs, run);
	if (!pipesim_run_check(run, error))
		return FALSE;
	pipesim_setup_tell_layers(setup, run->name, run->layers);
	order = run->step->job.order;
	append_placement(order, out);
	ranks = order->shape.ranks;
	whole = pipesim_shape_whole(&order->shape);
	parts = pipesim_shape_parts(&order->shape);
	g_string_append_printf(out, "\nPhases, at PP %u and %u micro-batch%s", ranks, whole,
		whole == 1 ? "" : "es");
	if (parts > 1)
		g_string_append_printf(
			out, " in %u %s each", parts, order->shape.sliced ? "slices" : "parts");
	g_string_append_c(out, '\n');
	append_rank(order, 0, out);
	if (ranks > 2)
		append_rank(order, ranks / 2, out);
	if (ranks > 1)
		append_rank(order, ranks - 1, out);
	g_string_append(out, "\nTimeline\n");
	pipesim_timeline_text(comparison, &(PipesimView){0}, style, out);
	return TRUE;
}

/* A file has no words of its own. */
static gboolean explain(const PipesimChoice *choice, PipesimSetup *setup,
	const PipesimStyle *style, GString *out, GError **error)
{
	const PipesimSchedule *schedule = choice->schedule;
	g_auto(GStrv) paragraphs = g_strsplit(
		schedule != NULL && schedule->notes != NULL ? schedule->notes : "", "\n\n", -1);
	PipesimShape shape;

	if (!pipesim_setup_check_used(
		    setup, pipesim_choice_takes(choice, &setup->scenario), error) ||
		(schedule != NULL && !choose_shape(schedule, &setup->scenario, &shape, error)))
		return FALSE;
	if (schedule != NULL)
		append_words(schedule, out);
	else
		g_string_append_printf(out, "%s: the order of a file\n", choice->path);
	if (!append_run(choice, setup, style, out, error))
		return FALSE;
	if (schedule != NULL)
		append_formulae(schedule, out);
	for (guint i = 0; paragraphs[i] != NULL; i++) {
		g_string_append_c(out, '\n');
		append_wrapped(out, paragraphs[i], 0);
	}
	return TRUE;
}

static gboolean run(PipesimSetup *setup, PipesimExit *answer G_GNUC_UNUSED, GError **error)
{
	g_autoptr(GString) out = g_string_new(NULL);
	PipesimStyle style = pipesim_terminal_style(setup, NULL);
	g_autoptr(GPtrArray) choices = pipesim_choices_new();

	if (setup->n_operands != 1)
		return pipesim_refuse(error, "explain takes schedules and schedule files, with "
					     "commas between, or all; "
					     "see pipesim list for names");
	if (!pipesim_choices_add_list(choices, setup->operands[0], error))
		return FALSE;
	pipesim_choices_shape(choices, &setup->scenario);
	if (setup->scenario.ranks == 0)
		setup->scenario.ranks = 4;
	if (style.width == 0)
		style.width = WIDTH;
	if (!pipesim_setup_costs(setup, NULL, error))
		return FALSE;
	pipesim_setup_sustain(setup);
	/* Each at the shape that was given, or at one of its own. */
	PipesimScenario given = setup->scenario;
	for (guint i = 0; i < choices->len; i++) {
		const PipesimChoice *choice = g_ptr_array_index(choices, i);

		g_string_append(out, i > 0 ? "\n\n" : "");
		setup->scenario = pipesim_choice_scenario(choice, &given);
		if (!explain(choice, setup, &style, out, error))
			return FALSE;
	}
	return pipesim_print(NULL, out, error);
}

const PipesimCommand pipesim_command_explain = {
	.name = "explain",
	.summary = "what a schedule does, gains and costs",
	.usage = "NAME|FILE.csv,...|all",
	.about = "Explains what a schedule does, gains and costs, which rank holds which "
		 "stage, the phases of each\nrank, and the published formulae. Phases and "
		 "timeline are shown for PP 4 and 8 micro-batches\nunless you give others; "
		 "those of a file are its own.",
	.operand = "an operand",
	.operands = PIPESIM_PATH_SCHEDULES,
	.takes = {PIPESIM_ALL_SHAPE, PIPESIM_ALL_COSTS, PIPESIM_ALL_MODEL, PIPESIM_ALL_ENCODER,
		PIPESIM_SET_VOCAB_PARALLEL, PIPESIM_SET_RECOMPUTE_AS_OPS, PIPESIM_ALL_NETWORK},
	.run = run,
};
