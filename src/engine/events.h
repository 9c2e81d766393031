/* A queue of things that end, in the order (time, key): sorted, for most of what comes ends behind all that is there.
 * Messages of one way do, since its links serve them in order, and so all where each takes the same; else one passes
 * those that are still on slower ways. */
#pragma once
#include "base/base.h"

typedef struct {
	gint64 time;
	guint64 key;
} PipesimEvent;

/* Grows as needed. */
typedef struct {
	PipesimEvent *event;
	gsize first, end; /* of those that are there */
	gsize size;
} PipesimEvents;

/** pipesim_events_init: room for @size >= 1 events; FALSE where memory does not suffice. Ends
 * with pipesim_events_clear(). */
static inline gboolean pipesim_events_init(PipesimEvents *events, gsize size)
{
	*events = (PipesimEvents){.event = g_try_new(PipesimEvent, size), .size = size};
	return events->event != NULL;
}

static inline void pipesim_events_clear(PipesimEvents *events)
{
	g_clear_pointer(&events->event, g_free);
}

/** pipesim_events_first: the next; NULL: none is there. */
static inline const PipesimEvent *pipesim_events_first(const PipesimEvents *events)
{
	return events->first < events->end ? &events->event[events->first] : NULL;
}

/* Room at the end: from what has left at the beginning where that is half of all. */
static inline gboolean pipesim_events_make_room(PipesimEvents *events)
{
	if (events->first > events->size / 2) {
		events->end -= events->first;
		memcpy(events->event, events->event + events->first,
			events->end * sizeof *events->event);
		events->first = 0;
	} else {
		PipesimEvent *larger =
			g_try_renew(PipesimEvent, events->event, 2 * events->size);

		if (larger == NULL)
			return FALSE;
		events->event = larger;
		events->size *= 2;
	}
	return TRUE;
}

/** pipesim_events_push: FALSE where memory does not suffice. */
static inline gboolean pipesim_events_push(PipesimEvents *events, gint64 time, guint64 key)
{
	PipesimEvent *at;

	if (events->end == events->size && !pipesim_events_make_room(events))
		return FALSE;
	for (at = &events->event[events->end++]; at > &events->event[events->first]; at--) {
		if (at[-1].time < time || (at[-1].time == time && at[-1].key <= key))
			break;
		at[0] = at[-1];
	}
	*at = (PipesimEvent){time, key};
	return TRUE;
}
