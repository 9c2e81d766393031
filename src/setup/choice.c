#include "setup/choice.h"
#include "layout/choose.h"
#include "order/offload.h"

PIPESIM_DESTROYS(PipesimChoice, free_choice, choice)
{
	pipesim_schedule_file_free(choice->file);
	pipesim_free_all(choice->label, choice->path, choice);
}

GPtrArray *pipesim_choices_new(void)
{
	return g_ptr_array_new_with_free_func(free_choice);
}

const char *pipesim_choice_name(const PipesimChoice *choice)
{
	if (choice->label != NULL)
		return choice->label;
	return choice->schedule != NULL ? pipesim_schedule_name(choice->schedule)
					: choice->path;
}

PipesimScenario pipesim_choice_scenario(
	const PipesimChoice *choice, const PipesimScenario *scenario)
{
	PipesimScenario own = *scenario;

	if (choice->chunks > 0)
		own.chunks = choice->chunks;
	return own;
}

guint pipesim_choice_takes(const PipesimChoice *choice, const PipesimScenario *scenario)
{
	const PipesimRuntime *runtime = pipesim_runtime_resolve(
		scenario->runtime, choice->schedule != NULL ? choice->schedule->runtime
							    : PIPESIM_RUNTIME_OF_FILES);
	const PipesimProgram *program =
		choice->file != NULL ? choice->file->order->program : NULL;
	const gboolean has_more = program != NULL && program->has_more;
	const gboolean has_copies =
		program != NULL && pipesim_program_has(program, PIPESIM_ON_COPY_OUT);
	guint takes = runtime->takes;

	/* The order of messages that a file lists cannot be changed, what FSDP takes for its stages can be told. */
	if (runtime->waits && choice->file != NULL && choice->file->lowering != NULL)
		takes = choice->file->lowering->runtime->takes &
			(PIPESIM_ASK_COMMUNICATORS | PIPESIM_ASK_SHARDING);
	if (choice->schedule != NULL)
		takes |= choice->schedule->takes;
	else if (choice->file->order->shape.sliced)
		takes |= PIPESIM_TAKES_SLICES;
	if (choice->schedule != NULL ? choice->schedule->barriers == 0
				     : !has_more || has_copies)
		takes |= PIPESIM_TAKES_PART;
	/* Where its R stand a file says itself; a model, what they leave to compute again. */
	if (program != NULL && scenario->recompute_ops && scenario->recompute == 0 &&
		pipesim_program_has(program, PIPESIM_ON_RANK))
		takes |= PIPESIM_TAKES_RECOMPUTE;
	if (choice->schedule == NULL ? has_more : (takes & PIPESIM_TAKES_OFFLOAD) != 0)
		takes |= PIPESIM_TAKES_COPIES;
	if (scenario->offload_part.num > 0)
		takes |= PIPESIM_TAKES_COPIES | (has_copies ? 0 : PIPESIM_TAKES_INFLIGHT);
	return choice->chunks > 0 ? takes & ~(guint)PIPESIM_TAKES_CHUNKS : takes;
}

gboolean pipesim_choices_add(GPtrArray *choices, const char *name, GError **error)
{
	PipesimChoice *choice = g_new0(PipesimChoice, 1);
	const char *colon = strchr(name, ':');
	g_autofree char *alone = colon != NULL ? g_strndup(name, (gsize)(colon - name)) : NULL;
	guint64 chunks;

	g_ptr_array_add(choices, choice);
	if (pipesim_setup_names_file(name)) {
		choice->path = pipesim_printable(name);
		choice->file = pipesim_schedule_file_read(name, error);
		return choice->file != NULL;
	}
	choice->schedule = pipesim_schedule_find(alone != NULL ? alone : name, error);
	if (choice->schedule == NULL || colon == NULL)
		return choice->schedule != NULL;
	if (!(choice->schedule->takes & PIPESIM_TAKES_CHUNKS))
		return pipesim_refuse(error,
			"'%s': %s has a fixed number of chunks; leave out '%s'", name,
			choice->schedule->name, colon);
	if (!pipesim_parse_count(colon + 1, name, 1, PIPESIM_MAX_CHUNKS, &chunks, error))
		return FALSE;
	choice->chunks = (guint)chunks;
	choice->label = g_strdup_printf("%s:%u", choice->schedule->name, choice->chunks);
	return TRUE;
}

static void add_implied(GPtrArray *choices, const PipesimSchedule *schedule)
{
	PipesimChoice *choice = g_new0(PipesimChoice, 1);

	choice->schedule = schedule;
	choice->implied = TRUE;
	g_ptr_array_add(choices, choice);
}

gboolean pipesim_choices_add_list(GPtrArray *choices, const char *names, GError **error)
{
	g_auto(GStrv) items = g_strsplit(names != NULL ? names : "all", ",", -1);

	if (items[0] == NULL)
		return pipesim_refuse(error, "--schedule is empty; give names, files or all");
	for (char **item = items; *item != NULL; item++) {
		const PipesimSchedule *const *all = pipesim_schedule_list();

		if (strcmp(*item, "all") == 0)
			for (; *all != NULL; all++)
				add_implied(choices, *all);
		else if (!pipesim_choices_add(choices, g_strstrip(*item), error))
			return FALSE;
	}
	return TRUE;
}

void pipesim_choices_shape(const GPtrArray *choices, PipesimScenario *scenario)
{
	pipesim_each_in (const PipesimChoice, choice, choices) {
		if (choice->file == NULL)
			continue;
		if (scenario->ranks == 0)
			scenario->ranks = scenario->compare_at == PIPESIM_AT_STAGES
						  ? choice->file->order->shape.stages
						  : choice->file->order->shape.ranks;
		if (scenario->microbatches == 0)
			scenario->microbatches =
				pipesim_shape_whole(&choice->file->order->shape);
		return;
	}
}

guint pipesim_choices_stages(const GPtrArray *choices, const PipesimScenario *scenario)
{
	guint all = 1;

	pipesim_each_in (const PipesimChoice, choice, choices) {
		const PipesimScenario own = pipesim_choice_scenario(choice, scenario);
		const guint stages =
			choice->schedule != NULL
				? pipesim_schedule_stages_per_rank(choice->schedule, &own)
				: choice->file->order->shape.stages /
					  MAX(choice->file->order->shape.ranks, 1);

		all *= MAX(stages, 1) / (guint)pipesim_gcd(all, MAX(stages, 1));
		if (all > 64)
			return 0;
	}
	return all;
}

/* Those that were not asked for: without what makes them others than the rest. */
static gboolean is_dropped(const PipesimChoice *choice, const PipesimSetup *setup)
{
	const guint slices = setup->scenario.slices;
	const char *times = setup->text[PIPESIM_SET_TIMES];

	if (!choice->implied ||
		(choice->schedule->barriers > 0 && setup->flag[PIPESIM_SET_VOCAB_PARALLEL]))
		return FALSE;
	if (choice->schedule->offloads != PIPESIM_OFFLOADS_NOTHING && slices <= 1)
		return setup->text[PIPESIM_SET_OFFLOAD_BANDWIDTH] == NULL &&
		       (times == NULL || strstr(times, "COPY=") == NULL);
	return slices > 1 ? (choice->schedule->takes & PIPESIM_TAKES_SLICES) == 0
			  : !pipesim_schedule_is_plain(choice->schedule);
}

/* What nobody means: an empty line is a rank too, and nothing is computed again twice. */
static void tell_file(const PipesimChoice *choice, const PipesimSetup *setup)
{
	const PipesimProgram *program = choice->file->order->program;
	const char *again = setup->text[PIPESIM_SET_RECOMPUTE];

	if (program != NULL && again != NULL && strcmp(again, "none") != 0 &&
		!setup->scenario.recompute_ops && pipesim_program_has(program, PIPESIM_ON_RANK))
		pipesim_setup_tell_layers(setup, choice->path,
			"R and --recompute both compute again; add --recompute-as-ops");
	if (g_strcmp0(setup->text[PIPESIM_SET_LAYOUT], "auto") == 0)
		pipesim_setup_tell_layers(setup, choice->path,
			"--layout auto searches for schedules by name; of a file it makes the "
			"longest stage as short as whole layers allow");
	for (guint rank = 0; rank < choice->file->order->shape.ranks; rank++) {
		g_autofree char *idle = pipesim_schedule_file_idle(choice->file, rank);

		pipesim_setup_tell_layers(setup, choice->path, idle);
	}
}

gboolean pipesim_choices_prepare(GPtrArray *choices, PipesimSetup *setup, GError **error)
{
	guint takes = 0;

	for (guint i = choices->len; i-- > 0;)
		if (is_dropped(choices->pdata[i], setup))
			g_ptr_array_remove_index(choices, i);
	pipesim_each_in (const PipesimChoice, choice, choices) {
		takes |= pipesim_choice_takes(choice, &setup->scenario);
		if (choice->file != NULL)
			tell_file(choice, setup);
	}
	pipesim_choices_shape(choices, &setup->scenario);
	setup->stages_per_rank = pipesim_choices_stages(choices, &setup->scenario);
	return pipesim_setup_check_used(setup, takes, error);
}

PipesimRun *pipesim_choice_run(
	const PipesimChoice *choice, const PipesimScenario *scenario, const PipesimCosts *costs)
{
	const gboolean at_stages = scenario->compare_at == PIPESIM_AT_STAGES;
	PipesimScheduleFile *file = choice->file;
	const PipesimShape *shape;
	GError *fault = NULL, *located = NULL;
	PipesimRun *run;

	if (choice->schedule != NULL) {
		pipesim_choice_run_points(
			choice, &(PipesimPoint){.scenario = scenario, .costs = costs}, 1, &run);
		return run;
	}
	shape = &file->order->shape;
	guint width = at_stages ? shape->stages : shape->ranks;
	if (width != scenario->ranks || pipesim_shape_whole(shape) != scenario->microbatches)
		pipesim_fail(&fault, PIPESIM_ERROR_CONSTRAINT,
			"%s: the file is for %u %s%s and %u micro-batch%s; compare it at those",
			choice->path, width, at_stages ? "stage" : "rank",
			width == 1 ? "" : "s", pipesim_shape_whole(shape),
			pipesim_shape_whole(shape) == 1 ? "" : "es");
	else if (shape->sliced && scenario->slices > 0 && scenario->slices != shape->parts)
		pipesim_fail(&fault, PIPESIM_ERROR_CONSTRAINT,
			"%s: the file has %u slices, not %u; give as many, or none",
			choice->path, shape->parts, scenario->slices);
	if (fault != NULL) {
		run = g_new0(PipesimRun, 1);
		run->name = g_strdup(choice->path);
		run->error = fault;
		return run;
	}
	run = pipesim_run_of_order(choice->path, file->order, file->lowering, scenario, costs);
	/* A deadlock of the messages that a file lists is a fault of that file, at its place. */
	if (file->lowering != NULL &&
		(g_error_matches(run->error, PIPESIM_ERROR, PIPESIM_ERROR_DEADLOCK) ||
			g_error_matches(run->error, PIPESIM_ERROR, PIPESIM_ERROR_INCOMPLETE)) &&
		!pipesim_lowering_check(file->lowering,
			pipesim_runtime_asked(file->lowering->runtime, &scenario->issuing)
				.communicators,
			pipesim_schedule_file_locate_action, file, &located)) {
		g_error_free(run->error);
		run->error = located;
	}
	return run;
}

char *pipesim_choice_layers(
	const PipesimChoice *choice, const PipesimScenario *scenario, const PipesimCosts *costs)
{
	const PipesimScenario own = pipesim_choice_scenario(choice, scenario);

	return choice->schedule != NULL
		       ? pipesim_layers_of_schedule(choice->schedule, &own, costs)
		       : pipesim_layers_of_order(choice->file->order, &own, costs);
}

void pipesim_choice_run_points(
	const PipesimChoice *choice, const PipesimPoint *points, guint n, PipesimRun **runs)
{
	g_autofree PipesimScenario *scenarios = g_new(PipesimScenario, n);
	g_autofree PipesimPoint *own = g_new(PipesimPoint, n);

	for (guint i = 0; i < n && choice->schedule == NULL; i++)
		runs[i] = pipesim_choice_run(choice, points[i].scenario, points[i].costs);
	if (choice->schedule == NULL)
		return;
	for (guint i = 0; i < n && choice->label != NULL; i++) {
		scenarios[i] = pipesim_choice_scenario(choice, points[i].scenario);
		own[i] = points[i];
		own[i].scenario = &scenarios[i];
	}
	pipesim_layout_run_points(
		choice->schedule, choice->label != NULL ? own : points, n, runs);
	/* By "NAME:CHUNKS" its runs are called. */
	for (guint i = 0; i < n && choice->label != NULL; i++) {
		g_free(runs[i]->name);
		runs[i]->name = g_strdup(choice->label);
	}
}
