/* Logs of Megatron-LM, for its timers (megatron/core/timers.py): what forward-compute and backward-compute take of a
 * step, by rank (--timing-log-option all), or the least and most of all ranks (minmax; max). They wait for the GPU where they begin
 * and end, at --timing-log-level 2. The arguments that the log begins with tell how many micro-batches and stages that is. */
#include "measure/reader.h"

/* Before timers: the least and most of all ranks, or those of each. */
#define EXTREMES "time across ranks (ms):"
#define EACH     "times across ranks (ms):"

/* Arguments, as they are printed: "  micro_batch_size ................. 4". */
enum {
	WORLD,
	PIPELINE,
	VIRTUAL,
	DATA,
	MICRO,
	GLOBAL,
	N_ARGUMENTS
};
static const char *const arguments[N_ARGUMENTS] = {"world_size", "pipeline_model_parallel_size",
	"virtual_pipeline_model_parallel_size", "data_parallel_size", "micro_batch_size",
	"global_batch_size"};

static gboolean is_log(const char *head)
{
	return strstr(head, EXTREMES) != NULL || strstr(head, EACH) != NULL ||
	       strstr(head, "--- arguments ---") != NULL ||
	       strstr(head, " pipeline_model_parallel_size ...") != NULL;
}

typedef struct {
	PipesimTrace *trace;
	PipesimFaults *faults;
	gint64 argument[N_ARGUMENTS]; /* 0: not told; of VIRTUAL: none */
	gboolean each;                /* the timers that are read are by rank */
	gboolean timers;              /* in a block of them */
	gboolean unknown;             /* a fault has said what of the arguments is */
	gint phase; /* of the timer whose ranks follow; -1: of another timer */
	guint line, blocks;
	gint64 least, most; /* ns that the forwards of a step took on any rank */
} Log;

/* The kind of op that the timer at @text is of; -1: none. */
static gint phase_of(const char *text)
{
	return g_str_has_prefix(text, "forward-compute")    ? PIPESIM_F
	       : g_str_has_prefix(text, "backward-compute") ? PIPESIM_B
							    : -1;
}

static gint64 read_ms(const char *text)
{
	gint64 ns = -1;
	gsize used;

	text += strspn(text, " ");
	return pipesim_decimal_scan(text, strlen(text), 6, &ns, &used) == NULL ? ns : -1;
}

static void add_row(Log *log, gint64 stage, gint64 replica, guint phase, gint64 duration)
{
	PipesimTraceRow row;

	pipesim_trace_row_op(&row, phase, stage, log->trace->strings);
	row.run_id = "timers";
	row.rep = log->blocks;
	row.rank = stage % log->argument[PIPELINE];
	row.replica = replica;
	row.microbatch = 0; /* one for all, which are not told apart */
	row.duration = row.busy = duration;
	row.line = log->line;
	g_array_append_val(log->trace->rows, row);
}

/* What @ns is of: that of a step, of @rank, or where that is -1 the most that a rank took. */
static void add_time(Log *log, gint phase, gint64 rank, gint64 ns)
{
	const gint64 *argument = log->argument;
	const gint64 ranks = argument[PIPELINE], chunks = MAX(argument[VIRTUAL], 1);
	const gint64 samples = argument[MICRO] * MAX(argument[DATA], 1);
	const gint64 microbatches = samples > 0 ? argument[GLOBAL] / samples : 0;
	const gint64 group = ranks > 0 ? MAX(argument[WORLD] / ranks, 1) : 0;

	if (ns < 0) {
		pipesim_faults_add(log->faults, log->trace->path, log->line, 1,
			"a timer without a time in ms");
		return;
	}
	if (microbatches < 1 || ranks < 1 || ranks * chunks > 4096 || rank >= ranks * group) {
		if (!log->unknown)
			pipesim_faults_add(log->faults, log->trace->path, log->line, 1,
				"a timer of a rank or a number of micro-batches that is not "
				"known: the log has to begin with Megatron-LM's arguments "
				"(world_size, pipeline_model_parallel_size, micro_batch_size, "
				"global_batch_size, data_parallel_size)");
		log->unknown = TRUE;
		return;
	}
	for (gint64 stage = 0; stage < ranks * chunks; stage++)
		if (rank < 0 || rank / group == stage % ranks)
			add_row(log, stage, rank < 0 ? 0 : rank % group, (guint)phase,
				ns / (microbatches * chunks));
}

/* A line of a block of timers, from its first letter on; FALSE: it is behind it. */
static gboolean read_timer(Log *log, const char *text)
{
	const gint phase = phase_of(text);
	const char *colon = strchr(text, ':'), *comma = strchr(text, ',');

	if (colon == NULL)
		return FALSE;
	if (log->each && g_str_has_prefix(text, "rank ")) {
		if (log->phase >= 0)
			add_time(log, log->phase, g_ascii_strtoll(text + 4, NULL, 10),
				read_ms(colon + 1));
		return TRUE;
	}
	if (log->each) {
		log->phase = phase;
		return colon[1] == '\0';
	}
	if (strstr(text, " ..") == NULL)
		return FALSE;
	if (phase >= 0)
		add_time(log, phase, -1, read_ms(comma != NULL ? comma + 1 : colon + 1));
	if (phase == PIPESIM_F && comma != NULL) {
		log->least = MIN(log->least, read_ms(colon + 3));
		log->most = MAX(log->most, read_ms(comma + 1));
	}
	return TRUE;
}

static void read_line(Log *log, const char *text)
{
	const char *block = strstr(text, EXTREMES), *batch = strstr(text, "global batch size:");

	log->line++;
	if (block == NULL)
		block = strstr(text, EACH);
	if (block != NULL) {
		log->timers = TRUE;
		log->each = g_str_has_prefix(block, EACH);
		log->phase = -1;
		log->blocks++;
		return;
	}
	/* What launchers put before a line, "[default0]:" or "0: ", has no letter behind it. */
	if (log->timers) {
		const char *timer = text;

		while (*timer == '[' || g_ascii_isdigit(*timer))
			timer += strcspn(timer, ":") + (strchr(timer, ':') != NULL);
		log->timers = read_timer(log, timer + strspn(timer, " "));
	}
	if (batch != NULL)
		log->argument[GLOBAL] = g_ascii_strtoll(batch + 18, NULL, 10);
	for (guint i = 0; i < N_ARGUMENTS; i++) {
		g_autofree char *key = g_strdup_printf(" %s ..", arguments[i]);
		const char *found = strstr(text, key);

		if (found != NULL)
			log->argument[i] =
				CLAMP(g_ascii_strtoll(found + strlen(key) +
							      strspn(found + strlen(key), ". "),
					      NULL, 10),
					0, G_MAXINT32);
	}
}

static gboolean read_lines(Log *log, PipesimInput *input, GError **error)
{
	gsize want = 1;
	const char *data, *end;
	gsize length;

	while (pipesim_input_peek(input, want, &data, &length, error)) {
		end = memchr(data, '\n', length);
		/* More, or the last line; one without its end may lack digits. */
		if (end == NULL && length >= want) {
			want = length + 1;
			continue;
		}
		if (end == NULL)
			return TRUE;
		g_autofree char *line = g_strndup(data, (gsize)(end - data));

		read_line(log, g_strchomp(line));
		pipesim_input_consume(input, (gsize)(end - data) + 1);
		want = 1;
	}
	return FALSE;
}

static PipesimTrace *read_trace(
	PipesimInput *input, const PipesimRangeRules *rules G_GNUC_UNUSED, GError **error)
{
	g_autoptr(PipesimInput) owned = input;
	g_autoptr(PipesimTrace) trace = pipesim_trace_new(pipesim_input_name(owned));
	g_autoptr(PipesimFaults) faults = pipesim_faults_new();
	Log log = {.trace = trace, .faults = faults, .least = G_MAXINT64, .most = -1};

	if (!read_lines(&log, owned, error) || !pipesim_faults_done(faults, error))
		return NULL;
	if (trace->rows->len == 0)
		return pipesim_fail_null_at(error, trace->path, 1, 1,
			"no timers of ops in this log of Megatron-LM; --timing-log-level 2 "
			"--timing-log-option all prints them");
	if (log.most >= 0)
		pipesim_notice(trace->notices,
			"%s: forwards of a step take %.6g to %.6g ms, but not which rank's is "
			"not told: every stage is taken for the longest; --timing-log-option "
			"all tells",
			trace->path, (double)log.least / 1e6, (double)log.most / 1e6);
	return g_steal_pointer(&trace);
}

const PipesimReader pipesim_reader_megatron = {
	.name = "log of Megatron-LM",
	.is = is_log,
	.read = read_trace,
};
