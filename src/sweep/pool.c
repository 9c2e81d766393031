#include "sweep/pool.h"

/* Blocks that threads may be ahead of the one who takes them, for each thread: a slow point
 * must not stop the others, nor results pile up. */
#define AHEAD 16
/* Until a stop is seen, us; but for points that take longer. */
#define LONGEST_WAIT (G_TIME_SPAN_SECOND / 10)

struct _PipesimPool {
	const PipesimSweepWork *work;
	GThread **threads;
	GMutex lock;
	GCond changed;
	PipesimSweepBlock **done; /* ring of @window slots, by number within the part */
	guint window;
	guint64 next_begun, next_taken, n_own; /* numbers of blocks within the part */
	gboolean closing;
};

PipesimSweepBlock *pipesim_sweep_block_new(guint64 first, guint n_points, guint width)
{
	PipesimSweepBlock *block = g_new(PipesimSweepBlock, 1);

	*block = (PipesimSweepBlock){
		first, n_points, width, g_new0(PipesimSweepResult, (gsize)n_points * width)};
	return block;
}

PIPESIM_FREES(PipesimSweepBlock, pipesim_sweep_block_free, block)
{
	for (gsize i = 0; i < (gsize)block->n_points * block->width; i++)
		g_free(block->results[i].error);
	pipesim_free_all(block->results, block);
}

guint64 pipesim_sweep_blocks(const PipesimSweepWork *work)
{
	return (work->end - work->first + work->block - 1) / work->block;
}

static gboolean stopped(const PipesimPool *pool)
{
	return pool->work->stop != NULL && g_atomic_int_get(pool->work->stop) != 0;
}

/* Solves one block; a stop cuts it short.
 * @batch: points that are solved together: as many as take no longer than a stop may wait */
static PipesimSweepBlock *solve(PipesimPool *pool, guint64 own, guint *batch)
{
	const PipesimSweepWork *work = pool->work;
	const guint64 number = work->part + own * work->parts;
	const guint64 first = work->first + number * work->block;
	const guint n = (guint)MIN(work->block, work->end - first);
	PipesimSweepBlock *block = pipesim_sweep_block_new(first, n, work->width);

	for (block->n_points = 0; block->n_points < n && !stopped(pool);) {
		const guint done = block->n_points, together = MIN(*batch, n - done);
		const gint64 began = g_get_monotonic_time();

		work->solve(work->data, first + done, together,
			&block->results[(gsize)done * work->width]);
		block->n_points += together;
		if (g_get_monotonic_time() - began > LONGEST_WAIT)
			*batch = MAX(together / 2, 1);
		else if (together == *batch)
			*batch = MIN(2 * together, work->block);
	}
	return block;
}

static gpointer run_thread(gpointer data)
{
	PipesimPool *pool = data;
	guint batch = MAX(pool->work->together, 1);

	pipesim_keep_heap();
	g_mutex_lock(&pool->lock);
	for (;;) {
		while (!pool->closing && pool->next_begun < pool->n_own &&
			pool->next_begun - pool->next_taken >= pool->window)
			g_cond_wait(&pool->changed, &pool->lock);
		if (pool->closing || pool->next_begun == pool->n_own || stopped(pool))
			break;
		guint64 own = pool->next_begun++;
		g_mutex_unlock(&pool->lock);
		PipesimSweepBlock *block = solve(pool, own, &batch);
		g_mutex_lock(&pool->lock);
		pool->done[own % pool->window] = block;
		g_cond_broadcast(&pool->changed);
	}
	g_mutex_unlock(&pool->lock);
	return NULL;
}

PipesimPool *pipesim_pool_new(const PipesimSweepWork *work)
{
	PipesimPool *pool = g_new0(PipesimPool, 1);
	const guint64 blocks = pipesim_sweep_blocks(work);

	pool->work = work;
	if (blocks > work->part)
		pool->n_own = (blocks - work->part + work->parts - 1) / work->parts;
	pool->window = AHEAD * work->threads;
	pool->done = g_new0(PipesimSweepBlock *, pool->window);
	g_mutex_init(&pool->lock);
	g_cond_init(&pool->changed);
	pool->threads = g_new(GThread *, work->threads);
	for (guint i = 0; i < work->threads; i++)
		pool->threads[i] = g_thread_new("sweep", run_thread, pool);
	return pool;
}

PipesimSweepBlock *pipesim_pool_next(PipesimPool *pool)
{
	g_mutex_lock(&pool->lock);
	guint slot = (guint)(pool->next_taken % pool->window);
	while (pool->done[slot] == NULL) {
		/* A stop is a signal, which wakes nobody here. */
		const gint64 soon = g_get_monotonic_time() + LONGEST_WAIT;

		/* Nobody will bring the next block any more: it was never begun. */
		if (pool->next_taken == pool->n_own ||
			(pool->next_taken == pool->next_begun && stopped(pool)))
			break;
		g_cond_wait_until(&pool->changed, &pool->lock, soon);
	}
	PipesimSweepBlock *block = g_steal_pointer(&pool->done[slot]);
	if (block != NULL) {
		pool->next_taken++;
		g_cond_broadcast(&pool->changed);
	}
	g_mutex_unlock(&pool->lock);
	return block;
}

PIPESIM_FREES(PipesimPool, pipesim_pool_free, pool)
{
	g_mutex_lock(&pool->lock);
	pool->closing = TRUE;
	g_cond_broadcast(&pool->changed);
	g_mutex_unlock(&pool->lock);
	for (guint i = 0; i < pool->work->threads; i++)
		g_thread_join(pool->threads[i]);
	for (guint i = 0; i < pool->window; i++)
		pipesim_sweep_block_free(pool->done[i]);
	g_mutex_clear(&pool->lock);
	g_cond_clear(&pool->changed);
	pipesim_free_all(pool->done, pool->threads, pool);
}
