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
