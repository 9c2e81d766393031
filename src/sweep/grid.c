#include "sweep/grid.h"

#define MAX_POINTS (G_GUINT64_CONSTANT(1) << 40)
#define MAX_VALUES 1000000

/* A number times 10^9: exact for 9 decimals, and wide enough for bytes. */
__extension__ typedef __int128 Nano;
#define DECIMALS 9
#define ONE      ((Nano)1000000000)
#define MOST     ((Nano)G_MAXINT64 * ONE)

/* The value of an option: texts with a swept number between each two of them. */
typedef struct {
	char *name;
	GPtrArray *texts; /* of char *: one more than it has axes */
	guint first;      /* of its axes */
} Option;

PIPESIM_DESTROYS(Option, free_option, option)
{
	g_ptr_array_unref(option->texts);
	pipesim_free_all(option->name, option);
}

PIPESIM_DESTROYS(PipesimAxis, free_axis, axis)
{
	g_ptr_array_unref(axis->values);
	pipesim_free_all(axis->name, axis->column, axis->unit, axis);
}

PipesimGrid *pipesim_grid_new(void)
{
	PipesimGrid *grid = g_new0(PipesimGrid, 1);

	grid->options = g_ptr_array_new_with_free_func(free_option);
	grid->axes = g_ptr_array_new_with_free_func(free_axis);
	grid->points = 1;
	return grid;
}

PIPESIM_FREES(PipesimGrid, pipesim_grid_free, grid)
{
	g_ptr_array_unref(grid->options);
	g_ptr_array_unref(grid->axes);
	g_free(grid);
}

/* Ranges --------------------------------------------------------------------------------- */

static gboolean parse_number(const char *text, Nano *out)
{
	const gsize length = strlen(text);
	PipesimDecimal number;

	if (length == 0 || strspn(text, "0123456789.") < length ||
		pipesim_decimal_read(text, length, &number) < length ||
		number.decimals > DECIMALS)
		return FALSE;
	*out = number.digits;
	for (gint i = number.decimals; i < DECIMALS && *out <= MOST; i++)
		*out *= 10;
	return *out <= MOST;
}

/* Without zeros behind the point. */
static char *print_number(Nano value)
{
	gint64 whole = (gint64)(value / ONE), rest = (gint64)(value % ONE);
	int decimals = DECIMALS;

	for (; rest != 0 && rest % 10 == 0; rest /= 10)
		decimals--;
	if (rest == 0)
		return g_strdup_printf("%" G_GINT64_FORMAT, whole);
	return g_strdup_printf(
		"%" G_GINT64_FORMAT ".%0*" G_GINT64_FORMAT, whole, decimals, rest);
}

gboolean pipesim_range_expand(
	const char *text, const char *what, GPtrArray *values, GError **error)
{
	g_auto(GStrv) parts = g_strsplit(text, ":", 3);
	const guint n = g_strv_length(parts);
	const char *step = n == 3 ? parts[2] : "+1";
	const gboolean multiply = step[0] == '*';
	Nano from, to, by;

	if (n == 0 || !parse_number(parts[0], &from) || (n > 1 && !parse_number(parts[1], &to)))
		return pipesim_refuse(error,
			"%s: '%s' is no number or range; write 8, 4:64:*2 or 1:2:0.25", what,
			text);
	if (n == 1)
		to = from;
	/* A number that does not grow never comes to the end. */
	if (!parse_number(multiply || step[0] == '+' ? step + 1 : step, &by) ||
		by <= (multiply ? ONE : 0))
		return pipesim_refuse(error,
			"%s: '%s' is no step; more than 0, or '*' and more than 1", what, step);
	if (to < from)
		return pipesim_refuse(
			error, "%s: range '%s' ends before it begins", what, text);
	if (multiply && from == 0)
		return pipesim_refuse(
			error, "%s: range '%s' multiplies 0; start above 0", what, text);
	for (Nano value = from; value <= to;) {
		if (values->len == MAX_VALUES)
			return pipesim_refuse(error,
				"%s: more than %d values; take larger steps", what, MAX_VALUES);
		g_ptr_array_add(values, print_number(value));
		if (multiply)
			value = MAX(value + 1,
				(value / ONE) * by + ((value % ONE) * by + ONE / 2) / ONE);
		else
			value += by;
	}
	return TRUE;
}

/* Options -------------------------------------------------------------------------------- */

/* Which number of the list @value, "1,1:2,3", the one at @at is; -1 where that is no list of numbers alone. */
static int place_in_list(const char *value, const char *at)
{
	int place = 0;

	if (strchr(value, ',') == NULL || strpbrk(value, "=;") != NULL)
		return -1;
	for (const char *c = value; c < at; c++)
		place += *c == ',';
	return place;
}

/* What stands @before the swept numbers, from the end of those before them, and the @items. @place: of the
 * numbers in a list, or -1. */
static gboolean add_axis(PipesimGrid *grid, Option *option, const char *before,
	const char *items, gsize length, int place, GError **error)
{
	PipesimAxis *axis = g_new0(PipesimAxis, 1);
	char *text = g_strndup(before, (gsize)(items - before));
	/* An empty text splits into nothing: let it be an empty number, which is refused. */
	g_autofree char *list = length > 0 ? g_strndup(items, length) : g_strdup(" ");
	g_auto(GStrv) parts = g_strsplit_set(list, ",/", -1);
	GString *name = g_string_new(option->name + strlen("--"));
	const char *begin, *equals = strrchr(text, '=');
	const char *behind = items + length;
	g_autofree char *unit = g_strstrip(g_strndup(behind, strcspn(behind, ",+")));
	char *slash = strchr(unit, '/');

	g_ptr_array_add(option->texts, text);
	g_ptr_array_add(grid->axes, axis);
	/* "--slow-rank" with "3=" before the number: slow_rank_3; the last name before the number. */
	if (equals != NULL) {
		for (begin = equals; begin > text && strchr(",;", begin[-1]) == NULL;)
			begin--;
		g_string_append_c(name, '_');
		g_string_append_len(name, begin, equals - begin);
	}
	if (place >= 0)
		g_string_append_printf(name, "_%d", place);
	g_strdelimit(name->str, "-", '_');
	axis->name = g_strdup(name->str);
	/* The unit behind swept numbers: "GB" of "4/8GB+1GB", or nothing. As names of columns have no
	 * slashes it is "GB_per_s" of "GB/s". */
	if (slash != NULL)
		*slash = '\0';
	if (g_ascii_isalpha(unit[0]))
		g_string_append_printf(name, "_%s%s%s", unit, slash != NULL ? "_per_" : "",
			slash != NULL ? slash + 1 : "");
	axis->column = g_string_free(name, FALSE);
	axis->values = g_ptr_array_new_with_free_func(g_free);
	for (char **part = parts; *part != NULL; part++)
		if (!pipesim_range_expand(g_strstrip(*part), option->name, axis->values, error))
			return FALSE;
	grid->points *= axis->values->len;
	return grid->points <= MAX_POINTS ||
	       pipesim_refuse(error,
		       "more than %" G_GUINT64_FORMAT " points; sweep fewer numbers",
		       MAX_POINTS);
}

/* How much of @text is swept: numbers with slashes or colons between them; a star or plus only
 * behind a colon. 0 for a single number. */
static gsize swept_length(const char *text)
{
	gboolean swept = FALSE;
	gsize i = 0;

	for (; text[i] != '\0' &&
		(g_ascii_isdigit(text[i]) || strchr(".:/*+", text[i]) != NULL);
		i++) {
		if ((text[i] == '*' || text[i] == '+') && (i == 0 || text[i - 1] != ':'))
			break;
		swept |= text[i] == ':' || text[i] == '/';
	}
	return swept ? i : 0;
}

gboolean pipesim_grid_add(
	PipesimGrid *grid, const char *name, const char *text, gboolean plain, GError **error)
{
	Option *option = g_new0(Option, 1);
	const char *before = text; /* begins behind the last swept number */

	option->name = g_strdup(name);
	option->texts = g_ptr_array_new_with_free_func(g_free);
	option->first = grid->axes->len;
	g_ptr_array_add(grid->options, option);
	if (plain) {
		if (!add_axis(grid, option, text, text, strlen(text), -1, error))
			return FALSE;
		before = text + strlen(text);
	}
	for (const char *at = before; *at != '\0';) {
		/* At the start, or behind a sign that ends a name or another number. */
		const gboolean begins = at == text || strchr("=,+", at[-1]) != NULL;
		const gsize length = begins ? swept_length(at) : 0;

		if (length > 0) {
			if (!add_axis(grid, option, before, at, length, place_in_list(text, at),
				    error))
				return FALSE;
			before = at + length;
		}
		at += MAX(length, 1);
	}
	g_ptr_array_add(option->texts, g_strdup(before));
	for (guint i = option->first; i < grid->axes->len; i++) {
		PipesimAxis *axis = g_ptr_array_index(grid->axes, i);
		const char *behind = g_ptr_array_index(option->texts, i - option->first + 1);

		axis->unit = g_strndup(behind, strcspn(behind, ",+="));
	}
	return TRUE;
}

/* Points --------------------------------------------------------------------------------- */

const PipesimAxis *pipesim_grid_axis(const PipesimGrid *grid, guint axis)
{
	return g_ptr_array_index(grid->axes, axis);
}

const char *pipesim_grid_value(const PipesimGrid *grid, guint64 point, guint axis)
{
	const GPtrArray *values = pipesim_grid_axis(grid, axis)->values;

	for (guint later = grid->axes->len; later-- > axis + 1;)
		point /= pipesim_grid_axis(grid, later)->values->len;
	return g_ptr_array_index(values, point % values->len);
}

char *pipesim_grid_text(const PipesimGrid *grid, const char *name, guint64 point)
{
	const Option *option = NULL;

	for (guint i = 0; i < grid->options->len && option == NULL; i++) {
		option = g_ptr_array_index(grid->options, i);
		if (strcmp(option->name, name) != 0)
			option = NULL;
	}
	if (option == NULL)
		return NULL;
	GString *text = g_string_new(option->texts->pdata[0]);
	for (guint i = 1; i < option->texts->len; i++) {
		g_string_append(text, pipesim_grid_value(grid, point, option->first + i - 1));
		g_string_append(text, option->texts->pdata[i]);
	}
	return g_string_free(text, FALSE);
}
