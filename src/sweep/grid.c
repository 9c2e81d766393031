#include "config.h"

#include "sweep/grid.h"
#include "sweep/range.h"
#include <string.h>

#define MAX_POINTS (G_GUINT64_CONSTANT(1) << 40)

/* A stretch of an option's value: as it stands, or a swept number. */
typedef struct {
	char *literal; /* NULL: the value of @axis */
	guint axis;
} Piece;

typedef struct {
	char *name;
	GArray *pieces;
} Option;

struct _PipesimGrid {
	GPtrArray *options, *axes;
	guint64 points;
};

static void free_piece(gpointer data)
{
	g_free(((Piece *)data)->literal);
}

static void free_option(gpointer data)
{
	Option *option = data;

	g_free(option->name);
	g_array_unref(option->pieces);
	g_free(option);
}

static void free_axis(gpointer data)
{
	PipesimAxis *axis = data;

	g_free(axis->name);
	g_ptr_array_unref(axis->values);
	g_free(axis);
}

PipesimGrid *pipesim_grid_new(void)
{
	PipesimGrid *grid = g_new0(PipesimGrid, 1);

	grid->options = g_ptr_array_new_with_free_func(free_option);
	grid->axes = g_ptr_array_new_with_free_func(free_axis);
	grid->points = 1;
	return grid;
}

void pipesim_grid_free(PipesimGrid *grid)
{
	if (grid == NULL)
		return;
	g_ptr_array_unref(grid->options);
	g_ptr_array_unref(grid->axes);
	g_free(grid);
}

/* Parsing -------------------------------------------------------------------------------- */

typedef struct {
	PipesimGrid *grid;
	Option *option;
	GString *literal; /* what stands before the next swept number */
	GError **error;
} Parser;

/* "--slow-rank" with "3=" before the number: slow_rank_3; the last name before the number. */
static char *name_axis(const Parser *parser)
{
	GString *name = g_string_new(parser->option->name + strlen("--"));
	const char *text = parser->literal->str;
	const char *begin, *equals = strrchr(text, '=');

	if (equals != NULL) {
		for (begin = equals; begin > text && strchr(",;", begin[-1]) == NULL;)
			begin--;
		g_string_append_c(name, '_');
		g_string_append_len(name, begin, equals - begin);
	}
	g_strdelimit(name->str, "-", '_');
	return g_string_free(name, FALSE);
}

static void end_literal(Parser *parser)
{
	Piece piece = {NULL, 0};

	if (parser->literal->len == 0)
		return;
	piece.literal = g_strdup(parser->literal->str);
	g_array_append_val(parser->option->pieces, piece);
	g_string_truncate(parser->literal, 0);
}

static gboolean add_axis(Parser *parser, const char *items, gsize length)
{
	PipesimGrid *grid = parser->grid;
	PipesimAxis *axis = g_new0(PipesimAxis, 1);
	/* An empty text splits into nothing: let it be an empty number, which is refused. */
	g_autofree char *text = length > 0 ? g_strndup(items, length) : g_strdup(" ");
	g_auto(GStrv) parts = g_strsplit_set(text, ",/", -1);
	const Piece piece = {NULL, grid->axes->len};

	axis->name = name_axis(parser);
	axis->values = g_ptr_array_new_with_free_func(g_free);
	g_ptr_array_add(grid->axes, axis);
	for (char **part = parts; *part != NULL; part++)
		if (!pipesim_range_expand(g_strstrip(*part), parser->option->name, axis->values,
			    parser->error))
			return FALSE;
	end_literal(parser);
	g_array_append_val(parser->option->pieces, piece);
	grid->points *= axis->values->len;
	return grid->points <= MAX_POINTS ||
	       pipesim_fail(parser->error, PIPESIM_ERROR_USAGE,
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

/* At the start, or behind a sign that ends a name or another number. */
static gboolean number_may_begin(const char *text, const char *at)
{
	return at == text || strchr("=,+", at[-1]) != NULL;
}

static gboolean parse_text(Parser *parser, const char *text)
{
	const char *at = text;

	while (*at != '\0') {
		const gsize length = number_may_begin(text, at) ? swept_length(at) : 0;

		if (length > 0 && !add_axis(parser, at, length))
			return FALSE;
		if (length == 0)
			g_string_append_c(parser->literal, *at);
		at += MAX(length, 1);
	}
	end_literal(parser);
	return TRUE;
}

gboolean pipesim_grid_add(
	PipesimGrid *grid, const char *option, const char *text, gboolean plain, GError **error)
{
	Parser parser = {.grid = grid, .option = g_new0(Option, 1), .error = error};
	gboolean ok;

	parser.option->name = g_strdup(option);
	parser.option->pieces = g_array_new(FALSE, FALSE, sizeof(Piece));
	g_array_set_clear_func(parser.option->pieces, free_piece);
	g_ptr_array_add(grid->options, parser.option);
	parser.literal = g_string_new(NULL);
	ok = plain ? add_axis(&parser, text, strlen(text)) : parse_text(&parser, text);
	g_string_free(parser.literal, TRUE);
	return ok;
}

/* Points --------------------------------------------------------------------------------- */

guint pipesim_grid_axes(const PipesimGrid *grid)
{
	return grid->axes->len;
}

const PipesimAxis *pipesim_grid_axis(const PipesimGrid *grid, guint axis)
{
	return g_ptr_array_index(grid->axes, axis);
}

guint64 pipesim_grid_points(const PipesimGrid *grid)
{
	return grid->points;
}

guint pipesim_grid_index(const PipesimGrid *grid, guint64 point, guint axis)
{
	for (guint later = grid->axes->len; later-- > axis + 1;)
		point /= pipesim_grid_axis(grid, later)->values->len;
	return (guint)(point % pipesim_grid_axis(grid, axis)->values->len);
}

char *pipesim_grid_text(const PipesimGrid *grid, const char *option, guint64 point)
{
	for (guint i = 0; i < grid->options->len; i++) {
		const Option *candidate = g_ptr_array_index(grid->options, i);
		GString *text;

		if (strcmp(candidate->name, option) != 0)
			continue;
		text = g_string_new(NULL);
		for (guint k = 0; k < candidate->pieces->len; k++) {
			const Piece *piece = &g_array_index(candidate->pieces, Piece, k);
			const PipesimAxis *axis = piece->literal == NULL
							  ? pipesim_grid_axis(grid, piece->axis)
							  : NULL;

			g_string_append(text, axis == NULL
						      ? piece->literal
						      : g_ptr_array_index(axis->values,
								pipesim_grid_index(grid, point,
									piece->axis)));
		}
		return g_string_free(text, FALSE);
	}
	return NULL;
}
