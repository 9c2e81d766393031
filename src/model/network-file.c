#include "config.h"

#include "base/input.h"
#include "model/network-file.h"

#include <string.h>

#define MAX_FILE ((gsize)1 << 20)

/* One key of the file. */
typedef struct {
	const char *name, *value; /* owned by the line */
	guint column;             /* of the value, from 1 */
} Setting;

typedef struct {
	const char *path;
	guint line;
	PipesimFaults *faults;
	PipesimNetwork *network;
	const struct _Group *group; /* NULL before the first and in an unknown one */
	guint group_line[3];        /* where each group began; 0 = not there */
	guint32 seen[3];            /* keys of each group, by bit */
	guint n_nic_of;
	guint nic_of_line, nic_of_column;
} Reader;

typedef struct {
	const char *name;
	gboolean (*read)(Reader *reader, const char *value, GError **error);
} Key;

typedef struct _Group {
	const char *name;
	Key keys[6];
} Group;

enum {
	TOPOLOGY,
	INTRA,
	INTER,
	N_GROUPS
};

static void fault_at(Reader *reader, guint line, guint column, const char *format, ...)
	G_GNUC_PRINTF(4, 5);
static void fault_at(Reader *reader, guint line, guint column, const char *format, ...)
{
	g_autofree char *message = NULL;
	GError *error = NULL;
	va_list args;

	va_start(args, format);
	message = g_strdup_vprintf(format, args);
	va_end(args);
	pipesim_fail_at(&error, reader->path, line, column, "%s", message);
	pipesim_faults_take(reader->faults, error);
}

/* Values -------------------------------------------------------------------------------- */

static gboolean fail_choice(
	const char *value, const char *what, const char *choices, GError **error)
{
	return pipesim_fail(
		error, PIPESIM_ERROR_USAGE, "%s: '%s' is none of %s", what, value, choices);
}

static PipesimLinkSpeed *speed_of(Reader *reader);

static gboolean read_version(Reader *reader, const char *value, GError **error)
{
	(void)reader;
	return strcmp(value, "1") == 0 ||
	       pipesim_fail(error, PIPESIM_ERROR_USAGE,
		       "version: '%s', but only version 1 is read", value);
}

static gboolean read_ranks_per_node(Reader *reader, const char *value, GError **error)
{
	guint64 ranks;

	if (!pipesim_parse_count(value, "ranks_per_node", 1, PIPESIM_MAX_RANKS, &ranks, error))
		return FALSE;
	reader->network->ranks_per_node = (guint)ranks;
	return TRUE;
}

static gboolean read_latency(Reader *reader, const char *value, GError **error)
{
	return pipesim_parse_time(value, "latency", &speed_of(reader)->latency, error);
}

static gboolean read_bandwidth(Reader *reader, const char *value, GError **error)
{
	return pipesim_parse_bandwidth(value, "bandwidth", &speed_of(reader)->bandwidth, error);
}

static gboolean read_duplex(Reader *reader, const char *value, GError **error)
{
	speed_of(reader)->half = strcmp(value, "half") == 0;
	return speed_of(reader)->half || strcmp(value, "full") == 0 ||
	       fail_choice(value, "duplex", "full, half", error);
}

static gboolean read_share(Reader *reader, const char *value, GError **error)
{
	static const char *const names[] = {"pair", "rank", "node"};

	for (guint i = 0; i < G_N_ELEMENTS(names); i++)
		if (strcmp(value, names[i]) == 0) {
			reader->network->share = (PipesimLinkShare)i;
			return TRUE;
		}
	return fail_choice(value, "share", "pair, rank, node", error);
}

static gboolean read_nics(Reader *reader, const char *value, GError **error)
{
	guint64 nics;

	if (!pipesim_parse_count(value, "nics", 1, PIPESIM_MAX_NICS, &nics, error))
		return FALSE;
	reader->network->nics = (guint)nics;
	return TRUE;
}

static gboolean read_nic_of(Reader *reader, const char *value, GError **error)
{
	g_auto(GStrv) parts = g_strsplit(value, ",", -1);
	const guint n = g_strv_length(parts);

	g_clear_pointer(&reader->network->nic_of, g_free);
	reader->network->nic_of = g_new0(guint, n + 1);
	reader->n_nic_of = n;
	for (guint i = 0; i < n; i++) {
		guint64 nic;

		if (!pipesim_parse_count(g_strstrip(parts[i]), "nic_of", 0,
			    PIPESIM_MAX_NICS - 1, &nic, error))
			return FALSE;
		reader->network->nic_of[i] = (guint)nic;
	}
	return TRUE;
}

static const Group groups[N_GROUPS] = {
	[TOPOLOGY] = {"pipesim-topology",
		{{"version", read_version}, {"ranks_per_node", read_ranks_per_node}}},
	[INTRA] = {"intra", {{"latency", read_latency}, {"bandwidth", read_bandwidth},
				    {"duplex", read_duplex}, {"share", read_share}}},
	[INTER] = {"inter",
		{{"latency", read_latency}, {"bandwidth", read_bandwidth},
			{"duplex", read_duplex}, {"nics", read_nics}, {"nic_of", read_nic_of}}},
};

static PipesimLinkSpeed *speed_of(Reader *reader)
{
	return reader->group == &groups[INTRA] ? &reader->network->intra
					       : &reader->network->inter;
}

/* Lines --------------------------------------------------------------------------------- */

static void read_header(Reader *reader, const char *text, guint column)
{
	const gsize length = strlen(text);
	g_autofree char *name =
		text[length - 1] == ']' ? g_strndup(text + 1, length - 2) : NULL;

	reader->group = NULL;
	for (guint i = 0; name != NULL && i < N_GROUPS; i++)
		if (strcmp(name, groups[i].name) == 0)
			reader->group = &groups[i];
	if (reader->group == NULL) {
		fault_at(reader, reader->line, column,
			"no such group as %s; [pipesim-topology], [intra] or [inter]", text);
		return;
	}
	if (reader->group_line[reader->group - groups] > 0)
		fault_at(reader, reader->line, column, "%s stands twice; first in line %u",
			text, reader->group_line[reader->group - groups]);
	else
		reader->group_line[reader->group - groups] = reader->line;
}

static const Key *find_key(const Group *group, const char *name)
{
	for (const Key *key = group->keys; key->name != NULL; key++)
		if (strcmp(key->name, name) == 0)
			return key;
	return NULL;
}

static void read_setting(Reader *reader, const Setting *setting, guint column)
{
	const Key *key = find_key(reader->group, setting->name);
	g_autoptr(GError) error = NULL;
	guint32 *seen = &reader->seen[reader->group - groups];

	if (key == NULL) {
		fault_at(reader, reader->line, column,
			"[%s] has no key '%s'; remove or correct it", reader->group->name,
			setting->name);
		return;
	}
	if (*seen & 1u << (key - reader->group->keys))
		fault_at(reader, reader->line, column, "'%s' is given twice", setting->name);
	*seen |= 1u << (key - reader->group->keys);
	if (key->read == read_nic_of) {
		reader->nic_of_line = reader->line;
		reader->nic_of_column = setting->column;
	}
	if (!key->read(reader, setting->value, &error))
		fault_at(reader, reader->line, setting->column, "%s", error->message);
}

static void read_line(Reader *reader, char *line)
{
	const guint indent = (guint)strspn(line, " \t");
	char *text = g_strstrip(line + indent), *equals = strchr(text, '=');
	Setting setting;

	if (*text == '\0' || *text == '#' || *text == ';')
		return;
	if (*text == '[') {
		read_header(reader, text, indent + 1);
		return;
	}
	if (equals == NULL) {
		fault_at(reader, reader->line, indent + 1,
			"'%s' is neither [group] nor key = value", text);
		return;
	}
	setting.value = equals + 1 + strspn(equals + 1, " \t");
	setting.column = indent + 1 + (guint)(setting.value - text);
	*equals = '\0';
	setting.name = g_strchomp(text);
	if (reader->group != NULL)
		read_setting(reader, &setting, indent + 1);
	else if (reader->group_line[TOPOLOGY] == 0)
		fault_at(reader, reader->line, indent + 1,
			"'%s' stands before [pipesim-topology]; is this a topology file?",
			setting.name);
}

/* The whole ----------------------------------------------------------------------------- */

static void check_nics(Reader *reader)
{
	const PipesimNetwork *network = reader->network;

	if (network->nic_of == NULL)
		return;
	if (network->nics == 0) {
		fault_at(reader, reader->nic_of_line, reader->nic_of_column,
			"nic_of needs nics, their number");
		return;
	}
	if (reader->n_nic_of != network->ranks_per_node)
		fault_at(reader, reader->nic_of_line, reader->nic_of_column,
			"nic_of has %u numbers, but %u ranks are on a node; give one for each",
			reader->n_nic_of, network->ranks_per_node);
	for (guint i = 0; i < reader->n_nic_of; i++)
		if (network->nic_of[i] >= network->nics)
			fault_at(reader, reader->nic_of_line, reader->nic_of_column,
				"no NIC %u: they are 0 to %u", network->nic_of[i],
				network->nics - 1);
}

static void check_whole(Reader *reader)
{
	PipesimNetwork *network = reader->network;
	const guint32 duplex = 1u << 2; /* third of both groups */

	if (reader->group_line[TOPOLOGY] == 0 || !(reader->seen[TOPOLOGY] & 1))
		fault_at(reader, MAX(reader->group_line[TOPOLOGY], 1), 1,
			"'version = 1' in [pipesim-topology] is missing; is this a topology "
			"file?");
	if (network->ranks_per_node > 0 && reader->group_line[INTER] == 0)
		fault_at(reader, reader->group_line[TOPOLOGY], 1,
			"[inter] is missing: the links between nodes");
	if (network->ranks_per_node == 0 && reader->group_line[INTER] > 0 &&
		!(reader->seen[TOPOLOGY] & 2))
		fault_at(reader, reader->group_line[INTER], 1,
			"[inter] needs ranks_per_node in [pipesim-topology]: without it all "
			"ranks are on one node");
	if (network->share == PIPESIM_LINK_NODE && (reader->seen[INTRA] & duplex))
		fault_at(reader, reader->group_line[INTRA], 1,
			"share = node is one link both ways; leave out duplex");
	check_nics(reader);
}

PipesimNetwork *pipesim_network_parse(
	const char *text, gsize length, const char *path, GError **error)
{
	g_autofree char *copy = g_strndup(text, length);
	g_auto(GStrv) lines = g_strsplit(copy, "\n", -1);
	g_autoptr(PipesimFaults) faults = pipesim_faults_new();
	g_autoptr(PipesimNetwork) network = pipesim_network_new();
	Reader reader = {.path = path, .faults = faults, .network = network};

	if (strlen(copy) != length || !g_utf8_validate(copy, -1, NULL)) {
		pipesim_fail_at(error, path, 1, 1, "not text in UTF-8");
		return NULL;
	}
	for (; lines[reader.line] != NULL;) {
		char *line = lines[reader.line++];

		read_line(&reader, line);
	}
	check_whole(&reader);
	return pipesim_faults_done(faults, error) ? g_steal_pointer(&network) : NULL;
}

PipesimNetwork *pipesim_network_read(const char *path, GError **error)
{
	g_autoptr(PipesimInput) input = pipesim_input_open(path, error);
	const char *text;
	gsize length;

	if (input == NULL || !pipesim_input_peek(input, MAX_FILE + 1, &text, &length, error))
		return NULL;
	if (length > MAX_FILE) {
		pipesim_fail_limit(error, pipesim_input_name(input),
			"larger than %" G_GSIZE_FORMAT " bytes: not a topology file", MAX_FILE);
		return NULL;
	}
	return pipesim_network_parse(text, length, pipesim_input_name(input), error);
}
