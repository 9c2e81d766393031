/* What gnuplot draws: a script and its data, which users keep, and the run that draws them. */
#pragma once
#include "base/base.h"

typedef struct _PipesimTerminal PipesimTerminal;

/* Of titles, axis and legend, pixels. */
#define PIPESIM_GNUPLOT_FONT 13

typedef struct {
	char *path;                    /* asked for */
	char *script_path, *data_path; /* NAME.gp, NAME.dat */
	const PipesimTerminal *terminal;
	GString *script, *data; /* what is to be written there; append to both */
	const char *paper;      /* its colour; white if nobody sets it */
	guint font;             /* of titles, axis and legend, pixels; PIPESIM_GNUPLOT_FONT */
	gboolean boxes; /* it is of boxes and words above all, which an SVG has joined */
} PipesimGnuplot;

/** pipesim_gnuplot_new: a picture at @path, with an empty script and no data. NULL with
 * PIPESIM_ERROR_USAGE, which names the extensions that are @known, where gnuplot draws none of
 * that extension. */
PipesimGnuplot *pipesim_gnuplot_new(const char *path, const char *known, GError **error);
PIPESIM_FREED(PipesimGnuplot, pipesim_gnuplot_free)

/* The extensions of all pictures but timelines, which may be text. */
#define PIPESIM_GNUPLOT_EXTENSIONS ".svg, .png or .pdf"

/** pipesim_gnuplot_check: FALSE as above where a picture of these cannot be drawn at @path; NULL is no picture. */
gboolean pipesim_gnuplot_check(const char *path, GError **error);

/** pipesim_gnuplot_files: appends to the script the names of the picture, which a caller of it
 * may set before, and of the data. */
void pipesim_gnuplot_files(PipesimGnuplot *picture);

/** pipesim_gnuplot_set_file: appends "@variable = 'the name of the file at @path'". */
void pipesim_gnuplot_set_file(GString *out, const char *variable, const char *path);

/** pipesim_gnuplot_terminal: appends to the script terminal and output; it has set width and
 * height, in pixels. */
void pipesim_gnuplot_terminal(PipesimGnuplot *picture);

/** pipesim_gnuplot_begin: all of that of a picture of so many pixels. */
void pipesim_gnuplot_begin(PipesimGnuplot *picture, guint width, guint height);

/** pipesim_gnuplot_quote: appends @before, @text as a gnuplot string, in which control characters
 * become '?', and what @format makes. */
void pipesim_gnuplot_quote(GString *out, const char *before, const char *text,
	const char *format, ...) G_GNUC_PRINTF(4, 5);

/** pipesim_gnuplot_keep: whether files for gnuplot stay beside pictures that this thread draws. Not, to begin with. */
void pipesim_gnuplot_keep(gboolean keep);

/** pipesim_gnuplot_draw: writes data and script and lets @gnuplot draw them. They stay where it
 * could not, and where they are to be kept.
 * Returns: FALSE with PIPESIM_ERROR_EXTERNAL where gnuplot is missing or fails, or
 * PIPESIM_ERROR_WRITE; the picture that was there stays. */
gboolean pipesim_gnuplot_draw(
	const PipesimGnuplot *picture, const char *gnuplot, GError **error);
