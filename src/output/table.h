/* Aligned columns of text under one or two lines of titles. */
#pragma once
#include "output/output.h"

/* What a page of a design document takes, columns. */
#define TABLE_WIDTH 100

/* Neighbours with the same group share its title, centred over them. */
typedef struct {
	const char *group; /* upper line; may be NULL */
	const char *title; /* lower line */
	gboolean left;     /* aligned left; else right */
} PipesimColumn;

/* Terminal attributes of a row; only where the style has colour. */
typedef enum {
	PIPESIM_ROW_PLAIN,
	PIPESIM_ROW_BEST,
	PIPESIM_ROW_FAINT,
	PIPESIM_ROW_FAILED, /* what cannot be */
} PipesimRowLook;

typedef struct _PipesimTable PipesimTable;

/** pipesim_table_new: @columns are copied, their titles must outlive the table. */
PipesimTable *pipesim_table_new(const PipesimColumn *columns, guint n_columns);
PIPESIM_FREED(PipesimTable, pipesim_table_free)

/** pipesim_table_of: of columns by their @titles: "  rank<|static:param.|static:grad.", a group before ':', and
 * '<' behind what is aligned left. */
PipesimTable *pipesim_table_of(const char *titles);

/** pipesim_table_row: a row of what is printed, a tab between two cells; an empty one is a blank. */
void pipesim_table_row(PipesimTable *table, PipesimRowLook look, const char *format, ...)
	G_GNUC_PRINTF(3, 4);

/** pipesim_table_add: a row of @n_columns cells, which become the table's. NULL is a blank;
 * a column without any cell is not shown. */
void pipesim_table_add(PipesimTable *table, PipesimRowLook look, char **cells);

/** pipesim_table_add_text: a row of one cell and @text, wrapped over the width of the others.
 */
void pipesim_table_add_text(
	PipesimTable *table, PipesimRowLook look, const char *first, const char *text);

/** pipesim_table_width: columns that the rows of cells and the titles take. */
guint pipesim_table_width(const PipesimTable *table);

/** pipesim_table_has_groups: whether the upper line of titles has any; else it is empty. */
gboolean pipesim_table_has_groups(const PipesimTable *table);

/** pipesim_table_look: what follows in @out looks so, where the style has colour. */
void pipesim_table_look(const PipesimStyle *style, PipesimRowLook look, GString *out);

/** pipesim_table_json: the member @key: titles and cells of the columns that are shown, as texts. NULL: null. */
void pipesim_table_json(const PipesimTable *table, const char *key, PipesimJson *json);

/** pipesim_table_print: wrapped text keeps to @width. Of more rows than @most the last are left out; returns
 * how many. */
guint pipesim_table_print(const PipesimTable *table, guint width, guint most,
	const PipesimStyle *style, GString *out);

/** pipesim_wrap: appends @text as lines, broken at blanks before column @width.
 * @indent: blanks before each line but the first
 * @column: where the first line already stands */
void pipesim_wrap(GString *out, const char *text, guint indent, guint column, guint width);

/** pipesim_wrap_all: the same of each of @lines (nullable), of char *, which go on two columns in. */
void pipesim_wrap_all(GString *out, const GPtrArray *lines, guint width);
