#include "engine/traffic.h"

PipesimTraffic *pipesim_traffic_new(const PipesimNetwork *network, guint flags)
{
	PipesimTraffic *traffic = g_new0(PipesimTraffic, 1);

	traffic->network = network;
	traffic->unlimited = (flags & PIPESIM_NO_QUEUES) != 0;
	traffic->links = g_array_new(FALSE, TRUE, sizeof(PipesimLinkUse));
	traffic->ways = g_array_new(FALSE, TRUE, sizeof(PipesimPath));
	traffic->way_of = g_hash_table_new_full(g_int64_hash, g_int64_equal, g_free, NULL);
	traffic->link_of = g_hash_table_new_full(g_int64_hash, g_int64_equal, g_free, NULL);
	return traffic;
}

PIPESIM_FREES(PipesimTraffic, pipesim_traffic_free, traffic)
{
	g_array_unref(traffic->links);
	g_array_unref(traffic->ways);
	g_hash_table_unref(traffic->way_of);
	g_hash_table_unref(traffic->link_of);
	g_free(traffic);
}

/* The index that @table has for @key, or @next, which it then has. */
static guint32 find_or_add(GHashTable *table, guint64 key, guint32 next)
{
	gpointer found;

	if (g_hash_table_lookup_extended(table, &key, NULL, &found))
		return GPOINTER_TO_UINT(found);
	g_hash_table_insert(table, g_memdup2(&key, sizeof key), GUINT_TO_POINTER(next));
	return next;
}

static guint32 find_way(PipesimTraffic *traffic, guint from, guint to)
{
	const guint64 key = (guint64)from << 32 | to;
	const guint32 index = find_or_add(traffic->way_of, key, traffic->ways->len);

	if (index < traffic->ways->len)
		return index;
	/* What a rank gathers comes from nowhere among these. */
	PipesimRoute route = from == to ? pipesim_network_shard_route(traffic->network, from, 0)
					: pipesim_network_route(traffic->network, from, to);
	PipesimPath way = (PipesimPath){.from = from,
		.to = to,
		.n_links = route.n_links,
		.hold = route.hold,
		.latency = route.latency};
	if (traffic->unlimited) {
		way.latency += way.hold;
		way.hold = 0;
	}
	for (guint i = 0; i < route.n_links; i++) {
		const PipesimLinkUse link = {.id = route.link[i]};

		way.link[i] = find_or_add(traffic->link_of, link.id, traffic->links->len);
		if (way.link[i] == traffic->links->len)
			g_array_append_val(traffic->links, link);
	}
	g_array_append_val(traffic->ways, way);
	return index;
}

guint32 pipesim_traffic_way(PipesimTraffic *traffic, guint from, guint to)
{
	guint32 *seen = &traffic->seen[(2 * from + (to > from)) % PIPESIM_WAYS_SEEN];
	const PipesimPath *way = *seen > 0 ? pipesim_traffic_get(traffic, *seen - 1) : NULL;

	/* Most messages go where the one before went. */
	if (way == NULL || way->from != from || way->to != to)
		*seen = find_way(traffic, from, to) + 1;
	return *seen - 1;
}

gint64 pipesim_traffic_shard(
	PipesimTraffic *traffic, guint rank, gint64 bytes, gint64 ready, gint64 *there)
{
	const PipesimRoute route = pipesim_network_shard_route(traffic->network, rank, bytes);
	const guint32 way = pipesim_traffic_way(traffic, rank, rank);
	const gint64 start =
		pipesim_traffic_take(traffic, way, ready, traffic->unlimited ? 0 : route.hold);

	*there = start + route.hold + route.latency;
	return start;
}
