/* FNV-1a of 32 bits (Fowler, Noll and Vo): for tables and for telling apart, not
 * against malice. Start with PIPESIM_HASH_START, then add. */
#pragma once
#include <glib.h>

#define PIPESIM_HASH_START 2166136261u

/** pipesim_hash_add: @hash with one @value more: a byte, as FNV has it, or a whole word. */
static inline guint32 pipesim_hash_add(guint32 hash, guint32 value)
{
	return (hash ^ value) * 16777619u;
}

/** pipesim_hash_bytes: of @length bytes at @data. */
static inline guint32 pipesim_hash_bytes(gconstpointer data, gsize length)
{
	const guint8 *bytes = data;
	guint32 hash = PIPESIM_HASH_START;

	for (gsize i = 0; i < length; i++)
		hash = pipesim_hash_add(hash, bytes[i]);
	return hash;
}
