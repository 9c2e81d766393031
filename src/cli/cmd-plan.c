#include "cli/command.h"
#include "cli/sweep-run.h"
#include "model/costs-file.h"
#include "output/gnuplot.h"
#include "plan/plan-picture.h"
#include "plan/plan.h"
#include "setup/choice.h"

#define DEVICE "h100"

/* What is asked -------------------------------------------------------------------------- */

/* Schedules that copy activations to the host, which are tried where it is known how long that takes. */
#define COPYING "po-h,po-f"

/* Schedules of @plan: those given, or of its runtime; where several frameworks are asked (@several) those that this one
 * runs. */
static gboolean choose_schedules(PipesimPlanning *plan, gboolean several, GError **error)
{
	const char *own = pipesim_runtime_resolve(plan->wish.runtime, NULL)->schedules;
	const char *given = plan->setup->text[PIPESIM_SET_SCHEDULE];
	const gboolean any = pipesim_framework(&plan->wish)->runtime == NULL;
	/* torchtitan's models with an encoder: torchtitan/models/qwen3_5/README.md. */
	const gboolean few = given == NULL && pipesim_framework(&plan->wish)->eager &&
			     pipesim_transformer_encodes(plan->wish.model);
	g_autoptr(GPtrArray) choices = pipesim_choices_new();

	plan->schedules = g_ptr_array_new();
	if (!pipesim_choices_add_list(choices, given != NULL ? given : own, error) ||
		(given == NULL && any && plan->wish.copies > 0 &&
			!pipesim_choices_add_list(choices, COPYING, error)))
		return FALSE;
	pipesim_each_in (const PipesimChoice, choice, choices) {
		if (choice->schedule == NULL || choice->label != NULL ||
			choice->schedule->barriers > 0 ||
			(choice->schedule->takes & PIPESIM_TAKES_LIMIT))
			return pipesim_refuse(error,
				"--schedule: '%s'; plan takes schedules by name, without "
				"chunks, and none that is searched or has passes",
				pipesim_choice_name(choice));
		if (few && choice->schedule != &pipesim_schedule_one_f_one_b &&
			choice->schedule != &pipesim_schedule_interleaved_1f1b)
			continue;
		if (any || !several ||
			pipesim_runtime_names(plan->wish.runtime, choice->schedule->name))
			g_ptr_array_add(plan->schedules, (gpointer)choice->schedule);
	}
	g_ptr_array_add(plan->schedules, NULL);
	plan->wish.schedules = (const PipesimSchedule *const *)plan->schedules->pdata;
	return TRUE;
}

/* Where times come from: @wish's device or the capture of @plan. */
static gboolean choose_times(PipesimAdvice *plan, PipesimWish *wish, GError **error)
{
	PipesimSetup *setup = plan->setup;
	const char *device = setup->text[PIPESIM_SET_DEVICE];

	if (setup->list[PIPESIM_SET_TRACE] == NULL) {
		if (!pipesim_setup_load_device(setup, DEVICE, error))
			return FALSE;
		wish->device = setup->device;
		pipesim_setup_train_on(setup, &wish->training);
		return pipesim_device_check(setup->device, &wish->training, error);
	}
	if (device != NULL || setup->text[PIPESIM_SET_MFU] != NULL ||
		setup->text[PIPESIM_SET_MEASURED] != NULL)
		return pipesim_refuse(error,
			"%s and --trace both say what an op takes; give one of them",
			device != NULL                         ? "--device"
			: setup->text[PIPESIM_SET_MFU] != NULL ? "--mfu"
							       : "--measured");
	g_autoptr(PipesimCosts) base = pipesim_setup_base(setup, error);
	wish->capture = &plan->capture;
	if (base != NULL) {
		plan->capture_text = g_string_new(NULL);
		pipesim_costs_write(base, plan->capture_text);
	}
	return base != NULL && pipesim_capture_rates(base, &plan->capture, error);
}

/* Whether rows of all candidates are asked for, and how they are written; text: they are not. */
static gboolean read_rows(const PipesimSetup *setup, PipesimRowFormat *format, GError **error)
{
	const char *given = setup->text[PIPESIM_SET_FORMAT];
	const char *output = setup->text[PIPESIM_SET_OUTPUT];
	const gboolean lines = g_strcmp0(given, "jsonl") == 0;

	if (!pipesim_rows_format(NULL, output, format, error))
		return FALSE;
	if (*format == PIPESIM_ROWS_TEXT || lines) {
		*format = lines ? PIPESIM_ROWS_JSONL : PIPESIM_ROWS_TEXT;
		return TRUE;
	}
	return given == NULL || (*format == PIPESIM_ROWS_CSV && strcmp(given, "csv") == 0) ||
	       pipesim_refuse(error,
		       "-o %s has a row of every candidate; leave out --format %s, or name a "
		       "folder",
		       output, given);
}

/* A folder, or a file where its name says so: FILE.json would be a folder of this name. */
static gboolean check_output(const char *output, PipesimRowFormat rows, GError **error)
{
	static const char *const files[] = {"json", "txt", "html", "md", "ini"};

	if (output == NULL)
		return TRUE;
	if (rows != PIPESIM_ROWS_TEXT || *output == '\0')
		return pipesim_check_writable(output, error);
	if (strcmp(output, "-") == 0)
		return pipesim_refuse(error, "-o - would mix the files of the best with the "
					     "table on standard output; name a folder, or add "
					     "--format jsonl for rows of all candidates");
	if (g_file_test(output, G_FILE_TEST_IS_DIR))
		return TRUE;
	if (g_file_test(output, G_FILE_TEST_EXISTS))
		return pipesim_fail(error, PIPESIM_ERROR_WRITE,
			"cannot make the folder %s: there is a file of this name", output);
	const char *extension = pipesim_path_extension(output);
	for (guint i = 0; i < G_N_ELEMENTS(files); i++)
		if (g_ascii_strcasecmp(extension, files[i]) == 0)
			return pipesim_refuse(error,
				"-o %s would be a folder; name it without .%s, or FILE.csv or "
				"FILE.jsonl for rows of all candidates",
				output, files[i]);
	return TRUE;
}

static gboolean require(const PipesimAdvice *plan, PipesimRowFormat *rows, GError **error)
{
	static const PipesimSettingId needed[] = {
		PIPESIM_SET_MODEL, PIPESIM_SET_GPUS, PIPESIM_SET_GLOBAL_BATCH};

	for (guint i = 0; i < G_N_ELEMENTS(needed); i++)
		if (plan->setup->text[needed[i]] == NULL)
			return pipesim_refuse(error,
				"%s is missing; for example pipesim plan --model llama-3-70b "
				"--gpus 64 --global-batch 512 --seq 8192",
				pipesim_settings[needed[i]].name);
	if (!read_rows(plan->setup, rows, error) ||
		!check_output(plan->setup->text[PIPESIM_SET_OUTPUT], *rows, error))
		return FALSE;
	if (*rows == PIPESIM_ROWS_TEXT && plan->setup->text[PIPESIM_SET_SHARD] != NULL)
		return pipesim_refuse(error,
			"--shard: the best of a part are not the best; give --format jsonl, or "
			"-o FILE.csv or FILE.jsonl, which have every candidate");
	if (!pipesim_sweep_run_check(
		    plan->setup, plan->setup->text[PIPESIM_SET_OUTPUT], *rows, error))
		return FALSE;
	/* What is of the best has no place beside rows of all. */
	if (*rows != PIPESIM_ROWS_TEXT &&
		!pipesim_setup_without(plan->setup, error,
			"%s is of the best; leave it out with rows of every candidate "
			"(--format jsonl, -o FILE.csv)",
			PIPESIM_SET_PARETO, PIPESIM_SET_REPORT, PIPESIM_SET_EXPLAIN,
			PIPESIM_SET_LAYOUT))
		return FALSE;
	return g_strcmp0(plan->setup->text[PIPESIM_SET_LAYOUT], "auto") == 0 ||
	       plan->setup->text[PIPESIM_SET_LAYOUT] == NULL ||
	       pipesim_refuse(error,
		       "--layout: '%s'; plan finds the layers of every candidate itself: auto, "
		       "or leave it out",
		       plan->setup->text[PIPESIM_SET_LAYOUT]);
}

static void show_progress(guint done, guint all, gpointer data G_GNUC_UNUSED)
{
	if (done < all) /* their layouts come after the last one */
		pipesim_print_progress("candidates", done, all);
}

/* The model with its encoder, where it is known how much that has to see. */
static gboolean place_encoder(PipesimSetup *setup, GError **error)
{
	PipesimTransformer *model = setup->model;

	if (model->encoder == NULL && (setup->sizes.images > 0 || setup->sizes.patches > 0))
		return pipesim_refuse(error,
			"--images and --image-patches are of an encoder, which %s does not "
			"describe (vision_config, or [encoder]); leave them out",
			model->name);
	if (model->encoder == NULL)
		return TRUE;
	if (setup->sizes.patches == 0)
		setup->sizes.patches = model->encoder->patches;
	model->encoder_stages = setup->sizes.patches > 0 ? 1 : 0;
	if (model->encoder_stages == 0)
		pipesim_print_notice("the model's vision encoder is left out, in time and "
				     "memory: nothing says how many patches an image has; "
				     "give --image-patches, for example 1024");
	return TRUE;
}

/* What all frameworks are asked alike. */
static gboolean ask_alike(PipesimAdvice *plan, PipesimWish *wish, GError **error)
{
	PipesimSetup *setup = plan->setup;
	const char *reserve = setup->text[PIPESIM_SET_RESERVE];
	const char *copies = setup->text[PIPESIM_SET_OFFLOAD_BANDWIDTH];

	if (!pipesim_setup_training(setup, &wish->training, error))
		return FALSE;
	wish->model = setup->model;
	if (!place_encoder(setup, error))
		return FALSE;
	wish->reserve = reserve != NULL ? setup->reserve : -1;
	wish->layouts = setup->text[PIPESIM_SET_LAYOUT] != NULL;
	wish->recompute_given = setup->text[PIPESIM_SET_RECOMPUTE] != NULL;
	wish->zero_given = setup->text[PIPESIM_SET_ZERO] != NULL;
	wish->gpus = setup->gpus;
	wish->node = setup->gpus_per_node;
	wish->batch = setup->global_batch;
	wish->ranks = setup->scenario.ranks;
	wish->chunks = setup->scenario.chunks;
	if (setup->text[PIPESIM_SET_MICROBATCHES] != NULL)
		wish->microbatches = setup->scenario.microbatches;
	wish->threads = setup->threads;
	wish->post_validation = setup->flag[PIPESIM_SET_POST_VALIDATION];
	wish->progress = show_progress;
	wish->issuing = setup->scenario.issuing;
	if (copies != NULL &&
		!pipesim_parse_bandwidth(copies, "--offload-bandwidth:", &wish->copies, error))
		return FALSE;
	wish->offload_part = setup->scenario.offload_part;
	if (wish->offload_part.num > 0 && copies == NULL)
		return pipesim_refuse(error,
			"--offload-fraction: nothing tells how long copies take; give "
			"--offload-bandwidth, for example 25GB/s");
	if (setup->text[PIPESIM_SET_MEMORY] != NULL && setup->memory < 1000000)
		return pipesim_refuse(error,
			"--memory: '%s' is less than a megabyte, so that nothing fits; give it "
			"a unit, for example 80GiB",
			setup->text[PIPESIM_SET_MEMORY]);
	if (setup->text[PIPESIM_SET_MEMORY] == NULL && setup->list[PIPESIM_SET_TRACE] != NULL)
		return pipesim_refuse(error, "--memory is missing: a trace does not tell what "
					     "a GPU has; for example --memory 80GiB");
	if (!pipesim_planner_node(wish, error) || !choose_times(plan, wish, error))
		return FALSE;
	wish->memory = setup->text[PIPESIM_SET_MEMORY] != NULL ? setup->memory
							       : (gint64)wish->device->capacity;
	/* Free collectives would make the widest TP the best. */
	return wish->capture == NULL || wish->per_node == 1 || setup->sizes.tp > 0 ||
	       pipesim_refuse(error,
		       "--trace does not tell what collectives of TP take, so that sizes of TP "
		       "cannot be compared; give one, for example --tp 1, or --device");
}

/* How @framework trains, under @runtime. */
static gboolean ask_one(PipesimAdvice *plan, const PipesimWish *alike,
	const PipesimFramework *framework, const PipesimRuntime *runtime, gboolean several,
	GError **error)
{
	PipesimSetup *setup = plan->setup;
	PipesimPlanning *one = g_new0(PipesimPlanning, 1);
	PipesimWish *wish = &one->wish;
	char *modules = setup->text[PIPESIM_SET_MODULES];
	char *precision = setup->text[PIPESIM_SET_PRECISION];
	const char *runs = pipesim_framework_precision(framework, precision);

	g_ptr_array_add(plan->asked, one);
	one->setup = setup;
	*wish = *alike;
	wish->framework = framework;
	wish->runtime = runtime;
	wish->issuing = pipesim_runtime_asked(runtime, &setup->scenario.issuing);
	/* Its own modules, unless others are given. */
	if (modules == NULL)
		setup->text[PIPESIM_SET_MODULES] = (char *)framework->modules;
	setup->text[PIPESIM_SET_PRECISION] = (char *)runs;
	gboolean ok = pipesim_setup_training(setup, &wish->training, error);
	setup->text[PIPESIM_SET_MODULES] = modules;
	setup->text[PIPESIM_SET_PRECISION] = precision;
	if (runs != precision && strcmp(precision, "fp8") != 0)
		pipesim_setup_notice(setup, "%s has no %s: planned with %s", framework->words,
			precision, runs);
	if (!ok || !choose_schedules(one, several, error))
		return FALSE;
	/* Megatron-Bridge and torchtitan have the encoder where the embedding is. */
	wish->training.whole_encoder = framework->runtime != NULL;
	if (framework->eager && wish->recompute_given &&
		((wish->training.recompute & ~(guint)PIPESIM_RECOMPUTE_OPS) != 0 ||
			wish->training.every > 1 || wish->training.first > 0))
		return pipesim_refuse(error,
			"--recompute: '%s'; %s has none, selective-op, full",
			setup->text[PIPESIM_SET_RECOMPUTE], framework->words);
	if (framework->runtime != NULL && wish->offload_part.num > 0)
		return pipesim_refuse(error,
			"--offload-fraction: plans of %s copy nothing to the host; give "
			"--framework any",
			framework->words);
	if (framework->runtime != NULL && wish->training.each != NULL)
		return pipesim_refuse(error,
			"--recompute: '%s'; %s recomputes as many layers of each stage: "
			"first=N, or --framework any",
			setup->text[PIPESIM_SET_RECOMPUTE], framework->words);
	wish->training.tp = setup->sizes.tp;
	wish->training.cp = setup->sizes.cp;
	wish->training.ep = setup->sizes.ep;
	wish->training.etp = setup->sizes.etp;
	wish->training.dp = setup->sizes.dp;
	wish->training.microbatch = setup->sizes.microbatch;
	if (wish->device != NULL)
		pipesim_setup_train_on(setup, &wish->training);
	wish->pairs = setup->scenario.pairs || wish->training.graphs == PIPESIM_GRAPHS_STEP;
	/* With ZeRO-3 a runtime whose lists gather stages: PyTorch's, unless given. */
	if (wish->training.zero == PIPESIM_ZERO_3 && wish->runtime == NULL)
		wish->runtime = &pipesim_runtime_pytorch_2_15;
	if (wish->training.zero == PIPESIM_ZERO_3 &&
		!(wish->runtime->takes & PIPESIM_ASK_SHARDING))
		return pipesim_refuse(error,
			"--zero 3: the lists of --runtime %s gather no stages; give "
			"pytorch-2.15, or --zero 1",
			wish->runtime->name);
	return TRUE;
}

/* Steps that were measured correct all of them: as the first that is asked runs them. */
static gboolean correct(PipesimAdvice *plan, GError **error)
{
	const char *measured = plan->setup->text[PIPESIM_SET_MEASURED];
	const PipesimPlanning *first = g_ptr_array_index(plan->asked, 0);

	if (measured == NULL)
		return TRUE;
	if (!pipesim_planner_measure(&first->wish, measured, &plan->measured, error))
		return FALSE;
	for (guint i = 0; i < plan->asked->len; i++)
		memcpy(((PipesimPlanning *)plan->asked->pdata[i])->wish.training.pace,
			plan->measured.pace, sizeof plan->measured.pace);
	return TRUE;
}

/* Whom to ask: --framework, or whose --runtime is, or all. */
static gboolean ask(PipesimAdvice *plan, PipesimRowFormat *rows, GError **error)
{
	PipesimSetup *setup = plan->setup;
	const PipesimRuntime *runtime = setup->scenario.runtime;
	const char *name = setup->text[PIPESIM_SET_FOR];
	PipesimWish alike = {.framework = NULL};
	guint word = 0, takes = PIPESIM_TAKES_CHUNKS;

	if (!require(plan, rows, error) || !pipesim_setup_load_model(setup, error) ||
		!ask_alike(plan, &alike, error) ||
		(name != NULL && !pipesim_word_find("megatron torchtitan deepseek any", name,
					 "--framework:", &word, error)))
		return FALSE;
	if (name == NULL && setup->text[PIPESIM_SET_RUNTIME] != NULL)
		name = pipesim_framework_of(runtime)->name;
	/* Rows of every candidate are of one. */
	if (name == NULL && *rows != PIPESIM_ROWS_TEXT)
		name = "any";
	gboolean several = name == NULL;
	for (guint i = 0; pipesim_frameworks[i] != NULL; i++) {
		const PipesimFramework *framework = pipesim_frameworks[i];
		g_autoptr(GError) fault = NULL;

		if (several ? framework->experts && setup->model->experts == 0
			    : strcmp(framework->name, name) != 0)
			continue;
		if (ask_one(plan, &alike, framework,
			    runtime != NULL ? runtime : framework->runtime, several, &fault) &&
			((PipesimPlanning *)g_ptr_array_index(
				 plan->asked, plan->asked->len - 1))
					->wish.schedules[0] != NULL) {
			const PipesimPlanning *one =
				g_ptr_array_index(plan->asked, plan->asked->len - 1);

			takes |= one->wish.runtime != NULL ? one->wish.runtime->takes : 0;
			if (one->wish.offload_part.num > 0)
				takes |= PIPESIM_TAKES_PART | PIPESIM_TAKES_COPIES;
			for (guint k = 0; one->wish.schedules[k] != NULL; k++)
				if (one->wish.schedules[k]->offloads !=
					PIPESIM_OFFLOADS_NOTHING)
					takes |= PIPESIM_TAKES_COPIES;
			if (!several && framework->runtime != NULL && alike.copies > 0 &&
				(takes & PIPESIM_TAKES_COPIES) == 0)
				return pipesim_refuse(error,
					"--offload-bandwidth: plans of %s copy nothing to the "
					"host; give --framework any",
					framework->words);
			continue;
		}
		if (!several || framework->runtime == NULL) {
			g_propagate_error(error, g_steal_pointer(&fault));
			return FALSE;
		}
		/* It cannot; another may. */
		g_ptr_array_set_size(plan->asked, (gint)plan->asked->len - 1);
	}
	return correct(plan, error) && pipesim_setup_check_used(setup, takes, error);
}

/* Rows of all candidates, as a sweep writes its own ------------------------------------ */

/* Candidates that threads take at once, and of a block: those of one family then run side by side. */
#define TOGETHER 512
#define LONGEST  4096

/* All but who writes what where, and by how many threads; traces are told by what they say. */
static gboolean decides(guint id)
{
	return id != PIPESIM_SET_OUTPUT && id != PIPESIM_SET_RESUME &&
	       id != PIPESIM_SET_THREADS && id != PIPESIM_SET_SHARD &&
	       id != PIPESIM_SET_FORMAT && id != PIPESIM_SET_TRACE &&
	       !pipesim_settings[id].everywhere;
}

/* For PipesimSweepWork.solve. */
static void solve(gpointer data, guint64 first, guint n, PipesimSweepResult *results)
{
	g_autofree PipesimBrief *briefs = g_new0(PipesimBrief, MAX(n, 1u));

	pipesim_planner_simulate(data, (guint)first, n, briefs);
	for (guint i = 0; i < n; i++)
		results[i].brief = briefs[i];
}

static gboolean answer_rows(PipesimAdvice *plan, PipesimRowFormat format,
	PipesimProcesses processes, PipesimExit *status, GError **error)
{
	const PipesimPlanning *one = g_ptr_array_index(plan->asked, 0);
	g_autoptr(PipesimPlanner) planner = pipesim_planner_new(&one->wish, error);
	g_autoptr(GString) made_of = NULL;

	if (planner == NULL)
		return FALSE;
	PipesimSweepRun run = (PipesimSweepRun){.setup = plan->setup,
		.processes = processes,
		.what = "candidates",
		.output = plan->setup->text[PIPESIM_SET_OUTPUT],
		.rows = pipesim_plan_rows(planner, format),
		.work = {.width = 1, .solve = solve, .data = planner, .together = TOGETHER}};
	if (pipesim_sweep_run_share(&run, pipesim_planner_count(planner), error))
		made_of = pipesim_sweep_run_id(plan->setup, decides, error);
	if (made_of != NULL && plan->capture_text != NULL)
		pipesim_sweep_run_id_add(made_of, "costs", plan->capture_text);
	gboolean ok = made_of != NULL &&
		      pipesim_sweep_run_open(&run, TRUE, made_of->str, 1, LONGEST, error) &&
		      pipesim_sweep_run(&run, error) &&
		      pipesim_sweep_run_finish(&run, status, error);
	pipesim_sweep_run_clear(&run);
	return ok;
}

/* Plans for all that were asked; of several one that cannot be divided is left out. */
static gboolean find(PipesimAdvice *plan, gboolean frontier, GError **error)
{
	const gboolean several = plan->asked->len > 1;

	for (guint i = 0; i < plan->asked->len;) {
		PipesimPlanning *one = g_ptr_array_index(plan->asked, i);
		g_autoptr(GError) fault = NULL;

		one->wish.frontier = frontier;
		one->wish.most = several ? PIPESIM_OF_SEVERAL : 0;
		one->planned = pipesim_planner_run(&one->wish, &fault);
		if (one->planned != NULL) {
			i++;
			continue;
		}
		if (fault->code == PIPESIM_ERROR_LIMIT || plan->asked->len == 1) {
			g_propagate_error(error, g_steal_pointer(&fault));
			return FALSE;
		}
		g_ptr_array_remove_index(plan->asked, i);
	}
	pipesim_advice_collect(plan);
	return TRUE;
}

static gboolean answer(PipesimAdvice *plan, PipesimExit *status, GError **error)
{
	const PipesimSetup *setup = plan->setup;
	guint as;
	const char *pareto = setup->text[PIPESIM_SET_PARETO];
	g_autoptr(GString) out = g_string_new(NULL);
	const PipesimStyle style = pipesim_terminal_style(setup, NULL);

	if (!pipesim_format(setup, "text json csv jsonl", &as, error))
		return FALSE;
	if (g_strcmp0(setup->text[PIPESIM_SET_REPORT], "-") == 0)
		return pipesim_refuse(
			error, "--report -: a plan's page goes into a file; name one");
	if (!pipesim_gnuplot_check(pareto, error) ||
		!pipesim_check_page(setup->text[PIPESIM_SET_REPORT], error))
		return FALSE;
	pipesim_begin_progress("candidates");
	gboolean ok = find(plan,
		as == PIPESIM_AS_CSV || pareto != NULL ||
			setup->text[PIPESIM_SET_REPORT] != NULL,
		error);
	pipesim_end_progress();
	if (!ok)
		return FALSE;
	const PipesimPlanning *last = g_ptr_array_index(plan->asked, plan->asked->len - 1);
	/* The others have shared the work. */
	if (last->wish.peers.rank > 0)
		return TRUE;
	if (setup->explained > plan->rows->len)
		return pipesim_refuse(error, "--explain: '%u', but %u fit", setup->explained,
			plan->rows->len);
	if (plan->rows->len == 0)
		*status = PIPESIM_EXIT_NO;
	if (as == PIPESIM_AS_JSON)
		pipesim_command_json(&pipesim_command_plan, plan, out);
	else if (as == PIPESIM_AS_CSV)
		pipesim_plan_csv(plan, out);
	else
		pipesim_plan_text(plan, setup->explained, &style, out);
	return (setup->text[PIPESIM_SET_OUTPUT] == NULL || plan->rows->len == 0 ||
		       pipesim_plan_folder(plan, setup->text[PIPESIM_SET_OUTPUT], error)) &&
	       pipesim_plan_page(plan, setup->text[PIPESIM_SET_REPORT], error) &&
	       pipesim_plan_picture_draw(&last->wish, last->planned, pareto, error) &&
	       pipesim_print(NULL, out, error);
}

static gboolean run(PipesimSetup *setup, PipesimExit *status, GError **error)
{
	g_autoptr(PipesimAdvice) plan = pipesim_advice_new(setup);
	const PipesimProcesses processes = pipesim_mpi_start();
	PipesimRowFormat rows;
	gboolean ok = ask(plan, &rows, error);

	for (guint i = 0; i < plan->asked->len; i++) {
		PipesimWish *wish = &((PipesimPlanning *)plan->asked->pdata[i])->wish;

		wish->peers =
			(PipesimPeers){processes.rank, processes.size, pipesim_mpi_exchange};
		if (processes.rank > 0)
			wish->progress = NULL;
	}
	if (ok && rows != PIPESIM_ROWS_TEXT)
		ok = answer_rows(plan, rows, processes, status, error);
	else if (ok)
		ok = answer(plan, status, error);
	pipesim_mpi_end(processes, ok ? NULL : *error);
	return ok;
}

const PipesimCommand pipesim_command_plan = {
	.name = "plan",
	.folder = pipesim_plan_files,
	.summary = "how to train a model on so many GPUs",
	.about = "Searches TP, CP, PP, EP, DP, chunks, schedule, size of micro-batches and "
		 "what is computed again,\nsimulates what could be among the best as the "
		 "framework of --framework runs it, and says what limits each.\nTimes come "
		 "from --device (h100 unless given) at --mfu, or from --trace.",
	.examples = "Examples:\n"
		    "  pipesim plan --model llama-3-70b --gpus 64 --memory 80GiB "
		    "--global-batch 512 --seq 8192\n\n"
		    "Exit status: 0 done, 1 nothing fits, 2 usage, 3 bad input file, 5 cannot "
		    "write.\n",
	.takes = {PIPESIM_SET_GPUS, PIPESIM_SET_GPUS_PER_NODE, PIPESIM_SET_MEMORY,
		PIPESIM_SET_RESERVE, PIPESIM_SET_REPORT, PIPESIM_SET_FOR,
		PIPESIM_SET_GLOBAL_BATCH, PIPESIM_SET_PP, PIPESIM_SET_MICROBATCHES,
		PIPESIM_SET_CHUNKS, PIPESIM_SET_SCHEDULE, PIPESIM_SET_RUNTIME,
		PIPESIM_SET_ACTIVE_STAGES, PIPESIM_SET_UNSHARD_AHEAD, PIPESIM_ALL_MODEL,
		PIPESIM_SET_IMAGES, PIPESIM_SET_IMAGE_PATCHES, PIPESIM_SET_OFFLOAD_BANDWIDTH,
		PIPESIM_SET_OFFLOAD_FRACTION, PIPESIM_SET_POST_VALIDATION, PIPESIM_SET_TRACE,
		PIPESIM_SET_MEASURED, PIPESIM_SET_EXPLAIN, PIPESIM_SET_FULL, PIPESIM_SET_BRIEF,
		PIPESIM_SET_RESUME, PIPESIM_SET_SHARD, PIPESIM_SET_THREADS, PIPESIM_SET_FORMAT,
		PIPESIM_SET_OUTPUT, PIPESIM_SET_PARETO, PIPESIM_SET_KEEP_GNUPLOT},
	.wording = {{PIPESIM_SET_FORMAT, NULL,
			    "text, json, csv (the best at each memory) or jsonl (all) "
			    "(default: text)",
			    "text json csv jsonl"},
		{PIPESIM_SET_OUTPUT, "PATH",
			"folder for the files of the best, or FILE.csv or .jsonl for all "
			"candidates",
			NULL},
		{PIPESIM_SET_FOR, "NAME", "framework that runs it (default: the best of each)",
			"megatron torchtitan deepseek any"},
		{PIPESIM_SET_CP, NULL, "context-parallel size (default: searched)", NULL},
		{PIPESIM_SET_EXPERT_TP, NULL,
			"tensor-parallel size of experts (default: searched)", NULL},
		{PIPESIM_SET_ZERO, NULL,
			"what data-parallel ranks shard (default: 1; searched under FSDP)",
			NULL},
		{PIPESIM_SET_PP, NULL, "pipeline ranks (default: searched)", NULL},
		{PIPESIM_SET_SCHEDULE, "NAME,...",
			"schedules to try (default: those of --framework)", NULL},
		{PIPESIM_SET_MICROBATCHES, NULL, "micro-batches in a step (default: searched)",
			NULL},
		{PIPESIM_SET_MICROBATCH_SIZE, NULL,
			"sequences of a micro-batch (default: searched)", NULL},
		{PIPESIM_SET_TP, NULL, "tensor-parallel size (default: searched)", NULL},
		{PIPESIM_SET_EP, NULL, "expert-parallel size (default: searched)", NULL},
		{PIPESIM_SET_DP, NULL, "data-parallel size (default: what is left)", NULL},
		{PIPESIM_SET_RECOMPUTE, NULL,
			"recomputation: none, selective, full ... (default: searched)", NULL},
		{PIPESIM_SET_CHUNKS, NULL, "stages on each rank (default: searched)", NULL}},
	.members = pipesim_plan_members,
	.run = run,
};
