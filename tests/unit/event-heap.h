/* A queue of things that end, in the order (time, key). */
#pragma once
#include "base/error.h"

typedef struct {
	gint64 time;
	guint64 key;
} HeapEvent;

/* Grows as needed. */
typedef struct {
	HeapEvent *heap;
	gsize n, size;
} EventHeap;

/** event_heap_init: room for @size >= 1 events; FALSE where memory does not suffice. Ends
 * with event_heap_clear(). */
gboolean event_heap_init(EventHeap *events, gsize size);
void event_heap_clear(EventHeap *events);

/** event_heap_push: FALSE where memory does not suffice. */
gboolean event_heap_push(EventHeap *events, gint64 time, guint64 key);

/** event_heap_pop: the first; there must be one. */
HeapEvent event_heap_pop(EventHeap *events);
