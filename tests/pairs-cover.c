#include "pairs-cover.h"
#include <string.h>

typedef struct {
	const Item *items;
	guint n_items;
	gboolean each_refused;
	PairsRun run;
	gpointer data;
	guint8 *covered; /* by pair */
	guint8 *apart;   /* by pair: not to be run in company; on the diagonal: refused alone */
	char **why;      /* by item: what is said of it alone */
	GArray *refused; /* Row: as a whole, though each of its pairs may be taken */
} Work;

typedef struct {
	guint n, items[PAIRS_MOST];
} Row;

static guint8 *pair_of(guint8 *of, const Work *work, guint a, guint b)
{
	return &of[MIN(a, b) * work->n_items + MAX(a, b)];
}

static gboolean has_item(const guint *row, guint n, guint item)
{
	for (guint i = 0; i < n; i++)
		if (row[i] == item)
			return TRUE;
	return FALSE;
}

static gboolean goes_along(const Work *work, const guint *row, guint n, guint item)
{
	const Item *items = work->items;

	for (guint i = 0; i < n; i++)
		if (items[row[i]].option == items[item].option ||
			*pair_of(work->apart, work, row[i], item))
			return FALSE;
	for (guint r = 0; r < work->refused->len; r++) {
		const Row *refused = &g_array_index(work->refused, Row, r);
		guint found = 0;

		for (guint i = 0; i < refused->n; i++)
			found += refused->items[i] == item ||
				 has_item(row, n, refused->items[i]);
		if (found == refused->n && has_item(refused->items, refused->n, item))
			return FALSE;
	}
	return !*pair_of(work->apart, work, item, item);
}

static guint gain_of(const Work *work, const guint *row, guint n, guint item)
{
	guint gain = 0;

	if (!work->items[item].paired)
		return 0;
	for (guint i = 0; i < n; i++)
		gain += !*pair_of(work->covered, work, row[i], item);
	return gain;
}

/* Adds to @row, greedily, what shows most pairs that were not seen; of equals what comes first from @from on. */
static guint extend(const Work *work, guint *row, guint n, guint from)
{
	while (n < PAIRS_MOST) {
		guint best = 0, best_gain = 0;

		for (guint i = 0; i < work->n_items; i++) {
			const guint item = (from + i) % work->n_items;
			const guint gain = gain_of(work, row, n, item);

			if (gain > best_gain && goes_along(work, row, n, item)) {
				best = item;
				best_gain = gain;
			}
		}
		if (best_gain == 0)
			break;
		row[n++] = best;
	}
	return n;
}

static void cover(Work *work, const guint *row, guint n)
{
	for (guint i = 0; i < n; i++)
		for (guint j = i + 1; j < n; j++)
			*pair_of(work->covered, work, row[i], row[j]) = TRUE;
}

static guint without(const guint *row, guint n, guint item, guint *rest)
{
	guint left = 0;

	for (guint i = 0; i < n; i++)
		if (row[i] != item)
			rest[left++] = row[i];
	return left;
}

static gboolean sets(const Work *work, guint item, const char *option)
{
	const char *words = work->items[item].words;
	const char *at = strstr(words, option);
	const char after = at != NULL ? at[strlen(option)] : 'x';

	return after == '=' || after == ' ' || after == '\0';
}

/* The options that @why names, "--pp" and so on. */
static GPtrArray *named_options(const char *why)
{
	GPtrArray *names = g_ptr_array_new_with_free_func(g_free);

	for (const char *at = strstr(why, "--"); at != NULL; at = strstr(at, "--")) {
		const gsize n = 2 + strspn(at + 2, "abcdefghijklmnopqrstuvwxyz-");
		g_autofree char *name = g_strndup(at, n);

		if (n > 3 && !g_ptr_array_find_with_equal_func(names, name, g_str_equal, NULL))
			g_ptr_array_add(names, g_steal_pointer(&name));
		at += n;
	}
	return names;
}

/* A pair of @row, which the program refuses as @why, that sets two options of which @why speaks. */
static gboolean find_named(
	const Work *work, const guint *row, guint n, GPtrArray *names, guint pair[2])
{
	for (guint i = 0; i < n; i++)
		for (guint j = 0; j < n; j++)
			for (guint a = 0; i != j && a < names->len; a++)
				for (guint b = a + 1; b < names->len; b++)
					if (sets(work, row[i], names->pdata[a]) &&
						sets(work, row[j], names->pdata[b]) &&
						!*pair_of(
							work->covered, work, row[i], row[j])) {
						pair[0] = row[i];
						pair[1] = row[j];
						return TRUE;
					}
	return FALSE;
}

/* Other pairs that set the same two options are likely to be refused too: they run by themselves. */
static void keep_alike_apart(Work *work, guint a, guint b, GPtrArray *names)
{
	for (guint x = 0; x < names->len; x++)
		for (guint y = 0; y < names->len; y++) {
			if (x == y || !sets(work, a, names->pdata[x]) ||
				!sets(work, b, names->pdata[y]) ||
				sets(work, a, names->pdata[y]) ||
				sets(work, b, names->pdata[x]))
				continue;
			for (guint i = 0; i < work->n_items; i++)
				for (guint j = 0; j < work->n_items; j++)
					if (i != j && sets(work, i, names->pdata[x]) &&
						sets(work, j, names->pdata[y]) &&
						!*pair_of(work->covered, work, i, j))
						*pair_of(work->apart, work, i, j) = TRUE;
		}
}

/* Takes out of @row, which is refused, what does not matter for that. Returns how many are left. */
static guint reduce(Work *work, guint *row, guint n)
{
	guint all[PAIRS_MOST], rest[PAIRS_MOST];

	memcpy(all, row, n * sizeof *row);
	for (guint i = n; n > 2 && i-- > 0;) {
		const guint left = without(row, n, all[i], rest);

		if (work->run(work->data, rest, left, NULL)) {
			cover(work, rest, left);
			continue;
		}
		memcpy(row, rest, left * sizeof *row);
		n = left;
	}
	return n;
}

/* Whether the program takes the pair. */
static gboolean show_two(Work *work, guint a, guint b)
{
	const guint row[] = {a, b};
	g_autofree char *why = NULL;
	g_autoptr(GPtrArray) names = NULL;

	if (*pair_of(work->covered, work, a, b))
		return TRUE;
	*pair_of(work->covered, work, a, b) = TRUE;
	if (work->run(work->data, row, 2, &why))
		return TRUE;
	*pair_of(work->apart, work, a, b) = TRUE;
	names = named_options(why);
	keep_alike_apart(work, a, b, names);
	return FALSE;
}

/* Runs @row; where it is refused, what of it is to blame is known afterwards. */
static void show_row(Work *work, guint *row, guint n)
{
	g_autofree char *why = NULL;
	g_autoptr(GPtrArray) names = NULL;
	guint pair[2];
	Row refused;

	if (work->run(work->data, row, n, &why)) {
		cover(work, row, n);
		return;
	}
	names = named_options(why);
	while (find_named(work, row, n, names, pair))
		if (!show_two(work, pair[0], pair[1]))
			return;
	n = reduce(work, row, n);
	if (n == 2) {
		*pair_of(work->covered, work, row[0], row[1]) = TRUE;
		*pair_of(work->apart, work, row[0], row[1]) = TRUE;
		return;
	}
	refused.n = n;
	memcpy(refused.items, row, n * sizeof *row);
	g_array_append_val(work->refused, refused);
	for (guint i = 0; i < n; i++)
		for (guint j = i + 1; j < n; j++)
			show_two(work, row[i], row[j]);
}

/* Adds to @row, whose first item is the reason for a refusal, others that it has not been run with, and that are
 * @apart from it or are not. */
static guint gather(const Work *work, guint *row, guint n, gboolean apart)
{
	for (guint item = 0; item < work->n_items && n < PAIRS_MOST; item++)
		if (work->items[item].option != work->items[row[0]].option &&
			gain_of(work, row, 1, item) > 0 &&
			!*pair_of(work->apart, work, row[0], item) == !apart &&
			goes_along(work, row + 1, n - 1, item))
			row[n++] = item;
	return n;
}

/* Whether @why speaks of an option that the first of @row sets alone, and of another that each of the rest sets. */
static gboolean blames_first(const Work *work, const guint *row, guint n, const char *why)
{
	g_autoptr(GPtrArray) names = named_options(why);

	for (guint a = 0; a < names->len; a++) {
		gboolean first = sets(work, row[0], names->pdata[a]);

		for (guint i = 1; i < n; i++)
			first &= !sets(work, row[i], names->pdata[a]);
		for (guint b = 0; first && b < names->len; b++) {
			guint rest = 0;

			for (guint i = 1; b != a && i < n; i++)
				rest += sets(work, row[i], names->pdata[b]);
			if (rest == n - 1)
				return TRUE;
		}
	}
	return FALSE;
}

/* Several pairs that are likely to be refused for the sake of @a, as one run. */
static void show_refusals(Work *work, guint a, guint b)
{
	const gboolean alone = *pair_of(work->apart, work, a, a);
	guint row[PAIRS_MOST] = {a, b}, other[PAIRS_MOST] = {b, a};
	guint n = 2, m = 2;
	g_autofree char *why = NULL;

	if (alone ? !*pair_of(work->apart, work, b, b) && !*pair_of(work->apart, work, a, b)
		  : !*pair_of(work->apart, work, b, b))
		n = gather(work, row, n, !alone);
	if (!alone && n < PAIRS_MOST && !*pair_of(work->apart, work, b, b))
		m = gather(work, other, m, TRUE);
	if (m > n) {
		memcpy(row, other, sizeof row);
		n = m;
	}
	if (work->each_refused || n == 2) {
		show_two(work, a, b);
		return;
	}
	const gboolean taken = work->run(work->data, row, n, &why);
	for (guint i = 1; i < n; i++)
		if (!taken && (alone ? strcmp(why, work->why[a]) == 0
				     : blames_first(work, row, n, why))) {
			*pair_of(work->covered, work, row[0], row[i]) = TRUE;
			*pair_of(work->apart, work, row[0], row[i]) = TRUE;
		} else {
			show_two(work, row[0], row[i]);
		}
}

static void show_pair(Work *work, guint a, guint b)
{
	while (!*pair_of(work->covered, work, a, b)) {
		guint row[PAIRS_MOST] = {a, b};
		guint n = 2;

		if (*pair_of(work->apart, work, b, b))
			show_refusals(work, b, a);
		else if (*pair_of(work->apart, work, a, a) || *pair_of(work->apart, work, a, b))
			show_refusals(work, a, b);
		else if ((n = extend(work, row, n, 0)) == 2)
			show_two(work, a, b);
		else
			show_row(work, row, n);
	}
}

/* The value in company, if it may have any; not of the same for all. */
static void show_company(Work *work, guint value)
{
	guint row[PAIRS_MOST] = {value};

	if (!work->items[value].paired && !*pair_of(work->apart, work, value, value))
		work->run(work->data, row, extend(work, row, 1, value), NULL);
}

/* Whether both set one option, to different values: what only one of them goes with is then refused. */
static gboolean disagree(const char *a, const char *b)
{
	g_auto(GStrv) left = g_strsplit(a, " ", 0);
	g_auto(GStrv) right = g_strsplit(b, " ", 0);

	for (guint i = 0; left[i] != NULL; i++)
		for (guint j = 0; right[j] != NULL; j++) {
			const gsize n = strcspn(left[i], "=");

			if (g_str_has_prefix(left[i], "--") &&
				strncmp(left[i], right[j], n + 1) == 0 &&
				strcmp(left[i], right[j]) != 0)
				return TRUE;
		}
	return FALSE;
}

/* Whether the pair is not to be shown. */
static gboolean is_left_out(const Work *work, guint a, guint b)
{
	const guint of = MIN(work->items[a].left_out, work->items[b].left_out);

	return of > 0 && (of == G_MAXUINT || (a + b) % (of + 1) != 0);
}

static void begin_pairs(Work *work)
{
	const Item *items = work->items;
	const guint n = work->n_items;

	for (guint i = 0; i < n; i++)
		for (guint j = i + 1; j < n; j++) {
			*pair_of(work->apart, work, i, j) =
				disagree(items[i].words, items[j].words);
			*pair_of(work->covered, work, i, j) = is_left_out(work, i, j);
		}
}

static gboolean is_pair(const Work *work, guint a, guint b)
{
	const Item *items = work->items;

	return items[a].paired && items[b].paired && items[a].option != items[b].option &&
	       !is_left_out(work, a, b);
}

void cover_pairs(
	const Item *items, guint n_items, gboolean each_refused, PairsRun run, gpointer data)
{
	const gsize pairs = (gsize)n_items * n_items;
	g_autofree guint8 *covered = g_malloc0(pairs);
	g_autofree guint8 *apart = g_malloc0(pairs);
	g_auto(GStrv) why = g_new0(char *, n_items + 1);
	g_autoptr(GArray) refused = g_array_new(FALSE, FALSE, sizeof(Row));
	Work all = {items, n_items, each_refused, run, data, covered, apart, why, refused};
	Work *work = &all;

	begin_pairs(work);
	for (guint i = 0; i < n_items; i++) {
		*pair_of(apart, work, i, i) = !run(data, &i, 1, &why[i]);
		if (why[i] == NULL)
			why[i] = g_strdup("");
	}
	for (guint i = 0; i < n_items; i++)
		for (guint j = i + 1; j < n_items; j++)
			if (is_pair(work, i, j))
				show_pair(work, i, j);
	for (guint i = 0; i < n_items; i++)
		show_company(work, i);
}
