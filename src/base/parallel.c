#include "base/parallel.h"

typedef struct {
	const PipesimParallel *work;
	gsize next; /* item that nobody has taken; atomic */
	GMutex lock;
	gsize failed; /* the first item that failed, and why */
	GError *error;
} Shared;

static void run_items(Shared *shared, gpointer own)
{
	const PipesimParallel *work = shared->work;

	for (;;) {
		const gsize item = __atomic_fetch_add(&shared->next, 1, __ATOMIC_RELAXED);
		GError *error = NULL;

		if (item >= work->n_items)
			return;
		if (work->run(item, own, work->data, &error))
			continue;
		/* What comes before @item was begun before it: nothing after it can be
		 * first. */
		__atomic_store_n(&shared->next, work->n_items, __ATOMIC_RELAXED);
		g_mutex_lock(&shared->lock);
		if (shared->error == NULL || item < shared->failed) {
			g_clear_error(&shared->error);
			shared->error = g_steal_pointer(&error);
			shared->failed = item;
		}
		g_mutex_unlock(&shared->lock);
		g_clear_error(&error);
	}
}

static gpointer run_thread(gpointer data)
{
	Shared *shared = data;
	const PipesimParallel *work = shared->work;
	gpointer own = work->begin != NULL ? work->begin(work->data, NULL) : NULL;

	if (own == NULL && work->begin != NULL)
		return NULL;
	run_items(shared, own);
	if (own != NULL)
		work->end(own);
	return NULL;
}

gboolean pipesim_parallel(const PipesimParallel *work, GError **error)
{
	const guint wanted = work->threads > 0 ? work->threads : g_get_num_processors();
	const guint n = (guint)MIN(wanted, work->n_items);
	g_autofree GThread **others = g_new0(GThread *, MAX(n, 1u));
	gpointer own = work->begin != NULL ? work->begin(work->data, error) : NULL;
	Shared shared = {.work = work};

	if (own == NULL && work->begin != NULL)
		return FALSE;
	g_mutex_init(&shared.lock);
	for (guint i = 1; i < n; i++)
		others[i] = g_thread_try_new("pipesim", run_thread, &shared, NULL);
	run_items(&shared, own);
	for (guint i = 1; i < n; i++)
		if (others[i] != NULL)
			g_thread_join(others[i]);
	g_mutex_clear(&shared.lock);
	if (own != NULL)
		work->end(own);
	if (shared.error == NULL)
		return TRUE;
	g_propagate_error(error, shared.error);
	return FALSE;
}
