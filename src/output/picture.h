/* How much of a timeline a picture shows, and where it stands there. Where there are more boxes
 * than can be told apart, all of them are painted into a raster behind, and those that are long
 * enough are drawn over it. */
#pragma once
#include "output/timeline-layout.h"

/* Blocks of the .dat file: by kind and shade, outlines of pairs and of the critical path, messages. */
#define PIPESIM_N_BLOCKS (2 * PIPESIM_FB + 2 + 4)

typedef struct {
	/* Pixels. */
	guint lane;          /* height of one */
	guint left;          /* margin for the names of ranks */
	guint across;        /* the time axis */
	guint width, height; /* of the raster; 0: every box is drawn, and no raster */
	/* In lanes, from the top. */
	double title; /* between panels, for the title of the next */
	double lanes; /* of the whole drawing, titles and all */

	gboolean messages; /* strips of messages are drawn below the boxes */
	gint64 least;      /* ns: boxes that are shorter stand in the raster alone */
	gboolean drawn[PIPESIM_N_BLOCKS]; /* the .dat file has such a block */
} PipesimDetail;

/** pipesim_detail_init: how much of @layout is drawn; pipesim_picture_data() finds out what. */
void pipesim_detail_init(PipesimDetail *detail, const PipesimLayout *layout);

/** pipesim_detail_top: where the first lane of @panel begins, in lanes from the top of the
 * drawing. */
static inline double pipesim_detail_top(
	const PipesimDetail *detail, const PipesimLayout *layout, guint panel)
{
	return layout->panels[panel].first_lane + (panel + 1) * detail->title;
}

/** pipesim_picture_data: appends the boxes, in blocks named as the script names them, and notes
 * in @detail which there are. */
void pipesim_picture_data(const PipesimLayout *layout, PipesimDetail *detail, GString *out);

/* Of messages sent and received: while they move, while one end waits. */
extern const char *const pipesim_message_looks[2][2];
/* Of the outline of ops on the critical path. */
#define PIPESIM_CRITICAL_LOOK "#D00000"

/** pipesim_raster_paint: a raster of @detail's size over all of the drawing: red, green and
 * blue of each pixel, lines from the top. In each column of pixels of a lane the height of a
 * colour is its share of the time, idle time is white and on top.
 *
 * Returns: (transfer full): NULL with PIPESIM_ERROR_LIMIT where memory does not suffice.
 */
guint8 *pipesim_raster_paint(
	const PipesimLayout *layout, const PipesimDetail *detail, GError **error);
