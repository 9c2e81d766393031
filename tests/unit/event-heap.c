#include "event-heap.h"

gboolean event_heap_init(EventHeap *events, gsize size)
{
	events->n = 0;
	events->size = size;
	events->heap = g_try_new(HeapEvent, size);
	return events->heap != NULL;
}

void event_heap_clear(EventHeap *events)
{
	g_free(events->heap);
	events->heap = NULL;
}

/* Children of one place: they stand beside each other, and a heap of them is half as high as one of two. */
#define CHILDREN 4

__extension__ typedef unsigned __int128 Place;

/* Times are not negative: (time, key) as one number. */
static inline Place place_of(const HeapEvent *event)
{
	return (Place)(guint64)event->time << 64 | event->key;
}

gboolean event_heap_push(EventHeap *events, gint64 time, guint64 key)
{
	const HeapEvent event = {time, key};
	gsize i = events->n;

	if (events->n == events->size) {
		HeapEvent *heap = g_try_renew(HeapEvent, events->heap, events->size * 2);

		if (heap == NULL)
			return FALSE;
		events->heap = heap;
		events->size *= 2;
	}
	events->n++;
	while (i > 0) {
		const HeapEvent *parent = &events->heap[(i - 1) / CHILDREN];

		if (place_of(parent) <= place_of(&event))
			break;
		events->heap[i] = *parent;
		i = (i - 1) / CHILDREN;
	}
	events->heap[i] = event;
	return TRUE;
}

/* The first of the children of the place before @child, all of which there are. */
static inline gsize first_child(const HeapEvent *heap, gsize child)
{
	const gsize left = child + (place_of(&heap[child + 1]) < place_of(&heap[child]));
	const gsize right =
		child + 2 + (place_of(&heap[child + 3]) < place_of(&heap[child + 2]));

	return place_of(&heap[right]) < place_of(&heap[left]) ? right : left;
}

HeapEvent event_heap_pop(EventHeap *events)
{
	HeapEvent *heap = events->heap;
	const HeapEvent first = heap[0];
	const HeapEvent last = heap[--events->n];
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
