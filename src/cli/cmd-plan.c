#include "config.h"

#include "base/path.h"
#include "base/sink.h"
#include "cli/command.h"
#include "cli/mpi.h"
#include "cli/plan.h"
#include "cli/sweep-run.h"
#include "model/costs-file.h"
#include "output/figures.h"
#include "output/table.h"
#include "setup/choice.h"
#include "sweep/plan-picture.h"
#include <string.h>

#define WIDTH  100
#define DEVICE "h100"

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
		g_string_append(out,
			"Times from the trace, scaled: attention and MLP by FLOPs, "
			"rows of experts by bytes, the head as the MLP\n");
	else
		g_string_append_printf(out,
			"Times from FLOPs on %s at %s of its peak, not measured\n",
			wish->device->name,
			pipesim_print_double(
				mfu, pipesim_device_share(wish->device, &wish->training)));
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
			"under "
			"any layout\n",
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

static void write_text(const PipesimPlanning *plan, guint explained, GString *out)
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

/* What is asked -------------------------------------------------------------------------- */

/* Of --runtime: the schedules that it runs. */
static const char *schedules_for(const PipesimRuntime *runtime)
{
	const char *name = runtime != NULL ? runtime->name : "";

	if (g_str_has_prefix(name, "pytorch"))
		return "gpipe,1f1b,interleaved-1f1b,interleaved-zb,zb-v,dualpipev";
	if (g_str_has_prefix(name, "deepseek"))
		return "dualpipe,dualpipev";
	if (g_str_has_prefix(name, "megatron"))
		return "1f1b,interleaved-1f1b";
	if (g_str_has_prefix(name, "single"))
		return "gpipe,1f1b";
	return "1f1b,interleaved-1f1b,zb-h1,zb-v,v-half,v-min,interleaved-zb,dualpipe,"
	       "dualpipev";
}

static gboolean choose_schedules(PipesimPlanning *plan, GError **error)
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

static gboolean choose_times(PipesimPlanning *plan, GError **error)
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
	       pipesim_fail(error, PIPESIM_ERROR_USAGE,
		       "-o %s has a row of every candidate; leave out --format %s, or name a "
		       "folder",
		       output, given);
}

/* A folder, or a file where its name says so: FILE.json would be a folder of this name. */
static gboolean check_output(const char *output, PipesimRowFormat rows, GError **error)
{
	static const char *const files[] = {"json", "txt", "html", "md", "ini"};
	const char *extension;

	if (output == NULL)
		return TRUE;
	if (rows != PIPESIM_ROWS_TEXT || *output == '\0')
		return pipesim_check_writable(output, error);
	if (g_file_test(output, G_FILE_TEST_IS_DIR))
		return TRUE;
	if (g_file_test(output, G_FILE_TEST_EXISTS))
		return pipesim_fail(error, PIPESIM_ERROR_WRITE,
			"cannot make the folder %s: there is a file of this name", output);
	extension = pipesim_path_extension(output);
	for (guint i = 0; i < G_N_ELEMENTS(files); i++)
		if (g_ascii_strcasecmp(extension, files[i]) == 0)
			return pipesim_fail(error, PIPESIM_ERROR_USAGE,
				"-o %s would be a folder; name it without .%s, or FILE.csv or "
				"FILE.jsonl for rows of all candidates",
				output, files[i]);
	return TRUE;
}

/* What is of the best has no place beside rows of all. */
static gboolean require_rows(const PipesimSetup *setup, GError **error)
{
	static const PipesimSettingId others[] = {
		PIPESIM_SET_PARETO, PIPESIM_SET_EXPLAIN, PIPESIM_SET_LAYOUT};

	for (guint i = 0; i < G_N_ELEMENTS(others); i++)
		if (setup->text[others[i]] != NULL)
			return pipesim_fail(error, PIPESIM_ERROR_USAGE,
				"%s is of the best; leave it out with rows of every candidate "
				"(--format jsonl, -o FILE.csv)",
				pipesim_settings[others[i]].name);
	return TRUE;
}

static gboolean require(const PipesimPlanning *plan, PipesimRowFormat *rows, GError **error)
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
	if (!read_rows(plan->setup, rows, error) ||
		!check_output(plan->setup->text[PIPESIM_SET_OUTPUT], *rows, error))
		return FALSE;
	if (*rows == PIPESIM_ROWS_TEXT && plan->setup->text[PIPESIM_SET_SHARD] != NULL)
		return pipesim_fail(error, PIPESIM_ERROR_USAGE,
			"--shard: the best of a part are not the best; give --format jsonl, "
			"or -o FILE.csv or FILE.jsonl, which have every candidate");
	if (!pipesim_sweep_run_check(
		    plan->setup, plan->setup->text[PIPESIM_SET_OUTPUT], *rows, error))
		return FALSE;
	if (*rows != PIPESIM_ROWS_TEXT && !require_rows(plan->setup, error))
		return FALSE;
	return g_strcmp0(plan->setup->text[PIPESIM_SET_LAYOUT], "auto") == 0 ||
	       plan->setup->text[PIPESIM_SET_LAYOUT] == NULL ||
	       pipesim_fail(error, PIPESIM_ERROR_USAGE,
		       "--layout: '%s'; plan finds the layers of every candidate itself: auto, "
		       "or leave it out",
		       plan->setup->text[PIPESIM_SET_LAYOUT]);
}

static void show_progress(guint done, guint all, gpointer data G_GNUC_UNUSED)
{
	if (done < all) /* their layouts come after the last one */
		pipesim_print_progress("candidates", done, all);
}

/* With ZeRO-3 one whose lists gather stages: PyTorch's, unless given. */
static gboolean choose_runtime(PipesimPlanning *plan, GError **error)
{
	PipesimWish *wish = &plan->wish;

	if (wish->training.zero == PIPESIM_ZERO_3 && wish->runtime == NULL)
		wish->runtime = pipesim_runtime_find("pytorch-2.15", "--runtime", error);
	if (wish->training.zero == PIPESIM_ZERO_3 &&
		!(wish->runtime->takes & PIPESIM_ASK_SHARDING))
		return pipesim_fail(error, PIPESIM_ERROR_USAGE,
			"--zero 3: the lists of --runtime %s gather no stages; give "
			"pytorch-2.15, or --zero 1",
			wish->runtime->name);
	return pipesim_setup_heed(plan->setup,
		(wish->runtime != NULL ? wish->runtime->takes : 0) | PIPESIM_TAKES_CHUNKS,
		error);
}

/* The multiple of @step, at least one, that is nearest to @value. */
static gint64 nearest(gint64 value, gint64 step)
{
	return MAX((value + step / 2) / step, 1) * step;
}

/* The most GPUs of a node, up to 8, that divide @gpus. */
static guint node_of(guint gpus)
{
	guint most = 8;

	while (gpus % most != 0)
		most--;
	return most;
}

static gboolean ask(PipesimPlanning *plan, PipesimRowFormat *rows, GError **error)
{
	PipesimSetup *setup = plan->setup;
	const char *threads = setup->text[PIPESIM_SET_THREADS];
	PipesimWish *wish = &plan->wish;
	guint64 n = 0;

	if (!require(plan, rows, error) ||
		!pipesim_parse_bytes(
			setup->text[PIPESIM_SET_MEMORY], "--memory", &wish->memory, error) ||
		(threads != NULL &&
			!pipesim_parse_count(threads, "--threads", 1, 4096, &n, error)) ||
		!pipesim_setup_training(setup, &wish->training, error) ||
		!pipesim_setup_load_model(setup, error))
		return FALSE;
	wish->model = setup->model;
	wish->training.tp = setup->sizes.tp;
	wish->training.ep = setup->sizes.ep;
	wish->training.dp = setup->sizes.dp;
	wish->training.microbatch = setup->sizes.microbatch;
	wish->layouts = setup->text[PIPESIM_SET_LAYOUT] != NULL;
	wish->recompute_given = setup->text[PIPESIM_SET_RECOMPUTE] != NULL;
	wish->gpus = setup->gpus;
	wish->per_node = setup->gpus_per_node > 0 ? setup->gpus_per_node : node_of(setup->gpus);
	wish->per_node = MIN(wish->per_node, wish->gpus);
	wish->batch = setup->global_batch;
	wish->ranks = setup->scenario.ranks;
	wish->chunks = setup->scenario.chunks;
	if (setup->text[PIPESIM_SET_MICROBATCHES] != NULL)
		wish->microbatches = setup->scenario.microbatches;
	wish->runtime = setup->scenario.runtime;
	wish->threads = (guint)n;
	wish->progress = show_progress;
	wish->issuing = setup->scenario.issuing;
	if (wish->memory < 1000000)
		return pipesim_fail(error, PIPESIM_ERROR_USAGE,
			"--memory: '%s' is less than a megabyte, so that nothing fits; give it "
			"a "
			"unit, for example 80GiB",
			setup->text[PIPESIM_SET_MEMORY]);
	if (wish->gpus % wish->per_node != 0)
		return pipesim_fail(error, PIPESIM_ERROR_CONSTRAINT,
			"--gpus-per-node: %u do not divide %u GPUs; nearest: %" G_GINT64_FORMAT
			" GPUs",
			wish->per_node, wish->gpus, nearest(wish->gpus, wish->per_node));
	return choose_times(plan, error) && choose_runtime(plan, error) &&
	       choose_schedules(plan, error);
}

/* Whether TP x PP x CP x DP, searched or given, can be @gpus with a share of the batch for each DP rank. */
static gboolean divides(const PipesimPlanning *plan, guint gpus)
{
	const PipesimWish *wish = &plan->wish;
	const guint node =
		plan->setup->gpus_per_node > 0 ? plan->setup->gpus_per_node : node_of(gpus);
	const PipesimTraining *given = &wish->training;
	const gint64 size = MAX(given->microbatch, 1) * MAX(wish->microbatches, 1u);
	const gint64 cp = MAX(given->cp, 1);

	for (gint64 tp = MAX(given->tp, 1); tp <= (given->tp > 0 ? given->tp : node); tp++)
		for (gint64 ranks = MAX(wish->ranks, 1u);
			ranks <=
			(wish->ranks > 0 ? wish->ranks : MIN(gpus, wish->model->layers + 2));
			ranks++) {
			const gint64 used = tp * cp * ranks, dp = gpus / used;

			if (gpus % used == 0 && wish->model->heads % tp == 0 &&
				gpus % node == 0 && (given->tp > 0 || node % tp == 0) &&
				(given->dp == 0 || dp == given->dp) &&
				wish->batch % (size * dp) == 0)
				return TRUE;
		}
	return FALSE;
}

/* The number of GPUs nearest to that asked for which can be divided; 0 where none within 64 can. */
static guint nearest_gpus(const PipesimPlanning *plan)
{
	const guint gpus = plan->wish.gpus;

	for (guint by = 1; by < MIN(gpus, 64u); by++) {
		if (divides(plan, gpus - by))
			return gpus - by;
		if (divides(plan, gpus + by))
			return gpus + by;
	}
	return 0;
}

/* Why there is no candidate: the first rule that the sizes given break. */
static gboolean fail_to_divide(const PipesimPlanning *plan, GError **error)
{
	const PipesimWish *wish = &plan->wish;
	const PipesimTraining *given = &wish->training;
	const gint64 cp = MAX(given->cp, 1), dp = MAX(given->dp, 1), tp = MAX(given->tp, 1);
	const gint64 product = tp * cp * dp * MAX(wish->ranks, 1u);
	const gint64 size = MAX(given->microbatch, 1), most = wish->model->layers + 2;
	const gint64 share = size * dp * MAX(wish->microbatches, 1u);
	char remedy[64] = "change --gpus, --global-batch or the sizes given";
	guint near;

	if (tp > wish->per_node)
		return pipesim_fail(error, PIPESIM_ERROR_CONSTRAINT,
			"--tp: %" G_GINT64_FORMAT
			" ranks, but TP stays within a node, of %u GPUs; "
			"nearest: %u",
			tp, wish->per_node, wish->per_node);
	if (wish->ranks > most)
		return pipesim_fail(error, PIPESIM_ERROR_CONSTRAINT,
			"--pp: %u ranks, but %s has %" G_GINT64_FORMAT
			" layers, embedding and head; nearest: %" G_GINT64_FORMAT,
			wish->ranks, wish->model->name, wish->model->layers, most);
	if (wish->gpus % product != 0)
		return pipesim_fail(error, PIPESIM_ERROR_CONSTRAINT,
			"--gpus: %u is no multiple of TP x PP x CP x DP as given, "
			"%" G_GINT64_FORMAT "; nearest: %" G_GINT64_FORMAT " GPUs",
			wish->gpus, product, nearest(wish->gpus, product));
	if (wish->batch % share != 0)
		return pipesim_fail(error, PIPESIM_ERROR_CONSTRAINT,
			"--global-batch: %" G_GINT64_FORMAT
			" is no multiple of size x number of micro-batches x DP as given, "
			"%" G_GINT64_FORMAT "; nearest: %" G_GINT64_FORMAT,
			wish->batch, share, nearest(wish->batch, share));
	near = nearest_gpus(plan);
	if (near > 0)
		g_snprintf(remedy, sizeof remedy, "nearest: %u GPUs", near);
	return pipesim_fail(error, PIPESIM_ERROR_CONSTRAINT,
		"no way to divide %u GPUs and a batch of %" G_GINT64_FORMAT
		": TP x PP x CP x DP is all GPUs, and the batch DP times the size and the "
		"number of micro-batches; %s",
		wish->gpus, wish->batch, remedy);
}

static gboolean check_found(
	const PipesimPlanning *plan, guint candidates, const GError *refusal, GError **error)
{
	if (candidates == 0 && refusal != NULL) {
		g_propagate_error(error, g_error_copy(refusal));
		return FALSE;
	}
	return candidates > 0 || fail_to_divide(plan, error);
}

static gboolean answer_rows(PipesimPlanning *plan, PipesimRowFormat format,
	PipesimProcesses processes, PipesimExit *status, GError **error)
{
	g_autoptr(PipesimPlanner) planner = pipesim_planner_new(&plan->wish, error);
	gboolean stopped = FALSE;

	if (planner == NULL ||
		!check_found(plan, pipesim_planner_count(planner),
			pipesim_planner_refusal(planner), error) ||
		!pipesim_plan_lines(plan, planner, format, processes, &stopped, error))
		return FALSE;
	if (stopped)
		*status = PIPESIM_EXIT_STOPPED;
	return TRUE;
}

static gboolean answer(PipesimPlanning *plan, PipesimExit *status, GError **error)
{
	const PipesimSetup *setup = plan->setup;
	const char *format = setup->text[PIPESIM_SET_FORMAT];
	const char *explain = setup->text[PIPESIM_SET_EXPLAIN];
	const gboolean json = g_strcmp0(format, "json") == 0;
	const gboolean csv = g_strcmp0(format, "csv") == 0;
	const char *pareto = setup->text[PIPESIM_SET_PARETO];
	g_autoptr(GString) out = g_string_new(NULL);
	guint64 explained = 0;

	if (format != NULL && !json && !csv && strcmp(format, "text") != 0)
		return pipesim_fail(error, PIPESIM_ERROR_USAGE,
			"--format: '%s'; text, json, csv or jsonl", format);
	if (explain != NULL && (!pipesim_parse_count(explain, "--explain", 1, PIPESIM_BEST,
				       &explained, error)))
		return FALSE;
	plan->wish.frontier = csv || pareto != NULL;
	if (!pipesim_plan_picture_check(pareto, error))
		return FALSE;
	pipesim_begin_progress("candidates");
	plan->planned = pipesim_planner_run(&plan->wish, error);
	pipesim_end_progress();
	if (plan->planned == NULL ||
		!check_found(plan, plan->planned->candidates, plan->planned->refusal, error))
		return FALSE;
	/* The others have shared the work. */
	if (plan->wish.peers.rank > 0)
		return TRUE;
	if (explained > plan->planned->best->len)
		return pipesim_fail(error, PIPESIM_ERROR_USAGE, "--explain: '%s', but %u fit",
			explain, plan->planned->best->len);
	if (plan->planned->best->len == 0)
		*status = PIPESIM_EXIT_NO;
	if (json)
		pipesim_plan_json(plan, out);
	else if (csv)
		pipesim_plan_csv(plan, out);
	else
		write_text(plan, (guint)explained, out);
	return (setup->text[PIPESIM_SET_OUTPUT] == NULL || plan->planned->best->len == 0 ||
		       pipesim_plan_folder(plan, setup->text[PIPESIM_SET_OUTPUT], error)) &&
	       pipesim_plan_picture_draw(&plan->wish, plan->planned, pareto, error) &&
	       pipesim_print(NULL, out, error);
}

static gboolean run(PipesimSetup *setup, PipesimExit *status, GError **error)
{
	PipesimPlanning plan = {.setup = setup, .schedules = g_ptr_array_new()};
	const PipesimProcesses processes = pipesim_mpi_start();
	PipesimRowFormat rows;
	gboolean ok = ask(&plan, &rows, error);

	plan.wish.peers = (PipesimPeers){processes.rank, processes.size, pipesim_mpi_exchange};
	if (processes.rank > 0)
		plan.wish.progress = NULL;
	if (ok && rows != PIPESIM_ROWS_TEXT)
		ok = answer_rows(&plan, rows, processes, status, error);
	else if (ok)
		ok = answer(&plan, status, error);
	if (ok) {
		pipesim_mpi_finish();
	} else if (processes.size > 1) {
		if (processes.rank == 0)
			g_printerr("pipesim: %s\n", (*error)->message);
		pipesim_mpi_abort((int)pipesim_exit_status(*error));
	}
	pipesim_planned_free(plan.planned);
	if (plan.capture_text != NULL)
		g_string_free(plan.capture_text, TRUE);
	g_ptr_array_unref(plan.schedules);
	return ok;
}

const PipesimCommand pipesim_command_plan = {
	.name = "plan",
	.folder = TRUE,
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
		PIPESIM_SET_GLOBAL_BATCH, PIPESIM_SET_PP, PIPESIM_SET_MICROBATCHES,
		PIPESIM_SET_CHUNKS, PIPESIM_SET_SCHEDULE, PIPESIM_SET_RUNTIME,
		PIPESIM_SET_ACTIVE_STAGES, PIPESIM_SET_UNSHARD_AHEAD, PIPESIM_ALL_MODEL,
		PIPESIM_SET_TRACE, PIPESIM_SET_EXPLAIN, PIPESIM_SET_RESUME, PIPESIM_SET_SHARD,
		PIPESIM_SET_THREADS, PIPESIM_SET_FORMAT, PIPESIM_SET_OUTPUT,
		PIPESIM_SET_PARETO},
	.wording = {{PIPESIM_SET_FORMAT, NULL,
			    "text (default), json; csv: best at each memory; jsonl: all",
			    "text json csv jsonl"},
		{PIPESIM_SET_OUTPUT, "PATH",
			"folder: files of the best; FILE.csv or .jsonl: all candidates", NULL},
		{PIPESIM_SET_PP, NULL, "pipeline ranks (default: searched)", NULL},
		{PIPESIM_SET_SCHEDULE, "NAME,...",
			"schedules to try (default: nine, or those of --runtime)", NULL},
		{PIPESIM_SET_MICROBATCHES, NULL, "micro-batches per step (default: searched)",
			NULL},
		{PIPESIM_SET_MICROBATCH_SIZE, NULL,
			"of --model: sequences of a micro-batch (default: searched)", NULL},
		{PIPESIM_SET_TP, NULL, "of --model: tensor parallelism (default: searched)",
			NULL},
		{PIPESIM_SET_EP, NULL, "of --model: expert parallelism (default: searched)",
			NULL},
		{PIPESIM_SET_DP, NULL, "of --model: data parallelism (default: what is left)",
			NULL},
		{PIPESIM_SET_RECOMPUTE, NULL,
			"of --model: none, selective, full ... (default: searched)", NULL},
		{PIPESIM_SET_CHUNKS, NULL, "stages per rank (default: searched)", NULL}},
	.run = run,
};
