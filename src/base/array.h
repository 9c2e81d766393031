/* Going through arrays, the order of what is in them, and freeing several at once. */
#pragma once
#include <glib.h>

/** pipesim_each: `pipesim_each (const Row, row, rows)` goes through the GArray @array of @type,
 * which the body leaves as long as it is. */
#define pipesim_each(type, item, array)            \
	for (type *item = (gpointer)(array)->data; \
		item != NULL && item != &g_array_index(array, type, (array)->len); item++)

/** pipesim_each_in: likewise through the GPtrArray @array of pointers to @type. */
#define pipesim_each_in(type, item, array)                                                     \
	for (type **item##_at = (gpointer)(array)->pdata, *item = NULL;                        \
		item##_at != NULL && item##_at != (gpointer)((array)->pdata + (array)->len) && \
		((item = *item##_at), TRUE);                                                   \
		item##_at++)

/** pipesim_each_of: `pipesim_each_of (op, program->rank_begin, rank)` goes through the numbers
 * of stretch @k, of stretches that follow each other and begin at @begin. */
#define pipesim_each_of(i, begin, k) for (guint32 i = (begin)[k]; i < (begin)[(k) + 1]; i++)

/** pipesim_each_rank_of: the same through all stretches below @n, of which @k is the one at hand. */
#define pipesim_each_rank_of(i, begin, k, n) \
	for (guint k = 0; k < (n); k++)      \
		pipesim_each_of (i, begin, k)

/** pipesim_any: whether @test, an expression with the number @i, is true for one below @n: asked from 0 on until it is;
 * pipesim_all: for each, until it is not; pipesim_any_of, pipesim_any_in: with @item as pipesim_each() and
 * pipesim_each_in() have it. */
#define pipesim_any(i, n, test)                \
	__extension__({                        \
		const gsize i##_end = (n);     \
		gsize i = 0;                   \
		while (i < i##_end && !(test)) \
			i++;                   \
		i < i##_end;                   \
	})
#define pipesim_all(i, n, test) (!pipesim_any(i, n, !(test)))
#define pipesim_any_by(each, type, item, array, test) \
	__extension__({                               \
		gboolean item##_is = FALSE;           \
		each(type, item, array) if (test)     \
		{                                     \
			item##_is = TRUE;             \
			break;                        \
		}                                     \
		item##_is;                            \
	})
#define pipesim_any_of(type, item, array, test) \
	pipesim_any_by(pipesim_each, type, item, array, test)
#define pipesim_any_in(type, item, array, test) \
	pipesim_any_by(pipesim_each_in, type, item, array, test)

/** pipesim_sum: of @term, an expression with the number @i, for all below @n, in their order. */
#define pipesim_sum(i, n, term)                     \
	__extension__({                             \
		const gsize i##_end = (n);          \
		gsize i = 0;                        \
		__typeof__((term) + 0) i##_sum = 0; \
		for (; i < i##_end; i++)            \
			i##_sum += (term);          \
		i##_sum;                            \
	})

/** pipesim_skip: makes @i the number of those below @n, from 0, for which @test, an expression with @i, is true: they
 * come before all others. By halving. */
#define pipesim_skip(i, n, test)                         \
	do {                                             \
		guint low_ = 0, high_ = (n);             \
		while (low_ < high_) {                   \
			(i) = low_ + (high_ - low_) / 2; \
			if (test)                        \
				low_ = (i) + 1;          \
			else                             \
				high_ = (i);             \
		}                                        \
		(i) = low_;                              \
	} while (0)

/** pipesim_free_all: g_free() of all that is given: looked at before any of it is freed, so that
 * what owns the others may stand behind them. */
#define pipesim_free_all(...)                         \
	pipesim_free_these((gpointer[]){__VA_ARGS__}, \
		sizeof((gpointer[]){__VA_ARGS__}) / sizeof(gpointer))
static inline void pipesim_free_these(const gpointer *all, gsize n)
{
	for (gsize i = 0; i < n; i++)
		g_free(all[i]);
}

/** PIPESIM_FREED: declares @free, which frees a @Type, for g_autoptr() too; PIPESIM_CLEARED:
 * @clear, which clears one, for g_auto(). */
#define PIPESIM_FREED(Type, free) \
	void free(Type *);        \
	G_DEFINE_AUTOPTR_CLEANUP_FUNC(Type, free)
#define PIPESIM_CLEARED(Type, clear) \
	void clear(Type *);          \
	G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(Type, clear)

/** PIPESIM_FREES: begins the function @free, which does nothing where there is no @Type: what stands behind it in
 * braces frees @one, that there is. */
#define PIPESIM_FREES(Type, free, one)       \
	static void free##_there(Type *one); \
	void free(Type *one)                 \
	{                                    \
		if (one != NULL)             \
			free##_there(one);   \
	}                                    \
	static void free##_there(Type *one)

/** PIPESIM_DESTROYS: the same of a function of this file that arrays and tables call by a GDestroyNotify. */
#define PIPESIM_DESTROYS(Type, free, one)    \
	static void free##_there(Type *one); \
	static void free(gpointer data)      \
	{                                    \
		if (data != NULL)            \
			free##_there(data);  \
	}                                    \
	static void free##_there(Type *one)

/** pipesim_compare: of two numbers, for qsort(): below 0 where @a is less. What is to go by
 * several joins them with ?: */
#define pipesim_compare(a, b) (((a) > (b)) - ((a) < (b)))

/** PIPESIM_COMPARE: defines the function @name, for qsort() and g_array_sort(): of two elements of
 * @type by @order, an expression with @x and @y; PIPESIM_COMPARE_OF: the same of pointers to
 * them, for g_ptr_array_sort(). */
#define PIPESIM_COMPARE(name, type, order)                \
	static int name(gconstpointer a, gconstpointer b) \
	{                                                 \
		const type *x = a, *y = b;                \
                                                          \
		return order;                             \
	}
#define PIPESIM_COMPARE_OF(name, type, order)                                          \
	static int name(gconstpointer a, gconstpointer b)                              \
	{                                                                              \
		const type *x = *(const type *const *)a, *y = *(const type *const *)b; \
                                                                                       \
		return order;                                                          \
	}

/** PIPESIM_COMPARE_AT: the same for g_qsort_with_data(), of two numbers of elements of @type, which are the data: those
 * that come to the same by their numbers. */
#define PIPESIM_COMPARE_AT(name, type, order)                           \
	static int name(gconstpointer a, gconstpointer b, gpointer all) \
	{                                                               \
		const type *x = (const type *)all + *(const guint *)a;  \
		const type *y = (const type *)all + *(const guint *)b;  \
                                                                        \
		return (order) ?: pipesim_compare(x, y);                \
	}

/** pipesim_by: there, the order of a member of both. */
#define pipesim_by(member) pipesim_compare(x->member, y->member)

/** pipesim_compare_int64: for qsort(), of gint64 in ascending order. */
static inline int pipesim_compare_int64(const void *a, const void *b)
{
	const gint64 x = *(const gint64 *)a, y = *(const gint64 *)b;

	return pipesim_compare(x, y);
}

/** pipesim_compare_double: the same of doubles, none of them NAN. */
static inline int pipesim_compare_double(const void *a, const void *b)
{
	const double x = *(const double *)a, y = *(const double *)b;

	return pipesim_compare(x, y);
}
