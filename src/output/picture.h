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
	char *raster;         /* NAME.rgb, with its folder; not every picture has one */
	const char *terminal; /* of gnuplot */
} PipesimPicturePaths;

/* What is drawn of a timeline. Where there are more boxes than can be told apart, all of them
 * are painted into a raster behind, and those that are long enough are drawn over it. */
typedef struct {
	guint width, height; /* of the raster, pixels; 0: every box is drawn, and no raster */
	gboolean messages;   /* strips of messages are drawn below the boxes */
	gint64 least;        /* ns: boxes that are shorter stand in the raster alone */
	gboolean drawn[PIPESIM_FB][2]; /* [kind][shade] has a box in the .dat file */
	gboolean pairs;                /* so have outlines of pairs */
	gboolean strips[4]; /* messages that wait to be sent, to be received; that move */
} PipesimDetail;

/** pipesim_gnuplot_lanes: most lanes that a picture has. */
#define PIPESIM_GNUPLOT_LANES 3000

/** pipesim_gnuplot_detail: how much of @layout is drawn; pipesim_gnuplot_data() finds out what
 * is drawn. */
void pipesim_gnuplot_detail(const PipesimLayout *layout, PipesimDetail *detail);

/** pipesim_gnuplot_data: appends the boxes, in blocks named as the script names them, and notes
 * in @detail which there are. */
void pipesim_gnuplot_data(const PipesimLayout *layout, PipesimDetail *detail, GString *out);

/** pipesim_gnuplot_script: appends the script that draws @layout. */
void pipesim_gnuplot_script(const PipesimLayout *layout, const PipesimDetail *detail,
	const PipesimComparison *comparison, const PipesimPicturePaths *paths, GString *out);

/** pipesim_gnuplot_box: appends the line of @box on @lane. */
void pipesim_gnuplot_box(GString *out, const PipesimBox *box, double lane);

/** pipesim_gnuplot_messages_data, pipesim_gnuplot_messages_plots: the same two for messages
 * that wait for each other: strips below the boxes of each rank. */
void pipesim_gnuplot_messages_data(
	const PipesimLayout *layout, PipesimDetail *detail, GString *out);
void pipesim_gnuplot_messages_plots(const PipesimDetail *detail, GString *out);

/** pipesim_raster_paint: a raster of @detail's size over all of the drawing: red, green and
 * blue of each pixel, lines from the top. In each column of pixels of a lane the height of a
 * colour is its share of the time, idle time is white and on top.
 *
 * Returns: (transfer full): NULL with PIPESIM_ERROR_LIMIT where memory does not suffice.
 */
guint8 *pipesim_raster_paint(
	const PipesimLayout *layout, const PipesimDetail *detail, GError **error);

/* How a kind of op looks, by shade. */
typedef struct {
	const char *colours[2], *text[2]; /* "#RRGGBB": of the box and of the number in it */
	const char *edge;                 /* of the line around it */
	const char *title;
} PipesimLook;
extern const PipesimLook pipesim_looks[PIPESIM_FB];
/* Of messages sent and received: while they move, while one end waits. */
extern const char *const pipesim_message_looks[2][2];

/** pipesim_raster_messages: paints the strips of @rank, whose messages wait for each other.
 * @lane: (out): its first pixel; columns->n by @height pixels */
void pipesim_raster_messages(const PipesimRun *run, guint rank, const PipesimColumns *columns,
	guint8 *lane, guint height);

/** pipesim_gnuplot_legend: appends what the colours mean and what the times are. */
void pipesim_gnuplot_legend(const PipesimLayout *layout, const PipesimDetail *detail,
	const PipesimComparison *comparison, GString *out);
/** pipesim_gnuplot_captions: the lines of words below the legend's colours. */
guint pipesim_gnuplot_captions(
	const PipesimDetail *detail, const PipesimComparison *comparison);

/** pipesim_gnuplot_left: left margin, pixels. */
guint pipesim_gnuplot_left(const PipesimLayout *layout);

/** pipesim_gnuplot_height: of the whole drawing, in lanes: titles stand between panels. */
double pipesim_gnuplot_height(const PipesimLayout *layout);

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
