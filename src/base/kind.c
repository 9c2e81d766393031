#include "config.h"

#include "base/kind.h"

#include <string.h>

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

static gboolean is_trace(const char *head)
{
	return g_str_has_prefix(head, "#format,pipesim-trace") ||
	       g_str_has_prefix(head, "#version,");
}

static gboolean is_profile(const char *head)
{
	return strstr(head, "\"traceEvents\"") != NULL || strstr(head, "# nThread ") != NULL ||
	       strstr(head, "Projected Duration (") != NULL;
}

static gboolean is_costs(const char *head)
{
	return begins_group(head, "[pipesim-costs]");
}

static gboolean is_topology(const char *head)
{
	return begins_group(head, "[pipesim-topology]");
}

static gboolean is_stages(const char *head)
{
	return g_str_has_prefix(head, "stage,F,I,W");
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
	for (guint i = 0; i < G_N_ELEMENTS(others); i++)
		if (g_str_has_prefix(head, others[i]))
			return TRUE;
	return FALSE;
}

static gboolean is_rules(const char *head)
{
	head += strspn(head, "\r\n ");
	return (g_str_has_prefix(head, "range") || g_str_has_prefix(head, "kernel")) &&
	       g_ascii_isspace(head[strcspn(head, " \t\r\n,(")]);
}

/* Ours, or Hugging Face's config.json. */
static gboolean is_model(const char *head)
{
	return begins_group(head, "[pipesim-model]") ||
	       strstr(head, "\"num_hidden_layers\"") != NULL ||
	       strstr(head, "\"hidden_size\"") != NULL;
}

static gboolean is_rows(const char *head)
{
	g_autofree char *line = g_strndup(head, strcspn(head, "\n"));

	return strstr(line, "schedule,ranks,stages,makespan_ms,") != NULL;
}

static gboolean is_table(const char *head)
{
	return g_str_has_prefix(head, "schedule,pp,microbatches,");
}

static gboolean is_json(const char *head)
{
	return g_str_has_prefix(head, "{\n  \"pipesim\": {");
}

/* Written as a profiler writes its traces. */
static gboolean is_timeline(const char *head)
{
	return g_str_has_prefix(
		head, "{\n  \"displayTimeUnit\": \"ns\",\n  \"otherData\": {\"version\": ");
}

static gboolean is_picture(const char *head)
{
	static const char *const begins[] = {"\x89PNG", "%PDF", "<svg", "<?xml"};

	for (guint i = 0; i < G_N_ELEMENTS(begins); i++)
		if (g_str_has_prefix(head, begins[i]))
			return TRUE;
	return FALSE;
}

static const struct {
	gboolean (*is)(const char *head);
	const char *name;
	const char *remedy;
} kinds[PIPESIM_N_FILES] = {
	[PIPESIM_FILE_TRACE] = {is_trace, "a pipesim trace", "give it to --trace"},
	[PIPESIM_FILE_COSTS] = {is_costs, "a costs file", "give it to --costs"},
	[PIPESIM_FILE_TOPOLOGY] = {is_topology, "a topology file", "give it to --topology"},
	[PIPESIM_FILE_STAGES] = {is_stages, "a file of stage times",
		"give it to --stage-times"},
	[PIPESIM_FILE_SCHEDULE] = {is_schedule, "a schedule file", "give it to --schedule"},
	[PIPESIM_FILE_RULES] = {is_rules, "a file of rules for names", "give it to --map"},
	[PIPESIM_FILE_MODEL] = {is_model, "a model's description", "give it to --model"},
	[PIPESIM_FILE_ROWS] = {is_rows, "the rows of a sweep", "no command reads them"},
	[PIPESIM_FILE_TABLE] = {is_table, "a table of results", "no command reads it"},
	[PIPESIM_FILE_JSON] = {is_json, "a result in JSON", "no command reads it"},
	[PIPESIM_FILE_TIMELINE] = {is_timeline, "a simulated timeline of --chrome-trace",
		"Perfetto shows it"},
	[PIPESIM_FILE_PICTURE] = {is_picture, "a picture", "no command reads it"},
	[PIPESIM_FILE_PROFILE] = {is_profile, "a profiler's trace", "give it to --trace"},
};

/* What the file is that begins with @head, text; PIPESIM_FILE_UNKNOWN where nothing tells, though
 * its reader may take it. */
static PipesimFileKind kind_of(const char *head)
{
	PipesimFileKind kind = PIPESIM_FILE_UNKNOWN + 1;

	if (g_str_has_prefix(head, "\xef\xbb\xbf"))
		head += 3;
	while (kind < PIPESIM_N_FILES && !kinds[kind].is(head))
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
	PipesimFileKind kind;
	const char *data;
	gsize length;

	if (input == NULL || !pipesim_input_peek(input, HEAD, &data, &length, error))
		return NULL;
	g_autofree char *head = g_strndup(data, MIN(length, HEAD));
	kind = kind_of(head);
	if (kind == PIPESIM_FILE_UNKNOWN || kind == wanted ||
		(wanted == PIPESIM_FILE_TRACE && kind == PIPESIM_FILE_PROFILE))
		return g_steal_pointer(&input);
	pipesim_fail_at(error, pipesim_input_name(input), 1, 1, "this is %s, not %s; %s",
		kinds[kind].name, kinds[wanted].name, kinds[kind].remedy);
	return NULL;
}
