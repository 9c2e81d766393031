#include "base/distance.h"

guint pipesim_distance(const char *a, const char *b)
{
	const gsize n = strlen(b);
	g_autofree guint *row = g_new(guint, n + 1);

	for (gsize j = 0; j <= n; j++)
		row[j] = (guint)j;
	for (gsize i = 1; *a != '\0'; a++, i++) {
		guint diagonal = row[0];

		row[0] = (guint)i;
		for (gsize j = 1; j <= n; j++) {
			const guint change =
				diagonal + (g_ascii_tolower(*a) != g_ascii_tolower(b[j - 1]));

			diagonal = row[j];
			row[j] = MIN(change, MIN(row[j], row[j - 1]) + 1);
		}
	}
	return row[n];
}

void pipesim_nearer(const char *word, const char *name, guint *least, const char **best)
{
	const guint distance = pipesim_distance(name, word);

	if (distance < *least) {
		*least = distance;
		*best = name;
	}
}
