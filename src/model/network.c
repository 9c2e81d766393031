#include "model/network.h"

#define NS_PER_SECOND G_GINT64_CONSTANT(1000000000)

/* From the top of a PipesimLinkId: sort, first number, direction, second number. */
enum {
	BETWEEN, /* ranks a and b */
	AT_RANK, /* a */
	AT_NODE, /* a */
	AT_NIC,  /* b of node a */
};
enum {
	BOTH_WAYS,
	OUTWARD,
	INWARD,
};
#define A_BITS 29
#define B_BITS 29

PipesimNetwork *pipesim_network_new(void)
{
	PipesimNetwork *network = g_new0(PipesimNetwork, 1);

	for (guint kind = 0; kind < PIPESIM_N_KINDS; kind++)
		network->slowdown[kind] = (PipesimFraction){1, 1};
	return network;
}

PipesimNetwork *pipesim_network_copy(const PipesimNetwork *network)
{
	if (network == NULL)
		return NULL;
	PipesimNetwork *copy = g_memdup2(network, sizeof *network);
	copy->nic_of =
		g_memdup2(network->nic_of, network->ranks_per_node * sizeof *network->nic_of);
	return copy;
}

void pipesim_network_free(PipesimNetwork *network)
{
	if (network != NULL)
		pipesim_free_all(network->nic_of, network);
}

static PipesimLinkId make_link(guint sort, guint a, guint way, guint b)
{
	return (PipesimLinkId)sort << (A_BITS + 2 + B_BITS) | (PipesimLinkId)a << (2 + B_BITS) |
	       (PipesimLinkId)way << B_BITS | b;
}

/* Of @bytes; G_MAXINT64 where it is longer than is simulated. */
static gint64 hold_of(gint64 bytes, const PipesimLinkSpeed *speed)
{
	gint64 work;

	if (speed->bandwidth == 0)
		return 0;
	/* One word is divided faster than two. */
	if (!__builtin_mul_overflow(bytes, NS_PER_SECOND, &work))
		return work / speed->bandwidth + (work % speed->bandwidth > 0);
	__extension__ __int128 ns = bytes;
	ns = (ns * NS_PER_SECOND + speed->bandwidth - 1) / speed->bandwidth;
	return ns > PIPESIM_MAX_TIME_NS ? G_MAXINT64 : (gint64)ns;
}

static void add_two_ways(
	PipesimRoute *route, guint sort, gboolean half, const guint a[2], const guint b[2])
{
	route->link[0] = make_link(sort, a[0], half ? BOTH_WAYS : OUTWARD, b[0]);
	route->link[1] = make_link(sort, a[1], half ? BOTH_WAYS : INWARD, b[1]);
	route->n_links = route->link[0] == route->link[1] ? 1 : 2;
}

static void add_pair(PipesimRoute *route, gboolean half, guint from, guint to)
{
	route->n_links = 1;
	route->link[0] = half ? make_link(BETWEEN, MIN(from, to), BOTH_WAYS, MAX(from, to))
			      : make_link(BETWEEN, from, OUTWARD, to);
}

static guint find_nic(const PipesimNetwork *network, guint local)
{
	return network->nic_of != NULL
		       ? network->nic_of[local]
		       : (guint)((guint64)local * network->nics / network->ranks_per_node);
}

PipesimRoute pipesim_network_route(const PipesimNetwork *network, guint from, guint to)
{
	const guint per_node = network->ranks_per_node;
	const guint node[2] = {
		per_node > 0 ? from / per_node : 0, per_node > 0 ? to / per_node : 0};
	const guint ranks[2] = {from, to}, none[2] = {0, 0};
	const PipesimLinkSpeed *speed = node[0] == node[1] ? &network->intra : &network->inter;
	PipesimRoute route = {
		.hold = hold_of(network->message_bytes, speed), .latency = speed->latency};

	if (node[0] == node[1] && network->share == PIPESIM_LINK_PAIR) {
		add_pair(&route, network->intra.half, from, to);
	} else if (node[0] == node[1] && network->share == PIPESIM_LINK_RANK) {
		add_two_ways(&route, AT_RANK, network->intra.half, ranks, none);
	} else if (node[0] == node[1]) {
		route.n_links = 1;
		route.link[0] = make_link(AT_NODE, node[0], BOTH_WAYS, 0);
	} else if (network->nics == 0) {
		add_pair(&route, network->inter.half, from, to);
	} else {
		const guint nic[2] = {
			find_nic(network, from % per_node), find_nic(network, to % per_node)};

		add_two_ways(&route, AT_NIC, network->inter.half, node, nic);
	}
	return route;
}

PipesimRoute pipesim_network_shard_route(
	const PipesimNetwork *network, guint rank, gint64 bytes)
{
	const gboolean within = network->shards == PIPESIM_SHARDS_INTRA;
	const PipesimLinkSpeed *speed = within ? &network->intra : &network->inter;
	const guint per_node = MAX(network->ranks_per_node, 1u);
	const guint node[2] = {rank / per_node, rank / per_node};
	const guint ranks[2] = {rank, rank}, none[2] = {0, 0};
	PipesimRoute route = {.hold = MIN(hold_of(bytes, speed), PIPESIM_MAX_TIME_NS),
		.latency = speed->latency};

	if (within && network->share == PIPESIM_LINK_NODE) {
		route.n_links = 1;
		route.link[0] = make_link(
			AT_NODE, network->ranks_per_node > 0 ? node[0] : 0, BOTH_WAYS, 0);
	} else if (within) {
		add_two_ways(&route, AT_RANK, network->intra.half, ranks, none);
	} else {
		const guint nic = find_nic(network, rank % per_node);

		add_two_ways(&route, AT_NIC, network->inter.half, node, (guint[]){nic, nic});
	}
	return route;
}

gint64 pipesim_network_shard_time(const PipesimNetwork *network, gint64 bytes)
{
	gint64 time = 0;

	for (guint unit = 0; unit < MAX(network->units, 1u); unit++) {
		const PipesimRoute route = pipesim_network_shard_route(
			network, 0, pipesim_network_shard_part(network, bytes, unit));

		time = pipesim_add_capped(time, route.hold + route.latency);
	}
	return MIN(time, PIPESIM_MAX_TIME_NS);
}

gint64 pipesim_network_hop(const PipesimNetwork *network, guint from, guint to)
{
	const PipesimRoute route = pipesim_network_route(network, from, to);

	return route.hold + route.latency;
}

gint64 pipesim_network_slowest_hop(const PipesimNetwork *network, guint ranks)
{
	gint64 slowest = 0;

	for (guint rank = 1; rank < ranks; rank++)
		slowest = MAX(slowest, pipesim_network_hop(network, rank - 1, rank));
	return slowest;
}

gboolean pipesim_network_slows(const PipesimNetwork *network)
{
	return pipesim_any(kind, PIPESIM_N_KINDS,
		network->slowdown[kind].num != network->slowdown[kind].den);
}

gboolean pipesim_network_check(const PipesimNetwork *network, GError **error)
{
	if (hold_of(network->message_bytes, &network->intra) != G_MAXINT64 &&
		hold_of(network->message_bytes, &network->inter) != G_MAXINT64)
		return TRUE;
	return pipesim_fail(error, PIPESIM_ERROR_LIMIT,
		"a message of %" G_GINT64_FORMAT
		" bytes would hold its link for more than 36 years; give smaller messages or "
		"more bandwidth",
		network->message_bytes);
}

void pipesim_link_print(PipesimLinkId link, GString *out)
{
	const guint sort = (guint)(link >> (A_BITS + 2 + B_BITS));
	const guint a = (guint)(link >> (2 + B_BITS)) & ((1u << A_BITS) - 1);
	const guint way = (guint)(link >> B_BITS) & 3;
	const guint b = (guint)link & ((1u << B_BITS) - 1);

	switch (sort) {
	case BETWEEN:
		g_string_append_printf(out, "%u %c %u", a, way == BOTH_WAYS ? '-' : '>', b);
		return;
	case AT_RANK:
		g_string_append_printf(out, "rank %u", a);
		break;
	case AT_NODE:
		g_string_append_printf(out, "node %u", a);
		break;
	default:
		g_string_append_printf(out, "node %u NIC %u", a, b);
		break;
	}
	if (way != BOTH_WAYS)
		g_string_append(out, way == OUTWARD ? " out" : " in");
}

/* The topology file --------------------------------------------------------------------- */

#define TOPOLOGY "pipesim-topology"
#define INTRA    "intra"
#define INTER    "inter"
#define SHARDS   "data-parallel"
#define GROUPS   "[" TOPOLOGY "], [" INTRA "], [" INTER "] or [" SHARDS "]"

/* One key and where its value lives in PipesimNetwork. */
typedef struct {
	const char *group, *name;
	enum {
		KEY_VERSION,
		KEY_COUNT, /* from 1 to most */
		KEY_TIME,
		KEY_BANDWIDTH,
		KEY_CHOICE, /* the number of one of choices */
		KEY_NIC_OF,
	} kind;
	gsize offset;
	guint64 most;
	const char *choices; /* separated by ", " */
} Key;

#define FIELD(f) G_STRUCT_OFFSET(PipesimNetwork, f)

static const Key keys[] = {
	{TOPOLOGY, "version", KEY_VERSION, 0, 0, NULL},
	{TOPOLOGY, "ranks_per_node", KEY_COUNT, FIELD(ranks_per_node), PIPESIM_MAX_RANKS, NULL},
	{INTRA, "latency", KEY_TIME, FIELD(intra.latency), 0, NULL},
	{INTRA, "bandwidth", KEY_BANDWIDTH, FIELD(intra.bandwidth), 0, NULL},
	{INTRA, "duplex", KEY_CHOICE, FIELD(intra.half), 0, "full, half"},
	{INTRA, "share", KEY_CHOICE, FIELD(share), 0, "pair, rank, node"},
	{INTER, "latency", KEY_TIME, FIELD(inter.latency), 0, NULL},
	{INTER, "bandwidth", KEY_BANDWIDTH, FIELD(inter.bandwidth), 0, NULL},
	{INTER, "duplex", KEY_CHOICE, FIELD(inter.half), 0, "full, half"},
	{INTER, "nics", KEY_COUNT, FIELD(nics), PIPESIM_MAX_NICS, NULL},
	{INTER, "nic_of", KEY_NIC_OF, 0, PIPESIM_MAX_NICS - 1, NULL},
	{SHARDS, "over", KEY_CHOICE, FIELD(shards), 0, "own, intra, inter"},
	{SHARDS, "units", KEY_COUNT, FIELD(units), PIPESIM_MAX_UNITS, NULL},
};

typedef struct {
	PipesimIni *ini;
	PipesimNetwork *network;
	guint n_nic_of;
} Reader;

/* Values -------------------------------------------------------------------------------- */

static gboolean read_value(Reader *reader, const Key *key, const char *value, GError **error)
{
	PipesimNetwork *network = reader->network;
	gpointer to = G_STRUCT_MEMBER_P(network, key->offset);
	g_auto(GStrv) parts = NULL;
	guint64 count;

	switch (key->kind) {
	case KEY_VERSION:
		return strcmp(value, "1") == 0 ||
		       pipesim_refuse(
			       error, "version: '%s', but only version 1 is read", value);
	case KEY_COUNT:
		if (!pipesim_parse_count(value, key->name, 1, key->most, &count, error))
			return FALSE;
		*(guint *)to = (guint)count;
		return TRUE;
	case KEY_TIME:
		return pipesim_parse_time(value, key->name, to, error);
	case KEY_BANDWIDTH:
		return pipesim_parse_bandwidth(value, key->name, to, error);
	case KEY_CHOICE:
		parts = g_strsplit(key->choices, ", ", -1);
		for (guint i = 0; parts[i] != NULL; i++)
			if (strcmp(value, parts[i]) == 0) {
				*(guint *)to = i;
				return TRUE;
			}
		return pipesim_refuse(
			error, "%s: '%s' is none of %s", key->name, value, key->choices);
	case KEY_NIC_OF:
		parts = g_strsplit(value, ",", -1);
		reader->n_nic_of = g_strv_length(parts);
		g_free(network->nic_of);
		network->nic_of = g_new0(guint, reader->n_nic_of + 1);
		for (guint i = 0; i < reader->n_nic_of; i++) {
			if (!pipesim_parse_count(g_strstrip(parts[i]), key->name, 0, key->most,
				    &count, error))
				return FALSE;
			network->nic_of[i] = (guint)count;
		}
		return TRUE;
	}
	g_return_val_if_reached(FALSE);
}

/* Lines --------------------------------------------------------------------------------- */

static void read_line(Reader *reader, const PipesimIniLine *line)
{
	const gsize n = G_N_ELEMENTS(keys), size = sizeof *keys;
	const Key *key =
		pipesim_ini_take(reader->ini, line, keys, n, size, GROUPS, "a topology file");
	g_autoptr(GError) error = NULL;

	if (key != NULL && !read_value(reader, key, line->value, &error))
		pipesim_ini_fault_value(reader->ini, line, "%s", error->message);
	if (line->key == NULL && line->junk == NULL && line->first_line != line->line &&
		pipesim_ini_find_row(keys, n, size, line->group, NULL) != NULL)
		pipesim_ini_fault_at(reader->ini, line, "[%s] appears twice; first in line %u",
			line->group, line->first_line);
}

PipesimNetwork *pipesim_network_read_ini(PipesimIni *taken, GError **error)
{
	g_autoptr(PipesimIni) ini = taken;
	g_autoptr(PipesimNetwork) network = pipesim_network_new();
	Reader reader = {.ini = ini, .network = network};

	if (ini == NULL)
		return NULL;
	for (guint i = 0; i < ini->n_lines; i++)
		read_line(&reader, &ini->lines[i]);

	/* The whole. */
	const PipesimIniLine *topology = pipesim_ini_find(ini, TOPOLOGY, NULL);
	const PipesimIniLine *intra = pipesim_ini_find(ini, INTRA, NULL);
	const PipesimIniLine *inter = pipesim_ini_find(ini, INTER, NULL);
	const PipesimIniLine *at = pipesim_ini_find(ini, INTER, "nic_of");
	const PipesimIniLine *over = pipesim_ini_find(ini, SHARDS, "over");
	const PipesimIniLine *units = pipesim_ini_find(ini, SHARDS, "units");
	const guint first = topology != NULL ? topology->first_line : 1;
	if (pipesim_ini_find(ini, TOPOLOGY, "version") == NULL)
		pipesim_ini_fault(ini, first, 1,
			"'version = 1' in [" TOPOLOGY "] is missing; is this a topology file?");
	if (network->ranks_per_node > 0 && inter == NULL)
		pipesim_ini_fault(ini, first, 1, "[inter] is missing: the links between nodes");
	if (inter != NULL && pipesim_ini_find(ini, TOPOLOGY, "ranks_per_node") == NULL)
		pipesim_ini_fault(ini, inter->first_line, 1,
			"[inter] needs ranks_per_node in [" TOPOLOGY
			"]: without it all ranks are on one node");
	if (network->share == PIPESIM_LINK_NODE &&
		pipesim_ini_find(ini, INTRA, "duplex") != NULL)
		pipesim_ini_fault(ini, intra->first_line, 1,
			"share = node is one link both ways; leave out duplex");
	if (network->nic_of != NULL && network->nics == 0) {
		pipesim_ini_fault_value(ini, at, "nic_of needs nics, their number");
	} else if (network->nic_of != NULL) {
		if (reader.n_nic_of != network->ranks_per_node)
			pipesim_ini_fault_value(ini, at,
				"nic_of has %u numbers, but %u ranks are on a node; give one "
				"for each",
				reader.n_nic_of, network->ranks_per_node);
		for (guint i = 0; i < reader.n_nic_of; i++)
			if (network->nic_of[i] >= network->nics)
				pipesim_ini_fault_value(ini, at, "no NIC %u: they are 0 to %u",
					network->nic_of[i], network->nics - 1);
	}
	/* Whether there are the links that stages are gathered over. */
	if (network->shards == PIPESIM_SHARDS_INTRA && network->share == PIPESIM_LINK_PAIR)
		pipesim_ini_fault_value(ini, over,
			"over = intra needs links that a rank has: share = rank or node in "
			"[" INTRA "]");
	if (network->shards == PIPESIM_SHARDS_INTER && network->nics == 0)
		pipesim_ini_fault_value(ini, over, "over = inter needs nics in [" INTER "]");
	if (units != NULL && network->shards == PIPESIM_SHARDS_OWN)
		pipesim_ini_fault_at(
			ini, units, "units are of what shares links: over = intra or inter");
	return pipesim_faults_done(ini->faults, error) ? g_steal_pointer(&network) : NULL;
}
