#include "base/base.h"
#include <stdint.h>

#define ALIGNMENT 64
/* Small arrays share a block of this size, large ones have their own. */
#define BLOCK ((gsize)1 << 16)

struct _PipesimArena {
	GSList *blocks;
	char *at, *end; /* what is left of the block that is shared */
	gboolean failed;
};

PipesimArena *pipesim_arena_new(void)
{
	return g_new0(PipesimArena, 1);
}

PIPESIM_FREES(PipesimArena, pipesim_arena_free, arena)
{
	g_slist_free_full(arena->blocks, g_free);
	g_free(arena);
}

/* The first aligned byte of a new block with room for @length bytes from there; 0 all. */
static char *add_block(PipesimArena *arena, gsize length)
{
	char *block = g_try_malloc0(ALIGNMENT + length);

	if (block == NULL)
		return NULL;
	arena->blocks = g_slist_prepend(arena->blocks, block);
	return block + (ALIGNMENT - (uintptr_t)block % ALIGNMENT) % ALIGNMENT;
}

gpointer pipesim_arena_take(PipesimArena *arena, gsize n, gsize size)
{
	gsize length;
	char *taken;

	if (arena->failed || __builtin_mul_overflow(n, size, &length) ||
		length > G_MAXSIZE / 2) {
		arena->failed = TRUE;
		return NULL;
	}
	length = (MAX(length, 1u) + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
	if (length > BLOCK / 4) {
		taken = add_block(arena, length);
	} else {
		if (length > (gsize)(arena->end - arena->at)) {
			arena->at = add_block(arena, BLOCK);
			arena->end = arena->at != NULL ? arena->at + BLOCK : NULL;
		}
		taken = arena->at;
		if (taken != NULL)
			arena->at += length;
	}
	arena->failed = taken == NULL;
	return taken;
}

gpointer pipesim_arena_large(PipesimArena *arena, gsize n, gsize size)
{
	gpointer taken = arena->failed ? NULL : pipesim_try_large(n, size);

	arena->failed = taken == NULL;
	if (taken != NULL)
		arena->blocks = g_slist_prepend(arena->blocks, taken);
	return taken;
}

gboolean pipesim_arena_check(const PipesimArena *arena, GError **error, const char *what, ...)
{
	va_list args;

	if (!arena->failed)
		return TRUE;
	va_start(args, what);
	g_autofree char *text = g_strdup_vprintf(what, args);
	va_end(args);
	return pipesim_fail(error, PIPESIM_ERROR_LIMIT, "%s do not fit in memory", text);
}
