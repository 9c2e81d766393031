/* One screen of text, the same for all commands, the answer first: a line of what was asked, sentences that
 * decide, a small table, notes that change the decision, and how to see more. */
#pragma once
#include "output/table.h"

/* What a terminal shows without scrolling. */
#define PIPESIM_SCREEN_WIDTH 80
#define PIPESIM_SCREEN_LINES 36

/* Lines of text without indentation or line ends; owned. */
typedef struct {
	GString *asked;
	GPtrArray *verdict;  /* of char *: a sentence or two each, which begin a line */
	PipesimTable *table; /* the first rows count most; NULL: none */
	gboolean whole;      /* its rows were asked for one by one: none is left out */
	GPtrArray *below;    /* what the table leaves out, and why */
	GPtrArray *failed;   /* the same of what cannot be: red on a terminal */
	GPtrArray *notes;    /* what counts most first: as many as fit */
	GString *appendix;   /* whole lines that were asked for, behind the notes; or NULL */
	GPtrArray *more;     /* what to ask for behind --full: "pipesim explain zb-v" */
} PipesimScreen;

PipesimScreen *pipesim_screen_new(void);
PIPESIM_FREED(PipesimScreen, pipesim_screen_free)

/** pipesim_lines_new: copies of lines, up to a NULL. */
GPtrArray *pipesim_lines_new(const char *first, ...) G_GNUC_NULL_TERMINATED;

/** pipesim_lines_add: copies of all of @more (nullable), of char *. Of notes what is of use only beside the whole
 * data, "left out of ...", is shown in full alone. */
void pipesim_lines_add(GPtrArray *lines, const GPtrArray *more);

/** pipesim_screen_print: cuts the table to PIPESIM_SCREEN_LINES of all; with full of @style all rows and notes, on a page of
 * TABLE_WIDTH. */
void pipesim_screen_print(const PipesimScreen *screen, const PipesimStyle *style, GString *out);

/* Few digits -------------------------------------------------------------------------------- */

/** pipesim_screen_decimals: as many as show four significant digits of the largest of @values, but no more than
 * show all of them as they are. NAN is skipped. */
guint pipesim_screen_decimals(const double *values, guint n);

/** pipesim_screen_time: "81 ms", "528.9 ms", "12.35 s"; returns @out. */
const char *pipesim_screen_time(PipesimNumber out, gint64 ns);

/** pipesim_screen_number: four significant digits of @value, without zeros at the end; returns @out. */
const char *pipesim_screen_number(PipesimNumber out, double value);

/** pipesim_screen_bytes: "74.51 GiB"; returns @out. */
const char *pipesim_screen_bytes(PipesimNumber out, gint64 bytes);

/* As text that lives as long as the block it is made in. */
#define pipesim_brief_time(ns)      pipesim_screen_time((PipesimNumber){0}, ns)
#define pipesim_brief_number(value) pipesim_screen_number((PipesimNumber){0}, value)
#define pipesim_brief_bytes(bytes)  pipesim_screen_bytes((PipesimNumber){0}, bytes)

#define PIPESIM_GIB                  ((double)(1 << 30))
#define pipesim_gib(bytes, decimals) pipesim_fixed((double)(bytes) / PIPESIM_GIB, decimals)
/* From here on times are in seconds, ns. */
#define PIPESIM_IN_SECONDS G_GINT64_CONSTANT(10000000000)
