#include "config.h"

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
	PipesimNetwork *copy;

	if (network == NULL)
		return NULL;
	copy = g_memdup2(network, sizeof *network);
	copy->nic_of =
		g_memdup2(network->nic_of, network->ranks_per_node * sizeof *network->nic_of);
	return copy;
}

void pipesim_network_free(PipesimNetwork *network)
{
	if (network == NULL)
		return;
	g_free(network->nic_of);
	g_free(network);
}

static PipesimLinkId make_link(guint sort, guint a, guint way, guint b)
{
	return (PipesimLinkId)sort << (A_BITS + 2 + B_BITS) | (PipesimLinkId)a << (2 + B_BITS) |
	       (PipesimLinkId)way << B_BITS | b;
}

/* G_MAXINT64 where it is longer than is simulated. */
static gint64 hold(const PipesimNetwork *network, const PipesimLinkSpeed *speed)
{
	__extension__ __int128 ns;
	gint64 work;

	if (speed->bandwidth == 0)
		return 0;
	/* One word is divided faster than two. */
	if (!__builtin_mul_overflow(network->message_bytes, NS_PER_SECOND, &work))
		return work / speed->bandwidth + (work % speed->bandwidth > 0);
	ns = network->message_bytes;
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

static void route_within(
	const PipesimNetwork *network, PipesimRoute *route, guint node, guint from, guint to)
{
	const guint ranks[2] = {from, to}, none[2] = {0, 0};

	if (network->share == PIPESIM_LINK_PAIR) {
		add_pair(route, network->intra.half, from, to);
	} else if (network->share == PIPESIM_LINK_RANK) {
		add_two_ways(route, AT_RANK, network->intra.half, ranks, none);
	} else {
		route->n_links = 1;
		route->link[0] = make_link(AT_NODE, node, BOTH_WAYS, 0);
	}
}

PipesimRoute pipesim_network_route(const PipesimNetwork *network, guint from, guint to)
{
	const guint per_node = network->ranks_per_node;
	const guint node[2] = {
		per_node > 0 ? from / per_node : 0, per_node > 0 ? to / per_node : 0};
	const PipesimLinkSpeed *speed = node[0] == node[1] ? &network->intra : &network->inter;
	PipesimRoute route = {.hold = hold(network, speed), .latency = speed->latency};

	if (node[0] == node[1]) {
		route_within(network, &route, node[0], from, to);
	} else if (network->nics == 0) {
		add_pair(&route, network->inter.half, from, to);
	} else {
		const guint nic[2] = {
			find_nic(network, from % per_node), find_nic(network, to % per_node)};

		add_two_ways(&route, AT_NIC, network->inter.half, node, nic);
	}
	return route;
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
	for (guint kind = 0; kind < PIPESIM_N_KINDS; kind++)
		if (network->slowdown[kind].num != network->slowdown[kind].den)
			return TRUE;
	return FALSE;
}

gboolean pipesim_network_check(const PipesimNetwork *network, GError **error)
{
	if (hold(network, &network->intra) != G_MAXINT64 &&
		hold(network, &network->inter) != G_MAXINT64)
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
