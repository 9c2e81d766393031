/* Results of a sweep as text: one line a schedule and point, in a fixed order. */
#pragma once
#include "sweep/grid.h"
#include "sweep/pool.h"

typedef enum {
	PIPESIM_ROWS_TEXT,  /* a table for people; only of a whole sweep */
	PIPESIM_ROWS_CSV,   /* a header and a line a row */
	PIPESIM_ROWS_JSONL, /* one JSON object a line */
} PipesimRowFormat;

/* What the rows are of, and how they are written. The caller's. */
typedef struct {
	const PipesimGrid *grid;
	const char *const *names; /* of the schedules, in order, NULL-terminated */
	PipesimRowFormat format;
	gboolean training; /* a described model has times: rows have its step */
	gboolean power;    /* costs have power or contention: rows have their shares */
	gboolean period;   /* no barrier ends steps: rows have the period */
	gboolean host;     /* they have launches: rows have the share of these */
	gint64 room; /* bytes of the described GPU, which what is best fits; 0 = no such limit */
	const GPtrArray *notices; /* of char *: what was said of the sweep; NULL = nothing */
} PipesimSweepTitles;

/* How results become lines: of a sweep, or of the candidates of a plan. */
typedef struct {
	guint width; /* lines of a point */
	PipesimRowFormat format;
	/* Writes the members of line @line of @point: those that it begins with, whatever its result, and
	 * where @result is not NULL, or names alone are asked for, what came of it. */
	void (*put)(PipesimJson *json, gconstpointer data, guint64 point, guint line,
		const PipesimSweepResult *result);
	gconstpointer data;
} PipesimRows;

/** pipesim_rows_header: the first line of a CSV; nothing for JSON lines. */
void pipesim_rows_header(const PipesimRows *rows, GString *out);
/** pipesim_rows_key: what the line @line of @point begins with: how a file that is resumed is
 * known. */
void pipesim_rows_key(const PipesimRows *rows, guint64 point, guint line, GString *out);
/** pipesim_rows_append: the lines of @block. */
void pipesim_rows_append(const PipesimRows *rows, const PipesimSweepBlock *block, GString *out);

/** pipesim_rows_of_sweep: @titles as that; they must outlive it. Notices stand in the first
 * line of point 0 alone, the last column of a CSV or a key that only that line has. */
PipesimRows pipesim_rows_of_sweep(const PipesimSweepTitles *titles);

/** pipesim_rows_format: that of --format @format (NULL = not given), else of the extension of
 * @path (nullable), else text. FALSE with PIPESIM_ERROR_USAGE. */
gboolean pipesim_rows_format(
	const char *format, const char *path, PipesimRowFormat *rows, GError **error);

/** pipesim_rows_best: of the @results of a point, by the schedules of @titles, that which does most work a second and
 * rank, of equals that which holds least, then the first. What the model has no layers for is best only where
 * nothing else runs and fits; -1 where nothing does. */
int pipesim_rows_best(const PipesimSweepTitles *titles, const PipesimSweepResult *results);

/** pipesim_rows_next: the best of those that are behind @best by what can be told; where all that run are as good, one of
 * them; -1 where none else runs and fits. */
int pipesim_rows_next(
	const PipesimSweepTitles *titles, const PipesimSweepResult *results, int best);

/** pipesim_rows_ahead: by what share @best is faster than @next: 0.03. */
double pipesim_rows_ahead(const PipesimSweepTitles *titles, const PipesimSweepResult *best,
	const PipesimSweepResult *next);

/** pipesim_rows_table: a line a point: of one schedule its figures, of several the best and the
 * next. @blocks: of PipesimSweepBlock, in order. */
void pipesim_rows_table(const PipesimSweepTitles *titles, const GPtrArray *blocks,
	const PipesimStyle *style, GString *out);
