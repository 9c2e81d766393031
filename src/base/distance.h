/* How far a misspelt name is from one that exists. */
#pragma once
#include <glib.h>

/** pipesim_distance: the letters to insert, remove or change in @a to make it @b; upper and
 * lower case are the same. Takes the product of their lengths in time. */
guint pipesim_distance(const char *a, const char *b);

/** pipesim_nearer: @name in place of *@best where it is nearer to @word than *@least, which is then its distance. */
void pipesim_nearer(const char *word, const char *name, guint *least, const char **best);
