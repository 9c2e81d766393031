/* Messages on links: who holds which link until when.
 * The model. A message is ready when the op that it comes from ends, and messages are ready
 * in the order (time, rank, op index); of one op the activation before the gradient. A
 * message begins to move once it is ready and every message that was ready before it has
 * left the links of its way: each link serves in order of readiness, and nothing overtakes.
 * It then holds all links of its way at once, for bytes / bandwidth (cut-through: what comes
 * in goes out at the same moment), leaves them, and is there a latency later. */
#pragma once
#include "model/network.h"

typedef enum {
	PIPESIM_KEEP_MOVES = 1 << 0,  /* fill timeline->moving and the transfers */
	PIPESIM_NO_QUEUES = 1 << 1,   /* messages hold no link: none waits */
	PIPESIM_NO_SLOWDOWN = 1 << 2, /* messages slow nothing */
	PIPESIM_NO_POWER = 1 << 3,    /* ops take their sustained time, whatever came before */
	/* Receives that wait, and messages that move, take nothing from ops as it was
	 * measured. */
	PIPESIM_NO_CONTENTION = 1 << 4,
	PIPESIM_NO_LAUNCHES = 1 << 5, /* hosts launch ops in no time */
} PipesimTrafficFlags;

/* One link, in the course of a run and after it. */
typedef struct {
	PipesimLinkId id;
	gint64 free_at; /* when the last message that it was promised to leaves it, ns */
	gint64 busy;    /* held, ns */
	gint64 waited;  /* by its messages, from ready to moving, ns; G_MAXINT64: at least */
	gint64 longest; /* of these waits */
	guint64 messages;
} PipesimLinkUse;

/* A way from one rank to another. */
typedef struct {
	guint32 from, to; /* ranks */
	guint32 link[2], n_links;
	gint64 hold, latency; /* ns */
} PipesimPath;

/* Ways that are found without a hash table: one each way of half as many ranks. */
#define PIPESIM_WAYS_SEEN 512

typedef struct {
	const PipesimNetwork *network;
	GArray *links; /* of PipesimLinkUse */
	GArray *ways;  /* of PipesimPath */
	GHashTable *way_of, *link_of;
	guint32 seen
		[PIPESIM_WAYS_SEEN]; /* 1 + a way that was asked for, by what its ranks come to */
	gboolean unlimited;          /* messages take as long, but hold nothing */
	/* Of all messages. */
	guint64 messages;
	gint64 waited, longest;
} PipesimTraffic;

/** pipesim_traffic_new: no link held, no way known; @network stays the caller's.
 * @flags: of PipesimTrafficFlags; PIPESIM_NO_QUEUES counts */
PipesimTraffic *pipesim_traffic_new(const PipesimNetwork *network, guint flags);
PIPESIM_FREED(PipesimTraffic, pipesim_traffic_free)

/** pipesim_traffic_way: the index of the way from rank @from to another rank @to; those that
 * were not known join ways and links. */
guint32 pipesim_traffic_way(PipesimTraffic *traffic, guint from, guint to);

/** pipesim_traffic_get: the way of that index; valid until the next way joins. */
static inline const PipesimPath *pipesim_traffic_get(const PipesimTraffic *traffic, guint32 way)
{
	return &((const PipesimPath *)(gconstpointer)traffic->ways->data)[way];
}

static inline void pipesim_link_pass(
	PipesimLinkUse *link, gint64 start, gint64 wait, gint64 hold)
{
	link->free_at = start + hold;
	link->busy = pipesim_add_capped(link->busy, hold);
	link->waited = pipesim_add_capped(link->waited, wait);
	link->longest = MAX(link->longest, wait);
	link->messages++;
}

/* What is ready at @ready >= 0 takes the links of @way for @hold ns each. Returns when it
 * begins to move. */
static inline gint64 pipesim_traffic_take(
	PipesimTraffic *traffic, guint32 way, gint64 ready, gint64 hold)
{
	const PipesimPath *w = pipesim_traffic_get(traffic, way);
	PipesimLinkUse *links = (PipesimLinkUse *)(gpointer)traffic->links->data;
	PipesimLinkUse *first = &links[w->link[0]];
	PipesimLinkUse *last = &links[w->link[w->n_links - 1]];
	gint64 start = MAX(ready, MAX(first->free_at, last->free_at));
	gint64 wait;

	start = MIN(start, PIPESIM_MAX_END);
	wait = start - ready;
	pipesim_link_pass(first, start, wait, hold);
	if (w->n_links > 1)
		pipesim_link_pass(last, start, wait, hold);
	traffic->messages++;
	traffic->waited = pipesim_add_capped(traffic->waited, wait);
	traffic->longest = MAX(traffic->longest, wait);
	return start;
}

/** pipesim_traffic_send: a message on @way that is ready at @ready >= 0. Calls must come in
 * order of readiness.
 * Returns: when it begins to move, ns; PIPESIM_MAX_END where that is later. It is there
 *   after hold + latency of its way. */
static inline gint64 pipesim_traffic_send(PipesimTraffic *traffic, guint32 way, gint64 ready)
{
	return pipesim_traffic_take(
		traffic, way, ready, pipesim_traffic_get(traffic, way)->hold);
}

/** pipesim_traffic_shard: the same of @bytes that @rank gathers or reduces over its links,
 * which hold it for as long as they need for so many.
 * @there: (out): when they are there */
gint64 pipesim_traffic_shard(
	PipesimTraffic *traffic, guint rank, gint64 bytes, gint64 ready, gint64 *there);
