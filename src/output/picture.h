/* How much of a timeline a picture shows, and where it stands there. Where there are more boxes
 * than can be told apart, all of them are painted into a raster behind, and those that are long
 * enough are drawn over it. */
#pragma once
#include "output/timeline-layout.h"

/* Blocks of the .dat file: of each kind and shade, the outlines of pairs and of the critical
 * path, and strips below the boxes of a rank: what it sends and what it receives, where
 * messages wait for each other. Pale: from the moment an end is issued to that at which the
 * message moves; of receives between pale and dark where ops run beside them. Those that move
 * come last: they are short. In their place, of others, copies and collectives, PipesimAside by
 * number. Then what ranks hold. */
#define PIPESIM_N_STRIPS (5 + PIPESIM_N_ASIDES)

enum {
	PIPESIM_BLOCK_PAIRS = PIPESIM_SHADES * PIPESIM_FB,
	PIPESIM_BLOCK_CRITICAL,
	PIPESIM_BLOCK_STRIPS,
	PIPESIM_BLOCK_SPEEDS = PIPESIM_BLOCK_STRIPS + PIPESIM_N_STRIPS,
	PIPESIM_BLOCK_PARTS = PIPESIM_BLOCK_SPEEDS +
			      PIPESIM_SPEEDS, /* what the bytes of the fullest rank are of */
	PIPESIM_BLOCK_MEMORY,
	PIPESIM_N_BLOCKS,
};

/** pipesim_block_names: by block; none begins with another. */
extern const char *const pipesim_block_names[PIPESIM_N_BLOCKS];

/* How the number of a micro-batch stands in its box. */
typedef enum {
	PIPESIM_NUMBER_NONE,
	PIPESIM_NUMBER_UPRIGHT,
	PIPESIM_NUMBER_TURNED, /* by a right angle: boxes are higher than wide */
	PIPESIM_N_NUMBERS,
} PipesimNumbering;

typedef struct {
	const PipesimTheme *theme;
	/* Pixels. */
	guint font;
	guint lane;            /* height of one */
	guint left, right;     /* margins; the names of ranks stand in the left one */
	guint across;          /* the time axis */
	guint width, height;   /* of the raster; 0: every box is drawn, and no raster */
	guint letters, turned; /* height of numbers in boxes, and of those that are turned */
	guint memory;          /* height of what ranks hold, below each timeline; or 0 */
	/* In lanes, from the top. */
	double title; /* between panels, for the title of the next */
	double below; /* memory, with its title */
	double lanes; /* of the whole drawing, titles and all */

	guint widest;         /* letters of the longest number of a micro-batch */
	gboolean messages;    /* strips of messages are drawn below the boxes */
	gboolean asides;      /* and those of copies and collectives */
	gboolean speeds;      /* those of speeds above them */
	gboolean thin_speeds; /* they are wanted, but lanes are too low */
	gint64 least;         /* ns: boxes that are shorter stand in the raster alone */
	gboolean drawn[PIPESIM_N_BLOCKS]; /* the .dat file has such a block */
	/* Whether some box of it has its number so. */
	gboolean numbered[PIPESIM_BLOCK_PAIRS][PIPESIM_N_NUMBERS];
	/* The scale of what ranks hold, and the most on it, in bytes or whole stages. */
	double held_from, held_to, held_most;
	double held_limit; /* what a rank may hold; 0 = no limit, or far above the scale */
} PipesimDetail;

/** pipesim_detail_init: how much of @layout is drawn; pipesim_picture_data() finds out what.
 * @lane: height in pixels; 0: as it needs */
void pipesim_detail_init(PipesimDetail *detail, const PipesimLayout *layout,
	const PipesimView *view, guint lane);

/** pipesim_detail_pixels: what takes @pixels at the usual size of font. */
guint pipesim_detail_pixels(const PipesimDetail *detail, guint pixels);

/** pipesim_detail_top: where the first lane of @panel begins, in lanes from the top of the
 * drawing. */
static inline double pipesim_detail_top(
	const PipesimDetail *detail, const PipesimLayout *layout, guint panel)
{
	return layout->panels[panel].first_lane + (panel + 1) * detail->title +
	       panel * detail->below;
}

/** pipesim_picture_data: appends the boxes, in blocks named as the script names them, and notes
 * in @detail which there are. */
void pipesim_picture_data(const PipesimLayout *layout, PipesimDetail *detail, GString *out);

/* Ranks of a panel of whose memory there is a line: more could not be told apart. */
#define PIPESIM_MEMORY_LINES 16

/** pipesim_picture_memory: appends what the ranks of each panel hold over time, in whole-stage
 * activations or, where costs have them, bytes: a line a rank, one scale for all panels.
 * @costs: (nullable): those with bytes; NULL: activations */
void pipesim_picture_memory(const PipesimLayout *layout, PipesimDetail *detail,
	const PipesimCosts *costs, GString *out);

/** pipesim_legend_append: appends to @out what the colours mean and, below it, words, in labels
 * that are placed by the script's variables left and bottom. Returns its height in pixels. */
guint pipesim_legend_append(const PipesimLayout *layout, const PipesimDetail *detail,
	const PipesimComparison *comparison, GString *out);

/** pipesim_raster_paint: a raster of @detail's size over all of the drawing: red, green and
 * blue of each pixel, lines from the top. In each column of pixels of a lane the height of a
 * colour is its share of the time, idle time is as the paper and on top.
 * Returns: (transfer full): NULL with PIPESIM_ERROR_LIMIT where memory does not suffice. */
guint8 *pipesim_raster_paint(
	const PipesimLayout *layout, const PipesimDetail *detail, GError **error);
