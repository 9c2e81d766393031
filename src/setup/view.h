/* What of the timelines is drawn, and how large. Zeros are all of them, as large as they need. */
#pragma once
#include "base/base.h"

/* Of either side of a picture. */
#define PIPESIM_MAX_PIXELS 16000u

/* In the order of the words of --theme. */
typedef enum {
	PIPESIM_THEME_LIGHT,
	PIPESIM_THEME_DARK,
	PIPESIM_THEME_PRINT,
} PipesimThemeName;

typedef struct {
	gint64 begin, end;             /* ns; @end 0: to the latest makespan */
	guint first_rank, behind_rank; /* @behind_rank 0: to the last */

	/* For gnuplot alone. */
	const char *title;   /* above all; NULL: none */
	guint width, height; /* pixels */
	guint font;          /* pixels */
	gboolean memory;     /* below each timeline what its ranks hold */
	gboolean speed;      /* above each op how fast it ran */
	PipesimThemeName theme;
} PipesimView;
