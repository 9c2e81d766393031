/* A queue of things that end, in the order (time, key). */
#pragma once
#include "base/error.h"

typedef struct {
	gint64 time;
	guint64 key;
} PipesimEvent;

/* Grows as needed. */
typedef struct {
	PipesimEvent *heap;
	gsize n, size;
} PipesimEvents;

/** pipesim_events_init: room for @size >= 1 events; FALSE where memory does not suffice. Ends
 * with pipesim_events_clear(). */
gboolean pipesim_events_init(PipesimEvents *events, gsize size);
void pipesim_events_clear(PipesimEvents *events);

/** pipesim_events_push: FALSE where memory does not suffice. */
gboolean pipesim_events_push(PipesimEvents *events, gint64 time, guint64 key);

/** pipesim_events_pop: the first; there must be one. */
PipesimEvent pipesim_events_pop(PipesimEvents *events);
