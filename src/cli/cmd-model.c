#include "cli/command.h"
#include "layout/choose.h"
#include "output/figures.h"
#include "output/screen.h"
#include "setup/choice.h"
#include "transformer/theory.h"

/* Sums of a rank over its stages, bytes. */
typedef struct {
	gint64 elements, parameters, gradients, optimizer, fixed;
	gint64 until_input, until_weight, between; /* of one micro-batch in each stage */
	gint64 transient;                          /* the largest */
	gint64 message, buffer, held, peak;        /* one message; at the peak */
	double flops[3], model_flops;
	gint64 layers;
	GString *chunks; /* "Et*3;tt" */
} Rank;

/* What is shown of a model. */
typedef struct {
	const PipesimSetup *setup;
	const PipesimTransformer *model;
	const PipesimTraining *training;
	const PipesimRun *run;
	PipesimStages *stages;
	Rank *ranks;
	gint64 tenth; /* of the fullest peak: bytes that 0.1 of --expert-imbalance more takes; -1 = no experts */
	gboolean megatron;
	PipesimTheory theory;
} Answer;

static void append_cut(GString *out, const PipesimCut *cut)
{
	const gsize before = out->len;

	if (cut->encoders > 0)
		g_string_append_printf(out, "v*%" G_GINT64_FORMAT, cut->encoders);
	g_string_append(out, cut->embedding ? "E" : "");
	if (cut->layers > 2)
		g_string_append_printf(out, "t*%" G_GINT64_FORMAT, cut->layers);
	else
		g_string_append(out, cut->layers == 2 ? "tt" : cut->layers == 1 ? "t" : "");
	for (gint64 i = 0; i < cut->mtp; i++)
		g_string_append_c(out, 'm');
	for (gint64 i = 0; i < cut->losses && !cut->head; i++)
		g_string_append_c(out, 'L');
	g_string_append(out, cut->head ? "L" : out->len == before ? "-" : "");
}

static gboolean sum_rank(const Answer *answer, guint rank, Rank *sum, GError **error)
{
	const PipesimMemory *memory = &answer->run->report->memory;
	const gint64 *part = memory->fullest[rank].part;
	guint parts = 0;

	sum->chunks = g_string_new(NULL);
	for (guint chunk = 0; chunk < answer->run->shape.chunks; chunk++) {
		const guint stage = pipesim_shape_stage(&answer->run->shape, rank, chunk);
		const PipesimCut *cut = &answer->stages->cut[stage];
		PipesimStage of;

		if (!pipesim_stage_sum(answer->model, answer->training, cut, &of, error))
			return FALSE;
		g_string_append(sum->chunks, chunk > 0 ? ";" : "");
		append_cut(sum->chunks, cut);
		parts |= of.parts;
		sum->layers += cut->layers;
		sum->elements += of.elements;
		sum->parameters += of.parameters;
		sum->gradients += of.gradients;
		sum->optimizer += of.optimizer;
		sum->until_input += of.until_input;
		sum->until_weight += of.until_weight;
		sum->between += of.between;
		sum->transient = MAX(sum->transient, of.transient);
		sum->model_flops += of.model_flops;
		for (guint work = 0; work < PIPESIM_N_WORK; work++)
			for (guint phase = 0; phase < 3; phase++)
				sum->flops[phase] += of.flops[work][phase];
	}
	sum->fixed = pipesim_stage_fixed(answer->model, answer->training, parts);
	sum->message = pipesim_stage_message(answer->model, answer->training);
	sum->buffer = part[PIPESIM_HELD_MESSAGES];
	sum->held = part[PIPESIM_HELD_UNTIL_INPUT] + part[PIPESIM_HELD_UNTIL_WEIGHT] +
		    part[PIPESIM_HELD_WAITING];
	sum->peak = memory->peak[rank];
	return TRUE;
}

/* JSON and CSV ----------------------------------------------------------------------------- */

/* The numbers of a rank. */
static void put_rank(PipesimJson *json, const Rank *sum, guint index)
{
	PIPESIM_MEMBER(json, "rank", COUNT, index);
	PIPESIM_MEMBER(json, "layers", COUNT, sum->layers);
	PIPESIM_MEMBER(json, "parameters", COUNT, sum->elements);
	PIPESIM_MEMBER(json, "parameter_bytes", BYTES, sum->parameters);
	PIPESIM_MEMBER(json, "gradient_bytes", BYTES, sum->gradients);
	PIPESIM_MEMBER(json, "optimizer_bytes", BYTES, sum->optimizer);
	PIPESIM_MEMBER(json, "fixed_bytes", BYTES, sum->fixed);
	PIPESIM_MEMBER(json, "activation_until_input_bytes", BYTES, sum->until_input);
	PIPESIM_MEMBER(json, "activation_until_weight_bytes", BYTES, sum->until_weight);
	PIPESIM_MEMBER(json, "activation_between_bytes", BYTES, sum->between);
	PIPESIM_MEMBER(json, "transient_bytes", BYTES, sum->transient);
	PIPESIM_MEMBER(json, "message_bytes", BYTES, sum->message);
	PIPESIM_MEMBER(json, "buffer_bytes", BYTES, sum->buffer);
	PIPESIM_MEMBER(json, "held_bytes", BYTES, sum->held);
	PIPESIM_MEMBER(json, "peak_bytes", BYTES, sum->peak);
	PIPESIM_MEMBER(json, "chunks", TEXT, sum->chunks->str);
}

static void put_stage(PipesimJson *json, const Rank *sum, guint index)
{
	put_rank(json, sum, index);
	PIPESIM_MEMBER(json, "flops_F", WIDE, sum->flops[0]);
	PIPESIM_MEMBER(json, "flops_I", WIDE, sum->flops[1]);
	PIPESIM_MEMBER(json, "flops_W", WIDE, sum->flops[2]);
	PIPESIM_MEMBER(json, "model_flops", WIDE, sum->model_flops);
}

static const char *const sort_names[PIPESIM_N_TERMS] = {
	[PIPESIM_TERM_PARAMETERS] = "parameters",
	[PIPESIM_TERM_EXPERTS] = "expert parameters",
	[PIPESIM_TERM_UNTIL_INPUT] = "until dgrad",
	[PIPESIM_TERM_UNTIL_WEIGHT] = "until wgrad",
	[PIPESIM_TERM_BETWEEN] = "from dgrad to wgrad",
	[PIPESIM_TERM_UNTIL_STEP] = "until the end",
	[PIPESIM_TERM_TRANSIENT] = "transient",
	[PIPESIM_TERM_TRANSIENT_FORWARD] = "transient of F",
	[PIPESIM_TERM_TRANSIENT_WEIGHT] = "transient of W",
	[PIPESIM_TERM_F] = "FLOPs of F",
	[PIPESIM_TERM_I] = "FLOPs of I",
	[PIPESIM_TERM_W] = "FLOPs of W",
	[PIPESIM_TERM_AGAIN] = "FLOPs once more",
};

static void put_term(PipesimJson *json, const PipesimTerm *term, guint index G_GNUC_UNUSED)
{
	PIPESIM_MEMBER(json, "sort", TEXT, sort_names[term->sort]);
	PIPESIM_MEMBER(json, "what", TEXT, term->what);
	PIPESIM_MEMBER(json, "formula", TEXT, term->formula);
	PIPESIM_MEMBER(json, "amount", WIDE, (double)term->amount);
	PIPESIM_MEMBER(json, "source", TEXT, term->source);
}

static void put_part(PipesimJson *json, const Answer *answer, guint index)
{
	g_autoptr(GArray) terms =
		answer != NULL ? pipesim_terms(answer->model, answer->training, index) : NULL;

	PIPESIM_MEMBER(json, "name", TEXT, pipesim_part_name(index));
	PIPESIM_MEMBER(json, "count", COUNT, pipesim_part_count(answer->model, index));
	PIPESIM_EACH(json, "terms", line, terms->len, TRUE, put_term,
		&g_array_index(terms, PipesimTerm, i));
}

static void put_theory(PipesimJson *json, const PipesimTheory *theory)
{
	pipesim_json_open_object(json, "megatron");
	PIPESIM_MEMBER(json, "total_parameters", WIDE, theory->total_parameters);
	PIPESIM_MEMBER(json, "parameters", WIDE, theory->parameters);
	PIPESIM_MEMBER(json, "weight_and_optimizer_bytes", WIDE, theory->weights);
	PIPESIM_MEMBER(json, "activation_bytes", WIDE, theory->activations);
	PIPESIM_MEMBER(json, "layer_activation_bytes", WIDE, theory->layer_activations);
	PIPESIM_MEMBER(json, "in_flight", COUNT, theory->in_flight);
	PIPESIM_MEMBER(json, "peak_bytes", WIDE, theory->weights + theory->activations);
	PIPESIM_MEMBER(json, "whole_activation_bytes", WIDE, theory->whole_activations);
	pipesim_json_close(json);
}

static void put_training(PipesimJson *json, const PipesimTrainingReport *training)
{
	pipesim_json_open_object(json, "training");
	PIPESIM_MEMBER(json, "step_ms", TIME, training->step);
	PIPESIM_MEMBER(json, "tokens_per_second", COUNT, training->tokens);
	PIPESIM_MEMBER(json, "tflops_per_gpu", FACTOR, training->flops / 1e12);
	PIPESIM_MEMBER(json, "mfu", SHARE, training->mfu);
	pipesim_json_close(json);
}

static void put_members(PipesimJson *json, gconstpointer of)
{
	const Answer *answer = of;
	const PipesimTransformer *model = PIPESIM_OF(answer, model);
	const PipesimRun *run = PIPESIM_OF(answer, run);
	g_autoptr(GString) layout = g_string_new(NULL), modules = g_string_new(NULL);

	if (answer != NULL) {
		pipesim_stages_print(answer->stages, layout);
		pipesim_stages_print_modules(answer->stages, modules);
	}
	PIPESIM_MEMBER(json, "model", TEXT, model->name);
	PIPESIM_MEMBER(json, "parameters", COUNT, pipesim_transformer_parameters(model, FALSE));
	PIPESIM_MEMBER(
		json, "active_parameters", COUNT, pipesim_transformer_parameters(model, TRUE));
	PIPESIM_MEMBER(json, "schedule", TEXT, run->name);
	PIPESIM_MEMBER(json, "pp", COUNT, run->shape.ranks);
	PIPESIM_MEMBER(json, "microbatches", COUNT, pipesim_shape_whole(&run->shape));
	PIPESIM_MEMBER(json, "tokens", COUNT, pipesim_training_tokens(answer->training));
	PIPESIM_MEMBER(json, "layout", TEXT, layout->str);
	PIPESIM_MEMBER(json, "module_fqns_per_model_part", NESTED, modules->str);
	if (PIPESIM_WHERE(json, answer->megatron))
		put_theory(json, answer != NULL ? &answer->theory : NULL);
	if (PIPESIM_WHERE(json, !answer->megatron)) {
		PIPESIM_EACH(json, "parts", object, PIPESIM_N_PARTS,
			pipesim_part_count(model, i) > 0, put_part, answer);
		PIPESIM_EACH(json, "stages", object, run->shape.ranks, TRUE, put_stage,
			&answer->ranks[i]);
	}
	if (PIPESIM_WHERE(json, !answer->megatron && run->report->training.step > 0))
		put_training(json, run != NULL ? &run->report->training : NULL);
}

/* Text ----------------------------------------------------------------------------------- */

static const char *print_count(PipesimNumber out, double value)
{
	const char *units[] = {"", " k", " M", " G", " T", " P", " E"};
	guint unit = 0;

	for (; value >= 1000 && unit + 1 < G_N_ELEMENTS(units); unit++)
		value /= 1000;
	pipesim_figure_short(out, value, unit == 0 ? 0 : 2);
	g_strlcat(out, units[unit], sizeof(PipesimNumber));
	return out;
}

#define COUNT(value) print_count((PipesimNumber){0}, (double)(value))

/* The sizes of the model. */
static void note_model(const Answer *answer, GPtrArray *notes)
{
	const PipesimTransformer *model = answer->model;
	g_autofree char *active =
		model->experts == 0
			? g_strdup("")
			: g_strdup_printf("; a token passes %s billion parameters",
				  pipesim_brief_number(
					  (double)pipesim_transformer_parameters(model, TRUE) /
					  1e9));

	g_autofree char *ends =
		model->vocab == 0 ? g_strdup("neither embedding nor head")
				  : g_strdup_printf("vocabulary %" G_GINT64_FORMAT
						    " (padded %" G_GINT64_FORMAT ")",
					    model->vocab,
					    pipesim_training_vocab(model, answer->training));

	pipesim_lines_say(notes,
		"%" G_GINT64_FORMAT " layer%s, hidden %" G_GINT64_FORMAT
		", %s; %" G_GINT64_FORMAT
		" tokens of a micro-batch on a rank; a message is %s%s",
		model->layers, model->layers == 1 ? "" : "s", model->hidden, ends,
		pipesim_training_tokens(answer->training),
		pipesim_bytes(pipesim_stage_message(answer->model, answer->training)), active);
}

/* The number of @source in @sources, from 1; it is added where it is new. */
static guint number_source(GPtrArray *sources, const char *source)
{
	for (guint i = 0; i < sources->len; i++)
		if (strcmp(g_ptr_array_index(sources, i), source) == 0)
			return i + 1;
	g_ptr_array_add(sources, (gpointer)source);
	return sources->len;
}

static void append_terms(const Answer *answer, const PipesimStyle *style, GString *out)
{
	g_autoptr(GPtrArray) sources = g_ptr_array_new();

	for (PipesimPart part = 0; part < PIPESIM_N_PARTS; part++) {
		const gint64 n = pipesim_part_count(answer->model, part);

		if (n == 0)
			continue;
		g_autoptr(GArray) terms = pipesim_terms(answer->model, answer->training, part);
		g_autoptr(PipesimTable) table =
			pipesim_table_of("sort<|term<|formula<|amount|source");
		pipesim_each (const PipesimTerm, term, terms) {
			const gboolean bytes = term->sort >= PIPESIM_TERM_UNTIL_INPUT &&
					       term->sort <= PIPESIM_TERM_TRANSIENT_WEIGHT;

			pipesim_table_row(table, PIPESIM_ROW_PLAIN, "%s\t%s\t%s\t%s\t[%u]",
				sort_names[term->sort], term->what, term->formula,
				bytes ? pipesim_bytes((gint64)MIN(term->amount, G_MAXINT64))
				      : COUNT((double)term->amount),
				number_source(sources, term->source));
		}
		g_string_append_printf(
			out, "\n%s, %" G_GINT64_FORMAT "\n", pipesim_part_name(part), n);
		pipesim_table_print(table, TABLE_WIDTH, G_MAXUINT, style, out);
	}
	g_string_append_c(out, '\n');
	for (guint i = 0; i < sources->len; i++)
		g_string_append_printf(
			out, "[%u] %s\n", i + 1, (const char *)g_ptr_array_index(sources, i));
}

/* A line a part: what one of it holds and computes on a rank, for one micro-batch. */
static void append_parts(const Answer *answer, const PipesimStyle *style, GString *out)
{
	g_autoptr(PipesimTable) table = pipesim_table_of(
		"part<|number|parameters|activations:until dgrad|activations:until wgrad|"
		"activations:between|transient|FLOPs:F|FLOPs:I|FLOPs:W");

	for (PipesimPart part = 0; part < PIPESIM_N_PARTS; part++) {
		const gint64 n = pipesim_part_count(answer->model, part);
		PipesimTermSum sum;

		if (n == 0)
			continue;
		pipesim_terms_sum(answer->model, answer->training, part, &sum);
		pipesim_table_row(table, PIPESIM_ROW_PLAIN,
			"%s\t%" G_GINT64_FORMAT "\t%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s",
			pipesim_part_name(part), n,
			COUNT(sum.of[PIPESIM_TERM_PARAMETERS] + sum.of[PIPESIM_TERM_EXPERTS]),
			pipesim_bytes((gint64)sum.of[PIPESIM_TERM_UNTIL_INPUT]),
			pipesim_bytes((gint64)sum.of[PIPESIM_TERM_UNTIL_WEIGHT]),
			pipesim_bytes((gint64)sum.of[PIPESIM_TERM_BETWEEN]),
			pipesim_bytes((gint64)sum.of[PIPESIM_TERM_TRANSIENT]),
			COUNT(sum.of[PIPESIM_TERM_F]),
			COUNT(sum.of[PIPESIM_TERM_I] + sum.of[PIPESIM_TERM_AGAIN]),
			COUNT(sum.of[PIPESIM_TERM_W]));
	}
	g_string_append(out, "\nOne of each part, on one rank, for one micro-batch:\n");
	pipesim_table_print(table, TABLE_WIDTH, G_MAXUINT, style, out);
}

/* Dropless routing is a guess: which one, and what another costs. */
static void note_routing(const Answer *answer, GPtrArray *notes)
{
	const PipesimFraction routing = answer->training->routing;

	if (answer->tenth >= 0)
		pipesim_lines_say(notes,
			"The fullest rank of experts has %s times the mean of rows "
			"(--expert-imbalance); each 0.1 more takes %s.",
			pipesim_fixed(
				routing.den > 0 ? (double)routing.num / (double)routing.den : 1,
				2),
			pipesim_bytes(answer->tenth));
}

static void append_theory(const Answer *answer, GString *out)
{
	const PipesimTheory *theory = &answer->theory;
	const double mib = 1048576;

	g_string_append_printf(out,
		"As Megatron-LM prints it, MB of 2^20 bytes:\n"
		"  parameters, billions         %10.2f\n"
		"  of the fullest rank          %12.4f\n"
		"  weight and optimizer         %10.2f MB\n"
		"  activation of a layer        %9.1f MB\n"
		"  micro-batches in flight      %7u\n"
		"  activation                   %10.2f MB\n"
		"  total                        %10.2f MB\n"
		"without sequence parallelism and selective recomputation newer versions "
		"print\n"
		"  activation                   %10.2f MB\n"
		"  total                        %10.2f MB\n"
		"Its formula takes q, k and v to be as wide as the model and every layer to "
		"have dropout masks, and\nleaves logits, workspaces and rows of experts out.\n",
		theory->total_parameters / 1e9, theory->parameters / 1e9, theory->weights / mib,
		theory->layer_activations / mib, theory->in_flight, theory->activations / mib,
		(theory->weights + theory->activations) / mib, theory->whole_activations / mib,
		(theory->weights + theory->whole_activations) / mib);
}

#define GIB(bytes) pipesim_gib(bytes, 2)

/* What each rank holds at its fullest; with @full what a micro-batch leaves there too. */
static PipesimTable *make_table(const Answer *answer, gboolean full)
{
	const PipesimMemory *memory = &answer->run->report->memory;
	PipesimTable *table = pipesim_table_of(
		"  rank<|stages<|static, GiB:param.|static, GiB:grad.|static, GiB:optim.|"
		"static, GiB:other|a micro-batch, GiB:until dgrad|a micro-batch, GiB:until "
		"wgrad|at the peak, GiB:held|at the peak, GiB:transient|peak:GiB");

	for (guint rank = 0; rank < answer->run->shape.ranks; rank++) {
		const Rank *sum = &answer->ranks[rank];
		const gboolean fullest = memory->peak[rank] == memory->max;

		pipesim_table_row(table, fullest ? PIPESIM_ROW_BEST : PIPESIM_ROW_PLAIN,
			"%s %u\t%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s", fullest ? "*" : " ",
			rank, sum->chunks->str, GIB(sum->parameters), GIB(sum->gradients),
			GIB(sum->optimizer), GIB(sum->fixed), full ? GIB(sum->until_input) : "",
			full ? GIB(sum->until_weight) : "", GIB(sum->held),
			GIB(memory->fullest[rank].part[PIPESIM_HELD_TRANSIENT]),
			GIB(sum->peak));
	}
	return table;
}

/* Where times are known. */
static void say_step(const Answer *answer, PipesimScreen *screen)
{
	const PipesimTrainingReport *training = &answer->run->report->training;
	g_autofree char *mfu = training->mfu > 0
				       ? g_strdup_printf(", MFU %.1f %%", 100 * training->mfu)
				       : g_strdup("");

	if (training->step == 0)
		return;
	pipesim_lines_say(screen->verdict,
		"A step takes %s: %" G_GINT64_FORMAT " tokens/s, %.1f TFLOP/s per GPU%s.",
		pipesim_brief_time(training->step), training->tokens, training->flops / 1e12,
		mfu);
	if (answer->setup->flag[PIPESIM_SET_FULL])
		pipesim_lines_say(
			screen->notes, "times from: %s", answer->setup->costs->source);
}

static void write_screen(const Answer *answer, const PipesimStyle *style, GString *out)
{
	const PipesimMemory *memory = &answer->run->report->memory;
	const PipesimSetup *setup = answer->setup;
	const PipesimShape *shape = &answer->run->shape;
	g_autoptr(PipesimScreen) screen = pipesim_screen_new();
	guint fullest = 0;

	while (memory->peak[fullest] != memory->max)
		fullest++;
	g_string_append_printf(screen->asked,
		"%s, %s billion parameters; PP %u under %s, %u micro-batch%s of "
		"%" G_GINT64_FORMAT " tokens",
		answer->model->name,
		pipesim_brief_number(
			(double)pipesim_transformer_parameters(answer->model, FALSE) / 1e9),
		shape->ranks, answer->run->name, pipesim_shape_whole(shape),
		pipesim_shape_whole(shape) == 1 ? "" : "es",
		answer->training->microbatch * answer->training->seq);
	g_autofree char *needs = shape->ranks > 1
					 ? g_strdup_printf("Rank %u needs most: ", fullest)
					 : g_strdup("It needs ");
	screen->appendix = g_string_new(NULL);
	if (answer->megatron) {
		append_theory(answer, screen->appendix);
	} else {
		pipesim_lines_say(screen->verdict,
			"%s%s, of which %s are weights, gradients and optimizer, and %s "
			"activations.",
			needs, pipesim_brief_bytes(memory->max),
			pipesim_brief_bytes(memory->parameters[fullest]),
			pipesim_brief_bytes(answer->ranks[fullest].held));
		say_step(answer, screen);
		screen->table = make_table(answer, style->full);
		note_routing(answer, screen->notes);
	}
	if (style->full)
		note_model(answer, screen->notes);
	pipesim_lines_add(screen->notes, setup->notices);
	if (style->full && !answer->megatron)
		append_parts(answer, style, screen->appendix);
	if (setup->flag[PIPESIM_SET_TERMS])
		append_terms(answer, style, screen->appendix);
	pipesim_lines_say(screen->more, "--terms");
	pipesim_lines_say(screen->more, "pipesim plan --model %s", answer->model->name);
	pipesim_screen_print(screen, style, out);
}

/* Running -------------------------------------------------------------------------------- */

/* What the fullest rank of @run needs more where its experts have 0.1 times the mean of rows more. */
static gint64 find_tenth(const PipesimSetup *setup, const PipesimChoice *choice,
	const PipesimRun *run, GError **error)
{
	const PipesimCutter *cutter = setup->costs->cutter;
	PipesimTraining training = *pipesim_cutter_training(cutter);
	g_autoptr(PipesimCosts) costs = NULL;
	PipesimStages *stages;

	if (pipesim_cutter_model(cutter)->experts == 0)
		return -1;
	stages = pipesim_cutter_layout(cutter, run->shape.stages, error);
	if (stages == NULL)
		return -1;
	training.routing =
		training.routing.den == 0
			? (PipesimFraction){11, 10}
			: (PipesimFraction){10 * training.routing.num + training.routing.den,
				  10 * training.routing.den};
	costs = pipesim_costs_copy(setup->costs);
	pipesim_costs_set_cutter(costs,
		pipesim_cutter_new(pipesim_transformer_copy(pipesim_cutter_model(cutter)),
			&training, stages, NULL));
	g_autoptr(PipesimRun) fuller = pipesim_choice_run(choice, &setup->scenario, costs);
	return pipesim_run_check(fuller, error)
		       ? MAX(fuller->report->memory.max - run->report->memory.max, 0)
		       : -1;
}

/* The one schedule, at a shape where what was not asked for is small. */
static PipesimRun *run_schedule(PipesimSetup *setup, gint64 *tenth, GError **error)
{
	GError *fault = NULL;
	PipesimScenario *scenario = &setup->scenario;
	const char *name = setup->text[PIPESIM_SET_SCHEDULE];
	g_autoptr(GPtrArray) choices = pipesim_choices_new();
	PipesimCosts *laid_out = NULL;

	if (!pipesim_choices_add_list(choices, name != NULL ? name : "1f1b", error))
		return NULL;
	if (choices->len != 1)
		return pipesim_refuse_null(
			error, "--schedule: a model is shown under one schedule; name one");
	pipesim_choices_shape(choices, scenario);
	scenario->ranks = MAX(scenario->ranks, 1u);
	if (scenario->microbatches == 0)
		scenario->microbatches = 4 * scenario->ranks;
	scenario->keep = PIPESIM_KEEP_NOTHING;
	if (!pipesim_choices_prepare(choices, setup, error) ||
		!pipesim_setup_costs(setup, NULL, error))
		return NULL;
	const PipesimChoice *choice = g_ptr_array_index(choices, 0);
	PipesimScenario own = pipesim_choice_scenario(choice, scenario);
	if (choice->schedule != NULL)
		laid_out = pipesim_layout_choose(choice->schedule, &own, setup->costs);
	if (laid_out != NULL) {
		pipesim_costs_free(setup->costs);
		setup->costs = laid_out;
	}
	g_autoptr(PipesimRun) run = pipesim_choice_run(choice, scenario, setup->costs);
	if (!pipesim_run_check(run, error))
		return NULL;
	*tenth = find_tenth(setup, choice, run, &fault);
	if (fault == NULL)
		return g_steal_pointer(&run);
	g_propagate_error(error, fault);
	return NULL;
}

/* What each rank holds. */
static gboolean sum_ranks(Answer *answer, GError **error)
{
	const PipesimShape *shape = &answer->run->shape;

	if (answer->run->schedule == NULL)
		return pipesim_refuse(error, "--schedule: a model is shown under a schedule of "
					     "pipesim's, not under a file");
	answer->stages =
		pipesim_cutter_layout(answer->setup->costs->cutter, shape->stages, error);
	if (answer->stages == NULL)
		return FALSE;
	answer->ranks = g_new0(Rank, shape->ranks);
	for (guint rank = 0; rank < shape->ranks; rank++)
		if (!sum_rank(answer, rank, &answer->ranks[rank], error))
			return FALSE;
	answer->theory = pipesim_theory(answer->model, answer->training, shape->ranks,
		shape->copies == 1 ? shape->chunks : 1, pipesim_shape_whole(shape));
	return TRUE;
}

static gboolean run(
	PipesimSetup *setup, PipesimExit *answer_status G_GNUC_UNUSED, GError **error)
{
	Answer answer = {.setup = setup};
	const char *path = setup->text[PIPESIM_SET_OUTPUT];
	const char *name = setup->text[PIPESIM_SET_FORMAT];
	const char *extension = path != NULL ? pipesim_path_extension(path) : "";
	g_autoptr(GString) out = g_string_new(NULL);
	const PipesimStyle style = pipesim_terminal_style(setup, path);
	guint format = PIPESIM_AS_TEXT;

	if (setup->n_operands > 1 ||
		(setup->n_operands == 1) == (setup->text[PIPESIM_SET_MODEL] != NULL))
		return pipesim_refuse(error, "model takes one model, a name or a file; for "
					     "example pipesim model llama-3-70b");
	if (setup->n_operands == 1)
		setup->text[PIPESIM_SET_MODEL] = g_strdup(setup->operands[0]);
	if (!pipesim_word_find("text json csv", name != NULL ? name : extension,
		    "--format:", &format, name != NULL ? error : NULL) &&
		name != NULL)
		return FALSE;
	answer.megatron = setup->memory_model == 1;
	if (!pipesim_check_full(setup, ((const char *[]){NULL, "json", "csv"})[format], error))
		return FALSE;
	setup->told = format == PIPESIM_AS_TEXT;
	if (setup->flag[PIPESIM_SET_TERMS] && (format != PIPESIM_AS_TEXT || answer.megatron))
		return pipesim_refuse(
			error, "--terms is of the text table; JSON has the terms anyway");
	g_autoptr(PipesimRun) one = run_schedule(setup, &answer.tenth, error);
	if (one == NULL)
		return FALSE;
	answer.run = one;
	answer.model = pipesim_cutter_model(setup->costs->cutter);
	answer.training = pipesim_cutter_training(setup->costs->cutter);
	gboolean ok = sum_ranks(&answer, error);
	if (ok && format == PIPESIM_AS_CSV && answer.megatron)
		ok = pipesim_refuse(error, "--memory-model megatron gives totals, no rows of "
					   "ranks; leave out csv");
	if (ok && format == PIPESIM_AS_JSON)
		pipesim_command_json(&pipesim_command_model, &answer, out);
	else if (ok && format == PIPESIM_AS_CSV)
		PIPESIM_CSV(out, one->shape.ranks, put_rank, &answer.ranks[i]);
	else if (ok)
		write_screen(&answer, &style, out);
	ok = ok && pipesim_print(path, out, error);
	pipesim_stages_free(answer.stages);
	for (guint rank = 0; answer.ranks != NULL && rank < one->shape.ranks; rank++)
		if (answer.ranks[rank].chunks != NULL)
			g_string_free(answer.ranks[rank].chunks, TRUE);
	g_free(answer.ranks);
	return ok;
}

const PipesimCommand pipesim_command_model = {
	.name = "model",
	.summary = "parameters, activations and FLOPs of a model, by layer and rank",
	.usage = "NAME|FILE",
	.about = "Says what each part of a model holds and computes in training, and what each "
		 "rank of a pipeline\nholds at its peak under a schedule. Shipped: llama-3-8b, "
		 "llama-3-70b, llama-3-405b, mixtral-8x7b,\ndeepseek-v3, gpt-3-175b; files are "
		 "Hugging Face's config.json or INI (docs/formats.md).",
	.examples = "Examples:\n"
		    "  pipesim model llama-3-70b --pp 8 --tp 8 --sequence-parallel --seq 8192\n"
		    "  pipesim model deepseek-v3 --pp 16 --ep 64 --dp 128 --memory-model "
		    "megatron\n",
	.operand = "a model",
	.operands = PIPESIM_PATH_MODEL,
	.takes = {PIPESIM_ALL_SHAPE, PIPESIM_SET_SCHEDULE, PIPESIM_SET_RUNTIME,
		PIPESIM_ALL_MODEL, PIPESIM_ALL_ENCODER, PIPESIM_SET_MEMORY_MODEL,
		PIPESIM_SET_TERMS, PIPESIM_SET_FULL, PIPESIM_SET_FORMAT, PIPESIM_SET_OUTPUT,
		PIPESIM_SET_FROM_MEGATRON, PIPESIM_SET_FROM_TORCHTITAN},
	.wording = {{PIPESIM_SET_FORMAT, NULL,
			    "text, json or csv (default: by the extension of -o, else text)",
			    "text json csv"},
		{PIPESIM_SET_SCHEDULE, "NAME", "schedule of the ranks (default: 1f1b)", NULL},
		{PIPESIM_SET_PP, NULL, "pipeline ranks (default: 1)", NULL},
		{PIPESIM_SET_MICROBATCHES, NULL, "micro-batches in a step (default: 4 PP)",
			NULL}},
	.members = put_members,
	.run = run,
};
