/* What a timeline shows, laid out once for every way to draw it: a panel for each run that has
 * a result, in it a lane for each rank, on the lane a box for each op, all on one time axis.
 * Where there are more ranks than lanes, neighbouring ranks share one. */
#pragma once
#include "output/output.h"
#include "output/theme.h"

/* A pair is two boxes, one after the other: its forward and its backward half. */
typedef struct {
	gint64 start, end; /* ns, start < end */
	guint32 rank, microbatch;
	guint8 kind;  /* F, I, W or B */
	guint8 shade; /* direction or chunk, modulo PIPESIM_SHADES */
	gboolean paired;
} PipesimBox;

typedef struct {
	const PipesimRun *run;
	char *title;      /* the numbers that matter, one line */
	guint first_lane; /* counted over all panels from the top */
	guint lanes;
	guint first_rank, ranks; /* that are shown */
	guint64 n_boxes;
} PipesimPanel;

/* What ranks begin and go on beside, below their ops. */
typedef enum {
	PIPESIM_ASIDE_OUT, /* copies to the host */
	PIPESIM_ASIDE_IN,  /* and back */
	PIPESIM_ASIDE_BROADCAST,
	PIPESIM_ASIDE_REDUCE,
	PIPESIM_N_ASIDES
} PipesimAside;

/* What the axis and the titles count in. */
typedef struct {
	const char *name; /* "ms" */
	gint64 ns;
} PipesimTimeUnit;

typedef struct {
	PipesimPanel *panels;
	guint n_panels;
	guint lanes;       /* of all panels */
	guint share;       /* ranks of one lane; the last lane of a panel may have fewer */
	gint64 begin, end; /* of the time axis, ns */
	const PipesimTimeUnit *unit;
	guint64 n_boxes;
	guint64 n_long[64];                         /* [k]: boxes of at least 2^k ns */
	gboolean shown[PIPESIM_FB][PIPESIM_SHADES]; /* [kind][shade] has a box */
	gboolean passes;                            /* over the vocabulary, drawn as W */
	gboolean pairs;                             /* some boxes are halves of a pair */
	gboolean critical;                          /* critical paths are outlined */
	gboolean bytes;                    /* costs say what activations and parameters take */
	guint64 n_messages;                /* of runs whose messages wait for each other */
	guint64 n_asides;                  /* copies and collectives, */
	gboolean asides[PIPESIM_N_ASIDES]; /* of these */
	guint microbatches, most_ranks;    /* the most of a run */
	/* What shades are by, "reverse direction" or "chunk"; NULL: there is one. */
	const char *shade_of;
	guint most_shades; /* chunks of a rank, the most of a run */
} PipesimLayout;

/** pipesim_layout_check: FALSE with PIPESIM_ERROR_USAGE where @view shows a rank that no run of
 * @comparison has, or nothing but what lies behind the last op, or speeds where none can
 * differ. */
gboolean pipesim_layout_check(
	const PipesimComparison *comparison, const PipesimView *view, GError **error);

/** pipesim_layout_new: what @view shows; borrows the runs of @comparison. At most @max_lanes, but
 * one a panel. */
PipesimLayout *pipesim_layout_new(
	const PipesimComparison *comparison, const PipesimView *view, guint max_lanes);
PIPESIM_FREED(PipesimLayout, pipesim_layout_free)

/** pipesim_look_of: as what an op of PipesimKind or of what else ranks do is drawn; PIPESIM_FB as its halves. */
PipesimKind pipesim_look_of(guint kind);

/** pipesim_layout_cut: to the window of @layout the time from @start to @end. Returns whether
 * that leaves any. */
gboolean pipesim_layout_cut(const PipesimLayout *layout, gint64 *start, gint64 *end);

/** pipesim_layout_boxes: the boxes of op @op of @rank of @run, in order of time, as far as they
 * are in the window of @layout; NULL: whole. Returns how many: 0 for an op that takes no time. */
guint pipesim_layout_boxes(const PipesimLayout *layout, const PipesimRun *run, guint rank,
	guint32 op, PipesimBox boxes[2]);

/** pipesim_layout_aside: FALSE where op @op of @rank of @run is no copy or collective, takes no time or is not in
 * the window of @layout (NULL: all is). Else @box has the time that it moves, after what it waits for, and in
 * place of a kind its PipesimAside. */
gboolean pipesim_layout_aside(const PipesimLayout *layout, const PipesimRun *run, guint rank,
	guint32 op, PipesimBox *box);

/** pipesim_run_has_speeds: whether ops of @run may take another time than their sustained one. */
gboolean pipesim_run_has_speeds(const PipesimRun *run);

/** pipesim_run_sustained: what op @op of @rank of @run takes in a chip that never idles, beside
 * nothing, ns. */
gint64 pipesim_run_sustained(const PipesimRun *run, guint rank, guint32 op);

/** pipesim_layout_speed: the level, below PIPESIM_SPEEDS, of op @op of @rank of @run; of an
 * overlapped pair that of both halves together. */
guint pipesim_layout_speed(const PipesimRun *run, guint rank, guint32 op);

/** pipesim_layout_shade: what the second of two shades is: "reverse direction", "chunk 1".
 * Where there are more, of the second and fourth: "odd chunk". For g_free(). */
char *pipesim_layout_shade(const PipesimLayout *layout);

/** pipesim_layout_title: what legends call boxes of @kind. */
const char *pipesim_layout_title(const PipesimLayout *layout, guint kind);

/** pipesim_layout_shows: whether some box is of @kind. */
gboolean pipesim_layout_shows(const PipesimLayout *layout, guint kind);

/* Columns of equal length that the time axis is cut into, and what a lane does in each. */
typedef struct {
	guint n;
	gint64 *begin; /* n + 1 times, ns: where each begins, and the end */
	/* [column][kind][shade], ns of all its ranks together */
	gint64 (*busy)[PIPESIM_FB][PIPESIM_SHADES];
} PipesimColumns;

/** pipesim_columns_init: @n columns of @layout; n >= 1. For pipesim_columns_clear(). */
void pipesim_columns_init(PipesimColumns *columns, const PipesimLayout *layout, guint n);
void pipesim_columns_clear(PipesimColumns *columns);

/** pipesim_columns_add: what of the time from @start to @end is in a column, to what is busy.
 * @column: one near to it, as the last that was added to; then the one that it ends in */
void pipesim_columns_add(PipesimColumns *columns, guint kind, guint shade, gint64 start,
	gint64 end, guint *column);

/** pipesim_columns_fill: how long lane @lane of @panel (from 0) does what in each column. */
void pipesim_columns_fill(PipesimColumns *columns, const PipesimLayout *layout,
	const PipesimPanel *panel, guint lane);

/** pipesim_layout_ranks: how many ranks lane @lane of @panel is. */
guint pipesim_layout_ranks(const PipesimLayout *layout, const PipesimPanel *panel, guint lane);

/** pipesim_layout_time: appends @ns in @unit with its name, at most 3 decimals: "66 ms". */
void pipesim_layout_time(GString *out, gint64 ns, const PipesimTimeUnit *unit);
