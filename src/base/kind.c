#include "base/kind.h"

/* Enough for the first lines of any of them, and for what profilers print above their
 * tables. */
#define HEAD ((gsize)4096)

/* Comments of INI files may stand before their first group. */
static gboolean begins_group(const char *head, const char *group)
{
	while (g_ascii_isspace(*head) || *head == '#' || *head == ';')
		head += g_ascii_isspace(*head) ? 1 : strcspn(head, "\n");
	return g_str_has_prefix(head, group);
}

/* "0F0", "(0F0;7B3)OVERLAP_F_B", "1RECV_F0", "0UNSHARD": ranks that begin idle have nothing but
 * commas before it. */
static gboolean is_schedule(const char *head)
{
	static const char *const others[] = {
		"SEND_", "RECV_", "UNSHARD", "RESHARD", "REDUCE_GRAD"};

	head += strspn(head, ",\r\n ");
	head += *head == '(';
	if (!g_ascii_isdigit(*head))
		return FALSE;
	head += strspn(head, "0123456789");
	if (*head != '\0' && strchr("FIWB", *head) != NULL && g_ascii_isdigit(head[1]))
		return TRUE;
	return pipesim_any(i, G_N_ELEMENTS(others), g_str_has_prefix(head, others[i]));
}

static gboolean is_rules(const char *head)
{
	head += strspn(head, "\r\n ");
	return (g_str_has_prefix(head, "range") || g_str_has_prefix(head, "kernel")) &&
	       g_ascii_isspace(head[strcspn(head, " \t\r\n,(")]);
}

static gboolean is_rows(const char *head)
{
	g_autofree char *line = g_strndup(head, strcspn(head, "\n"));

	return strstr(line, "schedule,ranks,stages,makespan_ms,") != NULL;
}

/* How a kind is told: by a group that an INI file begins with, by one of what it may begin with, by
 * what stands anywhere at its head, or by a function. */
static const struct {
	const char *name, *remedy;
	const char *group, *begins[4], *holds[3];
	gboolean (*is)(const char *head);
} kinds[PIPESIM_N_FILES] = {
	[PIPESIM_FILE_TRACE] = {"a pipesim trace", "give it to --trace",
		.begins = {"#format,pipesim-trace", "#version,"}},
	[PIPESIM_FILE_COSTS] = {"a costs file", "give it to --costs",
		.group = "[pipesim-costs]"},
	[PIPESIM_FILE_TOPOLOGY] = {"a topology file", "give it to --topology",
		.group = "[pipesim-topology]"},
	[PIPESIM_FILE_STAGES] = {"a file of stage times", "give it to --stage-times",
		.begins = {"stage,F,I,W"}},
	[PIPESIM_FILE_SCHEDULE] = {"a schedule file", "give it to --schedule",
		.is = is_schedule},
	[PIPESIM_FILE_RULES] = {"a file of rules for names", "give it to --map",
		.is = is_rules},
	/* Ours, or Hugging Face's config.json. */
	[PIPESIM_FILE_MODEL] = {"a model's description", "give it to --model",
		"[pipesim-model]", .holds = {"\"num_hidden_layers\"", "\"hidden_size\""}},
	[PIPESIM_FILE_DEVICE] = {"a device's description", "give it to --device",
		.group = "[pipesim-device]"},
	[PIPESIM_FILE_JOB] = {"a job file", "run it: pipesim FILE", .group = "[job]"},
	[PIPESIM_FILE_ROWS] = {"the rows of a sweep", "no command reads them", .is = is_rows},
	[PIPESIM_FILE_TABLE] = {"a table of results", "no command reads it",
		.begins = {"schedule,pp,microbatches,"}},
	[PIPESIM_FILE_JSON] = {"a result in JSON", "no command reads it",
		.begins = {"{\n  \"pipesim\": {"}},
	/* Written as a profiler writes its traces. */
	[PIPESIM_FILE_TIMELINE] = {"a simulated timeline of --chrome-trace",
		"Perfetto shows it",
		.begins =
			{"{\n  \"displayTimeUnit\": \"ns\",\n  \"otherData\": {\"version\": "}},
	[PIPESIM_FILE_PICTURE] = {"a picture", "no command reads it",
		.begins = {"\x89PNG", "%PDF", "<svg", "<?xml"}},
	[PIPESIM_FILE_PROFILE] = {"a profiler's trace", "give it to --trace",
		.begins = {"SQLite format 3"},
		.holds = {"\"traceEvents\"", "# nThread ", "Projected Duration ("}},
};

static gboolean is_of(const char *head, PipesimFileKind kind)
{
	return (kinds[kind].is != NULL && kinds[kind].is(head)) ||
	       (kinds[kind].group != NULL && begins_group(head, kinds[kind].group)) ||
	       pipesim_any(i, G_N_ELEMENTS(kinds->begins),
		       kinds[kind].begins[i] != NULL &&
			       g_str_has_prefix(head, kinds[kind].begins[i])) ||
	       pipesim_any(i, G_N_ELEMENTS(kinds->holds),
		       kinds[kind].holds[i] != NULL &&
			       strstr(head, kinds[kind].holds[i]) != NULL);
}

/* What the file is that begins with @head, text; PIPESIM_FILE_UNKNOWN where nothing tells, though
 * its reader may take it. */
static PipesimFileKind kind_of(const char *head)
{
	PipesimFileKind kind = PIPESIM_FILE_UNKNOWN + 1;

	if (g_str_has_prefix(head, "\xef\xbb\xbf"))
		head += 3;
	while (kind < PIPESIM_N_FILES && !is_of(head, kind))
		kind++;
	return kind < PIPESIM_N_FILES ? kind : PIPESIM_FILE_UNKNOWN;
}

const char *pipesim_file_kind_name(PipesimFileKind kind)
{
	return kinds[kind].name;
}

PipesimInput *pipesim_input_open_as(const char *path, PipesimFileKind wanted, GError **error)
{
	g_autoptr(PipesimInput) input = pipesim_input_open(path, error);
	const char *data;
	gsize length;

	if (input == NULL || !pipesim_input_peek(input, HEAD, &data, &length, error))
		return NULL;
	g_autofree char *head = g_strndup(data, MIN(length, HEAD));
	PipesimFileKind kind = kind_of(head);
	if (kind == PIPESIM_FILE_UNKNOWN || kind == wanted ||
		(wanted == PIPESIM_FILE_TRACE && kind == PIPESIM_FILE_PROFILE))
		return g_steal_pointer(&input);
	return pipesim_fail_null_at(error, pipesim_input_name(input), 1, 1,
		"this is %s, not %s; %s", kinds[kind].name, kinds[wanted].name,
		kinds[kind].remedy);
}
