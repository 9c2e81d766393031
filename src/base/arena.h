/* Memory for what lives as long as one run: taken piece by piece, given back all at once. */
#pragma once
#include "base/error.h"

typedef struct _PipesimArena PipesimArena;

/** pipesim_arena_new: empty. For pipesim_arena_free(), which frees all that came from it. */
PipesimArena *pipesim_arena_new(void);
PIPESIM_FREED(PipesimArena, pipesim_arena_free)

/** pipesim_arena_take: room for @n elements of @size bytes, all 0, aligned to 64 bytes. Also
 * where @n is 0.
 * Returns: NULL where memory does not suffice, and from then on always: so whoever takes
 * many arrays may look once, at the last of them, or ask pipesim_arena_check(). */
gpointer pipesim_arena_take(PipesimArena *arena, gsize n, gsize size);

/** pipesim_arena_array: the same as @n elements of @type. */
#define pipesim_arena_array(arena, type, n) \
	((type *)pipesim_arena_take((arena), (n), sizeof(type)))

/** pipesim_arena_large: the same as pipesim_try_large() gives it: not cleared. */
gpointer pipesim_arena_large(PipesimArena *arena, gsize n, gsize size);

/** pipesim_arena_check: FALSE with PIPESIM_ERROR_LIMIT, "@what do not fit in memory", where
 * some memory was asked for in vain. */
gboolean pipesim_arena_check(const PipesimArena *arena, GError **error, const char *what, ...)
	G_GNUC_PRINTF(3, 4);
