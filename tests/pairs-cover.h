/* Few runs of a program that show each two of its options together, though it refuses many. */
#pragma once
#include <glib.h>

#define PAIRS_MOST 7 /* options of a run */

typedef struct {
	guint option; /* equal for values of one option, which stand in no run together */
	const char *
		words; /* "--pp=8"; several, separated by spaces, where one is nothing without others */
	gboolean
		paired; /* with every other such item; else alone, and once in the largest company it may have */
	guint left_out; /* pairs of two such items, or the fewer of two numbers: so many for each that is shown */
} Item;

/* Runs the @n items of @row, at most PAIRS_MOST. Returns whether the program took them; if not, *why, where asked
 * for, is what it said (free with g_free). */
typedef gboolean (*PairsRun)(gpointer data, const guint *row, guint n, char **why);

/**
 * cover_pairs: calls @run until it has shown each item alone, and each pair in company that the program takes or
 * by itself.
 *
 * Items whose words set a third option differently run as a pair. Where a run is refused, the pair that its words
 * name is run, or else items are taken out of it until each that is left is needed for the refusal; what is to
 * blame is kept apart in later runs. Pairs that are refused for the sake of one item are shown several at a time,
 * where the words say that all of them are: that of what is refused alone is the same in company; or it names an
 * option of that item and one that all others set. With @each_refused every refused pair runs by itself.
 */
void cover_pairs(
	const Item *items, guint n_items, gboolean each_refused, PairsRun run, gpointer data);
