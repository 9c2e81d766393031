#include "base/large.h"

#ifdef __GLIBC__
#include <malloc.h>
#endif
#include <stdint.h>
#include <sys/mman.h>

#define PAGE ((gsize)2 << 20)
/* Just so much that the heap gives it. */
#define HEAP ((gsize)31 << 20)

gpointer pipesim_try_large(gsize n, gsize size)
{
	void *data = NULL;
	gsize bytes;

	if (__builtin_mul_overflow(n, size, &bytes))
		return NULL;
	if (bytes < 2 * PAGE)
		return g_try_malloc(MAX(bytes, 1));
	/* GLib's memory is malloc()'s: g_free() takes it. */
	if (posix_memalign(&data, PAGE, bytes) != 0)
		return NULL;
#ifdef MADV_HUGEPAGE
	(void)madvise(data, bytes, MADV_HUGEPAGE); /* a wish: small pages do too */
#endif
	return data;
}

void pipesim_keep_heap(void)
{
#if defined(__GLIBC__) && defined(MADV_HUGEPAGE)
	/* It stays when it is given back: in large pages, behind what is left of a page. */
	char *heap = malloc(HEAP);

	if (heap != NULL)
		(void)madvise(
			heap + (PAGE - (uintptr_t)heap % PAGE), HEAP - PAGE, MADV_HUGEPAGE);
	free(heap);
#endif
}

void pipesim_keep_memory(void)
{
#ifdef __GLIBC__
	/* Arrays of up to the largest size allowed come from the heap, and its end stays. */
	(void)mallopt(M_MMAP_THRESHOLD, 32 << 20);
	(void)mallopt(M_TRIM_THRESHOLD, 256 << 20);
	pipesim_keep_heap();
#endif
}
