/* One piece of work cut into items that threads take one after the other. */
#pragma once
#include "base/error.h"

typedef struct {
	gsize n_items;
	guint threads; /* 0 = one a core */
	/* Runs one item; called on any thread, several at once, with what begin() made for
	 * it. */
	gboolean (*run)(gsize item, gpointer own, gpointer data, GError **error);
	/* What a thread needs for itself, made before its first item: NULL with an error.
	 * (nullable): nothing */
	gpointer (*begin)(gpointer data, GError **error);
	void (*end)(gpointer own);
	gpointer data;
} PipesimParallel;

/** pipesim_parallel: every item of @work, on the caller's thread and others, whose number
 * changes nothing: items are begun in their order, and a thread that cannot be had, or that
 * does not get what it needs for itself, leaves its items to the others.
 * Returns: FALSE with the error of the first item, by number, that failed: some after it
 * were then never begun. Also where the caller's own begin() fails: none was begun. */
gboolean pipesim_parallel(const PipesimParallel *work, GError **error);

/* Processes that all do the same and share its work. */
typedef struct {
	guint rank, size; /* size 0 or 1: there is one */
	/* Gives all of them all @n results of @each bytes, of which process i % size has made number i. */
	void (*exchange)(gpointer results, gsize each, gsize n);
} PipesimPeers;
