/* The links between ranks: which message takes which, how long it holds them, and what its
 * moving costs the ops beside it. */
#pragma once
#include "base/base.h"

/* Where a link's capacity lies. Every link has one direction, but for half duplex. */
typedef enum {
	PIPESIM_LINK_PAIR, /* every two ranks have their own: nothing is shared */
	PIPESIM_LINK_RANK, /* a rank has one way out and one way in, as NVLink with a switch */
	PIPESIM_LINK_NODE, /* one for all messages within a node, both ways, as a bus */
} PipesimLinkShare;

typedef struct {
	gint64 latency;   /* ns */
	gint64 bandwidth; /* bytes per second of one link; 0 = without limit */
	gboolean half;    /* half duplex: both directions share the capacity */
} PipesimLinkSpeed;

/* Which links gathering and reducing of stages (FSDP) take. */
typedef enum {
	PIPESIM_SHARDS_OWN, /* none of these */
	PIPESIM_SHARDS_INTRA, /* those of a rank within its node: its way out and its way in, or the bus */
	PIPESIM_SHARDS_INTER, /* its NIC, both ways */
} PipesimShardLinks;

/* Most parts in which a stage is gathered. */
#define PIPESIM_MAX_UNITS 10000

/* Most NICs of a node. */
#define PIPESIM_MAX_NICS 1024

/* Rank r is local rank r % ranks_per_node of node r / ranks_per_node. A message between ranks
 * of one node takes a link of @intra, shared as @share says. One between nodes takes the way
 * out of the sender's NIC and the way in of the receiver's; without NICs, a link that only
 * these two ranks have. */
typedef struct {
	gint64 message_bytes; /* of one micro-batch between two stages, either way */
	guint ranks_per_node; /* 0 = all ranks on one node */
	PipesimLinkSpeed intra, inter;
	PipesimLinkShare share;
	guint nics;    /* of a node; 0 = none */
	guint *nic_of; /* [local rank], owned; NULL: NIC i * nics / ranks_per_node */
	PipesimShardLinks shards;
	guint units; /* equal parts in which a stage is gathered and reduced, one after the other; 0 = 1 */
	/* An op on whose rank a message moves, out or in, runs as many times slower meanwhile;
	 * num >= den. */
	PipesimFraction slowdown[PIPESIM_N_KINDS];
} PipesimNetwork;

/** pipesim_network_new: one node, links of its own for each pair of ranks, without latency,
 * limit and slowdown; messages of 0 bytes. */
PipesimNetwork *pipesim_network_new(void);
PipesimNetwork *pipesim_network_copy(const PipesimNetwork *network);
PIPESIM_FREED(PipesimNetwork, pipesim_network_free)

/** pipesim_network_read_ini: the network that @taken describes, as docs/formats.md says.
 * @taken: (transfer full): a topology file, or NULL with @error set
 * Returns: (transfer full): NULL with PIPESIM_ERROR_PARSE, up to 20 faults at once, each
 *   with its place. */
PipesimNetwork *pipesim_network_read_ini(PipesimIni *taken, GError **error);

/* The file at @path ("-" = standard input); also errors of pipesim_ini_read(). */
#define pipesim_network_read(path, error) \
	pipesim_network_read_ini(         \
		pipesim_ini_read(path, 1 << 20, PIPESIM_FILE_TOPOLOGY, error), error)

/* A link, as a number that orders links by sort, node or rank, and direction. */
typedef guint64 PipesimLinkId;

/* What a message between two ranks meets. */
typedef struct {
	PipesimLinkId link[2];
	guint n_links; /* 1 or 2 */
	gint64 hold; /* how long it occupies each of them: bytes / bandwidth, ns, rounded up */
	gint64 latency; /* from leaving them to being there, ns */
} PipesimRoute;

/** pipesim_network_route: the way from rank @from to another rank @to. */
PipesimRoute pipesim_network_route(const PipesimNetwork *network, guint from, guint to);

/** pipesim_network_shard_route: the way of @bytes that @rank gathers or reduces, both ways at
 * once; not for PIPESIM_SHARDS_OWN. */
PipesimRoute pipesim_network_shard_route(
	const PipesimNetwork *network, guint rank, gint64 bytes);

/** pipesim_network_shard_part: of @bytes the part @unit, from 0. */
static inline gint64 pipesim_network_shard_part(
	const PipesimNetwork *network, gint64 bytes, guint unit)
{
	const guint units = MAX(network->units, 1u);

	return bytes / units + (unit < bytes % units);
}

/** pipesim_network_shard_time: what all parts of @bytes take that wait for nothing, ns. */
gint64 pipesim_network_shard_time(const PipesimNetwork *network, gint64 bytes);

/** pipesim_network_hop: what a message takes that waits for no other, ns. */
gint64 pipesim_network_hop(const PipesimNetwork *network, guint from, guint to);

/** pipesim_network_slowest_hop: the largest of these between neighbouring ranks of @ranks: what
 * a schedule is planned with; 0 for one rank. */
gint64 pipesim_network_slowest_hop(const PipesimNetwork *network, guint ranks);

/** pipesim_network_slows: whether some kind of op is slowed by messages. */
gboolean pipesim_network_slows(const PipesimNetwork *network);

/** pipesim_network_check: FALSE with PIPESIM_ERROR_LIMIT where a message would hold its link
 * for longer than PIPESIM_MAX_TIME_NS. */
gboolean pipesim_network_check(const PipesimNetwork *network, GError **error);

/** pipesim_link_print: appends "0 > 1", "0 - 1" (half duplex), "rank 3 out", "rank 3", "node
 * 0", "node 0 out", "node 0 NIC 1 in". */
void pipesim_link_print(PipesimLinkId link, GString *out);
