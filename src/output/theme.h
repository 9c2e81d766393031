/* How pictures look: the paper, what is written on it, and the kinds of ops. */
#pragma once
#include "order/program.h"
#include "setup/view.h"

/* Of a kind, and as many chunks of a rank as have a look of their own. */
#define PIPESIM_SHADES 4

/* How a kind of op looks, by shade: [0] and [1] are the ones of two directions or chunks. */
typedef struct {
	const char *colours[PIPESIM_SHADES]; /* "#RRGGBB": of the box */
	const char *edge;                    /* of the line around it */
} PipesimLook;
/* What legends call the kinds, in all themes. */
extern const char *const pipesim_look_titles[PIPESIM_FB];

typedef struct {
	const char *paper, *ink;
	const char *quiet;    /* of captions */
	const char *frame;    /* of the line around a timeline */
	const char *pair;     /* of the line around a pair */
	const char *critical; /* of the outline of ops on the critical path */
	const PipesimLook *looks;
	/* Of messages sent and received: while they move, while one end waits. */
	const char *messages[2][2];
	/* Of copies to the host and back, and of collectives. */
	const char *asides[3];
	const char *ranks[3]; /* of lines of ranks: the first, the middle and the last */
	const char *speeds
		[3]; /* of ops that take less than their sustained time, as long, longer */
} PipesimTheme;

/* How long ops took against their sustained times: in levels of so many percent each, of which
 * the one at PIPESIM_SPEED_SUSTAINED is as long. The first and the last have all that is beyond
 * them. */
#define PIPESIM_SPEEDS          11
#define PIPESIM_SPEED_SUSTAINED 4
#define PIPESIM_SPEED_PERCENT   4

/** pipesim_theme: of that name; static. */
const PipesimTheme *pipesim_theme(PipesimThemeName name);

/** pipesim_theme_rank: the colour of the @i-th of @n lines, from the first to the last;
 * "#RRGGBB" in @out, which it returns. */
const char *pipesim_theme_rank(const PipesimTheme *theme, guint i, guint n, char out[8]);

/** pipesim_theme_part: the colour of what bytes of a rank are of, PipesimHeldPart by number,
 * pale: lines go over it; "#RRGGBB" in @out, which it returns. */
const char *pipesim_theme_part(const PipesimTheme *theme, guint part, char out[8]);

/** pipesim_theme_beside: the colour of receives that wait while ops run beside them, between
 * those of receives that move and that wait; "#RRGGBB" in @out, which it returns. */
const char *pipesim_theme_beside(const PipesimTheme *theme, char out[8]);

/** pipesim_theme_speed: the colour of @level of pipesim_layout_speed(), below PIPESIM_SPEEDS;
 * "#RRGGBB" in @out, which it returns. */
const char *pipesim_theme_speed(const PipesimTheme *theme, guint level, char out[8]);

/** pipesim_theme_rgb: the bytes of the colour "#RRGGBB". */
void pipesim_theme_rgb(const char *colour, guint8 rgb[3]);

/** pipesim_theme_text: of the number in a box of @colour: what is further from it, black or white, by its weight to the eye. */
const char *pipesim_theme_text(const char *colour);

/** pipesim_theme_mix: the colour @part of @whole of the way from @from to @to; "#RRGGBB" in
 * @out, which it returns. */
const char *pipesim_theme_mix(
	const char *from, const char *to, guint part, guint whole, char out[8]);
