#include "config.h"

#include "engine/events.h"

gboolean pipesim_events_init(PipesimEvents *events, gsize size)
{
	events->n = 0;
	events->size = size;
	events->heap = g_try_new(PipesimEvent, size);
	return events->heap != NULL;
}

void pipesim_events_clear(PipesimEvents *events)
{
	g_free(events->heap);
	events->heap = NULL;
}

static gboolean earlier(const PipesimEvent *a, const PipesimEvent *b)
{
	return a->time < b->time || (a->time == b->time && a->key < b->key);
}

gboolean pipesim_events_push(PipesimEvents *events, gint64 time, guint64 key)
{
	const PipesimEvent event = {time, key};
	gsize i = events->n;

	if (events->n == events->size) {
		PipesimEvent *heap = g_try_renew(PipesimEvent, events->heap, events->size * 2);

		if (heap == NULL)
			return FALSE;
		events->heap = heap;
		events->size *= 2;
	}
	events->n++;
	for (; i > 0 && earlier(&event, &events->heap[(i - 1) / 2]); i = (i - 1) / 2)
		events->heap[i] = events->heap[(i - 1) / 2];
	events->heap[i] = event;
	return TRUE;
}

PipesimEvent pipesim_events_pop(PipesimEvents *events)
{
	PipesimEvent *heap = events->heap;
	const PipesimEvent first = heap[0];
	const PipesimEvent last = heap[--events->n];
	gsize i = 0;

	for (;;) {
		gsize child = 2 * i + 1;

		if (child >= events->n)
			break;
		if (child + 1 < events->n && earlier(&heap[child + 1], &heap[child]))
			child++;
		if (!earlier(&heap[child], &last))
			break;
		heap[i] = heap[child];
		i = child;
	}
	heap[i] = last;
	return first;
}
