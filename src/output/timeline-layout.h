/* What a timeline shows, laid out once for every way to draw it: a panel for each run that has
 * a result, in it a lane for each rank, on the lane a box for each op, all on one time axis. */
#pragma once
#include "output/output.h"

/* A pair is two boxes, one after the other: its forward and its backward half. */
typedef struct {
	gint64 start, end; /* ns, start < end */
	guint32 rank, microbatch;
	guint8 kind;  /* F, I, W or B */
	guint8 shade; /* 0 or 1: direction, or even and odd chunk */
	gboolean paired;
} PipesimBox;

typedef struct {
	const PipesimRun *run;
	char *title;      /* the numbers that matter, one line */
	guint first_lane; /* of its rank 0, counted over all panels from the top */
} PipesimPanel;

/* What the axis and the titles count in. */
typedef struct {
	const char *name; /* "ms" */
	gint64 ns;
} PipesimTimeUnit;

typedef struct {
	PipesimPanel *panels;
	guint n_panels;
	guint lanes; /* of all panels */
	gint64 end;  /* latest makespan, ns */
	const PipesimTimeUnit *unit;
	guint64 n_boxes;
	gboolean shown[PIPESIM_FB][2]; /* [kind][shade] has a box */
	gboolean pairs;                /* some boxes are halves of a pair */
	const char *shade_name;        /* what shades tell apart: "direction"; NULL: nothing */
} PipesimLayout;

/** pipesim_layout_new: borrows the runs of @comparison. */
PipesimLayout *pipesim_layout_new(const PipesimComparison *comparison);
void pipesim_layout_free(PipesimLayout *layout);

/** pipesim_layout_boxes: the boxes of op @op of @run, in order of time. Returns how many: 0 for
 * an op that takes no time. */
guint pipesim_layout_boxes(const PipesimRun *run, guint32 op, PipesimBox boxes[2]);

/** pipesim_layout_time: appends @ns in @unit with its name, at most 3 decimals: "66 ms". */
void pipesim_layout_time(GString *out, gint64 ns, const PipesimTimeUnit *unit);

G_DEFINE_AUTOPTR_CLEANUP_FUNC(PipesimLayout, pipesim_layout_free)
