#include "peers.h"

#include <string.h>

static struct {
	GMutex lock;
	GCond all_came;
	guint came, rounds;
	gpointer results[PEERS];
	gint began;
} peers;
static _Thread_local guint peer;

static void wait_for_all(void)
{
	g_mutex_lock(&peers.lock);
	const guint round = peers.rounds;
	if (++peers.came == PEERS) {
		peers.came = 0;
		peers.rounds++;
		g_cond_broadcast(&peers.all_came);
	}
	while (peers.rounds == round)
		g_cond_wait(&peers.all_came, &peers.lock);
	g_mutex_unlock(&peers.lock);
}

static void exchange(gpointer results, gsize each, gsize n)
{
	peers.results[peer] = results;
	wait_for_all();
	for (gsize i = 0; i < n; i++)
		if (i % PEERS != peer)
			memcpy((char *)results + i * each,
				(char *)peers.results[i % PEERS] + i * each, each);
	wait_for_all();
}

PipesimPeers peers_join(void)
{
	peer = (guint)g_atomic_int_add(&peers.began, 1);
	return (PipesimPeers){peer, PEERS, exchange};
}

void peers_run(GThreadFunc run, gpointer data, gpointer results[PEERS])
{
	GThread *threads[PEERS];

	g_atomic_int_set(&peers.began, 0);
	for (guint i = 0; i < PEERS; i++)
		threads[i] = g_thread_new("peer", run, data);
	for (guint i = 0; i < PEERS; i++)
		results[i] = g_thread_join(threads[i]);
}
