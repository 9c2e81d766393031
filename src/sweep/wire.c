#include "sweep/wire.h"

/* In front of the results. Behind them stands the error of each, "" where it has none, with its
 * NUL. */
typedef struct {
	guint64 first;
	guint32 n_points, width;
} Head;

GByteArray *pipesim_wire_pack(const PipesimSweepBlock *block)
{
	GByteArray *bytes = g_byte_array_new();

	if (block == NULL)
		return bytes;
	Head head = (Head){block->first, block->n_points, block->width};
	gsize n = (gsize)head.n_points * head.width;
	g_byte_array_append(bytes, (const guint8 *)&head, sizeof head);
	g_byte_array_append(
		bytes, (const guint8 *)block->results, (guint)(n * sizeof *block->results));
	for (gsize i = 0; i < n; i++) {
		const char *error = block->results[i].error;

		g_byte_array_append(bytes, (const guint8 *)(error != NULL ? error : ""),
			error != NULL ? (guint)strlen(error) + 1 : 1);
	}
	return bytes;
}

/* The texts are pointers of the other process until they are replaced. */
static gboolean take_errors(PipesimSweepBlock *block, const guint8 *at, const guint8 *end)
{
	const gsize n = (gsize)block->n_points * block->width;

	for (gsize i = 0; i < n; i++)
		block->results[i].error = NULL;
	for (gsize i = 0; i < n; i++) {
		const guint8 *stop = memchr(at, '\0', (gsize)(end - at));

		if (stop == NULL)
			return FALSE;
		if (stop > at)
			block->results[i].error = g_strdup((const char *)at);
		at = stop + 1;
	}
	return at == end;
}

PipesimSweepBlock *pipesim_wire_unpack(const guint8 *bytes, gsize length, GError **error)
{
	g_autoptr(PipesimSweepBlock) block = NULL;
	gsize size;
	Head head;

	if (length == 0)
		return NULL;
	if (length >= sizeof head) {
		memcpy(&head, bytes, sizeof head);
		size = (gsize)head.n_points * head.width * sizeof *block->results;
		if (length - sizeof head >= size) {
			block = pipesim_sweep_block_new(head.first, head.n_points, head.width);
			memcpy(block->results, bytes + sizeof head, size);
			if (take_errors(block, bytes + sizeof head + size, bytes + length))
				return g_steal_pointer(&block);
		}
	}
	return pipesim_fail_null(error, PIPESIM_ERROR_EXTERNAL,
		"another process of the sweep sent %" G_GSIZE_FORMAT
		" bytes that are no results; run the same pipesim on all machines",
		length);
}
