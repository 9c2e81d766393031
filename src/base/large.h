/* Memory for arrays that are walked in many places at once. */
#pragma once
#include <glib.h>

/** pipesim_try_large: room for @n elements of @size bytes, not cleared, in large pages where
 * the system has them and the array is worth some: it is then reached without a walk through
 * page tables for each of a thousand places. For g_free(); NULL where memory does not suffice.
 */
gpointer pipesim_try_large(gsize n, gsize size);

/** pipesim_keep_memory: for programs whose runs follow on each other: memory that one gives
 * back (up to 256 MB) serves the next, where it would be fetched from the system again, at a
 * page fault for every 4 kB. Of the whole process, hence for main() alone. */
void pipesim_keep_memory(void);

/** pipesim_keep_heap: what the heap of this thread comes to next, 31 MB, has large pages from the first whole one on,
 * where the system has them; main() has that of pipesim_keep_memory(). */
void pipesim_keep_heap(void);
