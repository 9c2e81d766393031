/* The public header alone, against the shared library: what a stranger's program sees. */
#include <pipesim.h>
#include <stdio.h>
#include <string.h>

static int fail(const char *what, const GError *error)
{
	printf("public: %s%s%s\n", what, error != NULL ? ": " : "",
		error != NULL ? error->message : "");
	return 1;
}

/* Of what is taken without doubt. */
static void set(PipesimSetup *setup, const char *option, const char *value)
{
	g_autoptr(GError) error = NULL;

	if (!pipesim_setup_set(setup, option, value, &error))
		fail(option, error);
}

static PipesimSetup *ask(void)
{
	PipesimSetup *setup = pipesim_setup_new();

	set(setup, "--pp", "4");
	set(setup, "microbatches", "8");
	return setup;
}

static gboolean is_refused(PipesimSetup *setup)
{
	g_autoptr(GError) error = NULL;

	return pipesim_setup_run(setup, "gpipe", PIPESIM_WANT_FIGURES, &error) == NULL &&
	       g_error_matches(error, PIPESIM_ERROR, PIPESIM_ERROR_USAGE);
}

/* Each message lies between the two ops that it names. */
static gboolean messages_fit(const PipesimRun *run)
{
	PipesimRunMessage message;
	PipesimRunOp from, to, all[16];

	for (guint i = 0; i < pipesim_run_n_messages(run); i++) {
		pipesim_run_message(run, i, &message);
		pipesim_run_ops(run, message.from_rank, all);
		from = all[message.from_op];
		pipesim_run_op(run, message.to_rank, message.to_op, &to);
		if (from.end > message.sent || message.start < message.sent ||
			message.end - message.start != 100 || to.start < message.end ||
			to.microbatch != from.microbatch ||
			to.stage != (message.backward ? from.stage - 1 : from.stage + 1))
			return FALSE;
	}
	return pipesim_run_n_messages(run) == 2 * 3 * 8;
}

/* What it wrote is an order that it reads; the file says how many ranks there are. */
static gboolean reads_back(PipesimSetup *setup, const PipesimRun *run)
{
	g_autofree char *order = pipesim_run_order(run);
	g_autoptr(PipesimRun) again = NULL;

	if (!g_str_has_prefix(order, "0F0,0F1,0F2,0F3,0B0,") ||
		!g_file_set_contents("public-order.csv", order, -1, NULL))
		return FALSE;
	set(setup, "pp", NULL);
	set(setup, "microbatches", NULL);
	again = pipesim_setup_run(setup, "public-order.csv", PIPESIM_WANT_OPS, NULL);
	remove("public-order.csv");
	return again != NULL && pipesim_run_ranks(again) == 4 &&
	       pipesim_run_makespan(again) == pipesim_run_makespan(run);
}

/* Options without a value count, and no longer where they are taken back. */
static const char *check_flags(void)
{
	g_autoptr(GError) error = NULL;
	g_autoptr(PipesimSetup) setup = ask();
	g_autoptr(PipesimRun) plain = NULL, paired = NULL, again = NULL;

	set(setup, "times", "F=1,I=1,W=1,FB=2.4");
	plain = pipesim_setup_run(setup, "interleaved-1f1b", PIPESIM_WANT_FIGURES, NULL);
	set(setup, "pairs", "");
	paired = pipesim_setup_run(setup, "interleaved-1f1b", PIPESIM_WANT_FIGURES, NULL);
	set(setup, "pairs", NULL);
	again = pipesim_setup_run(setup, "interleaved-1f1b", PIPESIM_WANT_FIGURES, NULL);
	if (plain == NULL || paired == NULL || again == NULL ||
		pipesim_run_makespan(plain) != 28500000 ||
		pipesim_run_makespan(paired) != 25200000 ||
		pipesim_run_makespan(again) != 28500000)
		return "pairs were ignored";
	if (pipesim_setup_set(setup, "pairs", "no", &error))
		return "a flag takes a value";
	return strstr(error->message, "it takes no value") == NULL ? "a flag says nothing"
								   : NULL;
}

/* Options by name, costs from memory, ops and messages of a run. */
static const char *check_options(void)
{
	g_autoptr(GError) error = NULL;
	g_autoptr(PipesimSetup) setup = ask();
	g_autoptr(PipesimCosts) costs = pipesim_costs_new(1000, 1000, 1000, -1, 100, NULL);
	g_autoptr(PipesimRun) run = NULL;

	if (pipesim_setup_set(setup, "micro-batches", "8", NULL) ||
		pipesim_setup_set(setup, "samples", "8", NULL) ||
		pipesim_setup_set(setup, "pp", "many", NULL))
		return "an option that is none, or nonsense, was not refused";
	if (!pipesim_costs_set_bytes(costs, 10, 20, 1000, NULL) ||
		pipesim_costs_set_bytes(costs, -1, 0, 0, NULL))
		return "bytes were not taken, or nonsense was";
	pipesim_setup_set_costs(setup, costs);
	set(setup, "comm", "pytorch-2.11");
	set(setup, "runtime", "pytorch-2.11");
	run = pipesim_setup_run(setup, "1f1b", PIPESIM_WANT_MESSAGES, &error);
	if (run == NULL || pipesim_run_n_ops(run, 3) != 16 || !messages_fit(run))
		return "not the ops and messages of 1f1b 4/8";
	if (pipesim_run_stages(run) != 4 || pipesim_run_microbatches(run) != 8 ||
		g_strcmp0(pipesim_run_runtime(run), "pytorch-2.11") != 0)
		return "not the shape and the runtime of 1f1b 4/8";
	/* Rank 0 holds 4 micro-batches; both kinds of bytes, and its parameters. */
	if (pipesim_run_peak_bytes(run, 0) != 1000 + 4 * 30 || !pipesim_run_fits(run) ||
		pipesim_run_waiting(run, 2) != 1200)
		return "not the bytes or the waiting of 1f1b 4/8";
	if (!reads_back(setup, run))
		return "an order is not the same from its file";
	if (!is_refused(setup))
		return "micro-batches were not missed";
	return NULL;
}

/* Ops beyond the first kinds have words, ops of a whole rank its number, slices theirs. */
static const char *check_kinds(void)
{
	g_autoptr(PipesimSetup) setup = ask();
	g_autoptr(PipesimRun) sliced =
		pipesim_setup_run(setup, "seq1f1b", PIPESIM_WANT_OPS, NULL);
	g_autoptr(PipesimRun) passes =
		pipesim_setup_run(setup, "vocab-2", PIPESIM_WANT_OPS, NULL);
	PipesimRunOp op;
	guint kinds = 0, outputs = 0;

	while (pipesim_kind_name(kinds) != NULL)
		kinds++;
	if (kinds <= PIPESIM_N_KINDS || strcmp(pipesim_kind_name(PIPESIM_FB), "FB") != 0)
		return "not the words of all kinds";
	if (sliced == NULL || passes == NULL)
		return "slices or passes of the vocabulary do not run";
	for (guint i = 0; i < pipesim_run_n_ops(sliced, 0); i++) {
		pipesim_run_op(sliced, 0, i, &op);
		if (op.microbatch >= 8 || op.slice >= 4 || (i == 5 && op.slice != 1))
			return "not the micro-batches and slices of seq1f1b 4/8";
	}
	for (guint i = 0; i < pipesim_run_n_ops(passes, 3); i++) {
		pipesim_run_op(passes, 3, i, &op);
		if (op.kind >= kinds || op.slice != 0)
			return "a kind without a word";
		outputs += strcmp(pipesim_kind_name(op.kind), "S") == 0 && op.stage == 3;
	}
	return outputs == 8 ? NULL : "not the passes of rank 3 of vocab-2 4/8";
}

static const char *check_stages(void)
{
	static const gint64 forward[] = {2000, 1000, 1000, 1000};
	static const gint64 backward[] = {1000, 1000, 1000, 1000};
	const gint64 negative = -1;
	g_autoptr(PipesimSetup) setup = ask();
	g_autoptr(PipesimCosts) costs = pipesim_costs_new(1000, 1000, 1000, -1, 100, NULL);
	g_autoptr(PipesimRun) run = NULL;
	PipesimRunOp op;

	pipesim_setup_set_costs(setup, costs);
	if (pipesim_setup_set_stages(setup, 1, &negative, backward, backward, NULL) ||
		!pipesim_setup_set_stages(setup, 4, forward, backward, backward, NULL))
		return "stages were not taken, or nonsense was";
	run = pipesim_setup_run(setup, "gpipe", PIPESIM_WANT_OPS, NULL);
	if (run == NULL)
		return "gpipe does not run with stages of its own";
	pipesim_run_op(run, 0, 1, &op);
	if (op.kind != PIPESIM_F || op.microbatch != 1 || op.start != 2000 || op.end != 4000)
		return "stage 0 does not take twice as long";
	/* 8 forwards of stage 0, 3 hops and stages forward, 8 backwards, 3 back */
	if (pipesim_run_makespan(run) != 8 * 2000 + 3 * 1100 + 8 * 2000 + 3 * 2100)
		return "not the makespan of gpipe 4/8";
	set(setup, "stage-times", "x.csv");
	if (!is_refused(setup))
		return "stages from two sides were not refused";
	set(setup, "stage-times", NULL);
	set(setup, "costs", "x.ini");
	return is_refused(setup) ? NULL : "costs from two sides were not refused";
}

/* Pieces of output, and when to stop. */
typedef struct {
	GString *rows;
	guint pieces, most;
} Told;

static gboolean tell(PipesimTold what, const char *text, gpointer data)
{
	Told *told = data;

	if (what == PIPESIM_TOLD_OUTPUT) {
		g_string_append(told->rows, text);
		told->pieces++;
	}
	return told->pieces < told->most;
}

/* A command as the program runs it: its answer, a no, an error, rows one by one. */
static const char *check_call(void)
{
	static const char *const explain[] = {"compare", "--pp", "4", "--microbatches", "8",
		"--schedule", "gpipe", "--format", "json", NULL};
	static const char *const full[] = {"--pp", "4", "-m8", "-s", "gpipe",
		"--activation-bytes", "1GB", "--memory-limit", "1GB", NULL};
	static const char *const nothing[] = {"comprae", NULL};
	static const char *const sweep[] = {"sweep", "--pp", "2:64:*2", "-m", "64:640:1", "-s",
		"1f1b", "--threads", "1", "-f", "jsonl", NULL};
	g_autoptr(GError) error = NULL;
	g_autoptr(PipesimAnswer) json = pipesim_call(explain, NULL, NULL, NULL);
	g_autoptr(PipesimAnswer) no = pipesim_call(full, NULL, NULL, NULL);
	g_autoptr(PipesimAnswer) none = pipesim_call(nothing, NULL, NULL, &error);
	g_autoptr(PipesimAnswer) stopped = NULL;
	g_autoptr(GString) rows = g_string_new(NULL);
	Told told = {rows, 0, 2};
	gsize length;

	if (json == NULL || pipesim_answer_status(json) != 0 ||
		strstr(pipesim_answer_output(json, &length), "\"name\": \"gpipe\"") == NULL ||
		length != strlen(pipesim_answer_output(json, NULL)))
		return "compare --format json says something else";
	if (no == NULL || pipesim_answer_status(no) != 1)
		return "what does not fit is no no";
	if (none != NULL || pipesim_error_status(error) != 2 ||
		strcmp(error->message, "unknown command 'comprae'; did you mean 'compare'?") !=
			0)
		return "a command that is none was taken";
	stopped = pipesim_call(sweep, tell, &told, NULL);
	if (stopped == NULL || pipesim_answer_status(stopped) != 130 ||
		*pipesim_answer_output(stopped, NULL) != '\0' ||
		strstr(rows->str, "\"pp\": 2") == NULL ||
		strstr(pipesim_answer_said(stopped), "stopped after") == NULL)
		return "a sweep was not stopped, or its rows were not told";
	return NULL;
}

int main(void)
{
	g_autoptr(GError) error = NULL;
	g_autoptr(PipesimCosts) costs = pipesim_costs_new(1000, 1000, 1000, -1, 0, &error);
	const PipesimSchedule *dualpipe = pipesim_schedule_find("dualpipe", &error);
	const PipesimCosts *const many[] = {costs, costs};
	g_autoptr(PipesimRun) run = NULL;
	g_autoptr(PipesimWhatif) whatif = NULL;
	PipesimOutcome outcomes[2];
	const char *wrong;

	if (costs == NULL || dualpipe == NULL)
		return fail("nothing to simulate", error);
	run = pipesim_simulate(dualpipe, 8, 20, costs, &error);
	if (run == NULL)
		return fail("no run", error);
	if (pipesim_run_makespan(run) != 66000 || pipesim_run_bubble(run, 0) != 6000 ||
		pipesim_run_peak_activations(run, 0) != 9)
		return fail("dualpipe 8/20 is not 66, 6, 9", NULL);
	if (pipesim_simulate(dualpipe, 7, 20, costs, &error) != NULL ||
		!g_error_matches(error, PIPESIM_ERROR, PIPESIM_ERROR_CONSTRAINT))
		return fail("7 ranks were not refused", error);
	whatif = pipesim_whatif_new(dualpipe, 8, 20, costs, &error);
	if (whatif == NULL || !pipesim_whatif_run(whatif, many, 2, 1, outcomes, &error))
		return fail("nothing at many costs", error);
	if (outcomes[1].makespan != 66000 || outcomes[1].max_idle != 6000 ||
		outcomes[1].idle != 8 * 6000)
		return fail("dualpipe 8/20 is not 66, 6, 48 at many costs", NULL);
	if (pipesim_schedule_list()[0] == NULL)
		return fail("no schedules", NULL);
	wrong = check_flags();
	if (wrong == NULL)
		wrong = check_options();
	if (wrong == NULL)
		wrong = check_kinds();
	if (wrong == NULL)
		wrong = check_stages();
	if (wrong == NULL)
		wrong = check_call();
	if (wrong != NULL)
		return fail(wrong, NULL);
	puts("100%: Checks: 11, Failures: 0, Errors: 0");
	return 0;
}
