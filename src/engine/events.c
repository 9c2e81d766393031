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

/* Children of one place: they stand beside each other, and a heap of them is half as high as one of two. */
#define CHILDREN 4

__extension__ typedef unsigned __int128 Place;

/* Times are not negative: (time, key) as one number. */
static inline Place place_of(const PipesimEvent *event)
{
	return (Place)(guint64)event->time << 64 | event->key;
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
	while (i > 0) {
		const PipesimEvent *parent = &events->heap[(i - 1) / CHILDREN];

		if (place_of(parent) <= place_of(&event))
			break;
		events->heap[i] = *parent;
		i = (i - 1) / CHILDREN;
	}
	events->heap[i] = event;
	return TRUE;
}

/* The first of the children of the place before @child, all of which there are. */
static inline gsize first_child(const PipesimEvent *heap, gsize child)
{
	const gsize left = child + (place_of(&heap[child + 1]) < place_of(&heap[child]));
	const gsize right =
		child + 2 + (place_of(&heap[child + 3]) < place_of(&heap[child + 2]));

	return place_of(&heap[right]) < place_of(&heap[left]) ? right : left;
}

PipesimEvent pipesim_events_pop(PipesimEvents *events)
{
	PipesimEvent *heap = events->heap;
	const PipesimEvent first = heap[0];
	const PipesimEvent last = heap[--events->n];
	gsize i = 0;

	for (;;) {
		gsize child = CHILDREN * i + 1;

		if (child + CHILDREN <= events->n) {
			child = first_child(heap, child);
		} else if (child < events->n) {
			for (gsize other = child + 1; other < events->n; other++)
				child = place_of(&heap[other]) < place_of(&heap[child]) ? other
											: child;
		} else {
			break;
		}
		if (place_of(&last) <= place_of(&heap[child]))
			break;
		heap[i] = heap[child];
		i = child;
	}
	heap[i] = last;
	return first;
}
