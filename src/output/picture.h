/* Pictures through gnuplot: a script and its data, which users keep, and the run that draws
 * them. */
#pragma once
#include "output/timeline-layout.h"

/* Where a picture and its parts lie. */
typedef struct {
	char *picture;        /* the path asked for */
	char *folder;         /* of all three */
	char *script;         /* NAME.gp, with its folder */
	char *data;           /* NAME.dat, with its folder */
	const char *terminal; /* of gnuplot */
} PipesimPicturePaths;

/** pipesim_gnuplot_script: appends the script that draws @layout. */
void pipesim_gnuplot_script(const PipesimLayout *layout, const PipesimComparison *comparison,
	const PipesimPicturePaths *paths, GString *out);
/** pipesim_gnuplot_data: appends the boxes, in blocks named as the script names them. */
void pipesim_gnuplot_data(const PipesimLayout *layout, GString *out);

/** pipesim_gnuplot_top: where the first lane of @panel begins, in lanes from the top of the
 * drawing.
 */
double pipesim_gnuplot_top(const PipesimLayout *layout, guint panel);

/** pipesim_gnuplot_quote: appends @text as a gnuplot string; control characters become '?'. */
void pipesim_gnuplot_quote(GString *out, const char *text);

/** pipesim_gnuplot_files: appends the names of the picture, which a caller of the script may
 * set before, and of the data. */
void pipesim_gnuplot_files(const PipesimPicturePaths *paths, GString *out);

/** pipesim_gnuplot_terminal: appends terminal and output; the script has set width and height,
 * in pixels. */
void pipesim_gnuplot_terminal(const char *terminal, GString *out);

/** pipesim_picture_paths_init: the parts of the picture at @path, for
 * pipesim_picture_paths_clear(). FALSE, and nothing to clear, where gnuplot draws no picture of
 * that extension. */
gboolean pipesim_picture_paths_init(PipesimPicturePaths *paths, const char *path);
void pipesim_picture_paths_clear(PipesimPicturePaths *paths);

/** pipesim_picture_render: writes @data and @script, which stay, and lets @gnuplot draw them.
 * Errors as for pipesim_picture_write(). */
gboolean pipesim_picture_render(const PipesimPicturePaths *paths, const GString *script,
	const GString *data, const char *gnuplot, GError **error);
